//! BBR from end to end: the test cases of draft-ietf-ccwg-bbr, and duels.

mod draft;
mod duels;
mod lab;

//! Toy tenants: machines from outside that use every wall of the house in the way that INRPP,
//! Kick-Ass, Sprout, Verus, MPTCP and live traffic will. Each runs in the simulator, on packets and
//! on bytes and on both engines; the first five also in real time over two UDP sockets.
#![forbid(unsafe_code)]

mod bytes;
mod cache;
mod clock;
mod cut;
mod foreign;
mod header_edits;
#[allow(dead_code, reason = "the tests of wire use the rest")]
#[path = "../../../forebay-wire/tests/wire/make.rs"]
mod make;
mod noise;
mod pair;
mod paths;
mod registered;
mod stage;
mod trace;
mod users;

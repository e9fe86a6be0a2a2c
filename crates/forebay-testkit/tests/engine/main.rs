//! The engine on whole networks: what it does at any split, order, thread count and event.

mod balance;
mod events;
mod fabric;
mod fragments;
mod lives;
mod look_ahead;
mod middleboxes;
mod random;
mod refused;
mod slow_start;
mod threads;

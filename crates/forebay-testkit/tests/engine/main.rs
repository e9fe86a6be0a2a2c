//! The engine on whole networks: what it does at any split, order, thread count and event.

mod balance;
mod early_transit;
mod events;
mod fabric;
mod fragments;
mod hostile;
mod lateness;
mod lives;
mod middleboxes;
mod random;
mod refused;
mod sites;
mod slow_start;
mod threads;

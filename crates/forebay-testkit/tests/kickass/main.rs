//! Kick-Ass as a system: senders, ports, attacks, its paper.

mod attacks;
mod defaults;
mod ends;
mod flows;
mod ipv6;
mod paper;
mod ports;
#[path = "../ways/mod.rs"]
mod ways;

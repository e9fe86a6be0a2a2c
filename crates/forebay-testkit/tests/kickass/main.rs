//! Kick-Ass as a system: senders, ports, attacks, its paper.

mod attacks;
mod defaults;
mod flows;
mod ipv6;
mod paper;
mod points;
mod ports;
#[path = "../ways/mod.rs"]
mod ways;

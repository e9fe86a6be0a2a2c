//! Kick-Ass as a system: senders, ports, attacks, its paper.

mod attacks;
mod beside;
mod defaults;
mod ends;
mod flows;
mod ipv6;
mod paper;
mod points;
mod ports;
#[path = "../ways/mod.rs"]
mod ways;

//! The first stage of a port: sees every packet before any drop.

use crate::pipeline::PortContext;
use alloc::boxed::Box;
use forebay_base::{Packet, Time};

/// Sees arrivals before any drop (RCP, Kick-Ass). Reads, and may change what routers may change.
pub trait Meter: Send {
    /// A packet arrives at the port. `backlog_bytes` is what waits there, without it.
    fn on_arrival(&mut self, packet: &mut Packet, backlog_bytes: u64, cx: &mut PortContext<'_>);
    /// When `on_timeout` is due.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// The time asked for has come. Early calls do nothing.
    fn on_timeout(&mut self, _now: Time, _backlog_bytes: u64) {}
}

/// The meters.
#[derive(Default)]
pub enum AnyMeter {
    /// Measures nothing.
    #[default]
    None,
    /// Brought from outside.
    Custom(Box<dyn Meter>),
}

impl Meter for AnyMeter {
    fn on_arrival(&mut self, packet: &mut Packet, backlog_bytes: u64, cx: &mut PortContext<'_>) {
        if let AnyMeter::Custom(m) = self {
            m.on_arrival(packet, backlog_bytes, cx);
        }
    }
    fn next_timeout(&self) -> Option<Time> {
        match self {
            AnyMeter::None => None,
            AnyMeter::Custom(m) => m.next_timeout(),
        }
    }
    fn on_timeout(&mut self, now: Time, backlog_bytes: u64) {
        if let AnyMeter::Custom(m) = self {
            m.on_timeout(now, backlog_bytes);
        }
    }
}

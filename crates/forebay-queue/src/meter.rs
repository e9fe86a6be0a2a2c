//! The first stage of a port: sees every packet before any drop.

use crate::pipeline::PortContext;
use crate::rcp::RcpMeter;
use alloc::boxed::Box;
use forebay_base::{Packet, Rate, Time};

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
    /// What the port grants a flow at `now`, if this measures that: the egress tells it to packets.
    fn advertised(&self, _now: Time) -> Option<Rate> {
        None
    }
    /// The link runs at `rate` from `now` on. Everything that was due by `now` has been done.
    fn set_rate(&mut self, _now: Time, _rate: Rate) {}
}

/// The meters.
#[derive(Default)]
pub enum AnyMeter {
    /// Measures nothing.
    #[default]
    None,
    /// The rate of RCP.
    Rcp(RcpMeter),
    /// Brought from outside.
    Custom(Box<dyn Meter>),
}

macro_rules! each {
    ($self:expr, $m:ident => $call:expr, none => $nothing:expr) => {
        match $self {
            AnyMeter::None => $nothing,
            AnyMeter::Rcp($m) => $call,
            AnyMeter::Custom($m) => $call,
        }
    };
}

impl Meter for AnyMeter {
    #[inline]
    fn on_arrival(&mut self, packet: &mut Packet, backlog_bytes: u64, cx: &mut PortContext<'_>) {
        each!(self, m => m.on_arrival(packet, backlog_bytes, cx), none => ())
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each!(self, m => m.next_timeout(), none => None)
    }
    fn on_timeout(&mut self, now: Time, backlog_bytes: u64) {
        each!(self, m => m.on_timeout(now, backlog_bytes), none => ())
    }
    #[inline]
    fn advertised(&self, now: Time) -> Option<Rate> {
        each!(self, m => m.advertised(now), none => None)
    }
    fn set_rate(&mut self, now: Time, rate: Rate) {
        each!(self, m => m.set_rate(now, rate), none => ())
    }
}

//! Channels: when a transmitter may take a packet, and how long it transmits. Constant rates,
//! traces of delivery opportunities, token buckets.

mod bucket;
mod cellular;
mod fading;
mod trace;
mod wifi;

pub use bucket::{BucketSpec, TokenBucket};
pub use cellular::{CHANNEL_PROFILES, ChannelModel, ChannelProfile, RadioLink};
pub use trace::{DeliveryTrace, DeliveryTraceBuilder, TraceChannel, TraceError};
pub use wifi::{Phy, Wifi};

use alloc::boxed::Box;
use forebay_base::{Rate, Serializer, Time};

/// Decides when a packet is taken from the queue and when its transmission ends.
pub trait Channel: Send {
    /// When the transmitter may take the next packet: `now` or later. It is free at `now`, which is
    /// not before the end of the last transmission, and something waits. The discipline is asked
    /// for a packet at that time and not before, so its decisions (order, drops by sojourn time)
    /// are of that time. An opportunity at which nothing is taken may be lost.
    fn next_opportunity(&self, now: Time) -> Time {
        now
    }
    /// True if a packet that comes to an idle transmitter may start at once. False: it is queued
    /// first, and starts at an opportunity after its arrival. Never changes.
    fn starts_at_once(&self) -> bool {
        true
    }
    /// A packet comes at `now` to an idle transmitter. Opportunities until then, `now` included,
    /// found nothing. Only called where [`Channel::starts_at_once`] is false.
    fn on_idle(&mut self, _now: Time) {}
    /// When the transmission of a packet of `bytes` ends. It starts at `now`, an opportunity by
    /// [`Channel::next_opportunity`]. At least 1 ns later; where packets do not start at once, it
    /// may also be `now`, for those that share an opportunity.
    fn transmit(&mut self, now: Time, bytes: u32) -> Time;
    /// The rate at `now`, for estimates and displays.
    fn rate(&self, now: Time) -> Rate;
    /// Change the rate at `now`, if the channel has one to set. The packet in transmission keeps
    /// its end.
    fn set_rate(&mut self, _now: Time, _rate: Rate) {}
}

/// A constant rate, exact over any number of packets.
#[derive(Clone, Debug)]
pub struct ConstantRate(Serializer);

impl ConstantRate {
    /// A channel of the given rate.
    pub fn new(rate: Rate) -> Self {
        ConstantRate(Serializer::new(rate))
    }
}

impl Channel for ConstantRate {
    #[inline]
    fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        now + self.0.serialize(bytes)
    }
    fn rate(&self, _: Time) -> Rate {
        self.0.rate()
    }
    fn set_rate(&mut self, _: Time, rate: Rate) {
        self.0.set_rate(rate);
    }
}

/// The channels.
pub enum AnyChannel {
    /// A constant rate.
    Constant(ConstantRate),
    /// A trace.
    Trace(TraceChannel),
    /// A token bucket.
    Bucket(TokenBucket),
    /// Brought from outside.
    Custom(Box<dyn Channel>),
}

macro_rules! each {
    ($self:expr, $c:ident => $call:expr) => {
        match $self {
            AnyChannel::Constant($c) => $call,
            AnyChannel::Trace($c) => $call,
            AnyChannel::Bucket($c) => $call,
            AnyChannel::Custom($c) => $call,
        }
    };
}

impl Channel for AnyChannel {
    #[inline]
    fn next_opportunity(&self, now: Time) -> Time {
        each!(self, c => c.next_opportunity(now))
    }
    #[inline]
    fn starts_at_once(&self) -> bool {
        each!(self, c => c.starts_at_once())
    }
    fn on_idle(&mut self, now: Time) {
        each!(self, c => c.on_idle(now))
    }
    #[inline]
    fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        each!(self, c => c.transmit(now, bytes))
    }
    fn rate(&self, now: Time) -> Rate {
        each!(self, c => c.rate(now))
    }
    fn set_rate(&mut self, now: Time, rate: Rate) {
        each!(self, c => c.set_rate(now, rate))
    }
}

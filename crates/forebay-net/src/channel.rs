//! Channels: when a transmitter may take a packet, and how long it transmits. Constant rates, and
//! traces of delivery opportunities.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{Rate, Serializer, Span, Time};

/// What decides when a packet is taken from the queue and when its transmission ends.
pub trait Channel: Send {
    /// When the transmitter may take the next packet: `now` or later. It is free at `now`, which is
    /// not before the end of the last transmission, and something waits. The discipline is asked
    /// for a packet at that time and not before, so its decisions (order, drops by sojourn time)
    /// are of that time. An opportunity at which nothing is taken may be lost.
    fn next_opportunity(&self, now: Time) -> Time {
        now
    }
    /// When the transmission of a packet of `bytes` ends, at least 1 ns later. It starts at `now`,
    /// an opportunity by [`Channel::next_opportunity`].
    fn transmit(&mut self, now: Time, bytes: u32) -> Time;
    /// The rate at `now`, for estimates and displays.
    fn rate(&self, now: Time) -> Rate;
    /// Change the rate, if the channel has one to set. The packet in transmission keeps its end.
    fn set_rate(&mut self, _rate: Rate) {}
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
    fn set_rate(&mut self, rate: Rate) {
        self.0.set_rate(rate);
    }
}

/// Why a trace was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// No opportunity at all.
    Empty,
    /// The time of opportunity `index` is before that of its predecessor.
    NotInOrder {
        /// Its index, from 0.
        index: usize,
    },
    /// All opportunities are at time zero: the trace has no length to repeat.
    NoLength,
}

/// Times at which `bytes_per_opportunity` can be delivered. The trace repeats without end; its last
/// time is its length (format of mahimahi's mm-link).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    opportunities: Vec<Span>,
    bytes_per_opportunity: u32,
}

impl DeliveryTrace {
    /// A trace from times since its start.
    pub fn new(opportunities: Vec<Span>, bytes_per_opportunity: u32) -> Result<Self, TraceError> {
        assert!(bytes_per_opportunity > 0);
        let last = *opportunities.last().ok_or(TraceError::Empty)?;
        if let Some(index) = opportunities.windows(2).position(|w| w[1] < w[0]) {
            return Err(TraceError::NotInOrder { index: index + 1 });
        }
        if last.is_zero() {
            return Err(TraceError::NoLength);
        }
        Ok(DeliveryTrace { opportunities, bytes_per_opportunity })
    }
    /// The length after which it repeats.
    pub fn period(&self) -> Span {
        self.opportunities[self.opportunities.len() - 1]
    }
    /// Mean rate over the period.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.opportunities.len() as u128 * self.bytes_per_opportunity as u128 * 8;
        let bps = bits * 1_000_000_000 / self.period().as_nanos() as u128;
        Rate::clamped(u64::try_from(bps).unwrap_or(u64::MAX))
    }
    fn at(&self, index: u64) -> Time {
        let n = self.opportunities.len() as u64;
        Time::ZERO + self.period() * (index / n) + self.opportunities[(index % n) as usize]
    }
    /// The first opportunity at or after `now`.
    fn first_from(&self, now: Time) -> u64 {
        let n = self.opportunities.len() as u64;
        let period = self.period().as_nanos();
        // At a multiple of the period the last opportunity of the previous round is still due.
        let rounds = (now.as_nanos() / period).saturating_sub(1);
        let mut index = rounds * n;
        let into = Span::from_nanos(now.as_nanos() - rounds * period);
        index += self.opportunities.partition_point(|&o| o < into) as u64;
        while self.at(index) < now {
            index += 1;
        }
        index
    }
}

/// A transmitter that follows a [`DeliveryTrace`], as mahimahi's mm-link does (Netravali et al.,
/// USENIX ATC 2015). A packet is taken from the queue when an opportunity comes. Bytes left over
/// serve the next packet, which gets its other bytes from later opportunities. An opportunity at
/// which nothing waits is lost, and so are bytes left over when nothing waits.
#[derive(Clone, Debug)]
pub struct TraceChannel {
    trace: Arc<DeliveryTrace>,
    /// The next opportunity not used yet.
    next: u64,
    /// Bytes left of the opportunity before it.
    left_bytes: u32,
    /// End of the last transmission. A packet that follows without a pause continues from there,
    /// also if the minimum of 1 ns has carried the clock past an opportunity.
    busy_until: Time,
}

impl TraceChannel {
    /// A channel at the start of the trace.
    pub fn new(trace: Arc<DeliveryTrace>) -> Self {
        TraceChannel { trace, next: 0, left_bytes: 0, busy_until: Time::ZERO }
    }
}

impl Channel for TraceChannel {
    fn next_opportunity(&self, now: Time) -> Time {
        let goes_on = now <= self.busy_until;
        if goes_on && self.left_bytes > 0 {
            return now;
        }
        let next = self.trace.at(self.next);
        match goes_on || next >= now {
            true => next.max(now),
            false => self.trace.at(self.trace.first_from(now)),
        }
    }
    fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        if now > self.busy_until {
            self.left_bytes = 0;
            if self.trace.at(self.next) < now {
                self.next = self.trace.first_from(now);
            }
        }
        let mut served = self.left_bytes;
        let mut end = now;
        while served < bytes {
            end = self.trace.at(self.next);
            self.next += 1;
            served += self.trace.bytes_per_opportunity;
        }
        self.left_bytes = served - bytes;
        self.busy_until = end.max(now + Span::from_nanos(1));
        self.busy_until
    }
    fn rate(&self, _: Time) -> Rate {
        self.trace.mean_rate()
    }
}

/// The channels.
pub enum AnyChannel {
    /// A constant rate.
    Constant(ConstantRate),
    /// A trace.
    Trace(TraceChannel),
    /// Brought from outside.
    Custom(Box<dyn Channel>),
}

macro_rules! each {
    ($self:expr, $c:ident => $call:expr) => {
        match $self {
            AnyChannel::Constant($c) => $call,
            AnyChannel::Trace($c) => $call,
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
    fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        each!(self, c => c.transmit(now, bytes))
    }
    fn rate(&self, now: Time) -> Rate {
        each!(self, c => c.rate(now))
    }
    fn set_rate(&mut self, rate: Rate) {
        each!(self, c => c.set_rate(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(ms: &[u64]) -> TraceChannel {
        let times = ms.iter().map(|&m| Span::from_millis(m)).collect();
        TraceChannel::new(Arc::new(DeliveryTrace::new(times, 1500).unwrap()))
    }

    #[test]
    fn a_trace_delivers_at_its_opportunities_and_repeats() {
        let mut channel = trace(&[1, 1, 4, 10]);
        let mut now = Time::ZERO;
        let ends: Vec<u64> = (0..6)
            .map(|_| {
                now = channel.transmit(now, 1500);
                now.as_millis()
            })
            .collect();
        assert_eq!(ends, [1, 1, 4, 10, 11, 11]);
    }

    #[test]
    fn any_number_of_opportunities_may_come_at_once() {
        let mut channel = trace(&[1, 1, 1, 1, 1, 4]);
        let mut now = Time::ZERO;
        let ends: Vec<u64> = (0..11)
            .map(|_| {
                now = channel.transmit(now, 1500);
                now.as_millis()
            })
            .collect();
        assert_eq!(ends, [1, 1, 1, 1, 1, 4, 5, 5, 5, 5, 5]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_idle_ones_are_lost() {
        let mut channel = trace(&[1, 2, 3, 10]);
        let first = channel.transmit(Time::ZERO, 500);
        let second = channel.transmit(first, 500);
        assert_eq!((first.as_millis(), second.as_millis()), (1, 1));
        // Idle until 5 ms: what was left at 1 ms and the opportunities at 2 and 3 are gone.
        assert_eq!(channel.transmit(Time::from_millis(5), 1500).as_millis(), 10);
        // A packet longer than an opportunity waits for two.
        assert_eq!(channel.transmit(Time::from_millis(20), 3000).as_millis(), 21);
    }

    #[test]
    fn bad_traces_are_refused() {
        let new = |ms: &[u64]| {
            DeliveryTrace::new(ms.iter().map(|&m| Span::from_millis(m)).collect(), 1500)
        };
        assert_eq!(new(&[]), Err(TraceError::Empty));
        assert_eq!(new(&[3, 2]), Err(TraceError::NotInOrder { index: 1 }));
        assert_eq!(new(&[0, 0]), Err(TraceError::NoLength));
    }
}

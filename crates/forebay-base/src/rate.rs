//! Data rates, and the exact time a packet occupies a transmitter.

use crate::time::Span;
use core::fmt;

/// A data rate in bits per second. Never zero: a link that is down has no rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// The slowest rate that is accepted: 1 kbit/s.
    pub const MIN: Rate = Rate(1_000);
    /// The fastest rate that is accepted: 400 Gbit/s.
    pub const MAX: Rate = Rate(400_000_000_000);

    /// A rate of `bps` bits per second, if it lies in [`Rate::MIN`]..=[`Rate::MAX`].
    pub const fn new(bps: u64) -> Option<Rate> {
        if bps < Self::MIN.0 || bps > Self::MAX.0 { None } else { Some(Rate(bps)) }
    }
    /// A rate clamped to the accepted range. For estimates of controllers, not for user input.
    pub const fn clamped(bps: u64) -> Rate {
        if bps < Self::MIN.0 {
            Self::MIN
        } else if bps > Self::MAX.0 {
            Self::MAX
        } else {
            Rate(bps)
        }
    }
    /// `mbps` Mbit/s. Panics outside the accepted range: for constants and tests.
    pub const fn mbps(mbps: u64) -> Rate {
        match Rate::new(mbps * 1_000_000) {
            Some(rate) => rate,
            None => panic!("rate outside 1 kbit/s .. 400 Gbit/s"),
        }
    }
    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }
    /// The time that `bytes` take at this rate, rounded down.
    pub fn span_of(self, bytes: u64) -> Span {
        let ns = bytes as u128 * 8_000_000_000 / self.0 as u128;
        Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
    /// The bytes that fit into `span` at this rate, rounded down.
    pub fn bytes_in(self, span: Span) -> u64 {
        let bytes = self.0 as u128 * span.as_nanos() as u128 / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

/// Turns packet lengths into transmission times without rounding errors: the remainder of `bits *
/// 10^9 / rate` is carried to the next packet.
#[derive(Clone, Debug)]
pub struct Serializer {
    rate: Rate,
    remainder: u64,
    /// Length of the last packet, with quotient and remainder of its division. Most packets of a
    /// link have the same length, and a division costs more than the rest.
    bytes: u32,
    quotient: u64,
    rest: u64,
}

impl Serializer {
    /// A transmitter of the given rate with no remainder.
    pub const fn new(rate: Rate) -> Serializer {
        Serializer { rate, remainder: 0, bytes: 0, quotient: 0, rest: 0 }
    }
    /// The rate.
    pub const fn rate(&self) -> Rate {
        self.rate
    }
    /// Change the rate for the packets to come.
    pub fn set_rate(&mut self, rate: Rate) {
        *self = Serializer::new(rate);
    }
    /// The time that the next packet of `bytes` (at most 2^24) occupies the transmitter: at least 1
    /// ns.
    #[inline(always)] // once for each packet on each link
    pub fn serialize(&mut self, bytes: u32) -> Span {
        debug_assert!(bytes < 1 << 24);
        if bytes != self.bytes {
            self.divide(bytes);
        }
        let mut ns = self.quotient;
        self.remainder += self.rest;
        if self.remainder >= self.rate.0 {
            self.remainder -= self.rate.0;
            ns += 1;
        }
        Span::from_nanos(ns.max(1))
    }
    #[inline(never)]
    fn divide(&mut self, bytes: u32) {
        let scaled = bytes as u64 * 8_000_000_000;
        self.bytes = bytes;
        self.quotient = scaled / self.rate.0;
        self.rest = scaled % self.rate.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_packets_take_exactly_their_time_at_an_awkward_rate() {
        let mut tx = Serializer::new(Rate::new(2_999_999_999).unwrap());
        let total: u64 = (0..1_000_000).map(|_| tx.serialize(1500).as_nanos()).sum();
        assert_eq!(total, (1_000_000u128 * 12_000 * 1_000_000_000 / 2_999_999_999) as u64);
    }

    #[test]
    fn lengths_in_any_order_lose_nothing() {
        let rate = Rate::new(1_234_567_891).unwrap();
        let mut tx = Serializer::new(rate);
        let (mut bytes, mut total) = (0u128, 0u128);
        for i in 0..100_000u32 {
            let len = [40, 1500, 1500, 52, 577][i as usize % 5] + i % 3;
            bytes += len as u128;
            total += tx.serialize(len).as_nanos() as u128;
        }
        assert_eq!(total, bytes * 8_000_000_000 / rate.bps() as u128);
    }

    #[test]
    fn slowest_and_fastest_rates_serialise() {
        assert_eq!(Serializer::new(Rate::MIN).serialize(1500), Span::from_secs(12));
        assert_eq!(Serializer::new(Rate::MAX).serialize(40), Span::from_nanos(1));
        assert!(Rate::new(0).is_none() && Rate::new(999).is_none());
    }
}

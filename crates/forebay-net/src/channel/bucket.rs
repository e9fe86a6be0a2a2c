//! A token bucket in front of a faster transmitter.

use super::Channel;
use forebay_base::{Rate, Serializer, Span, Time};

/// A token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketSpec {
    /// Rate at which tokens come.
    pub rate: Rate,
    /// Bytes that the bucket holds: the longest burst at the peak rate from a full bucket.
    pub burst_bytes: u64,
    /// Rate at which a packet that has its tokens is transmitted.
    pub peak: Rate,
}

/// Tokens per bit. A token comes each nanosecond for each bit/s of the rate.
const PER_BIT: i128 = 1_000_000_000;

/// A shaper: a packet starts when there are tokens for all of it, and leaves at the peak rate. The
/// bucket is full at the start. In any time t packets of at most `burst_bytes` + rate x t start
/// (RFC 2697 section 3 has the same bucket). A packet that is longer than the bucket starts when
/// the bucket is full, and leaves a debt.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    spec: BucketSpec,
    tokens: i128,
    /// When there were that many.
    at: Time,
    peak: Serializer,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(spec: BucketSpec) -> TokenBucket {
        let tokens = full(&spec);
        TokenBucket { spec, tokens, at: Time::ZERO, peak: Serializer::new(spec.peak) }
    }
    fn fill(&mut self, now: Time) {
        let came = i128::from(self.spec.rate.bps()) * i128::from(now.since(self.at).as_nanos());
        self.tokens = (self.tokens + came).min(full(&self.spec));
        self.at = self.at.max(now);
    }
}

fn full(spec: &BucketSpec) -> i128 {
    i128::from(spec.burst_bytes) * 8 * PER_BIT
}

impl Channel for TokenBucket {
    fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        self.fill(now);
        let cost = i128::from(bytes) * 8 * PER_BIT;
        let short = cost.min(full(&self.spec)) - self.tokens;
        let rate = i128::from(self.spec.rate.bps());
        // Rounded up: a packet never starts before its tokens are there.
        let wait = if short > 0 { (short + rate - 1) / rate } else { 0 };
        let start = now + Span::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX));
        self.fill(start);
        self.tokens -= cost;
        start + self.peak.serialize(bytes)
    }
    fn rate(&self, _: Time) -> Rate {
        self.spec.rate
    }
    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.fill(now);
        self.spec.rate = rate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::{Rng, Stream};

    fn bucket(kbps: u64, burst_bytes: u64, peak: Rate) -> TokenBucket {
        let rate = Rate::new(kbps * 1_000).expect("a rate");
        TokenBucket::new(BucketSpec { rate, burst_bytes, peak })
    }

    /// 3 packets of 1000 bytes from the bucket at 8 Mbit/s (1 ms each) while a third of a packet
    /// comes in each ms at 8/3 Mbit/s; then one each 3 ms.
    #[test]
    fn a_burst_leaves_at_the_peak_and_the_rest_at_the_rate() {
        let mut bucket = TokenBucket::new(BucketSpec {
            rate: Rate::new(2_000_000).expect("a rate"),
            burst_bytes: 3_000,
            peak: Rate::mbps(8),
        });
        let mut now = Time::ZERO;
        let mut next = || {
            now = bucket.transmit(now, 1_000);
            now.as_nanos() / 1_000
        };
        // The fourth packet starts when 4000 bytes have come: 3000 and 250 a ms, so at 4 ms.
        let ends: Vec<u64> = (0..6).map(|_| next()).collect();
        assert_eq!(ends, [1_000, 2_000, 3_000, 5_000, 9_000, 13_000]);
    }

    /// Starts of packets against the envelope: packet j starts at the first time at which it has
    /// come, the one before has left, and from no packet i on more bytes have started than burst +
    /// rate x t. That is the whole definition of the shaper.
    #[test]
    fn starts_follow_from_the_envelope() {
        for seed in 0..40 {
            let mut rng = Rng::new(seed, Stream::Test, 1);
            let (bps, burst) = (1_000_000 + rng.below(20_000_000), 1_500 + rng.below(20_000));
            let peak = Rate::mbps(100);
            let spec =
                BucketSpec { rate: Rate::new(bps).expect("a rate"), burst_bytes: burst, peak };
            let mut channel = TokenBucket::new(spec);
            let mut serializer = Serializer::new(peak);
            let mut started: Vec<(u64, u64)> = Vec::new(); // ns and bytes
            let (mut came, mut free) = (0, 0);
            for _ in 0..400 {
                came += rng.below(3_000_000);
                let bytes = 40 + rng.below(1_461);
                let mut start = came.max(free);
                let mut sum = bytes;
                for &(at, before) in started.iter().rev() {
                    sum += before;
                    let over = (u128::from(sum.saturating_sub(burst))) * 8 * 1_000_000_000;
                    start = start.max(at + over.div_ceil(u128::from(bps)) as u64);
                }
                let end = channel.transmit(Time::from_nanos(came.max(free)), bytes as u32);
                let took = serializer.serialize(bytes as u32);
                let found = end.as_nanos() - took.as_nanos();
                // Each wait is rounded up to a nanosecond, in which less than a bit comes.
                assert!(found >= start && found - start <= 1, "seed {seed}: {found}, not {start}");
                started.push((found, bytes));
                free = end.as_nanos();
            }
        }
    }

    #[test]
    fn a_change_of_rate_counts_from_then_on() {
        let mut bucket = bucket(1_000, 1_000, Rate::mbps(400_000));
        assert!(bucket.transmit(Time::ZERO, 1_000).as_nanos() < 100);
        // 500 bytes at 1 Mbit/s in 4 ms, the other 500 at 4 Mbit/s in 1 ms.
        bucket.set_rate(Time::from_millis(4), Rate::mbps(4));
        let end = bucket.transmit(Time::from_millis(4), 1_000);
        assert_eq!(end.as_nanos() / 1_000, 5_000);
    }
}

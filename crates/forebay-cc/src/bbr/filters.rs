//! What both versions of BBR measure with: a windowed maximum, rounds, bandwidth samples.

use crate::controller::RateSample;
use forebay_base::Span;

/// The maximum over the last N slots of time: rounds or cycles.
#[derive(Clone, Debug)]
pub(crate) struct WindowedMax<const N: usize> {
    /// The maximum of each slot, slot `t` at `t % N`.
    slots: [u64; N],
    now: u64,
}

impl<const N: usize> WindowedMax<N> {
    pub(crate) fn new() -> WindowedMax<N> {
        WindowedMax { slots: [0; N], now: 0 }
    }
    /// It is slot `now`, not before the last one: older ones than N are forgotten.
    pub(crate) fn advance_to(&mut self, now: u64) {
        let passed = now - self.now;
        for slot in (now + 1 - passed.min(N as u64))..=now {
            self.slots[(slot % N as u64) as usize] = 0;
        }
        self.now = now;
    }
    /// The next slot begins.
    pub(crate) fn advance(&mut self) {
        self.advance_to(self.now + 1);
    }
    /// A sample of this slot.
    pub(crate) fn add(&mut self, value: u64) {
        let slot = &mut self.slots[(self.now % N as u64) as usize];
        *slot = (*slot).max(value);
    }
    /// The maximum of all slots; 0 without samples.
    pub(crate) fn max(&self) -> u64 {
        self.slots.iter().copied().max().unwrap_or(0)
    }
    /// The maximum of this slot alone.
    pub(crate) fn latest(&self) -> u64 {
        self.slots[(self.now % N as u64) as usize]
    }
}

/// Rounds as packets time them: one is over when a packet is delivered that was sent after its
/// begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    pub(crate) count: u64,
    /// The ACK at hand ends a round.
    pub(crate) start: bool,
    /// Total delivered when the round began.
    next_delivered: u64,
}

impl Rounds {
    /// A round begins with `delivered` bytes in total.
    pub(crate) fn begin(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
    /// An ACK without a rate sample.
    pub(crate) fn no_sample(&mut self) {
        self.start = false;
    }
    /// An ACK delivers a packet that left when `prior_delivered` bytes were delivered.
    pub(crate) fn on_sample(&mut self, prior_delivered: u64, delivered: u64) {
        self.start = prior_delivered >= self.next_delivered;
        if self.start {
            self.begin(delivered);
            self.count += 1;
        }
    }
}

/// Packets that ProbeRTT held back: their rates are its own. The draft and Linux instead mark the
/// connection as application-limited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldBack {
    /// Those that left when the total delivered was within these bounds.
    span: Option<(u64, u64)>,
}

impl HeldBack {
    /// What is sent from now on, at `delivered` bytes in total, is held back.
    pub(crate) fn begin(&mut self, delivered: u64) {
        self.span = Some((delivered, delivered));
    }
    /// It still is; all that is in flight and one packet more will have been.
    pub(crate) fn go_on(&mut self, delivered: u64, in_flight: u64) {
        if let Some((_, to)) = &mut self.span {
            *to = delivered + in_flight;
        }
    }
    /// True if the packet that left at `prior_delivered` bytes was held back.
    pub(crate) fn holds(&self, prior_delivered: u64) -> bool {
        self.span.is_some_and(|(from, to)| (from..=to).contains(&prior_delivered))
    }
}

/// The delivery rate of a sample in bit/s.
pub(crate) fn bandwidth(sample: &RateSample) -> u64 {
    let ns = sample.interval.as_nanos().max(1) as u128;
    let bps = sample.delivered_bytes as u128 * 8_000_000_000 / ns;
    u64::try_from(bps).unwrap_or(u64::MAX)
}

/// Bytes that `bps` bit/s deliver in `span`.
pub(crate) fn bytes_in(bps: u64, span: Span) -> u64 {
    let bytes = bps as u128 * span.as_nanos() as u128 / 8_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// `gain` times `value`.
pub(crate) fn scaled(gain: f64, value: u64) -> u64 {
    (gain * value as f64) as u64 // saturates
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::{Rng, Stream};

    #[test]
    fn the_maximum_is_that_of_the_last_slots() {
        let mut rng = Rng::new(3, Stream::Test, 0);
        let mut filter = WindowedMax::<10>::new();
        let mut all: Vec<(u64, u64)> = Vec::new();
        let mut slot = 0;
        for _ in 0..2_000 {
            slot += if rng.chance(0.1) { rng.below(25) } else { rng.below(2) };
            filter.advance_to(slot);
            let value = rng.below(1_000_000);
            filter.add(value);
            all.push((slot, value));
            let within = |len: u64| all.iter().filter(move |s| s.0 + len > slot).map(|s| s.1).max();
            assert_eq!(Some(filter.max()), within(10));
            assert_eq!(Some(filter.latest()), within(1));
        }
    }

    #[test]
    fn a_round_ends_with_a_packet_that_was_sent_in_it() {
        let mut rounds = Rounds::default();
        rounds.on_sample(0, 1000);
        assert!(rounds.start && rounds.count == 1);
        rounds.on_sample(999, 2000);
        assert!(!rounds.start);
        rounds.on_sample(1000, 3000);
        assert!(rounds.start && rounds.count == 2);
        rounds.on_sample(2999, 4000);
        assert!(!rounds.start);
    }

    #[test]
    fn rates_and_volumes_convert() {
        // 125 000 bytes in 10 ms: 100 Mbit/s; the same in 10 ms are 125 000 bytes.
        let interval = Span::from_millis(10);
        let sample = RateSample {
            delivered_bytes: 125_000,
            interval,
            prior_delivered_bytes: 0,
            tx_in_flight_bytes: 0,
            app_limited: false,
            lost_bytes: 0,
        };
        assert_eq!(bandwidth(&sample), 100_000_000);
        assert_eq!(bytes_in(100_000_000, interval), 125_000);
        assert_eq!(scaled(2.0, u64::MAX), u64::MAX);
    }
}

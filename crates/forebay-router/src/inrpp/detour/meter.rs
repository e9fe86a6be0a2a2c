//! The load L of an interface over the last full interval T_p, or its EWMA.
//!
//! The intervals of all meters begin at multiples of T_p, so that what one meter counts can be
//! subtracted from what another counts. There is no timer: an interval ends on the next access.

use forebay_base::{Span, Time};

/// Silent intervals after which a filtered load counts as zero: (2/3)^64 of 400 Gbit/s is less than
/// a byte per second.
const FORGET_INTERVALS: u64 = 64;
/// Weight of the last interval in the slow load: a span of five, as the paper has it.
const SLOW_WEIGHT: f64 = 1.0 / 3.0;

/// Bytes per interval, as a rate in bytes per second.
#[derive(Clone, Debug)]
pub(super) struct LoadMeter {
    interval: Span,
    /// Weight w of the last interval: L <- L + w (bytes / T_p - L).
    weight: f64,
    /// End of the interval in progress.
    end: Time,
    /// Of the interval in progress.
    bytes: u64,
    /// L, in bytes per second.
    load: f64,
    /// The same with [`SLOW_WEIGHT`].
    slow_load: f64,
}

impl LoadMeter {
    /// A meter that has seen nothing. Panics on an interval of no length or a weight outside (0,
    /// 1].
    pub fn new(interval: Span, weight: f64) -> LoadMeter {
        assert!(!interval.is_zero() && weight > 0.0 && weight <= 1.0);
        LoadMeter {
            interval,
            weight,
            end: Time::ZERO + interval,
            bytes: 0,
            load: 0.0,
            slow_load: 0.0,
        }
    }

    /// `bytes` are put on the interface now.
    #[inline]
    pub fn add(&mut self, now: Time, bytes: u16) {
        if now >= self.end {
            self.end_intervals(now);
        }
        self.bytes += u64::from(bytes);
    }

    /// L in bytes per second, up to the last interval that is over.
    pub fn load(&mut self, now: Time) -> f64 {
        if now >= self.end {
            self.end_intervals(now);
        }
        self.load
    }

    /// L over some more intervals: for what others send, which is outside the control loop. An
    /// interval holds few packets where links are slow, so that the last one alone says little.
    pub fn slow_load(&mut self, now: Time) -> f64 {
        if now >= self.end {
            self.end_intervals(now);
        }
        self.slow_load
    }

    #[cold]
    fn end_intervals(&mut self, now: Time) {
        let silent = now.since(self.end).as_nanos() / self.interval.as_nanos();
        let sample = self.bytes as f64 / self.interval.as_secs_f64();
        self.load += self.weight * (sample - self.load);
        self.slow_load += SLOW_WEIGHT * (sample - self.slow_load);
        if silent > FORGET_INTERVALS {
            (self.load, self.slow_load) = (0.0, 0.0);
        } else {
            for _ in 0..silent {
                self.load *= 1.0 - self.weight;
                self.slow_load *= 1.0 - SLOW_WEIGHT;
            }
        }
        self.bytes = 0;
        self.end += self.interval * (silent + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T_P: Span = Span::from_millis(10);

    #[test]
    fn only_full_intervals_count() {
        let mut meter = LoadMeter::new(T_P, 1.0);
        meter.add(Time::ZERO, 500);
        meter.add(Time::from_nanos(9_999_999), 500);
        assert_eq!(meter.load(Time::from_nanos(9_999_999)), 0.0);
        assert_eq!(meter.load(Time::from_millis(10)), 100_000.0, "1000 bytes in 10 ms");
        meter.add(Time::from_millis(10), 300);
        assert_eq!(meter.load(Time::from_millis(19)), 100_000.0);
        assert_eq!(meter.load(Time::from_millis(20)), 30_000.0);
        assert_eq!(meter.load(Time::from_millis(30)), 0.0, "silence is no load");
    }

    #[test]
    fn intervals_stay_on_multiples_of_their_length_after_silence() {
        let mut meter = LoadMeter::new(T_P, 1.0);
        meter.add(Time::from_millis(1_234), 700);
        assert_eq!(meter.load(Time::from_millis(1_239)), 0.0);
        assert_eq!(meter.load(Time::from_millis(1_240)), 70_000.0);
    }

    #[test]
    fn the_filter_is_the_recurrence() {
        let mut meter = LoadMeter::new(T_P, 0.25);
        let (mut by_hand, mut now) = (0.0, Time::ZERO);
        for bytes in [800u16, 0, 1_600, 1_600, 0, 0, 400] {
            meter.add(now, bytes);
            now += T_P;
            by_hand = 0.75 * by_hand + 0.25 * f64::from(bytes) / 0.01;
            assert!((meter.load(now) - by_hand).abs() < 1e-6);
        }
        // (2/3)^k / 3 weighted: (800 * 64 + 1600 * 144 + 1600 * 216 + 400 * 729) / 2187 * 100.
        assert!((meter.slow_load(now) - 42_011.888).abs() < 1e-3);
        let silent = meter.load(now + T_P * 3);
        assert!((silent - by_hand * 0.421_875).abs() < 1e-6, "0.75^3 of it");
        assert_eq!(meter.load(now + Span::from_secs(2)), 0.0);
    }
}

//! A histogram of time spans with logarithmic buckets.

use crate::time::Span;
use alloc::vec::Vec;

/// Logarithm of the number of buckets in an octave: 32 buckets, each 2 to 3 % wide.
const SUB_LOG2: u32 = 5;

/// Counts spans. The mean is exact; quantiles are exact within a bucket (3 %) and lie within the
/// range that was seen. Memory grows with that range.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)] // a span of no length touches the first 16 bytes
pub struct Histogram {
    /// Spans of no length, as most waits are.
    zeros: u64,
    /// Of all others, as the fields below. [`Span::MAX`] if there are none; `max` is then zero.
    min: Span,
    max: Span,
    count: u64,
    sum_ns: u128,
    counts: Vec<u64>,
    /// Number of the bucket of `counts[0]`.
    first_bucket: u32,
}

/// Number of a bucket: octave in the high bits, the bits after the leading one in the low bits.
/// Below 2^5 ns each nanosecond has a bucket.
#[inline]
fn bucket_of(ns: u64) -> u32 {
    let octave = (ns | 1 << SUB_LOG2).ilog2() - SUB_LOG2;
    // The leading one adds 1 to the octave, except in the first octave, where it may be missing.
    (octave << SUB_LOG2) + (ns >> octave) as u32
}

/// First nanosecond of a bucket.
fn start_of(bucket: u32) -> f64 {
    let (octave, sub) = (bucket >> SUB_LOG2, bucket & ((1 << SUB_LOG2) - 1));
    match octave {
        0 => sub as f64,
        _ => ((1u64 << SUB_LOG2) + sub as u64) as f64 * (1u64 << (octave - 1)) as f64,
    }
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram {
            zeros: 0,
            count: 0,
            sum_ns: 0,
            min: Span::MAX,
            max: Span::ZERO,
            first_bucket: 0,
            counts: Vec::new(),
        }
    }
}

impl Histogram {
    /// Count one span.
    #[inline]
    pub fn record(&mut self, span: Span) {
        if span < self.min || span > self.max {
            if span.is_zero() {
                self.zeros += 1;
                return;
            }
            return self.record_beyond(span);
        }
        let ns = span.as_nanos();
        self.count += 1;
        self.sum_ns += ns as u128;
        let bucket = bucket_of(ns);
        match self.counts.get_mut(bucket.wrapping_sub(self.first_bucket) as usize) {
            Some(count) => *count += 1,
            None => self.grow(bucket),
        }
    }
    /// Count a span outside the range so far.
    #[cold]
    #[inline(never)]
    fn record_beyond(&mut self, span: Span) {
        (self.min, self.max) = (self.min.min(span), self.max.max(span));
        self.record(span);
    }
    /// Count all of `spans`. The sums stay in registers.
    pub fn record_all(&mut self, spans: impl Iterator<Item = Span>) {
        let (mut zeros, mut count, mut sum_ns) = (0, 0, 0u128);
        let (mut min, mut max) = (self.min, self.max);
        for span in spans {
            if span.is_zero() {
                zeros += 1;
                continue;
            }
            let ns = span.as_nanos();
            count += 1;
            sum_ns += ns as u128;
            min = min.min(span);
            max = max.max(span);
            let bucket = bucket_of(ns);
            match self.counts.get_mut(bucket.wrapping_sub(self.first_bucket) as usize) {
                Some(count) => *count += 1,
                None => self.grow(bucket),
            }
        }
        self.zeros += zeros;
        self.sum_ns += sum_ns;
        self.count += count;
        (self.min, self.max) = (min, max);
    }
    /// Count `times` spans of no length.
    pub fn record_zeros(&mut self, times: u64) {
        self.zeros += times;
    }
    #[cold]
    fn grow(&mut self, bucket: u32) {
        self.cover(bucket, bucket);
        self.counts[(bucket - self.first_bucket) as usize] += 1;
    }
    /// Have counts of the buckets from `first` to `last`.
    fn cover(&mut self, first: u32, last: u32) {
        if self.counts.is_empty() {
            self.first_bucket = first;
        } else if first < self.first_bucket {
            let missing = (self.first_bucket - first) as usize;
            self.counts.splice(0..0, core::iter::repeat_n(0, missing));
            self.first_bucket = first;
        }
        let len = (last - self.first_bucket) as usize + 1;
        self.counts.resize(self.counts.len().max(len), 0);
    }
    /// Spans counted.
    pub fn count(&self) -> u64 {
        self.zeros + self.count
    }
    /// Their exact mean; None if there are none.
    pub fn mean(&self) -> Option<Span> {
        let mean = self.sum_ns.checked_div(self.count() as u128)?;
        Some(Span::from_nanos(mean as u64))
    }
    /// The quantile `q` in `0.0..=1.0` by nearest rank: the smallest span that at least the share
    /// `q` does not exceed. Spans of one bucket count as evenly spread in it. None if there are
    /// none.
    pub fn quantile(&self, q: f64) -> Option<Span> {
        let exact = q * self.count() as f64;
        // The next whole number, at least 1: no float function of the system is called.
        let rank = (exact as u64 + u64::from(exact > exact as u64 as f64)).max(1);
        if rank >= self.count() {
            return (self.count() > 0).then_some(self.max);
        }
        if rank <= self.zeros {
            return Some(Span::ZERO);
        }
        let mut below = self.zeros;
        for (bucket, &count) in (self.first_bucket..).zip(&self.counts) {
            if rank <= below + count {
                let (start, end) = (start_of(bucket), start_of(bucket + 1));
                let ns = start + (end - start) * ((rank - below) as f64 - 0.5) / count as f64;
                return Some(Span::from_nanos(ns as u64).clamp(self.min, self.max));
            }
            below += count;
        }
        unreachable!("the buckets add up to the count")
    }
    /// Forget all spans. Memory stays for others.
    pub fn clear(&mut self) {
        let mut counts = core::mem::take(&mut self.counts);
        counts.clear();
        *self = Histogram { counts, ..Histogram::default() };
    }
    /// Count all that `other` has counted.
    pub fn add(&mut self, other: &Histogram) {
        self.zeros += other.zeros;
        let some = |&count: &u64| count > 0;
        let Some(first) = other.counts.iter().position(some) else { return };
        let last = other.counts.iter().rposition(some).unwrap_or(first);
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        let bucket = |place: usize| other.first_bucket + place as u32;
        self.cover(bucket(first), bucket(last));
        let own = &mut self.counts[(bucket(first) - self.first_bucket) as usize..];
        for (own, count) in own.iter_mut().zip(&other.counts[first..=last]) {
            *own += count;
        }
    }
    /// What was counted since `earlier`, an older copy of this histogram. The mean is exact;
    /// smallest and largest span, and so all quantiles, are exact within a bucket.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut rest = self.clone();
        rest.zeros -= earlier.zeros;
        rest.count -= earlier.count;
        rest.sum_ns -= earlier.sum_ns;
        let shift = earlier.first_bucket.wrapping_sub(self.first_bucket) as usize;
        // An older copy without spans has no buckets, and says nothing of the shift.
        let rest_counts = rest.counts.iter_mut().skip(shift);
        rest_counts.zip(&earlier.counts).for_each(|(rest, count)| *rest -= count);
        if earlier.count > 0 {
            rest.narrow();
        }
        rest
    }
    /// Bound `min` and `max` by the buckets that hold spans, and by the sum of all spans.
    fn narrow(&mut self) {
        let zeros = self.zeros;
        let Some(first) = self.counts.iter().position(|&count| count > 0) else {
            *self = Histogram { zeros, ..Histogram::default() };
            return;
        };
        let last = self.counts.iter().rposition(|&count| count > 0).unwrap_or(first);
        let start = |place: usize| start_of(self.first_bucket + place as u32) as u64;
        let (min, end) = (self.min.as_nanos().max(start(first)), start(last + 1) - 1);
        let others = self.count as u128 - 1;
        // The others are at least `min` each, and at most `max`.
        let most = (self.sum_ns - others * min as u128).min(end as u128) as u64;
        let max = self.max.as_nanos().min(most);
        let least = self.sum_ns.saturating_sub(others * max as u128) as u64;
        (self.min, self.max) = (Span::from_nanos(min.max(least)), Span::from_nanos(max));
    }
    /// The buckets that hold spans, in ascending order: where each begins and ends, both within the
    /// range that was seen, and the number of spans in it. Spans of no length have a bucket of
    /// their own.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, Span, u64)> + '_ {
        let zeros = (self.zeros > 0).then_some((Span::ZERO, Span::ZERO, self.zeros));
        let others = (self.first_bucket..).zip(&self.counts).filter(|(_, count)| **count > 0);
        let others = others.map(|(bucket, &count)| {
            let [from, end] = [bucket, bucket + 1].map(|b| Span::from_nanos(start_of(b) as u64));
            (from.max(self.min), end.min(self.max), count)
        });
        zeros.into_iter().chain(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_uniform_law_are_within_a_bucket() {
        let mut h = Histogram::default();
        (1..=10_000u64).for_each(|us| h.record(Span::from_micros(us)));
        assert_eq!(h.mean(), Some(Span::from_nanos(5_000_500)));
        for q in [0.05, 0.5, 0.95] {
            let got = h.quantile(q).unwrap().as_secs_f64() * 1e6;
            assert!((got / (q * 10_000.0) - 1.0).abs() < 0.01, "{q}: {got}");
        }
        assert_eq!(h.quantile(1.0), Some(Span::from_millis(10)));
    }

    #[test]
    fn spans_of_no_length_count_in_mean_and_quantiles() {
        let (mut each, mut all) = (Histogram::default(), Histogram::default());
        [8, 40].map(Span::from_nanos).into_iter().for_each(|span| {
            each.record(span);
            all.record(span);
        });
        (0..6).for_each(|_| each.record(Span::ZERO));
        all.record_zeros(2);
        all.record_zeros(0);
        all.record_zeros(4);
        assert_eq!(each, all);
        assert_eq!((all.count(), all.mean()), (8, Some(Span::from_nanos(6))));
        assert_eq!(
            (all.quantile(0.5), all.quantile(1.0)),
            (Some(Span::ZERO), Some(Span::from_nanos(40)))
        );
    }

    #[test]
    fn many_at_once_count_as_one_by_one() {
        let spans = [7, 0, 40, 1_000_000, 3, 0, 99, 1 << 40, 31, 32].map(Span::from_nanos);
        let (mut each, mut all) = (Histogram::default(), Histogram::default());
        for part in [&spans[1..2], &[], &spans[2..4], &spans[..], &spans[4..5]] {
            part.iter().for_each(|&span| each.record(span));
            all.record_all(part.iter().copied());
            assert_eq!(each, all);
        }
    }

    #[test]
    fn two_histograms_added_have_counted_the_spans_of_both() {
        let spans = [7, 0, 40, 1_000_000, 3, 0, 99, 1 << 40, 31, 32].map(Span::from_nanos);
        for cut in 0..=spans.len() {
            let (mut a, mut b, mut all) =
                (Histogram::default(), Histogram::default(), Histogram::default());
            spans[..cut].iter().for_each(|&span| a.record(span));
            spans[cut..].iter().for_each(|&span| b.record(span));
            spans.iter().for_each(|&span| all.record(span));
            a.add(&b);
            assert_eq!((a.count(), a.mean()), (all.count(), all.mean()));
            for q in [0.0, 0.25, 0.5, 0.9, 1.0] {
                assert_eq!(a.quantile(q), all.quantile(q), "{cut}, {q}");
            }
        }
    }

    #[test]
    fn a_constant_is_its_own_quantile() {
        for ns in [0, 1, 31, 32, 33, 1_000, 100_000_000, u64::MAX / 2] {
            let mut h = Histogram::default();
            (0..10).for_each(|_| h.record(Span::from_nanos(ns)));
            assert_eq!(h.quantile(0.95), Some(Span::from_nanos(ns)), "{ns}");
        }
    }

    #[test]
    fn buckets_are_contiguous_and_hold_their_start() {
        for bucket in 0..600 {
            let start = start_of(bucket);
            assert!(start < start_of(bucket + 1));
            assert_eq!(bucket_of(start as u64), bucket);
        }
    }

    #[test]
    fn the_past_can_be_taken_off() {
        let mut h = Histogram::default();
        assert_eq!((h.quantile(0.5), h.mean()), (None, None));
        (0..9).for_each(|_| h.record(Span::from_millis(4)));
        let before = h.clone();
        h.record(Span::ZERO);
        h.record(Span::from_millis(9));
        let rest = h.since(&before);
        assert_eq!((rest.count(), rest.mean()), (2, Some(Span::from_micros(4500))));
        assert_eq!(rest.quantile(0.5), Some(Span::ZERO));
        assert_eq!(h.since(&Histogram::default()), h);
    }

    /// The longest span came before: the quantiles of what came since do not reach it.
    #[test]
    fn what_came_before_does_not_bound_what_came_since() {
        let mut h = Histogram::default();
        h.record(Span::from_secs(3));
        h.record(Span::from_micros(3));
        let before = h.clone();
        assert_eq!((h.since(&before).count(), h.since(&before).quantile(0.5)), (0, None));
        h.record(Span::from_millis(20));
        // The sum of one span is the span.
        let one = h.since(&before);
        assert_eq!([0.0, 0.95, 1.0].map(|q| one.quantile(q)), [Some(Span::from_millis(20)); 3]);
        (0..9).for_each(|i| h.record(Span::from_millis(10 + i)));
        let rest = h.since(&before);
        for (q, expected) in [(0.1, 0.010), (0.95, 0.020), (1.0, 0.020)] {
            let got = rest.quantile(q).unwrap().as_secs_f64();
            assert!((got / expected - 1.0).abs() < 1.0 / 32.0, "{q}: {got}");
        }
    }

    #[test]
    fn buckets_hold_all_spans_in_order() {
        let ns = [0, 0, 7, 31, 40, 1_000_000, 1_000_001, 1 << 40];
        let mut h = Histogram::default();
        ns.iter().for_each(|&ns| h.record(Span::from_nanos(ns)));
        let buckets: Vec<_> =
            h.buckets().map(|(a, b, n)| (a.as_nanos(), b.as_nanos(), n)).collect();
        assert_eq!(buckets.iter().map(|bucket| bucket.2).collect::<Vec<_>>(), [2, 1, 1, 1, 2, 1]);
        assert_eq!((buckets[0], buckets[1].0, buckets[5].1), ((0, 0, 2), 7, 1 << 40));
        assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{buckets:?}");
        for &ns in &ns {
            assert!(buckets.iter().any(|&(from, to, _)| (from..=to).contains(&ns)), "{ns}");
        }
    }
}

//! Round-trip times of a path: count, mean, and a histogram that grows only over what was seen.

use crate::connection::RttSummary;
use alloc::vec::Vec;
use forebay_base::Span;

/// Buckets an octave: a power of two, so that bucket edges are bit patterns.
const SUB_BUCKETS_LOG2: u32 = 3;

#[derive(Debug, Default)]
pub(crate) struct Histogram {
    samples: u64,
    sum_ns: u128,
    /// Bucket number of `counts[0]`.
    base: u32,
    counts: Vec<u32>,
}

/// Octave in the high bits, the three bits behind the leading one in the low bits.
fn bucket_of(ns: u64) -> u32 {
    let ns = ns.max(1 << SUB_BUCKETS_LOG2);
    let octave = ns.ilog2();
    let sub = (ns >> (octave - SUB_BUCKETS_LOG2)) as u32 & ((1 << SUB_BUCKETS_LOG2) - 1);
    (octave << SUB_BUCKETS_LOG2) | sub
}

/// The middle of a bucket: at most 1/16 away from any value in it.
fn middle_ns(bucket: u32) -> f64 {
    let octave = bucket >> SUB_BUCKETS_LOG2;
    let sub = (bucket & ((1 << SUB_BUCKETS_LOG2) - 1)) as f64;
    let width = (1u64 << (octave - SUB_BUCKETS_LOG2)) as f64;
    ((1u64 << octave) as f64) + (sub + 0.5) * width
}

impl Histogram {
    #[inline]
    pub(crate) fn add(&mut self, sample: Span) {
        self.samples += 1;
        self.sum_ns += sample.as_nanos() as u128;
        let bucket = bucket_of(sample.as_nanos());
        match self.counts.get_mut(bucket.wrapping_sub(self.base) as usize) {
            Some(count) => *count = count.saturating_add(1),
            None => self.grow(bucket),
        }
    }

    #[cold]
    fn grow(&mut self, bucket: u32) {
        if self.counts.is_empty() {
            self.base = bucket;
        }
        if bucket < self.base {
            let missing = (self.base - bucket) as usize;
            self.counts.splice(0..0, core::iter::repeat_n(0, missing));
            self.base = bucket;
        }
        let at = (bucket - self.base) as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
    }

    pub(crate) fn summary(&self) -> RttSummary {
        if self.samples == 0 {
            return RttSummary::default();
        }
        let rank = (self.samples * 95).div_ceil(100);
        let mut seen = 0;
        let at = self.counts.iter().position(|&count| {
            seen += count as u64;
            seen >= rank
        });
        let bucket = self.base + at.unwrap_or(self.counts.len() - 1) as u32;
        RttSummary {
            samples: self.samples,
            mean_ms: self.sum_ns as f64 / self.samples as f64 * 1e-6,
            p95_ms: middle_ns(bucket) * 1e-6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_is_exact_and_the_percentile_within_a_bucket() {
        let mut h = Histogram::default();
        (1..=1000u64).rev().for_each(|ms| h.add(Span::from_millis(ms)));
        let summary = h.summary();
        assert_eq!(summary.samples, 1000);
        assert!((summary.mean_ms - 500.5).abs() < 1e-9);
        assert!((summary.p95_ms / 950.0 - 1.0).abs() < 0.07, "{}", summary.p95_ms);
    }

    #[test]
    fn every_value_lies_within_seven_percent_of_its_bucket() {
        for ns in (8..60).flat_map(|o| (0..50).map(move |i| (1u64 << o) + (1u64 << o) / 50 * i)) {
            let ratio = middle_ns(bucket_of(ns)) / ns as f64;
            assert!((ratio - 1.0).abs() < 0.07, "{ns}: {ratio}");
        }
    }
}

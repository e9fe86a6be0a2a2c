//! What a link counts.

use alloc::boxed::Box;
use forebay_base::Span;

/// Buckets per power of two: a quantile is within 1/16 of its octave, 5 %.
const SUB: u32 = 8;
const OCTAVES: u32 = 44; // up to 2^44 ns, almost five hours
const BUCKETS: usize = (OCTAVES * SUB) as usize;

/// Spans in logarithmic buckets, eight to an octave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    zeros: u64,
    /// Made at the first span that is not zero: most links never queue.
    buckets: Option<Box<[u32; BUCKETS]>>,
}

impl Histogram {
    /// Count one span.
    #[inline]
    pub fn record(&mut self, span: Span) {
        if span.is_zero() {
            self.zeros += 1;
        } else {
            let buckets = self.buckets.get_or_insert_with(|| Box::new([0; BUCKETS]));
            let bucket = &mut buckets[bucket_of(span.as_nanos())];
            *bucket = bucket.saturating_add(1);
        }
    }
    /// Spans counted.
    pub fn count(&self) -> u64 {
        self.zeros + self.buckets.iter().flat_map(|b| b.iter()).map(|&c| c as u64).sum::<u64>()
    }
    /// The quantile `q` in `0.0..=1.0`, as the middle of its bucket; None if nothing was counted.
    pub fn quantile(&self, q: f64) -> Option<Span> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = (q * (total - 1) as f64) as u64;
        let mut seen = self.zeros;
        if rank < seen {
            return Some(Span::ZERO);
        }
        let buckets = self.buckets.as_ref()?;
        for (i, &count) in buckets.iter().enumerate() {
            seen += count as u64;
            if rank < seen {
                return Some(middle_of(i));
            }
        }
        unreachable!("the counts add up to the total")
    }
    /// What was counted since `earlier`, a copy of this histogram at an earlier time.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut diff = self.clone();
        diff.zeros -= earlier.zeros;
        if let (Some(mine), Some(theirs)) = (&mut diff.buckets, &earlier.buckets) {
            mine.iter_mut().zip(theirs.iter()).for_each(|(m, t)| *m -= t);
        }
        diff
    }
}

fn bucket_of(ns: u64) -> usize {
    let octave = ns.ilog2();
    // The three bits behind the leading one.
    let sub = if octave >= 3 { (ns >> (octave - 3)) & 7 } else { (ns << (3 - octave)) & 7 };
    ((octave * SUB) as usize + sub as usize).min(BUCKETS - 1)
}

fn middle_of(bucket: usize) -> Span {
    let octave = bucket as u32 / SUB;
    let sub = bucket as u64 % SUB as u64;
    let low = (1u128 << octave) * (8 + sub as u128) / 8;
    let high = (1u128 << octave) * (9 + sub as u128) / 8;
    Span::from_nanos(((low + high) / 2) as u64)
}

/// Counts and times of one link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets taken for transmission.
    pub packets: u64,
    /// Their bytes, per-packet overhead included.
    pub bytes: u64,
    /// Transmission time of those packets.
    pub busy: Span,
    /// Sum of the times that they waited before transmission.
    pub wait: Span,
    /// Those times.
    pub waits: Histogram,
    /// Packets lost on the wire or in transmission: by loss or because the link went down.
    pub lost: u64,
}

impl LinkStats {
    #[inline]
    pub(crate) fn transmitted(&mut self, bytes: u64, took: Span, waited: Span) {
        self.packets += 1;
        self.bytes += bytes;
        self.busy += took;
        self.wait += waited;
        self.waits.record(waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_uniform_law_are_within_a_bucket() {
        let mut h = Histogram::default();
        (1..=10_000u64).for_each(|us| h.record(Span::from_micros(us)));
        for q in [0.05, 0.5, 0.95] {
            let got = h.quantile(q).unwrap().as_secs_f64() * 1e6;
            assert!((got / (q * 10_000.0) - 1.0).abs() < 0.07, "{q}: {got}");
        }
    }

    #[test]
    fn zeros_count_and_the_past_can_be_taken_off() {
        let mut h = Histogram::default();
        assert_eq!(h.quantile(0.5), None);
        (0..9).for_each(|_| h.record(Span::ZERO));
        let before = h.clone();
        h.record(Span::from_millis(1));
        assert_eq!(h.quantile(0.5), Some(Span::ZERO));
        assert_eq!(h.since(&before).count(), 1);
        assert!(h.since(&before).quantile(0.5).unwrap() > Span::from_micros(900));
    }
}

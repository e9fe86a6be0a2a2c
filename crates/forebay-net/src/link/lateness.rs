//! How late packets leave, as at a machine that has other things to do.

use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{Rng, Span};

/// By how much packets leave for the wire later than they should. None overtakes another.
#[derive(Clone, Debug, PartialEq)]
pub enum Lateness {
    /// All by the same.
    Constant(Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// As often as in buckets that were recorded.
    Recorded(Buckets),
}

/// Spans and how often they were seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets(Arc<[Bucket]>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    from: Span,
    to: Span,
    /// Spans in this bucket and those before it.
    spans: u64,
}

impl Buckets {
    /// Buckets `(from, to, spans)`; None unless there are spans, each `from` is at most its `to`,
    /// and the number of spans fits into 64 bits.
    pub fn new(buckets: impl IntoIterator<Item = (Span, Span, u64)>) -> Option<Buckets> {
        let mut all: Vec<Bucket> = Vec::new();
        for (from, to, spans) in buckets {
            let spans = all.last().map_or(0, |last| last.spans).checked_add(spans)?;
            all.push(Bucket { from, to, spans });
            if from > to {
                return None;
            }
        }
        let some = all.last().is_some_and(|last| last.spans > 0);
        some.then(|| Buckets(all.into()))
    }
    /// Spans of one bucket are evenly spread in it.
    fn draw(&self, rng: &mut Rng) -> Span {
        let buckets = &self.0;
        let rank = rng.below(buckets[buckets.len() - 1].spans);
        let Bucket { from, to, .. } = buckets[buckets.partition_point(|of| of.spans <= rank)];
        let width = to.saturating_sub(from).as_nanos();
        from + Span::from_nanos(rng.below(width.saturating_add(1)))
    }
}

impl Lateness {
    /// True if the seed makes a difference.
    pub fn is_random(&self) -> bool {
        !matches!(self, Lateness::Constant(_))
    }
    /// That of the next packet.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Span {
        match self {
            Lateness::Constant(late) => *late,
            Lateness::Exponential(mean) => {
                Span::from_nanos((mean.as_nanos() as f64 * rng.exponential()) as u64)
            }
            Lateness::Recorded(buckets) => buckets.draw(rng),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::Stream;

    fn draws(late: &Lateness, number: u64) -> Vec<f64> {
        let mut rng = Rng::new(3, Stream::Test, 1);
        (0..number).map(|_| late.draw(&mut rng).as_nanos() as f64).collect()
    }

    /// Means within five standard deviations.
    #[test]
    fn draws_follow_the_distribution() {
        const N: f64 = 1e5;
        let mean = |late: &Lateness| draws(late, N as u64).iter().sum::<f64>() / N;
        assert_eq!(mean(&Lateness::Constant(Span::from_micros(50))), 50e3);
        let exponential = mean(&Lateness::Exponential(Span::from_micros(40)));
        assert!((exponential - 40e3).abs() < 5.0 * 40e3 / libm::sqrt(N), "{exponential}");
        // A quarter at 10 us, three quarters evenly in 20 to 40 us: mean 25, variance 81.25 + 25.
        let us = Span::from_micros;
        let buckets = Buckets::new([(us(10), us(10), 1), (us(20), us(40), 3)]);
        let recorded = Lateness::Recorded(buckets.expect("sound"));
        let found = mean(&recorded);
        assert!((found - 25e3).abs() < 5.0 * libm::sqrt(106.25 / N) * 1e3, "{found}");
        let all = draws(&recorded, 10_000);
        assert!(all.iter().all(|ns| *ns == 10e3 || (20e3..=40e3).contains(ns)));
    }

    #[test]
    fn buckets_without_a_meaning_are_refused() {
        let ns = Span::from_nanos;
        assert_eq!(Buckets::new([]), None);
        assert_eq!(Buckets::new([(ns(1), ns(2), 0)]), None);
        assert_eq!(Buckets::new([(ns(2), ns(1), 1)]), None);
        assert_eq!(Buckets::new([(ns(1), ns(2), u64::MAX), (ns(2), ns(3), 1)]), None);
    }
}

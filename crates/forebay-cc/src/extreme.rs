//! The smallest or largest sample of a sliding time window, in bounded memory.
//!
//! A sample is kept while no later one is more extreme. Two that are kept lie a share of the window
//! apart, so that there are few; what is kept in place of its neighbour lives that share longer.

use forebay_base::{Span, Time};

/// Samples that are kept at most.
const KEPT: usize = 18;
/// Kept samples are this share of the window apart: one sixteenth.
const SHARES: u64 = 16;

/// Which end of the samples is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Smallest,
    Largest,
}

/// Samples that count as one: the most extreme of them.
#[derive(Clone, Copy, Debug)]
struct Kept {
    from: Time,
    until: Time,
    sample: Span,
}

/// The extreme of the last `window` of samples. It is exact but for what a sixteenth of the window
/// longer ago was.
#[derive(Clone, Debug)]
pub(crate) struct WindowedMinMax {
    end: End,
    /// Oldest first; each is more extreme than those after it.
    kept: [Kept; KEPT],
    count: usize,
}

impl WindowedMinMax {
    pub(crate) fn new(end: End) -> WindowedMinMax {
        let none = Kept { from: Time::ZERO, until: Time::ZERO, sample: Span::ZERO };
        WindowedMinMax { end, kept: [none; KEPT], count: 0 }
    }

    fn beats(&self, a: Span, b: Span) -> bool {
        match self.end {
            End::Smallest => a <= b,
            End::Largest => a >= b,
        }
    }

    /// A sample of now; the extreme of the window that ends with it.
    pub(crate) fn add(&mut self, now: Time, sample: Span, window: Span) -> Span {
        while self.count > 0 && self.beats(sample, self.kept[self.count - 1].sample) {
            self.count -= 1;
        }
        let kept = &self.kept[..self.count];
        let expired = kept.iter().take_while(|old| old.until + window < now).count();
        self.kept.copy_within(expired..self.count, 0);
        self.count -= expired;
        let full = self.count == KEPT; // of a window that has just grown
        match self.kept[..self.count].last_mut() {
            // Later and less extreme: one with its neighbour.
            Some(last) if now.since(last.from) * SHARES < window || full => last.until = now,
            _ => {
                self.kept[self.count] = Kept { from: now, until: now, sample };
                self.count += 1;
            }
        }
        self.kept[0].sample
    }

    /// The extreme when the last sample came; None before the first.
    pub(crate) fn get(&self) -> Option<Span> {
        self.kept[..self.count].first().map(|kept| kept.sample)
    }

    /// Forget all.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::{Rng, Stream};

    /// It lies between the extremes of the window and of a window of 17 sixteenths.
    #[test]
    fn it_is_the_extreme_of_the_window_and_of_no_more_than_a_sixteenth_before() {
        for (end, seed) in [(End::Smallest, 1), (End::Largest, 2), (End::Smallest, 3)] {
            let mut rng = Rng::new(seed, Stream::Test, 0);
            let (mut extreme, mut all) = (WindowedMinMax::new(end), Vec::new());
            let (mut now, mut level) = (Time::from_secs(1), 500_000);
            let window = Span::from_millis(10);
            for step in 0..20_000u64 {
                now += Span::from_micros(rng.below(if step % 500 == 0 { 30_000 } else { 100 }));
                // A walk: long rises and falls fill the places that are kept.
                level = (level + rng.below(2_001)).saturating_sub(1_000 - step / 10 % 2).max(1);
                let sample = Span::from_nanos(level);
                all.push((now, sample));
                let got = extreme.add(now, sample, window);
                let within = |window: Span| {
                    let recent = all.iter().rev().take_while(|(at, _)| *at + window >= now);
                    let samples = recent.map(|&(_, sample)| sample);
                    match end {
                        End::Smallest => samples.min(),
                        End::Largest => samples.max(),
                    }
                };
                let (near, far) = (within(window).unwrap(), within(window * 17 / 16).unwrap());
                let (low, high) = (near.min(far), near.max(far));
                assert!((low..=high).contains(&got), "{end:?} {step}: {got:?} of {near:?} {far:?}");
                assert_eq!(extreme.get(), Some(got));
            }
        }
    }
}

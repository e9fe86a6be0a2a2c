//! Disjoint ranges of sequence offsets: what a receiver holds out of order, and what a sender knows
//! of it from SACKs.

use alloc::collections::VecDeque;

/// `start..end`, never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub start: u64,
    pub end: u64,
}

impl Range {
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }
}

/// Ranges in ascending order; two that touch are one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: VecDeque<Range>,
}

impl RangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// Number of ranges.
    pub(crate) fn count(&self) -> usize {
        self.ranges.len()
    }
    /// Bytes in all ranges.
    pub(crate) fn bytes(&self) -> u64 {
        self.ranges.iter().map(|r| r.len()).sum()
    }
    pub(crate) fn first(&self) -> Option<Range> {
        self.ranges.front().copied()
    }
    pub(crate) fn last(&self) -> Option<Range> {
        self.ranges.back().copied()
    }
    /// From the highest range down.
    pub(crate) fn iter_down(&self) -> impl Iterator<Item = Range> + '_ {
        self.ranges.iter().rev().copied()
    }
    /// The range that holds the byte at `offset`.
    pub(crate) fn containing(&self, offset: u64) -> Option<Range> {
        let at = self.ranges.partition_point(|r| r.end <= offset);
        self.ranges.get(at).copied().filter(|r| r.start <= offset)
    }
    /// True if adding `start..end` makes no range more: one holds some of it, or adjoins it.
    pub(crate) fn touches(&self, start: u64, end: u64) -> bool {
        let at = self.ranges.partition_point(|r| r.end < start);
        self.ranges.get(at).is_some_and(|r| r.start <= end)
    }
    /// True if every byte of `start..end` is there.
    pub(crate) fn covers(&self, start: u64, end: u64) -> bool {
        self.containing(start).is_some_and(|r| r.end >= end)
    }

    /// Add `start..end`. `gap` sees each part that was not there, in ascending order, with the
    /// range that the whole becomes part of. Returns the number of new bytes. Costs O(log ranges +
    /// ranges that are merged).
    pub(crate) fn insert(
        &mut self,
        start: u64,
        end: u64,
        mut gap: impl FnMut(Range, Range),
    ) -> u64 {
        debug_assert!(start < end);
        let from = self.ranges.partition_point(|r| r.end < start);
        let mut to = from;
        let (mut merged, mut held) = (Range { start, end }, 0);
        while let Some(r) = self.ranges.get(to).filter(|r| r.start <= end) {
            merged = Range { start: merged.start.min(r.start), end: merged.end.max(r.end) };
            held += r.len();
            to += 1;
        }
        let new_bytes = merged.len() - held;
        if new_bytes == 0 {
            return 0;
        }
        let mut at = start;
        for r in self.ranges.range(from..to) {
            if at < r.start {
                gap(Range { start: at, end: r.start }, merged);
            }
            at = at.max(r.end);
        }
        if at < end {
            gap(Range { start: at, end }, merged);
        }
        if from == to {
            self.ranges.insert(from, merged);
        } else {
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
        }
        new_bytes
    }

    /// Add `start..end` if it continues the highest range. False, and nothing has changed, if it
    /// does not.
    #[inline]
    pub(crate) fn grow_last(&mut self, start: u64, end: u64) -> bool {
        debug_assert!(start < end);
        match self.ranges.back_mut().filter(|last| last.end == start) {
            Some(last) => {
                last.end = end;
                true
            }
            None => false,
        }
    }
    /// Forget everything below `offset`.
    pub(crate) fn trim_below(&mut self, offset: u64) {
        while let Some(first) = self.ranges.front_mut().filter(|r| r.start < offset) {
            if first.end > offset {
                first.start = offset;
                return;
            }
            self.ranges.pop_front();
        }
    }
    /// Forget everything.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use forebay_base::{Rng, Stream};

    #[test]
    fn agrees_with_a_set_of_bytes() {
        let mut rng = Rng::new(7, Stream::Test, 0);
        for _ in 0..200 {
            let (mut set, mut bytes) = (RangeSet::default(), BTreeSet::new());
            let mut floor = 0;
            for _ in 0..40 {
                let start = floor + rng.below(60);
                let end = start + 1 + rng.below(12);
                let (mut gaps, mut expected) = (Vec::new(), Vec::new());
                let new = set.insert(start, end, |g, _| gaps.extend(g.start..g.end));
                expected.extend((start..end).filter(|b| bytes.insert(*b)));
                assert_eq!((new as usize, &gaps), (expected.len(), &expected));
                if rng.below(8) == 0 {
                    floor += rng.below(10);
                    set.trim_below(floor);
                    bytes = bytes.split_off(&floor);
                }
                assert_eq!(set.bytes() as usize, bytes.len());
                assert!((floor..100).all(|b| set.containing(b).is_some() == bytes.contains(&b)));
                let mut down: Vec<_> = set.iter_down().collect();
                down.reverse();
                assert!(down.windows(2).all(|w| w[0].end < w[1].start));
            }
        }
    }
}

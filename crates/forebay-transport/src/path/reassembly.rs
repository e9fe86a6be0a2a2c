//! Bytes that came: how far in order, and what lies beyond.

use crate::ranges::{Range, RangeSet};
use alloc::boxed::Box;
use forebay_base::{OptionList, narrow};

/// Out-of-order ranges that any receiver keeps: see [`most_ranges`].
const FEWEST_RANGES: u32 = 16_384;

/// Out-of-order ranges that a receiver keeps; what would begin one more is refused.
///
/// As many as the receive buffer holds full segments. Each range has a segment, and a segment is
/// missing in front of it: full segments never make more than half as many. For small ones, of
/// which a buffer holds more, there is a floor. A range takes 16 bytes: ranges need less memory
/// than the buffer itself, where an MSS is not shorter than they are, and a 90th of it where it is
/// 1448 bytes.
fn most_ranges(buffer_bytes: u64, mss_bytes: u16) -> u32 {
    let segments = buffer_bytes / u64::from(mss_bytes.max(1));
    u32::try_from(segments).unwrap_or(u32::MAX).max(FEWEST_RANGES)
}

/// What a segment brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The next bytes in order, this many, those included that had waited for them.
    pub in_order_bytes: u64,
    /// Bytes beyond a gap.
    pub out_of_order: bool,
    /// It filled a gap, or part of one.
    pub filled: bool,
    /// All of it had been there.
    pub duplicate: bool,
    /// Some of it lies beyond the window.
    pub beyond_window: bool,
    /// Nothing of it was taken: it would have begun one range too many.
    pub refused: bool,
}

#[derive(Debug, Default)]
struct OutOfOrder {
    ranges: RangeSet,
    sacks: SackList,
    /// A duplicate to report once (RFC 2883).
    dsack: Option<Range>,
    state: ReportState,
    /// The SACK option that was sent last, unless `state` is unknown.
    report: OptionList,
}

/// The part of the last report that may be reused, if all that happens is that its first range, the
/// highest of all, grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReportState {
    /// Nothing.
    #[default]
    Unknown,
    /// All: nothing was received since.
    Reported,
    /// All but the end of the first range: a segment was added that begins here. `sacks` is not
    /// updated: it would be the same after the report.
    Due(u64),
}

impl OutOfOrder {
    /// Something else happens.
    fn forget_report(&mut self) {
        if let ReportState::Due(start) = core::mem::take(&mut self.state) {
            self.sacks.touch(start);
        }
    }
}

/// Receive sequence space: offset 0 is the SYN, a FIN takes one too.
#[derive(Debug)]
pub(crate) struct Reassembly {
    nxt: u64,
    /// Ranges out of order that are kept.
    most_ranges: u32,
    /// Made at the first segment out of order.
    held: Option<Box<OutOfOrder>>,
}

impl Reassembly {
    /// That of a receiver with such a buffer, whose peer sends such segments.
    pub(crate) fn new(buffer_bytes: u64, mss_bytes: u16) -> Reassembly {
        Reassembly { nxt: 0, most_ranges: most_ranges(buffer_bytes, mss_bytes), held: None }
    }
    /// RCV.NXT.
    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }
    /// The peer's SYN was accepted.
    pub(crate) fn start(&mut self, nxt: u64) {
        self.nxt = nxt;
    }
    /// True if an ACK has no SACK block to carry.
    #[inline]
    pub(crate) fn has_no_sack_blocks(&self) -> bool {
        self.held.as_ref().is_none_or(|h| h.ranges.is_empty() && h.dsack.is_none())
    }

    /// Bytes beyond a hole. `fin` is the offset of the peer's FIN, if it came: that is no byte.
    pub(crate) fn held_bytes(&self, fin: Option<u64>) -> u64 {
        let Some(held) = &self.held else { return 0 };
        let fin = fin.filter(|&fin| fin >= self.nxt && held.ranges.covers(fin, fin + 1));
        held.ranges.bytes() - u64::from(fin.is_some())
    }

    /// All of `start..end` has come.
    pub(crate) fn covers(&self, start: u64, end: u64) -> bool {
        let held = |held: &OutOfOrder| held.ranges.covers(start.max(self.nxt), end);
        end <= self.nxt || self.held.as_ref().is_some_and(|own| held(own))
    }

    /// The next `bytes` came where nothing is held beyond them, and they are within the window.
    #[inline]
    pub(crate) fn append_next(&mut self, bytes: u64) {
        debug_assert!(self.has_no_sack_blocks());
        self.nxt += bytes;
    }
    /// `start..end` came; bytes from `edge` on are refused.
    #[inline]
    pub(crate) fn accept(&mut self, start: u64, end: u64, edge: u64) -> Arrival {
        if start == self.nxt && end <= edge && self.held.is_none() {
            self.nxt = end;
            return Arrival { in_order_bytes: end - start, ..Arrival::default() };
        }
        self.accept_general(start, end, edge)
    }

    fn accept_general(&mut self, start: u64, end: u64, edge: u64) -> Arrival {
        if let Some(held) = &mut self.held {
            held.forget_report();
        }
        let mut arrival = Arrival::default();
        if start < self.nxt {
            let known = Range { start, end: end.min(self.nxt) };
            self.held.get_or_insert_default().dsack = Some(known);
        }
        if end <= self.nxt {
            arrival.duplicate = true;
            return arrival;
        }
        let (start, cut) = (start.max(self.nxt), end.min(edge));
        arrival.beyond_window = cut < end;
        if start >= cut {
            return arrival;
        }
        if start > self.nxt {
            self.hold(start, cut, &mut arrival);
        } else {
            self.append(cut, &mut arrival);
        }
        arrival
    }

    fn hold(&mut self, start: u64, end: u64, arrival: &mut Arrival) {
        let held = self.held.get_or_insert_default();
        let room = held.ranges.count() < self.most_ranges as usize;
        if !room && !held.ranges.touches(start, end) {
            arrival.refused = true;
            return;
        }
        arrival.out_of_order = true;
        held.sacks.touch(start);
        if held.ranges.insert(start, end, |_, _| ()) == 0 {
            arrival.duplicate = true;
            held.dsack = Some(Range { start, end });
        }
    }

    fn append(&mut self, end: u64, arrival: &mut Arrival) {
        let before = self.nxt;
        self.nxt = end;
        if let Some(held) = &mut self.held {
            if let Some(first) = held.ranges.first() {
                arrival.filled = true;
                if first.start <= end {
                    self.nxt = end.max(first.end);
                }
            }
            held.ranges.trim_below(self.nxt);
        }
        arrival.in_order_bytes = self.nxt - before;
    }

    /// [`Reassembly::accept`] of bytes within the window, if all that they change is the end of
    /// the range that was reported first
    /// the last time. False, and nothing has changed, if it is not.
    #[inline]
    pub(crate) fn grow(&mut self, start: u64, end: u64) -> bool {
        let Some(held) = &mut self.held else { return false };
        if held.state != ReportState::Reported || !held.ranges.grow_last(start, end) {
            return false;
        }
        held.state = ReportState::Due(start);
        true
    }
    /// The SACK option that reports [`Reassembly::grow`], if nothing was received since. The peer's
    /// sequence numbers begin at `isn`.
    #[inline]
    pub(crate) fn report_growth(&mut self, isn: u32) -> Option<OptionList> {
        let held = self.held.as_mut().filter(|held| matches!(held.state, ReportState::Due(_)))?;
        let end = held.ranges.last()?.end;
        held.report.as_bytes_mut()[6..10].copy_from_slice(&narrow(end, isn).to_be_bytes());
        held.state = ReportState::Reported;
        Some(held.report)
    }
    /// True if [`Reassembly::report_growth`] has an option.
    #[inline]
    pub(crate) fn has_grown(&self) -> bool {
        self.held.as_ref().is_some_and(|held| matches!(held.state, ReportState::Due(_)))
    }
    /// `report` is a SACK option with all that [`Reassembly::sack_blocks`] has just given.
    pub(crate) fn note_report(&mut self, report: &OptionList) {
        let Some(held) = &mut self.held else { return };
        held.report = *report;
        held.state = ReportState::Reported;
    }

    /// Up to `max` SACK blocks: a duplicate first (reported once), then the range that changed
    /// last, then older ones. True if the same blocks would follow again if the first one grew, the
    /// highest of all.
    pub(crate) fn sack_blocks(&mut self, max: usize, mut emit: impl FnMut(Range)) -> bool {
        let Some(held) = &mut self.held else { return false };
        held.forget_report();
        let (mut room, whole) = (max, held.dsack.is_none() && max > 0);
        if let Some(dsack) = held.dsack.take().filter(|_| room > 0) {
            // A duplicate of held bytes is followed by the range that holds them: make it the most
            // recent.
            emit(dsack);
            room -= 1;
        }
        held.sacks.blocks(&held.ranges, room, emit);
        whole && held.sacks.repeats_itself(&held.ranges)
    }
}

/// The most SACK blocks that 40 bytes of options can hold.
const MAX_BLOCKS: usize = 4;

/// The order of the SACK blocks of an ACK (RFC 2018 section 4): a byte of each of the ranges that
/// changed last, the latest first.
#[derive(Debug, Default)]
struct SackList {
    recent: [Option<u64>; MAX_BLOCKS],
}

impl SackList {
    /// The range that holds `offset` changed.
    fn touch(&mut self, offset: u64) {
        self.recent.copy_within(..MAX_BLOCKS - 1, 1);
        self.recent[0] = Some(offset);
    }
    /// Up to `max` ranges, the one that changed last first. Keeps one byte of each, so that a range
    /// that grows does not push out the memory of others.
    fn blocks(&mut self, ranges: &RangeSet, max: usize, mut emit: impl FnMut(Range)) {
        let mut kept: [Option<u64>; MAX_BLOCKS] = [None; MAX_BLOCKS];
        let mut count = 0;
        let known = self.recent.iter().flatten().filter_map(|&offset| ranges.containing(offset));
        // Older ranges beyond those remembered fill what is left, from the highest down.
        for range in known.chain(ranges.iter_down().take(MAX_BLOCKS)) {
            if count == MAX_BLOCKS || kept[..count].contains(&Some(range.start)) {
                continue;
            }
            kept[count] = Some(range.start);
            count += 1;
            if count <= max {
                emit(range);
            }
        }
        self.recent = kept;
    }
    /// True if [`SackList::blocks`], which was just called, would give the same again after a touch
    /// of the highest range.
    fn repeats_itself(&self, ranges: &RangeSet) -> bool {
        let [first, _, _, oldest] = self.recent;
        // A touch pushes out the oldest, and the highest range that is not remembered takes its
        // place.
        let remembered = &self.recent[..MAX_BLOCKS - 1];
        let mut highest = ranges.iter_down().take(MAX_BLOCKS).map(|range| Some(range.start));
        let next = highest.find(|start| !remembered.contains(start)).flatten();
        first == ranges.last().map(|range| range.start) && next == oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::{Rng, Stream, kind};

    fn blocks(r: &mut Reassembly, max: usize) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        r.sack_blocks(max, |b| out.push((b.start, b.end)));
        out
    }

    /// RFC 2018 section 4, case 2: the first of eight segments of 500 bytes from 5000 on is lost.
    #[test]
    fn one_block_grows_while_the_first_segment_is_missing() {
        let mut r = Reassembly::new(0, 1000);
        r.start(5000);
        for end in [6000, 6500, 7000, 7500, 8000, 8500, 9000] {
            assert!(r.accept(end - 500, end, 100_000).out_of_order);
            assert_eq!(blocks(&mut r, 3), [(5500, end)]);
        }
    }

    #[test]
    fn bytes_beyond_a_hole_are_counted_once_and_a_fin_is_none() {
        let mut r = Reassembly::new(0, 1000);
        r.start(5000);
        assert_eq!(r.held_bytes(None), 0);
        // Of 5500..6500 half comes twice; then a FIN at 7000 after 500 bytes, and the hole is
        // filled.
        for (start, end, held) in [(5500, 6000, 500), (5500, 6500, 1000), (6500, 7001, 1500)] {
            r.accept(start, end, 100_000);
            assert_eq!(r.held_bytes(Some(7000)), held);
        }
        r.accept(5000, 5500, 100_000);
        assert_eq!((r.held_bytes(Some(7000)), r.nxt()), (0, 7001));
    }

    /// RFC 2018 section 4, case 3: the second, fourth, sixth and eighth are lost; then the fourth
    /// and the second come.
    #[test]
    fn the_most_recent_block_comes_first() {
        let mut r = Reassembly::new(0, 1000);
        r.start(5000);
        r.accept(5000, 5500, 100_000);
        r.accept(6000, 6500, 100_000);
        r.accept(7000, 7500, 100_000);
        r.accept(8000, 8500, 100_000);
        assert_eq!(blocks(&mut r, 3), [(8000, 8500), (7000, 7500), (6000, 6500)]);
        r.accept(6500, 7000, 100_000);
        assert_eq!(blocks(&mut r, 3), [(6000, 7500), (8000, 8500)]);
        let arrival = r.accept(5500, 6000, 100_000);
        assert_eq!((r.nxt(), arrival.filled, arrival.in_order_bytes), (7500, true, 2000));
        assert_eq!(blocks(&mut r, 3), [(8000, 8500)]);
    }

    /// RFC 2883 section 4.1.1 and 4.2.1: duplicates below the ACK, and of a held block.
    #[test]
    fn a_duplicate_is_reported_once_and_first() {
        let mut r = Reassembly::new(0, 1000);
        r.start(4000);
        assert!(r.accept(3000, 3500, 100_000).duplicate);
        assert_eq!(blocks(&mut r, 3), [(3000, 3500)]);
        assert_eq!(blocks(&mut r, 3), []);
        r.accept(4500, 5500, 100_000);
        assert!(r.accept(5000, 5500, 100_000).duplicate);
        assert_eq!(blocks(&mut r, 3), [(5000, 5500), (4500, 5500)]);
    }

    /// Segments come in random order, with holes that are filled in part; one end asks whether a
    /// range has only grown, the other never.
    #[test]
    fn the_report_of_a_range_that_grows_is_that_of_all_ranges() {
        const ISN: u32 = u32::MAX - 5_000;
        fn report(r: &mut Reassembly, max: usize) -> OptionList {
            let mut data = Vec::new();
            let again = r.sack_blocks(max, |b| {
                data.extend(narrow(b.start, ISN).to_be_bytes());
                data.extend(narrow(b.end, ISN).to_be_bytes());
            });
            let mut list = OptionList::EMPTY;
            list.push(kind::SACK, &data).unwrap();
            if again {
                r.note_report(&list);
            }
            list
        }
        let mut rng = Rng::new(11, Stream::Test, 0);
        let (mut short, mut refused) = (0, 0);
        for max in [2, 3, 4] {
            let (mut fast, mut slow) = (Reassembly::new(0, 1000), Reassembly::new(0, 1000));
            let mut next = 1;
            for _ in 0..4_000 {
                let start = match rng.below(16) {
                    0 => next + 100,                            // a hole
                    1 => fast.nxt() + 100 * (1 + rng.below(9)), // into one, or what is there
                    2 => fast.nxt(),                            // the first one
                    _ => next,
                };
                let end = start + 100;
                next = next.max(end);
                slow.accept(start, end, u64::MAX);
                if fast.grow(start, end) {
                    short += 1;
                } else {
                    refused += 1;
                    fast.accept(start, end, u64::MAX);
                }
                assert_eq!(fast.nxt(), slow.nxt());
                if rng.below(4) > 0 {
                    let grown = fast.report_growth(ISN);
                    let grown = grown.unwrap_or_else(|| report(&mut fast, max));
                    assert_eq!(grown, report(&mut slow, max));
                }
            }
        }
        assert!(short > 1_000 && refused > 1_000, "{short} {refused}");
    }

    #[test]
    fn the_window_cuts_and_refuses() {
        let mut r = Reassembly::new(0, 1000);
        r.start(0);
        let arrival = r.accept(0, 1000, 600);
        assert_eq!((arrival.in_order_bytes, arrival.beyond_window), (600, true));
        let refused = r.accept(700, 800, 600);
        assert!(refused.beyond_window && !refused.out_of_order);
    }

    /// Every second segment of a full window is missing: half as many ranges as the buffer holds
    /// segments, by hand.
    #[test]
    fn a_receiver_keeps_the_ranges_of_a_full_window() {
        let (mss, segments) = (1_000, 200_000);
        let mut r = Reassembly::new(mss * segments, mss as u16);
        for n in (1..segments).step_by(2) {
            let arrival = r.accept(n * mss, (n + 1) * mss, mss * segments);
            assert!(arrival.out_of_order && !arrival.refused, "segment {n}");
        }
        assert_eq!(r.held.as_ref().unwrap().ranges.count(), 100_000);
    }

    /// A small buffer has the floor: the next range is refused, in the middle as at the end; what
    /// belongs to a range that is there is not.
    #[test]
    fn one_range_too_many_is_refused_and_said() {
        let mut r = Reassembly::new(4 << 20, 1_448);
        let most = u64::from(FEWEST_RANGES);
        for n in 1..=most {
            assert!(!r.accept(40 * n, 40 * n + 10, u64::MAX).refused);
        }
        for start in [20, 40 * most + 60] {
            let arrival = r.accept(start, start + 10, u64::MAX);
            assert!(arrival.refused && !arrival.out_of_order && !arrival.duplicate);
        }
        for start in [30, 50, 40 * most + 10, 40 * most + 5] {
            let arrival = r.accept(start, start + 10, u64::MAX);
            assert!(arrival.out_of_order && !arrival.refused, "{start}");
        }
        assert!(!r.accept(0, 30, u64::MAX).refused);
        assert_eq!(r.nxt(), 60, "30..60 was there");
    }
}

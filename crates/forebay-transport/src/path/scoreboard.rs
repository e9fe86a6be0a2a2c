//! Segments sent and not yet acknowledged, in stream order, each with its latest
//! transmission.
//!
//! Original transmissions are in stream order too, so only retransmissions need a list of their own
//! (`repeats`) to be walked in the order in which they were sent. An ACK in order pops from the
//! front; a SACK block costs what is new in it.

use super::samples::Flight;
use crate::ranges::RangeSet;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};
use forebay_base::Time;
use forebay_cc::Tag;

/// A piece of the stream as it was last sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    /// First sequence offset.
    pub start: u64,
    /// Number of the latest transmission.
    pub number: u64,
    pub sent_at: Time,
    pub tag: Tag,
    /// Payload bytes.
    pub len: u16,
    pub flags: u16,
}

/// Carries SYN.
pub(crate) const SYN: u16 = 1;
/// Carries FIN.
pub(crate) const FIN: u16 = 2;
/// The peer reported it as received.
pub(crate) const SACKED: u16 = 4;
/// Declared lost and not retransmitted yet: not in flight.
pub(crate) const LOST: u16 = 8;
/// Sent more than once.
pub(crate) const REPEATED: u16 = 16;
/// Retransmitted before it was declared lost: both copies count as in flight (RFC 6675, SetPipe).
pub(crate) const TWICE: u16 = 32;
/// Its loss was reported: once is enough, even if it was taken back.
pub(crate) const REPORTED: u16 = 64;

impl Segment {
    /// The sequence offset after it: SYN and FIN take one each.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.start + self.len as u64 + (self.flags & (SYN | FIN)).count_ones() as u64
    }
    #[inline]
    pub(crate) fn is(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
    /// Neither with the peer nor lost.
    #[inline]
    pub(crate) fn outstanding(&self) -> bool {
        self.flags & (SACKED | LOST) == 0
    }
    #[inline]
    fn in_flight(&self) -> u64 {
        match self.flags & (SACKED | LOST | TWICE) {
            0 => self.len as u64,
            TWICE => 2 * self.len as u64,
            _ => 0,
        }
    }
}

/// A retransmission: its number, its segment, and what had been sent by then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retransmission {
    pub number: u64,
    pub start: u64,
    /// Everything below this offset had been sent when it was.
    pub sent_below: u64,
}

/// One for each segment.
#[derive(Debug, Default)]
struct Flights(VecDeque<Flight>);

#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    una: u64,
    nxt: u64,
    in_flight: u64,
    segments: Ring<Segment>,
    /// What the rate sampler noted on each of them; None where no controller uses its samples.
    flights: Option<Box<Flights>>,
    sacked_bytes: u64,
    sacked_segments: u32,
    lost_segments: u32,
    sacked: RangeSet,
    /// In the order of transmission. An entry is stale once its segment is delivered or
    /// retransmitted.
    repeats: VecDeque<Retransmission>,
    /// No segment below this offset awaits retransmission.
    lost_from: u64,
    /// No original transmission below this offset is outstanding.
    originals_from: u64,
}

impl Scoreboard {
    /// Nothing more is sent: give memory back.
    pub(crate) fn give_back(&mut self) {
        if self.is_empty() {
            (self.segments, self.repeats) = (Ring::default(), VecDeque::new());
            if let Some(flights) = &mut self.flights {
                flights.0 = VecDeque::new();
            }
        }
    }
    /// SND.UNA.
    #[inline]
    pub(crate) fn una(&self) -> u64 {
        self.una
    }
    /// SND.NXT.
    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.nxt
    }
    /// Payload bytes that are neither with the peer nor lost.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }
    pub(crate) fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }
    pub(crate) fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }
    /// Segments that await retransmission.
    #[inline]
    pub(crate) fn lost_segments(&self) -> u32 {
        self.lost_segments
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }
    pub(crate) fn sacked(&self) -> &RangeSet {
        &self.sacked
    }
    pub(crate) fn get(&self, index: usize) -> &Segment {
        &self.segments[index]
    }
    /// True if transmissions may be outstanding whose order is not that of the stream.
    #[inline]
    pub(crate) fn has_repeats(&self) -> bool {
        !self.repeats.is_empty()
    }
    /// Nothing is reported beyond SND.UNA, lost, or outstanding a second time.
    pub(crate) fn is_orderly(&self) -> bool {
        self.sacked.is_empty() && self.lost_segments == 0 && !self.has_repeats()
    }
    /// Index of the segment that holds `offset`, or of the first one above it.
    pub(crate) fn find(&self, offset: u64) -> usize {
        // Nearly always all have one size: divide.
        if let Some(first) = self.segments.front().filter(|s| s.len > 0 && s.start <= offset) {
            let guess = ((offset - first.start) / first.len as u64) as usize;
            let holds = |s: &Segment| s.start <= offset && offset < s.end();
            if self.segments.get(guess).is_some_and(holds) {
                return guess;
            }
        }
        self.segments.partition_point(|s| s.end() <= offset)
    }

    /// New data left.
    #[inline]
    pub(crate) fn push(&mut self, segment: Segment) {
        debug_assert_eq!(segment.start, self.nxt);
        self.nxt = segment.end();
        self.in_flight += segment.len as u64;
        // Field by field: a copy of the whole would stall on fields that were written just before.
        let slot = self.segments.push_slot();
        (slot.start, slot.number) = (segment.start, segment.number);
        (slot.sent_at, slot.tag) = (segment.sent_at, segment.tag);
        (slot.len, slot.flags) = (segment.len, segment.flags);
    }
    /// Notes of the rate sampler on the segment that was pushed last. Noted on each or on none.
    pub(crate) fn push_flight(&mut self, flight: Flight) {
        self.flights.get_or_insert_default().0.push_back(flight);
    }
    /// A byte beyond SND.NXT was taken by the peer: a window probe.
    pub(crate) fn skip_to(&mut self, offset: u64) {
        debug_assert!(self.segments.is_empty() && offset == self.nxt + 1);
        (self.una, self.nxt) = (offset, offset);
    }
    pub(crate) fn set_tag(&mut self, index: usize, tag: Tag) {
        self.segments[index].tag = tag;
    }

    /// The first segment, if `ack` covers all of it: it is taken out.
    #[inline]
    pub(crate) fn pop_acked(&mut self, ack: u64) -> Option<(Segment, Option<Flight>)> {
        let first = *self.segments.front()?;
        if first.end() > ack {
            return None;
        }
        self.segments.drop_front(1);
        self.leave(&first);
        Some((first, self.drop_flights(1)))
    }
    /// What the rate sampler noted on segment `index`.
    #[inline]
    pub(crate) fn flight(&self, index: usize) -> Option<Flight> {
        self.flights.as_ref().and_then(|flights| flights.0.get(index).copied())
    }
    /// How many segments end exactly at `ack`, which is beyond SND.UNA, and the last of them: if
    /// nothing has happened to them since they were sent, and they carry neither SYN nor FIN.
    #[inline]
    pub(crate) fn whole_run(&self, ack: u64) -> Option<(usize, &Segment)> {
        let (mut segments, mut end) = (0, self.una);
        loop {
            let s = self.segments.get(segments)?;
            if s.flags != 0 {
                return None;
            }
            end += s.len as u64;
            segments += 1;
            if end >= ack {
                return (end == ack).then_some((segments, s));
            }
        }
    }
    /// Take out the first `segments`, which are [`Scoreboard::whole_run`] up to `ack`.
    /// [`Scoreboard::drop_flights`] is to follow.
    #[inline]
    pub(crate) fn pop_run(&mut self, segments: usize, ack: u64, bytes: u64) {
        self.segments.drop_front(segments);
        self.una = ack;
        self.in_flight -= bytes;
    }
    /// What was noted on the first `segments` leaves with them. Returns the last of it.
    #[inline]
    pub(crate) fn drop_flights(&mut self, segments: usize) -> Option<Flight> {
        self.flights.as_mut().and_then(|flights| flights.0.drain(..segments).next_back())
    }
    /// Everything below `ack` is acknowledged, and [`Scoreboard::pop_acked`] was called until it
    /// gave None. Returns the payload bytes that are cut off a segment of which only the head is
    /// acknowledged, if no SACK has reported them.
    #[inline]
    pub(crate) fn advance(&mut self, ack: u64) -> u64 {
        self.una = ack;
        if !self.sacked.is_empty() {
            self.sacked.trim_below(ack);
        }
        while self.repeats.front().is_some_and(|r| r.start < ack) {
            self.repeats.pop_front();
        }
        match self.segments.front() {
            Some(first) if first.start < ack => self.cut_head(ack),
            _ => 0,
        }
    }
    #[cold]
    fn cut_head(&mut self, ack: u64) -> u64 {
        let mut first = self.segments[0];
        self.leave(&first);
        let cut = ack - first.start;
        let syn = u64::from(first.is(SYN));
        let payload = cut - syn.min(cut);
        first.start = ack;
        first.flags &= !SYN;
        first.len -= payload as u16;
        self.enter(&first);
        self.segments[0] = first;
        if first.is(SACKED) { 0 } else { payload }
    }
    /// Take the weight of `s` out of the sums.
    #[inline]
    fn leave(&mut self, s: &Segment) {
        self.in_flight -= s.in_flight();
        if s.flags & (SACKED | LOST) != 0 {
            if s.is(SACKED) {
                self.sacked_bytes -= s.len as u64;
                self.sacked_segments -= 1;
            } else {
                self.lost_segments -= 1;
            }
        }
    }
    /// Put the weight of `s` into the sums.
    fn enter(&mut self, s: &Segment) {
        self.in_flight += s.in_flight();
        if s.is(SACKED) {
            self.sacked_bytes += s.len as u64;
            self.sacked_segments += 1;
        } else if s.is(LOST) {
            self.lost_segments += 1;
        }
    }
    fn reflag(&mut self, index: usize, set: u16, clear: u16) {
        let mut s = self.segments[index];
        self.leave(&s);
        s.flags = (s.flags & !clear) | set;
        self.enter(&s);
        self.segments[index] = s;
    }

    /// The peer holds `start..end`, above SND.UNA. `arrived` gets the index of each segment
    /// that was not reported before.
    pub(crate) fn sack(&mut self, start: u64, end: u64, mut arrived: impl FnMut(usize)) {
        let mut sacked = core::mem::take(&mut self.sacked);
        sacked.insert(start, end, |gap, merged| {
            let mut at = self.find(gap.start);
            while let Some(s) = self.segments.get(at).filter(|s| s.start < gap.end) {
                let whole = merged.start <= s.start && s.end() <= merged.end;
                if whole && !s.is(SACKED) {
                    arrived(at);
                    self.reflag(at, SACKED, LOST | TWICE);
                }
                at += 1;
            }
        });
        self.sacked = sacked;
    }
    /// [`Scoreboard::sack`] for the most frequent block: `start..end` overlaps or continues the
    /// highest range reported and goes beyond it. Returns an index and an offset: pass each segment
    /// from the index on that lies wholly below the offset to [`Scoreboard::sack_next`]. None, and
    /// nothing has changed, if the block is another one.
    #[inline]
    pub(crate) fn extend_highest(&mut self, start: u64, end: u64) -> Option<(usize, u64)> {
        let top = self.sacked.last()?;
        if start < top.start || start > top.end || end <= top.end {
            return None;
        }
        self.sacked.grow_last(top.end, end);
        let mut at = self.find(top.end);
        // A segment that this block completes may begin below the range.
        at += usize::from(self.segments.get(at).is_some_and(|s| s.start < top.start));
        Some((at, end))
    }
    /// The peer holds segment `index`, if it ends at `end` or below; its index is after all that
    /// were outstanding before.
    #[inline]
    pub(crate) fn sack_next(&mut self, index: usize, end: u64) -> Option<Segment> {
        let s = self.segments.get_mut(index).filter(|s| s.end() <= end)?;
        debug_assert!(!s.is(SACKED));
        if s.start == self.originals_from {
            self.originals_from = s.end();
        }
        self.in_flight -= s.in_flight();
        self.lost_segments -= u32::from(s.is(LOST));
        self.sacked_bytes += s.len as u64;
        self.sacked_segments += 1;
        s.flags = (s.flags & !(LOST | TWICE)) | SACKED;
        Some(*s)
    }
    /// The peer may have dropped what it reported (RFC 2018 section 8): forget it.
    pub(crate) fn forget_sacks(&mut self) {
        for index in 0..self.segments.len() {
            if self.segments[index].is(SACKED) {
                self.reflag(index, LOST, SACKED);
            }
        }
        self.sacked.clear();
        self.lost_from = self.una;
    }

    /// The segment is declared lost. It must be outstanding.
    /// True the first time for this transmission.
    pub(crate) fn mark_lost(&mut self, index: usize) -> bool {
        debug_assert!(self.segments[index].outstanding());
        let first = !self.segments[index].is(REPORTED);
        self.reflag(index, LOST | REPORTED, TWICE);
        self.lost_from = self.lost_from.min(self.segments[index].start);
        first
    }
    /// No loss after all: everything that waits is in flight again.
    pub(crate) fn unmark_lost(&mut self) {
        for index in 0..self.segments.len() {
            if self.segments[index].is(LOST) {
                self.reflag(index, 0, LOST);
            }
        }
        self.originals_from = self.una;
    }
    /// Index of the lowest segment that awaits retransmission.
    pub(crate) fn next_lost(&mut self) -> Option<usize> {
        if self.lost_segments == 0 {
            return None;
        }
        let from = self.find(self.lost_from.max(self.una));
        let at = (from..self.segments.len()).find(|&i| self.segments[i].is(LOST))?;
        self.lost_from = self.segments[at].start;
        Some(at)
    }
    /// True if no transmission may be outstanding that was sent before retransmission
    /// `number`, or that was sent once and ends at `offset` or below.
    #[inline]
    pub(crate) fn none_before(&self, number: u64, offset: u64) -> bool {
        self.originals_from.max(self.una) >= offset
            && self.repeats.front().is_none_or(|r| r.number >= number)
    }
    /// Index of the lowest original transmission that is outstanding.
    pub(crate) fn first_original(&mut self) -> Option<usize> {
        let from = self.find(self.originals_from.max(self.una));
        let outstanding = |s: &Segment| s.outstanding() && !s.is(REPEATED);
        let at = (from..self.segments.len()).find(|&i| outstanding(&self.segments[i]));
        self.originals_from = at.map_or(self.nxt, |i| self.segments[i].start);
        at
    }
    /// False if no original transmission is outstanding; true may be late.
    #[inline]
    pub(crate) fn has_originals(&self) -> bool {
        self.originals_from.max(self.una) < self.nxt
    }
    /// Index of the highest original transmission that is outstanding and lies wholly below
    /// `offset`.
    pub(crate) fn last_original_below(&self, offset: u64) -> Option<usize> {
        let mut at = self.find(offset);
        while at > 0 {
            let s = &self.segments[at - 1];
            if s.start < self.originals_from {
                return None;
            }
            if s.outstanding() && !s.is(REPEATED) {
                return Some(at - 1);
            }
            let skip = self.sacked.containing(s.start);
            at = skip.map_or(at - 1, |range| self.find(range.start).min(at - 1));
        }
        None
    }
    /// Index of the outstanding segment whose latest transmission is this one.
    fn repeated(&self, repeat: &Retransmission) -> Option<usize> {
        let at = self.find(repeat.start);
        let s = self.segments.get(at)?;
        (s.number == repeat.number && s.outstanding()).then_some(at)
    }
    /// Index of the earliest retransmission that is outstanding.
    pub(crate) fn first_repeat(&mut self) -> Option<usize> {
        while let Some(first) = self.repeats.front() {
            if let Some(at) = self.repeated(first) {
                return Some(at);
            }
            self.repeats.pop_front();
        }
        None
    }
    /// Index of the latest retransmission below `number` that is outstanding.
    pub(crate) fn last_repeat_below(&self, number: u64) -> Option<usize> {
        let end = self.repeats.partition_point(|r| r.number < number);
        self.repeats.range(..end).rev().find_map(|r| self.repeated(r))
    }
    /// Data sent by the time retransmission `number` was.
    pub(crate) fn sent_below(&self, number: u64) -> Option<u64> {
        let at = self.repeats.partition_point(|r| r.number < number);
        self.repeats.get(at).filter(|r| r.number == number).map(|r| r.sent_below)
    }

    /// Cut segment `index` so that it holds the first `len` payload bytes only.
    pub(crate) fn split(&mut self, index: usize, len: u16) {
        let whole = self.segments[index];
        debug_assert!(0 < len && len < whole.len && !whole.is(SYN));
        self.leave(&whole);
        let head = Segment { len, flags: whole.flags & !FIN, ..whole };
        let rest = Segment { start: head.end(), len: whole.len - len, ..whole };
        self.enter(&head);
        self.enter(&rest);
        self.segments[index] = head;
        self.segments.insert(index + 1, rest);
        if let Some(flights) = &mut self.flights {
            flights.0.insert(index + 1, flights.0[index]);
        }
        if rest.is(REPEATED) && rest.outstanding() {
            self.insert_repeat(Retransmission {
                number: rest.number,
                start: rest.start,
                sent_below: self.nxt,
            });
        }
    }
    fn insert_repeat(&mut self, repeat: Retransmission) {
        let at = self.repeats.partition_point(|r| r.number <= repeat.number);
        self.repeats.insert(at, repeat);
    }
    /// Segment `index` is retransmitted, as described by `again` but for its flags.
    pub(crate) fn repeat(&mut self, index: usize, again: Segment, flight: Option<Flight>) {
        let mut s = self.segments[index];
        debug_assert!(s.start == again.start && s.len == again.len && !s.is(SACKED));
        self.leave(&s);
        let twice = if s.is(LOST) || s.is(SYN) { 0 } else { TWICE };
        let kept = s.flags & (SYN | FIN);
        s = Segment { flags: kept | REPEATED | twice, ..again };
        self.enter(&s);
        self.segments[index] = s;
        if let (Some(flights), Some(flight)) = (&mut self.flights, flight) {
            flights.0[index] = flight;
        }
        self.insert_repeat(Retransmission {
            number: s.number,
            start: s.start,
            sent_below: self.nxt,
        });
    }

    /// The sums, counted anew: for debug assertions and tests.
    pub(crate) fn is_consistent(&self) -> bool {
        let sum = |f: &dyn Fn(&Segment) -> u64| self.segments.iter().map(f).sum::<u64>();
        let contiguous =
            self.segments.iter().try_fold(self.una, |at, s| (s.start == at).then_some(s.end()));
        contiguous == Some(self.nxt)
            && self.flights.as_ref().is_none_or(|flights| flights.0.len() == self.segments.len())
            && sum(&Segment::in_flight) == self.in_flight
            && sum(&|s| if s.is(SACKED) { s.len as u64 } else { 0 }) == self.sacked_bytes
            && sum(&|s| u64::from(s.is(LOST))) == self.lost_segments as u64
            && self.segments.iter().all(|s| !s.is(SACKED) || self.sacked.covers(s.start, s.end()))
    }
}

/// Like `VecDeque`, but a power of two of slots, so that an index costs a mask, and several leave
/// at the front in one step. It grows and never shrinks.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    slots: Box<[T]>,
    /// Index of the first slot in use.
    head: u32,
    len: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { slots: Box::default(), head: 0, len: 0 }
    }
}

impl<T: Copy + Default> Ring<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Where item `index` lies.
    #[inline]
    fn slot(&self, index: usize) -> usize {
        (self.head as usize + index) & self.slots.len().wrapping_sub(1)
    }
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        if index < self.len() { self.slots.get(self.slot(index)) } else { None }
    }
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        let at = self.slot(index);
        if index < self.len() { self.slots.get_mut(at) } else { None }
    }
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        self.get(0)
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|index| &self[index])
    }
    /// Number of items from the front on of which `holds` is true; those after them must not hold.
    pub(crate) fn partition_point(&self, holds: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(&self[middle]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
    #[inline]
    pub(crate) fn push_back(&mut self, item: T) {
        *self.push_slot() = item;
    }
    /// The slot after the last item, which it is from now on: whatever lies there must be
    /// overwritten.
    #[inline]
    pub(crate) fn push_slot(&mut self) -> &mut T {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let at = self.slot(self.len());
        self.len += 1;
        &mut self.slots[at]
    }
    /// The first `count` items leave.
    #[inline]
    pub(crate) fn drop_front(&mut self, count: usize) {
        debug_assert!(count <= self.len());
        self.head = self.slot(count) as u32;
        self.len -= count as u32;
    }
    /// Put `item` before the one at `index`.
    pub(crate) fn insert(&mut self, index: usize, item: T) {
        self.push_back(item);
        for at in (index + 1..self.len()).rev() {
            let (here, before) = (self.slot(at), self.slot(at - 1));
            self.slots.swap(here, before);
        }
    }
    /// Twice as many slots.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let capacity = (2 * self.slots.len()).max(4);
        assert!(capacity <= 1 << 31, "a ring of 2^31 slots is full");
        let mut slots: Vec<T> = Vec::with_capacity(capacity);
        slots.extend(self.iter());
        slots.resize(capacity, T::default());
        (self.slots, self.head) = (slots.into_boxed_slice(), 0);
    }
}

impl<T: Copy + Default> Index<usize> for Ring<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: usize) -> &T {
        assert!(index < self.len());
        &self.slots[self.slot(index)]
    }
}
impl<T: Copy + Default> IndexMut<usize> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        assert!(index < self.len());
        let at = self.slot(index);
        &mut self.slots[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn segment(start: u64, number: u64, len: u16) -> Segment {
        Segment {
            start,
            number,
            sent_at: Time::from_millis(number),
            tag: Tag(number),
            len,
            flags: 0,
        }
    }

    fn ten() -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..10).for_each(|n| board.push(segment(n * 100, n, 100)));
        board
    }

    #[test]
    fn an_offset_is_found_whatever_the_sizes_are() {
        for lens in [[100, 100, 100, 100], [100, 7, 100, 300], [7, 100, 100, 1], [300, 1, 1, 1]] {
            let mut board = Scoreboard::default();
            let mut start = 0;
            for (number, len) in lens.into_iter().enumerate() {
                board.push(segment(start, number as u64, len));
                start += len as u64;
            }
            for from in 0..3 {
                for offset in 0..start + 200 {
                    let below = |i: &usize| board.get(*i).end() <= offset;
                    let walked = (0..board.len()).take_while(below).count();
                    assert_eq!(board.find(offset), walked, "{offset} of {lens:?} from {from}");
                }
                board.pop_acked(board.get(0).end());
            }
        }
    }

    #[test]
    fn sums_follow_sack_loss_repeat_and_ack() {
        let mut board = ten();
        let mut seen = Vec::new();
        board.sack(200, 500, |at| seen.push(at));
        board.sack(200, 600, |at| seen.push(at));
        assert_eq!(seen, [2, 3, 4, 5]);
        assert_eq!((board.in_flight(), board.sacked_bytes()), (600, 400));
        board.mark_lost(0);
        board.mark_lost(1);
        assert_eq!((board.in_flight(), board.lost_segments()), (400, 2));
        assert_eq!(board.next_lost(), Some(0));
        board.repeat(0, segment(0, 10, 100), None);
        assert_eq!((board.in_flight(), board.next_lost()), (500, Some(1)));
        assert_eq!(board.first_repeat(), Some(0));
        assert_eq!(board.first_original(), Some(6));
        assert!(board.is_consistent());
        while board.pop_acked(150).is_some() {}
        assert_eq!(board.advance(150), 50); // half of segment 1
        assert!(board.is_consistent());
        assert_eq!((board.una(), board.in_flight(), board.first_repeat()), (150, 400, None));
    }

    #[test]
    fn a_segment_is_sent_again_in_two_cuts() {
        let mut board = ten();
        board.mark_lost(3);
        board.split(3, 40);
        assert_eq!((board.len(), board.lost_segments()), (11, 2));
        board.repeat(3, segment(300, 10, 40), None);
        assert_eq!(board.next_lost(), Some(4));
        board.repeat(4, segment(340, 11, 60), None);
        assert!(board.is_consistent());
        assert_eq!(board.in_flight(), 1000);
        // The first transmission comes after all: its bytes cover both cuts.
        let mut seen = Vec::new();
        board.sack(300, 400, |at| seen.push(at));
        assert!(seen.iter().map(|&at| board.get(at).number).eq([10, 11]));
    }

    #[test]
    fn a_sack_block_that_covers_half_a_segment_waits_for_the_rest() {
        let mut board = ten();
        board.sack(250, 350, |_| panic!("no segment is whole"));
        let mut seen = Vec::new();
        board.sack(200, 250, |at| seen.push(at));
        assert_eq!(seen, [2]);
        assert!(board.is_consistent());
    }

    /// Blocks that touch the highest range or not, whole segments or not.
    #[test]
    fn the_highest_range_grows_as_any_block_does() {
        for (start, end) in [(300, 500), (350, 430), (400, 600), (420, 620), (410, 480), (200, 500)]
        {
            for (more_start, more_end) in [(0, 40), (0, 100), (40, 300), (60, 61)] {
                let (mut short, mut general) = (ten(), ten());
                for board in [&mut short, &mut general] {
                    board.sack(start, end, |_| ());
                    board.mark_lost(0);
                }
                let block = (end - more_start, end + more_end);
                let (mut one, mut other) = (Vec::new(), Vec::new());
                let top = short.extend_highest(block.0, block.1);
                assert_eq!(top.is_some(), block.0 >= start && more_end > 0);
                let Some((mut at, below)) = top else { continue };
                while let Some(s) = short.sack_next(at, below) {
                    one.push(s.number);
                    at += 1;
                }
                general.sack(block.0, block.1, |at| other.push(at as u64));
                assert_eq!(one, other);
                assert!(short.is_consistent());
                assert_eq!(short.in_flight(), general.in_flight());
                assert_eq!(short.sacked(), general.sacked());
                assert_eq!(short.first_original(), general.first_original());
            }
        }
    }

    #[test]
    fn the_latest_outstanding_original_is_found_across_holes() {
        let mut board = ten();
        board.sack(300, 900, |_| ());
        assert_eq!(board.last_original_below(900), Some(2));
        board.mark_lost(2);
        assert_eq!(board.last_original_below(900), Some(1));
        assert_eq!(board.last_original_below(1000), Some(9));
    }

    #[test]
    fn a_copy_beside_an_outstanding_one_counts_twice() {
        let mut board = ten();
        board.repeat(9, segment(900, 10, 100), None);
        assert_eq!(board.in_flight(), 1100);
        board.sack(900, 1000, |_| ());
        assert_eq!(board.in_flight(), 900);
    }
}

#[cfg(test)]
mod ring_tests {
    use super::*;
    use alloc::collections::VecDeque;
    use forebay_base::{Rng, Stream};

    #[test]
    fn behaves_as_a_queue_of_the_standard_library() {
        let mut rng = Rng::new(5, Stream::Test, 0);
        let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
        for number in 0..20_000u64 {
            let fills = (number / 1_000) % 2 == 0;
            match rng.below(5) {
                0 if fills => {
                    let at = rng.below(queue.len() as u64 + 1) as usize;
                    ring.insert(at, number);
                    queue.insert(at, number);
                }
                1 | 2 if fills => {
                    ring.push_back(number);
                    queue.push_back(number);
                }
                3 if !queue.is_empty() => {
                    let at = rng.below(queue.len() as u64) as usize;
                    (ring[at], queue[at]) = (number, number);
                }
                _ => {
                    let count = rng.below(4).min(queue.len() as u64) as usize;
                    ring.drop_front(count);
                    queue.drain(..count);
                }
            }
            assert_eq!((ring.len(), ring.front()), (queue.len(), queue.front()));
            assert_eq!(ring.get(queue.len()), None);
            if number % 17 == 0 {
                assert!(ring.iter().eq(queue.iter()));
            }
        }
    }

    #[test]
    fn a_partition_is_found_wherever_the_ring_begins() {
        for first in 0..9u64 {
            let mut ring = Ring::default();
            (0..first + 7).for_each(|n| ring.push_back(n));
            ring.drop_front(first as usize);
            for bound in 0..first + 9 {
                let walked = ring.iter().take_while(|&&n| n < bound).count();
                assert_eq!(ring.partition_point(|&n| n < bound), walked);
            }
        }
    }
}

//! When an ACK leaves (RFC 5681 section 4.2), and the order of its SACK blocks (RFC 2018 section
//! 4).

use super::growth::{InOrderData, WindowGrowth};
use crate::ranges::{Range, RangeSet};
use alloc::boxed::Box;
use forebay_base::{Span, Time};
use forebay_cc::AckPolicy;

/// The most SACK blocks that 40 bytes of options can hold.
const MAX_BLOCKS: usize = 4;

/// A byte of each of the ranges that changed last, the latest first.
#[derive(Debug, Default)]
pub(crate) struct SackList {
    recent: [Option<u64>; MAX_BLOCKS],
}

impl SackList {
    /// The range that holds `offset` changed.
    pub(super) fn touch(&mut self, offset: u64) {
        self.recent.copy_within(..MAX_BLOCKS - 1, 1);
        self.recent[0] = Some(offset);
    }
    /// Up to `max` ranges, the one that changed last first. Keeps one byte of each, so that a range
    /// that grows does not push out the memory of others.
    pub(super) fn blocks(&mut self, ranges: &RangeSet, max: usize, mut emit: impl FnMut(Range)) {
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
    pub(super) fn repeats_itself(&self, ranges: &RangeSet) -> bool {
        let [first, _, _, oldest] = self.recent;
        // A touch pushes out the oldest, and the highest range that is not remembered takes its
        // place.
        let remembered = &self.recent[..MAX_BLOCKS - 1];
        let mut highest = ranges.iter_down().take(MAX_BLOCKS).map(|range| Some(range.start));
        let next = highest.find(|start| !remembered.contains(start)).flatten();
        first == ranges.last().map(|range| range.start) && next == oldest
    }
}

/// Whether and when an ACK is due.
#[derive(Debug)]
pub(crate) struct AckSchedule {
    /// Packets per ACK.
    packets: u32,
    /// The longest that an ACK waits; [`Span::MAX`]: none does.
    timeout: Span,
    /// Packets that are not acknowledged yet.
    pending: u32,
    /// Packets that are still acknowledged one by one.
    quick: u16,
    now: bool,
    deadline: Time,
    /// Where packets that open the window are acknowledged one by one.
    growth: Option<Box<WindowGrowth>>,
}

impl AckSchedule {
    pub(crate) fn new(policy: AckPolicy) -> AckSchedule {
        let (packets, timeout, quick) = match policy {
            AckPolicy::EveryPacket => (1, Span::MAX, 0),
            AckPolicy::Delayed { packets, timeout, quick } => (packets.into(), timeout, quick),
        };
        AckSchedule {
            packets,
            timeout,
            pending: 0,
            quick,
            now: false,
            deadline: Time::MAX,
            growth: None,
        }
    }
    /// Acknowledge packets one by one while Linux would open its window, of at most `most_bytes`.
    pub(crate) fn quick_while_growing(mut self, most_bytes: u64, mss: u64) -> AckSchedule {
        if self.timeout != Span::MAX {
            self.growth = Some(Box::new(WindowGrowth::new(most_bytes, mss)));
        }
        self
    }
    /// The handshake has ended.
    pub(crate) fn begin(&mut self, now: Time) {
        if let Some(growth) = &mut self.growth {
            growth.begin(now);
        }
    }
    /// An ACK is due now.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.now
    }
    /// When a delayed ACK is due; [`Time::MAX`] if none waits.
    #[inline]
    pub(crate) fn deadline(&self) -> Time {
        self.deadline
    }
    /// The longest that an ACK waits; None: none does.
    pub(crate) fn longest_delay(&self) -> Option<Span> {
        (self.timeout != Span::MAX).then_some(self.timeout)
    }
    /// Send one as soon as possible.
    #[inline]
    pub(crate) fn demand(&mut self) {
        self.now = true;
    }
    /// True if [`AckSchedule::note_growth`] must see each packet in order, before
    /// [`AckSchedule::on_data`].
    #[inline]
    pub(crate) fn watches_growth(&self) -> bool {
        self.growth.is_some()
    }
    /// A packet in order came.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Time) {
        self.pending += 1;
        if self.quick > 0 {
            self.quick -= 1;
            self.now = true;
        } else if self.pending >= self.packets {
            self.now = true;
        } else if self.timeout != Span::MAX && self.deadline == Time::MAX && !self.now {
            self.deadline = now + self.timeout;
        }
    }
    /// Linux, tcp_grow_window: `quick |= 1`, so that a count that is not used up lasts as long as
    /// the window grows.
    #[inline(never)]
    pub(crate) fn note_growth(&mut self, now: Time, data: InOrderData) {
        if self.growth.as_mut().is_some_and(|growth| growth.on_data(now, data)) {
            self.quick |= 1;
        }
    }
    pub(crate) fn on_timeout(&mut self, now: Time) {
        if self.deadline <= now {
            // It may be a while until the host can send it: the deadline is met by asking.
            self.deadline = Time::MAX;
            self.demand();
        }
    }
    /// An ACK left, on its own or with data.
    #[inline]
    pub(crate) fn on_sent(&mut self) {
        (self.pending, self.now, self.deadline) = (0, false, Time::MAX);
    }
}

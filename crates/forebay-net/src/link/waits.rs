//! The packets of a link that wait, when each of them starts, and how long they have waited.

use alloc::boxed::Box;
use alloc::vec::Vec;
use forebay_base::{Histogram, Time};

/// Entries of packets that have started are moved into the histogram in batches of this size: the
/// entries are contiguous in memory, the histogram is elsewhere.
const BATCH: u32 = 64;

/// A packet that waits for transmission, or waited.
#[derive(Clone, Copy, Default)]
struct Wait {
    /// When it starts, which is when the one before it departs.
    start: Time,
    /// When it came.
    queued_at: Time,
    wire_len: u16,
}

/// See the module. A ring of entries in order: first those of packets that had started at the last
/// update.
#[derive(Default)]
#[repr(C)] // most links have no histogram: nothing has ever waited there
pub(super) struct Waits {
    /// The number of slots is a power of two.
    entries: Box<[Wait]>,
    head: u32,
    len: u32,
    started: u32,
    /// Of those that have not started.
    bytes: u64,
    counted: Option<Box<Histogram>>,
}

impl Waits {
    #[inline(always)]
    fn at(&self, index: u32) -> &Wait {
        &self.entries[(self.head as usize + index as usize) & (self.entries.len() - 1)]
    }
    fn iter(&self) -> impl Iterator<Item = &Wait> {
        (0..self.len).map(|index| self.at(index))
    }
    /// Packets that wait.
    #[inline]
    pub fn packets(&self) -> u64 {
        (self.len - self.started) as u64
    }
    /// Bytes that wait.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// When the first of them starts.
    #[inline]
    pub fn next_start(&self) -> Option<Time> {
        if self.started < self.len { Some(self.at(self.started).start) } else { None }
    }
    /// Packets and bytes that wait at `now`, which is not before the last update.
    pub fn at_time(&self, now: Time) -> (u64, u64) {
        let waiting = self.iter().filter(|w| w.start > now);
        waiting.fold((0, 0), |(packets, bytes), w| (packets + 1, bytes + w.wire_len as u64))
    }
    /// Update: packets that have started by `now` do not wait any more.
    #[inline(always)]
    pub fn bring_up_to_date(&mut self, now: Time) {
        if self.started == self.len {
            return; // most links, most of the time
        }
        while self.started < self.len {
            let &Wait { start, wire_len, .. } = self.at(self.started);
            if start > now {
                break;
            }
            self.bytes -= wire_len as u64;
            self.started += 1;
        }
        if self.started >= BATCH {
            self.count_started();
        }
    }
    /// A packet of `wire_len` bytes came at `now` and starts at `start`, which is later.
    #[inline(always)]
    pub fn push(&mut self, now: Time, start: Time, wire_len: u16) {
        let wait = Wait { start, queued_at: now, wire_len };
        if self.len as usize >= self.entries.len() {
            return self.push_into_more(wait);
        }
        self.push_entry(wait);
    }
    /// Append an entry; there must be room. The index has the width of that of
    /// [`forebay_base::PacketRing`], for the same reason.
    #[inline(always)]
    fn push_entry(&mut self, wait: Wait) {
        let at = (self.head as usize + self.len as usize) & (self.entries.len() - 1);
        // Field by field: a copy of the whole entry would stall on fields written just before.
        let entry = &mut self.entries[at];
        entry.start = wait.start;
        entry.queued_at = wait.queued_at;
        entry.wire_len = wait.wire_len;
        self.len += 1;
        self.bytes += wait.wire_len as u64;
    }
    #[cold]
    #[inline(never)]
    fn push_into_more(&mut self, wait: Wait) {
        self.grow();
        self.push_entry(wait);
    }
    /// Waiting times of the packets that had to wait and have started by `now`.
    pub fn histogram(&self, now: Time) -> Histogram {
        let mut all = self.counted.as_deref().cloned().unwrap_or_default();
        let started = self.iter().take_while(|w| w.start <= now);
        started.for_each(|w| all.record(w.start.since(w.queued_at)));
        all
    }

    #[inline(never)]
    fn count_started(&mut self) {
        let counted = self.counted.get_or_insert_default();
        let (head, capacity) = (self.head as usize, self.entries.len());
        let end = head + self.started as usize;
        // The ring wraps.
        let parts = [head..end.min(capacity), 0..end.saturating_sub(capacity)];
        for part in parts {
            counted.record_all(self.entries[part].iter().map(|w| w.start.since(w.queued_at)));
        }
        self.head = (end & (capacity - 1)) as u32;
        self.len -= self.started;
        self.started = 0;
    }
    fn grow(&mut self) {
        if self.started > 0 {
            return self.count_started(); // there is room again
        }
        let capacity = (2 * self.entries.len()).max(4);
        assert!(capacity <= 1 << 31, "2^31 packets wait");
        let mut entries: Vec<Wait> = Vec::with_capacity(capacity);
        entries.extend(self.iter());
        entries.resize(capacity, Wait::default());
        (self.entries, self.head) = (entries.into_boxed_slice(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::Span;

    /// A packet of 100 bytes comes each ms and starts 10 ms later; by hand: after k ms, k - 10 of k
    /// have started.
    #[test]
    fn packets_start_in_turn_and_each_wait_is_counted_once() {
        let ms = Time::from_millis;
        let mut waits = Waits::default();
        for k in 1..=1_000 {
            waits.bring_up_to_date(ms(k));
            waits.push(ms(k), ms(k + 10), 100);
            let waiting = k.min(10);
            assert_eq!((waits.packets(), waits.bytes()), (waiting, 100 * waiting), "{k} ms");
            assert_eq!(waits.next_start(), Some(ms(k + 11 - waiting)));
            assert_eq!(waits.at_time(ms(k)), (waiting, 100 * waiting));
            let histogram = waits.histogram(ms(k));
            assert_eq!(histogram.count(), k - waiting);
            assert!(histogram.mean().is_none_or(|mean| mean == Span::from_millis(10)));
        }
        // What nobody has asked for yet is told as well.
        assert_eq!(waits.at_time(ms(1_005)), (5, 500));
        assert_eq!(waits.histogram(ms(1_005)).count(), 995);
        assert!(waits.entries.len() < 4 * BATCH as usize, "{} entries", waits.entries.len());
    }

    #[test]
    fn a_long_queue_keeps_its_order() {
        let mut waits = Waits::default();
        let at = Time::from_millis;
        (1..=700).for_each(|k| waits.push(at(1), at(1 + k), k as u16));
        let mut lengths = Vec::new();
        for k in 1..=700 {
            let before = waits.bytes();
            waits.bring_up_to_date(at(1 + k));
            lengths.push(before - waits.bytes());
        }
        assert!(lengths.into_iter().eq(1..=700));
        assert_eq!((waits.packets(), waits.next_start()), (0, None));
    }
}

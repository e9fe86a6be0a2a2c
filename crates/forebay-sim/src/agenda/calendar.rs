//! A calendar queue (Brown 1988, doi:10.1145/63039.63045) whose days are sorted when they begin, over a heap for what is
//! further away than a year.

use super::{Entity, Key, entity_of, key, time_of};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Days of a year, a power of two.
const DAYS: u64 = 1 << 14;
const WORDS: usize = DAYS as usize / 64;
/// Events of one day beyond which more of them go to the heap.
const LONG_DAY: usize = 1 << 10;
/// Events between two looks at the length of a day.
const REVIEW: u32 = 1 << 16;
/// End of a list.
const NONE: u32 = u32::MAX;

/// An event of a day: 16 bytes.
#[derive(Clone, Copy)]
struct Node {
    ns: u64,
    entity: Entity,
    next: u32,
}

const BLANK: Node = Node { ns: 0, entity: 0, next: NONE };

/// A day is `1 << shift` ns long. `today` is sorted, latest first; each of the next `DAYS - 1` days is a list in any order, its
/// first event in the calendar itself: most days have no other. A bit says whether there is one. Days get longer if many events
/// are more than a year away, and shorter if many share a day.
pub struct Calendar {
    shift: u32,
    /// Number of the current day since time 0.
    day: u64,
    /// Day of the first event of `far`; the largest value if there is none.
    far_day: u64,
    /// Time of the last event that left.
    last: u64,
    /// Since the last review: pushes, those of them into `far`, and days begun.
    pushes: u32,
    far_pushes: u32,
    days_begun: u32,
    /// First of the free places in `more`.
    free: u32,
    today: Vec<Key>,
    /// The first event of each day that has one.
    first: Box<[Node; DAYS as usize]>,
    /// The others.
    more: Vec<Node>,
    /// What was more than a year away when it was pushed, or did not fit into a long day.
    far: BinaryHeap<Reverse<Key>>,
    /// Bit d of word w: day 64 w + d of the year is not empty.
    occupied: [u64; WORDS],
}

impl Default for Calendar {
    fn default() -> Self {
        let first = vec![BLANK; DAYS as usize].into_boxed_slice();
        Calendar {
            shift: 10,
            day: 0,
            far_day: u64::MAX,
            last: 0,
            pushes: 0,
            far_pushes: 0,
            days_begun: 0,
            free: NONE,
            today: Vec::new(),
            first: first.try_into().ok().expect("a year long"),
            more: Vec::new(),
            far: BinaryHeap::new(),
            occupied: [0; WORDS],
        }
    }
}

impl Calendar {
    #[cfg(test)]
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }
    pub(super) fn is_empty(&self) -> bool {
        self.today.is_empty() && self.far.is_empty() && self.occupied == [0; WORDS]
    }

    #[inline(always)]
    pub(super) fn push(&mut self, ns: u64, entity: Entity) {
        if ns < self.last {
            behind(ns, self.last);
        }
        self.pushes += 1;
        self.place(ns, entity);
    }
    #[inline(always)]
    fn place(&mut self, ns: u64, entity: Entity) {
        let day = ns >> self.shift;
        let slot = (day % DAYS) as usize;
        // Zero is today; what lies before it wraps round to more than a year.
        let this_year = day.wrapping_sub(self.day).wrapping_sub(1) < DAYS - 1;
        let (word, bit) = (&mut self.occupied[slot / 64], 1 << (slot % 64));
        if this_year && *word & bit == 0 {
            *word |= bit;
            self.first[slot] = Node { ns, entity, next: NONE };
        } else {
            self.place_elsewhere(ns, entity);
        }
    }
    /// Not as the first of a day to come.
    #[inline(never)]
    fn place_elsewhere(&mut self, ns: u64, entity: Entity) {
        let day = ns >> self.shift;
        if day <= self.day {
            self.insert_today(key(ns, entity));
        } else if day - self.day < DAYS {
            self.insert_more((day % DAYS) as usize, ns, entity);
        } else {
            self.far_pushes += 1;
            self.push_far(key(ns, entity));
        }
    }
    fn insert_more(&mut self, slot: usize, ns: u64, entity: Entity) {
        let first = &mut self.first[slot];
        let entry = Node { ns, entity, next: first.next };
        let at = self.free;
        if at == NONE {
            first.next = self.more.len() as u32;
            self.more.push(entry);
        } else {
            self.free = self.more[at as usize].next;
            self.more[at as usize] = entry;
            first.next = at;
        }
    }
    fn insert_today(&mut self, key: Key) {
        if self.today.len() >= LONG_DAY {
            return self.push_far(key);
        }
        let at = self.today.iter().rposition(|&k| k > key).map_or(0, |i| i + 1);
        self.today.insert(at, key);
    }
    fn push_far(&mut self, key: Key) {
        self.far_day = self.far_day.min(time_of(key) >> self.shift);
        self.far.push(Reverse(key));
    }

    /// The time of the first event.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let today = self.today.last().copied().map(time_of);
        let far = self.far.peek().map(|first| time_of(first.0));
        let day = self.next_occupied();
        let near = (day != u64::MAX).then(|| self.first_of_day((day % DAYS) as usize));
        [today, far, near].into_iter().flatten().min()
    }
    fn first_of_day(&self, slot: usize) -> u64 {
        let Node { mut ns, mut next, .. } = self.first[slot];
        while next != NONE {
            let node = self.more[next as usize];
            ns = ns.min(node.ns);
            next = node.next;
        }
        ns
    }

    /// The first event, if it is due by `limit`.
    #[inline(always)]
    pub(super) fn pop_until(&mut self, limit: u64) -> Option<(u64, Entity)> {
        if self.today.is_empty() && self.pushes < REVIEW {
            let day = self.next_occupied();
            let slot = (day % DAYS) as usize;
            let Node { ns, entity, next } = self.first[slot];
            // Nothing of the heap is due today: its first event is later than this day.
            if day < self.far_day && next == NONE && ns <= limit {
                self.day = day;
                self.days_begun += 1;
                self.occupied[slot / 64] &= !(1 << (slot % 64));
                self.last = ns;
                return Some((ns, entity));
            }
        }
        self.pop_any(limit)
    }
    /// The same on a day with several events.
    #[inline(never)]
    fn pop_any(&mut self, limit: u64) -> Option<(u64, Entity)> {
        if self.today.is_empty() && self.far_day > self.day && !self.begin_day(limit) {
            return None;
        }
        let mut first = self.today.last().copied();
        let from_far = self.far_day <= self.day;
        if from_far {
            let far = self.far.peek().map(|r| r.0);
            first = match (first, far) {
                (Some(near), Some(far)) if near < far => return self.pop_today(near, limit),
                _ => far,
            };
        }
        let first = first?;
        if !from_far {
            return self.pop_today(first, limit);
        }
        if time_of(first) > limit {
            return None;
        }
        self.far.pop();
        self.find_far_day();
        self.last = time_of(first);
        Some((time_of(first), entity_of(first)))
    }
    #[inline]
    fn pop_today(&mut self, first: Key, limit: u64) -> Option<(u64, Entity)> {
        if time_of(first) > limit {
            return None;
        }
        self.today.pop();
        self.last = time_of(first);
        Some((time_of(first), entity_of(first)))
    }
    fn find_far_day(&mut self) {
        self.far_day = self.far.peek().map_or(u64::MAX, |r| time_of(r.0) >> self.shift);
    }

    /// Turn to the next day that has an event; its events are in `today` or in `far`. False if there is none, or if it is behind
    /// `limit`: then what comes before it is still to be pushed into days of its own.
    fn begin_day(&mut self, limit: u64) -> bool {
        if self.pushes >= REVIEW {
            self.review();
            if !self.today.is_empty() || self.far_day <= self.day {
                return true; // with longer days some of what was to come is today
            }
        }
        let near = self.next_occupied();
        let day = self.far_day.min(near);
        if day == u64::MAX || day > limit >> self.shift {
            return false;
        }
        self.day = day;
        self.days_begun += 1;
        if near == day {
            self.open((day % DAYS) as usize);
        }
        true
    }
    /// The next day of the year that has an event, by its number since time 0; the largest value if there is none.
    #[inline(always)]
    fn next_occupied(&self) -> u64 {
        let tomorrow = self.day + 1;
        let from = (tomorrow % DAYS) as usize;
        let rest = self.occupied[from / 64] >> (from % 64);
        if rest != 0 {
            return tomorrow + rest.trailing_zeros() as u64;
        }
        self.next_occupied_word(tomorrow)
    }
    #[inline]
    fn next_occupied_word(&self, tomorrow: u64) -> u64 {
        let mut day = (tomorrow / 64 + 1) * 64;
        // Round to the first word again: its low bits are the last days of the year.
        for _ in 0..WORDS {
            let word = self.occupied[(day % DAYS) as usize / 64];
            if word != 0 {
                return day + word.trailing_zeros() as u64;
            }
            day += 64;
        }
        u64::MAX
    }
    /// Move a day's list, which is not empty, into `today`, sorted.
    fn open(&mut self, slot: usize) {
        debug_assert!(self.today.is_empty());
        let Node { ns, entity, next } = self.first[slot];
        self.today.push(key(ns, entity));
        let mut at = next;
        while at != NONE {
            let Node { ns, entity, next: after } = self.more[at as usize];
            self.today.push(key(ns, entity));
            if after == NONE {
                // The whole list is free now.
                self.more[at as usize].next = self.free;
                self.free = next;
            }
            at = after;
        }
        match self.today.as_mut_slice() {
            [] | [_] => {}
            [a, b] => {
                if a < b {
                    std::mem::swap(a, b);
                }
            }
            many => many.sort_unstable_by(|a, b| b.cmp(a)),
        }
        self.occupied[slot / 64] &= !(1 << (slot % 64));
    }

    /// Is a day of the right length? Both figures are counts, so the answer, like the order of events, is the same everywhere.
    #[cold]
    fn review(&mut self) {
        let shift = if self.far_pushes > self.pushes / 4 {
            (self.shift + 1).min(40)
        } else if self.far_pushes < self.pushes / 64 && self.days_begun < self.pushes / 6 {
            self.shift.saturating_sub(1)
        } else {
            self.shift
        };
        if shift != self.shift {
            self.relay(shift);
        }
        (self.pushes, self.far_pushes, self.days_begun) = (0, 0, 0);
    }
    /// Lay everything out anew with days of another length.
    fn relay(&mut self, shift: u32) {
        debug_assert!(self.today.is_empty());
        let mut all: Vec<Key> = std::mem::take(&mut self.far).into_iter().map(|r| r.0).collect();
        for slot in 0..DAYS as usize {
            if self.occupied[slot / 64] & 1 << (slot % 64) != 0 {
                self.open(slot);
                all.append(&mut self.today);
            }
        }
        self.shift = shift;
        self.day = self.last >> shift;
        self.far_day = u64::MAX;
        all.into_iter().for_each(|key| self.place(time_of(key), entity_of(key)));
    }
}

#[cold]
#[inline(never)]
fn behind(ns: u64, last: u64) -> ! {
    panic!("event at {ns} ns pushed behind the clock at {last} ns");
}

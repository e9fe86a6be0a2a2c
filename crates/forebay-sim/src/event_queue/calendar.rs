//! A calendar queue (Brown 1988, doi:10.1145/63039.63045). Days are sorted when they begin. Events
//! more than a year away are in the [decade](Decade), and more than a decade away in a heap.

use super::decade::Decade;
use super::{Entity, Key, entity_of, key, time_of};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;

/// Days of a week: one bit for each in a word.
const WEEK: u64 = 64;
/// Weeks of a year: the number of a week in its year is a `u8`.
const WEEKS: usize = 1 << 8;
/// Days of a year, a power of two.
const DAYS: u64 = WEEK * WEEKS as u64;
/// Days of a season.
const SEASON: u64 = DAYS / 4;
/// A day is `1 << FIRST_SHIFT` ns long at first.
const FIRST_SHIFT: u32 = 10;
/// Events in one day; more of them go to the heap.
const LONG_DAY: usize = 1 << 10;
/// Events between two reviews of the length of a day.
const REVIEW: u64 = 1 << 16;
/// End of a list.
const NONE: u32 = u32::MAX;
/// Flag in the time of a day's first event: `more` holds others. Times from here on (292 years) are
/// never in the year.
const SEVERAL: u64 = 1 << 63;

/// An event of a day: 16 bytes.
#[derive(Clone, Copy)]
struct Node {
    ns: u64,
    entity: Entity,
    /// Index in `more`. Valid in the first event of a day if that is flagged with [`SEVERAL`].
    next: u32,
}

const BLANK: Node = Node { ns: 0, entity: 0, next: NONE };

/// A day is `1 << shift` ns long. Each later day of the year is an unsorted list whose first event
/// is in the calendar itself, as most days have no other. When a day with several events begins,
/// they are sorted into `today`, latest first. One bit per day says whether the day has an event.
/// Days get longer if many events are more than a year away, and shorter if many share a day. Empty
/// weeks do not make days longer: that saved instructions but cost time.
///
/// The usual push adds the first event of a day, and the usual pop takes a day's only event. Each
/// is a few comparisons with bounds that the other code maintains.
#[repr(C, align(64))] // one line of the cache for the usual ways
pub struct Calendar {
    /// An event before this is not the first of its day. The end of today if `today` is not empty,
    /// else the time of the last event that left.
    floor: u64,
    /// End of the year. The year begins with the week of the last event that left, or of `today`.
    /// At most [`SEVERAL`].
    horizon: u64,
    /// A day's only event before this is the next event. 0 if `today` is not empty. At most
    /// [`SEVERAL`].
    bound: u64,
    /// The first event of each day that has one.
    first: Box<[Node; DAYS as usize]>,
    /// Since the last review: usual pops.
    usual: u64,
    shift: u32,
    /// The first week of the year, by its number in `occupied`.
    week: u8,
    today: Vec<Key>,
    /// The last event that left, if `today` is not empty.
    last: u64,
    /// Time of the first event of `decade` and `far`; the largest value if there is none.
    far_ns: u64,
    /// Bit d of word w: day 64 w + d of the year is not empty.
    occupied: [u64; WEEKS],
    /// Bit b of word w: some day of week 64 w + b is not empty. May be set for the week that is now
    /// the first.
    weeks: [u64; WEEKS / 64],
    /// Events that were more than a year away when pushed.
    decade: Decade,
    /// Events that were more than a decade away when pushed, or did not fit into a long day.
    far: BinaryHeap<Reverse<Key>>,
    /// All events of days except the first of each day.
    more: Vec<Node>,
    /// Head of the free list in `more`.
    free: u32,
    /// Since the last review: other pops, days with several events, pushes into `decade` and `far`,
    /// and into `far` alone.
    others: u64,
    several: u64,
    far_pushes: u64,
    heap_pushes: u64,
}

impl Default for Calendar {
    fn default() -> Self {
        let first = vec![BLANK; DAYS as usize].into_boxed_slice();
        let mut calendar = Calendar {
            floor: 0,
            horizon: 0,
            bound: SEVERAL,
            first: first.try_into().ok().expect("a year long"),
            usual: 0,
            shift: FIRST_SHIFT,
            week: 0,
            occupied: [0; WEEKS],
            weeks: [0; WEEKS / 64],
            today: Vec::new(),
            last: 0,
            far_ns: u64::MAX,
            decade: Decade::new(FIRST_SHIFT + SEASON.ilog2()),
            far: BinaryHeap::new(),
            more: Vec::new(),
            free: NONE,
            others: 0,
            several: 0,
            far_pushes: 0,
            heap_pushes: 0,
        };
        calendar.turn_to(0);
        calendar
    }
}

impl Calendar {
    /// A calendar without days: no push and no pop is usual.
    pub(super) fn without_days() -> Calendar {
        Calendar { horizon: 0, ..Calendar::default() }
    }
    #[cfg(test)]
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }
    pub(super) fn is_empty(&self) -> bool {
        let near = !self.today.is_empty() || self.occupied != [0; WEEKS];
        !near && self.far_ns == u64::MAX && self.far.is_empty()
    }

    /// Add an event that is the first of a later day. False if it is not: call
    /// [`Calendar::push_other`].
    #[inline(always)]
    pub(super) fn push_usual(&mut self, ns: u64, entity: Entity) -> bool {
        if ns < self.floor || ns >= self.horizon {
            return false;
        }
        let slot = self.slot_of(ns);
        let word = self.occupied[slot / 64];
        let with_it = word | 1 << (slot % 64);
        if with_it == word {
            return false;
        }
        if word == 0 {
            self.weeks[slot / 64 / 64] |= 1 << (slot / 64 % 64);
        }
        self.occupied[slot / 64] = with_it;
        let first = &mut self.first[slot];
        (first.ns, first.entity) = (ns, entity);
        true
    }
    #[inline(always)]
    fn slot_of(&self, ns: u64) -> usize {
        (ns >> self.shift) as usize % DAYS as usize
    }
    /// Add an event that [`Calendar::push_usual`] has refused.
    pub(super) fn push_other(&mut self, ns: u64, entity: Entity) {
        if ns < self.floor {
            let last = if self.today.is_empty() { self.floor } else { self.last };
            assert!(ns >= last, "event at {ns} ns pushed behind the clock at {last} ns");
            self.insert_today(key(ns, entity));
        } else if ns < self.horizon {
            self.insert_more(self.slot_of(ns), ns, entity);
        } else {
            self.far_pushes += 1;
            if !self.decade.push(self.floor, key(ns, entity)) {
                self.heap_pushes += 1;
                return self.push_far(key(ns, entity));
            }
            self.far_ns = self.far_ns.min(self.decade.first_ns());
            self.bound = self.bound.min(self.far_ns);
        }
    }
    fn insert_more(&mut self, slot: usize, ns: u64, entity: Entity) {
        let first = &mut self.first[slot];
        let next = if first.ns < SEVERAL { NONE } else { first.next };
        first.ns |= SEVERAL;
        let entry = Node { ns, entity, next };
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
        self.far_ns = self.far_ns.min(time_of(key));
        self.bound = self.bound.min(time_of(key));
        self.far.push(Reverse(key));
    }

    /// The time of the first event.
    pub(super) fn next_ns(&self) -> Option<u64> {
        let today = self.today.last().copied().map(time_of);
        let far = self.far.peek().map(|first| time_of(first.0));
        let later = Some(self.decade.first_ns()).filter(|&ns| ns < u64::MAX);
        let near = self
            .next_occupied()
            .map(|(week, word)| self.first_of_day(first_slot(week as usize, word)));
        [today, far, later, near].into_iter().flatten().min()
    }
    fn first_of_day(&self, slot: usize) -> u64 {
        let Node { ns, mut next, .. } = self.first[slot];
        if ns < SEVERAL {
            return ns;
        }
        let mut first = ns - SEVERAL;
        while next != NONE {
            let node = self.more[next as usize];
            first = first.min(node.ns);
            next = node.next;
        }
        first
    }

    /// The first event, if it is due by `limit` and is the only one of its day. None if there may
    /// be another: call [`Calendar::pop_other`].
    #[inline(always)]
    pub(super) fn pop_usual(&mut self, limit: u64) -> Option<(u64, Entity)> {
        let word = match NonZeroU64::new(self.occupied[self.week as usize]) {
            Some(word) => word,
            None => self.turn_week(limit)?,
        };
        let week = self.week as usize;
        let Node { ns, entity, .. } = self.first[first_slot(week, word)];
        if ns >= self.bound || ns > limit {
            return None;
        }
        self.occupied[week] = word.get() & (word.get() - 1);
        self.usual += 1;
        self.floor = ns;
        Some((ns, entity))
    }
    /// Go to the next week that has an event, if the usual path finds it; the result is a bit for
    /// each of its days with events.
    #[inline(never)]
    fn turn_week(&mut self, limit: u64) -> Option<NonZeroU64> {
        let (week, word) = self.next_occupied()?;
        let ns = self.first[first_slot(week as usize, word)].ns;
        if ns >= self.bound || ns > limit {
            return None;
        }
        let ahead = week.wrapping_sub(self.week) as u64 * WEEK;
        self.horizon = (self.horizon + (ahead << self.shift)).min(SEVERAL);
        self.leave_week(week);
        Some(word)
    }
    /// The first event, if it is due by `limit`.
    #[inline(always)]
    pub(super) fn pop_other(&mut self, limit: u64) -> Option<(u64, Entity)> {
        match self.today.last() {
            Some(&near) if time_of(near) < self.far_ns => self.pop_today(near, limit),
            _ => self.pop_rare(limit),
        }
    }
    /// The same if the event may not be in `today`.
    #[inline(never)]
    fn pop_rare(&mut self, limit: u64) -> Option<(u64, Entity)> {
        if self.today.is_empty() {
            if self.usual + self.others >= REVIEW {
                self.review();
            }
            if let Some((week, word)) = self.next_occupied() {
                let slot = first_slot(week as usize, word);
                // The first instant of the day.
                let begin = (self.first[slot].ns & !SEVERAL) >> self.shift << self.shift;
                if begin > limit {
                    // Earlier events may still be pushed into days of their own.
                    return self.pop_far(limit);
                }
                if begin <= self.far_ns {
                    if let Some(first) = self.pop_of_two(slot, limit) {
                        return Some(first);
                    }
                    self.sort_into_today(slot, begin);
                }
            }
        }
        match self.today.last() {
            Some(&near) if self.is_before_far(near) => self.pop_today(near, limit),
            _ => self.pop_far(limit),
        }
    }
    /// The first event of a day that has two, if it is due by `limit` and before all of `far`.
    #[inline]
    fn pop_of_two(&mut self, slot: usize, limit: u64) -> Option<(u64, Entity)> {
        let Node { ns, entity, next } = self.first[slot];
        if ns < SEVERAL || self.more[next as usize].next != NONE {
            return None;
        }
        let second = &mut self.more[next as usize];
        let keys = [key(ns - SEVERAL, entity), key(second.ns, second.entity)];
        let (leaves, stays) = (keys[0].min(keys[1]), keys[0].max(keys[1]));
        if time_of(leaves) >= self.bound || time_of(leaves) > limit {
            return None;
        }
        (second.next, self.free) = (self.free, next);
        self.first[slot] = Node { ns: time_of(stays), entity: entity_of(stays), next: NONE };
        self.several += 1;
        self.others += 1;
        self.turn_to(time_of(leaves));
        Some((time_of(leaves), entity_of(leaves)))
    }
    #[inline]
    fn is_before_far(&self, near: Key) -> bool {
        let waits = self.decade.first_ns() == self.far_ns;
        time_of(near) < self.far_ns
            || time_of(near) == self.far_ns
                && !waits
                && self.far.peek().is_none_or(|far| near < far.0)
    }
    #[inline]
    fn pop_today(&mut self, first: Key, limit: u64) -> Option<(u64, Entity)> {
        let ns = time_of(first);
        if ns > limit {
            return None;
        }
        self.today.pop();
        self.others += 1;
        self.last = ns;
        if self.today.is_empty() {
            self.floor = ns;
            self.bound = self.far_ns.min(SEVERAL);
        }
        Some((ns, entity_of(first)))
    }
    fn pop_far(&mut self, limit: u64) -> Option<(u64, Entity)> {
        if self.far_ns > limit {
            return None;
        }
        if self.decade.first_ns() == self.far_ns && self.far_ns < u64::MAX {
            self.begin_season();
            return self.pop_other(limit);
        }
        let first = self.far.pop()?.0;
        self.others += 1;
        self.far_ns = self.first_far_ns();
        self.last = time_of(first);
        if self.today.is_empty() {
            self.bound = self.far_ns.min(SEVERAL);
            self.turn_to(self.last);
        }
        Some((time_of(first), entity_of(first)))
    }
    fn first_far_ns(&self) -> u64 {
        let first = self.far.peek().map_or(u64::MAX, |first| time_of(first.0));
        first.min(self.decade.first_ns())
    }
    /// The first event of the decade is due, and nothing else is before: its season moves into the
    /// year.
    #[inline(never)]
    fn begin_season(&mut self) {
        let first = self.decade.first_ns();
        if self.today.is_empty() {
            self.turn_to(first);
        }
        let events = self.decade.take_first();
        self.far_ns = self.first_far_ns();
        self.bound = if self.today.is_empty() { self.far_ns.min(SEVERAL) } else { 0 };
        for &key in &events {
            let (ns, entity) = (time_of(key), entity_of(key));
            if self.push_usual(ns, entity) {
                continue;
            }
            match ns {
                _ if ns < self.floor => self.insert_today(key),
                _ if ns < self.horizon => self.insert_more(self.slot_of(ns), ns, entity),
                _ => self.push_far(key),
            }
        }
        self.decade.give_back(first, events);
    }
    /// The year begins with the week of `ns`: an event leaves then, or a day begins.
    fn turn_to(&mut self, ns: u64) {
        let week_shift = self.shift + WEEK.ilog2();
        let week = ns >> week_shift;
        self.floor = ns;
        self.begin_week(week as u8);
        self.horizon = (week << week_shift).saturating_add(DAYS << self.shift).min(SEVERAL);
    }

    /// The year begins with this week.
    #[inline(always)]
    fn begin_week(&mut self, week: u8) {
        if self.occupied[self.week as usize] == 0 {
            self.leave_week(week);
        } else {
            self.week = week;
        }
    }
    /// The same where nothing is left in the week that was the first.
    #[inline(always)]
    fn leave_week(&mut self, week: u8) {
        let before = std::mem::replace(&mut self.week, week) as usize;
        self.weeks[before / 64] &= !(1 << (before % 64));
    }
    /// The next week of the year that has an event, and its days that have one.
    #[inline(always)]
    fn next_occupied(&self) -> Option<(u8, NonZeroU64)> {
        let (mut group, day) = (self.week as usize / 64, self.week % 64);
        let mut weeks = self.weeks[group] >> day << day;
        // The first group again at the end: its weeks before the first are the last of the year.
        for _ in 0..WEEKS / 64 + 1 {
            while let Some(some) = NonZeroU64::new(weeks) {
                let week = group * 64 + some.trailing_zeros() as usize;
                if let Some(word) = NonZeroU64::new(self.occupied[week]) {
                    return Some((week as u8, word));
                }
                weeks &= weeks - 1; // the first week of the year, which has passed
            }
            group = (group + 1) % (WEEKS / 64);
            weeks = self.weeks[group];
        }
        None
    }
    /// Move a day's list, which is not empty, into `today`, which is, sorted. The day begins at
    /// `begin`.
    fn sort_into_today(&mut self, slot: usize, begin: u64) {
        let last = self.floor;
        self.turn_to(begin);
        (self.last, self.floor, self.bound) = (last, begin + (1 << self.shift), 0);
        self.several += 1;
        self.open(slot);
        match self.today.as_mut_slice() {
            [] | [_] => {}
            [a, b] => {
                if a < b {
                    std::mem::swap(a, b);
                }
            }
            many => many.sort_unstable_by(|a, b| b.cmp(a)),
        }
    }
    /// Move a day's list, which is not empty, into `today`.
    fn open(&mut self, slot: usize) {
        debug_assert!(self.today.is_empty());
        let Node { ns, entity, next } = self.first[slot];
        self.today.push(key(ns & !SEVERAL, entity));
        let mut at = if ns < SEVERAL { NONE } else { next };
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
        self.occupied[slot / 64] &= !(1 << (slot % 64));
    }

    /// Review the length of a day. It depends on counts only, so it is the same on every machine.
    #[cold]
    fn review(&mut self) {
        let events = self.usual + self.others;
        let days = self.usual + self.several;
        let many_far = self.far_pushes > events / 4
            || self.heap_pushes > events / 64 && self.several < days / 8;
        let shift = if many_far {
            (self.shift + 1).min(40)
        } else if self.far_pushes < events / 16 && days < events / 2 {
            self.shift.saturating_sub(1)
        } else {
            self.shift
        };
        if shift != self.shift {
            self.relay(shift);
        }
        (self.usual, self.others, self.several) = (0, 0, 0);
        (self.far_pushes, self.heap_pushes) = (0, 0);
    }
    /// Rebuild the calendar with days of another length.
    fn relay(&mut self, shift: u32) {
        debug_assert!(self.today.is_empty());
        let mut all: Vec<Key> = std::mem::take(&mut self.far).into_iter().map(|r| r.0).collect();
        for slot in 0..DAYS as usize {
            if self.occupied[slot / 64] & 1 << (slot % 64) != 0 {
                self.open(slot);
                all.append(&mut self.today);
            }
        }
        while self.decade.first_ns() < u64::MAX {
            all.append(&mut self.decade.take_first());
        }
        self.weeks = [0; WEEKS / 64];
        self.decade = Decade::new(shift + SEASON.ilog2());
        (self.shift, self.far_ns, self.bound) = (shift, u64::MAX, SEVERAL);
        self.turn_to(self.floor);
        for key in all {
            if !self.push_usual(time_of(key), entity_of(key)) {
                self.push_other(time_of(key), entity_of(key));
            }
        }
    }
}

/// The slot of the first day of a week that has an event; `word` has a bit for each.
#[inline(always)]
fn first_slot(week: usize, word: NonZeroU64) -> usize {
    week * WEEK as usize + word.trailing_zeros() as usize
}

//! The set of pending events: a calendar, and a binary heap that gives the same order.
//!
//! An event is (time, entity). Events leave in order of time; at equal times in an order that depends on the time and on the
//! entities alone, not on who was pushed first. Nothing may be pushed before the time of the last event that left: a
//! simulation never goes back.

use forebay_base::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Names who is to act: its kind in the high bits, its index in the low [`INDEX_BITS`]. At equal times smaller kinds act first;
/// of one kind it is as the time wills, half of the times one, half of the times the other.
pub type Entity = u32;

/// Bits of an entity that tell those of one kind apart.
pub const INDEX_BITS: u32 = 29;

/// The pending events.
#[allow(clippy::large_enum_variant, reason = "there is one in a run")]
pub enum Agenda {
    /// The fast one.
    Calendar(Calendar),
    /// The simple one, for comparison.
    Binary(BinaryHeap<Reverse<Key>>),
}

/// Time, and entity, shuffled: the order of events.
type Key = (u64, Entity);

#[inline]
fn key(ns: u64, entity: Entity) -> Key {
    (ns, entity ^ shuffle(ns))
}
/// What turns the order of entities about at this instant: a number of [`INDEX_BITS`] bits that depends on nothing else.
///
/// Without it the entity with the smaller number would win every tie, and where all links have one rate there are many: of
/// two flows that compete for the last place in a queue the same one would lose each time.
#[inline]
fn shuffle(ns: u64) -> Entity {
    (ns.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - INDEX_BITS)) as Entity
}
#[inline]
fn entity_of(key: Key) -> Entity {
    key.1 ^ shuffle(key.0)
}
#[inline]
fn time_of(key: Key) -> u64 {
    key.0
}

/// An event in the list of its day: 16 bytes.
#[derive(Clone, Copy)]
struct Node {
    ns: u64,
    shuffled: Entity,
    next: u32,
}

impl Agenda {
    /// An empty calendar.
    pub fn calendar() -> Agenda {
        Agenda::Calendar(Calendar::default())
    }
    /// An empty binary heap.
    pub fn binary() -> Agenda {
        Agenda::Binary(BinaryHeap::new())
    }
    /// Add an event.
    #[inline]
    pub fn push(&mut self, at: Time, entity: Entity) {
        match self {
            Agenda::Calendar(calendar) => calendar.push(at.as_nanos(), entity),
            Agenda::Binary(heap) => heap.push(Reverse(key(at.as_nanos(), entity))),
        }
    }
    /// Take the first event, if it is due by `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, Entity)> {
        let limit = limit.as_nanos();
        let first = match self {
            Agenda::Calendar(calendar) => calendar.pop_until(limit)?,
            Agenda::Binary(heap) => {
                if time_of(heap.peek()?.0) > limit {
                    return None;
                }
                heap.pop()?.0
            }
        };
        Some((Time::from_nanos(time_of(first)), entity_of(first)))
    }
    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        match self {
            Agenda::Calendar(calendar) => calendar.is_empty(),
            Agenda::Binary(heap) => heap.is_empty(),
        }
    }
}

/// Days of the calendar, a power of two.
const DAYS: u64 = 1 << 14;
const WORDS: usize = DAYS as usize / 64;
/// Events of one day beyond which more of them go to the heap.
const LONG_DAY: usize = 1 << 10;
/// Events between two looks at the length of a day.
const REVIEW: u32 = 1 << 16;
/// End of a list.
const NONE: u32 = u32::MAX;

/// A calendar queue (Brown 1988, doi:10.1145/63039.63045) whose days are sorted when they begin, over a heap for what is
/// further away than a year.
///
/// A day is `1 << shift` ns long. `today` is sorted, latest first; each of the next `DAYS - 1` days is a list in any order; a bit
/// says whether it is empty. Days get longer if many events are more than a year away, and shorter if many share a day.
pub struct Calendar {
    shift: u32,
    /// Number of the current day since time 0.
    day: u64,
    today: Vec<Key>,
    /// First node of each day's list.
    first: Box<[u32]>,
    nodes: Vec<Node>,
    free: u32,
    /// Bit d of word w: day 64 w + d of the year is not empty.
    occupied: [u64; WORDS],
    /// Bit w: word w of `occupied` is not zero.
    words: [u64; WORDS / 64],
    /// What was more than a year away when it was pushed, or did not fit into a long day.
    far: BinaryHeap<Reverse<Key>>,
    /// The first event of `far` may be due today.
    far_today: bool,
    /// Time of the last event that left.
    last: u64,
    /// Since the last review: pushes, those of them into `far`, and days begun.
    pushes: u32,
    far_pushes: u32,
    days_begun: u32,
}

impl Default for Calendar {
    fn default() -> Self {
        Calendar {
            shift: 10,
            day: 0,
            today: Vec::new(),
            first: vec![NONE; DAYS as usize].into(),
            nodes: Vec::new(),
            free: NONE,
            occupied: [0; WORDS],
            words: [0; WORDS / 64],
            far: BinaryHeap::new(),
            far_today: false,
            last: 0,
            pushes: 0,
            far_pushes: 0,
            days_begun: 0,
        }
    }
}

impl Calendar {
    fn is_empty(&self) -> bool {
        self.today.is_empty() && self.far.is_empty() && self.words == [0; WORDS / 64]
    }

    #[inline]
    fn push(&mut self, ns: u64, entity: Entity) {
        assert!(ns >= self.last, "event at {ns} ns pushed behind the clock at {} ns", self.last);
        self.pushes += 1;
        self.place(key(ns, entity));
    }
    #[inline(always)]
    fn place(&mut self, key: Key) {
        let ahead = (time_of(key) >> self.shift).wrapping_sub(self.day);
        // Zero is today; what lies before it wraps round to more than a year.
        if ahead.wrapping_sub(1) < DAYS - 1 {
            self.insert_day(((self.day + ahead) % DAYS) as usize, key);
        } else {
            self.place_elsewhere(key);
        }
    }
    #[cold]
    fn place_elsewhere(&mut self, key: Key) {
        if time_of(key) >> self.shift <= self.day {
            self.insert_today(key);
        } else {
            self.far_pushes += 1;
            self.far.push(Reverse(key));
        }
    }
    #[inline]
    fn insert_day(&mut self, slot: usize, key: Key) {
        let node = self.free;
        let entry = Node { ns: key.0, shuffled: key.1, next: self.first[slot] };
        if node == NONE {
            self.first[slot] = self.nodes.len() as u32;
            self.nodes.push(entry);
        } else {
            self.free = self.nodes[node as usize].next;
            self.nodes[node as usize] = entry;
            self.first[slot] = node;
        }
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.words[slot / 4096] |= 1 << (slot / 64 % 64);
    }
    fn insert_today(&mut self, key: Key) {
        if self.today.len() >= LONG_DAY {
            self.far.push(Reverse(key));
            self.far_today = true;
            return;
        }
        let at = self.today.iter().rposition(|&k| k > key).map_or(0, |i| i + 1);
        self.today.insert(at, key);
    }

    #[inline]
    fn pop_until(&mut self, limit: u64) -> Option<Key> {
        if self.far_today {
            return self.pop_with_far(limit);
        }
        if let Some(&first) = self.today.last() {
            if time_of(first) > limit {
                return None;
            }
            self.today.pop();
            self.last = time_of(first);
            return Some(first);
        }
        let first = self.next_day();
        match first {
            Some(first) if time_of(first) <= limit => {
                self.last = time_of(first);
                Some(first)
            }
            Some(later) => {
                self.today.push(later);
                None
            }
            None if self.today.is_empty() && !self.far_today => None,
            None => self.pop_until(limit),
        }
    }
    /// The first of today's events and the heap's.
    #[cold]
    fn pop_with_far(&mut self, limit: u64) -> Option<Key> {
        let far = self.far.peek().map(|r| r.0).filter(|&k| time_of(k) >> self.shift <= self.day);
        let Some(far) = far else {
            self.far_today = false;
            return self.pop_until(limit);
        };
        let near = self.today.last().copied().filter(|&k| k < far);
        let first = near.unwrap_or(far);
        if time_of(first) > limit {
            return None;
        }
        if near.is_some() {
            self.today.pop()
        } else {
            self.far.pop().map(|r| r.0)
        };
        self.last = time_of(first);
        Some(first)
    }

    /// Turn to the next day that has an event. The event, if it has only one; else they are in `today` or in `far`.
    fn next_day(&mut self) -> Option<Key> {
        if self.pushes >= REVIEW {
            self.review();
            if !self.today.is_empty() || self.far_today {
                return None; // with longer days some of what was to come is today
            }
        }
        let far = self.far.peek().map_or(u64::MAX, |r| time_of(r.0) >> self.shift);
        let near = self.next_occupied().unwrap_or(u64::MAX);
        let day = far.min(near);
        if day == u64::MAX {
            return None;
        }
        self.day = day;
        self.days_begun += 1;
        self.far_today = far == day;
        if near != day {
            return None;
        }
        let slot = (day % DAYS) as usize;
        let node = self.first[slot];
        let Node { ns, shuffled, next } = self.nodes[node as usize];
        let key = (ns, shuffled);
        if next != NONE || self.far_today {
            self.open(slot);
            return None;
        }
        self.first[slot] = NONE;
        self.nodes[node as usize].next = self.free;
        self.free = node;
        self.mark_empty(slot);
        Some(key)
    }
    /// The next day of the year that has an event, by its number since time 0.
    #[inline]
    fn next_occupied(&self) -> Option<u64> {
        let from = ((self.day + 1) % DAYS) as usize;
        let slot = self.next_slot(from)? as u64;
        Some(self.day + 1 + (slot + DAYS - from as u64) % DAYS)
    }
    /// The first occupied slot at or after `from`, going round.
    #[inline]
    fn next_slot(&self, from: usize) -> Option<usize> {
        let rest = self.occupied[from / 64] >> (from % 64);
        if rest != 0 {
            return Some(from + rest.trailing_zeros() as usize);
        }
        const GROUPS: usize = WORDS / 64;
        let next = from / 64 + 1; // may be WORDS: the first word of the next round
        for step in 0..=GROUPS {
            let group = (next / 64 + step) % GROUPS;
            let mut words = self.words[group];
            if step == 0 && next / 64 < GROUPS {
                words &= !0 << (next % 64);
            }
            if words != 0 {
                let word = group * 64 + words.trailing_zeros() as usize;
                return Some(word * 64 + self.occupied[word].trailing_zeros() as usize);
            }
        }
        None
    }
    /// Move a day's list, which is not empty, into `today`, sorted.
    fn open(&mut self, slot: usize) {
        debug_assert!(self.today.is_empty());
        let first = std::mem::replace(&mut self.first[slot], NONE);
        let mut node = first;
        loop {
            let Node { ns, shuffled, next } = self.nodes[node as usize];
            let key = (ns, shuffled);
            self.today.push(key);
            if next == NONE {
                // The whole list is free now.
                self.nodes[node as usize].next = self.free;
                self.free = first;
                break;
            }
            node = next;
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
        self.mark_empty(slot);
    }
    #[inline]
    fn mark_empty(&mut self, slot: usize) {
        let word = slot / 64;
        self.occupied[word] &= !(1 << (slot % 64));
        if self.occupied[word] == 0 {
            self.words[word / 64] &= !(1 << (word % 64));
        }
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
        while let Some(slot) = self.next_slot(0) {
            self.open(slot);
            all.append(&mut self.today);
        }
        self.shift = shift;
        self.day = self.last >> shift;
        all.into_iter().for_each(|key| self.place(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Rng, Stream};

    #[test]
    fn both_heaps_give_the_same_order_on_a_random_monotone_load() {
        let mut rng = Rng::new(7, Stream::Test, 0);
        let mut heaps = [Agenda::calendar(), Agenda::binary()];
        let mut now = Time::ZERO;
        let mut popped = 0u64;
        for _ in 0..200_000 {
            for _ in 0..rng.below(3) {
                let spread = 1u64 << rng.below(40);
                let at = Time::from_nanos(now.as_nanos() + rng.below(spread));
                let entity = rng.below(50) as u32;
                heaps.iter_mut().for_each(|h| h.push(at, entity));
            }
            if rng.chance(0.9) {
                let limit = Time::from_nanos(now.as_nanos() + (1 << rng.below(41)));
                let [a, b] = &mut heaps;
                let (a, b) = (a.pop_until(limit), b.pop_until(limit));
                assert_eq!(a, b);
                if let Some((at, _)) = a {
                    assert!(at >= now);
                    now = at;
                    popped += 1;
                }
            }
        }
        assert!(popped > 100_000);
    }

    #[test]
    fn equal_times_leave_in_one_order_even_if_pushed_while_they_leave() {
        let order = |first: &[u32], later: u32| {
            let mut orders = [Agenda::calendar(), Agenda::binary()].map(|mut heap| {
                let t = Time::from_nanos(9);
                first.iter().for_each(|&e| heap.push(t, e));
                let mut order = vec![heap.pop_until(t).unwrap().1];
                heap.push(t, later);
                order.extend(std::iter::from_fn(|| heap.pop_until(Time::MAX)).map(|(_, e)| e));
                assert!(heap.is_empty());
                order
            });
            assert_eq!(orders[0], orders[1]);
            std::mem::take(&mut orders[0])
        };
        let [a, b] = [order(&[5, 3, 8], 1), order(&[8, 5, 3], 1)];
        assert_eq!(a, b, "who was pushed first made a difference");
        // A kind in front of the others acts before them at any time.
        let control = order(&[1 << INDEX_BITS | 5, 1 << INDEX_BITS | 3, 9], 2 << INDEX_BITS);
        assert_eq!((control[0], control[3]), (9, 2 << INDEX_BITS));
    }

    #[test]
    fn no_entity_wins_all_ties() {
        let wins = (0..10_000u64)
            .filter(|&i| {
                let mut heap = Agenda::calendar();
                let at = Time::from_nanos(i * 12_000);
                heap.push(at, 40);
                heap.push(at, 41);
                heap.pop_until(at).unwrap().1 == 40
            })
            .count();
        assert!(wins.abs_diff(5_000) < 200, "{wins}");
    }

    #[test]
    fn many_events_at_one_instant_and_in_one_wide_bucket() {
        let mut heaps = [Agenda::calendar(), Agenda::binary()];
        let mut rng = Rng::new(8, Stream::Test, 0);
        let far = 1 << 45;
        heaps.iter_mut().for_each(|h| h.push(Time::from_nanos(far), 7));
        let [a, b] = &mut heaps;
        assert_eq!(a.pop_until(Time::from_nanos(9)), None);
        // The run now reaches far; everything that follows falls into it, some of it at one instant.
        for i in 0..5_000 {
            let at = Time::from_nanos(if i % 3 == 0 { 1_000 } else { rng.below(2 * far) });
            a.push(at, rng.below(40) as u32 + 100);
            b.push(at, 0);
        }
        let times = |h: &mut Agenda| -> Vec<Time> {
            std::iter::from_fn(|| h.pop_until(Time::MAX)).map(|(at, _)| at).collect()
        };
        let (mine, simple) = (times(a), times(b));
        assert_eq!(mine.len(), 5_001);
        assert_eq!(mine, simple);
    }

    /// Steps of one scale for a while, then of another: the length of a day is reviewed up and down, with events of
    /// every age pending.
    #[test]
    fn both_heaps_agree_while_days_grow_and_shrink() {
        let mut rng = Rng::new(9, Stream::Test, 0);
        let mut heaps = [Agenda::calendar(), Agenda::binary()];
        (0..3_000).for_each(|e| heaps.iter_mut().for_each(|h| h.push(Time::ZERO, e)));
        let mut shifts = std::collections::BTreeSet::new();
        for scale in [12, 34, 20, 40, 8, 26, 36, 14] {
            for _ in 0..400_000 {
                let [a, b] = &mut heaps;
                let (mine, simple) = (a.pop_until(Time::MAX), b.pop_until(Time::MAX));
                assert_eq!(mine, simple);
                let (now, entity) = mine.unwrap();
                let at = Time::from_nanos(now.as_nanos() + rng.below(1 << scale));
                heaps.iter_mut().for_each(|h| h.push(at, entity));
            }
            if let Agenda::Calendar(calendar) = &heaps[0] {
                shifts.insert(calendar.shift);
            }
        }
        assert!(shifts.len() > 4, "days of {shifts:?}: the review was not exercised");
    }

    #[test]
    #[should_panic(expected = "behind the clock")]
    fn going_back_is_a_bug() {
        let mut heap = Agenda::calendar();
        heap.push(Time::from_nanos(10), 0);
        heap.pop_until(Time::MAX);
        heap.push(Time::from_nanos(9), 0);
    }
}

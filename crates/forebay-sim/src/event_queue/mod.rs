//! The set of pending events: a calendar, and a binary heap that gives the same order.
//!
//! An event is (time, entity). Events leave in order of time. The order at equal times depends on
//! the time and the entities only, not on who pushed first. Nothing may be pushed before the time
//! of the last event that left.

mod calendar;
mod decade;

pub use calendar::Calendar;
use forebay_base::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The entity that acts: its kind in the high bits, its index in the low [`INDEX_BITS`]. At equal
/// times smaller kinds act first. The order within a kind depends on the time: of two entities each
/// is first half of the times.
pub type Entity = u32;

/// Bits of an entity that hold its index.
pub const INDEX_BITS: u32 = 29;

/// The pending events.
pub struct EventQueue {
    /// The fast queue; without days if the simple one is used.
    calendar: Calendar,
    /// The simple queue, for comparison.
    binary: Option<BinaryHeap<Reverse<Key>>>,
}

/// Sort key: the time, then the shuffled entity.
type Key = (u64, Entity);

#[inline]
fn key(ns: u64, entity: Entity) -> Key {
    (ns, entity ^ shuffle(ns))
}
/// A mask that shuffles the order of entities at this instant: [`INDEX_BITS`] bits that depend on
/// the time only.
///
/// Without it the entity with the smaller number would win every tie. If all links have one rate
/// there are many ties, and of two flows that compete for the last place in a queue the same one
/// would always lose.
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

impl EventQueue {
    /// An empty calendar.
    pub fn calendar() -> EventQueue {
        EventQueue { calendar: Calendar::default(), binary: None }
    }
    /// An empty binary heap.
    pub fn binary() -> EventQueue {
        EventQueue { calendar: Calendar::without_days(), binary: Some(BinaryHeap::new()) }
    }
    /// Add an event.
    #[inline(always)] // once for each packet on each link
    pub fn push(&mut self, at: Time, entity: Entity) {
        if !self.calendar.push_usual(at.as_nanos(), entity) {
            self.push_other(at.as_nanos(), entity);
        }
    }
    #[inline(never)]
    fn push_other(&mut self, ns: u64, entity: Entity) {
        match &mut self.binary {
            None => self.calendar.push_other(ns, entity),
            Some(heap) => heap.push(Reverse(key(ns, entity))),
        }
    }
    /// Take the first event, if it is due by `limit`.
    #[inline(always)]
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, Entity)> {
        let limit = limit.as_nanos();
        let (ns, entity) = match self.calendar.pop_usual(limit) {
            Some(first) => first,
            None => self.pop_other(limit)?,
        };
        Some((Time::from_nanos(ns), entity))
    }
    #[inline(never)]
    fn pop_other(&mut self, limit: u64) -> Option<(u64, Entity)> {
        match &mut self.binary {
            None => self.calendar.pop_other(limit),
            Some(heap) => pop_binary(heap, limit),
        }
    }
    /// The time of the first event.
    pub fn next_time(&self) -> Option<Time> {
        let ns = match &self.binary {
            None => self.calendar.next_ns(),
            Some(heap) => heap.peek().map(|first| time_of(first.0)),
        };
        ns.map(Time::from_nanos)
    }
    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        match &self.binary {
            None => self.calendar.is_empty(),
            Some(heap) => heap.is_empty(),
        }
    }
}

fn pop_binary(heap: &mut BinaryHeap<Reverse<Key>>, limit: u64) -> Option<(u64, Entity)> {
    if time_of(heap.peek()?.0) > limit {
        return None;
    }
    let first = heap.pop()?.0;
    Some((time_of(first), entity_of(first)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Rng, Stream};

    #[test]
    fn both_heaps_give_the_same_order_on_a_random_monotone_load() {
        let mut rng = Rng::new(7, Stream::Test, 0);
        let mut heaps = [EventQueue::calendar(), EventQueue::binary()];
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
                assert_eq!(a.next_time(), b.next_time());
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
            let mut orders = [EventQueue::calendar(), EventQueue::binary()].map(|mut heap| {
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
                let mut heap = EventQueue::calendar();
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
        let mut heaps = [EventQueue::calendar(), EventQueue::binary()];
        let mut rng = Rng::new(8, Stream::Test, 0);
        let far = 1 << 45;
        heaps.iter_mut().for_each(|h| h.push(Time::from_nanos(far), 7));
        let [a, b] = &mut heaps;
        assert_eq!(a.pop_until(Time::from_nanos(9)), None);
        // The run now reaches far; everything that follows falls into it, some of it at one
        // instant.
        for i in 0..5_000 {
            let at = Time::from_nanos(if i % 3 == 0 { 1_000 } else { rng.below(2 * far) });
            a.push(at, rng.below(40) as u32 + 100);
            b.push(at, 0);
        }
        let times = |h: &mut EventQueue| -> Vec<Time> {
            std::iter::from_fn(|| h.pop_until(Time::MAX)).map(|(at, _)| at).collect()
        };
        let (mine, simple) = (times(a), times(b));
        assert_eq!(mine.len(), 5_001);
        assert_eq!(mine, simple);
    }

    /// Steps of one scale for a while, then of another: the length of a day is reviewed up and
    /// down, with events of every age pending.
    #[test]
    fn both_heaps_agree_while_days_grow_and_shrink() {
        let mut rng = Rng::new(9, Stream::Test, 0);
        let mut heaps = [EventQueue::calendar(), EventQueue::binary()];
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
            shifts.insert(heaps[0].calendar.shift());
        }
        assert!(shifts.len() > 4, "days of {shifts:?}: the review was not exercised");
    }

    #[test]
    fn the_end_of_time_is_in_no_year() {
        let mut heaps = [EventQueue::calendar(), EventQueue::binary()];
        let half = 1u64 << 63;
        let times = [u64::MAX, half, half - 1, half + 5, 3, u64::MAX - 9, half - 9_000, u64::MAX];
        for (&ns, entity) in times.iter().zip(0..) {
            heaps.iter_mut().for_each(|h| h.push(Time::from_nanos(ns), entity));
        }
        let mut left = 0;
        while let Some((now, entity)) = heaps[1].pop_until(Time::MAX) {
            assert_eq!(heaps[0].next_time(), Some(now));
            assert_eq!(heaps[0].pop_until(Time::MAX), Some((now, entity)));
            left += 1;
            // Each of the first time pushes one that falls into the days to come, or outside the
            // last.
            if entity < 8 {
                let at = Time::from_nanos(now.as_nanos().saturating_add(700));
                heaps.iter_mut().for_each(|h| h.push(at, entity + 8));
            }
        }
        assert!(left == 2 * times.len() && heaps[0].is_empty(), "{left}");
        assert_eq!(heaps[0].pop_until(Time::MAX), None);
    }

    #[test]
    #[should_panic(expected = "behind the clock")]
    fn going_back_is_a_bug() {
        let mut heap = EventQueue::calendar();
        heap.push(Time::from_nanos(10), 0);
        heap.pop_until(Time::MAX);
        heap.push(Time::from_nanos(9), 0);
    }
}

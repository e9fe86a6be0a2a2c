//! The set of pending events: a radix heap with a sorted run, and a binary heap that gives the same order.
//!
//! An event is (time, entity). Events leave in order of time; at equal times in order of entity. Nothing may be pushed
//! before the time of the last event that left: a simulation never goes back.

use forebay_base::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Names who is to act. Smaller numbers act first at equal times.
pub type Entity = u32;

/// The pending events.
#[allow(clippy::large_enum_variant, reason = "there is one in a run")]
pub enum Agenda {
    /// The fast one.
    Radix(RadixHeap),
    /// The simple one, for comparison.
    Binary(BinaryHeap<Reverse<(u64, Entity)>>),
}

impl Agenda {
    /// An empty radix heap.
    pub fn radix() -> Agenda {
        Agenda::Radix(RadixHeap::default())
    }
    /// An empty binary heap.
    pub fn binary() -> Agenda {
        Agenda::Binary(BinaryHeap::new())
    }
    /// Add an event.
    #[inline]
    pub fn push(&mut self, at: Time, entity: Entity) {
        match self {
            Agenda::Radix(heap) => heap.push(at.as_nanos(), entity),
            Agenda::Binary(heap) => heap.push(Reverse((at.as_nanos(), entity))),
        }
    }
    /// Take the first event, if it is due by `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, Entity)> {
        let limit = limit.as_nanos();
        let (ns, entity) = match self {
            Agenda::Radix(heap) => heap.pop_until(limit)?,
            Agenda::Binary(heap) => {
                if heap.peek()?.0.0 > limit {
                    return None;
                }
                heap.pop()?.0
            }
        };
        Some((Time::from_nanos(ns), entity))
    }
    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        match self {
            Agenda::Radix(heap) => heap.is_empty(),
            Agenda::Binary(heap) => heap.is_empty(),
        }
    }
}

const BUCKETS: usize = 64;

/// Events that are sorted at once instead of being spread over lower buckets.
const RUN_EVENTS: usize = 24;

/// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990, doi:10.1145/77600.77615) over 64-bit times, with a sorted run at its front.
///
/// Bucket b holds the events whose time differs from `base` first in bit b, so the lowest bucket has the earliest
/// events. When the run is used up, the lowest bucket becomes the next run if it is small; if not, it is spread over lower buckets
/// around its earliest event. Everything before `base + 1` is in the run.
pub struct RadixHeap {
    base: u64,
    /// Events up to `base`, the earliest last.
    run: Vec<Key>,
    buckets: [Vec<Key>; BUCKETS],
    /// Bit b: bucket b is not empty.
    occupied: u64,
    /// Time of the last event that left.
    last: u64,
}

/// Time in the high 64 bits, entity in the low 32: the order of events.
type Key = u128;

#[inline]
fn key(ns: u64, entity: Entity) -> Key {
    (ns as Key) << 32 | entity as Key
}
#[inline]
fn time_of(key: Key) -> u64 {
    (key >> 32) as u64
}

impl Default for RadixHeap {
    fn default() -> Self {
        let buckets = std::array::from_fn(|_| Vec::new());
        RadixHeap { base: 0, run: Vec::new(), buckets, occupied: 0, last: 0 }
    }
}

impl RadixHeap {
    fn is_empty(&self) -> bool {
        self.run.is_empty() && self.occupied == 0
    }
    #[inline]
    fn push(&mut self, ns: u64, entity: Entity) {
        assert!(ns >= self.last, "event at {ns} ns pushed behind the clock at {} ns", self.last);
        let key = key(ns, entity);
        if ns > self.base { self.place(key) } else { self.insert(key) }
    }
    /// Into the bucket of a time after `base`.
    #[inline]
    fn place(&mut self, key: Key) {
        let bucket = (time_of(key) ^ self.base).ilog2() as usize;
        self.buckets[bucket].push(key);
        self.occupied |= 1 << bucket;
    }
    /// Into the run.
    fn insert(&mut self, key: Key) {
        if self.run.len() >= 2 * RUN_EVENTS {
            self.shorten_run();
            if time_of(key) > self.base {
                return self.place(key);
            }
        }
        let at = self.run.partition_point(|&k| k > key);
        self.run.insert(at, key);
    }
    /// The run has grown long because it covers a long time: keep its earliest instant, put the rest into buckets.
    #[cold]
    fn shorten_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.spread(run);
    }
    /// Around the earliest of `events`, which are all that there is up to `base` and in the buckets at and below theirs.
    fn spread(&mut self, mut events: Vec<Key>) -> Vec<Key> {
        self.base = time_of(*events.iter().min().expect("there are events to spread"));
        for key in events.drain(..) {
            if time_of(key) == self.base { self.run.push(key) } else { self.place(key) }
        }
        self.run.sort_unstable_by(|a, b| b.cmp(a));
        events
    }
    #[inline]
    fn pop_until(&mut self, limit: u64) -> Option<(u64, Entity)> {
        if self.run.is_empty() {
            self.advance();
        }
        let first = *self.run.last()?;
        if time_of(first) > limit {
            return None;
        }
        self.run.pop();
        self.last = time_of(first);
        Some((self.last, first as Entity))
    }
    /// Make the next run.
    fn advance(&mut self) {
        if self.occupied == 0 {
            return;
        }
        let bucket = self.occupied.trailing_zeros() as usize;
        self.occupied &= !(1 << bucket);
        if self.buckets[bucket].len() <= RUN_EVENTS {
            std::mem::swap(&mut self.run, &mut self.buckets[bucket]);
            self.run.sort_unstable_by(|a, b| b.cmp(a));
            // The bucket's times have this bit set, and agree with the old base above it: the last of them has all bits set below.
            self.base |= (1 << bucket) | ((1 << bucket) - 1);
        } else {
            let events = std::mem::take(&mut self.buckets[bucket]);
            // Keep the allocation: everything moved to lower buckets or to the run.
            self.buckets[bucket] = self.spread(events);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Rng, Stream};

    #[test]
    fn both_heaps_give_the_same_order_on_a_random_monotone_load() {
        let mut rng = Rng::new(7, Stream::Test, 0);
        let mut heaps = [Agenda::radix(), Agenda::binary()];
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
    fn equal_times_leave_by_entity_even_if_pushed_while_they_leave() {
        for mut heap in [Agenda::radix(), Agenda::binary()] {
            let t = Time::from_nanos(9);
            [5, 3, 8].into_iter().for_each(|e| heap.push(t, e));
            assert_eq!(heap.pop_until(t), Some((t, 3)));
            heap.push(t, 1);
            let rest: Vec<_> = std::iter::from_fn(|| heap.pop_until(Time::MAX)).collect();
            assert_eq!(rest, [(t, 1), (t, 5), (t, 8)]);
            assert!(heap.is_empty());
        }
    }

    #[test]
    fn many_events_at_one_instant_and_in_one_wide_bucket() {
        let mut heaps = [Agenda::radix(), Agenda::binary()];
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

    #[test]
    #[should_panic(expected = "behind the clock")]
    fn going_back_is_a_bug() {
        let mut heap = Agenda::radix();
        heap.push(Time::from_nanos(10), 0);
        heap.pop_until(Time::MAX);
        heap.push(Time::from_nanos(9), 0);
    }
}

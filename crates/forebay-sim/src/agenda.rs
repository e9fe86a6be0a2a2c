//! The set of pending events: a monotone radix heap, and a binary heap that gives the same order.
//!
//! An event is (time, entity). Events leave in order of time; at equal times in order of entity. Nothing may be pushed
//! before the time of the last event that left: a simulation never goes back.

use forebay_base::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Names who is to act. Smaller numbers act first at equal times.
pub type Entity = u32;

/// The pending events.
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
            Agenda::Radix(heap) => heap.len == 0,
            Agenda::Binary(heap) => heap.is_empty(),
        }
    }
}

const BUCKETS: usize = 64;

/// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990, doi:10.1145/77600.77615) over 64-bit times: bucket b holds the
/// events whose time differs from that of the last one popped first in bit b; those of equal time are ordered by entity.
pub struct RadixHeap {
    last: u64,
    /// Events at `last`.
    due: BinaryHeap<Reverse<Entity>>,
    buckets: [Vec<(u64, Entity)>; BUCKETS],
    /// Bit b: bucket b is not empty.
    occupied: u64,
    len: usize,
}

impl Default for RadixHeap {
    fn default() -> Self {
        RadixHeap {
            last: 0,
            due: BinaryHeap::new(),
            buckets: std::array::from_fn(|_| Vec::new()),
            occupied: 0,
            len: 0,
        }
    }
}

impl RadixHeap {
    #[inline]
    fn push(&mut self, ns: u64, entity: Entity) {
        assert!(ns >= self.last, "event at {ns} ns pushed behind the clock at {} ns", self.last);
        self.len += 1;
        self.place(ns, entity);
    }
    #[inline]
    fn place(&mut self, ns: u64, entity: Entity) {
        let differing = ns ^ self.last;
        if differing == 0 {
            self.due.push(Reverse(entity));
        } else {
            let bucket = differing.ilog2() as usize;
            self.buckets[bucket].push((ns, entity));
            self.occupied |= 1 << bucket;
        }
    }
    #[inline]
    fn pop_until(&mut self, limit: u64) -> Option<(u64, Entity)> {
        if self.due.is_empty() && !self.advance(limit) {
            return None;
        }
        if self.last > limit {
            return None;
        }
        let Reverse(entity) = self.due.pop()?;
        self.len -= 1;
        Some((self.last, entity))
    }
    /// Move the events of the earliest time into `due`, if that time is not past `limit`.
    fn advance(&mut self, limit: u64) -> bool {
        if self.occupied == 0 {
            return false;
        }
        let bucket = self.occupied.trailing_zeros() as usize;
        let earliest = self.buckets[bucket].iter().map(|e| e.0).min().expect("marked occupied");
        if earliest > limit {
            return false;
        }
        self.last = earliest;
        self.occupied &= !(1 << bucket);
        let mut events = std::mem::take(&mut self.buckets[bucket]);
        events.drain(..).for_each(|(ns, entity)| self.place(ns, entity));
        // Keep the allocation. Everything moved to lower buckets, so this one is still empty.
        self.buckets[bucket] = events;
        true
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
    #[should_panic(expected = "behind the clock")]
    fn going_back_is_a_bug() {
        let mut heap = Agenda::radix();
        heap.push(Time::from_nanos(10), 0);
        heap.pop_until(Time::MAX);
        heap.push(Time::from_nanos(9), 0);
    }
}

//! A queue in a ring of memory.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

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
    /// Number of items from the front on of which `holds` is true; those behind them must not hold.
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
    /// The slot behind the last item, which it is from now on: whatever lies there must be
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

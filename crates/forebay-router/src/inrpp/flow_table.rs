//! Flows by key in a slab: a look-up reads a word of the index and the flow itself, however many
//! there are, and the number of its slot stands for a flow as long as it is in.
//!
//! The index is a table with open addressing, small enough for the caches of the processor: a flow
//! is at the place of its hash or at the next free one after it. Removal moves back what stands
//! after a gap, so nothing is ever marked as removed. What goes through all flows must give the
//! same in any order.

use super::key::FlowKey;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// Places of the index for each flow at least, so that few flows are looked for twice.
const PLACES_PER_FLOW: usize = 2;
/// Places at least, once there are any.
const FEWEST_PLACES: usize = 16;
/// The slot of a free place.
const FREE: u32 = u32::MAX;

/// A word of the index: half of the hash of a flow, and its slot.
#[derive(Clone, Copy, Debug)]
struct Place {
    hash: u32,
    slot: u32,
}

impl Place {
    const FREE: Place = Place { hash: 0, slot: FREE };
}

#[inline]
fn hash(flow: FlowKey) -> u32 {
    flow.spread() as u32
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct FlowTable<V> {
    /// A power of two of them, or none.
    index: Vec<Place>,
    slots: Vec<Option<(FlowKey, V)>>,
    /// Slots without a flow.
    free: Vec<u32>,
}

impl<V> Default for FlowTable<V> {
    fn default() -> FlowTable<V> {
        FlowTable { index: Vec::new(), slots: Vec::new(), free: Vec::new() }
    }
}

impl<V> FlowTable<V> {
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    #[inline]
    fn wrapped(&self, place: usize) -> usize {
        place & self.index.len().wrapping_sub(1)
    }
    /// The place of `flow`; where it is not in, the free one that it would have. There must be
    /// places.
    #[inline]
    fn place(&self, flow: FlowKey) -> usize {
        let hash = hash(flow);
        let mut at = self.wrapped(hash as usize);
        loop {
            let place = self.index[at];
            let found = || self.slots[place.slot as usize].as_ref().is_some_and(|it| it.0 == flow);
            if place.slot == FREE || place.hash == hash && found() {
                return at;
            }
            at = self.wrapped(at + 1);
        }
    }
    /// The slot of `flow`.
    #[inline]
    pub fn find(&self, flow: FlowKey) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let slot = self.index[self.place(flow)].slot;
        (slot != FREE).then_some(slot)
    }
    #[inline]
    pub fn get(&self, flow: FlowKey) -> Option<&V> {
        self.find(flow).map(|slot| self.at(slot))
    }
    #[inline]
    pub fn get_mut(&mut self, flow: FlowKey) -> Option<&mut V> {
        self.find(flow).map(|slot| self.at_mut(slot))
    }
    #[inline]
    fn entry(&self, slot: u32) -> &(FlowKey, V) {
        self.slots[slot as usize].as_ref().expect("the slot of a flow that is in")
    }
    /// The flow in `slot`.
    #[inline]
    pub fn at(&self, slot: u32) -> &V {
        &self.entry(slot).1
    }
    /// The same, to change.
    #[inline]
    pub fn at_mut(&mut self, slot: u32) -> &mut V {
        &mut self.slots[slot as usize].as_mut().expect("the slot of a flow that is in").1
    }
    /// Its key.
    #[inline]
    pub fn key(&self, slot: u32) -> FlowKey {
        self.entry(slot).0
    }
    /// A flow that is not in comes in. Its slot.
    pub fn insert(&mut self, flow: FlowKey, value: V) -> u32 {
        if self.index.len() < PLACES_PER_FLOW * (self.len() + 1) {
            self.widen();
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some((flow, value));
        self.list(flow, slot);
        slot
    }
    fn list(&mut self, flow: FlowKey, slot: u32) {
        let hash = hash(flow);
        let mut at = self.wrapped(hash as usize);
        while self.index[at].slot != FREE {
            at = self.wrapped(at + 1);
        }
        self.index[at] = Place { hash, slot };
    }
    #[cold]
    fn widen(&mut self) {
        let places = (2 * self.index.len()).max(FEWEST_PLACES);
        self.index.clear();
        self.index.resize(places, Place::FREE);
        for slot in 0..self.slots.len() {
            if let Some((flow, _)) = self.slots[slot] {
                self.list(flow, slot as u32);
            }
        }
    }
    /// The flow in `slot` goes.
    pub fn remove_at(&mut self, slot: u32) -> V {
        let flow = self.key(slot);
        let mut gap = self.place(flow);
        self.index[gap] = Place::FREE;
        let mut at = gap;
        loop {
            at = self.wrapped(at + 1);
            let place = self.index[at];
            if place.slot == FREE {
                break;
            }
            // It may fill the gap if that is not before the place of its hash.
            let from_home = self.wrapped(at.wrapping_sub(place.hash as usize));
            if from_home >= self.wrapped(at.wrapping_sub(gap)) {
                self.index.swap(gap, at);
                gap = at;
            }
        }
        self.free.push(slot);
        self.slots[slot as usize].take().expect("its key was just read").1
    }
    pub fn remove(&mut self, flow: FlowKey) -> Option<V> {
        self.find(flow).map(|slot| self.remove_at(slot))
    }
    /// Keep those for which `keep` is true.
    pub fn retain(&mut self, keep: impl Fn(&V) -> bool) {
        for slot in 0..self.slots.len() as u32 {
            if self.slots[slot as usize].as_ref().is_some_and(|(_, value)| !keep(value)) {
                self.remove_at(slot);
            }
        }
    }
    /// All values.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.slots.iter_mut().flatten().map(|(_, value)| value)
    }
    /// All flows with their values.
    pub fn iter(&self) -> impl Iterator<Item = (FlowKey, &V)> {
        self.slots.iter().flatten().map(|(flow, value)| (*flow, value))
    }
    /// All values, out of the table.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.slots.into_iter().flatten().map(|(_, value)| value)
    }
    /// Lose all.
    pub fn clear(&mut self) {
        *self = FlowTable::default();
    }
}

/// Slots count, for who refers to them. The index follows from them.
impl<V: PartialEq> PartialEq for FlowTable<V> {
    fn eq(&self, other: &FlowTable<V>) -> bool {
        (&self.slots, &self.free) == (&other.slots, &other.free)
    }
}

impl<V: Eq> Eq for FlowTable<V> {}

impl<V: Hash> Hash for FlowTable<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.slots, &self.free).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::Class;
    use super::*;
    use alloc::collections::BTreeMap;
    use forebay_base::{Rng, Stream};

    /// As a scenario numbers hosts: the distinguishing part stands twice in a key.
    fn flow(number: u32) -> FlowKey {
        FlowKey::new((number, 49_152), (1_024 + number, 5_001), Class::Pooled)
    }

    /// Filled and emptied in waves, so that it widens, wraps around and closes gaps.
    #[test]
    fn it_holds_what_a_tree_holds_and_slots_stay() {
        let mut rng = Rng::new(7, Stream::Test, 0);
        let (mut table, mut tree) = (FlowTable::default(), BTreeMap::new());
        let mut slots = BTreeMap::new();
        for step in 0..40_000u32 {
            let key = flow(rng.below(300) as u32);
            let fills = (step / 2_000) % 2 == 0;
            match rng.below(8) {
                0..=3 if fills && table.find(key).is_none() => {
                    slots.insert(key, table.insert(key, step));
                    tree.insert(key, step);
                }
                0..=3 if !fills => assert_eq!(table.remove(key), tree.remove(&key)),
                4 => assert_eq!(table.get(key), tree.get(&key)),
                5 => assert_eq!(table.get_mut(key), tree.get_mut(&key)),
                6 if step % 100 == 0 => {
                    table.retain(|value| value % 3 > 0);
                    tree.retain(|_, value| *value % 3 > 0);
                }
                _ => table.values_mut().chain(tree.values_mut()).for_each(|value| *value += 1),
            }
            assert_eq!((table.len(), table.is_empty()), (tree.len(), tree.is_empty()));
            if step % 97 == 0 {
                let all: BTreeMap<FlowKey, u32> = table.iter().map(|(key, &v)| (key, v)).collect();
                assert_eq!(all, tree);
                for (&key, &value) in &tree {
                    let slot = slots[&key];
                    assert_eq!(table.find(key), Some(slot));
                    assert_eq!((table.key(slot), *table.at(slot)), (key, value));
                }
            }
        }
        table.clear();
        assert_eq!((table.len(), table.iter().count(), table.get(flow(1))), (0, 0, None));
    }

    /// At most half of the places are taken, and keys are spread.
    #[test]
    fn most_flows_are_at_the_first_place_that_is_looked_at() {
        let mut table = FlowTable::default();
        (0..1_000).for_each(|n| _ = table.insert(flow(n), n));
        let at_home = |&n: &u32| table.place(flow(n)) == table.wrapped(hash(flow(n)) as usize);
        let right = (0..1_000).filter(at_home).count();
        assert!(right >= 700, "{right} of 1000");
    }
}

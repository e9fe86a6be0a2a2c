//! Where flows were seen last, by a hash of their keys: a look-up that nearly always spares another
//! in a tree.

use super::key::FlowKey;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// Places for each flow, so that few flows share one.
const PLACES_PER_FLOW: usize = 4;
/// Places at least, once there are any.
const FEWEST_PLACES: usize = 16;

/// See the module. The caller must check a hint: the flow may have gone, or another have its
/// place. Hints are not state: machines that differ in them alone are equal.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowIndexCache {
    /// A power of two of them, or none.
    slots: Vec<u32>,
}

impl FlowIndexCache {
    #[inline]
    fn place(&self, flow: FlowKey) -> usize {
        flow.spread() as usize & self.slots.len().wrapping_sub(1)
    }
    /// The slot in which `flow` may be.
    #[inline]
    pub fn get(&self, flow: FlowKey) -> Option<u32> {
        self.slots.get(self.place(flow)).copied()
    }
    /// `flow` is in `slot`, and all flows are where `index` says.
    pub fn note(&mut self, flow: FlowKey, slot: u32, index: &BTreeMap<FlowKey, u32>) {
        if self.slots.len() < PLACES_PER_FLOW * index.len() {
            let places = (2 * PLACES_PER_FLOW * index.len()).next_power_of_two();
            self.slots = vec![0; places.max(FEWEST_PLACES)];
            index.iter().for_each(|(&flow, &slot)| self.put(flow, slot));
        }
        self.put(flow, slot);
    }
    fn put(&mut self, flow: FlowKey, slot: u32) {
        let place = self.place(flow);
        self.slots[place] = slot;
    }
}

impl PartialEq for FlowIndexCache {
    fn eq(&self, _: &FlowIndexCache) -> bool {
        true
    }
}

impl Eq for FlowIndexCache {}

impl Hash for FlowIndexCache {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::super::key::Class;
    use super::*;

    /// As a scenario numbers hosts: the distinguishing part stands twice in a key.
    fn flow(number: u32) -> FlowKey {
        FlowKey::new((number, 49_152), (1_024 + number, 5_001), Class::Pooled)
    }

    #[test]
    fn no_flow_is_hinted_at_where_none_was_noted() {
        assert_eq!(FlowIndexCache::default().get(flow(1)), None);
    }

    /// With at least four places a flow, flows that fall on places at random keep theirs with a
    /// probability of e^(-1/4) = 0.78 or more.
    #[test]
    fn most_flows_are_where_the_hint_says() {
        let (mut hints, mut index) = (FlowIndexCache::default(), BTreeMap::new());
        for number in 0..1_000 {
            index.insert(flow(number), number);
            hints.note(flow(number), number, &index);
            assert_eq!(hints.get(flow(number)), Some(number), "the last noted");
            assert!(hints.slots.len() <= 16 * index.len().max(1));
        }
        let right = (0..1_000).filter(|&n| hints.get(flow(n)) == Some(n)).count();
        assert!(right >= 700, "{right} of 1000");
    }
}

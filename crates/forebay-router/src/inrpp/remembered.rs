//! What is remembered of flows, within bounds: those that are silent for long have ended, and are
//! looked for when twice as many are known as were left the last time.

use super::flow_table::FlowTable;
use super::key::FlowKey;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};
use forebay_base::{Span, Time};

/// Silence after which a flow counts as ended.
pub(super) const ENDED_AFTER: Span = Span::from_secs(30);
/// Of fewer flows, those that have ended are not looked for.
pub(super) const PURGE_THRESHOLD: usize = 1024;
/// Flows that are remembered.
const MAX_FLOWS: usize = 1 << 16;

/// What tells when a flow was heard of last.
pub(super) trait LastHeard {
    fn last_heard(&self) -> Time;
}

impl LastHeard for Time {
    fn last_heard(&self) -> Time {
        *self
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Remembered<V> {
    flows: FlowTable<V>,
    /// Number of flows at which to look for those that have ended.
    crowd: usize,
}

impl<V> Default for Remembered<V> {
    fn default() -> Remembered<V> {
        Remembered { flows: FlowTable::default(), crowd: PURGE_THRESHOLD }
    }
}

impl<V: LastHeard> Remembered<V> {
    /// Remember a flow that is not known, heard of now. False if there is no room.
    pub fn know(&mut self, flow: FlowKey, value: V) -> bool {
        if self.flows.len() >= self.crowd {
            let now = value.last_heard();
            self.flows.retain(|other| other.last_heard() + ENDED_AFTER > now);
            self.crowd = (2 * self.flows.len()).max(PURGE_THRESHOLD);
        }
        let room = self.flows.len() < MAX_FLOWS;
        if room {
            self.flows.insert(flow, value);
        }
        room
    }
}

impl<V> Deref for Remembered<V> {
    type Target = FlowTable<V>;

    fn deref(&self) -> &FlowTable<V> {
        &self.flows
    }
}

impl<V> DerefMut for Remembered<V> {
    fn deref_mut(&mut self) -> &mut FlowTable<V> {
        &mut self.flows
    }
}

/// Which flow was heard of first does not count.
impl<V: PartialEq> PartialEq for Remembered<V> {
    fn eq(&self, other: &Remembered<V>) -> bool {
        let same = |(flow, value): (FlowKey, &V)| other.get(flow) == Some(value);
        (self.crowd, self.len()) == (other.crowd, other.len()) && self.iter().all(same)
    }
}

impl<V: Eq> Eq for Remembered<V> {}

impl<V: Hash> Hash for Remembered<V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut flows: Vec<(FlowKey, &V)> = self.iter().collect();
        flows.sort_unstable_by_key(|&(flow, _)| flow);
        (flows, self.crowd).hash(state);
    }
}

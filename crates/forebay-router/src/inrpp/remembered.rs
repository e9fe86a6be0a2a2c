//! What is remembered of flows, within bounds: those that are silent for long have ended, and are
//! looked for when twice as many are known as were left the last time.

use super::key::FlowKey;
use alloc::collections::BTreeMap;
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Remembered<V> {
    flows: BTreeMap<FlowKey, V>,
    /// Number of flows at which to look for those that have ended.
    crowd: usize,
}

impl<V> Default for Remembered<V> {
    fn default() -> Remembered<V> {
        Remembered { flows: BTreeMap::new(), crowd: PURGE_THRESHOLD }
    }
}

impl<V: LastHeard> Remembered<V> {
    /// Remember a flow that is not known, heard of now. False if there is no room.
    pub fn know(&mut self, flow: FlowKey, value: V) -> bool {
        if self.flows.len() >= self.crowd {
            let now = value.last_heard();
            self.flows.retain(|_, other| other.last_heard() + ENDED_AFTER > now);
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
    type Target = BTreeMap<FlowKey, V>;

    fn deref(&self) -> &BTreeMap<FlowKey, V> {
        &self.flows
    }
}

impl<V> DerefMut for Remembered<V> {
    fn deref_mut(&mut self) -> &mut BTreeMap<FlowKey, V> {
        &mut self.flows
    }
}

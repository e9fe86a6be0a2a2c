//! Order by attained service: the flow that has sent the fewest bytes goes first.
//!
//! Least attained service, also called foreground-background: Nuyens and Wierman, "The
//! foreground-background queue: a survey", Performance Evaluation 65, 2008. It needs no knowledge
//! of sizes, finishes short flows first, and starves long ones while shorter ones arrive.

use super::key::FlowKey;
use super::remembered::{ENDED_AFTER, LastHeard, Remembered};
use alloc::collections::BTreeSet;
use forebay_base::Time;

/// Where a flow is in the order: the bytes that it has sent, and when it was listed. Of flows with
/// equal service the one that has waited longest goes first, so they take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Rank {
    attained_bytes: u64,
    listed: u64,
}

/// Flows that may send, least attained service first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LeastAttained {
    flows: BTreeSet<(Rank, u32)>,
    listed: u64,
}

impl LeastAttained {
    /// List the flow in `slot`.
    pub fn insert(&mut self, slot: u32, attained_bytes: u64) -> Rank {
        self.listed += 1;
        let rank = Rank { attained_bytes, listed: self.listed };
        self.flows.insert((rank, slot));
        rank
    }
    pub fn remove(&mut self, slot: u32, rank: Rank) {
        let listed = self.flows.remove(&(rank, slot));
        debug_assert!(listed, "a flow that has a rank is listed");
    }
    /// The flow that goes first.
    pub fn first(&self) -> Option<u32> {
        self.flows.first().map(|&(_, slot)| slot)
    }
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.flows.iter().map(|&(_, slot)| slot)
    }
}

/// A flow that has nothing in a cache, as it comes there.
#[derive(Clone, Copy, Default)]
pub(super) struct Newcomer {
    /// It has its first quantum before others.
    pub ahead: bool,
    /// Bytes that it has sent.
    pub attained_bytes: u64,
}

/// What a flow has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sent {
    bytes: u64,
    last: Time,
}

impl LastHeard for Sent {
    fn last_heard(&self) -> Time {
        self.last
    }
}

/// What each flow has sent, also those that have nothing in the cache at the moment. A flow that is
/// silent for [`ENDED_AFTER`] is new again; those that are too many to remember are so each time
/// that they run dry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ServiceHistory {
    flows: Remembered<Sent>,
}

impl ServiceHistory {
    /// Bytes that `flow` has sent.
    pub fn attained_bytes(&self, now: Time, flow: FlowKey) -> u64 {
        let known = self.flows.get(flow).filter(|sent| now < sent.last + ENDED_AFTER);
        known.map_or(0, |sent| sent.bytes)
    }
    /// `flow` has sent a packet.
    pub fn sent(&mut self, now: Time, flow: FlowKey, wire_len: u16) {
        let bytes = self.attained_bytes(now, flow) + u64::from(wire_len);
        let sent = Sent { bytes, last: now };
        match self.flows.get_mut(flow) {
            Some(known) => *known = sent,
            None => _ = self.flows.know(flow, sent),
        }
    }
}

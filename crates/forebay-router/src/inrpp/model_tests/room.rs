//! For how much of a flow the model has room.

use super::super::key::{Class, FlowKey};
use super::super::settings::CacheLimits;
use super::Model;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

impl Model {
    /// The share of `bytes` that `flow` may have, and has.
    pub(super) fn share_of(&self, flow: FlowKey, bytes: u64) -> (u64, u64) {
        let own = self.sum(|p| p.flow == flow);
        let flows = self.by_flow().into_keys().chain([flow]).filter(|f| f.class() != Class::Plain);
        (bytes / flows.collect::<BTreeSet<_>>().len() as u64, own)
    }
    pub(super) fn room_for(&self, flow: FlowKey) -> u16 {
        let left = self.limits.total_bytes - self.bytes();
        let (share, own) = self.share_of(flow, left.min(self.limits.high_bytes / 4));
        let CacheLimits { high_bytes, total_bytes, .. } = self.limits;
        let flows = self.by_flow().into_iter().filter(|(f, _)| f.class() != Class::Plain);
        let lengths: Vec<u64> = flows.map(|(_, bytes)| bytes / 1_500 * 1_500).collect();
        let each = (lengths.len() as u64 * self.packet()).min((total_bytes - high_bytes) / 4);
        // Of one flow what is above its share does not count.
        let longest = lengths.into_iter().max().unwrap_or(0);
        let above = longest.saturating_sub(self.share_of(flow, high_bytes).0);
        let counted = self.bytes() - above * u64::from(self.bytes() > high_bytes);
        let crowded = counted >= high_bytes + each && self.has_eligible();
        let least = (own == 0 && total_bytes - counted >= self.packet() && !crowded) as u64;
        (share.saturating_sub(own) / self.packet()).max(least).min(57_344) as u16
    }
    pub(super) fn packet(&self) -> u64 {
        if self.longest == 0 { 1500 } else { self.longest }
    }
}

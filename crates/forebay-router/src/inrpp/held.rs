//! What interfaces downstream ask of this one: which flows it holds, and how many packets it may let go.
//!
//! The paper holds a packet that carries the nonce of a congested interface. Packets that left their sender before the nonce
//! reached it carry none; they are held as well, for the ACK that brought the nonce says whose flow it is.

use super::cache::Holds;
use super::key::{Class, FlowKey};
use alloc::collections::BTreeMap;
use forebay_base::signal::inrpp::Nonce;
use forebay_base::{Span, Time};

/// Interfaces downstream that are remembered at once; of more, the one that was silent for longest is forgotten.
const MAX_NONCES: usize = 4096;
/// Flows of which it is remembered that they are held; the packets of others are known by their echo alone.
const MAX_FLOWS: usize = 1 << 16;

/// A congested interface downstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hold {
    /// The last time that it asked to slow down.
    pub heard: Time,
    /// Time between two such ACKs, smoothed.
    pub gap: Span,
    /// The last time that a packet got a credit.
    pub credited: Time,
    /// Credits that no flow with packets here has had.
    pub pooled: u32,
    /// The flow that had the last credit which was for anyone.
    pub served: u32,
}

/// See the module. Soft state: it is forgotten where nothing refreshes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Held {
    nonces: BTreeMap<Nonce, Hold>,
    flows: BTreeMap<FlowKey, Nonce>,
}

impl Held {
    /// True if nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nonces.is_empty()
    }
    /// Number of nonces.
    pub fn len(&self) -> usize {
        self.nonces.len()
    }
    /// True if `nonce` holds something.
    pub fn has(&self, nonce: Nonce) -> bool {
        self.nonces.contains_key(&nonce)
    }
    /// What is known of the interface `nonce`.
    pub fn get_mut(&mut self, nonce: Nonce) -> Option<&mut Hold> {
        self.nonces.get_mut(&nonce)
    }
    /// The interfaces.
    pub fn iter(&self) -> impl Iterator<Item = (Nonce, &Hold)> {
        self.nonces.iter().map(|(&nonce, hold)| (nonce, hold))
    }
    /// `nonce` asks `flow` to slow down. The nonce that had to be forgotten for it.
    pub fn hear(&mut self, now: Time, nonce: Nonce, flow: FlowKey) -> Option<Nonce> {
        let known = self.nonces.get_mut(&nonce);
        let forgotten = match known {
            Some(hold) => {
                let gap = now.since(hold.heard);
                hold.gap = (hold.gap * 7 + gap) / 8;
                hold.heard = now;
                None
            }
            None => {
                let silent = match self.nonces.len() < MAX_NONCES {
                    true => None,
                    false => self.iter().min_by_key(|(n, h)| (h.heard, *n)).map(|(n, _)| n),
                };
                let (gap, pooled, served) = (Span::ZERO, 0, u32::MAX);
                self.nonces.insert(nonce, Hold { heard: now, gap, credited: now, pooled, served });
                silent
            }
        };
        if self.flows.len() < MAX_FLOWS || self.flows.contains_key(&flow) {
            self.flows.insert(flow, nonce);
        }
        forgotten
    }
    /// Nobody downstream asks `flow` any more; what it echoes is still believed.
    #[inline]
    pub fn forget_flow(&mut self, flow: FlowKey) {
        if !self.flows.is_empty() {
            self.flows.remove(&flow);
        }
    }
    /// Forget `nonce`. False if it was not known.
    pub fn forget(&mut self, nonce: Nonce) -> bool {
        let known = self.nonces.remove(&nonce).is_some();
        if known {
            self.flows.retain(|_, by| *by != nonce);
        }
        known
    }
}

impl Holds for Held {
    #[inline]
    fn holder(&self, flow: FlowKey, echo: Option<Nonce>) -> Option<Nonce> {
        if self.nonces.is_empty() || flow.class() != Class::Pooled {
            return None;
        }
        echo.filter(|&nonce| self.has(nonce)).or_else(|| self.flows.get(&flow).copied())
    }
    fn take_pooled(&mut self, nonce: Nonce) -> bool {
        match self.nonces.get_mut(&nonce) {
            Some(hold) if hold.pooled > 0 => {
                hold.pooled -= 1;
                true
            }
            _ => false,
        }
    }
    fn has_pooled(&self, nonce: Nonce) -> bool {
        self.nonces.get(&nonce).is_some_and(|hold| hold.pooled > 0)
    }
    fn give_back(&mut self, flow: FlowKey, echo: Option<Nonce>, credits: u32) {
        if let Some(hold) = self.holder(flow, echo).and_then(|nonce| self.nonces.get_mut(&nonce)) {
            hold.pooled = hold.pooled.saturating_add(credits);
        }
    }
}

//! What interfaces downstream ask of this one: which flows it holds, and how many packets it may let go.
//!
//! The paper holds a packet that carries the nonce of a congested interface. Here the last ACK of its flow decides: it says
//! under which nonce the flow is held, or that nobody asks it. Packets carry what their sender knew a round trip ago: a nonce
//! that asks no more, or none while one asks. Their echo decides only where no ACK of the flow has passed since a nonce is
//! known here.

use super::cache::Holds;
use super::key::{Class, FlowKey};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{Span, Time};
use forebay_signal::inrpp::Nonce;

/// Interfaces downstream that are remembered at once; of more, the one that was silent for longest is forgotten.
const MAX_NONCES: usize = 4096;
/// Flows of which it is remembered what their last ACK said; the packets of others are known by their echo alone.
const MAX_FLOWS: usize = 1 << 16;

/// How long to wait for ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Patience {
    /// A nonce that is not heard for this long, or four times the time between its ACKs, is forgotten.
    pub forget_after: Span,
    /// One packet goes where no credit comes for this long, or twice the time between ACKs.
    pub watchdog: Span,
}

/// A congested interface downstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hold {
    /// The last time that it asked to slow down.
    heard: Time,
    /// Time between two such ACKs, smoothed.
    gap: Span,
    /// The last time that a packet got a credit.
    credited: Time,
    /// Credits that no flow with packets here has had.
    pub pooled: u32,
    /// The flow that had the last credit which was for anyone.
    pub served: u32,
}

/// What is to be done about a nonce of which nothing is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// One packet may go.
    LetGo(Nonce),
    /// It is forgotten.
    Forget(Nonce),
}

/// What an ACK has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// The nonce that had to be forgotten for a new one.
    pub forgotten: Option<Nonce>,
    /// The flow was under another nonce before, or under none, or it was not known.
    pub moved: bool,
}

/// See the module. Soft state: it is forgotten where nothing refreshes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    patience: Patience,
    nonces: BTreeMap<Nonce, Hold>,
    /// What the last ACK of a flow said: under which nonce it is held; None: nobody asks it.
    flows: BTreeMap<FlowKey, Option<Nonce>>,
    /// Nothing is late before this. Brought up to date when it has come, so that no packet has to look at every nonce.
    due: Time,
}

impl Held {
    /// Nothing is held.
    pub fn new(patience: Patience) -> Held {
        Held { patience, nonces: BTreeMap::new(), flows: BTreeMap::new(), due: Time::MAX }
    }
    /// Forget everything.
    pub fn clear(&mut self) {
        *self = Held::new(self.patience);
    }
    /// True if nothing is held.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nonces.is_empty()
    }
    /// Number of nonces.
    pub fn len(&self) -> usize {
        self.nonces.len()
    }
    /// What is known of the interface `nonce`.
    pub fn get_mut(&mut self, nonce: Nonce) -> Option<&mut Hold> {
        self.nonces.get_mut(&nonce)
    }
    /// `nonce` asks `flow` to slow down.
    pub fn hear(&mut self, now: Time, nonce: Nonce, flow: FlowKey) -> Heard {
        let forgotten = match self.refresh(now, nonce) {
            true => None,
            false => {
                let full = self.nonces.len() >= MAX_NONCES;
                let silent = || self.nonces.iter().min_by_key(|(n, hold)| (hold.heard, **n));
                let silent = full.then(silent).flatten().map(|(&n, _)| n);
                let (gap, pooled, served) = (Span::ZERO, 0, u32::MAX);
                self.nonces.insert(nonce, Hold { heard: now, gap, credited: now, pooled, served });
                silent
            }
        };
        self.due = self.due.min(self.forgets_at(&self.nonces[&nonce]));
        let before = self.flows.get(&flow).copied();
        let room = before.is_some() || self.flows.len() < MAX_FLOWS;
        let moved = before != Some(Some(nonce)) && room;
        if moved {
            self.flows.insert(flow, Some(nonce));
        }
        Heard { forgotten, moved }
    }
    /// A packet under `nonce` got a credit for an ACK, or for want of one.
    pub fn credited(&mut self, now: Time, nonce: Nonce) {
        if let Some(hold) = self.nonces.get_mut(&nonce) {
            hold.credited = now;
        }
    }
    /// `nonce` was heard. False if it is not known.
    fn refresh(&mut self, now: Time, nonce: Nonce) -> bool {
        let Some(hold) = self.nonces.get_mut(&nonce) else { return false };
        let gap = now.since(hold.heard);
        hold.gap = (hold.gap * 7 + gap) / 8;
        hold.heard = now;
        true
    }
    /// An ACK says that nobody downstream asks `flow`. What it was held under before: None if it was not known,
    /// `Some(None)` if nobody asked it.
    #[inline]
    pub fn let_be(&mut self, flow: FlowKey) -> Option<Option<Nonce>> {
        if self.nonces.is_empty() {
            return Some(None);
        }
        if let Some(said) = self.flows.get_mut(&flow) {
            return Some(said.take());
        }
        if self.flows.len() < MAX_FLOWS {
            self.flows.insert(flow, None);
        }
        None
    }
    /// Forget `nonce`. False if it was not known.
    pub fn forget(&mut self, nonce: Nonce) -> bool {
        let known = self.nonces.remove(&nonce).is_some();
        if self.nonces.is_empty() {
            self.flows.clear();
        } else if known {
            self.flows.values_mut().filter(|by| **by == Some(nonce)).for_each(|by| *by = None);
        }
        known
    }

    fn forgets_at(&self, hold: &Hold) -> Time {
        hold.heard + self.patience.forget_after.max(hold.gap * 4)
    }
    fn starves_at(&self, hold: &Hold) -> Time {
        hold.credited + self.patience.watchdog.max(hold.gap * 2)
    }
    /// When something may be late; not later than that.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        (!self.nonces.is_empty()).then_some(self.due)
    }
    /// What is late, given for which nonces flows wait.
    pub fn late(&self, now: Time, waits: impl Fn(Nonce) -> bool) -> Vec<Late> {
        if now < self.due {
            return Vec::new();
        }
        let late = |(&nonce, hold): (&Nonce, &Hold)| match now >= self.forgets_at(hold) {
            true => Some(Late::Forget(nonce)),
            false => (now >= self.starves_at(hold) && waits(nonce)).then_some(Late::LetGo(nonce)),
        };
        self.nonces.iter().filter_map(late).collect()
    }
    /// What was late has been seen to.
    pub fn rearm(&mut self, waits: impl Fn(Nonce) -> bool) {
        let at = |(&nonce, hold): (&Nonce, &Hold)| match waits(nonce) {
            true => self.forgets_at(hold).min(self.starves_at(hold)),
            false => self.forgets_at(hold),
        };
        self.due = self.nonces.iter().map(at).min().unwrap_or(Time::MAX);
    }
}

impl Holds for Held {
    #[inline]
    fn holder(&self, flow: FlowKey, echo: Option<Nonce>) -> Option<Nonce> {
        if self.nonces.is_empty() || flow.class() != Class::Pooled {
            return None;
        }
        match self.flows.get(&flow) {
            Some(said) => *said,
            None => echo.filter(|nonce| self.nonces.contains_key(nonce)),
        }
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
    fn waits_now(&mut self, nonce: Nonce) {
        if let Some(hold) = self.nonces.get(&nonce) {
            self.due = self.due.min(self.starves_at(hold));
        }
    }
}

//! What interfaces downstream ask of this one: which flows it holds, and how many packets it may
//! let go.
//!
//! The paper holds a packet that carries the nonce of a congested interface. Here the last ACK of
//! its flow decides: it carries the nonce under which the flow is held, or none. Packets carry what
//! their sender knew a round trip ago: a nonce that asks no more, or none while one asks. Their
//! echo decides only where no ACK of the flow has passed since a nonce is known here.

use super::cache::{Held, Hold, Holds};
use super::key::{Class, FlowKey};
use super::remembered::{LastHeard, Remembered};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{Span, Time};
use forebay_signal::inrpp::Nonce;

/// Maximum bytes that one ACK may report as new.
const MAX_ACK_ADVANCE: i32 = 1 << 17;
/// Twice the bytes that are kept for packets yet to come: what one ACK may bring. More would let
/// the flow that waits next exceed its share before its next ACK could say so.
pub(super) const MAX_POOL: i64 = 2 * MAX_ACK_ADVANCE as i64;
/// Interfaces downstream that are remembered at once; of more, the one that was silent for longest
/// is forgotten.
const MAX_NONCES: usize = 4096;

/// How long to wait for ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CreditTimeouts {
    /// A nonce that is not heard for this long, or four times the time between its ACKs, is
    /// forgotten.
    pub forget_after: Span,
    /// One packet goes where no credit comes for this long, or twice the time between ACKs.
    pub watchdog: Span,
}

/// What an ACK acknowledges, by sequence numbers: everything before one, and the highest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arrived {
    /// The cumulative acknowledgement.
    pub before: u32,
    /// The end of the highest SACK block; `before` where there is none.
    pub highest: u32,
}

impl Arrived {
    /// Twice the bytes that have arrived since `earlier`. A byte counts half when it or a later one
    /// has arrived, and half when all before it have: once in the end, however often and in
    /// whatever parts it is acknowledged.
    fn since(self, earlier: Arrived) -> u64 {
        let ahead =
            |now: u32, then: u32| now.wrapping_sub(then).cast_signed().clamp(0, MAX_ACK_ADVANCE);
        let (before, highest) =
            (ahead(self.before, earlier.before), ahead(self.highest, earlier.highest));
        u64::from(before.cast_unsigned()) + u64::from(highest.cast_unsigned())
    }
    fn is_before(self, other: Arrived) -> bool {
        other.before.wrapping_sub(self.before).cast_signed() > 0
    }
    fn join(&mut self, later: Arrived) {
        let last = |a: u32, b: u32| if b.wrapping_sub(a).cast_signed() > 0 { b } else { a };
        self.before = last(self.before, later.before);
        self.highest = last(self.highest, later.highest);
    }
}

/// What is remembered of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FlowHoldState {
    /// How it is held; None: it is not.
    under: Option<Held>,
    arrived: Arrived,
    /// The time of its last ACK.
    at: Time,
    /// Time between two of them, smoothed.
    gap: Span,
}

impl LastHeard for FlowHoldState {
    fn last_heard(&self) -> Time {
        self.at
    }
}

impl FlowHoldState {
    fn new(now: Time, under: Option<Held>, arrived: Arrived) -> FlowHoldState {
        FlowHoldState { under, arrived, at: now, gap: Span::ZERO }
    }
    /// The next ACK. Twice the bytes that it newly acknowledges; None if it is older than the last:
    /// somebody repeats it, or it was overtaken. It says nothing, unless nothing newer has come for
    /// `silence`.
    fn on_ack(&mut self, now: Time, arrived: Arrived, silence: Span) -> Option<u64> {
        let older = arrived.is_before(self.arrived);
        if older && now < self.at + silence {
            return None;
        }
        self.gap = (self.gap * 7 + now.since(self.at)) / 8;
        self.at = now;
        if older {
            self.arrived = arrived; // another connection with the same ports
            return Some(0);
        }
        let news = arrived.since(self.arrived);
        self.arrived.join(arrived);
        Some(news)
    }
}

/// A congested interface downstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Asker {
    /// The last time that it asked to slow down.
    heard: Time,
    /// Time between two such ACKs, smoothed.
    gap: Span,
    /// The last time that a packet got a credit.
    credited: Time,
    /// Twice the payload, in bytes, that has arrived and was not yet replaced by what left for it.
    /// A packet may leave where this is above 0, and takes twice its payload from it.
    pool: i64,
}

impl CreditTimeouts {
    fn forgets_at(self, asker: &Asker) -> Time {
        asker.heard + self.forget_after.max(asker.gap * 4)
    }
    fn starves_at(self, asker: &Asker) -> Time {
        asker.credited + self.watchdog.max(asker.gap * 2)
    }
}

/// Action for a nonce without ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// One packet may go.
    LetGo(Nonce),
    /// It is forgotten.
    Forget(Nonce),
}

/// What an ACK has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AckUpdate {
    /// The nonce that had to be forgotten for a new one.
    pub forgotten: Option<Nonce>,
    /// The flow was under another nonce before, or under none, or it was not known.
    pub moved: bool,
    /// The same, or it was paused and is not, or the other way round.
    pub changed: bool,
    /// The other nonce that it was under.
    pub from: Option<Nonce>,
    /// Twice the bytes that the ACK newly acknowledges; None where none was seen before it.
    pub news: Option<u64>,
}

/// Effect of an ACK without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// The flow was held, or not known: its packets may leave now.
    pub moved: bool,
    /// The nonce that it was held under, and twice the bytes that the ACK newly acknowledges.
    pub from: Option<(Nonce, u64)>,
}

/// See the module. Soft state: it is forgotten where nothing refreshes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[repr(C)] // what every packet touches comes last: the cache is next to it
pub(super) struct Credits {
    patience: CreditTimeouts,
    /// The last ACK of each flow. The packets of others are known by their echo alone.
    flows: Remembered<FlowHoldState>,
    /// Nothing is late before this. Brought up to date when it has come, so that no packet has to
    /// look at every nonce.
    due: Time,
    nonces: BTreeMap<Nonce, Asker>,
}

impl Credits {
    /// Nothing is held.
    pub fn new(patience: CreditTimeouts) -> Credits {
        Credits { patience, nonces: BTreeMap::new(), flows: Remembered::default(), due: Time::MAX }
    }
    /// Forget everything.
    pub fn clear(&mut self) {
        *self = Credits::new(self.patience);
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
    /// An interface downstream asks `flow` to slow down.
    pub fn hear(&mut self, now: Time, held: Held, flow: FlowKey, arrived: Arrived) -> AckUpdate {
        let nonce = held.nonce;
        let mut known = None;
        if let Some(said) = self.flows.get_mut(flow) {
            let Some(news) = said.on_ack(now, arrived, self.patience.forget_after) else {
                let (forgotten, from, news) = (None, None, Some(0));
                return AckUpdate { forgotten, moved: false, changed: false, from, news };
            };
            known = Some((news, said.under.replace(held)));
        }
        let forgotten = match self.refresh(now, nonce) {
            Some(forgets_at) => {
                self.due = self.due.min(forgets_at);
                None
            }
            None => {
                let full = self.nonces.len() >= MAX_NONCES;
                let silent = || self.nonces.iter().min_by_key(|(n, asker)| (asker.heard, **n));
                let silent = full.then(silent).flatten().map(|(&n, _)| n);
                let (gap, pool) = (Span::ZERO, 0);
                let asker = Asker { heard: now, gap, credited: now, pool };
                self.due = self.due.min(self.patience.forgets_at(&asker));
                self.nonces.insert(nonce, asker);
                silent
            }
        };
        let Some((news, before)) = known else {
            let moved = self.flows.know(flow, FlowHoldState::new(now, Some(held), arrived));
            return AckUpdate { forgotten, moved, changed: moved, from: None, news: None };
        };
        let news = Some(news);
        let from = before.map(|before| before.nonce);
        let moved = from != Some(nonce);
        let changed = before != Some(held);
        AckUpdate { forgotten, moved, changed, from: from.filter(|_| moved), news }
    }
    /// What is in the pool of `nonce`.
    #[cfg(test)]
    pub fn pool(&self, nonce: Nonce) -> i64 {
        self.nonces.get(&nonce).map_or(0, |asker| asker.pool)
    }
    /// Flows of which something is known.
    #[cfg(test)]
    pub fn known(&self) -> usize {
        self.flows.len()
    }
    /// Packets under `nonce` may leave for `halves` more, in twice their bytes.
    pub fn pay(&mut self, nonce: Nonce, halves: u64) {
        if let Some(asker) = self.nonces.get_mut(&nonce) {
            asker.pool = asker.pool.saturating_add_unsigned(halves).min(MAX_POOL);
        }
    }
    /// One packet under `nonce` may leave though nothing arrived.
    pub fn pay_one(&mut self, nonce: Nonce) {
        if let Some(asker) = self.nonces.get_mut(&nonce) {
            asker.pool = asker.pool.max(0) + 1;
        }
    }
    /// The pause of `flow` ends if no ACK has come for so long that none will. True if it does.
    pub fn end_stale_pause(&mut self, now: Time, flow: FlowKey) -> bool {
        let Some(said) = self.flows.get_mut(flow) else { return false };
        let stale = said.at + self.patience.forget_after.max(said.gap * 4) <= now;
        let paused = said.under.as_mut().filter(|held| held.hold == Hold::Paused && stale);
        paused.map(|held| held.hold = Hold::Slowed).is_some()
    }
    /// True if there is something in the pool of `nonce`.
    pub fn has_pool(&self, nonce: Nonce) -> bool {
        self.nonces.get(&nonce).is_some_and(|asker| asker.pool > 0)
    }
    /// A packet under `nonce` may have got a credit for an ACK, or for want of one.
    pub fn credited(&mut self, now: Time, nonce: Nonce) {
        if let Some(asker) = self.nonces.get_mut(&nonce) {
            asker.credited = now;
        }
    }
    /// False if something is due before a flow under a nonce with a credit of `now` could starve.
    #[inline]
    pub fn starves_first(&self, now: Time) -> bool {
        now + self.patience.watchdog < self.due
    }
    /// `nonce` was heard. When it is to be forgotten; None if it is not known.
    fn refresh(&mut self, now: Time, nonce: Nonce) -> Option<Time> {
        let asker = self.nonces.get_mut(&nonce)?;
        let gap = now.since(asker.heard);
        asker.gap = (asker.gap * 7 + gap) / 8;
        asker.heard = now;
        Some(self.patience.forgets_at(asker))
    }
    /// An ACK of `flow` carries no request.
    #[inline]
    pub fn let_be(&mut self, now: Time, flow: FlowKey, arrived: Arrived) -> Release {
        if self.nonces.is_empty() {
            return Release { moved: false, from: None };
        }
        let Some(said) = self.flows.get_mut(flow) else {
            self.flows.know(flow, FlowHoldState::new(now, None, arrived));
            return Release { moved: true, from: None };
        };
        let Some(news) = said.on_ack(now, arrived, self.patience.forget_after) else {
            return Release { moved: false, from: None };
        };
        let from = said.under.take().map(|held| (held.nonce, news));
        Release { moved: from.is_some(), from }
    }
    /// Forget `nonce`. False if it was not known.
    pub fn forget(&mut self, nonce: Nonce) -> bool {
        let known = self.nonces.remove(&nonce).is_some();
        if self.nonces.is_empty() {
            self.flows.clear();
        } else if known {
            let under = self
                .flows
                .values_mut()
                .filter(|said| said.under.is_some_and(|held| held.nonce == nonce));
            under.for_each(|said| said.under = None);
        }
        known
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
        let late = |(&nonce, asker): (&Nonce, &Asker)| {
            if now >= self.patience.forgets_at(asker) {
                Some(Late::Forget(nonce))
            } else {
                (now >= self.patience.starves_at(asker) && waits(nonce))
                    .then_some(Late::LetGo(nonce))
            }
        };
        self.nonces.iter().filter_map(late).collect()
    }
    /// All that was late has been handled.
    pub fn rearm(&mut self, waits: impl Fn(Nonce) -> bool) {
        let at = |(&nonce, asker): (&Nonce, &Asker)| {
            if waits(nonce) {
                self.patience.forgets_at(asker).min(self.patience.starves_at(asker))
            } else {
                self.patience.forgets_at(asker)
            }
        };
        self.due = self.nonces.iter().map(at).min().unwrap_or(Time::MAX);
    }
}

impl Holds for Credits {
    #[inline]
    fn any(&self) -> bool {
        !self.nonces.is_empty()
    }
    #[inline]
    fn holder(&self, flow: FlowKey, echo: impl FnOnce() -> Option<Nonce>) -> Option<Held> {
        if self.nonces.is_empty() || flow.class() != Class::Pooled {
            return None;
        }
        match self.flows.get(flow) {
            Some(said) => said.under,
            None => {
                let nonce = echo().filter(|nonce| self.nonces.contains_key(nonce))?;
                Some(Held { nonce, hold: Hold::Slowed })
            }
        }
    }
    fn take(&mut self, nonce: Nonce, payload_len: u16) {
        if let Some(asker) = self.nonces.get_mut(&nonce) {
            asker.pool -= 2 * i64::from(payload_len.max(1));
        }
    }
    fn may_take(&self, held: Held) -> bool {
        held.hold != Hold::Paused && self.has_pool(held.nonce)
    }
    fn waits_now(&mut self, nonce: Nonce) {
        if let Some(asker) = self.nonces.get(&nonce) {
            self.due = self.due.min(self.patience.starves_at(asker));
        }
    }
}

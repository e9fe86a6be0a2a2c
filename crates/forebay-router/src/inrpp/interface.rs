//! The machine of one interface: a cache, four states, and back-pressure signals to upstream and
//! from downstream.
//!
//! ```text
//!            S > S_push                 S > S_high
//!   P  ───────────────────►  S&D  ───────────────────►  B
//!   ▲  ◄───────────────────   ▲                         │ ▲
//!   │        S = 0            │ all reached, or timeout │ │ S > S_high
//!   └─────────────────────────┴────────────  DB  ◄──────┘ │
//!        (S = 0)                             └────────────┘
//!                                               S < S_low
//! ```
//!
//! * **P**, push: packets go to the queue of the link; those that it should not hold wait in the
//!   cache, in turns. The port leaves this state with more than a few of them.
//! * **S&D**, store and detour: excess is cached, and leaves in turns over the link and its
//!   detours.
//!   Flows that a router between here and a congested interface holds yield to others: they leave
//!   at the rate at which they arrive, or what others leave of the link.
//! * **B**, back-pressure: ACKs of the flows that have their share of the cache ask them to slow
//!   down; the others get an allowance of packets. Credits until S < S_low.
//! * **DB**: ACKs cancel the request, once for each flow that had been asked, with an allowance.
//!
//! Paper: section II and Algorithm 1. Where Algorithm 1 leaves B without a signal between S_low and
//! S_high, signals one flow only, and moves only when an ACK comes, this machine moves with every
//! packet and signals every flow.
//!
//! Integers only, and `Clone + Eq + Hash` where what it stores is: a model checker can drive it.

mod room;

use super::attained::{Newcomer, ServiceHistory};
use super::cache::{Cache, Cached, Held, Hold, Holds};
use super::credits::{Arrived, CreditTimeouts, Credits, Late};
use super::earliest;
use super::key::{Class, FlowKey};
use super::remembered::Remembered;
use super::settings::{CacheLimits, Crowd, PACKET_BYTES, Settings, TurnOrder};
use super::state::State;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{Rng, Span, Time};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};

/// Packets of each plain flow for which there is room at least, as long as they are no more than a
/// link of their own would hold: with fewer TCP would have to wait for its timer after a loss. Of
/// more flows each has room for one at least.
const PLAIN_PACKETS: u64 = 2;
/// Flows that are remembered as told to pause.
const MAX_PAUSED: usize = 1 << 16;
/// Longest time of a cancellation, where the number of flows does not bound it.
const MAX_CANCEL: Span = Span::from_secs(30);

/// See the module. `T` is what stands for a packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[repr(C)] // what every packet touches comes first, and where credits and cache meet
pub struct Interface<T> {
    /// What each flow has sent, where turns follow from that.
    history: Option<Box<ServiceHistory>>,
    state: State,
    /// The alias under which it asks; drawn anew each time that B begins.
    nonce: Option<Nonce>,
    /// In state P no more than this waits here, nor more than half of S_low.
    push_bytes: u64,
    credits: Credits,
    cache: Cache<T>,
    limits: CacheLimits,
    /// In a round of no more than this new flows go first.
    short_round_bytes: u64,
    /// See [`Interface::with_plain_least`].
    plain_least_bytes: u64,
    /// What each flow adds to S_low and S_high.
    crowd: Crowd,
    cancel_for: Span,
    /// Flows that were asked to slow down since B began, and when last. Of more than are
    /// remembered, some learn of the end from the next interface or by time.
    asked: Remembered<Time>,
    /// Flows that are told to pause, and since when.
    paused: BTreeMap<FlowKey, Time>,
    /// How long a flow may bring more after that.
    obeys_within: Span,
    /// The most flows with packets here in that time, while any is paused, and when.
    most_flows: (u64, Time),
    /// The longest time between two ACKs of one of them.
    longest_gap: Span,
    /// DB ends.
    cancel_until: Time,
    /// What leaves on a detour counts in the turns of its flow.
    pooled_turns: bool,
    /// What new flows were told that they may send at once and had not left then, and when.
    offered: (u64, Time),
    /// The longest INRPP packet that was kept since the cache was empty; 0: none was.
    longest_bytes: u16,
}

/// How much of the held packets an ACK releases.
#[derive(Clone, Copy)]
enum CreditValue {
    Nothing,
    /// As much as has arrived.
    Same,
    /// The same and a quarter more, so that it grows where others further on leave room, and what
    /// no one else here has a use for: a router between holds the flow, and would store the rest.
    Quarter,
    /// This many packets when the flow comes under the nonce, then twice what has arrived.
    Ramp(u16),
}

/// What a packet that came to a cache did to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept<T> {
    /// The last packets of the longest flow, which had to leave for it.
    pub pushed_out: Vec<T>,
    /// The packet itself, if there is no room for it.
    pub refused: Option<T>,
}

impl<T> Interface<T> {
    /// An empty interface, before a link of this MTU.
    pub fn new(limits: CacheLimits, mtu_bytes: u16, settings: &Settings) -> Interface<T> {
        Interface {
            limits,
            crowd: Crowd::default(),
            cancel_for: settings.cancel_for,
            state: State::Push,
            nonce: None,
            asked: Remembered::default(),
            paused: BTreeMap::new(),
            obeys_within: settings.forget_after,
            most_flows: (0, Time::ZERO),
            longest_gap: Span::ZERO,
            cancel_until: Time::ZERO,
            pooled_turns: settings.pooled_turns,
            push_bytes: 0,
            short_round_bytes: 0,
            plain_least_bytes: 0,
            offered: (0, Time::ZERO),
            longest_bytes: 0,
            history: (settings.order == TurnOrder::Attained).then(Box::default),
            cache: Cache::new(
                match settings.quantum_bytes {
                    0 => mtu_bytes.into(),
                    bytes => bytes,
                },
                settings.order,
            ),
            credits: Credits::new(CreditTimeouts {
                forget_after: settings.forget_after,
                watchdog: settings.watchdog,
            }),
        }
    }
    /// The same, in state P with up to that many bytes in the cache, but at most half of S_low.
    #[must_use]
    pub fn with_push_bytes(self, push_bytes: u64) -> Interface<T> {
        Interface { push_bytes, ..self }
    }
    /// The same, where new flows go first in rounds of up to that many bytes.
    #[must_use]
    pub fn with_short_round(self, short_round_bytes: u64) -> Interface<T> {
        Interface { short_round_bytes, ..self }
    }
    /// The same, where plain packets have room for as much at least, whatever their share is.
    #[must_use]
    pub fn with_plain_least(self, plain_least_bytes: u64) -> Interface<T> {
        Interface { plain_least_bytes, ..self }
    }
    /// The same, with thresholds that follow the flows that are there.
    #[must_use]
    pub fn with_crowd(self, crowd: Crowd) -> Interface<T> {
        debug_assert!(crowd.flows * crowd.flow_bytes <= self.limits.high_bytes, "{crowd:?}");
        Interface { crowd, ..self }
    }
    /// The state.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }
    /// The sizes of its cache, with all flows.
    pub fn limits(&self) -> CacheLimits {
        self.limits
    }
    /// Bytes of INRPP data in the cache: S_i.
    pub fn cache_bytes(&self) -> u64 {
        self.cache.bytes()
    }
    /// Bytes of other packets in the cache.
    pub fn plain_bytes(&self) -> u64 {
        self.cache.plain_bytes()
    }
    /// Packets in the cache.
    pub fn cache_packets(&self) -> u64 {
        self.cache.packets()
    }
    /// Flows with packets in the cache, and the bytes of each.
    pub fn flows(&self) -> impl Iterator<Item = (FlowKey, u64)> {
        self.cache.flows()
    }
    /// Congested interfaces downstream that it holds packets for.
    pub fn nonces(&self) -> usize {
        self.credits.len()
    }

    /// True if every packet goes straight to the queue of the link: nothing waits here, and no flow
    /// is held.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.cache.packets() == 0 && self.credits.is_empty()
    }
    /// True if a packet of `flow` goes straight to the queue of the link: it is not held, none of
    /// its flow waits here, and no other flow that could send does. (Packets that only wait for
    /// credits delay no other flow: section II-A3.)
    #[inline]
    pub fn passes(&self, flow: FlowKey, echo: Option<Nonce>) -> bool {
        if self.is_open() {
            return true;
        }
        !(self.cache.has_eligible()
            || self.credits.holder(flow, || echo).is_some()
            || self.cache.has(flow))
    }
    /// True if the data of `packet` waits here already.
    pub fn has_copy(&self, flow: FlowKey, packet: &Cached<T>) -> bool {
        self.cache.has_copy(flow, packet)
    }
    /// Keep a packet of `flow`. `plain_limit_bytes` is the room for plain packets where they have
    /// the link to themselves.
    pub fn keep(
        &mut self,
        now: Time,
        flow: FlowKey,
        packet: Cached<T>,
        plain_limit_bytes: u64,
        rng: &mut Rng,
    ) -> Kept<T> {
        let mut kept = Kept { pushed_out: Vec::new(), refused: None };
        if flow.class() != Class::Plain {
            self.longest_bytes = self.longest_bytes.max(packet.wire_len);
        }
        let limit_bytes = match flow.class() {
            Class::Plain => self.plain_room(flow, plain_limit_bytes),
            Class::Pooled | Class::Tagged => self.limits.total_bytes,
        };
        if !self.defies(now, flow, packet.wire_len)
            && self.make_room(flow, packet.wire_len, limit_bytes, &mut kept.pushed_out)
        {
            let head = self.cache.head();
            let ahead = self.cache.round_bytes() <= self.short_round_bytes;
            let history = self.history.as_ref();
            let attained_bytes = history.map_or(0, |history| history.attained_bytes(now, flow));
            let first = self.cache.push(flow, packet, Newcomer { ahead, attained_bytes });
            if first {
                self.reconsider(flow);
            }
            // The flows that may send have not changed where the turn and its first packet are the
            // same.
            if first || head != self.cache.head() || !kept.pushed_out.is_empty() {
                self.cache.settle(&mut self.credits);
            }
        } else {
            kept.refused = Some(packet.what);
            self.cache.settle(&mut self.credits);
        }
        self.move_on(now, rng);
        kept
    }
    /// The room for plain packets, of which `flow` has one more: what their turns serve in the time
    /// in which the link would serve `plain_limit_bytes`, and no less than two packets of each flow
    /// if that many bytes hold them, else one; or than [`Interface::with_plain_least`] says.
    fn plain_room(&self, flow: FlowKey, plain_limit_bytes: u64) -> u64 {
        let plain = self.cache.plain_flows() + u64::from(!self.cache.has(flow));
        let all = plain + self.cache.pooled_flows();
        let packets_bytes = PACKET_BYTES * plain;
        let least_bytes = plain_limit_bytes.clamp(packets_bytes, PLAIN_PACKETS * packets_bytes);
        (plain_limit_bytes * plain / all).max(least_bytes).max(self.plain_least_bytes)
    }
    /// True if `flow` has been told to pause for long, and with one more packet has more than its
    /// share of the whole cache: its sender does not listen. What others need to start with, and
    /// the margin above S_high, is not its own; nor is that of who has run dry for a moment. A
    /// pause in a notice on data reaches the sender through all queues up to the receiver, and none
    /// upstream holds the flow meanwhile: it may take ten times as long.
    fn defies(&mut self, now: Time, flow: FlowKey, wire_len: u16) -> bool {
        if self.paused.is_empty() || flow.class() == Class::Plain {
            return false;
        }
        let own = self.cache.flow_bytes(flow);
        let flows = self.cache.pooled_flows() + u64::from(own == 0);
        if flows >= self.most_flows.0 || self.most_flows.1 + self.obeys_within <= now {
            self.most_flows = (flows, now);
        }
        let obeys_within = self.obeys_within * self.cache.noted(flow).map_or(1, |_| 10);
        let long = self.paused.get(&flow).is_some_and(|&since| since + obeys_within <= now);
        let has_more = own + u64::from(wire_len) > self.limits.total_bytes / self.most_flows.0;
        long && has_more && self.cache.bytes() > self.limits.high_bytes
    }
    /// Make room in a full cache at the cost of the longest flow of its kind. False if that is the
    /// flow itself.
    fn make_room(
        &mut self,
        flow: FlowKey,
        wire_len: u16,
        limit_bytes: u64,
        pushed_out: &mut Vec<T>,
    ) -> bool {
        let (wire_len, plain) = (wire_len as u64, flow.class() == Class::Plain);
        let used = |cache: &Cache<T>| if plain { cache.plain_bytes() } else { cache.bytes() };
        while used(&self.cache) + wire_len > limit_bytes {
            let own = self.cache.flow_bytes(flow) + wire_len;
            let longest = self.cache.longest(plain).filter(|&(_, bytes)| bytes > own);
            let Some((longest, _)) = longest else { return false };
            let (last, unused) = self.cache.push_out(longest);
            pushed_out.push(last.what);
            if let Some((nonce, payload_len)) = unused {
                self.give_back(nonce, payload_len);
            }
        }
        true
    }
    /// The next packet for the link of the interface.
    pub fn pull(&mut self, now: Time, rng: &mut Rng) -> Option<(FlowKey, Cached<T>)> {
        let pulled = self.cache.pull(&mut self.credits)?;
        self.move_on(now, rng);
        Some(pulled)
    }
    /// The next packet that may leave on a detour and is no longer than `max_wire_len`.
    pub fn pull_for_detour(
        &mut self,
        now: Time,
        max_wire_len: u16,
        rng: &mut Rng,
    ) -> Option<(FlowKey, Cached<T>)> {
        let pulled = self.cache.pull_for_detour(max_wire_len, &mut self.credits)?;
        if !self.pooled_turns {
            self.cache.refund(pulled.0, pulled.1.wire_len, &mut self.credits);
        }
        self.move_on(now, rng);
        Some(pulled)
    }
    /// A packet of `flow` has left over the link, from the cache or past it, or on a detour that
    /// counts in turns.
    #[inline]
    pub fn note_sent(&mut self, now: Time, flow: FlowKey, wire_len: u16) {
        if let Some(history) = &mut self.history {
            history.sent(now, flow, wire_len);
        }
    }
    /// True if [`Interface::pull`] would give a packet.
    #[inline]
    pub fn has_eligible(&self) -> bool {
        self.cache.has_eligible()
    }
    /// True if [`Interface::pull_for_detour`] would give a packet.
    pub fn has_eligible_for_detour(&self, max_wire_len: u16) -> bool {
        self.cache.has_eligible_for_detour(max_wire_len, &self.credits)
    }

    /// False where the link serves all that waits before a detour would bring it: what it serves
    /// meanwhile, at most a quarter of S_low, so that small caches use their detours in time.
    #[inline]
    pub fn is_worth_a_detour(&self, lag_bytes: u64) -> bool {
        self.cache.bytes() > lag_bytes.min(self.limits.low_bytes / 4)
    }

    /// False if an ACK with this option releases nothing, whatever has arrived: no flow is held.
    #[inline]
    pub fn reads_arrived(&self, option: &BackPressure) -> bool {
        option.nonce.is_some() || !self.credits.is_empty()
    }
    /// What [`Interface::on_ack`] returns for an ACK without a request, where no flow is held and
    /// none is asked: it then does nothing else. None where it must be called.
    #[inline]
    pub fn on_idle_ack(&self, option: BackPressure) -> Option<BackPressure> {
        let asks = option.ask != BackPressureSignal::Nothing || option.nonce.is_some();
        if asks || self.state != State::Push || !self.credits.is_empty() {
            return None;
        }
        let routers = option.routers.saturating_add(1);
        let BackPressure { detours, foreign, .. } = option;
        Some(BackPressure { routers, detours, foreign, ..BackPressure::default() })
    }
    /// An ACK of `flow` came in over this interface with this option and reports what has arrived.
    /// Returns the option with which it continues.
    ///
    /// Requests from downstream are read first; those of this interface are written last. It asks
    /// flows that have their share of the cache. One that has less gets less than its share of the
    /// link: asked for one packet per ACK, with few or no packets under way, it would get no more
    /// for ever. It gets an allowance of packets instead.
    pub fn on_ack(
        &mut self,
        now: Time,
        flow: FlowKey,
        arrived: Arrived,
        mut option: BackPressure,
    ) -> BackPressure {
        option.routers = option.routers.saturating_add(1);
        let held = !self.credits.is_empty();
        let worth = match (option.ask, option.allowance) {
            (BackPressureSignal::SlowDown, _) => Some(CreditValue::Same),
            (BackPressureSignal::Pause, _) => Some(CreditValue::Nothing),
            (BackPressureSignal::Nothing, allowance) if allowance > 0 => {
                Some(CreditValue::Ramp(allowance))
            }
            // A router between holds it. After a hole what arrives counts half: its rate would
            // decay.
            (BackPressureSignal::Nothing, _)
                if arrived.before == arrived.highest && self.cache.has_eligible() =>
            {
                Some(CreditValue::Quarter)
            }
            (BackPressureSignal::Nothing | BackPressureSignal::Cancel, _) => None,
        };
        match (worth, option.nonce) {
            (Some(worth), Some(nonce)) => {
                self.hold(now, nonce, flow, arrived, worth);
                // It ends here, unless this interface is congested itself: see below.
                option.ask = BackPressureSignal::Nothing;
            }
            _ => self.let_be(now, flow, arrived),
        }
        if self.state != State::BackPressure {
            option.allowance = 0;
        }
        if held || !self.credits.is_empty() {
            self.cache.settle(&mut self.credits);
        }
        self.write(now, flow, option)
    }
    /// A packet of `flow` that was kept came with this notice: it is passed on with the next one of
    /// the flow that leaves, for the packet itself may wait for seconds.
    pub fn note(&mut self, flow: FlowKey, notice: BackPressure) {
        self.cache.note(flow, notice);
    }
    /// A packet of `flow` leaves over this interface with the notice that those before it on its
    /// path have written: what it carries on. Only the sender reads it, and paces the whole path:
    /// so the stricter one counts, and the notice of the flow's newest packet. What this interface
    /// has written itself, before the link had no room for the packet, is written anew.
    pub fn on_notice(&mut self, now: Time, flow: FlowKey, notice: BackPressure) -> BackPressure {
        let newest = self.cache.noted(flow).unwrap_or(notice);
        let BackPressure { routers, detours, foreign, .. } = notice;
        let notice = BackPressure { routers, detours, foreign, ..newest };
        let own = notice.nonce.is_some() && notice.nonce == self.nonce;
        let none = BackPressure { routers, detours, foreign, ..BackPressure::default() };
        let before = if own { none } else { notice };
        before.stricter(self.write(now, flow, BackPressure::default()))
    }
    /// What an ACK of `flow` carries on, given what downstream asks of those upstream.
    fn write(&mut self, now: Time, flow: FlowKey, option: BackPressure) -> BackPressure {
        match (self.state, option.ask, option.nonce) {
            (
                State::BackPressure,
                BackPressureSignal::Nothing | BackPressureSignal::Cancel,
                nonce,
            ) => {
                let own = self.cache.flow_bytes(flow);
                let room = self.room_for(own);
                let ask = if room == 0 { self.ask_of(own) } else { BackPressureSignal::Nothing };
                self.note_paused(now, flow, ask);
                let further = Some(option.allowance).filter(|&allowance| allowance > 0);
                let allowance = further.map_or(room, |further| further.min(room));
                // Those upstream hold it under the nonce that it carries. But another interface's
                // cancellation does not end this: passed on, it would open the loop for as long as
                // it repeats.
                let theirs = nonce.filter(|_| option.ask == BackPressureSignal::Nothing);
                if theirs.is_none() {
                    self.note_asked(now, flow);
                }
                BackPressure { ask, allowance, nonce: theirs.or(self.nonce), ..option }
            }
            // The interface that asks here needs no help from those upstream: its request ends at
            // this interface.
            (State::Disable, BackPressureSignal::Nothing, nonce) => {
                let first = self.asked.remove(flow).is_some();
                if first || nonce.is_none() || nonce == self.nonce {
                    let (ask, allowance) = (
                        BackPressureSignal::Cancel,
                        self.room_for(self.cache.flow_bytes(flow)).max(1),
                    );
                    BackPressure { ask, allowance, nonce: self.nonce, ..option }
                } else {
                    option
                }
            }
            _ => option,
        }
    }
    /// Unit of an allowance: flows have it in their longest packets.
    fn packet_bytes(&self) -> u64 {
        if self.longest_bytes == 0 { PACKET_BYTES } else { u64::from(self.longest_bytes) }
    }
    /// `nonce` downstream asks for a flow, with an ACK of this `worth`.
    ///
    /// Whose ACK is the first that is seen has one packet, or its allowance; else what counts is
    /// what the ACK reports.
    fn hold(
        &mut self,
        now: Time,
        nonce: Nonce,
        flow: FlowKey,
        arrived: Arrived,
        worth: CreditValue,
    ) {
        let hold = match worth {
            CreditValue::Nothing => Hold::Paused,
            CreditValue::Same | CreditValue::Ramp(_) => Hold::Slowed,
            CreditValue::Quarter => Hold::Yields,
        };
        let heard = self.credits.hear(now, Held { nonce, hold }, flow, arrived);
        if let Some(forgotten) = heard.forgotten {
            self.release(forgotten);
        }
        if heard.changed {
            self.reconsider(flow);
        }
        let old = heard.news == Some(0);
        let mut halves = match worth {
            CreditValue::Nothing => 0,
            CreditValue::Same => heard.news.unwrap_or(2 * PACKET_BYTES),
            CreditValue::Quarter => heard.news.unwrap_or(2 * PACKET_BYTES) * 5 / 4,
            CreditValue::Ramp(allowance) if heard.moved && !old => {
                2 * self.packet_bytes() * u64::from(allowance)
            }
            CreditValue::Ramp(_) => 2 * heard.news.unwrap_or(2 * PACKET_BYTES),
        };
        // What has arrived had left under the nonce before. Those that wait under that one may have
        // nothing downstream, and get no ACK that could bring them under this one.
        if let Some(before) = heard.from.filter(|&before| self.cache.waits_with_others(before)) {
            let back = heard.news.unwrap_or(0).min(halves);
            halves -= back;
            if back > 0 {
                self.credits.pay(before, back);
                self.let_go(now, before);
            }
        }
        if halves > 0 {
            self.credits.pay(nonce, halves);
            self.let_go(now, nonce);
        } else if self.cache.waits(nonce) {
            // It was heard, and a shorter time between ACKs leaves less patience.
            self.credits.waits_now(nonce);
        }
    }
    /// Packets may leave for what has arrived: of the flows under `nonce` whose turn it is, else
    /// those that come next.
    ///
    /// A credit is not kept for the flow whose ACK brought it: a flow that comes new would have
    /// none, and never get one. But a flow that is paused has more than its share downstream, and
    /// no part in the credits of others: of those that have nothing left here it would take all.
    fn let_go(&mut self, now: Time, nonce: Nonce) {
        self.credits.credited(now, nonce);
        self.give(nonce);
        self.check_pause(now, nonce);
        if self.credits.starves_first(now) && self.cache.waits(nonce) {
            self.credits.waits_now(nonce);
        }
    }
    /// An ACK ends a pause. One of the paused flows under `nonce` in turn may wait for one in vain,
    /// for what it had downstream is lost.
    fn check_pause(&mut self, now: Time, nonce: Nonce) {
        let paused = Held { nonce, hold: Hold::Paused };
        if let Some(flow) = self.cache.rotate(paused)
            && self.credits.end_stale_pause(now, flow)
        {
            self.reconsider(flow);
        }
    }
    fn give(&mut self, nonce: Nonce) {
        while self.credits.has_pool(nonce) {
            let Some(payload_len) = self.cache.credit_any(nonce) else { return };
            self.credits.take(nonce, payload_len);
        }
    }
    /// One that is paused, where no other waits for the credit.
    fn let_paused_go(&mut self, nonce: Nonce) {
        if self.credits.has_pool(nonce)
            && let Some(payload_len) = self.cache.credit(Held { nonce, hold: Hold::Paused })
        {
            self.credits.take(nonce, payload_len);
        }
    }
    /// A flow has no use for its credit any more.
    fn give_back(&mut self, nonce: Nonce, payload_len: u16) {
        self.credits.pay(nonce, 2 * u64::from(payload_len));
        self.give(nonce);
    }
    /// No interface downstream asks `flow` to slow down: it is free, and no other.
    ///
    /// What its ACK reports lets packets of those leave that are still held as it was. A flow that
    /// has nothing downstream gets no ACK that could free it: so each that is freed lets another
    /// ask.
    fn let_be(&mut self, now: Time, flow: FlowKey, arrived: Arrived) {
        let freed = self.credits.let_be(now, flow, arrived);
        if freed.moved {
            self.reconsider(flow);
        }
        if let Some((nonce, news)) = freed.from.filter(|&(_, news)| news > 0) {
            self.credits.pay(nonce, news);
            self.let_go(now, nonce);
        }
    }
    /// `flow` is under another nonce than before.
    fn reconsider(&mut self, flow: FlowKey) {
        if let Some((nonce, payload_len)) = self.cache.reconsider(flow, &self.credits) {
            self.give_back(nonce, payload_len);
        }
    }
    /// Nothing is held for `nonce` any more.
    fn release(&mut self, nonce: Nonce) {
        if self.credits.forget(nonce) {
            self.cache.release(nonce);
        }
    }
    fn note_paused(&mut self, now: Time, flow: FlowKey, ask: BackPressureSignal) {
        if ask != BackPressureSignal::Pause {
            if !self.paused.is_empty() {
                self.paused.remove(&flow);
            }
        } else if self.paused.len() < MAX_PAUSED {
            self.paused.entry(flow).or_insert(now);
        }
    }
    fn note_asked(&mut self, now: Time, flow: FlowKey) {
        if let Some(last) = self.asked.get_mut(flow) {
            self.longest_gap = self.longest_gap.max(now.since(*last));
            *last = now;
            return;
        }
        self.asked.know(flow, now);
    }

    /// Go to the state that the cache and the time ask for.
    fn move_on(&mut self, now: Time, rng: &mut Rng) {
        // Each round ends in another state; the longest way is DB, S&D, B.
        for _ in 0..State::ALL.len() {
            let bytes = self.cache.bytes();
            let over = || now >= self.cancel_until || self.asked.is_empty();
            let next = match self.state {
                State::Push if bytes > self.push_bytes() => State::StoreDetour,
                State::StoreDetour if bytes > self.high_bytes() => State::BackPressure,
                State::StoreDetour if bytes == 0 => State::Push,
                State::BackPressure if bytes < self.low_bytes() => State::Disable,
                State::Disable if bytes > self.high_bytes() => State::BackPressure,
                State::Disable if over() && bytes > 0 => State::StoreDetour,
                State::Disable if over() => State::Push,
                _ => return,
            };
            self.enter(now, next, rng);
        }
    }
    #[inline(never)]
    fn enter(&mut self, now: Time, next: State, rng: &mut Rng) {
        self.paused.clear();
        match next {
            State::BackPressure => {
                self.asked.clear();
                self.longest_gap = Span::ZERO;
                self.nonce = Some(draw(rng, self.nonce));
            }
            State::Disable => {
                let longest = (self.longest_gap * 4).min(MAX_CANCEL);
                self.cancel_until = now + self.cancel_for.max(longest);
            }
            State::Push => (self.nonce, self.longest_bytes) = (None, 0),
            State::StoreDetour => self.nonce = None,
        }
        self.state = next;
    }

    /// Flows of which something is remembered: what their ACKs said, and what they were asked.
    #[cfg(test)]
    pub fn remembered(&self) -> (usize, usize) {
        (self.credits.known(), self.asked.len())
    }
    /// Flows that are known to wait under `nonce`.
    #[cfg(test)]
    pub fn parked(&self, nonce: Nonce) -> Vec<FlowKey> {
        self.cache.parked(nonce)
    }
    /// Twice the bytes of credit under `nonce`: those that flows have not used among them.
    #[cfg(test)]
    pub fn pool(&self, nonce: Nonce) -> i64 {
        self.credits.pool(nonce) + self.cache.lent(nonce)
    }
    /// True if an ACK that came last paused `flow`, and not too long ago.
    #[cfg(test)]
    pub fn is_paused(&self, flow: FlowKey) -> bool {
        self.credits.holder(flow, || None).is_some_and(|held| held.hold == Hold::Paused)
    }
    /// True if `flow` may send a packet for want of others.
    #[cfg(test)]
    pub fn is_let_go(&self, flow: FlowKey) -> bool {
        self.cache.credit_of(flow) == Some(0)
    }
    /// True if `flow` has a credit that it has not used.
    #[cfg(test)]
    pub fn has_credit(&self, flow: FlowKey) -> bool {
        self.cache.has_credit(flow)
    }
    /// When [`Interface::on_timeout`] is due, at the latest: there may be nothing to do then. In
    /// the past only until it is called.
    pub fn next_timeout(&self) -> Option<Time> {
        let disable = (self.state == State::Disable).then_some(self.cancel_until);
        earliest(self.credits.due(), disable)
    }
    /// The time has come to expire what was not refreshed, and to release one packet where no ACK
    /// comes: otherwise nothing would be in flight, and no ACK would ever come.
    pub fn on_timeout(&mut self, now: Time, rng: &mut Rng) {
        if self.credits.due().is_some_and(|due| due <= now) {
            for late in self.credits.late(now, |nonce| self.cache.waits(nonce)) {
                match late {
                    Late::Forget(nonce) => self.release(nonce),
                    Late::LetGo(nonce) => {
                        self.credits.pay_one(nonce);
                        self.let_go(now, nonce);
                        self.let_paused_go(nonce);
                    }
                }
            }
            self.cache.settle(&mut self.credits);
            self.credits.rearm(|nonce| self.cache.waits(nonce));
        }
        self.move_on(now, rng);
    }
    /// Lose everything: what was cached.
    pub fn restart(&mut self) -> Vec<T> {
        let lost = self.cache.drain().collect();
        self.credits.clear();
        self.asked.clear();
        self.paused.clear();
        self.most_flows = (0, Time::ZERO);
        self.history = self.history.take().map(|_| Box::default());
        (self.state, self.nonce, self.longest_bytes) = (State::Push, None, 0);
        lost
    }
}

/// A nonce other than the last.
fn draw(rng: &mut Rng, last: Option<Nonce>) -> Nonce {
    loop {
        let nonce = Nonce::new(rng.next_u64() as u32);
        if let Some(nonce) = nonce.filter(|&n| Some(n) != last) {
            return nonce;
        }
    }
}

//! The interface machine compared with a model of it. The model keeps a list of packets, knows of
//! no turns, rings or parking, and works everything out anew at each step.
//!
//! The model does not say which of several packets leaves next, only which may; turns have tests of
//! their own.

mod room;
mod turns;

use super::cache::Cached;
use super::credits::{Arrived, MAX_POOL};
use super::interface::Interface;
use super::key::{Class, FlowKey};
use super::settings::{CacheLimits, Settings, TurnOrder};
use super::state::State;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use forebay_base::{Rng, Span, Stream, Time};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};

const PLAIN_ROOM: u64 = 20_000;

pub(super) fn flow(n: u64, class: Class) -> FlowKey {
    FlowKey::new((n as u32, 1), (9, 2), class)
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    id: u32,
    flow: FlowKey,
    echo: Option<Nonce>,
    bytes: u64,
    payload: u64,
    taggable: bool,
}

#[derive(Clone, Copy, Debug)]
struct Asker {
    heard: Time,
    gap: Span,
    credited: Time,
    /// Credit that has arrived and was not replaced, in halves of bytes.
    pool: i64,
}

/// What the page on INRPP says, as plainly as it can be put.
struct Model {
    limits: CacheLimits,
    settings: Settings,
    /// The longest INRPP packet since the cache was empty.
    longest: u64,
    packets: Vec<Waiting>,
    askers: BTreeMap<Nonce, Asker>,
    /// What the last ACK of a flow said, since there are askers: None if no one asks it.
    under: BTreeMap<FlowKey, Option<Nonce>>,
    /// Those that it paused, with the time of that ACK and between two, smoothed.
    paused: BTreeSet<FlowKey>,
    /// Those that a router between holds.
    yields: BTreeSet<FlowKey>,
    last_ack: BTreeMap<FlowKey, (Time, Span)>,
    /// Those that this interface tells to pause, and since when.
    defiant: BTreeMap<FlowKey, Time>,
    /// The most flows with packets of late, and when.
    most: (u64, Time),
    /// One of those that the watchdog lets go.
    spared: BTreeSet<FlowKey>,
    /// What had arrived by then, as far as one ACK after the other reported.
    arrived: BTreeMap<FlowKey, u32>,
    state: State,
    /// Its own alias, once it has been seen on an ACK of this episode, and all of earlier ones.
    alias: Option<Nonce>,
    former: BTreeSet<Nonce>,
    asked: BTreeMap<FlowKey, Time>,
    longest_gap: Span,
    cancel_until: Time,
}

impl Model {
    fn new(limits: CacheLimits, settings: &Settings) -> Model {
        Model {
            limits,
            settings: settings.clone(),
            packets: Vec::new(),
            askers: BTreeMap::new(),
            under: BTreeMap::new(),
            paused: BTreeSet::new(),
            yields: BTreeSet::new(),
            last_ack: BTreeMap::new(),
            defiant: BTreeMap::new(),
            most: (0, Time::ZERO),
            spared: BTreeSet::new(),
            arrived: BTreeMap::new(),
            state: State::Push,
            alias: None,
            former: BTreeSet::new(),
            asked: BTreeMap::new(),
            longest_gap: Span::ZERO,
            longest: 0,
            cancel_until: Time::ZERO,
        }
    }
    fn sum(&self, which: impl Fn(&Waiting) -> bool) -> u64 {
        self.packets.iter().filter(|p| which(p)).map(|p| p.bytes).sum()
    }
    fn bytes(&self) -> u64 {
        self.sum(|p| p.flow.class() != Class::Plain)
    }
    fn plain_bytes(&self) -> u64 {
        self.sum(|p| p.flow.class() == Class::Plain)
    }
    fn by_flow(&self) -> BTreeMap<FlowKey, u64> {
        let flows = self.packets.iter().map(|p| p.flow);
        flows.map(|flow| (flow, self.sum(|p| p.flow == flow))).collect()
    }
    fn firsts(&self) -> impl Iterator<Item = &Waiting> {
        let mut seen = BTreeSet::new();
        self.packets.iter().filter(move |p| seen.insert(p.flow))
    }
    fn holder(&self, flow: FlowKey, echo: Option<Nonce>) -> Option<Nonce> {
        if flow.class() != Class::Pooled {
            return None;
        }
        match self.under.get(&flow) {
            Some(by_ack) => *by_ack,
            None => echo.filter(|nonce| self.askers.contains_key(nonce)),
        }
    }
    fn is_free(&self, p: &Waiting) -> bool {
        self.holder(p.flow, p.echo).is_none()
    }
    fn may_leave(&self, p: &Waiting) -> bool {
        let paused = self.paused.contains(&p.flow) && !self.spared.contains(&p.flow);
        let paid = |nonce| !paused && self.askers[&nonce].pool > 0;
        self.yields.contains(&p.flow) || self.holder(p.flow, p.echo).is_none_or(paid)
    }
    fn has_eligible(&self) -> bool {
        self.firsts().any(|p| self.may_leave(p))
    }
    fn passes(&self, flow: FlowKey, echo: Option<Nonce>) -> bool {
        let backlog = self.packets.iter().any(|p| p.flow == flow);
        !self.has_eligible() && !backlog && self.holder(flow, echo).is_none()
    }

    /// What had to go for `packet`, by id: last ones of flows that are longest to within a packet,
    /// and longer than its own.
    fn put(&mut self, now: Time, packet: Waiting, gone: &[u32]) {
        let is_plain = |flow: &FlowKey| flow.class() == Class::Plain;
        let plain = is_plain(&packet.flow);
        if !plain {
            self.longest = self.longest.max(packet.bytes);
        }
        let flows: BTreeSet<FlowKey> =
            self.packets.iter().map(|p| p.flow).chain([packet.flow]).collect();
        let (all, plain_flows) =
            (flows.len() as u64, flows.iter().filter(|flow| is_plain(flow)).count() as u64);
        let room = if plain {
            (PLAIN_ROOM * plain_flows / all).max(2 * 1500 * plain_flows)
        } else {
            self.limits.total_bytes
        };
        let full = |m: &Model| m.sum(|p| is_plain(&p.flow) == plain) + packet.bytes > room;
        let own = self.sum(|p| p.flow == packet.flow) + packet.bytes;
        // A pause of 1 s, more than S_high in all, more than its share of S_total for it
        // among the most flows of late.
        let pooled = flows.iter().filter(|flow| !is_plain(flow)).count() as u64;
        let CacheLimits { high_bytes, total_bytes, .. } = self.limits;
        let long = |since: &Time| now.since(*since) >= self.settings.forget_after;
        let counts = !plain && !self.defiant.is_empty();
        if counts && (pooled >= self.most.0 || long(&self.most.1)) {
            self.most = (pooled, now);
        }
        let defies = self.defiant.get(&packet.flow).is_some_and(long)
            && self.bytes() > high_bytes
            && own > total_bytes / self.most.0;
        if defies {
            assert_eq!(gone, [packet.id]);
            return self.move_on(now);
        }
        let longest = |m: &Model| {
            let flows = m.by_flow().into_iter().filter(|(flow, _)| is_plain(flow) == plain);
            flows.map(|(_, bytes)| bytes).max().unwrap_or(0)
        };
        for &id in gone.iter().filter(|&&id| id != packet.id) {
            assert!(full(self), "{id} need not have gone");
            let flow = self.packets.iter().find(|p| p.id == id).expect("it was here").flow;
            let last = self.packets.iter().rposition(|p| p.flow == flow).unwrap();
            let bytes = self.sum(|p| p.flow == flow);
            assert!(is_plain(&flow) == plain && bytes > own, "{bytes} beside {own}");
            assert_eq!((self.packets[last].id, bytes / 1500), (id, longest(self) / 1500));
            self.packets.remove(last);
        }
        if gone.last() == Some(&packet.id) {
            assert!(full(self) && longest(self) / 1500 <= own / 1500, "there was room")
        } else {
            assert!(!full(self), "there is no room");
            self.packets.push(packet);
        }
        self.move_on(now);
    }
    /// Nothing was paid for it if `let_go`.
    fn leaves(&mut self, now: Time, flow: FlowKey, id: u32, let_go: bool) -> Waiting {
        let first = self.packets.iter().position(|p| p.flow == flow).expect("of a flow that waits");
        let packet = self.packets.remove(first);
        assert_eq!(packet.id, id, "in order");
        assert!(self.may_leave(&packet), "{packet:?} is held, and has no credit");
        assert!(!let_go || self.yields.contains(&flow), "{packet:?} does not yield");
        if let Some(nonce) = self.holder(flow, packet.echo).filter(|_| !let_go) {
            self.askers.get_mut(&nonce).unwrap().pool -= 2 * packet.payload.max(1) as i64;
        }
        self.spared.remove(&flow);
        self.move_on(now);
        packet
    }
    fn forget(&mut self, nonce: Nonce) {
        self.askers.remove(&nonce);
        for (flow, by) in self.under.iter_mut().filter(|(_, by)| **by == Some(nonce)) {
            *by = None;
            self.paused.remove(flow);
            self.yields.remove(flow);
            self.spared.remove(flow);
        }
        if self.askers.is_empty() {
            self.under.clear();
            self.arrived.clear();
            self.last_ack.clear();
        }
    }
    /// An ACK that is older than the last one counts only where that is long ago.
    fn is_stale(&self, now: Time, flow: FlowKey, arrived: u32) -> bool {
        self.arrived.get(&flow).is_some_and(|&known| {
            arrived < known && now.since(self.last_ack[&flow].0) < self.settings.forget_after
        })
    }
    /// Bytes that had not been reported; None if nothing is known of the flow. Remembered where
    /// anyone asks.
    fn news(&mut self, now: Time, flow: FlowKey, arrived: u32) -> Option<u64> {
        if self.askers.is_empty() {
            return None;
        }
        let (last, gap) = self.last_ack.get(&flow).copied().unwrap_or((now, Span::ZERO));
        self.last_ack.insert(flow, (now, (gap * 7 + now.since(last)) / 8));
        let known = self.arrived.insert(flow, arrived);
        known.map(|known| arrived.saturating_sub(known) as u64)
    }
    /// No one asks `flow`. What its ACK reports lets others go that it was held with.
    fn let_be(&mut self, now: Time, flow: FlowKey, arrived: u32) {
        if self.askers.is_empty() || self.is_stale(now, flow, arrived) {
            return;
        }
        let news = self.news(now, flow, arrived).unwrap_or(0);
        self.paused.remove(&flow);
        self.yields.remove(&flow);
        self.spared.remove(&flow);
        if let Some(nonce) = self.under.insert(flow, None).flatten() {
            self.pay(now, nonce, 2 * news);
        }
    }
    fn pay(&mut self, now: Time, nonce: Nonce, halves: u64) {
        let asker = self.askers.get_mut(&nonce).unwrap();
        if halves > 0 {
            (asker.credited, asker.pool) = (now, asker.pool + halves as i64);
        }
    }
    fn hear(&mut self, now: Time, nonce: Nonce) {
        let new = Asker { heard: now, gap: Span::ZERO, credited: now, pool: 0 };
        let asker = self.askers.entry(nonce).or_insert(new);
        asker.gap = (asker.gap * 7 + now.since(asker.heard)) / 8;
        asker.heard = now;
    }
    /// What this interface asks of a flow, and its allowance, where routers further on allow so
    /// many packets; 0: they say nothing.
    fn request(&mut self, now: Time, flow: FlowKey, allowed: u16) -> (BackPressureSignal, u16) {
        let room = self.room_for(flow);
        let allowed = if allowed > 0 { allowed.min(room) } else { room };
        let (share, own) = self.share_of(flow, self.limits.high_bytes);
        let over = self.bytes() > self.limits.high_bytes && own > share;
        let asked = match (room, over) {
            (0, true) => BackPressureSignal::Pause,
            (0, false) => BackPressureSignal::SlowDown,
            _ => BackPressureSignal::Nothing,
        };
        if asked == BackPressureSignal::Pause {
            self.defiant.entry(flow).or_insert(now);
        } else {
            self.defiant.remove(&flow);
        }
        (asked, allowed)
    }
    /// Credits for what an ACK reports, to its flow and, of what came under another nonce, to those
    /// who are under that one. It came with `nonce`, and is `new`: the first of its flow under it.
    fn earn(
        &mut self,
        now: Time,
        flow: FlowKey,
        (came, nonce): (BackPressure, Nonce),
        [new, yields, others_wait]: [bool; 3],
        news: Option<u64>,
    ) {
        let before = self.under.insert(flow, Some(nonce)).flatten();
        let mut halves = match came.ask {
            BackPressureSignal::SlowDown => 2 * news.unwrap_or(1_500),
            BackPressureSignal::Nothing if yields => 2 * news.unwrap_or(1_500) * 5 / 4,
            BackPressureSignal::Nothing if new && news != Some(0) => {
                2 * self.packet() * u64::from(came.allowance)
            }
            BackPressureSignal::Nothing => 4 * news.unwrap_or(1_500),
            _ => 0,
        };
        if let Some(before) = before.filter(|&b| b != nonce && others_wait) {
            let back = halves.min(2 * news.unwrap_or(0));
            halves -= back;
            self.pay(now, before, back);
        }
        self.pay(now, nonce, halves);
    }
    /// What the ACK says that leaves: who asks, None for the alias of this interface; and the
    /// allowance.
    fn ack(
        &mut self,
        now: Time,
        flow: FlowKey,
        arrived: u32,
        came: BackPressure,
        others_wait: bool,
    ) -> (BackPressureSignal, Option<Option<Nonce>>, u16) {
        let (mut ask, mut allowed) = (came.ask, came.allowance);
        let new = came.nonce.is_none() || self.under.get(&flow) != Some(&came.nonce);
        let holds = match came.ask {
            BackPressureSignal::SlowDown | BackPressureSignal::Pause => true,
            BackPressureSignal::Nothing => allowed > 0 || self.has_eligible(),
            BackPressureSignal::Cancel => false,
        };
        match came.nonce.filter(|_| holds) {
            Some(_) if self.is_stale(now, flow, arrived) => ask = BackPressureSignal::Nothing,
            Some(nonce) => {
                self.hear(now, nonce);
                let news = self.news(now, flow, arrived);
                let pause = came.ask == BackPressureSignal::Pause;
                if !pause || new {
                    self.spared.remove(&flow);
                }
                if pause {
                    self.paused.insert(flow)
                } else {
                    self.paused.remove(&flow)
                };
                // A router between holds it, and this one has something to send.
                let yields = came.ask == BackPressureSignal::Nothing && allowed == 0;
                if yields {
                    self.yields.insert(flow)
                } else {
                    self.yields.remove(&flow)
                };
                self.earn(now, flow, (came, nonce), [new, yields, others_wait], news);
                ask = BackPressureSignal::Nothing;
            }
            None => self.let_be(now, flow, arrived),
        }
        if self.state == State::BackPressure
            && matches!(ask, BackPressureSignal::Nothing | BackPressureSignal::Cancel)
        {
            let asked;
            (asked, allowed) = self.request(now, flow, allowed);
            if ask == BackPressureSignal::Nothing && came.nonce.is_some() {
                return (asked, Some(came.nonce), allowed);
            }
            if let Some(last) = self.asked.insert(flow, now) {
                self.longest_gap = self.longest_gap.max(now.since(last));
            }
            return (asked, None, allowed);
        }
        if self.state == State::Disable && ask == BackPressureSignal::Nothing {
            let owed = self.asked.remove(&flow).is_some();
            if owed || came.nonce.is_none() || came.nonce == self.alias {
                return (BackPressureSignal::Cancel, None, self.room_for(flow).max(1));
            }
        }
        (ask, Some(came.nonce), if self.state == State::BackPressure { allowed } else { 0 })
    }
    fn move_on(&mut self, now: Time) {
        let bytes = self.bytes();
        let CacheLimits { low_bytes, high_bytes, .. } = self.limits;
        let over = self.asked.is_empty() || now >= self.cancel_until;
        let rest = if bytes > 0 { State::StoreDetour } else { State::Push };
        let next = match self.state {
            State::Push | State::StoreDetour if bytes > high_bytes => State::BackPressure,
            State::Push | State::StoreDetour => rest,
            State::BackPressure if bytes < low_bytes => State::Disable,
            State::BackPressure => State::BackPressure,
            State::Disable if bytes > high_bytes => State::BackPressure,
            State::Disable if over => rest,
            State::Disable => State::Disable,
        };
        if next == State::Push && next != self.state {
            self.longest = 0;
        }
        if next == self.state {
            return;
        }
        self.state = next;
        self.defiant.clear();
        if next == State::BackPressure {
            self.former.extend(self.alias.take());
            self.asked.clear();
            self.longest_gap = Span::ZERO;
        }
        if next == State::Disable {
            let gap = (self.longest_gap * 4).min(Span::from_secs(30));
            self.cancel_until = now + self.settings.cancel_for.max(gap);
        }
        self.move_on(now);
    }
    fn waits(&self, nonce: Nonce) -> bool {
        self.firsts().any(|p| self.holder(p.flow, p.echo) == Some(nonce) && !self.may_leave(p))
    }
    /// When the next thing is due, and for whom.
    fn deadlines(&self) -> impl Iterator<Item = (Time, Option<Nonce>)> {
        let disable = (self.state == State::Disable).then_some((self.cancel_until, None));
        let askers = self.askers.iter().map(|(&nonce, asker)| {
            let forget = asker.heard + self.settings.forget_after.max(asker.gap * 4);
            let starve = asker.credited + self.settings.watchdog.max(asker.gap * 2);
            (if self.waits(nonce) { forget.min(starve) } else { forget }, Some(nonce))
        });
        disable.into_iter().chain(askers)
    }
    fn timeout(&mut self, now: Time) {
        let late: Vec<Nonce> =
            self.deadlines().filter(|&(at, _)| at <= now).filter_map(|(_, nonce)| nonce).collect();
        for nonce in late {
            let asker = self.askers[&nonce];
            if now >= asker.heard + self.settings.forget_after.max(asker.gap * 4) {
                self.forget(nonce);
            } else {
                let asker = self.askers.get_mut(&nonce).unwrap();
                (asker.credited, asker.pool) = (now, asker.pool.max(0) + 1);
            }
        }
        self.move_on(now);
    }
}

/// The two compared.
struct Bench {
    machine: Interface<u32>,
    model: Model,
    rng: Rng,
    now: Time,
    last: u32,
    /// The highest ACK of all flows, which differ in what they have reported of it.
    acked: u32,
    seen: [bool; 4],
}

impl Bench {
    fn new(seed: u64) -> Bench {
        let mut rng = Rng::new(seed, Stream::Test, 0);
        let quantum_bytes = [64, 500, 1500, 9000][rng.below(4) as usize];
        // The model does not say who is next: both orders obey it.
        let order = [TurnOrder::Share, TurnOrder::Attained][rng.below(2) as usize];
        let settings = Settings { quantum_bytes, order, ..Settings::default() };
        let limits = CacheLimits { low_bytes: 3_000, high_bytes: 6_000, total_bytes: 10_000 };
        let machine = Interface::new(limits, 1500, &settings).with_short_round(4 * PLAIN_ROOM);
        let model = Model::new(limits, &settings);
        Bench { machine, model, rng, now: Time::ZERO, last: 0, acked: 5_000, seen: [false; 4] }
    }
    fn nonce(&mut self) -> Option<Nonce> {
        Nonce::new(self.rng.below(4) as u32)
    }
    fn put(&mut self) {
        let class = [Class::Pooled, Class::Pooled, Class::Pooled, Class::Tagged, Class::Plain]
            [self.rng.below(5) as usize];
        let (flow, echo) = (flow(self.rng.below(4), class), self.nonce());
        let (wire_len, taggable) = (40 + self.rng.below(1461) as u16, self.rng.chance(0.8));
        assert_eq!(self.machine.passes(flow, echo), self.model.passes(flow, echo));
        self.last += 1;
        // All alike: who leaves first makes no difference to what may leave then.
        let payload_len = 1_000;
        let cached = Cached { echo, wire_len, payload_len, seq: 0, taggable, what: self.last };
        let kept = self.machine.keep(self.now, flow, cached, PLAIN_ROOM, &mut self.rng);
        let gone: Vec<u32> = kept.pushed_out.into_iter().chain(kept.refused).collect();
        let (bytes, payload) = (wire_len as u64, payload_len as u64);
        let packet = Waiting { id: self.last, flow, echo, bytes, payload, taggable };
        self.model.put(self.now, packet, &gone);
    }
    fn ack(&mut self) {
        let ask = [
            BackPressureSignal::Nothing,
            BackPressureSignal::Nothing,
            BackPressureSignal::SlowDown,
            BackPressureSignal::SlowDown,
            BackPressureSignal::Cancel,
            BackPressureSignal::Pause,
        ][self.rng.below(6) as usize];
        let nonce = self.nonce();
        let routers = self.rng.below(256) as u8;
        let allowance = [0, 0, 1, 63][self.rng.below(4) as usize];
        let came = BackPressure { ask, allowance, routers, nonce, ..BackPressure::default() };
        let flow = flow(self.rng.below(5), Class::Pooled);
        self.acked += [0, 1, 700, 1_460, 3_000][self.rng.below(5) as usize];
        let before = self.acked - [0, 0, 0, 2_000][self.rng.below(4) as usize];
        let arrived = Arrived { before, highest: before };
        // A flow after others in the round is not known to wait.
        let under = self.model.under.get(&flow).copied().flatten();
        let parked = under.map_or(Vec::new(), |nonce| self.machine.parked(nonce));
        let held = |flow| self.model.firsts().any(|p| p.flow == flow && !self.model.is_free(p));
        assert!(parked.iter().all(|&flow| held(flow)));
        // A credit that it has not used lets another go before.
        let has_part = |other: &FlowKey| !self.model.paused.contains(other);
        let others = parked.iter().filter(|&other| *other != flow && has_part(other)).count();
        let waits = others > usize::from(self.machine.has_credit(flow));
        let idle = self.machine.on_idle_ack(came).map(|wrote| (wrote, self.machine.clone()));
        let wrote = self.machine.on_ack(self.now, flow, arrived, came);
        if let Some((told, machine)) = idle {
            assert_eq!((told, &machine), (wrote, &self.machine), "the short way of {came:?}");
        }
        let (ask, asker, allowance) = self.model.ack(self.now, flow, before, came, waits);
        assert_eq!((wrote.ask, wrote.routers), (ask, routers.saturating_add(1)), "{came:?}");
        assert_eq!(wrote.allowance, allowance, "{came:?}");
        match asker {
            Some(nonce) => assert_eq!(wrote.nonce, nonce, "{came:?}"),
            None => {
                let alias = wrote.nonce.expect("an alias");
                assert_eq!(alias, *self.model.alias.get_or_insert(alias), "one per episode");
                assert!(!self.model.former.contains(&alias), "drawn anew");
            }
        }
    }
    fn pull(&mut self) -> bool {
        let before = self.machine.clone();
        let pulled = self.machine.pull(self.now, &mut self.rng);
        assert_eq!(pulled.is_some(), self.model.has_eligible());
        if let Some((flow, cached)) = &pulled {
            self.model.leaves(self.now, *flow, cached.what, before.is_let_go(*flow));
        }
        pulled.is_some()
    }
    fn detour(&mut self) {
        let max = 40 + self.rng.below(1600) as u16;
        let may =
            |p: &Waiting| p.flow.class() == Class::Pooled && p.taggable && p.bytes <= max as u64;
        let free = self.model.firsts().any(|p| may(p) && self.model.is_free(p));
        let eligible = self.machine.has_eligible_for_detour(max);
        let before = self.machine.clone();
        let pulled = self.machine.pull_for_detour(self.now, max, &mut self.rng);
        assert_eq!(eligible, pulled.is_some(), "what is eligible is pulled");
        assert!(pulled.is_some() || !free, "nothing keeps it back");
        if let Some((flow, cached)) = pulled {
            let let_go = before.is_let_go(flow);
            assert!(may(&self.model.leaves(self.now, flow, cached.what, let_go)));
        }
    }
    /// Time passes for an idle link: what may leave has left.
    fn wait(&mut self) {
        while self.pull() {}
        let longest = [1, 30, 300, 3_000][self.rng.below(4) as usize];
        self.now += Span::from_millis(self.rng.below(longest));
        self.machine.on_timeout(self.now, &mut self.rng);
        self.model.timeout(self.now);
        let flows = self.model.paused.iter().filter(|&&flow| self.machine.has_credit(flow));
        self.model.spared = flows.copied().collect();
    }
    fn restart(&mut self) {
        let mut lost = self.machine.restart();
        lost.sort_unstable();
        let mut expected: Vec<u32> = self.model.packets.iter().map(|p| p.id).collect();
        expected.sort_unstable();
        assert_eq!(lost, expected);
        let former = core::mem::take(&mut self.model.former);
        self.model = Model { former, ..Model::new(self.model.limits, &self.model.settings) };
    }
    /// A pause ends by time for one flow that waits with each credit: for which, the machine says.
    fn end_stale_pauses(&mut self) {
        let Model { paused, last_ack, settings, .. } = &mut self.model;
        let (now, machine) = (self.now, &self.machine);
        paused.retain(|&flow| {
            let (last, gap) = last_ack[&flow];
            let is_stale = last + settings.forget_after.max(gap * 4) <= now;
            assert!(is_stale || machine.is_paused(flow), "{flow:?} has had an ACK");
            machine.is_paused(flow)
        });
    }
    /// More credit than a pool holds is void.
    fn compare_pools(&mut self) {
        for (&nonce, asker) in &mut self.model.askers {
            let pool = self.machine.pool(nonce);
            if asker.pool > MAX_POOL {
                assert!((MAX_POOL..=asker.pool).contains(&pool), "{pool} of {asker:?}");
                asker.pool = pool;
            }
            assert_eq!(pool, asker.pool, "{nonce:?}");
        }
    }
    fn compare(&mut self) {
        self.end_stale_pauses();
        self.compare_pools();
        let (machine, model) = (&self.machine, &self.model);
        assert_eq!(machine.state(), model.state);
        self.seen[model.state as usize] = true;
        assert_eq!(
            (machine.cache_bytes(), machine.plain_bytes()),
            (model.bytes(), model.plain_bytes())
        );
        assert_eq!(machine.cache_packets(), model.packets.len() as u64);
        assert_eq!(machine.flows().collect::<BTreeMap<_, _>>(), model.by_flow());
        assert_eq!(machine.nonces(), model.askers.len());
        assert_eq!(machine.has_eligible(), model.has_eligible());
        assert!(machine.cache_bytes() <= model.limits.total_bytes);
        // A flow after others in the round is not known to wait before nothing else could
        // leave.
        if !model.has_eligible() {
            let due = model.deadlines().map(|(at, _)| at).min();
            assert!(due.is_none_or(|due| machine.next_timeout().is_some_and(|at| at <= due)));
        }
    }
}

#[test]
fn the_machine_does_what_the_model_does() {
    let mut seen = [0; 4];
    for seed in 0..3_000 {
        let mut b = Bench::new(seed);
        // Some runs hold much, some are pulled from often.
        let pulls = 1 + b.rng.below(20);
        for _ in 0..300 {
            match b.rng.below(60) {
                0 => b.wait(),
                1 if b.rng.chance(0.05) => b.restart(),
                2..25 => b.put(),
                25..40 => b.ack(),
                at if at < 40 + pulls => drop(b.pull()),
                _ => b.detour(),
            }
            b.compare();
        }
        seen.iter_mut().zip(b.seen).for_each(|(count, seen)| *count += seen as u32);
    }
    assert!(seen.iter().all(|&runs| runs > 1_000), "{seen:?} runs came into each state");
}

//! Detours of one hop: which there are, and how fast each may be (paper, sections II-A, III-A,
//! III-B).
//!
//! A packet for the congested interface to D may leave by another interface, to a router X that is
//! adjacent to D. For that
//!
//! * routers exchange neighbour lists ([`Neighbours`]), at the start and on change;
//! * while an interface has excess, each of its detours is probed ([`Probe`]), at once and then
//!   every T_p, and X answers with what its interface to D has to spare ([`Feedback`]);
//! * each answer adjusts the rate r of the detour by equations (1) to (3), see `law`; packets are
//!   paced at r.
//!
//! Both interfaces of a detour must be in the push state; when one is not, r = 0. One whose cache
//! holds only what waits for credits counts as if it were: its link is free.
//!
//! **T_p and the round trip.** The paper asks that T_p be longer than the round trip of the probed
//! path, and with 10 ms it is not where links take 5 ms. Here a probe leaves T_p after the last one
//! or when that one is answered, whichever is later. In the second case it arrives at X with the
//! first packets of the new rate, so that what X reads does not know of the last step; see `law`
//! for how that counts. Where a packet takes longer than T_p, T_p is that long: a probe waits for
//! packets before it, and its answer as well. With 10 ms detours of 300 kbit/s closed after each
//! packet, as their feedback was too old.
//!
//! **T_d.** A detour that had to close because an interface left the push state opens again T_d
//! after the last such sign at the earliest. That is T_p, as loads are those of the last T_p. With
//! 5 T_p, where two detours that share a link fill it at once, both pause and begin again together:
//! they have half of the link. Rates follow each answer, not T_d. Several detours of one primary
//! are not weighed against each other: excess is greedy, so that each is filled to its share.
//!
//! **Bursts** may be over before a probe is answered. So detours stay open, and are probed, for
//! `LINGER` after the last excess.
//!
//! **Longer detours.** What waits takes one only where the link would serve it later than the
//! detour brings it. The last packets of flows count: where excess has lasted for long, more are
//! likely to come, and the detour is filled all the same. [`Lag`] says which holds.
//!
//! **Idle** routers send nothing and have no timeout.
//!
//! Inside, rates are bytes per second; those that [`Detours::rates`] reports are bits per second.

mod adjacency;
mod control;
mod detour_requests;
mod law;
mod meter;
mod pair;

#[cfg(test)]
mod control_tests;
#[cfg(test)]
mod tests;

pub use control::{
    ALL_ROUTERS, Feedback, LIST_CHUNK, Message, MessageError, Neighbours, PROBE_BYTES, PROTOCOL,
    Probe,
};

use super::{Settings, earliest};
use adjacency::Adjacency;
use alloc::vec::Vec;
use core::ops::Range;
use detour_requests::DetourRequests;
use forebay_base::{PortId, Rate, Span, Time};
use forebay_signal::inrpp::RouterId;
use law::{Delta, Gains, LinkLoad};
use meter::LoadMeter;
use pair::{Detour, Side};

pub use pair::Lag;

/// View of the interfaces of its router for the machine.
pub trait Interfaces {
    /// True in the push state, and where all that is cached waits for credits.
    fn is_push(&self, port: PortId) -> bool;
    /// C: the rate of the link.
    fn rate(&self, port: PortId) -> Rate;
    /// How long a packet is on the wire of the link.
    fn delay(&self, port: PortId) -> Span;
    /// Q: what waits in the queue, the cache not counted.
    fn queue_bytes(&self, port: PortId) -> u64;
    /// False while the link is down.
    fn is_up(&self, port: PortId) -> bool;
}

/// Messages to send, each by a port.
pub type Outbox = Vec<(PortId, Message)>;

/// How long a detour is kept open without excess, and what was sent over it counts as on its way.
const LINGER: Span = Span::from_secs(1);

/// One port.
#[derive(Clone, Debug)]
struct Port {
    adjacency: Adjacency,
    /// Everything that is put on it.
    load: LoadMeter,
    /// T_p of the detours over it.
    probe_interval: Span,
    /// The interface has excess.
    wants: bool,
    /// When that began, and when it ended last. What comes again within T_p has not ended: a small
    /// cache runs dry for a round trip between the bursts of a flow.
    wants_since: Time,
    wanted_until: Time,
    /// Where the detours over it stand in `Detours::pairs`.
    pairs: Range<usize>,
    /// Of those the ones with r > 0.
    open: Vec<usize>,
    /// The primary whose turn it was last.
    turn: PortId,
    /// Ports over which this one has detours with r > 0.
    open_through: Vec<PortId>,
    /// `LINGER` after the last packet that was sent round it.
    late_until: Time,
}

/// The detours of one router, and its answers to requests for detours through it.
#[derive(Clone, Debug)]
pub struct Detours {
    me: RouterId,
    enabled: bool,
    gains: Gains,
    decision_interval: Span,
    fresh: LoadMeter,
    ports: Vec<Port>,
    /// By (via, primary).
    pairs: Vec<Detour>,
    /// The ports over which there is a detour with r > 0, in order: few of many.
    open_vias: Vec<PortId>,
    requests: DetourRequests,
    /// Version of the neighbour list sent last; 0: none was.
    version: u64,
    /// When a probe, a list or the end of a rate is due.
    next: Option<Time>,
    /// When a packet that is paced may leave.
    pace: Option<Time>,
}

impl Detours {
    /// The machine of router `me` with one entry per port: the router at the other end, None for a
    /// host, and the rate of the link at the start.
    ///
    /// Panics on settings out of their ranges.
    pub fn new(me: RouterId, links: &[(Option<RouterId>, Rate)], settings: &Settings) -> Detours {
        let fresh = LoadMeter::new(settings.probe_interval, settings.load_weight);
        let port = |&(neighbour, rate): &(Option<RouterId>, Rate)| Port {
            adjacency: Adjacency::new(neighbour),
            load: fresh.clone(),
            probe_interval: settings.probe_interval_over(rate),
            wants: false,
            wants_since: Time::ZERO,
            wanted_until: Time::ZERO,
            pairs: 0..0,
            open: Vec::new(),
            turn: PortId(0),
            open_through: Vec::new(),
            late_until: Time::ZERO,
        };
        let enabled = settings.detours;
        let alone = links.iter().all(|(neighbour, _)| neighbour.is_none());
        Detours {
            me,
            enabled,
            gains: Gains::new(settings.alpha, settings.probe_interval),
            decision_interval: settings.decision_interval,
            ports: links.iter().map(port).collect(),
            pairs: Vec::new(),
            open_vias: Vec::new(),
            requests: DetourRequests::new(settings.probe_interval, fresh.clone()),
            fresh,
            version: 0,
            next: (enabled && !alone).then_some(Time::ZERO),
            pace: None,
        }
    }

    /// A packet of `bytes` is put on `port`: on a detour or not, data or not.
    #[inline]
    pub fn sent(&mut self, now: Time, port: PortId, bytes: u16) {
        self.ports[port.index()].load.add(now, bytes);
    }

    /// A packet on a detour that came in by `from` is put on `port`; [`Detours::sent`] is called
    /// for it too.
    pub fn relayed(&mut self, now: Time, from: PortId, port: PortId, bytes: u16) {
        self.requests.relay(now, from, port, bytes);
    }

    /// `port` leaves the push state (`excess`), or returns to it.
    ///
    /// While it has excess, and for `LINGER` after that, its own detours are probed. As part of
    /// other routers' detours it is closed at once: routers that asked for it get feedback without
    /// waiting for their next probe.
    pub fn demand(&mut self, now: Time, port: PortId, excess: bool, out: &mut Outbox) {
        if self.ports[port.index()].wants == excess {
            return;
        }
        let own = &mut self.ports[port.index()];
        own.wants = excess;
        if !excess {
            own.wanted_until = now;
        } else if now.since(own.wanted_until) > own.probe_interval {
            own.wants_since = now;
        }
        for at in self.ports[port.index()].pairs.clone() {
            self.close(now, at);
        }
        if excess {
            for (from, primary, ask) in self.requests.of(now, port) {
                let closed = self.closed(ask.target, primary, ask.sent);
                out.push((from, Message::Feedback(closed)));
            }
        }
        for at in 0..self.pairs.len() {
            if self.pairs[at].primary != port {
                continue;
            }
            let pair = &mut self.pairs[at];
            match (excess, pair.wants()) {
                (true, true) => {
                    pair.lingers_until = None;
                    self.pace_at(now, at);
                }
                (true, false) => self.set_wants(now, at, true, out),
                (false, asks) => {
                    pair.lingers_until = asks.then_some(now + LINGER);
                }
            }
        }
        self.rearm();
    }

    /// The link of `port` goes down or comes up: all neighbours receive the new list.
    pub fn on_link(&mut self, now: Time, port: PortId, up: bool, out: &mut Outbox) {
        if self.ports[port.index()].adjacency.up == up {
            return;
        }
        self.ports[port.index()].adjacency.set_up(up);
        self.find_pairs(now, out);
        if self.version > 0 && self.ports[port.index()].adjacency.neighbour.is_some() {
            self.tell_all(now, out);
        }
        self.rearm();
    }

    /// A control message came in by `port`. One that is not from the router known to be there is
    /// ignored.
    pub fn on_message(
        &mut self,
        now: Time,
        port: PortId,
        message: Message,
        view: &dyn Interfaces,
        out: &mut Outbox,
    ) {
        let router = self.ports[port.index()].adjacency.router();
        if !self.enabled || router != Some(message.from()) {
            return;
        }
        match message {
            Message::Probe(probe) => self.on_probe(now, port, &probe, view, out),
            Message::Feedback(feedback) => self.on_feedback(now, port, &feedback, view, out),
            Message::Neighbours(part) => self.on_list(now, port, part, out),
        }
    }

    /// The primary interfaces whose detours over `via` may send a packet now, the next in turn
    /// first.
    pub fn due_for(&self, now: Time, via: PortId) -> impl Iterator<Item = PortId> {
        let port = &self.ports[via.index()];
        let split = port.open.partition_point(|&at| self.pairs[at].primary <= port.turn);
        let in_turn = port.open[split..].iter().chain(&port.open[..split]);
        let due = in_turn.map(|&at| &self.pairs[at]).filter(move |pair| pair.is_ready(now));
        due.map(|pair| pair.primary)
    }

    /// The first of [`Detours::due_for`].
    pub fn next_for(&self, now: Time, via: PortId) -> Option<PortId> {
        self.due_for(now, via).next()
    }

    /// `primary` has nothing that may leave over `via`: the turn passes to the next.
    pub fn skip(&mut self, primary: PortId, via: PortId) {
        self.ports[via.index()].turn = primary;
    }

    /// A packet of `bytes` of `primary` leaves on its detour over `via` now; [`Detours::sent`] is
    /// called for it too. Panics if there is no such detour.
    pub fn charge(&mut self, now: Time, primary: PortId, via: PortId, bytes: u16) {
        let at = self.find(via, primary).expect("a detour that next_for has named");
        self.pairs[at].charge(now, bytes);
        self.ports[primary.index()].late_until = now + LINGER;
        self.ports[via.index()].turn = primary;
        self.pace_at(now, at);
    }

    /// What must wait for the link of `primary` before its detour over `via`, which is longer, is
    /// worth it.
    #[inline]
    pub fn lag(&self, now: Time, primary: PortId, via: PortId) -> Lag {
        let excess = now.since(self.ports[primary.index()].wants_since);
        self.find(via, primary).map_or(Lag::Capped(0), |at| self.pairs[at].lag(excess))
    }

    /// The ports over which `primary` has an open detour: more excess may give them work.
    pub fn open_through(&self, primary: PortId) -> impl Iterator<Item = PortId> {
        self.ports[primary.index()].open_through.iter().copied()
    }

    /// True unless the link of `port` is known to be down.
    #[inline]
    pub fn is_up(&self, port: PortId) -> bool {
        self.ports[port.index()].adjacency.up
    }

    /// True if packets for `primary` were sent round it within `LINGER`: they may come late.
    #[inline]
    pub fn lead_round(&self, now: Time, primary: PortId) -> bool {
        now < self.ports[primary.index()].late_until
    }

    /// After [`Detours::on_timeout`]: the ports over which a detour may send now.
    pub fn woken(&self, now: Time) -> impl Iterator<Item = PortId> {
        let due = move |via: &PortId| self.due_for(now, *via).next().is_some();
        self.open_vias.iter().copied().filter(due)
    }

    /// When [`Detours::on_timeout`] is due: a message, or a paced packet. None in an idle router.
    pub fn next_timeout(&self) -> Option<Time> {
        earliest(self.next, self.pace)
    }
    /// The same; [`Time::MAX`] if there is none.
    #[inline]
    pub(super) fn wakes_at(&self) -> Time {
        self.next.unwrap_or(Time::MAX).min(self.pace.unwrap_or(Time::MAX))
    }

    /// The time asked for has come. Early calls do nothing, late ones are legal.
    pub fn on_timeout(&mut self, now: Time, view: &dyn Interfaces, out: &mut Outbox) {
        if self.pace.is_some_and(|pace| pace <= now) {
            let open = self.open_vias.iter().flat_map(|via| &self.ports[via.index()].open);
            self.pace = open.filter_map(|&at| self.next_packet(now, at)).min();
        }
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        if self.version == 0 {
            for at in 0..self.ports.len() {
                self.ports[at].adjacency.up = view.is_up(PortId(at as u16));
            }
            self.tell_all(now, out);
        }
        for at in 0..self.ports.len() {
            if self.ports[at].adjacency.due().is_some_and(|due| due <= now) {
                self.tell(now, PortId(at as u16), out);
            }
        }
        for at in 0..self.pairs.len() {
            if self.pairs[at].rate() > 0.0 && self.pairs[at].stale_at() <= now {
                self.stop(now, at);
            }
            if self.pairs[at].lingers_until.is_some_and(|until| until <= now) {
                self.pairs[at].lingers_until = None;
                self.set_wants(now, at, false, out);
            } else if self.pairs[at].probe_due().is_some_and(|due| due <= now) {
                self.probe(now, at, out);
            }
        }
        self.rearm();
    }

    /// The detours there are: (primary, via, r in bits per second), by via and primary.
    pub fn rates(&self) -> impl Iterator<Item = (PortId, PortId, u64)> {
        self.pairs.iter().map(|pair| (pair.primary, pair.via, (pair.rate() * 8.0) as u64))
    }

    /// The port by which this router reaches its neighbour `router`: the first one whose link is
    /// up. Packets on a detour leave by it, and probes are answered for it.
    pub fn port_to(&self, router: RouterId) -> Option<PortId> {
        let at = self.ports.iter().position(|port| port.adjacency.router() == Some(router))?;
        Some(PortId(at as u16))
    }

    /// The router at the other end of `port`: what packets that are detoured for it are tagged
    /// with.
    pub fn neighbour(&self, port: PortId) -> Option<RouterId> {
        self.ports[port.index()].adjacency.neighbour
    }
}

/// Discovery.
impl Detours {
    fn tell_all(&mut self, now: Time, out: &mut Outbox) {
        // Rises over a restart too, for time has passed.
        self.version = (now.as_nanos() + 1).max(self.version + 1);
        for at in 0..self.ports.len() {
            self.ports[at].adjacency.renew();
            self.tell(now, PortId(at as u16), out);
        }
    }

    fn on_list(&mut self, now: Time, port: PortId, part: Neighbours, out: &mut Outbox) {
        let heard = self.ports[port.index()].adjacency.hear(part, self.version);
        if heard.changed {
            self.find_pairs(now, out);
        }
        // Before its first timeout a router has no list to send; it sends it to all then.
        if heard.answer && self.version > 0 {
            self.tell(now, port, out);
        }
        self.rearm();
    }

    fn tell(&mut self, now: Time, port: PortId, out: &mut Outbox) {
        if self.ports[port.index()].adjacency.router().is_none() {
            return;
        }
        let mut routers: Vec<RouterId> =
            self.ports.iter().filter_map(|port| port.adjacency.router()).collect();
        routers.sort_unstable();
        routers.dedup();
        let adjacency = &mut self.ports[port.index()].adjacency;
        adjacency.tell(now, port, self.me, self.version, &routers, out);
    }

    /// Which detours there are, after a list or a link has changed. Those that stay keep their
    /// state.
    fn find_pairs(&mut self, now: Time, out: &mut Outbox) {
        let mut before = core::mem::take(&mut self.pairs).into_iter().peekable();
        // Hosts may be many.
        let numbered = self.ports.iter().enumerate();
        let to_routers: Vec<usize> =
            numbered.filter_map(|(at, port)| port.adjacency.neighbour.map(|_| at)).collect();
        self.ports.iter_mut().for_each(|port| port.pairs = 0..0);
        for &via in &to_routers {
            let first = self.pairs.len();
            for &primary in &to_routers {
                let Some(target) = self.target(via, primary) else { continue };
                let key = (PortId(via as u16), PortId(primary as u16));
                while before.next_if(|pair| (pair.via, pair.primary) < key).is_some() {}
                let same = before.next_if(|pair| (pair.via, pair.primary) == key);
                let interval = self.ports[via].probe_interval;
                let new = || Detour::new(key.into(), target, interval, self.fresh.clone());
                self.pairs.push(same.unwrap_or_else(new));
            }
            self.ports[via].pairs = first..self.pairs.len();
        }
        for at in 0..self.pairs.len() {
            let wants = self.ports[self.pairs[at].primary.index()].wants;
            if wants && !self.pairs[at].wants() {
                self.set_wants(now, at, true, out);
            }
        }
        for port in &mut self.ports {
            port.open.clear();
            port.open_through.clear();
        }
        self.open_vias.clear();
        for (at, pair) in self.pairs.iter().enumerate().filter(|(_, pair)| pair.rate() > 0.0) {
            self.ports[pair.via.index()].open.push(at);
            self.ports[pair.primary.index()].open_through.push(pair.via);
            keep_sorted(&mut self.open_vias, pair.via, true);
        }
    }

    /// The router to which packets for port `primary` may be detoured over port `via`.
    fn target(&self, via: usize, primary: usize) -> Option<RouterId> {
        // Also where its link is down: what waits for it has a way still.
        let target = self.ports[primary].adjacency.neighbour?;
        let over = self.ports[via].adjacency.router()?;
        let adjacent = self.ports[via].adjacency.knows(target);
        (via != primary && over != target && adjacent).then_some(target)
    }

    fn find(&self, via: PortId, primary: PortId) -> Option<usize> {
        let range = self.ports[via.index()].pairs.clone();
        let at = self.pairs[range.clone()].binary_search_by_key(&primary, |pair| pair.primary);
        at.ok().map(|at| range.start + at)
    }
}

/// The asking side.
impl Detours {
    fn set_wants(&mut self, now: Time, at: usize, wants: bool, out: &mut Outbox) {
        if wants {
            self.probe(now, at, out);
        } else if self.pairs[at].wants() {
            let last = self.pairs[at].stop(self.me, now);
            self.note_rate(now, at);
            out.push((self.pairs[at].via, Message::Probe(last)));
        }
    }

    fn probe(&mut self, now: Time, at: usize, out: &mut Outbox) {
        let pair = &mut self.pairs[at];
        out.push((pair.via, Message::Probe(pair.ask(self.me, now))));
    }

    fn on_feedback(
        &mut self,
        now: Time,
        via: PortId,
        feedback: &Feedback,
        view: &dyn Interfaces,
        out: &mut Outbox,
    ) {
        let Some(at) = self.find(via, feedback.primary) else { return };
        if self.pairs[at].target != feedback.target || !self.pairs[at].wants() {
            return;
        }
        let news = self.pairs[at].hear(now, feedback.sent);
        if news {
            let links = [via, feedback.primary].map(|port| view.delay(port));
            self.pairs[at].compare(links, feedback.longer_ms, view.rate(feedback.primary));
        }
        // That an interface is closed counts however often it is said: it may come unasked.
        if !feedback.open || !view.is_push(via) || !view.is_up(via) {
            self.close(now, at);
        } else if news && !self.pairs[at].is_closed(now) {
            let Feedback { increase, decrease, cap, .. } = *feedback;
            let there = Delta::from_wire(increase, decrease, cap);
            let here = self.local_delta(now, at, view);
            self.pairs[at].adjust(now, &self.gains, &here, &there);
            self.note_rate(now, at);
        }
        if self.pairs[at].probe_due().is_some_and(|due| due <= now) {
            self.probe(now, at, out);
        }
        // Every other deadline stays what it was: no need to look at them all for each answer.
        let due = self.pairs[at].due();
        self.next = self.next.into_iter().chain(due).min();
    }

    /// D+ and D- of the own interface of a detour.
    fn local_delta(&mut self, now: Time, at: usize, view: &dyn Interfaces) -> Delta {
        let via = self.pairs[at].via;
        let own = self.pairs[at].own.slow_load(now);
        let interval = self.pairs[at].interval();
        let shares = self.pairs[at].shares(Side::Here);
        let reading = self.reading(now, via, own, shares, view);
        self.gains.delta(&reading, interval)
    }

    fn close(&mut self, now: Time, at: usize) {
        self.pairs[at].close(now, self.decision_interval);
        self.note_rate(now, at);
    }

    fn stop(&mut self, now: Time, at: usize) {
        self.pairs[at].set_rate(now, 0.0);
        self.note_rate(now, at);
    }

    /// r has changed.
    fn note_rate(&mut self, now: Time, at: usize) {
        let (via, primary) = (self.pairs[at].via, self.pairs[at].primary);
        let open = self.pairs[at].rate() > 0.0;
        let over = &mut self.ports[via.index()].open;
        keep_sorted(over, at, open);
        keep_sorted(&mut self.open_vias, via, !over.is_empty());
        keep_sorted(&mut self.ports[primary.index()].open_through, via, open);
        self.pace_at(now, at);
    }

    /// A timeout for the next packet of a detour, if it has to wait for it.
    fn pace_at(&mut self, now: Time, at: usize) {
        self.pace = self.pace.into_iter().chain(self.next_packet(now, at)).min();
    }
    fn next_packet(&self, now: Time, at: usize) -> Option<Time> {
        let pair = &self.pairs[at];
        pair.wakes_at(now, self.ports[pair.primary.index()].wants_since)
    }

    fn rearm(&mut self) {
        if self.version == 0 {
            return; // the first timeout, which tells the list, is still to come
        }
        let pairs = self.pairs.iter().filter_map(|pair| pair.due());
        let lists = self.ports.iter().filter_map(|port| port.adjacency.due());
        self.next = pairs.chain(lists).min();
    }
}

/// How many milliseconds `a` is more than `b`.
fn longer_ms(a: Span, b: Span) -> i16 {
    let ms = |span: Span| i16::try_from(span.as_millis()).unwrap_or(i16::MAX);
    ms(a) - ms(b)
}

/// Have `item` in an ordered list, or not.
fn keep_sorted<T: Ord>(list: &mut Vec<T>, item: T, there: bool) {
    match list.binary_search(&item) {
        Err(place) if there => list.insert(place, item),
        Ok(place) if !there => drop(list.remove(place)),
        _ => {}
    }
}

/// The answering side.
impl Detours {
    fn on_probe(
        &mut self,
        now: Time,
        port: PortId,
        probe: &Probe,
        view: &dyn Interfaces,
        out: &mut Outbox,
    ) {
        let interface = self.port_to(probe.target).filter(|&interface| interface != port);
        let Some(interface) = interface else {
            if probe.wants {
                let closed = self.closed(probe.target, probe.primary, probe.sent);
                out.push((port, Message::Feedback(closed)));
            }
            return;
        };
        if !probe.wants {
            return self.requests.forget(interface, port, probe.primary);
        }
        self.requests.remember(now, interface, port, probe);
        let longer_ms = longer_ms(view.delay(interface), view.delay(port));
        let closed = self.closed(probe.target, probe.primary, probe.sent);
        let mut answer = Feedback { longer_ms, ..closed };
        if view.is_push(interface) && view.is_up(interface) {
            let own = self.requests.relayed(now, port, interface);
            let reading = self.reading(now, interface, own, !probe.limited, view);
            let delta = self.gains.delta(&reading, self.requests.interval_of(probe));
            let (increase, decrease, cap) = delta.to_wire();
            answer = Feedback { open: true, increase, decrease, cap, ..answer };
        }
        out.push((port, Message::Feedback(answer)));
    }

    fn closed(&self, target: RouterId, primary: PortId, sent: Time) -> Feedback {
        let from = self.me;
        let open = false;
        Feedback {
            from,
            target,
            primary,
            sent,
            open,
            increase: 0,
            decrease: 0,
            cap: 0,
            longer_ms: 0,
        }
    }

    /// What `interface` knows about itself, for a router that has `own` bytes per second on it, and
    /// shares it unless limited.
    fn reading(
        &mut self,
        now: Time,
        interface: PortId,
        own: f64,
        shares: bool,
        view: &dyn Interfaces,
    ) -> LinkLoad {
        let (mut sharing, mut shared) = self.requests.sharing(now, interface);
        let mut contenders = self.requests.contenders(now, interface);
        let port = &mut self.ports[interface.index()];
        for pair in &mut self.pairs[port.pairs.clone()] {
            contenders += usize::from(pair.wants());
            if pair.shares(Side::Here) {
                sharing += 1;
                shared += pair.own.load(now);
            }
        }
        LinkLoad {
            capacity: view.rate(interface).bps() as f64 / 8.0,
            load: port.load.load(now),
            others: (port.load.slow_load(now) - own).max(0.0),
            queue_bytes: view.queue_bytes(interface),
            contenders,
            sharing: if shares { sharing } else { 0 },
            shared,
        }
    }
}

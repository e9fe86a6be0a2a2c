//! Machines against each other over ideal links: routers, queues that drain at the rate of their
//! link, constant cross traffic.

use super::{Detours, Feedback, Interfaces, Lag, Message, Outbox};
use crate::inrpp::Settings;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{PortId, Rate, Rng, Span, Stream, Time};
use forebay_signal::inrpp::RouterId;

mod discovery;
mod rates;

const PACKET: u16 = 1500;
const T_P: Span = Span::from_millis(10);

/// One end of a link.
struct End {
    node: usize,
    port: PortId,
    rate: Rate,
    delay: Span,
    up: bool,
    push: bool,
    /// When all that was put on it has left.
    busy_until: Time,
    /// Bytes of detours that came out at the other end.
    detoured_bytes: u64,
    /// Constant traffic of its own: gap between packets.
    cross: Option<Span>,
}

struct Router {
    detours: Detours,
    ends: Vec<End>,
    /// Primaries that have packets to detour.
    greedy: Vec<bool>,
}

enum Event {
    Message(Message),
    Detoured { target: RouterId },
    Arrived,
    Cross(PortId),
}

struct View<'a> {
    now: Time,
    ends: &'a [End],
}

impl Interfaces for View<'_> {
    fn is_push(&self, port: PortId) -> bool {
        self.ends[port.index()].push
    }
    fn rate(&self, port: PortId) -> Rate {
        self.ends[port.index()].rate
    }
    fn delay(&self, port: PortId) -> Span {
        self.ends[port.index()].delay
    }
    fn queue_bytes(&self, port: PortId) -> u64 {
        // A packet in transmission no longer waits.
        let end = &self.ends[port.index()];
        let left = end.rate.bytes_in(end.busy_until.since(self.now));
        left.div_ceil(u64::from(PACKET)).saturating_sub(1) * u64::from(PACKET)
    }
    fn is_up(&self, port: PortId) -> bool {
        self.ends[port.index()].up
    }
}

/// Routers 0, 1, ... and the events between them.
struct World {
    now: Time,
    routers: Vec<Router>,
    events: BTreeMap<(Time, u64), (usize, PortId, Event)>,
    counter: u64,
    /// Messages that were sent.
    messages: u64,
    /// Every message is lost with this probability.
    loss: f64,
    rng: Rng,
}

fn id(node: usize) -> RouterId {
    RouterId(node as u32)
}

impl World {
    /// Links (a, b, rate in Mbit/s, delay) get ports in their order.
    fn new(nodes: usize, links: &[(usize, usize, u64, Span)], settings: &Settings) -> World {
        let mut ends: Vec<Vec<End>> = (0..nodes).map(|_| Vec::new()).collect();
        for &(a, b, mbps, delay) in links {
            let (at_a, at_b) = (PortId(ends[a].len() as u16), PortId(ends[b].len() as u16));
            let end = |node, port| End {
                node,
                port,
                rate: Rate::mbps(mbps),
                delay,
                up: true,
                push: true,
                busy_until: Time::ZERO,
                detoured_bytes: 0,
                cross: None,
            };
            ends[a].push(end(b, at_b));
            ends[b].push(end(a, at_a));
        }
        let router = |(node, ends): (usize, Vec<End>)| {
            let links: Vec<_> = ends.iter().map(|end| (Some(id(end.node)), end.rate)).collect();
            let greedy = ends.iter().map(|_| false).collect();
            Router { detours: Detours::new(id(node), &links, settings), ends, greedy }
        };
        World {
            now: Time::ZERO,
            routers: ends.into_iter().enumerate().map(router).collect(),
            events: BTreeMap::new(),
            counter: 0,
            messages: 0,
            loss: 0.0,
            rng: Rng::new(1, Stream::Test, 0),
        }
    }

    fn port(&self, from: usize, to: usize) -> PortId {
        let at = self.routers[from].ends.iter().position(|end| end.node == to);
        PortId(at.expect("adjacent") as u16)
    }

    fn schedule(&mut self, at: Time, node: usize, port: PortId, event: Event) {
        self.counter += 1;
        self.events.insert((at, self.counter), (node, port, event));
    }

    /// A packet is put on a port.
    fn put(&mut self, node: usize, port: PortId, event: Event) {
        let router = &mut self.routers[node];
        router.detours.sent(self.now, port, PACKET);
        let end = &mut router.ends[port.index()];
        end.busy_until = end.busy_until.max(self.now) + end.rate.span_of(u64::from(PACKET));
        let (at, to, port) = (end.busy_until + end.delay, end.node, end.port);
        self.schedule(at, to, port, event);
    }

    fn deliver(&mut self, node: usize, out: Outbox) {
        for (port, message) in out {
            self.messages += 1;
            let end = &self.routers[node].ends[port.index()];
            let lost = self.loss > 0.0 && self.rng.chance(self.loss);
            let (at, to, far) = (self.now + end.delay + Span::from_nanos(1), end.node, end.port);
            if end.up && !lost {
                self.schedule(at, to, far, Event::Message(message));
            }
        }
    }

    fn with<R>(
        &mut self,
        node: usize,
        call: impl FnOnce(&mut Detours, Time, &View<'_>, &mut Outbox) -> R,
    ) -> R {
        let mut out = Outbox::new();
        let Router { detours, ends, .. } = &mut self.routers[node];
        let result = call(detours, self.now, &View { now: self.now, ends }, &mut out);
        self.deliver(node, out);
        result
    }

    fn set_excess(&mut self, from: usize, to: usize, excess: bool) {
        let port = self.port(from, to);
        self.routers[from].ends[port.index()].push = !excess;
        self.routers[from].greedy[port.index()] = excess;
        self.with(from, |detours, now, _, out| detours.demand(now, port, excess, out));
        self.pull(from);
    }

    fn set_up(&mut self, from: usize, to: usize, up: bool) {
        for (a, b) in [(from, to), (to, from)] {
            let port = self.port(a, b);
            self.routers[a].ends[port.index()].up = up;
            self.with(a, |detours, now, _, out| detours.on_link(now, port, up, out));
        }
    }

    fn set_cross(&mut self, from: usize, to: usize, mbps: u64) {
        let port = self.port(from, to);
        let gap = (mbps > 0).then(|| Rate::mbps(mbps.max(1)).span_of(u64::from(PACKET)));
        let started = core::mem::replace(&mut self.routers[from].ends[port.index()].cross, gap);
        if started.is_none() && gap.is_some() {
            self.schedule(self.now, from, port, Event::Cross(port));
        }
    }

    /// Everything that detours may send now leaves.
    fn pull(&mut self, node: usize) {
        for at in 0..self.routers[node].ends.len() {
            let via = PortId(at as u16);
            loop {
                let Router { detours, greedy, .. } = &mut self.routers[node];
                let mut due = detours.due_for(self.now, via);
                let Some(primary) = due.find(|primary| greedy[primary.index()]) else { break };
                drop(due);
                let target = detours.neighbour(primary).expect("a detour leads to a router");
                detours.charge(self.now, primary, via, PACKET);
                self.put(node, via, Event::Detoured { target });
            }
        }
    }

    fn run_until(&mut self, end: Time) {
        loop {
            let timeout = |(node, router): (usize, &Router)| {
                router.detours.next_timeout().map(|at| (at.max(self.now), node))
            };
            let timeout = self.routers.iter().enumerate().filter_map(timeout).min();
            let event = self.events.first_key_value().map(|(key, _)| key.0);
            let Some(next) = timeout.map(|(at, _)| at).into_iter().chain(event).min() else {
                break;
            };
            if next > end {
                break;
            }
            self.now = next;
            match (timeout, event) {
                (Some((at, node)), event) if event.is_none_or(|event| at < event) => {
                    self.with(node, |detours, now, view, out| detours.on_timeout(now, view, out));
                    self.pull(node);
                }
                _ => self.step(),
            }
        }
        self.now = end;
    }

    fn step(&mut self) {
        let (_, (node, port, event)) = self.events.pop_first().expect("the next event");
        match event {
            Event::Message(message) => {
                self.with(node, |detours, now, view, out| {
                    detours.on_message(now, port, message, view, out);
                });
                self.pull(node);
            }
            Event::Detoured { target } if target == id(node) => {
                self.routers[node].ends[port.index()].detoured_bytes += u64::from(PACKET);
            }
            Event::Detoured { target } => {
                let detours = &mut self.routers[node].detours;
                let onward = detours.port_to(target).expect("X is adjacent to D");
                detours.relayed(self.now, port, onward, PACKET);
                self.put(node, onward, Event::Detoured { target });
            }
            Event::Arrived => {}
            Event::Cross(port) => {
                if let Some(gap) = self.routers[node].ends[port.index()].cross {
                    self.put(node, port, Event::Arrived);
                    self.schedule(self.now + gap, node, port, Event::Cross(port));
                }
            }
        }
    }

    /// r of a detour in bit/s; None if there is no such detour.
    fn rate(&self, from: usize, via: usize, to: usize) -> Option<f64> {
        let (via, primary) = (self.port(from, via), self.port(from, to));
        let mut rates = self.routers[from].detours.rates();
        rates.find(|r| (r.0, r.1) == (primary, via)).map(|r| r.2 as f64)
    }

    /// Detours as (from, via, to).
    fn detours(&self) -> Vec<(usize, usize, usize)> {
        let mut all = Vec::new();
        for (node, router) in self.routers.iter().enumerate() {
            let far = |port: PortId| router.ends[port.index()].node;
            all.extend(router.detours.rates().map(|(to, via, _)| (node, far(via), far(to))));
        }
        all.sort_unstable();
        all
    }

    /// Mean and largest deviation of r from `expected`, relative, sampled each millisecond over
    /// `span`.
    fn deviation(&mut self, pair: (usize, usize, usize), expected: f64, span: Span) -> (f64, f64) {
        let (mut sum, mut worst, samples) = (0.0, 0.0f64, span.as_millis());
        for _ in 0..samples {
            self.run_until(self.now + Span::from_millis(1));
            let error = self.rate(pair.0, pair.1, pair.2).expect("a detour") / expected - 1.0;
            sum += error;
            worst = worst.max(error.abs());
        }
        (sum / samples as f64, worst)
    }
}

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

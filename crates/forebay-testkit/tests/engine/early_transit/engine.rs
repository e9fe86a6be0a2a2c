//! A driver of fabrics in a page: the simplest event list, with or without early transit, in one
//! partition or in two, and with any condition of early transit switched off.

use forebay_base::{Arena, LinkId, NodeId, Packet, Signature, Span, Time};
use forebay_net::{
    Conservation, Deadline, Driver, EventSpec, Fabric, FlowSpec, Guards, Horizon, Mail, NetSpec,
    Network, PacketEvent,
};
use forebay_sim::TraceSum;
use forebay_transport::{Progress, Role};
use std::collections::{BTreeSet, VecDeque};

/// How to run.
#[derive(Clone, Copy)]
pub struct Engine {
    /// Build the network for early transit, and give it horizons.
    pub early_transit: bool,
    /// The conditions that hold.
    pub guards: Guards,
    /// Count the packets that an observer sees.
    pub observe: bool,
    /// Nodes with an even and an odd number are in partitions of their own.
    pub divided: bool,
}

impl Engine {
    /// No early transit, and every link built the general way.
    pub const SIMPLE: Engine =
        Engine { early_transit: false, guards: Guards::ALL, observe: false, divided: false };
    /// Early transit with all its conditions.
    pub const AHEAD: Engine = Engine { early_transit: true, ..Engine::SIMPLE };
}

/// Far more than any run here needs.
const MAX_EVENTS: u64 = 3_000_000;

struct Alarms {
    pending: BTreeSet<(Time, Deadline)>,
    trace: TraceSum,
    engine: Engine,
    seen: u64,
}

impl Driver for Alarms {
    fn arm(&mut self, deadline: Deadline, at: Time) {
        self.pending.insert((at, deadline));
    }
    fn observes(&self) -> bool {
        self.engine.observe
    }
    fn looks_ahead(&self) -> bool {
        self.engine.early_transit
    }
    fn guards(&self) -> Guards {
        self.engine.guards
    }
    fn signs(&self) -> bool {
        true
    }
    fn passed(&mut self, at: Time, link: LinkId, signature: Signature, ttl: u8) {
        self.trace.arrived(at, link, signature, ttl);
    }
    fn observe(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena) {
        if let PacketEvent::Arrived(link) = event {
            self.trace.arrived(now, link, packet.signature(arena), packet.ttl());
            self.seen += u64::from(self.engine.observe);
        }
    }
}

/// What can be read off a run.
#[derive(Debug, PartialEq)]
pub struct Reading {
    pub trace_hash: u64,
    /// Arrivals that an observer was shown.
    pub seen: u64,
    /// When the run ended, if it has.
    pub end: Option<Time>,
    /// Packets sent, split, delivered, dropped and held.
    pub conservation: [u64; 5],
    pub flows: Vec<Option<Progress>>,
    pub links: Vec<String>,
}

impl Reading {
    /// The first that differs between two, in a line.
    pub fn difference(&self, other: &Reading) -> Option<String> {
        let brief = |r: &Reading| (r.trace_hash, r.seen, r.end, r.conservation);
        if brief(self) != brief(other) {
            return Some(format!("{:?}, not {:?}", brief(self), brief(other)));
        }
        let flows = self.flows.iter().zip(&other.flows).find(|(a, b)| a != b);
        let links = self.links.iter().zip(&other.links).find(|(a, b)| a != b);
        let flows = flows.map(|(a, b)| format!("{a:?}, not {b:?}"));
        flows.or_else(|| links.map(|(a, b)| format!("{a}, not {b}")))
    }
}

/// A run of one network.
pub struct Run {
    parts: Vec<Part>,
    owner: Vec<u16>,
    /// What leaves one part comes to the other no sooner than this.
    window: Span,
    /// When the run ends, once that is known.
    end: Option<Time>,
}

struct Part {
    fabric: Fabric<Alarms>,
    events: VecDeque<EventSpec>,
    horizon: Horizon,
    now: Time,
    handled: u64,
}

impl Part {
    fn next_time(&self) -> Time {
        let pending = self.fabric.driver.pending.first().map(|&(at, _)| at);
        let event = self.events.front().map(|event| event.at);
        pending.into_iter().chain(event).min().unwrap_or(Time::MAX)
    }
    /// All events up to and including `limit`; with `to_last_end` none after the last end of a
    /// flow.
    fn run(&mut self, limit: Time, to_last_end: bool) {
        while !(to_last_end && self.fabric.ends().1 == 0) {
            let next = self.next_time();
            if next > limit {
                return;
            }
            if next > self.now {
                self.now = next;
                if next >= self.horizon.review_at() {
                    self.horizon.review(&mut self.fabric, next);
                    continue;
                }
            }
            self.handled += 1;
            assert!(self.handled < MAX_EVENTS, "the clock stands still at {next}");
            if self.events.front().is_some_and(|event| event.at <= next)
                && let Some(event) = self.events.pop_front()
            {
                self.fabric.on_event(next, &event.event).expect("an event of the spec");
            } else {
                self.handle();
            }
        }
    }
    fn handle(&mut self) {
        let Some((_, deadline)) = self.fabric.driver.pending.pop_first() else { return };
        let (fabric, now) = (&mut self.fabric, self.now);
        match deadline {
            Deadline::Arrival(link) => {
                fabric.pass_arrival(now, link);
            }
            _ if !fabric.due(now, deadline) => {}
            Deadline::Transmitter(link) => fabric.on_transmitter(now, link),
            Deadline::Router(node) => fabric.on_router(now, node),
            Deadline::Socket(end) => {
                fabric.on_socket(now, end);
            }
        }
    }
}

impl Run {
    /// Nothing has happened yet.
    pub fn new(spec: &NetSpec, seed: u64, engine: Engine) -> Run {
        let network = Network::build_guarded(spec, seed, !engine.early_transit, engine.guards);
        let network = network.expect("a sound network");
        let driver =
            || Alarms { pending: BTreeSet::new(), trace: TraceSum::default(), engine, seen: 0 };
        let parts = if engine.divided { 2 } else { 1 };
        let owner: Vec<u16> = (0..spec.nodes.len()).map(|node| node as u16 % parts).collect();
        let fabrics = match parts {
            1 => vec![Fabric::whole(network, spec, driver())],
            _ => {
                let networks = network.split(spec, &owner, parts);
                Fabric::of_partitions(networks, spec, &owner, driver)
            }
        };
        let last_start = spec.flows.iter().filter_map(FlowSpec::known_start).max();
        let part = |(here, mut fabric): (u16, Fabric<Alarms>)| {
            fabric.start();
            let horizon = Horizon::new(&fabric, last_start.unwrap_or(Time::MAX));
            let mut events = match here {
                0 => spec.events.clone(),
                _ => Vec::new(),
            };
            events.sort_by_key(|event| event.at);
            Part { fabric, events: events.into(), horizon, now: Time::ZERO, handled: 0 }
        };
        let parts: Vec<Part> = (0..).zip(fabrics).map(part).collect();
        let window = spec.links.iter().map(|link| link.wire.delay).min().unwrap_or(Span::ZERO);
        Run { parts, owner, window, end: None }
    }
    /// No one looks before `look`.
    pub fn sample_not_before(&mut self, look: Time) {
        self.parts.iter_mut().for_each(|part| part.horizon.sample_not_before(look));
    }
    /// Run to `look`, or to the end of the run, and read.
    pub fn read(&mut self, spec: &NetSpec, look: Time) -> Reading {
        self.sample_not_before(look);
        match self.parts.as_mut_slice() {
            [part] => {
                part.run(look, true);
                let ended = part.fabric.ends().1 == 0;
                self.end = self.end.or_else(|| ended.then(|| round_up(part.fabric.last_ended())));
                if let Some(end) = self.end {
                    part.run(end.min(look), false);
                }
            }
            _ => self.run_windows(look),
        }
        let now = self.end.map_or(look, |end| end.min(look));
        let mut trace = TraceSum::default();
        self.parts.iter().for_each(|part| trace.add(part.fabric.driver.trace));
        let conservation = self.parts.iter().map(|part| part.fabric.conservation());
        let Conservation { sent, split, delivered, dropped, held, .. } =
            conservation.reduce(Conservation::with).expect("a part");
        let fabric = |node: NodeId| &self.parts[self.owner[node.index()] as usize].fabric;
        let ends = (0..)
            .map(forebay_base::FlowId)
            .zip(&spec.flows)
            .flat_map(|(id, flow)| [(flow.src, id, Role::Client), (flow.dst, id, Role::Server)]);
        let links = (0..).map(LinkId).zip(&spec.links).map(|(id, link)| {
            let link = fabric(link.from).link(id);
            // What is committed beyond `now` counts on one kind of link, and not on the other.
            let sent = (link.serialized_packets(now), link.transmitted_bytes(now));
            let stats = link.stats(now);
            let waits = (stats.waits.count(), stats.waits.mean(), stats.lost);
            format!("{sent:?} {waits:?} {:?} {}", link.busy(now), link.waiting_bytes(now))
        });
        Reading {
            trace_hash: trace.finish(),
            seen: self.parts.iter().map(|part| part.fabric.driver.seen).sum(),
            end: self.end,
            conservation: [sent, split, delivered, dropped, held],
            flows: ends
                .map(|(node, id, role)| fabric(node).connection(id, role).map(|c| c.progress()))
                .collect(),
            links: links.collect(),
        }
    }
    /// Both parts go through the same windows, and meet in between. The end of the run is not
    /// looked for.
    fn run_windows(&mut self, look: Time) {
        loop {
            let next = self.parts.iter().map(Part::next_time).min().expect("two parts");
            if next > look {
                return;
            }
            let end = look.min(next + self.window - Span::from_nanos(1));
            self.parts.iter_mut().for_each(|part| part.run(end, false));
            for (from, to) in [(0, 1), (1, 0)] {
                let mut mail = [Mail::default(), Mail::default()];
                self.parts[from].fabric.export(&mut mail);
                self.parts[to].fabric.import(&mut mail[to]);
            }
        }
    }
    /// Events that were handled ahead of time.
    pub fn ahead(&self) -> u64 {
        self.parts.iter().map(|part| part.fabric.early_transit_done().0).sum()
    }
}

/// The end of a run whose last flow ended at `last`: a time that does not depend on it closely.
fn round_up(last: Time) -> Time {
    let grid = 10_000_000;
    Time::from_nanos(last.as_nanos().div_ceil(grid) * grid)
}

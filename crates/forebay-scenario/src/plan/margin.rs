//! The margin rule: how much room a port needs above the backlog at which it asks those upstream to
//! slow down.
//!
//! A sender, or the router that holds for it, hears of the request with the next ACK of its flow.
//! What was sent until then still comes. At least this must fit (INRPP paper, section IV-E, which
//! has one upstream link and no ACKs to wait for):
//!
//! ```text
//! margin = (rates in - rate out)
//!          x (round trip upstream + longest round trip + packets on it + ACK spacing)
//!          + one packet per flow
//!          + what routers upstream have of flows that are notified on data
//! ```
//!
//! * **Rates in**: the links over which flows come that take the port; with detours that end here,
//!   and those round the link before. A link before which no backlog can form brings no more than
//!   the hosts that use it can send. ACKs of flows that go the other way take a share of the link,
//!   too.
//! * **Rate out**: what the flows of the port get at least, for it may be held for the sake of a
//!   link after it: each has its share of the link from the port on that gives it least.
//! * **Round trip upstream**: to the nearest node upstream that can hold, a router of the kind or
//!   the sender, with what already waits in the queues between; the longest of all flows.
//! * **Longest round trip**: of a path, from end to end. Not in the paper. The last ACK, or the
//!   SYN-ACK, of a flow that has nothing on the way passes just before the port asks: what it lets
//!   go comes a round trip upstream later, and the first ACK that carries the request when that has
//!   gone to its receiver and the ACK has come back. Until then the sender is in open loop.
//! * **Packets on it**: routers store and forward, so each link of the path takes the time of a
//!   packet; and its ACK may find one on the way back.
//! * **ACK spacing**: a round of all flows at the narrowest link from the port on, in which the
//!   first packet of those waits for its turn.
//!
//! * **Notified on data**: no router holds such a flow for another one, so what those upstream have
//!   of it comes as well: at most all that it has to send, or ten seconds of the rate out, the
//!   paper's cache. The round trip upstream is to the sender, with the queues from the port on.
//!
//! No more comes than the flows have to send. Flows that follow each other between the same hosts
//! count as one, all others as if they were there at once. Routes are those at the start; of rates
//! and delays that events change, the worst count.
//!
//! The backlog at which a port asks follows from the same terms. At half of it the request is taken
//! back, and the port must have something to send until those upstream are back: one round trip of
//! the longest path and one ACK spacing, at the rate at which its cache can drain. That is the rate
//! of the link and its detours, or of slower links after it: those that limit what its flows can
//! send together, a minimum cut of the tree of their paths. A link that follows a trace counts with
//! the rate that it has in its best twentieth of the time. And a quarter of the backlog must have
//! room for a packet of each flow: a flow that finds less comes late, and stays at one packet per
//! round trip. What of it is for flows that have nothing in the cache does not count: S_high falls
//! from that of all flows to what the longest path alone needs.

use super::trace_statistics::busy_bps;
use crate::resolve::routes::{asymmetric, shortest_paths};
use crate::{Channel, Flow, Link, LinkDirection, Scenario};
use forebay_base::{LinkId, NodeId, Span};
use forebay_net::NetEvent;
use forebay_queue::Limit;
use std::collections::{BTreeMap, BTreeSet};

/// The most of a queue that counts in a round trip: a longer one is not there to be filled.
const MAX_QUEUE: Span = Span::from_secs(1);
/// The cache of a port in the paper, at its rate.
const PAPER: Span = Span::from_secs(10);
/// Of the backlog at which a port asks, one in this many packets is of a flow.
const PACKETS_PER_FLOW: u64 = 4;

/// Most that an ACK has: headers of IPv6 and TCP, with all options.
const ACK_BYTES: u64 = 100;

/// Who waits where.
pub(crate) struct Waiting<'a> {
    /// Routers that hold.
    pub routers: &'a BTreeSet<NodeId>,
    /// True of a flow that they hold, and that slows down when it is asked.
    pub held: &'a dyn Fn(&Flow) -> bool,
    /// True of a flow that is notified on data, whatever its routes.
    pub notified: &'a dyn Fn(&Flow) -> bool,
    /// Payload and length of a full-sized packet.
    pub packet: (u64, u64),
    /// How long a detour may go on sending at the same rate; None: there are none.
    pub detours: Option<Span>,
}

/// The terms of the rule at one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Margin {
    /// Rates in.
    pub in_bps: u64,
    /// Rate out.
    pub out_bps: u64,
    /// To those upstream.
    pub round_trip: Span,
    pub ack_spacing: Span,
    pub flows: u64,
    pub packet_bytes: u64,
    /// All that the flows have to send.
    data_bytes: u64,
    /// The same of those that are notified on data and pass another router before.
    notified_bytes: u64,
    /// Of the port with its detours.
    pooled_bps: u64,
    /// What its flows can send together, with detours.
    pub drain_bps: u64,
    /// The same while channels are at their best.
    busy_bps: u64,
    /// Round trip of the longest path.
    pub path: Span,
    /// A packet at each link of a path, there and back.
    pub passing: Span,
}

impl Margin {
    /// From the request until nothing more comes than leaves.
    fn until_effect(&self) -> Span {
        self.round_trip + self.path + self.passing + self.ack_spacing
    }
    /// The room above the backlog at which the port asks.
    pub fn bytes(&self) -> u64 {
        let excess_bps = self.in_bps.saturating_sub(self.out_bps);
        let until_effect = bytes_in(excess_bps, self.until_effect());
        let packets = self.flows.saturating_mul(self.packet_bytes);
        let upstream = self.notified_bytes.min(bytes_in(self.out_bps, PAPER));
        until_effect
            .saturating_add(packets)
            .saturating_add(upstream)
            .min(self.data_bytes)
            .max(self.packet_bytes)
    }
    /// The backlog at which it asks: see the module.
    pub fn high_bytes(&self) -> u64 {
        let busy = bytes_in(self.busy_bps, self.path + self.ack_spacing).saturating_mul(2);
        busy.max(self.flows.saturating_mul(PACKETS_PER_FLOW * self.packet_bytes))
    }
    /// For how long the port holds what comes when it asks.
    pub fn depth(&self) -> Span {
        time_of(self.high_bytes(), self.drain_bps)
    }
    /// By how much it asks earlier for each flow that has no packet there.
    pub fn flow_bytes(&self) -> u64 {
        let path = bytes_in(self.busy_bps, self.path).saturating_mul(2);
        let without = path.max(PACKETS_PER_FLOW * self.packet_bytes);
        self.high_bytes().saturating_sub(without) / self.flows.max(1)
    }
}

fn bytes_in(bps: u64, span: Span) -> u64 {
    let bits = u128::from(bps) * u128::from(span.as_nanos()) / 1_000_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

/// The time that `bytes` take.
fn time_of(bytes: u64, bps: u64) -> Span {
    let ns = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(bps.max(1));
    Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX / 4))
}

/// One direction of a link at its worst.
struct Wire {
    most_bps: u64,
    least_bps: u64,
    /// By which the channel is faster at its best.
    peak_bps: u64,
    delay: Span,
    queue_bytes: u64,
}

impl Wire {
    /// Maximum size of its queue.
    fn waits(&self) -> Span {
        time_of(self.queue_bytes, self.most_bps).min(MAX_QUEUE)
    }
}

/// By directed link.
fn wires<'a>(scenario: &'a Scenario) -> Vec<Wire> {
    let sides = scenario.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
    // A trace takes long to generate, and links often share one: both directions at least.
    let mut known: Vec<(&Channel, u64)> = Vec::new();
    let mut busy_of = |channel| {
        if let Some((_, busy_bps)) = known.iter().find(|(other, _)| *other == channel) {
            return *busy_bps;
        }
        let busy_bps = best_bps(channel);
        known.push((channel, busy_bps));
        busy_bps
    };
    let wire = |one: &'a LinkDirection| Wire {
        most_bps: one.rate.bps(),
        least_bps: one.rate.bps(),
        peak_bps: busy_of(&one.channel).saturating_sub(one.rate.bps()),
        delay: one.wire.delay + one.wire.jitter,
        queue_bytes: match one.queue {
            Limit::Packets(packets) => packets.saturating_mul(u64::from(one.wire.mtu_bytes)),
            limit => limit.most(),
        },
    };
    let mut wires: Vec<Wire> = sides.map(wire).collect();
    for event in &scenario.events {
        match event.event {
            NetEvent::Rate(link, rate) => {
                let wire = &mut wires[link.index()];
                wire.most_bps = wire.most_bps.max(rate.bps());
                wire.least_bps = wire.least_bps.min(rate.bps());
            }
            NetEvent::Delay(link, delay) => {
                let wire = &mut wires[link.index()];
                wire.delay = wire.delay.max(delay);
            }
            _ => {}
        }
    }
    wires
}

/// The rate of a trace in its best twentieth of the time; of a trace that each seed generates, of
/// one of them. 0 if the channel follows none.
fn best_bps(channel: &Channel) -> u64 {
    match channel {
        Channel::Trace(file) => busy_bps(&file.trace),
        Channel::Generated(generated) => {
            busy_bps(&generated.generate(generated.seed.unwrap_or_default()))
        }
        Channel::Constant | Channel::Bucket { .. } => 0,
    }
}

/// The flows from one host to another.
#[derive(Clone, Copy, Default)]
struct Between {
    /// At once, held or not.
    all: u64,
    /// At once, of those that are held.
    held: u64,
    /// Load of those.
    data_bytes: u64,
    /// Load of those of them that are notified on data.
    notified_bytes: u64,
}

fn between(scenario: &Scenario, waiting: &Waiting<'_>) -> BTreeMap<(NodeId, NodeId), Between> {
    let flows = &scenario.flows;
    let asymmetric = asymmetric(scenario, flows.iter().filter(|flow| (waiting.held)(flow)));
    let mut followed = vec![false; flows.len()];
    for flow in flows {
        let after = flow.life.as_ref().and_then(|life| life.after);
        if let Some(first) = after.map(|after| after.flow.index()) {
            followed[first] |= (flows[first].src, flows[first].dst) == (flow.src, flow.dst);
        }
    }
    let (payload_bytes, packet_bytes) = waiting.packet;
    let mut pairs: BTreeMap<_, Between> = BTreeMap::new();
    for (flow, followed) in flows.iter().zip(followed) {
        let pair = pairs.entry((flow.dst, flow.src)).or_default();
        pair.all += u64::from(!followed);
        if (waiting.held)(flow) {
            pair.held += u64::from(!followed);
            let packets = flow.bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(payload_bytes.max(1)));
            let bytes = packets.saturating_mul(packet_bytes);
            pair.data_bytes = pair.data_bytes.saturating_add(bytes);
            if (waiting.notified)(flow) || asymmetric.contains(&[flow.src, flow.dst]) {
                pair.notified_bytes = pair.notified_bytes.saturating_add(bytes);
            }
        }
    }
    pairs
}

/// A way from one host to another, and what takes it.
struct Path {
    src: NodeId,
    links: Vec<LinkId>,
    flows: Between,
}

/// State of a port while paths are walked.
struct Port {
    margin: Margin,
    /// By link that leads here: the hosts that send over it, and at what rate; None: detours do.
    feeders: BTreeMap<LinkId, Option<BTreeMap<NodeId, u64>>>,
}

/// The terms at each port of the routers that flows take which they hold, by directed link.
pub(crate) fn margins(scenario: &Scenario, waiting: &Waiting<'_>) -> BTreeMap<LinkId, Margin> {
    let wires = wires(scenario);
    let mut routes = shortest_paths(scenario.routes, &scenario.nodes, &scenario.links);
    let mut pairs: Vec<_> = between(scenario, waiting).into_iter().collect();
    // Hosts of one router share the search.
    pairs.sort_by_key(|&((dst, src), _)| (routes.attachment(dst), dst, src));
    let mut paths: BTreeMap<(NodeId, Vec<LinkId>), Between> = BTreeMap::new();
    for tree in 0..scenario.routes.trees {
        for &((dst, src), flows) in &pairs {
            // Each of the paths may have all of them.
            if let Some(links) = routes.walk(src, dst, tree) {
                paths.insert((src, links), flows);
            }
        }
    }
    let path = |((src, links), flows)| Path { src, links, flows };
    let paths: Vec<Path> = paths.into_iter().map(path).collect();
    let mut users = vec![0u64; wires.len()];
    for path in &paths {
        path.links.iter().for_each(|link| users[link.index()] += path.flows.all);
    }
    let mut ports = BTreeMap::new();
    for path in paths.iter().filter(|path| path.flows.held > 0) {
        add(&mut ports, path, &wires, &users, waiting, scenario);
    }
    if let Some(reaction) = waiting.detours {
        add_detours(&mut ports, &wires, waiting.routers, &scenario.links, reaction);
    }
    add_drains(&mut ports, &paths, &wires);
    let acks_bps = |id: LinkId| match users[id.opposite().index()] {
        0 => 0,
        _ => wires[id.opposite().index()].most_bps / waiting.packet.1.max(1) * ACK_BYTES,
    };
    // Of the others nothing is known: they may send at any rate.
    let mut held = vec![0u64; wires.len()];
    for path in &paths {
        path.links.iter().for_each(|link| held[link.index()] += path.flows.held);
    }
    let others = |id: &LinkId| users[id.index()] > held[id.index()];
    let rates_in = rates_in(&ports, &wires, &acks_bps, &others);
    let total = |(id, port): (LinkId, Port)| {
        let in_bps = rates_in[&id];
        (id, Margin { in_bps, ..port.margin })
    };
    ports.into_iter().map(total).collect()
}

/// What may come to each port at once. Over a link before which a backlog can form its whole rate
/// may, whatever the hosts send: what has waited there leaves at that rate.
fn rates_in(
    ports: &BTreeMap<LinkId, Port>,
    wires: &[Wire],
    acks_bps: &dyn Fn(LinkId) -> u64,
    others: &dyn Fn(&LinkId) -> bool,
) -> BTreeMap<LinkId, u64> {
    let mut fed: BTreeMap<LinkId, Vec<LinkId>> = BTreeMap::new();
    for (&id, port) in ports {
        port.feeders.keys().for_each(|&feeder| fed.entry(feeder).or_default().push(id));
    }
    let mut backlogged: BTreeSet<LinkId> = ports.keys().copied().filter(others).collect();
    let rate_in = |id: LinkId, backlogged: &BTreeSet<LinkId>| {
        let rate = |(link, hosts): (&LinkId, &Option<BTreeMap<NodeId, u64>>)| {
            let most = wires[link.index()].most_bps;
            let hosts = hosts.as_ref().filter(|_| !backlogged.contains(link));
            hosts.map_or(most, |hosts| most.min(hosts.values().sum()))
        };
        ports[&id].feeders.iter().map(rate).sum::<u64>() + acks_bps(id)
    };
    let mut open: Vec<LinkId> = ports.keys().copied().collect();
    // Each is looked at again once for each of its feeders at most.
    while let Some(id) = open.pop() {
        let excess = rate_in(id, &backlogged) > wires[id.index()].least_bps;
        if excess && backlogged.insert(id) {
            open.extend(fed.get(&id).into_iter().flatten());
        }
    }
    ports.keys().map(|&id| (id, rate_in(id, &backlogged))).collect()
}

/// The node that a directed link leaves.
fn start(links: &[Link], id: LinkId) -> NodeId {
    let link = &links[id.index() / 2];
    if id.index().is_multiple_of(2) { link.a } else { link.b }
}

/// The rates at which the cache of each port can drain.
fn add_drains(ports: &mut BTreeMap<LinkId, Port>, paths: &[Path], wires: &[Wire]) {
    let mut from: BTreeMap<LinkId, BTreeSet<&[LinkId]>> = BTreeMap::new();
    for path in paths.iter().filter(|path| path.flows.held > 0) {
        for (k, id) in path.links.iter().enumerate().filter(|(_, id)| ports.contains_key(id)) {
            from.entry(*id).or_default().insert(&path.links[k..]);
        }
    }
    let pooled = |id: LinkId| {
        let port = ports.get(&id);
        port.map_or(wires[id.index()].most_bps, |port| port.margin.pooled_bps)
    };
    let best = |id: LinkId| pooled(id) + wires[id.index()].peak_bps;
    let drains = from.into_iter().map(|(id, paths)| {
        let paths: Vec<&[LinkId]> = paths.into_iter().collect();
        let drain = |bps: &dyn Fn(LinkId) -> u64| total_bps(&cut(&paths, bps), bps);
        (id, drain(&pooled), drain(&best))
    });
    for (id, drain_bps, busy_bps) in drains.collect::<Vec<_>>() {
        let margin = &mut ports.get_mut(&id).expect("it was found there").margin;
        (margin.drain_bps, margin.busy_bps) = (drain_bps, busy_bps);
    }
}

fn total_bps(links: &BTreeSet<LinkId>, bps: &dyn Fn(LinkId) -> u64) -> u64 {
    links.iter().fold(0, |sum, id| sum.saturating_add(bps(*id)))
}

/// The links that limit what can be sent over these paths, which are in order: of those that do,
/// the first. Where paths part and meet again, links count once.
fn cut(paths: &[&[LinkId]], bps: &dyn Fn(LinkId) -> u64) -> BTreeSet<LinkId> {
    let mut limits = BTreeSet::new();
    for group in paths.chunk_by(|a, b| a.first() == b.first()) {
        let Some(&first) = group[0].first() else { continue };
        let after: Vec<&[LinkId]> = group.iter().map(|path| &path[1..]).collect();
        let further = cut(&after, bps);
        if further.is_empty() || bps(first) <= total_bps(&further, bps) {
            limits.insert(first);
        } else {
            limits.extend(further);
        }
    }
    limits
}

/// Count the flows of a path at each port that they take.
fn add(
    ports: &mut BTreeMap<LinkId, Port>,
    path: &Path,
    wires: &[Wire],
    users: &[u64],
    waiting: &Waiting<'_>,
    scenario: &Scenario,
) {
    let packet_bytes = waiting.packet.1;
    let both_ways = |id: &LinkId| wires[id.index()].delay + wires[id.opposite().index()].delay;
    let passing = path.links.iter().flat_map(|id| [*id, id.opposite()]);
    let passing = passing.map(|id| time_of(packet_bytes, wires[id.index()].least_bps));
    let passing = passing.fold(Span::ZERO, |sum, time| sum + time);
    let round_trip = path.links.iter().fold(Span::ZERO, |sum, id| sum + both_ways(id));
    let holds = |k: usize| waiting.routers.contains(&start(&scenario.links, path.links[k]));
    let (mut share_bps, mut spacing) = (u64::MAX, Span::ZERO);
    for k in (1..path.links.len()).rev() {
        let id = path.links[k];
        let wire = &wires[id.index()];
        share_bps = share_bps.min(wire.least_bps / users[id.index()]);
        let round_bytes = users[id.index()].saturating_mul(packet_bytes);
        spacing = spacing.max(time_of(round_bytes, wire.least_bps));
        if !holds(k) {
            continue;
        }
        let before = (1..k).rev().find(|&j| holds(j));
        let notified_bytes = before.map_or(0, |_| path.flows.notified_bytes);
        let notified = path.flows.notified_bytes > 0;
        let nearest = before.filter(|_| !notified).unwrap_or(0);
        let waits = |j: usize| wires[path.links[j].index()].waits();
        let delays = path.links[nearest..k].iter().fold(Span::ZERO, |sum, id| sum + both_ways(id));
        let upstream = (nearest.max(1)..k).fold(delays, |sum, j| sum + waits(j));
        // A request on data waits in the queues after the port, too.
        let after = if notified { k + 1..path.links.len() } else { 0..0 };
        let upstream = after.fold(upstream, |sum, j| sum + waits(j));
        let port = ports.entry(id).or_insert_with(|| Port::new(wire, packet_bytes));
        port.margin.out_bps += share_bps * path.flows.held;
        port.margin.round_trip = port.margin.round_trip.max(upstream);
        port.margin.ack_spacing = port.margin.ack_spacing.max(spacing);
        port.margin.path = port.margin.path.max(round_trip);
        port.margin.passing = port.margin.passing.max(passing);
        port.margin.flows += path.flows.held;
        port.margin.data_bytes = port.margin.data_bytes.saturating_add(path.flows.data_bytes);
        port.margin.notified_bytes = port.margin.notified_bytes.saturating_add(notified_bytes);
        let feeder = port.feeders.entry(path.links[k - 1]).or_insert_with(|| Some(BTreeMap::new()));
        if let Some(hosts) = feeder {
            hosts.insert(path.src, wires[path.links[0].index()].most_bps);
        }
    }
}

impl Port {
    fn new(wire: &Wire, packet_bytes: u64) -> Port {
        let margin = Margin {
            in_bps: 0,
            out_bps: 0,
            round_trip: Span::ZERO,
            ack_spacing: Span::ZERO,
            flows: 0,
            packet_bytes,
            data_bytes: 0,
            notified_bytes: 0,
            pooled_bps: wire.most_bps,
            drain_bps: wire.most_bps,
            busy_bps: wire.most_bps + wire.peak_bps,
            path: Span::ZERO,
            passing: Span::ZERO,
        };
        Port { margin, feeders: BTreeMap::new() }
    }
}

/// Count detours of one hop, from `r` over `x` to `d`: the port of `r` to `d` has more to keep
/// busy, that of `x` to `d` gets more, and those of `d` further on get over `x` what comes over
/// `r`.
fn add_detours(
    ports: &mut BTreeMap<LinkId, Port>,
    wires: &[Wire],
    routers: &BTreeSet<NodeId>,
    links: &[Link],
    reaction: Span,
) {
    let mut out: BTreeMap<NodeId, BTreeMap<NodeId, LinkId>> = BTreeMap::new();
    for id in (0..wires.len() as u32).map(LinkId) {
        let (from, to) = (start(links, id), start(links, id.opposite()));
        if routers.contains(&from) && routers.contains(&to) {
            out.entry(from).or_default().entry(to).or_insert(id);
        }
    }
    let congested: Vec<LinkId> = ports.keys().copied().collect();
    let mut behind: BTreeMap<NodeId, Vec<LinkId>> = BTreeMap::new();
    congested.iter().for_each(|&id| behind.entry(start(links, id)).or_default().push(id));
    let mut led = Vec::new();
    for id in congested {
        let (r, d) = (start(links, id), start(links, id.opposite()));
        for (&x, &first) in out.get(&r).into_iter().flatten().filter(|&(&x, _)| x != d) {
            let Some(&second) = out.get(&x).and_then(|out| out.get(&d)) else { continue };
            let (first_wire, most) =
                (&wires[first.index()], |id: LinkId| wires[id.index()].most_bps);
            if let Some(port) = ports.get_mut(&id) {
                let more = most(first).min(most(second));
                port.margin.pooled_bps = port.margin.pooled_bps.saturating_add(more);
            }
            // Its queues may be full; who holds hears of it by the direct way.
            let waits = |id: LinkId| wires[id.index()].waits();
            let way = first_wire.delay + waits(first) + wires[second.index()].delay + waits(second);
            let around = way + wires[id.opposite().index()].delay;
            for next in behind.get(&d).into_iter().flatten() {
                if let Some(Some(hosts)) = ports.get(next).and_then(|port| port.feeders.get(&id)) {
                    led.push((*next, second, hosts.clone(), around));
                }
            }
            let Some(port) = ports.get_mut(&second) else { continue };
            port.feeders.insert(first, None);
            let upstream = first_wire.delay + wires[first.opposite().index()].delay + reaction;
            port.margin.round_trip = port.margin.round_trip.max(upstream);
        }
    }
    for (next, second, hosts, around) in led {
        let Some(port) = ports.get_mut(&next) else { continue };
        port.margin.round_trip = port.margin.round_trip.max(around);
        if let Some(known) = port.feeders.entry(second).or_insert_with(|| Some(BTreeMap::new())) {
            known.extend(hosts);
        }
    }
}

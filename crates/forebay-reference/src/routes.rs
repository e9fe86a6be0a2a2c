//! From a network of packets to one of fluid: routes, weights, detours, and the times that fluid
//! does not know.

use super::load::{Detour, Use};
use super::packet_cost::PacketCost;
use super::sharing::{Change, Fluid, FluidFlow};
use super::{Mode, NoReference};
use forebay_base::{IpVersion, LinkId, NodeId, PortId, Rate, Span, Time};
use forebay_net::{
    ChannelSpec, FlowSpec, ForwardingSpec, NetEvent, NetSpec, Network, NodeKind, PathPlan,
};
use std::collections::BTreeMap;

/// The directed links from sender to receiver, and back.
struct Route {
    there: Vec<LinkId>,
    back: Vec<LinkId>,
}

/// What flows on one route have in common: ends, transport, their own number if each has routes of
/// its own, and the ports of their paths.
type Between<'a> = (NodeId, NodeId, usize, u32, &'a [(PortId, PortId)]);

/// Most routes over several paths: each time that rates change, all of them are in one program.
const MAX_SPLIT_ROUTES: usize = 64;

/// What holds on a link from a time on.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    from_s: f64,
    delay_s: f64,
    bytes_per_s: f64,
}

/// The fluid of a spec, and what is added to its times.
pub(super) struct Setting {
    pub fluid: Fluid,
    /// By transport.
    pub costs: Vec<PacketCost>,
    /// Why the fluid is not what the links carry; empty if it is.
    pub approximate: &'static str,
    /// The paths of each route.
    routes: Vec<Vec<Route>>,
    epochs: Vec<Vec<Epoch>>,
    overhead_bytes: Vec<f64>,
}

pub(super) fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

pub(super) fn clock_seconds(at: Time) -> f64 {
    seconds(at.since(Time::ZERO))
}

fn bytes_per_s(rate: Rate) -> f64 {
    rate.bps() as f64 / 8.0
}

impl Setting {
    /// The fluid of `spec`; `network` is built from it. `modes` and `costs` are by transport.
    pub fn new(
        spec: &NetSpec,
        network: &Network,
        modes: &[Mode],
        costs: Vec<PacketCost>,
    ) -> Result<Setting, NoReference> {
        let (epochs, changes) = epochs(spec)?;
        let mut setting = Setting {
            fluid: Fluid {
                capacity: epochs.iter().map(|link| link[0].bytes_per_s).collect(),
                changes,
                ..Fluid::default()
            },
            costs,
            approximate: approximate(spec),
            routes: Vec::new(),
            epochs,
            overhead_bytes: spec.links.iter().map(|l| f64::from(l.wire.overhead_bytes)).collect(),
        };
        setting.fluid.detours = setting.detours(spec, modes);
        let mut known: BTreeMap<Between<'_>, u32> = BTreeMap::new();
        for (flow, id) in spec.flows.iter().zip(0..) {
            let alone = if spec.routes.trees > 1 { id } else { 0 };
            let key = (flow.src, flow.dst, flow.transport, alone, &flow.paths[..]);
            let route = *known.entry(key).or_insert_with(|| {
                let pooled = modes[flow.transport] == Mode::Pooled;
                setting.add_route(Route::all(spec, network, id), spec, flow.transport, pooled)
            });
            if flow.write().is_some() {
                return Err(NoReference("a flow writes over time: the fluid has all at once"));
            }
            setting.add(flow, route);
        }
        match setting.fluid.others.len() {
            1.. if !setting.fluid.detours.is_empty() => {
                Err(NoReference("flows over several paths run beside flows with detours"))
            }
            0..=MAX_SPLIT_ROUTES => Ok(setting),
            _ => Err(NoReference("more than 64 pairs of hosts have several paths")),
        }
    }

    /// Its number.
    fn add_route(
        &mut self,
        paths: Vec<Route>,
        spec: &NetSpec,
        transport: usize,
        pooled: bool,
    ) -> u32 {
        let number = self.routes.len() as u32;
        let mut uses = paths.iter().map(|path| self.uses(spec, path, transport, pooled));
        let first = uses.next().expect("a flow has a path");
        let others: Vec<Vec<Use>> = uses.collect();
        self.fluid.routes.push(first);
        if !others.is_empty() {
            self.fluid.others.insert(number, others);
        }
        self.routes.push(paths);
        number
    }

    fn add(&mut self, flow: &FlowSpec, route: u32) {
        let bytes = flow.bytes.map(|bytes| self.costs[flow.transport].full_sized(bytes));
        let until_s = flow.stop().map_or(f64::INFINITY, clock_seconds);
        let from_s = match flow.known_start().map(clock_seconds) {
            Some(start_s) => start_s + self.handshake_s(route, flow.transport, start_s),
            None => f64::INFINITY,
        };
        self.fluid.flows.push(FluidFlow { from_s, until_s, bytes, route });
    }

    /// From the SYN of a flow at `start_s` until its sender may send: the round trip of the
    /// handshake, in seconds.
    fn handshake_s(&self, route: u32, transport: usize, start_s: f64) -> f64 {
        let (cost, route) = (self.costs[transport], &self.routes[route as usize][0]);
        let there = self.crossing_s(&route.there, start_s, cost.syn_bytes);
        there + self.crossing_s(&route.back, start_s + there, cost.syn_ack_bytes)
    }
    /// The same for a flow.
    pub fn handshake_of_s(&self, flow: usize, spec: &FlowSpec, start_s: f64) -> f64 {
        self.handshake_s(self.fluid.flows[flow].route, spec.transport, start_s)
    }
    /// When the sender of a flow that was served until `at_s` knows that both ends are closed, in
    /// seconds: FIN goes with the last byte, and that of the receiver with its ACK.
    pub fn closed_s(&self, flow: usize, spec: &FlowSpec, at_s: f64) -> f64 {
        let arrived_s = at_s + self.last_byte_s(flow, spec, at_s);
        let route = &self.routes[self.fluid.flows[flow].route as usize][0];
        arrived_s + self.crossing_s(&route.back, arrived_s, self.costs[spec.transport].ack_bytes)
    }

    /// Bytes that a flow delivers for each byte of fluid: less than 1 where its last packet is
    /// short.
    pub fn density(&self, flow: &FlowSpec) -> f64 {
        let fluid = |bytes: u64| self.costs[flow.transport].full_sized(bytes);
        flow.bytes.filter(|&bytes| bytes > 0).map_or(1.0, |bytes| bytes as f64 / fluid(bytes))
    }

    /// From the end of service at `at_s` to the arrival of the last byte, in seconds: propagation,
    /// the first packet on its way to the last of the narrowest links, whose own time is the
    /// service, and after it the last packet, which may be shorter than the one before it and then
    /// waits for that. This is exact for a flow alone. Over several paths it is the mean of theirs,
    /// by what the narrowest link of each carries: then what each path carries ends at once.
    pub fn last_byte_s(&self, flow: usize, spec: &FlowSpec, at_s: f64) -> f64 {
        // An unbounded flow that stops ends with a full packet.
        let most = spec.stop().map(|_| u64::from(u32::MAX));
        let Some(bytes) = spec.bytes.or(most).filter(|&bytes| bytes > 0) else { return 0.0 };
        let paths = self.routes[self.fluid.flows[flow].route as usize].iter();
        let each = paths.map(|path| self.last_byte_on_s(path, spec.transport, bytes, at_s));
        let (sum, rates) =
            each.fold((0.0, 0.0), |(sum, rates), (s, rate)| (sum + s * rate, rates + rate));
        if rates > 0.0 { sum / rates } else { f64::INFINITY }
    }

    /// The same over one path, and the rate of its narrowest link.
    fn last_byte_on_s(&self, route: &Route, transport: usize, bytes: u64, at_s: f64) -> (f64, f64) {
        let cost = &self.costs[transport];
        let [first, last] = cost.first_and_last(bytes);
        let rate = |link: &LinkId| self.at(*link, at_s).bytes_per_s;
        let slowest = route.there.iter().map(rate).fold(f64::INFINITY, f64::min);
        let narrow = route.there.iter().rposition(|link| rate(link) == slowest);
        let (to, from) = route.there.split_at(narrow.expect("a route has links"));
        let (narrow, behind) = from.split_first().expect("the narrow link comes first");
        let mut end_s = 0.0;
        let alone = cost.payload_bytes >= bytes as f64;
        let mut end_before_s =
            if alone { f64::NEG_INFINITY } else { -self.storing_s(*narrow, at_s, last) };
        for &link in behind {
            end_before_s += self.storing_s(link, at_s, first);
            end_s = f64::max(end_s, end_before_s) + self.storing_s(link, at_s, last);
        }
        let s = self.crossing_s(to, at_s, first)
            + self.at(*narrow, at_s).delay_s
            + end_s
            + behind.iter().map(|&link| self.at(link, at_s).delay_s).sum::<f64>();
        (s, slowest)
    }

    /// Propagation and storing of one packet.
    fn crossing_s(&self, links: &[LinkId], at_s: f64, bytes: f64) -> f64 {
        let one = |&link: &LinkId| self.at(link, at_s).delay_s + self.storing_s(link, at_s, bytes);
        links.iter().map(one).sum()
    }

    fn storing_s(&self, link: LinkId, at_s: f64, bytes: f64) -> f64 {
        (bytes + self.overhead_bytes[link.index()]) / self.at(link, at_s).bytes_per_s
    }

    fn at(&self, link: LinkId, at_s: f64) -> Epoch {
        let all = &self.epochs[link.index()];
        let after = all.partition_point(|epoch| epoch.from_s <= at_s);
        all[after.max(1) - 1]
    }

    fn uses(&self, spec: &NetSpec, route: &Route, transport: usize, pooled: bool) -> Vec<Use> {
        let cost = &self.costs[transport];
        let mut sums: BTreeMap<u32, Use> = BTreeMap::new();
        let none = |link: LinkId| Use { link: link.0, weight: 0.0, detourable: 0.0, acks: true };
        for &link in &route.there {
            let sum = sums.entry(link.0).or_insert(none(link));
            sum.acks = false;
            sum.weight += cost.data_weight(self.overhead_bytes[link.index()]);
            if pooled && between_routers(spec, link) {
                sum.detourable += cost.data_weight(0.0);
            }
        }
        for &link in &route.back {
            let ack = cost.ack_weight(self.overhead_bytes[link.index()]);
            sums.entry(link.0).or_insert(none(link)).weight += ack;
        }
        sums.into_values().collect()
    }

    /// Detours u-x-v of every link u-v between routers, x a router next to both, that the routers
    /// know: u asks x, which answers, and all three are of one kind. Over IPv6 there are none: the
    /// tag is an option of IPv4.
    fn detours(&self, spec: &NetSpec, modes: &[Mode]) -> Vec<Detour> {
        if spec.version == IpVersion::V6 {
            return Vec::new();
        }
        let pooled = modes.iter().zip(&self.costs).filter(|(mode, _)| **mode == Mode::Pooled);
        let longest = |a: &PacketCost, b: &PacketCost| a.data_bytes.total_cmp(&b.data_bytes);
        let Some(cost) = pooled.map(|(_, cost)| *cost).max_by(longest) else { return Vec::new() };
        let mut from: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
        let mut between: BTreeMap<(NodeId, NodeId), Vec<u32>> = BTreeMap::new();
        let inner = (0..spec.links.len() as u32).filter(|&l| between_like(spec, LinkId(l)));
        for id in inner.clone() {
            let link = &spec.links[id as usize];
            from.entry(link.from).or_default().push(id);
            between.entry((link.from, link.to)).or_default().push(id);
        }
        let per_byte = |link: u32, tag: f64| {
            (cost.data_bytes + tag + self.overhead_bytes[link as usize]) / cost.data_bytes
        };
        let mut detours = Vec::new();
        for id in inner {
            let link = &spec.links[id as usize];
            for &first in from.get(&link.from).into_iter().flatten() {
                let x = spec.links[first as usize].to;
                if x == link.to || x == link.from || !both_detour(spec, link.from, x) {
                    continue;
                }
                for &second in between.get(&(x, link.to)).into_iter().flatten() {
                    detours.push(Detour {
                        link: id,
                        legs: [first, second],
                        relief: per_byte(id, 0.0),
                        cost: [first, second].map(|leg| per_byte(leg, cost.detour_bytes)),
                    });
                }
            }
        }
        detours
    }
}

/// Why the fluid of `spec` is not what its links carry; empty if it is.
fn approximate(spec: &NetSpec) -> &'static str {
    let any = |is: fn(&ChannelSpec) -> bool| spec.links.iter().any(|link| is(&link.channel));
    if any(|channel| matches!(channel, ChannelSpec::Trace { .. })) {
        "links that follow a trace count with their mean rate"
    } else if any(|channel| matches!(channel, ChannelSpec::Bucket(_))) {
        "links with a token bucket count with their rate, without bursts"
    } else {
        ""
    }
}

fn router(spec: &NetSpec, node: NodeId) -> Option<&ForwardingSpec> {
    match &spec.nodes[node.index()].kind {
        NodeKind::Router(forwarding) => Some(forwarding),
        NodeKind::Host => None,
    }
}

fn between_routers(spec: &NetSpec, link: LinkId) -> bool {
    let link = &spec.links[link.index()];
    router(spec, link.from).is_some() && router(spec, link.to).is_some()
}

/// The same, of one kind: they may speak with each other.
fn between_like(spec: &NetSpec, link: LinkId) -> bool {
    let link = &spec.links[link.index()];
    let (from, to) = (router(spec, link.from), router(spec, link.to));
    from.zip(to).is_some_and(|(from, to)| from.is_same_kind(to))
}

fn both_detour(spec: &NetSpec, u: NodeId, x: NodeId) -> bool {
    [u, x].iter().all(|node| router(spec, *node).is_some_and(ForwardingSpec::detours))
}

impl Route {
    /// The links that packets of a flow take on each of its paths.
    fn all(spec: &NetSpec, network: &Network, flow: u32) -> Vec<Route> {
        let paths = network.workload.paths(forebay_base::FlowId(flow)).iter();
        paths.map(|path| Route::of(spec, network, flow, path)).collect()
    }

    /// As routers forward them. Panics if there is no route: `network` would not have been built.
    fn of(spec: &NetSpec, network: &Network, flow: u32, path: &PathPlan) -> Route {
        let (src, dst) = (spec.flows[flow as usize].src, spec.flows[flow as usize].dst);
        let walk = |from: NodeId, port, to: NodeId, ends| {
            let mut links = vec![network.ports.link(from, port)];
            loop {
                let at = spec.links[links[links.len() - 1].index()].to;
                if at == to {
                    return links;
                }
                assert!(links.len() <= spec.nodes.len(), "routes have no loops");
                let next = network.routes.port(at, ends).expect("routes were checked");
                links.push(network.ports.link(at, next));
            }
        };
        Route {
            there: walk(src, path.src.1, dst, [path.src.0, path.dst.0]),
            back: walk(dst, path.dst.1, src, [path.dst.0, path.src.0]),
        }
    }
}

/// What holds on each link from when on, and when its capacity changes. What a router loses when it
/// restarts, and what is lost on wires, is not the affair of the reference.
fn epochs(spec: &NetSpec) -> Result<(Vec<Vec<Epoch>>, Vec<Change>), NoReference> {
    let start = |link: &forebay_net::LinkSpec| {
        let rate = match &link.channel {
            ChannelSpec::Constant(rate) => *rate,
            ChannelSpec::Trace { trace, .. } => trace.mean_rate(),
            ChannelSpec::Bucket(bucket) => bucket.rate,
        };
        let (delay_s, bytes_per_s) = (seconds(link.wire.delay), bytes_per_s(rate));
        vec![Epoch { from_s: 0.0, delay_s, bytes_per_s }]
    };
    let mut epochs: Vec<Vec<Epoch>> = spec.links.iter().map(start).collect();
    let mut up = vec![true; spec.links.len()];
    let mut changes = Vec::new();
    for event in &spec.events {
        let at_s = clock_seconds(event.at);
        let link = match event.event {
            NetEvent::Rate(link, _)
            | NetEvent::Delay(link, _)
            | NetEvent::Up(link)
            | NetEvent::Down(link) => link,
            NetEvent::Loss(..)
            | NetEvent::Restart(_)
            | NetEvent::Forge(_)
            | NetEvent::Replay(_) => continue,
            NetEvent::Route { .. } => return Err(NoReference("routes change during the run")),
        };
        let mut epoch = *epochs[link.index()].last().expect("a link has a beginning");
        epoch.from_s = at_s;
        match event.event {
            NetEvent::Rate(_, rate) => epoch.bytes_per_s = bytes_per_s(rate),
            NetEvent::Delay(_, delay) => epoch.delay_s = seconds(delay),
            NetEvent::Up(_) => up[link.index()] = true,
            _ => up[link.index()] = false,
        }
        epochs[link.index()].push(epoch);
        let capacity = if up[link.index()] { epoch.bytes_per_s } else { 0.0 };
        changes.push(Change { at_s, link: link.0, capacity });
    }
    Ok((epochs, changes))
}

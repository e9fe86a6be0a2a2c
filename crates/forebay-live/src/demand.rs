//! Whether a machine can run a scenario in real time: how many packets its nodes have to pass on,
//! and how many their threads can.
//!
//! What a node has to pass on is estimated with a fluid: at every moment the flows that have
//! started share the links max-min fair, each as fast as its path allows. That is what congestion
//! control tends to; what it sends besides (retransmissions, detours) comes on top. So a scenario
//! that is refused is too fast, and one that is not may still be: then its run ends when its
//! machines are too far behind ([`TooSlow`](crate::TooSlow)).

use crate::plan::LivePlan;
use crate::turn::MAX_LAG;
use forebay_base::{Endpoint, FlowId, IpVersion, LinkId, NodeId, PortId, Rate, Time};
use forebay_net::{FlowSpec, NetEvent, NetSpec, Network};

/// Pieces of time with the same flows that are looked at; a run that is too fast is so early.
const MAX_PIECES: usize = 4096;
/// Below this share of a rate nothing is left to be given out.
const ROUNDING: f64 = 1e-9;

/// What threads can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Packets that a thread can pass on in a second, if it has a core for itself.
    pub per_thread_pps: f64,
    /// Cores that threads share.
    pub cores: usize,
}

impl Capacity {
    /// What every machine of this century can do, with a system call for each packet.
    pub fn surely(cores: usize) -> Capacity {
        Capacity { per_thread_pps: 20_000.0, cores }
    }
}

/// A scenario has to pass on more packets than can be passed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// The node; None: all of them together, which share the cores.
    pub node: Option<NodeId>,
    /// Packets in a second that it has to pass on.
    pub needed_pps: f64,
    /// Packets in a second that it can pass on.
    pub possible_pps: f64,
    /// From when on.
    pub from: Time,
}

/// What the nodes of a run have to do.
pub struct Demand {
    sources: Vec<Source>,
    /// By link: bytes in a second, the most that it ever carries.
    link_bytes_per_s: Vec<f64>,
    nodes: usize,
    end_s: f64,
}

/// One path of a flow.
#[derive(Clone)]
struct Source {
    /// The links of its data.
    links: Vec<LinkId>,
    /// Nodes that have to do with it, and how many packets for each one of data.
    nodes: Vec<(NodeId, f64)>,
    from_s: f64,
    until_s: f64,
    /// What it sends, with headers.
    bytes: f64,
    /// It never sends faster.
    most_bytes_per_s: f64,
    packet_bytes: f64,
}

/// ACKs for each packet of data: every second one is acknowledged (RFC 9293).
const ACKS: f64 = 0.5;
/// Of TCP with timestamps.
const TCP_BYTES: u16 = 32;

impl Demand {
    /// Of a run; `network` is built of its spec. Flows that follow others are left out: they take
    /// the place of those.
    pub fn of(plan: &LivePlan<'_>, network: &Network) -> Demand {
        let spec = plan.spec;
        let is_ours = |node: &NodeId| !plan.kernel_hosts.contains_key(node);
        let mut sources = Vec::new();
        for (id, flow) in (0..).map(FlowId).zip(&spec.flows) {
            let Some(start) = flow.known_start() else { continue };
            let paths = network.workload.paths(id);
            for path in paths {
                let ends = [path.src.0, path.dst.0];
                let there = route(spec, network, flow.src, path.src.1, flow.dst, ends);
                let back = [path.dst.0, path.src.0];
                let back = route(spec, network, flow.dst, path.dst.1, flow.src, back);
                let touched = |links: &[LinkId], first: NodeId, each: f64| {
                    let to = links.iter().map(|link| spec.links[link.index()].to);
                    [first].into_iter().chain(to).filter(is_ours).map(|n| (n, each)).collect()
                };
                let mut nodes: Vec<(NodeId, f64)> = touched(&there, flow.src, 1.0);
                nodes.extend::<Vec<_>>(touched(&back, flow.dst, ACKS));
                let packet_bytes = packet_bytes(spec, flow);
                let factor = packet_bytes / mss_bytes(spec, flow);
                let share = factor / paths.len() as f64;
                let rate = flow.write().and_then(|writing| writing.rate);
                sources.push(Source {
                    links: there,
                    nodes,
                    from_s: start.as_secs_f64(),
                    until_s: flow.stop().map_or(f64::INFINITY, Time::as_secs_f64),
                    bytes: flow.bytes.map_or(f64::INFINITY, |bytes| bytes as f64 * share),
                    most_bytes_per_s: rate.map_or(f64::INFINITY, |r| bytes_per_s(r) * factor),
                    packet_bytes,
                });
            }
        }
        let link_bytes_per_s = fastest(spec);
        let (nodes, end_s) = (spec.nodes.len(), plan.end.as_secs_f64());
        Demand { sources, link_bytes_per_s, nodes, end_s }
    }

    /// The first place that would be too far behind to go on; None if there is none.
    pub fn overload(&self, capacity: Capacity) -> Option<Overload> {
        let Capacity { per_thread_pps, cores } = capacity;
        let whole_pps = per_thread_pps * cores as f64;
        let mut behind_s = vec![0.0; self.nodes + 1];
        let mut left: Vec<f64> = self.sources.iter().map(|source| source.bytes).collect();
        let mut now_s = 0.0;
        for _ in 0..MAX_PIECES {
            let rates = self.rates(now_s, &left);
            let until_s = self.next_change(now_s, &left, &rates).min(self.end_s);
            if until_s <= now_s {
                return None;
            }
            let piece_s = until_s - now_s;
            for (number, needed_pps) in self.needed(&rates).into_iter().enumerate() {
                let is_node = number < self.nodes;
                let possible_pps = if is_node { per_thread_pps } else { whole_pps };
                let behind = &mut behind_s[number];
                *behind = (*behind + (needed_pps / possible_pps - 1.0) * piece_s).max(0.0);
                if *behind > MAX_LAG.as_secs_f64() {
                    let node = is_node.then_some(NodeId(number as u32));
                    let from = Time::from_nanos((now_s * 1e9) as u64);
                    return Some(Overload { node, needed_pps, possible_pps, from });
                }
            }
            for (left, rate) in left.iter_mut().zip(&rates) {
                // Less than a byte is a matter of rounding.
                *left = (*left - rate * piece_s).max(0.0);
                if *left < 1.0 {
                    *left = 0.0;
                }
            }
            now_s = until_s;
        }
        None
    }

    /// By node, and for all of them together: packets in a second.
    fn needed(&self, rates: &[f64]) -> Vec<f64> {
        let mut needed = vec![0.0; self.nodes + 1];
        for (source, rate) in self.sources.iter().zip(rates) {
            for (node, each) in &source.nodes {
                let pps = rate / source.packet_bytes * each;
                needed[node.index()] += pps;
                needed[self.nodes] += pps;
            }
        }
        needed
    }

    fn is_active(source: &Source, now_s: f64, left: f64) -> bool {
        source.from_s <= now_s && now_s < source.until_s && left > 0.0
    }
    /// When a flow starts, stops or has sent all.
    fn next_change(&self, now_s: f64, left: &[f64], rates: &[f64]) -> f64 {
        let each = self.sources.iter().zip(left.iter().zip(rates));
        let changes = each.map(|(source, (&left, &rate))| match () {
            () if source.from_s > now_s => source.from_s,
            () if !Self::is_active(source, now_s, left) || rate <= 0.0 => f64::INFINITY,
            () => source.until_s.min(now_s + left / rate),
        });
        changes.fold(f64::INFINITY, f64::min)
    }
    /// Max-min fair shares of the links, in bytes per second: all rates grow alike; those of a link
    /// that is full stay.
    fn rates(&self, now_s: f64, left: &[f64]) -> Vec<f64> {
        let mut rates = vec![0.0; self.sources.len()];
        let mut growing: Vec<usize> = (0..self.sources.len())
            .filter(|&number| Self::is_active(&self.sources[number], now_s, left[number]))
            .collect();
        let mut free = self.link_bytes_per_s.clone();
        let mut users = vec![0u32; free.len()];
        let mut level = 0.0;
        while !growing.is_empty() {
            users.fill(0);
            for &number in &growing {
                self.sources[number].links.iter().for_each(|link| users[link.index()] += 1);
            }
            let shares = users.iter().zip(&free).filter(|(users, _)| **users > 0);
            let most = shares.map(|(users, free)| free / f64::from(*users));
            let caps = growing.iter().map(|&number| self.sources[number].most_bytes_per_s - level);
            let step = most.chain(caps).fold(f64::INFINITY, f64::min).max(0.0);
            level += step;
            free.iter_mut().zip(&users).for_each(|(free, users)| *free -= step * f64::from(*users));
            let before = growing.len();
            growing.retain(|&number| {
                let source = &self.sources[number];
                let is_full = |link: &LinkId| {
                    free[link.index()] <= self.link_bytes_per_s[link.index()] * ROUNDING
                };
                let stays = source.links.iter().any(is_full)
                    || source.most_bytes_per_s <= level * (1.0 + ROUNDING);
                rates[number] = level;
                !stays
            });
            assert!(growing.len() < before, "a link is full, or a flow at its most");
        }
        rates
    }
}

fn bytes_per_s(rate: Rate) -> f64 {
    rate.bps() as f64 / 8.0
}

fn mss_bytes(spec: &NetSpec, flow: &FlowSpec) -> f64 {
    f64::from(spec.transports[flow.transport].config.mss_bytes)
}

/// A full packet, with its headers.
fn packet_bytes(spec: &NetSpec, flow: &FlowSpec) -> f64 {
    let ip_bytes = match spec.version {
        IpVersion::V4 => 20,
        IpVersion::V6 => 40,
    };
    mss_bytes(spec, flow) + f64::from(ip_bytes + TCP_BYTES)
}

/// By link: bytes in a second, at its start or after an event.
fn fastest(spec: &NetSpec) -> Vec<f64> {
    let mut rates: Vec<f64> =
        spec.links.iter().map(|link| bytes_per_s(link.channel.rate())).collect();
    for event in &spec.events {
        if let NetEvent::Rate(link, rate) = event.event {
            rates[link.index()] = rates[link.index()].max(bytes_per_s(rate));
        }
    }
    rates
}

/// The links from a port of a node to another, as routers forward. `network` was built: there is a
/// route, and it has no loops.
fn route(
    spec: &NetSpec,
    network: &Network,
    from: NodeId,
    port: PortId,
    to: NodeId,
    ends: [Endpoint; 2],
) -> Vec<LinkId> {
    let mut links = vec![network.ports.link(from, port)];
    loop {
        let at = spec.links[links[links.len() - 1].index()].to;
        if at == to {
            return links;
        }
        let next = network.routes.port(at, ends).expect("routes were checked");
        links.push(network.ports.link(at, next));
    }
}

//! Default buffers of the preset `modern`: as large as the paths of the flows need.
//!
//! A flow that has all of its path has in flight what the path holds: the product of its least rate
//! and its round-trip time (BDP), and what waits in queues in front of links no faster than those
//! before them. While a lost segment is retransmitted, which takes a round trip more, as much again
//! is sent and not acknowledged, and held by the receiver: hence twice that, or the length of the
//! flow if that is less. All flows of a scenario share one configuration, so the largest of their
//! needs counts, at least the 4 MiB of the preset and at most 2^30 bytes.
//!
//! Of a link that events change, the highest rate and the longest delay count. Routes are those at
//! the start. A queue counts with no more than what its link sends in a second: with a longer queue
//! the buffers limit the flow, and a note says so.

use crate::keys::tcp::Tcp;
use crate::resolve::routes::shortest_paths;
use crate::resolve::topology::Topology;
use crate::{Flow, Link};
use forebay_base::{LinkId, NodeId, Rate, Span};
use forebay_net::{EventSpec, NetEvent, RouteRule};
use forebay_queue::Limit;
use forebay_transport::TcpConfig;
use std::collections::BTreeMap;

/// The preset whose buffers follow the path: the first of the table.
const PRESET: &str = "modern";
/// Times that what the path holds may be sent and not acknowledged: while it is full, and while a
/// loss is repaired.
const TIMES: u64 = 2;
/// No flow of that length needs more than the preset has.
const ENOUGH_BYTES: u64 = 4 << 20;
/// The most of a queue that counts, at the rate of its link.
const MAX_QUEUE: Span = Span::from_secs(1);

/// Raise those buffers of `config` that `table`, which stands on a preset, leaves to `modern`.
pub(crate) fn follow(needed: &mut Needed<'_>, table: &Tcp, config: &mut TcpConfig) {
    if table.preset.as_ref().is_some_and(|name| name.value != PRESET) {
        return;
    }
    if table.given("receive_buffer_bytes").is_none() {
        config.receive_buffer_bytes = config.receive_buffer_bytes.max(needed.bytes());
    }
    if table.given("send_buffer_bytes").is_none() {
        config.send_buffer_bytes = config.send_buffer_bytes.max(needed.bytes());
    }
}

/// Required buffer sizes of the flows of a scenario, computed on first use.
pub(crate) struct Needed<'a> {
    topology: &'a Topology,
    routes: RouteRule,
    flows: &'a [Flow],
    events: &'a [EventSpec],
    known: Option<u64>,
}

impl Needed<'_> {
    pub fn new<'a>(
        topology: &'a Topology,
        routes: RouteRule,
        flows: &'a [Flow],
        events: &'a [EventSpec],
    ) -> Needed<'a> {
        Needed { topology, routes, flows, events, known: None }
    }

    /// In bytes.
    pub fn bytes(&mut self) -> u64 {
        *self.known.get_or_insert_with(|| {
            let directions = directions(&self.topology.links, self.events);
            largest(self.topology, self.routes, &directions, self.flows)
        })
    }
}

/// One direction of a link, at its best rate and longest delay.
struct LinkBounds {
    rate: Rate,
    delay: Span,
    queue_bytes: u64,
}

/// By directed link.
fn directions(links: &[Link], events: &[EventSpec]) -> Vec<LinkBounds> {
    let sides = links.iter().flat_map(|link| [&link.forward, &link.reverse]);
    let mut directions: Vec<LinkBounds> = sides
        .map(|link| {
            let packet_bytes = u64::from(link.wire.mtu_bytes) + u64::from(link.wire.overhead_bytes);
            let queue_bytes = match link.queue {
                Limit::Packets(packets) => packets.saturating_mul(packet_bytes),
                limit => limit.most(),
            };
            LinkBounds { rate: link.rate, delay: link.wire.delay, queue_bytes }
        })
        .collect();
    for event in events {
        match event.event {
            NetEvent::Rate(link, rate) => {
                let direction = &mut directions[link.index()];
                direction.rate = direction.rate.max(rate);
            }
            NetEvent::Delay(link, delay) => {
                let direction = &mut directions[link.index()];
                direction.delay = direction.delay.max(delay);
            }
            _ => {}
        }
    }
    for direction in &mut directions {
        direction.queue_bytes = direction.queue_bytes.min(direction.rate.bytes_in(MAX_QUEUE));
    }
    directions
}

/// The largest need of a flow.
fn largest(topology: &Topology, rule: RouteRule, directions: &[LinkBounds], flows: &[Flow]) -> u64 {
    // The longest flow between two hosts; those to one host together, for they share the search.
    let mut longest: BTreeMap<NodeId, BTreeMap<NodeId, u64>> = BTreeMap::new();
    for flow in flows {
        let bytes = flow.bytes.unwrap_or(u64::MAX);
        if bytes <= ENOUGH_BYTES {
            continue;
        }
        let known = longest.entry(flow.dst).or_default().entry(flow.src).or_default();
        *known = bytes.max(*known);
    }
    let mut routes = shortest_paths(rule, &topology.nodes, &topology.links);
    let mut needs = Vec::new();
    let pairs = longest.iter().flat_map(|(&dst, sources)| sources.keys().map(move |&s| [s, dst]));
    let mut wanted: Vec<[NodeId; 2]> = pairs.flat_map(|[a, b]| [[a, b], [b, a]]).collect();
    wanted.sort_by_key(|&[from, to]| (routes.attachment(to), to, from));
    wanted.dedup();
    for tree in 0..rule.trees {
        // What there is of a path from the one host to the other.
        let mut one_way: BTreeMap<[NodeId; 2], (Span, PathBounds)> = BTreeMap::new();
        for &[from, to] in &wanted {
            let Some(route) = routes.walk(from, to, tree) else { continue };
            let delay = |sum, link: &LinkId| sum + directions[link.index()].delay;
            let delay = route.iter().fold(Span::ZERO, delay);
            one_way.insert([from, to], (delay, PathBounds::on(directions, &route)));
        }
        for (&dst, sources) in &longest {
            for (&src, &bytes) in sources {
                let (Some((there, path)), Some((back, _))) =
                    (one_way.get(&[src, dst]), one_way.get(&[dst, src]))
                else {
                    continue; // no route, or to a host that is lost: somebody else says so
                };
                let full = path.rate.bytes_in(*there + *back).saturating_add(path.queues_bytes);
                needs.push(full.saturating_mul(TIMES).min(bytes));
            }
        }
    }
    needs.into_iter().max().unwrap_or(0).min(TcpConfig::MAX_SEND_BUFFER_BYTES)
}

/// What a flow finds on its way to the receiver.
struct PathBounds {
    /// The least rate.
    rate: Rate,
    /// The queues that it may fill.
    queues_bytes: u64,
}

impl PathBounds {
    /// Only a link that is not faster than any before it has a queue that fills; a host does not
    /// send what would wait for its own.
    fn on(directions: &[LinkBounds], route: &[LinkId]) -> PathBounds {
        let mut path = PathBounds { rate: directions[route[0].index()].rate, queues_bytes: 0 };
        for link in &route[1..] {
            let direction = &directions[link.index()];
            if direction.rate <= path.rate {
                path.rate = direction.rate;
                path.queues_bytes = path.queues_bytes.saturating_add(direction.queue_bytes);
            }
        }
        path
    }
}

//! Default buffers of the preset `modern`: as large as the paths of the flows need.
//!
//! A flow that has all of its path has in flight what the path holds: the product of its least rate
//! and its round-trip time (BDP), and what waits in queues in front of links no faster than those
//! before them. While a lost segment is retransmitted, which takes a round trip more, as much again
//! is sent and not acknowledged, and held by the receiver: hence twice that, or the length of the
//! flow if that is less. All flows of a scenario share one configuration, so the largest of their
//! needs counts, at least the 4 MiB of the preset and at most 2^30 bytes.
//!
//! A flow over several paths holds back what came by the fast ones until the slow ones have
//! delivered what comes before it: the sum of the rates times the longest round-trip time, with its
//! queue, and twice that (RFC 6182 section 5.3). That is for the protocols that use them only.
//!
//! Of a link that events change, the highest rate and the longest delay count. Routes are those at
//! the start. A queue counts with no more than what its link sends in a second: with a longer queue
//! the buffers limit the flow, and a note says so.

use crate::format::fields::Spanned;
use crate::format::names::Name;
use crate::keys::tcp::Tcp;
use crate::resolve::routes::shortest_paths;
use crate::resolve::topology::Topology;
use crate::{Flow, Link, Node, Scenario};
use forebay_base::{LinkId, NodeId, PortId, Rate, Span};
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
    if follows(&[table]) {
        raise(&[table], needed.bytes(), config);
    }
}

/// Raise those buffers of the protocols that send over several paths. `tables`: `[tcp]`, and those
/// of protocols.
pub(crate) fn follow_paths(scenario: &mut Scenario, tcp: &Tcp, of: &[(Spanned<String>, Tcp)]) {
    let mut needed = None;
    let names = scenario.sending_protocols();
    let names = names.into_iter().filter(|name| scenario.is_multipath(name));
    let names: Vec<Name> = names.map(Name::from).collect();
    for name in names {
        let own = of.iter().find(|(of, _)| of.value == *name).map(|(_, table)| table);
        // A table with a preset does not stand on `[tcp]`.
        let tables =
            own.into_iter().chain(own.is_none_or(|own| own.preset.is_none()).then_some(tcp));
        let tables: Vec<&Tcp> = tables.collect();
        if !follows(&tables) {
            continue;
        }
        let before = scenario.tcp_for(&name);
        let mut config = before;
        raise(&tables, *needed.get_or_insert_with(|| of_paths(scenario)), &mut config);
        if config != before {
            scenario.tcp_of.retain(|(other, _)| *other != name);
            scenario.tcp_of.push((name, config));
        }
    }
    scenario.tcp_of.sort_by(|(a, _), (b, _)| a.cmp(b));
}

/// What the flows of a scenario need over all of their paths, in bytes.
pub(crate) fn of_paths(scenario: &Scenario) -> u64 {
    if scenario.flows.iter().all(|flow| flow.paths.is_none()) {
        return 0;
    }
    let network = (&scenario.nodes[..], &scenario.links[..]);
    largest(network, scenario.routes, &scenario.events, &scenario.flows, all_paths)
}

/// No preset but that one is named.
fn follows(tables: &[&Tcp]) -> bool {
    let named = tables.iter().filter_map(|table| table.preset.as_ref());
    named.into_iter().all(|name| name.value == PRESET)
}

/// Raise what no table gives.
fn raise(tables: &[&Tcp], bytes: u64, config: &mut TcpConfig) {
    let given = |key| tables.iter().any(|table| table.given(key).is_some());
    if !given("receive_buffer_bytes") {
        config.receive_buffer_bytes = config.receive_buffer_bytes.max(bytes);
    }
    if !given("send_buffer_bytes") {
        config.send_buffer_bytes = config.send_buffer_bytes.max(bytes);
    }
}

/// Required buffer sizes of the flows of a scenario, each over its first path, computed on first
/// use.
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
            let network = (&self.topology.nodes[..], &self.topology.links[..]);
            largest(network, self.routes, self.events, self.flows, first_path)
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

/// A host, and the port that a path leaves or enters it by.
type End = (NodeId, PortId);
/// The ends of the paths of a flow, the sender's first.
type Ends = Vec<[End; 2]>;

/// The ports of the first path of a flow that says nothing of paths.
const FIRST: [(PortId, PortId); 1] = [(PortId(0), PortId(0))];

fn first_path(_: &Flow) -> &[(PortId, PortId)] {
    &FIRST
}
fn all_paths(flow: &Flow) -> &[(PortId, PortId)] {
    flow.paths.as_deref().unwrap_or(&FIRST)
}

/// The largest need of a flow over the paths that `paths_of` gives.
fn largest(
    network: (&[Node], &[Link]),
    rule: RouteRule,
    events: &[EventSpec],
    flows: &[Flow],
    paths_of: fn(&Flow) -> &[(PortId, PortId)],
) -> u64 {
    let directions = directions(network.1, events);
    // The longest flow over the same paths.
    let mut longest: BTreeMap<Ends, u64> = BTreeMap::new();
    for flow in flows {
        let bytes = flow.bytes.unwrap_or(u64::MAX);
        if bytes <= ENOUGH_BYTES {
            continue;
        }
        let ends =
            paths_of(flow).iter().map(|&(leaves, enters)| [(flow.src, leaves), (flow.dst, enters)]);
        let known = longest.entry(ends.collect()).or_default();
        *known = bytes.max(*known);
    }
    let mut routes = shortest_paths(rule, network.0, network.1);
    let mut wanted: Ends = longest.keys().flatten().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
    // Those to one attachment share the search.
    wanted.sort_by_key(|&[from, to]| (routes.attachment_at(to.0, to.1), to, from));
    wanted.dedup();
    let mut most = 0;
    for tree in 0..rule.trees {
        // What there is of a path from the one host to the other.
        let mut one_way: BTreeMap<[End; 2], (Span, PathBounds)> = BTreeMap::new();
        for &ends in &wanted {
            let Some(route) = routes.walk_between(ends, tree) else { continue };
            let delay = |sum, link: &LinkId| sum + directions[link.index()].delay;
            let delay = route.iter().fold(Span::ZERO, delay);
            one_way.insert(ends, (delay, PathBounds::on(&directions, &route)));
        }
        for (paths, &bytes) in &longest {
            // No route, or to a host that is lost: somebody else says so.
            let both = paths.iter().filter_map(|&[a, b]| {
                let ((there, path), (back, _)) = (one_way.get(&[a, b])?, one_way.get(&[b, a])?);
                Some((path, *there + *back))
            });
            most = most.max(need(&both.collect::<Vec<_>>()).min(bytes));
        }
    }
    most.min(TcpConfig::MAX_SEND_BUFFER_BYTES)
}

/// Of a flow over these paths, each with its round-trip time without queues.
fn need(paths: &[(&PathBounds, Span)]) -> u64 {
    let holds = |&(path, rtt): &(&PathBounds, Span)| {
        path.rate.bytes_in(rtt).saturating_add(path.queues_bytes)
    };
    let held = match paths {
        [only] => holds(only),
        _ => {
            let full =
                |&(path, rtt): &(&PathBounds, Span)| rtt + path.rate.span_of(path.queues_bytes);
            let longest = paths.iter().map(full).max().unwrap_or(Span::ZERO);
            let bytes = paths.iter().map(|(path, _)| path.rate.bytes_in(longest));
            bytes.fold(0, u64::saturating_add)
        }
    };
    held.saturating_mul(TIMES)
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

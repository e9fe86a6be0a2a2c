//! From a spec to machines: addresses, static shortest-path routes, hosts, links.

use crate::channel::{AnyChannel, ConstantRate, TraceChannel};
use crate::feeders::Feeders;
use crate::host::Host;
use crate::link::{AnyLink, FifoLink, Impairment, QueuedLink};
use crate::spec::ForwardingSpec;
use crate::spec::{ChannelSpec, LinkSpec, NetEvent, NetSpec, NodeKind, SchemeSpec, SpecError};
use crate::workload::{PathPlan, PortAllocator, Workload};
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{Addr, FlowId, IpVersion, LinkId, NodeId, PortId, Rng, SocketId, Stream};
use forebay_queue::{AnyDiscipline, Pipeline, PortInit};
use forebay_router::{AnyForwarding, RouterInit, RouterPort, Routes};
use forebay_transport::Role;
use forebay_wire::AddressPlan;

/// Addresses that the plan has room for in IPv4: one /8.
const V4_ADDRESSES: usize = 1 << 24;

/// The outgoing links of each node: its ports in order.
#[derive(Clone, Debug, Default)]
pub struct PortTable {
    first: Vec<u32>,
    links: Vec<LinkId>,
    port_of_link: Vec<PortId>,
}

impl PortTable {
    fn new(spec: &NetSpec) -> PortTable {
        let mut of_node: Vec<Vec<LinkId>> = vec![Vec::new(); spec.nodes.len()];
        let mut port_of_link = Vec::with_capacity(spec.links.len());
        for (i, link) in spec.links.iter().enumerate() {
            let ports = &mut of_node[link.from.index()];
            port_of_link.push(PortId(ports.len() as u16));
            ports.push(LinkId(i as u32));
        }
        let mut table = PortTable { first: vec![0], links: Vec::new(), port_of_link };
        for ports in of_node {
            table.links.extend(ports);
            table.first.push(table.links.len() as u32);
        }
        table
    }
    /// The links that leave `node`, in port order.
    #[inline]
    pub fn links_of(&self, node: NodeId) -> &[LinkId] {
        let (from, to) = (self.first[node.index()], self.first[node.index() + 1]);
        &self.links[from as usize..to as usize]
    }
    /// The link behind a port.
    #[inline]
    pub fn link(&self, node: NodeId, port: PortId) -> LinkId {
        self.links[self.first[node.index()] as usize + port.index()]
    }
    /// The port that feeds a link, at its `from` node.
    #[inline]
    pub fn port(&self, link: LinkId) -> PortId {
        self.port_of_link[link.index()]
    }
}

/// A node, built.
pub enum Node {
    /// Has sockets.
    Host(Host),
    /// Forwards.
    Router(AnyForwarding),
    /// In another partition.
    Elsewhere,
}

/// Everything that a driver needs to run a spec.
pub struct Network {
    /// By [`NodeId`].
    pub nodes: Vec<Node>,
    /// By [`LinkId`].
    pub links: Vec<AnyLink>,
    /// Ports of nodes.
    pub ports: PortTable,
    /// Next hops.
    pub routes: Routes,
    /// Addresses on the wire.
    pub plan: AddressPlan,
    /// Flows.
    pub workload: Arc<Workload>,
    /// Per flow: the (host, socket) of its client and of its server.
    pub ends: Vec<[(NodeId, SocketId); 2]>,
    /// Per node the first address of each interface.
    pub addresses: Arc<Vec<Vec<Addr>>>,
    /// By link: the only other one that its packets come from, if that is sure for the whole run and its departures are known when
    /// packets are queued.
    pub feeders: Arc<Vec<Option<LinkId>>>,
}

impl Network {
    /// Build everything for one run. `all_queued` builds every link the general way, for comparison.
    ///
    /// Routes are by hop count; between equal ones the port declared first.
    pub fn build(spec: &NetSpec, seed: u64, all_queued: bool) -> Result<Network, SpecError> {
        assert!(spec.links.len().is_multiple_of(2), "links come in pairs");
        let ports = PortTable::new(spec);
        check_flows(spec, &ports)?;
        check_events(spec)?;
        let sockets = count_sockets(spec, &ports);
        let (mut routes, addresses) = assign_addresses(spec, &ports, &sockets);
        shortest_paths(spec, &ports, &mut routes);
        let mut nodes = build_nodes(spec, seed, &ports, &addresses);
        let (workload, ends) = build_flows(spec, seed, &addresses, &mut nodes);
        let feeders = walk_routes(spec, &ports, &routes, &workload)?;
        if spec.version == IpVersion::V4 && routes.addresses() > V4_ADDRESSES {
            return Err(SpecError::TooManyAddresses(routes.addresses()));
        }
        let plan = AddressPlan::default();
        let links = build_links(spec, seed, all_queued);
        let feeders = Arc::new(feeders.only(spec, &links));
        let (workload, addresses) = (Arc::new(workload), Arc::new(addresses));
        Ok(Network { nodes, links, ports, routes, plan, workload, ends, addresses, feeders })
    }

    /// The network of each of `parts` partitions, with the numbers of the whole: of what is elsewhere there is an empty place.
    /// `owner` says for each node in which it is. A link is where it begins; where it ends elsewhere there is its far end, a wire.
    pub fn split(self, spec: &NetSpec, owner: &[u16], parts: u16) -> Vec<Network> {
        assert_eq!(owner.len(), spec.nodes.len());
        let empty = |part: u16| Network {
            nodes: Vec::with_capacity(self.nodes.len()),
            links: Vec::with_capacity(self.links.len()),
            ports: self.ports.clone(),
            routes: self.routes.of_nodes(|node| owner[node.index()] == part),
            plan: self.plan,
            workload: Arc::clone(&self.workload),
            ends: self.ends.clone(),
            addresses: Arc::clone(&self.addresses),
            feeders: Arc::clone(&self.feeders),
        };
        let mut networks: Vec<Network> = (0..parts).map(empty).collect();
        for (node, &here) in self.nodes.into_iter().zip(owner) {
            networks.iter_mut().for_each(|network| network.nodes.push(Node::Elsewhere));
            if let Some(place) = networks[here as usize].nodes.last_mut() {
                *place = node;
            }
        }
        for (link, spec) in self.links.into_iter().zip(&spec.links) {
            let far_end = || AnyLink::Fifo(FifoLink::far_end());
            networks.iter_mut().for_each(|network| network.links.push(far_end()));
            if let Some(place) = networks[owner[spec.from.index()] as usize].links.last_mut() {
                *place = link;
            }
        }
        networks
    }
}

fn paths_of(spec: &NetSpec, flow: usize) -> &[(PortId, PortId)] {
    const SINGLE: &[(PortId, PortId)] = &[(PortId(0), PortId(0))];
    let paths = &spec.flows[flow].paths;
    if paths.is_empty() { SINGLE } else { paths }
}

fn check_flows(spec: &NetSpec, ports: &PortTable) -> Result<(), SpecError> {
    for (i, node) in spec.nodes.iter().enumerate() {
        let id = NodeId(i as u32);
        if matches!(node.kind, NodeKind::Host) && ports.links_of(id).is_empty() {
            return Err(SpecError::HostWithoutLink(id));
        }
    }
    for (i, flow) in spec.flows.iter().enumerate() {
        for node in [flow.src, flow.dst] {
            let is_host = matches!(spec.nodes[node.index()].kind, NodeKind::Host);
            if !is_host || flow.src == flow.dst {
                return Err(SpecError::NotAHost { flow: FlowId(i as u32), node });
            }
        }
    }
    crate::life::check(&spec.flows)
}

/// Each event is one that its link can follow.
fn check_events(spec: &NetSpec) -> Result<(), SpecError> {
    for event in &spec.events {
        if let NetEvent::Rate(link, _) = event.event
            && let ChannelSpec::Trace(_) = spec.links[link.index()].channel
        {
            return Err(SpecError::RateOfTrace(link));
        }
    }
    Ok(())
}

/// Sockets per node and interface.
fn count_sockets(spec: &NetSpec, ports: &PortTable) -> Vec<Vec<u32>> {
    let mut counts: Vec<Vec<u32>> =
        (0..spec.nodes.len()).map(|n| vec![0; ports.links_of(NodeId(n as u32)).len()]).collect();
    for (i, flow) in spec.flows.iter().enumerate() {
        for &(a, b) in paths_of(spec, i) {
            counts[flow.src.index()][a.index()] += 1;
            counts[flow.dst.index()][b.index()] += 1;
        }
    }
    counts
}

/// Each interface of a host has addresses of its own, attached to the node at the other end of its link.
fn assign_addresses(
    spec: &NetSpec,
    ports: &PortTable,
    sockets: &[Vec<u32>],
) -> (Routes, Vec<Vec<Addr>>) {
    let is_host = |n: NodeId| matches!(spec.nodes[n.index()].kind, NodeKind::Host);
    let ids = || (0..spec.nodes.len() as u32).map(NodeId);
    let rows: Vec<NodeId> = ids().filter(|&n| !is_host(n)).collect();
    let attached: BTreeSet<NodeId> = ids()
        .filter(|&n| is_host(n))
        .flat_map(|n| ports.links_of(n).iter().map(|l| spec.links[l.index()].to))
        .collect();
    let columns: Vec<NodeId> = attached.into_iter().collect();
    let mut routes = Routes::new(spec.nodes.len(), &rows, &columns);
    let mut addresses: Vec<Vec<Addr>> = vec![Vec::new(); spec.nodes.len()];
    for host in ids().filter(|&n| is_host(n)) {
        for (i, &link) in ports.links_of(host).iter().enumerate() {
            let attachment = spec.links[link.index()].to;
            let last_hop = ports.port(link.opposite());
            let count = PortAllocator::addresses(sockets[host.index()][i]);
            let first = (0..count)
                .map(|_| routes.push_address(attachment, Some(last_hop)))
                .min()
                .expect("at least one address");
            addresses[host.index()].push(first);
        }
    }
    (routes, addresses)
}

/// Breadth-first from each attachment over the links turned round.
fn shortest_paths(spec: &NetSpec, ports: &PortTable, routes: &mut Routes) {
    let is_router = |n: NodeId| matches!(spec.nodes[n.index()].kind, NodeKind::Router(_));
    let attachments: BTreeSet<NodeId> = (0..spec.nodes.len() as u32)
        .map(NodeId)
        .filter(|&n| !is_router(n))
        .flat_map(|n| ports.links_of(n).iter().map(|l| spec.links[l.index()].to))
        .filter(|&n| is_router(n))
        .collect();
    let routers: Vec<NodeId> =
        (0..spec.nodes.len() as u32).map(NodeId).filter(|&n| is_router(n)).collect();
    let mut distance = vec![u32::MAX; spec.nodes.len()];
    let mut queue = VecDeque::new();
    for &target in &attachments {
        distance.fill(u32::MAX);
        distance[target.index()] = 0;
        queue.push_back(target);
        while let Some(node) = queue.pop_front() {
            for &out in ports.links_of(node) {
                // The link pair's other direction leads from that neighbour to `node`.
                let neighbour = spec.links[out.index()].to;
                if is_router(neighbour) && distance[neighbour.index()] == u32::MAX {
                    distance[neighbour.index()] = distance[node.index()] + 1;
                    queue.push_back(neighbour);
                }
            }
        }
        for &n in &routers {
            let d = distance[n.index()];
            if d == 0 || d == u32::MAX {
                continue;
            }
            let port = ports.links_of(n).iter().position(|l| {
                let next = spec.links[l.index()].to;
                distance[next.index()] == d - 1 && is_router(next)
            });
            routes.set(n, target, port.map(|p| PortId(p as u16)));
        }
    }
}

fn build_nodes(spec: &NetSpec, seed: u64, ports: &PortTable, addresses: &[Vec<Addr>]) -> Vec<Node> {
    let rng = |i: usize| Rng::new(seed, Stream::Forwarding, i as u64);
    let build = |(i, node): (usize, &crate::spec::NodeSpec)| match &node.kind {
        NodeKind::Host => {
            let mut host = Host::default();
            addresses[i].iter().for_each(|&a| host.add_interface(a));
            Node::Host(host)
        }
        NodeKind::Router(forwarding) => {
            let node = NodeId(i as u32);
            let ports = router_ports(spec, forwarding, ports.links_of(node));
            let init = RouterInit { node, ports: &ports, version: spec.version, rng: rng(i) };
            Node::Router(forwarding.build(init))
        }
    };
    spec.nodes.iter().enumerate().map(build).collect()
}

/// What the ports of a router lead to.
fn router_ports(spec: &NetSpec, forwarding: &ForwardingSpec, links: &[LinkId]) -> Vec<RouterPort> {
    let lead = |link: &LinkId| {
        let link = &spec.links[link.index()];
        let neighbour = match &spec.nodes[link.to.index()].kind {
            NodeKind::Router(other) if other.is_same_kind(forwarding) => Some(link.to),
            NodeKind::Router(_) | NodeKind::Host => None,
        };
        RouterPort { rate: link.channel.rate(), neighbour }
    };
    links.iter().map(lead).collect()
}

type Ends = Vec<[(NodeId, SocketId); 2]>;

fn build_flows(
    spec: &NetSpec,
    seed: u64,
    addresses: &[Vec<Addr>],
    nodes: &mut [Node],
) -> (Workload, Ends) {
    let mut allocators: Vec<Vec<PortAllocator>> =
        addresses.iter().map(|a| a.iter().map(|_| PortAllocator::default()).collect()).collect();
    let mut paths = Vec::new();
    let mut first_path = Vec::with_capacity(spec.flows.len() + 1);
    let mut ends = Vec::with_capacity(spec.flows.len());
    let mut end =
        |node: NodeId, port: PortId, socket: SocketId, path: usize, nodes: &mut [Node]| {
            let addr = addresses[node.index()][port.index()];
            let (_, endpoint) = allocators[node.index()][port.index()].next(addr);
            host_mut(nodes, node).add_port(port, socket, path as u8);
            (endpoint, port)
        };
    for (i, flow) in spec.flows.iter().enumerate() {
        let id = FlowId(i as u32);
        let transport = u16::try_from(flow.transport).expect("fewer than 2^16 transports");
        let client = host_mut(nodes, flow.src).add_socket(id, Role::Client, transport);
        let server = host_mut(nodes, flow.dst).add_socket(id, Role::Server, transport);
        first_path.push(paths.len() as u32);
        for (p, &(a, b)) in paths_of(spec, i).iter().enumerate() {
            let src = end(flow.src, a, client, p, nodes);
            let dst = end(flow.dst, b, server, p, nodes);
            paths.push(PathPlan { src, dst });
        }
        ends.push([(flow.src, client), (flow.dst, server)]);
    }
    first_path.push(paths.len() as u32);
    (Workload::new(spec, seed, paths, first_path), ends)
}

fn host_mut(nodes: &mut [Node], id: NodeId) -> &mut Host {
    match &mut nodes[id.index()] {
        Node::Host(host) => host,
        Node::Router(_) | Node::Elsewhere => unreachable!("checked to be a host"),
    }
}

/// Every flow can reach its destination, and the ACKs its source, before any event changes a route. Which links they come to from
/// which.
fn walk_routes(
    spec: &NetSpec,
    ports: &PortTable,
    routes: &Routes,
    workload: &Workload,
) -> Result<Feeders, SpecError> {
    let mut feeders = Feeders::new(spec.links.len());
    let mut reaches = |from: NodeId, port: PortId, to: NodeId, addr: Addr| {
        let mut link = ports.link(from, port);
        for _ in 0..spec.nodes.len() {
            let at = spec.links[link.index()].to;
            if at == to {
                return true;
            }
            if matches!(spec.nodes[at.index()].kind, NodeKind::Host) {
                return false;
            }
            let Some(port) = routes.port(at, addr) else { return false };
            let next = ports.link(at, port);
            feeders.note(link, next);
            link = next;
        }
        false
    };
    for (i, flow) in spec.flows.iter().enumerate() {
        let id = FlowId(i as u32);
        for path in workload.paths(id) {
            if !reaches(flow.src, path.src.1, flow.dst, path.dst.0.addr) {
                return Err(SpecError::NoRoute { flow: id, from: flow.src, to: flow.dst });
            }
            if !reaches(flow.dst, path.dst.1, flow.src, path.src.0.addr) {
                return Err(SpecError::NoRoute { flow: id, from: flow.dst, to: flow.src });
            }
        }
    }
    Ok(feeders)
}

/// Links that an event of the network changes or fails.
fn changed_links(spec: &NetSpec) -> Vec<bool> {
    let mut changed = vec![false; spec.links.len()];
    for event in &spec.events {
        match event.event {
            NetEvent::Rate(l, _)
            | NetEvent::Delay(l, _)
            | NetEvent::Loss(l, _)
            | NetEvent::Down(l)
            | NetEvent::Up(l) => changed[l.index()] = true,
            NetEvent::Restart(_) | NetEvent::Route { .. } => {}
        }
    }
    changed
}

/// Nodes whose forwarding wants to know when a link has room, or may lose what is queued.
fn pulling_nodes(spec: &NetSpec) -> Vec<bool> {
    let pulls = |kind: &NodeKind| match kind {
        NodeKind::Router(forwarding) => forwarding.pulls(),
        NodeKind::Host => false,
    };
    let mut nodes: Vec<bool> = spec.nodes.iter().map(|node| pulls(&node.kind)).collect();
    for event in &spec.events {
        if let NetEvent::Restart(node) = event.event {
            nodes[node.index()] = true;
        }
    }
    nodes
}

fn build_links(spec: &NetSpec, seed: u64, all_queued: bool) -> Vec<AnyLink> {
    let (changed, pulling) = (changed_links(spec), pulling_nodes(spec));
    let build = |(i, link): (usize, &LinkSpec)| {
        let id = LinkId(i as u32);
        let steady = !all_queued && !changed[i] && link.loss == 0.0;
        let simple = steady && !pulling[link.from.index()] && link.jitter.is_zero();
        let discipline = link.queue.build(port_init(link, id, seed, Stream::Discipline));
        match (&link.channel, &link.scheme, discipline) {
            (ChannelSpec::Constant(rate), SchemeSpec::None, AnyDiscipline::DropTail(queue))
                if simple =>
            {
                let limit = queue.limit();
                AnyLink::Fifo(FifoLink::new(*rate, link.delay, limit, link.overhead_bytes))
            }
            (_, scheme, discipline) => {
                let scheme = scheme.build(port_init(link, id, seed, Stream::PortScheme));
                let pipeline = Pipeline::new(scheme, discipline);
                AnyLink::Queued(Box::new(queued_link(link, id, pipeline, seed, steady)))
            }
        }
    };
    spec.links.iter().enumerate().map(build).collect()
}

/// What a machine of the port of a link is built for, with random numbers for that purpose.
fn port_init(link: &LinkSpec, id: LinkId, seed: u64, stream: Stream) -> PortInit {
    PortInit {
        limit: link.queue.limit(),
        rate: link.channel.rate(),
        mtu_bytes: link.mtu_bytes,
        overhead_bytes: link.overhead_bytes,
        rng: Rng::new(seed, stream, id.0 as u64),
    }
}

fn queued_link(
    link: &LinkSpec,
    id: LinkId,
    pipeline: Pipeline,
    seed: u64,
    steady: bool,
) -> QueuedLink {
    let channel = match &link.channel {
        ChannelSpec::Constant(rate) => AnyChannel::Constant(ConstantRate::new(*rate)),
        ChannelSpec::Trace(trace) => AnyChannel::Trace(TraceChannel::new(trace.clone())),
    };
    let mut impairment =
        Impairment::new(link.loss, link.jitter, Rng::new(seed, Stream::Link, id.0 as u64));
    impairment.reorder = link.reorder;
    QueuedLink::new(pipeline, channel, link.delay, link.overhead_bytes, impairment, steady)
}

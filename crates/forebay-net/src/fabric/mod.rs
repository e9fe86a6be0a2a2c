//! Moves packets between the machines of a network. The same code for every driver.
//!
//! A [`Fabric`] holds nodes and links. It hands each packet to the next machine, does what machines
//! ask for, and arms deadlines at its [`Driver`]. It reads no clock: each verb takes `now`. The
//! driver owns time, real packets, captures and hashes. The verbs:
//!
//! * [`Fabric::due`] when the time of a deadline has come: whether it still counts. Then one of
//! * [`Fabric::take_arrival`] and [`Fabric::arrive`], between which the driver may look at the
//!   packet or write it to a socket; or [`Fabric::pass_arrival`], which is all of these in one;
//!   [`Fabric::on_transmitter`]; [`Fabric::on_router`]; [`Fabric::on_socket`].
//! * [`Fabric::inject`], [`Fabric::enter`] and [`Fabric::offer_bytes`] for packets from outside,
//!   [`Fabric::take_exit`] for those that leave, [`Fabric::on_event`] for events, and
//!   [`Fabric::on_carrier`] for wires that are lost or back.
//!
//! A driver that knows when the next sample is due passes it on: [`Fabric::extend_horizon`] allows
//! early transit until then.
//!
//! A fabric may hold some nodes of a network only ([`Fabric::of_place`]). A link may then begin in
//! one fabric and end in another. A driver carries its packets from [`Fabric::take_exit`] to
//! [`Fabric::enter`], one by one, at their times. Partitions of one run pass them on in advance,
//! from [`Fabric::export`] to [`Fabric::import`].

mod answers;
mod driver;
mod early_transit;
mod error;
mod events;
mod external;
mod forge;
mod horizon;
mod hosts;
mod ledger;
mod link_set;
mod mail;
mod ring_to_ring;
mod routers;
mod transit;

pub use answers::{AnswerCounts, MAX_ANSWERS_PER_S};
pub use driver::{Deadline, Driver, PacketEvent};
pub use error::DriverError;
pub use horizon::{Horizon, given_back_after};
pub use ledger::Conservation;
pub use mail::Mail;

use crate::build::{Network, Place};
use crate::early_transit::{ArrivalPath, EarlyTransitPlan, Guards, Setting};
use crate::host::EndId;
use crate::link::{AnyLink, UpstreamGate};
use crate::node::Node;
use crate::ports::PortTable;
use crate::spec::{LinkSpec, NetSpec, SpecError};
use crate::workload::Workload;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use answers::Answers;
use forebay_base::{
    Addr, Arena, DropLog, DropReason, FlowId, Histogram, LinkId, NodeId, Packet, PortId, SocketId,
    Time,
};
use forebay_router::{AnyForwarding, Forwarding, Routes, Work};
use forebay_transport::{ConnectionView, Role};
use forebay_wire::AddressPlan;
use ledger::Count;
use link_set::EarlyArrival;

/// A link, where it leads, and its armed deadline: what each packet touches.
#[repr(C, align(64))] // whole lines of the cache
struct Slot {
    armed_arrival: Time,
    to: NodeId,
    mtu_bytes: u16,
    arrival_path: ArrivalPath,
    link: AnyLink,
}

const _: () = assert!(size_of::<Slot>() <= 3 * 64);

impl Slot {
    /// `leads`: see [`Setting::leading`].
    fn new(
        mut link: AnyLink,
        spec: &NetSpec,
        id: LinkId,
        setting: &Setting<'_>,
        leads: bool,
    ) -> Slot {
        match &mut link {
            AnyLink::Fifo(fifo) if setting.upstream(id).is_ok() => {
                let gate = UpstreamGate::SINGLE;
                fifo.upstream_gate = if fifo.is_impaired() { gate.drawing() } else { gate };
            }
            AnyLink::Queued(queued) if setting.may_defer(id) && spec.events.is_empty() => {
                queued.defer();
            }
            AnyLink::Fifo(_) | AnyLink::Queued(_) => {}
        }
        let LinkSpec { to, wire, .. } = &spec.links[id.index()];
        let arrival_path = setting.arrival_path(id, leads);
        let (to, mtu_bytes) = (*to, wire.mtu_bytes);
        Slot { armed_arrival: Time::MAX, to, mtu_bytes, arrival_path, link }
    }
    /// See [`UpstreamGate`].
    fn upstream_gate(&self) -> UpstreamGate {
        match &self.link {
            AnyLink::Fifo(fifo) => fifo.upstream_gate,
            AnyLink::Queued(_) => UpstreamGate::default(),
        }
    }
}

/// Further properties of a link.
struct Edge {
    from: NodeId,
    /// Input port at the node where it ends.
    in_port: PortId,
    armed_transmitter: Time,
    /// See [`Place::offered`].
    offered: bool,
}

impl Edge {
    /// One for each directed link, with nothing armed.
    fn all(spec: &NetSpec, ports: &PortTable) -> Vec<Edge> {
        let edge = |(i, link): (usize, &LinkSpec)| Edge {
            from: link.from,
            in_port: ports.port(LinkId(i as u32).opposite()),
            armed_transmitter: Time::MAX,
            offered: false,
        };
        spec.links.iter().enumerate().map(edge).collect()
    }
}

/// One end of a flow.
#[derive(Clone, Copy)]
struct End {
    node: NodeId,
    socket: SocketId,
    armed: Time,
    ended: bool,
}

/// Arrivals of a link that ends in another partition are never armed: they count as armed for this
/// time, which is earlier than all of them.
const ARRIVES_ELSEWHERE: Time = Time::ZERO;

/// See the module. A deadline that is not armed is [`Time::MAX`].
pub struct Fabric<D> {
    /// Who owns the clock.
    pub driver: D,
    /// The cold parts of all packets here.
    pub arena: Arena,
    /// Addresses on the wire.
    pub plan: AddressPlan,
    now: Time,
    links: Vec<Slot>,
    /// By link, too.
    edges: Vec<Edge>,
    nodes: Vec<Node>,
    router_armed: Vec<Time>,
    ports: PortTable,
    routes: Routes,
    workload: Arc<Workload>,
    addresses: Arc<Vec<Vec<Addr>>>,
    ends: Vec<End>,
    /// Ends here that have not ended. Both ends of a flow that never starts are subtracted where
    /// its client is.
    open_ends: isize,
    /// When the last of those ended.
    last_ended: Time,
    /// Links that begin here and end in another partition, and the number of that partition.
    exits: Vec<(LinkId, u16)>,
    drops: DropLog,
    count: Count,
    /// One-way delays of data packets, by transport of their flow.
    one_way: Vec<Histogram>,
    /// Round-trip times of senders whose connection was given back, by transport of their flow.
    round_trips: Vec<Histogram>,
    /// Ends here that have ended and whose connection has not been given back, and since when.
    ended: VecDeque<(Time, EndId)>,
    work: Work,
    /// An empty `Work`, kept for its memory.
    spare: Work,
    observed: bool,
    early_transit: Arc<EarlyTransitPlan>,
    /// Links from which packets may look ahead.
    early_transit_links: Vec<LinkId>,
    /// See [`Fabric::extend_horizon`].
    horizon: Time,
    /// Packets that early transit has taken to hosts, in the order in which it did.
    early_arrivals: VecDeque<EarlyArrival>,
    early_transit_events: u64,
    /// Links whose ends of transmissions are no events, and at which packets have waited since the
    /// last [`Fabric::catch_up_all`].
    deferred: Vec<LinkId>,
    /// The latest time to which early transit has acted.
    latest: Time,
    /// See [`Fabric::answer_strangers`].
    answers: Option<Box<Answers>>,
    /// Links that end elsewhere may lose their wires: [`Fabric::on_carrier`].
    has_real_wires: bool,
}

impl<D: Driver> Fabric<D> {
    /// The network of `spec`, at rest. `all_queued` builds every link the general way.
    pub fn new(
        spec: &NetSpec,
        seed: u64,
        all_queued: bool,
        driver: D,
    ) -> Result<Fabric<D>, SpecError> {
        let network = Network::build(spec, seed, all_queued)?;
        Ok(Fabric::whole(network, spec, driver))
    }
    /// The same with only what is at `place`; see [`Network::of_place`]. With a `secret` the place
    /// is on real wires: initial sequence numbers, identifications and keys follow from it, not
    /// from the seed, and a link that ends elsewhere may lose its wire.
    pub fn of_place(
        spec: &NetSpec,
        seed: u64,
        all_queued: bool,
        secret: Option<[u64; 2]>,
        place: &Place,
        driver: D,
    ) -> Result<Fabric<D>, SpecError> {
        let exits = secret.map_or(Vec::new(), |_| place.exits(spec));
        let guards = Guards::ALL;
        let mut network = Network::build_over_wires(spec, seed, all_queued, guards, &exits)?;
        if let Some(secret) = secret {
            let workload = Arc::get_mut(&mut network.workload).expect("nobody else has it yet");
            workload.set_secret(secret);
        }
        let network = network.of_place(spec, place);
        let mut fabric = Fabric::whole(network, spec, driver);
        fabric.has_real_wires = secret.is_some();
        for link in &place.offered {
            fabric.edges[link.index()].offered = true;
        }
        Ok(fabric)
    }

    /// One fabric for each partition of a network that was [split](Network::split), each with a
    /// driver from `driver`. `owner` maps nodes to partitions.
    pub fn of_partitions(
        networks: Vec<Network>,
        spec: &NetSpec,
        owner: &[u16],
        mut driver: impl FnMut() -> D,
    ) -> Vec<Fabric<D>> {
        let part = |(here, network): (u16, Network)| {
            let mut fabric = Fabric::whole(network, spec, driver());
            fabric.arena = Arena::of_partition(here);
            for (i, link) in spec.links.iter().enumerate() {
                let [from, to] = [link.from, link.to].map(|node| owner[node.index()]);
                if from == here && to != here {
                    fabric.exits.push((LinkId(i as u32), to));
                    fabric.links[i].armed_arrival = ARRIVES_ELSEWHERE;
                }
            }
            fabric
        };
        (0..).zip(networks).map(part).collect()
    }

    /// The fabric of a network that was built of `spec`, or of a part of it.
    pub fn whole(network: Network, spec: &NetSpec, driver: D) -> Fabric<D> {
        let observed = driver.observes();
        let setting = Setting {
            plan: &network.early_transit,
            nodes: &network.nodes,
            ports: &network.ports,
            ends: &|link| (spec.links[link.index()].from, spec.links[link.index()].to),
            observed,
            horizon: driver.looks_ahead(),
        };
        let leads = setting.leading();
        let slot = |(number, link): (u32, AnyLink)| {
            let id = LinkId(number);
            Slot::new(link, spec, id, &setting, leads[id.index()])
        };
        let links: Vec<Slot> = (0..).zip(network.links).map(slot).collect();
        let numbers = (0..links.len() as u32).map(LinkId);
        let early_transit_links =
            numbers.filter(|link| links[link.index()].arrival_path.looks_ahead()).collect();
        let edges = Edge::all(spec, &network.ports);
        let ends = network.ends.iter().flatten();
        let ends = ends.map(|&(node, socket)| End { node, socket, armed: Time::MAX, ended: false });
        let ends: Vec<End> = ends.collect();
        let is_here = |end: &&End| !matches!(network.nodes[end.node.index()], Node::Elsewhere);
        let open_ends = ends.iter().filter(is_here).count() as isize;
        Fabric {
            driver,
            now: Time::ZERO,
            links,
            edges,
            router_armed: vec![Time::MAX; network.nodes.len()],
            nodes: network.nodes,
            ports: network.ports,
            routes: network.routes,
            plan: network.plan,
            workload: network.workload,
            addresses: network.addresses,
            open_ends,
            ends,
            arena: Arena::default(),
            drops: if observed { DropLog::keeping() } else { DropLog::default() },
            count: Count::default(),
            one_way: vec![Histogram::default(); spec.transports.len()],
            round_trips: vec![Histogram::default(); spec.transports.len()],
            ended: VecDeque::new(),
            work: Work::default(),
            spare: Work::default(),
            observed,
            last_ended: Time::ZERO,
            exits: Vec::new(),
            early_transit: network.early_transit,
            early_transit_links,
            horizon: Time::ZERO,
            early_arrivals: VecDeque::new(),
            early_transit_events: 0,
            deferred: Vec::new(),
            latest: Time::ZERO,
            answers: None,
            has_real_wires: false,
        }
    }

    /// Arm the deadlines of the start: clients, and routers with timers.
    pub fn start(&mut self) {
        for (i, flow) in self.workload.flows().iter().enumerate() {
            let id = EndId::of(FlowId(i as u32), Role::Client);
            let end = &mut self.ends[id.index()];
            let here = !matches!(self.nodes[end.node.index()], Node::Elsewhere);
            if let Some(start) = flow.known_start().filter(|_| here) {
                end.armed = start;
                self.driver.arm(Deadline::Socket(id), start);
            }
        }
        for node in (0..self.nodes.len() as u32).map(NodeId) {
            self.sync_router(node);
        }
    }

    /// True if `deadline` was armed for `now` or earlier: the driver then calls the verb for it.
    /// False if it was armed again since, or is done.
    #[inline]
    pub fn due(&mut self, now: Time, deadline: Deadline) -> bool {
        let armed = match deadline {
            Deadline::Arrival(link) => &mut self.links[link.index()].armed_arrival,
            Deadline::Transmitter(link) => &mut self.edges[link.index()].armed_transmitter,
            Deadline::Router(node) => &mut self.router_armed[node.index()],
            Deadline::Socket(end) => &mut self.ends[end.index()].armed,
        };
        if *armed > now {
            return false;
        }
        *armed = Time::MAX;
        true
    }

    #[inline]
    fn observe(&mut self, event: PacketEvent, packet: &Packet) {
        self.driver.observe(self.now, event, packet, &self.arena);
    }
    /// A packet ends at `node`.
    fn end(&mut self, node: NodeId, packet: Packet, reason: DropReason) {
        if self.answers.is_some() {
            self.answer_dropped(node, &packet, reason);
        }
        self.drops.record(packet, reason, &mut self.arena);
        self.show_drops(node);
    }
    /// Show what a machine of `node` dropped.
    #[inline]
    fn show_drops(&mut self, node: NodeId) {
        if self.drops.has_kept() {
            self.show_kept(node);
        }
    }
    #[cold]
    fn show_kept(&mut self, node: NodeId) {
        for (packet, reason) in self.drops.take_kept() {
            self.observe(PacketEvent::Dropped(node, reason), &packet);
            self.arena.free(packet);
        }
    }

    /// Drops so far.
    pub fn drops(&self) -> &DropLog {
        &self.drops
    }
    /// One-way delays of data packets that came to hosts here, for the flows of one transport of
    /// the spec: from when a socket makes a packet to when the other socket takes it.
    pub fn one_way(&self, transport: usize) -> &Histogram {
        &self.one_way[transport]
    }
    /// Round-trip times of senders here that are [closed](forebay_transport::ClosedConnection), for
    /// the flows of one transport of the spec.
    pub fn closed_round_trips(&self, transport: usize) -> &Histogram {
        &self.round_trips[transport]
    }
    /// The flows.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }
    /// The links, by [`LinkId`].
    pub fn links(&self) -> impl ExactSizeIterator<Item = &AnyLink> {
        self.links.iter().map(|slot| &slot.link)
    }
    /// One link.
    pub fn link(&self, link: LinkId) -> &AnyLink {
        &self.links[link.index()].link
    }
    /// The nodes between which a link leads.
    pub fn link_nodes(&self, link: LinkId) -> (NodeId, NodeId) {
        (self.edges[link.index()].from, self.links[link.index()].to)
    }
    /// Ends of flows: all of the network, and those here that have not ended. Where a flow will
    /// never be ([`AppSchedule::stop`]) both of its ends are taken off where its client is: the sum
    /// over all fabrics of a network counts.
    ///
    /// [`AppSchedule::stop`]: crate::AppSchedule::stop
    #[inline]
    pub fn ends(&self) -> (usize, isize) {
        (self.ends.len(), self.open_ends)
    }
    /// True if nothing is pending. Stale socket timers are ignored.
    pub fn is_at_rest(&self) -> bool {
        let waits = |end: &End| match &self.nodes[end.node.index()] {
            Node::Host(host) => {
                let socket = &host.sockets()[end.socket.index()];
                socket.view().is_none() || socket.next_timeout().is_some()
            }
            Node::Router(_) | Node::Elsewhere => false,
        };
        let links = self.links.iter().map(|slot| slot.armed_arrival);
        let edges = self.edges.iter().map(|edge| edge.armed_transmitter);
        let mut armed = links.filter(|&at| at != ARRIVES_ELSEWHERE).chain(edges);
        armed.all(|at| at == Time::MAX)
            && self.router_armed.iter().all(|&at| at == Time::MAX)
            && !self.ends.iter().any(|end| end.armed < Time::MAX && waits(end))
    }
    /// When the last of the ends here that have ended did; zero if none has.
    pub fn last_ended(&self) -> Time {
        self.last_ended
    }
    /// When the client of a flow opens its connection, if it has not yet and that is known. Valid
    /// in the partition of the client.
    pub fn opens_at(&self, flow: FlowId) -> Option<Time> {
        let armed = self.ends[EndId::of(flow, Role::Client).index()].armed;
        (armed != Time::MAX && self.connection(flow, Role::Client).is_none()).then_some(armed)
    }
    /// True if a flow never starts, because its start would be at or after its stop. Valid in the
    /// partition of the client.
    pub fn is_skipped(&self, flow: FlowId) -> bool {
        let end = self.ends[EndId::of(flow, Role::Client).index()];
        end.ended && self.connection(flow, Role::Client).is_none()
    }
    /// The first link of a flow's first path.
    pub fn first_link(&self, flow: FlowId) -> LinkId {
        let (_, port) = self.workload.paths(flow)[0].src;
        self.ports.link(self.workload.flows()[flow.index()].src, port)
    }
    /// The connection at an end of a flow, once it exists, if it is here.
    pub fn connection(&self, flow: FlowId, role: Role) -> Option<ConnectionView<'_>> {
        let end = &self.ends[EndId::of(flow, role).index()];
        match &self.nodes[end.node.index()] {
            Node::Host(host) => host.sockets()[end.socket.index()].view(),
            Node::Router(_) | Node::Elsewhere => None,
        }
    }
    /// The forwarding of a node; None if it is a host.
    pub fn forwarding(&self, node: NodeId) -> Option<&AnyForwarding> {
        match &self.nodes[node.index()] {
            Node::Host(_) | Node::Elsewhere => None,
            Node::Router(forwarding) => Some(forwarding),
        }
    }
    /// The port of its node that feeds a link.
    pub fn port_of(&self, link: LinkId) -> PortId {
        self.ports.port(link)
    }
    /// What became of every packet so far.
    pub fn conservation(&self) -> Conservation {
        let on_links = self.links().map(AnyLink::held_packets);
        let in_nodes = self.nodes.iter().map(|node| match node {
            Node::Host(host) => host.held_packets(),
            Node::Router(forwarding) => forwarding.held_packets(),
            Node::Elsewhere => 0,
        });
        // Fragments that a middlebox reassembled end there; the datagram goes on as one packet.
        let joined = self.links().map(|link| link.middlebox().fragments_merged);
        Conservation {
            sent: self.count.sent,
            entered: self.count.entered,
            split: self.count.split,
            left: self.count.left,
            delivered: self.count.delivered + joined.sum::<u64>(),
            dropped: self.drops.total(),
            held: on_links.chain(in_nodes).sum(),
            cold_parts: self.arena.live() as u64,
        }
    }
}

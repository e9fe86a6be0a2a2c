//! The state of a run, and the loop.

use crate::agenda::{Agenda, Entity};
use crate::observe::{Observer, PacketEvent};
use crate::outcome::{Conservation, FlowOutcome, LinkOutcome};
use crate::trace::{LinkHash, trace_hash};
use forebay_base::{Arena, DropLog, FlowId, LinkId, NodeId, Packet, PortId, SocketId, Time};
use forebay_net::{AnyLink, EventSpec, NetSpec, Network, Node, PortTable, SpecError, Workload};
use forebay_router::{Forwarding, Routes, Work};
use forebay_transport::Connection;
use forebay_wire::AddressPlan;

/// How to run, as opposed to what.
#[derive(Default)]
pub struct Options {
    /// Emit every packet to bytes and parse it back on every link. The trace hash stays the same.
    pub bytes: bool,
    /// Use the simple event heap. The trace hash stays the same.
    pub binary_heap: bool,
    /// Build every link the general way, two events per packet. The trace hash stays the same.
    pub all_queued: bool,
    /// Is told of every packet event.
    pub observer: Option<Box<dyn Observer>>,
    /// Packets from outside, in order of time.
    pub injections: Vec<Injection>,
}

/// A packet that enters the network from outside: it comes to `node` as if from its port `port`.
pub struct Injection {
    /// When.
    pub at: Time,
    /// Where.
    pub node: NodeId,
    /// The port of that node that it seems to come from.
    pub port: PortId,
    /// Its bytes from the IP header on; they must parse under the address plan of the run.
    pub bytes: Vec<u8>,
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Events are pending.
    Running,
    /// Every flow has an end, and has ended at both hosts.
    FlowsEnded,
    /// Nothing will ever happen again.
    Quiet,
}

pub(crate) struct LinkSlot {
    pub link: AnyLink,
    pub from: NodeId,
    pub to: NodeId,
    /// Port of `to` that it comes in on.
    pub in_port: PortId,
    pub mtu_bytes: u16,
    pub armed_arrival: Time,
    pub armed_transmitter: Time,
    pub hash: LinkHash,
}

/// Kinds of entities, in the order in which they act at equal times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Role {
    Control = 0,
    Arrival = 1,
    Transmitter = 2,
    Router = 3,
    Socket = 4,
}

const KIND_SHIFT: u32 = 29;

/// More than any honest run needs at one instant.
const MAX_INSTANT_EVENTS: u32 = 1 << 24;

impl Role {
    #[inline]
    pub fn entity(self, index: u32) -> Entity {
        debug_assert!(index < 1 << KIND_SHIFT);
        (self as u32) << KIND_SHIFT | index
    }
    #[inline]
    fn split(entity: Entity) -> (Role, u32) {
        let role = match entity >> KIND_SHIFT {
            0 => Role::Control,
            1 => Role::Arrival,
            2 => Role::Transmitter,
            3 => Role::Router,
            _ => Role::Socket,
        };
        (role, entity & ((1 << KIND_SHIFT) - 1))
    }
}

/// One end of a flow, as the driver sees it.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub node: NodeId,
    pub socket: SocketId,
    pub armed: Time,
    pub ended: bool,
}

/// One simulation.
pub struct Simulation {
    pub(crate) now: Time,
    pub(crate) agenda: Agenda,
    pub(crate) links: Vec<LinkSlot>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) router_armed: Vec<Time>,
    pub(crate) ports: PortTable,
    pub(crate) routes: Routes,
    pub(crate) plan: AddressPlan,
    pub(crate) workload: Workload,
    pub(crate) addresses: Vec<Vec<forebay_base::Addr>>,
    /// Two per flow: client, server.
    pub(crate) ends: Vec<End>,
    pub(crate) open_ends: usize,
    pub(crate) arena: Arena,
    pub(crate) drops: DropLog,
    pub(crate) work: Work,
    pub(crate) events: Vec<EventSpec>,
    pub(crate) next_event: usize,
    pub(crate) injections: std::collections::VecDeque<Injection>,
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) observer: Option<Box<dyn Observer>>,
    pub(crate) count: Count,
    /// Events handled at this instant.
    instant_events: u32,
}

/// What the driver counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub events: u64,
    pub sent: u64,
    pub split: u64,
    pub delivered: u64,
}

impl Simulation {
    /// Build a run. Nothing has happened yet.
    pub fn new(spec: &NetSpec, seed: u64, options: Options) -> Result<Simulation, SpecError> {
        let network = Network::build(spec, seed, options.all_queued)?;
        let links = network.links.into_iter().zip(&spec.links).enumerate();
        let links = links.map(|(i, (link, spec))| LinkSlot {
            link,
            from: spec.from,
            to: spec.to,
            in_port: network.ports.port(LinkId(i as u32 ^ 1)),
            mtu_bytes: spec.mtu_bytes,
            armed_arrival: Time::MAX,
            armed_transmitter: Time::MAX,
            hash: LinkHash::default(),
        });
        let ends = network.ends.iter().flatten();
        let ends = ends.map(|&(node, socket)| End { node, socket, armed: Time::MAX, ended: false });
        let ends: Vec<End> = ends.collect();
        let mut simulation = Simulation {
            now: Time::ZERO,
            agenda: if options.binary_heap { Agenda::binary() } else { Agenda::radix() },
            links: links.collect(),
            router_armed: vec![Time::MAX; network.nodes.len()],
            nodes: network.nodes,
            ports: network.ports,
            routes: network.routes,
            plan: network.plan,
            workload: network.workload,
            addresses: network.addresses,
            open_ends: ends.len(),
            ends,
            arena: Arena::default(),
            drops: DropLog::default(),
            work: Work::default(),
            events: spec.events.clone(),
            next_event: 0,
            injections: options.injections.into(),
            bytes: options.bytes.then(Vec::new),
            observer: options.observer,
            count: Count::default(),
            instant_events: 0,
        };
        simulation.events.sort_by_key(|e| e.at);
        simulation.arm_first();
        Ok(simulation)
    }

    fn arm_first(&mut self) {
        for (i, flow) in self.workload.flows().iter().enumerate() {
            let client = 2 * i;
            self.ends[client].armed = flow.start;
            self.agenda.push(flow.start, Role::Socket.entity(client as u32));
        }
        self.arm_control();
        for node in (0..self.nodes.len() as u32).map(NodeId) {
            self.sync_router(node);
        }
    }

    pub(crate) fn arm_control(&mut self) {
        let event = self.events.get(self.next_event).map(|e| e.at);
        let injection = self.injections.front().map(|i| i.at);
        if let Some(at) = [event, injection].into_iter().flatten().min() {
            self.agenda.push(at.max(self.now), Role::Control.entity(0));
        }
    }

    /// Run all events up to and including `limit`, or until every flow has ended.
    pub fn run_until(&mut self, limit: Time) -> Status {
        while self.open_ends > 0 || self.ends.is_empty() {
            let Some((at, entity)) = self.agenda.pop_until(limit) else {
                self.now = self.now.max(limit);
                return if self.agenda.is_empty() { Status::Quiet } else { Status::Running };
            };
            self.instant_events = if at == self.now { self.instant_events + 1 } else { 0 };
            self.now = at;
            self.handle(entity);
            self.check_progress(entity);
        }
        Status::FlowsEnded
    }

    /// A machine that asks for a time that has passed, again and again, stops the clock: our bug, told as such.
    #[inline]
    fn check_progress(&self, entity: Entity) {
        if self.instant_events >= MAX_INSTANT_EVENTS {
            let (role, index) = Role::split(entity);
            panic!("the clock stands still at {}: {role:?} {index} acts without end", self.now);
        }
    }

    #[inline]
    fn handle(&mut self, entity: Entity) {
        let (role, index) = Role::split(entity);
        let armed = match role {
            Role::Arrival => &mut self.links[index as usize].armed_arrival,
            Role::Transmitter => &mut self.links[index as usize].armed_transmitter,
            Role::Router => &mut self.router_armed[index as usize],
            Role::Socket => &mut self.ends[index as usize].armed,
            Role::Control => {
                self.count.events += 1;
                return self.on_control();
            }
        };
        if *armed != self.now {
            return; // armed again for another time since
        }
        *armed = Time::MAX;
        self.count.events += 1;
        match role {
            Role::Arrival => self.on_arrival(LinkId(index)),
            Role::Transmitter => self.on_transmitter(LinkId(index)),
            Role::Router => self.on_router(NodeId(index)),
            Role::Socket => self.on_socket(index),
            Role::Control => unreachable!("handled above"),
        }
    }

    #[inline]
    pub(crate) fn observe(&mut self, event: PacketEvent, packet: &Packet) {
        if let Some(observer) = &mut self.observer {
            observer.on_packet(self.now, event, packet, &self.arena);
        }
    }

    /// Now.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Events handled.
    pub fn events(&self) -> u64 {
        self.count.events
    }
    /// Packets fully serialised on a link, each link counted.
    pub fn packet_hops(&self) -> u64 {
        self.links.iter().map(|l| l.link.serialized_packets(self.now)).sum()
    }
    /// The trace hash so far.
    pub fn trace_hash(&self) -> u64 {
        trace_hash(self.links.iter().map(|l| l.hash))
    }
    /// Drops so far.
    pub fn drops(&self) -> &DropLog {
        &self.drops
    }
    /// The workload.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }
    /// The connection at an end of a flow, once it exists.
    pub fn connection(&self, flow: FlowId, role: forebay_transport::Role) -> Option<&Connection> {
        let end = &self.ends[2 * flow.index() + (role == forebay_transport::Role::Server) as usize];
        match &self.nodes[end.node.index()] {
            Node::Host(host) => host.sockets()[end.socket.index()].connection(),
            Node::Router(_) => None,
        }
    }
    /// How a flow has fared so far.
    pub fn flow(&self, flow: FlowId) -> FlowOutcome {
        FlowOutcome::of(self, flow)
    }
    /// How a link has fared so far.
    pub fn link(&self, link: LinkId) -> LinkOutcome<'_> {
        LinkOutcome { link: &self.links[link.index()].link, now: self.now }
    }
    /// What became of every packet so far.
    pub fn conservation(&self) -> Conservation {
        let on_links: u64 = self.links.iter().map(|l| l.link.held_packets()).sum();
        let in_nodes: u64 = self
            .nodes
            .iter()
            .map(|n| match n {
                Node::Host(host) => host.held_packets(),
                Node::Router(forwarding) => forwarding.held_packets(),
            })
            .sum();
        Conservation {
            sent: self.count.sent,
            split: self.count.split,
            delivered: self.count.delivered,
            dropped: self.drops.total(),
            held: on_links + in_nodes,
            cold_parts: self.arena.live() as u64,
        }
    }
}

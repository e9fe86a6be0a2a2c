//! The state of a run, and the loop.

use crate::agenda::{Agenda, Entity, INDEX_BITS};
use crate::observe::Observer;
use crate::outcome::{FlowOutcome, LinkOutcome};
use crate::trace::{LinkHash, trace_hash};
use forebay_base::{Arena, DropLog, FlowId, LinkId, NodeId, Packet, PortId, Time};
use forebay_net::{Conservation, Deadline, Driver, EndId, EventSpec, Fabric};
use forebay_net::{NetSpec, PacketEvent, SpecError, Workload};
use forebay_router::AnyForwarding;
use forebay_router::inrpp::InterfaceView;
use forebay_transport::Connection;
use std::collections::VecDeque;

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

const KIND_SHIFT: u32 = INDEX_BITS;

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

/// What is pending, what has arrived, and who looks on.
pub(crate) struct Clockwork {
    agenda: Agenda,
    /// By link.
    hashes: Vec<LinkHash>,
    observer: Option<Box<dyn Observer>>,
}

impl Driver for Clockwork {
    #[inline(always)]
    fn arm(&mut self, deadline: Deadline, at: Time) {
        let entity = match deadline {
            Deadline::Arrival(link) => Role::Arrival.entity(link.0),
            Deadline::Transmitter(link) => Role::Transmitter.entity(link.0),
            Deadline::Router(node) => Role::Router.entity(node.0),
            Deadline::Socket(end) => Role::Socket.entity(end.0),
        };
        self.agenda.push(at, entity);
    }
    fn observes(&self) -> bool {
        self.observer.is_some()
    }
    #[inline(always)] // the event is known where it is called
    fn observe(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena) {
        if let PacketEvent::Arrived(link) = event {
            self.hashes[link.index()].arrived(now, packet.digest(arena));
        }
        if let Some(observer) = &mut self.observer {
            observer.on_packet(now, event, packet, arena);
        }
    }
}

/// One simulation.
pub struct Simulation {
    pub(crate) now: Time,
    pub(crate) fabric: Fabric<Clockwork>,
    pub(crate) events: Vec<EventSpec>,
    pub(crate) next_event: usize,
    pub(crate) injections: VecDeque<Injection>,
    pub(crate) bytes: Option<Vec<u8>>,
    /// Events handled.
    handled: u64,
    /// Events handled at this instant.
    instant_events: u32,
}

impl Simulation {
    /// Build a run. Nothing has happened yet.
    pub fn new(spec: &NetSpec, seed: u64, options: Options) -> Result<Simulation, SpecError> {
        let agenda = if options.binary_heap { Agenda::binary() } else { Agenda::calendar() };
        let hashes = vec![LinkHash::default(); spec.links.len()];
        let driver = Clockwork { agenda, hashes, observer: options.observer };
        let mut simulation = Simulation {
            now: Time::ZERO,
            fabric: Fabric::new(spec, seed, options.all_queued, driver)?,
            events: spec.events.clone(),
            next_event: 0,
            injections: options.injections.into(),
            bytes: options.bytes.then(Vec::new),
            handled: 0,
            instant_events: 0,
        };
        simulation.events.sort_by_key(|e| e.at);
        simulation.fabric.start(|_| true);
        simulation.arm_control();
        Ok(simulation)
    }

    pub(crate) fn arm_control(&mut self) {
        let event = self.events.get(self.next_event).map(|e| e.at);
        let injection = self.injections.front().map(|i| i.at);
        if let Some(at) = [event, injection].into_iter().flatten().min() {
            self.fabric.driver.agenda.push(at.max(self.now), Role::Control.entity(0));
        }
    }

    /// Run all events up to and including `limit`, or until every flow has ended.
    pub fn run_until(&mut self, limit: Time) -> Status {
        while self.is_open() {
            let agenda = &mut self.fabric.driver.agenda;
            let Some((at, entity)) = agenda.pop_until(limit) else {
                self.now = self.now.max(limit);
                return if agenda.is_empty() { Status::Quiet } else { Status::Running };
            };
            if at != self.now {
                assert!(at > self.now, "the agenda went back from {} to {at}", self.now);
                (self.now, self.instant_events) = (at, 0);
            }
            self.instant_events += 1;
            if self.instant_events >= MAX_INSTANT_EVENTS {
                self.stand_still(entity);
            }
            self.handle(entity);
        }
        Status::FlowsEnded
    }

    /// A run without flows goes on for ever.
    #[inline]
    fn is_open(&self) -> bool {
        let (all, open) = self.fabric.ends();
        open > 0 || all == 0
    }

    /// A machine that asks for a time that has passed, again and again, stops the clock: our bug, told as such.
    #[cold]
    fn stand_still(&self, entity: Entity) -> ! {
        let (role, index) = Role::split(entity);
        panic!("the clock stands still at {}: {role:?} {index} acts without end", self.now);
    }

    #[inline(always)]
    fn handle(&mut self, entity: Entity) {
        // Nearly all events: they do not go through the choice below.
        if entity >> KIND_SHIFT == Role::Arrival as u32 && self.bytes.is_none() {
            let link = LinkId(entity & ((1 << KIND_SHIFT) - 1));
            self.handled += u64::from(self.fabric.pass_arrival(self.now, link));
        } else {
            self.handle_other(entity);
        }
    }

    #[inline(never)]
    fn handle_other(&mut self, entity: Entity) {
        let (role, index) = Role::split(entity);
        let (now, link, node) = (self.now, LinkId(index), NodeId(index));
        let meant = match role {
            Role::Control => true,
            Role::Arrival => self.fabric.due(now, Deadline::Arrival(link)),
            Role::Transmitter => self.fabric.due(now, Deadline::Transmitter(link)),
            Role::Router => self.fabric.due(now, Deadline::Router(node)),
            Role::Socket => self.fabric.due(now, Deadline::Socket(EndId(index))),
        };
        if !meant {
            return; // armed again for another time since
        }
        self.handled += 1;
        match role {
            Role::Control => self.on_control(),
            Role::Arrival => self.arrive_as_bytes(link),
            Role::Transmitter => self.fabric.on_transmitter(now, link),
            Role::Router => self.fabric.on_router(now, node),
            Role::Socket => self.fabric.on_socket(now, EndId(index)),
        }
    }

    /// Now.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Events handled.
    pub fn events(&self) -> u64 {
        self.handled
    }
    /// Packets fully serialised on a link, each link counted.
    pub fn packet_hops(&self) -> u64 {
        self.fabric.links().map(|link| link.serialized_packets(self.now)).sum()
    }
    /// The trace hash so far.
    pub fn trace_hash(&self) -> u64 {
        trace_hash(self.fabric.driver.hashes.iter().copied())
    }
    /// Drops so far.
    pub fn drops(&self) -> &DropLog {
        self.fabric.drops()
    }
    /// The workload.
    pub fn workload(&self) -> &Workload {
        self.fabric.workload()
    }
    /// The connection at an end of a flow, once it exists.
    pub fn connection(&self, flow: FlowId, role: forebay_transport::Role) -> Option<&Connection> {
        self.fabric.connection(flow, role)
    }
    /// How a flow has fared so far.
    pub fn flow(&self, flow: FlowId) -> FlowOutcome {
        FlowOutcome::of(self, flow)
    }
    /// How a link has fared so far.
    pub fn link(&self, link: LinkId) -> LinkOutcome<'_> {
        LinkOutcome { link: self.fabric.link(link), now: self.now }
    }
    /// The interface of an INRPP router that feeds a link; None if another kind of node does.
    pub fn interface(&self, link: LinkId) -> Option<InterfaceView<'_>> {
        let (node, _) = self.fabric.link_nodes(link);
        match self.fabric.forwarding(node)? {
            AnyForwarding::Inrpp(router) => Some(router.view(self.fabric.port_of(link))),
            AnyForwarding::PlainIp(_) | AnyForwarding::Custom(_) => None,
        }
    }
    /// What became of every packet so far.
    pub fn conservation(&self) -> Conservation {
        self.fabric.conservation()
    }
}

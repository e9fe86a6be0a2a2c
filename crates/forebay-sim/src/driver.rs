//! The driver of a fabric in virtual time: pending events, the trace hash, and the observer.

use crate::event_queue::{Entity, EventQueue, INDEX_BITS};
use crate::observe::Observer;
use crate::trace::TraceSum;
use forebay_base::{Arena, LinkId, Packet, Signature, Time};
use forebay_net::{Deadline, Driver, PacketEvent};

/// Kinds of entities, in the order in which they act at equal times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum EntityKind {
    Control = 0,
    Arrival = 1,
    Transmitter = 2,
    Router = 3,
    Socket = 4,
}

pub(crate) const KIND_SHIFT: u32 = INDEX_BITS;

impl EntityKind {
    #[inline]
    pub fn entity(self, index: u32) -> Entity {
        debug_assert!(index < 1 << KIND_SHIFT);
        (self as u32) << KIND_SHIFT | index
    }
    #[inline]
    pub fn split(entity: Entity) -> (EntityKind, u32) {
        let kind = match entity >> KIND_SHIFT {
            0 => EntityKind::Control,
            1 => EntityKind::Arrival,
            2 => EntityKind::Transmitter,
            3 => EntityKind::Router,
            _ => EntityKind::Socket,
        };
        (kind, entity & ((1 << KIND_SHIFT) - 1))
    }
}

/// The driver of a fabric: pending events, the trace hash, and the observer.
pub(crate) struct SimDriver {
    pub agenda: EventQueue,
    /// The trace hash of arrivals here; None if it is not wanted.
    trace: Option<TraceSum>,
    observer: Option<Box<dyn Observer>>,
    /// Early transit is on.
    looks_ahead: bool,
}

impl SimDriver {
    /// A driver with nothing pending. `trace`: hash what arrives. `looks_ahead`: allow early
    /// transit, unless there is an observer.
    pub fn new(
        agenda: EventQueue,
        trace: bool,
        observer: Option<Box<dyn Observer>>,
        looks_ahead: bool,
    ) -> SimDriver {
        let looks_ahead = looks_ahead && observer.is_none();
        SimDriver { agenda, trace: trace.then(TraceSum::default), observer, looks_ahead }
    }
    /// The trace hash of arrivals here.
    pub fn trace(&self) -> TraceSum {
        self.trace.unwrap_or_default()
    }
}

impl Driver for SimDriver {
    #[inline(always)]
    fn arm(&mut self, deadline: Deadline, at: Time) {
        let entity = match deadline {
            Deadline::Arrival(link) => EntityKind::Arrival.entity(link.0),
            Deadline::Transmitter(link) => EntityKind::Transmitter.entity(link.0),
            Deadline::Router(node) => EntityKind::Router.entity(node.0),
            Deadline::Socket(end) => EntityKind::Socket.entity(end.0),
        };
        self.agenda.push(at, entity);
    }
    fn observes(&self) -> bool {
        self.observer.is_some()
    }
    fn looks_ahead(&self) -> bool {
        self.looks_ahead
    }
    #[inline(always)]
    fn signs(&self) -> bool {
        self.trace.is_some()
    }
    #[inline(always)]
    fn passed(&mut self, at: Time, link: LinkId, signature: Signature, ttl: u8) {
        if let Some(trace) = &mut self.trace {
            trace.arrived(at, link, signature, ttl);
        }
    }
    #[inline(always)] // the event is known where it is called
    fn observe(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena) {
        if let PacketEvent::Arrived(link) = event
            && let Some(trace) = &mut self.trace
        {
            trace.arrived(now, link, packet.signature(arena), packet.ttl());
        }
        if let Some(observer) = &mut self.observer {
            observer.on_packet(now, event, packet, arena);
        }
    }
}

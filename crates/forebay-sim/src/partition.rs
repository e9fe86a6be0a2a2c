//! One partition of a run, or all of it: its fabric, its pending events, and the loop.

use crate::event_queue::{Entity, EventQueue, INDEX_BITS};
use crate::injection::Injection;
use crate::observe::Observer;
use crate::trace::TraceSum;
use forebay_base::{Arena, LinkId, NodeId, Packet, Signature, Time};
use forebay_net::{Deadline, Driver, EndId, EventSpec, Fabric, Horizon, PacketEvent};
use std::collections::VecDeque;

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

const KIND_SHIFT: u32 = INDEX_BITS;

/// More events than a correct run has at one instant.
const MAX_INSTANT_EVENTS: u32 = 1 << 24;

impl EntityKind {
    #[inline]
    fn entity(self, index: u32) -> Entity {
        debug_assert!(index < 1 << KIND_SHIFT);
        (self as u32) << KIND_SHIFT | index
    }
    #[inline]
    fn split(entity: Entity) -> (EntityKind, u32) {
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
    agenda: EventQueue,
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

/// See the module.
pub(crate) struct Partition {
    /// The time of the last event here.
    now: Time,
    pub fabric: Fabric<SimDriver>,
    /// Events of the scenario here, in order of time.
    events: VecDeque<EventSpec>,
    injections: VecDeque<Injection>,
    bytes: Option<Vec<u8>>,
    /// Events handled.
    handled: u64,
    /// Events handled at this instant.
    instant_events: u32,
    /// Expected events of a window: an average in which recent windows count most.
    expected_events: u64,
    horizon: Horizon,
}

impl Partition {
    /// A part at the start of a run. `events` and `injections` are in order of time.
    pub fn new(
        fabric: Fabric<SimDriver>,
        events: VecDeque<EventSpec>,
        injections: VecDeque<Injection>,
        bytes: bool,
        horizon: Horizon,
    ) -> Partition {
        let bytes = bytes.then(Vec::new);
        let (now, handled, instant_events) = (Time::ZERO, 0, 0);
        let expected_events = 0;
        let mut part = Partition {
            now,
            fabric,
            events,
            injections,
            bytes,
            handled,
            instant_events,
            expected_events,
            horizon,
        };
        part.arm_control();
        part
    }

    fn arm_control(&mut self) {
        let event = self.events.front().map(|e| e.at);
        let injection = self.injections.front().map(|i| i.at);
        if let Some(at) = [event, injection].into_iter().flatten().min() {
            self.fabric.driver.agenda.push(at.max(self.now), EntityKind::Control.entity(0));
        }
    }

    /// Run all events up to and including `limit`. With `to_last_end` stop after the event that
    /// ends the last flow.
    pub fn run(&mut self, limit: Time, to_last_end: bool) {
        // One comparison per event in either case.
        let over = if to_last_end { 0 } else { isize::MIN };
        while self.fabric.ends().1 != over {
            let Some((at, entity)) = self.fabric.driver.agenda.pop_until(limit) else { return };
            if at != self.now {
                assert!(at > self.now, "the agenda went back from {} to {at}", self.now);
                (self.now, self.instant_events) = (at, 0);
                if at >= self.horizon.review_at() {
                    self.horizon.review(&mut self.fabric, at);
                }
            }
            self.instant_events += 1;
            if self.instant_events >= MAX_INSTANT_EVENTS {
                self.stand_still(entity);
            }
            self.handle(entity);
        }
    }

    /// Nothing is sampled before `look`.
    pub fn sample_not_before(&mut self, look: Time) {
        self.horizon.sample_not_before(look);
    }

    /// Run all events of a window that ends with `end`.
    pub fn run_window(&mut self, end: Time) {
        let before = self.events();
        self.run(end, false);
        self.expected_events = (self.expected_events + self.events() - before).div_ceil(2);
    }
    /// Expected events of the next window.
    pub fn expected_events(&self) -> u64 {
        self.expected_events
    }

    /// A machine that asks again and again for a time that has passed stops the clock. That is a
    /// bug.
    #[cold]
    fn stand_still(&self, entity: Entity) -> ! {
        let (kind, index) = EntityKind::split(entity);
        panic!("the clock stands still at {}: {kind:?} {index} acts without end", self.now);
    }

    #[inline(always)]
    fn handle(&mut self, entity: Entity) {
        // Nearly all events are of this kind: skip the match below.
        if entity >> KIND_SHIFT == EntityKind::Arrival as u32 && self.bytes.is_none() {
            let link = LinkId(entity & ((1 << KIND_SHIFT) - 1));
            self.handled += u64::from(self.fabric.pass_arrival(self.now, link));
        } else {
            self.handle_other(entity);
        }
    }

    #[inline(never)]
    fn handle_other(&mut self, entity: Entity) {
        let (kind, index) = EntityKind::split(entity);
        let (now, link, node) = (self.now, LinkId(index), NodeId(index));
        let meant = match kind {
            EntityKind::Control => return self.on_control(),
            EntityKind::Arrival => self.fabric.due(now, Deadline::Arrival(link)),
            EntityKind::Transmitter => self.fabric.due(now, Deadline::Transmitter(link)),
            EntityKind::Router => self.fabric.due(now, Deadline::Router(node)),
            EntityKind::Socket => self.fabric.due(now, Deadline::Socket(EndId(index))),
        };
        if !meant {
            return; // armed again for another time since
        }
        self.handled += 1;
        match kind {
            EntityKind::Control => unreachable!("done above"),
            EntityKind::Arrival => self.arrive_as_bytes(link),
            EntityKind::Transmitter => self.fabric.on_transmitter(now, link),
            EntityKind::Router => self.fabric.on_router(now, node),
            EntityKind::Socket => {
                self.handled -= u64::from(!self.fabric.on_socket(now, EndId(index)))
            }
        }
    }

    /// The first packet on the wire of `link` arrives as bytes.
    fn arrive_as_bytes(&mut self, link: LinkId) {
        let Some(packet) = self.fabric.take_arrival(self.now, link) else { return };
        let packet = self.through_bytes(packet);
        self.fabric.arrive(self.now, link, packet);
    }

    /// Emit a packet to bytes and parse it back: machines must not depend on more than the bytes.
    fn through_bytes(&mut self, packet: Packet) -> Packet {
        let buffer = self.bytes.as_mut().expect("bytes mode");
        let (plan, arena) = (&self.fabric.plan, &mut self.fabric.arena);
        buffer.clear();
        let emitted = forebay_wire::emit(&packet, arena, plan, buffer);
        emitted.expect("every address of a run is in its plan");
        assert_eq!(buffer.len(), packet.wire_len() as usize, "wire length of {packet:?}");
        let (hop_time, left_host_at) = (packet.hop_time(), packet.left_host_at());
        let mut parsed = match forebay_wire::parse(buffer, plan, arena) {
            Ok(parsed) => parsed,
            Err(error) => panic!("{error}: {packet:?} does not parse back"),
        };
        parsed.set_hop_time(hop_time);
        parsed.set_left_host_at(left_host_at);
        arena.free(packet);
        parsed
    }

    /// Apply all events and injections that are due. Each counts as an event.
    fn on_control(&mut self) {
        while self.events.front().is_some_and(|e| e.at <= self.now) {
            let event = self.events.pop_front().expect("just seen");
            self.handled += 1;
            let applied = self.fabric.on_event(self.now, &event.event);
            applied.expect("an event of the spec, which was checked");
        }
        while self.injections.front().is_some_and(|i| i.at <= self.now) {
            let due = self.injections.pop_front().expect("just seen");
            self.handled += 1;
            let taken = self.fabric.inject(self.now, due.node, due.port, &due.bytes);
            taken.expect("its port was checked, and nothing looks ahead");
        }
        self.arm_control();
    }

    /// The time of the first pending event, [`Time::MAX`] if there is none.
    pub fn next_time(&self) -> Time {
        self.fabric.driver.agenda.next_time().unwrap_or(Time::MAX)
    }
    /// True if nothing is pending but stale deadlines, and early transit has not acted after `now`.
    pub fn is_quiet(&self, now: Time) -> bool {
        let scheduled = !self.events.is_empty() || !self.injections.is_empty();
        let idle = self.fabric.driver.agenda.is_empty() || !scheduled && self.fabric.is_at_rest();
        idle && self.fabric.early_transit_done().1 <= now
    }
    /// Events handled, early transit included.
    pub fn events(&self) -> u64 {
        self.handled + self.fabric.early_transit_done().0
    }
}

//! The nodes of a network that run in one place: their fabric, their pending events, and the loop.
//!
//! Two kinds of driver use a [`Site`]. A [`Simulation`](crate::Simulation) has one for each
//! partition, and owns virtual time. A driver on real interfaces has one for the nodes that it
//! runs: it hands in what arrives, with the time at which it arrived ([`Site::push`]), lets the
//! events of a stretch of time happen at their nominal times ([`Site::run_until`]), and writes what
//! leaves ([`Site::exits`]) when its time has come. No machine sees a clock: `now` is the time of
//! an event or of an input.

mod doors;
mod streams;

pub use doors::{Exit, RealWires, SiteOptions};

use crate::driver::{EntityKind, KIND_SHIFT, SimDriver};
use crate::event_queue::Entity;
use crate::injection::Entrant;
use doors::Doors;
use forebay_base::{LinkId, NodeId, Packet, Time};
use forebay_net::{Deadline, EndId, EventSpec, Fabric, Horizon};
use std::collections::VecDeque;

/// More events than a correct run has at one instant.
const MAX_INSTANT_EVENTS: u32 = 1 << 24;

/// See the module.
pub struct Site {
    /// The time of the last event here.
    now: Time,
    pub(crate) fabric: Fabric<SimDriver>,
    /// Events of the scenario here, in order of time.
    events: VecDeque<EventSpec>,
    entrants: VecDeque<Entrant>,
    /// When the first of both is due, if that is armed.
    control_at: Time,
    bytes: Option<Vec<u8>>,
    /// What comes from elsewhere and goes there, unless all nodes are in partitions of one run.
    doors: Option<Box<Doors>>,
    /// Arrivals need no look at `bytes` and `doors`.
    plain_arrivals: bool,
    /// Events handled.
    handled: u64,
    /// Events handled at this instant.
    instant_events: u32,
    horizon: Horizon,
}

impl Site {
    /// A site at the start of a run. `events` and `entrants` are in order of time; with `bytes`
    /// packets pass each link as bytes.
    pub(crate) fn at_start(
        fabric: Fabric<SimDriver>,
        events: VecDeque<EventSpec>,
        entrants: VecDeque<Entrant>,
        bytes: bool,
        horizon: Horizon,
    ) -> Site {
        let mut site = Site {
            now: Time::ZERO,
            fabric,
            events,
            entrants,
            control_at: Time::MAX,
            bytes: bytes.then(Vec::new),
            doors: None,
            plain_arrivals: !bytes,
            handled: 0,
            instant_events: 0,
            horizon,
        };
        site.arm_control();
        site
    }

    fn arm_control(&mut self) {
        let event = self.events.front().map(|e| e.at);
        let entrant = self.entrants.front().map(|e| e.at);
        if let Some(at) = [event, entrant].into_iter().flatten().min()
            && at < self.control_at
        {
            self.control_at = at;
            self.fabric.driver.agenda.push(at.max(self.now), EntityKind::Control.entity(0));
        }
    }

    /// Run all events up to and including `limit`. With `to_last_end` stop after the event that
    /// ends the last flow.
    pub(crate) fn run(&mut self, limit: Time, to_last_end: bool) {
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
    pub(crate) fn sample_not_before(&mut self, look: Time) {
        self.horizon.sample_not_before(look);
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
        if entity >> KIND_SHIFT == EntityKind::Arrival as u32 && self.plain_arrivals {
            let link = LinkId(entity & ((1 << KIND_SHIFT) - 1));
            self.handled += u64::from(self.fabric.pass_arrival(self.now, link));
        } else {
            self.handle_other(entity);
        }
    }

    #[inline(never)]
    fn handle_other(&mut self, entity: Entity) {
        self.handle_any(entity);
        if self.doors.is_some() {
            self.fabric.send_answers();
        }
    }
    #[inline(always)]
    fn handle_any(&mut self, entity: Entity) {
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
            EntityKind::Arrival => self.arrive(link),
            EntityKind::Transmitter => self.fabric.on_transmitter(now, link),
            EntityKind::Router => self.fabric.on_router(now, node),
            EntityKind::Socket => {
                self.handled -= u64::from(!self.fabric.on_socket(now, EndId(index)))
            }
        }
    }

    /// The first packet on the wire of `link` arrives: elsewhere, or as bytes, or as it is.
    fn arrive(&mut self, link: LinkId) {
        if self.doors.is_some() && self.fabric.is_exit(link) {
            return self.leave(link);
        }
        let Some(packet) = self.fabric.take_arrival(self.now, link) else { return };
        let packet = if self.bytes.is_some() { self.through_bytes(packet) } else { packet };
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

    /// Apply all events and entrants that are due. Each counts as an event.
    fn on_control(&mut self) {
        if self.control_at > self.now {
            return; // armed for an earlier time since
        }
        self.control_at = Time::MAX;
        while self.events.front().is_some_and(|e| e.at <= self.now) {
            let event = self.events.pop_front().expect("just seen");
            self.handled += 1;
            let applied = self.fabric.on_event(self.now, &event.event);
            applied.expect("an event of the spec, which was checked");
        }
        while self.entrants.front().is_some_and(|e| e.at <= self.now) {
            let due = self.entrants.pop_front().expect("just seen");
            self.handled += 1;
            self.admit(due);
        }
        self.arm_control();
    }

    /// The time of the first pending event, [`Time::MAX`] if there is none.
    pub(crate) fn next_time(&self) -> Time {
        self.fabric.driver.agenda.next_time().unwrap_or(Time::MAX)
    }
    /// True if nothing is pending but stale deadlines, and early transit has not acted after `now`.
    pub(crate) fn is_quiet(&self, now: Time) -> bool {
        let scheduled = !self.events.is_empty() || !self.entrants.is_empty();
        let idle = self.fabric.driver.agenda.is_empty() || !scheduled && self.fabric.is_at_rest();
        idle && self.fabric.early_transit_done().1 <= now
    }
    /// Events handled, early transit included.
    pub(crate) fn events(&self) -> u64 {
        self.handled + self.fabric.early_transit_done().0
    }
}

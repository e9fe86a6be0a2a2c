//! The links of a fabric, and what it takes to put packets on them. Disjoint from the nodes.

use super::{Deadline, Driver, Edge, Slot};
use crate::early_transit::{ArrivalPath, Guard};
use crate::host::Outlet;
use crate::link::AnyLink;
use crate::ports::PortTable;
use alloc::collections::VecDeque;
use forebay_base::{Addr, Arena, DropLog, LinkId, NodeId, Packet, Signature, Time};
use forebay_queue::{Overflow, PortContext};
use forebay_router::{RouteKey, Routes};

/// How packets find their next link.
#[derive(Clone, Copy)]
pub(super) struct Maps<'a> {
    pub routes: &'a Routes,
    pub ports: &'a PortTable,
}

impl Maps<'_> {
    /// The link on which `node` forwards what is `to` a destination. None if it drops the packet.
    #[inline(always)]
    pub fn next_link(self, node: NodeId, to: impl RouteKey, ttl: u8) -> Option<LinkId> {
        let port = self.routes.port(node, to).filter(|_| ttl > 1)?;
        Some(self.ports.link(node, port))
    }
}

/// A packet, and the link on which it was queued last.
pub(super) struct Travel {
    pub dst: Addr,
    pub wire_len: u16,
    /// On that link.
    pub ttl: u8,
    pub signature: Signature,
    pub link: LinkId,
    /// At its far end.
    pub arrival: Time,
}

impl Travel {
    /// `packet` was queued on `link`, or is about to be.
    #[inline(always)]
    pub fn new<D: Driver>(
        packet: &Packet,
        link: LinkId,
        arrival: Time,
        driver: &D,
        arena: &Arena,
    ) -> Travel {
        let (dst, wire_len, ttl) = (packet.dst(), packet.wire_len(), packet.ttl());
        let signature = if driver.signs() { packet.signature(arena) } else { Signature::default() };
        Travel { dst, wire_len, ttl, signature, link, arrival }
    }
}

/// A packet that arrives at the host at the end of `link` at `arrival`. Nothing else arrives there
/// before.
pub(super) struct EarlyArrival {
    pub link: LinkId,
    pub arrival: Time,
    pub packet: Packet,
}

/// Where early transit has taken a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// To the host at the end of the last link.
    Host,
    /// It belongs into the ring of the last link.
    Ring,
    /// The last link loses or shakes it.
    Drawn,
}

/// What became of a packet for a link that draws.
pub(super) enum Step {
    /// It is not queued there yet.
    Stays,
    /// It was queued there, and arrives when it was scheduled to.
    Goes,
    /// The same, and the link loses or shakes it.
    Drawn,
}

/// Queue a packet on the links after the one where it is queued, as far as early transit allows.
/// Gives the number of links that it has passed.
#[inline(always)]
fn chain<D: Driver>(
    links: &mut [Slot],
    maps: Maps<'_>,
    driver: &mut D,
    travel: &mut Travel,
    horizon: Time,
) -> (u64, End) {
    let mut passed = 0;
    loop {
        let slot = &links[travel.link.index()];
        match (slot.arrival_path, &slot.link) {
            (ArrivalPath::ForwardEarlyTransit, _) => {}
            (ArrivalPath::HostEarlyTransit, AnyLink::Fifo(fifo)) => {
                let first = fifo.is_empty() || !driver.guards().has(Guard::EmptyRing);
                let goes = travel.arrival <= horizon && first;
                return (passed, if goes { End::Host } else { End::Ring });
            }
            _ => return (passed, End::Ring),
        }
        let Some(next) = maps.next_link(slot.to, travel.dst, travel.ttl) else {
            return (passed, End::Ring);
        };
        let Some(slot) = links.get_mut(next.index()) else { return (passed, End::Ring) };
        let AnyLink::Fifo(fifo) = &slot.link else { return (passed, End::Ring) };
        let ungated = fifo.upstream_gate.is_single() && !driver.guards().has(Guard::Gate);
        let step = if fifo.upstream_gate.is_open() || ungated && !fifo.is_impaired() {
            if step(slot, driver, travel, next, horizon) { Step::Goes } else { Step::Stays }
        } else if fifo.upstream_gate.is_open_to_draw() || ungated {
            step_and_draw(slot, driver, travel, next, horizon)
        } else {
            Step::Stays
        };
        match step {
            Step::Goes => passed += 1,
            Step::Drawn => return (passed + 1, End::Drawn),
            Step::Stays => {
                if let AnyLink::Fifo(fifo) = &mut slot.link {
                    fifo.upstream_gate.expect_one();
                }
                return (passed, End::Ring);
            }
        }
    }
}

/// Queue the packet on `next`, whose slot this is, if it arrives there before the horizon and there
/// is room.
#[inline(always)]
pub(super) fn step<D: Driver>(
    slot: &mut Slot,
    driver: &mut D,
    travel: &mut Travel,
    next: LinkId,
    horizon: Time,
) -> bool {
    let AnyLink::Fifo(fifo) = &mut slot.link else { return false };
    let lacks = |guard| !driver.guards().has(guard);
    let goes = (travel.arrival <= horizon || lacks(Guard::Horizon))
        && (travel.wire_len <= slot.mtu_bytes || lacks(Guard::Fits))
        && (fifo.admits(travel.arrival, travel.wire_len) || lacks(Guard::HasRoom));
    if !goes {
        return false;
    }
    let arrival = fifo.schedule(travel.arrival, travel.wire_len);
    driver.passed(travel.arrival, travel.link, travel.signature, travel.ttl);
    (travel.link, travel.arrival) = (next, arrival);
    travel.ttl -= 1;
    true
}

/// The same where `next` may lose or shake it.
#[inline(never)]
pub(super) fn step_and_draw<D: Driver>(
    slot: &mut Slot,
    driver: &mut D,
    travel: &mut Travel,
    next: LinkId,
    horizon: Time,
) -> Step {
    if !step(slot, driver, travel, next, horizon) {
        return Step::Stays;
    }
    let AnyLink::Fifo(fifo) = &mut slot.link else { return Step::Goes };
    if fifo.draw(travel.arrival) { Step::Goes } else { Step::Drawn }
}

/// See the module.
pub(super) struct LinkSet<'a, D> {
    pub links: &'a mut [Slot],
    pub edges: &'a mut [Edge],
    pub maps: Maps<'a>,
    pub driver: &'a mut D,
    pub early_arrivals: &'a mut VecDeque<EarlyArrival>,
    pub early_transit_events: &'a mut u64,
    pub horizon: Time,
}

/// The links of a fabric. A macro, because it borrows fields besides the nodes.
macro_rules! link_set {
    ($fabric:ident) => {
        LinkSet {
            links: &mut $fabric.links,
            edges: &mut $fabric.edges,
            maps: Maps { routes: &$fabric.routes, ports: &$fabric.ports },
            driver: &mut $fabric.driver,
            early_arrivals: &mut $fabric.early_arrivals,
            early_transit_events: &mut $fabric.early_transit_events,
            horizon: $fabric.horizon,
        }
    };
}
pub(super) use link_set;

impl<D: Driver> LinkSet<'_, D> {
    /// A copy for a call that is not inlined: `self` then stays in registers.
    #[inline(always)]
    fn aside(&mut self) -> LinkSet<'_, D> {
        LinkSet {
            links: self.links,
            edges: self.edges,
            maps: self.maps,
            driver: self.driver,
            early_arrivals: self.early_arrivals,
            early_transit_events: self.early_transit_events,
            horizon: self.horizon,
        }
    }
    #[inline(always)]
    pub fn arm_next_arrival(&mut self, link: LinkId) {
        let slot = &mut self.links[link.index()];
        if let Some(at) = slot.link.next_arrival() {
            slot.armed_arrival = at;
            self.driver.arm(Deadline::Arrival(link), at);
        }
    }

    /// [`chain`] for a packet that was queued on a link.
    #[inline(always)]
    pub fn advance(&mut self, travel: &mut Travel) -> End {
        let (passed, end) = chain(self.links, self.maps, self.driver, travel, self.horizon);
        *self.early_transit_events += passed;
        end
    }

    /// A packet that is in no ring was queued on a link: look ahead as far as possible.
    #[inline(always)]
    pub fn early_transit_from_hand(&mut self, mut packet: Packet, mut travel: Travel) {
        let end = self.advance(&mut travel);
        let Travel { link, arrival, ttl, .. } = travel;
        match end {
            End::Host => {
                packet.set_ttl(ttl);
                self.early_arrivals.push_back(EarlyArrival { link, arrival, packet });
            }
            End::Ring => self.lay(packet, link, arrival, ttl),
            End::Drawn => self.aside().keep_drawn(packet, link, arrival, ttl),
        }
    }
    /// Put a packet that was scheduled on a link into its ring.
    #[inline(always)]
    fn lay(&mut self, packet: Packet, link: LinkId, arrival: Time, ttl: u8) {
        let slot = &mut self.links[link.index()];
        if let AnyLink::Fifo(fifo) = &mut slot.link {
            fifo.lay(packet, arrival, ttl);
        }
        // Packets do not overtake on it: if it is armed, it is armed for the first. A FIFO link has
        // no transmitter to arm.
        if slot.armed_arrival == Time::MAX {
            self.arm_next_arrival(link);
        }
    }

    /// Keep a packet that was scheduled on a link which loses or shakes it.
    #[inline(never)]
    pub fn keep_drawn(self, packet: Packet, link: LinkId, arrival: Time, ttl: u8) {
        let slot = &mut self.links[link.index()];
        if let AnyLink::Fifo(fifo) = &mut slot.link {
            fifo.keep(packet, arrival, ttl);
        }
        arm_earlier(slot, &mut self.edges[link.index()], self.driver, link);
    }
    /// The same with the first packet of `from`.
    #[inline(never)]
    pub fn move_drawn(mut self, from: LinkId, travel: &Travel) {
        let &Travel { link, arrival, ttl, .. } = travel;
        if let Ok([source, slot]) = self.links.get_disjoint_mut([from.index(), link.index()])
            && let AnyLink::Fifo(fifo) = &mut slot.link
        {
            fifo.keep_first_of(source.link.wire_mut(), arrival, ttl);
            arm_earlier(slot, &mut self.edges[link.index()], self.driver, link);
        } else if let Some(packet) = self.links[from.index()].link.wire_mut().pop_front() {
            self.aside().keep_drawn(packet, link, arrival, ttl); // its routes form a loop
        }
        self.arm_next_arrival(from);
    }

    /// Move the first packet of `from`, which was queued on another link, into the ring of that
    /// link.
    #[inline(always)]
    pub fn move_first(&mut self, from: LinkId, travel: &Travel) {
        let to = travel.link;
        if let Ok([first, slot]) = self.links.get_disjoint_mut([from.index(), to.index()])
            && let (AnyLink::Fifo(first), AnyLink::Fifo(fifo)) = (&mut first.link, &mut slot.link)
        {
            fifo.lay_first_of(first, travel.arrival, travel.ttl);
            if slot.armed_arrival == Time::MAX {
                self.arm_next_arrival(to);
            }
        } else {
            self.move_back(from, travel);
        }
        self.arm_next_arrival(from);
    }

    /// The same if the packet was scheduled on `link` itself: its routes form a loop.
    #[cold]
    fn move_back(&mut self, link: LinkId, travel: &Travel) {
        if let AnyLink::Fifo(fifo) = &mut self.links[link.index()].link
            && let Some(packet) = fifo.take_first()
        {
            fifo.lay(packet, travel.arrival, travel.ttl);
        }
    }

    /// Put a packet on a FIFO link that has room. Else the packet comes back.
    #[inline(always)]
    pub fn send(
        &mut self,
        now: Time,
        link: LinkId,
        packet: Packet,
        arena: &Arena,
    ) -> Result<(), Packet> {
        let wire_len = packet.wire_len();
        let slot = &mut self.links[link.index()];
        let AnyLink::Fifo(fifo) = &mut slot.link else { return Err(packet) };
        if wire_len > slot.mtu_bytes || !fifo.admits(now, wire_len) {
            return Err(packet);
        }
        if fifo.is_impaired() {
            self.aside().send_and_draw(now, link, packet, arena);
            return Ok(());
        }
        let arrival = fifo.schedule(now, wire_len);
        if slot.arrival_path.looks_ahead() {
            let travel = Travel::new(&packet, link, arrival, self.driver, arena);
            self.early_transit_from_hand(packet, travel);
        } else {
            let ttl = packet.ttl();
            self.lay(packet, link, arrival, ttl);
        }
        Ok(())
    }
}

impl<D: Driver> LinkSet<'_, D> {
    /// Put a packet on a FIFO link that has room, and may lose or shake it.
    #[inline(never)]
    fn send_and_draw(mut self, now: Time, link: LinkId, packet: Packet, arena: &Arena) {
        let slot = &mut self.links[link.index()];
        let AnyLink::Fifo(fifo) = &mut slot.link else { return };
        let arrival = fifo.schedule(now, packet.wire_len());
        if fifo.draw(arrival) && slot.arrival_path.looks_ahead() {
            let travel = Travel::new(&packet, link, arrival, self.driver, arena);
            return self.early_transit_from_hand(packet, travel);
        }
        let ttl = packet.ttl();
        self.keep_drawn(packet, link, arrival, ttl);
    }
}

/// The first link of a host with one interface.
pub(super) struct FirstLink<'a, D> {
    pub links: LinkSet<'a, D>,
    pub link: LinkId,
    pub sent: &'a mut u64,
}

impl<D: Driver> Outlet for FirstLink<'_, D> {
    #[inline(always)]
    fn room_at(&mut self, now: Time) -> Option<(Time, bool)> {
        let slot = &mut self.links.links[self.link.index()];
        let AnyLink::Fifo(fifo) = &mut slot.link else { return Some((Time::MAX, false)) };
        match fifo.waiting_packets(now) {
            0 => None,
            waiting => fifo.next_start().map(|at| (at, waiting == 1)),
        }
    }
    #[inline(always)]
    fn send(&mut self, now: Time, packet: Packet, arena: &mut Arena) -> Result<(), Packet> {
        self.links.send(now, self.link, packet, arena)?;
        *self.sent += 1;
        Ok(())
    }
}

/// The same where that link is a queued one.
pub(super) struct QueuedFirstLink<'a, D> {
    pub slot: &'a mut Slot,
    pub edge: &'a mut Edge,
    pub driver: &'a mut D,
    pub link: LinkId,
    pub sent: &'a mut u64,
    pub drops: &'a mut DropLog,
    pub split: &'a mut u64,
    /// The packet that it gave back came to a full queue.
    pub overflowed: bool,
}

impl<D: Driver> Outlet for QueuedFirstLink<'_, D> {
    fn room_at(&mut self, now: Time) -> Option<(Time, bool)> {
        if self.slot.link.waiting_packets(now) == 0 || keeps_full(self.slot, now) {
            return None;
        }
        // A link that is down wakes the host when it is up again.
        Some((self.slot.link.next_start().unwrap_or(Time::MAX), false))
    }
    fn send(&mut self, now: Time, packet: Packet, arena: &mut Arena) -> Result<(), Packet> {
        if packet.wire_len() > self.slot.mtu_bytes {
            return Err(packet);
        }
        *self.sent += 1;
        let mut cx = PortContext { now, arena, drops: self.drops, split: self.split };
        if let Err(Overflow(packet)) = self.slot.link.offer(packet, &mut cx) {
            self.overflowed = true;
            return Err(packet);
        }
        arm_earlier(self.slot, self.edge, self.driver, self.link);
        Ok(())
    }
}

/// Arm what a link does next, where that is before what is armed.
#[inline(always)]
pub(super) fn arm_earlier<D: Driver>(
    slot: &mut Slot,
    edge: &mut Edge,
    driver: &mut D,
    link: LinkId,
) {
    if let Some(at) = slot.link.next_arrival().filter(|&at| at < slot.armed_arrival) {
        slot.armed_arrival = at;
        driver.arm(Deadline::Arrival(link), at);
    }
    if let Some(at) = slot.link.next_transmitter().filter(|&at| at < edge.armed_transmitter) {
        edge.armed_transmitter = at;
        driver.arm(Deadline::Transmitter(link), at);
    }
}

/// True if the link takes any number of packets at an opportunity, and has room for one more.
#[inline]
pub(super) fn keeps_full(slot: &Slot, now: Time) -> bool {
    slot.link.takes_bursts() && slot.link.has_room(slot.mtu_bytes, now)
}

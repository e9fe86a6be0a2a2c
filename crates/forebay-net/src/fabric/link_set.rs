//! The links of a fabric, and what it takes to put packets on them. Disjoint from the nodes.

use super::{Deadline, Driver, Slot};
use crate::early_transit::{ArrivalPath, Guard};
use crate::host::Outlet;
use crate::link::AnyLink;
use crate::ports::PortTable;
use alloc::collections::VecDeque;
use forebay_base::{Addr, Arena, LinkId, NodeId, Packet, Signature, Time};
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

/// Queue a packet on the links after the one where it is queued, as far as early transit allows.
/// Gives the number of links that it has passed. True: it comes to the host at the end of the last
/// one. False: it belongs into the ring of the last one.
#[inline(always)]
fn chain<D: Driver>(
    links: &mut [Slot],
    maps: Maps<'_>,
    driver: &mut D,
    travel: &mut Travel,
    horizon: Time,
) -> (u64, bool) {
    let mut passed = 0;
    loop {
        let slot = &links[travel.link.index()];
        match (slot.arrival_path, &slot.link) {
            (ArrivalPath::ForwardEarlyTransit, _) => {}
            (ArrivalPath::HostEarlyTransit, AnyLink::Fifo(fifo)) => {
                let first = fifo.is_empty() || !driver.guards().has(Guard::EmptyRing);
                return (passed, travel.arrival <= horizon && first);
            }
            _ => return (passed, false),
        }
        let Some(next) = maps.next_link(slot.to, travel.dst, travel.ttl) else {
            return (passed, false);
        };
        let Some(slot) = links.get_mut(next.index()) else { return (passed, false) };
        let AnyLink::Fifo(fifo) = &slot.link else { return (passed, false) };
        let open = fifo.upstream_gate.is_open()
            || fifo.upstream_gate.is_single() && !driver.guards().has(Guard::Gate);
        if !open || !step(slot, driver, travel, next, horizon) {
            if let AnyLink::Fifo(fifo) = &mut slot.link {
                fifo.upstream_gate.expect_one();
            }
            return (passed, false);
        }
        passed += 1;
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

/// See the module.
pub(super) struct LinkSet<'a, D> {
    pub links: &'a mut [Slot],
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
    pub fn advance(&mut self, travel: &mut Travel) -> bool {
        let (passed, to_host) = chain(self.links, self.maps, self.driver, travel, self.horizon);
        *self.early_transit_events += passed;
        to_host
    }

    /// A packet that is in no ring was queued on a link: look ahead as far as possible.
    #[inline(always)]
    pub fn early_transit_from_hand(&mut self, mut packet: Packet, mut travel: Travel) {
        if self.advance(&mut travel) {
            packet.set_ttl(travel.ttl);
            let (link, arrival) = (travel.link, travel.arrival);
            return self.early_arrivals.push_back(EarlyArrival { link, arrival, packet });
        }
        self.lay(packet, travel.link, travel.arrival, travel.ttl);
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
    fn send(&mut self, now: Time, packet: Packet, arena: &Arena) -> Result<(), Packet> {
        self.links.send(now, self.link, packet, arena)?;
        *self.sent += 1;
        Ok(())
    }
}

//! Links: arrivals from them, and packets that are put on them.

use super::hosts::Source;
use super::link_set::{LinkSet, Maps, Travel, arm_earlier, link_set};
use super::{Deadline, Driver, Fabric, PacketEvent, Slot};
use crate::early_transit::ArrivalPath;
use crate::link::AnyLink;
use crate::node::Node;
use forebay_base::{
    Arena, DropReason, LinkId, NodeId, Packet, PortId, Time, cut_ipv4, payload_within,
};
use forebay_queue::{Overflow, PortContext};
use forebay_router::{AnyForwarding, PlainIp};

/// What the machines of a port work with. A macro, for it borrows fields besides that of the link.
macro_rules! port_context {
    ($fabric:ident) => {
        PortContext {
            now: $fabric.now,
            arena: &mut $fabric.arena,
            drops: &mut $fabric.drops,
            split: &mut $fabric.count.split,
        }
    };
}
pub(super) use port_context;

/// What `hop` did with the first packet of a link.
enum Hop {
    /// Its arrival is not due.
    NotDue,
    /// It has not come to a router of plain IP. Nothing was done.
    Elsewhere(ArrivalPath),
    /// It was scheduled on a link without early transit, and is still in its old ring.
    Rests(Travel),
    /// It was scheduled on a link with early transit, and is still in its old ring.
    EarlyTransit(Travel),
    /// It was scheduled on a link that loses or shakes it, or may, and is still in its old ring.
    Drawn(Travel),
    /// It needs the general path. The driver was notified of its arrival; nothing else was done.
    Refused,
}

/// The first packet of `link` arrives, if its arrival is armed and due. Takes disjoint borrows so
/// that the compiler knows that they do not alias.
#[inline(always)]
fn hop<D: Driver>(
    links: &mut [Slot],
    maps: Maps<'_>,
    driver: &mut D,
    arena: &Arena,
    now: Time,
    link: LinkId,
) -> Hop {
    let slot = &mut links[link.index()];
    if slot.armed_arrival > now {
        return Hop::NotDue;
    }
    slot.armed_arrival = Time::MAX;
    if !matches!(slot.arrival_path, ArrivalPath::Forward | ArrivalPath::ForwardEarlyTransit) {
        return Hop::Elsewhere(slot.arrival_path);
    }
    let AnyLink::Fifo(fifo) = &slot.link else { return Hop::Refused };
    let Some(packet) = fifo.first_arrived(now) else { return Hop::Refused };
    let mut travel = Travel::new(packet, link, now, driver, arena);
    let next = maps.next_link(slot.to, packet, travel.ttl);
    driver.passed(now, link, travel.signature, travel.ttl);
    let Some(to) = next else { return Hop::Refused };
    debug_assert_ne!(to, link, "a link leads to another node than it comes from");
    let slot = &mut links[to.index()];
    let AnyLink::Fifo(fifo) = &mut slot.link else { return Hop::Refused };
    fifo.upstream_gate.admit_expected();
    if travel.wire_len > slot.mtu_bytes || !fifo.admits(now, travel.wire_len) {
        return Hop::Refused;
    }
    travel.arrival = fifo.schedule(now, travel.wire_len);
    travel.link = to;
    travel.ttl -= 1;
    let (impaired, looks_ahead) = (fifo.is_impaired(), slot.arrival_path.looks_ahead());
    match () {
        _ if impaired && !(fifo.draw(travel.arrival) && looks_ahead) => Hop::Drawn(travel),
        _ if looks_ahead => Hop::EarlyTransit(travel),
        _ => Hop::Rests(travel),
    }
}

/// When a packet that forwarding held came to its node. One that forwarding made itself has no
/// arrival.
#[inline]
pub(super) fn held_since(packet: &Packet, now: Time) -> Time {
    let came = Some(packet.hop_time()).filter(|&at| at > Time::ZERO);
    came.map_or(now, |at| at.min(now))
}

impl<D: Driver> Fabric<D> {
    /// Take the first packet on the wire of `link`, if it has arrived. None if a failure of the
    /// link has dropped it.
    #[inline]
    pub fn take_arrival(&mut self, now: Time, link: LinkId) -> Option<Packet> {
        self.now = now;
        let is_instant = self.catch_up(link);
        let packet = self.take_first(now, link);
        if is_instant {
            self.sync_link(link);
        }
        packet
    }
    /// The same for a link that has caught up.
    #[inline]
    pub(super) fn take_first(&mut self, now: Time, link: LinkId) -> Option<Packet> {
        let packet = self.links[link.index()].link.take_arrival(now);
        self.arm_next_arrival(link);
        packet
    }

    /// [`Fabric::due`], [`Fabric::take_arrival`] and [`Fabric::arrive`] in one, for a driver that
    /// does nothing in between. False if it was not due.
    #[inline]
    pub fn pass_arrival(&mut self, now: Time, link: LinkId) -> bool {
        let maps = Maps { routes: &self.routes, ports: &self.ports };
        let (links, driver) = (self.links.as_mut_slice(), &mut self.driver);
        let hop = hop(links, maps, driver, &self.arena, now, link);
        self.now = now;
        match hop {
            Hop::NotDue => return false,
            Hop::EarlyTransit(travel) => self.early_transit_from_ring(link, travel),
            Hop::Rests(travel) => link_set!(self).move_first(link, &travel),
            Hop::Drawn(travel) => link_set!(self).move_drawn(link, &travel),
            Hop::Refused => self.forward_first(now, link),
            Hop::Elsewhere(path) => self.pass_elsewhere(now, link, path),
        }
        self.process_early_arrivals();
        true
    }
    #[inline(always)]
    fn pass_elsewhere(&mut self, now: Time, link: LinkId, path: ArrivalPath) {
        let is_instant = self.catch_up(link);
        match path {
            ArrivalPath::Route => self.route_in_ring(now, link),
            ArrivalPath::Host => self.arrive_in_ring::<false>(now, link),
            ArrivalPath::HostSingle | ArrivalPath::HostEarlyTransit => {
                self.arrive_in_ring::<true>(now, link);
            }
            _ => self.pass_any(now, link),
        }
        if is_instant {
            self.sync_link(link);
        }
    }
    /// Before an arrival from `link` is taken and the next one is armed. Where the ends of
    /// transmissions are no events: start what should have started by now. Where there is no delay:
    /// put on the wire what has been transmitted by now. True if what is in transmission may arrive
    /// before the first on the wire: [`Fabric::sync_link`] must follow.
    #[inline(always)]
    fn catch_up(&mut self, link: LinkId) -> bool {
        let AnyLink::Queued(queued) = &mut self.links[link.index()].link else { return false };
        if queued.is_instant() {
            queued.put_served_on_wire(&mut port_context!(self));
            self.show_drops(self.edges[link.index()].from);
            return true;
        }
        if queued.is_behind(self.now) {
            queued.on_transmitter(&mut port_context!(self));
            // Its scheme may ask for another time now.
            if let Some(at) = queued.next_transmitter() {
                self.arm_transmitter(link, at);
            }
        }
        false
    }
    /// The same for all links, before somebody looks at them at `now`.
    pub fn catch_up_all(&mut self, now: Time) {
        self.now = now;
        let links = core::mem::take(&mut self.deferred);
        for link in links {
            self.catch_up(link);
            let AnyLink::Queued(queued) = &mut self.links[link.index()].link else { continue };
            self.early_transit_events += queued.take_deferred_ends();
            if queued.is_deferred_now() {
                self.deferred.push(link);
            }
        }
    }
    #[inline(never)]
    fn pass_any(&mut self, now: Time, link: LinkId) {
        if let Some(packet) = self.take_first(now, link) {
            self.arrived(now, link, packet);
        }
    }
    /// The general path of a packet whose arrival the driver knows.
    #[inline(never)]
    pub(super) fn forward_first(&mut self, now: Time, link: LinkId) {
        let node = self.links[link.index()].to;
        if let Some(packet) = self.take_arrival(now, link) {
            self.forward(node, packet);
        }
    }
    #[inline(always)]
    pub(super) fn arm_next_arrival(&mut self, link: LinkId) {
        let slot = &mut self.links[link.index()];
        if let Some(first) = slot.link.first() {
            let at = first.hop_time();
            slot.armed_arrival = at;
            self.driver.arm(Deadline::Arrival(link), at);
            self.arena.touch(first);
        }
    }

    /// `packet` has come over `link`, to the node at its end.
    #[inline]
    pub fn arrive(&mut self, now: Time, link: LinkId, packet: Packet) {
        self.arrived(now, link, packet);
        self.process_early_arrivals();
    }
    #[inline]
    fn arrived(&mut self, now: Time, link: LinkId, packet: Packet) {
        self.now = now;
        self.observe(PacketEvent::Arrived(link), &packet);
        let (to, in_port) = (self.links[link.index()].to, self.edges[link.index()].in_port);
        self.deliver(to, in_port, packet);
    }

    /// A packet comes to a node.
    #[inline(never)]
    pub(super) fn deliver(&mut self, node: NodeId, in_port: PortId, packet: Packet) {
        match &self.nodes[node.index()] {
            Node::Host(_) => self.receive_any(Source::Hand(Some(packet)), node),
            Node::Router(AnyForwarding::PlainIp(_)) => self.forward(node, packet),
            Node::Router(_) => self.router_packet(node, in_port, packet),
            Node::Elsewhere => self.leave(packet),
        }
    }

    /// A packet comes to a node that is elsewhere, and the driver does not carry it there.
    #[cold]
    fn leave(&mut self, packet: Packet) {
        self.count.left += 1;
        self.arena.free(packet);
    }

    /// A packet comes to a router of plain IP. As `router_packet`, without the context, which plain
    /// IP does not use.
    #[inline]
    pub(super) fn forward(&mut self, node: NodeId, mut packet: Packet) {
        match PlainIp.route(node, &mut packet, &self.routes) {
            Ok(port) => self.send(node, self.ports.link(node, port), packet),
            Err(reason) => self.end(node, packet, reason),
        }
    }

    /// Put a packet of `node` on one of its links. If the queue is full, forwarding may take it
    /// back; else it is dropped.
    #[inline(always)] // into the two ways that most packets take
    pub(super) fn send(&mut self, node: NodeId, link: LinkId, packet: Packet) {
        let sent = if self.observed {
            Err(packet)
        } else {
            link_set!(self).send(self.now, link, packet, &self.arena)
        };
        if let Err(packet) = sent {
            self.send_any(node, link, packet);
        }
    }

    /// The general path of `send`.
    #[inline(never)]
    pub(super) fn send_any(&mut self, node: NodeId, link: LinkId, packet: Packet) {
        let mtu = self.links[link.index()].mtu_bytes;
        if packet.wire_len() > mtu {
            return self.send_too_big(node, link, packet, mtu);
        }
        if let Err(Overflow(packet)) = self.offer(link, packet) {
            self.on_overflow(node, link, packet);
        }
    }

    /// Put a packet that forwarding held on an idle link. It has waited for the link since it came
    /// to this node.
    pub(super) fn send_held(&mut self, node: NodeId, link: LinkId, packet: Packet) {
        let queued_at = held_since(&packet, self.now);
        if packet.wire_len() > self.links[link.index()].mtu_bytes {
            return self.send_any(node, link, packet);
        }
        if let Err(Overflow(packet)) = self.offer_since(link, packet, queued_at) {
            self.on_overflow(node, link, packet);
        }
    }

    /// Cut a packet into as many fragments as it takes, if it may be: see [`DropReason::TooBig`].
    #[cold]
    fn send_too_big(&mut self, node: NodeId, link: LinkId, mut packet: Packet, mtu: u16) {
        while packet.wire_len() > mtu {
            let payload = payload_within(mtu, &packet, &self.arena);
            match cut_ipv4(packet, payload, &mut self.arena) {
                Ok((first, rest)) => {
                    self.count.split += 1;
                    self.send(node, link, first);
                    packet = rest;
                }
                Err(uncut) => {
                    if self.answers.is_some() {
                        self.answer_too_big(node, &uncut.packet, mtu);
                    }
                    return self.end(node, uncut.packet, DropReason::TooBig);
                }
            }
        }
        self.send(node, link, packet);
    }

    pub(super) fn offer(&mut self, link: LinkId, packet: Packet) -> Result<(), Overflow> {
        self.offer_since(link, packet, self.now)
    }
    /// The same with a packet that has waited since `queued_at`.
    fn offer_since(
        &mut self,
        link: LinkId,
        packet: Packet,
        queued_at: Time,
    ) -> Result<(), Overflow> {
        let before = self.observed.then(|| self.arena.duplicate(&packet));
        let slot = &mut self.links[link.index()];
        let result = slot.link.offer_since(packet, queued_at, &mut port_context!(self));
        if let Some(before) = before {
            self.show_queued(link, before, result.is_ok());
        }
        self.show_drops(self.edges[link.index()].from);
        self.sync_link(link);
        result
    }

    /// Show `packet` as it came to the queue of `link`, unless that did not take it or dropped it
    /// at once.
    #[cold]
    fn show_queued(&mut self, link: LinkId, packet: Packet, taken: bool) {
        let signature = packet.signature(&self.arena);
        let mut dropped = self.drops.kept().iter();
        if taken && !dropped.any(|(other, _)| other.signature(&self.arena) == signature) {
            self.observe(PacketEvent::Queued(link), &packet);
        }
        self.arena.free(packet);
    }

    #[inline]
    pub(super) fn sync_link(&mut self, link: LinkId) {
        let slot = &mut self.links[link.index()];
        arm_earlier(slot, &mut self.edges[link.index()], &mut self.driver, link);
        if slot.link.is_newly_deferred() {
            self.deferred.push(link);
        }
    }

    pub(super) fn arm_transmitter(&mut self, link: LinkId, at: Time) {
        let armed = &mut self.edges[link.index()].armed_transmitter;
        if at < *armed {
            *armed = at;
            self.driver.arm(Deadline::Transmitter(link), at);
        }
    }

    /// A transmission ended, or the interface of a host has room again.
    pub fn on_transmitter(&mut self, now: Time, link: LinkId) {
        self.transmitter_due(now, link);
        self.process_early_arrivals();
    }
    pub(super) fn transmitter_due(&mut self, now: Time, link: LinkId) {
        self.now = now;
        let slot = &mut self.links[link.index()];
        slot.link.on_transmitter(&mut port_context!(self));
        self.show_drops(self.edges[link.index()].from);
        self.sync_link(link);
        self.after_room(link);
    }

    /// `link` may have room: its node may have a packet for it.
    pub(super) fn after_room(&mut self, link: LinkId) {
        let node = self.edges[link.index()].from;
        match &self.nodes[node.index()] {
            Node::Host(_) => self.feed(node, link),
            Node::Router(AnyForwarding::PlainIp(_)) | Node::Elsewhere => {}
            Node::Router(_) => {
                self.pull(node, self.ports.port(link));
                self.serve_if_asked(node);
            }
        }
    }
}

//! Links: what arrives from them, what goes onto them.

use super::hosts::host_context;
use super::{Deadline, Driver, Fabric, PacketEvent, Slot, Way};
use crate::build::Node;
use crate::host::HostContext;
use crate::link::AnyLink;
use forebay_base::{DropReason, Kind, LinkId, NodeId, Packet, PortId, Time, split_ipv4};
use forebay_queue::{Overflow, PortContext};
use forebay_router::{AnyForwarding, PlainIp};

/// What the machines of a port work with. A macro, for it borrows fields beside that of the link.
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

impl<D: Driver> Fabric<D> {
    /// The first packet on the wire of `link`, if it has arrived. None if a failure took what was armed for.
    #[inline]
    pub fn take_arrival(&mut self, now: Time, link: LinkId) -> Option<Packet> {
        self.now = now;
        let packet = self.links[link.index()].link.take_arrival(now);
        self.arm_next_arrival(link);
        packet
    }

    /// [`Fabric::due`], [`Fabric::take_arrival`] and [`Fabric::arrive`] in one, for a driver that does nothing between them.
    /// False if it was not due.
    #[inline]
    pub fn pass_arrival(&mut self, now: Time, link: LinkId) -> bool {
        let slot = &mut self.links[link.index()];
        if slot.armed_arrival > now {
            return false;
        }
        slot.armed_arrival = Time::MAX;
        self.now = now;
        match slot.way {
            Way::Forward => self.pass_through_router(now, link),
            Way::Host => self.pass_to_host(now, link),
            Way::General => self.pass_any(now, link),
        }
        true
    }
    #[inline(never)]
    fn pass_any(&mut self, now: Time, link: LinkId) {
        if let Some(packet) = self.take_arrival(now, link) {
            self.arrive(now, link, packet);
        }
    }
    /// [`Fabric::pass_any`] of [`Way::Forward`]: the packet moves from ring to ring.
    #[inline(always)]
    fn pass_through_router(&mut self, now: Time, link: LinkId) {
        let slot = &self.links[link.index()];
        let AnyLink::Fifo(fifo) = &slot.link else { return };
        let Some(packet) = fifo.first_arrived(now) else { return };
        let (node, wire_len) = (slot.to, packet.wire_len());
        self.driver.observe(now, PacketEvent::Arrived(link), packet, &self.arena);
        let port = self.routes.port(node, packet.dst()).filter(|_| packet.ttl() > 1);
        let moved = match port {
            Some(port) => self.move_on(now, wire_len, link, self.ports.link(node, port)),
            None => false,
        };
        if moved {
            self.arm_next_arrival(link);
        } else {
            self.forward_first(now, link);
        }
    }
    /// Move the packet of `wire_len` bytes that has arrived on `from` to `to`. False if that needs more than moving it.
    #[inline(always)]
    fn move_on(&mut self, now: Time, wire_len: u16, from: LinkId, to: LinkId) -> bool {
        let pair = self.links.get_disjoint_mut([from.index(), to.index()]);
        let Ok([Slot { link: AnyLink::Fifo(from), .. }, slot]) = pair else { return false };
        let AnyLink::Fifo(fifo) = &mut slot.link else { return false };
        if wire_len > slot.mtu_bytes || !fifo.admits(now, wire_len) {
            return false;
        }
        fifo.take_from(now, wire_len, from);
        if slot.armed_arrival == Time::MAX {
            self.arm_next_arrival(to);
        }
        true
    }
    /// The rare ways of a packet that has been observed.
    #[inline(never)]
    fn forward_first(&mut self, now: Time, link: LinkId) {
        let node = self.links[link.index()].to;
        if let Some(packet) = self.take_arrival(now, link) {
            self.forward(node, packet);
        }
    }
    /// [`Fabric::pass_any`] of [`Way::Host`]: the socket reads the packet where it lies.
    #[inline(always)]
    fn pass_to_host(&mut self, now: Time, link: LinkId) {
        let slot = &mut self.links[link.index()];
        let AnyLink::Fifo(fifo) = &mut slot.link else { return };
        let Some(packet) = fifo.first_arrived(now) else { return };
        let node = slot.to;
        self.driver.observe(now, PacketEvent::Arrived(link), packet, &self.arena);
        let taken = match &mut self.nodes[node.index()] {
            Node::Host(host) if packet.kind() == Kind::Tcp => {
                host.on_segment(packet, &mut host_context!(self))
            }
            _ => None,
        };
        let packet = fifo.take_arrival(now);
        self.arm_next_arrival(link);
        match (taken, packet) {
            (Some(taken), Some(packet)) => {
                self.arena.free(packet);
                self.after_segment(node, taken);
            }
            (_, packet) => packet.into_iter().for_each(|packet| self.host_packet(node, packet)),
        }
    }
    #[inline(always)]
    pub(super) fn arm_next_arrival(&mut self, link: LinkId) {
        let slot = &mut self.links[link.index()];
        if let Some(at) = slot.link.next_arrival() {
            slot.armed_arrival = at;
            self.driver.arm(Deadline::Arrival(link), at);
        }
    }

    /// `packet` has come over `link`, to the node at its end.
    #[inline]
    pub fn arrive(&mut self, now: Time, link: LinkId, packet: Packet) {
        self.now = now;
        self.observe(PacketEvent::Arrived(link), &packet);
        let (to, in_port) = (self.links[link.index()].to, self.edges[link.index()].in_port);
        self.deliver(to, in_port, packet);
    }

    /// The bytes of a packet from outside come to `node` as if on its port `in_port`. What does not parse is dropped.
    pub fn inject(&mut self, now: Time, node: NodeId, in_port: PortId, bytes: &[u8]) {
        self.now = now;
        self.count.sent += 1;
        match forebay_wire::parse(bytes, &self.plan, &mut self.arena) {
            Ok(packet) => self.deliver(node, in_port, packet),
            Err(_) => self.drops.count_only(DropReason::Malformed, 1),
        }
    }

    /// A packet comes to a node.
    #[inline(never)]
    fn deliver(&mut self, node: NodeId, in_port: PortId, packet: Packet) {
        match &self.nodes[node.index()] {
            Node::Host(_) => self.host_packet(node, packet),
            Node::Router(AnyForwarding::PlainIp(_)) => self.forward(node, packet),
            Node::Router(_) => self.router_packet(node, in_port, packet),
            Node::Elsewhere => unreachable!("packets come to nodes that are here"),
        }
    }

    /// A packet comes to a router of plain IP. The same as through `router_packet`, without a context that it would not look at.
    #[inline]
    fn forward(&mut self, node: NodeId, mut packet: Packet) {
        match PlainIp.route(node, &mut packet, &self.routes) {
            Ok(port) => self.send(node, self.ports.link(node, port), packet),
            Err(reason) => self.end(node, packet, reason),
        }
    }

    /// Put a packet of `node` on one of its links. What the queue does not take ends here, unless forwarding wants it.
    #[inline(always)] // into the two ways that most packets take
    pub(super) fn send(&mut self, node: NodeId, link: LinkId, packet: Packet) {
        let (now, slot) = (self.now, &mut self.links[link.index()]);
        let wire_len = packet.wire_len();
        if let AnyLink::Fifo(fifo) = &mut slot.link
            && wire_len <= slot.mtu_bytes
            && fifo.admits(now, wire_len)
        {
            self.driver.observe(now, PacketEvent::Offered(link), &packet, &self.arena);
            fifo.take(now, packet);
            // Nothing on it overtakes: while it is armed, it is armed for the first. It has no transmitter to arm.
            if slot.armed_arrival == Time::MAX {
                self.arm_next_arrival(link);
            }
        } else {
            self.send_any(node, link, packet);
        }
    }

    /// The general way of `send`.
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

    /// Cut it, where RFC 791 lets a router do so and the packet is one of ours: see [`DropReason::TooBig`].
    #[cold]
    fn send_too_big(&mut self, node: NodeId, link: LinkId, packet: Packet, mtu: u16) {
        match split_ipv4(packet, mtu, &mut self.arena) {
            Ok((first, rest)) => {
                self.count.split += 1;
                self.send(node, link, first);
                self.send(node, link, rest);
            }
            Err(packet) => self.end(node, packet, DropReason::TooBig),
        }
    }

    pub(super) fn offer(&mut self, link: LinkId, packet: Packet) -> Result<(), Overflow> {
        self.observe(PacketEvent::Offered(link), &packet);
        let slot = &mut self.links[link.index()];
        let result = slot.link.offer(packet, &mut port_context!(self));
        self.show_drops(self.edges[link.index()].from);
        self.sync_link(link);
        result
    }

    #[inline]
    pub(super) fn sync_link(&mut self, link: LinkId) {
        let slot = &mut self.links[link.index()];
        if let Some(at) = slot.link.next_arrival().filter(|&at| at < slot.armed_arrival) {
            slot.armed_arrival = at;
            self.driver.arm(Deadline::Arrival(link), at);
        }
        if let Some(at) = slot.link.next_transmitter() {
            self.arm_transmitter(link, at);
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
        self.now = now;
        let slot = &mut self.links[link.index()];
        slot.link.on_transmitter(&mut port_context!(self));
        self.show_drops(self.edges[link.index()].from);
        self.sync_link(link);
        self.after_room(link);
    }

    /// `link` may have room: whoever feeds it may have something.
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

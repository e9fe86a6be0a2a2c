//! Packets that arrive at hosts. One packet takes these steps:
//!
//! 1. It enters here: [`Fabric::arrive_in_ring`] from a link in the fast path of the fabric,
//!    [`Fabric::receive`] from any other, and [`Fabric::receive_single`] from look-ahead.
//! 2. [`Host::receive`] or [`Host::receive_single`]: the socket reads it where it lies.
//! 3. [`Fabric::end_arrived`]: it ends as delivered, or is dropped because the socket refused it.
//! 4. [`Fabric::after_receive`] or [`Fabric::transmit_single`]: sockets send, deadlines are armed.
//!
//! What step 2 does not take goes to [`Fabric::receive_other`]: pieces, foreign packets, packets for
//! nobody.

use super::{Driver, Fabric, Slot};
use crate::build::Node;
use crate::host::{Host, HostContext, Received};
use crate::link::AnyLink;
use forebay_base::{DropReason, LinkId, NodeId, Packet, Time};

/// What a host works with. A macro, for it borrows fields beside those of host and link.
macro_rules! host_context {
    ($fabric:ident) => {
        HostContext {
            now: $fabric.now,
            arena: &mut $fabric.arena,
            drops: &mut $fabric.drops,
            workload: &$fabric.workload,
            plan: &$fabric.plan,
            delivered: &mut $fabric.count.delivered,
            one_way: &mut $fabric.one_way,
        }
    };
}
pub(super) use host_context;

/// Where a packet lies that has arrived at a host.
pub(super) enum Arrived {
    /// It is the first in the ring of this link.
    InRing(LinkId),
    /// It is in no ring.
    Loose(Packet),
}

impl Arrived {
    #[inline(always)]
    fn packet<'a>(&'a self, links: &'a [Slot]) -> Option<&'a Packet> {
        match self {
            Arrived::Loose(packet) => Some(packet),
            Arrived::InRing(link) => match &links[link.index()].link {
                AnyLink::Fifo(fifo) => fifo.first(),
                AnyLink::Queued(_) => None,
            },
        }
    }
}

impl<D: Driver> Fabric<D> {
    #[inline]
    pub(super) fn with_host<R>(
        &mut self,
        node: NodeId,
        call: impl FnOnce(&mut Host, &mut HostContext<'_>) -> R,
    ) -> R {
        let Node::Host(host) = &mut self.nodes[node.index()] else {
            unreachable!("only hosts have sockets")
        };
        call(host, &mut host_context!(self))
    }

    /// Step 1 of [`Fabric::pass_arrival`] over a link into a host, for which nobody looks on. The
    /// first packet in the ring of `link` may have arrived. `single`: the host has one socket and
    /// one interface.
    #[inline(always)]
    pub(super) fn arrive_in_ring(&mut self, now: Time, link: LinkId, single: bool) {
        let slot = &self.links[link.index()];
        let AnyLink::Fifo(fifo) = &slot.link else { return };
        let Some(packet) = fifo.first_arrived(now) else { return };
        let node = slot.to;
        if self.driver.signs() {
            self.driver.passed(now, link, packet.signature(&self.arena), packet.ttl());
        }
        match single {
            true => self.receive_single_in_ring(link),
            false => self.receive(Arrived::InRing(link), node),
        }
    }
    #[inline(never)]
    fn receive_single_in_ring(&mut self, link: LinkId) {
        self.receive_single(Arrived::InRing(link), link);
    }

    /// Steps 2 to 4 at any host.
    #[inline(always)]
    pub(super) fn receive(&mut self, arrived: Arrived, node: NodeId) {
        let Some(packet) = arrived.packet(&self.links) else { return };
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        match host.receive(packet, &mut host_context!(self)) {
            None => self.receive_other(arrived, node),
            Some(received) => {
                self.end_arrived(arrived, node, received.refused);
                self.after_receive(node, received);
            }
        }
    }
    /// Steps 2 to 4 at a host with one socket and one interface, at the end of `link`.
    #[inline(always)] // into the path that most packets take
    pub(super) fn receive_single(&mut self, arrived: Arrived, link: LinkId) {
        let node = self.links[link.index()].to;
        let Some(packet) = arrived.packet(&self.links) else { return };
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        match host.receive_single(packet, &mut host_context!(self)) {
            None => self.receive_other(arrived, node),
            Some(received) => {
                self.end_arrived(arrived, node, received.refused);
                self.transmit_single(node, link.opposite(), received);
            }
        }
    }
    /// Steps 2 to 4 of what is not a whole segment of a socket.
    #[cold]
    fn receive_other(&mut self, arrived: Arrived, node: NodeId) {
        let Some(packet) = self.take_arrived(arrived) else { return };
        let received = self.with_host(node, |host, cx| host.receive_other(packet, cx));
        self.show_drops(node);
        if let Some(received) = received {
            self.after_receive(node, received);
        }
    }

    /// Step 3: a socket has read the packet.
    #[inline(always)]
    fn end_arrived(&mut self, arrived: Arrived, node: NodeId, refused: Option<DropReason>) {
        match (arrived, refused) {
            (arrived, Some(reason)) => self.drop_arrived(arrived, node, reason),
            (Arrived::Loose(packet), None) => self.arena.free(packet),
            (Arrived::InRing(link), None) => {
                if let AnyLink::Fifo(fifo) = &mut self.links[link.index()].link {
                    fifo.end_first(&mut self.arena);
                }
                self.arm_next_arrival(link);
            }
        }
    }
    #[cold]
    fn drop_arrived(&mut self, arrived: Arrived, node: NodeId, reason: DropReason) {
        if let Some(packet) = self.take_arrived(arrived) {
            self.end(node, packet, reason);
        }
    }
    #[cold]
    fn take_arrived(&mut self, arrived: Arrived) -> Option<Packet> {
        match arrived {
            Arrived::Loose(packet) => Some(packet),
            Arrived::InRing(link) => {
                let packet = match &mut self.links[link.index()].link {
                    AnyLink::Fifo(fifo) => fifo.take_first(),
                    AnyLink::Queued(_) => None,
                };
                self.arm_next_arrival(link);
                packet
            }
        }
    }

    /// Step 4: a socket of `node` took a segment.
    #[inline]
    fn after_receive(&mut self, node: NodeId, Received { socket, ready, .. }: Received) {
        if ready {
            self.pump(node, socket);
        } else {
            self.sync_socket(node, socket);
        }
    }
}

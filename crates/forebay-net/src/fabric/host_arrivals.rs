//! Packets that arrive at hosts. One packet takes these steps:
//!
//! 1. It enters here. Where nobody looks on it lies in a [`Source`]: [`Fabric::arrive_in_ring`],
//!    [`Fabric::receive_single_in_ring`], [`Fabric::receive_single_early`]. Else
//!    [`Fabric::receive_loose`] has it in hand.
//! 2. [`Host::receive`] or [`Host::receive_single`]: the socket reads it where it lies.
//! 3. It ends as delivered, or is dropped because the socket refused it.
//! 4. [`Fabric::after_receive`] or [`Fabric::transmit_single`]: sockets send, deadlines are armed.
//!
//! What step 2 does not take goes to [`Fabric::receive_other`]: pieces, foreign packets, packets
//! for nobody.

use super::link_set::EarlyArrival;
use super::{Driver, Fabric};
use crate::host::{Host, HostContext, Received};
use crate::link::{AnyLink, FifoLink};
use crate::node::Node;
use alloc::collections::VecDeque;
use forebay_base::{Arena, DropLog, DropReason, LinkId, NodeId, Packet, PortId, Time};

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

/// Where packets lie that have arrived at a host.
trait Source {
    /// The first of them.
    fn first(&self) -> Option<&Packet>;
    /// It ends as delivered.
    fn end_first(&mut self, arena: &mut Arena);
    /// Take it out.
    fn take_first(&mut self) -> Option<Packet>;
}

impl Source for AnyLink {
    #[inline(always)]
    fn first(&self) -> Option<&Packet> {
        self.first_arrived(Time::MAX)
    }
    #[inline(always)]
    fn end_first(&mut self, arena: &mut Arena) {
        self.wire_mut().end_front(arena);
    }
    fn take_first(&mut self) -> Option<Packet> {
        self.wire_mut().pop_front()
    }
}

impl Source for FifoLink {
    #[inline(always)]
    fn first(&self) -> Option<&Packet> {
        self.first()
    }
    #[inline(always)]
    fn end_first(&mut self, arena: &mut Arena) {
        self.end_first(arena);
    }
    fn take_first(&mut self) -> Option<Packet> {
        self.take_first()
    }
}

impl Source for VecDeque<EarlyArrival> {
    #[inline(always)]
    fn first(&self) -> Option<&Packet> {
        self.front().map(|first| &first.packet)
    }
    #[inline(always)]
    fn end_first(&mut self, arena: &mut Arena) {
        if let Some(first) = self.pop_front() {
            arena.free(first.packet);
        }
    }
    fn take_first(&mut self) -> Option<Packet> {
        self.pop_front().map(|first| first.packet)
    }
}

/// Step 3: the socket that has read the first packet of `source` has taken or `refused` it.
#[inline(always)]
fn end_first(
    source: &mut impl Source,
    refused: Option<DropReason>,
    (drops, arena): (&mut DropLog, &mut Arena),
) {
    match refused {
        None => source.end_first(arena),
        Some(reason) => drop_first(source, reason, drops, arena),
    }
}
#[cold]
fn drop_first(
    source: &mut impl Source,
    reason: DropReason,
    drops: &mut DropLog,
    arena: &mut Arena,
) {
    source.take_first().into_iter().for_each(|packet| drops.record(packet, reason, arena));
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
        let Some(packet) = slot.link.first_arrived(now) else {
            return self.arm_next_arrival(link); // a failure of the link has dropped it
        };
        let node = slot.to;
        if self.driver.signs() {
            self.driver.passed(now, link, packet.signature(&self.arena), packet.ttl());
        }
        match single {
            true => self.receive_single_apart(link),
            false => self.receive_in_ring(link, node),
        }
    }
    #[inline(never)]
    fn receive_single_apart(&mut self, link: LinkId) {
        self.receive_single_in_ring(link, link);
    }

    /// Steps 2 to 4 at any host, of the first packet in the ring of `link`.
    #[inline(never)]
    fn receive_in_ring(&mut self, link: LinkId, node: NodeId) {
        let source = &mut self.links[link.index()].link;
        let Some(packet) = source.first() else { return };
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        let Some(received) = host.receive(packet, &mut host_context!(self)) else {
            return self.receive_other_in_ring(link, node);
        };
        end_first(source, received.refused, (&mut self.drops, &mut self.arena));
        self.arm_next_arrival(link);
        self.after_receive(node, received);
    }
    /// Steps 2 to 4 at a host with one socket and one interface, at the end of `link`, of the first
    /// packet in the ring of `holder`.
    #[inline(always)] // into the path that most packets take
    pub(super) fn receive_single_in_ring(&mut self, holder: LinkId, link: LinkId) {
        let node = self.links[link.index()].to;
        let AnyLink::Fifo(fifo) = &mut self.links[holder.index()].link else {
            return self.receive_single_in_queued(holder, link);
        };
        let Some(packet) = fifo.first() else { return };
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        let Some(received) = host.receive_single(packet, &mut host_context!(self)) else {
            return self.receive_other_in_ring(holder, node);
        };
        end_first(fifo, received.refused, (&mut self.drops, &mut self.arena));
        self.arm_next_arrival(holder);
        self.transmit_single(node, link.opposite(), received);
    }
    /// The same where `holder` is a queued link.
    #[inline(never)]
    fn receive_single_in_queued(&mut self, holder: LinkId, link: LinkId) {
        let node = self.links[link.index()].to;
        let source = &mut self.links[holder.index()].link;
        let Some(packet) = source.first() else { return };
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        let Some(received) = host.receive_single(packet, &mut host_context!(self)) else {
            return self.receive_other_in_ring(holder, node);
        };
        end_first(source, received.refused, (&mut self.drops, &mut self.arena));
        self.arm_next_arrival(holder);
        self.transmit_single(node, link.opposite(), received);
    }
    #[cold]
    fn receive_other_in_ring(&mut self, link: LinkId, node: NodeId) {
        let packet = self.links[link.index()].link.take_first();
        self.arm_next_arrival(link);
        packet.into_iter().for_each(|packet| self.receive_other(node, packet));
    }
    /// The same with the first of the early arrivals.
    pub(super) fn receive_single_early(&mut self, link: LinkId) {
        let node = self.links[link.index()].to;
        let Some(packet) = self.early_arrivals.first() else { return };
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        let Some(received) = host.receive_single(packet, &mut host_context!(self)) else {
            let packet = self.early_arrivals.take_first();
            return packet.into_iter().for_each(|packet| self.receive_other(node, packet));
        };
        end_first(&mut self.early_arrivals, received.refused, (&mut self.drops, &mut self.arena));
        self.transmit_single(node, link.opposite(), received);
    }
    /// Steps 2 to 4 at any host, of a packet that lies nowhere.
    #[inline]
    pub(super) fn receive_loose(&mut self, node: NodeId, packet: Packet) {
        match self.with_host(node, |host, cx| host.receive(&packet, cx)) {
            None => self.receive_other(node, packet),
            Some(received) => {
                match received.refused {
                    None => self.arena.free(packet),
                    Some(reason) => self.end(node, packet, reason),
                }
                self.after_receive(node, received);
            }
        }
    }
    /// Steps 2 to 4 of what is not a whole segment of a socket.
    #[inline(never)]
    fn receive_other(&mut self, node: NodeId, packet: Packet) {
        let received = self.with_host(node, |host, cx| host.receive_other(packet, cx));
        self.show_drops(node);
        match received {
            Some(received) => self.after_receive(node, received),
            None => self.wake_ready_again(node),
        }
    }

    /// Step 4: a socket of `node` took a segment.
    #[inline]
    fn after_receive(&mut self, node: NodeId, Received { socket, ready, .. }: Received) {
        if ready {
            if let Node::Host(host) = &mut self.nodes[node.index()] {
                host.take_room_at(); // not needed: the pump asks the host now
            }
            self.pump(node, socket);
        } else {
            self.sync_socket(node, socket);
            self.wake_ready_again(node);
        }
    }
    /// An arrival has given nobody anything to send. If it ended a deferral, wake the host when
    /// there is room for the entry that is ready again.
    #[inline]
    fn wake_ready_again(&mut self, node: NodeId) {
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        if let Some(at) = host.take_room_at() {
            self.arm_transmitter(self.ports.link(node, PortId(0)), at);
        }
    }
}

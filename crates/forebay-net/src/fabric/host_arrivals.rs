//! Packets that arrive at hosts. One packet takes these steps:
//!
//! 1. It enters here, in a [`Source`]: [`Fabric::arrive_in_ring`], [`Fabric::receive_single`] or
//!    [`Fabric::receive_any`].
//! 2. [`Host::receive`] or [`Host::receive_single`]: the socket reads it where it lies.
//! 3. It ends as delivered, or is dropped because the socket refused it.
//! 4. [`Fabric::after_receive`] or [`Fabric::transmit_single`]: sockets send, deadlines are armed.
//!
//! What step 2 does not take goes to [`Fabric::receive_other`]: pieces, foreign packets, packets
//! for nobody.

use super::look_ahead::EarlyArrival;
use super::{Driver, Fabric};
use crate::build::Node;
use crate::host::{Host, HostContext, Received};
use alloc::collections::VecDeque;
use forebay_base::{Arena, DropReason, LinkId, NodeId, Packet, PacketRing, PortId, Time};

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

/// Where the packet lies that has arrived at a host.
pub(super) enum Source {
    /// First in the ring of this link.
    Ring(LinkId),
    /// First of the early arrivals.
    Early,
    /// In hand.
    Hand(Option<Packet>),
}

/// What holds it.
trait Holder {
    fn first(&self) -> Option<&Packet>;
    fn take_first(&mut self) -> Option<Packet>;
    /// It ends as delivered.
    #[inline(always)]
    fn end_first(&mut self, arena: &mut Arena) {
        if let Some(packet) = self.take_first() {
            arena.free(packet);
        }
    }
}

impl Holder for PacketRing {
    #[inline(always)]
    fn first(&self) -> Option<&Packet> {
        self.front()
    }
    fn take_first(&mut self) -> Option<Packet> {
        self.pop_front()
    }
    #[inline(always)]
    fn end_first(&mut self, arena: &mut Arena) {
        self.end_front(arena); // where it lies
    }
}

impl Holder for VecDeque<EarlyArrival> {
    #[inline(always)]
    fn first(&self) -> Option<&Packet> {
        self.front().map(|first| &first.packet)
    }
    #[inline(always)]
    fn take_first(&mut self) -> Option<Packet> {
        self.pop_front().map(|first| first.packet)
    }
}

impl Holder for Option<Packet> {
    #[inline(always)]
    fn first(&self) -> Option<&Packet> {
        self.as_ref()
    }
    #[inline(always)]
    fn take_first(&mut self) -> Option<Packet> {
        self.take()
    }
}

/// Steps 2 and 3: a socket reads the first packet, if it is for one. `SINGLE`: the host has one
/// socket and one interface.
#[inline(always)]
fn read_first<const SINGLE: bool>(
    holder: &mut impl Holder,
    host: &mut Host,
    mut cx: HostContext<'_>,
) -> Option<Received> {
    let packet = holder.first()?;
    let received =
        if SINGLE { host.receive_single(packet, &mut cx)? } else { host.receive(packet, &mut cx)? };
    match received.refused {
        None => holder.end_first(cx.arena),
        Some(reason) => drop_first(holder, reason, cx),
    }
    Some(received)
}
#[cold]
fn drop_first(holder: &mut impl Holder, reason: DropReason, cx: HostContext<'_>) {
    if let Some(packet) = holder.take_first() {
        cx.drops.record(packet, reason, cx.arena);
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
    /// first packet in the ring of `link` may have arrived. `SINGLE`: the host has one socket and
    /// one interface.
    #[inline(never)]
    pub(super) fn arrive_in_ring<const SINGLE: bool>(&mut self, now: Time, link: LinkId) {
        let slot = &self.links[link.index()];
        let Some(packet) = slot.link.first_arrived(now) else {
            return self.arm_next_arrival(link); // a failure of the link has dropped it
        };
        let node = slot.to;
        if self.driver.signs() {
            self.driver.passed(now, link, packet.signature(&self.arena), packet.ttl());
        }
        if SINGLE {
            self.receive_single(Source::Ring(link), link);
        } else {
            self.receive_any(Source::Ring(link), node);
        }
    }
    /// Steps 2 to 4 at any host.
    #[inline(always)]
    pub(super) fn receive_any(&mut self, source: Source, node: NodeId) {
        if let Some(received) = self.receive::<false>(source, node) {
            self.after_receive(node, received);
        }
    }
    /// Steps 2 to 4 at a host with one socket and one interface, at the end of `link`.
    #[inline(always)]
    pub(super) fn receive_single(&mut self, source: Source, link: LinkId) {
        let node = self.links[link.index()].to;
        if let Some(received) = self.receive::<true>(source, node) {
            self.transmit_single(node, link.opposite(), received);
        }
    }
    /// Steps 2 and 3, and all four of what is not a whole segment of a socket. Compiled anew for
    /// each way into a host: the source is known there.
    #[inline(always)]
    fn receive<const SINGLE: bool>(
        &mut self,
        mut source: Source,
        node: NodeId,
    ) -> Option<Received> {
        let Node::Host(host) = &mut self.nodes[node.index()] else { return None };
        let cx = host_context!(self);
        let received = match &mut source {
            Source::Ring(link) => {
                read_first::<SINGLE>(self.links[link.index()].link.wire_mut(), host, cx)
            }
            Source::Early => read_first::<SINGLE>(&mut self.early_arrivals, host, cx),
            Source::Hand(packet) => read_first::<SINGLE>(packet, host, cx),
        };
        let Some(received) = received else {
            self.receive_first_other(source, node);
            return None;
        };
        match source {
            Source::Ring(link) => self.arm_next_arrival(link),
            Source::Early => {}
            Source::Hand(_) => self.show_drops(node), // else nobody looks on
        }
        Some(received)
    }
    #[cold]
    fn receive_first_other(&mut self, source: Source, node: NodeId) {
        let packet = match source {
            Source::Ring(link) => {
                let packet = self.links[link.index()].link.wire_mut().take_first();
                self.arm_next_arrival(link);
                packet
            }
            Source::Early => self.early_arrivals.take_first(),
            Source::Hand(packet) => packet,
        };
        if let Some(packet) = packet {
            self.receive_other(node, packet);
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

//! Packets that arrive at hosts. One packet takes these steps:
//!
//! 1. It enters here, in a [`Source`]: [`Fabric::arrive_in_ring`], [`Fabric::receive_single`] or
//!    [`Fabric::receive_any`].
//! 2. [`Host::receive`] or [`Host::receive_single`]: the socket reads it where it lies.
//! 3. It ends as delivered, or is dropped because the socket refused it.
//! 4. [`Fabric::after_receive`] or [`Fabric::transmit_alone`]: sockets send, deadlines are armed.
//!
//! What step 2 does not take goes to [`Fabric::receive_other`]: fragments, foreign packets, packets
//! for no one here.

use super::horizon::given_back_after;
use super::link_set::{
    EarlyArrival, FirstLink, LinkSet, Maps, QueuedFirstLink, keeps_full, link_set,
};
use super::{Deadline, Driver, End, Fabric, PacketEvent};
use crate::early_transit::{ArrivalPath, Guard};
use crate::host::{EndId, Host, HostContext, Received, SingleTransmitted};
use crate::node::Node;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use forebay_base::{
    Arena, DropReason, Endpoint, FlowId, LinkId, NodeId, Packet, PacketRing, PortId, SocketId, Time,
};
use forebay_transport::Role;

/// What a host works with. A macro, for it borrows fields besides those of host and link.
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
            round_trips: &mut $fabric.round_trips,
        }
    };
}

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

    /// Step 1 of [`Fabric::pass_arrival`] over a link into a host, without an observer. The
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
            if let Some(received) = self.receive::<true>(Source::Ring(link), node) {
                self.transmit_alone::<true>(node, link.opposite(), received);
            }
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
    /// Steps 2 to 4 at `node`, a host with one socket and one interface, whose first link is no
    /// queued one, at the end of `link`.
    #[inline(always)]
    pub(super) fn receive_single(&mut self, source: Source, link: LinkId, node: NodeId) {
        if let Some(received) = self.receive::<true>(source, node) {
            self.transmit_at_once::<true>(node, link.opposite(), received);
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
        if self.answers.is_some() {
            self.answer_stray(node, &packet);
        }
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
                host.take_room_at(); // not needed: the host is asked now
            }
            self.transmit(node, socket);
        } else {
            self.sync_socket(node, socket);
            self.wake_ready_again(node);
        }
    }
    /// No socket has anything to send because of an arrival. If it ended a deferral, wake the host
    /// when there is room for the entry that is ready again.
    #[inline]
    fn wake_ready_again(&mut self, node: NodeId) {
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        if let Some(at) = host.take_room_at() {
            self.arm_transmitter(self.ports.link(node, PortId(0)), at);
        }
    }
}

impl<D: Driver> Fabric<D> {
    /// Let the sockets of a host send while its interfaces have room: one packet in transmission,
    /// one after it; in front of a delivery trace, as many as its queue holds. `socket` is the one
    /// that something happened to.
    pub(super) fn pump(&mut self, node: NodeId, socket: SocketId) {
        let mut changed = Some(socket);
        for port in 0..self.ports.links_of(node).len() as u16 {
            changed = self.pump_port(node, PortId(port), changed);
        }
        if let Some(socket) = changed {
            self.sync_socket(node, socket);
        }
    }
    /// The same for one interface. `changed` is a socket whose deadline may have changed since it
    /// was armed, if there is one; so is the result.
    fn pump_port(
        &mut self,
        node: NodeId,
        port: PortId,
        mut changed: Option<SocketId>,
    ) -> Option<SocketId> {
        let link = self.ports.link(node, port);
        loop {
            let Node::Host(host) = &mut self.nodes[node.index()] else { return changed };
            let Some(socket) = host.first_ready(port) else { return changed };
            let slot = &mut self.links[link.index()];
            let waiting = slot.link.waiting_packets(self.now);
            if waiting > 0 && !keeps_full(slot, self.now) {
                // Woken when the packet that waits starts; a link that is down wakes the host when
                // it is up again.
                if let Some(at) = slot.link.next_start() {
                    // A queued link wakes the host anyway. If two packets wait, because one was
                    // cut, there is no room when the first starts.
                    let one = slot.link.is_fifo() && waiting == 1;
                    let deferred = one && host.defer_until_window(at, self.now);
                    if !deferred {
                        self.arm_transmitter(link, at);
                    }
                }
                return changed;
            }
            let packet = host.pull(port, &mut host_context!(self));
            if let Some(before) = changed.replace(socket).filter(|&before| before != socket) {
                self.sync_socket(node, before);
            }
            self.send_new(node, link, packet);
        }
    }
    /// Put a packet that a socket of `node` has made, if it has made one, on a link.
    #[inline(always)]
    fn send_new(&mut self, node: NodeId, link: LinkId, packet: Option<Packet>) {
        let Some(packet) = packet else { return };
        self.count.sent += 1;
        self.observe(PacketEvent::Sent(node), &packet);
        self.send(node, link, packet);
    }

    /// The interface of a host in front of `link` may have room.
    pub(super) fn feed(&mut self, node: NodeId, link: LinkId) {
        if self.links[link.opposite().index()].arrival_path.is_single() {
            return self.feed_single(node, link);
        }
        self.with_host(node, |host, cx| host.pass_time(cx.now));
        if let Some(socket) = self.pump_port(node, self.ports.port(link), None) {
            self.sync_socket(node, socket);
        }
    }
    /// The same where the host has one socket and one interface.
    fn feed_single(&mut self, node: NodeId, link: LinkId) {
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        host.pass_time(self.now);
        if let Some(received) = host.resume_single() {
            self.transmit_alone::<true>(node, link, received);
        }
    }
    /// A socket of `node` is ready: it sends, and others that are.
    #[inline]
    fn transmit(&mut self, node: NodeId, socket: SocketId) {
        let Some(&first) = self.ports.links_of(node).first() else {
            return self.pump(node, socket);
        };
        match self.links[first.opposite().index()].arrival_path {
            ArrivalPath::Host | ArrivalPath::HostSingle | ArrivalPath::HostEarlyTransit => {
                let received = Received { socket, ready: false, refused: None };
                self.transmit_alone::<false>(node, first, received);
            }
            _ => self.pump(node, socket),
        }
    }
    /// A socket of `node` has taken a packet or is ready, and may have something to send over
    /// `link`, the first of the host: see [`Host::transmit_alone`].
    #[inline(always)]
    pub(super) fn transmit_alone<const SINGLE: bool>(
        &mut self,
        node: NodeId,
        link: LinkId,
        received: Received,
    ) {
        if self.links[link.index()].link.is_fifo() {
            self.transmit_at_once::<SINGLE>(node, link, received);
        } else {
            self.transmit_queued::<SINGLE>(node, link, received);
        }
    }
    /// The same over a link that schedules at once what it takes.
    #[inline(always)]
    fn transmit_at_once<const SINGLE: bool>(
        &mut self,
        node: NodeId,
        link: LinkId,
        received: Received,
    ) {
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        let mut first = FirstLink { links: link_set!(self), link, sent: &mut self.count.sent };
        let mut refused = None;
        let (now, arena, workload, socket) =
            (self.now, &mut self.arena, &self.workload, received.socket);
        let sent =
            host.transmit_alone::<SINGLE>(now, received, arena, workload, &mut first, &mut refused);
        let Some(sent) = sent else { return self.pump(node, socket) };
        self.note_transmitted(link, &sent);
        if let Some(packet) = refused {
            self.send_new(node, link, Some(packet));
            self.pump(node, socket);
        }
    }
    /// The same over a queued link.
    #[inline(never)]
    fn transmit_queued<const SINGLE: bool>(
        &mut self,
        node: NodeId,
        link: LinkId,
        received: Received,
    ) {
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        let mut first = QueuedFirstLink {
            slot: &mut self.links[link.index()],
            edge: &mut self.edges[link.index()],
            driver: &mut self.driver,
            link,
            sent: &mut self.count.sent,
            drops: &mut self.drops,
            split: &mut self.count.split,
            overflowed: false,
        };
        let mut refused = None;
        let (now, arena, workload, socket) =
            (self.now, &mut self.arena, &self.workload, received.socket);
        let sent =
            host.transmit_alone::<SINGLE>(now, received, arena, workload, &mut first, &mut refused);
        let overflowed = first.overflowed;
        let Some(sent) = sent else { return self.pump(node, socket) };
        self.note_transmitted(link, &sent);
        let Some(packet) = refused else { return };
        if overflowed {
            self.on_overflow(node, link, packet);
        } else {
            self.send_new(node, link, Some(packet));
        }
        self.pump(node, socket);
    }
    /// Arm what a socket asks for that has sent what it could over `link`; note its end.
    #[inline(always)]
    fn note_transmitted(&mut self, link: LinkId, sent: &SingleTransmitted) {
        if let Some(at) = sent.wake_at {
            self.arm_transmitter(link, at);
        }
        self.sync_end(sent.end, sent.timeout, sent.ended);
    }
}

impl<D: Driver> Fabric<D> {
    /// A client opens, or a connection's time may have come. False if it was put off since it was
    /// armed.
    pub fn on_socket(&mut self, now: Time, end: EndId) -> bool {
        let due = self.socket_due(now, end);
        self.process_early_arrivals();
        due
    }
    pub(super) fn socket_due(&mut self, now: Time, end: EndId) -> bool {
        self.now = now;
        let (node, socket) = (self.ends[end.index()].node, self.ends[end.index()].socket);
        let due = self.with_host(node, |host, cx| {
            let here = &host.sockets()[socket.index()];
            match (here.view(), here.next_timeout()) {
                (None, _) => host.open(socket, cx),
                (Some(_), at) if at.is_none_or(|at| at > now) => return false,
                (Some(_), _) => host.on_timeout(socket, cx),
            }
            true
        });
        if due {
            self.transmit(node, socket);
        } else {
            self.sync_socket(node, socket);
        }
        due
    }

    /// The flow over which a stranger is, or was, connected to a port here that listens.
    pub fn accepted(&self, peer: Endpoint, local: Endpoint) -> Option<FlowId> {
        self.nodes.iter().find_map(|node| match node {
            Node::Host(host) => host.accepted(peer, local),
            _ => None,
        })
    }

    /// Arm the deadline of a socket, lazily: a later one costs nothing; note its end.
    #[inline]
    pub(super) fn sync_socket(&mut self, node: NodeId, socket: SocketId) {
        let Node::Host(host) = &self.nodes[node.index()] else { return };
        let socket = &host.sockets()[socket.index()];
        let id = socket.end();
        let Some((timeout, ended)) = socket.timeout_and_end() else { return };
        self.sync_end(id, timeout, ended);
    }
    #[inline(always)]
    pub(super) fn sync_end(&mut self, id: EndId, timeout: Option<Time>, ended: bool) {
        let end = &mut self.ends[id.index()];
        if let Some(at) = timeout {
            let at = at.max(self.now);
            // The armed deadline lies after the clock of a host that is ahead of the others: it is
            // noticed now, not then.
            let overdue =
                at == self.now && end.armed < at && self.driver.guards().has(Guard::Overdue);
            if at < end.armed || overdue {
                end.armed = at;
                self.driver.arm(Deadline::Socket(id), at);
            }
        }
        if ended && !end.ended {
            end.ended = true;
            self.open_ends -= 1;
            self.last_ended = self.last_ended.max(self.now);
            self.start_followers(id);
            self.ended.push_back((self.now, id));
            self.give_back();
        }
    }

    /// Connections that ended a while ago are given back.
    #[cold]
    fn give_back(&mut self) {
        while let Some(&(at, id)) = self.ended.front()
            && at + given_back_after() < self.now
        {
            self.ended.pop_front();
            let End { node, socket, .. } = self.ends[id.index()];
            if !self.with_host(node, |host, cx| host.give_back(socket, cx)) {
                self.ended.push_back((self.now, id));
            }
        }
    }

    /// An end of a flow has ended: those that follow its client start a while later. Those that
    /// would start when they have to stop do not: both of their ends have ended, without ever
    /// being.
    #[cold]
    fn start_followers(&mut self, end: EndId) {
        if self.workload.followers(end.flow()).is_empty() {
            return;
        }
        let (mut ended, workload) = (vec![end], Arc::clone(&self.workload));
        while let Some(end) = ended.pop() {
            if end.role() == Role::Server {
                continue;
            }
            for &flow in workload.followers(end.flow()) {
                let start = self.now + workload.think(flow);
                let client = EndId::of(flow, Role::Client);
                if workload.flows()[flow.index()].stop().is_some_and(|stop| stop <= start) {
                    for end in [client, EndId::of(flow, Role::Server)] {
                        self.ends[end.index()].ended = true;
                    }
                    self.open_ends -= 2; // here both, wherever the server is
                    ended.push(client);
                } else {
                    self.ends[client.index()].armed = start;
                    self.driver.arm(Deadline::Socket(client), start);
                }
            }
        }
    }
}

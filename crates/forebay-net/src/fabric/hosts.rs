//! Hosts: packets for their sockets, and the pump that lets sockets send.

use super::link_set::{FirstLink, LinkSet, Maps, link_set};
use super::{Deadline, Driver, EndId, Fabric, PacketEvent};
use crate::build::Node;
use crate::host::{Host, HostContext, SingleReceived, Taken};
use crate::link::AnyLink;
use crate::look_ahead::{ArrivalPath, Guard};
use alloc::sync::Arc;
use alloc::vec;
use forebay_base::{DropReason, Kind, LinkId, NodeId, Packet, PortId, SocketId, Time};
use forebay_transport::Role;

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

impl<D: Driver> Fabric<D> {
    #[inline]
    fn with_host<R>(
        &mut self,
        node: NodeId,
        call: impl FnOnce(&mut Host, &mut HostContext<'_>) -> R,
    ) -> R {
        let Node::Host(host) = &mut self.nodes[node.index()] else {
            unreachable!("only hosts have sockets")
        };
        call(host, &mut host_context!(self))
    }

    /// [`Fabric::pass_any`] of [`ArrivalPath::Host`] and, where the host is `single`, [`ArrivalPath::HostLookAhead`].
    #[inline(always)]
    pub(super) fn pass_to_host(&mut self, now: Time, link: LinkId, single: bool) {
        let slot = &self.links[link.index()];
        let AnyLink::Fifo(fifo) = &slot.link else { return };
        let Some(packet) = fifo.first_arrived(now) else { return };
        let node = slot.to;
        if self.driver.signs() {
            self.driver.passed(now, link, packet.signature(&self.arena), packet.ttl());
        }
        match single {
            true => self.serve_single_apart(link),
            false => self.serve_host(link, node),
        }
    }
    /// Hand the first packet of the ring of `link` to the host `node`, whose time it is: the socket reads the packet where it lies.
    #[inline(always)]
    fn serve_host(&mut self, link: LinkId, node: NodeId) {
        let AnyLink::Fifo(fifo) = &mut self.links[link.index()].link else { return };
        let Some(packet) = fifo.first() else { return };
        let taken = match &mut self.nodes[node.index()] {
            Node::Host(host) if packet.kind() == Kind::Tcp => {
                host.on_segment(packet, &mut host_context!(self))
            }
            _ => None,
        };
        match taken {
            None => self.host_takes_first(link, node),
            Some(taken) => {
                match taken.refused {
                    None => fifo.end_first(&mut self.arena),
                    Some(reason) => self.drop_first(link, reason),
                }
                self.arm_next_arrival(link);
                self.after_segment(node, taken);
            }
        }
    }
    /// No socket has taken it.
    #[cold]
    fn host_takes_first(&mut self, link: LinkId, node: NodeId) {
        let AnyLink::Fifo(fifo) = &mut self.links[link.index()].link else { return };
        let packet = fifo.take_first();
        self.arm_next_arrival(link);
        packet.into_iter().for_each(|packet| self.host_packet(node, packet));
    }
    /// The socket that the first packet of the ring of `link` is for has refused it.
    #[cold]
    fn drop_first(&mut self, link: LinkId, reason: DropReason) {
        let AnyLink::Fifo(fifo) = &mut self.links[link.index()].link else { return };
        let packet = fifo.take_first();
        packet.into_iter().for_each(|p| self.drops.record(p, reason, &mut self.arena));
    }
    #[inline(never)]
    fn serve_single_apart(&mut self, link: LinkId) {
        self.serve_single(link, link);
    }
    /// The same with the first packet of the ring of `holder`, for a host with one socket and one interface, at the end of `link`.
    #[inline(always)] // into the way that most packets take
    pub(super) fn serve_single(&mut self, holder: LinkId, link: LinkId) {
        let node = self.links[link.index()].to;
        let AnyLink::Fifo(fifo) = &mut self.links[holder.index()].link else { return };
        let Some(packet) = fifo.first() else { return };
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        match host.receive_single(packet, &mut host_context!(self)) {
            None => self.host_takes_first(holder, node),
            Some(received) => {
                match received.refused {
                    None => fifo.end_first(&mut self.arena),
                    Some(reason) => self.drop_first(holder, reason),
                }
                self.arm_next_arrival(holder);
                self.answer(node, link.opposite(), received);
            }
        }
    }
    /// The same with a packet that lies nowhere.
    pub(super) fn serve_single_with(&mut self, link: LinkId, packet: Packet) {
        let node = self.links[link.index()].to;
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        match host.receive_single(&packet, &mut host_context!(self)) {
            None => self.host_packet(node, packet),
            Some(received) => {
                match received.refused {
                    None => self.arena.free(packet),
                    Some(reason) => self.drops.record(packet, reason, &mut self.arena),
                }
                self.answer(node, link.opposite(), received);
            }
        }
    }
    /// The only socket of `node` has taken a packet, and may have something to send over `link`.
    #[inline(always)]
    fn answer(&mut self, node: NodeId, link: LinkId, received: SingleReceived) {
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        let mut first = FirstLink { links: link_set!(self), link, sent: &mut self.count.sent };
        let mut refused = None;
        let (now, arena) = (self.now, &mut self.arena);
        let transmitted =
            host.transmit_single(now, received, arena, &self.workload, &mut first, &mut refused);
        if let Some(at) = transmitted.wake_at {
            self.arm_transmitter(link, at);
        }
        self.sync_end(transmitted.end, transmitted.timeout, transmitted.ended);
        if let Some(packet) = refused {
            self.send_new(node, link, Some(packet));
            self.pump(node, SocketId(0));
        }
    }

    pub(super) fn host_packet(&mut self, node: NodeId, packet: Packet) {
        let taken = self.with_host(node, |host, cx| host.on_packet(packet, cx));
        self.show_drops(node);
        if let Some(taken) = taken {
            self.after_segment(node, taken);
        }
    }
    /// A socket of `node` took a segment.
    #[inline]
    pub(super) fn after_segment(&mut self, node: NodeId, Taken { socket, ready, .. }: Taken) {
        if ready {
            self.pump(node, socket);
        } else {
            self.sync_socket(node, socket);
        }
    }

    /// A client opens, or a connection's time may have come. False if it was put off since it was armed.
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
            match (here.connection(), here.next_timeout()) {
                (None, _) => host.open(socket, cx),
                (Some(_), at) if at.is_none_or(|at| at > now) => return false,
                (Some(_), _) => host.on_timeout(socket, cx),
            }
            true
        });
        match due {
            true => self.pump(node, socket),
            false => self.sync_socket(node, socket),
        }
        due
    }

    /// Let the sockets of a host send while its interfaces have room: one packet in transmission, one behind it.
    /// `socket` is the one that something happened to.
    fn pump(&mut self, node: NodeId, socket: SocketId) {
        let mut changed = Some(socket);
        for port in 0..self.ports.links_of(node).len() as u16 {
            changed = self.pump_port(node, PortId(port), changed);
        }
        if let Some(socket) = changed {
            self.sync_socket(node, socket);
        }
    }

    /// An interface of a host may have room.
    pub(super) fn feed(&mut self, node: NodeId, link: LinkId) {
        if self.links[link.opposite().index()].arrival_path == ArrivalPath::HostLookAhead {
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
            self.answer(node, link, received);
        }
    }

    /// The same for one interface. The socket whose deadline may have changed since it was armed, if there is one; there may be
    /// one before the call, too.
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
            if waiting > 0 {
                // Woken when what waits starts; a link that is down says so when it is up again.
                if let Some(at) = slot.link.next_start() {
                    // A link of two events per packet wakes it anyway.
                    // Where a second one waits there is no room then: the pieces of a packet that was cut.
                    let deferred = slot.link.is_fifo()
                        && waiting == 1
                        && host.defer_until_window(at, self.now);
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

    /// Arm the deadline of a socket, lazily: a later one costs nothing; note its end.
    #[inline]
    fn sync_socket(&mut self, node: NodeId, socket: SocketId) {
        let Node::Host(host) = &self.nodes[node.index()] else { return };
        let socket = &host.sockets()[socket.index()];
        let Some(connection) = socket.connection() else { return };
        let id = socket.end();
        let ended = connection.is_ended();
        self.sync_end(id, socket.next_timeout(), ended);
    }
    #[inline(always)]
    fn sync_end(&mut self, id: EndId, timeout: Option<Time>, ended: bool) {
        let end = &mut self.ends[id.index()];
        if let Some(at) = timeout {
            let at = at.max(self.now);
            // What is armed lies behind the clock of a host that is ahead of the others: it is noticed now, not then.
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

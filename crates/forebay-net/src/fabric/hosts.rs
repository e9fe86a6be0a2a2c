//! Hosts: packets for their sockets, and the pump that lets sockets send.

use super::{Deadline, Driver, EndId, Fabric, PacketEvent};
use crate::build::Node;
use crate::host::{Host, HostContext, Taken};
use crate::link::AnyLink;
use forebay_base::{LinkId, NodeId, Packet, PortId, SocketId, Time};
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
        }
    };
}
pub(super) use host_context;

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

    pub(super) fn host_packet(&mut self, node: NodeId, packet: Packet) {
        let taken = self.with_host(node, |host, cx| host.on_packet(packet, cx));
        self.show_drops(node);
        if let Some(taken) = taken {
            self.after_segment(node, taken);
        }
    }
    /// A socket of `node` took a segment.
    #[inline]
    pub(super) fn after_segment(&mut self, node: NodeId, Taken { socket, ready }: Taken) {
        if ready {
            self.pump(node, socket);
        } else {
            self.sync_socket(node, socket);
        }
    }

    /// A client opens, or a connection's time has come.
    pub fn on_socket(&mut self, now: Time, end: EndId) {
        self.now = now;
        let (node, socket) = (self.ends[end.index()].node, self.ends[end.index()].socket);
        self.with_host(node, |host, cx| {
            if host.sockets()[socket.index()].connection().is_some() {
                host.on_timeout(socket, cx);
            } else {
                host.open(socket, cx);
            }
        });
        self.pump(node, socket);
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
        self.with_host(node, |host, cx| host.pass_time(cx.now));
        if let Some(socket) = self.pump_port(node, self.ports.port(link), None) {
            self.sync_socket(node, socket);
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
            if slot.link.waiting_packets(self.now) > 0 {
                // Woken when what waits starts; a link that is down says so when it is up again.
                if let Some(at) = slot.link.next_start() {
                    // A link of two events per packet wakes it anyway.
                    let parked = slot.link.is_fifo() && host.park(at, self.now);
                    if !parked {
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
        let Some(wire_len) = packet.as_ref().map(Packet::wire_len) else { return };
        self.count.sent += 1;
        let slot = &mut self.links[link.index()];
        if !self.observed
            && wire_len <= slot.mtu_bytes
            && let AnyLink::Fifo(fifo) = &mut slot.link
            && fifo.admits(self.now, wire_len)
        {
            fifo.take_made(self.now, wire_len, packet);
            if slot.armed_arrival == Time::MAX {
                self.arm_next_arrival(link);
            }
        } else if let Some(packet) = packet {
            self.observe(PacketEvent::Sent(node), &packet);
            self.send_any(node, link, packet);
        }
    }

    /// Arm the deadline of a socket, lazily: a later one costs nothing; note its end.
    #[inline]
    fn sync_socket(&mut self, node: NodeId, socket: SocketId) {
        let Node::Host(host) = &self.nodes[node.index()] else { return };
        let socket = &host.sockets()[socket.index()];
        let Some(connection) = socket.connection() else { return };
        let id = EndId(2 * socket.flow().0 + (socket.role() == Role::Server) as u32);
        let end = &mut self.ends[id.index()];
        if let Some(at) = connection.next_timeout() {
            let at = at.max(self.now);
            if at < end.armed {
                end.armed = at;
                self.driver.arm(Deadline::Socket(id), at);
            }
        }
        if !end.ended && connection.is_ended() {
            end.ended = true;
            self.open_ends -= 1;
            self.last_ended = self.now;
        }
    }
}

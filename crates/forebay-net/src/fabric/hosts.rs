//! Hosts: packets for their sockets, and the pump that lets sockets send.

use super::{Deadline, Driver, EndId, Fabric, PacketEvent};
use crate::build::Node;
use crate::host::{Host, HostContext, Pulled};
use forebay_base::{NodeId, Packet, PortId, SocketId, Time};
use forebay_transport::Role;

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
        let mut cx = HostContext {
            now: self.now,
            arena: &mut self.arena,
            drops: &mut self.drops,
            workload: &self.workload,
            plan: &self.plan,
            delivered: &mut self.count.delivered,
        };
        call(host, &mut cx)
    }

    #[inline]
    pub(super) fn host_packet(&mut self, node: NodeId, packet: Packet) {
        let socket = self.with_host(node, |host, cx| host.on_packet(packet, cx));
        self.show_drops(node);
        if let Some(socket) = socket {
            self.pump(node, socket);
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
    #[inline]
    fn pump(&mut self, node: NodeId, socket: SocketId) {
        let mut all_polled = true;
        for port in 0..self.ports.links_of(node).len() as u16 {
            all_polled &= self.pump_port(node, PortId(port));
        }
        // A socket that was asked for packets has told its deadline since.
        if !all_polled {
            self.sync_socket(node, socket);
        }
    }

    /// False if the interface had no room for all that the sockets may have.
    pub(super) fn pump_port(&mut self, node: NodeId, port: PortId) -> bool {
        let link = self.ports.link(node, port);
        loop {
            let Node::Host(host) = &self.nodes[node.index()] else { return true };
            if !host.has_ready(port) {
                return true;
            }
            let slot = &mut self.links[link.index()];
            if slot.link.waiting_packets(self.now) > 0 {
                // Woken when what waits starts; a link that is down says so when it is up again.
                if let Some(at) = slot.link.next_start() {
                    self.arm_transmitter(link, at);
                }
                return false;
            }
            match self.with_host(node, |host, cx| host.pull(port, cx)) {
                Pulled::Packet(packet, socket) => {
                    self.count.sent += 1;
                    self.observe(PacketEvent::Sent(node), &packet);
                    self.send(node, link, packet);
                    self.sync_socket(node, socket);
                }
                Pulled::Idle(socket) => self.sync_socket(node, socket),
                Pulled::Nothing => return true,
            }
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
        }
    }
}

//! Hosts that send: the pump lets sockets send while their interfaces have room.

use super::host_arrivals::host_context;
use super::link_set::{FirstLink, LinkSet, Maps, link_set};
use super::{Driver, Fabric, PacketEvent, Slot};
use crate::host::{HostContext, Received};
use crate::look_ahead::ArrivalPath;
use crate::node::Node;
use forebay_base::{LinkId, NodeId, Packet, PortId, SocketId, Time};

/// True if the link takes any number of packets at an opportunity, and has room for one more.
#[inline]
fn keeps_full(slot: &Slot, now: Time) -> bool {
    slot.link.takes_bursts() && slot.link.has_room(slot.mtu_bytes, now)
}

impl<D: Driver> Fabric<D> {
    /// Let the sockets of a host send while its interfaces have room: one packet in transmission,
    /// one behind it; in front of a delivery trace, as many as its queue holds. `socket` is the one
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
            self.transmit_single(node, link, received);
        }
    }
    /// The only socket of `node` has taken a packet, and may have something to send over `link`.
    #[inline(always)]
    pub(super) fn transmit_single(&mut self, node: NodeId, link: LinkId, received: Received) {
        let Node::Host(host) = &mut self.nodes[node.index()] else { return };
        let mut first = FirstLink { links: link_set!(self), link, sent: &mut self.count.sent };
        let mut refused = None;
        let (now, arena, workload) = (self.now, &mut self.arena, &self.workload);
        let sent = host.transmit_single(now, received, arena, workload, &mut first, &mut refused);
        if let Some(at) = sent.wake_at {
            self.arm_transmitter(link, at);
        }
        self.sync_end(sent.end, sent.timeout, sent.ended);
        if let Some(packet) = refused {
            self.send_new(node, link, Some(packet));
            self.pump(node, SocketId(0));
        }
    }
}

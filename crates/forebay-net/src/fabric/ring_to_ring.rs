//! Packets that pass a router from the ring of one link to that of the next.
//!
//! The packet is read where it lies, and copied once. Only where there is no observer and no link
//! is built the general way; the result is that of the general path, with which
//! `tests/engine/early_transit/` of testkit compares it. What a router may keep, drop or cut takes
//! the general path in any case.

use super::hosts::Source;
use super::link_set::Travel;
use super::routers::PortView;
use super::transit::held_since;
use super::{Driver, Fabric};
use crate::early_transit::{ArrivalPath, Guard};
use crate::link::AnyLink;
use crate::node::Node;
use core::mem::take;
use forebay_base::{LinkId, NodeId, Packet, Time};
use forebay_router::{AnyForwarding, Forwarding, NodeContext};

impl<D: Driver> Fabric<D> {
    /// The first packet of `link` may have arrived at the router at its end. There is no observer.
    #[inline(never)]
    pub(super) fn route_in_ring(&mut self, now: Time, link: LinkId) {
        let slot = &self.links[link.index()];
        let Some(packet) = slot.link.first_arrived(now) else {
            return self.arm_next_arrival(link); // a failure of the link has dropped it
        };
        let (node, ttl) = (slot.to, packet.ttl());
        if self.driver.signs() {
            self.driver.passed(now, link, packet.signature(&self.arena), ttl);
        }
        let Node::Router(forwarding) = &mut self.nodes[node.index()] else { return };
        if let AnyForwarding::PlainIp(_) = forwarding {
            return match self.routes.port(node, packet).filter(|_| ttl > 1) {
                Some(port) => self.move_on(link, self.ports.link(node, port), ttl - 1),
                None => self.forward_first(now, link),
            };
        }
        let view = PortView { links: &self.links, ports: self.ports.links_of(node), now };
        let mut cx = NodeContext {
            now,
            node,
            arena: &mut self.arena,
            drops: &mut self.drops,
            routes: &self.routes,
            ports: &view,
            work: &mut self.work,
        };
        let in_port = self.edges[link.index()].in_port;
        if let Some(port) = forwarding.forward_in_place(in_port, packet, &mut cx) {
            self.move_on(link, self.ports.link(node, port), ttl - 1);
            self.serve(node);
        } else if self.keep_first(link, node) {
            self.arm_next_arrival(link);
            self.serve(node);
        } else if let Some(packet) = self.take_first(now, link) {
            self.router_packet(node, in_port, packet);
        }
    }

    /// Let the router `node` keep the first packet of `link`. False if it does not, or the general
    /// path must see to it.
    #[inline(always)]
    fn keep_first(&mut self, link: LinkId, node: NodeId) -> bool {
        // Aside, while the router looks at its links.
        let mut ring = take(self.links[link.index()].link.wire_mut());
        let kept = self.with_forwarding(node, |f, cx| f.keep_first(&mut ring, cx));
        *self.links[link.index()].link.wire_mut() = ring;
        kept
    }
    /// Put a packet that the forwarding of a router held on a link that is idle, if it starts at
    /// once and nothing can happen to it. Else it comes back.
    #[inline(always)]
    pub(super) fn start_held(&mut self, link: LinkId, packet: Packet) -> Result<(), Packet> {
        let slot = &mut self.links[link.index()];
        if self.observed || packet.wire_len() > slot.mtu_bytes {
            return Err(packet);
        }
        let AnyLink::Queued(queued) = &mut slot.link else { return Err(packet) };
        let queued_at = held_since(&packet, self.now);
        let Some(arrival) = queued.start_direct(self.now, queued_at, &packet, &self.arena) else {
            return Err(packet);
        };
        queued.lay_direct(packet, arrival);
        if arrival < slot.armed_arrival {
            self.arm_next_arrival(link);
        }
        Ok(())
    }

    /// Put the first packet of `from`, with this time to live, on the next link.
    #[inline(always)]
    fn move_on(&mut self, from: LinkId, to: LinkId, ttl: u8) {
        if let Ok([source, slot]) = self.links.get_disjoint_mut([from.index(), to.index()])
            && let AnyLink::Queued(queued) = &mut slot.link
            && let ring = source.link.wire_mut()
            && let Some(packet) = ring.front()
            && packet.wire_len() <= slot.mtu_bytes
            && let Some(arrival) = queued.start_direct(self.now, self.now, packet, &self.arena)
        {
            let alone = queued.first().is_none() || !self.driver.guards().has(Guard::EmptyRing);
            let ahead = slot.arrival_path == ArrivalPath::HostEarlyTransit;
            if ahead && alone && arrival <= self.horizon {
                return self.receive_ahead(from, to, arrival, ttl);
            }
            queued.lay_first_of(ring, arrival, ttl);
            // Packets do not overtake on it: if it is armed, it is armed for the first, or for one
            // that a failure took. Nothing depends on the end of the transmission.
            if arrival < slot.armed_arrival {
                self.arm_next_arrival(to);
            }
            return self.arm_next_arrival(from);
        }
        self.move_any(from, to, ttl);
    }
    /// The first packet of `from` was started on `to`, nothing is before it there, and the host at
    /// the end may have it ahead of time.
    #[inline(never)]
    fn receive_ahead(&mut self, from: LinkId, to: LinkId, arrival: Time, ttl: u8) {
        let now = self.now;
        let Some(packet) = self.links[from.index()].link.first_arrived(now) else { return };
        let mut travel = Travel::new(packet, to, arrival, &self.driver, &self.arena);
        travel.ttl = ttl;
        let node = self.advance_host_to(&travel);
        self.receive_single(Source::Ring(from), to, node);
        self.now = now; // the clock of the host is ahead, not that of the router
    }
    /// The same where the next link may have no room for it, or must report when it has left.
    #[inline(never)]
    fn move_any(&mut self, from: LinkId, to: LinkId, ttl: u8) {
        let node = self.links[from.index()].to;
        let Some(mut packet) = self.take_first(self.now, from) else { return };
        packet.set_ttl(ttl);
        match &self.links[to.index()].link {
            AnyLink::Fifo(_) => self.send(node, to, packet),
            AnyLink::Queued(_) => self.send_any(node, to, packet),
        }
    }
}

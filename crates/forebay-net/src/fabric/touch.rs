//! Loading what coming events read, so that they need not wait for memory.
//!
//! In a big network most of what a packet touches at a router has left the caches of the processor
//! since the last packet there. A driver that knows what comes next says so some events before, in
//! steps: each loads what leads to the next. Nothing waits for the loads, and nothing depends on
//! them: a wrong guess costs time alone.

use super::{Driver, Fabric};
use crate::early_transit::ArrivalPath;
use crate::node::Node;
use core::hint::black_box;
use forebay_base::{LinkId, NodeId, PortId};
use forebay_router::Forwarding;

impl<D: Driver> Fabric<D> {
    /// True if loading ahead pays. Where departures are known when packets are queued, hops touch
    /// little, and most need no event.
    pub fn gains_by_touching(&self) -> bool {
        self.links.iter().any(|slot| !slot.link.is_fifo())
    }
    /// First step before an arrival over `link`: the link.
    #[inline(always)]
    pub fn touch_link(&self, link: LinkId) {
        if let Some(slot) = self.links.get(link.index()) {
            black_box(slot.link.is_wire_empty());
        }
    }
    /// Second step: the packet that arrives first.
    #[inline(always)]
    pub fn touch_arrival(&self, link: LinkId) {
        if let Some(packet) = self.links.get(link.index()).and_then(|slot| slot.link.first()) {
            black_box(packet.hop_time());
            self.arena.touch(packet);
        }
    }
    /// Third step: the machines that it meets.
    #[inline]
    pub fn touch_way(&self, link: LinkId) {
        let Some(slot) = self.links.get(link.index()) else { return };
        let Some(packet) = slot.link.first() else { return };
        match &self.nodes[slot.to.index()] {
            Node::Host(host) => host.touch(),
            Node::Router(forwarding) => {
                let Some(port) = self.routes.port(slot.to, packet) else { return };
                forwarding.touch(port, packet);
                let out = &self.links[self.ports.link(slot.to, port).index()];
                out.link.touch();
                if out.arrival_path == ArrivalPath::HostEarlyTransit {
                    self.touch_host(out.to);
                }
            }
            Node::Elsewhere => {}
        }
    }
    #[inline]
    fn touch_host(&self, node: NodeId) {
        if let Node::Host(host) = &self.nodes[node.index()] {
            host.touch();
        }
    }
    /// Before the end of a transmission on `link`: what leaves next.
    #[inline]
    pub fn touch_transmitter(&self, link: LinkId) {
        let (Some(slot), Some(edge)) = (self.links.get(link.index()), self.edges.get(link.index()))
        else {
            return;
        };
        slot.link.touch();
        if let Node::Router(forwarding) = &self.nodes[edge.from.index()] {
            let port: PortId = self.ports.port(link);
            forwarding.touch_next(port);
        }
    }
}

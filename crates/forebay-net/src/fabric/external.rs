//! External ports: links of which only one end is here.
//!
//! A fabric may hold some nodes of a network only ([`Network::of_place`]). What arrives over a link
//! that ends elsewhere is the driver's ([`Fabric::take_exit`]), which carries it there, as bytes or
//! otherwise; what came over a link that begins elsewhere it hands in ([`Fabric::enter`]). The near
//! end of a link has its queue, rate and delay, and both sides agree on its number. A host that is
//! not Forebay's has no near end: its link is where it ends, and what it sends is offered to that
//! link ([`Fabric::offer_bytes`]).
//!
//! [`Network::of_place`]: crate::Network::of_place

use super::{Deadline, Driver, DriverError, Fabric};
use crate::link::AnyLink;
use crate::node::Node;
use forebay_base::{DropReason, LinkId, NodeId, Packet, PortId, Time};

impl<D: Driver> Fabric<D> {
    /// True if this fabric holds the node.
    #[inline]
    pub fn is_here(&self, node: NodeId) -> bool {
        !matches!(self.nodes.get(node.index()), None | Some(Node::Elsewhere))
    }
    /// True if the link begins here and ends elsewhere: its [`Deadline::Arrival`] is for
    /// [`Fabric::take_exit`].
    pub fn is_exit(&self, link: LinkId) -> bool {
        let (from, to) = self.link_nodes(link);
        self.is_here(from) && !self.is_here(to)
    }

    /// The first packet on a link that ends elsewhere, if it has arrived there: it has left this
    /// fabric, and its driver frees it. None if a failure of the link has dropped it.
    pub fn take_exit(&mut self, now: Time, link: LinkId) -> Option<Packet> {
        let packet = self.take_arrival(now, link)?;
        self.count.left += 1;
        Some(packet)
    }

    /// A packet from outside arrives at `at` over a link that begins elsewhere and ends here; at a
    /// time that has passed, it arrives now. Packets may be handed in in any order.
    ///
    /// The packet is freed where it is refused.
    pub fn enter(&mut self, at: Time, link: LinkId, packet: Packet) -> Result<(), DriverError> {
        match self.entry(at, link) {
            Err(error) => {
                self.arena.free(packet);
                Err(error)
            }
            Ok(at) => {
                self.count.entered += 1;
                self.lay_at_far_end(at, link, packet);
                Ok(())
            }
        }
    }
    /// The same with its bytes, from the IP header on. What cannot be parsed is dropped.
    pub fn enter_bytes(&mut self, at: Time, link: LinkId, bytes: &[u8]) -> Result<(), DriverError> {
        let at = self.entry(at, link)?;
        self.count.entered += 1;
        if let Some(packet) = self.parse(bytes) {
            self.lay_at_far_end(at, link, packet);
        }
        Ok(())
    }
    /// When what comes over `link` from outside at `at` arrives.
    fn entry(&self, at: Time, link: LinkId) -> Result<Time, DriverError> {
        if !self.is_entry(link) || self.edges[link.index()].offered {
            return Err(DriverError::NotAnEntry(link));
        }
        let at = at.max(self.now);
        self.not_before_horizon(at).map(|()| at)
    }
    /// True if the link begins elsewhere and ends here.
    fn is_entry(&self, link: LinkId) -> bool {
        link.index() < self.links.len() && {
            let (from, to) = self.link_nodes(link);
            !self.is_here(from) && self.is_here(to)
        }
    }
    /// True if packets are offered to this link: see [`Place::offered`](crate::Place::offered).
    pub fn is_offered(&self, link: LinkId) -> bool {
        self.edges.get(link.index()).is_some_and(|edge| edge.offered)
    }
    /// A host elsewhere sends the packet in `bytes` over `link`, which is here as a whole. What
    /// cannot be parsed is dropped.
    pub fn offer_bytes(
        &mut self,
        now: Time,
        link: LinkId,
        bytes: &[u8],
    ) -> Result<(), DriverError> {
        if !self.is_offered(link) {
            return Err(DriverError::NotAnEntry(link));
        }
        self.not_before_horizon(now)?;
        self.now = now;
        self.count.entered += 1;
        if let Some(mut packet) = self.parse(bytes) {
            packet.set_hop_time(now);
            self.send_any(self.edges[link.index()].from, link, packet);
        }
        self.process_early_arrivals();
        Ok(())
    }
    fn lay_at_far_end(&mut self, at: Time, link: LinkId, mut packet: Packet) {
        let slot = &mut self.links[link.index()];
        let AnyLink::Fifo(far_end) = &mut slot.link else {
            unreachable!("the far end of a link is a wire")
        };
        packet.set_hop_time(at);
        far_end.import(packet);
        if at < slot.armed_arrival {
            slot.armed_arrival = at;
            self.driver.arm(Deadline::Arrival(link), at);
        }
    }

    /// Bytes of a packet from outside come to `node` as if on its port `in_port`. Bytes that cannot
    /// be parsed are dropped.
    pub fn inject(
        &mut self,
        now: Time,
        node: NodeId,
        in_port: PortId,
        bytes: &[u8],
    ) -> Result<(), DriverError> {
        if !self.is_here(node) || in_port.index() >= self.ports.links_of(node).len() {
            return Err(DriverError::NoPort(node, in_port));
        }
        self.not_before_horizon(now)?;
        self.now = now;
        self.count.entered += 1;
        if let Some(mut packet) = self.parse(bytes) {
            packet.set_hop_time(now);
            self.deliver(node, in_port, packet);
        }
        self.process_early_arrivals();
        Ok(())
    }
    /// The packet in `bytes`. None if there is none: it is counted as dropped.
    fn parse(&mut self, bytes: &[u8]) -> Option<Packet> {
        let parsed = forebay_wire::parse(bytes, &self.plan, &mut self.arena);
        if parsed.is_err() {
            self.drops.count_only(DropReason::Malformed, 1);
        }
        parsed.ok()
    }
    /// Unforeseeable events must not come before early transit has acted.
    pub(super) fn not_before_horizon(&self, at: Time) -> Result<(), DriverError> {
        let free = !self.looks_ahead() || self.horizon <= at;
        if free { Ok(()) } else { Err(DriverError::LookedAhead(self.horizon)) }
    }
}

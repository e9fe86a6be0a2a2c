//! Routers: verdicts of forwarding, and the work that it asks for.

use super::{Deadline, Driver, Fabric, PacketEvent, Slot};
use crate::link::AnyLink;
use crate::node::Node;
use forebay_base::{DropReason, LinkId, NodeId, Packet, PortId, Rate, Span, Time};
use forebay_queue::Overflow;
use forebay_router::{AnyForwarding, Forwarding, NodeContext, Ports, Verdict, Work};

/// What forwarding sees of its ports.
pub(super) struct PortView<'a> {
    pub links: &'a [Slot],
    pub ports: &'a [LinkId],
    pub now: Time,
}

impl PortView<'_> {
    fn slot(&self, port: PortId) -> &Slot {
        &self.links[self.ports[port.index()].index()]
    }
}

impl Ports for PortView<'_> {
    fn backlog_bytes(&self, port: PortId) -> u64 {
        self.slot(port).link.waiting_bytes(self.now)
    }
    fn has_room(&self, port: PortId, wire_len: u16) -> bool {
        self.slot(port).link.has_room(wire_len, self.now)
    }
    fn rate(&self, port: PortId) -> Rate {
        self.slot(port).link.rate(self.now)
    }
    fn delay(&self, port: PortId) -> Span {
        self.slot(port).link.delay()
    }
    fn mtu_bytes(&self, port: PortId) -> u16 {
        self.slot(port).mtu_bytes
    }
    fn is_idle(&self, port: PortId) -> bool {
        self.slot(port).link.is_idle(self.now)
    }
    fn is_up(&self, port: PortId) -> bool {
        self.slot(port).link.is_up()
    }
}

impl<D: Driver> Fabric<D> {
    /// Call the forwarding of `node`, and show what it dropped.
    #[inline]
    pub(super) fn with_forwarding<R>(
        &mut self,
        node: NodeId,
        call: impl FnOnce(&mut AnyForwarding, &mut NodeContext<'_>) -> R,
    ) -> R {
        let Node::Router(forwarding) = &mut self.nodes[node.index()] else {
            unreachable!("only routers forward")
        };
        let ports =
            PortView { links: &self.links, ports: self.ports.links_of(node), now: self.now };
        let mut cx = NodeContext {
            now: self.now,
            node,
            arena: &mut self.arena,
            drops: &mut self.drops,
            routes: &self.routes,
            ports: &ports,
            work: &mut self.work,
        };
        let result = call(forwarding, &mut cx);
        self.show_drops(node);
        result
    }

    /// Give `packet` to the forwarding of `node`. If that keeps it, an observer is shown the packet
    /// as it came.
    #[inline]
    fn consult(
        &mut self,
        node: NodeId,
        packet: Packet,
        call: impl FnOnce(&mut AnyForwarding, Packet, &mut NodeContext<'_>) -> Verdict,
    ) -> Verdict {
        let before = self.observed.then(|| self.arena.duplicate(&packet));
        let verdict = self.with_forwarding(node, |f, cx| call(f, packet, cx));
        if let Some(before) = before {
            if let Verdict::Held = verdict {
                self.observe(PacketEvent::Held(node), &before);
            }
            self.arena.free(before);
        }
        verdict
    }

    #[inline]
    pub(super) fn router_packet(&mut self, node: NodeId, in_port: PortId, packet: Packet) {
        debug_assert!(
            self.work.ready.is_empty() && self.work.send.is_empty(),
            "work of another node"
        );
        let verdict = self.consult(node, packet, |f, packet, cx| f.on_packet(in_port, packet, cx));
        self.apply_verdict(node, verdict);
        self.serve(node);
    }

    #[inline]
    fn apply_verdict(&mut self, node: NodeId, verdict: Verdict) {
        match verdict {
            Verdict::Forward(port, packet) => {
                let link = self.ports.link(node, port);
                self.send(node, link, packet);
            }
            Verdict::Held => {}
            Verdict::Consumed(packet) => self.consumed(packet),
            Verdict::Drop(packet, reason) => self.end(node, packet, reason),
        }
    }

    /// A packet has come to the router that it was for.
    fn consumed(&mut self, packet: Packet) {
        self.count.delivered += 1;
        self.arena.free(packet);
    }

    /// The queue of `link` had no room for `packet`.
    #[cold]
    pub(super) fn on_overflow(&mut self, node: NodeId, link: LinkId, packet: Packet) {
        let Node::Router(_) = &self.nodes[node.index()] else {
            return self.end(node, packet, DropReason::Full);
        };
        let port = self.ports.port(link);
        match self.consult(node, packet, |f, packet, cx| f.on_overflow(port, packet, cx)) {
            // One more try; a second queue that is full ends the packet.
            Verdict::Forward(port, packet) => {
                let link = self.ports.link(node, port);
                if let Err(Overflow(packet)) = self.offer(link, packet) {
                    self.end(node, packet, DropReason::Full);
                }
            }
            Verdict::Held => {}
            Verdict::Consumed(packet) => self.consumed(packet),
            Verdict::Drop(packet, reason) => self.end(node, packet, reason),
        }
    }

    /// Do the work that forwarding asked for: send its own packets, and serve ports that may have
    /// work. Then arm its deadline.
    #[inline]
    pub(super) fn serve(&mut self, node: NodeId) {
        if !self.work.ready.is_empty() || !self.work.send.is_empty() {
            self.do_work(node);
        }
        self.sync_router(node);
        self.check_idle_ports(node);
    }
    #[inline(never)]
    fn do_work(&mut self, node: NodeId) {
        // Pulling and sending may ask for more work. Each round does what is there.
        while !self.work.ready.is_empty() || !self.work.send.is_empty() {
            let empty = core::mem::take(&mut self.spare);
            let Work { mut ready, mut send } = core::mem::replace(&mut self.work, empty);
            for (port, packet) in send.drain(..) {
                self.count.sent += 1;
                self.observe(PacketEvent::Sent(node), &packet);
                self.apply_verdict(node, Verdict::Forward(port, packet));
            }
            ready.drain(..).for_each(|port| self.pull_port(node, port));
            self.spare = Work { ready, send };
        }
    }

    /// [`Fabric::serve`] where the deadline of forwarding is armed already.
    #[inline]
    pub(super) fn serve_if_asked(&mut self, node: NodeId) {
        if self.work.ready.is_empty() && self.work.send.is_empty() {
            self.check_idle_ports(node);
        } else {
            self.serve(node);
        }
    }

    /// While `port` is idle, send what forwarding holds for it; then arm the deadline.
    pub(super) fn pull(&mut self, node: NodeId, port: PortId) {
        self.pull_port(node, port);
        self.sync_router(node);
    }
    #[inline]
    fn pull_port(&mut self, node: NodeId, port: PortId) {
        let link = self.ports.link(node, port);
        let AnyLink::Queued(queued) = &self.links[link.index()].link else {
            panic!("the forwarding of node {} says that it holds no packets", node.0)
        };
        if queued.is_idle(self.now) {
            self.pull_idle(node, port, link);
        }
        // Forwarding that gave a packet may have more when this one has left.
        if let AnyLink::Queued(queued) = &self.links[link.index()].link
            && let Some(at) = queued.next_start().filter(|&at| at >= self.now)
        {
            self.arm_transmitter(link, at);
        }
    }
    #[inline(never)]
    fn pull_idle(&mut self, node: NodeId, port: PortId, link: LinkId) {
        while let Some(packet) = self.with_forwarding(node, |f, cx| f.pull(port, cx)) {
            if let Err(packet) = self.start_held(link, packet) {
                self.send_held(node, link, packet);
            }
            if !self.links[link.index()].link.is_idle(self.now) {
                break;
            }
        }
    }

    fn check_idle_ports(&self, node: NodeId) {
        if cfg!(debug_assertions) {
            let Node::Router(forwarding) = &self.nodes[node.index()] else { return };
            // The work of its deadline, due at this moment but later, may be ready already.
            if forwarding.next_timeout().is_some_and(|at| at <= self.now) {
                return;
            }
            for (i, link) in self.ports.links_of(node).iter().enumerate() {
                let idle = self.links[link.index()].link.is_idle(self.now);
                let eligible = forwarding.has_eligible(PortId(i as u16), self.now);
                assert!(!(idle && eligible), "port {i} of {node:?} is idle and has work");
            }
        }
    }

    /// The time that the forwarding of `node` asked for has come.
    pub fn on_router(&mut self, now: Time, node: NodeId) {
        self.now = now;
        self.with_forwarding(node, |f, cx| f.on_timeout(cx));
        self.serve(node);
        self.process_early_arrivals();
    }

    /// The link of a port of a router has failed, or works again.
    pub(super) fn tell_link(&mut self, link: LinkId, up: bool) {
        let node = self.edges[link.index()].from;
        if let Node::Router(_) = &self.nodes[node.index()] {
            let port = self.ports.port(link);
            self.with_forwarding(node, |f, cx| f.on_link(port, up, cx));
            self.serve(node);
        }
    }

    #[inline]
    pub(super) fn sync_router(&mut self, node: NodeId) {
        let Node::Router(forwarding) = &self.nodes[node.index()] else { return };
        if let Some(at) = forwarding.next_timeout() {
            let (at, armed) = (at.max(self.now), &mut self.router_armed[node.index()]);
            if at < *armed {
                *armed = at;
                self.driver.arm(Deadline::Router(node), at);
            }
        }
    }
}

//! Events that change the network during a run.

use super::transit::port_context;
use super::{Driver, Fabric};
use crate::link::QueuedLink;
use crate::node::Node;
use crate::spec::NetEvent;
use forebay_base::{DropReason, LinkId, NodeId, Time};
use forebay_queue::PortContext;
use forebay_router::Forwarding;

const CAN_CHANGE: &str = "links named in the event list are built to change";

impl<D: Driver> Fabric<D> {
    /// Apply `event`, which must be one of the spec: only links that the spec names can change, and
    /// look-ahead takes account of the routes that it names.
    ///
    /// Panics if it is another that the network was not built for.
    pub fn on_event(&mut self, now: Time, event: &NetEvent) {
        self.now = now;
        match *event {
            NetEvent::Rate(link, rate) => {
                let queued = self.links[link.index()].link.as_queued();
                queued.expect(CAN_CHANGE).set_rate(rate, &mut port_context!(self));
                self.show_drops(self.edges[link.index()].from);
                self.sync_link(link);
            }
            NetEvent::Delay(link, delay) => self.queued(link).set_delay(delay),
            NetEvent::Loss(link, loss) => self.queued(link).set_loss(loss),
            NetEvent::Down(link) => {
                let queued = self.links[link.index()].link.as_queued();
                queued.expect(CAN_CHANGE).fail(&mut port_context!(self));
                self.show_drops(self.edges[link.index()].from);
                self.tell_link(link, false);
            }
            NetEvent::Up(link) => {
                let queued = self.links[link.index()].link.as_queued();
                queued.expect(CAN_CHANGE).heal(&mut port_context!(self));
                self.show_drops(self.edges[link.index()].from);
                self.sync_link(link);
                self.after_room(link);
                self.tell_link(link, true);
            }
            NetEvent::Restart(node) => self.restart(node),
            NetEvent::Forge(ref forgery) => self.forge(forgery),
            NetEvent::Route { node, dst, via } => {
                let known = self.look_ahead.knows_route_change(node, dst, via);
                assert!(known, "routes change as the event list of the network says");
                for &addr in &self.addresses[dst.index()] {
                    self.routes.redirect(node, addr, via);
                }
            }
        }
        self.process_early_arrivals();
    }

    fn queued(&mut self, link: LinkId) -> &mut QueuedLink {
        self.links[link.index()].link.as_queued().expect(CAN_CHANGE)
    }

    fn restart(&mut self, node: NodeId) {
        for &link in self.ports.links_of(node) {
            let queued = self.links[link.index()].link.as_queued().expect(CAN_CHANGE);
            queued.clear_queue(DropReason::NodeRestart, &mut port_context!(self));
        }
        self.show_drops(node);
        if let Node::Router(_) = &self.nodes[node.index()] {
            self.with_forwarding(node, |f, cx| f.restart(cx));
            self.serve(node);
        }
    }
}

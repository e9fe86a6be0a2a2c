//! Events that change the network during a run.

use super::transit::port_context;
use super::{Driver, DriverError, Fabric, Slot};
use crate::link::QueuedLink;
use crate::node::Node;
use crate::spec::{NetEvent, Replay};
use forebay_base::{DropReason, LinkId, NodeId, Time};
use forebay_queue::PortContext;
use forebay_router::Forwarding;

impl<D: Driver> Fabric<D> {
    /// Apply `event`, which should be one of the spec: only links that the spec names can change,
    /// and early transit relies on the routes that it does not name.
    pub fn on_event(&mut self, now: Time, event: &NetEvent) -> Result<(), DriverError> {
        self.now = now;
        match *event {
            NetEvent::Rate(link, rate) => {
                queued(&mut self.links, link)?.set_rate(rate, &mut port_context!(self));
                self.show_drops(self.edges[link.index()].from);
                self.sync_link(link);
            }
            NetEvent::Delay(link, delay) => queued(&mut self.links, link)?.set_delay(delay),
            NetEvent::Loss(link, loss) => queued(&mut self.links, link)?.set_loss(loss),
            NetEvent::Down(link) => {
                queued(&mut self.links, link)?.link_down(&mut port_context!(self));
                self.show_drops(self.edges[link.index()].from);
                self.tell_link(link, false);
            }
            NetEvent::Up(link) => {
                queued(&mut self.links, link)?.link_up(&mut port_context!(self));
                self.show_drops(self.edges[link.index()].from);
                self.sync_link(link);
                self.after_room(link);
                self.tell_link(link, true);
            }
            NetEvent::Restart(node) => self.restart(node)?,
            NetEvent::Forge(ref forgery) => self.forge(forgery)?,
            NetEvent::Replay(ref replay) => self.replay(replay)?,
            NetEvent::Route { node, dst, via } => {
                if !self.early_transit.knows_route_change(node, dst, via) {
                    return Err(DriverError::FixedRoute(node));
                }
                let addresses = self.addresses.get(dst.index()).ok_or(DriverError::NoNode(dst))?;
                for &addr in addresses {
                    self.routes.redirect(node, addr, via);
                }
            }
        }
        self.process_early_arrivals();
        Ok(())
    }

    fn restart(&mut self, node: NodeId) -> Result<(), DriverError> {
        if !self.is_here(node) {
            return Err(DriverError::NoNode(node));
        }
        for &link in self.ports.links_of(node) {
            let queued = queued(&mut self.links, link)?;
            queued.clear_queue(DropReason::NodeRestart, &mut port_context!(self));
        }
        self.show_drops(node);
        if let Node::Router(_) = &self.nodes[node.index()] {
            self.with_forwarding(node, |f, cx| f.restart(cx));
            self.serve(node);
        }
        Ok(())
    }

    /// The copy starts at the transmitter's end of the wire: the attacker is on the link.
    fn replay(&mut self, replay: &Replay) -> Result<(), DriverError> {
        let &Replay { link, flow, ask, age } = replay;
        let path = self.workload.paths(flow)[0];
        let ends = [path.src.0, path.dst.0];
        let line = queued(&mut self.links, link)?;
        let cx = &mut port_context!(self);
        if line.replay(age, ends, ask, cx) {
            self.count.sent += 1;
            self.sync_link(link);
        }
        Ok(())
    }
}

/// A link that was built to change.
fn queued(links: &mut [Slot], link: LinkId) -> Result<&mut QueuedLink, DriverError> {
    let slot = links.get_mut(link.index());
    slot.and_then(|slot| slot.link.as_queued()).ok_or(DriverError::CannotChange(link))
}

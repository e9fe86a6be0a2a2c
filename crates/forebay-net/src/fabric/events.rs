//! Events that change the network during a run.

use super::transit::port_context;
use super::{Driver, DriverError, Fabric, Slot};
use crate::link::{Outage, QueuedLink};
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
            NetEvent::Delay(link, delay) => {
                queued(&mut self.links, link)?.set_delay(delay);
                self.sync_link(link);
            }
            NetEvent::Loss(link, loss) => queued(&mut self.links, link)?.set_loss(loss),
            NetEvent::Down(link) => self.link_down(link, Outage::Event)?,
            NetEvent::Up(link) => self.link_up(link, Outage::Event)?,
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

    /// The carrier of the wire that `link` leaves over is lost, or back: the link fails, or works
    /// again, unless an event of the spec keeps it down. Hearing the same again does nothing.
    pub fn on_carrier(&mut self, now: Time, link: LinkId, up: bool) -> Result<(), DriverError> {
        self.may_lose_carrier(link)?;
        self.now = now;
        let is_down = queued(&mut self.links, link)?.is_down_for(Outage::Carrier);
        match (is_down, up) {
            (false, false) => self.link_down(link, Outage::Carrier)?,
            (true, true) => self.link_up(link, Outage::Carrier)?,
            (false, true) | (true, false) => {}
        }
        self.process_early_arrivals();
        Ok(())
    }
    /// Errors unless the link leaves over a real wire.
    pub fn may_lose_carrier(&self, link: LinkId) -> Result<(), DriverError> {
        let leaves = link.index() < self.links.len() && self.is_exit(link);
        let may = self.has_real_wires && leaves;
        if may { Ok(()) } else { Err(DriverError::NoRealWire(link)) }
    }
    /// True if links that leave may lose their wires.
    pub fn has_real_wires(&self) -> bool {
        self.has_real_wires
    }
    fn link_down(&mut self, link: LinkId, why: Outage) -> Result<(), DriverError> {
        queued(&mut self.links, link)?.link_down(why, &mut port_context!(self));
        self.show_drops(self.edges[link.index()].from);
        self.tell_link(link, false);
        Ok(())
    }
    fn link_up(&mut self, link: LinkId, why: Outage) -> Result<(), DriverError> {
        if queued(&mut self.links, link)?.link_up(why, &mut port_context!(self)) {
            self.show_drops(self.edges[link.index()].from);
            self.sync_link(link);
            self.after_room(link);
            self.tell_link(link, true);
        }
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

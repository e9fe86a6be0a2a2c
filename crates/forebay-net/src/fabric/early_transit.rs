//! Early transit over single-upstream FIFO links.
//!
//! If all packets of a link come from one other link, their order and times here are known when
//! they are queued there. So they can be queued here at once, with their future times. A packet
//! passes a chain of such links at once. If the chain ends at a host with one socket, the host
//! takes the packet at once and answers: the clock of that host is then ahead of the others. The
//! hops in between need no event and no slot in a ring.
//!
//! Early transit stops at the horizon: nothing before the horizon is sampled. A packet with a later
//! time stays in its ring until its time comes, or until there is a new horizon. On a link it holds
//! up the packets after it ([`UpstreamGate`](crate::link::UpstreamGate)).

use super::hosts::Source;
use super::link_set::{
    EarlyArrival, End, LinkSet, Maps, Step, Travel, link_set, step, step_and_draw,
};
use super::{Driver, Fabric};
use crate::early_transit::{ArrivalPath, Guard, LinkEarlyTransit, Setting};
use crate::link::AnyLink;
use crate::node::Node;
use alloc::vec::Vec;
use forebay_base::{LinkId, NodeId, Time};

impl<D: Driver> Fabric<D> {
    /// Extend the horizon: nothing is sampled before `horizon`, and no run ends before it, so
    /// early transit may act until then. An earlier horizon than the current one changes nothing.
    pub fn extend_horizon(&mut self, horizon: Time) {
        if horizon <= self.horizon {
            return;
        }
        self.horizon = horizon;
        for number in 0..self.early_transit_links.len() {
            self.resume(self.early_transit_links[number]);
        }
        self.process_early_arrivals();
    }
    /// True if early transit is possible on any link.
    pub fn looks_ahead(&self) -> bool {
        !self.early_transit_links.is_empty()
    }
    /// The early transit that a link is eligible for here, or why not.
    pub fn early_transit(&self, link: LinkId) -> LinkEarlyTransit {
        let setting = Setting {
            plan: &self.early_transit,
            nodes: &self.nodes,
            ports: &self.ports,
            ends: &|link| self.link_nodes(link),
            observed: self.observed,
            horizon: self.driver.looks_ahead(),
        };
        let leads = self.links[link.index()].arrival_path == ArrivalPath::ForwardEarlyTransit;
        LinkEarlyTransit {
            upstream: setting.upstream(link),
            arrivals: setting.arrivals(link, leads),
        }
    }
    /// Events done by early transit, and the latest of their times. The ends of transmissions that
    /// are done late count, too, as of the last [`Fabric::catch_up_all`].
    #[inline]
    pub fn early_transit_done(&self) -> (u64, Time) {
        (self.early_transit_events, self.latest)
    }

    /// The first packet of `from` was queued on another link: look ahead as far as possible.
    #[inline(never)]
    pub(super) fn early_transit_from_ring(&mut self, from: LinkId, mut travel: Travel) {
        match link_set!(self).advance(&mut travel) {
            End::Host => {
                let node = self.advance_host_to(&travel);
                self.receive_single(Source::Ring(from), travel.link, node);
            }
            End::Ring => link_set!(self).move_first(from, &travel),
            End::Drawn => link_set!(self).move_drawn(from, &travel),
        }
    }
    /// Hand early arrivals to hosts until there are none. Each verb that lets hosts send calls this
    /// last; `run_host_until` does not, since it runs within a verb.
    #[inline(always)]
    pub(super) fn process_early_arrivals(&mut self) {
        if !self.early_arrivals.is_empty() {
            self.process_all_early_arrivals();
        }
    }
    #[inline(never)]
    fn process_all_early_arrivals(&mut self) {
        while let Some(EarlyArrival { link, arrival, packet }) = self.early_arrivals.front() {
            let link = *link;
            let travel = Travel::new(packet, link, *arrival, &self.driver, &self.arena);
            let node = self.advance_host_to(&travel);
            self.receive_single(Source::Early, link, node);
        }
    }
    /// Advance a host to the arrival of a packet: first it does all that is due before. Gives the
    /// host.
    #[inline(always)]
    pub(super) fn advance_host_to(&mut self, travel: &Travel) -> NodeId {
        let node = self.links[travel.link.index()].to;
        // Its only link.
        let back = travel.link.opposite();
        let acts_at = match &self.nodes[node.index()] {
            Node::Host(host) => host.times_out_at(),
            Node::Router(_) | Node::Elsewhere => Time::MAX,
        };
        let acts_at = acts_at.min(self.edges[back.index()].armed_transmitter);
        if acts_at < travel.arrival && self.driver.guards().has(Guard::HostFirst) {
            self.run_host_until(node, back, travel.arrival);
        }
        self.now = travel.arrival;
        self.latest = self.latest.max(travel.arrival);
        self.early_transit_events += 1;
        self.driver.passed(travel.arrival, travel.link, travel.signature, travel.ttl);
        node
    }
    /// Do what the host `node`, which has one socket and one interface, does by itself before
    /// `until`. At equal times arrivals go first, then transmitters, then sockets.
    #[inline(never)]
    fn run_host_until(&mut self, node: NodeId, link: LinkId, until: Time) {
        loop {
            let Node::Host(host) = &self.nodes[node.index()] else { return };
            let [socket] = host.sockets() else { return };
            let end = socket.end();
            let wakes = self.edges[link.index()].armed_transmitter;
            // A timeout is noticed when its deadline is due.
            let armed = if self.driver.guards().has(Guard::Armed) {
                self.ends[end.index()].armed
            } else {
                Time::ZERO
            };
            let times_out = host.times_out_at().max(armed);
            if wakes.min(times_out) >= until {
                return;
            }
            self.early_transit_events += 1;
            if wakes <= times_out {
                self.edges[link.index()].armed_transmitter = Time::MAX;
                self.transmitter_due(wakes, link);
            } else {
                self.ends[end.index()].armed = Time::MAX;
                self.socket_due(times_out, end);
            }
        }
    }

    /// There is a new horizon: packets in the ring of `link` may go on.
    fn resume(&mut self, link: LinkId) {
        let slot = &mut self.links[link.index()];
        let (path, node, horizon) = (slot.arrival_path, slot.to, self.horizon);
        if slot.link.next_arrival().is_none_or(|first| first > horizon) {
            return;
        }
        slot.armed_arrival = Time::MAX;
        if let ArrivalPath::HostEarlyTransit = path {
            while let Some(packet) = slot.link.take_arrival(horizon) {
                self.early_arrivals.push_back(EarlyArrival {
                    link,
                    arrival: packet.hop_time(),
                    packet,
                });
            }
        } else {
            self.resume_ring(link, node);
        }
        self.arm_next_arrival(link);
    }
    /// Let the packets in the ring of `link` go on that arrive before the horizon. Those that
    /// cannot go back into the ring, in the order in which they were.
    fn resume_ring(&mut self, link: LinkId, node: NodeId) {
        let AnyLink::Fifo(fifo) = &self.links[link.index()].link else { return };
        let bounded = self.driver.guards().has(Guard::Horizon);
        let (mut all_went, mut stuck) = (true, Vec::new());
        for _ in 0..fifo.scheduled_packets() {
            let AnyLink::Fifo(fifo) = &mut self.links[link.index()].link else { return };
            if bounded && fifo.next_arrival().is_none_or(|first| first > self.horizon) {
                // So do all that follow.
                if all_went {
                    return;
                }
                fifo.put_first_last();
            } else {
                all_went &= self.resume_first(link, node, &mut stuck);
            }
        }
    }
    /// Take the first packet out of the ring of `link`. It goes on, or back into the ring as the
    /// last: false. `stuck` lists links for which a packet has gone back: none may pass it.
    fn resume_first(&mut self, link: LinkId, node: NodeId, stuck: &mut Vec<LinkId>) -> bool {
        let AnyLink::Fifo(fifo) = &mut self.links[link.index()].link else { return false };
        let Some(packet) = fifo.take_first() else { return false };
        let (arrival, ttl) = (packet.hop_time(), packet.ttl());
        let mut travel = Travel::new(&packet, link, arrival, &self.driver, &self.arena);
        let maps = Maps { routes: &self.routes, ports: &self.ports };
        let next = maps.next_link(node, travel.dst, ttl).filter(|next| !stuck.contains(next));
        if let Some(next) = next
            && let slot = &mut self.links[next.index()]
            && slot.upstream_gate().is_single()
        {
            let (driver, horizon) = (&mut self.driver, self.horizon);
            let step = if matches!(&slot.link, AnyLink::Fifo(fifo) if fifo.is_impaired()) {
                step_and_draw(slot, driver, &mut travel, next, horizon)
            } else if step(slot, driver, &mut travel, next, horizon) {
                Step::Goes
            } else {
                Step::Stays
            };
            if !matches!(step, Step::Stays) {
                self.early_transit_events += 1;
                if let AnyLink::Fifo(fifo) = &mut slot.link {
                    fifo.upstream_gate.admit_expected();
                }
                let Travel { link, arrival, ttl, .. } = travel;
                match step {
                    Step::Drawn => link_set!(self).keep_drawn(packet, link, arrival, ttl),
                    _ => link_set!(self).early_transit_from_hand(packet, travel),
                }
                return true;
            }
            if self.driver.guards().has(Guard::InOrder) {
                stuck.push(next);
            }
        }
        if let AnyLink::Fifo(fifo) = &mut self.links[link.index()].link {
            fifo.lay(packet, arrival, ttl);
        }
        false
    }
}

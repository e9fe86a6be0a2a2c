//! Which links may look ahead, and why the others may not.

use super::upstream::{Upstream, Upstreams};
use super::{Guard, Guards};
use crate::node::Node;
use crate::ports::PortTable;
use crate::spec::{ChannelSpec, NetEvent, NetSpec, SchemeSpec};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use forebay_base::{LinkId, NodeId, PortId};
use forebay_router::{AnyForwarding, Forwarding};

/// Why packets pass a link one by one, each at its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ineligible {
    /// Every link is built the general way.
    General,
    /// An event changes or fails the link, or it may lose its wire.
    Changes,
    /// The delay of the link varies: packets may overtake others.
    Jitter,
    /// Packets leave the link late.
    Late,
    /// The link follows a delivery trace.
    Trace,
    /// A token bucket is in front of it.
    Bucket,
    /// A middlebox stands on it.
    Middlebox,
    /// Its port has a scheme.
    Scheme,
    /// Its queue is not drop-tail.
    Discipline,
    /// This router may hold packets for the link.
    HoldsPackets(NodeId),
    /// This node restarts, and loses what is queued.
    Restarts(NodeId),
    /// No packet comes to it from another link.
    NoUpstream,
    /// Packets come to it from several links; two of them.
    SeveralUpstreams(LinkId, LinkId),
    /// Its packets come from another partition.
    UpstreamElsewhere(LinkId),
    /// This router, between the link and the one before it, does more than plain IP.
    NotPlain(NodeId),
    /// An event changes the routes of this router.
    RouteChanges(NodeId),
    /// There are several trees of routes: see [`RouteRule`](crate::RouteRule).
    SeveralTrees,
    /// No link downstream of this router has it for its only upstream.
    NoneBehind(NodeId),
    /// This host has several sockets or interfaces.
    SharedHost(NodeId),
    /// This link, the first of the host at the end, is queued.
    QueuedAnswers(LinkId),
    /// The link begins in another partition.
    BeginsElsewhere,
    /// The link ends in another partition.
    EndsElsewhere,
    /// Somebody observes the packets.
    Observed,
    /// The driver gives no horizon.
    NoHorizon,
}

impl fmt::Display for Ineligible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Ineligible::General => write!(f, "every link is built the general way"),
            Ineligible::Changes => write!(f, "an event changes or fails it"),
            Ineligible::Jitter => write!(f, "its delay varies"),
            Ineligible::Late => write!(f, "packets leave it late"),
            Ineligible::Trace => write!(f, "it follows a delivery trace"),
            Ineligible::Bucket => write!(f, "a token bucket is in front of it"),
            Ineligible::Middlebox => write!(f, "a middlebox stands on it"),
            Ineligible::Scheme => write!(f, "its port has a scheme"),
            Ineligible::Discipline => write!(f, "its queue is not drop-tail"),
            Ineligible::HoldsPackets(node) => {
                write!(f, "router {} may hold packets for it", node.0)
            }
            Ineligible::Restarts(node) => write!(f, "node {} restarts", node.0),
            Ineligible::NoUpstream => write!(f, "no packet comes to it from another link"),
            Ineligible::SeveralUpstreams(a, b) => {
                write!(f, "packets come to it from link {} and from link {}", a.0, b.0)
            }
            Ineligible::UpstreamElsewhere(link) => {
                write!(f, "its packets come over link {}, from another partition", link.0)
            }
            Ineligible::NotPlain(node) => write!(f, "router {} does more than plain IP", node.0),
            Ineligible::RouteChanges(node) => {
                write!(f, "an event changes routes of node {}", node.0)
            }
            Ineligible::SeveralTrees => write!(f, "routes differ between flows"),
            Ineligible::NoneBehind(node) => {
                write!(f, "no link downstream of node {} has its packets from it alone", node.0)
            }
            Ineligible::SharedHost(node) => {
                write!(f, "host {} has several sockets or interfaces", node.0)
            }
            Ineligible::QueuedAnswers(link) => write!(f, "link {}, for answers, is queued", link.0),
            Ineligible::BeginsElsewhere => write!(f, "it begins in another partition"),
            Ineligible::EndsElsewhere => write!(f, "it ends in another partition"),
            Ineligible::Observed => write!(f, "somebody observes the packets"),
            Ineligible::NoHorizon => write!(f, "the driver gives no horizon"),
        }
    }
}

/// The early transit that a link of a fabric is eligible for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LinkEarlyTransit {
    /// The link whose packets are queued on this one as soon as they are queued there.
    pub upstream: Result<LinkId, Ineligible>,
    /// Packets queued on this link may go on at its far end: to a link, or into the host there.
    pub arrivals: Result<(), Ineligible>,
}

/// Properties of one link when a network is built.
#[derive(Clone, Copy)]
struct Planned {
    /// A [`FifoLink`](crate::FifoLink) can do it: departures are known when packets are queued.
    departures: Result<(), Ineligible>,
    /// Or they are known of what finds the link idle.
    idle_departures: Result<(), Ineligible>,
    /// Packets arrive in the order in which they are queued.
    in_order: Result<(), Ineligible>,
    /// All packets come from this link, and will.
    upstream: Result<LinkId, Ineligible>,
}

/// Which links of a network may look ahead, for all of its partitions and drivers. See the module.
#[derive(Clone)]
pub struct EarlyTransitPlan {
    links: Vec<Planned>,
    /// Every link is built the general way, and each packet takes the general path.
    general: bool,
    guards: Guards,
    /// Events that change routes: at which node, to which host, through which port.
    route_changes: Vec<(NodeId, NodeId, Option<PortId>)>,
}

impl EarlyTransitPlan {
    /// The plan of a network whose upstreams are not known yet. `changes`: see [`link_changes`].
    /// `general` refuses every link.
    pub(crate) fn new(
        spec: &NetSpec,
        nodes: &[Node],
        changes: &[LinkChange],
        general: bool,
        guards: Guards,
    ) -> EarlyTransitPlan {
        let holding_nodes = holding_nodes(spec, nodes, guards);
        let planned = |(i, &change): (usize, &LinkChange)| {
            let link = &spec.links[i];
            let refused = |guard, holds| guards.has(guard) && holds;
            let scheme = !matches!(link.scheme, SchemeSpec::None);
            let departures = match (&link.channel, holding_nodes[link.from.index()]) {
                _ if general => Err(Ineligible::General),
                _ if refused(Guard::Unchanged, change > LinkChange::Nothing) => {
                    Err(Ineligible::Changes)
                }
                _ if link.wire.late.is_some() => Err(Ineligible::Late),
                _ if refused(Guard::NoScheme, scheme) => Err(Ineligible::Scheme),
                _ if link.wire.middlebox.is_some() => Err(Ineligible::Middlebox),
                (ChannelSpec::Trace { .. }, _) => Err(Ineligible::Trace),
                (ChannelSpec::Bucket(_), _) => Err(Ineligible::Bucket),
                (ChannelSpec::Constant(_), Some(refusal)) => Err(refusal),
                (ChannelSpec::Constant(_), None) => Ok(()),
            };
            let idle_departures = departures;
            let shakes = refused(Guard::NoJitter, !link.wire.jitter.is_zero());
            let in_order = if shakes { Err(Ineligible::Jitter) } else { Ok(()) };
            let upstream = Err(Ineligible::NoUpstream);
            Planned { departures, idle_departures, in_order, upstream }
        };
        let change = |event: &NetEvent| match *event {
            NetEvent::Route { node, dst, via } => Some((node, dst, via)),
            _ => None,
        };
        EarlyTransitPlan {
            links: changes.iter().enumerate().map(planned).collect(),
            general,
            guards,
            route_changes: spec.events.iter().filter_map(|e| change(&e.event)).collect(),
        }
    }
    /// Whether departures are known when packets are queued; the queue itself is left to
    /// [`EarlyTransitPlan::is_not_drop_tail`].
    pub(crate) fn departures(&self, link: LinkId) -> Result<(), Ineligible> {
        self.links[link.index()].departures
    }
    /// The discipline of a link turned out to be another than drop-tail.
    pub(crate) fn is_not_drop_tail(&mut self, link: LinkId) {
        let planned = &mut self.links[link.index()];
        planned.departures = Err(Ineligible::Discipline);
        planned.idle_departures = planned.departures;
    }
    /// The departures of what finds the link idle turned out to be known. That is of use where
    /// nothing but the router in front of it, which may hold packets, has them unknown otherwise.
    pub(crate) fn is_direct(&mut self, link: LinkId) {
        let planned = &mut self.links[link.index()];
        if let Err(Ineligible::HoldsPackets(_)) = planned.departures {
            planned.idle_departures = Ok(());
        }
    }
    /// All links are built: which have one upstream.
    pub(crate) fn find_upstreams(&mut self, spec: &NetSpec, nodes: &[Node], all: &Upstreams) {
        for (i, link) in spec.links.iter().enumerate() {
            let from = link.from;
            let changes = self.route_changes.iter().any(|&(node, _, _)| node == from);
            let planned = self.links[i];
            let upstream = planned.departures.and(planned.in_order).and_then(|()| {
                let fixed = !changes || !self.guards.has(Guard::FixedRoutes);
                match (&nodes[from.index()], all.of(LinkId(i as u32))) {
                    (_, Upstream::None) => Err(Ineligible::NoUpstream),
                    (Node::Router(_), _) if spec.routes.trees > 1 => Err(Ineligible::SeveralTrees),
                    (Node::Router(AnyForwarding::PlainIp(_)), _) if !fixed => {
                        Err(Ineligible::RouteChanges(from))
                    }
                    (Node::Router(AnyForwarding::PlainIp(_)), Upstream::Only(only)) => Ok(only),
                    (Node::Router(AnyForwarding::PlainIp(_)), Upstream::Many(only, other)) => {
                        if self.guards.has(Guard::SingleUpstream) {
                            Err(Ineligible::SeveralUpstreams(only, other))
                        } else {
                            Ok(only)
                        }
                    }
                    _ => Err(Ineligible::NotPlain(from)),
                }
            });
            self.links[i].upstream =
                upstream.and_then(|only: LinkId| self.links[only.index()].in_order.map(|()| only));
        }
    }
    /// True if the event is one of those that the plan was made for, or there is nothing that it
    /// could upset.
    pub(crate) fn knows_route_change(
        &self,
        node: NodeId,
        dst: NodeId,
        via: Option<PortId>,
    ) -> bool {
        self.route_changes.contains(&(node, dst, via))
            || self.links.iter().all(|link| link.upstream.is_err())
    }
}

/// What may happen to a link during a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum LinkChange {
    /// Nothing.
    Nothing,
    /// It loses the wire that it leaves over, and gets it back; no event names it.
    Carrier,
    /// An event of the network changes or fails it.
    Event,
}

/// By link what may happen to it; those of `exits` may lose their wires.
pub(crate) fn link_changes(spec: &NetSpec, exits: &[LinkId]) -> Vec<LinkChange> {
    let mut changes = vec![LinkChange::Nothing; spec.links.len()];
    exits.iter().for_each(|link| changes[link.index()] = LinkChange::Carrier);
    for event in &spec.events {
        match event.event {
            NetEvent::Rate(l, _)
            | NetEvent::Delay(l, _)
            | NetEvent::Loss(l, _)
            | NetEvent::Down(l)
            | NetEvent::Up(l) => changes[l.index()] = LinkChange::Event,
            NetEvent::Restart(_)
            | NetEvent::Route { .. }
            | NetEvent::Forge(_)
            | NetEvent::Replay(_) => {}
        }
    }
    changes
}

/// Of each node why the links downstream of it are queued, if they are: its forwarding wants to
/// know when a link has room, or it may lose what is queued.
fn holding_nodes(spec: &NetSpec, nodes: &[Node], guards: Guards) -> Vec<Option<Ineligible>> {
    let holds = |(node, kind): (NodeId, &Node)| match kind {
        Node::Router(forwarding) if guards.has(Guard::HoldsNothing) => {
            forwarding.holds_packets().then_some(Ineligible::HoldsPackets(node))
        }
        Node::Router(_) | Node::Host(_) | Node::Elsewhere => None,
    };
    let mut holding_nodes: Vec<_> = (0..).map(NodeId).zip(nodes).map(holds).collect();
    for event in &spec.events {
        if let NetEvent::Restart(node) = event.event
            && guards.has(Guard::NoRestart)
        {
            holding_nodes[node.index()] = Some(Ineligible::Restarts(node));
        }
    }
    holding_nodes
}

/// The way of packets from a link into the node at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ArrivalPath {
    /// From a [`FifoLink`](crate::FifoLink) through a router of plain IP, and there is no observer.
    Forward,
    /// The same, and some link downstream of that router has its packets from this one alone.
    ForwardEarlyTransit,
    /// From a link of any kind into a router: of plain IP from a queued link, or of another kind.
    /// There is no observer.
    Route,
    /// From a link of any kind into a host, and there is no observer.
    Host,
    /// The same where the host has one socket and one interface, in a simulation.
    HostSingle,
    /// The same where the departures of what finds the link idle are known, and the first link of
    /// the host is a [`FifoLink`](crate::FifoLink).
    HostEarlyTransit,
    /// Any other.
    General,
}

impl ArrivalPath {
    /// True if packets may go on at the end of the link ahead of time.
    #[inline(always)]
    pub fn looks_ahead(self) -> bool {
        matches!(self, ArrivalPath::ForwardEarlyTransit | ArrivalPath::HostEarlyTransit)
    }
    /// True if the host at the end of the link goes its own fast path.
    #[inline]
    pub fn is_single(self) -> bool {
        matches!(self, ArrivalPath::HostSingle | ArrivalPath::HostEarlyTransit)
    }
}

/// A fabric, that is a partition under a driver, for which a plan is worked out.
pub(crate) struct Setting<'a> {
    pub plan: &'a EarlyTransitPlan,
    /// Of the network or partition.
    pub nodes: &'a [Node],
    pub ports: &'a PortTable,
    /// Between which nodes a link leads.
    pub ends: &'a dyn Fn(LinkId) -> (NodeId, NodeId),
    /// The driver observes packets.
    pub observed: bool,
    /// The driver gives a horizon.
    pub horizon: bool,
}

impl Setting<'_> {
    fn is_here(&self, node: NodeId) -> bool {
        !matches!(self.nodes[node.index()], Node::Elsewhere)
    }
    fn is_observed(&self) -> bool {
        self.observed && self.plan.guards.has(Guard::Unobserved)
    }
    /// See [`LinkEarlyTransit::upstream`].
    pub fn upstream(&self, link: LinkId) -> Result<LinkId, Ineligible> {
        let upstream = self.plan.links[link.index()].upstream?;
        let here = self.is_here((self.ends)(upstream).0) && self.is_here((self.ends)(link).0);
        match () {
            _ if !self.horizon => Err(Ineligible::NoHorizon),
            _ if self.is_observed() => Err(Ineligible::Observed),
            // Packets from another partition come one by one, and may overtake.
            _ if !here && self.plan.guards.has(Guard::UpstreamHere) => {
                Err(Ineligible::UpstreamElsewhere(upstream))
            }
            _ => Ok(upstream),
        }
    }
    /// By link: whether it is the only upstream of another.
    pub fn leading(&self) -> Vec<bool> {
        let mut leads = vec![false; self.plan.links.len()];
        let links = (0..leads.len() as u32).map(LinkId);
        links.filter_map(|l| self.upstream(l).ok()).for_each(|up| leads[up.index()] = true);
        leads
    }
    /// How packets come to the end of a link. `leads`: the link is the only upstream of another.
    pub fn arrival_path(&self, link: LinkId, leads: bool) -> ArrivalPath {
        let (from, to) = (self.ends)(link);
        // The far end of a link from another partition is a wire without a queue.
        let fifo = !self.is_here(from) || self.plan.departures(link).is_ok();
        let ahead = self.arrivals(link, leads).is_ok();
        match &self.nodes[to.index()] {
            _ if self.is_observed() || self.plan.general => ArrivalPath::General,
            Node::Router(AnyForwarding::PlainIp(_)) if fifo && ahead => {
                ArrivalPath::ForwardEarlyTransit
            }
            Node::Router(AnyForwarding::PlainIp(_)) if fifo => ArrivalPath::Forward,
            Node::Router(_) => ArrivalPath::Route,
            Node::Host(_) if ahead => ArrivalPath::HostEarlyTransit,
            // Strangers come from real wires, and replies to them go the general way.
            Node::Host(host) if self.horizon && host.is_single() => ArrivalPath::HostSingle,
            Node::Host(_) => ArrivalPath::Host,
            Node::Elsewhere => ArrivalPath::General,
        }
    }
    /// True if nothing depends on when the next packet of a link starts, once it is known that it
    /// does: it leaves a router of plain IP, for a node here, and nobody looks on. Then see
    /// [`QueuedLink::defer`](crate::QueuedLink::defer).
    pub fn may_defer(&self, link: LinkId) -> bool {
        let (from, to) = (self.ends)(link);
        let plain = matches!(&self.nodes[from.index()], Node::Router(AnyForwarding::PlainIp(_)));
        plain && self.is_here(to) && self.horizon && !self.observed && !self.plan.general
    }
    /// See [`LinkEarlyTransit::arrivals`].
    pub fn arrivals(&self, link: LinkId, leads: bool) -> Result<(), Ineligible> {
        let (from, to) = (self.ends)(link);
        let guards = self.plan.guards;
        if !self.horizon {
            return Err(Ineligible::NoHorizon);
        }
        if self.is_observed() {
            return Err(Ineligible::Observed);
        }
        let (here, planned) = (self.is_here(from), &self.plan.links[link.index()]);
        let node = &self.nodes[to.index()];
        if here {
            // A packet that has to wait for the link comes to the host at its time.
            let host = matches!(node, Node::Host(_));
            if host { planned.idle_departures } else { planned.departures }?;
            planned.in_order?;
        }
        match node {
            Node::Router(AnyForwarding::PlainIp(_)) if leads => Ok(()),
            Node::Router(AnyForwarding::PlainIp(_)) => Err(Ineligible::NoneBehind(to)),
            Node::Router(_) => Err(Ineligible::NotPlain(to)),
            Node::Elsewhere => Err(Ineligible::EndsElsewhere),
            Node::Host(_) if !here && guards.has(Guard::LastLinkHere) => {
                Err(Ineligible::BeginsElsewhere)
            }
            Node::Host(host) => {
                let first = self.ports.link(to, PortId(0));
                match self.plan.departures(first) {
                    _ if !host.is_single() && guards.has(Guard::SingleHost) => {
                        Err(Ineligible::SharedHost(to))
                    }
                    Err(_) if guards.has(Guard::FirstLinkFifo) => {
                        Err(Ineligible::QueuedAnswers(first))
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

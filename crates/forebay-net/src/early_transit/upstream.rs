//! From which links the packets of each link come.

use super::{Guard, Guards};
use crate::node::Node;
use crate::ports::PortTable;
use crate::spec::{NetEvent, NetSpec};
use crate::workload::Workload;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{Addr, FlowId, LinkId, NodeId, PortId};
use forebay_router::{Forwarding, Routes, Sends};

/// From where packets come onto a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Upstream {
    /// No flow uses the link, or it is the first of all its flows.
    None,
    /// All come from this one.
    Only(LinkId),
    /// They come from several; two of them.
    Many(LinkId, LinkId),
}

/// By link: where its packets come from.
pub(crate) struct Upstreams {
    of: Vec<Upstream>,
}

/// State to follow packets through a network.
pub(crate) struct Ways<'a> {
    pub spec: &'a NetSpec,
    pub ports: &'a PortTable,
    pub routes: &'a Routes,
    pub nodes: &'a [Node],
    pub workload: &'a Workload,
    pub guards: Guards,
}

impl Upstreams {
    /// Of a network with this many links, before any path was walked.
    pub fn new(links: usize) -> Upstreams {
        Upstreams { of: vec![Upstream::None; links] }
    }
    /// Packets go from one link to another.
    pub fn note(&mut self, from: LinkId, to: LinkId) {
        let upstream = &mut self.of[to.index()];
        *upstream = match *upstream {
            Upstream::None => Upstream::Only(from),
            Upstream::Only(only) if only != from => Upstream::Many(only, from),
            known => known,
        };
    }
    /// Those of one link.
    pub fn of(&self, link: LinkId) -> Upstream {
        self.of[link.index()]
    }
    /// Add the ways that packets may take besides the routes that hold at the start: routes that an
    /// event changes, and routers that send packets elsewhere.
    pub fn add_other_ways(&mut self, ways: &Ways<'_>) {
        let changes = ways.changed_routes();
        let stray = ways.stray_ports();
        if changes.is_empty() && stray.is_empty() {
            return;
        }
        let from_nowhere: Vec<LinkId> =
            stray.iter().filter(|(_, sends)| **sends == Sends::Any).map(|(&l, _)| l).collect();
        let mut seen = vec![u32::MAX; self.of.len()];
        let mut open: Vec<LinkId> = Vec::new();
        for (round, (&addr, (host, first))) in (0..).zip(&ways.destinations()) {
            let changes_here = changes.iter().any(|&(_, dst, _)| dst == *host);
            if stray.is_empty() && !changes_here {
                continue;
            }
            open.extend(first.iter().chain(&from_nowhere));
            while let Some(link) = open.pop() {
                if core::mem::replace(&mut seen[link.index()], round) == round {
                    continue;
                }
                let at = ways.spec.links[link.index()].to;
                if let Node::Host(_) = &ways.nodes[at.index()] {
                    continue;
                }
                let routed = ways.routes.port(at, addr);
                let changed = changes.iter().filter(|&&(node, dst, _)| (node, dst) == (at, *host));
                let routed = routed.into_iter().chain(changed.map(|&(_, _, via)| via));
                let routed = routed.map(|port| ways.ports.link(at, port));
                let all = ways.ports.links_of(at).iter().copied();
                for next in routed.chain(all.filter(|next| stray.contains_key(next))) {
                    self.note(link, next);
                    open.push(next);
                }
            }
        }
    }
}

impl Ways<'_> {
    /// What events make of routes: at which node, to which host, through which port.
    fn changed_routes(&self) -> Vec<(NodeId, NodeId, PortId)> {
        if !self.guards.has(Guard::ChangedRoutes) {
            return Vec::new();
        }
        let change = |event: &NetEvent| match *event {
            NetEvent::Route { node, dst, via } => Some((node, dst, via?)),
            _ => None,
        };
        self.spec.events.iter().filter_map(|event| change(&event.event)).collect()
    }
    /// Links onto which a router may put packets that its routes do not send there. Empty where no
    /// link downstream of a router can make use of it.
    fn stray_ports(&self) -> BTreeMap<LinkId, Sends> {
        let mut stray = BTreeMap::new();
        if !self.guards.has(Guard::OffRoute) {
            return stray;
        }
        let mut follows = false;
        for (number, node) in (0..).map(NodeId).zip(self.nodes) {
            let Node::Router(forwarding) = node else { continue };
            follows |= !forwarding.holds_packets();
            for (port, &link) in (0..).map(PortId).zip(self.ports.links_of(number)) {
                match forwarding.sends(port) {
                    Sends::Routed => {}
                    sends => drop(stray.insert(link, sends)),
                }
            }
        }
        if follows { stray } else { BTreeMap::new() }
    }
    /// The addresses to which packets go: of which host each is, and the links on which they start.
    fn destinations(&self) -> BTreeMap<Addr, (NodeId, Vec<LinkId>)> {
        let mut all: BTreeMap<Addr, (NodeId, Vec<LinkId>)> = BTreeMap::new();
        for (id, flow) in (0..).map(FlowId).zip(&self.spec.flows) {
            for path in self.workload.paths(id) {
                let ends = [(flow.src, path.src), (flow.dst, path.dst)];
                for ((from, (_, port)), (to, (end, _))) in [(ends[0], ends[1]), (ends[1], ends[0])]
                {
                    let (_, first) = all.entry(end.addr).or_insert((to, Vec::new()));
                    first.push(self.ports.link(from, port));
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_none_one_or_many() {
        let [a, b, c] = [0, 1, 2].map(LinkId);
        let mut upstreams = Upstreams::new(3);
        upstreams.note(a, c);
        upstreams.note(a, c);
        assert_eq!(upstreams.of, [Upstream::None, Upstream::None, Upstream::Only(a)]);
        upstreams.note(b, c);
        upstreams.note(a, c);
        assert_eq!(upstreams.of, [Upstream::None, Upstream::None, Upstream::Many(a, b)]);
    }
}

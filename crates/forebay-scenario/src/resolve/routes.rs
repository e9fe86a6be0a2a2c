//! Routes of flows, for what follows from them before a network is built.

use crate::{Link, Node};
use forebay_base::{LinkId, NodeId};
use std::collections::VecDeque;

/// Routes as the network has them: by hop count, between equal ones the port declared first.
pub(crate) struct Routes<'a> {
    nodes: &'a [Node],
    links: &'a [Link],
    /// By node: the directed links that leave it, in the order of its ports.
    ports: Vec<Vec<LinkId>>,
    /// Where the distances lead to.
    target: Option<NodeId>,
    distance: Vec<u32>,
    /// Next hops that were asked for.
    next: Vec<Option<LinkId>>,
}

impl Routes<'_> {
    pub fn new<'a>(nodes: &'a [Node], links: &'a [Link]) -> Routes<'a> {
        let mut ports = vec![Vec::new(); nodes.len()];
        for (link, k) in links.iter().zip(0u32..) {
            ports[link.a.index()].push(LinkId(2 * k));
            ports[link.b.index()].push(LinkId(2 * k + 1));
        }
        let (distance, next) = (vec![u32::MAX; nodes.len()], vec![None; nodes.len()]);
        Routes { nodes, links, ports, target: None, distance, next }
    }

    /// The directed links that leave a node, in the order of its ports.
    pub fn ports(&self, node: NodeId) -> &[LinkId] {
        &self.ports[node.index()]
    }

    /// The node to which a directed link leads.
    pub fn end(&self, id: LinkId) -> NodeId {
        let link = &self.links[id.index() / 2];
        if id.index().is_multiple_of(2) { link.b } else { link.a }
    }

    /// The node at the other end of a host's first link.
    pub fn attachment(&self, host: NodeId) -> Option<NodeId> {
        let first = self.ports(host).first();
        first.map(|&link| self.end(link))
    }

    /// The directed links between the first ports of two hosts; None if there is no route.
    pub fn walk(&mut self, from: NodeId, to: NodeId) -> Option<Vec<LinkId>> {
        let (first, last) = (*self.ports(from).first()?, self.ports(to).first()?.opposite());
        let mut route = vec![first];
        let mut at = self.end(first);
        if at == to {
            return (first == last).then_some(route);
        }
        let target = self.attachment(to)?;
        self.search(target);
        while at != target {
            let link = self.next(at)?;
            route.push(link);
            at = self.end(link);
        }
        route.push(last);
        Some(route)
    }

    /// Breadth-first from `target` over routers.
    fn search(&mut self, target: NodeId) {
        if self.target.replace(target) == Some(target) {
            return;
        }
        self.distance.fill(u32::MAX);
        self.next.fill(None);
        self.distance[target.index()] = 0;
        let mut queue = VecDeque::from([target]);
        while let Some(node) = queue.pop_front() {
            for &link in &self.ports[node.index()] {
                let neighbour = self.end(link);
                let unseen = self.distance[neighbour.index()] == u32::MAX;
                if unseen && !self.nodes[neighbour.index()].is_host {
                    self.distance[neighbour.index()] = self.distance[node.index()] + 1;
                    queue.push_back(neighbour);
                }
            }
        }
    }

    /// The link from a router towards the target.
    fn next(&mut self, node: NodeId) -> Option<LinkId> {
        if self.next[node.index()].is_none() {
            let nearer = self.distance[node.index()].checked_sub(1)?;
            let ports = self.ports[node.index()].iter().copied();
            let mut leads = ports.filter(|&link| {
                let next = self.end(link);
                !self.nodes[next.index()].is_host && self.distance[next.index()] == nearer
            });
            self.next[node.index()] = leads.next();
        }
        self.next[node.index()]
    }
}

//! Shortest paths over routers: the routes of a network, for its tables and for what follows from
//! them before it is built.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{LinkId, NodeId};

/// The shortest paths of a network, by hop count, between equal ones over the port declared first.
/// One search is kept: to one target.
pub struct ShortestPaths {
    /// By node: true of one that forwards.
    forwards: Vec<bool>,
    /// By directed link: the node to which it leads.
    ends: Vec<NodeId>,
    /// By node: the directed links that leave it, in the order of its ports.
    ports: Vec<Vec<LinkId>>,
    /// Where the distances lead to.
    target: Option<NodeId>,
    distance: Vec<u32>,
    /// By node: the link towards the target.
    next: Vec<Option<LinkId>>,
}

impl ShortestPaths {
    /// Of nodes of which those that say true forward, and links between two of them each: link `k`
    /// has the directions [`LinkId`] `2 k`, from the first to the second, and `2 k + 1`.
    pub fn new(
        forwards: impl IntoIterator<Item = bool>,
        links: impl IntoIterator<Item = [NodeId; 2]>,
    ) -> ShortestPaths {
        let forwards: Vec<bool> = forwards.into_iter().collect();
        let (mut ends, mut ports) = (Vec::new(), vec![Vec::new(); forwards.len()]);
        for [a, b] in links {
            for (from, to) in [(a, b), (b, a)] {
                ports[from.index()].push(LinkId(ends.len() as u32));
                ends.push(to);
            }
        }
        let (distance, next) = (vec![u32::MAX; forwards.len()], vec![None; forwards.len()]);
        ShortestPaths { forwards, ends, ports, target: None, distance, next }
    }

    /// The directed links that leave a node, in the order of its ports.
    fn ports(&self, node: NodeId) -> &[LinkId] {
        &self.ports[node.index()]
    }

    /// The node to which a directed link leads.
    fn end(&self, link: LinkId) -> NodeId {
        self.ends[link.index()]
    }

    /// The node at the other end of a host's first link.
    pub fn attachment(&self, host: NodeId) -> Option<NodeId> {
        let first = self.ports(host).first();
        first.map(|&link| self.end(link))
    }

    /// The directed links between the first ports of two hosts; None if there is no route. Pairs
    /// whose second host has the same attachment share a search, one after the other.
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

    /// The link on which a router sends what is for the target of the last search. None if it has
    /// no way there, or is the target.
    pub fn next(&self, router: NodeId) -> Option<LinkId> {
        self.next[router.index()]
    }

    /// Find the paths of all routers to `target`.
    pub fn search(&mut self, target: NodeId) {
        if self.target.replace(target) == Some(target) {
            return;
        }
        self.distance.fill(u32::MAX);
        self.next.fill(None);
        self.distance[target.index()] = 0;
        let mut reached = Vec::new();
        let mut queue = VecDeque::from([target]);
        while let Some(node) = queue.pop_front() {
            for &link in &self.ports[node.index()] {
                let neighbour = self.end(link);
                let unseen = self.distance[neighbour.index()] == u32::MAX;
                if unseen && self.forwards[neighbour.index()] {
                    self.distance[neighbour.index()] = self.distance[node.index()] + 1;
                    reached.push(neighbour);
                    queue.push_back(neighbour);
                }
            }
        }
        for node in reached {
            let nearer = self.distance[node.index()] - 1;
            let mut ports = self.ports(node).iter().copied();
            self.next[node.index()] = ports.find(|&link| {
                let next = self.end(link);
                self.forwards[next.index()] && self.distance[next.index()] == nearer
            });
        }
    }
}

//! Shortest paths over routers: the routes of a network, for its tables and for what follows from
//! them before it is built.
//!
//! The cost of a path is the sum of the weights of its links. Of paths with equal costs the one
//! counts whose links have the smaller sum of hashes; and if these are equal too, the one that does
//! not have the highest of the links that only one of them has, which is a sum as well: of 2^k for
//! link k. All three are the same in both directions, add up, and the last differs for any two
//! paths between the same routers. So there is exactly one path between two routers, and the path
//! back is the path there, reversed.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use forebay_base::{LinkId, NodeId, PortId, mix64};

/// The most trees that there can be: see [`RouteRule::trees`].
pub const MAX_TREES: u8 = 64;

/// Which path counts, of several with equal costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EqualCosts {
    /// The same in both directions: packets come back over the links by which others go.
    #[default]
    Symmetric,
    /// For each destination at random, regardless of the way back.
    Independent,
}

/// How routes are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteRule {
    /// Choices between equal costs, each for all routers and destinations; 1 to [`MAX_TREES`]. A
    /// flow keeps to one of them, by a hash of its addresses and ports that is the same in both
    /// directions: equal-cost multipath (ECMP, RFC 2992) that is symmetric.
    pub trees: u8,
    /// See there.
    pub equal_costs: EqualCosts,
}

impl Default for RouteRule {
    fn default() -> RouteRule {
        RouteRule { trees: 1, equal_costs: EqualCosts::Symmetric }
    }
}

/// A link for [`ShortestPaths`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// The nodes that it joins.
    pub ends: [NodeId; 2],
    /// What it adds to the cost of a path in either direction, 1 or more.
    pub weight: u32,
}

/// The hash of a link that decides between equal costs.
type Hash = fn(u64) -> u32;

/// Sums of weights and of hashes.
type Cost = (u64, u64);

const UNREACHED: Cost = (u64::MAX, u64::MAX);

/// The shortest paths of a network. One search is kept: to one target, in one tree.
pub struct ShortestPaths {
    rule: RouteRule,
    hash: Hash,
    /// By node: true of one that forwards.
    forwards: Vec<bool>,
    /// By directed link: the node to which it leads.
    ends: Vec<NodeId>,
    /// By link.
    weights: Vec<u32>,
    /// By node: the directed links that leave it, in the order of its ports.
    ports: Vec<Vec<LinkId>>,
    /// The target and the tree of the last search.
    searched: Option<(NodeId, u8)>,
    /// By node: to the target.
    costs: Vec<Cost>,
    /// By node: the link towards the target.
    next: Vec<Option<LinkId>>,
    open: BinaryHeap<Reverse<(Cost, NodeId)>>,
}

fn hash(link: u64) -> u32 {
    (mix64(link.wrapping_add(0x9e37_79b9_7f4a_7c15)) >> 32) as u32
}

impl ShortestPaths {
    /// Of nodes of which those that say true forward. Link `k` has the directions [`LinkId`] `2 k`,
    /// from the first of its ends to the second, and `2 k + 1`.
    pub fn new(
        rule: RouteRule,
        forwards: impl IntoIterator<Item = bool>,
        links: impl IntoIterator<Item = Edge>,
    ) -> ShortestPaths {
        let forwards: Vec<bool> = forwards.into_iter().collect();
        let (mut ends, mut ports) = (Vec::new(), vec![Vec::new(); forwards.len()]);
        let mut weights = Vec::new();
        for Edge { ends: [a, b], weight } in links {
            debug_assert!(weight > 0, "a path must cost more than any part of it");
            for (from, to) in [(a, b), (b, a)] {
                ports[from.index()].push(LinkId(ends.len() as u32));
                ends.push(to);
            }
            weights.push(weight);
        }
        let (costs, next) = (vec![UNREACHED; forwards.len()], vec![None; forwards.len()]);
        ShortestPaths {
            rule,
            hash,
            forwards,
            ends,
            weights,
            ports,
            searched: None,
            costs,
            next,
            open: BinaryHeap::new(),
        }
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
        self.attachment_at(host, PortId(0))
    }
    /// The node at the other end of the link at a port of a host.
    pub fn attachment_at(&self, host: NodeId, port: PortId) -> Option<NodeId> {
        self.ports(host).get(port.index()).map(|&link| self.end(link))
    }

    /// The directed links between the first ports of two hosts, in one of the trees; None if there
    /// is no route. Pairs whose second host has the same attachment share a search, one after the
    /// other.
    pub fn walk(&mut self, from: NodeId, to: NodeId, tree: u8) -> Option<Vec<LinkId>> {
        self.walk_between([(from, PortId(0)), (to, PortId(0))], tree)
    }

    /// The same from one port of a host to one of another.
    pub fn walk_between(&mut self, ends: [(NodeId, PortId); 2], tree: u8) -> Option<Vec<LinkId>> {
        let [(from, leaves), (to, enters)] = ends;
        let first = *self.ports(from).get(leaves.index())?;
        let last = self.ports(to).get(enters.index())?.opposite();
        let mut route = vec![first];
        let mut at = self.end(first);
        if at == to {
            return (first == last).then_some(route);
        }
        let target = self.attachment_at(to, enters)?;
        self.search(target, tree);
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

    /// Find the paths of all routers to `target`, in one of the trees.
    pub fn search(&mut self, target: NodeId, tree: u8) {
        if self.searched.replace((target, tree)) == Some((target, tree)) {
            return;
        }
        self.costs.fill(UNREACHED);
        self.next.fill(None);
        self.costs[target.index()] = (0, 0);
        self.open.push(Reverse(((0, 0), target)));
        while let Some(Reverse((cost, node))) = self.open.pop() {
            if cost > self.costs[node.index()] {
                continue; // a better path was found since
            }
            for k in 0..self.ports(node).len() {
                let link = self.ports(node)[k].opposite();
                let before = self.ends[link.opposite().index()];
                if self.forwards[before.index()] {
                    self.relax(before, link, cost, target, tree);
                }
            }
        }
    }

    /// `node` may reach the target over `link`, from whose end it costs `onward`. All nodes with
    /// smaller costs have found their paths: weights are positive.
    fn relax(&mut self, node: NodeId, link: LinkId, onward: Cost, target: NodeId, tree: u8) {
        let (weight, hash) = self.cost_of(link, target, tree);
        let cost = (onward.0 + weight, onward.1 + hash);
        let known = self.costs[node.index()];
        if cost < known {
            self.costs[node.index()] = cost;
            self.next[node.index()] = Some(link);
            self.open.push(Reverse((cost, node)));
        } else if cost == known
            && self.next(node).is_some_and(|next| self.links_by(link) < self.links_by(next))
        {
            self.next[node.index()] = Some(link);
        }
    }

    fn cost_of(&self, link: LinkId, target: NodeId, tree: u8) -> Cost {
        let (pair, tree) = (link.0 / 2, u64::from(tree) << 56);
        let salt = match self.rule.equal_costs {
            EqualCosts::Symmetric => u64::from(pair),
            EqualCosts::Independent => mix64(u64::from(target.0) << 32 | u64::from(link.0)) >> 8,
        };
        (u64::from(self.weights[pair as usize]), u64::from((self.hash)(salt ^ tree)))
    }

    /// The links of the path to the target that begins with `first`, the highest first. Of two such
    /// lists the smaller one has the smaller sum of 2^k.
    fn links_by(&self, first: LinkId) -> Vec<u32> {
        let mut path = vec![first.0 / 2];
        let mut at = self.end(first);
        while let Some(link) = self.next(at) {
            path.push(link.0 / 2);
            at = self.end(link);
        }
        path.sort_unstable_by_key(|&link| Reverse(link));
        path
    }
}

#[cfg(test)]
mod tests;

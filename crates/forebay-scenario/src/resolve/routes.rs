//! Routes of flows, for what follows from them before a network is built.

use crate::{Flow, Link, Node, Scenario};
use forebay_base::{LinkId, NodeId, PortId};
use forebay_router::{Edge, EqualCosts, RouteRule, ShortestPaths};
use std::collections::{BTreeMap, BTreeSet};

/// The paths that the network will have.
pub(crate) fn shortest_paths(rule: RouteRule, nodes: &[Node], links: &[Link]) -> ShortestPaths {
    ShortestPaths::new(
        rule,
        nodes.iter().map(|node| !node.is_host),
        links.iter().map(|link| Edge { ends: [link.a, link.b], weight: link.weight }),
    )
}

/// The ways of packets in a network of which only nodes and links are known: for drawings.
pub struct Ways {
    paths: ShortestPaths,
    /// By node: its links, in the order of its ports.
    links: Vec<Vec<usize>>,
}

impl Ways {
    /// Of nodes of which those that say true are routers, and links with their two ends and their
    /// weight; `symmetric` is what `routes.equal_costs` says. With several `routes.trees` these are
    /// the ways in the first.
    pub fn new(
        symmetric: bool,
        routers: impl IntoIterator<Item = bool>,
        links: impl IntoIterator<Item = ([usize; 2], u32)>,
    ) -> Ways {
        let routers: Vec<bool> = routers.into_iter().collect();
        let mut at_node = vec![Vec::new(); routers.len()];
        let edge = |(number, (ends, weight)): (usize, ([usize; 2], u32))| {
            ends.into_iter().for_each(|end| at_node[end].push(number));
            Edge { ends: ends.map(|end| NodeId(end as u32)), weight }
        };
        let edges: Vec<Edge> = links.into_iter().enumerate().map(edge).collect();
        let equal_costs = if symmetric { EqualCosts::Symmetric } else { EqualCosts::Independent };
        let rule = RouteRule { equal_costs, ..RouteRule::default() };
        Ways { paths: ShortestPaths::new(rule, routers, edges), links: at_node }
    }
    /// The directed links from one host to another, each given with the link by which packets leave
    /// or enter it: link `k` is `2 k` from the first of its ends, and `2 k + 1` from the second.
    /// None if there is no way.
    pub fn between(&mut self, ends: [(usize, usize); 2]) -> Option<Vec<usize>> {
        let port = |(node, link): (usize, usize)| {
            let port = self.links.get(node)?.iter().position(|&of| of == link)?;
            Some((NodeId(node as u32), PortId(port as u16)))
        };
        let [from, to] = ends.map(port);
        let links = self.paths.walk_between([from?, to?], 0)?;
        Some(links.into_iter().map(LinkId::index).collect())
    }
}

/// Source and destination of those of `flows` whose data and ACKs take different links, in one of
/// the trees at least.
pub(crate) fn asymmetric<'a>(
    scenario: &Scenario,
    flows: impl Iterator<Item = &'a Flow>,
) -> BTreeSet<[NodeId; 2]> {
    let mut differ = BTreeSet::new();
    if scenario.routes.equal_costs == EqualCosts::Symmetric {
        return differ;
    }
    let mut paths = shortest_paths(scenario.routes, &scenario.nodes, &scenario.links);
    let ends = flows.flat_map(|flow| [[flow.src, flow.dst], [flow.dst, flow.src]]);
    let mut wanted: Vec<[NodeId; 2]> = ends.collect();
    // Those to one attachment share the search.
    wanted.sort_by_key(|&[from, to]| (paths.attachment(to), to, from));
    wanted.dedup();
    for tree in 0..scenario.routes.trees {
        let walk = |&[from, to]: &[NodeId; 2]| Some(([from, to], paths.walk(from, to, tree)?));
        let known: BTreeMap<[NodeId; 2], Vec<LinkId>> = wanted.iter().filter_map(walk).collect();
        for (&[from, to], there) in &known {
            let back = known.get(&[to, from]).into_iter().flatten().rev();
            if !back.map(|link| link.opposite()).eq(there.iter().copied()) {
                differ.insert([from, to]);
            }
        }
    }
    differ
}

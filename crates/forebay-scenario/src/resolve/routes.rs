//! Routes of flows, for what follows from them before a network is built.

use crate::{Flow, Link, Node, Scenario};
use forebay_base::{LinkId, NodeId};
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

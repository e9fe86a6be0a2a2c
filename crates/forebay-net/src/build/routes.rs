//! Static routes: the shortest paths from each router to each router that hosts attach to.

use crate::ports::PortTable;
use crate::spec::{LinkSpec, NetSpec, NodeKind};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use forebay_base::NodeId;
use forebay_router::{Edge, Routes, ShortestPaths};

/// A search from each attachment, in each tree.
pub(super) fn shortest_paths(spec: &NetSpec, ports: &PortTable, routes: &mut Routes) {
    let is_router = |n: NodeId| matches!(spec.nodes[n.index()].kind, NodeKind::Router(_));
    let ids = || (0..spec.nodes.len() as u32).map(NodeId);
    let attachments: BTreeSet<NodeId> = ids()
        .filter(|&n| !is_router(n))
        .flat_map(|n| ports.links_of(n).iter().map(|l| spec.links[l.index()].to))
        .filter(|&n| is_router(n))
        .collect();
    let routers: Vec<NodeId> = ids().filter(|&n| is_router(n)).collect();
    let edge = |link: &LinkSpec| Edge { ends: [link.from, link.to], weight: link.weight };
    let links = spec.links.iter().step_by(2).map(edge);
    let mut paths = ShortestPaths::new(spec.routes, ids().map(is_router), links);
    for &target in &attachments {
        for tree in 0..spec.routes.trees {
            paths.search(target, tree);
            for &router in &routers {
                let link = paths.next(router);
                routes.set(router, target, tree, link.map(|link| ports.port(link)));
            }
        }
    }
}

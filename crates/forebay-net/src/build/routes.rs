//! Static routes by hop count: a breadth-first search from each router that hosts attach to.

use crate::ports::PortTable;
use crate::spec::{NetSpec, NodeKind};
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{NodeId, PortId};
use forebay_router::Routes;

/// Breadth-first from each attachment over the links turned round.
pub(super) fn shortest_paths(spec: &NetSpec, ports: &PortTable, routes: &mut Routes) {
    let is_router = |n: NodeId| matches!(spec.nodes[n.index()].kind, NodeKind::Router(_));
    let attachments: BTreeSet<NodeId> = (0..spec.nodes.len() as u32)
        .map(NodeId)
        .filter(|&n| !is_router(n))
        .flat_map(|n| ports.links_of(n).iter().map(|l| spec.links[l.index()].to))
        .filter(|&n| is_router(n))
        .collect();
    let routers: Vec<NodeId> =
        (0..spec.nodes.len() as u32).map(NodeId).filter(|&n| is_router(n)).collect();
    let mut distance = vec![u32::MAX; spec.nodes.len()];
    let mut queue = VecDeque::new();
    for &target in &attachments {
        distance.fill(u32::MAX);
        distance[target.index()] = 0;
        queue.push_back(target);
        while let Some(node) = queue.pop_front() {
            for &out in ports.links_of(node) {
                // The link pair's other direction leads from that neighbour to `node`.
                let neighbour = spec.links[out.index()].to;
                if is_router(neighbour) && distance[neighbour.index()] == u32::MAX {
                    distance[neighbour.index()] = distance[node.index()] + 1;
                    queue.push_back(neighbour);
                }
            }
        }
        for &n in &routers {
            let d = distance[n.index()];
            if d == 0 || d == u32::MAX {
                continue;
            }
            let port = ports.links_of(n).iter().position(|l| {
                let next = spec.links[l.index()].to;
                distance[next.index()] == d - 1 && is_router(next)
            });
            routes.set(n, target, port.map(|p| PortId(p as u16)));
        }
    }
}

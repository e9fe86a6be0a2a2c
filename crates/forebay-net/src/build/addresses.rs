//! Addresses: each interface of a host has as many as its sockets need.

use crate::ports::PortTable;
use crate::spec::{NetSpec, NodeKind, Prefix};
use crate::workload::PortAllocator;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{Addr, NodeId, PortId};
use forebay_router::Routes;

/// Addresses that the plan has room for in IPv4: one /8.
pub(crate) const V4_ADDRESSES: usize = 1 << 24;

pub(super) fn paths_of(spec: &NetSpec, flow: usize) -> &[(PortId, PortId)] {
    const SINGLE: &[(PortId, PortId)] = &[(PortId(0), PortId(0))];
    let paths = &spec.flows[flow].paths;
    if paths.is_empty() { SINGLE } else { paths }
}

/// Sockets per node and interface.
pub(super) fn count_sockets(spec: &NetSpec, ports: &PortTable) -> Vec<Vec<u32>> {
    let mut counts: Vec<Vec<u32>> =
        (0..spec.nodes.len()).map(|n| vec![0; ports.links_of(NodeId(n as u32)).len()]).collect();
    for (i, flow) in spec.flows.iter().enumerate() {
        for &(a, b) in paths_of(spec, i) {
            counts[flow.src.index()][a.index()] += 1;
            counts[flow.dst.index()][b.index()] += 1;
        }
    }
    counts
}

/// Each interface of a host has addresses of its own, attached to the node at the other end of its
/// link.
pub(super) fn assign_addresses(
    spec: &NetSpec,
    ports: &PortTable,
    sockets: &[Vec<u32>],
) -> (Routes, Vec<Vec<Addr>>) {
    let is_host = |n: NodeId| matches!(spec.nodes[n.index()].kind, NodeKind::Host);
    let ids = || (0..spec.nodes.len() as u32).map(NodeId);
    let rows: Vec<NodeId> = ids().filter(|&n| !is_host(n)).collect();
    let attached: BTreeSet<NodeId> = ids()
        .filter(|&n| is_host(n))
        .flat_map(|n| ports.links_of(n).iter().map(|l| spec.links[l.index()].to))
        .collect();
    let columns: Vec<NodeId> = attached.into_iter().collect();
    let mut routes = Routes::new(spec.nodes.len(), &rows, &columns, spec.routes.trees);
    let mut addresses: Vec<Vec<Addr>> = vec![Vec::new(); spec.nodes.len()];
    for host in ids().filter(|&n| is_host(n)) {
        for (i, &link) in ports.links_of(host).iter().enumerate() {
            let attachment = spec.links[link.index()].to;
            let last_hop = ports.port(link.opposite());
            let count = PortAllocator::addresses(sockets[host.index()][i]);
            let first = routes.push_address(attachment, Some(last_hop));
            for _ in 1..count {
                routes.push_address(attachment, Some(last_hop));
            }
            addresses[host.index()].push(first);
        }
    }
    (routes, addresses)
}

/// Each prefix has an address of its own, after those of all hosts.
pub(super) fn assign_prefixes(
    spec: &NetSpec,
    ports: &PortTable,
    routes: &mut Routes,
) -> Vec<(Prefix, Addr)> {
    let of_one = |&(host, prefix): &(NodeId, Prefix)| {
        let link = ports.link(host, PortId(0));
        let last_hop = ports.port(link.opposite());
        (prefix, routes.push_address(spec.links[link.index()].to, Some(last_hop)))
    };
    spec.prefixes.iter().map(of_one).collect()
}

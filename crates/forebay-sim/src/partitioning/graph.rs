//! The network as a weighted graph: expected load of nodes, expected traffic of links.

use forebay_base::{Endpoint, NodeId, PortId, Span};
use forebay_net::{NetSpec, Network, NodeKind};

/// Cost of a packet that a host makes or takes, relative to one that a router forwards: a rough
/// estimate from profiles.
const HOST_COST: u64 = 6;
/// Bytes assumed for a flow without end, if no other flow has more.
const ENDLESS_BYTES: u64 = 1_000_000;

/// Expected load of a network. Each flow sends all its bytes over the routes of the start, and gets
/// an ACK for every second packet.
pub(super) struct Load {
    /// By node, in packets that a router forwards.
    nodes: Vec<u64>,
    /// By pair of links, in packets, both directions together.
    pairs: Vec<u64>,
}

impl Load {
    pub fn expected(spec: &NetSpec, network: &Network) -> Load {
        let mut load = Load {
            // A node without flows costs something: it may have timers.
            nodes: vec![1; spec.nodes.len()],
            pairs: vec![0; spec.links.len() / 2],
        };
        let most = spec.flows.iter().filter_map(|flow| flow.bytes).max();
        let endless = most.unwrap_or(0).max(ENDLESS_BYTES);
        for (id, flow) in (0..).map(forebay_base::FlowId).zip(&spec.flows) {
            let mss = spec.transports[flow.transport].config.mss_bytes.max(1) as u64;
            let paths = network.workload.paths(id);
            let bytes = flow.bytes.unwrap_or(endless) / paths.len().max(1) as u64;
            let packets = bytes / mss + 2; // SYN and FIN
            for path in paths {
                load.walk(spec, network, flow.src, path.src.1, [path.src.0, path.dst.0], packets);
                load.walk(
                    spec,
                    network,
                    flow.dst,
                    path.dst.1,
                    [path.dst.0, path.src.0],
                    packets / 2 + 1,
                );
            }
        }
        load
    }

    /// `packets` go from a port of a host, between two ends.
    fn walk(
        &mut self,
        spec: &NetSpec,
        network: &Network,
        mut at: NodeId,
        mut port: PortId,
        ends: [Endpoint; 2],
        packets: u64,
    ) {
        for _ in 0..spec.nodes.len() {
            let link = network.ports.link(at, port);
            self.pairs[link.index() / 2] += packets;
            let is_host = |node: NodeId| matches!(spec.nodes[node.index()].kind, NodeKind::Host);
            self.nodes[at.index()] += if is_host(at) { HOST_COST * packets } else { packets };
            at = spec.links[link.index()].to;
            if is_host(at) {
                self.nodes[at.index()] += HOST_COST * packets;
                return;
            }
            let Some(next) = network.routes.port(at, ends) else { return };
            port = next;
        }
    }
}

/// Clusters of nodes that stay together, and the traffic between them.
pub(super) struct Clusters {
    /// By node: its cluster.
    of_node: Vec<u32>,
    /// By cluster: the load of its nodes.
    pub loads: Vec<u64>,
    /// By cluster: its neighbours, in order, and the traffic with each.
    pub neighbours: Vec<Vec<(u32, u64)>>,
}

impl Clusters {
    /// Join the ends of all links with a delay below `at_least`. Clusters are numbered in the order
    /// of their first nodes.
    pub fn contract(spec: &NetSpec, load: &Load, delays: &[Span], at_least: Span) -> Clusters {
        let mut sets = Sets::new(spec.nodes.len());
        for (pair, &delay) in spec.links.chunks(2).zip(delays) {
            if delay < at_least {
                sets.join(pair[0].from.0, pair[0].to.0);
            }
        }
        let mut number = vec![u32::MAX; spec.nodes.len()];
        let mut loads = Vec::new();
        let mut of_node = Vec::with_capacity(spec.nodes.len());
        for (node, &weight) in (0..).zip(&load.nodes) {
            let cluster = &mut number[sets.root(node) as usize];
            if *cluster == u32::MAX {
                *cluster = loads.len() as u32;
                loads.push(0);
            }
            loads[*cluster as usize] += weight;
            of_node.push(*cluster);
        }
        let mut neighbours: Vec<Vec<(u32, u64)>> = vec![Vec::new(); loads.len()];
        for (pair, &packets) in spec.links.chunks(2).zip(&load.pairs) {
            let [a, b] = [pair[0].from, pair[0].to].map(|node| of_node[node.index()]);
            if a != b {
                neighbours[a as usize].push((b, packets));
                neighbours[b as usize].push((a, packets));
            }
        }
        neighbours.iter_mut().for_each(merge);
        Clusters { of_node, loads, neighbours }
    }
    pub fn len(&self) -> usize {
        self.loads.len()
    }
    /// Map values of clusters to their nodes.
    pub fn of_nodes(&self, parts: &[u16]) -> Vec<u16> {
        self.of_node.iter().map(|&cluster| parts[cluster as usize]).collect()
    }
}

/// Merge links between the same two clusters.
fn merge(neighbours: &mut Vec<(u32, u64)>) {
    neighbours.sort_unstable();
    neighbours.dedup_by(|next, first| {
        let same = next.0 == first.0;
        if same {
            first.1 += next.1;
        }
        same
    });
}

/// Disjoint sets of nodes.
struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    fn new(nodes: usize) -> Sets {
        Sets { parent: (0..nodes as u32).collect() }
    }
    fn root(&mut self, mut node: u32) -> u32 {
        while self.parent[node as usize] != node {
            let grandparent = self.parent[self.parent[node as usize] as usize];
            self.parent[node as usize] = grandparent; // halves the way for the next
            node = grandparent;
        }
        node
    }
    fn join(&mut self, a: u32, b: u32) {
        let [a, b] = [self.root(a), self.root(b)];
        self.parent[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
impl Clusters {
    /// Clusters with the loads and the traffic given, each a node.
    pub fn of_edges(loads: &[u64], edges: &[(u32, u32, u64)]) -> Clusters {
        let mut neighbours = vec![Vec::new(); loads.len()];
        for &(a, b, packets) in edges {
            neighbours[a as usize].push((b, packets));
            neighbours[b as usize].push((a, packets));
        }
        neighbours.iter_mut().for_each(merge);
        let of_node = (0..loads.len() as u32).collect();
        Clusters { of_node, loads: loads.to_vec(), neighbours }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_join_and_parallel_links_count_together() {
        let mut sets = Sets::new(6);
        for (a, b) in [(4, 5), (1, 2), (2, 4)] {
            sets.join(a, b);
        }
        let roots: Vec<u32> = (0..6).map(|node| sets.root(node)).collect();
        assert_eq!(roots, [0, 1, 1, 3, 1, 1]);
        let clusters = Clusters::of_edges(&[1; 3], &[(0, 1, 5), (1, 0, 7), (1, 2, 1)]);
        assert_eq!(clusters.neighbours, [vec![(1, 12)], vec![(0, 12), (2, 1)], vec![(1, 1)]]);
    }
}

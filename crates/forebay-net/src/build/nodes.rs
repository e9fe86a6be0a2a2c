//! Hosts with their interfaces, and the forwarding of routers.

use crate::host::Host;
use crate::node::Node;
use crate::ports::PortTable;
use crate::spec::{ForwardingSpec, NetSpec, NodeKind, NodeSpec, QueueSpec};
use alloc::vec::Vec;
use forebay_base::{Addr, LinkId, NodeId, Rng, Stream};
use forebay_router::{RouterInit, RouterPort};

pub(super) fn build_nodes(
    spec: &NetSpec,
    seed: u64,
    ports: &PortTable,
    addresses: &[Vec<Addr>],
) -> Vec<Node> {
    let rng = |i: usize| Rng::new(seed, Stream::Forwarding, i as u64);
    let build = |(i, node): (usize, &NodeSpec)| match &node.kind {
        NodeKind::Host => {
            let node = NodeId(i as u32);
            let mut host = Host::with_limits(spec.reassembly_at(node));
            addresses[i].iter().for_each(|&a| host.add_interface(a));
            Node::Host(host)
        }
        NodeKind::Router(forwarding) => {
            let node = NodeId(i as u32);
            let ports = router_ports(spec, forwarding, ports.links_of(node));
            let init = RouterInit { node, ports: &ports, version: spec.version, rng: rng(i) };
            Node::Router(forwarding.build(init))
        }
    };
    spec.nodes.iter().enumerate().map(build).collect()
}

/// What the ports of a router lead to.
fn router_ports(spec: &NetSpec, forwarding: &ForwardingSpec, links: &[LinkId]) -> Vec<RouterPort> {
    let lead = |link: &LinkId| {
        let link = &spec.links[link.index()];
        let (neighbour, foreign) = match &spec.nodes[link.to.index()].kind {
            NodeKind::Router(other) if other.is_same_kind(forwarding) => (Some(link.to), false),
            NodeKind::Router(_) => (None, true),
            NodeKind::Host => (None, false),
        };
        RouterPort {
            rate: link.channel.rate(),
            mtu_bytes: link.wire.mtu_bytes,
            queue_bytes: link.queue.limit().full_bytes(),
            drop_tail: matches!(link.queue, QueueSpec::DropTail(_)),
            neighbour,
            foreign,
        }
    };
    links.iter().map(lead).collect()
}

//! Hosts with their interfaces, and the forwarding of routers.

use super::ports::PortTable;
use crate::host::Host;
use crate::spec::{ForwardingSpec, NetSpec, NodeKind, NodeSpec};
use alloc::boxed::Box;
use alloc::vec::Vec;
use forebay_base::{Addr, IpVersion, LinkId, NodeId, Rng, Stream};
use forebay_router::inrpp::{Inrpp, PortInfo};
use forebay_router::{AnyForwarding, PlainIp};
use forebay_signal::inrpp::RouterId;

/// A node, built.
pub enum Node {
    /// Has sockets.
    Host(Host),
    /// Forwards.
    Router(AnyForwarding),
    /// In another partition.
    Elsewhere,
}

impl Node {
    /// The host at an end of a flow.
    pub(super) fn host_mut(&mut self) -> &mut Host {
        match self {
            Node::Host(host) => host,
            Node::Router(_) | Node::Elsewhere => unreachable!("checked to be a host"),
        }
    }
}

pub(super) fn build_nodes(
    spec: &NetSpec,
    seed: u64,
    ports: &PortTable,
    addresses: &[Vec<Addr>],
) -> Vec<Node> {
    let rng = |i: usize| Rng::new(seed, Stream::Forwarding, i as u64);
    let build = |(i, node): (usize, &NodeSpec)| match &node.kind {
        NodeKind::Host => {
            let mut host = Host::default();
            addresses[i].iter().for_each(|&a| host.add_interface(a));
            Node::Host(host)
        }
        NodeKind::Router(ForwardingSpec::PlainIp) => Node::Router(AnyForwarding::PlainIp(PlainIp)),
        NodeKind::Router(ForwardingSpec::Inrpp(settings)) => {
            let ports = inrpp_ports(spec, ports.links_of(NodeId(i as u32)));
            let router = Inrpp::new(RouterId(i as u32), &ports, settings, rng(i));
            Node::Router(AnyForwarding::Inrpp(Box::new(router)))
        }
        NodeKind::Router(ForwardingSpec::Custom(make)) => {
            Node::Router(AnyForwarding::Custom(make(NodeId(i as u32), rng(i))))
        }
    };
    spec.nodes.iter().enumerate().map(build).collect()
}

/// What the ports of an INRPP router lead to. Detour tags are an IPv4 option: with IPv6 no router has neighbours for detours.
fn inrpp_ports(spec: &NetSpec, links: &[LinkId]) -> Vec<PortInfo> {
    let info = |link: &LinkId| {
        let link = &spec.links[link.index()];
        let kind = &spec.nodes[link.to.index()].kind;
        let speaks = matches!(kind, NodeKind::Router(ForwardingSpec::Inrpp(_)));
        let neighbour = (speaks && spec.version == IpVersion::V4).then_some(RouterId(link.to.0));
        PortInfo { rate: link.channel.rate(), neighbour }
    };
    links.iter().map(info).collect()
}

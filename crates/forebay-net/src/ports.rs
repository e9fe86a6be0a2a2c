//! The ports of each node: its outgoing links, in the order of the spec.

use crate::spec::NetSpec;
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{LinkId, NodeId, PortId};

/// The outgoing links of each node: its ports in order.
#[derive(Clone, Debug, Default)]
pub struct PortTable {
    first: Vec<u32>,
    links: Vec<LinkId>,
    port_of_link: Vec<PortId>,
}

impl PortTable {
    pub(crate) fn new(spec: &NetSpec) -> PortTable {
        let mut of_node: Vec<Vec<LinkId>> = vec![Vec::new(); spec.nodes.len()];
        let mut port_of_link = Vec::with_capacity(spec.links.len());
        for (i, link) in spec.links.iter().enumerate() {
            let ports = &mut of_node[link.from.index()];
            port_of_link.push(PortId(ports.len() as u16));
            ports.push(LinkId(i as u32));
        }
        let mut table = PortTable { first: vec![0], links: Vec::new(), port_of_link };
        for ports in of_node {
            table.links.extend(ports);
            table.first.push(table.links.len() as u32);
        }
        table
    }
    /// The links that leave `node`, in port order.
    #[inline]
    pub fn links_of(&self, node: NodeId) -> &[LinkId] {
        let (from, to) = (self.first[node.index()], self.first[node.index() + 1]);
        &self.links[from as usize..to as usize]
    }
    /// The link of a port.
    #[inline]
    pub fn link(&self, node: NodeId, port: PortId) -> LinkId {
        self.links[self.first[node.index()] as usize + port.index()]
    }
    /// The port that feeds a link, at its `from` node.
    #[inline]
    pub fn port(&self, link: LinkId) -> PortId {
        self.port_of_link[link.index()]
    }
}

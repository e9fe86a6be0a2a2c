//! Flows: the sockets of both ends, and the addresses and ports of each path.

use super::addresses::paths_of;
use crate::node::Node;
use crate::spec::NetSpec;
use crate::workload::{PathPlan, PortAllocator, Workload};
use alloc::vec::Vec;
use forebay_base::{Addr, FlowId, NodeId, PortId, SocketId};
use forebay_transport::Role;

pub(super) type Ends = Vec<[(NodeId, SocketId); 2]>;

pub(super) fn build_flows(
    spec: &NetSpec,
    seed: u64,
    addresses: &[Vec<Addr>],
    nodes: &mut [Node],
) -> (Workload, Ends) {
    let mut allocators: Vec<Vec<PortAllocator>> =
        addresses.iter().map(|a| a.iter().map(|_| PortAllocator::default()).collect()).collect();
    let mut paths = Vec::new();
    let mut first_path = Vec::with_capacity(spec.flows.len() + 1);
    let mut ends = Vec::with_capacity(spec.flows.len());
    let mut end =
        |node: NodeId, port: PortId, socket: SocketId, path: usize, nodes: &mut [Node]| {
            let addr = addresses[node.index()][port.index()];
            let (_, endpoint) = allocators[node.index()][port.index()].next(addr);
            nodes[node.index()].host_mut().add_port(port, socket, path as u8);
            (endpoint, port)
        };
    for (i, flow) in spec.flows.iter().enumerate() {
        let id = FlowId(i as u32);
        let transport = flow.transport as u16; // checked
        let client = nodes[flow.src.index()].host_mut().add_socket(id, Role::Client, transport);
        let server = nodes[flow.dst.index()].host_mut().add_socket(id, Role::Server, transport);
        first_path.push(paths.len() as u32);
        for (p, &(a, b)) in paths_of(spec, i).iter().enumerate() {
            let src = end(flow.src, a, client, p, nodes);
            let dst = end(flow.dst, b, server, p, nodes);
            paths.push(PathPlan { src, dst });
        }
        if let Some(port) = flow.listen() {
            nodes[flow.dst.index()].host_mut().add_listener(port, server);
        }
        ends.push([(flow.src, client), (flow.dst, server)]);
    }
    first_path.push(paths.len() as u32);
    (Workload::new(spec, seed, paths, first_path), ends)
}

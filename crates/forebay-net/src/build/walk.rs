//! A walk along the route of every path: every flow must reach its destination.

use crate::early_transit::Upstreams;
use crate::ports::PortTable;
use crate::spec::{NetSpec, NodeKind, SpecError};
use crate::workload::Workload;
use forebay_base::{Endpoint, FlowId, NodeId, PortId};
use forebay_router::Routes;

/// Every flow can reach its destination, and the ACKs its source, before any event changes a route.
/// Which links they come to from which.
pub(super) fn walk_routes(
    spec: &NetSpec,
    ports: &PortTable,
    routes: &Routes,
    workload: &Workload,
) -> Result<Upstreams, SpecError> {
    let mut upstreams = Upstreams::new(spec.links.len());
    let mut reaches = |from: NodeId, port: PortId, to: NodeId, ends: [Endpoint; 2]| {
        let mut link = ports.link(from, port);
        for _ in 0..spec.nodes.len() {
            let at = spec.links[link.index()].to;
            if at == to {
                return true;
            }
            if matches!(spec.nodes[at.index()].kind, NodeKind::Host) {
                return false;
            }
            let Some(port) = routes.port(at, ends) else { return false };
            let next = ports.link(at, port);
            upstreams.note(link, next);
            link = next;
        }
        false
    };
    for (i, flow) in spec.flows.iter().enumerate() {
        let id = FlowId(i as u32);
        for path in workload.paths(id) {
            if !reaches(flow.src, path.src.1, flow.dst, [path.src.0, path.dst.0]) {
                return Err(SpecError::NoRoute { flow: id, from: flow.src, to: flow.dst });
            }
            if !reaches(flow.dst, path.dst.1, flow.src, [path.dst.0, path.src.0]) {
                return Err(SpecError::NoRoute { flow: id, from: flow.dst, to: flow.src });
            }
        }
    }
    Ok(upstreams)
}

//! Checks of a spec that its types do not make.

use crate::ports::PortTable;
use crate::spec::{ChannelSpec, Forgery, NetEvent, NetSpec, NodeKind, SpecError};
use forebay_base::{FlowId, IpVersion, NodeId};

pub(super) fn check_flows(spec: &NetSpec, ports: &PortTable) -> Result<(), SpecError> {
    for (i, node) in spec.nodes.iter().enumerate() {
        let id = NodeId(i as u32);
        if matches!(node.kind, NodeKind::Host) && ports.links_of(id).is_empty() {
            return Err(SpecError::HostWithoutLink(id));
        }
    }
    for (i, flow) in spec.flows.iter().enumerate() {
        for node in [flow.src, flow.dst] {
            let is_host = matches!(spec.nodes[node.index()].kind, NodeKind::Host);
            if !is_host || flow.src == flow.dst {
                return Err(SpecError::NotAHost { flow: FlowId(i as u32), node });
            }
        }
    }
    crate::followers::check(&spec.flows)
}

/// Each event is one that its link can follow.
pub(super) fn check_events(spec: &NetSpec) -> Result<(), SpecError> {
    for event in &spec.events {
        match event.event {
            NetEvent::Rate(link, _)
                if matches!(spec.links[link.index()].channel, ChannelSpec::Trace { .. }) =>
            {
                return Err(SpecError::RateOfTrace(link));
            }
            NetEvent::Forge(Forgery { flow, lead_bytes, .. }) => {
                let lengths = Forgery::MIN_LEAD_BYTES..=Forgery::MAX_LEAD_BYTES;
                let fits = lengths.contains(&lead_bytes) && lead_bytes.is_multiple_of(8);
                if !fits || spec.version != IpVersion::V4 {
                    return Err(SpecError::Forgery(flow));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

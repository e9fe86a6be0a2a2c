//! Checks of a spec that its types do not make.

use crate::ports::PortTable;
use crate::spec::{
    ChannelSpec, FlowSpec, LinkSpec, Look, NetEvent, NetSpec, NodeKind, Prefix, SpecError,
    SpoofedPacket,
};
use crate::workload::FIRST_PORT;
use alloc::collections::BTreeSet;
use forebay_base::{FlowId, IpVersion, NodeId, PortId};
use forebay_router::MAX_TREES;
use forebay_wire::AddressPlan;

/// Paths that a flow may have: one bit each.
const MAX_PATHS: usize = 64;

/// Everything that the spec names is there. Nothing may be looked up before.
pub(super) fn check_names(spec: &NetSpec) -> Result<(), SpecError> {
    let (nodes, links) = (spec.nodes.len(), spec.links.len());
    for (index, link) in spec.links.iter().enumerate() {
        let unsound = |why| Err(SpecError::Unsound { part: "link", index, why });
        let Some(back) = spec.links.get(index ^ 1) else {
            return unsound("its other direction is not there: links come in pairs");
        };
        if link.from.index() >= nodes || link.to.index() >= nodes {
            return unsound("a node of it is not there");
        }
        if link.from == link.to {
            return unsound("it leads to the node that it comes from");
        }
        if link.weight == 0 || link.weight != back.weight {
            return unsound("its weight is 0, or another in its other direction");
        }
        if (link.from, link.to) != (back.to, back.from) {
            return unsound("links 2k and 2k+1 are not the two directions of one link");
        }
    }
    if !(1..=MAX_TREES).contains(&spec.routes.trees) {
        let why = "there are 1 to 64 trees";
        return Err(SpecError::Unsound { part: "rule of routes", index: 0, why });
    }
    if spec.transports.len() > usize::from(u16::MAX) {
        let why = "there are more than 65535";
        return Err(SpecError::Unsound { part: "transport", index: usize::from(u16::MAX), why });
    }
    for (index, flow) in spec.flows.iter().enumerate() {
        let unsound = |why| Err(SpecError::Unsound { part: "flow", index, why });
        if flow.src.index() >= nodes || flow.dst.index() >= nodes {
            return unsound("a node of it is not there");
        }
        if flow.transport >= spec.transports.len() {
            return unsound("its transport is not there");
        }
        if flow.paths.len() > MAX_PATHS {
            return unsound("it has more than 64 paths");
        }
    }
    for (index, event) in spec.events.iter().enumerate() {
        let is_there = match &event.event {
            NetEvent::Rate(link, _)
            | NetEvent::Delay(link, _)
            | NetEvent::Loss(link, _)
            | NetEvent::Down(link)
            | NetEvent::Up(link) => link.index() < links,
            NetEvent::Restart(node) => node.index() < nodes,
            NetEvent::Forge(forgery) => {
                forgery.node.index() < nodes && forgery.flow.index() < spec.flows.len()
            }
            NetEvent::Replay(replay) => {
                let records =
                    |link: &LinkSpec| link.wire.middlebox.as_ref().is_some_and(|m| m.records);
                let link = spec.links.get(replay.link.index());
                link.is_some_and(records) && replay.flow.index() < spec.flows.len()
            }
            NetEvent::Route { node, dst, .. } => node.index() < nodes && dst.index() < nodes,
        };
        if !is_there {
            let why = "the node, link or flow that it names is not there";
            return Err(SpecError::Unsound { part: "event", index, why });
        }
    }
    Ok(())
}

/// The ports that it names are there.
pub(super) fn check_ports(spec: &NetSpec, ports: &PortTable) -> Result<(), SpecError> {
    for node in (0..spec.nodes.len() as u32).map(NodeId) {
        if ports.links_of(node).len() > usize::from(u16::MAX) {
            let (index, why) = (node.index(), "more than 65535 links leave it");
            return Err(SpecError::Unsound { part: "node", index, why });
        }
    }
    let has = |node: NodeId, port: PortId| port.index() < ports.links_of(node).len();
    for (index, flow) in spec.flows.iter().enumerate() {
        if !flow.paths.iter().all(|&(a, b)| has(flow.src, a) && has(flow.dst, b)) {
            let why = "a path of it leaves through a port that is not there";
            return Err(SpecError::Unsound { part: "flow", index, why });
        }
    }
    for (index, event) in spec.events.iter().enumerate() {
        if let NetEvent::Route { node, via: Some(via), .. } = event.event
            && !has(node, via)
        {
            let why = "it names a port that is not there";
            return Err(SpecError::Unsound { part: "event", index, why });
        }
    }
    Ok(())
}

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
    let wrong = |(index, flow): (usize, &FlowSpec)| {
        let port = flow.listen()?;
        let why = match () {
            () if !(1..FIRST_PORT).contains(&port) => "it listens at a port that hosts give out",
            () if flow.paths.len() > 1 => "a flow that waits for whoever connects has one path",
            () if flow.after().is_some() => "a flow that waits for whoever connects follows none",
            () => return None,
        };
        Some(SpecError::Unsound { part: "flow", index, why })
    };
    spec.flows.iter().enumerate().find_map(wrong).map_or(Ok(()), Err)?;
    crate::followers::check(&spec.flows)
}

/// Why no host of a network of this IP version can have this prefix behind it; None if one can.
pub fn unfit_prefix(prefix: &Prefix, version: IpVersion) -> Option<&'static str> {
    let own = AddressPlan::default().own();
    if prefix.version() != version {
        Some("it is of the other IP version")
    } else if own.iter().any(|own| prefix.is_within(own)) {
        Some("its addresses are those of the hosts of the network")
    } else {
        None
    }
}

/// Prefixes are behind hosts, each at one place, and none has an address of the plan.
pub(super) fn check_prefixes(spec: &NetSpec) -> Result<(), SpecError> {
    let mut known = BTreeSet::new();
    let wrong = |(index, (host, prefix)): (usize, &(NodeId, Prefix))| {
        let node = spec.nodes.get(host.index());
        let why = match node.map(|node| &node.kind) {
            Some(NodeKind::Host) => match unfit_prefix(prefix, spec.version) {
                None if known.insert(*prefix) => return None,
                None => "it is at two places",
                Some(why) => why,
            },
            _ => "it is not behind a host",
        };
        Some(SpecError::Unsound { part: "prefix", index, why })
    };
    spec.prefixes.iter().enumerate().find_map(wrong).map_or(Ok(()), Err)
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
            NetEvent::Forge(SpoofedPacket {
                flow, look: Look::Fragment { lead_bytes }, ..
            }) => {
                let lengths = SpoofedPacket::MIN_LEAD_BYTES..=SpoofedPacket::MAX_LEAD_BYTES;
                let fits = lengths.contains(&lead_bytes) && lead_bytes.is_multiple_of(8);
                if !fits || spec.version != IpVersion::V4 {
                    return Err(SpecError::SpoofedPacket(flow));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Network;
    use crate::spec::{EventSpec, FlowSpec, ForwardingSpec, LinkSpec, NodeSpec};
    use alloc::vec::Vec;
    use forebay_base::{LinkId, Rate, Span, Time};
    use forebay_queue::Limit;

    fn link(from: u32, to: u32) -> LinkSpec {
        let (from, to) = (NodeId(from), NodeId(to));
        LinkSpec::new(from, to, Rate::mbps(1), Span::ZERO, Limit::Packets(9))
    }
    fn flow(dst: u32, paths: Vec<(PortId, PortId)>) -> FlowSpec {
        let (src, dst) = (NodeId(0), NodeId(dst));
        FlowSpec { src, dst, start: Time::ZERO, bytes: Some(1), life: None, transport: 0, paths }
    }
    /// Two hosts and a router between them, changed by `change`: what is wrong with that.
    fn fault(change: impl FnOnce(&mut NetSpec)) -> Option<(&'static str, usize, &'static str)> {
        let node = |kind| NodeSpec { name: Default::default(), kind };
        let router = NodeKind::Router(ForwardingSpec::PlainIp);
        let mut spec = NetSpec {
            nodes: [NodeKind::Host, NodeKind::Host, router].map(node).into(),
            links: [link(0, 2), link(2, 0), link(1, 2), link(2, 1)].into(),
            ..NetSpec::default()
        };
        change(&mut spec);
        match Network::build(&spec, 1, false).err() {
            Some(SpecError::Unsound { part, index, why }) => Some((part, index, why)),
            None => None,
            Some(other) => panic!("{other:?}"),
        }
    }
    fn event(spec: &mut NetSpec, event: NetEvent) {
        spec.events.push(EventSpec { at: Time::ZERO, event });
    }

    #[test]
    fn what_names_something_that_is_not_there_is_an_error() {
        assert_eq!(fault(|_| ()), None);
        let place = |change: fn(&mut NetSpec)| fault(change).map(|(part, index, _)| (part, index));
        assert_eq!(place(|spec| drop(spec.links.pop())), Some(("link", 2)));
        assert_eq!(place(|spec| spec.links[3].to = NodeId(9)), Some(("link", 2)));
        assert_eq!(place(|spec| spec.links[1].from = NodeId(0)), Some(("link", 0)));
        assert_eq!(place(|spec| spec.links.swap(1, 3)), Some(("link", 0)));
        assert_eq!(place(|spec| spec.links[2].weight = 2), Some(("link", 2)));
        let weightless = |spec: &mut NetSpec| spec.links.iter_mut().for_each(|l| l.weight = 0);
        assert_eq!(fault(weightless).map(|f| f.0), Some("link"));
        assert_eq!(place(|spec| spec.routes.trees = 0), Some(("rule of routes", 0)));
        assert_eq!(place(|spec| spec.routes.trees = 65), Some(("rule of routes", 0)));
        assert_eq!(place(|spec| spec.flows.push(flow(9, Vec::new()))), Some(("flow", 0)));
        assert_eq!(place(|spec| spec.flows.push(flow(1, Vec::new()))), Some(("flow", 0)));
        let lost = NetEvent::Loss(LinkId(4), 0.5);
        assert_eq!(fault(|spec| event(spec, lost)).map(|f| (f.0, f.1)), Some(("event", 0)));
        let via = Some(PortId(2));
        let route = NetEvent::Route { node: NodeId(2), dst: NodeId(0), via };
        let why = "it names a port that is not there";
        assert_eq!(fault(|spec| event(spec, route)), Some(("event", 0, why)));
        let restart = NetEvent::Restart(NodeId(3));
        assert_eq!(fault(|spec| event(spec, restart)).map(|f| (f.0, f.1)), Some(("event", 0)));
    }
}

//! From a scenario to the network that a driver runs.

use super::error::{Fault, ScenarioError};
use super::source::Sources;
use super::{Flow, Link, LinkDirection, Scenario};
use crate::protocol::{Bundle, PortKind};
use forebay_base::{NodeId, Rng, Span, Stream};
use forebay_net::{
    ChannelSpec, FlowSpec, ForwardingSpec, LinkSpec, NetSpec, NodeKind, NodeSpec, SchemeSpec,
    TransportSpec,
};
use forebay_queue::RcpPortParams;
use forebay_router::inrpp::Settings;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Scenario {
    /// The network under one protocol and one seed. Flows that name a protocol keep it.
    pub fn build(&self, protocol: &str, seed: u64) -> Result<NetSpec, ScenarioError> {
        let protocol = self.names().find(protocol).map_err(|f| f.resolve(&Sources::default()))?;
        let names = self.protocols_under(protocol);
        let kinds = self.kinds(protocol, &names);
        let place = |flow: &Flow| {
            let found = kinds.iter().position(|&kind| kind == kind_of(flow, protocol));
            found.expect("every kind of flow was listed")
        };
        let flows = self.flows.iter().zip(0..);
        let support = self.support(protocol, &names)?;
        let nodes = (0..).map(NodeId).zip(&self.nodes);
        Ok(NetSpec {
            version: self.ip_version,
            nodes: nodes.map(|(id, node)| support.node(id, node)).collect(),
            links: self.links.iter().flat_map(|link| self.directions(link, &support)).collect(),
            transports: kinds.iter().map(|&kind| self.transport(kind)).collect(),
            flows: flows.map(|(flow, id)| self.flow(flow, id, seed, place(flow))).collect(),
            events: self.events.clone(),
        })
    }

    /// Protocol and class of flows: first each protocol as a class of its own, then what differs.
    fn kinds(&self, protocol: &'static str, names: &[&'static str]) -> Vec<FlowKind> {
        let mut kinds: Vec<FlowKind> = names.iter().map(|&name| (name, name)).collect();
        for flow in self.flows.iter().filter(|flow| flow.class.is_some()) {
            let kind = kind_of(flow, protocol);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    fn transport(&self, (name, class): FlowKind) -> TransportSpec {
        let spec = self.spec(name).expect("the name is in the table");
        let receiver = spec.clone();
        TransportSpec {
            name: name.to_string(),
            algorithm: spec.name().to_string(),
            class: class.to_string(),
            config: Arc::new(self.tcp_for(name)),
            controller: Arc::new(move |init| spec.build(init)),
            feedback: Arc::new(move || receiver.build_feedback()),
        }
    }

    /// What the network has for the protocols of a run.
    fn support(
        &self,
        protocol: &'static str,
        names: &[&'static str],
    ) -> Result<Support, ScenarioError> {
        let bundles: Vec<Bundle> = names.iter().map(|name| self.bundle(name)).collect();
        let inrpp_routers = self.inrpp_routers(protocol);
        let checked = self.check_caches(&inrpp_routers);
        checked.map_err(|problem| Fault::nowhere(problem).resolve(&Sources::default()))?;
        let stamps = bundles.iter().any(|bundle| bundle.ports == PortKind::Rcp);
        Ok(Support {
            rcp: stamps.then_some(self.rcp),
            inrpp: Arc::new(self.inrpp.settings.clone()),
            inrpp_routers,
        })
    }

    /// Both directions of a link, with what the protocols of the run need of it.
    fn directions(&self, link: &Link, support: &Support) -> [LinkSpec; 2] {
        let is_host = |node: NodeId| self.nodes[node.index()].is_host;
        let pools = |node: NodeId| support.inrpp_routers.contains(&node);
        let room_bytes = match pools(link.a) && pools(link.b) {
            true => Bundle::of("inrpp").mtu_room_bytes,
            false => 0,
        };
        let one = |from: NodeId, to: NodeId, wire: &LinkDirection| LinkSpec {
            from,
            to,
            channel: ChannelSpec::Constant(wire.rate),
            delay: wire.delay,
            jitter: wire.jitter,
            reorder: wire.reorder,
            loss: wire.loss,
            mtu_bytes: wire.mtu_bytes.saturating_add(room_bytes),
            overhead_bytes: wire.overhead_bytes,
            queue: wire.discipline.queue(wire.queue),
            scheme: match support.rcp {
                Some(params) if !is_host(from) => SchemeSpec::Rcp(params),
                _ => SchemeSpec::None,
            },
        };
        [one(link.a, link.b, &link.forward), one(link.b, link.a, &link.reverse)]
    }

    fn flow(&self, flow: &Flow, id: u64, seed: u64, transport: usize) -> FlowSpec {
        let mut rng = Rng::new(seed, Stream::StartJitter, id);
        let jitter = Span::from_nanos(rng.below(self.start_jitter.as_nanos() + 1));
        FlowSpec {
            src: flow.src,
            dst: flow.dst,
            start: flow.start + jitter,
            bytes: flow.bytes,
            life: flow.life.clone(),
            transport,
            paths: Vec::new(),
        }
    }
}

/// A protocol and a class.
type FlowKind = (&'static str, &'static str);

fn kind_of(flow: &Flow, protocol: &'static str) -> FlowKind {
    let protocol = flow.protocol.unwrap_or(protocol);
    (protocol, flow.class.unwrap_or(protocol))
}

/// What the network of a run has beside plain routers and queues: the union of what its protocols need.
struct Support {
    /// Ports of routers stamp rates.
    rcp: Option<RcpPortParams>,
    inrpp: Arc<Settings>,
    /// Routers that run INRPP.
    inrpp_routers: BTreeSet<NodeId>,
}

impl Support {
    fn node(&self, id: NodeId, node: &super::Node) -> NodeSpec {
        let kind = match node.is_host {
            true => NodeKind::Host,
            false if self.inrpp_routers.contains(&id) => {
                NodeKind::Router(ForwardingSpec::Inrpp(Arc::clone(&self.inrpp)))
            }
            false => NodeKind::Router(ForwardingSpec::PlainIp),
        };
        NodeSpec { name: node.name.clone(), kind }
    }
}

/// Let INRPP routers count what each flow has had of each interface, which costs a look-up per packet.
pub fn count_per_flow(spec: &mut NetSpec) {
    for node in &mut spec.nodes {
        if let NodeKind::Router(ForwardingSpec::Inrpp(settings)) = &mut node.kind {
            Arc::make_mut(settings).flow_totals = true;
        }
    }
}

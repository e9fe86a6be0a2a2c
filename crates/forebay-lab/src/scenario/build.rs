//! From a scenario to the network that a driver runs.

use super::error::ScenarioError;
use super::source::Sources;
use super::{Flow, Link, QueueLimit, Scenario, Wire, protocols};
use crate::protocol::{Bundle, PortKind};
use forebay_base::{NodeId, Rng, Span, Stream};
use forebay_cc::Spec;
use forebay_net::{
    ChannelSpec, FlowSpec, ForwardingSpec, LinkSpec, NetSpec, NodeKind, NodeSpec, QueueSpec,
    TransportSpec,
};
use forebay_queue::{AnyDiscipline, DropTailBytes, DropTailPackets, RcpPortParams, rcp_pipeline};
use std::sync::Arc;

impl Scenario {
    /// The network under one protocol and one seed. Flows that name a protocol keep it.
    pub fn build(&self, protocol: &str, seed: u64) -> Result<NetSpec, ScenarioError> {
        let protocol = protocols::find(protocol).map_err(|f| f.resolve(&Sources::default()))?;
        let names = self.protocols_under(protocol);
        let place = |name: &str| {
            let found = names.iter().position(|&n| n == name);
            found.expect("every protocol of a flow was listed")
        };
        let flows = self.flows.iter().zip(0..);
        Ok(NetSpec {
            version: self.ip_version,
            nodes: self.nodes.iter().map(node).collect(),
            links: self.links.iter().flat_map(|link| self.directions(link, &names)).collect(),
            transports: names.iter().map(|name| self.transport(name)).collect(),
            flows: flows
                .map(|(flow, id)| self.flow(flow, id, seed, flow.protocol.map_or(0, place)))
                .collect(),
            events: self.events.clone(),
        })
    }

    /// The algorithm of that name with the parameters that the scenario gives it; None if there is no such algorithm.
    pub fn spec(&self, protocol: &str) -> Option<Spec> {
        let given = self.specs.iter().find(|spec| spec.name() == protocol);
        given.cloned().or_else(|| Spec::by_name(protocol))
    }

    fn transport(&self, name: &'static str) -> TransportSpec {
        let spec = self.spec(name).expect("the name is in the table");
        let receiver = spec.clone();
        TransportSpec {
            name: name.to_string(),
            config: Arc::new(self.tcp_for(name)),
            controller: Arc::new(move |init| spec.build(init)),
            feedback: Arc::new(move || receiver.build_feedback()),
        }
    }

    /// Both directions of a link, with what the protocols of the run need of it.
    fn directions(&self, link: &Link, names: &[&'static str]) -> [LinkSpec; 2] {
        let stamps = names.iter().any(|name| Bundle::of(name).ports == PortKind::Rcp);
        let one = |from: NodeId, to: NodeId, wire: &Wire| {
            let ports = match stamps && !self.nodes[from.index()].is_host {
                true => Ports::Rcp(self.rcp),
                false => Ports::Plain,
            };
            LinkSpec {
                from,
                to,
                channel: ChannelSpec::Constant(wire.rate),
                delay: wire.delay,
                jitter: wire.jitter,
                loss: wire.loss,
                mtu_bytes: wire.mtu_bytes,
                overhead_bytes: wire.overhead_bytes,
                queue: queue(wire, ports),
            }
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
            transport,
            paths: Vec::new(),
        }
    }
}

fn node(node: &super::Node) -> NodeSpec {
    let kind = match node.is_host {
        true => NodeKind::Host,
        false => NodeKind::Router(ForwardingSpec::PlainIp),
    };
    NodeSpec { name: node.name.clone(), kind }
}

/// What the ports of routers have beside their queues.
#[derive(Clone, Copy)]
enum Ports {
    Plain,
    Rcp(RcpPortParams),
}

fn queue(wire: &Wire, ports: Ports) -> QueueSpec {
    let Ports::Rcp(params) = ports else {
        return match wire.queue {
            QueueLimit::Bytes(bytes) => QueueSpec::DropTailBytes(bytes),
            QueueLimit::Packets(packets) => QueueSpec::DropTailPackets(packets),
        };
    };
    let Wire { rate, overhead_bytes, queue, .. } = *wire;
    QueueSpec::Custom(Arc::new(move |_, rng| {
        let discipline = match queue {
            QueueLimit::Bytes(bytes) => AnyDiscipline::DropTailBytes(DropTailBytes::new(bytes)),
            QueueLimit::Packets(n) => AnyDiscipline::DropTailPackets(DropTailPackets::new(n)),
        };
        rcp_pipeline(rate, overhead_bytes, discipline, params, rng)
    }))
}

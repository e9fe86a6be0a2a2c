//! From a scenario to the network that a driver runs.

use crate::format::error::ScenarioError;
use crate::format::fault::Fault;
use crate::format::source::Sources;
use crate::model::arrivals::{ArrivalTimes, Arrived, rest_bytes};
use crate::plan::network::Network;
use crate::{Flow, Link, LinkDirection, Node, Scenario};
use forebay_base::{NodeId, Rng, Span, Stream};
use forebay_net::{
    FlowSpec, LinkSpec, NetSpec, NodeKind, NodeSpec, QueueSpec, TransportSpec, WireSpec,
};
use std::sync::Arc;

impl Scenario {
    /// The network under one protocol and one seed. Flows that name a protocol keep it.
    pub fn build(&self, protocol: &str, seed: u64) -> Result<NetSpec, ScenarioError> {
        let protocol = self.names().find(protocol).map_err(|f| f.resolve(&Sources::default()))?;
        let protocol = protocol.as_str();
        let kinds = self.kinds(protocol);
        let place = |(flow, bytes): (&Flow, Option<u64>)| {
            let kind = kind_of(flow, bytes, protocol);
            kinds.iter().position(|&known| known == kind).expect("every kind of flow was listed")
        };
        let mut times = ArrivalTimes::new(seed);
        let multipath: Vec<bool> = kinds.iter().map(|(name, _)| self.is_multipath(name)).collect();
        let flows = self.flows.iter().zip(0..);
        let flows =
            flows.map(|(flow, id)| self.flow(flow, id, seed, &mut times, place, &multipath));
        let network = self.network(protocol);
        let network =
            network.map_err(|problem| Fault::nowhere(problem).resolve(&Sources::default()))?;
        let nodes = (0..).map(NodeId).zip(&self.nodes);
        let mut spec = NetSpec {
            version: self.ip_version,
            nodes: nodes.map(|(id, node)| node_of(&network, id, node)).collect(),
            links: self.directed_links(seed, &network),
            routes: self.routes,
            transports: kinds.iter().map(|&kind| self.transport(kind, &network)).collect(),
            flows: flows.collect(),
            events: self.all_events(seed),
            reassembly: self.reassembly,
            reassembly_of: (0..)
                .map(NodeId)
                .zip(&self.nodes)
                .filter_map(|(id, node)| Some((id, node.reassembly?)))
                .collect(),
            prefixes: (0..)
                .map(NodeId)
                .zip(&self.nodes)
                .flat_map(|(id, node)| node.prefixes.iter().map(move |prefix| (id, *prefix)))
                .collect(),
        };
        self.record(&mut spec);
        self.misbehave(protocol, &mut spec);
        Ok(spec)
    }

    /// Protocol and class of flows: first each protocol as a class of its own, then what differs.
    fn kinds<'a>(&'a self, protocol: &'a str) -> Vec<FlowKind<'a>> {
        let names = self.protocols_under(protocol).into_iter();
        let mut kinds: Vec<FlowKind<'_>> = names.map(|name| (name, name)).collect();
        let classed = |flow: &&Flow| flow.class.is_some() || flow.by_size.is_some();
        for flow in self.flows.iter().filter(classed) {
            let classes = match &flow.by_size {
                Some(classes) => &classes.names[..],
                None => flow.class.as_slice(),
            };
            for class in classes {
                let kind = (flow.protocol_under(protocol), class.as_str());
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
        }
        kinds
    }

    fn transport(&self, kind: FlowKind<'_>, network: &Network) -> TransportSpec {
        let (name, class) = kind;
        let spec = self.spec(name).expect("the name is in the table");
        let spec = spec.with_cache_depth(network.cache_depth);
        TransportSpec {
            name: name.to_string(),
            algorithm: spec.name().to_string(),
            class: class.to_string(),
            config: Arc::new(self.tcp_for(name)),
            feedback: spec.feedback_maker(),
            controller: Arc::new(move |init| spec.build(init)),
        }
    }

    fn directed_links(&self, seed: u64, network: &Network) -> Vec<LinkSpec> {
        let numbered = (0..).step_by(2).zip(&self.links);
        numbered.flat_map(|(id, link)| self.directions(link, id, seed, network)).collect()
    }

    /// Both directions of a link, with what the protocols of the run need of it. `id` is the number
    /// of the first.
    fn directions(&self, link: &Link, id: u64, seed: u64, network: &Network) -> [LinkSpec; 2] {
        let room_bytes = network.mtu_room_bytes(link);
        let one = |id: u64, from: NodeId, to: NodeId, direction: &LinkDirection| LinkSpec {
            from,
            to,
            channel: direction.channel.build(direction.rate, seed, id),
            wire: WireSpec {
                mtu_bytes: direction.wire.mtu_bytes.saturating_add(room_bytes),
                ..direction.wire.clone()
            },
            queue: if direction.discipline.is_default() {
                QueueSpec::DropTail(direction.queue)
            } else {
                let machine = direction.discipline.own_machine();
                QueueSpec::Custom(direction.queue, Arc::clone(machine))
            },
            scheme: network.scheme(from, direction),
            weight: link.weight,
        };
        [one(id, link.a, link.b, &link.forward), one(id + 1, link.b, link.a, &link.reverse)]
    }

    fn flow(
        &self,
        flow: &Flow,
        id: u64,
        seed: u64,
        times: &mut ArrivalTimes,
        transport: impl Fn((&Flow, Option<u64>)) -> usize,
        multipath: &[bool],
    ) -> FlowSpec {
        let draws = |stream| Rng::new(seed, stream, id);
        let jitter = draws(Stream::StartJitter).below(self.start_jitter.as_nanos() + 1);
        let jitter = Span::from_nanos(jitter);
        let arrived = flow.arrival.as_ref().map(|arrival| times.of(arrival, flow.start));
        let start = match (arrived, flow.start_law) {
            (Some(Arrived::After(after)), _) => flow.start + after,
            // A flow that is due when the run ends does not start.
            (Some(Arrived::Never), _) => self.until.expect("it goes with a time of arrivals"),
            (None, Some(law)) => flow.start + law.draw(&mut draws(Stream::FlowStart)),
            (Some(Arrived::Before), _) | (None, None) => flow.start,
        };
        let rng = &mut draws(Stream::FlowSize);
        let bytes = match (arrived, flow.bytes) {
            (Some(Arrived::Before), Some(bytes)) => {
                Some(rest_bytes(flow.size_law.as_ref(), bytes, rng))
            }
            _ => flow.size_law.map_or(flow.bytes, |law| Some(law.draw_bytes(rng))),
        };
        let transport = transport((flow, bytes));
        let shared = multipath[transport];
        FlowSpec {
            src: flow.src,
            dst: flow.dst,
            start: start + jitter,
            bytes,
            life: flow.life.clone(),
            transport,
            paths: flow.paths.as_deref().filter(|_| shared).map_or(Vec::new(), <[_]>::to_vec),
        }
    }
}

fn node_of(network: &Network, id: NodeId, node: &Node) -> NodeSpec {
    let kind = network.forwarding(id).map_or(NodeKind::Host, NodeKind::Router);
    NodeSpec { name: node.name.clone(), kind }
}

/// A protocol and a class.
type FlowKind<'a> = (&'a str, &'a str);

/// Of a flow that sends this many bytes.
fn kind_of<'a>(flow: &'a Flow, bytes: Option<u64>, protocol: &'a str) -> FlowKind<'a> {
    let class = match (&flow.by_size, bytes) {
        (Some(classes), Some(bytes)) => classes.of(bytes),
        _ => flow.class_under(protocol),
    };
    (flow.protocol_under(protocol), class)
}

/// Let routers count what each flow has had of each port, which may cost a look-up per packet.
pub fn count_per_flow(spec: &mut NetSpec) {
    for node in &mut spec.nodes {
        if let NodeKind::Router(forwarding) = &mut node.kind {
            forwarding.count_per_flow();
        }
    }
}

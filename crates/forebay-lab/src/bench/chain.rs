//! A chain of INRPP routers with any number of flows without end: what a packet-hop costs as flows
//! become more, at the same load.
//!
//! ```text
//!   hosts ==== r0 ---- r1 ---- r2 ---- r3 ==== hosts        1 Gbit/s, the last 800 Mbit/s
//! ```
//!
//! The first link between routers stores what hosts send too much, the last one asks those before
//! it to hold packets: every state and all that is kept of flows is in use.

use super::scale::joined;
use forebay_base::{NodeId, Rate, Span, Time};
use forebay_cc::{Spec, inrpp::Params};
use forebay_net::{FlowSpec, ForwardingSpec, NetSpec, NodeKind, NodeSpec, TransportSpec};
use forebay_router::inrpp::{CacheSize, Settings};
use forebay_transport::{PRESETS, TcpConfig};
use std::sync::Arc;

/// A run ends here: about a million packet-hops.
pub const CHAIN_ENDS: Time = Time::from_millis(1_500);
/// Rates of the links between routers, in Mbit/s.
const RATES_MBPS: [u64; 3] = [1_000, 1_000, 800];
/// Of the access link of each host, in Mbit/s.
const ACCESS_MBPS: u64 = 100;
/// Flows start one after the other within this time.
const STARTS_WITHIN: Span = Span::from_millis(100);
/// Room for the tag of a detour beside 1500 bytes.
const MTU_BYTES: u16 = 1_508;

/// The network with this many flows, each between two hosts of its own. Nothing is drawn.
pub fn network(flows: usize, _seed: u64) -> NetSpec {
    let mut spec = NetSpec::default();
    let [low, high, total] = [400, 800, 1_000].map(Span::from_millis);
    let settings = Settings { cache: CacheSize::Time { low, high, total }, ..Settings::default() };
    let router = NodeKind::Router(ForwardingSpec::Inrpp(Arc::new(settings)));
    let mut node = |name: String, kind: &NodeKind| {
        spec.nodes.push(NodeSpec { name, kind: kind.clone() });
        spec.nodes.len() - 1
    };
    let routers = [0, 1, 2, 3].map(|i| node(format!("r{i}"), &router));
    let pairs: Vec<[usize; 2]> = (0..flows)
        .map(|i| ["s", "d"].map(|side| node(format!("{side}{i}"), &NodeKind::Host)))
        .collect();
    for (i, mbps) in RATES_MBPS.into_iter().enumerate() {
        join(&mut spec, routers[i], routers[i + 1], mbps);
    }
    for &[source, sink] in &pairs {
        join(&mut spec, source, routers[0], ACCESS_MBPS);
        join(&mut spec, routers[3], sink, ACCESS_MBPS);
    }
    let algorithm = Spec::Inrpp(Params::default());
    let config = TcpConfig {
        mss_bytes: 1_446,
        timestamps: false,
        receive_buffer_bytes: 1 << 30,
        send_buffer_bytes: 1 << 30,
        ..PRESETS[0].config
    };
    let (name, receiver) = (algorithm.name(), algorithm.clone());
    spec.transports.push(TransportSpec {
        name: name.into(),
        algorithm: name.into(),
        class: name.into(),
        config: Arc::new(config),
        controller: Arc::new(move |init| algorithm.build(init)),
        feedback: Arc::new(move || receiver.build_feedback()),
    });
    let flow = |(i, &[source, sink]): (usize, &[usize; 2])| FlowSpec {
        src: NodeId(source as u32),
        dst: NodeId(sink as u32),
        start: Time::ZERO + STARTS_WITHIN * i as u64 / flows as u64,
        bytes: None,
        life: None,
        transport: 0,
        paths: Vec::new(),
    };
    spec.flows = pairs.iter().enumerate().map(flow).collect();
    spec
}

/// A link in both directions of 1 ms, with a queue of 50 ms and the framing of PPP.
fn join(spec: &mut NetSpec, a: usize, b: usize, mbps: u64) {
    let (rate, delay, queue) = (Rate::mbps(mbps), Span::from_millis(1), Span::from_millis(50));
    let links = joined(a, b, rate, delay, queue);
    spec.links.extend(
        links.map(|link| {
            link.with_wire(|wire| (wire.mtu_bytes, wire.overhead_bytes) = (MTU_BYTES, 2))
        }),
    );
}

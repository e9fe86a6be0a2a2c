//! Random small scenarios: bad links, tiny buffers, failures, every combination of transport
//! features.

use crate::world::{World, link};
use forebay_base::{LinkId, NodeId, PortId, Rate, Rng, Span, Stream, Time};
use forebay_cc::{AckPolicy, Controller, Entry, Init, LossPolicy, TABLE};
use forebay_net::{
    EqualCosts, EventSpec, LinkSpec, NetEvent, NetSpec, Network, NodeKind, QueueSpec, RouteRule,
    SchemeSpec,
};
use forebay_queue::{Limit, RcpPortParams};
use forebay_transport::{MOST_SIGNAL_BYTES, PRESETS, Pacing, Recovery, TcpConfig};

/// The scenario of a seed: 2 to 5 routers in a tree with an extra link or two, 2 to 5 hosts, 1 to 5
/// sized flows.
pub fn scenario(seed: u64) -> NetSpec {
    let mut rng = Rng::new(seed, Stream::Test, 0);
    let mut world = World::new();
    let routers: Vec<NodeId> =
        (0..2 + rng.below(4)).map(|i| world.router(&format!("r{i}"))).collect();
    for i in 1..routers.len() {
        let parent = routers[rng.below(i as u64) as usize];
        join(&mut world, &mut rng, parent, routers[i]);
    }
    for _ in 0..rng.below(3) {
        let a = rng.below(routers.len() as u64) as usize;
        let b = rng.below(routers.len() as u64) as usize;
        if a != b {
            join(&mut world, &mut rng, routers[a], routers[b]);
        }
    }
    let hosts: Vec<NodeId> = (0..2 + rng.below(4))
        .map(|i| {
            let host = world.host(&format!("h{i}"));
            let at = routers[rng.below(routers.len() as u64) as usize];
            join(&mut world, &mut rng, host, at);
            host
        })
        .collect();
    flows(&mut world, &mut rng, &hosts);
    events(&mut world, &mut rng, &routers);
    if Rng::new(seed, Stream::Test, 13).chance(0.3) {
        change_routes(&mut world.spec, seed);
    } else {
        world.spec.routes = random_routes(seed);
    }
    world.spec
}

/// Mostly those by default.
pub(crate) fn random_routes(seed: u64) -> RouteRule {
    let mut rng = Rng::new(seed, Stream::Test, 15);
    if rng.chance(0.7) {
        return RouteRule::default();
    }
    let apart = rng.chance(0.5);
    let equal_costs = if apart { EqualCosts::Independent } else { EqualCosts::Symmetric };
    RouteRule { trees: 1 + rng.below(4) as u8, equal_costs }
}

/// Routers send what is for a host another way for a while: over a longer path, into a loop, or
/// nowhere. Each goes back to its first route within seconds.
pub fn change_routes(spec: &mut NetSpec, seed: u64) {
    let mut rng = Rng::new(seed, Stream::Test, 14);
    let network = Network::build(spec, seed, false).expect("a sound network");
    let routers = (0..spec.nodes.len() as u32).map(NodeId).filter(|node| {
        let several = network.ports.links_of(*node).len() > 1;
        several && matches!(spec.nodes[node.index()].kind, NodeKind::Router(_))
    });
    let routers: Vec<NodeId> = routers.collect();
    let ends = spec.flows.iter().flat_map(|flow| [flow.src, flow.dst]);
    let hosts: Vec<NodeId> = ends.filter(|host| network.ports.links_of(*host).len() == 1).collect();
    if routers.is_empty() || hosts.is_empty() {
        return;
    }
    for _ in 0..1 + rng.below(4) {
        let node = routers[rng.below(routers.len() as u64) as usize];
        let dst = hosts[rng.below(hosts.len() as u64) as usize];
        let usual = network.routes.port(node, network.addresses[dst.index()][0]);
        let ports = network.ports.links_of(node).len() as u64;
        let other = PortId(rng.below(ports) as u16);
        let at = Time::from_nanos(rng.below(3_000_000_000));
        let back = at + Span::from_nanos(rng.below(1_500_000_000));
        for (at, via) in [(at, Some(other).filter(|_| rng.chance(0.9))), (back, usual)] {
            spec.events.push(EventSpec { at, event: NetEvent::Route { node, dst, via } });
        }
    }
}

fn join(world: &mut World, rng: &mut Rng, a: NodeId, b: NodeId) {
    let there = random_link(rng);
    let back = if rng.chance(0.5) { there.clone() } else { random_link(rng) };
    world.join_with(a, b, there, back);
}

/// Log-uniform between two powers of ten.
pub(crate) fn log_uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low * (high / low).powf(rng.unit())
}

fn random_link(rng: &mut Rng) -> LinkSpec {
    let rate = Rate::clamped(log_uniform(rng, 2e5, 1e8) as u64);
    let delay = Span::from_secs_f64(log_uniform(rng, 1e-5, 0.08));
    let mut spec = link(rate, delay, 1500 + rng.below(60_000));
    if rng.chance(0.4) {
        spec.wire.loss = rng.unit() * 0.1;
    }
    if rng.chance(0.3) {
        spec.wire.jitter = Span::from_nanos(rng.below(2 * delay.as_nanos() + 1));
    }
    if rng.chance(0.3) {
        spec.queue = QueueSpec::DropTail(Limit::Packets(1 + rng.below(20)));
    }
    if rng.chance(0.2) {
        spec.wire.overhead_bytes = rng.below(40) as u16;
    }
    if rng.chance(0.3) {
        let limit = 1500 + rng.below(60_000);
        let gains =
            [RcpPortParams::published(), RcpPortParams::default_ns2(), RcpPortParams::stable()];
        let params = gains[rng.below(3) as usize];
        spec.queue = QueueSpec::DropTail(Limit::Bytes(limit));
        spec.scheme = SchemeSpec::Rcp(params);
    }
    spec
}

fn flows(world: &mut World, rng: &mut Rng, hosts: &[NodeId]) {
    for i in 0..1 + rng.below(5) {
        let src = rng.below(hosts.len() as u64) as usize;
        let dst = (src + 1 + rng.below(hosts.len() as u64 - 1) as usize) % hosts.len();
        let bytes = match rng.below(6) {
            0 => rng.below(3),
            1 => 1448 * rng.below(5),
            _ => log_uniform(rng, 100.0, 400_000.0) as u64,
        };
        let mut config = random_config(rng);
        let entry = &TABLE[rng.below(TABLE.len() as u64) as usize];
        // Room for the options that it puts on data, in packets of 1500 bytes.
        config.mss_bytes = config.mss_bytes.min(MSS - options_of(entry));
        let (name, made) = (format!("{}{i}", entry.name), (entry.spec)());
        let receivers = made.feedback_maker();
        let transport =
            world.transport_with(&name, config, move |init| made.build(init), move || receivers());
        let start = Time::from_nanos(rng.below(2_000_000_000));
        world.flow((hosts[src], hosts[dst]), start, Some(bytes), transport);
    }
}

/// A full payload next to timestamps.
const MSS: u16 = 1448;

/// Bytes of options, padded, that the algorithm puts on data.
fn options_of(entry: &Entry) -> u16 {
    let init = Init {
        mss_bytes: MSS.into(),
        initial_window_bytes: MSS.into(),
        initial_ssthresh_bytes: u64::MAX,
        paced: false,
        rng: Rng::new(0, Stream::Test, 0),
    };
    let traits = (entry.spec)().build(init).traits();
    let signal = if traits.multipath { MOST_SIGNAL_BYTES } else { 0 };
    (traits.option_bytes + signal).next_multiple_of(4)
}

/// A preset with some of its features changed.
fn random_config(rng: &mut Rng) -> TcpConfig {
    let mut config = PRESETS[rng.below(PRESETS.len() as u64) as usize].config;
    if rng.chance(0.5) {
        return config;
    }
    config.sack = rng.chance(0.7);
    config.timestamps = rng.chance(0.7);
    config.window_scaling = rng.chance(0.8);
    config.limited_transmit = rng.chance(0.7);
    config.ecn = rng.chance(0.3);
    config.loss_policy = match rng.below(5) {
        0 | 1 => LossPolicy::RackTlp,
        2 | 3 => LossPolicy::DupThresh,
        _ => LossPolicy::TimeoutOnly,
    };
    config.recovery = [Recovery::Prr, Recovery::Pipe, Recovery::NewReno][rng.below(3) as usize];
    config.pacing = if rng.chance(0.3) {
        Pacing::Windowed { slow_start_percent: 200, avoidance_percent: 120 }
    } else {
        Pacing::Off
    };
    config.ack_policy = match rng.below(3) {
        0 => AckPolicy::EveryPacket,
        _ => AckPolicy::Delayed {
            packets: 2 + rng.below(3) as u8,
            timeout: Span::from_millis(20 + rng.below(200)),
            quick: rng.below(20) as u16,
        },
    };
    config.receive_buffer_bytes = 3_000 + log_uniform(rng, 1.0, 4e6) as u64;
    config.mss_bytes = if rng.chance(0.3) { 200 + rng.below(1248) as u16 } else { 1448 };
    config
}

/// Links that fail heal again within seconds; rates, delays and losses change; routers restart.
fn events(world: &mut World, rng: &mut Rng, routers: &[NodeId]) {
    let links = world.spec.links.len() as u64;
    for _ in 0..rng.below(4) {
        let at = Time::from_nanos(rng.below(6_000_000_000));
        let link = LinkId(rng.below(links) as u32);
        match rng.below(6) {
            0 | 1 => {
                let heals = at + Span::from_nanos(rng.below(3_000_000_000));
                world.event(at, NetEvent::Down(link));
                world.event(heals, NetEvent::Up(link));
                if rng.chance(0.5) {
                    let back = link.opposite();
                    world.event(at, NetEvent::Down(back));
                    world.event(heals, NetEvent::Up(back));
                }
            }
            2 => {
                let rate = Rate::clamped(log_uniform(rng, 2e5, 1e8) as u64);
                world.event(at, NetEvent::Rate(link, rate));
            }
            3 => {
                let delay = Span::from_secs_f64(log_uniform(rng, 1e-5, 0.08));
                world.event(at, NetEvent::Delay(link, delay));
            }
            4 => world.event(at, NetEvent::Loss(link, rng.unit() * 0.1)),
            _ => {
                let router = routers[rng.below(routers.len() as u64) as usize];
                world.event(at, NetEvent::Restart(router));
            }
        }
    }
}

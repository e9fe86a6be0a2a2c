//! Random small INRPP networks: caches of a few packets, triangles, loss of data and ACKs,
//! failures, plain neighbours.

use crate::pool::{config, pooled_link, transport};
use crate::random::{log_uniform, random_routes};
use crate::world::World;
use forebay_base::{LinkId, NodeId, Rate, Rng, Span, Stream, Time};
use forebay_net::{EqualCosts, ForwardingSpec, LinkSpec, NetEvent, NetSpec, QueueSpec};
use forebay_queue::Limit;
use forebay_router::inrpp::{CacheLimits, CacheSize, Settings};
use forebay_transport::TcpConfig;
use std::sync::Arc;

const PACKET_BYTES: u64 = 1500;

/// What a scenario may be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkConditions {
    /// Anything: loss up to 5 % in either direction, failures, restarts, caches from 10 packets on,
    /// routers that do not speak INRPP, flows of plain TCP among the others.
    Foul,
    /// Nothing is lost or fails, all speak INRPP, and caches have the margin that the rule of
    /// [`margin_bytes`] asks for.
    Fair,
}

/// The scenario of a seed: 2 to 6 routers, 2 to 6 hosts, 1 to 6 flows.
pub fn scenario(seed: u64, weather: NetworkConditions) -> NetSpec {
    let mut rng = Rng::new(seed, Stream::Test, 1);
    let mut world = World::new();
    let routers: Vec<NodeId> =
        (0..2 + rng.below(5)).map(|i| world.router(&format!("r{i}"))).collect();
    for i in 1..routers.len() {
        let parent = routers[rng.below(i as u64) as usize];
        join(&mut world, &mut rng, (parent, routers[i]), weather);
    }
    // Triangles, so that there are detours: a router and two of its neighbours.
    for _ in 0..rng.below(5) {
        let at = |rng: &mut Rng| routers[rng.below(routers.len() as u64) as usize];
        let (a, b) = (at(&mut rng), at(&mut rng));
        let joined = world.spec.links.iter().any(|l| (l.from, l.to) == (a, b));
        if a != b && !joined {
            join(&mut world, &mut rng, (a, b), weather);
        }
    }
    let hosts: Vec<NodeId> = (0..2 + rng.below(5))
        .map(|i| {
            let host = world.host(&format!("h{i}"));
            let at = routers[rng.below(routers.len() as u64) as usize];
            join(&mut world, &mut rng, (host, at), weather);
            host
        })
        .collect();
    flows(&mut world, &mut rng, &hosts, weather);
    let settings = random_settings(&mut rng, &world.spec, weather);
    for router in &routers {
        if weather == NetworkConditions::Fair || !rng.chance(0.1) {
            let forwarding = ForwardingSpec::Inrpp(Arc::new(settings.clone()));
            world.spec.nodes[router.index()].kind = forebay_net::NodeKind::Router(forwarding);
        }
    }
    world.spec.routes = random_routes(seed);
    if weather == NetworkConditions::Fair {
        world.spec.routes.equal_costs = EqualCosts::Symmetric;
    }
    if weather == NetworkConditions::Foul {
        events(&mut world, &mut rng, &routers);
    }
    world.spec
}

fn join(world: &mut World, rng: &mut Rng, ends: (NodeId, NodeId), weather: NetworkConditions) {
    let there = random_link(rng, weather);
    let back = if rng.chance(0.5) { there.clone() } else { random_link(rng, weather) };
    world.join_with(ends.0, ends.1, there, back);
}

fn random_link(rng: &mut Rng, weather: NetworkConditions) -> LinkSpec {
    let rate = Rate::clamped(log_uniform(rng, 1e6, 1e8) as u64);
    let delay = Span::from_secs_f64(log_uniform(rng, 1e-5, 0.02));
    let mut spec = pooled_link(rate, delay);
    spec.queue = QueueSpec::DropTail(Limit::Bytes(2 * PACKET_BYTES + rng.below(60_000)));
    if weather == NetworkConditions::Foul && rng.chance(0.4) {
        spec.wire.loss = rng.unit() * 0.05;
    }
    spec
}

fn flows(world: &mut World, rng: &mut Rng, hosts: &[NodeId], weather: NetworkConditions) {
    let inrpp = transport(world, "inrpp", config());
    let plain = TcpConfig { timestamps: true, ..config() };
    let tcp = transport(world, "cubic", plain);
    for _ in 0..1 + rng.below(6) {
        let src = rng.below(hosts.len() as u64) as usize;
        let dst = (src + 1 + rng.below(hosts.len() as u64 - 1) as usize) % hosts.len();
        let bytes = log_uniform(rng, 100.0, 400_000.0) as u64;
        let transport =
            if weather == NetworkConditions::Foul && rng.chance(0.2) { tcp } else { inrpp };
        let start = Time::from_nanos(rng.below(1_000_000_000));
        world.flow((hosts[src], hosts[dst]), start, Some(bytes), transport);
    }
}

/// The paper's rule, IV-E, with what may be in open loop at once: no more than this comes into an
/// interface between the moment at which it asks to slow down and the moment at which all flows
/// have.
///
/// Every flow may send at the full rate of its host until the first ACK that passes the congested
/// interface has come back to it: ACKs of a flow pass once in (flows x packet time at the drain
/// rate), and take at most the longest way of the network, with full queues.
pub fn margin_bytes(spec: &NetSpec) -> u64 {
    let hosts = spec.flows.iter().map(|flow| flow.src);
    let access = |host| spec.links.iter().find(|link| link.from == host).expect("hosts have links");
    let rate_of = |link: &LinkSpec| match link.channel {
        forebay_net::ChannelSpec::Constant(rate) => rate,
        _ => unreachable!("constant rates alone"),
    };
    let offered_bps: u64 = hosts.map(|host| rate_of(access(host)).bps()).sum();
    let way: u64 = spec
        .links
        .iter()
        .map(|link| {
            let Limit::Bytes(queue_bytes) = link.queue.limit() else { unreachable!() };
            link.wire.delay.as_nanos()
                + rate_of(link).span_of(queue_bytes + PACKET_BYTES).as_nanos()
        })
        .sum();
    let slowest = spec.links.iter().map(|l| rate_of(l).bps()).min().expect("links");
    let spacing = spec.flows.len() as f64 * PACKET_BYTES as f64 * 8.0 / slowest as f64;
    let seconds = way as f64 / 1e9 + spacing;
    (offered_bps as f64 / 8.0 * seconds) as u64 + spec.flows.len() as u64 * PACKET_BYTES
}

fn random_settings(rng: &mut Rng, spec: &NetSpec, weather: NetworkConditions) -> Settings {
    let room = match weather {
        NetworkConditions::Fair => margin_bytes(spec),
        NetworkConditions::Foul => PACKET_BYTES * rng.below(200),
    };
    let high_bytes = (log_uniform(rng, 10.0, 200.0) * PACKET_BYTES as f64) as u64;
    let low_bytes = 1 + rng.below(high_bytes);
    let total_bytes = high_bytes + room.max(1);
    let weight = [1.0, 1.0 / 3.0][rng.below(2) as usize];
    Settings {
        cache: CacheSize::Bytes(CacheLimits { low_bytes, high_bytes, total_bytes }),
        detours: rng.chance(0.8),
        load_weight: weight,
        alpha: if weight < 1.0 { 0.1 } else { 0.4 },
        ..Settings::default()
    }
}

/// Links that fail heal again within seconds; rates, delays and losses change; routers restart.
fn events(world: &mut World, rng: &mut Rng, routers: &[NodeId]) {
    let links = world.spec.links.len() as u64;
    for _ in 0..rng.below(4) {
        let at = Time::from_nanos(rng.below(4_000_000_000));
        let link = LinkId(rng.below(links) as u32);
        match rng.below(5) {
            0 => {
                let heals = at + Span::from_nanos(rng.below(3_000_000_000));
                for one in [link, link.opposite()] {
                    world.event(at, NetEvent::Down(one));
                    world.event(heals, NetEvent::Up(one));
                }
            }
            1 => {
                let rate = Rate::clamped(log_uniform(rng, 1e6, 1e8) as u64);
                world.event(at, NetEvent::Rate(link, rate));
            }
            2 => {
                let delay = Span::from_secs_f64(log_uniform(rng, 1e-5, 0.02));
                world.event(at, NetEvent::Delay(link, delay));
            }
            3 => world.event(at, NetEvent::Loss(link, rng.unit() * 0.05)),
            _ => {
                let router = routers[rng.below(routers.len() as u64) as usize];
                world.event(at, NetEvent::Restart(router));
            }
        }
    }
}

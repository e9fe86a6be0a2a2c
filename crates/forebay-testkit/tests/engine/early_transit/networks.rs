//! Networks for the tests of early transit.

use forebay_base::{IpVersion, NodeId, Packet, PortId, Rate, Rng, Span, Stream, Time};
use forebay_cc::{AnyController, Init, Spec, TABLE};
use forebay_net::{ForwardingSpec, NetEvent, NetSpec, Network, NodeKind, QueueSpec, SchemeSpec};
use forebay_queue::Limit;
use forebay_router::{Forwarding, NodeContext, PlainIp, Sends, Verdict, inrpp};
use forebay_testkit::random;
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};
use std::sync::Arc;

/// A random network whose links all have known departures: nothing on them is lost, shaken or
/// changed; routes may change.
pub fn steady(seed: u64) -> NetSpec {
    let mut spec = random::scenario(seed);
    let mut rng = Rng::new(seed, Stream::Test, 7);
    spec.events.retain(|event| matches!(event.event, NetEvent::Route { .. }));
    for link in &mut spec.links {
        (link.wire.loss, link.wire.jitter) = (0.0, Span::ZERO);
        if let SchemeSpec::Rcp(_) = core::mem::take(&mut link.scheme) {
            link.queue = QueueSpec::DropTail(Limit::Bytes(1500 + rng.below(40_000)));
        }
    }
    spec
}

/// Many flows between hosts of their own on a row of routers, of any controller: most links have
/// one feeder. In some the round trip is longer than the first timeout: what was sent twice is
/// still on its way when all flows have ended.
pub fn row(seed: u64) -> NetSpec {
    let mut rng = Rng::new(seed, Stream::Test, 8);
    let mut world = World::new();
    let routers: Vec<NodeId> = (0..4).map(|i| world.router(&format!("r{i}"))).collect();
    let far = if rng.chance(0.3) { 200 } else { 1 };
    // Where all times are multiples of one, much happens at the same instant.
    let round = rng.chance(0.4);
    let random_link = |rng: &mut Rng, mbps: u64| {
        let (rate, delay) = if round {
            (Rate::mbps(12), Span::from_millis(1 + rng.below(9)) * far)
        } else {
            let delay = Span::from_micros(20 + rng.below(9_000)) * far;
            (Rate::mbps(mbps * (1 + rng.below(4))), delay)
        };
        let mut link = link(rate, delay, 1500 + rng.below(60_000));
        link.wire.mtu_bytes = if rng.chance(0.1) { 900 } else { 1500 };
        link
    };
    for pair in routers.windows(2) {
        let link = random_link(&mut rng, 2);
        world.join(pair[0], pair[1], link);
    }
    for number in 0..2 + rng.below(9) {
        let ends = [0, 1].map(|side| {
            let host = world.host(&format!("h{number}{side}"));
            let at = routers[rng.below(4) as usize];
            let link = random_link(&mut rng, 10);
            world.join(host, at, link);
            host
        });
        let entry = &TABLE[rng.below(TABLE.len() as u64) as usize];
        let config = TcpConfig {
            dont_fragment: !rng.chance(0.3),
            ..PRESETS[rng.below(PRESETS.len() as u64) as usize].config
        };
        let make = |init: Init| -> AnyController {
            Spec::by_name(entry.name).expect("it is from the table").build(init)
        };
        let transport = world.transport(entry.name, config, make);
        let start = Time::from_nanos(rng.below(2_000_000_000));
        let most = if far > 1 { 3_000 } else { 400_000 };
        let bytes = (far > 1 || !rng.chance(0.2)).then(|| rng.below(most));
        world.flow((ends[0], ends[1]), start, bytes, transport);
    }
    world.spec
}

/// Below two to a power from `least` to `most`: small numbers as often as large ones.
pub fn of_any_size(rng: &mut Rng, least: u64, most: u64) -> u64 {
    let power = least + rng.below(most - least + 1);
    rng.below(1 << power)
}

fn random_config(rng: &mut Rng) -> TcpConfig {
    let preset = PRESETS[rng.below(PRESETS.len() as u64) as usize].config;
    let hasty = TcpConfig {
        initial_rto: Span::from_millis(5 + rng.below(40)),
        max_retries: 1 + rng.below(3) as u32,
        ..preset
    };
    let base = if rng.chance(0.3) { hasty } else { preset };
    TcpConfig {
        ecn: rng.chance(0.3),
        dont_fragment: rng.chance(0.5),
        min_rto: if rng.chance(0.3) { Span::from_millis(3 + rng.below(50)) } else { base.min_rto },
        ..base
    }
}

/// What the others do not have, added to one of them: wires that shake and lose, hosts with many
/// sockets or interfaces, pairs of hosts on a link of their own, connections that give up, packets
/// that no wire takes, IPv6.
pub fn odd(seed: u64) -> NetSpec {
    let mut rng = Rng::new(seed, Stream::Test, 10);
    let spec = match rng.below(6) {
        0 => steady(seed),
        1 => row(seed),
        2 => random::scenario(seed), // with its events
        _ => NetSpec::default(),
    };
    let mut world = World { spec };
    // Bytes on the wire are whole microseconds: much happens at the same instant.
    let round = rng.chance(0.5);
    let random_link = |rng: &mut Rng| {
        let mut spec = if round {
            link(Rate::mbps(8), Span::from_micros(100 + rng.below(1_500)), 100_000)
        } else {
            let delay = Span::from_nanos(20_000 + of_any_size(rng, 12, 29));
            link(Rate::mbps(1 + rng.below(20)), delay, 1_500 + rng.below(60_000))
        };
        if rng.chance(0.1) {
            spec.wire.mtu_bytes = [50, 60, 576, 1_280][rng.below(4) as usize];
        }
        if rng.chance(0.1) {
            spec.wire.jitter = Span::from_millis(rng.below(30));
        }
        if rng.chance(0.1) {
            spec.wire.loss = rng.unit() * 0.2;
        }
        if rng.chance(0.1) {
            spec.wire.delay = spec.wire.delay * 100;
        }
        spec
    };
    for number in 0..1 + rng.below(3) {
        let name = |side: &str| format!("odd{number}{side}");
        let ends = (world.host(&name("a")), world.host(&name("b")));
        let links = 1 + rng.below(2);
        for _ in 0..links {
            let middle = (0..rng.below(3)).map(|i| world.router(&name(&format!("r{i}"))));
            let way: Vec<NodeId> = [ends.0].into_iter().chain(middle).chain([ends.1]).collect();
            for pair in way.windows(2) {
                let (there, back) = (random_link(&mut rng), random_link(&mut rng));
                let back = if rng.chance(0.5) { there.clone() } else { back };
                world.join_with(pair[0], pair[1], there, back);
            }
        }
        for _ in 0..1 + rng.below(2) {
            let entry = &TABLE[rng.below(TABLE.len() as u64) as usize];
            let make = |init: Init| -> AnyController {
                Spec::by_name(entry.name).expect("it is from the table").build(init)
            };
            let transport = world.transport(entry.name, random_config(&mut rng), make);
            let bytes = (!rng.chance(0.03)).then(|| of_any_size(&mut rng, 4, 19));
            if links == 2 && rng.chance(0.5) {
                world.multipath_flow(ends, bytes, transport, &[(0, 0), (1, 1)]);
            } else {
                let ends = if rng.chance(0.5) { ends } else { (ends.1, ends.0) };
                let start = Time::from_nanos(rng.below(1_500_000_000));
                world.flow(ends, start, bytes, transport);
            }
        }
    }
    if rng.chance(0.3) {
        world.spec.version = IpVersion::V6;
    }
    world.spec
}

fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("it is in the table").build(init)
}

/// A flow from host `a` to host `b` over a diamond: by routes over the upper router, but from 200
/// ms to 600 ms over the lower one, which is nearer. After the diamond a row of two routers. The
/// queues are short, so that what is lost depends on the order of packets.
pub fn diamond() -> World {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let [fork, upper, lower, join, last] =
        ["fork", "upper", "lower", "join", "last"].map(|name| world.router(name));
    let wire = |ms| link(Rate::mbps(10), Span::from_millis(ms), 15_000);
    world.join(a, fork, wire(1));
    let up = world.join(fork, upper, wire(20));
    let down = world.join(fork, lower, wire(5));
    world.join(upper, join, wire(5));
    world.join(lower, join, wire(5));
    world.join(join, last, wire(3));
    world.join(last, b, wire(1));
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(600_000), transport);
    let network = Network::build(&world.spec, 1, false).expect("a sound network");
    let [up, down] = [up, down].map(|link| Some(network.ports.port(link)));
    for (ms, via) in [(200, down), (600, up)] {
        world.event(Time::from_millis(ms), NetEvent::Route { node: fork, dst: b, via });
    }
    world
}

/// Sends every other packet for a host through its port 2, whatever its routes say.
#[derive(Default)]
struct EveryOther {
    packets: u64,
}

impl Forwarding for EveryOther {
    fn holds_packets(&self) -> bool {
        false
    }
    fn sends(&self, port: PortId) -> Sends {
        if port == PortId(2) { Sends::Passing } else { Sends::Routed }
    }
    fn on_packet(&mut self, from: PortId, mut packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        self.packets += 1;
        let aside = from == PortId(0) && self.packets.is_multiple_of(2);
        match PlainIp.route(cx.node, &mut packet, cx.routes) {
            Ok(port) => Verdict::Forward(if aside { PortId(2) } else { port }, packet),
            Err(reason) => Verdict::Drop(packet, reason),
        }
    }
}

/// The same diamond, without events; its fork sends every other packet over the lower router.
pub fn fork() -> World {
    let mut world = diamond();
    world.spec.events.clear();
    let every_other =
        ForwardingSpec::Custom("every-other".into(), Arc::new(|_| Box::new(EveryOther::default())));
    world.spec.nodes[2].kind = NodeKind::Router(every_other);
    world
}

/// The same diamond under INRPP routers: they speak to each other, and hold what does not fit.
pub fn inrpp() -> World {
    let mut world = diamond();
    world.spec.events.clear();
    for node in &mut world.spec.nodes[2..] {
        let settings = Arc::new(inrpp::Settings::default());
        node.kind = NodeKind::Router(ForwardingSpec::Inrpp(settings));
    }
    world
}

/// Flows over the link between node 0 and node 1, routers. The senders have even numbers, so that
/// the network falls into two halves; with `crossed` their links are the ones that lead from half
/// to half. What comes to hosts is shaken.
pub fn halves(crossed: bool) -> World {
    let mut world = World::new();
    let (left, right) = (world.router("left"), world.router("right"));
    let far = |ms: u64| link(Rate::mbps(100), Span::from_millis(ms), 1_000_000);
    let shaken = far(3).with_wire(|wire| wire.jitter = Span::from_millis(40));
    let to_host = |cross: bool| if cross { shaken.clone() } else { far(3) };
    world.join(left, right, far(3));
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    for i in 0..6 {
        let (a, b) = (world.host(&format!("a{i}")), world.host(&format!("b{i}")));
        let (at_a, at_b) = if crossed { (right, left) } else { (left, right) };
        world.join_with(a, at_a, far(3), to_host(crossed));
        world.join_with(b, at_b, far(3), to_host(crossed));
        world.flow((a, b), Time::from_millis(7 * i), Some(400_000), transport);
    }
    world
}

/// Two hosts, one of which answers over a link that becomes slower.
pub fn slower_answers() -> World {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let answers = world.join(a, b, link(Rate::mbps(10), Span::from_millis(5), 100_000)).opposite();
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(400_000), transport);
    world.event(Time::from_millis(100), NetEvent::Rate(answers, Rate::clamped(100_000)));
    world
}

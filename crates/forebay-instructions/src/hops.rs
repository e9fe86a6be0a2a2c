//! Whole runs: instructions per packet-hop, transport and trace hash included, building the network
//! not.

use crate::harness::{Bench, counted_section};
use forebay_base::{Rate, Span, Time};
use forebay_cc::{AckPolicy, AnyController, Init, Spec};
use forebay_net::{LinkSpec, QueueSpec, SchemeSpec, WireSpec};
use forebay_queue::{DISCIPLINES, KickAssPortParams, Limit, RcpPortParams};
use forebay_router::inrpp::{CacheSize, Settings};
use forebay_sim::{Options, Simulation};
use forebay_testkit::pool::{self, TEXT};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};
use std::sync::Arc;

/// Run until `from` uncounted, then until `until`.
fn hops(world: &World, options: Options, from: Time, until: Time) -> u64 {
    let mut simulation = Simulation::new(&world.spec, 1, options).expect("it can be built");
    simulation.run_until(from).unwrap();
    let before = simulation.packet_hops();
    counted_section(&mut || {
        simulation.run_until(until).unwrap();
    });
    simulation.packet_hops() - before
}

/// The transport of S1 and S2: delayed ACKs, buffers of 4 MB.
fn config() -> TcpConfig {
    let timeout = Span::from_millis(200);
    TcpConfig {
        mss_bytes: 1448,
        ack_policy: AckPolicy::Delayed { packets: 2, timeout, quick: 0 },
        send_buffer_bytes: 4_000_000,
        receive_buffer_bytes: 4_000_000,
        ..PRESETS[0].config
    }
}

fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("it is in the table").build(init)
}

/// The dumbbell of S1, its three flows without end.
fn s1() -> World {
    let mut world = World::new();
    let near = |mbps| {
        let rate = Rate::mbps(mbps);
        link(rate, Span::from_millis(5), rate.bytes_in(Span::from_millis(50)))
    };
    let r = ["0", "1", "2", "3", "4"].map(|name| world.router(name));
    for (a, b, mbps) in [(4, 0, 100), (0, 2, 10), (2, 3, 100), (0, 1, 10), (1, 2, 10)] {
        world.join(r[a], r[b], near(mbps));
    }
    let transport = world.transport("newreno", config(), newreno);
    for i in 0..3 {
        let (s, d) = (world.host(&format!("s{i}")), world.host(&format!("d{i}")));
        world.join(s, r[4], near(40));
        world.join(d, r[3], near(40));
        world.flow((s, d), Time::from_secs(i), None, transport);
    }
    world
}

fn s1_hops(options: Options) -> u64 {
    hops(&s1(), options, Time::from_secs(4), Time::from_secs(9))
}

/// S2: a hundred flows without end share 1 Gbit/s.
fn s2() -> World {
    s2_with(None)
}

/// S2 with this discipline in front of the link between the routers; None: drop-tail, as the rest.
fn s2_with(discipline: Option<&'static str>) -> World {
    let mut world = World::new();
    let wide = |ms| link(Rate::mbps(1_000), Span::from_millis(ms), 2_500_000);
    let (left, right) = (world.router("left"), world.router("right"));
    let mut there = wide(8);
    if let Some(name) = discipline {
        let entry = DISCIPLINES.iter().find(|entry| entry.name == name).expect("in the table");
        let make = Arc::new(|init| (entry.spec)().build(init));
        there.queue = QueueSpec::Custom(Limit::Bytes(2_500_000), make);
    }
    world.join_with(left, right, there, wide(8));
    let transport = world.transport("newreno", config(), newreno);
    for i in 0..100 {
        let (s, d) = (world.host(&format!("s{i}")), world.host(&format!("d{i}")));
        world.join(s, left, wide(1));
        world.join(d, right, wide(1));
        world.flow((s, d), Time::from_millis(i), None, transport);
    }
    world
}

/// Of S2 or one of its kind, once all flows are there.
fn s2_hops(world: &World, options: Options) -> u64 {
    hops(world, options, Time::from_millis(400), Time::from_millis(500))
}

/// S2 with this discipline at the bottleneck alone. `hop/s2` has drop-tail there.
fn s2_queue_hops(discipline: &'static str) -> u64 {
    s2_hops(&s2_with(Some(discipline)), Options::default())
}

/// S2 with this on every wire. `hop/s2` has nothing there.
fn s2_wire_hops(change: impl Fn(&mut WireSpec)) -> u64 {
    let mut world = s2();
    world.spec.links.iter_mut().for_each(|link| change(&mut link.wire));
    s2_hops(&world, Options::default())
}

/// The dumbbell of the INRPP paper with all three flows on, a detour in use and back-pressure.
fn inrpp_hops() -> u64 {
    let network = pool::dumbbell(TEXT, 1 << 29, [Span::from_millis(5); 3]);
    hops(&network.world, Options::default(), Time::from_secs(4), Time::from_secs(6))
}

/// The same with a key on each link between routers.
fn guarded_hops() -> u64 {
    let mut network = pool::dumbbell(TEXT, 1 << 29, [Span::from_millis(5); 3]);
    pool::guard(&mut network.world);
    hops(&network.world, Options::default(), Time::from_secs(4), Time::from_secs(6))
}

/// A hundred flows over 1 Gbit/s and a detour of as much, caches of 100 ms: every state of an
/// interface. Under another protocol the same network with plain routers and drop-tail.
fn detour_hops(protocol: &'static str) -> u64 {
    let mut world = World::new();
    let [low, high, total] = [40, 80, 100].map(Span::from_millis);
    let settings = Settings { cache: CacheSize::Time { low, high, total }, ..Settings::default() };
    let r = ["left", "right", "round"].map(|name| match protocol {
        "inrpp" => pool::router(&mut world, name, &settings),
        _ => world.router(name),
    });
    let near = |mbps| {
        let (rate, delay) = (Rate::mbps(mbps), Span::from_millis(1));
        let queue = QueueSpec::DropTail(Limit::Bytes(rate.bytes_in(Span::from_millis(5))));
        LinkSpec { queue, ..pool::pooled_link(rate, delay) }
    };
    for (a, b) in [(0, 1), (0, 2), (2, 1)] {
        world.join(r[a], r[b], near(1_000));
    }
    let transport = pool::transport(&mut world, protocol, pool::config());
    for i in 0..100 {
        let (s, d) = (world.host(&format!("s{i}")), world.host(&format!("d{i}")));
        world.join(s, r[0], near(40));
        world.join(d, r[1], near(40));
        world.flow((s, d), Time::from_millis(i), None, transport);
    }
    hops(&world, Options::default(), Time::from_millis(500), Time::from_millis(600))
}

/// S1 where every packet is acknowledged, under this controller.
fn controller_hops(name: &str) -> u64 {
    let mut world = s1();
    world.spec.transports.clear();
    let config = TcpConfig { ack_policy: AckPolicy::EveryPacket, ..config() };
    pool::transport(&mut world, name, config);
    hops(&world, Options::default(), Time::from_secs(4), Time::from_secs(9))
}

/// S1 with RCP at every port.
fn rcp_hops() -> u64 {
    let mut world = s1();
    world.spec.transports.clear();
    // The request takes 12 bytes of each packet.
    let config = TcpConfig { mss_bytes: 1436, ..config() };
    pool::transport(&mut world, "rcp", config);
    for link in &mut world.spec.links {
        let limit = link.channel.rate().bytes_in(Span::from_millis(50));
        link.queue = QueueSpec::DropTail(Limit::Bytes(limit));
        link.scheme = SchemeSpec::Rcp(RcpPortParams::published());
    }
    hops(&world, Options::default(), Time::from_secs(4), Time::from_secs(9))
}

/// S1 with a port of Kick-Ass at every router, which says something on each packet, and senders who
/// do not listen.
fn kickass_hops() -> u64 {
    let mut world = s1();
    world.spec.transports.clear();
    world.transport("newreno", TcpConfig { dont_fragment: false, ..config() }, newreno);
    let params = KickAssPortParams { explicit_tcp: true, ..KickAssPortParams::paper() };
    for link in &mut world.spec.links {
        let limit = link.channel.rate().bytes_in(Span::from_millis(50));
        link.queue = QueueSpec::DropTail(Limit::Bytes(limit));
        link.scheme = SchemeSpec::KickAss(params);
    }
    hops(&world, Options::default(), Time::from_secs(4), Time::from_secs(9))
}

pub fn benches() -> Vec<Bench> {
    let binary = || Options { binary_heap: true, ..Options::default() };
    let queued = || Options { all_queued: true, ..Options::default() };
    let bytes = || Options { bytes: true, ..Options::default() };
    vec![
        Bench::new("hop/s1", || s1_hops(Options::default())),
        Bench::new("hop/s1-bytes", move || s1_hops(bytes())),
        Bench::new("hop/s2", || s2_hops(&s2(), Options::default())),
        Bench::new("hop/s2-long", || {
            hops(&s2(), Options::default(), Time::from_millis(1000), Time::from_millis(5000))
        }),
        Bench::new("hop/s2-binary", move || s2_hops(&s2(), binary())),
        Bench::new("hop/s2-queued", move || s2_hops(&s2(), queued())),
        Bench::new("hop/s2-codel", || s2_queue_hops("codel")),
        Bench::new("hop/s2-fq-codel", || s2_queue_hops("fq-codel")),
        Bench::new("hop/s2-loss", || s2_wire_hops(|wire| wire.loss = 1e-6)),
        Bench::new("hop/s2-jitter", || s2_wire_hops(|wire| wire.jitter = Span::from_micros(100))),
        Bench::new("hop/newreno", || controller_hops("newreno")),
        Bench::new("hop/verus", || controller_hops("verus")),
        Bench::new("hop/rcp", rcp_hops),
        Bench::new("hop/kickass", kickass_hops),
        Bench::new("hop/inrpp", inrpp_hops),
        Bench::new("hop/inrpp-guarded", guarded_hops),
        Bench::new("hop/detour-inrpp", || detour_hops("inrpp")),
        Bench::new("hop/detour-cubic", || detour_hops("cubic")),
    ]
}

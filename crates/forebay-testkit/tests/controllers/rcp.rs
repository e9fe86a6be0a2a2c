//! RCP from end to end: hosts that ask, ports that grant, against shares and completion times in
//! closed form.

use forebay_base::{FlowId, LinkId, NodeId, Rate, Span, Time};
use forebay_cc::{AckPolicy, Init, Spec};
use forebay_net::{LinkSpec, NetEvent, SchemeSpec};
use forebay_queue::RcpPortParams;
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, Role, TcpConfig};

const MSS: u16 = 1434;
/// Payload, 40 of IP and TCP, 12 of timestamps, 12 of the request.
const WIRE_BYTES: f64 = 1498.0;
const OVERHEAD_BYTES: u16 = 2;

fn config() -> TcpConfig {
    // The bandwidth-delay products below are larger than the buffers of the preset.
    let (send_buffer_bytes, receive_buffer_bytes) = (1 << 26, 1 << 26);
    let ack_policy = AckPolicy::EveryPacket;
    TcpConfig {
        mss_bytes: MSS,
        send_buffer_bytes,
        receive_buffer_bytes,
        ack_policy,
        ..PRESETS[0].config
    }
}

/// A transport of this name in the table.
fn transport(world: &mut World, name: &'static str) -> usize {
    let spec = move || Spec::by_name(name).expect("in the table");
    let controller = move |init: Init| spec().build(init);
    world.transport_with(name, config(), controller, move || spec().build_feedback())
}

/// A link with a port of RCP, whose queue never overflows, and 2 bytes of PPP for each packet.
fn granting(rate: Rate, delay: Span, params: RcpPortParams) -> LinkSpec {
    limited(rate, delay, params, u64::MAX)
}
fn limited(rate: Rate, delay: Span, params: RcpPortParams, queue_bytes: u64) -> LinkSpec {
    let scheme = SchemeSpec::Rcp(params);
    let link = link(rate, delay, queue_bytes);
    LinkSpec { scheme, ..link.with_wire(|wire| wire.overhead_bytes = OVERHEAD_BYTES) }
}

/// Hosts on either side of `middle`: each pair with access links of the delay given, a port of RCP
/// on each.
struct Dumbbell {
    world: World,
    pairs: Vec<(NodeId, NodeId)>,
    middle: LinkId,
    transport: usize,
}

fn dumbbell(middle: LinkSpec, access_delays: &[Span], protocol: &'static str) -> Dumbbell {
    let mut world = World::new();
    let transport = transport(&mut world, protocol);
    let (left, right) = (world.router("left"), world.router("right"));
    let middle = world.join(left, right, middle);
    let join = |(i, &delay): (usize, &Span)| {
        let (a, b) = (world.host(&format!("a{i}")), world.host(&format!("b{i}")));
        let access = granting(Rate::mbps(1000), delay, RcpPortParams::stable());
        world.join(a, left, access.clone());
        world.join(right, b, access);
        (a, b)
    };
    let pairs = access_delays.iter().enumerate().map(join).collect();
    Dumbbell { world, pairs, middle, transport }
}

impl Dumbbell {
    fn flow(&mut self, pair: usize, start: Time, bytes: Option<u64>) {
        self.world.flow(self.pairs[pair], start, bytes, self.transport);
    }
    fn run(&self) -> Simulation {
        run(&self.world)
    }
}

fn run(world: &World) -> Simulation {
    Simulation::new(&world.spec, 3, Options::default()).expect("a sound network")
}

/// Rates on the wire of flows `0..flows` between two times, in bit/s.
fn wire_rates(sim: &mut Simulation, flows: u32, from: Time, until: Time) -> Vec<f64> {
    let received = |sim: &Simulation| -> Vec<u64> {
        (0..flows).map(|i| sim.flow(FlowId(i)).received_bytes).collect()
    };
    sim.run_until(from).unwrap();
    let before = received(sim);
    sim.run_until(until).unwrap();
    let on_the_wire = 8.0 * (WIRE_BYTES + f64::from(OVERHEAD_BYTES)) / f64::from(MSS);
    let rate = |(b, a): (&u64, u64)| (a - b) as f64 * on_the_wire / until.since(from).as_secs_f64();
    before.iter().zip(received(sim)).map(rate).collect()
}

#[track_caller]
fn close_to(got: f64, expected: f64, share: f64) {
    assert!((got - expected).abs() <= share * expected.abs(), "{got}, not {expected}");
}

/// Bytes that wait at `link`, looked at each millisecond from now to `until`: mean and most.
fn queue_until(sim: &mut Simulation, link: LinkId, until: Time) -> (f64, u64) {
    let (mut sum, mut count, mut most) = (0, 0, 0);
    while sim.now() < until {
        sim.run_until(sim.now() + Span::from_millis(1)).unwrap();
        let bytes = sim.link(link).queue_bytes();
        (sum, count, most) = (sum + bytes, count + 1, most.max(bytes));
    }
    (sum as f64 / count as f64, most)
}

const SECOND: fn(u64) -> Time = Time::from_secs;

#[test]
fn long_flows_share_what_the_port_fills() {
    let delay = Span::from_millis(45);
    for (params, flows) in [
        (RcpPortParams::stable(), 4),
        (RcpPortParams { gamma: 0.95, ..RcpPortParams::stable() }, 4),
        (RcpPortParams { gamma: 0.95, ..RcpPortParams::stable() }, 10),
        (RcpPortParams::published(), 4),
        (RcpPortParams::default_ns2(), 4),
    ] {
        let delays = vec![Span::from_millis(2); flows];
        let mut net = dumbbell(granting(Rate::mbps(50), delay, params), &delays, "rcp");
        for i in 0..flows {
            net.flow(i, Time::from_millis(100 + 37 * i as u64), None);
        }
        let mut sim = net.run();
        let share = params.gamma * 50e6 / flows as f64;
        for rate in wire_rates(&mut sim, flows as u32, SECOND(40), SECOND(60)) {
            close_to(rate, share, 0.01);
        }
        let (mean, _) = queue_until(&mut sim, net.middle, SECOND(62));
        if params.gamma < 1.0 {
            assert!(mean < 2.0 * 1500.0, "{mean} bytes wait where a twentieth is spare");
        }
        assert_eq!(sim.drops().total(), 0);
    }
}

/// All begin at the same time on a port that grants each the whole link: the shares come all the
/// same, of a packet or less for a round trip.
#[test]
fn a_crowd_comes_to_its_shares() {
    for params in [RcpPortParams::stable(), RcpPortParams::default_ns2()] {
        let middle = granting(Rate::mbps(10), Span::from_millis(46), params);
        let mut net = dumbbell(middle, &[Span::from_millis(2); 100], "rcp");
        (0..100).for_each(|i| net.flow(i, SECOND(5), None));
        let mut sim = net.run();
        for rate in wire_rates(&mut sim, 100, SECOND(60), SECOND(90)) {
            close_to(rate, 10e6 / 100.0, 0.02);
        }
    }
}

#[test]
fn round_trips_do_not_matter() {
    let delays = [1, 41].map(Span::from_millis);
    let middle = granting(Rate::mbps(30), Span::from_millis(18), RcpPortParams::stable());
    let mut net = dumbbell(middle, &delays, "rcp");
    (0..2).for_each(|i| net.flow(i, Time::from_millis(50), None));
    let mut sim = net.run();
    let rates = wire_rates(&mut sim, 2, SECOND(40), SECOND(60));
    // Round trips of 40 and 200 ms.
    rates.iter().for_each(|&rate| close_to(rate, 15e6, 0.01));
    let rtts = [0, 1].map(|i| sim.flow(FlowId(i)).rtt.mean_ms);
    assert!(rtts[0] < 50.0 && rtts[1] > 195.0, "{rtts:?}");
}

/// One flow alone, on ports that rose to their links long ago: handshake, then the whole file at
/// the rate of the port. With a tenth to spare no queue disturbs it, and a round trip holds less
/// than the 65 535 bytes of a SYN-ACK's window.
#[test]
fn a_flow_alone_takes_its_closed_form() {
    let params = RcpPortParams { gamma: 0.9, ..RcpPortParams::published() };
    for packets in [1, 2, 20, 1000, 20_000] {
        let middle = granting(Rate::mbps(10), Span::from_millis(16), params);
        let mut net = dumbbell(middle, &[Span::from_millis(2)], "rcp");
        net.flow(0, SECOND(100), Some(packets * u64::from(MSS)));
        let mut sim = net.run();
        assert_eq!(sim.run_until(SECOND(200)).unwrap(), Status::FlowsEnded);
        let flow = sim.flow(FlowId(0));
        let fct = flow.completed_at.unwrap().since(flow.opened_at.unwrap());
        // Two packets leave at once, each of the others 1498 bytes at 9 Mbit/s later; on the link
        // the last one takes 1500 bytes at 10 Mbit/s, and of two the second waits as long.
        let sending_s = packets.saturating_sub(2) as f64 * WIRE_BYTES * 8.0 / 9e6;
        let waiting_s = if packets == 2 { 1.2e-3 } else { 0.0 };
        let expected = 1.5 * 0.04 + sending_s + waiting_s + 1.2e-3;
        let excess = fct.as_secs_f64() - expected;
        // SYN, SYN-ACK and ACK take 74, 82 and 54 bytes of the link, 168 us; on the access links
        // all take 27 us. 2 bytes in 1500 that only the port counts lower its rate with time, and
        // the packet that waits at the beginning for a while.
        assert!(
            (0.0..200e-6 + 0.003 * sending_s).contains(&excess),
            "{packets} packets: {excess} s more"
        );
        assert_eq!(flow.sender.retransmits, 0);
    }
}

/// Two ports of 10 and of `second` Mbit/s in a row, a long flow over both and one over the first
/// alone.
fn parking_lot(second: u64) -> (World, [LinkId; 2]) {
    let mut world = World::new();
    let rcp = transport(&mut world, "rcp");
    let params = RcpPortParams::stable();
    let [r0, r1, r2] = ["r0", "r1", "r2"].map(|name| world.router(name));
    let port = |mbps| granting(Rate::mbps(mbps), Span::from_millis(10), params);
    let links = [world.join(r0, r1, port(10)), world.join(r1, r2, port(second))];
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| world.host(name));
    for (host, router) in [(a, r0), (b, r2), (c, r0), (d, r1)] {
        world.join(host, router, granting(Rate::mbps(100), Span::from_millis(1), params));
    }
    world.flow((a, b), Time::from_millis(10), None, rcp);
    world.flow((c, d), Time::from_millis(60), None, rcp);
    (world, links)
}

#[test]
fn the_lowest_grant_of_the_path_counts() {
    // Max-min by hand: the first port is shared equally, or gives the other flow what the second
    // port denies the long one.
    for (second, expected) in [(6, [5e6, 5e6]), (3, [3e6, 7e6]), (100, [5e6, 5e6])] {
        let (world, _) = parking_lot(second);
        let mut sim = run(&world);
        let rates = wire_rates(&mut sim, 2, SECOND(60), SECOND(90));
        for (rate, expected) in rates.iter().zip(expected) {
            close_to(*rate, expected, 0.02);
        }
    }
}

/// No port grants anything: the rounds of slow start, RTT (k + 1/2), as any flow of TCP.
#[test]
fn without_routers_of_rcp_a_flow_is_one_of_tcp() {
    let rtt = Span::from_millis(100);
    for (segments, rounds) in [(10, 1), (30, 2), (100, 4), (500, 6)] {
        let mut world = World::new();
        let rcp = transport(&mut world, "rcp");
        let (a, b) = (world.host("a"), world.host("b"));
        world.join(a, b, link(Rate::mbps(100_000), rtt / 2, 1 << 30));
        world.flow((a, b), Time::ZERO, Some(segments * u64::from(MSS)), rcp);
        let mut sim = run(&world);
        assert_eq!(sim.run_until(SECOND(100)).unwrap(), Status::FlowsEnded);
        let fct = sim.flow(FlowId(0)).completed_at.unwrap().as_secs_f64();
        close_to(fct / rtt.as_secs_f64(), f64::from(rounds) + 0.5, 0.005);
    }
}

/// It loses, and recovers, as the NewReno flow competing with it: equal on average over many
/// losses.
#[test]
fn without_routers_of_rcp_a_flow_shares_with_newreno() {
    let mut world = World::new();
    let transports = ["rcp", "newreno"].map(|name| transport(&mut world, name));
    let (left, right) = (world.router("left"), world.router("right"));
    world.join(left, right, link(Rate::mbps(10), Span::from_millis(10), 30_000));
    for (i, transport) in transports.into_iter().enumerate() {
        let (a, b) = (world.host(&format!("a{i}")), world.host(&format!("b{i}")));
        world.join(a, left, link(Rate::mbps(100), Span::from_millis(5), u64::MAX));
        world.join(right, b, link(Rate::mbps(100), Span::from_millis(5), u64::MAX));
        world.flow((a, b), Time::from_millis(300 * i as u64), None, transport);
    }
    let mut sim = run(&world);
    let rates = wire_rates(&mut sim, 2, SECOND(20), SECOND(320));
    assert!(rates.iter().sum::<f64>() > 0.95 * 10e6, "{rates:?}");
    close_to(rates[0], rates[1], 0.15);
    for i in 0..2 {
        let sender = sim.flow(FlowId(i)).sender;
        assert!(sender.recoveries > 50 && sender.timeouts < 5, "{sender:?}");
    }
}

/// Packets without a request pass a port of RCP as they pass a plain one: not one nanosecond
/// differs.
#[test]
fn plain_tcp_does_not_see_the_port() {
    let plain = link(Rate::mbps(10), Span::from_millis(20), 40_000)
        .with_wire(|wire| wire.overhead_bytes = OVERHEAD_BYTES);
    let params = RcpPortParams::published();
    let rcp = limited(Rate::mbps(10), Span::from_millis(20), params, 40_000);
    let hashes = [plain, rcp].map(|middle| {
        let mut net = dumbbell(middle, &[Span::from_millis(2); 2], "cubic");
        (0..2).for_each(|i| net.flow(i, Time::from_millis(13 * i as u64), Some(3_000_000)));
        let mut sim = net.run();
        assert_eq!(sim.run_until(SECOND(100)).unwrap(), Status::FlowsEnded);
        assert!(sim.drops().total() > 0, "the queue is short");
        sim.trace_hash()
    });
    assert_eq!(hashes[0], hashes[1]);
}

/// TCP takes from the link what RCP then shares: the port counts all that arrives.
#[test]
fn the_port_leaves_room_for_what_does_not_ask() {
    let middle = granting(Rate::mbps(20), Span::from_millis(18), RcpPortParams::stable());
    let mut net = dumbbell(middle, &[Span::from_millis(1); 3], "rcp");
    // A window of 20 segments in 40 ms: 2.87 Mbit/s of 1500 + 2 bytes on the link.
    let narrow = TcpConfig { mss_bytes: 1448, receive_buffer_bytes: 20 * 1448, ..config() };
    let newreno = Spec::by_name("newreno").unwrap();
    let tcp = net.world.transport("narrow", narrow, move |init| newreno.build(init));
    net.flow(0, Time::ZERO, None);
    net.flow(1, Time::from_millis(7), None);
    net.world.flow(net.pairs[2], Time::from_millis(11), None, tcp);
    let mut sim = net.run();
    let rates = wire_rates(&mut sim, 3, SECOND(40), SECOND(60));
    let of_tcp = rates[2] * (1502.0 / 1448.0) / (1500.0 / 1434.0);
    assert!(of_tcp > 2e6, "{of_tcp}");
    (0..2).for_each(|i| close_to(rates[i], (20e6 - of_tcp) / 2.0, 0.01));
}

#[test]
fn a_link_that_changes_its_rate_is_shared_anew() {
    let middle = granting(Rate::mbps(20), Span::from_millis(18), RcpPortParams::stable());
    let mut net = dumbbell(middle, &[Span::from_millis(1); 2], "rcp");
    (0..2).for_each(|i| net.flow(i, Time::from_millis(10), None));
    net.world.event(SECOND(20), NetEvent::Rate(net.middle, Rate::mbps(8)));
    net.world.event(SECOND(60), NetEvent::Rate(net.middle, Rate::mbps(40)));
    let mut sim = net.run();
    for (from, until, share) in [(10, 20, 10e6), (45, 60, 4e6), (75, 90, 20e6)] {
        for rate in wire_rates(&mut sim, 2, SECOND(from), SECOND(until)) {
            close_to(rate, share, 0.02);
        }
    }
}

#[test]
fn loss_costs_the_packets_that_are_lost_and_no_rate() {
    let params = RcpPortParams::published();
    let middle = granting(Rate::mbps(20), Span::from_millis(18), params);
    let mut net =
        dumbbell(middle.with_wire(|wire| wire.loss = 0.02), &[Span::from_millis(1)], "rcp");
    net.flow(0, SECOND(100), Some(10_000 * u64::from(MSS)));
    let mut sim = net.run();
    assert_eq!(sim.run_until(SECOND(300)).unwrap(), Status::FlowsEnded);
    let flow = sim.flow(FlowId(0));
    let fct = flow.completed_at.unwrap().since(flow.opened_at.unwrap()).as_secs_f64();
    // 10 000 packets of 600 us, each sent 1 / 0.98 times on average, and 1.5 round trips of 40 ms;
    // the last ones may wait for a probe or a timeout.
    let expected = 10_000.0 / 0.98 * 600e-6 + 0.06;
    assert!((expected * 0.99..expected * 1.01 + 0.5).contains(&fct), "{fct}, not {expected}");
    assert!(flow.sender.retransmits > 150, "{:?}", flow.sender);
    assert!(sim.conservation().holds());
}

/// The same on packets, on bytes, on the other heap: an option that routers overwrite is the same
/// bytes.
#[test]
fn packets_bytes_and_heaps_agree() {
    let middle =
        || limited(Rate::mbps(20), Span::from_millis(18), RcpPortParams::default_ns2(), 20_000);
    let engines = [
        Options::default(),
        Options { bytes: true, ..Options::default() },
        Options { binary_heap: true, ..Options::default() },
        Options { all_queued: true, ..Options::default() },
    ];
    let hashes = engines.map(|options| {
        let mut net = dumbbell(middle(), &[1, 9, 30].map(Span::from_millis), "rcp");
        (0..3).for_each(|i| net.flow(i, Time::from_millis(400 * i as u64), Some(2_000_000)));
        let mut sim = Simulation::new(&net.world.spec, 3, options).expect("a sound network");
        assert_eq!(sim.run_until(SECOND(100)).unwrap(), Status::FlowsEnded);
        assert!(sim.conservation().holds());
        sim.trace_hash()
    });
    assert_eq!(hashes, [hashes[0]; 4]);
}

/// When no flow sends, no port asks for a timer, and what it grants rises all the same.
#[test]
fn an_idle_network_is_quiet() {
    let params = RcpPortParams { gamma: 0.9, ..RcpPortParams::published() };
    let middle = granting(Rate::mbps(10), Span::from_millis(18), params);
    let mut net = dumbbell(middle, &[Span::from_millis(1); 2], "rcp");
    let bytes = Some(1000 * u64::from(MSS));
    net.flow(0, Time::ZERO, bytes);
    net.flow(1, SECOND(1000), bytes);
    let mut sim = net.run();
    sim.run_until(SECOND(30)).unwrap();
    let (events, fct) = (sim.events(), sim.flow(FlowId(0)).completed_at.unwrap());
    sim.run_until(SECOND(999)).unwrap();
    assert_eq!(sim.events(), events, "nothing happens in 969 s");
    assert_eq!(sim.run_until(SECOND(2000)).unwrap(), Status::FlowsEnded);
    let second = sim.flow(FlowId(1)).completed_at.unwrap().since(SECOND(1000));
    // The first began at a twentieth of the link; for the second the port had risen: 1.5 x 40 ms
    // and 998 packets at 9 Mbit/s.
    assert!(fct > Time::from_millis(2000), "{fct}");
    close_to(second.as_secs_f64(), 0.06 + 998.0 * WIRE_BYTES * 8.0 / 9e6, 0.003);
}

/// The client asks on its SYN, and the SYN-ACK answers: the sender has its rate when the handshake
/// is over.
#[test]
fn the_rate_comes_with_the_handshake() {
    let params = RcpPortParams { initial_share: 0.3, ..RcpPortParams::published() };
    let middle = granting(Rate::mbps(20), Span::from_millis(18), params);
    let mut net = dumbbell(middle, &[Span::from_millis(1)], "rcp");
    net.flow(0, Time::ZERO, None);
    let mut sim = net.run();
    sim.run_until(Time::from_millis(41)).unwrap();
    let view = sim.connection(FlowId(0), Role::Client).unwrap().view(0);
    // R0, for the SYN passed 1 ms after time 0, when the first interval had not ended.
    assert_eq!((view.pacing_rate, view.phase), (Some(Rate::mbps(6)), "granted"));
}

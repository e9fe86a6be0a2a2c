//! Cases made by hand in which a horizon that is too far, or an order that is wrong at one instant,
//! would show.

use forebay_base::{FlowId, NodeId, Rate, Span, Time};
use forebay_cc::{
    AckDemand, AckPolicy, AnyController, AnyFeedback, DatagramView, Feedback, Init, LossPolicy,
    Spec,
};
use forebay_net::{After, AppSchedule, NetEvent, NetSpec, TimeDistribution};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::reading::{Reading, assert_same, read};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};

pub fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("it is in the table").build(init)
}

/// Readings at each of `looks`, and the number of events that were handled ahead.
fn run(spec: &NetSpec, options: Options, looks: &[Time]) -> (Vec<Reading>, u64) {
    let mut sim = Simulation::new(spec, 1, options).expect("a sound network");
    let read_at = |&look: &Time| {
        sim.sample_not_before(look);
        let status = sim.run_until(look).unwrap();
        read(&sim, status, spec)
    };
    let readings = looks.iter().map(read_at).collect();
    (readings, sim.early_transit_events())
}

/// Readings of the simple engine, which those of the usual one must be, in one thread and in two.
fn same(spec: &NetSpec, looks: &[Time]) -> Vec<Reading> {
    let simple = Options { binary_heap: true, ..Options::default() };
    let (alone, _) = run(spec, simple, looks);
    for threads in [1, 2] {
        let (together, _) = run(spec, Options { threads, ..Options::default() }, looks);
        assert_same(&together, &alone, &format!("{threads} threads"));
    }
    alone
}

/// One timeout and a connection is dead.
pub fn hasty() -> TcpConfig {
    TcpConfig { initial_rto: Span::from_millis(10), max_retries: 1, ..PRESETS[0].config }
}

/// A flow whose ends have both given up after 60 ms. SYNs leave at 0 and 10 ms; the client is dead
/// at 30 ms. The server hears of it at 20 ms and answers; at 30 ms it answers the second SYN, which
/// restarts its timer, as every retransmission of the head does (Linux, tcp_check_req); its own
/// timeout is at 40 ms, and it is dead at 60 ms. Its answers are on the way for half a second.
pub fn add_doomed(world: &mut World, bytes: u64) {
    let (a, b) = (world.host("doomed"), world.host("deaf"));
    let way = |ms| link(Rate::mbps(1), Span::from_millis(ms), 100_000);
    world.join_with(a, b, way(20), way(500));
    let transport = world.transport("hasty", hasty(), newreno);
    world.flow((a, b), Time::ZERO, Some(bytes), transport);
}

/// One flow with much to send that gives up.
pub fn doomed() -> NetSpec {
    let mut world = World::new();
    add_doomed(&mut world, 10_000_000);
    world.spec
}

#[test]
fn a_run_ends_when_connections_give_up_however_much_they_had_to_send() {
    let readings = same(&doomed(), &[Time::from_secs(100)]);
    assert_eq!(readings[0].status, Status::FlowsEnded);
    // The answers of the server are still on the way.
    assert_eq!((readings[0].now, readings[0].conservation.4), (Time::from_millis(70), 3));
}

/// An endless flow that stops, and one that gives up.
pub fn stopped() -> NetSpec {
    let mut world = World::new();
    add_doomed(&mut world, 1_000);
    let (a, b) = (world.host("a"), world.host("b"));
    world.join(a, b, link(Rate::mbps(10), Span::from_millis(5), 1_000_000));
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, None, transport);
    let life = AppSchedule { stop: Some(Time::from_millis(60)), ..AppSchedule::default() };
    world.spec.flows[1].life = Some(Box::new(life));
    world.spec
}

/// It would have gone on for ever, and the answers of the server of another are still on the way.
#[test]
fn a_run_ends_when_an_endless_flow_stops() {
    let readings = same(&stopped(), &[Time::from_secs(100)]);
    assert_eq!(readings[0].status, Status::FlowsEnded);
    assert!(readings[0].now < Time::from_millis(200), "{}", readings[0].now);
    assert_eq!(readings[0].conservation.4, 3);
}

/// A flow whose second path is much faster than its first, and one that gives up.
pub fn two_paths() -> NetSpec {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    for mbps in [1, 1_000] {
        world.join(a, b, link(Rate::mbps(mbps), Span::from_millis(5), 1_000_000));
    }
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.multipath_flow((a, b), Some(400_000), transport, &[(0, 0), (1, 1)]);
    add_doomed(&mut world, 1_000);
    world.spec
}

/// What a flow has to send does not all go over its first path.
#[test]
fn a_run_ends_when_the_faster_path_has_carried_the_rest() {
    let readings = same(&two_paths(), &[Time::from_secs(100)]);
    assert_eq!(readings[0].status, Status::FlowsEnded);
    assert!(readings[0].now < Time::from_millis(500), "{}", readings[0].now);
}

/// On a wire with jitter what leaves in a later window may arrive earlier.
#[test]
fn what_comes_from_another_partition_may_be_overtaken() {
    let mut world = World::new();
    let (left, right) = (world.router("left"), world.router("right"));
    let far = |ms: u64| link(Rate::mbps(100), Span::from_millis(ms), 1_000_000);
    world.join(left, right, far(1));
    let mut shaken = far(2);
    shaken.wire.jitter = Span::from_millis(40);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    for i in 0..6 {
        let (a, b) = (world.host(&format!("a{i}")), world.host(&format!("b{i}")));
        world.join_with(a, left, far(2), shaken.clone());
        world.join_with(b, right, far(2), shaken.clone());
        world.flow((a, b), Time::from_millis(7 * i), Some(400_000), transport);
    }
    let looks = [300, 1_000, 20_000].map(Time::from_millis);
    let simple = Options { binary_heap: true, ..Options::default() };
    let (alone, _) = run(&world.spec, simple, &looks);
    for threads in 1..=8 {
        let (together, _) = run(&world.spec, Options { threads, ..Options::default() }, &looks);
        assert_same(&together, &alone, &format!("{threads} threads"));
    }
}

/// A flow whose first link becomes a thousand times as fast, and one that gives up.
pub fn faster() -> NetSpec {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let link = world.join(a, b, link(Rate::mbps(1), Span::from_millis(5), 1_000_000));
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(100_000), transport);
    add_doomed(&mut world, 1_000);
    world.event(Time::from_millis(400), NetEvent::Rate(link, Rate::mbps(1_000)));
    world.spec
}

/// 100 kB would have taken 0.8 s.
#[test]
fn a_run_ends_when_a_link_becomes_faster() {
    let readings = same(&faster(), &[Time::from_secs(100)]);
    assert_eq!(readings[0].status, Status::FlowsEnded);
    assert!(readings[0].now < Time::from_millis(500), "{}", readings[0].now);
    assert_eq!(readings[0].conservation.4, 3);
}

/// A flow that would start a second after the end of another, but has to stop before; and one that
/// gives up.
pub fn skipped() -> NetSpec {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    world.join(a, b, link(Rate::mbps(10), Span::from_millis(5), 1_000_000));
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(400_000), transport);
    world.flow((a, b), Time::ZERO, Some(1_000), transport);
    let think = TimeDistribution::Constant(Span::from_secs(1));
    let after = Some(After { flow: FlowId(0), think });
    let life = AppSchedule { after, stop: Some(Time::from_millis(600)), ..AppSchedule::default() };
    world.spec.flows[1].life = Some(Box::new(life));
    add_doomed(&mut world, 1_000);
    world.spec
}

#[test]
fn a_run_ends_when_a_flow_will_never_start() {
    let readings = same(&skipped(), &[Time::from_secs(100)]);
    assert_eq!(readings[0].status, Status::FlowsEnded);
    assert!(readings[0].now < Time::from_millis(500), "{}", readings[0].now);
    assert_eq!(readings[0].conservation.4, 3);
}

/// 1500 bytes take 1500 us and an ACK of 52 takes 52 us: with 724 us each way the ACK of a packet
/// comes at the very instant at which the packet after the next starts. Arrivals go first: what is
/// sent then echoes the time of that ACK.
#[test]
fn an_arrival_goes_before_the_interface_that_has_room_at_the_same_instant() {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    world.join(a, b, link(Rate::mbps(8), Span::from_micros(724), 1_000_000));
    let config = TcpConfig { ack_policy: AckPolicy::EveryPacket, ..PRESETS[0].config };
    let transport = world.transport("newreno", config, newreno);
    world.flow((a, b), Time::ZERO, Some(300_000), transport);
    let looks = [100, 10_000].map(Time::from_millis);
    let readings = same(&world.spec, &looks);
    assert_eq!(readings[1].status, Status::FlowsEnded);
}

/// When a run is found to be quiet: in steps of 1 ms, read at none of them.
fn quiet_at(spec: &NetSpec, options: Options) -> Time {
    let mut sim = Simulation::new(spec, 1, options).expect("a sound network");
    sim.sample_not_before(Time::from_secs(100));
    loop {
        let stop = sim.now() + Span::from_millis(1);
        if sim.run_until(stop).unwrap() == Status::Quiet {
            return sim.now();
        }
        assert!(stop < Time::from_secs(100), "it never is");
    }
}

fn unreachable_flow(world: &mut World) {
    let (a, b): (NodeId, NodeId) = (world.host("alone"), world.host("unheard"));
    let mut narrow = link(Rate::mbps(1), Span::from_millis(1), 100_000);
    narrow.wire.mtu_bytes = 50; // less than a SYN
    world.join(a, b, narrow);
    let transport = world.transport("hasty", hasty(), newreno);
    world.flow((a, b), Time::ZERO, Some(1), transport);
}

/// One flow never ends, for its server hears nothing; another ends at 4.2 s, and where its timer
/// was last armed for, 5 s, is later than all that the third does, which starts at 4.5 s.
#[test]
fn a_run_is_quiet_at_the_same_time() {
    let mut world = World::new();
    let quick = TcpConfig { min_rto: Span::from_millis(20), ..hasty() };
    let slow = TcpConfig { ecn: true, loss_policy: LossPolicy::DupThresh, ..PRESETS[0].config };
    for (config, start_ms, bytes) in [(slow, 0, 4_000_000), (quick, 4_500, 1_000)] {
        let (a, b) = (world.host("a"), world.host("b"));
        world.join(a, b, link(Rate::mbps(8), Span::from_millis(2), 100_000));
        let transport = world.transport("newreno", config, newreno);
        world.flow((a, b), Time::from_millis(start_ms), Some(bytes), transport);
    }
    unreachable_flow(&mut world);
    let simple = Options { binary_heap: true, ..Options::default() };
    let simple = quiet_at(&world.spec, simple);
    for threads in [1, 2] {
        let options = Options { threads, ..Options::default() };
        assert_eq!(quiet_at(&world.spec, options), simple, "in {threads} threads");
    }
}

/// A flow starts after 100 s, so that the run cannot end before; another has a link of its own
/// until then.
pub fn patient() -> NetSpec {
    let mut world = World::new();
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    for (start_s, bytes) in [(0, None), (100, Some(1_000))] {
        let (a, b) = (world.host("a"), world.host("b"));
        world.join(a, b, link(Rate::mbps(12), Span::from_millis(2), 100_000));
        world.flow((a, b), Time::from_secs(start_s), bytes, transport);
    }
    world.spec
}

#[test]
fn not_all_is_done_in_one_call() {
    let mut sim = Simulation::new(&patient(), 1, Options::default()).expect("a sound network");
    sim.sample_not_before(Time::from_secs(100));
    sim.run_until(Time::from_millis(100)).unwrap();
    // 1000 packets a second, as many times that the interface has room, and an ACK of every other
    // packet: of 1.1 s at most.
    let ahead = sim.early_transit_events();
    assert!((1_000..2_750).contains(&ahead), "{ahead} events");
}

/// A receiver that finds at every 50th datagram that its timer has been due for 3 ms.
#[derive(Default)]
struct Late {
    datagrams: u64,
    next: Option<Time>,
}

impl Feedback for Late {
    fn on_datagram(&mut self, now: Time, _: &DatagramView<'_>) -> AckDemand {
        self.datagrams += 1;
        if self.datagrams.is_multiple_of(50) {
            self.next = Some(Time::ZERO + now.since(Time::from_millis(3)));
        }
        AckDemand::Policy
    }
    fn next_timeout(&self) -> Option<Time> {
        self.next
    }
    fn on_timer(&mut self, _: Time) -> AckDemand {
        self.next = None;
        AckDemand::Now
    }
}

/// One flow to a [`Late`] receiver.
pub fn late() -> NetSpec {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    world.join(a, b, link(Rate::mbps(8), Span::from_millis(5), 100_000));
    // With ECN no connection takes the short way: what a socket is armed for stays after what it
    // waits for.
    let config = TcpConfig { ecn: true, ..PRESETS[0].config };
    let feedback = || AnyFeedback::Custom(Box::new(Late::default()));
    let transport = world.transport_with("newreno", config, newreno, feedback);
    world.flow((a, b), Time::ZERO, Some(3_000_000), transport);
    world.spec
}

/// The time of a host does not go back to what a machine says it should have been called at.
#[test]
fn a_time_that_has_passed_is_noticed_now() {
    same(&late(), &[Time::from_secs(100)]);
}

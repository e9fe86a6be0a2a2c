//! Flows that stop, write over time and follow others, against numbers by hand.

use forebay_base::{DropReason, FlowId, NodeId, Rate, Span, Time};
use forebay_cc::{AnyController, Init, Spec};
use forebay_net::{After, AppSchedule, TimeDistribution, Writing};
use forebay_sim::{FlowOutcome, Options, Simulation, Status};
use forebay_testkit::reading::{Reading, assert_same, read};
use forebay_testkit::world::{World, link};
use forebay_transport::{LINGER, PRESETS, Role, TcpConfig};

const CHUNK: u64 = 1_250;

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}
fn span(ms: u64) -> Span {
    Span::from_millis(ms)
}
/// Two hosts 10 ms apart; packets take next to no time on the wire.
fn pair() -> (World, (NodeId, NodeId), usize) {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    world.join(a, b, link(Rate::mbps(100_000), span(10), u64::MAX));
    let make = |init: Init| -> AnyController {
        Spec::by_name("newreno").expect("it is in the table").build(init)
    };
    let config = TcpConfig { initial_window_segments: 100, ..PRESETS[0].config };
    let transport = world.transport("newreno", config, make);
    (world, (a, b), transport)
}
fn add(world: &mut World, ends: (NodeId, NodeId), bytes: Option<u64>, life: AppSchedule) {
    world.flow(ends, Time::ZERO, bytes, 0);
    world.spec.flows.last_mut().expect("just added").life = Some(Box::new(life));
}
fn alone(life: AppSchedule, bytes: Option<u64>) -> World {
    let (mut world, ends, _) = pair();
    add(&mut world, ends, bytes, life);
    world
}
fn paced(periods: Option<[TimeDistribution; 2]>) -> Option<Writing> {
    // A chunk each 10 ms.
    Some(Writing { rate: Some(Rate::mbps(1)), chunk_bytes: CHUNK as u32, periods })
}
/// Bytes that the receiver has at each of `looks`, on the usual engine, which is that of the simple
/// one, and how the run ended.
fn received(world: &World, looks: &[Time]) -> (Vec<u64>, Vec<FlowOutcome>, Status) {
    let run = |options: Options| -> Vec<Reading> {
        let mut sim = Simulation::new(&world.spec, 1, options).expect("a sound network");
        let reading = |&look: &Time| {
            let status = sim.run_until(look);
            read(&sim, status.unwrap(), &world.spec)
        };
        looks.iter().map(reading).collect()
    };
    let mut readings = run(Options::default());
    let simple = run(Options { binary_heap: true, ..Options::default() });
    assert_same(&readings, &simple, "the simple engine");
    let bytes = readings.iter().map(|r| r.flows[0].received_bytes).collect();
    let last = readings.pop().expect("somebody looked");
    (bytes, last.flows, last.status)
}

#[test]
fn a_writer_of_a_rate_delivers_that_rate() {
    let life = AppSchedule { write: paced(None), ..AppSchedule::default() };
    // Chunk k is written at 10 k ms and there 10 ms later, those of the handshake after it at 30
    // ms.
    let looks = [29, 31, 41, 1_001, 9_999, 10_001].map(ms);
    let (bytes, flows, status) = received(&alone(life, None), &looks);
    let chunks: Vec<u64> = bytes.iter().map(|b| b / CHUNK).collect();
    assert_eq!(chunks, [0, 3, 4, 100, 999, 1_000]);
    assert_eq!((status, flows[0].completed_at), (Status::Running, None));
}

#[test]
fn a_writer_with_an_end_closes_behind_its_last_bytes() {
    let life = AppSchedule { write: paced(None), ..AppSchedule::default() };
    // Nine chunks and a half: the half is written at 90 ms.
    let (_, flows, status) = received(&alone(life, Some(9 * CHUNK + 625)), &[ms(1_000)]);
    assert_eq!((status, flows[0].received_bytes), (Status::FlowsEnded, 9 * CHUNK + 625));
    let done = flows[0].completed_at.expect("it has an end");
    assert!(done.since(ms(100)) < Span::from_micros(10), "{done}");
}

#[test]
fn periods_have_their_duty_cycle() {
    let periods = [span(100), span(300)].map(TimeDistribution::Constant);
    let life = AppSchedule { write: paced(Some(periods)), ..AppSchedule::default() };
    // Ten chunks in each 400 ms, the last of the first ten written at 90 ms.
    let looks = [101, 399, 411, 501, 4_001, 4_101, 40_001].map(ms);
    let (bytes, _, _) = received(&alone(life, None), &looks);
    let chunks: Vec<u64> = bytes.iter().map(|b| b / CHUNK).collect();
    assert_eq!(chunks, [10, 10, 11, 20, 100, 110, 1_000]);
}

#[test]
fn a_chunk_is_as_far_from_the_next_whatever_pauses_lie_between() {
    // Periods of 35 ms hold 4, 3, 4, 3 chunks: one each 10 ms of the time in which it writes.
    let periods = [span(35), span(65)].map(TimeDistribution::Constant);
    let life = AppSchedule { write: paced(Some(periods)), ..AppSchedule::default() };
    let looks = [99, 199, 299, 399, 10_000].map(ms);
    let (bytes, _, _) = received(&alone(life, None), &looks);
    let chunks: Vec<u64> = bytes.iter().map(|b| b / CHUNK).collect();
    assert_eq!(chunks, [4, 7, 11, 14, 350]);
}

#[test]
fn random_periods_have_the_mean_duty_cycle() {
    let periods =
        [TimeDistribution::Exponential(span(100)), TimeDistribution::Uniform(span(100), span(500))];
    let life = AppSchedule { write: paced(Some(periods)), ..AppSchedule::default() };
    let (bytes, _, _) = received(&alone(life, None), &[Time::from_secs(2_000)]);
    // 100 of 400 ms, 5000 times: the standard error of the share is 1.3 %.
    let share = bytes[0] as f64 * 8.0 / 1e6 / 2_000.0;
    assert!((share / 0.25 - 1.0).abs() < 0.04, "{share}");
}

#[test]
fn who_writes_without_a_rate_fills_the_link_in_its_periods_and_no_other() {
    let periods = [span(1_000), span(1_000)].map(TimeDistribution::Constant);
    let write = Some(Writing { rate: None, chunk_bytes: 1, periods: Some(periods) });
    let mut world = alone(AppSchedule { write, ..AppSchedule::default() }, None);
    // 125 packets a second and no loss: what stands in the queue when the period ends is delivered
    // after it.
    world.spec.links[0].channel = forebay_net::ChannelSpec::Constant(Rate::clamped(1_500_000));
    let looks = [900, 1_900, 1_990, 2_010, 2_900].map(ms);
    let (bytes, _, _) = received(&world, &looks);
    assert_eq!(bytes[1], bytes[2], "all had arrived, and nothing came");
    assert!(bytes[2] - bytes[0] >= 1_448 * 10);
    let goodput = (bytes[4] - bytes[3]) as f64 * 8.0 / 0.89;
    let full = 1.5e6 * 1_448.0 / 1_500.0;
    assert!((goodput / full - 1.0).abs() < 0.02, "{goodput} of {full}");
}

#[test]
fn what_was_written_when_a_flow_stops_is_delivered() {
    let life = AppSchedule { write: paced(None), stop: Some(ms(1_000)), ..AppSchedule::default() };
    let (bytes, flows, status) = received(&alone(life, None), &[ms(5_000)]);
    // The last chunk is that of 990 ms; FIN follows at 1 s, and completion is when the last byte
    // was there.
    assert_eq!((bytes[0], status), (100 * CHUNK, Status::FlowsEnded));
    let done = flows[0].completed_at.expect("it has stopped");
    assert!(done.since(ms(1_000)) < Span::from_micros(10), "{done}");
    let (_, ended) = flows[0].ended.expect("it has stopped");
    assert!(ended.since(ms(1_020)) < Span::from_micros(10), "{ended}");
    // An endless flow of no rate: what was sent by then, and no more.
    let life = AppSchedule { stop: Some(ms(35)), ..AppSchedule::default() };
    let (bytes, flows, _) = received(&alone(life, None), &[ms(5_000)]);
    // The window of a SYN is not scaled: 65535 bytes hold 45 segments, and the first ACK comes at
    // 40 ms.
    assert_eq!(bytes[0], 45 * 1_448);
    assert!(flows[0].completed_at.is_some());
    // A flow that was through before is not changed.
    let life = AppSchedule { stop: Some(ms(4_000)), ..AppSchedule::default() };
    let (bytes, flows, _) = received(&alone(life, Some(5_000)), &[ms(9_000)]);
    assert_eq!((bytes[0], flows[0].completed_at.is_some_and(|at| at < ms(40))), (5_000, true));
}

/// A round of 100 bytes takes two round trips of 20 ms from SYN to the last ACK; then the user
/// thinks.
fn chain(stop: Option<Time>, thinks: &[TimeDistribution]) -> World {
    let (mut world, ends, _) = pair();
    add(&mut world, ends, Some(100), AppSchedule::default());
    for (number, &think) in (0..).zip(thinks) {
        let after = Some(After { flow: FlowId(number), think });
        add(&mut world, ends, Some(100), AppSchedule { after, stop, ..AppSchedule::default() });
    }
    world
}
fn starts(flows: &[FlowOutcome]) -> Vec<Option<u64>> {
    flows.iter().map(|flow| flow.opened_at.map(|at| at.as_millis())).collect()
}

#[test]
fn a_chain_of_users_starts_when_hand_and_clock_say() {
    let thinks = [100, 0, 7].map(|n| TimeDistribution::Constant(span(n)));
    let (_, flows, status) = received(&chain(None, &thinks), &[Time::from_secs(5)]);
    assert_eq!(starts(&flows), [0, 140, 180, 227].map(Some));
    assert_eq!(status, Status::FlowsEnded);
    let fct = |flow: &FlowOutcome| flow.completed_at.unwrap().since(flow.opened_at.unwrap());
    assert!(flows.iter().all(|flow| fct(flow).saturating_sub(span(30)) < Span::from_micros(10)));
    // Each draws its own time to think, and the same in each run of a seed.
    let random = [TimeDistribution::Uniform(span(50), span(150)); 3];
    let (_, flows, _) = received(&chain(None, &random), &[Time::from_secs(5)]);
    let gaps: Vec<u64> = flows
        .windows(2)
        .map(|w| w[1].opened_at.unwrap().since(w[0].ended.unwrap().1).as_millis())
        .collect();
    assert!(gaps.iter().all(|gap| (50..=150).contains(gap)), "{gaps:?}");
    assert!(gaps[0] != gaps[1] && gaps[1] != gaps[2], "{gaps:?}");
}

#[test]
fn a_user_who_has_to_stop_starts_no_more() {
    // They would start at 0, 140, 280, 420 and 560 ms. The third stops before it is connected.
    let world = chain(Some(ms(290)), &[TimeDistribution::Constant(span(100)); 4]);
    let (_, flows, status) = received(&world, &[Time::from_secs(5)]);
    assert_eq!(starts(&flows), [Some(0), Some(140), Some(280), None, None]);
    let skipped: Vec<bool> = flows.iter().map(|flow| flow.skipped).collect();
    assert_eq!(skipped, [false, false, false, true, true]);
    assert_eq!((flows[1].received_bytes, flows[2].received_bytes), (100, 0));
    assert_eq!(status, Status::FlowsEnded, "nobody waits for those that never start");
    let mut sim = Simulation::new(&world.spec, 1, Options::default()).expect("a sound network");
    sim.run_until(Time::from_secs(5)).unwrap();
    // Connected at 300 ms, the third is over at 320 ms for its client and a little after 330 ms
    // for its server; the grid is 10 ms.
    assert_eq!(sim.now(), ms(340));
}

/// Flows one after the other over lossy links: of one pair of hosts, or each of its own.
fn one_after_the_other(flows: u64, own_hosts: bool) -> World {
    let mut world = World::new();
    let routers = [world.router("r"), world.router("s")];
    let wire = link(Rate::mbps(10), span(5), 100_000).with_wire(|wire| wire.loss = 0.2);
    world.join(routers[0], routers[1], wire);
    let make = |init: Init| -> AnyController {
        Spec::by_name("newreno").expect("it is in the table").build(init)
    };
    let transport = world.transport("newreno", PRESETS[0].config, make);
    let mut hosts = None;
    for flow in 0..flows {
        let mut pair = || {
            routers.map(|router| {
                let host = world.host(&format!("h{flow}-{}", router.0));
                world.join(host, router, link(Rate::mbps(10), span(1), 100_000));
                host
            })
        };
        let [a, b] = if own_hosts { pair() } else { *hosts.get_or_insert_with(pair) };
        world.flow((a, b), ms(100 * flow), Some(4_000), transport);
    }
    world
}

/// Connections are given back while others go on. Where the last ACK of a flow is lost, FINs come
/// after that: whoever is over answers them, and no engine shows when memory was given back.
#[test]
fn flows_that_are_over_are_given_back_and_go_on_answering() {
    const FLOWS: u64 = 300;
    let looks = [ms(7_000), ms(31_000), Time::from_secs(100_000)];
    for own_hosts in [false, true] {
        let world = one_after_the_other(FLOWS, own_hosts);
        let run = |options: Options| {
            let mut sim = Simulation::new(&world.spec, 1, options).expect("a sound network");
            let readings = looks.map(|look| {
                let status = sim.run_until(look).unwrap();
                let reading = read(&sim, status, &world.spec);
                // Without fast paths there are more events, and links count what leaves at a look.
                Reading { events: 0, links: Vec::new(), ..reading }
            });
            (readings, sim)
        };
        let (usual, sim) = run(Options::default());
        let others = [
            Options { binary_heap: true, ..Options::default() },
            Options { general: true, ..Options::default() },
            Options { bytes: true, ..Options::default() },
            Options { threads: 2, ..Options::default() },
        ];
        for (number, options) in others.into_iter().enumerate() {
            assert_same(&run(options).0, &usual, &format!("engine {number}"));
        }
        assert_eq!(sim.drops().count(DropReason::NoSocket), 0);
        let of = |id: u64| {
            [Role::Client, Role::Server]
                .map(|role| sim.connection(FlowId(id as u32), role).expect("it ended"))
        };
        let whole = (0..FLOWS).flat_map(of).filter(|end| end.open().is_some()).count();
        assert!(whole < 60, "{whole} connections are whole");
        // The ACK that answers a FIN is the one after the end.
        let ended = |id: u64| of(id).map(|end| end.progress().ended.expect("both have").1);
        let late = (0..FLOWS)
            .map(ended)
            .filter(|[client, server]| server.since(*client) > LINGER + span(20));
        let late = late.count();
        assert!(late > 10, "{late} FINs came late");
    }
}

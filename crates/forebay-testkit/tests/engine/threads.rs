//! A run in several threads is the run in one: the same packets at the same times, the same
//! outcomes of flows and links.

use forebay_base::{
    Addr, Arena, Endpoint, FlowId, IpVersion, LinkId, NodeId, Packet, PortId, Rate, Rng, Span,
    Stream, TcpFields, Time,
};
use forebay_cc::{AnyController, Init, Spec};
use forebay_net::{NetEvent, NetSpec};
use forebay_sim::{FewerThreads, Injection, Options, Simulation, Status};
use forebay_testkit::random_pool::{self, NetworkConditions};
use forebay_testkit::reading::{Reading, assert_same, read};
use forebay_testkit::tap::Tap;
use forebay_testkit::world::{World, link};
use forebay_testkit::{lives, random};
use forebay_transport::{PRESETS, Role, TcpConfig};
use forebay_wire::AddressPlan;
use std::time::Duration;

/// Run to each of `stops` and read; the number of threads that were used.
fn readings(spec: &NetSpec, seed: u64, options: Options, stops: &[Time]) -> (usize, Vec<Reading>) {
    let mut sim = Simulation::new(spec, seed, options).expect("a sound network");
    let readings = stops.iter().map(|&stop| {
        let status = sim.run_until(stop).unwrap();
        read(&sim, status, spec)
    });
    let readings = readings.collect();
    (sim.threads(), readings)
}

fn of_threads(threads: usize) -> Options {
    Options { threads, ..Options::default() }
}

#[test]
fn random_networks_do_not_show_their_threads() {
    let stops = [Time::from_millis(700), Time::from_nanos(2_345_678_901), Time::from_secs(20_000)];
    let mut used = [0; 5];
    for seed in 0..400 {
        let mut spec = random::scenario(seed);
        if seed % 2 == 1 {
            lives::give(&mut spec, seed);
        }
        let options = |threads| Options {
            bytes: seed % 7 == 1,
            binary_heap: seed % 7 == 2,
            all_queued: seed % 7 == 3,
            ..of_threads(threads)
        };
        let (one, alone) = readings(&spec, seed, options(1), &stops);
        assert_eq!((one, alone[2].status), (1, Status::FlowsEnded), "seed {seed}");
        for threads in [2, 3, 4] {
            let (threads, together) = readings(&spec, seed, options(threads), &stops);
            used[threads] += 1;
            assert_same(&together, &alone, &format!("seed {seed} in {threads} threads"));
        }
    }
    assert!(used[2] > 400 && used[3] > 200 && used[4] > 100, "{used:?}");
}

#[test]
fn networks_with_caches_and_detours_do_not_either() {
    let stops = [Time::from_millis(900), Time::from_secs(2_000)];
    for seed in 0..200 {
        let weather = if seed % 3 == 0 { NetworkConditions::Fair } else { NetworkConditions::Foul };
        let spec = random_pool::scenario(seed, weather);
        let options = |threads| Options { bytes: seed % 7 == 1, ..of_threads(threads) };
        let (_, alone) = readings(&spec, seed, options(1), &stops);
        for threads in [2, 3, 4] {
            let (_, together) = readings(&spec, seed, options(threads), &stops);
            assert_same(&together, &alone, &format!("{weather:?} {seed} in {threads} threads"));
        }
    }
}

/// Which of the two networks of a trial runs, and when that changes, depends on clocks; what a run
/// says does not. Here a coin decides in place of clocks, which stand still: so the trial never
/// ends by itself.
#[test]
fn a_run_may_change_between_threads_at_any_time() {
    const STOPS: u64 = 40;
    let stands_still = Some((|| Duration::ZERO) as _);
    let mut changes = [0; 4];
    for seed in 0..120 {
        let spec = if seed % 2 == 0 {
            random::scenario(seed)
        } else {
            random_pool::scenario(seed, NetworkConditions::Fair)
        };
        let end = {
            let mut sim = Simulation::new(&spec, seed, of_threads(1)).expect("a sound network");
            sim.run_until(Time::from_secs(2_000)).unwrap();
            sim.now()
        };
        // Read at each third of the stops; nothing is sampled before.
        let stop = |i: u64| Time::from_nanos(end.as_nanos() / STOPS * i + i);
        let mut read_all = |options: Options| {
            let threads = options.threads;
            let mut coins = Rng::new(seed, Stream::Test, 1);
            let mut sim = Simulation::new(&spec, seed, options).expect("a sound network");
            let mut readings = Vec::new();
            for i in 1..=STOPS {
                sim.sample_not_before(stop(i.next_multiple_of(3).min(STOPS)));
                let raced_to = Time::from_nanos(sim.now().as_nanos() / 8 * coins.below(9));
                if coins.below(4) == 0 && sim.take_over(raced_to) {
                    changes[threads] += 1;
                }
                let status = sim.run_until(stop(i)).unwrap();
                if i % 3 == 0 || i == STOPS {
                    readings.push(read(&sim, status, &spec));
                }
            }
            readings
        };
        let alone = read_all(of_threads(1));
        for threads in [2, 3] {
            let (wall_clock, cpu_clock) = (stands_still, stands_still);
            let options = Options { wall_clock, cpu_clock, ..of_threads(threads) };
            let together = read_all(options);
            assert_same(&together, &alone, &format!("seed {seed} in {threads} threads"));
        }
    }
    assert!(changes[1] == 0 && changes[2] > 500 && changes[3] > 500, "{changes:?}");
}

/// Hosts a and b, three routers between them, every link of `delay`; the middle links have the MTUs
/// given.
fn row(delay: Span, mtu_bytes: [u16; 2]) -> (World, [NodeId; 2]) {
    let mut world = World::new();
    let nodes =
        [world.host("a"), world.router("p"), world.router("q"), world.router("r"), world.host("b")];
    let rate = Rate::clamped(10_000_000);
    for (i, pair) in nodes.windows(2).enumerate() {
        let mut link = link(rate, delay, 40_000);
        link.wire.mtu_bytes = [1500, mtu_bytes[0], mtu_bytes[1], 1500][i];
        world.join(pair[0], pair[1], link);
    }
    (world, [nodes[0], nodes[4]])
}

fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("in the table").build(init)
}

/// Routers cut packets, some of the pieces again, and the pieces pass from part to part one by one.
#[test]
fn pieces_of_datagrams_pass_between_parts() {
    let (mut world, [a, b]) = row(Span::from_millis(2), [900, 400]);
    let config = TcpConfig { dont_fragment: false, ..PRESETS[0].config };
    let transport = world.transport("newreno", config, newreno);
    world.flow((a, b), Time::ZERO, Some(300_000), transport);
    world.flow((b, a), Time::from_millis(3), Some(100_000), transport);
    let stops = [Time::from_millis(60), Time::from_secs(60)];
    for bytes in [false, true] {
        let options = |threads| Options { bytes, ..of_threads(threads) };
        let (_, alone) = readings(&world.spec, 5, options(1), &stops);
        assert!(alone[1].conservation.1 > 300, "cut {} times", alone[1].conservation.1);
        for threads in [2, 3, 4, 5] {
            let (used, together) = readings(&world.spec, 5, options(threads), &stops);
            assert_eq!(used, threads);
            assert_same(&together, &alone, &format!("{threads} threads"));
        }
    }
}

#[test]
fn packets_from_outside_come_to_the_part_of_their_node() {
    let (mut world, [a, b]) = row(Span::from_millis(2), [1500, 1500]);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(50_000), transport);
    // A segment of a flow that no host knows, from the first address to the last.
    let bytes = |number: u32| {
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let fields = TcpFields { seq: number, ..TcpFields::default() };
        let packet = Packet::tcp(IpVersion::V4, end(0), end(1), fields, 100);
        let mut bytes = Vec::new();
        forebay_wire::emit(&packet, &Arena::default(), &AddressPlan::default(), &mut bytes)
            .expect("in the plan");
        bytes
    };
    let injections = || {
        let at = |node: u32| Time::from_nanos(100_000 * u64::from(5 - node));
        let mut list: Vec<Injection> = (1..4)
            .map(|n| Injection { at: at(n), node: NodeId(n), port: PortId(0), bytes: bytes(n) })
            .collect();
        list.sort_by_key(|injection| injection.at);
        list
    };
    let stops = [Time::from_nanos(350_000), Time::from_secs(9)];
    let options = |threads| Options { injections: injections(), ..of_threads(threads) };
    let (_, alone) = readings(&world.spec, 5, options(1), &stops);
    for threads in 2..=5 {
        let (used, together) = readings(&world.spec, 5, options(threads), &stops);
        assert_eq!(used, threads);
        assert_same(&together, &alone, &format!("{threads} threads"));
    }
}

#[test]
fn a_run_ends_on_a_grid_that_follows_from_its_links() {
    let end = |delay: Span| {
        let (mut world, [a, b]) = row(delay, [1500; 2]);
        let transport = world.transport("newreno", PRESETS[0].config, newreno);
        world.flow((a, b), Time::ZERO, Some(5_000), transport);
        let mut ends: Vec<Time> = [1, 2, 4]
            .map(|threads| {
                let mut sim = Simulation::new(&world.spec, 1, of_threads(threads)).expect("sound");
                assert_eq!(sim.run_until(Time::from_secs(100)).unwrap(), Status::FlowsEnded);
                let last = [Role::Client, Role::Server].map(|role| {
                    let connection = sim.connection(FlowId(0), role).expect("opened");
                    connection.progress().ended.expect("ended").1
                });
                let (last, end) = (last[0].max(last[1]), sim.now());
                assert!(end >= last && end.since(last) < Span::from_millis(10), "{last} {end}");
                // Again and again: it stays over.
                assert_eq!(sim.run_until(Time::from_secs(200)).unwrap(), Status::FlowsEnded);
                assert_eq!(sim.now(), end);
                end
            })
            .to_vec();
        ends.dedup();
        assert_eq!(ends.len(), 1, "{ends:?}");
        ends[0].as_nanos()
    };
    assert_eq!(end(Span::from_micros(3)) % 100_000, 0, "not finer than 100 us");
    assert_eq!(end(Span::from_micros(700)) % 700_000, 0);
    assert_eq!(end(Span::from_millis(30)) % 10_000_000, 0, "not coarser than 10 ms");
}

#[test]
fn networks_that_cannot_be_divided_say_so_and_run_all_the_same() {
    let status = |spec: &NetSpec, threads| {
        let mut sim = Simulation::new(spec, 1, of_threads(threads)).expect("a sound network");
        let status = sim.run_until(Time::from_secs(100)).unwrap();
        (status, sim.threads(), sim.fewer_threads(), sim.trace_hash())
    };
    let with_flow = |(mut world, [a, b]): (World, [NodeId; 2])| {
        let transport = world.transport("newreno", PRESETS[0].config, newreno);
        world.flow((a, b), Time::ZERO, Some(50_000), transport);
        world
    };
    let near = with_flow(row(Span::ZERO, [1500; 2]));
    let (ended, used, why, _) = status(&near.spec, 4);
    assert_eq!((ended, used, why), (Status::FlowsEnded, 1, Some(FewerThreads::Indivisible(1))));
    // No link may be cut, and none needs to be.
    let mut apart = near.clone();
    apart.router("lone");
    let (ended, used, why, hash) = status(&apart.spec, 2);
    assert_eq!((ended, used, why), (Status::FlowsEnded, 2, None));
    assert_eq!(hash, status(&near.spec, 1).3);
    // More threads than nodes.
    let far = with_flow(row(Span::from_millis(1), [1500; 2]));
    let (ended, used, why, hash) = status(&far.spec, 64);
    assert_eq!((ended, used, why), (Status::FlowsEnded, 5, Some(FewerThreads::Indivisible(5))));
    assert_eq!(hash, status(&far.spec, 1).3);
    let mut lone = World::new();
    lone.router("a");
    let (quiet, used, why, _) = status(&lone.spec, 2);
    assert_eq!((quiet, used, why), (Status::Quiet, 1, Some(FewerThreads::OneNode)));
    // One link without delay: its ends stay together. One that fails later: so do its.
    let mut mixed = far.clone();
    mixed.spec.links[2].wire.delay = Span::ZERO;
    mixed.event(Time::from_millis(20), NetEvent::Down(LinkId(4)));
    mixed.event(Time::from_millis(40), NetEvent::Up(LinkId(4)));
    let (ended, used, why, hash) = status(&mixed.spec, 5);
    assert_eq!((ended, used, why), (Status::FlowsEnded, 3, Some(FewerThreads::Indivisible(3))));
    assert_eq!(hash, status(&mixed.spec, 1).3);
    // Who looks on sees packets in their order.
    let observer = Some(Box::new(Tap::new(|_, _, _, _| ())) as _);
    let options = Options { observer, ..of_threads(3) };
    let sim = Simulation::new(&far.spec, 1, options).expect("a sound network");
    assert_eq!((sim.threads(), sim.fewer_threads()), (1, Some(FewerThreads::Observed)));
}

/// Flows that do not end, none at all, and a network that falls silent.
#[test]
fn runs_without_an_end_stop_where_they_are_told() {
    let (mut world, [a, b]) = row(Span::from_millis(1), [1500; 2]);
    let stops = [Time::from_nanos(12_345_678), Time::from_millis(50)];
    let compare = |world: &World, expected: Status| {
        let (_, alone) = readings(&world.spec, 1, of_threads(1), &stops);
        assert_eq!((alone[1].status, alone[1].now), (expected, stops[1]));
        for threads in [2, 5] {
            let (_, together) = readings(&world.spec, 1, of_threads(threads), &stops);
            assert_same(&together, &alone, &format!("{threads} threads"));
        }
    };
    compare(&world, Status::Quiet);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, None, transport);
    compare(&world, Status::Running);
}

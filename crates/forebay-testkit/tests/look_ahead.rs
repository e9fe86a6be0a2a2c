//! What is done before its time changes nothing that can be read: runs that look ahead against the simple engine, which does not.

use forebay_base::{IpVersion, NodeId, Rate, Rng, Span, Stream, Time};
use forebay_cc::{AnyController, Init, Spec, TABLE};
use forebay_net::{NetSpec, QueueSpec, SchemeSpec};
use forebay_queue::Limit;
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::reading::{Reading, assert_same, read};
use forebay_testkit::world::{World, link};
use forebay_testkit::{lives, random};
use forebay_transport::{PRESETS, TcpConfig};
use std::sync::atomic::{AtomicU64, Ordering};

/// A random network whose links all have known departures: nothing on them is lost, shaken or changed.
fn steady(seed: u64) -> NetSpec {
    let mut spec = random::scenario(seed);
    let mut rng = Rng::new(seed, Stream::Test, 7);
    spec.events.clear();
    for link in &mut spec.links {
        (link.loss, link.jitter) = (0.0, Span::ZERO);
        if let SchemeSpec::Rcp(_) = core::mem::take(&mut link.scheme) {
            link.queue = QueueSpec::DropTail(Limit::Bytes(1500 + rng.below(40_000)));
        }
    }
    spec
}

/// Many flows between hosts of their own on a row of routers, of any controller: most links have one feeder. In some the round trip
/// is longer than the first timeout: what was sent twice is still on its way when all flows have ended.
fn row(seed: u64) -> NetSpec {
    let mut rng = Rng::new(seed, Stream::Test, 8);
    let mut world = World::new();
    let routers: Vec<NodeId> = (0..4).map(|i| world.router(&format!("r{i}"))).collect();
    let far = if rng.chance(0.3) { 200 } else { 1 };
    // Where all times are multiples of one, much happens at the same instant.
    let round = rng.chance(0.4);
    let random_link = |rng: &mut Rng, mbps: u64| {
        let (rate, delay) = match round {
            true => (Rate::mbps(12), Span::from_millis(1 + rng.below(9)) * far),
            false => {
                let delay = Span::from_micros(20 + rng.below(9_000)) * far;
                (Rate::mbps(mbps * (1 + rng.below(4))), delay)
            }
        };
        let mut link = link(rate, delay, 1500 + rng.below(60_000));
        link.mtu_bytes = if rng.chance(0.1) { 900 } else { 1500 };
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
fn of_any_size(rng: &mut Rng, least: u64, most: u64) -> u64 {
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

/// What the others do not have, added to one of them: wires that shake and lose, hosts with many sockets or interfaces, pairs of hosts
/// on a link of their own, connections that give up, packets that no wire takes, IPv6.
fn odd(seed: u64) -> NetSpec {
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
        let mut spec = match round {
            true => link(Rate::mbps(8), Span::from_micros(100 + rng.below(1_500)), 100_000),
            false => {
                let delay = Span::from_nanos(20_000 + of_any_size(rng, 12, 29));
                link(Rate::mbps(1 + rng.below(20)), delay, 1_500 + rng.below(60_000))
            }
        };
        if rng.chance(0.1) {
            spec.mtu_bytes = [50, 60, 576, 1_280][rng.below(4) as usize];
        }
        if rng.chance(0.1) {
            spec.jitter = Span::from_millis(rng.below(30));
        }
        if rng.chance(0.1) {
            spec.loss = rng.unit() * 0.2;
        }
        if rng.chance(0.1) {
            spec.delay = spec.delay * 100;
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

/// Times to look at: rising, some close together, and one far away.
fn random_looks(spec: &NetSpec, seed: u64) -> Vec<Time> {
    let mut rng = Rng::new(seed, Stream::Test, 11);
    let mut at = Time::ZERO;
    let mut looks: Vec<Time> = (0..1 + rng.below(40))
        .map(|_| {
            at += Span::from_nanos(1 + of_any_size(&mut rng, 14, 29));
            at
        })
        .collect();
    let endless = spec.flows.iter().any(|flow| flow.bytes.is_none() && flow.stop().is_none());
    looks.push(at + Span::from_secs(if endless { 1 + rng.below(4) } else { 1 << rng.below(12) }));
    looks
}

fn odd_networks_do_not_show_it(seeds: std::ops::Range<u64>) {
    let next = AtomicU64::new(seeds.start);
    let (ahead, all, ended) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let check = |seed: u64| {
        let mut spec = odd(seed);
        if seed % 3 == 2 {
            lives::give(&mut spec, seed);
        }
        let looks = random_looks(&spec, seed);
        let (_, one_by_one) = readings(&spec, seed, simple(), &looks);
        for threads in [1, 2 + seed as usize % 3] {
            let options = Options { threads, ..Options::default() };
            let (early, run) = readings(&spec, seed, options, &looks);
            let context = format!("seed {seed} in {threads} threads");
            assert_same(&run.readings, &one_by_one.readings, &context);
            assert_eq!(run.statuses, one_by_one.statuses, "{context}");
            ahead.fetch_add(early, Ordering::Relaxed);
            all.fetch_add(run.readings[looks.len() - 1].events, Ordering::Relaxed);
        }
        let last = &one_by_one.readings[looks.len() - 1];
        ended.fetch_add(u64::from(last.status != Status::Running), Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    check(seed);
                }
            });
        }
    });
    let (ahead, all, ended) = (ahead.into_inner(), all.into_inner(), ended.into_inner());
    assert!(8 * ahead > all, "{ahead} of {all} events were handled ahead");
    assert!(3 * ended > seeds.end - seeds.start, "{ended} runs came to their end");
}

struct Run {
    readings: Vec<Reading>,
    statuses: Vec<(Status, Time)>,
}

/// Read at each of `looks`, and how each stretch ended. Between them the run stops elsewhere, as a driver does that asks whether it is still wanted.
fn readings(spec: &NetSpec, seed: u64, options: Options, looks: &[Time]) -> (u64, Run) {
    let mut sim = Simulation::new(spec, seed, options).expect("a sound network");
    let mut rng = Rng::new(seed, Stream::Test, 9);
    let (mut readings, mut statuses) = (Vec::new(), Vec::new());
    for &look in looks {
        sim.look_not_before(look);
        let left = look.since(sim.now()).as_nanos();
        for stretch in 1..=rng.below(4) {
            let stop = sim.now() + Span::from_nanos(rng.below(left / (2 * stretch) + 1));
            statuses.push((sim.run_until(stop.min(look)).unwrap(), sim.now()));
        }
        let status = sim.run_until(look).unwrap();
        readings.push(read(&sim, status, spec));
    }
    (sim.look_ahead_events(), Run { readings, statuses })
}

fn simple() -> Options {
    Options { binary_heap: true, ..Options::default() }
}

#[test]
fn looking_ahead_changes_nothing() {
    let usual = [137, 400, 1_000, 1_700, 2_346, 9_000].map(Time::from_millis);
    let far = [2_000, 5_000, 9_000, 100_000].map(Time::from_millis);
    let (mut ahead, mut all, mut ended) = (0, 0, 0);
    for seed in 0..600 {
        let mut spec = if seed % 2 == 0 { steady(seed) } else { row(seed) };
        if seed % 3 == 2 {
            lives::give(&mut spec, seed);
        }
        let is_far = spec.links.iter().any(|link| link.delay > Span::from_millis(100));
        let looks: &[Time] = if is_far { &far } else { &usual };
        let (none, one_by_one) = readings(&spec, seed, simple(), looks);
        assert_eq!(none, 0, "the simple engine looks at nothing ahead");
        for threads in [1, 1 + seed as usize % 3] {
            let options = Options { threads, ..Options::default() };
            let (early, run) = readings(&spec, seed, options, looks);
            let context = format!("seed {seed} in {threads} threads");
            assert_same(&run.readings, &one_by_one.readings, &context);
            assert_eq!(run.statuses, one_by_one.statuses, "{context}");
            ahead += early;
            all += run.readings[looks.len() - 1].events;
        }
        ended += u32::from(one_by_one.readings[looks.len() - 1].status == Status::FlowsEnded);
    }
    assert!(3 * ahead > all, "{ahead} of {all} events were handled ahead");
    assert!(ended > 200, "{ended} runs came to their end");
}

#[test]
fn odd_networks_do_not_show_what_was_done_ahead() {
    odd_networks_do_not_show_it(0..500);
}

#[test]
#[ignore = "the long form: minutes"]
fn fifty_thousand_odd_networks_do_not_either() {
    odd_networks_do_not_show_it(0..50_000);
}

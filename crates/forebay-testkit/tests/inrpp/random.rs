//! Random INRPP networks: every flow finishes, every packet is accounted for, and where caches have
//! the margin of the paper's rule nothing is dropped from them. 10 000 here, 200 000 with
//! `--ignored`.

use forebay_base::{DropReason, FlowId, Time};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::random_pool::{NetworkConditions, scenario};
use forebay_transport::EndCause;
use std::sync::atomic::{AtomicU64, Ordering};

/// Enough for the worst of backed-off timers; a flow that needs more has stalled.
const LIMIT: Time = Time::from_secs(2_000);

fn run(seed: u64, weather: NetworkConditions, options: Options) -> Simulation {
    let spec = scenario(seed, weather);
    let mut sim = Simulation::new(&spec, seed, options).expect("a sound network");
    let status = sim.run_until(LIMIT).unwrap();
    for (i, flow) in spec.flows.iter().enumerate() {
        let outcome = sim.flow(FlowId(i as u32));
        let context = || format!("{weather:?} {seed}, flow {i} {flow:?}: {outcome:?}");
        assert!(outcome.completed_at.is_some(), "did not finish: {}", context());
        assert_eq!(Some(outcome.received_bytes), flow.bytes, "{}", context());
        assert!(matches!(outcome.ended, Some((EndCause::Finished, _))), "{}", context());
    }
    assert_eq!(status, Status::FlowsEnded, "{weather:?} {seed}");
    let conservation = sim.conservation();
    assert!(conservation.holds(), "{weather:?} {seed}: {conservation:?}");
    if weather == NetworkConditions::Fair {
        let lost: u64 =
            (0..spec.flows.len() as u32).map(|i| sim.flow(FlowId(i)).sender.retransmits).sum();
        let dropped = sim.drops().count(DropReason::CacheFull);
        assert_eq!((dropped, lost), (0, 0), "{weather:?} {seed}");
    }
    sim
}

fn sweep(seeds: std::ops::Range<u64>, weather: NetworkConditions) {
    let next = AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    run(seed, weather, Options::default());
                }
            });
        }
    });
}

#[test]
fn ten_thousand_networks_in_foul_weather_finish() {
    sweep(0..10_000, NetworkConditions::Foul);
}

#[test]
fn with_the_margin_of_the_rule_no_cache_drops_and_nothing_is_sent_twice() {
    sweep(0..2_000, NetworkConditions::Fair);
}

#[test]
#[ignore = "the long form: minutes"]
fn two_hundred_thousand_networks_finish() {
    sweep(0..200_000, NetworkConditions::Foul);
    sweep(0..200_000, NetworkConditions::Fair);
}

#[test]
fn engine_and_bytes_make_no_difference() {
    for seed in 0..60 {
        for weather in [NetworkConditions::Foul, NetworkConditions::Fair] {
            let hash = |options| run(seed, weather, options).trace_hash();
            let plain = hash(Options::default());
            let bytes = hash(Options { bytes: true, ..Options::default() });
            let binary = hash(Options { binary_heap: true, ..Options::default() });
            let queued = hash(Options { all_queued: true, ..Options::default() });
            assert_eq!([bytes, binary, queued], [plain; 3], "{weather:?} {seed}");
        }
    }
}

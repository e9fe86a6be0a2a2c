//! Random small scenarios finish every flow, conserve every packet and never stall; 10 000 here, 200 000 with `--ignored`.

use forebay_base::{FlowId, Time};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::random;
use forebay_transport::EndCause;

/// Enough for the worst of backed-off timers; a flow that needs more has stalled.
const LIMIT: Time = Time::from_secs(20_000);

fn run(seed: u64, options: Options) -> u64 {
    let spec = random::scenario(seed);
    let mut sim = Simulation::new(&spec, seed, options).expect("a sound network");
    let status = sim.run_until(LIMIT);
    for (i, flow) in spec.flows.iter().enumerate() {
        let outcome = sim.flow(FlowId(i as u32));
        let context = || format!("seed {seed}, flow {i} {flow:?}: {outcome:?}");
        assert!(outcome.completed_at.is_some(), "did not finish: {}", context());
        assert_eq!(Some(outcome.received_bytes), flow.bytes, "{}", context());
        assert!(matches!(outcome.ended, Some((EndCause::Finished, _))), "{}", context());
    }
    assert_eq!(status, Status::FlowsEnded, "seed {seed}");
    let conservation = sim.conservation();
    assert!(conservation.holds(), "seed {seed}: {conservation:?}");
    sim.trace_hash()
}

fn sweep(seeds: std::ops::Range<u64>) {
    let next = std::sync::atomic::AtomicU64::new(seeds.start);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    run(seed, Options::default());
                }
            });
        }
    });
}

#[test]
fn ten_thousand_random_scenarios_finish() {
    sweep(0..10_000);
}

#[test]
#[ignore = "the long form: minutes"]
fn two_hundred_thousand_random_scenarios_finish() {
    sweep(0..200_000);
}

#[test]
fn engine_and_bytes_make_no_difference() {
    for seed in 0..60 {
        let plain = run(seed, Options::default());
        let bytes = run(seed, Options { bytes: true, ..Options::default() });
        let binary = run(seed, Options { binary_heap: true, ..Options::default() });
        let queued = run(seed, Options { all_queued: true, ..Options::default() });
        assert_eq!([bytes, binary, queued], [plain; 3], "seed {seed}");
    }
}

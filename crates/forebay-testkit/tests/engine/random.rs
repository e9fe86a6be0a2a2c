//! Random small scenarios finish every flow, conserve every packet and never stall; 10 000 here,
//! 200 000 with `--ignored`.

use forebay_base::{DropReason, FlowId, Time};
use forebay_sim::{Options, PacketEvent, Simulation, Status};
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::{lives, random};
use forebay_transport::EndCause;

/// Enough for the worst of backed-off timers; a flow that needs more has stalled.
const LIMIT: Time = Time::from_secs(20_000);

fn run(seed: u64, options: Options) -> u64 {
    finish(seed, options).trace_hash()
}

fn finish(seed: u64, options: Options) -> Simulation {
    let mut spec = random::scenario(seed);
    if seed % 3 == 2 {
        lives::give(&mut spec, seed);
    }
    let mut sim = Simulation::new(&spec, seed, options).expect("a sound network");
    let status = sim.run_until(LIMIT).unwrap();
    for (i, flow) in spec.flows.iter().enumerate() {
        let outcome = sim.flow(FlowId(i as u32));
        let context = || format!("seed {seed}, flow {i} {flow:?}: {outcome:?}");
        assert!(lives::has_delivered(flow, &outcome), "did not finish: {}", context());
        let finished = matches!(outcome.ended, Some((EndCause::Finished, _)));
        assert!(finished || outcome.skipped, "{}", context());
    }
    assert_eq!(status, Status::FlowsEnded, "seed {seed}");
    let conservation = sim.conservation();
    assert!(conservation.holds(), "seed {seed}: {conservation:?}");
    sim
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

/// Every packet that is made and every one that is dropped is shown, once, and looking on changes
/// nothing.
#[test]
fn an_observer_sees_each_beginning_and_each_drop() {
    let mut reasons = [0; DropReason::ALL.len()];
    for seed in 0..300 {
        let (drops, sent) = (Notes::default(), Notes::default());
        let (dropped, made) = (drops.clone(), sent.clone());
        let tap = Tap::new(move |_, event, _, _| match event {
            PacketEvent::Dropped(_, reason) => dropped.push(reason),
            PacketEvent::Sent(node) => made.push(node),
            _ => {}
        });
        let sim = finish(seed, Options { observer: Some(Box::new(tap)), ..Options::default() });
        assert_eq!(sim.trace_hash(), run(seed, Options::default()), "seed {seed}");
        assert_eq!(sent.read().len() as u64, sim.conservation().sent, "seed {seed}");
        for &reason in DropReason::ALL {
            let shown = drops.read().iter().filter(|&&r| r == reason).count() as u64;
            assert_eq!(shown, sim.drops().count(reason), "seed {seed}: {reason:?}");
            reasons[reason as usize] += shown;
        }
    }
    use DropReason::{Full, LinkDown, Loss, NodeRestart};
    assert!([Full, LinkDown, Loss, NodeRestart].iter().all(|&r| reasons[r as usize] > 0));
}

//! No flow starves, whichever came first, however many bottlenecks it crosses.

use forebay_base::{FlowId, Span, Time};
use forebay_sim::{Options, Simulation};
use forebay_testkit::random_crowd::crowd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Round trips after which a flow has its place, and over which it is looked at.
const ROUND_TRIPS: u64 = 20;
/// In fewer packets than that a turn more or less counts.
const FEWEST_PACKETS: f64 = 20.0;
/// Wire bytes per payload byte.
const WIRE: f64 = 1496.0 / 1446.0;

/// The worst flow in the worst window.
struct Worst {
    seed: u64,
    flow: usize,
    until: Time,
    /// What it had there of its max-min share, and of its turns.
    of_share: f64,
    of_turns: f64,
}

impl std::fmt::Debug for Worst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Worst { seed, flow, until, of_share, of_turns } = self;
        write!(f, "seed {seed}, flow {flow}, until {until:?}: {of_share:.2} of its share, ")?;
        write!(f, "{of_turns:.2} of its turns")
    }
}

/// What of its share the worst flow had in the worst window.
fn worst(seed: u64) -> Worst {
    let crowd = crowd(seed);
    let mut sim = Simulation::new(&crowd.spec, seed, Options::default()).expect("sound");
    let window = |flow: usize| {
        let packets = Span::from_secs_f64(FEWEST_PACKETS * 1500.0 * 8.0 / crowd.shares_bps[flow]);
        (crowd.rtts[flow] * ROUND_TRIPS).max(packets)
    };
    let longest = (0..crowd.rtts.len()).map(window).max().expect("flows");
    let from = crowd.last_start + longest;
    // Windows of each flow, one after the other, two of the longest.
    let (until, all) = (Time::ZERO, f64::INFINITY);
    let mut worst = Worst { seed, flow: 0, until, of_share: all, of_turns: all };
    let mut marks: Vec<(Time, usize)> = Vec::new();
    for flow in (0..crowd.pooled.len()).filter(|&f| crowd.pooled[f]) {
        let ends = (0..).map(|n| from + window(flow) * n);
        marks.extend(ends.take_while(|&at| at <= from + longest * 2).map(|at| (at, flow)));
    }
    marks.sort();
    let mut before = vec![None; crowd.pooled.len()];
    for (at, flow) in marks {
        sim.run_until(at).unwrap();
        let outcome = sim.flow(FlowId(flow as u32));
        let received = outcome.received_bytes;
        // A handshake that is lost is repeated after a second: then it comes later.
        let there = outcome.established_at.is_some_and(|since| since + window(flow) * 2 <= at);
        let before = before[flow].replace(received).filter(|_| there);
        if let Some(before) = before {
            let bps = (received - before) as f64 * 8.0 * WIRE / window(flow).as_secs_f64();
            let of_share = bps / crowd.shares_bps[flow];
            if of_share < worst.of_share {
                let of_turns = bps / crowd.turns_bps[flow];
                worst = Worst { seed, flow, until: at, of_share, of_turns };
            }
        }
    }
    assert!(sim.conservation().holds(), "{seed}");
    worst
}

/// The networks in which a flow has less than half of its share.
fn below_half(seeds: std::ops::Range<u64>) -> Vec<Worst> {
    let (next, found) = (AtomicU64::new(seeds.start), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let worst = worst(seed);
            if worst.of_share < 0.5 {
                found.lock().unwrap().push(worst);
            }
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|worst| worst.seed);
    found
}

#[test]
fn every_flow_has_half_of_its_share_at_least() {
    let found = below_half(0..2_000);
    assert!(found.is_empty(), "{found:#?}");
}

/// A flow has its turns at least, and no more for as long as caches further on fill: who has less
/// there takes his turn at each link all the same, until those caches have passed S_high and
/// somebody asks him. In 2227 flow 4 crosses one link of 2.1 Mbit/s with five others, all of which
/// have 1.1 Mbit/s for seven flows two links on. The cache between takes 1.5 s to fill up to S_high
/// with what they have too much; flow 4 has a sixth of its link until then, and from then on what
/// they leave of it, 1.3 Mbit/s. In 6136 two such caches fill one after the other.
const EXCEPTIONS: [u64; 2] = [2227, 6136];

#[test]
#[ignore = "the long form"]
fn no_flow_of_ten_thousand_networks_starves() {
    let found = below_half(0..10_000);
    let seeds: Vec<u64> = found.iter().map(|worst| worst.seed).collect();
    assert_eq!(seeds, EXCEPTIONS, "{found:#?}");
    // A packet more or less of the fewest in a window.
    let least = 1.0 - 1.0 / FEWEST_PACKETS;
    assert!(found.iter().all(|worst| worst.of_turns >= least), "{found:#?}");
}

//! What is done before its time changes nothing that can be read: runs that look ahead against the
//! simple engine, which does not.

use super::networks::{odd, of_any_size, row, steady};
use forebay_base::{Rng, Span, Stream, Time};
use forebay_net::NetSpec;
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::lives;
use forebay_testkit::reading::{Reading, assert_same, read};
use std::sync::atomic::{AtomicU64, Ordering};

/// Times to look at: rising, some close together, and one far away.
pub fn random_looks(spec: &NetSpec, seed: u64) -> Vec<Time> {
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

pub struct Run {
    pub readings: Vec<Reading>,
    statuses: Vec<(Status, Time)>,
}

/// Read at each of `looks`, and how each stretch ended. Between them the run stops elsewhere, as a
/// driver does that asks whether it is still wanted.
pub fn readings(spec: &NetSpec, seed: u64, options: Options, looks: &[Time]) -> (u64, Run) {
    let mut sim = Simulation::new(spec, seed, options).expect("a sound network");
    let mut rng = Rng::new(seed, Stream::Test, 9);
    let (mut readings, mut statuses) = (Vec::new(), Vec::new());
    for &look in looks {
        sim.sample_not_before(look);
        let left = look.since(sim.now()).as_nanos();
        for stretch in 1..=rng.below(4) {
            let stop = sim.now() + Span::from_nanos(rng.below(left / (2 * stretch) + 1));
            statuses.push((sim.run_until(stop.min(look)).unwrap(), sim.now()));
        }
        let status = sim.run_until(look).unwrap();
        readings.push(read(&sim, status, spec));
    }
    (sim.early_transit_events(), Run { readings, statuses })
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
        let is_far = spec.links.iter().any(|link| link.wire.delay > Span::from_millis(100));
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

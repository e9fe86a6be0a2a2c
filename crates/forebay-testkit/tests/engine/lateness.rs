//! Packets that leave late, as at a busy machine.

use forebay_base::{Span, Time};
use forebay_net::{Buckets, Lateness, NetEvent, NetSpec};
use forebay_sim::{Conservation, Options, Simulation};
use forebay_testkit::random;

const NETWORKS: u64 = 100;

/// Up to a time that no delay of the network moves.
fn run(spec: &NetSpec, seed: u64, options: Options) -> (u64, Conservation) {
    let mut simulation = Simulation::new(spec, seed, options).expect("a sound network");
    simulation.run_until(Time::from_secs(3)).expect("it conserves packets");
    (simulation.trace_hash(), simulation.conservation())
}

/// With this lateness on every third link.
fn late(spec: &NetSpec, late: &Lateness) -> NetSpec {
    let mut spec = spec.clone();
    spec.links.iter_mut().step_by(3).for_each(|link| link.wire.late = Some(late.clone()));
    spec
}

/// Packets that are all late by the same arrive as over a longer link.
#[test]
fn constant_lateness_is_a_longer_delay() {
    let by = Span::from_micros(50);
    let mut others = 0;
    for seed in 0..NETWORKS {
        let mut spec = random::scenario(seed);
        // It would take the place of the longer delay.
        spec.events.retain(|event| !matches!(event.event, NetEvent::Delay(..)));
        let mut longer = spec.clone();
        longer.links.iter_mut().step_by(3).for_each(|link| link.wire.delay += by);
        let expected = run(&longer, seed, Options::default());
        let found = run(&late(&spec, &Lateness::Constant(by)), seed, Options::default());
        assert_eq!(found, expected, "network {seed}");
        others += u64::from(found != run(&spec, seed, Options::default()));
    }
    assert!(others > NETWORKS * 9 / 10, "lateness changes {others} of {NETWORKS} networks");
}

/// The fast paths compute arrivals ahead of time: none may overlook a lateness that is drawn.
#[test]
fn random_lateness_is_the_same_in_every_engine() {
    let us = Span::from_micros;
    let buckets = Buckets::new([(us(1), us(60), 990), (us(1_000), us(4_000), 10)]);
    let all = [
        Lateness::Exponential(Span::from_micros(400)),
        Lateness::Recorded(buckets.expect("sound buckets")),
    ];
    for seed in 0..NETWORKS {
        let spec = late(&random::scenario(seed), &all[seed as usize % 2]);
        let expected = run(&spec, seed, Options { general: true, ..Options::default() });
        for threads in [1, 2] {
            let found = run(&spec, seed, Options { threads, ..Options::default() });
            assert_eq!(found, expected, "network {seed}, {threads} threads");
        }
    }
}

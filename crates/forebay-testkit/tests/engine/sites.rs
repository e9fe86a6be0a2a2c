//! A network in several places, joined by wires that are late and lose: the same inputs give the
//! same run, whatever the turns in which they come.

use forebay_base::{NodeId, Rng, Span, Stream, Time};
use forebay_net::{NetSpec, Place};
use forebay_sim::{
    Conservation, Input, Options, PacketEvent, RecordedSite, Recording, Simulation, Status,
    TraceSum,
};
use forebay_testkit::places::{Inputs, Outcome, again, live_over, places, site};
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::{lives, random};

/// Run all places to `end` with turns of random length; what leaves one comes to the other up to
/// 3 ms late, or never. The inputs of each, and what it did.
fn live(spec: &NetSpec, seed: u64, places: &[Place], end: Time) -> (Vec<Inputs>, Vec<Outcome>) {
    live_over(spec, seed, places, end, |_, _| ())
}

fn spec(seed: u64) -> NetSpec {
    let mut spec = random::scenario(seed);
    if seed % 3 == 2 {
        lives::give(&mut spec, seed);
    }
    spec
}

#[test]
fn the_same_inputs_in_other_turns_are_the_same_run() {
    let mut crossed = 0;
    for seed in 0..1_000 {
        let spec = spec(seed);
        let places = places(&spec, &mut Rng::new(seed, Stream::Test, 92));
        let end = Time::from_secs(3);
        let (inputs, outcomes) = live(&spec, seed, &places, end);
        for ((place, inputs), outcome) in places.iter().zip(&inputs).zip(&outcomes) {
            assert!(outcome.conservation.holds(), "seed {seed}: {outcome:?}");
            crossed += inputs.len();
            for turns in 0..3 {
                let again = again(&spec, seed, place, inputs, end, turns);
                assert_eq!(&again, outcome, "seed {seed}, {place:?}, turns {turns}");
            }
        }
    }
    assert!(crossed > 50_000, "only {crossed} packets crossed");
}

/// A recorded run as a whole: all places in one simulation, with and without an observer.
#[test]
fn a_recording_is_a_simulation() {
    let (mut running, mut arrived) = (0, 0);
    for seed in 0..300 {
        let spec = spec(seed);
        let places = places(&spec, &mut Rng::new(seed, Stream::Test, 92));
        let until = Time::from_secs(1);
        let (inputs, outcomes) = live(&spec, seed, &places, until);
        for observed in [false, true] {
            let sites = places.iter().zip(&inputs).map(|(place, inputs)| {
                let mut inputs = inputs.clone();
                inputs.sort_by_key(|(at, ..)| *at);
                let inputs = inputs.into_iter().map(|(at, link, bytes)| Input { at, link, bytes });
                RecordedSite { place: place.clone(), inputs: Box::new(inputs) }
            });
            let recording =
                Some(Recording { sites: sites.collect(), foreign: Vec::new(), until, real: None });
            let count = Notes::default();
            let seen = count.clone();
            let tap = Tap::new(move |_, event, _, _| {
                if let PacketEvent::Arrived(_) = event {
                    seen.push(());
                }
            });
            let observer = observed.then(|| Box::new(tap) as _);
            let options = Options { recording, observer, ..Options::default() };
            let mut sim = Simulation::new(&spec, seed, options).expect("a sound network");
            if sim.run_until(Time::MAX).expect("conserved") == Status::FlowsEnded
                && sim.now() < until
            {
                continue; // what came after the last end is not in it
            }
            running += 1;
            arrived += count.read().len();
            let mut arrivals = TraceSum::default();
            outcomes.iter().for_each(|outcome| arrivals.add(outcome.arrivals));
            assert_eq!(sim.trace_hash(), arrivals.finish(), "seed {seed}");
            let all = outcomes.iter().map(|outcome| outcome.conservation);
            assert_eq!(Some(sim.conservation()), all.reduce(Conservation::with), "seed {seed}");
        }
    }
    assert!(running > 200 && arrived > 10_000, "{running} runs, {arrived} arrivals");
}

/// A different time of one input shows in the hash.
#[test]
fn one_nanosecond_shows() {
    let end = Time::from_secs(3);
    let found = (0..100).find_map(|seed| {
        let spec = spec(seed);
        let places = places(&spec, &mut Rng::new(seed, Stream::Test, 92));
        let (inputs, outcomes) = live(&spec, seed, &places, end);
        let busy = inputs.iter().position(|inputs| inputs.len() > 10)?;
        Some((seed, spec, places, inputs, outcomes, busy))
    });
    let (seed, spec, places, mut inputs, outcomes, busy) = found.expect("packets cross");
    let last = inputs[busy].iter().map(|(at, ..)| *at).max().expect("some");
    let input = inputs[busy].iter_mut().find(|(at, ..)| *at == last).expect("just seen");
    input.0 += Span::from_nanos(1);
    let again = again(&spec, seed, &places[busy], &inputs[busy], end, 0);
    assert_ne!(again.hash, outcomes[busy].hash);
}

/// One place with all nodes is the simulation.
#[test]
fn one_place_with_all_nodes_is_the_simulation() {
    for seed in 0..300 {
        let spec = spec(seed);
        let end = Time::from_secs(3);
        let nodes = (0..spec.nodes.len() as u32).map(NodeId).collect();
        let mut here = site(&spec, seed, &Place { nodes, ..Place::default() });
        let mut sim = Simulation::new(&spec, seed, Options::default()).expect("a sound network");
        sim.run_until(end).expect("conserved");
        let mut turn = Rng::new(seed, Stream::Test, 93);
        while here.now() < sim.now() {
            let Some(next) = here.next().filter(|&next| next <= sim.now()) else { break };
            here.run_until((next + Span::from_nanos(turn.below(1_000_000))).min(sim.now()));
        }
        assert_eq!(here.arrivals().finish(), sim.trace_hash(), "seed {seed}");
        assert_eq!(here.conservation(), sim.conservation(), "seed {seed}");
    }
}

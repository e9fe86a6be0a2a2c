//! A network in several places, joined by wires that are late and lose: the same inputs give the
//! same run, whatever the turns in which they come.

use forebay_base::{NodeId, Rng, Span, Stream, Time};
use forebay_net::{NetSpec, Place};
use forebay_sim::{
    Conservation, InputEvent, Options, PacketEvent, RealWires, RecordedSite, Recording, Simulation,
    Status, TraceSum,
};
use forebay_testkit::places::{Inputs, Outcome, Run, again, live_over, places};
use forebay_testkit::random_pool::{self, NetworkConditions};
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::{lives, random};

/// Run all places with turns of random length; what leaves one comes to the other up to 3 ms late,
/// or never, and real wires are lost now and then. The inputs of each, and what it did.
fn live(run: Run<'_>, places: &[Place]) -> (Vec<Inputs>, Vec<Outcome>) {
    live_over(run, places, |rng, _| {
        let cut = run.real.is_some() && rng.chance(0.02);
        cut.then(|| Span::from_nanos(rng.below(300_000_000)))
    })
}

/// Every other network is on real wires.
fn run(spec: &NetSpec, seed: u64, end: Time) -> Run<'_> {
    let real = (seed % 2 == 1).then_some(RealWires { secret: [seed, 1] });
    Run { spec, seed, end, real }
}

fn carriers(inputs: &Inputs) -> usize {
    inputs.iter().filter(|input| matches!(input.event, InputEvent::Carrier(_))).count()
}

/// TCP and RCP, with lives of their own, and INRPP routers, which turn to detours.
fn spec(seed: u64) -> NetSpec {
    if seed % 5 == 4 {
        return random_pool::scenario(seed, NetworkConditions::Foul);
    }
    let mut spec = random::scenario(seed);
    if seed % 3 == 2 {
        lives::give(&mut spec, seed);
    }
    spec
}

#[test]
fn the_same_inputs_in_other_turns_are_the_same_run() {
    let (mut crossed, mut changes) = (0, 0);
    for seed in 0..1_000 {
        let spec = spec(seed);
        let places = places(&spec, &mut Rng::new(seed, Stream::Test, 92));
        let run = run(&spec, seed, Time::from_secs(3));
        let (inputs, outcomes) = live(run, &places);
        for ((place, inputs), outcome) in places.iter().zip(&inputs).zip(&outcomes) {
            assert!(outcome.conservation.holds(), "seed {seed}: {outcome:?}");
            crossed += inputs.len();
            changes += carriers(inputs);
            for turns in 0..3 {
                let again = again(run, place, inputs, turns);
                assert_eq!(&again, outcome, "seed {seed}, {place:?}, turns {turns}");
            }
        }
    }
    assert!(crossed > 50_000, "only {crossed} packets crossed");
    assert!(changes > 1_000, "the carrier changed only {changes} times");
}

/// A recorded run as a whole: all places in one simulation, with and without an observer.
#[test]
fn a_recording_is_a_simulation() {
    let (mut running, mut arrived, mut changes) = (0, 0, 0);
    for seed in 0..300 {
        let spec = spec(seed);
        let places = places(&spec, &mut Rng::new(seed, Stream::Test, 92));
        let until = Time::from_secs(1);
        let live_run = run(&spec, seed, until);
        let (inputs, outcomes) = live(live_run, &places);
        for observed in [false, true] {
            let sites = places.iter().zip(&inputs).map(|(place, inputs)| {
                let mut inputs = inputs.clone();
                inputs.sort_by_key(|input| input.at);
                RecordedSite { place: place.clone(), inputs: Box::new(inputs.into_iter()) }
            });
            let (sites, foreign, real) = (sites.collect(), Vec::new(), live_run.real);
            let recording = Some(Recording { sites, foreign, until, real });
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
            changes += inputs.iter().map(carriers).sum::<usize>();
            arrived += count.read().len();
            let mut arrivals = TraceSum::default();
            outcomes.iter().for_each(|outcome| arrivals.add(outcome.arrivals));
            assert_eq!(sim.trace_hash(), arrivals.finish(), "seed {seed}");
            let all = outcomes.iter().map(|outcome| outcome.conservation);
            assert_eq!(Some(sim.conservation()), all.reduce(Conservation::with), "seed {seed}");
        }
    }
    assert!(running > 200 && arrived > 10_000, "{running} runs, {arrived} arrivals");
    assert!(changes > 100, "the carrier changed only {changes} times");
}

/// A different time of one input shows in the hash.
#[test]
fn one_nanosecond_shows() {
    let end = Time::from_secs(3);
    let found = (0..100).find_map(|seed| {
        let spec = spec(seed);
        let places = places(&spec, &mut Rng::new(seed, Stream::Test, 92));
        let (inputs, outcomes) = live(run(&spec, seed, end), &places);
        let busy = inputs.iter().position(|inputs| inputs.len() > 10)?;
        Some((seed, spec, places, inputs, outcomes, busy))
    });
    let (seed, spec, places, mut inputs, outcomes, busy) = found.expect("packets cross");
    let last = inputs[busy].iter().map(|input| input.at).max().expect("some");
    let input = inputs[busy].iter_mut().find(|input| input.at == last).expect("just seen");
    input.at += Span::from_nanos(1);
    let again = again(run(&spec, seed, end), &places[busy], &inputs[busy], 0);
    assert_ne!(again.hash, outcomes[busy].hash);
}

/// One place with all nodes is the simulation.
#[test]
fn one_place_with_all_nodes_is_the_simulation() {
    for seed in 0..300 {
        let spec = spec(seed);
        let end = Time::from_secs(3);
        let nodes = (0..spec.nodes.len() as u32).map(NodeId).collect();
        let here = Run { spec: &spec, seed, end, real: None };
        let mut here = here.site(&Place { nodes, ..Place::default() });
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

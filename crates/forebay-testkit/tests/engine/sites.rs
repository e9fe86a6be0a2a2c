//! A network in several places, joined by wires that are late and lose: the same inputs give the
//! same run, whatever the turns in which they come.

use forebay_base::{DropReason, LinkId, NodeId, Rng, Span, Stream, Time};
use forebay_net::{LinkStats, NetSpec, Place};
use forebay_sim::{
    Conservation, Input, InputEvent, Options, PacketEvent, RealWires, RecordedSite, Recording,
    Simulation, Site, SiteOptions, Status, TraceSum,
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

/// All that shows of a site at `now`, and what has left it since the last look.
#[derive(Debug, PartialEq)]
struct Look {
    hash: u64,
    conservation: Conservation,
    drops: Vec<u64>,
    left: Vec<(LinkId, Time, Vec<u8>)>,
    ends: (usize, isize),
    /// Time transmitting, packets transmitted, and bytes that wait.
    links: Vec<(Span, u64, u64)>,
    /// Of links that leave over wires: bytes transmitted, and their counts.
    exits: Vec<(u64, LinkStats)>,
}

fn look(site: &mut Site, now: Time, all: &[LinkId], exits: &[LinkId]) -> Look {
    let mut left = Vec::new();
    site.exits(|exit| left.push((exit.link, exit.at, exit.bytes.to_vec())));
    let link = |&link: &LinkId| {
        let link = site.link(link);
        (link.busy(now), link.serialized_packets(now), link.waiting_bytes(now))
    };
    let exit = |&link: &LinkId| {
        let link = site.link(link);
        (link.transmitted_bytes(now), link.stats(now))
    };
    Look {
        hash: site.hash(),
        conservation: site.conservation(),
        drops: DropReason::ALL.iter().map(|&reason| site.drops().count(reason)).collect(),
        left,
        ends: site.ends(),
        links: all.iter().map(link).collect(),
        exits: exits.iter().map(exit).collect(),
    }
}

/// One place with its inputs, its links built either way, and cuts of its wires besides: at any
/// time, and at the very end of a transmission. The number of those.
fn the_same_built_either_way(run: Run<'_>, place: &Place, inputs: &Inputs) -> usize {
    let Run { spec, seed, end, real } = run;
    let mut rng = Rng::new(seed, Stream::Test, 95);
    let mut sites = [false, true].map(|all_queued| {
        let options = SiteOptions { real, all_queued, ..SiteOptions::default() };
        Site::new(spec, seed, place, options).expect("a sound network")
    });
    let is_here = |node| place.nodes.contains(&node);
    let all: Vec<LinkId> = (0..spec.links.len() as u32).map(LinkId).collect();
    let leaves = |link: &&LinkId| {
        let ends = &spec.links[link.index()];
        is_here(ends.from) && !is_here(ends.to)
    };
    let exits: Vec<LinkId> = all.iter().filter(leaves).copied().collect();
    let mut sorted: Vec<&Input> = inputs.iter().collect();
    sorted.sort_by_key(|input| input.at);
    let (mut next, mut now, mut cuts) = (0, Time::ZERO, 0);
    while now < end {
        let before = now;
        now = (now + Span::from_nanos(1 + rng.below(3_000_000))).min(end);
        while let Some(input) = sorted.get(next).filter(|input| input.at <= now) {
            for site in &mut sites {
                assert_eq!(site.push_input(input), Ok(input.at));
            }
            next += 1;
        }
        for &link in &exits {
            // Of the one that is built the general way: the other one need not know.
            let ends = sites[1].link(link).next_start().filter(|&at| at > before);
            let any = before + Span::from_nanos(1 + rng.below(3_000_000));
            let at = ends.filter(|_| rng.chance(0.8)).unwrap_or(any);
            if rng.chance(0.05) {
                let longest_ns = if rng.chance(0.5) { 30_000_000 } else { 300_000 };
                let back = at + Span::from_nanos(rng.below(longest_ns));
                for site in &mut sites {
                    assert_eq!(site.push_carrier(at, link, false), Ok(at));
                    assert_eq!(site.push_carrier(back, link, true), Ok(back));
                }
                cuts += usize::from(ends == Some(at));
            }
        }
        let looks = sites.each_mut().map(|site| {
            site.run_until(now);
            look(site, now, &all, &exits)
        });
        let [fast, general] = looks;
        assert_eq!(fast, general, "seed {seed}, {place:?}, between {before} and {now}");
    }
    cuts
}

/// A link that may lose its wire puts packets there early, and takes back what a loss cuts off.
/// Nothing shows of that.
#[test]
fn links_over_wires_that_are_lost_are_the_same_built_either_way() {
    let (mut at_ends, mut lost) = (0, 0);
    for seed in 0..1_000 {
        let spec = spec(seed);
        let places = places(&spec, &mut Rng::new(seed, Stream::Test, 92));
        let real = Some(RealWires { secret: [seed, 2] });
        let run = Run { spec: &spec, seed, end: Time::from_secs(2), real };
        let (inputs, outcomes) = live(run, &places);
        for (place, inputs) in places.iter().zip(&inputs) {
            at_ends += the_same_built_either_way(run, place, inputs);
        }
        lost += outcomes.iter().map(|outcome| outcome.conservation.dropped).sum::<u64>();
    }
    assert!(at_ends > 1_000, "only {at_ends} cuts at the end of a transmission");
    assert!(lost > 1_000, "only {lost} packets were lost");
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

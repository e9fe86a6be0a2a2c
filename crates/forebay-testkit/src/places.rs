//! A network in several places, each with a [`Site`] of its own, joined by wires that are late,
//! lose and harm.

use forebay_base::{LinkId, NodeId, Rng, Span, Stream, Time};
use forebay_net::{NetSpec, Place};
use forebay_sim::{Conservation, Exit, Site, SiteOptions, TraceSum};

/// Inputs of a place in the order in which they were pushed, each with the time at which it was
/// executed.
pub type Inputs = Vec<(Time, LinkId, Vec<u8>)>;

/// What a place did.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// [`Site::hash`].
    pub hash: u64,
    /// [`Site::arrivals`].
    pub arrivals: TraceSum,
    /// What became of every packet there.
    pub conservation: Conservation,
}

fn outcome(site: &Site) -> Outcome {
    let (hash, arrivals) = (site.hash(), site.arrivals());
    Outcome { hash, arrivals, conservation: site.conservation() }
}

/// What is at a place, before anything has happened.
pub fn site(spec: &NetSpec, seed: u64, place: &Place) -> Site {
    Site::new(spec, seed, place, SiteOptions::default()).expect("a sound network")
}

/// Each node at one of up to four places. Some hosts are not Forebay's for the place of their
/// router: their links are emulated there too.
pub fn places(spec: &NetSpec, rng: &mut Rng) -> Vec<Place> {
    let mut places = vec![Place::default(); 1 + rng.below(4) as usize];
    let mut owner = Vec::new();
    for node in (0..spec.nodes.len() as u32).map(NodeId) {
        let here = rng.below(places.len() as u64) as usize;
        places[here].nodes.push(node);
        owner.push(here);
    }
    for (link, ends) in (0..).map(LinkId).zip(&spec.links) {
        let [from, to] = [ends.from, ends.to].map(|node| owner[node.index()]);
        if from != to && rng.chance(0.2) {
            places[to].offered.push(link);
        }
    }
    places
}

/// Run all places to `end` with turns of random length; what leaves one comes to the other up to
/// 3 ms late, or never, after `harm`. The inputs of each, and what it did.
pub fn live_over(
    spec: &NetSpec,
    seed: u64,
    places: &[Place],
    end: Time,
    mut harm: impl FnMut(&mut Rng, &mut Vec<u8>),
) -> (Vec<Inputs>, Vec<Outcome>) {
    let mut rng = Rng::new(seed, Stream::Test, 90);
    let mut sites: Vec<Site> = places.iter().map(|place| site(spec, seed, place)).collect();
    let to = |link: LinkId| {
        let node = spec.links[link.index()].to;
        places.iter().position(|place| place.nodes.contains(&node)).expect("it is somewhere")
    };
    let mut inputs: Vec<Inputs> = vec![Inputs::new(); places.len()];
    let mut wire: Vec<(Time, LinkId, Vec<u8>)> = Vec::new();
    let mut now = Time::ZERO;
    while now < end {
        now = (now + Span::from_nanos(1 + rng.below(2_000_000))).min(end);
        wire.retain(|(at, link, bytes)| {
            let due = *at <= now;
            if due {
                let executed = sites[to(*link)].push(*at, *link, bytes).expect("it ends there");
                inputs[to(*link)].push((executed, *link, bytes.clone()));
            }
            !due
        });
        for site in &mut sites {
            if rng.chance(0.1) {
                continue; // this one misses its turn
            }
            site.run_until(now);
            site.exits(|Exit { link, at, bytes, .. }| {
                assert!(at <= now);
                if !rng.chance(0.01) {
                    let late = Span::from_nanos(rng.below(3_000_000));
                    let mut bytes = bytes.to_vec();
                    harm(&mut rng, &mut bytes);
                    wire.push((at + late, link, bytes));
                }
            });
        }
    }
    sites.iter_mut().for_each(|site| site.run_until(end));
    (inputs, sites.iter().map(outcome).collect())
}

/// One place again, with its inputs in other turns: each is pushed any time before its own.
pub fn again(
    spec: &NetSpec,
    seed: u64,
    place: &Place,
    inputs: &Inputs,
    end: Time,
    turns: u64,
) -> Outcome {
    let mut rng = Rng::new(turns, Stream::Test, 91);
    let (mut site, mut next, mut now) = (site(spec, seed, place), 0, Time::ZERO);
    // Of one link in the order in which they came; of all links in order of time.
    let mut sorted: Vec<_> = inputs.iter().collect();
    sorted.sort_by_key(|(at, ..)| *at);
    while now < end {
        now = (now + Span::from_nanos(1 + rng.below(20_000_000))).min(end);
        let ahead = now + Span::from_nanos(rng.below(20_000_000));
        while let Some((at, link, bytes)) = sorted.get(next).filter(|(at, ..)| *at <= ahead) {
            assert_eq!(site.push(*at, *link, bytes), Ok(*at));
            next += 1;
        }
        site.run_until(now);
        site.exits(|_| ());
    }
    outcome(&site)
}

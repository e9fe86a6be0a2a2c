//! A network in several places, each with a [`Site`] of its own, joined by wires that are late,
//! lose and harm.

use forebay_base::{LinkId, NodeId, Rng, Span, Stream, Time};
use forebay_net::{NetSpec, Place};
use forebay_sim::{Conservation, Exit, Input, InputEvent, RealWires, Site, SiteOptions, TraceSum};

/// Inputs of a place in the order in which they were pushed, each with the time at which it was
/// executed.
pub type Inputs = Vec<Input>;

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

/// A run in several places, up to `end`.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// What is run.
    pub spec: &'a NetSpec,
    /// Its seed.
    pub seed: u64,
    /// When it ends.
    pub end: Time,
    /// What its sites have of [`SiteOptions::real`].
    pub real: Option<RealWires>,
}

impl Run<'_> {
    /// What is at a place, before anything has happened.
    pub fn site(&self, place: &Place) -> Site {
        let options = SiteOptions { real: self.real, ..SiteOptions::default() };
        Site::new(self.spec, self.seed, place, options).expect("a sound network")
    }
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

/// Run all places with turns of random length; what leaves one comes to the other up to 3 ms late,
/// or never, after `harm`, which may also cut the wire for some time. The inputs of each place, and
/// what it did.
pub fn live_over(
    run: Run<'_>,
    places: &[Place],
    mut harm: impl FnMut(&mut Rng, &mut Vec<u8>) -> Option<Span>,
) -> (Vec<Inputs>, Vec<Outcome>) {
    let Run { spec, seed, end, .. } = run;
    let mut rng = Rng::new(seed, Stream::Test, 90);
    let mut sites: Vec<Site> = places.iter().map(|place| run.site(place)).collect();
    let place_of = |node: NodeId| {
        places.iter().position(|place| place.nodes.contains(&node)).expect("it is somewhere")
    };
    let from = |link: LinkId| place_of(spec.links[link.index()].from);
    let to = |link: LinkId| place_of(spec.links[link.index()].to);
    let mut inputs: Vec<Inputs> = vec![Inputs::new(); places.len()];
    let mut coming: Vec<(usize, Input)> = Vec::new();
    let mut now = Time::ZERO;
    while now < end {
        now = (now + Span::from_nanos(1 + rng.below(2_000_000))).min(end);
        coming.retain(|(place, input)| {
            let due = input.at <= now;
            if due {
                let at = sites[*place].push_input(input).expect("it is an input there");
                inputs[*place].push(Input { at, ..input.clone() });
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
                if rng.chance(0.01) {
                    return;
                }
                let late = Span::from_nanos(rng.below(3_000_000));
                let mut bytes = bytes.to_vec();
                let cut = harm(&mut rng, &mut bytes);
                let event = InputEvent::Packet(bytes);
                coming.push((to(link), Input { at: at + late, link, event }));
                // Both ends notice it, each in its time.
                for (place, link) in [(from(link), link), (to(link), link.opposite())] {
                    let noticed = now + Span::from_nanos(rng.below(3_000_000));
                    let changes = cut.map(|cut| [(noticed, false), (noticed + cut, true)]);
                    let changes = changes.into_iter().flatten();
                    coming.extend(changes.map(|(at, up)| {
                        (place, Input { at, link, event: InputEvent::Carrier(up) })
                    }));
                }
            });
        }
    }
    sites.iter_mut().for_each(|site| site.run_until(end));
    (inputs, sites.iter().map(outcome).collect())
}

/// One place again, with its inputs in other turns: each is pushed any time before its own.
pub fn again(run: Run<'_>, place: &Place, inputs: &Inputs, turns: u64) -> Outcome {
    let mut rng = Rng::new(turns, Stream::Test, 91);
    let (mut site, mut next, mut now) = (run.site(place), 0, Time::ZERO);
    // Of one link in the order in which they came; of all links in order of time.
    let mut sorted: Vec<_> = inputs.iter().collect();
    sorted.sort_by_key(|input| input.at);
    while now < run.end {
        now = (now + Span::from_nanos(1 + rng.below(20_000_000))).min(run.end);
        let ahead = now + Span::from_nanos(rng.below(20_000_000));
        while let Some(input) = sorted.get(next).filter(|input| input.at <= ahead) {
            assert_eq!(site.push_input(input), Ok(input.at));
            next += 1;
        }
        site.run_until(now);
        site.exits(|_| ());
    }
    outcome(&site)
}

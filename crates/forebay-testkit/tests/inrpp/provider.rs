//! The map of a provider, drawn at random, whose core is the bottleneck: a burst of short flows
//! with caches of the margin rule. docs/papers/inrpp.md has the results on a real map.
#![allow(clippy::print_stdout)] // the table

use forebay_base::{DropReason, FlowId, Rng, Stream, Time};
use forebay_reference::{Wanted, fluid_reference};
use forebay_scenario::{FctClock, LoadOptions, Scenario};
use forebay_sim::{Options, Simulation};
use std::fmt::Write;

/// Routers of the core; each has links to the next two, so that each link has detours.
const CORE: u64 = 8;
/// Edge routers, and hosts at each.
const EDGES: u64 = 24;
const HOSTS: u64 = 4;
const FLOWS: u64 = 400;
/// What the window of a SYN-ACK allows, which is not scaled (RFC 7323 section 2.2): a longer flow
/// waits for its first ACK.
const FIRST_FLIGHT_BYTES: u64 = 65_535;

/// A scenario: the core at 100 Mbit/s and 5 ms, edges at 1 Gbit/s. Flow sizes are Pareto of shape
/// 1.2 with a mean of 125 packets, cut at 5 000; starts are uniform over 0.4 s.
fn text(seed: u64, queue: &str) -> String {
    let mut rng = Rng::new(seed, Stream::Test, 0);
    let names =
        (0..CORE).map(|i| format!("\"c{i}\"")).chain((0..EDGES).map(|i| format!("\"e{i}\"")));
    let names: Vec<String> = names.collect();
    let mut text = format!(
        "protocols = [\"inrpp\"]\nstart_jitter = \"0s\"\ntcp = {{ mss_bytes = 1448 }}\n\
         routers = [{}]\n\
         link_defaults = {{ rate = \"1Gbit/s\", delay = \"1ms\", queue = \"{queue}\" }}\n",
        names.join(", ")
    );
    for i in 0..CORE {
        for next in [1, 2] {
            let to = (i + next) % CORE;
            let _ = writeln!(
                text,
                "[[links]]\na = \"c{i}\"\nb = \"c{to}\"\nrate = \"100Mbit/s\"\ndelay = \"5ms\""
            );
        }
    }
    for i in 0..EDGES {
        let at = i % CORE;
        let _ = writeln!(
            text,
            "[[links]]\na = \"e{i}\"\nb = \"c{at}\"\n\
             [[hosts]]\nname = \"h{i}x{{}}\"\ncount = {HOSTS}\nattach = \"e{i}\""
        );
    }
    for _ in 0..FLOWS {
        let from = rng.below(EDGES);
        // To another core router.
        let to = (from + 1 + rng.below(CORE - 1)) % EDGES;
        let packets = (125.0 / 6.0 * (1.0 - rng.unit()).powf(-1.0 / 1.2)).min(5_000.0) as u64;
        let _ = writeln!(
            text,
            "[[flows]]\nsrc = \"h{from}x{}\"\ndst = \"h{to}x{}\"\nstart = \"{}us\"\nbytes = {}",
            rng.below(HOSTS),
            rng.below(HOSTS),
            rng.below(400_000),
            packets * 1448
        );
    }
    text
}

/// Sums over flows, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    flows: u64,
    fct_s: f64,
    ideal_s: f64,
}

impl Sum {
    fn add(&mut self, fct_s: f64, ideal_s: f64) {
        *self = Sum {
            flows: self.flows + 1,
            fct_s: self.fct_s + fct_s,
            ideal_s: self.ideal_s + ideal_s,
        };
    }
    fn excess_ms(&self) -> f64 {
        (self.fct_s - self.ideal_s) * 1e3 / self.flows as f64
    }
    fn ratio(&self) -> f64 {
        self.fct_s / self.ideal_s
    }
}

/// One run: flows that fit into a first flight, and longer ones. Nothing is lost or retransmitted.
fn run(seed: u64, queue: &str) -> [Sum; 2] {
    let scenario = Scenario::parse(&text(seed, queue), "provider.toml", &LoadOptions::default());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let spec = scenario.build("inrpp", seed).expect("builds");
    let mut sim = Simulation::new(&spec, seed, Options::default()).expect("sound");
    sim.run_until(Time::from_secs(300)).unwrap();
    let (from, until, clock) = (Time::ZERO, Time::MAX, FctClock::Syn);
    let wanted = Wanted {
        registry: &scenario.registry,
        spec: &spec,
        seed,
        from,
        until,
        clock,
        in_full: true,
    };
    let ideals = fluid_reference(&wanted, &mut |_| true).expect("sound").expect("to the end");
    let (mut sums, mut resent) = ([Sum::default(); 2], 0);
    for (i, flow) in spec.flows.iter().enumerate() {
        let outcome = sim.flow(FlowId(i as u32));
        let fct = outcome.completed_at.expect("complete").since(flow.start);
        let longer = flow.bytes.is_none_or(|bytes| bytes > FIRST_FLIGHT_BYTES);
        let ideal_s = ideals.per_flow_fct_s[i].expect("it ends");
        sums[usize::from(longer)].add(fct.as_secs_f64(), ideal_s);
        resent += outcome.sender.retransmits;
    }
    let [short, long] = sums;
    println!(
        "| queues of {queue}, seed {seed} | {:.3} | {:.1} | {:.3} | {:.1} |",
        short.ratio(),
        short.excess_ms(),
        long.ratio(),
        long.excess_ms()
    );
    assert_eq!((sim.drops().count(DropReason::CacheFull), resent), (0, 0));
    sums
}

/// What flows lose on the reference has two reasons. In the state P a port has one queue for all:
/// who comes waits for what is in it. And a flow of more than a first flight waits a round trip,
/// of 18 to 28 ms here, for its first ACK.
#[test]
fn a_core_that_is_the_bottleneck() {
    for seed in 1..=3 {
        let [short, long] = run(seed, "1ms");
        assert!(short.ratio() <= 1.15, "{short:?}");
        assert!(long.excess_ms() <= 28.0 + short.excess_ms(), "{long:?}");
        // The whole queue at most, at each of two congested links.
        let [short, long] = run(seed, "50ms");
        assert!(short.excess_ms() <= 2.0 * 50.0, "{short:?}");
        assert!(long.excess_ms() <= 28.0 + 2.0 * 50.0, "{long:?}");
    }
}

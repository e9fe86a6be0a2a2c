//! What the paper's experiments with Kick-Ass must show, on the built-in scenarios. The short forms
//! run in CI; the long ones have the length and the seeds of `forebay reproduce kickass`.
#![allow(clippy::print_stdout)] // the values

use forebay_lab::{RunOptions, RunResult, run_one};
use forebay_scenario::statistics::{Interval, mean_and_interval};
use forebay_scenario::{LoadOptions, Scenario};

/// A built-in scenario of the paper with changes, under a protocol.
struct Load<'a> {
    name: &'a str,
    set: &'a [&'a str],
}

impl Load<'_> {
    fn run(&self, protocol: &str, seed: u64) -> RunResult {
        let set = self.set.iter().map(ToString::to_string).collect();
        let name = format!("kickass/{}", self.name);
        let scenario = Scenario::load(&name, &LoadOptions { set, base: None }).expect("built in");
        let options = RunOptions { without_reference: true, ..RunOptions::default() };
        run_one(&scenario, protocol, seed, &options).expect("it runs")
    }
}

/// What flows of a run have that completed in another, too: their class, packets and both times.
fn pairs<'a>(
    one: &'a RunResult,
    other: &'a RunResult,
) -> impl Iterator<Item = (&'a str, u64, f64, f64)> {
    let flows = one.per_flow.iter().zip(&other.per_flow);
    flows.filter_map(|(a, b)| {
        assert_eq!(a.bytes, b.bytes, "flows are paired");
        Some((a.class.as_str(), a.bytes?.div_ceil(1448), a.fct_s?, b.fct_s?))
    })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), x| (sum + x, n + 1));
    sum / f64::from(n)
}

/// By the mean of the first times that of the second.
fn ratio<'a>(pairs: impl Iterator<Item = (&'a str, u64, f64, f64)> + Clone) -> f64 {
    mean(pairs.clone().map(|(.., a, _)| a)) / mean(pairs.map(|(.., b)| b))
}

fn over_seeds(what: &str, seeds: u64, value: impl Fn(u64) -> f64) -> Interval {
    let values: Vec<f64> = (1..=seeds).map(value).collect();
    let interval = mean_and_interval(&values).expect("a seed");
    println!("{what}: {} {:?} ({seeds} seeds)", interval.mean, interval.ci95);
    interval
}

/// No router signals: what the end points do then is plain TCP.
fn without_routers_it_is_plain_tcp(until: &str, seeds: u64) {
    let set = ["links.0.port=none", until, "tcp.dont_fragment=true"];
    let load = Load { name: "light", set: &set };
    let found = over_seeds("FCT without signals to NewReno", seeds, |seed| {
        let (own, tcp) = (load.run("kickass", seed), load.run("newreno", seed));
        ratio(pairs(&own, &tcp).collect::<Vec<_>>().into_iter())
    });
    assert!((found.mean - 1.0).abs() < 0.01, "{found:?}");
}

#[test]
fn without_routers_it_is_plain_tcp_for_20_s() {
    without_routers_it_is_plain_tcp("until_s=20", 1);
}

#[test]
#[ignore = "30 runs of 300 s"]
fn without_routers_it_is_plain_tcp_for_300_s() {
    without_routers_it_is_plain_tcp("until_s=300", 30);
}

/// Routers of Kick-Ass leave a network alone in which no packet may be cut.
#[test]
fn packets_that_may_not_be_cut_have_the_same_trace() {
    let short = ["until_s=20", "tcp.dont_fragment=true"];
    let plain = Load { name: "light", set: &short }.run("newreno", 1);
    let set = ["until_s=20", "tcp.dont_fragment=true", "links.0.port=kickass"];
    let cutting = Load { name: "light", set: &set }.run("newreno", 1);
    assert_eq!(cutting.trace_hash, plain.trace_hash);
    // Where packets may be cut they are.
    let set = ["until_s=20", "tcp.dont_fragment=false", "links.0.port=kickass"];
    let cut = Load { name: "light", set: &set }.run("newreno", 1);
    assert_ne!(cut.trace_hash, plain.trace_hash);
}

/// Ten and sixteen long flows in random phases: utilisation of the wire, and p99 of the queueing
/// delay in ms.
fn long_flows(flows: &str, rounding: &str, until: &str, seeds: u64) -> [Interval; 2] {
    let set = [flows, rounding, until];
    let load = Load { name: "static", set: &set };
    let runs: Vec<RunResult> = (1..=seeds).map(|seed| load.run("kickass", seed)).collect();
    let of = |what: &str, value: &dyn Fn(&RunResult) -> f64| {
        let what = format!("{flows} {rounding}: {what}");
        over_seeds(&what, seeds, |seed| value(&runs[seed as usize - 1]))
    };
    [
        of("utilisation", &|run| run.metrics.utilisation["left-right"]),
        of("queue p99", &|run| run.metrics.queue_delay_p99_ms.expect("packets waited")),
    ]
}

fn long_flows_fill_the_link(until: &str, seeds: u64) {
    for flows in ["flows.0.count=10", "flows.0.count=16"] {
        let [used, p99] = long_flows(flows, "kickass.rounding=floor", until, seeds);
        assert!(used.mean >= 0.97 && p99.mean <= 10.0, "{used:?} {p99:?}");
        let [used, p99] = long_flows(flows, "kickass.rounding=dither", until, seeds);
        assert!(used.mean >= 0.995 && p99.mean <= 1.0, "{used:?} {p99:?}");
    }
}

#[test]
fn long_flows_fill_the_link_for_30_s() {
    long_flows_fill_the_link("until_s=30", 1);
}

#[test]
#[ignore = "400 runs of 60 s"]
fn long_flows_fill_the_link_in_100_phases() {
    long_flows_fill_the_link("until_s=60", 100);
}

/// A round trip later than RCP: the first code comes with the first data. Lomax has flows of 11 to
/// 40 packets, which the 64 KiB do not hold back that a SYN-ACK can offer: its window has no scale.
fn a_round_trip_behind_rcp(until: &str, seeds: u64) {
    let lomax = "flows.0.packets={ lomax = 1.8, mean = 100, most = 2000 }";
    let set = [lomax, until];
    let load = Load { name: "light", set: &set };
    let found = over_seeds("FCT behind RCP, s", seeds, |seed| {
        let (own, rcp) = (load.run("kickass", seed), load.run("rcp", seed));
        let of = pairs(&own, &rcp).filter(|&(_, packets, ..)| (11..=40).contains(&packets));
        mean(of.map(|(.., a, b)| a - b))
    });
    assert!((found.mean - 0.1).abs() < 0.01, "{found:?}");
}

#[test]
fn a_round_trip_behind_rcp_for_20_s() {
    a_round_trip_behind_rcp("until_s=20", 1);
}

#[test]
#[ignore = "60 runs of 300 s"]
fn a_round_trip_behind_rcp_for_300_s() {
    a_round_trip_behind_rcp("until_s=300", 30);
}

/// TCP beside Kick-Ass takes as long as beside TCP.
fn tcp_is_not_disturbed(until: &str, seeds: u64) {
    let set = [until];
    for name in ["mixed", "legacy-light"] {
        let load = Load { name, set: &set };
        let found = over_seeds(&format!("{name}: TCP's FCT to TCP alone"), seeds, |seed| {
            let (beside, alone) = (load.run("kickass", seed), load.run("newreno", seed));
            let all: Vec<_> = pairs(&beside, &alone).collect();
            ratio(all.into_iter().filter(|&(class, ..)| class == "tcp"))
        });
        let [low, high] = found.ci95.unwrap_or([found.mean; 2]);
        assert!(low >= 0.9 && high <= 1.1, "{name}: {found:?}");
    }
}

#[test]
fn tcp_is_not_disturbed_for_30_s() {
    tcp_is_not_disturbed("until_s=30", 1);
}

#[test]
#[ignore = "120 runs of 300 s"]
fn tcp_is_not_disturbed_for_300_s() {
    tcp_is_not_disturbed("until_s=300", 30);
}

/// Under heavy load the median packet finds less than one packet before it: 1.2 ms at 10 Mbit/s.
fn heavy_load_leaves_the_queue_empty(until: &str, seeds: u64) {
    let set = [until];
    let load = Load { name: "testbed-heavy", set: &set };
    let of = |protocol: &str| {
        over_seeds(&format!("{protocol}: queue p50, ms"), seeds, |seed| {
            load.run(protocol, seed).metrics.queue_delay_p50_ms.expect("packets waited")
        })
    };
    let (own, cubic) = (of("kickass"), of("cubic"));
    assert!(own.mean < 1.2 && cubic.mean > 1.2, "{own:?} {cubic:?}");
}

#[test]
fn heavy_load_leaves_the_queue_empty_for_100_s() {
    heavy_load_leaves_the_queue_empty("until_s=100", 2);
}

#[test]
#[ignore = "60 runs of 600 s"]
fn heavy_load_leaves_the_queue_empty_for_600_s() {
    heavy_load_leaves_the_queue_empty("until_s=600", 30);
}

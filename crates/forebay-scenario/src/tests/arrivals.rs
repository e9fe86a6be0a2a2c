//! Random processes of arrivals, against their closed forms: Poisson counts and intervals, and the
//! first two moments and the Hurst parameter of a Poisson Pareto burst process.

use super::*;
use forebay_net::FlowSpec;

/// A network of two senders at each of two routers, without jitter of starts.
const PAIRS: &str = r#"until_s = 100
start_jitter = "0s"
routers = ["r0", "r1"]
link_defaults = { rate = "10Mbit/s", delay = "1ms", queue = "50ms" }
tcp = { mss_bytes = 1460, timestamps = false }
links = [{ a = "r0", b = "r1", name = "core" }]
hosts = [
  { name = "a{}", count = 4, attach = "r0" },
  { name = "b{}", count = 4, first = 4, attach = "r1" },
]
"#;

fn with(flows: &str) -> String {
    format!("{PAIRS}flows = [{flows}]")
}
fn flows(text: &str, seed: u64) -> Vec<FlowSpec> {
    parse(text).build("cubic", seed).unwrap().flows
}
fn starts(flows: &[FlowSpec]) -> Vec<f64> {
    flows.iter().map(|flow| flow.start.as_secs_f64()).collect()
}
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64
}
fn wrong(flow: &str) -> String {
    let error = parse_with(&with(flow), &[]).expect_err("it is wrong").to_string();
    error.lines().filter(|l| !l.starts_with("  ")).collect::<Vec<_>>().join("\n")
}

/// lambda = rho C / (8 E[S] (1 + h)) = 0.9 1e7 / (8 30 1460 (1 + 40 / 1460)) = 25 a second: the
/// intervals have a coefficient of variation of 1, and counts an index of dispersion of 1.
#[test]
fn poisson_arrivals_have_the_load_that_is_stated() {
    let text = with(
        "{ src = 'a0', dst = 'b4', count = 100_000, packets = 30, \
         arrivals = { load = 0.9, link = 'core' } }",
    );
    let starts = starts(&flows(&text, 1));
    let intervals: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let error = 1.0 / 100_000f64.sqrt();
    assert!((mean(&intervals) * 25.0 - 1.0).abs() < 4.0 * error, "{}", mean(&intervals));
    let cv = variance(&intervals).sqrt() / mean(&intervals);
    assert!((cv - 1.0).abs() < 5.0 * error, "{cv}");
    let mut counts = vec![0.0; starts[99_999] as usize];
    for start in &starts {
        counts.get_mut(*start as usize).into_iter().for_each(|count| *count += 1.0);
    }
    let dispersion = variance(&counts) / mean(&counts);
    // Of n windows its deviation is sqrt(2 / n).
    assert!((dispersion - 1.0).abs() < 4.0 * (2.0 / counts.len() as f64).sqrt(), "{dispersion}");
}

/// A drawn size counts with its mean as `max` limits it: of 1.8 and 100 at most 2000, 97.36. The
/// other ways to state the same rate give the same times.
#[test]
fn the_load_of_drawn_sizes_counts_their_mean() {
    let times = |arrivals: &str| {
        let size = "packets = { pareto = 1.8, mean = 100, max = 2000 }";
        let flow = format!(
            "{{ src = 'a0', dst = 'b4', count = 20, {size}, arrivals = {{ {arrivals} }} }}"
        );
        starts(&flows(&with(&flow), 3))
    };
    let (of_link, of_rate) =
        (times("load = 0.5, link = 'core'"), times("load = 0.5, of = '10Mbit/s'"));
    assert_eq!(of_link, of_rate);
    let per_s = 5e6 / (8.0 * 97.3564 * 1500.0);
    for (a, b) in of_link.iter().zip(times(&format!("per_s = {per_s}"))) {
        assert!((a / b - 1.0).abs() < 1e-4, "{a} {b}");
    }
}

/// In-progress bursts at a time, of all bursts that began before.
fn in_progress(flows: &[FlowSpec], at_s: f64, bps: f64) -> f64 {
    let under_way = |flow: &&FlowSpec| {
        let start_s = flow.start.as_secs_f64();
        start_s <= at_s && at_s < start_s + flow.bytes.unwrap() as f64 * 8.0 / bps
    };
    flows.iter().filter(under_way).count() as f64
}

/// Bursts of 1 Mbit/s with a mean length of 0.5 s (62 500 bytes), 20 a second: 10 at once on
/// average, with a variance of 10, at the start as at any other time.
#[test]
fn bursts_are_in_their_steady_state_from_the_start() {
    let text = with(
        "{ src = 'a0', dst = 'b4', count = 400, write = { rate = '1Mbit/s' }, \
         bytes = { pareto = 1.4, mean = '62.5kB', max = '1GB' }, \
         arrivals = { process = 'ppbp', per_s = 20 } }",
    );
    let scenario = parse(&text);
    let runs: Vec<_> =
        (1..=2_000).map(|seed| scenario.build("cubic", seed).unwrap().flows).collect();
    for at_s in [0.0, 0.1, 3.0] {
        let counts: Vec<f64> = runs.iter().map(|flows| in_progress(flows, at_s, 1e6)).collect();
        let (mean, variance) = (mean(&counts), variance(&counts));
        // Deviations of mean and variance of 2000 Poisson numbers of mean 10: 0.071 and 0.32. A
        // maximum of 1 GB takes 0.02 off.
        assert!((mean - 10.0).abs() < 0.3, "at {at_s}: {mean}");
        assert!((variance - 10.0).abs() < 1.3, "at {at_s}: {variance}");
    }
}

/// The Hurst parameter of what bursts send, by the variance of its means over 16 to 512 s, which
/// falls as their length to the power of 2 H - 2.
fn hurst(size: &str) -> f64 {
    const SECONDS: usize = 1 << 16;
    let text = with(&format!(
        "{{ src = 'a0', dst = 'b4', count = 140_000, write = {{ rate = '1Mbit/s' }}, {size}, \
         arrivals = {{ process = 'ppbp', per_s = 2 }} }}"
    ));
    let scenario = parse(&text);
    let mut slopes = Vec::new();
    for seed in 1..=6 {
        let mut work = vec![0.0; SECONDS];
        for flow in scenario.build("cubic", seed).unwrap().flows {
            let from = flow.start.as_secs_f64();
            let to = from + flow.bytes.unwrap() as f64 * 8.0 / 1e6;
            for (second, work) in (from as usize..).zip(work.iter_mut().skip(from as usize)) {
                if second as f64 >= to {
                    break;
                }
                *work += to.min(second as f64 + 1.0) - from.max(second as f64);
            }
        }
        let log_variance = |length: usize| {
            let means: Vec<f64> = work.chunks_exact(length).map(mean).collect();
            variance(&means).ln()
        };
        slopes.push((log_variance(512) - log_variance(16)) / (512f64 / 16.0).ln());
    }
    1.0 + mean(&slopes) / 2.0
}

/// H = (3 - shape) / 2 of Pareto bursts; of exponential ones 1/2.
#[test]
fn pareto_bursts_are_long_range_dependent() {
    let pareto = hurst("bytes = { pareto = 1.4, mean = '44kB', max = '100GB' }");
    assert!((pareto - 0.8).abs() < 0.06, "{pareto}");
    let exponential = hurst("bytes = { exponential = '44kB', max = '100GB' }");
    assert!((exponential - 0.5).abs() < 0.06, "{exponential}");
}

/// Each group, and with `per_router` each router, has times of its own; the same stream has the
/// same.
#[test]
fn processes_are_independent_unless_they_share_a_stream() {
    let group = |src: &str, dst: &str, arrivals: &str| {
        format!(
            "{{ src = '{src}', dst = '{dst}', count = 4, packets = 1, \
             arrivals = {{ per_s = 1, {arrivals} }} }}"
        )
    };
    let two = |first: &str, second: &str| {
        let text = [group("a{}", "b4", first), group("a{}", "b5", second)].join(", ");
        starts(&flows(&with(&text), 1))
    };
    let own = two("", "");
    assert!((0..4).all(|i| own[i] != own[4 + i]));
    let shared = two("stream = 7", "stream = 7");
    assert_eq!(shared[..4], shared[4..]);
    let continued = two("stream = 7", "stream = 7, number = 2");
    assert_eq!(continued[2..4], continued[4..6]);
    // Senders at two routers: the flows of each have the times of a process of its own.
    let text = "{ src = 'a{}', dst = 'b4', count = 4, packets = 1, pairs = 'numbered', \
                arrivals = { per_s = 1, stream = 7, per_router = true } }, \
                { src = 'b{}', dst = 'a0', count = 4, first = 4, packets = 1, \
                arrivals = { per_s = 1, stream = 8 } }";
    let split = starts(&flows(&with(text), 1));
    assert_eq!(split[..4], shared[..4]);
    let mixed = PAIRS
        .replace("'a{}'", "'x{}'")
        .replace("name = \"b{}\", count = 4, first = 4", "name = \"a{}\", count = 4, first = 4");
    let text = "flows = [{ src = 'a{}', dst = 'a0', count = 6, first = 2, packets = 1, \
                arrivals = { per_s = 1, stream = 7, per_router = true } }]";
    let routers = starts(&flows(&format!("{mixed}{text}"), 1));
    // Flows 2 and 3 begin at the first router, 4 to 7 at the second.
    assert_eq!((&routers[..2], &routers[2..]), (&shared[..2], &split[4..]));
}

#[test]
fn flows_that_are_due_too_late_do_not_arrive() {
    let text = with(
        "{ src = 'a0', dst = 'b4', count = 200, packets = 1, \
         arrivals = { per_s = 10, until = '5s' } }",
    );
    let starts = starts(&flows(&text, 1));
    let arrived = starts.iter().filter(|&&at| at < 5.0).count();
    assert!((25..=80).contains(&arrived), "{arrived}");
    assert_eq!(starts.iter().filter(|&&at| at == 100.0).count(), 200 - arrived);
}

#[test]
fn pairs_are_random_and_the_same_for_all_seeds() {
    let ends = |keys: &str, seed: u64| -> Vec<(u32, u32)> {
        let text = with(&format!("{{ src = 'a{{}}', packets = 1, {keys} }}"));
        flows(&text, seed).iter().map(|flow| (flow.src.0, flow.dst.0)).collect()
    };
    let random = "dst = 'b{}', count = 4000, pairs = 'random'";
    let pairs = ends(random, 1);
    assert_eq!(pairs, ends(random, 2));
    assert_ne!(pairs, ends(&format!("{random}, pairing = 2"), 1));
    // 16 pairs, 250 flows each on average, with a deviation of 15.3.
    let mut counts = std::collections::BTreeMap::new();
    pairs.iter().for_each(|pair| *counts.entry(pair).or_insert(0) += 1);
    assert_eq!(counts.len(), 16);
    assert!(counts.values().all(|&count| (190..=310).contains(&count)), "{counts:?}");
    // Each host once at either end, and none with itself.
    let all = PAIRS.replace("count = 4, attach", "count = 40, attach");
    let text = format!(
        "{all}flows = [{{ src = 'a{{}}', dst = 'a{{}}', count = 40, packets = 1, \
         pairs = 'permuted' }}]"
    );
    let specs = flows(&text, 1);
    let ends: Vec<_> = specs.iter().map(|flow| (flow.src, flow.dst)).collect();
    let receivers: std::collections::BTreeSet<_> = ends.iter().map(|(_, dst)| *dst).collect();
    assert_eq!(receivers.len(), 40);
    assert!(ends.iter().all(|(src, dst)| src != dst));
}

/// What is written out gives the same scenario again, and the same times.
#[test]
fn processes_are_written_as_they_are_read() {
    for flow in [
        "count = 4, packets = 9, arrivals = { load = 0.5, link = 'core', until = '9s' }",
        "count = 4, bytes = 5000, write = { rate = '1Mbit/s' }, \
         arrivals = { process = 'ppbp', load = 0.5, of = '9Mbit/s', per_router = true }",
    ] {
        let scenario = parse(&with(&format!("{{ src = 'a{{}}', dst = 'b4', {flow} }}")));
        let again = parse(&scenario.to_toml());
        assert_eq!(again.flows, scenario.flows, "{}", scenario.to_toml());
        let times = |of: &Scenario| starts(&of.build("cubic", 5).unwrap().flows);
        assert_eq!(times(&again), times(&scenario));
        assert!(scenario.is_random());
    }
}

#[test]
fn more_than_a_link_carries_is_noted() {
    let group = "{ src = 'a0', dst = 'b4', packets = 9, arrivals = { load = 0.6, link = 'core' } }";
    assert!(parse(&with(group)).notes().is_empty());
    let notes = parse(&with(&[group; 2].join(", "))).notes();
    assert_eq!(
        notes,
        ["links.core: arrivals of flows offer 1.200 of its rate, more than it carries: what \
             waits grows for as long as flows arrive"]
    );
}

#[test]
fn what_is_wrong_with_arrivals_is_told_with_its_place() {
    let cases = [
        (
            "packets = 1, arrivals = { load = 0, link = 'core' }",
            "arrivals.load: `0.0` is out of range: expected more than 0",
        ),
        (
            "packets = 1, arrivals = { load = -1, link = 'core' }",
            "arrivals.load: `-1.0` is out of range: expected more than 0",
        ),
        (
            "packets = 1, arrivals = { per_s = 0 }",
            "arrivals.per_s: `0.0` is out of range: expected more than 0",
        ),
        (
            "packets = 1, arrivals = { load = 1e4, link = 'core' }",
            "arrivals.load: `10000.0` is out of range: expected at most 1000",
        ),
        (
            "packets = 1, arrivals = { per_s = 1.1e9 }",
            "arrivals.per_s: `1100000000.0` is out of range: expected at most 1000000000",
        ),
        (
            "packets = 1, arrivals = { load = 0.5, link = 'cor' }",
            "arrivals.link: there is no link `cor`",
        ),
        (
            "packets = 1, arrivals = { load = 0.5 }",
            "arrivals: the key `link` is missing: the link whose rate `load` is a share of; or \
             `of`, a rate",
        ),
        (
            "packets = 1, arrivals = { load = 0.5, link = 'core', of = '1Mbit/s' }",
            "arrivals.of: one of `link` and `of`",
        ),
        (
            "packets = 1, arrivals = { per_s = 1, link = 'core' }",
            "arrivals.link: it goes with `load`, not with `per_s`",
        ),
        ("packets = 1, arrivals = { link = 'core' }", "arrivals: one of `load` and `per_s`"),
        (
            "packets = 1, every = '1s', arrivals = { per_s = 1 }",
            "every: `every` of flows that arrive by a process (`arrivals`)",
        ),
        (
            "packets = 1, arrivals = { per_s = 1, process = 'ppbp' }",
            "arrivals: the key `write.rate` is missing: the rate of a burst, without periods, of \
             flows that have a size",
        ),
        (
            "endless = true, arrivals = { load = 0.5, link = 'core' }",
            "arrivals: the load of a flow that sends without end",
        ),
        (
            "packets = 1, start = '5s', arrivals = { per_s = 1, until = '4s' }",
            "arrivals.until: `4s` is out of range: expected a time after `start`",
        ),
        (
            "packets = 1, pairs = 'random', arrivals = { per_s = 1, process = 'pareto' }",
            "arrivals.process: expected one of \"poisson\", \"ppbp\", found a string (\"pareto\")",
        ),
    ];
    for (keys, expected) in cases {
        let told = wrong(&format!("{{ src = 'a0', dst = 'b4', {keys} }}"));
        assert!(told.contains(&format!("flows[0].{expected}")), "{keys}: {told}");
    }
    let told = wrong("{ src = 'x{}', dst = 'b{}', packets = 1, pairs = 'random' }");
    assert!(
        told.contains("flows[0].src: pairs = \"random\": no host has a name of this form"),
        "{told}"
    );
}

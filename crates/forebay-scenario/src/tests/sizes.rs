//! Flows whose sizes and starts are drawn, rounds until the end, and classes by size.

use super::*;
use forebay_net::{FlowSpec, TimeDistribution};

fn text(keys: &str) -> String {
    SMALL.replace("bytes = 10000", keys)
}
/// The flows of a run under `protocol`.
fn drawn(keys: &str, protocol: &str, seed: u64) -> Vec<FlowSpec> {
    parse(&text(keys)).build(protocol, seed).unwrap().flows
}
/// Sizes in packets of 1448 bytes.
fn packets(keys: &str) -> Vec<f64> {
    let flows = drawn(&format!("count = 200_000\n{keys}"), "cubic", 1);
    flows.iter().map(|flow| flow.bytes.unwrap() as f64 / 1448.0).collect()
}
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
fn above(values: &[f64], bound: f64) -> f64 {
    values.iter().filter(|&&x| x > bound).count() as f64 / values.len() as f64
}
/// The message without the lines that quote the file.
fn wrong(keys: &str) -> String {
    let error = parse_with(&text(keys), &[]).expect_err("it is wrong").to_string();
    error.lines().filter(|l| !l.starts_with("  ")).collect::<Vec<_>>().join("\n")
}

/// Closed forms: P(X > x) = (44.4 / x)^1.8, and with sizes of at most M the mean is
/// 100 - 44.4^1.8 M^-0.8 / 0.8 = 97.36. 200 000 draws; the standard deviation of a size of at most
/// 2000 is 123.
#[test]
fn pareto_sizes_have_their_distribution() {
    let law = "packets = { pareto = 1.8, mean = 100, max = 2000 }";
    let sizes = packets(law);
    let (least, most) = sizes.iter().fold((f64::MAX, 0.0f64), |(a, b), &x| (x.min(a), x.max(b)));
    assert_eq!((least, most), (44.0, 2000.0));
    assert!((mean(&sizes) - 97.36).abs() < 4.0 * 123.0 / 200_000f64.sqrt(), "{}", mean(&sizes));
    // What is above 100.5 rounds to more than 100.
    let expected = (400.0f64 / 9.0 / 100.5).powf(1.8);
    assert!((above(&sizes, 100.0) - expected).abs() < 0.004, "{expected}");
    // The minimum gives the same distribution, and so do the former names of the bounds.
    for (min, max) in [("min", "max"), ("least", "most")] {
        let law = format!("packets = {{ pareto = 1.8, {min} = 44.44444444444444, {max} = 2000 }}");
        assert_eq!(packets(&law), sizes);
    }
}

/// P(X > x) = (1 + x / 80)^-1.8.
#[test]
fn lomax_and_exponential_sizes() {
    let sizes = packets("packets = { lomax = 1.8, mean = 100, max = 2000 }");
    for bound in [1.0, 10.0, 100.0, 1000.0f64] {
        let expected = (1.0 + (bound + 0.5) / 80.0).powf(-1.8);
        let found = above(&sizes, bound);
        assert!((found - expected).abs() < 0.004, "{bound}: {found} {expected}");
    }
    assert!(sizes.iter().all(|&x| x >= 1.0));
    let bytes = "bytes = { exponential = \"1MB\", max = \"5MB\" }";
    let flows = drawn(&format!("count = 100_000\n{bytes}"), "cubic", 1);
    let sizes: Vec<f64> = flows.iter().map(|flow| flow.bytes.unwrap() as f64).collect();
    // 1 MB (1 - e^-5).
    assert!((mean(&sizes) / 993_262.0 - 1.0).abs() < 0.013, "{}", mean(&sizes));
    assert_eq!(sizes.iter().copied().fold(0.0, f64::max), 5e6);
}

/// What is written out gives the same scenario again.
#[test]
fn laws_are_written_as_they_are_read() {
    for keys in [
        "packets = { pareto = 1.8, mean = 100, max = 2000 }\nsize_classes = [10, 100]",
        "packets = { lomax = 1.7, mean = 99.9, max = 2000 }\nclass = \"x\"\nsize_classes = [7]",
        "bytes = { exponential = \"1MB\", max = \"20MB\" }\n\
         start = { uniform = [\"1s\", \"2s\"] }",
        "packets = 1\nrounds = \"until-end\"\nthink = { exponential = \"1s\" }",
    ] {
        let scenario = parse(&text(keys));
        assert_eq!(parse(&scenario.to_toml()).flows, scenario.flows, "{}", scenario.to_toml());
    }
}

/// What a flow draws depends on seed and flow alone.
#[test]
fn draws_are_paired_by_flow() {
    let keys = "packets = { pareto = 1.8, mean = 100, max = 2000 }\n\
                start = { exponential = \"500ms\" }\ncount = 20";
    let of = |flows: Vec<FlowSpec>| -> Vec<_> {
        flows.iter().map(|flow| (flow.bytes, flow.start)).collect()
    };
    let first = of(drawn(keys, "cubic", 1));
    assert_eq!(of(drawn(keys, "newreno", 1)), first);
    assert_ne!(of(drawn(keys, "cubic", 2)), first);
    // Ten more flows change none of these.
    assert_eq!(of(drawn(&keys.replace("20", "30"), "cubic", 1))[..20], first);
}

#[test]
fn starts_are_drawn_by_their_law() {
    let keys = "packets = 1\nstart = { exponential = \"500ms\" }\ncount = 50_000";
    let starts: Vec<f64> =
        drawn(keys, "cubic", 1).iter().map(|flow| flow.start.as_secs_f64()).collect();
    // Start jitter adds half a millisecond.
    assert!((mean(&starts) - 0.5005).abs() < 4.0 * 0.5 / 50_000f64.sqrt(), "{}", mean(&starts));
}

/// The run ends after 5 s: thoughts of half a second give 10, and 8 deviations and 32 more.
#[test]
fn rounds_until_the_end_are_enough() {
    let keys = "packets = 1\nrounds = \"until-end\"\nthink = { exponential = \"500ms\" }";
    let flows = drawn(keys, "cubic", 1);
    assert_eq!(flows.len(), 68);
    assert!(!flows[0].is_spare() && flows[1..].iter().all(FlowSpec::is_spare));
    let think = flows[1].after().unwrap().think;
    assert_eq!(think, TimeDistribution::Exponential(Span::from_millis(500)));
    // A flow that stops asks for no more.
    let stop = drawn(&format!("{keys}\nstop = \"1s\""), "cubic", 1);
    assert_eq!(stop.len(), 46);
}

#[test]
fn classes_by_size_hold_their_sizes() {
    let classes = |class: &str| -> Vec<String> {
        let keys = format!(
            "packets = {{ lomax = 1.8, mean = 100, max = 2000 }}\ncount = 200\n{class}\
             size_classes = [10, 100]"
        );
        let spec = parse(&text(&keys)).build("cubic", 1).unwrap();
        let of =
            |flow: &FlowSpec| (flow.bytes.unwrap(), spec.transports[flow.transport].class.clone());
        spec.flows
            .iter()
            .map(of)
            .map(|(bytes, class)| {
                let expected = match bytes / 1448 {
                    ..=10 => "1-10",
                    11..=100 => "11-100",
                    _ => "over-100",
                };
                assert!(class.ends_with(expected), "{bytes} {class}");
                class
            })
            .collect()
    };
    let plain: std::collections::BTreeSet<String> = classes("").into_iter().collect();
    assert_eq!(plain.into_iter().collect::<Vec<_>>(), ["1-10", "11-100", "over-100"]);
    assert!(classes("class = \"web\"\n").iter().all(|class| class.starts_with("web-")));
}

#[test]
fn hosts_are_each_farther_than_the_one_before() {
    let small = SMALL.replace("attach = \"left\"", "attach = \"left\"\ndelay_step = \"3ms\"");
    let scenario = parse(&small);
    let delays = |number: usize| {
        let name = format!("s{number}-left");
        let link = scenario.links.iter().find(|link| link.name == name).unwrap();
        [link.forward.wire.delay, link.reverse.wire.delay]
    };
    let (first, second) = (delays(0), delays(1));
    assert_eq!(second, first.map(|delay| delay + Span::from_millis(3)));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let law = |rest: &str| format!("packets = {{ {rest} }}");
    let cases = [
        (
            law("mean = 100, max = 2000"),
            "small.toml:32:11: flows[0].packets: one of `pareto`, `lomax` and `exponential`",
        ),
        (
            law("pareto = 1.8, lomax = 1.8, mean = 1, max = 2"),
            "small.toml:32:11: flows[0].packets: one of `pareto`, `lomax` and `exponential`",
        ),
        (
            law("pareto = 1.8, max = 2000"),
            "small.toml:32:11: flows[0].packets: the key `mean` is missing: mean of the \
             distribution; or `min`",
        ),
        (
            law("pareto = 1.8, mean = 100"),
            "small.toml:32:11: flows[0].packets: the key `max` is missing: maximum: larger \
             samples become this size",
        ),
        (
            law("pareto = 1.0, mean = 100, max = 2000"),
            "small.toml:32:22: flows[0].packets.pareto: `1` is out of range: expected more than 1: \
             with a smaller shape there is no mean",
        ),
        (
            law("pareto = 0, min = 1, max = 9"),
            "small.toml:32:22: flows[0].packets.pareto: `0` is out of range: expected more than 0",
        ),
        (
            law("pareto = 1.8, mean = 100, min = 44, max = 2000"),
            "small.toml:32:45: flows[0].packets.min: only one of `mean` and `min` may be given",
        ),
        (
            law("lomax = 1.8, mean = 100, min = 1, max = 2000"),
            "small.toml:32:44: flows[0].packets.min: `min` goes with `pareto`: the other \
             distributions start at 0",
        ),
        (
            law("pareto = 1.8, min = 44.4, max = 40"),
            "small.toml:32:45: flows[0].packets.max: `40` is out of range: expected the minimum \
             (44.4) or more",
        ),
        (
            law("exponential = \"1MB\", max = 9"),
            "small.toml:32:27: flows[0].packets.exponential: a number of packets has no unit; \
             give the distribution under `bytes`",
        ),
        (
            law("exponential = 5, max = 0.5"),
            "small.toml:32:36: flows[0].packets.max: `0.5` is out of range: expected a whole \
             number from 1 to 2^50 bytes",
        ),
        (
            law("exponential = -5, max = 9"),
            "small.toml:32:27: flows[0].packets.exponential: `-5` is out of range: expected more \
             than 0",
        ),
        (
            "packets = 1\nrounds = \"until-end\"".to_string(),
            "small.toml:33:10: flows[0].rounds: the key `think` is missing: the time between \
             rounds, which bounds their number",
        ),
        (
            "packets = 1\nrounds = \"until-end\"\nthink = \"0s\"".to_string(),
            "small.toml:34:9: flows[0].think: `\"0s\"` is out of range: expected 1us or more",
        ),
        (
            "packets = 1\nrounds = \"forever\"".to_string(),
            "small.toml:33:10: flows[0].rounds: expected a number of rounds, or \"until-end\", \
             found a string (\"forever\")",
        ),
        (
            "packets = 1\nstart = { exponential = \"1s\" }\nstop = \"9s\"".to_string(),
            "small.toml:33:9: flows[0].start: a start that is drawn, and `stop`: it may come \
             before the start",
        ),
        (
            "packets = 1\nstart = { exponential = \"1s\" }\nevery = \"9s\"".to_string(),
            "small.toml:33:9: flows[0].start: a start that is drawn, and `every`: it is drawn for \
             each flow",
        ),
        (
            "packets = 1\nsize_classes = [10, 10]".to_string(),
            "small.toml:33:16: flows[0].size_classes: `[10, 10]` is out of range: expected numbers \
             of packets, each larger than the one before",
        ),
        (
            "endless = true\nsize_classes = [10]".to_string(),
            "small.toml:33:16: flows[0].size_classes: classes by size of a flow that sends without \
             end",
        ),
    ];
    for (keys, expected) in &cases {
        assert_eq!(wrong(keys), *expected, "{keys}");
    }
    let ends = text("packets = 1\nrounds = \"until-end\"\nthink = \"1s\"");
    let error =
        parse_with(&ends.replace("until_s = 5\n", ""), &[]).expect_err("no end").to_string();
    let first = error.lines().next().unwrap();
    assert!(
        first.ends_with(
            "flows[0].rounds: the key `until_s` is missing: rounds until the end need an end of \
             the run; or `stop`"
        ),
        "{first}"
    );
}

#[test]
fn a_step_of_delays_needs_a_group() {
    let alone = "[[hosts]]\nname = \"x\"\nattach = \"left\"\nrate = \"1Mbit/s\"\n\
                 delay = \"1ms\"\ndelay_step = \"3ms\"\n[[flows]]";
    let small = SMALL.replace("[[flows]]", alone);
    let error = parse_with(&small, &[]).expect_err("one host").to_string();
    assert!(
        error.contains("delay_step: `delay_step` is of a group of hosts with `count` and `attach`"),
        "{error}"
    );
}

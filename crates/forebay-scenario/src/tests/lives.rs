//! Flows that stop, write over time and follow others.

use super::*;
use forebay_net::{After, AppSchedule, TimeDistribution, Writing};

/// The one flow of the small scenario with other keys after `dst`.
fn text(keys: &str) -> String {
    SMALL.replace("bytes = 10000", keys)
}
fn flows(keys: &str) -> Vec<Flow> {
    let scenario = parse(&text(keys));
    // What is written out gives the same scenario again.
    assert_eq!(parse(&scenario.to_toml()).flows, scenario.flows, "{}", scenario.to_toml());
    scenario.flows
}
fn lives(keys: &str) -> Vec<AppSchedule> {
    let life = |flow: Flow| flow.life.map_or_else(AppSchedule::default, |life| *life);
    flows(keys).into_iter().map(life).collect()
}
fn after(flow: u32, think: TimeDistribution) -> Option<After> {
    Some(After { flow: forebay_base::FlowId(flow), think })
}
/// The message without the lines that quote the file.
fn wrong(keys: &str) -> String {
    let error = parse_with(&text(keys), &[]).expect_err("it is wrong").to_string();
    error.lines().filter(|l| !l.starts_with("  ")).collect::<Vec<_>>().join("\n")
}
const MS: fn(u64) -> Span = Span::from_millis;
const OTHER: &str = "\n[[flows]]\nsrc = \"s0\"\ndst = \"d\"\n";

#[test]
fn stop_alone_says_how_much() {
    let flow = &flows("stop = \"30s\"")[0];
    assert_eq!((flow.bytes, flow.is_endless(), flow.stops()), (None, false, true));
    assert_eq!(flow.life.as_ref().unwrap().stop, Some(Time::from_secs(30)));
    // A scenario without endless flows needs no end.
    let ends = text("stop = \"30s\"").replace("until_s = 5\n", "");
    assert_eq!(parse(&ends).until, None);
}

#[test]
fn writers_in_all_forms() {
    let of = |keys: &str| lives(&format!("bytes = 10000\nwrite = {{ {keys} }}"))[0].write.unwrap();
    let rate = Some(Rate::mbps(1));
    let plain = Writing { rate, chunk_bytes: 1448, periods: None };
    assert_eq!(of("rate = \"1Mbit/s\""), plain);
    assert_eq!(
        of("rate = \"1Mbit/s\", chunk_bytes = \"8kB\""),
        Writing { chunk_bytes: 8000, ..plain }
    );
    let exponential = TimeDistribution::Exponential(MS(500));
    let periods = Some([TimeDistribution::Constant(MS(100)), exponential]);
    let both = "on = \"100ms\", off = { exponential = \"500ms\" }";
    assert_eq!(of(both), Writing { rate: None, periods, ..plain });
    assert_eq!(of(&format!("rate = \"1Mbit/s\", {both}")), Writing { periods, ..plain });
}

#[test]
fn followers_by_name_number_and_round() {
    let uniform = TimeDistribution::Uniform(MS(50), MS(150));
    let by_name = format!("name = \"a\"\npackets = 1{OTHER}packets = 1\nafter = \"a\"\n");
    let think = "think = { uniform = [\"50ms\", \"150ms\"] }";
    assert_eq!(lives(&format!("{by_name}{think}"))[1].after, after(0, uniform));
    let by_number = by_name.replace("\"a\"\n", "1\n").replace("name = 1\n", "");
    assert_eq!(lives(&by_number)[1].after, after(0, TimeDistribution::Constant(Span::ZERO)));
    // Two users of three rounds each, then one flow after each of them, then two after a single
    // one.
    let users = "name = \"u\"\ncount = 2\nrounds = 3\nthink = \"100ms\"\npackets = 1\n";
    let last = format!("{OTHER}name = \"l\"\ncount = 2\nafter = \"u\"\npackets = 1\n");
    let one =
        format!("{OTHER}name = \"o\"\npackets = 1\n{OTHER}count = 2\nafter = \"o\"\npackets = 1\n");
    let lives = lives(&format!("{users}{last}{one}"));
    let before: Vec<Option<u32>> = lives.iter().map(|l| l.after.map(|a| a.flow.0)).collect();
    let s = Some;
    assert_eq!(before, [None, s(0), s(1), None, s(3), s(4), s(2), s(5), None, s(8), s(8)]);
    assert_eq!(lives[1].after, after(0, TimeDistribution::Constant(MS(100))));
}

#[test]
fn seeds_differ_where_users_draw() {
    let random = |keys: &str| {
        let quiet = text(keys).replace("loss = 0.5", "delay = \"6ms\"");
        parse_with(&quiet, &["start_jitter=0s"]).unwrap().is_random()
    };
    assert!(!random("packets = 1\nrounds = 2\nthink = \"1s\""));
    assert!(random("packets = 1\nrounds = 2\nthink = { exponential = \"1s\" }"));
    assert!(random("packets = 1\nwrite = { on = \"1s\", off = { exponential = \"1s\" } }"));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let two = |first: &str, second: &str| format!("{first}{OTHER}{second}");
    let cases = [
        (
            two("name = \"a\"\nendless = true", "packets = 1\nafter = \"a\""),
            "small.toml:38:9: flows[1].after: the flow before it never ends\n\
             hint: give that one `stop`, `bytes` or `packets`",
        ),
        (
            two(
                "name = \"a\"\nafter = \"b\"\npackets = 1",
                "name = \"b\"\npackets = 1\nafter = \"a\"",
            ),
            "small.toml:33:9: flows[0].after: circular `after`: none of these flows can start",
        ),
        (
            "name = \"a\"\npackets = 1\nafter = \"a\"".into(),
            "small.toml:34:9: flows[0].after: a flow cannot start after itself",
        ),
        (
            "packets = 1\nafter = 1".into(),
            "small.toml:33:9: flows[0].after: a flow cannot start after itself",
        ),
        (
            two("name = \"user\"\npackets = 1", "packets = 1\nafter = \"usr\""),
            "small.toml:38:9: flows[1].after: there is no flow `usr`\nhint: did you mean `user`?",
        ),
        (
            "packets = 1\nafter = 2".into(),
            "small.toml:33:9: flows[0].after: `2` is out of range: expected the number of a flow, \
             1 to 1",
        ),
        (
            "start = \"3s\"\nstop = \"2s\"".into(),
            "small.toml:33:8: flows[0].stop: `2s` is out of range: expected a time after the \
             flow starts (3s)",
        ),
        (
            "packets = 1\nwrite = { rate = \"0bit/s\" }".into(),
            "small.toml:33:18: flows[0].write.rate: `0bit/s` is out of range: expected a rate from \
             1kbit/s to 400Gbit/s",
        ),
        (
            "packets = 1\nrounds = 2\nthink = { uniform = [\"-1ms\", \"1ms\"] }".into(),
            "small.toml:34:22: flows[0].think.uniform[0]: `-1ms` is out of range: expected a time \
             from 0s to 100 years",
        ),
        (
            "packets = 1\nrounds = 2\nthink = { uniform = [\"2ms\", \"1ms\"] }".into(),
            "small.toml:34:21: flows[0].think.uniform: `[\"2ms\", \"1ms\"]` is out of range: \
             expected two times, the shorter first",
        ),
        (
            "packets = 1\nwrite = { on = \"1s\" }".into(),
            "small.toml:33:9: flows[0].write: the key `off` is missing: how long it writes nothing \
             between the periods of `on`",
        ),
        (
            "packets = 1\nwrite = { on = \"0s\", off = \"1s\" }".into(),
            "small.toml:33:16: flows[0].write.on: `\"0s\"` is out of range: expected 1us or more",
        ),
        (
            "packets = 1\nthink = \"1s\"".into(),
            "small.toml:33:9: flows[0].think: `think` without `after` or `rounds`: nothing ends \
             before this flow",
        ),
        (
            "packets = 1\nrounds = 0".into(),
            "small.toml:33:10: flows[0].rounds: `0` is out of range: expected 1 or more",
        ),
        (
            two("name = \"a\"\npackets = 1", "src = \"s1\"\npackets = 1\nafter = \"a\"").replacen(
                "src = \"s0\"\ndst = \"d\"\nsrc",
                "dst = \"d\"\nsrc",
                1,
            ),
            "small.toml:38:9: flows[1].after: this flow starts at `s1`, the one before it at `s0`: \
             a host knows only of its own",
        ),
        (
            two("name = \"a\"\npackets = 1", "packets = 1\nafter = \"a\"\nstart = \"1s\""),
            "small.toml:39:9: flows[1].start: `start` of a flow that starts when another has ended \
             (`after`)\n\
             hint: `think` is the time between",
        ),
    ];
    for (keys, expected) in &cases {
        assert_eq!(wrong(keys), *expected, "{keys}");
    }
}

/// Samples are bounded by what the run can last: until 2 s, at most. The scenario has no other end.
#[test]
fn samples_of_a_flow_that_stops_have_a_distance() {
    let ends = text("stop = \"2s\"").replace("until_s = 5\n", "");
    assert_eq!(parse_with(&ends, &["sample_s=0.01"]).unwrap().sample, MS(10));
    let error = parse_with(&ends, &["sample_s=1e-9"]).expect_err("too many").to_string();
    assert!(error.contains("the run lasts 2.000 s or more"), "{error}");
    // Without any end nothing is said of samples: `until_s` is missing.
    let endless = text("endless = true").replace("until_s = 5\n", "");
    let error = parse_with(&endless, &["sample_s=1e-9"]).expect_err("no end").to_string();
    assert!(error.contains("`until_s` is missing") && !error.contains("sample_s"), "{error}");
}

/// Whether a flow starts before its `stop` must not depend on the seed.
#[test]
fn a_flow_stops_after_the_latest_start_that_may_be_drawn() {
    let parse = |stop: &str| {
        let keys = format!("packets = 1\nstart = \"10ms\"\nstop = \"{stop}\"");
        parse_with(&text(&keys), &["start_jitter=1ms"]).map_err(|error| error.to_string())
    };
    assert!(parse("11001us").is_ok());
    let error = parse("11ms").expect_err("as late as it may start");
    let expected = "`11ms` is out of range: expected a time after the flow starts (10ms, or up to \
                    1ms later by start_jitter)";
    assert!(error.contains(expected), "{error}");
}

/// All mistakes are reported at once, and none that follows from another.
#[test]
fn mistakes_are_collected() {
    let first = "name = \"a\"\npackets = 1\nstart = \"3s\"\nstop = \"2s\"\nrounds = 0\n\
                 write = { on = \"0s\", off = \"0s\" }";
    // The group `a` is not there, which is no mistake of those that follow it.
    let second = format!("{OTHER}packets = 1\nafter = \"a\"{OTHER}packets = 1\nafter = 7");
    let third = format!("{OTHER}name = \"b\"\npackets = 1\nthink = \"1s\"");
    let error = parse_with(&text(&format!("{first}{second}{third}")), &[]).expect_err("wrong");
    let told = error.to_string();
    let place = |line: &str| Some(line.split(": ").nth(1)?.to_string());
    let mut keys: Vec<String> =
        told.lines().filter(|line| line.starts_with("small.toml:")).filter_map(place).collect();
    keys.sort_unstable();
    let expected = ["stop", "rounds", "write.on", "write.off"].map(|key| format!("flows[0].{key}"));
    let mut expected: Vec<String> = expected.into_iter().collect();
    expected.push("flows[3].think".into());
    expected.sort_unstable();
    assert_eq!(keys, expected, "{told}");
}

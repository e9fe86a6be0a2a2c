//! Experiments as files, and measures against numbers computed by hand.

use super::evaluate::Measured;
use super::file::Experiment;
use super::measure::Measure;
use std::sync::Arc;

use super::recording::{PortSample, Recording, Sample};
use super::verdict::Target;
use super::*;
use crate::run_one;
use forebay_base::{Rate, Time};
use forebay_router::inrpp::FlowTotals;
use forebay_run::{Capacity, RunOptions, RunResult};
use forebay_scenario::LinkNames;
use forebay_scenario::{LoadOptions, Scenario};

#[test]
fn every_experiment_of_the_binary_can_be_read() {
    for place in EXPERIMENTS {
        let experiment = Experiment::parse(place.text, place.name, &Arc::default()).unwrap();
        assert!(!experiment.file.rows.is_empty(), "{}", place.name);
        assert!(!place.title().is_empty());
        assert_eq!(place.title(), place.head().title);
        assert_eq!(BuiltinExperiment::find(place.name).len(), 1);
        assert!(BuiltinExperiment::find(place.source).iter().any(|other| other.name == place.name));
    }
    assert!(BuiltinExperiment::find("inrp").is_empty());
}

/// A file with one set-up and one row. The lines are counted below.
const FILE: &str = r#"title = "t"
source = "s"
label = "paper"
seeds = 2
quick_seeds = 1
[[setups]]
name = "a"
what = "w"
scenario = "inrpp/dumbbell"
set = ["start_jitter=1ms", "tcp.preset=modern"]
protocols = ["inrpp"]
[[rows]]
quantity = "q"
setup = "a"
protocol = "inrpp"
unit = "s"
source = "Table 1"
published = 10.5
tolerance = "2%"
measure = { first_entry = { port = "0-2", state = "B" } }
"#;

const MEASURE: &str = "first_entry = { port = \"0-2\", state = \"B\" }";

const PUBLISHED: &str = "published = 10.5\ntolerance = \"2%\"\n";

#[test]
fn errors_say_where_and_what_was_expected() {
    assert!(Experiment::parse(FILE, "f", &Arc::default()).is_ok());
    for (from, to, place, what) in [
        ("title", "titel", "f:1:1", "unknown field `titel`"),
        ("seeds = 2", "seeds = 0", "f:4:9", "expected 1 to 1000 seeds"),
        ("inrpp/dumbbell", "inrpp/dumbel", "f:9:12", "inrpp/dumbel"),
        ("tcp.preset=modern", "tcp.preset=moderm", "f:10:28", "moderm"),
        (
            "protocols = [\"inrpp\"",
            "protocols = [\"inrp\"",
            "f:11:14",
            "there is no protocol `inrp`",
        ),
        ("setup = \"a\"", "setup = \"b\"", "f:14:9", "there is no set-up `b`"),
        ("protocol = \"inrpp\"", "protocol = \"rcp\"", "f:15:12", "`a` does not run `rcp`"),
        ("unit = \"s\"", "unit = \"min\"", "f:16:8", "unknown variant `min`"),
        ("tolerance = \"2%\"\n", "", "f:13:12", "go together"),
        ("tolerance", "claim = \"above\"\ntolerance", "f:13:12", "in place of `tolerance`"),
        (PUBLISHED, "claim = \"above\"\n", "f:13:12", "`claim` needs the value"),
        (PUBLISHED, "published = [1, 2, 3]\nclaim = \"above\"\n", "f:18:13", "expected one value"),
        (PUBLISHED, "published = 1\nclaim = \"over\"\n", "f:19:9", "unknown variant `over`"),
        (
            "tolerance",
            "better = \"lower\"\ntolerance",
            "f:13:12",
            "`better` is for protocols in `proposes`, which `inrpp` is not",
        ),
        ("\"2%\"", "2..3", "f:19:15", "invalid fraction"),
        ("\"0-2\"", "\"0-9\"", "f:20:11", "there is no link `0-9`; one of: 4-0, 0-4, 0-2"),
        ("\"B\"", "\"C\"", "f:20:11", "there is no state `C`"),
        ("first_entry", "first_enter", "f:20:13", "unknown variant `first_enter`"),
        (MEASURE, "paired = { with = \"rcp\", take = \"ratio\" }", "f:20:11", "does not run `rcp`"),
        (
            MEASURE,
            "class_metric = { class = \"web\", metric = \"afct_s\" }",
            "f:20:11",
            "no flow has the class `web`",
        ),
        (
            MEASURE,
            "class_metric = { class = \"inrpp\", metric = \"afct\" }",
            "f:20:11",
            "there is no metric of classes `afct`; one of: afct_s, ",
        ),
        (
            MEASURE,
            "link_share = { link = \"0-2\", epochs_s = [[1.0, 2.0], [4.0, 3.0]] }",
            "f:20:11",
            "expected a stretch of time, found 4 to 3",
        ),
        (
            MEASURE,
            "against = { with = \"rcp\", metric = \"afct_s\", take = \"ratio\" }",
            "f:20:11",
            "`a` does not run `rcp`",
        ),
        (
            MEASURE,
            "against = { with = \"inrpp\", metric = \"afct\", take = \"ratio\" }",
            "f:20:11",
            "there is no metric `afct`; one of: afct_s, ",
        ),
        (
            MEASURE,
            "jain_bins = { every_s = 0.0 }",
            "f:20:11",
            "expected more than 0 seconds, found 0",
        ),
        (
            MEASURE,
            "throughput_bins = { flow = 1, class = \"inrpp\", every_s = 1.0, take = \"mean\" }",
            "f:20:11",
            "expected a flow or a class, found both",
        ),
        (
            MEASURE,
            "throughput_bins = { flow = 99, every_s = 1.0, take = \"mean\" }",
            "f:20:11",
            "there is no flow 99 among 3",
        ),
        (
            MEASURE,
            "flow_metric = { flow = 1, metric = \"goodput\" }",
            "f:20:11",
            "there is no number of flows `goodput`; one of: start_s, bytes, ",
        ),
        (
            MEASURE,
            "trace_utilisation = { link = \"0-2\" }",
            "f:20:11",
            "the link `0-2` follows no trace",
        ),
        (
            MEASURE,
            "profile_follows = { link = \"0-2\", packets = 0, over_s = 1, within_s = [0, 9] }",
            "f:20:11",
            "expected a window of 1 packet or more, found 0",
        ),
    ] {
        let error = Experiment::parse(&FILE.replacen(from, to, 1), "f", &Arc::default())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(place) && error.contains(what), "{to}: {error}");
    }
}

/// Of a protocol that the source proposes a side may be better; an order needs no tolerance.
#[test]
fn sides_and_orders_are_read() {
    let read = |text: &str| Experiment::parse(text, "f", &Arc::default()).unwrap();
    let better = FILE
        .replace("seeds = 2", "proposes = [\"inrpp\"]\nseeds = 2")
        .replace("tolerance", "better = \"lower\"\ntolerance");
    assert!(matches!(read(&better).file.rows[0].target(), Some(Target::Value(_))));
    let order = FILE.replace(PUBLISHED, "published = 10.5\nclaim = \"below\"\n");
    assert_eq!(read(&order).file.rows[0].target(), Some(Target::Order(Claim::Below, 10.5)));
}

#[test]
fn a_row_with_lists_stands_for_one_of_each_protocol_in_each_set_up() {
    let second = "[[setups]]\nname = \"b\"\nscenario = \"inrpp/dumbbell\"\nprotocols = [\"rcp\", \
                  \"inrpp\"]\n[[rows]]";
    let text = FILE
        .replace("protocols = [\"inrpp\"]", "protocols = [\"inrpp\", \"rcp\"]")
        .replace("[[rows]]", second)
        .replace("setup = \"a\"", "setups = [\"b\", \"a\"]")
        .replace("protocol = \"inrpp\"", "protocols = [\"inrpp\", \"rcp\"]");
    let experiment = Experiment::parse(&text, "f", &Arc::default()).unwrap();
    let rows = experiment.file.rows.iter();
    let names: Vec<_> = rows.map(|row| [row.setup.get_ref(), row.protocol.get_ref()]).collect();
    assert_eq!(names, [["b", "inrpp"], ["b", "rcp"], ["a", "inrpp"], ["a", "rcp"]]);
    let expected = "expected one of `setup` and `setups`, with a name or more";
    for keys in ["", "setups = []", "setup = \"a\"\nsetups = [\"a\"]"] {
        let error = Experiment::parse(&FILE.replace("setup = \"a\"", keys), "f", &Arc::default())
            .unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("f:13:12") && error.contains(expected), "{error}");
    }
    let unknown = text.replace("[\"b\", \"a\"]", "[\"b\", \"c\"]");
    let error = Experiment::parse(&unknown, "f", &Arc::default()).unwrap_err().to_string();
    assert!(error.starts_with("f:18:16") && error.contains("no set-up `c`"), "{error}");
}

#[test]
fn what_is_changed_under_one_protocol_alone() {
    let second = "set_of = { rcp = [\"until_s=2\"] }\n[[setups]]";
    let text = FILE
        .replace("protocols = [\"inrpp\"]", "protocols = [\"rcp\", \"inrpp\"]")
        .replace("[[setups]]", second)
        .replace("protocol = \"inrpp\"", "protocols = [\"inrpp\", \"rcp\"]")
        .replace(MEASURE, "metric = \"goodput_bps\"");
    let read = |text: &str| Experiment::parse(text, "f", &Arc::default());
    let experiment = read(&text).unwrap();
    let [scenarios] = &experiment.scenarios[..] else { panic!("one set-up") };
    assert_eq!(scenarios.places, [1, 0], "that of the rest stands first");
    let ends = scenarios.all.iter().map(|scenario| scenario.until);
    assert_eq!(ends.collect::<Vec<_>>(), [None, Some(Time::from_secs(2))]);
    let folders = experiment.file.folders(&experiment.file.setups[0]);
    assert_eq!(folders.into_iter().collect::<Vec<_>>(), ["a", "a+rcp"]);
    for (from, to, place, what) in [
        ("{ rcp", "{ rpc", "f:6:12", "no set-up runs `rpc`"),
        ("until_s=2", "until=2", "f:6:19", "until"),
    ] {
        let error = read(&text.replace(from, to)).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(what), "{error}");
    }
}

/// A short run of the dumbbell, whose results the measures below do not use.
fn dumbbell() -> (RunResult, LinkNames) {
    let set = vec!["start_jitter=0s".to_string(), "until_s=1.2".to_string()];
    let scenario =
        Scenario::load("inrpp/dumbbell", &LoadOptions { set, ..LoadOptions::default() }).unwrap();
    let result = run_one(&scenario, "newreno", 1, &RunOptions::default()).unwrap();
    (result, LinkNames::new(&scenario))
}

/// Both ports of the dumbbell that leave P take all bytes; node 0 sends half of them on a detour.
#[test]
fn half_of_the_bytes_of_node_0_take_a_detour() {
    let (mut result, names) = dumbbell();
    let scenario = Scenario::load("inrpp/dumbbell", &LoadOptions::default()).unwrap();
    let share = |result: &RunResult| {
        let (recording, capacities) = (&looks(), &[]);
        Measured { result, recording, names: &names, capacities }.value(&Measure::DetouredShare)
    };
    assert_eq!(share(&result), None);
    result.interfaces = run_one(&scenario, "inrpp", 1, &RunOptions::default()).unwrap().interfaces;
    let ports: Vec<&str> = result.interfaces.iter().map(|of| of.port.as_str()).collect();
    assert_eq!(ports, ["4-0", "0-2"]);
    assert!(
        share(&result).is_some_and(|share| (share - 0.25).abs() < 0.01),
        "{:?}",
        share(&result)
    );
}

/// One look per second of three flows of 10 MB: the first gets 1 MB/s from 0 to 10 s, the second 2
/// MB/s from 0 to 5 s, the third nothing. The first link takes as much as the first gets. Its
/// interface holds 10 kB of the first flow more each second, 5 kB of the second; what left it of
/// them is 3 MB/s and 1 MB/s. A window of 120 packets has no delay at 0 and 1 s, then 180 to 140
/// ms, and from 7 s on 70 to 100 ms.
fn looks() -> Recording {
    let look = |s: u64| Sample {
        at_s: s as f64,
        sent_bytes: vec![(5_000_000 * s).min(10_000_000), 0, 0],
        received_bytes: vec![1_000_000 * s, (2_000_000 * s).min(10_000_000), 0],
        arrived_bytes: vec![1_000_000 * s, (2_000_000 * s).min(10_000_000), 0],
        class_bytes: vec![1_000_000 * s + (2_000_000 * s).min(10_000_000)],
        link_bytes: vec![1_000_000 * s; 28],
        queue_s: vec![0.01 * s as f64; 28],
        ports: vec![PortSample {
            cache_bytes: 15_000 * s,
            sent_bytes: if s <= 4 { 500 * s } else { 2_000 + 1_500 * (s - 4) },
            flows: vec![
                FlowTotals { cached_bytes: 10_000 * s, passed_bytes: 3_000_000 * s },
                FlowTotals { cached_bytes: 5_000 * s, passed_bytes: 1_000_000 * s },
                FlowTotals { cached_bytes: 100_000 - 5_000 * s, passed_bytes: 0 },
            ],
        }],
        profile_s: vec![(s >= 2).then_some(0.01 * if s <= 6 { 20 - s } else { s } as f64)],
    };
    let recording = Recording::of(vec![0], (0..=10).map(look).collect());
    let recording = recording.with_windows(vec![120.0]);
    recording.with_lives(&[(0.0, f64::INFINITY), (0.0, 5.0), (6.5, f64::INFINITY)])
}

fn values(measures: &[&str]) -> Vec<Option<f64>> {
    #[derive(serde::Deserialize)]
    struct Row {
        measure: Measure,
    }
    let (result, names) = dumbbell();
    let recording = looks();
    // The second link has 10 Mbit/s for 5 s, and 40 then.
    let rate = |mbps: u64| Rate::mbps(mbps);
    let constant = Capacity::Rates(vec![(Time::ZERO, rate(10))]);
    let mut capacities = vec![constant; 28];
    capacities[1] = Capacity::Rates(vec![(Time::ZERO, rate(10)), (Time::from_secs(5), rate(40))]);
    let measured =
        Measured { result: &result, recording: &recording, names: &names, capacities: &capacities };
    let read = |text: &&str| toml::from_str::<Row>(&format!("measure = {{ {text} }}")).unwrap();
    measures.iter().map(|text| measured.value(&read(text).measure)).collect()
}

#[test]
fn times_rates_and_caches_by_hand() {
    let port = |rest: &str, kind: &str| format!("{kind} = {{ port = \"4-0\", {rest} }}");
    let measures = [
        "completed_at = { flow = 1 }".to_string(),
        "completed_at = { flow = 2 }".to_string(),
        "completed_at = { flow = 3 }".to_string(),
        "sent_all = { flow = 1, since = \"zero\" }".to_string(),
        "goodput = { flow = 2, within_s = [2.0, 8.0] }".to_string(),
        "link_rate = { link = \"4-0\", within_s = [1.0, 4.0] }".to_string(),
        port("bytes = 31000", "cache_reaches"),
        port("within_s = [2.0, 4.0], take = \"mean\"", "cache"),
        port("within_s = [2.0, 4.0], take = \"highest\"", "cache"),
        port("within_s = [2.0, 6.0], every_s = 2.0, take = \"lowest\"", "port_output"),
        port("within_s = [2.0, 6.0], every_s = 2.0, take = \"highest\"", "port_output"),
        port("flow = 1", "passed_all"),
        port("flow = 3", "passed_all"),
        port("flows = [1, 2], within_s = [0.0, 5.0]", "passed_ratio"),
        port("flows = [3], within_s = [0.0, 5.0]", "passed_ratio"),
        port("flows = [1, 2], within_s = [1.0, 5.0]", "share_slopes"),
        port("flows = [1, 3], within_s = [1.0, 5.0]", "share_slopes"),
        port("state = \"B\"", "first_entry"),
        "class_goodput = { class = \"c\", epochs_s = [[0.0, 5.0], [5.0, 10.0]] }".to_string(),
        "link_share = { link = \"4-0\", epochs_s = [[1.0, 4.0], [5.0, 10.0]] }".to_string(),
        "class_reaches = { class = \"c\", bps = 11e6, over_s = 1.0, after_s = [0.0, 2.0] }"
            .to_string(),
        "class_reaches = { class = \"c\", bps = 13e6, over_s = 1.0, after_s = [0.0] }".to_string(),
        "class_metric = { class = \"newreno\", metric = \"timeouts\" }".to_string(),
        "class_metric = { class = \"none\", metric = \"timeouts\" }".to_string(),
        "queue_delay = { link = \"4-0\", epochs_s = [[1.0, 2.0], [4.0, 5.0]], take = \"mean\" }"
            .to_string(),
        "class_ratio = { class = \"newreno\", to = \"newreno\", metric = \"goodput_bps\" }"
            .to_string(),
        "class_share = { class = \"newreno\" }".to_string(),
        "class_sums = { class = \"newreno\", of = \"retransmits\", by = \"data_packets\" }"
            .to_string(),
    ];
    let texts: Vec<&str> = measures.iter().map(String::as_str).collect();
    let expected = [
        Some(10.0),
        Some(5.0),
        None,
        Some(2.0),
        // 4 MB at 2 s, 10 MB at 8 s.
        Some(8e6),
        Some(8e6),
        Some(3.0),
        Some(45_000.0),
        Some(60_000.0),
        Some(4_000.0),
        Some(12_000.0),
        // 10 MB at 3 MB/s, at the next look.
        Some(4.0),
        None,
        // 4 MB/s left, 3 MB/s came.
        Some(4.0 / 3.0),
        None,
        Some(0.5),
        // One grows while the other shrinks.
        Some(0.0),
        None,
        // Two flows: 12 Mbit/s each together, then 4.
        Some(8e6),
        // 8 of 10 Mbit/s.
        Some(0.8),
        // One second after either.
        Some(1.0),
        None,
        Some(0.0),
        None,
        // 10, 20, 40 and 50 ms.
        Some(0.03),
        Some(1.0),
        Some(1.0),
        Some(0.0),
    ];
    for ((text, value), expected) in texts.iter().zip(values(&texts)).zip(expected) {
        let same = match (value, expected) {
            (Some(value), Some(expected)) => {
                (value - expected).abs() < 1e-6 * expected.abs().max(1.0)
            }
            (value, expected) => value == expected,
        };
        assert!(same, "{text}: {value:?} is not {expected:?}");
    }
}

/// Of the looks above: to 5 s the first two are alive with 8 and 16 Mbit/s (J = 9 / 10), from 7 s
/// on the first and the third with 8 and 0 (J = 1 / 2); between them one is alone.
#[test]
fn bins_by_hand() {
    let of = |text: &str| values(&[text])[0].unwrap();
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    close(of("jain_bins = { every_s = 1.0 }"), (5.0 * 0.9 + 3.0 * 0.5) / 8.0);
    close(of("jain_bins = { every_s = 1.0, within_s = [1.0, 8.0] }"), (4.0 * 0.9 + 0.5) / 5.0);
    close(of("jain_bins = { every_s = 1.0, class = \"newreno\", within_s = [0.0, 4.0] }"), 0.9);
    assert_eq!(values(&["jain_bins = { every_s = 1.0, within_s = [5.0, 7.0] }"]), [None]);
    let bins = |rest: &str| of(&format!("throughput_bins = {{ every_s = 1.0, {rest} }}"));
    close(bins("flow = 2, take = \"mean\""), 16e6);
    close(bins("flow = 3, take = \"highest\""), 0.0);
    // 24 Mbit/s five times, then 8 five times.
    close(bins("take = \"mean\""), 16e6);
    close(bins("take = \"lowest\""), 8e6);
    close(bins("take = \"p95\""), 24e6);
    close(bins("take = \"spread\""), 0.5);
    close(bins("class = \"newreno\", take = \"p5\", within_s = [0.0, 5.0]"), 24e6);
    // 40 of 50, and 40 of 50 + 3 x 40 megabits.
    close(of("link_share = { link = \"0-4\", epochs_s = [[0.0, 5.0]] }"), 0.8);
    close(of("link_share = { link = \"0-4\", epochs_s = [[3.0, 8.0]] }"), 40.0 / 140.0);
}

/// Fits at 2 to 10 s, four after a slow second and five after a fast one. Ranks from their mean:
/// -2.5 four times and 2 five times; of the delays 4, 3, 2 and 1, then 0, -4, -3, -2 and -1. The
/// squares are 45 and 60, the products -45.
#[test]
fn a_profile_follows_the_rate_by_hand() {
    let of = |within: &str| {
        let rest = format!("packets = 120, over_s = 1.0, within_s = {within}");
        values(&[&format!("profile_follows = {{ link = \"0-4\", {rest} }}")])[0]
    };
    let (found, expected) = (of("[0.0, 10.0]").unwrap(), -45.0 / f64::sqrt(45.0 * 60.0));
    assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    // Two fits are too few; one rate has no order.
    assert_eq!(of("[0.0, 3.0]"), None);
    assert_eq!(of("[0.0, 5.0]"), None);
}

/// Meters at 1 s: 0.3 x 8 and 0.3 x 16 Mbit/s, shares 1 to 2; from 2 s on both are 0.4 of the last
/// and 0.6 of the same samples again, so the shares stay 1 to 2 while both get something: J = 9
/// / 10. After 5 s the second has everything: left out, J = 1; metered on, it falls by half of a
/// sample and then by 0.4 a second.
#[test]
fn sampled_fairness_by_hand() {
    let of = |over, within| {
        let text =
            format!("jain_sampled = {{ every_s = 1.0, over = \"{over}\", within_s = {within} }}");
        values(&[&text])[0].unwrap()
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
    close(of("unfinished", "[1.0, 4.0]"), 0.9);
    close(of("metered", "[1.0, 4.0]"), 0.9);
    close(of("unfinished", "[5.0, 10.0]"), 1.0);
    // Four samples of 0.9 and five of 1; at 10 s the first has everything too.
    close(of("unfinished", "[0.0, 10.0]"), (4.0 * 0.9 + 5.0) / 9.0);
    // The meters after five and six samples, in units of 8 Mbit/s.
    let meter = |samples: &[f64]| {
        let (mut smooth, mut last) = (0.0, 0.0);
        for sample in samples {
            smooth = 0.4 * smooth + 0.6 * (sample + last) / 2.0;
            last = *sample;
        }
        smooth
    };
    let (one, two) = (meter(&[1.0; 6]), meter(&[2.0, 2.0, 2.0, 2.0, 2.0, 0.0]));
    close(of("metered", "[6.0, 6.0]"), (one + two).powi(2) / (2.0 * (one * one + two * two)));
}

/// A row of an experiment on `cell/shared`: four phones, one channel.
fn row(quantity: &str, protocol: &str, measure: &str) -> String {
    format!(
        "[[rows]]\nquantity = '{quantity}'\nsetup = 'a'\nprotocol = '{protocol}'\nunit = ''\n\
         source = ''\nmeasure = {{ {measure} }}\n"
    )
}

/// The values of these measures in runs of `cell/shared` of ten seconds, from 2 s on.
fn measured_in_a_cell(rows: &[(&str, &str)]) -> Vec<Option<f64>> {
    let head = "title = 't'\nsource = 's'\nlabel = 'l'\nseeds = 1\nquick_seeds = 1\n[[setups]]\n\
                name = 'a'\nscenario = 'cell/shared'\nprotocols = ['cubic', 'copa']\n\
                set = ['until_s=10', 'measure_from_s=2', 'start_jitter=0s']\n";
    let rows = rows.iter().enumerate().map(|(n, (of, measure))| row(&n.to_string(), of, measure));
    let text = format!("{head}{}", rows.collect::<String>());
    let place = |name: &str| name.to_string();
    let wanted =
        ExperimentText { source: place("s"), experiment: place("e"), file: place("f"), text };
    let options = ReproduceOptions {
        registry: &Arc::default(),
        quick: true,
        data: None,
        jobs: 2,
        cancel: None,
        progress: None,
    };
    let done = reproduce(&[wanted], &options).unwrap_or_else(|error| panic!("{error}"));
    done.rows.iter().map(|row| row.measured).collect()
}

/// The metrics of a run, which count as it goes on, compared with the same from samples of it each
/// 5 ms; and the pairs of two protocols and their values.
#[test]
fn bins_opportunities_and_pairs_of_a_run() {
    let window = "every_s = 1.0, within_s = [2.0, 10.0]";
    let bins = |take: &str| format!("throughput_bins = {{ {window}, take = \"{take}\" }}");
    let against = |take: &str, class: &str| {
        let metric = "metric = \"one_way_delay_p95_ms\"";
        format!("against = {{ with = \"copa\", {metric}, take = \"{take}\"{class} }}")
    };
    let link = "link = \"core-bs\"";
    let phase = |of: &str| {
        format!("phase_share = {{ class = \"cubic\", phase = \"{of}\", take = \"mean\" }}")
    };
    let measures = [
        ("cubic", "metric = \"jain_1s\"".to_string()),
        ("cubic", format!("jain_bins = {{ {window} }}")),
        ("cubic", "metric = \"throughput_mean_bps\"".to_string()),
        ("cubic", bins("mean")),
        ("cubic", "metric = \"throughput_p5_bps\"".to_string()),
        ("cubic", bins("p5")),
        ("cubic", "metric = \"throughput_p95_bps\"".to_string()),
        ("cubic", bins("p95")),
        ("cubic", format!("trace_utilisation = {{ {link} }}")),
        ("cubic", format!("link_share = {{ {link}, epochs_s = [[2.0, 10.0]] }}")),
        ("cubic", "metric = \"one_way_delay_p95_ms\"".to_string()),
        ("copa", "metric = \"one_way_delay_p95_ms\"".to_string()),
        ("cubic", against("ratio", "")),
        ("cubic", against("inverse", "")),
        ("cubic", against("difference", "")),
        ("cubic", "flow_metric = { flow = 1, metric = \"one_way_delay_p95_ms\" }".to_string()),
        ("cubic", "flow_spread = { of = \"one_way_delay_mean_ms\" }".to_string()),
        ("cubic", format!("channel = {{ {link}, statistic = \"seconds\" }}")),
        ("cubic", format!("channel = {{ {link}, statistic = \"cv_1s\" }}")),
        ("cubic", phase("slow-start")),
        ("cubic", phase("none-such")),
    ];
    let rows: Vec<(&str, &str)> = measures.iter().map(|(of, text)| (*of, text.as_str())).collect();
    let found: Vec<f64> = measured_in_a_cell(&rows).into_iter().map(Option::unwrap).collect();
    let close =
        |a: f64, b: f64, by: f64| assert!((a - b).abs() <= by * b.abs(), "{a}, {b}: {found:?}");
    for pair in [0, 2, 4, 6] {
        close(found[pair], found[pair + 1], 1e-9);
    }
    // The metric stops at 1 where a packet at the end waits for its last opportunity.
    close(found[8], found[9], 1e-4);
    assert!(found[0] > 0.25 && found[0] < 1.0 && found[4] < found[2], "{found:?}");
    // Long flows fill the channel.
    assert!(found[8] > 0.8 && found[8] <= 1.0, "{found:?}");
    let (cubic, copa) = (found[10], found[11]);
    close(found[12], cubic / copa, 1e-9);
    close(found[13], copa / cubic, 1e-9);
    close(found[14], cubic - copa, 1e-9);
    // That of one flow is near that of all.
    assert!(found[15] > cubic / 3.0 && found[15] < cubic * 3.0, "{found:?}");
    assert!(found[16] > 0.0 && found[16] < 1.0, "{found:?}");
    // They begin in it and leave it.
    assert!(found[19] > 0.0 && found[19] < 1.0 && found[20] == 0.0, "{found:?}");
    assert!(found[17] >= 59.0 && found[18] > 0.05 && found[18] < 1.0, "{found:?}");
}

//! Differences from a baseline, seed by seed.

use crate::{Desk, SMALL};
use serde_json::Value;
use std::fs;

/// Random losses, so that seeds differ.
const RUN: [&str; 8] = [
    "run",
    "small.toml",
    "--protocol",
    "newreno,cubic,vegas",
    "--set",
    "flows.0.bytes=1MB",
    "--set",
    "links.r0-r1.loss=0.01",
];

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk
}

fn afct(summary: &Value, protocol: &str) -> Vec<f64> {
    let runs = summary["runs"].as_array().expect("runs").iter();
    let own = runs.filter(|run| run["protocol"] == protocol);
    own.map(|run| run["metrics"]["afct_s"].as_f64().expect("it completed")).collect()
}

#[test]
fn differences_from_a_baseline_are_in_the_terminal_and_in_json() {
    let desk = desk();
    let more = ["--seeds", "4", "--baseline", "cubic"];
    let text = desk.forebay(&[&RUN[..], &more].concat()).ok().stdout;
    for word in ["difference from CUBIC, seed by seed", "pairs", "Vegas", "AFCT, "] {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let summary = desk.forebay(&[&RUN[..], &more, &["--json"]].concat()).ok().json();
    let paired = summary["paired"].as_array().expect("paired");
    let names: Vec<&str> = paired.iter().filter_map(|of| of["protocol"].as_str()).collect();
    assert_eq!(names, ["newreno", "vegas"]);
    for of in paired {
        assert_eq!(
            (&of["baseline"], of["seeds"].as_array().map(Vec::len)),
            (&"cubic".into(), Some(4))
        );
        let own = afct(&summary, of["protocol"].as_str().expect("a name"));
        let differences = own.iter().zip(afct(&summary, "cubic")).map(|(a, b)| a - b);
        let mean = differences.sum::<f64>() / 4.0;
        let found = &of["metrics"]["afct_s"];
        assert!((found["mean"].as_f64().expect("a mean") - mean).abs() < 1e-12, "{found} {mean}");
        assert!(
            found["ci95"][0].as_f64() < found["ci95"][1].as_f64() && found["n"] == 4,
            "{found}"
        );
    }
    // No table without the option, and nothing to pair with one seed.
    let plain = desk.forebay(&[&RUN[..], &["--seeds", "2"]].concat()).ok().stdout;
    assert!(!plain.contains("difference from"), "{plain}");
    let one = desk.forebay(&[&RUN[..], &["--json"]].concat()).ok().json();
    assert_eq!(one["paired"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_baseline_that_is_not_compared_is_wrong_input_and_one_seed_is_noted() {
    let desk = desk();
    let done = desk.forebay(&[&RUN[..], &["--seeds", "2", "--baseline", "bbr1"]].concat());
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    for word in ["--baseline", "`bbr1` is not among", "newreno, cubic, vegas"] {
        assert!(done.stderr.contains(word), "no `{word}` in: {}", done.stderr);
    }
    let one = desk.forebay(&[&RUN[..], &["--baseline", "cubic"]].concat()).ok().stdout;
    let words = one.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("note: no differences from cubic: they need two seeds"), "{one}");
    assert!(!one.contains("seed by seed"), "{one}");
    let alone = ["run", "small.toml", "--seeds", "2", "--baseline", "newreno"];
    let alone = desk.forebay(&alone).ok().stdout;
    assert!(alone.contains("no other protocol was run"), "{alone}");
}

#[test]
fn a_page_has_differences_from_the_baseline_of_its_run_or_from_another() {
    let desk = desk();
    let more = ["--seeds", "3", "--baseline", "cubic", "--out", "results"];
    desk.forebay(&[&RUN[..], &more].concat()).ok();
    let page = || fs::read_to_string(desk.path("results/report.html")).expect("a page");
    assert!(page().contains("Difference from CUBIC"));
    desk.forebay(&["report", "results", "--baseline", "vegas"]).ok();
    let other = page();
    assert!(other.contains("Difference from Vegas") && !other.contains("Difference from CUBIC"));
    let done = desk.forebay(&["report", "results", "--baseline", "cubik"]);
    assert_eq!((done.code, done.stdout.as_str()), (2, ""));
    for word in ["--baseline", "`cubik`", "newreno, cubic, vegas"] {
        assert!(done.stderr.contains(word), "no `{word}` in: {}", done.stderr);
    }
    assert_eq!(page(), other);
    // Of two folders each protocol is compared with itself.
    let again = ["--seeds", "3", "--set", "links.r0-r1.delay=9ms", "--out", "other"];
    desk.forebay(&[&RUN[..], &again].concat()).ok();
    desk.forebay(&["report", "results", "other"]).ok();
    let both = fs::read_to_string(desk.path("compare.html")).expect("a page");
    assert!(both.contains("Difference from the first folder"));
    assert!(both.contains("other: CUBIC − results: CUBIC"));
}

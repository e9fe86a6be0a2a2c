//! `forebay channel`: statistics, files out and in, and what is wrong input.

use crate::Desk;
use std::fs;

#[test]
fn a_trace_is_generated_shown_and_converted_back() {
    let desk = Desk::new();
    let generate = ["channel", "generate", "umts-hard", "--seconds", "20", "--out", "u.trace"];
    assert_eq!(desk.forebay(&generate).ok().stdout, "u.trace\n");
    let trace = fs::read_to_string(desk.path("u.trace")).expect("a trace");
    assert_eq!(trace.lines().last(), Some("20000"));
    let piped = desk.forebay(&["channel", "generate", "umts-hard", "--seconds", "20"]).ok();
    assert_eq!(piped.stdout, trace);
    desk.forebay(&["channel", "convert", "u.trace", "u.csv", "--bin-ms", "500"]).ok();
    let rates = fs::read_to_string(desk.path("u.csv")).expect("rates");
    assert_eq!(rates.lines().count(), 41);
    desk.forebay(&["channel", "convert", "u.csv", "back.trace"]).ok();
    let show = ["channel", "show", "u.trace", "back.trace", "--plot", "u.svg", "--json"];
    let shown = desk.forebay(&show).ok().json();
    let mean = |name: &str| shown[name]["mean_mbps"].as_f64().expect("a number");
    // By half a second each rate is the same: all that differs is half an opportunity a bin.
    let opportunities = trace.lines().count() as f64;
    assert!((mean("u.trace") / mean("back.trace") - 1.0).abs() < 20.0 / opportunities);
    assert!((mean("u.trace") - opportunities * 0.0006).abs() < 1e-9, "12 kbit in 20 s each");
    let plot = fs::read_to_string(desk.path("u.svg")).expect("a plot");
    assert!(plot.starts_with("<svg") && plot.ends_with("</svg>\n") && !plot.contains("NaN"));
    let table = desk.forebay(&["channel", "show", "u.trace"]).ok().stdout;
    assert!(table.contains("mean rate [Mbit/s]") && table.contains("u.trace"), "{table}");
    assert_eq!(desk.names(), ["back.trace", "u.csv", "u.svg", "u.trace"]);
}

/// 12.032 Mbit/s is an opportunity a millisecond, then half as many.
#[test]
fn rates_become_opportunities() {
    let desk = Desk::new();
    desk.file("r.csv", "at_s,rate_bps\n0,12032000\n0.004,6016000\n");
    desk.forebay(&["channel", "convert", "r.csv", "r.trace", "--end-s", "0.010"]).ok();
    let trace = fs::read_to_string(desk.path("r.trace")).expect("a trace");
    assert_eq!(trace, "1\n2\n3\n4\n6\n8\n10\n");
}

#[test]
fn wrong_input_is_told_and_leaves_nothing() {
    let desk = Desk::new();
    desk.file("bad.trace", "3\n2\n");
    desk.file("bad.csv", "at_s,rate_bps\n0,5\n0,7\n");
    desk.file("empty.csv", "at_s,rate_bps\n");
    for (words, said) in [
        (&["show", "nothing"][..], "hint: a file, or one of campus-stationary"),
        (&["show", "bad.trace"], "`bad.trace` line 2: expected a time of 3 ms or more"),
        (&["convert", "bad.trace", "x.csv"], "`bad.trace` line 2"),
        (&["convert", "bad.csv", "x.trace"], "`bad.csv` line 3: expected times that rise"),
        (&["convert", "empty.csv", "x.trace"], "`empty.csv`: there are no rows"),
        (&["convert", "a", "b"], "one of the two files is rates over time"),
        (&["generate", "sprout", "--out", "no/x"], "cannot write `no/x`"),
        (&["generate", "sprout", "--out", "."], "cannot write `.`: it is a folder"),
        (&["generate", "cty"], "possible values: campus-stationary"),
        (&["generate", "sprout", "--scale", "0"], "expected a number above 0"),
    ] {
        let done = desk.forebay(&[&["channel"], words].concat());
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{words:?}: {}", done.stderr);
    }
    assert_eq!(desk.names(), ["bad.csv", "bad.trace", "empty.csv"]);
}

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
    desk.file("zero.csv", "at_s,rate_bps\n0,0\n1,0\n");
    for (words, said) in [
        (&["show", "nothing"][..], "hint: a file, or one of campus-stationary"),
        (&["show", "bad.trace"], "`bad.trace` line 2: expected a time of 3 ms or more"),
        (&["convert", "bad.trace", "x.csv"], "`bad.trace` line 2"),
        (&["convert", "bad.csv", "x.trace"], "`bad.csv` line 3: expected times that rise"),
        (&["convert", "empty.csv", "x.trace"], "`empty.csv`: there are no rows"),
        (&["convert", "zero.csv", "x.trace"], "`zero.csv`: all rates are 0"),
        (&["convert", "a", "b"], "one of the two files is rates over time"),
        (&["generate", "sprout", "--out", "no/x"], "--out: cannot write `no/x`: its folder"),
        (
            &["generate", "sprout", "--out", "."],
            "--out: cannot write `.`: expected a file, found a folder",
        ),
        (&["generate", "cty"], "possible values: campus-stationary"),
        (&["generate", "sprout", "--scale", "0"], "expected a number above 0"),
    ] {
        let done = desk.forebay(&[&["channel"], words].concat());
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{words:?}: {}", done.stderr);
    }
    assert_eq!(desk.names(), ["bad.csv", "bad.trace", "empty.csv", "zero.csv"]);
}

/// A measured trace is lost once it is overwritten.
#[test]
fn a_file_of_others_is_replaced_with_force_alone() {
    let desk = Desk::new();
    desk.file("r.csv", "at_s,rate_bps\n0,12032000\n1,0\n").file("mine", "1\n2\n");
    desk.file("mine.svg", "<svg/>").file("mine.csv", "at_s,rate_bps\n0,1000\n");
    for words in [
        &["generate", "sprout", "--seconds", "1", "--out", "mine"][..],
        &["show", "sprout", "--seconds", "1", "--plot", "mine.svg"],
        &["convert", "r.csv", "mine"],
        &["convert", "mine", "mine.csv"],
    ] {
        let file = words.last().expect("a file");
        let before = fs::read(desk.path(file)).expect("there");
        let done = desk.forebay(&[&["channel"], words].concat());
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{words:?}: {}", done.stderr);
        let told = format!("cannot write `{file}`: the file is there already");
        assert!(done.stderr.contains(&told), "{words:?}: {}", done.stderr);
        assert!(done.stderr.ends_with("--force to replace it\n"), "{}", done.stderr);
        assert_eq!(fs::read(desk.path(file)).expect("there"), before);
        desk.forebay(&[&["channel"], words, &["--force"]].concat()).ok();
        assert_ne!(fs::read(desk.path(file)).expect("there"), before);
    }
    // A plot says who drew it.
    desk.forebay(&["channel", "show", "sprout", "--seconds", "2", "--plot", "mine.svg"]).ok();
}

/// A full disk is no mistake in the input.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_has_the_exit_code_of_a_run_that_failed() {
    let desk = Desk::new();
    let done = desk.forebay(&["channel", "generate", "sprout", "--out", "/dev/full"]);
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(done.stderr.contains("--out: cannot write `/dev/full`: No space"), "{}", done.stderr);
}

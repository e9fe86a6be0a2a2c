//! Memory: said of every run, looked at before it, and never more than there is.

use crate::{Desk, SMALL};
use serde_json::Value;

/// `SMALL` with this many flows of 20 packets, in groups between 250 hosts on either side.
fn flows(groups: usize) -> String {
    let [before, _] = SMALL.split_once("[[hosts]]").expect("hosts").into();
    let before = before.replace("10Mbit/s", "1Gbit/s");
    let mut text = format!(
        "{before}[[hosts]]\nname = \"s{{}}\"\ncount = 250\nattach = \"r0\"\nrate = \"100Mbit/s\"\n\
         [[hosts]]\nname = \"d{{}}\"\ncount = 250\nattach = \"r1\"\nrate = \"100Mbit/s\"\n"
    );
    for group in 0..groups {
        text.push_str(&format!(
            "[[flows]]\nsrc = \"s{{}}\"\ndst = \"d{{}}\"\ncount = 250\npackets = 20\n\
             start = \"{group}00ms\"\n"
        ));
    }
    text
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The estimate next to the high-water mark of a process of its own, which had nothing else to do.
#[cfg(target_os = "linux")]
#[test]
fn the_estimate_is_near_what_a_process_takes() {
    let desk = Desk::new();
    let mut peaks = Vec::new();
    for groups in [8, 200] {
        desk.file("many.toml", flows(groups));
        let summary = desk.forebay(&["run", "many.toml", "--json", "--no-reference"]).ok().json();
        let (memory, run) = (&summary["memory"], &summary["runs"][0]);
        assert_eq!(run["flows"], 250 * groups);
        assert_eq!(
            (&memory["jobs"], &memory["need_mib"]),
            (&Value::from(1), &run["memory"]["need_mib"])
        );
        let (need, peak) = (number(&memory["need_mib"]), number(&memory["peak_mib"]));
        assert!((0.5 * peak..2.5 * peak).contains(&need), "{groups}: {need} for {peak} MiB");
        peaks.push(peak);
    }
    // Or the program would be all that was measured.
    assert!(peaks[1] > 3.0 * peaks[0], "{peaks:?}");
}

fn refused(desk: &Desk, args: &[&str], words: &[&str]) {
    let before = desk.names();
    let done = desk.forebay(&[&["run"], args, &["--out", "results"]].concat());
    assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{args:?}: {}", done.stderr);
    for word in words {
        assert!(done.stderr.contains(word), "no `{word}` in:\n{}", done.stderr);
    }
    assert_eq!(desk.names(), before, "{args:?} left something behind");
}

#[test]
fn what_cannot_fit_is_refused_before_it_begins() {
    let desk = Desk::new();
    desk.file("many.toml", flows(80));
    let words = [
        "many.toml",
        "MiB of memory are needed, and 40 MiB are available",
        "connections",
        "--memory",
    ];
    refused(&desk, &["many.toml", "--memory", "40MiB"], &words);
    // Two thousand runs of 20 000 flows each, whose results wait for each other.
    let words = ["15 GiB of memory are needed, and 1.0 GiB", "of it for the results of all runs"];
    refused(&desk, &["many.toml", "--memory", "1GiB", "--seeds", "2000"], &words);
    let words = ["--memory", "with unit"];
    refused(&desk, &["dumbbell", "--memory", "7"], &words);
}

/// A group is a line of text. With a terabyte, it would be expanded.
#[test]
fn flows_by_the_million_are_refused_before_they_are_made() {
    let desk = Desk::new();
    let million =
        |count: &str| SMALL.replace("bytes = 100_000", &format!("bytes = 1\ncount = {count}"));
    desk.file("m.toml", million("16_000_000"));
    let words =
        ["m.toml: at least 25 GiB of memory are needed, and 1.0 GiB are available", "connections"];
    refused(&desk, &["m.toml", "--memory", "1GiB"], &words);
    desk.file("m.toml", million("100_000_000"));
    let words =
        ["m.toml:21:", "flows[0].count", "100000000", "2^24", "would need about 158 GiB of memory"];
    refused(&desk, &["m.toml"], &words);
    let group = "[[flows]]\nsrc = \"s\"\ndst = \"d\"\nbytes = 1\ncount = 9_000_000\n";
    desk.file("m.toml", format!("{SMALL}{group}{group}"));
    let words = ["m.toml:30:", "flows[2].count", "9000000, 18000001 with those before", "2^24"];
    refused(&desk, &["m.toml"], &words);
}

#[test]
fn jobs_are_as_many_as_fit_and_a_note_says_so() {
    let desk = Desk::new();
    let run = |more: &[&str]| {
        let args = ["run", "s2", "--set", "until_s=0.05", "--seeds", "4", "--json", "--jobs", "4"];
        desk.forebay(&[&args, more].concat()).ok().json()
    };
    let all = run(&[]);
    assert_eq!(all["memory"]["jobs"], 4);
    assert!(all["notes"].as_array().expect("notes").contains(&no_randomness()));
    // The program once, and each run what it needs next to it.
    let need_mib = number(&all["memory"]["need_mib"]);
    let (each_mib, two_mib) = (need_mib - 16.0, 2.0 * need_mib - 16.0);
    let memory = format!("{}MiB", (two_mib + 0.5 * each_mib) as u64);
    let two = run(&["--memory", &memory]);
    assert_eq!(two["memory"]["jobs"], 2);
    let note = format!("jobs lowered from 4 to 2: a run needs about {need_mib:.0} MiB of memory");
    let notes = two["notes"].as_array().expect("notes");
    let says = |note: &str| notes.iter().any(|n| n.as_str().is_some_and(|n| n.starts_with(note)));
    assert!(says(&note) && two["memory"]["fewer_jobs"].is_string(), "{notes:?}");
    for (a, b) in
        all["runs"].as_array().expect("runs").iter().zip(two["runs"].as_array().expect("runs"))
    {
        assert_eq!((&a["trace_hash"], &a["memory"]), (&b["trace_hash"], &b["memory"]));
    }
}

fn no_randomness() -> Value {
    Value::from("this scenario has no randomness: every seed gives the same result")
}

#[test]
fn a_person_is_told_the_estimate_and_the_measured_peak() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let text = desk.forebay(&["run", "small.toml"]).ok().stdout;
    let line = text.lines().find(|line| line.starts_with("memory: ")).expect("a line of memory");
    assert!(line.starts_with("memory: 16 MiB per run (estimated, mostly the program)"), "{line}");
    assert_eq!(line.ends_with("MiB total (measured)"), cfg!(target_os = "linux"), "{line}");
}

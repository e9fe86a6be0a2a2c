//! Ctrl-C: stops within a second, keeps what is finished, says what is missing.
#![cfg(unix)]

use crate::{Desk, Done, SMALL};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A second is promised, and 30 ms are usual; a machine that builds something else meanwhile must
/// not fail the test.
const MOST: Duration = Duration::from_secs(10);

/// Send SIGINT after `after`, and wait for the end: what it left, and how long it took to end.
#[allow(clippy::disallowed_methods)] // A person at a keyboard has a clock.
fn interrupted(child: Child, after: Duration) -> (Done, Duration) {
    sleep(after);
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().expect("kill is there");
    assert!(sent.success(), "the command had ended already");
    let start = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    (Done::of(output), start.elapsed())
}

fn start(desk: &Desk, args: &[&str]) -> Child {
    let mut command = desk.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

#[test]
fn one_endless_run_leaves_nothing() {
    let desk = Desk::new();
    let endless = SMALL.replace("bytes = 100_000", "endless = true");
    desk.file("endless.toml", format!("until_s = 1_000_000\n{endless}"));
    let child = start(&desk, &["run", "endless.toml", "--out", "results"]);
    let (done, took) = interrupted(child, Duration::from_secs(1));
    assert_eq!((done.code, done.stdout.as_str()), (130, ""));
    assert!(done.stderr.contains("0 of 1 runs finished"), "{}", done.stderr);
    assert!(done.stderr.contains("missing: newreno with seeds 1"), "{}", done.stderr);
    assert!(took < MOST, "{took:?}");
    assert_eq!(desk.names(), ["endless.toml"]);
}

#[test]
fn finished_seeds_are_kept() {
    let desk = Desk::new();
    // Runs of some 20 ms each: some finish in the given time, and most do not.
    desk.file("small.toml", SMALL.replace("100_000", "2_000_000"));
    let args =
        ["run", "small.toml", "--seeds", "10000", "--jobs", "2", "--json", "--out", "results"];
    let (done, took) = interrupted(start(&desk, &args), Duration::from_millis(1500));
    assert_eq!(done.code, 130, "{}", done.stderr);
    assert!(took < MOST, "{took:?}");
    assert_eq!(desk.names(), ["results", "small.toml"]);
    let kept = std::fs::read_to_string(desk.path("results/summary.json")).expect("a summary");
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
    let finished = kept["runs"].as_array().map_or(0, Vec::len);
    assert!(finished > 0 && finished < 10_000);
    assert_eq!(done.json()["runs"].as_array().map(Vec::len), Some(finished));
    let told = format!("{finished} of 10000 runs finished\nmissing: newreno with seeds ");
    assert!(done.stderr.contains(&told), "{}", done.stderr);
}

/// From the moment on that a folder of results is there: on the way to the first event as well.
#[test]
fn an_interrupt_on_the_way_to_the_first_event_leaves_nothing() {
    let desk = Desk::new();
    let endless = SMALL.replace("bytes = 100_000", "endless = true");
    desk.file("endless.toml", format!("until_s = 1_000_000\n{endless}"));
    let partial = |names: Vec<String>| names.iter().any(|name| name.contains(".partial-"));
    for _ in 0..20 {
        let child = start(&desk, &["run", "endless.toml", "--out", "results"]);
        while !partial(desk.names()) {
            std::hint::spin_loop();
        }
        let (done, _) = interrupted(child, Duration::ZERO);
        assert_eq!(done.code, 130, "{}", done.stderr);
        assert!(done.stderr.contains("0 of 1 runs finished"), "{}", done.stderr);
        assert_eq!(desk.names(), ["endless.toml"]);
    }
}

/// A shell script that kills a run and begins the next need not have waited for the first.
#[test]
#[allow(clippy::disallowed_methods)] // Somebody who looks on has a clock.
fn what_a_killed_run_left_is_removed_by_the_next() {
    let desk = Desk::new();
    let endless = SMALL.replace("bytes = 100_000", "endless = true");
    desk.file("endless.toml", format!("until_s = 1_000_000\n{endless}"));
    desk.file("small.toml", SMALL);
    let mut child = start(&desk, &["run", "endless.toml", "--out", "results"]);
    let left = || desk.names().iter().any(|name| name.contains(".partial-"));
    while !left() {
        sleep(Duration::from_millis(1));
    }
    child.kill().expect("it runs");
    // Its locks go with its memory; its number stays until somebody waits for it.
    let stat = format!("/proc/{}/stat", child.id());
    while std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z")) {
        sleep(Duration::from_millis(1));
    }
    let done = desk.forebay(&["run", "small.toml", "--out", "results"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(desk.names(), ["endless.toml", "results", "small.toml"]);
    child.wait().expect("it was killed");
}

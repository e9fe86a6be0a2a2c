//! The folder of `--out`: results of another run stay, and what a killed run left goes.

use crate::{Desk, Done, SMALL};

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    desk
}

fn refused(desk: &Desk, args: &[&str], words: &[&str]) -> Done {
    let before = desk.names();
    let done = desk.forebay(&[&["run", "small.toml", "--out", "results"], args].concat());
    assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{}", done.stderr);
    for word in words {
        assert!(done.stderr.contains(word), "no `{word}` in:\n{}", done.stderr);
    }
    assert_eq!(desk.names(), before);
    done
}

#[test]
fn results_of_another_run_stay_unless_force_is_given() {
    let desk = desk();
    desk.forebay(&["run", "small.toml", "--out", "results", "--seeds", "4..4"]).ok();
    let kept = || std::fs::read_to_string(desk.path("results/scenario.toml")).expect("a file");
    let first = kept();
    // The scenario and the day: tests run after 2026.
    let words = ["--out", "`results`", "`small.toml`", "made 20", "UTC", "--force"];
    refused(&desk, &[], &words);
    refused(&desk, &["--seeds", "5..5"], &words);
    assert_eq!(kept(), first);
    desk.forebay(&["run", "small.toml", "--out", "results", "--seeds", "5..5", "--force"]).ok();
    assert!(first.contains("seed 4") && kept().contains("seed 5"), "{}", kept());
}

#[test]
fn what_is_not_ours_stays_even_with_force() {
    let desk = desk();
    std::fs::create_dir(desk.path("results")).expect("a folder");
    desk.file("results/thesis.tex", "ten years of work");
    for more in [&[][..], &["--force"]] {
        let done = refused(&desk, more, &["--out", "`results`", "`thesis.tex`"]);
        assert!(!done.stderr.contains("--force"), "{}", done.stderr);
    }
    let thesis = std::fs::read_to_string(desk.path("results/thesis.tex")).expect("still there");
    assert_eq!(thesis, "ten years of work");
    let done = desk.forebay(&["run", "small.toml", "--force"]);
    assert!(done.code == 2 && done.stderr.contains("--out"), "{}", done.stderr);
}

/// A process that is killed has no chance to clean up; the lock on its folder goes with it.
#[cfg(unix)]
#[test]
#[allow(clippy::disallowed_methods)] // Waits for another process.
fn what_a_killed_run_left_goes_with_the_next_and_a_live_one_is_left_alone() {
    use std::process::Stdio;
    use std::time::Duration;
    let desk = desk();
    let endless = SMALL.replace("bytes = 100_000", "endless = true");
    desk.file("endless.toml", format!("until_s = 1_000_000\n{endless}"));
    let mut command = desk.command(&["run", "endless.toml", "--out", "results"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("the binary starts");
    let partial = format!("results.partial-{}", child.id());
    let writing = || desk.path(&partial).join("series-newreno-1.part").exists();
    let waited = (0..600).find(|_| {
        std::thread::sleep(Duration::from_millis(50));
        writing()
    });
    assert!(waited.is_some(), "no `{partial}`: {:?}", desk.names());
    let process = format!("process {}", child.id());
    refused(&desk, &[], &["--out", "`results`", &process]);
    refused(&desk, &["--force"], &["--out", "`results`", &process]);
    assert!(writing(), "{:?}", desk.names());
    child.kill().expect("it runs");
    child.wait().expect("it is dead");
    assert_eq!(desk.names(), ["endless.toml", &partial, "small.toml"], "killed before it began");
    desk.forebay(&["run", "small.toml", "--out", "results"]).ok();
    assert_eq!(desk.names(), ["endless.toml", "results", "small.toml"]);
}

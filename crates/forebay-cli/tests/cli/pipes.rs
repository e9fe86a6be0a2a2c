//! Scenarios from standard input and from pipes, which can be read once.

use crate::{Desk, Done, SMALL};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Run the command with this text on its standard input.
fn fed(desk: &Desk, args: &[&str], text: &str) -> Done {
    let mut command = desk.command(args);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(text.as_bytes()).expect("the text fits into the pipe");
    drop(stdin);
    Done::of(child.wait_with_output().expect("it ends"))
}

/// A named pipe in the folder of the test.
fn pipe(desk: &Desk, name: &str) {
    let made = Command::new("mkfifo").arg(desk.path(name)).status();
    assert!(made.expect("mkfifo is there").success());
}

/// The command ended with exit code 2 and these words.
fn refused(done: &Done, words: &[&str]) {
    assert_eq!(done.code, 2, "{}", done.stderr);
    words.iter().for_each(|word| assert!(done.stderr.contains(word), "{word}: {}", done.stderr));
}

fn hash(done: Done) -> String {
    let json = done.ok().json();
    json["runs"][0]["trace_hash"].as_str().expect("a hash").to_string()
}

#[test]
fn a_scenario_from_standard_input_or_a_pipe_runs_as_from_a_file() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let expected = hash(desk.forebay(&["run", "small.toml", "--json"]));
    let done = fed(&desk, &["run", "-", "--json"], SMALL).ok();
    assert_eq!(done.json()["scenario"], "<stdin>");
    assert_eq!(hash(done), expected);
    assert_eq!(hash(fed(&desk, &["run", "/dev/stdin", "--json"], SMALL)), expected);
    pipe(&desk, "pipe");
    let (to, text) = (desk.path("pipe"), SMALL.to_string());
    let writer = thread::spawn(move || fs::write(to, text));
    assert_eq!(hash(desk.forebay(&["run", "pipe", "--json"])), expected);
    writer.join().expect("no panic").expect("the scenario was read");
}

/// What cannot be read twice holds CSV files as well; their paths are relative to the current
/// folder where the scenario comes from standard input.
#[test]
fn csv_files_may_be_pipes_and_are_relative_to_the_current_folder() {
    let desk = Desk::new();
    let flows = "start_s,src,dst,bytes\n0,s,d,100000\n";
    desk.file("flows.csv", flows);
    let (head, _) = SMALL.split_once("[[flows]]").expect("flows");
    let text = format!("{head}[csv]\nflows = \"flows.csv\"\n");
    let expected = hash(fed(&desk, &["run", "-", "--json"], &text));
    fs::remove_file(desk.path("flows.csv")).expect("it was there");
    pipe(&desk, "flows.csv");
    let to = desk.path("flows.csv");
    let writer = thread::spawn(move || fs::write(to, flows));
    assert_eq!(hash(fed(&desk, &["run", "-", "--json"], &text)), expected);
    writer.join().expect("no panic").expect("the flows were read");
}

#[test]
fn a_pipe_that_closes_in_the_middle_is_an_error_with_its_place() {
    let desk = Desk::new();
    let (cut, _) = SMALL.split_once("ms\", queue").expect("the fourth line");
    for (text, place) in [(cut, "<stdin>:4:29: "), ("", "<stdin>:1:1: ")] {
        let done = fed(&desk, &["run", "-"], text);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{}", done.stderr);
        assert!(done.stderr.starts_with(&format!("error: {place}")), "{}", done.stderr);
    }
}

/// Nothing of the command waits for a writer that does not come.
#[test]
fn a_pipe_without_a_writer_is_an_error() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    pipe(&desk, "pipe");
    pipe(&desk, "pipe.toml");
    let schedule = "links.0.schedule=pipe";
    let trace = "links.0={ a = \"r0\", b = \"r1\", trace = { file = \"pipe\" } }";
    let commands: [&[&str]; 6] = [
        &["run", "pipe"],
        &["run", "small.toml", "--set", schedule],
        &["run", "small.toml", "--set", trace],
        &["explain", "pipe"],
        &["reproduce", "pipe.toml"],
        &["channel", "show", "pipe"],
    ];
    for args in commands {
        let done = desk.forebay(args);
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{args:?}: {}", done.stderr);
        let told = "it is a named pipe that no process writes to";
        assert!(done.stderr.contains(told), "{args:?}: {}", done.stderr);
    }
}

#[test]
#[allow(clippy::disallowed_methods)] // A writer has a clock.
fn a_writer_that_has_opened_the_pipe_may_take_its_time() {
    let desk = Desk::new();
    pipe(&desk, "pipe");
    let path = desk.path("pipe");
    let writer = thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(path).expect("somebody reads");
        thread::sleep(Duration::from_secs(3));
        pipe.write_all(SMALL.as_bytes())
    });
    desk.forebay(&["run", "pipe"]).ok();
    writer.join().expect("no panic").expect("written");
}

/// To open a pipe for writing waits for a reader, and a device has no end.
#[test]
fn what_is_written_to_a_pipe_without_a_reader_or_over_an_input_is_refused() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    pipe(&desk, "pipe");
    let done = desk.forebay(&["run", "small.toml", "--junit", "pipe"]);
    refused(&done, &["--junit", "pipe", "no process reads from"]);
    desk.forebay(&["run", "small.toml", "--out", "one"]).ok();
    desk.forebay(&["run", "small.toml", "--out", "two"]).ok();
    for device in ["/dev/full", "pipe"] {
        let done = desk.forebay(&["report", "one", "two", "--out", device]);
        refused(&done, &[device, "is no page that Forebay wrote"]);
    }
    desk.file("rates.csv", "at_s,rate_bps\n0,1000000\n10,1000000\n");
    let generated = ["channel", "generate", "wifi", "--seconds", "2", "--out", "wifi.trace"];
    desk.forebay(&generated).ok();
    let plotted = ["channel", "show", "wifi.trace", "--plot", "./wifi.trace", "--force"];
    refused(&desk.forebay(&plotted), &["--plot", "the command reads it"]);
    std::os::unix::fs::symlink(desk.path("rates.csv"), desk.path("alias.trace")).expect("a link");
    let converted = ["channel", "convert", "rates.csv", "alias.trace", "--force"];
    refused(&desk.forebay(&converted), &["the command reads it"]);
}

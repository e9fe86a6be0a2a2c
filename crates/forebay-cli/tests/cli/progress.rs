//! A long run whose standard error is a file, as on a cluster.

use crate::{Desk, SMALL};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// A line comes each ten seconds; without one this test would not end before the run does, in
/// hours.
#[test]
fn a_long_run_off_a_terminal_says_how_far_it_is() {
    let desk = Desk::new();
    let endless = SMALL.replace("bytes = 100_000", "endless = true");
    desk.file("endless.toml", format!("until_s = 1_000_000\n{endless}"));
    let mut command = desk.command(&["run", "endless.toml"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("the binary starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a line");
    child.kill().expect("it runs");
    child.wait().expect("it is dead");
    assert!(line.contains(" % after 1") && line.contains("0 of 1 runs done"), "{line}");
}

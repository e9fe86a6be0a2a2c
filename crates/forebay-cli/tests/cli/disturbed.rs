//! Live runs that something disturbs: a stop, strangers' packets, a full disk, limits of the
//! system. What they say of themselves, and with which exit code.

use crate::live::{IMPOSSIBLE, UNFIT, descendants, is_root, live, namespace};
use crate::{Desk, Done, SMALL};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// 2 s of a flow that fills its bottleneck.
fn steady() -> String {
    format!("until_s = 2\n{}", SMALL.replace("bytes = 100_000", "endless = true"))
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.file("small.toml", steady());
    desk
}

fn pause(ms: u64) {
    #[expect(clippy::disallowed_methods, reason = "what disturbs has a clock")]
    std::thread::sleep(Duration::from_millis(ms));
}

/// A run that is under way, and the namespace of its first node; None where the machine forbids it.
fn begun(desk: &Desk, arguments: &[&str]) -> Option<(Child, String)> {
    let mut command = desk.command(&[&["live", "small.toml", "--json"], arguments].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let found = (0..1000).find_map(|_| {
        pause(10);
        namespace(child.id())
    });
    match found {
        Some(found) => Some((child, found)),
        None => {
            let done = Done::of(child.wait_with_output().expect("it ends"));
            assert_eq!(done.code, IMPOSSIBLE, "{}", done.stderr);
            forebay_prerequisites::skip(&format!("a live run: {}", done.stderr));
            None
        }
    }
}

/// A sender is clocked by ACKs: while it is stopped it sends nothing, so few packets are late.
#[test]
fn a_run_that_stands_still_for_a_fifth_of_its_time_is_unfit() {
    let desk = desk();
    let Some((child, _)) = begun(&desk, &["--no-reference"]) else { return };
    pause(700);
    let signal = |name: &str| {
        for process in descendants(child.id()).into_iter().skip(1) {
            let arguments = [name, &process.to_string()];
            let sent = Command::new("kill").args(arguments).status().expect("every Unix has it");
            assert!(sent.success(), "{name}");
        }
    };
    signal("-STOP");
    pause(400);
    signal("-CONT");
    let done = Done::of(child.wait_with_output().expect("it ends"));
    assert_eq!(done.code, UNFIT, "{}", done.stderr);
    assert!(done.stderr.contains("over 5 ms late, and 2 % is the bound"), "{}", done.stderr);
    let share = done.json()["runs"][0]["wire"]["behind_share"].as_f64().expect("a share");
    assert!((0.15..0.5).contains(&share), "{share}");
}

/// Datagrams of a program in the namespace of a host, over an address that it gives its interface.
#[test]
fn packets_of_strangers_are_counted() {
    let programs = [&["nsenter"][..], &["bash"], &["ip"]];
    if programs.iter().any(|of| forebay_prerequisites::program(of).is_none()) {
        return;
    }
    if !is_root() {
        return forebay_prerequisites::skip("packets of strangers: needs root");
    }
    let desk = desk();
    let Some((child, namespace)) = begun(&desk, &["--no-reference"]) else { return };
    let script = "ip addr add 10.200.0.1/24 dev link0 && \
                  for n in {1..40}; do echo > /dev/udp/10.200.0.9/9; done";
    let words = [&format!("--net={namespace}"), "bash", "-c", script];
    let sent = Command::new("nsenter").args(words).output().expect("it was found");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let json = Done::of(child.wait_with_output().expect("it ends")).json();
    assert_eq!(json["runs"][0]["wire"]["foreign_packets"], 40, "{}", json["runs"][0]);
    let notes = json["notes"].to_string();
    assert!(notes.contains("40 packets came over links of the scenario that no node"), "{notes}");
    assert_eq!(json["runs"][0]["wire"]["replayed"], true);
}

/// Where no file can be written to its end, and where some can.
#[test]
fn a_full_disk_is_told_as_such() {
    let desk = desk();
    let Some(done) = live(&desk, &["--no-reference", "--json"]) else { return };
    assert_eq!(done.json()["runs"][0]["wire"]["foreign_packets"], 0);
    for (kib, arguments) in [(4, ""), (100, ""), (4, "--record a"), (1000, "--record b")] {
        let binary = env!("CARGO_BIN_EXE_forebay");
        let script =
            format!("ulimit -f {kib}; exec {binary} live small.toml --no-reference {arguments}");
        let mut command = Command::new("bash");
        command.current_dir(desk.path("")).args(["-c", &script]);
        let Ok(output) = command.output() else { return };
        let done = Done::of(output);
        assert_eq!(done.code, UNFIT, "{kib} {arguments}: {}", done.stderr);
        assert!(done.stderr.contains("not all of the run is recorded: "), "{}", done.stderr);
        assert!(done.stderr.contains("File too large"), "{}", done.stderr);
        assert!(done.stdout.is_empty(), "no figures: {}", done.stdout);
    }
    // What was written can be looked at; it is compared with nothing.
    let done = desk.forebay(&["replay", "b"]);
    assert_eq!(done.code, UNFIT, "{}", done.stderr);
    assert!(done.stderr.contains("the record has no end"), "{}", done.stderr);
    assert!(done.stdout.contains("none of 4 places can be compared"), "{}", done.stdout);
}

#[test]
fn limits_of_the_system_are_told_as_such() {
    let desk = desk();
    if live(&desk, &["--no-reference", "--set", "until_s=0.2"]).is_none() {
        return;
    }
    let limited = |limit: &str| {
        let binary = env!("CARGO_BIN_EXE_forebay");
        let script = format!("ulimit {limit}; exec {binary} live small.toml --no-reference");
        let mut command = Command::new("bash");
        command.current_dir(desk.path("")).args(["-c", &script]).output().ok().map(Done::of)
    };
    let Some(files) = limited("-n 10") else { return };
    assert_eq!(files.code, IMPOSSIBLE, "{}", files.stderr);
    assert!(files.stderr.contains("ulimit -n"), "{}", files.stderr);
    let own_words = ["isolate", "laboratory", "CAP_"];
    assert!(own_words.iter().all(|word| !files.stderr.contains(word)), "{}", files.stderr);
    let no_folder = desk.command(&["live", "small.toml"]).env("TMPDIR", "/nonexistent").output();
    let done = Done::of(no_folder.expect("it starts"));
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(done.stderr.contains("in `/nonexistent`"), "{}", done.stderr);
    assert!(done.stderr.contains("TMPDIR=FOLDER"), "{}", done.stderr);
}

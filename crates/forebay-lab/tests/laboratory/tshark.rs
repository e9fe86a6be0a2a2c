//! The capture of a run as Wireshark's dissectors see it.

use crate::scenario;
use forebay_lab::{CaptureLimit, RunOptions, Store, Summary, Sweep, run_one};
use std::path::Path;
use std::process::Command;

/// True if tshark is there. Without it the test is skipped, unless FOREBAY_REQUIRE_TSHARK=1 says
/// that it must not be.
pub fn have_tshark(test: &str) -> bool {
    let found = Command::new("tshark").arg("--version").output().is_ok_and(|o| o.status.success());
    #[allow(clippy::disallowed_methods, reason = "a test may ask how it is run")]
    let required = std::env::var("FOREBAY_REQUIRE_TSHARK").is_ok_and(|v| v == "1");
    assert!(found || !required, "FOREBAY_REQUIRE_TSHARK=1, but tshark is not on PATH");
    if !found {
        #[allow(clippy::print_stderr, reason = "says what was not tested")]
        {
            eprintln!("SKIPPED: tshark not found: {test}");
        }
    }
    found
}

pub fn tshark(capture: &Path, args: &[&str]) -> String {
    let checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
    let mut command = Command::new("tshark");
    let output = command.arg("-n").args(checks).arg("-r").arg(capture).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tshark_reads_every_packet_of_a_run_and_follows_its_streams() {
    if !have_tshark("tshark_reads_every_packet_of_a_run_and_follows_its_streams") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (scenario, target) = (scenario(&[]), folder.path().join("out"));
    let store = Store::create(&target).unwrap();
    let capture = Some(CaptureLimit::default());
    let options = RunOptions { store: Some(&store), capture, ..RunOptions::default() };
    let run = run_one(&scenario, "cubic", 1, &options).unwrap();
    let hops = run.packet_hops as usize;
    let sweep = Sweep { runs: vec![run], ..Sweep::default() };
    store.finish(&scenario, &Summary::new("small", &scenario, sweep)).unwrap();
    let file = target.join("packets.pcapng");
    assert_eq!(tshark(&file, &["-Y", "_ws.malformed || _ws.expert.severity == error"]), "");
    assert_eq!(tshark(&file, &["-Y", "tcp.checksum.status == 1"]).lines().count(), hops);
    for stream in 0..2 {
        // One line of hexadecimal digits for each piece of the stream, below a head of six lines.
        let followed = tshark(&file, &["-q", "-z", &format!("follow,tcp,raw,{stream}")]);
        let digits = |line: &&str| line.len() > 1 && line.bytes().all(|b| b.is_ascii_hexdigit());
        let bytes: usize = followed.lines().filter(digits).map(|line| line.len() / 2).sum();
        assert_eq!(bytes, 200_000, "stream {stream}");
    }
}

//! The capture of a run as Wireshark's dissectors see it.

use crate::scenario;
use forebay_lab::{CaptureLimit, Outputs, RunOptions, Store, Summary, Sweep, run_one};
use forebay_prerequisites::program;
use std::path::Path;
use std::process::Command;

/// True if tshark is there.
#[track_caller]
pub fn have_tshark() -> bool {
    program(&["tshark"]).is_some()
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
    if !have_tshark() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (scenario, target) = (scenario(&[]), folder.path().join("out"));
    let store = Store::create(&target).unwrap();
    let capture = Some(CaptureLimit::default());
    let outputs = Outputs { capture, ..Outputs::to(&store) };
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
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

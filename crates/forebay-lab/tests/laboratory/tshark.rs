//! The capture of a run as Wireshark's dissectors see it.

use crate::scenario;
use forebay_lab::scenario::{Files, LoadOptions, Scenario};
use forebay_lab::{Batch, CaptureLimit, Outputs, RunOptions, Store, Summary, run_one};
use forebay_prerequisites::program;
use std::collections::BTreeSet;
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

/// A link that sends nothing for 4 s after 2 s: the retransmission timer expires, and nothing is
/// lost.
const STALL: &str = r#"
    routers = ["l", "r"]
    link_defaults = { rate = "10Mbit/s", delay = "5ms", queue = "1000packets" }
    links = [{ a = "l", b = "r", trace = "stall" }]
    hosts = [{ name = "s", attach = "l" }, { name = "d", attach = "r" }]
    flows = [{ src = "s", dst = "d", bytes = 600_000 }]
"#;

#[test]
fn needless_retransmissions_are_those_that_a_capture_at_the_receiver_shows() {
    if !have_tshark() {
        return;
    }
    let opportunities = (1..=200).map(|i| 10 * i).chain([6000]);
    let trace: String = opportunities.map(|ms| format!("{ms}\n")).collect();
    let files: Files = [("stall", trace)].into_iter().collect();
    let load = LoadOptions { files, ..LoadOptions::default() };
    let scenario = Scenario::parse(STALL, "stall.toml", &load).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let store = Store::create(&target).unwrap();
    let outputs = Outputs { capture: Some(CaptureLimit::default()), ..Outputs::to(&store) };
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let run = run_one(&scenario, "newreno", 1, &options).unwrap();
    let flow = run.per_flow[0].clone();
    let metrics = run.metrics.of_flows;
    let batch = Batch { runs: vec![run], ..Batch::default() };
    store.finish(&scenario, &Summary::new("stall", &scenario, batch)).unwrap();
    let arrived = "tcp.len > 0 and frame.interface_name == \"r->d\"";
    let fields = ["-Y", arrived, "-T", "fields", "-e", "tcp.seq", "-e", "tcp.len"];
    let (mut known, mut needless) = (BTreeSet::new(), 0);
    for line in tshark(&target.join("packets.pcapng"), &fields).lines() {
        let numbers: Vec<u64> = line.split('\t').map(|number| number.parse().unwrap()).collect();
        let news = (numbers[0]..numbers[0] + numbers[1]).filter(|&byte| known.insert(byte)).count();
        needless += u64::from(news == 0);
    }
    assert_eq!(known.len(), 600_000);
    assert!(needless > 0, "the timer expired, and sent what had not been lost");
    assert_eq!((flow.needless_retransmits, metrics.needless_retransmits), (needless, needless));
    assert_eq!(metrics.needless_share, Some(needless as f64 / flow.data_packets as f64));
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
    let batch = Batch { runs: vec![run], ..Batch::default() };
    store.finish(&scenario, &Summary::new("small", &scenario, batch)).unwrap();
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

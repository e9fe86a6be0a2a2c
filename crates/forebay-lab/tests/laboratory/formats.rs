//! Logs and exports in the formats of other programs, against the capture and the results of the
//! same run, read by other people's parsers.

use crate::pcapng::{self, Record};
use crate::{results_in, scenario};
use forebay_base::LinkId;
use forebay_lab::scenario::Scenario;
use forebay_lab::{
    Batch, CaptureLimit, ExportError, ExportFormat, Outputs, RunOptions, RunResult, Store, Summary,
    export, run_one,
};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Results with everything that can be written, and where they are.
struct Written {
    _folder: tempfile::TempDir,
    target: PathBuf,
    result: RunResult,
}

fn written(scenario: &Scenario, seed: u64) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let store = Store::create(&target).unwrap();
    let outputs = Outputs {
        capture: Some(CaptureLimit::default()),
        flow_monitor: true,
        link_logs: &[LinkId(0), LinkId(1)],
        ..Outputs::to(&store)
    };
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let result = run_one(scenario, "newreno", seed, &options).unwrap();
    let batch = Batch { runs: vec![result.clone()], ..Batch::default() };
    store.finish(scenario, &Summary::new("small", scenario, batch)).unwrap();
    Written { _folder: folder, target, result }
}

/// Source and destination address, and ports, of a TCP segment without IP options.
fn direction(record: &Record) -> (String, String, u16, u16) {
    let b = &record.bytes;
    let address = |at: usize| format!("{}.{}.{}.{}", b[at], b[at + 1], b[at + 2], b[at + 3]);
    let port = |at: usize| u16::from_be_bytes([b[at], b[at + 1]]);
    (address(12), address(16), port(20), port(22))
}

#[test]
fn flow_monitor_counts_what_the_capture_shows() {
    let Written { _folder, target, result } = written(&scenario(&[]), 1);
    let text = fs::read_to_string(target.join("flow-monitor-newreno-1.xml")).unwrap();
    let xml = roxmltree::Document::parse(&text).unwrap();
    let (interfaces, records) = pcapng::read(&target.join("packets.pcapng"));
    assert_eq!(interfaces.len(), 10);
    let flows = |parent: &str| -> Vec<roxmltree::Node<'_, '_>> {
        let parent = xml.descendants().find(|node| node.has_tag_name(parent)).unwrap();
        parent.children().filter(|node| node.has_tag_name("Flow")).collect()
    };
    let (stats, names) = (flows("FlowStats"), flows("Ipv4FlowClassifier"));
    assert_eq!((stats.len(), names.len()), (4, 4), "two flows, both directions");
    let mut lost = 0;
    for (stats, name) in stats.iter().zip(&names) {
        assert_eq!(stats.attribute("flowId"), name.attribute("flowId"));
        let text = |key: &str| name.attribute(key).unwrap().to_string();
        let of = (
            text("sourceAddress"),
            text("destinationAddress"),
            text("sourcePort").parse().unwrap(),
            text("destinationPort").parse().unwrap(),
        );
        let number = |key: &str| stats.attribute(key).unwrap().parse::<u64>().unwrap();
        let time = |key: &str| -> u64 {
            let text = stats.attribute(key).unwrap();
            text.strip_prefix('+').unwrap().strip_suffix(".0ns").unwrap().parse().unwrap()
        };
        let mine: Vec<&Record> = records.iter().filter(|r| direction(r) == of).collect();
        let (first, last): (Vec<&Record>, Vec<&Record>) = (
            mine.iter()
                .copied()
                .filter(|r| r.interface.ends_with("->l") && r.interface != "r->l")
                .chain(mine.iter().copied().filter(|r| r.interface.starts_with('d')))
                .collect(),
            mine.iter()
                .copied()
                .filter(|r| r.interface.contains("->s") || r.interface.contains("->d"))
                .collect(),
        );
        let bytes = |of: &[&Record]| of.iter().map(|r| r.bytes.len() as u64).sum::<u64>();
        assert_eq!(number("txPackets"), first.len() as u64);
        assert_eq!(number("txBytes"), bytes(&first));
        assert_eq!(number("rxPackets"), last.len() as u64);
        assert_eq!(number("rxBytes"), bytes(&last));
        assert_eq!(number("timesForwarded"), 2 * last.len() as u64);
        assert_eq!(time("timeFirstRxPacket"), last[0].at_ns);
        assert_eq!(time("timeLastRxPacket"), last[last.len() - 1].at_ns);
        assert_eq!(number("txPackets"), number("rxPackets") + number("lostPackets"));
        // 7 ms of propagation, and 3 transmissions.
        let least_ns = number("rxPackets") * 7_000_000;
        assert!(time("delaySum") > least_ns);
        let dropped: u64 = stats
            .children()
            .filter(|node| node.has_tag_name("packetsDropped"))
            .map(|node| node.attribute("number").unwrap().parse::<u64>().unwrap())
            .sum();
        assert_eq!(dropped, number("lostPackets"), "all were refused by the queue");
        lost += dropped;
    }
    assert!(lost > 0);
    assert_eq!(lost, result.drops["full"]);
}

/// Of ACKs that meet no queue: three transmissions and 7 ms each.
#[test]
fn delays_of_flow_monitor_are_those_by_hand() {
    let one = scenario(&["flows.0.count=1", "flows.0.bytes=1000"]);
    let Written { _folder, target, .. } = written(&one, 1);
    let text = fs::read_to_string(target.join("flow-monitor-newreno-1.xml")).unwrap();
    let xml = roxmltree::Document::parse(&text).unwrap();
    let back = xml.descendants().filter(|node| node.has_tag_name("Flow")).nth(1).unwrap();
    let number = |key: &str| back.attribute(key).unwrap().parse::<f64>().unwrap();
    let sum = back.attribute("delaySum").unwrap().trim_matches(['+', 'n', 's']);
    let per_byte_ns = 8e9 / 10e6 + 2.0 * 8e9 / 100e6;
    let by_hand = number("rxPackets") * 7e6 + number("rxBytes") * per_byte_ns;
    assert!((sum.parse::<f64>().unwrap() - by_hand).abs() < 10.0, "{sum} is not {by_hand}");
}

#[test]
fn the_log_of_a_link_is_what_the_capture_and_the_metrics_say() {
    let Written { _folder, target, result } = written(&scenario(&["start_jitter=0s"]), 1);
    let text = fs::read_to_string(target.join("mm-link-newreno-1-l-r.log")).unwrap();
    let mut lines = text.lines();
    assert!(lines.next().unwrap().starts_with("# mahimahi mm-link (l->r)"));
    assert_eq!(lines.next(), Some("# base timestamp: 0"));
    let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut waits, mut before, mut dropped) = (Vec::new(), 0, 0);
    for line in lines {
        let fields: Vec<&str> = line.split(' ').collect();
        let ms: u64 = fields[0].parse().unwrap();
        assert!(ms >= before, "{line} comes after {before}");
        before = ms;
        match fields[..] {
            [_, "-", len, wait] => {
                *bytes.entry("-").or_default() += len.parse::<u64>().unwrap();
                waits.push(wait.parse::<f64>().unwrap());
            }
            [_, "d", "1", _] => dropped += 1,
            [_, kind @ ("+" | "#"), len] => {
                *bytes.entry(kind).or_default() += len.parse::<u64>().unwrap();
            }
            _ => panic!("{line}"),
        }
    }
    let (_, records) = pcapng::read(&target.join("packets.pcapng"));
    let on_link = records.iter().filter(|r| r.interface == "l->r");
    assert_eq!(bytes["-"], on_link.map(|r| r.bytes.len() as u64).sum::<u64>());
    assert_eq!(dropped, result.drops["full"]);
    // 10 Mbit/s in each millisecond up to the last line.
    assert_eq!(bytes["#"], before * 1250);
    assert!(bytes["+"] > bytes["-"]);
    // In ms, and with the transmission of a packet, 1.2 ms for most.
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let expected = result.metrics.queue_delay_mean_ms.unwrap();
    assert!((mean - expected - 1.2).abs() < 0.5, "{mean} is not {expected} and a transmission");
}

#[test]
fn a_link_whose_departures_are_not_known_has_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create(&folder.path().join("out")).unwrap();
    let outputs = Outputs { link_logs: &[LinkId(0)], ..Outputs::to(&store) };
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let jitter = scenario(&["links.l-r.jitter=2ms"]);
    let error = run_one(&jitter, "newreno", 1, &options).unwrap_err();
    let told = "the times when packets leave `l->r` are not known: it has jitter";
    assert_eq!(error.to_string(), told);
}

fn exported(format: ExportFormat, from: &Path) -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("files");
    let mut files = export(format, from, &target).unwrap();
    files.sort();
    assert_eq!(results_in(&target), files);
    (folder, files)
}

#[test]
fn csv_files_have_the_values_of_the_results() {
    let Written { _folder, target, result } = written(&scenario(&[]), u64::MAX);
    let (folder, files) = exported(ExportFormat::Csv, &target);
    assert_eq!(files, ["delays.csv", "flows.csv", "series.csv"]);
    let mut flows = csv::Reader::from_path(folder.path().join("files/flows.csv")).unwrap();
    let head = flows.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = flows.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), result.per_flow.len());
    for (row, flow) in rows.iter().zip(&result.per_flow) {
        let get = |name: &str| &row[head.iter().position(|column| column == name).unwrap()];
        assert_eq!((get("run_protocol"), get("src")), ("newreno", flow.src.as_str()));
        assert_eq!(get("seed").parse(), Ok(u64::MAX));
        assert_eq!(get("fct_s").parse::<f64>().ok(), flow.fct_s);
        assert_eq!(get("data_packets").parse::<u64>().ok(), Some(flow.data_packets));
    }
    let series = fs::read_to_string(folder.path().join("files/series.csv")).unwrap();
    assert!(series.starts_with("run_protocol,seed,t_ns,entity,metric,value,unit\n"));
}

/// That quiche's parser takes them is a stage of `.ci/run` (`.ci/qlog`).
#[test]
fn qlog_files_are_text_sequences_of_what_changed() {
    let Written { _folder, target, .. } = written(&scenario(&[]), 1);
    let (folder, files) = exported(ExportFormat::Qlog, &target);
    assert_eq!(files, ["newreno-1-flow-1.sqlog", "newreno-1-flow-2.sqlog"]);
    let (csv, _) = exported(ExportFormat::Csv, &target);
    let series = fs::read_to_string(csv.path().join("files/series.csv")).unwrap();
    let cwnd = series.lines().filter(|line| line.contains(",flow/1,cwnd_bytes,"));
    let cwnd: Vec<(f64, f64)> = cwnd
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            (fields[2].parse::<f64>().unwrap() / 1e6, fields[5].parse().unwrap())
        })
        .collect();
    let text = fs::read_to_string(folder.path().join("files").join(&files[0])).unwrap();
    assert!(text.ends_with('\n'));
    let mut records = text.split_terminator('\n').map(|line| {
        let json = line.strip_prefix('\u{1e}').expect("RFC 7464: RS before each text");
        serde_json::from_str::<serde_json::Value>(json).unwrap()
    });
    let head = records.next().unwrap();
    assert_eq!(head["title"], "small: flow 1, protocol newreno, seed 1");
    assert_eq!(head["file_schema"], "urn:ietf:params:qlog:file:sequential");
    let (mut said, mut changes) = (Vec::new(), cwnd.clone());
    for event in records {
        assert_eq!(event["name"], "quic:recovery_metrics_updated");
        if let Some(bytes) = event["data"]["congestion_window"].as_f64() {
            said.push((event["time"].as_f64().unwrap(), bytes));
        }
    }
    changes.dedup_by_key(|(_, bytes)| *bytes);
    assert!(said.len() > 10);
    assert_eq!(said, changes);
}

#[test]
fn what_is_no_results_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("files");
    let error = export(ExportFormat::Csv, folder.path(), &target).unwrap_err();
    assert!(matches!(error, ExportError::Read(_)), "{error}");
    fs::write(folder.path().join("summary.json"), "[]").unwrap();
    let error = export(ExportFormat::Csv, folder.path(), &target).unwrap_err();
    assert!(matches!(error, ExportError::Read(_)), "{error}");
    assert_eq!(results_in(folder.path()), ["summary.json"], "nothing was written");
}

//! `packet_hops` against captures: a packet counts on each link that it has been sent over to its
//! last bit, and on no other.
//!
//! A capture has a packet when it arrives. The end of its transmission is the delay of the link
//! before that. So what was sent by a time T is taken from a capture that goes on until all of that
//! has arrived, for the first T of a longer run is the shorter run.

use crate::pcapng::{self, Record};
use crate::{results_in, tshark};
use forebay_base::{LinkId, Span};
use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{
    Batch, CaptureLimit, Looks, Outputs, RunOptions, RunResult, Store, Summary, run_one,
};
use forebay_sim::Simulation;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use tempfile::TempDir;

fn load(name: &str, set: &[&str]) -> Scenario {
    let set = set.iter().map(ToString::to_string).collect();
    Scenario::load(name, &LoadOptions { set, ..LoadOptions::default() }).unwrap()
}

/// A run, and the file with its packets.
fn captured(scenario: &Scenario) -> (RunResult, TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let store = Store::create(&target).unwrap();
    let capture = Some(CaptureLimit::default());
    let outputs = Outputs { capture, ..Outputs::to(&store) };
    let options = RunOptions { record: Some(&outputs), ..quiet(1) };
    let result = run_one(scenario, "newreno", 1, &options).unwrap();
    let batch = Batch { runs: vec![result.clone()], ..Batch::default() };
    store.finish(scenario, &Summary::new("captured", scenario, batch)).unwrap();
    assert!(results_in(&target).contains(&"packets.pcapng".to_string()));
    (result, folder, target.join("packets.pcapng"))
}

fn quiet<'a>(threads: usize) -> RunOptions<'a> {
    RunOptions { without_reference: true, threads, without_trial: true, ..RunOptions::default() }
}

/// The number in the JSON of a run.
fn hops(result: &RunResult) -> u64 {
    serde_json::to_value(result).unwrap()["packet_hops"].as_u64().unwrap()
}

/// Packets with payload, and without, that were sent over a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    data: u64,
    acks: u64,
}

impl Count {
    fn all(self) -> u64 {
        self.data + self.acks
    }
}

/// By directed link, as its name stands in the capture.
type Counts = BTreeMap<String, Count>;

fn count(records: &[Record]) -> Counts {
    let mut counts = Counts::new();
    for record in records {
        let of_link = counts.entry(record.interface.clone()).or_default();
        match record.tcp().1 {
            0 => of_link.acks += 1,
            _ => of_link.data += 1,
        }
    }
    counts
}

fn sum(counts: &Counts) -> u64 {
    counts.values().map(|count| count.all()).sum()
}

/// The same run in several threads has the same number.
fn assert_threads_agree(scenario: &Scenario, result: &RunResult) {
    for threads in [1, 2, 3, 4, 8] {
        let again = run_one(scenario, "newreno", 1, &quiet(threads)).unwrap();
        assert_eq!(hops(&again), hops(result), "{threads} threads");
        assert_eq!(again.trace_hash, result.trace_hash, "{threads} threads");
        assert!(again.parallel.threads == threads || threads == 8, "{:?}", again.parallel);
    }
}

#[test]
fn of_flows_that_end_every_hop_is_in_the_capture() {
    let scenario = load("s1", &[]);
    let (result, _folder, file) = captured(&scenario);
    // Nothing was on its way at the end, or the capture would lack it.
    let held = Mutex::new(None);
    let who = |simulation: &Simulation| {
        *held.lock().unwrap() = Some(simulation.conservation().held);
    };
    let looks = Some(Looks { every: Span::from_secs(1_000), who: &who });
    run_one(&scenario, "newreno", 1, &RunOptions { looks, ..quiet(1) }).unwrap();
    assert_eq!(held.into_inner().unwrap(), Some(0));

    let counts = count(&pcapng::read(&file).1);
    assert_eq!(sum(&counts), hops(&result));
    // By hand: data goes s-4-0-2-3-d, and what is dropped is dropped before 0-2; ACKs all come
    // back.
    let of = |from: &str, to: &str| counts[&format!("{from}->{to}")];
    let together = |counts: [Count; 3]| {
        counts.iter().fold(Count::default(), |sum, count| Count {
            data: sum.data + count.data,
            acks: sum.acks + count.acks,
        })
    };
    let sent: u64 = result.per_flow.iter().map(|flow| flow.data_packets).sum();
    let arrived = sent - result.drops["full"];
    let ups = together(["s1", "s2", "s3"].map(|host| of(host, "4")));
    let downs = together(["d1", "d2", "d3"].map(|host| of("3", host)));
    assert_eq!((ups.data, of("4", "0"), downs.data), (sent, ups, arrived));
    assert_eq!((of("0", "2"), of("2", "3")), (downs, downs));
    // Each packet without payload that a sender sends arrives.
    assert_eq!(ups.acks, downs.acks);
    let back = together(["d1", "d2", "d3"].map(|host| of(host, "3")));
    let home = together(["s1", "s2", "s3"].map(|host| of("4", host)));
    assert_eq!([of("3", "2"), of("2", "0"), of("0", "4"), home], [back; 4]);
    assert_eq!(back.data, 0);
    let by_hand = 2 * sent + 3 * arrived + 5 * ups.acks + 5 * back.acks;
    assert_eq!(hops(&result), by_hand);
    assert!(!counts.contains_key("0->1") && !counts.contains_key("1->2"), "the long way round");
    assert_threads_agree(&scenario, &result);
}

/// The end of the short run, and of the one whose capture shows what had been sent by then, in
/// milliseconds.
const SHORT_MS: u64 = 200;
const LONG_MS: u64 = 220;
/// Links of S2 are 1 Gbit/s.
const NS_PER_BYTE: u64 = 8;

/// Of S2 the delay of a link, in nanoseconds.
fn delay_ns(interface: &str) -> u64 {
    if interface.contains("left") && interface.contains("right") { 8_000_000 } else { 1_000_000 }
}

/// How long each link of the short run has been busy, by its name.
fn busy_ns(scenario: &Scenario) -> BTreeMap<String, u64> {
    let name = |node: forebay_base::NodeId| &scenario.nodes[node.index()].name;
    let busy = Mutex::new(BTreeMap::new());
    let who = |simulation: &Simulation| {
        let mut busy = busy.lock().unwrap();
        for (index, link) in scenario.links.iter().enumerate() {
            let of = |id: usize| simulation.link(LinkId(id as u32)).busy().as_nanos();
            busy.insert(format!("{}->{}", name(link.a), name(link.b)), of(2 * index));
            busy.insert(format!("{}->{}", name(link.b), name(link.a)), of(2 * index + 1));
        }
    };
    let looks = Some(Looks { every: Span::from_secs(1_000), who: &who });
    run_one(scenario, "newreno", 1, &RunOptions { looks, ..quiet(1) }).unwrap();
    busy.into_inner().unwrap()
}

#[test]
fn of_flows_that_are_cut_short_what_was_sent_by_then_counts_and_nothing_else() {
    let until = |ms: u64| load("s2", &[&format!("until_s={}", ms as f64 / 1e3)]);
    let short = until(SHORT_MS);
    let result = run_one(&short, "newreno", 1, &quiet(1)).unwrap();
    let (_, _folder, file) = captured(&until(LONG_MS));
    let (_, records) = pcapng::read(&file);
    let end_ns = SHORT_MS * 1_000_000;
    let sent_ns = |record: &Record| record.at_ns - delay_ns(&record.interface);
    let (sent, later): (Vec<Record>, Vec<Record>) =
        records.into_iter().partition(|record| sent_ns(record) <= end_ns);
    let counts = count(&sent);
    assert_eq!(sum(&counts), hops(&result));
    // What was on a wire at the end had been sent; what was in transmission or waited had not.
    let on_wires = sent.iter().filter(|record| record.at_ns > end_ns).count();
    let begun_ns = |record: &Record| sent_ns(record) - NS_PER_BYTE * record.bytes.len() as u64;
    let cut: Vec<&Record> = later.iter().filter(|record| begun_ns(record) < end_ns).collect();
    assert!(on_wires > 500 && !cut.is_empty(), "{on_wires} {}", cut.len());

    // Link by link, to the nanosecond.
    let mut expected_ns: BTreeMap<String, u64> = BTreeMap::new();
    for record in &sent {
        *expected_ns.entry(record.interface.clone()).or_default() +=
            NS_PER_BYTE * record.bytes.len() as u64;
    }
    for record in cut {
        *expected_ns.entry(record.interface.clone()).or_default() += end_ns - begun_ns(record);
    }
    for (link, busy_ns) in busy_ns(&short) {
        assert_eq!(busy_ns, expected_ns.get(&link).copied().unwrap_or(0), "{link}");
    }
    // Data goes one way and ACKs the other.
    let [there, back] = ["left->right", "right->left"].map(|link| counts[link]);
    assert!(there.data > 10_000 && there.acks < 300, "{there:?}");
    assert!(back.data == 0 && back.acks > 5_000, "{back:?}");
    assert_threads_agree(&short, &result);
    assert_tshark_agrees(&file, &sent, &later);
}

/// Wireshark's dissectors see the same packets on each link, with and without payload.
fn assert_tshark_agrees(file: &std::path::Path, sent: &[Record], later: &[Record]) {
    if !tshark::have_tshark() {
        return;
    }
    let fields = ["-T", "fields", "-e", "frame.interface_name", "-e", "tcp.len"];
    let mut seen = Counts::new();
    for line in tshark::tshark(file, &fields).lines() {
        let (interface, len) = line.split_once('\t').unwrap();
        let of_link = seen.entry(interface.to_string()).or_default();
        match len.parse::<u32>().unwrap() {
            0 => of_link.acks += 1,
            _ => of_link.data += 1,
        }
    }
    let mut all = sent.to_vec();
    all.extend_from_slice(later);
    assert_eq!(seen, count(&all));
}

#[test]
fn a_packet_that_is_lost_on_a_wire_was_sent_over_it() {
    let scenario = load("lossy", &[]);
    let (result, _folder, file) = captured(&scenario);
    let lost = result.drops["loss"];
    // One of a hundred of 7 000.
    assert!((35..140).contains(&lost), "{lost}");
    assert_eq!(sum(&count(&pcapng::read(&file).1)) + lost, hops(&result));
    assert_threads_agree(&scenario, &result);
}

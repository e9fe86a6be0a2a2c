//! A capture, and what can be computed from it alone, against the metrics of the same run.

use crate::pcapng::{self, Record};
use crate::{results_in, scenario};
use forebay_lab::{Batch, CaptureLimit, Outputs, RunOptions, RunResult, Store, Summary, run_one};
use std::collections::{BTreeMap, VecDeque};

const BOTTLENECK_BPS: f64 = 10e6;
const BOTTLENECK_DELAY_NS: f64 = 5e6;

fn captured() -> (RunResult, Vec<String>, Vec<Record>) {
    let folder = tempfile::tempdir().unwrap();
    let (scenario, target) = (scenario(&["start_jitter=0s"]), folder.path().join("out"));
    let store = Store::create(&target).unwrap();
    let outputs = Outputs { capture: Some(CaptureLimit::default()), ..Outputs::to(&store) };
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let result = run_one(&scenario, "newreno", 1, &options).unwrap();
    let batch = Batch { runs: vec![result.clone()], ..Batch::default() };
    store.finish(&scenario, &Summary::new("small", &scenario, batch)).unwrap();
    let expected = [
        "delays.parquet",
        "flows.parquet",
        "packets.pcapng",
        "report.html",
        "scenario.toml",
        "series.parquet",
        "summary.json",
    ];
    assert_eq!(results_in(&target), expected);
    let (interfaces, records) = pcapng::read(&target.join("packets.pcapng"));
    (result, interfaces, records)
}

fn on<'a>(records: &'a [Record], interface: &str) -> impl Iterator<Item = &'a Record> {
    records.iter().filter(move |record| record.interface == interface)
}

#[test]
fn there_is_a_record_for_each_packet_hop_in_order_of_time() {
    let (result, interfaces, records) = captured();
    assert_eq!(interfaces[..4], ["l->r", "r->l", "s0->l", "l->s0"]);
    assert_eq!(records.len() as u64, result.packet_hops);
    assert!(records.is_sorted_by_key(|record| record.at_ns));
}

#[test]
fn utilisation_is_the_transmission_time_of_what_the_capture_holds() {
    let (result, _, records) = captured();
    let bytes: usize = on(&records, "l->r").map(|record| record.bytes.len()).sum();
    let expected = bytes as f64 * 8.0 / BOTTLENECK_BPS / result.ended_s;
    let got = result.metrics.utilisation["l-r"];
    assert!((got - expected).abs() < 1e-9, "{got} is not {expected}");
}

#[test]
fn queue_delay_is_what_is_left_of_the_time_between_two_links() {
    let (result, _, records) = captured();
    // Everything that came to l, by its TCP bytes, less what the queue refused.
    let mut came: BTreeMap<&[u8], VecDeque<u64>> = BTreeMap::new();
    for record in on(&records, "s0->l").chain(on(&records, "s1->l")) {
        came.entry(&record.bytes[20..]).or_default().push_back(record.at_ns);
    }
    let mut waits_ns = Vec::new();
    for record in on(&records, "l->r") {
        let came_ns = came.get_mut(&record.bytes[20..]).unwrap().pop_front().unwrap();
        let sent_ns = record.bytes.len() as f64 * 8e9 / BOTTLENECK_BPS;
        waits_ns.push((record.at_ns - came_ns) as f64 - BOTTLENECK_DELAY_NS - sent_ns);
    }
    assert_eq!(came.values().map(|c| c.len() as u64).sum::<u64>(), result.drops["full"]);
    let mean_ms = waits_ns.iter().sum::<f64>() / waits_ns.len() as f64 * 1e-6;
    let metrics = &result.metrics;
    assert_eq!(metrics.queue_delay_link.as_deref(), Some("l-r"));
    assert!((metrics.queue_delay_mean_ms.unwrap() - mean_ms).abs() < 1e-5, "not {mean_ms}");
    waits_ns.sort_by(f64::total_cmp);
    let p95_ms = waits_ns[waits_ns.len() * 95 / 100] * 1e-6;
    let ratio = metrics.queue_delay_p95_ms.unwrap() / p95_ms;
    assert!((0.93..1.07).contains(&ratio), "{ratio} of {p95_ms}");
}

#[test]
fn a_flow_is_complete_when_its_last_missing_byte_arrives() {
    let (result, _, records) = captured();
    for (flow, (uplink, last_link)) in
        result.per_flow.iter().zip([("s0->l", "r->d0"), ("s1->l", "r->d1")])
    {
        let isn = on(&records, uplink).next().unwrap().tcp().0;
        // Segments are cut at the same places each time: the first byte of each says which it is.
        let mut missing: BTreeMap<u32, u32> = BTreeMap::new();
        for record in on(&records, uplink).filter(|record| record.tcp().1 > 0) {
            let (seq, len) = record.tcp();
            missing.insert(seq.wrapping_sub(isn), len);
        }
        assert_eq!(missing.values().sum::<u32>(), 200_000);
        let complete_ns = on(&records, last_link).find_map(|record| {
            missing.remove(&record.tcp().0.wrapping_sub(isn));
            missing.is_empty().then_some(record.at_ns)
        });
        let expected = complete_ns.unwrap() as f64 * 1e-9;
        assert!((flow.fct_s.unwrap() - expected).abs() < 1e-9, "{expected}: {flow:?}");
        let goodput = 200_000.0 * 8.0 / expected;
        assert!((flow.goodput_bps.unwrap() - goodput).abs() < 1.0, "{goodput}: {flow:?}");
    }
}

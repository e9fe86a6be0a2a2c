//! Protocols that need routers of their own: what their runs give, and what their series hold.
//! Times and volumes follow from a fluid: 40 Mbit/s per sender come in, 20 Mbit/s go out of node 0.

use crate::batches::rows;
use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{
    Batch, InterfaceResult, Outputs, RunOptions, RunResult, Store, Summary, run_one,
};
use parquet::record::RowAccessor;
use std::collections::{BTreeMap, BTreeSet};

/// Series of one run, by entity and metric.
type Series = BTreeMap<(String, String), Vec<(f64, f64)>>;

fn load(name: &str, set: &[&str]) -> Scenario {
    let set = set.iter().map(ToString::to_string).collect();
    Scenario::load(name, &LoadOptions { set, ..LoadOptions::default() })
        .unwrap_or_else(|e| panic!("{e}"))
}

fn run(scenario: &Scenario, protocol: &str) -> (RunResult, Series) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let store = Store::create(&target).unwrap();
    let outputs = Outputs::to(&store);
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let result = run_one(scenario, protocol, 1, &options).unwrap();
    let batch = Batch { runs: vec![result.clone()], ..Batch::default() };
    store.finish(scenario, &Summary::new("x", scenario, batch)).unwrap();
    let mut series = Series::new();
    for row in rows(&target.join("series.parquet")).1 {
        let text = |i| row.get_string(i).unwrap().clone();
        let at_s = row.get_long(2).unwrap() as f64 / 1e9;
        let values = series.entry((text(3), text(4))).or_default();
        values.push((at_s, row.get_double(5).unwrap()));
    }
    (result, series)
}

fn of<'a>(series: &'a Series, entity: &str, metric: &str) -> &'a [(f64, f64)] {
    let values = series.get(&(entity.to_string(), metric.to_string()));
    values.unwrap_or_else(|| panic!("no {metric} of {entity}"))
}

fn interface<'a>(result: &'a RunResult, port: &str) -> &'a InterfaceResult {
    let found = result.interfaces.iter().find(|interface| interface.port == port);
    found.unwrap_or_else(|| panic!("nothing happened at {port}"))
}

#[test]
fn the_dumbbell_of_the_paper_under_inrpp() {
    let (result, series) = run(&load("inrpp/dumbbell", &[]), "inrpp");
    assert_eq!((result.completed, result.metrics.of_flows.retransmits), (3, 0));
    // 10 MB are above what left by then at node 0 at 3.04 s, at node 4 while the third sender is
    // alone.
    let near = interface(&result, "0-2");
    assert!((2.95..3.10).contains(&near.first_entered_s["B"]), "{near:?}");
    let far = interface(&result, "4-0");
    assert!((4.6..5.1).contains(&far.first_entered_s["B"]), "{far:?}");
    // 12.5 MB, and what the queue of the link, 50 ms long, may not hold: all but two packets.
    for (interface, queue_bytes) in [(near, 62_500), (far, 62_500_000)] {
        let total_bytes = 12_500_000 + queue_bytes - 3_000;
        assert_eq!(interface.cache_limits_bytes, [5_000_000, 10_000_000, total_bytes]);
        assert!((10_000_000..12_500_000).contains(&interface.highest_cache_bytes));
        assert_eq!(interface.cache_drops, 0);
    }
    assert!(near.detoured_bytes > 0 && near.detoured_bytes < near.offered_bytes);
    for (metric, bytes) in [("low", 5e6), ("high", 10e6), ("total", 12_559_500.0)] {
        let once = of(&series, "port/0-2", &format!("cache_{metric}_bytes"));
        assert_eq!(once.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(), [bytes]);
    }
    let states = of(&series, "port/0-2", "state");
    let states: Vec<u8> = states.iter().map(|(_, state)| *state as u8).collect();
    let seen: BTreeSet<u8> = states.iter().copied().collect();
    assert!(seen.contains(&2) && seen.iter().all(|state| *state <= 3), "{seen:?}");
    assert_eq!(states.last(), Some(&0), "all is through");
}

#[test]
fn what_is_offered_to_an_interface_has_left_or_waits() {
    let (_, series) = run(&load("inrpp/dumbbell", &[]), "inrpp");
    let port = |metric| of(&series, "port/0-2", metric);
    let [offered, sent, cache] = ["offered_bytes", "sent_bytes", "cache_bytes"].map(port);
    // At most two packets are in the queue: there is no series of one that no sample met.
    let queue = series.get(&("port/0-2".to_string(), "queue_bytes".to_string()));
    let queue: &[(f64, f64)] = queue.map_or(&[], |values| values);
    assert!(offered.len() > 1_000, "a sample each 10 ms from 1 s on");
    let waits: BTreeMap<u64, f64> = queue.iter().map(|(at, v)| ((at * 1e9) as u64, *v)).collect();
    for ((offered, sent), cache) in offered.iter().zip(sent).zip(cache) {
        let waits = waits.get(&((offered.0 * 1e9) as u64)).copied().unwrap_or(0.0);
        let rest = offered.1 - sent.1 - cache.1;
        assert!((0.0..=waits).contains(&rest), "{rest} of {waits} at {} s", offered.0);
    }
    // The shares of the flows are the cache, and all payload has passed at the end.
    let share = |flow: u32, metric| of(&series, &format!("port/0-2/flow/{flow}"), metric);
    let mut sum: BTreeMap<u64, f64> = BTreeMap::new();
    for flow in 1..=3 {
        for (at, bytes) in share(flow, "cache_bytes") {
            *sum.entry((at * 1e9) as u64).or_default() += bytes;
        }
        let (_, passed) = share(flow, "passed_bytes").last().unwrap();
        assert_eq!(*passed, 10e6, "flow {flow}");
    }
    for (at, bytes) in cache {
        assert_eq!(sum.get(&((at * 1e9) as u64)).copied().unwrap_or(0.0), *bytes, "at {at} s");
    }
}

#[test]
fn sequence_numbers_at_both_ends() {
    let (_, series) = run(&load("inrpp/dumbbell", &[]), "inrpp");
    let sent = of(&series, "flow/1", "sent_bytes");
    let received = of(&series, "flow/1", "received_bytes");
    assert_eq!(sent.len(), received.len());
    assert!(sent.is_sorted_by(|a, b| a.1 <= b.1) && received.is_sorted_by(|a, b| a.1 <= b.1));
    assert!(sent.iter().zip(received).all(|(sent, received)| received.1 <= sent.1));
    // The sender is alone on its access link: 10 MB in 6916 packets of 1446 bytes, 1496 on the
    // wire, take 299.2 us each at 40 Mbit/s. The receiver's window follows its SYN-ACK at once, so
    // they leave when the handshake is over, at 1.050 s: until 1.050 + 6916 x 299.2 us = 3.119 s.
    let all_sent = sent.iter().find(|(_, bytes)| *bytes == 10e6).expect("it was sent").0;
    assert_eq!(all_sent, 3.12, "the next sample");
    let there = received.iter().rev().find(|(at, _)| *at <= all_sent).unwrap().1;
    assert!(there < 5e6, "{there}");
}

#[test]
fn ports_of_rcp_show_the_rate_that_they_stamp() {
    let (result, series) = run(&load("inrpp/dumbbell", &[]), "rcp");
    assert_eq!((result.completed, result.interfaces.len()), (3, 0));
    let rates = of(&series, "port/0-2", "rcp_rate_bps");
    // From a twentieth of the link to the link.
    assert!(rates[0].1 >= 0.4e6 && rates.iter().all(|(_, bps)| *bps <= 10e6));
    // Hosts stamp nothing, nor do routers where no flow uses RCP.
    assert!(!series.contains_key(&("port/s1-4".into(), "rcp_rate_bps".into())));
    let (_, series) = run(&load("inrpp/dumbbell", &["until_s=2"]), "cubic");
    assert!(series.keys().all(|(_, metric)| metric != "rcp_rate_bps" && metric != "state"));
}

#[test]
fn many_flows_have_no_rows_of_their_own_at_ports() {
    let (result, series) = run(&load("inrpp/detour-100", &["until_s=0.2"]), "inrpp");
    assert!(interface(&result, "left-right").detoured_bytes > 0);
    assert!(series.contains_key(&("port/left-right".into(), "cache_bytes".into())));
    assert!(series.keys().all(|(entity, _)| !entity.contains("/flow/")));
}

#[test]
fn three_protocols_share_a_network_with_what_each_of_them_needs() {
    let set = ["flows=[\
        {src=\"s1\",dst=\"r1\",bytes=\"1MB\",protocol=\"inrpp\"},\
        {src=\"s2\",dst=\"r2\",bytes=\"1MB\",protocol=\"rcp\"},\
        {src=\"s3\",dst=\"r3\",bytes=\"1MB\"}]"];
    let (result, series) = run(&load("inrpp/dumbbell", &set), "cubic");
    assert_eq!(result.completed, 3);
    assert!(interface(&result, "0-2").offered_bytes > 3_000_000);
    assert!(series.contains_key(&("port/0-2".into(), "rcp_rate_bps".into())));
}

//! One-way delay over time and its distribution, in files, against a closed form and packet events.

use crate::batches::rows;
use crate::delays::by_event_lines;
use crate::scenario;
use forebay_lab::scenario::Scenario;
use forebay_lab::{Batch, Outputs, RunOptions, RunResult, Store, Summary, run_one};
use parquet::record::RowAccessor;
use std::collections::BTreeMap;

/// Half of a bucket on either side of its middle, and what rounding adds.
const BUCKET: f64 = 1.0 / 32.0;

/// The rows of `class/NAME` in `series.parquet` by time in ns and metric, and the buckets of
/// `delays.parquet` as from, to, packets.
struct Written {
    result: RunResult,
    series: BTreeMap<(i64, String), f64>,
    buckets: Vec<(f64, f64, i64)>,
}

fn written(scenario: &Scenario, protocol: &str, options: RunOptions<'_>) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let store = Store::create(&target).unwrap();
    let outputs = Outputs::to(&store);
    let options = RunOptions { record: Some(&outputs), ..options };
    let result = run_one(scenario, protocol, 1, &options).unwrap();
    let batch = Batch { runs: vec![result.clone()], ..Batch::default() };
    store.finish(scenario, &Summary::new("small", scenario, batch)).unwrap();
    let (_, all) = rows(&target.join("series.parquet"));
    let class = all.iter().filter(|row| row.get_string(3).unwrap().starts_with("class/"));
    let series = class.map(|row| {
        assert_eq!(row.get_string(6).unwrap(), "ms");
        let key = (row.get_long(2).unwrap(), row.get_string(4).unwrap().clone());
        (key, row.get_double(5).unwrap())
    });
    let series = series.collect();
    let (names, all) = rows(&target.join("delays.parquet"));
    assert_eq!(names, ["run_protocol", "seed", "class", "from_ms", "to_ms", "packets"]);
    let bucket = |row: &parquet::record::Row| {
        assert_eq!(row.get_string(2).unwrap(), &result.per_flow[0].class);
        let end = |place| row.get_double(place).unwrap();
        (end(3), end(4), row.get_long(5).unwrap())
    };
    let buckets = all.iter().map(bucket).collect();
    Written { result, series, buckets }
}

/// A packet of 1448 bytes each 5 ms over 100, 10 and 100 Mbit/s and 7 ms of propagation: nothing
/// waits, so that each takes 0.12 + 1.2 + 0.12 + 7 ms.
#[test]
fn packets_that_never_wait_take_transmission_and_propagation() {
    let write = "flows.0.write={ rate = \"2316.8kbit/s\", chunk_bytes = 1448 }";
    let set = ["start_jitter=0s", "flows.0.count=1", "flows.0.bytes=289600", "sample_s=0.1", write];
    let written = written(&scenario(&set), "newreno", RunOptions::default());
    let expected_ms = 0.12 + 1.2 + 0.12 + 7.0;
    let mut samples = 0;
    // The first packet finds the ACK that ends the handshake before it.
    for ((t_ns, metric), value) in
        written.series.iter().filter(|((t_ns, _), _)| *t_ns > 100_000_000)
    {
        let within = if metric == "one_way_delay_mean_ms" { 1e-6 } else { expected_ms * BUCKET };
        assert!((value - expected_ms).abs() <= within, "{t_ns} {metric}: {value}");
        samples += 1;
    }
    // 200 packets last a second.
    assert!(samples >= 3 * 9, "{samples}");
    // All 200, but for three that were written before the handshake ended and leave in a burst:
    // the second and the third wait for those before them, 1.2 ms each at 10 Mbit/s, and leave the
    // transport when the interface of the host has room, 0.00416 and 0.12416 ms after the first.
    let counts: Vec<i64> = written.buckets.iter().map(|of| of.2).collect();
    assert_eq!(counts, [197, 1, 1, 1], "{:?}", written.buckets);
    assert!((written.buckets[0].0 - expected_ms).abs() < 1e-6, "{:?}", written.buckets);
    let burst_ms = [expected_ms + 0.00416 + 1.2, expected_ms + 2.4 - 0.12];
    for (ms, &(from, to, _)) in burst_ms.into_iter().zip(&written.buckets[1..]) {
        assert!((from..to).contains(&ms), "{ms} is not in {from}..{to}");
    }
}

#[test]
fn samples_and_buckets_are_what_packet_events_say() {
    let scenario = scenario(&["start_jitter=0s", "sample_s=0.02"]);
    let written = written(&scenario, "newreno", RunOptions::default());
    let (result, of_flows) = by_event_lines(&scenario, "newreno");
    assert!(result.metrics.of_flows.retransmits > 0);
    let mut by_sample: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    let step = 20_000_000;
    for &(at_ns, ms) in of_flows.iter().flatten() {
        // A packet that arrives at the time of a sample is in it.
        by_sample.entry((at_ns as i64 + step - 1) / step * step).or_default().push(ms);
    }
    // There is no sample after the end of the run.
    let end_ns = (result.ended_s * 1e9) as i64;
    by_sample.retain(|t_ns, _| *t_ns <= end_ns);
    assert_eq!(written.series.len(), 3 * by_sample.len());
    for (t_ns, mut delays) in by_sample {
        delays.sort_by(f64::total_cmp);
        let of = |metric: &str| written.series[&(t_ns, format!("one_way_delay_{metric}_ms"))];
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!((of("mean") - mean).abs() < 1e-5, "{t_ns}: {} is not {mean}", of("mean"));
        for (metric, q) in [("p50", 0.5), ("p95", 0.95)] {
            let exact = delays[(q * delays.len() as f64).ceil() as usize - 1];
            assert!((of(metric) / exact - 1.0).abs() <= BUCKET, "{t_ns} {metric}: {exact}");
        }
    }
    let all: Vec<f64> = of_flows.concat().into_iter().map(|(_, ms)| ms).collect();
    assert_eq!(written.buckets.iter().map(|of| of.2).sum::<i64>(), all.len() as i64);
    for &(from, to, _) in &written.buckets {
        // Each bucket ends where its number of packets does.
        let below: i64 = written.buckets.iter().filter(|of| of.1 <= to).map(|of| of.2).sum();
        let exact = all.iter().filter(|&&ms| ms < to || ms == to && from == to).count() as i64;
        let last = all.iter().filter(|&&ms| ms <= to).count() as i64;
        assert!((exact..=last).contains(&below), "{from}..{to}: {below} is not {exact}");
    }
}

#[test]
fn no_way_to_compute_a_run_shows_in_its_delays() {
    let scenario = scenario(&["sample_s=0.02"]);
    let first = written(&scenario, "cubic", RunOptions::default());
    assert!(first.series.len() > 30 && first.buckets.len() > 20);
    let ways = [
        RunOptions { general: true, ..RunOptions::default() },
        RunOptions { bytes: true, ..RunOptions::default() },
        RunOptions { threads: 2, without_trial: true, ..RunOptions::default() },
    ];
    for options in ways {
        let way = (options.general, options.bytes, options.threads);
        let again = written(&scenario, "cubic", options);
        assert_eq!(again.series, first.series, "{way:?}");
        assert_eq!(again.buckets, first.buckets, "{way:?}");
        assert_eq!(again.result.trace_hash, first.result.trace_hash, "{way:?}");
    }
}

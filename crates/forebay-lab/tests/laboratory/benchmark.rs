//! The benchmark: rows, reasons, names.

use forebay_lab::{BenchError, BenchOptions, BenchReport, bench};

fn bench_only(names: &[&str]) -> Result<BenchReport, BenchError> {
    let only: Vec<String> = names.iter().map(ToString::to_string).collect();
    let folder = std::path::PathBuf::from("/nowhere");
    let data = Some(&folder);
    bench(&BenchOptions {
        only: &only,
        data,
        min_cpu_s: 0.0,
        threads: 1,
        memory_bytes: None,
        cancel: None,
        progress: None,
    })
}

#[test]
fn s1_runs_to_the_end_of_its_flows() {
    let report = bench_only(&["s1"]).unwrap();
    let [row] = &report.rows[..] else { panic!("{report:?}") };
    assert_eq!((row.name.as_str(), row.parallel.threads, row.repetitions), ("s1", 1, 3));
    assert_eq!((row.completed, row.delivered_bytes), ([3, 3], 30_000_000));
    // 3 x 6907 packets of data over 5 links each way, an ACK for every second: 155 000 hops, and
    // what is retransmitted.
    assert!((155_000..175_000).contains(&row.packet_hops), "{}", row.packet_hops);
    let expected = row.cpu_s * 1e9 / row.packet_hops as f64;
    assert!((row.ns_per_hop - expected).abs() < 1e-9 * expected);
    let bare = row.without_hash.expect("measured too");
    assert_eq!(bare.repetitions, 3);
    let expected = bare.cpu_s * 1e9 / row.packet_hops as f64;
    assert!((bare.ns_per_hop - expected).abs() < 1e-9 * expected);
    assert!(bare.best_ns_per_hop <= bare.ns_per_hop && bare.best_ns_per_hop > 0.0);
    assert!(report.skipped.is_empty() && report.peers.iter().any(|p| p.name == "s1"));
    let json = serde_json::to_value(row).unwrap();
    let keys = ["name", "threads", "packet_hops", "events", "wall_s", "cpu_s", "ns_per_hop"];
    assert!(keys.iter().all(|key| !json[key].is_null()) && json["trace_hash"].is_string());
    assert!(json["without_hash"]["ns_per_hop"].is_number());
    assert!(json.as_object().unwrap().contains_key("peak_mib"));
}

#[test]
fn the_scale_series_is_measured_without_its_hash_too() {
    let report = bench_only(&["scale-4"]).unwrap();
    let [row] = &report.rows[..] else { panic!("{report:?}") };
    let bare = row.without_hash.expect("10 000 flows take a second");
    assert_eq!((row.repetitions, bare.repetitions), (1, 1));
    assert_eq!(bare.ns_per_hop, bare.cpu_s * 1e9 / row.packet_hops as f64);
    assert_eq!((row.completed, bare.best_ns_per_hop), ([10_000; 2], bare.ns_per_hop));
}

#[test]
fn what_cannot_run_says_so() {
    assert!(matches!(bench_only(&["s9"]), Err(BenchError::Unknown(name)) if name == "s9"));
    let error = bench_only(&["s3"]).unwrap_err().to_string();
    assert!(error.contains("/nowhere"), "{error}");
}

//! What a run gives, against figures by hand.

use crate::scenario;
use forebay_lab::{RunOptions, RunResult, run_one};

fn run(set: &[&str], protocol: &str, seed: u64) -> RunResult {
    run_one(&scenario(set), protocol, seed, &RunOptions::default()).unwrap()
}

fn close(a: f64, b: f64, by: f64) {
    assert!((a - b).abs() < by, "{a} is not {b}");
}

#[test]
fn aggregates_are_those_of_the_flows() {
    let result = run(&["start_jitter=0s"], "newreno", 1);
    let [a, b] = &result.per_flow[..] else { panic!("two flows") };
    assert_eq!((result.flows, result.completed, a.id, b.id), (2, 2, 1, 2));
    assert_eq!((a.src.as_str(), a.dst.as_str(), a.end), ("s0", "d0", "finished"));
    let (metrics, (fa, fb)) = (&result.metrics, (a.fct_s.unwrap(), b.fct_s.unwrap()));
    close(metrics.of_flows.afct_s.unwrap(), (fa + fb) / 2.0, 1e-12);
    close(metrics.of_flows.fct_p50_s.unwrap(), (fa + fb) / 2.0, 1e-12);
    close(metrics.of_flows.fct_p99_s.unwrap(), fa.min(fb) + 0.99 * (fa - fb).abs(), 1e-12);
    close(metrics.of_flows.all_done_s.unwrap(), fa.max(fb), 1e-12);
    let (ga, gb) = (a.goodput_bps.unwrap(), b.goodput_bps.unwrap());
    close(
        metrics.of_flows.jain_goodput.unwrap(),
        (ga + gb).powi(2) / (2.0 * (ga * ga + gb * gb)),
        1e-12,
    );
    assert_eq!((metrics.of_flows.jain_flows, metrics.of_flows.delivered_bytes), (2, 400_000));
    close(metrics.of_flows.goodput_bps.unwrap(), 3_200_000.0 / result.ended_s, 1e-3);
    assert_eq!(metrics.of_flows.retransmits, a.retransmits + b.retransmits);
    // 138.1 segments of 1448 bytes.
    assert_eq!(a.data_packets - a.retransmits, 139);
}

#[test]
fn the_clock_may_start_at_the_end_of_the_handshake() {
    let syn = run(&["start_jitter=0s", "fct=syn"], "newreno", 1);
    let established = run(&["start_jitter=0s", "fct=established"], "newreno", 1);
    assert_eq!(syn.trace_hash, established.trace_hash);
    // A SYN has 60 bytes with its options: 4.8 us on each access link, 48 us at the bottleneck, 7
    // ms of propagation; and back. Both SYNs come to the bottleneck at one time: one, whichever,
    // queues 48 us after the other.
    let fct = |result: &RunResult, i: usize| result.per_flow[i].fct_s.unwrap();
    let mut handshakes = [0, 1].map(|i| fct(&syn, i) - fct(&established, i));
    handshakes.sort_by(f64::total_cmp);
    for (seconds, by_hand) in handshakes.into_iter().zip([0.014_115_2, 0.014_163_2]) {
        close(seconds, by_hand, 1e-9);
    }
}

#[test]
fn the_window_cuts_the_start_of_rates_and_not_of_completion_times() {
    let whole = run(&["start_jitter=0s"], "cubic", 1);
    let cut = run(&["start_jitter=0s", "measure_from_s=0.2"], "cubic", 1);
    let before = run(&["start_jitter=0s", "until_s=0.2"], "cubic", 1);
    assert_eq!(cut.trace_hash, whole.trace_hash);
    assert_eq!(cut.metrics.of_flows.afct_s, whole.metrics.of_flows.afct_s);
    let (cut, whole, before) = (&cut.metrics, &whole.metrics, &before.metrics);
    assert_eq!(cut.of_flows.delivered_bytes + before.of_flows.delivered_bytes, 400_000);
    assert_eq!(cut.window_s[0], 0.2);
    let (end, link) = (whole.window_s[1], "l-r");
    let busy = before.utilisation[link] * 0.2 + cut.utilisation[link] * (end - 0.2);
    close(busy, whole.utilisation[link] * end, 1e-9);
    close(
        cut.of_flows.goodput_bps.unwrap(),
        cut.of_flows.delivered_bytes as f64 * 8.0 / (end - 0.2),
        1e-3,
    );
}

#[test]
fn what_did_not_complete_has_no_completion_time() {
    let result = run(&["start_jitter=0s", "until_s=0.2"], "cubic", 1);
    assert_eq!((result.completed, result.flows, result.ended_s), (0, 2, 0.2));
    assert_eq!((result.metrics.of_flows.afct_s, result.metrics.of_flows.all_done_s), (None, None));
    for flow in &result.per_flow {
        assert_eq!((flow.fct_s, flow.end), (None, "running"));
        close(flow.goodput_bps.unwrap(), flow.received_bytes as f64 * 8.0 / 0.2, 1e-3);
    }
    let json = serde_json::to_value(&result).unwrap();
    assert!(json["metrics"]["afct_s"].is_null() && json["drops"]["full"].is_u64());
    // 400 kB do not fit through 10 Mbit/s in that time under an ideal network either.
    assert!(json["reference"]["kind"] == "exact" && json["reference"]["afct_s"].is_null());
}

#[test]
fn how_a_run_is_run_does_not_show_in_its_trace() {
    let (scenario, plain) = (scenario(&[]), run(&[], "cubic", 7));
    assert_eq!(plain.trace_hash.len(), 16);
    let other_ways = [
        RunOptions::default(),
        RunOptions { bytes: true, ..RunOptions::default() },
        RunOptions { binary_heap: true, ..RunOptions::default() },
        RunOptions { general: true, ..RunOptions::default() },
    ];
    for options in other_ways {
        let again = run_one(&scenario, "cubic", 7, &options).unwrap();
        assert_eq!(again.trace_hash, plain.trace_hash);
        assert_eq!(again.metrics, plain.metrics);
    }
    assert_ne!(run(&[], "cubic", 8).trace_hash, plain.trace_hash);
    assert_ne!(run(&[], "newreno", 7).trace_hash, plain.trace_hash);
}

#[test]
fn a_network_that_stays_cut_ends_its_run_at_a_time_of_its_own() {
    let cut = "events=[{ at = \"100ms\", link = \"l-r\", state = \"down\" }]";
    let result = run(&["start_jitter=0s", cut, "tcp.max_retries=3"], "newreno", 1);
    assert_eq!((result.completed, result.metrics.of_flows.afct_s), (0, None));
    assert!(result.per_flow.iter().all(|flow| flow.end == "timed_out"), "{:?}", result.per_flow);
    // Not wherever the wall clock made the driver look up.
    assert_eq!((result.ended_s * 10.0).fract(), 0.0, "{}", result.ended_s);
    assert_eq!(
        run(&["start_jitter=0s", cut, "tcp.max_retries=3"], "newreno", 1).metrics,
        result.metrics
    );
}

//! The reference of runs: times that can be worked out on paper, and a simulator that agrees where
//! nothing is in its way.

use forebay_lab::reference::Reference;
use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{BatchOptions, BatchPlan, RunOptions, RunResult, batch, run_one};

/// Equal up to `by`, relative to the larger.
fn close(a: f64, b: f64, by: f64) {
    assert!((a - b).abs() <= by * a.abs().max(b.abs()), "{a} is not {b}");
}

fn run(scenario: &Scenario, protocol: &str) -> RunResult {
    run_one(scenario, protocol, 1, &RunOptions::default()).unwrap()
}

fn builtin(name: &str, set: &[&str]) -> Scenario {
    let set = set.iter().map(ToString::to_string).collect();
    Scenario::load(name, &LoadOptions { set, ..LoadOptions::default() }).unwrap()
}

/// One flow over three links of 5 ms, the middle one with 10 Mbit/s; 20 bytes of overhead on the
/// first.
fn alone(bytes: u64, set: &[&str]) -> Scenario {
    let text = format!(
        r#"
        start_jitter = "0s"
        until_s = 20
        routers = ["l", "r"]
        link_defaults = {{ rate = "100Mbit/s", delay = "5ms", queue = "1MB" }}
        hosts = [{{ name = "a" }}, {{ name = "b" }}]
        links = [
            {{ a = "a", b = "l", overhead_bytes = 20 }},
            {{ a = "l", b = "r", rate = "10Mbit/s" }},
            {{ a = "r", b = "b" }},
        ]
        flows = [{{ src = "a", dst = "b", bytes = {bytes}, start = "1s" }}]
        "#
    );
    let set = set.iter().map(ToString::to_string).collect();
    Scenario::parse(&text, "alone.toml", &LoadOptions { set, ..LoadOptions::default() }).unwrap()
}

/// Propagation 25 ms each way. A SYN has 40 + 20 bytes, and stores for 480 bits on 40, 100, 10, 100
/// and 40 Mbit/s. After the end of service at 0-2 come 25 ms, the first packet of 1500 bytes at 40
/// and 100 Mbit/s, and the last at 100 and 40.
const SYN_S: f64 = 480.0 * (2.0 / 40e6 + 2.0 / 100e6 + 1.0 / 10e6);

/// It is done on 0-2 after the one before it by its own time at 10 Mbit/s, and waits for that one
/// where it catches up.
fn downloads_afct_s(payload: f64, header: f64, mbps: f64) -> f64 {
    let packets = (1e7 / payload).ceil();
    let last = 1e7 - (packets - 1.0) * payload;
    let x_s = 3.0 * (1e7 + packets * header) * 8.0 / (mbps * 1e6);
    let storing_s = |bytes: f64, mbps: f64| (bytes + header) * 8.0 / (mbps * 1e6);
    let ahead_s = storing_s(last, 10.0);
    let on_100 = f64::max(0.0, storing_s(payload, 100.0) - ahead_s) + storing_s(last, 100.0);
    let before_on_40 = storing_s(payload, 100.0) + storing_s(payload, 40.0) - ahead_s;
    let behind_s = f64::max(on_100, before_on_40) + storing_s(last, 40.0);
    let tail_s = storing_s(payload, 40.0) + storing_s(payload, 100.0) + behind_s;
    x_s - 2.0 + 2.0 * (0.025 + SYN_S) + 0.025 + tail_s
}

#[test]
fn three_downloads_share_the_dumbbell() {
    let run = run(&builtin("dumbbell", &["start_jitter=0s"]), "cubic");
    let reference = &run.reference;
    let expected = downloads_afct_s(1448.0, 52.0, 10.0);
    close(reference.afct_s.unwrap(), expected, 1e-9);
    assert_eq!((reference.kind, reference.mode, reference.completed), ("exact", "single-path", 3));
    close(reference.afct_ratio.unwrap(), run.metrics.of_flows.afct_s.unwrap() / expected, 1e-9);
    assert_eq!(reference.per_flow_fct_s.len(), 3);
}

/// INRPP has options of 10 + 8 bytes on data, padded to 20. Its SYN has 19 + 8, padded to 28, and
/// the answer 10 more, padded to 40: 8 and 20 more than without. Packets of 1500 bytes go directly,
/// and longer by a tag of 8 round over node 1.
#[test]
fn three_downloads_have_the_detour_too() {
    let reference = run(&builtin("dumbbell", &["start_jitter=0s"]), "inrpp").reference;
    assert_eq!((reference.kind, reference.mode, reference.why), ("exact", "pooled", ""));
    let mbps = 10.0 + 10.0 * 1500.0 / 1508.0;
    let expected = downloads_afct_s(1440.0, 60.0, mbps) + SYN_S / 60.0 * 28.0;
    close(reference.afct_s.unwrap(), expected, 1e-9);
}

/// The clock of the papers starts when the handshake is over.
#[test]
fn the_clock_starts_with_the_handshake_or_behind_it() {
    let set = ["start_jitter=0s", "fct=established"];
    let run = run(&builtin("dumbbell", &set), "newreno");
    let expected = downloads_afct_s(1448.0, 52.0, 10.0) - 2.0 * (0.025 + SYN_S);
    close(run.reference.afct_s.unwrap(), expected, 1e-9);
}

/// Up to an initial window nothing limits a flow but the links: the simulator does what the fluid
/// does, to the nanosecond of each link and direction. Only the ACK of the handshake is not in the
/// fluid. Its 52 bytes leave ahead of the data: on the first link they take 5.76 µs, and on the
/// second 41.6 µs, of which a packet with n bytes of payload comes 0.08 n µs late.
#[test]
fn a_short_flow_alone_takes_as_long_as_its_packets() {
    for bytes in [1, 100, 1448, 1449, 5000, 10 * 1448] {
        let run = run(&alone(bytes, &[]), "newreno");
        let (ours, ideal) = (run.metrics.of_flows.afct_s.unwrap(), run.reference.afct_s.unwrap());
        let ack_s = (41.6e-6 - 0.08e-6 * bytes as f64).max(5.76e-6);
        assert!((ours - ideal - ack_s).abs() < 20e-9, "{bytes} bytes: {ours} s, ideal {ideal} s");
    }
}

/// No window of a flow alone can beat its links, and a large one comes near.
#[test]
fn a_long_flow_alone_is_a_little_slower() {
    let ratio = run(&alone(10_000_000, &[]), "cubic").reference.afct_ratio.unwrap();
    assert!((1.0..1.1).contains(&ratio), "{ratio}");
}

/// 1 MB at 10 Mbit/s, cut from 1.5 s to 4 s: the fluid loses just that time.
#[test]
fn a_link_that_fails_costs_its_time() {
    let events = "events=[{ at = \"1.5s\", link = \"l-r\", state = \"down\" }, \
                  { at = \"4s\", link = \"l-r\", state = \"up\" }]";
    let fct_s = |set: &[&str]| {
        run(&alone(1_000_000, set), "newreno").reference.afct_s.expect("it completes")
    };
    close(fct_s(&[events]), fct_s(&[]) + 2.5, 1e-9);
}

#[test]
fn flows_without_end_have_goodput_and_no_completion_time() {
    let set = ["flows=[{ src = \"a\", dst = \"b\", endless = true }]", "measure_from_s=5"];
    let reference = run(&alone(1, &set), "newreno").reference;
    assert_eq!((reference.afct_s, reference.afct_ratio, reference.kind), (None, None, "exact"));
    close(reference.goodput_bps.unwrap(), 10e6 * 1448.0 / 1500.0, 1e-9);
    assert_eq!((reference.completed, reference.per_flow_fct_s), (0, vec![None]));
}

#[test]
fn what_was_not_asked_for_is_not_worked_out() {
    let options = RunOptions { without_reference: true, ..RunOptions::default() };
    let run = run_one(&alone(1, &[]), "newreno", 1, &options).unwrap();
    assert_eq!((run.reference.kind, run.reference.why), ("none", "not asked for"));
}

/// NewReno and CUBIC have the same packets: one reference for both. Seeds that start flows at other
/// times have their own.
#[test]
fn runs_with_the_same_flows_share_a_reference() {
    let references = |set: &[&str]| -> Vec<Reference> {
        let scenario = alone(100_000, set);
        let protocols = ["newreno", "cubic"].map(String::from);
        let plan = BatchPlan { scenario: &scenario, protocols: &protocols, seeds: &[1, 2] };
        let options = BatchOptions { jobs: 2, run: RunOptions::default(), progress: None };
        let runs = batch(&plan, &options).runs;
        runs.into_iter().map(|run| Reference { afct_ratio: None, ..run.reference }).collect()
    };
    let fixed = references(&[]);
    assert!(fixed.iter().all(|reference| *reference == fixed[0]), "with its cost, measured once");
    let [first, second, again, _] = &references(&["start_jitter=5ms", "until_s=1.05"])[..] else {
        panic!("four runs")
    };
    assert_eq!(first, again);
    assert_ne!(first.goodput_bps, second.goodput_bps);
}

/// A user alone has the same completion time in each round, in the fluid and in the simulator,
/// which is late by slow start alone.
#[test]
fn rounds_of_a_user_alone_are_alike() {
    let rounds = ["flows.0.rounds=3", "flows.0.think=100ms", "tcp.initial_window_segments=1000"];
    let scenario = alone(50_000, &rounds);
    let run = run(&scenario, "newreno");
    let reference = &run.reference;
    assert_eq!((reference.kind, reference.completed), ("exact", 3));
    let [first, second, third] = reference.per_flow_fct_s[..] else { panic!("three rounds") };
    close(second.unwrap(), first.unwrap(), 1e-9);
    close(third.unwrap(), first.unwrap(), 1e-9);
    // FIN costs no packet of its own, and the client knows of the end 25 ms and an ACK of 52 bytes
    // after the last byte.
    let ack_s = 52.0 * 8.0 * (2.0 / 100e6 + 1.0 / 10e6) + 20.0 * 8.0 / 100e6;
    let fct_s = run.per_flow[0].fct_s.unwrap();
    let gap_s = run.per_flow[1].start_s.unwrap() - run.per_flow[0].start_s.unwrap();
    close(gap_s, fct_s + 0.015 + ack_s + 0.1, 1e-6);
}

#[test]
fn what_the_fluid_cannot_do_has_a_reason() {
    let run = run(&alone(50_000, &["flows.0.write={ rate = \"1Mbit/s\" }"]), "newreno");
    let why = "a flow writes over time: the fluid has all at once";
    assert_eq!((run.reference.kind, run.reference.why), ("none", why));
}

/// The handshake takes 15 ms each way, and a SYN of 60 bytes stores for 480 bits on 10 and 100
/// Mbit/s, and for 640 on the first link. Then the flow has 10 Mbit/s to itself until it stops at
/// 6 s, of which headers are 52 bytes a packet; its goodput counts from 1 s to the end at 20 s.
#[test]
fn a_flow_that_stops_has_what_it_was_served() {
    let stops = ["flows.0.stop=6s", "tcp.initial_window_segments=1000"];
    let run = run(&alone(1_000_000_000, &stops), "newreno");
    assert_eq!((run.reference.kind, run.reference.completed), ("exact", 1));
    let flow = &run.per_flow[0];
    assert_eq!((flow.end, flow.fct_s.is_some()), ("finished", true));
    let handshake_s = 2.0 * (0.015 + 640.0 / 100e6 + 480.0 / 10e6 + 480.0 / 100e6);
    // Of the whole flow, whose last packet is not full: 690 608 packets with headers of 52 bytes.
    let payload_share = 1e9 / (1e9 + 690_608.0 * 52.0);
    let bits = 10e6 * payload_share * (5.0 - handshake_s);
    close(run.reference.goodput_bps.unwrap(), bits / 19.0, 1e-9);
}

//! The preset `linux-6.18` next to the Linux kernel, and a long fat path with defaults.

use forebay_lab::reproduce::{
    BuiltinExperiment, ComparedRow, ExperimentText, ReproduceOptions, reproduce,
};
use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{Batch, RunOptions, Summary, run_one};
use std::sync::Arc;

/// Set-ups and protocols whose mean queue may be up to 20 % off instead of 10 %: two at most.
const WIDER_QUEUE: &[(&str, &str)] = &[];

/// The one case that lies on an edge: at the end of its fourth round of slow start the queue holds
/// exactly the 41 packets that fit. If the last one is refused, slow start ends at 160 segments
/// with 45 or 46 drops, as in two of the kernel's repetitions, else at 240 with 120 drops, as in
/// the third. What ours does must be one of the two: docs/reference/validation.md.
const EDGE: (&str, &str) = ("10 Mbit/s, 100 ms, 0.5 BDP", "newreno");

/// What is compared of the kernel in an experiment.
fn rows(experiment: &str) -> Vec<ComparedRow> {
    let found = BuiltinExperiment::find(experiment);
    let wanted: Vec<ExperimentText> = found.into_iter().map(Into::into).collect();
    let options = ReproduceOptions {
        registry: &Arc::default(),
        quick: true,
        data: None,
        jobs: 2,
        cancel: None,
        progress: None,
    };
    reproduce(&wanted, &options).unwrap().rows
}

/// What is wrong with a row, by the tolerances that this project promises; they stand here and not
/// in the experiment's file alone, where they could be widened.
fn fault(row: &ComparedRow) -> Option<String> {
    let (ours, kernel) = (row.measured.unwrap_or(f64::NAN), row.published.unwrap());
    let off = (ours / kernel - 1.0).abs();
    let on_edge = (row.setup.as_str(), row.protocol.as_str()) == EDGE;
    let within = match row.quantity.as_str() {
        "goodput" => off <= 0.02,
        "queue_mean" => {
            let named = WIDER_QUEUE.contains(&(row.setup.as_str(), row.protocol.as_str()));
            off <= if named { 0.20 } else { 0.10 }
        }
        // A twentieth: a count of 120 differs by two with the start of the flow.
        "drops" if on_edge => {
            let near = |kernel: f64| (ours / kernel - 1.0).abs() <= 0.05;
            row.published_range.unwrap().into_iter().any(near)
        }
        // Counts of 15 to 258: what the kernel had in one of its repetitions is right too.
        "drops" => {
            let [least, most] = row.published_range.unwrap();
            let (low, high) = (least.min(kernel / 1.5), most.max(kernel * 1.5));
            (low..=high).contains(&ours)
        }
        "timeouts" => ours == kernel,
        "slow_start_peak" => off <= 0.10 || on_edge,
        _ => true,
    };
    let words = format!("{}, {}: {}", row.setup, row.protocol, row.quantity);
    (!within).then(|| format!("{words} {ours} instead of {kernel}"))
}

#[test]
fn one_flow_does_what_the_kernel_does() {
    assert!(WIDER_QUEUE.len() <= 2, "{WIDER_QUEUE:?}");
    let rows = rows("linux/one-flow");
    assert_eq!(rows.iter().filter(|row| row.quantity == "goodput").count(), 18);
    let faults: Vec<String> = rows.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Nothing but the preset is set, and every case has every quantity.
#[test]
fn the_kernel_is_compared_with_the_preset_alone() {
    let options = LoadOptions::default();
    let scenario = Scenario::load("linux/one-flow", &options).unwrap();
    let preset = |text: &str| {
        let set = vec![format!("tcp={{ preset = \"{text}\" }}")];
        Scenario::load("linux/one-flow", &LoadOptions { set, ..LoadOptions::default() }).unwrap()
    };
    assert!(scenario == preset("linux-6.18") && scenario != preset("modern"));
    let rows = rows("linux/one-flow");
    assert_eq!(rows.len(), 18 * 6);
    for row in rows {
        assert!(row.measured.is_some(), "{row:?}");
        assert!(!row.setup.contains("tcp") && row.runs == 2, "{row:?}");
    }
}

/// A value of ours and the kernel's, and which case it is.
fn beside(row: &ComparedRow) -> (f64, f64, String) {
    let words = format!("{}, {}: {}", row.setup, row.protocol, row.quantity);
    (row.measured.unwrap_or(f64::NAN), row.published.unwrap(), words)
}

#[test]
fn lost_tails_and_lost_repeats_are_repaired_as_the_kernel_does() {
    let rows = rows("linux/tail-loss");
    assert_eq!(rows.len(), 15 * 2);
    for row in &rows {
        let (ours, kernel, case) = beside(row);
        let within = match row.quantity.as_str() {
            "timeouts" => (ours, kernel) == (0.0, 0.0),
            _ => (ours / kernel - 1.0).abs() <= 0.10,
        };
        assert!(within, "{case}: {ours} instead of {kernel}");
    }
}

/// The kernel repairs each without a timeout; the timers of `modern` are those of the RFCs.
#[test]
fn lost_tails_and_lost_repeats_take_no_timeout_with_modern_either() {
    for packets in ["8, 9, 10, 11, 12", "11, 12", "3, 4, 5, 6, 7, 8, 9, 10, 11, 12", "12"]
        .into_iter()
        .chain(["5, 6, 7, 13, 14"])
    {
        for timestamps in [true, false] {
            let set = vec![
                format!("links.bottleneck.loss={{ packets = [{packets}] }}"),
                format!("tcp={{ preset = \"modern\", timestamps = {timestamps} }}"),
            ];
            let options = LoadOptions { set, ..LoadOptions::default() };
            let scenario = Scenario::load("linux/tail-loss", &options).unwrap();
            for protocol in ["newreno", "cubic", "bbr1"] {
                let run = run_one(&scenario, protocol, 1, &RunOptions::default()).unwrap();
                let flows = &run.metrics.of_flows;
                assert_eq!(flows.timeouts, 0, "{protocol}, {packets}, {timestamps}");
                assert!(flows.afct_s.unwrap() < 0.4, "{protocol}, {packets}: {:?}", flows.afct_s);
            }
        }
    }
}

/// At least 0.7 of the kernel's median where packets are late by up to two round trips; within a
/// tenth of it where they are late by less.
#[test]
fn reordering_costs_what_it_costs_the_kernel() {
    let rows = rows("linux/reordering");
    assert_eq!(rows.len(), 8);
    for row in &rows {
        let (ours, kernel, case) = beside(row);
        let least = if row.setup == "100 ms" { 0.7 } else { 0.9 };
        assert!(ours >= least * kernel, "{case}: {ours} instead of {kernel}");
    }
}

/// 125 MB, or 83 000 packets, are on their way. Nothing is set but the network.
const LONG_FAT: &str = r#"
    description = "One endless flow over 10 Gbit/s and 100 ms"
    protocols = ["newreno", "cubic"]
    routers = ["bottleneck"]
    until_s = 30

    [[hosts]]
    name = "sender"
    attach = "bottleneck"
    rate = "40Gbit/s"
    delay = "0s"
    queue = "1GB"

    [[hosts]]
    name = "receiver"
    attach = "bottleneck"
    rate = "10Gbit/s"
    delay = "50ms"
    queue = { limit = "1BDP", rtt = "100ms" }

    [[flows]]
    src = "sender"
    dst = "receiver"
    endless = true
"#;

/// 75 million packet-hops: 6 s of CPU in a release. In 30 s slow start costs 0.6 Gbit/s of 9.65.
#[test]
fn ten_gigabit_per_second_over_100_ms_with_defaults() {
    let scenario = Scenario::parse(LONG_FAT, "long-fat.toml", &LoadOptions::default()).unwrap();
    let options = RunOptions { without_reference: true, ..RunOptions::default() };
    let result = run_one(&scenario, "cubic", 1, &options).unwrap();
    let goodput_bps = result.metrics.of_flows.goodput_bps.unwrap();
    assert!(goodput_bps > 9e9, "{goodput_bps}");
    assert!(result.drops["full"] > 0, "the queue must overflow, or nothing is recovered");
    assert_eq!(result.metrics.of_flows.retransmits, result.drops["full"], "{:?}", result.drops);
    assert_eq!(result.metrics.of_flows.timeouts, 0);
}

/// 4 MiB in each round trip of 100 ms, in packets of 1500 bytes for 1448: at 10 Gbit/s they take
/// 3.48 ms, and the receive window holds the flow for the rest. Before, slow start takes 15 round
/// trips at most (from 10 segments to 2897, by half each).
#[test]
fn a_flow_that_its_receive_window_limits_is_told_so() {
    let long_fat = LONG_FAT.replace("40Gbit/s", "10Gbit/s");
    let run = |set: &str| {
        let set = vec![set.to_string(), "until_s=20".to_string()];
        let options = LoadOptions { set, ..LoadOptions::default() };
        let scenario = Scenario::parse(&long_fat, "long-fat.toml", &options).unwrap();
        let options = RunOptions { without_reference: true, ..RunOptions::default() };
        let run = run_one(&scenario, "cubic", 1, &options).unwrap();
        let flow = run.per_flow[0].clone();
        let batch = Batch { runs: vec![run], ..Batch::default() };
        (flow, Summary::new("long-fat", &scenario, batch).notes)
    };
    let held = 1.0 - 4_194_304.0 * (1500.0 / 1448.0) * 8.0 / (10e9 * 0.1);
    let expected = held * (1.0 - 1.5 / 20.0)..held;
    let (flow, notes) = run("tcp.receive_buffer_bytes=4MiB");
    let share = flow.held_by_receive_window.unwrap();
    assert!(expected.contains(&share), "{share} {expected:?}");
    assert_eq!(flow.held_by_send_buffer, Some(0.0));
    let told =
        |note: &&String| note.starts_with("cubic: flow 1 was limited by the receive window for 9");
    let note = notes.iter().find(told).unwrap_or_else(|| panic!("{notes:?}"));
    assert!(note.contains("raise tcp.receive_buffer_bytes"), "{note}");
    let (flow, notes) = run("tcp.send_buffer_bytes=4MiB");
    let share = flow.held_by_send_buffer.unwrap();
    assert!(expected.contains(&share), "{share} {expected:?}");
    assert_eq!(flow.held_by_receive_window, Some(0.0));
    assert!(notes.iter().any(|note| note.contains("raise tcp.send_buffer_bytes")), "{notes:?}");
    // The congestion window alone.
    let slow = "hosts=[{ name = \"sender\", attach = \"bottleneck\", rate = \"40Mbit/s\" }, \
                { name = \"receiver\", attach = \"bottleneck\", rate = \"10Mbit/s\" }]";
    let (flow, notes) = run(&slow.replace("rate", "delay = \"20ms\", queue = \"100kB\", rate"));
    assert_eq!((flow.held_by_receive_window, flow.held_by_send_buffer), (Some(0.0), Some(0.0)));
    assert!(notes.iter().all(|note| !note.contains("held back")), "{notes:?}");
}

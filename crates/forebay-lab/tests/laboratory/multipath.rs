//! Flows over several paths: applications that write over time, windows, and the end of a flow.

use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{Batch, RunOptions, RunResult, Summary, run_one};

/// Two paths of 10 Mbit/s between two hosts.
const TWO_PATHS: &str = r#"
    protocols = ["mptcp", "mptcp-olia", "newreno"]
    until_s = 10
    start_jitter = "0s"
    routers = ["a0", "a1", "b0", "b1"]
    link_defaults = { rate = "10Mbit/s", delay = "10ms", queue = "50ms" }
    links = [{ a = "a0", b = "b0" }, { a = "a1", b = "b1" }]
    hosts = [
        { name = "s", attach = ["a0", "a1"], rate = "100Mbit/s", delay = "1ms" },
        { name = "d", attach = ["b0", "b1"], rate = "100Mbit/s", delay = "1ms" },
    ]
    flows = [{ src = "s", dst = "d", endless = true }]
"#;

/// The result, and the notes on it.
fn run(protocol: &str, set: &[&str]) -> (RunResult, Vec<String>) {
    let options = LoadOptions {
        set: set.iter().map(ToString::to_string).collect(),
        ..LoadOptions::default()
    };
    let scenario = Scenario::parse(TWO_PATHS, "two.toml", &options).unwrap();
    let run = run_one(&scenario, protocol, 1, &RunOptions::default()).unwrap();
    let batch = Batch { runs: vec![run.clone()], ..Batch::default() };
    (run, Summary::new("two", &scenario, batch).notes)
}

/// What it has written until its stop arrives, and the flow ends: of what one path or two carry.
#[test]
fn an_application_that_writes_over_time_and_stops() {
    for protocol in ["mptcp", "mptcp-olia"] {
        for mbps in [5, 15] {
            let rate = format!("flows.0.write={{ rate = \"{mbps}Mbit/s\" }}");
            let (run, _) = run(protocol, &[&rate, "flows.0.stop=5s"]);
            let flow = &run.per_flow[0];
            let written = f64::from(mbps) * 1e6 / 8.0 * 5.0;
            let short = written - flow.received_bytes as f64;
            assert!(short.abs() < 0.02 * written, "{protocol}, {mbps} Mbit/s: {short} bytes short");
            let end = flow.fct_s.expect("it ends");
            assert!((4.9..5.3).contains(&end), "{protocol}, {mbps} Mbit/s: {end} s");
        }
        let (run, _) = run(protocol, &["flows.0.stop=5s"]);
        let flow = &run.per_flow[0];
        let end = flow.fct_s.expect("it ends");
        let mbps = flow.received_bytes as f64 * 8.0 / 1e6 / end;
        assert!((4.9..5.3).contains(&end) && mbps > 15.0, "{protocol}: {mbps} Mbit/s, {end} s");
    }
}

/// A window of 64 kB, and a second path of 400 ms: not less than the first path alone, and a note
/// that says what limits it.
#[test]
fn a_window_too_small_for_a_long_path_is_noted_and_does_no_harm() {
    let set = [
        "until_s=30",
        "measure_from_s=5",
        "links.1.delay=200ms",
        "link_defaults.queue=10packets",
        "tcp.receive_buffer_bytes=64kB",
    ];
    let goodput = |run: &RunResult| run.per_flow[0].goodput_bps.unwrap() / 1e6;
    let alone = goodput(&run("newreno", &set).0);
    for protocol in ["mptcp", "mptcp-olia"] {
        let (run, notes) = run(protocol, &set);
        let both = goodput(&run);
        // An option of 20 bytes in 1500.
        assert!(both > 0.98 * alone, "{protocol}: {both} against {alone} Mbit/s");
        let held = run.per_flow[0].held_by_receive_window.unwrap();
        assert!(held > 0.5, "{protocol}: {held}");
        let of_window = |note: &String| note.contains("limited by the receive window");
        assert!(notes.iter().any(of_window), "{notes:?}");
    }
}

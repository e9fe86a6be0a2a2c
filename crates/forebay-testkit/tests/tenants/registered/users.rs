//! Words of scenarios alone: a chain of flows with think times; two variants and two classes in one
//! run.

use super::run;
use forebay_lab::scenario::Registry;

const CHAIN: &str = r#"
    [[flows]]
    name = "first"
    src = "s0"
    dst = "d0"
    packets = 20
    rounds = 3
    think = "250ms"

    [[flows]]
    src = "s0"
    dst = "d1"
    packets = 5
    after = "first"
    think = "1s"
"#;

/// Each flow opens a think time after the end of the one before it at its sender.
#[test]
fn flows_follow_each_other_a_think_time_apart() {
    let flows = run(&Registry::default(), "newreno", CHAIN, &[]).per_flow;
    assert_eq!(flows.len(), 4);
    let start = |i: usize| flows[i].start_s.expect("it starts");
    let ended = |i: usize| start(i) + flows[i].fct_s.expect("it completes");
    for (i, think_s) in [(1, 0.25), (2, 0.25), (3, 1.0)] {
        let gap_s = start(i) - ended(i - 1);
        // Between the ACK of all data and the end are the FINs: a round trip of 24 ms and a little.
        assert!((think_s..think_s + 0.05).contains(&gap_s), "{i}: {gap_s}");
    }
}

const MIX: &str = r#"
    until_s = 20
    flows = [
        { src = "s0", dst = "d0", endless = true, protocol = "gentle", class = "bulk" },
        { src = "s1", dst = "d1", endless = true, protocol = "firm", class = "bulk" },
        { src = "s2", dst = "d2", packets = 10, every = "1s", count = 10, class = "short" },
    ]
    [protocol.gentle]
    of = "cubic"
    beta = 0.3
    [protocol.firm]
    of = "cubic"
    beta = 0.9
"#;

/// The variant that keeps more of its window after a loss gets more of the link; classes have
/// metrics of their own.
#[test]
fn two_variants_and_two_classes_are_in_one_run() {
    let set = ["links.l-r.queue=20packets"];
    let result = run(&Registry::default(), "newreno", MIX, &set);
    let flows = &result.per_flow;
    let named: Vec<&str> = flows[..3].iter().map(|flow| &*flow.protocol).collect();
    assert_eq!(named, ["gentle", "firm", "newreno"]);
    assert!(flows[1].received_bytes > flows[0].received_bytes);
    let classes = &result.metrics.by_class;
    assert_eq!(classes.keys().collect::<Vec<_>>(), ["bulk", "short"]);
    let fcts = flows[2..].iter().map(|flow| flow.fct_s.expect("it completes"));
    let mean = fcts.sum::<f64>() / 10.0;
    assert!((classes["short"].of_flows.afct_s.expect("flows completed") - mean).abs() < 1e-9);
}

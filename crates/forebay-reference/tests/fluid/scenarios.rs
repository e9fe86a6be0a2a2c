//! From a scenario to its reference, against closed forms.

use crate::close;
use forebay_base::Time;
use forebay_reference::{Reference, Wanted, fluid_reference};
use forebay_scenario::{FctClock, LoadOptions, Scenario};

/// A link of 10 Mbit/s with three senders on the left of it and one on the right. Packets of 1500
/// bytes carry 1448; there is an ACK of 52 bytes for two.
const BOTH_WAYS: &str = r#"start_jitter = "0s"
routers = ["a", "b"]
[tcp]
mss_bytes = 1448
[link_defaults]
delay = "5ms"
queue = "50ms"
[[links]]
a = "a"
b = "b"
rate = "10Mbit/s"
[[hosts]]
name = "s{}"
count = 4
attach = "a"
rate = "1Gbit/s"
[[hosts]]
name = "t{}"
count = 4
attach = "b"
rate = "1Gbit/s"
[[flows]]
src = "s{}"
dst = "t{}"
count = 3
bytes = 1448000
[[flows]]
src = "t3"
dst = "s3"
bytes = 1448000
"#;

fn reference(set: &[&str]) -> Reference {
    reference_of(BOTH_WAYS, "cubic", set)
}

fn reference_of(text: &str, protocol: &str, set: &[&str]) -> Reference {
    let set = set.iter().map(ToString::to_string).collect();
    let scenario = Scenario::parse(text, "x.toml", &LoadOptions { set, ..LoadOptions::default() });
    work_out(&scenario.unwrap_or_else(|error| panic!("{error}")), protocol, true)
}

fn work_out(scenario: &Scenario, protocol: &str, in_full: bool) -> Reference {
    let wanted = Wanted {
        registry: &scenario.registry,
        spec: &scenario.build(protocol, 1).expect("builds"),
        seed: 1,
        from: Time::ZERO,
        until: Time::MAX,
        clock: FctClock::Established,
        in_full,
    };
    fluid_reference(&wanted, &mut |_| true).expect("builds").expect("nobody stops it")
}

/// 12 000 flows that start at once between random pairs, of sizes of their own: each departure
/// gives all that are left new rates. Those of 100 flows are worked out beside the run, too.
#[test]
fn many_flows_have_no_reference_unless_it_is_wanted_in_full() {
    let (network, _) = BOTH_WAYS.split_once("[[flows]]").expect("it has flows");
    let network = network.replace("count = 4", "count = 60");
    let beside_run = |flows: usize| {
        let sizes = "bytes = { exponential = 30_000, max = 150_000 }";
        let text = format!(
            "{network}[[flows]]\nsrc = \"s{{}}\"\ndst = \"t{{}}\"\npairs = \"random\"\n\
             count = {flows}\n{sizes}\n"
        );
        let scenario = Scenario::parse(&text, "x.toml", &LoadOptions::default());
        work_out(&scenario.unwrap_or_else(|error| panic!("{error}")), "cubic", false)
    };
    let many = beside_run(12_000);
    assert!(many.kind == "none" && many.why.contains("--reference"), "{}: {}", many.kind, many.why);
    assert_eq!(beside_run(100).completed, 100);
}

/// 1000 packets each. Both ways have 1.25e6 / 1526 packets per second, with 26 bytes of ACKs for
/// each packet of the other way: the flow alone is done after 1.2208 s, and 1000 of the 3000 others
/// as well. These then have 2000 left without ACKs next to them. The last byte is 15 ms and two
/// times 12 us on its way.
#[test]
fn a_flow_against_three_has_its_own_way_for_itself() {
    let found = reference(&[]);
    assert_eq!((found.kind, found.why), ("exact", ""));
    let others_s = 1.2208 + 2000.0 * 1500.0 / 1.25e6 + 0.015024;
    for (fct, by_hand) in found.per_flow_fct_s.iter().zip([others_s, others_s, others_s, 1.235824])
    {
        close(fct.expect("completes"), by_hand, 1e-9);
    }
}

#[test]
fn a_link_with_a_token_bucket_makes_it_approximate() {
    let found = reference(&["links.0.bucket={ burst = 30000 }"]);
    let why = "links with a token bucket count with their rate, without bursts";
    assert_eq!((found.kind, found.why), ("approx", why));
}

/// A flow alone: 1000 packets need 1.2 s. SYN and its answer, 60 bytes, take 30.09792 ms; a tenth
/// of the rate from 1 s on makes ten times of what is left then.
#[test]
fn a_schedule_of_rates_is_served_exactly() {
    let alone = "flows=[{ src = \"s0\", dst = \"t3\", bytes = 1448000 }]";
    let slow = "links.0.schedule=[{ at = \"1s\", rate = \"1Mbit/s\" }]";
    let served_s = 1.0 - 0.03009792;
    let slower = served_s + 10.0 * (1.2 - served_s);
    for (set, by_hand) in [(&[alone][..], 1.2), (&[alone, slow], slower)] {
        let found = reference(set);
        assert_eq!((found.kind, found.why), ("exact", ""));
        close(found.afct_s.expect("completes"), by_hand + 0.015024, 1e-9);
    }
}

/// Two paths between two hosts, of 10 Mbit/s each. Packets of 1500 bytes carry 1432.
const TWO_PATHS: &str = r#"start_jitter = "0s"
routers = ["a", "b", "c", "d"]
[tcp]
mss_bytes = 1448
[link_defaults]
delay = "5ms"
queue = "50ms"
rate = "10Mbit/s"
[[links]]
a = "a"
b = "b"
[[links]]
a = "c"
b = "d"
[[hosts]]
name = "s"
attach = ["a", "c"]
rate = "1Gbit/s"
[[hosts]]
name = "t"
attach = ["b", "d"]
rate = "1Gbit/s"
[[flows]]
src = "s"
dst = "t"
bytes = 2864000
"#;

/// 2000 packets: 1000 on each path, or half of the time at three times the rate on one of them;
/// with one path all on it, in packets of 1448 bytes.
#[test]
fn a_flow_over_two_paths_has_both() {
    for protocol in ["mptcp", "mptcp-olia"] {
        let found = reference_of(TWO_PATHS, protocol, &[]);
        assert_eq!((found.kind, found.why, found.mode), ("exact", "", "pooled"));
        close(found.afct_s.expect("completes"), 1.2 + 0.015024, 1e-9);
        let faster = reference_of(TWO_PATHS, protocol, &["links.c-d.rate=30Mbit/s"]);
        close(faster.afct_s.expect("completes"), 0.6 + 0.015024, 1e-9);
    }
    let alone = reference_of(TWO_PATHS, "newreno", &[]);
    assert_eq!((alone.kind, alone.mode), ("exact", "single-path"));
    assert!(alone.afct_s.expect("completes") > 2.3);
}

/// A flow from `a` to `b`, and the way over `c` beside their link.
fn triangle() -> String {
    TWO_PATHS
        .replace("1448", "1408")
        .replace("[\"a\", \"c\"]", "\"a\"")
        .replace("[\"b\", \"d\"]", "\"b\"")
        .replace("a = \"c\"\nb = \"d\"", "a = \"a\"\nb = \"c\"\n[[links]]\na = \"c\"\nb = \"b\"")
}

fn triangle_takes_s(set: &[&str]) -> f64 {
    reference_of(&triangle(), "inrpp", set).afct_s.expect("completes")
}

/// The tag of a detour is an option of IPv4: with it a flow has link and detour, without it half.
#[test]
fn over_ipv6_there_are_no_detours() {
    let ratio = triangle_takes_s(&["ip_version=6"]) / triangle_takes_s(&[]);
    assert!((1.8..2.2).contains(&ratio), "{ratio}");
}

/// All three routers must speak INRPP, and the first two of them have detours.
#[test]
fn it_knows_the_detours_that_the_routers_know() {
    let off = |name: &str| format!("routers.{name}.router={{ kind = \"inrpp\", detours = false }}");
    let (off_a, off_b, off_c) = (off("a"), off("b"), off("c"));
    let both_s = triangle_takes_s(&[]);
    let cases: [(&[&str], f64); 7] = [
        (&["inrpp.detours=false"], 2.0),
        (&["inrpp.routers=[\"a\", \"b\"]"], 2.0),
        (&["inrpp.routers=[\"a\", \"c\"]"], 2.0),
        (&["inrpp.routers=[\"b\", \"c\"]"], 2.0),
        (&[&off_a], 2.0),
        (&[&off_c], 2.0),
        (&[&off_b], 1.0),
    ];
    for (set, times) in cases {
        let ratio = triangle_takes_s(set) / both_s;
        assert!((ratio / times - 1.0).abs() < 0.1, "{set:?}: {ratio}");
    }
}

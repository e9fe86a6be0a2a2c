//! Kick-Ass with IPv6, where a Fragment header says what may be cut, compared with IPv4. The
//! scenario is built in; docs/papers/kickass.md has the figures.
#![allow(clippy::print_stdout)] // the figures

use super::ways::same_every_way;
use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{RunOptions, RunResult, run_one};

fn load(name: &str, set: &[&str]) -> Scenario {
    let set = set.iter().map(ToString::to_string).collect();
    let name = format!("kickass/{name}");
    Scenario::load(&name, &LoadOptions { set, ..LoadOptions::default() }).expect("it loads")
}

fn run(name: &str, protocol: &str, set: &[&str]) -> RunResult {
    let options = RunOptions { without_reference: true, ..RunOptions::default() };
    run_one(&load(name, set), protocol, 1, &options).expect("it runs")
}

const V4: [&str; 2] = ["ip_version=4", "tcp.mss_bytes=1448"];
const V6: [&str; 2] = ["ip_version=6", "tcp.mss_bytes=1428"];

/// Goodput of all flows in Mbit/s, p99 of the queueing delay in ms, bytes of the bottleneck for one
/// of payload.
fn long_flows(protocol: &str, set: &[&str]) -> (f64, f64, f64) {
    let short = ["until_s=25", "measure_from_s=15"];
    let result = run("ipv6", protocol, &[set, &short].concat());
    let mbps = result.metrics.of_flows.goodput_bps.expect("flows send") / 1e6;
    let p99_ms = result.metrics.queue_delay_p99_ms.expect("packets waited");
    let cost = 150.0 * result.metrics.utilisation["left-right"] / mbps;
    println!("{protocol}, {set:?}: {mbps:.2} Mbit/s, {p99_ms:.3} ms, {cost:.4} bytes for one");
    (mbps, p99_ms, cost)
}

/// Of 1500 bytes 1448 are payload with IPv4, and a cut costs 20 of link. With IPv6 1420 are, for 40
/// are of the header, 8 of the Fragment header, and 32 of TCP; a cut costs 48. A port that puts the
/// Fragment header in finds one already in what senders let it cut.
#[test]
fn what_a_cut_costs_is_what_the_headers_are_long() {
    for (set, packet, payload) in [(V4, 1520.0, 1448.0), (V6, 1548.0, 1420.0)] {
        for ipv6 in ["kickass.ipv6=header", "kickass.ipv6=insert"] {
            let (mbps, p99_ms, cost) = long_flows("all", &[&set[..], &[ipv6]].concat());
            assert!((cost / (packet / payload) - 1.0).abs() < 0.003, "{set:?}: {cost}");
            assert!(mbps > 0.99 * 150.0 * payload / packet && p99_ms < 1.0, "{mbps} {p99_ms}");
        }
    }
    // 8 of the 125 packets of a round trip: next to nothing.
    for (set, packet, payload) in [(V4, 1500.0, 1448.0), (V6, 1500.0, 1428.0)] {
        let (_, p99_ms, cost) = long_flows("kickass", &set);
        let by_cuts = cost / (packet / payload);
        assert!((1.0..1.01).contains(&by_cuts) && p99_ms < 2.0, "{by_cuts} {p99_ms}");
    }
}

/// A port that leaves IPv6 alone, as RFC 8200 has it, leaves TCP, which fills the queue.
#[test]
fn ports_that_pass_ipv6_leave_tcp() {
    let (_, cut_ms, _) = long_flows("kickass", &V6);
    let (_, passed_ms, _) = long_flows("kickass", &[&V6[..], &["kickass.ipv6=pass"]].concat());
    assert!(passed_ms > 10.0 * cut_ms, "{passed_ms} {cut_ms}");
}

/// Who does not speak Kick-Ass is left alone by a port that cuts what has a Fragment header, and is
/// cut by one that puts it in: each of its full-sized packets becomes two.
#[test]
fn only_a_port_that_inserts_cuts_foreign_flows() {
    let of = |set: &[&str]| {
        let short = ["until_s=10", "measure_from_s=0"];
        run("ipv6", "newreno", &[&V6[..], &short, set].concat()).trace_hash
    };
    let plain = of(&[]);
    assert_eq!(of(&["links.0.port=kickass"]), plain);
    assert_eq!(of(&["links.0.port=kickass", "kickass.ipv6=pass"]), plain);
    assert_ne!(of(&["links.0.port=kickass", "kickass.ipv6=insert"]), plain);
}

/// 32 on-off senders at a third of the link. A flow of n packets has 1.4 % fewer bytes with IPv6.
fn mean_fct(protocol: &str, set: &[&str]) -> f64 {
    let result = run("light", protocol, &[set, &["until_s=20"]].concat());
    let times: Vec<f64> = result.per_flow.iter().filter_map(|flow| flow.fct_s).collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    println!("light, {protocol}, {set:?}: {mean:.4} s, {} flows", times.len());
    mean
}

#[test]
fn short_flows_are_as_fast_as_with_ipv4_and_plain_tcp_without_ports() {
    let (v4, v6) = (mean_fct("kickass", &V4), mean_fct("kickass", &V6));
    assert!((v6 / v4 - 1.0).abs() < 0.05, "{v6} {v4}");
    assert!(v6 < 0.6 * mean_fct("newreno", &V6));
    let none = [&V6[..], &["links.0.port=none"]].concat();
    let (alone, tcp) = (mean_fct("kickass", &none), mean_fct("newreno", &none));
    assert!((alone / tcp - 1.0).abs() < 0.01, "{alone} {tcp}");
}

/// A box that drops what has a Fragment header (RFC 7872) does not ask whether it is one of
/// several. The guard learns it; the paper's end points get nothing through.
#[test]
fn where_fragment_headers_are_dropped_the_guard_sends_none() {
    let drop = "link_defaults.middlebox={ fragments = \"drop\" }";
    let set = [&V6[..], &["until_s=20", "measure_from_s=10", drop]].concat();
    let mbps = |protocol: &str, set: &[&str]| {
        let result = run("ipv6", protocol, set);
        result.metrics.of_flows.goodput_bps.unwrap_or(0.0) / 1e6
    };
    let (guarded, plain) = (mbps("kickass", &set), mbps("newreno", &set));
    println!("Fragment headers dropped: {guarded:.1} Mbit/s, NewReno {plain:.1}");
    assert!(guarded > 0.8 * plain, "{guarded} {plain}");
    let paper = [&set[..], &["protocol.all.preset=paper"]].concat();
    let stuck = mbps("all", &paper);
    assert!(stuck < 0.01 * plain, "{stuck}: only what is sent again, which has none");
}

/// The same hash by bytes, without fast paths, and in two threads.
#[test]
fn hashes_do_not_depend_on_how_a_run_is_computed() {
    for (protocol, ipv6) in [("kickass", "header"), ("kickass", "insert"), ("all", "header")] {
        let ipv6 = format!("kickass.ipv6={ipv6}");
        let scenario = load("ipv6", &["measure_from_s=0", "until_s=4", &ipv6]);
        same_every_way(&scenario, protocol, &format!("{protocol} {ipv6}"), |_| ());
    }
}

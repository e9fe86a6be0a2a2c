//! Routers and ports that the scenario names: the same network as the one that a protocol asks for,
//! and legal without it.

use super::scenario;
use forebay_lab::{RunOptions, RunResult, run_one};

fn run(protocol: &str, set: &[&str]) -> RunResult {
    run_one(&scenario(set), protocol, 1, &RunOptions::default()).expect("runs")
}

#[test]
fn what_a_protocol_asks_for_may_be_said_and_is_the_same() {
    for (protocol, said) in [("rcp", "link_defaults.port=rcp"), ("inrpp", "router=inrpp")] {
        assert_eq!(run(protocol, &[said]).trace_hash, run(protocol, &[]).trace_hash, "{protocol}");
    }
    let named = ["routers.l.router=inrpp", "routers.r.router=inrpp"];
    assert_eq!(run("inrpp", &named).trace_hash, run("inrpp", &[]).trace_hash);
    // Without its routers INRPP is another run: no router stores for it.
    let over_ip = run("inrpp", &["router=ip"]);
    assert_ne!(over_ip.trace_hash, run("inrpp", &[]).trace_hash);
}

/// CUBIC alone: ports of RCP find no request in its packets and change nothing; a router of INRPP
/// holds no packet of its data, which carries no echo, beyond what the queue and the plain part of
/// its cache hold.
#[test]
fn cubic_runs_over_ports_of_rcp_and_routers_of_inrpp() {
    let plain = run("cubic", &[]);
    let stamped = run("cubic", &["link_defaults.port=rcp"]);
    assert_eq!(stamped.trace_hash, plain.trace_hash);
    let pooled = run("cubic", &["router=inrpp"]);
    assert_eq!((pooled.completed, pooled.flows), (2, 2));
    assert!(pooled.interfaces.iter().all(|interface| interface.cache_drops == 0));
    let one = run("cubic", &["routers.r.router=inrpp"]);
    assert_eq!(one.completed, 2);
}

#[test]
fn rcp_without_its_ports_is_granted_nothing_and_completes() {
    let alone = run("rcp", &["link_defaults.port=none"]);
    assert_eq!(alone.completed, 2);
    assert_ne!(alone.trace_hash, run("rcp", &[]).trace_hash);
}

//! The hard cases that are built in, each with what must come out.
#![allow(clippy::print_stdout)] // the table

use super::lab::{Result, WIRE, goodputs, run};
use forebay_net::NetSpec;
use forebay_scenario::{LoadOptions, Scenario};

fn built_in(name: &str, protocol: &str) -> NetSpec {
    let scenario = Scenario::load(name, &LoadOptions::default()).expect("built in");
    scenario.build(protocol, 1).expect("sound")
}

#[test]
fn transfers_take_as_long_as_in_the_reference() {
    // In the last case 500 flows come within a second; at its end all are complete after 41.4 s.
    for name in ["inrpp/series", "inrpp/shared-detour", "inrpp/many-short"] {
        let Result { ratio, cache_drops, resent, .. } = run(&built_in(name, "inrpp"), None);
        println!("| {name} | {ratio:.3} | {cache_drops} | {resent:.4} |");
        assert!((0.95..1.02).contains(&ratio), "{name}: {ratio}");
        assert_eq!((cache_drops, resent), (0, 0.0), "{name}");
    }
}

#[test]
fn the_long_flow_that_comes_last_has_half_of_a_link() {
    let (mbps, sim) = goodputs(&built_in("inrpp/late-long", "inrpp"), 20, 40);
    let share = 5.0 / WIRE;
    assert!(mbps.iter().all(|rate| (0.95..1.05).contains(&(rate / share))), "{mbps:?}");
    assert_eq!(sim.drops().total(), 0);
}

#[test]
fn they_run_under_every_protocol_that_they_name() {
    for name in ["series", "late-long", "shared-detour", "many-short", "link-fails", "short"] {
        for protocol in ["inrpp", "rcp", "newreno", "cubic"] {
            let spec = built_in(&format!("inrpp/{name}"), protocol);
            assert!(spec.flows.len() >= 3, "{name}");
        }
    }
}

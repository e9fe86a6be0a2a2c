//! Routers of INRPP before others: what these drop is for TCP's rules, whoever has asked before.
#![allow(clippy::print_stdout)] // the table

use super::ends::simulation;
use forebay_base::{FlowId, Time};

/// `flows` flows from r0 to r2, and as many of NewReno that join at r1: r0 speaks INRPP, r1 and r2
/// do not.
fn joins(first: &str, second: &str, flows: usize) -> String {
    let hosts = |name: &str, router: &str| {
        format!(
            "[[hosts]]\nname = '{name}{{}}'\ncount = {flows}\nattach = '{router}'\n\
             rate = '200Mbit/s'\ndelay = '1ms'\nqueue = '1000packets'\n"
        )
    };
    let link = |a, b, rate| {
        format!(
            "[[links]]\na = '{a}'\nb = '{b}'\nrate = '{rate}'\ndelay = '10ms'\nqueue = '50ms'\n"
        )
    };
    let all = [
        "until_s = 900\nrouters = ['r0', 'r1', 'r2']\ninrpp = { routers = ['r0'] }\n".to_string(),
        link("r0", "r1", first),
        link("r1", "r2", second),
        hosts("s", "r0"),
        hosts("t", "r1"),
        hosts("d", "r2"),
        hosts("e", "r2"),
        format!(
            "[[flows]]\nsrc = 's{{}}'\ndst = 'd{{}}'\ncount = {flows}\nendless = true\n\
             [[flows]]\nsrc = 't{{}}'\ndst = 'e{{}}'\ncount = {flows}\n\
             endless = true\nprotocol = 'newreno'\n"
        ),
    ];
    all.concat()
}

/// Payload from 20 to 80 s in Mbit/s: of the flows over both links, and of those that join.
fn goodputs(text: &str, protocol: &str, flows: usize) -> [f64; 2] {
    let mut sim = simulation(text, protocol);
    let received = |sim: &forebay_sim::Simulation| {
        [0..flows, flows..2 * flows]
            .map(|range| range.map(|f| sim.flow(FlowId(f as u32)).received_bytes).sum::<u64>())
    };
    sim.run_until(Time::from_secs(20)).unwrap();
    let before = received(&sim);
    sim.run_until(Time::from_secs(80)).unwrap();
    assert!(sim.conservation().holds());
    let after = received(&sim);
    [0, 1].map(|i| (after[i] - before[i]) as f64 * 8e-6 / 60.0)
}

/// Who joins has most of what it has where all are NewReno, and the link is full.
#[test]
fn tcp_that_joins_after_an_inrpp_router_has_its_share() {
    let cases = [("10Mbit/s", "10Mbit/s", 2, 0.8), ("8.5Mbit/s", "10Mbit/s", 2, 0.6)];
    for (first, second, flows, least) in cases {
        let text = joins(first, second, flows);
        let ours = goodputs(&text, "inrpp", flows);
        let theirs = goodputs(&text, "newreno", flows);
        println!("| {first}, {second}, {flows} + {flows} | {ours:.3?} | NewReno {theirs:.3?} |");
        assert!(ours[1] > least * theirs[1], "{ours:?} beside {theirs:?}");
        assert!(ours[0] + ours[1] > 0.9 * (theirs[0] + theirs[1]), "{ours:?} beside {theirs:?}");
    }
}

//! Routers of INRPP before others: what these drop is for TCP's rules, whoever has asked before.
#![allow(clippy::print_stdout)] // the table

use super::ends::{mean_fct, simulation};
use forebay_base::{FlowId, Rng, Stream, Time};

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

/// A link between routers without INRPP is down for five seconds. What was lost there is found at a
/// timeout: the first one makes the flow one of CUBIC, the second one has TCP's loss detection.
#[test]
fn an_outage_behind_a_router_without_inrpp_is_over_when_the_link_is_back() {
    let text = "until_s = 100
        link_defaults = { queue = '100packets', delay = '1ms' }
        inrpp = { routers = ['r0'] }
        routers = ['r0', 'r1', 'r2']
        links = [
            { a = 'r0', b = 'r1', rate = '50Mbit/s', delay = '10ms' },
            { a = 'r1', b = 'r2', rate = '100Mbit/s', delay = '10ms' },
        ]
        hosts = [
            { name = 's0', attach = 'r0', rate = '1Gbit/s' },
            { name = 'd0', attach = 'r2', rate = '1Gbit/s' },
        ]
        flows = [{ src = 's0', dst = 'd0', bytes = 6000000 }]
        events = [
            { at = '500ms', link = 'r1-r2', state = 'down' },
            { at = '5500ms', link = 'r1-r2', state = 'up' },
        ]";
    let [ours, theirs] = ["inrpp", "cubic"].map(|name| mean_fct(text, name, 1).0);
    println!("| 6 MB, 5 s without a link | {ours:.2} s | CUBIC {theirs:.2} |");
    assert!(ours < 1.1 * theirs, "{ours} s beside {theirs}");
}

/// Two to four routers in a row, some with INRPP and some without: rates from 1 to 2 000 Mbit/s,
/// delays up to 80 ms, queues of 20 to 1 000 packets; a third of the return paths have a 20th to a
/// 100th of the rate, a seventh of the links lose 1 packet in 200. Gives the flows, too.
fn random_row(seed: u64) -> (String, u32) {
    let mut rng = Rng::new(seed, Stream::Test, 3);
    let mut one_of = |options: &[u64]| options[rng.below(options.len() as u64) as usize];
    let routers = one_of(&[2, 3, 3, 4]);
    let odd = one_of(&[0, 1]);
    let mut kinds: Vec<u64> = (0..routers).map(|_| one_of(&[0, 1])).collect();
    (kinds[0], kinds[routers as usize - 1]) = (odd, 1 - odd);
    let (queue, flows) = (one_of(&[20, 100, 100, 1000]), one_of(&[1, 1, 2, 5, 20]));
    let (long, short) = (one_of(&[0, 1, 2]), one_of(&[14_000, 100_000, 400_000]));
    let base_bps = 1e6 * 200f64.powf(rng.unit());
    let mut text = format!("until_s = 900\nlink_defaults = {{ queue = '{queue}packets' }}\n");
    for (i, kind) in kinds.iter().enumerate() {
        let router = ["ip", "inrpp"][*kind as usize];
        text += &format!("[[routers]]\nname = 'r{i}'\nrouter = '{router}'\n");
    }
    for i in 1..routers {
        let rate_bps = base_bps * [1.0, 1.0, 2.0, 5.0, 10.0][rng.below(5) as usize];
        let delay_us = 500.0 * 160f64.powf(rng.unit());
        text += &format!(
            "[[links]]\na = 'r{}'\nb = 'r{i}'\nrate = '{rate_bps:.0}bit/s'\n\
             delay = '{delay_us:.0}us'\n",
            i - 1
        );
        if rng.chance(1.0 / 3.0) {
            let part = [20.0, 50.0, 100.0][rng.below(3) as usize];
            let back_bps = (rate_bps / part).max(20_000.0);
            text += &format!("reverse = {{ rate = '{back_bps:.0}bit/s' }}\n");
        }
        if rng.chance(1.0 / 7.0) {
            text += "loss = 0.005\n";
        }
    }
    for (name, router) in [("s", 0), ("d", routers - 1)] {
        text += &format!(
            "[[hosts]]\nname = '{name}{{}}'\ncount = {flows}\nattach = 'r{router}'\n\
             rate = '1Gbit/s'\ndelay = '1ms'\n"
        );
    }
    for i in 0..flows {
        let is_long = long == 0 || long == 1 && i % 2 == 0;
        let seconds = 3.0 + 5.0 * rng.unit();
        let long_bytes = (base_bps / 8.0 * seconds) as u64 / flows;
        let (bytes, start_us) = (if is_long { long_bytes } else { short }, rng.below(2_000_000));
        text += &format!(
            "[[flows]]\nsrc = 's{i}'\ndst = 'd{i}'\nbytes = {bytes}\nstart = '{start_us}us'\n"
        );
    }
    (text, flows as u32)
}

/// Where routers of both kinds are on the path, flows take no longer than with CUBIC over the same
/// routers, but for few.
#[test]
fn rows_of_routers_of_both_kinds_are_no_worse_than_with_cubic() {
    const NETWORKS: u64 = 200;
    let mut ratios: Vec<(f64, u64)> = (0..NETWORKS)
        .map(|seed| {
            let (text, flows) = random_row(seed);
            let [ours, theirs] = ["inrpp", "cubic"].map(|name| mean_fct(&text, name, flows).0);
            (ours / theirs, seed)
        })
        .collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mean = (ratios.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / NETWORKS as f64).exp();
    let above = |bound: f64| ratios.iter().filter(|(ratio, _)| *ratio > bound).count();
    println!(
        "| {NETWORKS} rows | mean {mean:.3} | above 1.1: {} | above 1.3: {} | worst {:.2?} |",
        above(1.1),
        above(1.3),
        &ratios[ratios.len() - 4..]
    );
    assert!(mean < 1.0 && above(1.3) <= NETWORKS as usize / 25, "{ratios:.2?}");
}

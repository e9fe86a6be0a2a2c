//! Who forges notices, or does not listen, gains and harms little where links have keys.
#![allow(clippy::print_stdout)] // the table

use super::lab::{Result, goodputs, run};
use forebay_base::{FlowId, Time};
use forebay_router::inrpp::Class;
use forebay_scenario::{LoadOptions, Scenario};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::pool::Interfaces;

/// The built-in scenario, with these settings.
fn with(set: &[&str]) -> forebay_net::NetSpec {
    let set = set.iter().map(ToString::to_string).collect();
    let options = LoadOptions { set, ..LoadOptions::default() };
    let scenario = Scenario::load("inrpp/attacks", &options).expect("built in");
    scenario.build("inrpp", 1).expect("sound")
}
const KEY: &str = "inrpp.key=\"a key that m lacks\"";

fn forged(ask: &str, knows: &str) -> String {
    format!(
        "attacks=[{{ from = \"m\", flow = 1, kind = \"acks\", ask = \"{ask}\", knows = \
         \"{knows}\", every = \"5ms\", count = 2600 }}]"
    )
}

/// Asked: less than 2 %.
#[test]
fn an_attacker_without_keys_costs_less_than_a_fiftieth() {
    let alone = run(&with(&[]), None).ratio;
    println!("| alone | {alone:.4} |");
    for (ask, knows) in [("pause", "ports"), ("cancel", "ports"), ("pause", "sequence")] {
        let Result { ratio, cache_drops, resent, .. } =
            run(&with(&[KEY, &forged(ask, knows)]), None);
        println!("| {ask}, {knows} | {ratio:.4} | {cache_drops} | {resent:.4} |");
        assert!((ratio / alone - 1.0).abs() < 0.02, "{ask}, {knows}: {ratio} after {alone}");
        assert_eq!((cache_drops, resent), (0, 0.0), "{ask}, {knows}");
    }
    // An ACK older than the last is not read: one that does harm needs their numbers.
    let Result { ratio, .. } = run(&with(&[&forged("pause", "sequence")]), None);
    assert!((ratio / alone - 1.0).abs() > 0.02, "without keys it harms: {ratio}");
}

/// Somebody on a link plays slow-downs again. Those of the last epochs have codes that hold, but
/// their ACKs are older than others that have passed; older ones have codes that do not.
#[test]
fn what_is_replayed_harms_nobody() {
    let longer = ["flows.0.bytes=6MB", "flows.1.bytes=6MB"];
    let replay = |age: &str| {
        format!(
            "attacks=[{{ from = \"r1\", flow = 1, kind = \"replay\", link = \"r0-r1\", age = \
             \"{age}\", every = \"5ms\", count = 9000 }}]"
        )
    };
    let outcome = |set: &[&str]| {
        let spec = with(&[&longer[..], set].concat());
        let (_, sim) = goodputs(&spec, 0, 45);
        let sent = sim.conservation().sent;
        let links = (0..spec.links.len() as u32).map(forebay_base::LinkId);
        let ignored = links.filter_map(|link| sim.interface(link)).map(|i| i.ignored_notices());
        (run(&spec, None).ratio, sent, ignored.sum::<u64>())
    };
    let (alone, honest, _) = outcome(&[]);
    // The codes of 25 s ago are of the epoch before the last, or older.
    for (age, keys, stale) in
        [("100ms", &[][..], false), ("100ms", &[KEY], false), ("25s", &[KEY], true)]
    {
        let replay = replay(age);
        let set: Vec<&str> = keys.iter().copied().chain([replay.as_str()]).collect();
        let (ratio, sent, ignored) = outcome(&set);
        println!("| {age}, {keys:?} | {ratio:.4} | {} replays | {ignored} |", sent - honest);
        assert!(sent > honest + 1_000, "{age}: replays");
        assert!((ratio / alone - 1.0).abs() < 0.02, "{age}, {keys:?}: {ratio} after {alone}");
        assert_eq!(ignored > 1_000, stale, "{age}, {keys:?}: {ignored}");
    }
}

/// Endless flows for 20 s. Of goodput and of the first cache, asked: 5 % more than a share, that of
/// the flows that have packets there.
#[test]
fn a_greedy_sender_gains_nothing() {
    let endless = ["flows.0.bytes=1GB", "flows.1.bytes=1GB", "until_s=20"];
    let greedy = "attacks=[{ from = \"s0\", flow = 1, kind = \"greedy-sender\" }]";
    for set in [&[greedy][..], &[greedy, KEY]] {
        let spec = with(&[&endless[..], set].concat());
        let (mbps, sim) = goodputs(&spec, 10, 20);
        let mean = mbps.iter().sum::<f64>() / mbps.len() as f64;
        let first = (0..spec.links.len() as u32)
            .map(forebay_base::LinkId)
            .filter_map(|link| sim.interface(link))
            .max_by_key(|view| view.cache_bytes())
            .expect("a cache");
        let flows = first.flows();
        let most = flows.iter().filter(|(key, _)| key.class() == Class::Pooled);
        let most = most.map(|(_, totals)| totals.cached_bytes).max().expect("a flow");
        let share = first.limits().total_bytes / flows.len() as u64;
        let each: Vec<u64> = flows.values().map(|totals| totals.cached_bytes).collect();
        println!("goodput {:.3} of {mean:.3}, cache {most} of {share}: {each:?}", mbps[0]);
        assert!(mbps[0] < 1.05 * mean, "{mbps:?}");
        assert!(most * 100 < share * 105, "{most} of {share}");
        assert!(mbps[1..].iter().all(|honest| *honest > 0.95 * mean), "{mbps:?}");
    }
}

/// An honest flow of 1.2 s at the rate of the link comes when the cache is full of packets of one
/// that does not listen. Asked: 5 % more time than beside an honest one.
#[test]
fn a_greedy_sender_delays_who_comes_to_a_full_cache_by_nothing() {
    for (mbps, delay) in [(2, 1), (5, 1), (5, 20), (50, 1)] {
        let (long_bytes, short_bytes) = (mbps * 2_500_000, mbps * 150_000);
        let fct_s = |attacks: &str| {
            let scenario = format!(
                "until_s = 60
                inrpp.key = 'a key for both of them'
                routers = [{{ name = 'a', router = 'inrpp' }}, {{ name = 'b', router = 'inrpp' }}]
                link_defaults = {{ queue = '100packets', delay = '1ms' }}
                links = [{{ a = 'a', b = 'b', rate = '{mbps}Mbit/s', delay = '{delay}ms' }}]
                hosts = [
                    {{ name = 's{{}}', count = 2, attach = 'a', rate = '1Gbit/s' }},
                    {{ name = 'd{{}}', count = 2, attach = 'b', rate = '1Gbit/s' }},
                ]
                flows = [
                    {{ src = 's0', dst = 'd0', bytes = {long_bytes} }},
                    {{ src = 's1', dst = 'd1', bytes = {short_bytes}, start = '2s' }},
                ]
                attacks = [{attacks}]"
            );
            let options = LoadOptions::default();
            let scenario = Scenario::parse(&scenario, "here", &options).expect("sound");
            let spec = scenario.build("inrpp", 1).expect("sound");
            let mut sim = Simulation::new(&spec, 1, Options::default()).expect("sound");
            assert_eq!(sim.run_until(Time::from_secs(60)).unwrap(), Status::FlowsEnded);
            sim.flow(FlowId(1)).completed_at.expect("it ended").as_secs_f64() - 2.0
        };
        let honest = fct_s("");
        let greedy = fct_s("{ kind = 'greedy-sender', flow = 1, from = 's0' }");
        println!("| {mbps} Mbit/s, {delay} ms | {honest:.2} s | {greedy:.2} s |");
        assert!(greedy < 1.05 * honest, "{mbps} Mbit/s, {delay} ms: {greedy}, {honest}");
    }
}

//! How much waits: in caches before slow links, in queues of links, and under way on long paths.
#![allow(clippy::print_stdout)] // the tables

use super::lab::{goodputs, run};
use forebay_base::{DropReason, FlowId, Time};
use forebay_net::NetSpec;
use forebay_scenario::{LoadOptions, Scenario};
use forebay_sim::{Options, Simulation};
use std::fmt::Write;

fn spec(text: &str, set: &[&str]) -> NetSpec {
    let set: Vec<String> = set.iter().map(ToString::to_string).collect();
    let options = LoadOptions { set, ..LoadOptions::default() };
    let scenario = Scenario::parse(text, "depth.toml", &options);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    scenario.build(&scenario.protocols[0], 1).expect("builds")
}

/// Pairs of hosts at the ends of a chain of links, given as rate and delay in ms.
fn chain(pairs: usize, host: &str, links: &[(&str, u64)]) -> String {
    let mut text = "protocols = [\"inrpp\"]\nstart_jitter = \"0s\"\nfct = \"established\"\n\
                    link_defaults.queue = \"50ms\"\nrouters = ["
        .to_string();
    (0..=links.len()).for_each(|r| write!(text, "\"r{r}\",").unwrap());
    text.push_str("]\nlinks = [");
    for (r, (rate, delay_ms)) in links.iter().enumerate() {
        let ends = format!("a = \"r{r}\", b = \"r{}\"", r + 1);
        write!(text, "{{ {ends}, rate = \"{rate}\", delay = \"{delay_ms}ms\" }},").unwrap();
    }
    text.push_str("]\nhosts = [");
    for (name, router) in [("s{}", 0), ("d{}", links.len())] {
        let many = format!("name = \"{name}\", first = 0, count = {pairs}, attach = \"r{router}\"");
        write!(text, "{{ {many}, rate = \"{host}\", delay = \"1ms\" }},").unwrap();
    }
    text.push_str("]\n");
    text
}

/// A flow for each pair.
fn flows(mut text: String, pairs: usize, apart_ms: usize, bytes: Option<u64>) -> String {
    text.push_str("flows = [");
    for i in 0..pairs {
        let size = bytes.map_or("endless = true".to_string(), |bytes| format!("bytes = {bytes}"));
        let start = format!("start = \"{}ms\"", i * apart_ms);
        write!(text, "{{ src = \"s{i}\", dst = \"d{i}\", {size}, {start} }},").unwrap();
    }
    text.push_str("]\n");
    if bytes.is_none() {
        text = format!("until_s = 60\n{text}");
    }
    text
}

fn mean_rtt_ms(sim: &Simulation, flows: impl Iterator<Item = u32>) -> f64 {
    let all: Vec<f64> = flows.map(|i| sim.flow(FlowId(i)).rtt.mean_ms).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// Endless flows over 10 Mbit/s. The link before it is no reason to keep more: with S_high at its
/// own rate ten flows had round trips of 0.8, 6 and 30 s.
#[test]
fn what_waits_before_a_fast_link_is_what_a_slow_one_drains() {
    for pairs in [1, 2, 10, 50] {
        for before in ["100Mbit/s", "1Gbit/s", "10Gbit/s"] {
            let text = chain(pairs, "1Gbit/s", &[(before, 5), ("10Mbit/s", 5)]);
            let (mbps, sim) = goodputs(&spec(&flows(text, pairs, 0, None), &[]), 20, 60);
            let rtt_ms = mean_rtt_ms(&sim, 0..pairs as u32);
            println!("| {pairs} flows, {before} | {rtt_ms:.0} ms |");
            // 1440 bytes of payload in 1500.
            let total: f64 = mbps.iter().sum();
            assert!((9.55..=9.65).contains(&total), "{pairs}, {before}: {total} Mbit/s");
            assert!(rtt_ms < 1_200.0, "{pairs}, {before}: {rtt_ms} ms");
            assert_eq!(sim.drops().count(DropReason::CacheFull), 0);
        }
    }
}

/// What waits before 10 Mbit/s is what the flows that are there need, whatever the rate of their
/// hosts and however many others are planned: the round trip of the path, and four packets of each.
/// With thresholds for all flows of a scenario, those of 200 that started 20 ms apart had 906 ms on
/// average and the first of them 22.8 s, and a flow had 1.0 s before the others were there.
#[test]
fn round_trips_follow_the_flows_that_are_there() {
    for hosts in ["100Mbit/s", "1Gbit/s", "10Gbit/s"] {
        let spec_of = |pairs, apart_ms| {
            let text = chain(pairs, hosts, &[("10Mbit/s", 5)]);
            spec(&flows(text, pairs, apart_ms, None), &[])
        };
        for pairs in [1, 10, 50, 200] {
            let (mbps, sim) = goodputs(&spec_of(pairs, 20), 20, 60);
            let rtt_ms = mean_rtt_ms(&sim, 0..pairs as u32);
            let first_ms = mean_rtt_ms(&sim, 0..1);
            println!("| {pairs} flows, {hosts} | {rtt_ms:.0} ms | the first {first_ms:.0} ms |");
            let total: f64 = mbps.iter().sum();
            assert!((9.55..=9.65).contains(&total), "{pairs}, {hosts}: {total} Mbit/s");
            // A packet takes 1.2 ms.
            assert!(rtt_ms < 45.0 + 5.0 * pairs as f64, "{pairs}, {hosts}: {rtt_ms} ms");
            assert!(first_ms < 4_000.0, "{pairs}, {hosts}: {first_ms} ms");
            assert_eq!(sim.drops().count(DropReason::CacheFull), 0);
        }
        // All at once: what 200 send before anybody can ask them takes 10 s to leave.
        let (_, sim) = goodputs(&spec_of(200, 0), 20, 60);
        let rtt_ms = mean_rtt_ms(&sim, 0..200);
        println!("| 200 flows at once, {hosts} | {rtt_ms:.0} ms |");
        assert!(rtt_ms < 1_200.0, "{hosts}: {rtt_ms} ms");
        // One, and 199 that begin 15 s later.
        let mut late = spec_of(200, 0);
        late.flows[1..].iter_mut().for_each(|flow| flow.start = Time::from_secs(15));
        let mut sim = Simulation::new(&late, 1, Options::default()).expect("sound");
        sim.run_until(Time::from_secs(15)).unwrap();
        let alone_ms = mean_rtt_ms(&sim, 0..1);
        println!("| one, 199 later, {hosts} | {alone_ms:.0} ms |");
        assert!(alone_ms < 100.0, "{hosts}: {alone_ms} ms");
    }
}

/// One flow comes to the shared link over a link of its own, thirty others do not: the port of that
/// one is held for their sake, and 9.7 of its 10 Mbit/s wait there until those before it know.
#[test]
fn a_port_has_room_for_what_its_flows_do_not_get_further_on() {
    let mut text = chain(1, "1Gbit/s", &[("10Mbit/s", 5), ("10Mbit/s", 5), ("10Mbit/s", 5)]);
    let near = "{ name = \"n{}\", first = 0, count = 30, attach = \"r2\", rate = \"1Gbit/s\", \
                delay = \"1ms\" },]\n";
    let hosts = text.rfind("]\n").expect("the list of hosts ends");
    text.replace_range(hosts.., near);
    let text = format!(
        "{text}flows = [{{ src = \"s0\", dst = \"d0\", bytes = 3000000 }},\
         {{ src = \"n{{}}\", dst = \"d0\", first = 0, count = 30, bytes = 300000 }}]\n"
    );
    let result = run(&spec(&text, &[]), None);
    println!("| one among thirty of the next port | {:.3} |", result.ratio);
    assert_eq!((result.cache_drops, result.queue_drops, result.resent), (0, 0, 0.0));
    assert!((0.95..=1.1).contains(&result.ratio), "{result:?}");
}

/// Long paths of 10 Mbit/s to 1 Gbit/s. With allowances of 63 packets at most 5 x 20 MB took 1.83
/// of the reference where they start 1 s apart; with first flights of 65 535 bytes a lone flow took
/// 1.12 to 1.28, and five at once over 1 Gbit/s 1.23.
#[test]
fn long_paths_are_full_from_the_first_flight_on() {
    for (rate, delay_ms, pairs, apart_ms, megabytes) in [
        ("10Mbit/s", 148, 1, 0, 2),
        ("10Mbit/s", 448, 1, 0, 2),
        ("100Mbit/s", 498, 5, 0, 20),
        ("100Mbit/s", 498, 5, 100, 20),
        ("100Mbit/s", 498, 5, 1_000, 20),
        ("1Gbit/s", 148, 5, 0, 20),
        ("1Gbit/s", 148, 5, 100, 20),
    ] {
        let name = format!("{pairs} x {megabytes} MB, {rate}, {delay_ms} ms, {apart_ms} ms apart");
        let text = chain(pairs, "1Gbit/s", &[(rate, delay_ms)]);
        let text = flows(text, pairs, apart_ms, Some(megabytes * 1_000_000));
        let result = run(&spec(&text, &[]), None);
        let worst = result.ratios.iter().copied().fold(0.0, f64::max);
        println!("| {name} | {:.3} | {worst:.3} |", result.ratio);
        assert_eq!((result.cache_drops, result.queue_drops, result.resent), (0, 0, 0.0), "{name}");
        assert!((0.85..=1.1).contains(&result.ratio), "{name}: {result:?}");
    }
}

/// The first flight of one flow, 45 packets at 10 Mbit/s, and a packet of another one 5 ms later:
/// it has its turn next in the cache, and waits for 50 ms in the queue of the link. A cache of any
/// size takes the place of the queue.
#[test]
fn a_short_flow_does_not_wait_in_the_queue_of_the_link() {
    let text = chain(2, "1Gbit/s", &[("10Mbit/s", 5)]);
    let text = flows(text, 2, 5, Some(60_000))
        .replace("bytes = 60000, start = \"5ms\"", "bytes = 1000, start = \"5ms\"");
    let fct_ms = |set: &[&str]| {
        let mut sim = Simulation::new(&spec(&text, set), 1, Default::default()).unwrap();
        sim.run_until(Time::from_secs(10)).unwrap();
        let flow = sim.flow(FlowId(1));
        flow.completed_at.unwrap().since(flow.established_at.unwrap()).as_secs_f64() * 1e3
    };
    let long = fct_ms(&["inrpp.push_packets=0"]);
    for cache in ["margin", "paper", "20kB"] {
        let short = fct_ms(&[&format!("inrpp.cache=\"{cache}\"")]);
        println!("| a packet after 45, {cache} | {short:.1} ms, in the queue {long:.1} ms |");
        assert!(short < 14.0 && long > 40.0, "{cache}: {short} and {long}");
    }
}

/// The dumbbell of the paper's section IV-F: half of `flows` of INRPP if `mixed`, all others of
/// NewReno, over 10 Mbit/s with a detour of 10 Mbit/s, which TCP cannot take.
fn friends(flows: usize, mbps: u64, mixed: bool) -> String {
    let name = if mixed { "inrpp" } else { "newreno" };
    let mut text = format!(
        "protocols = [\"{name}\"]\nuntil_s = 90\nstart_jitter = \"0s\"\n\
         routers = [\"0\", \"1\", \"2\", \"3\", \"4\"]\n\
         tcp = {{ mss_bytes = 1458, timestamps = false }}\ntcp_of.inrpp.mss_bytes = 1446\n\
         link_defaults = {{ rate = \"{mbps}Mbit/s\", delay = \"5ms\", queue = \"50ms\" }}\n\
         links = [{{ a = \"4\", b = \"0\", rate = \"10Gbit/s\" }}, {{ a = \"0\", b = \"2\" }},\n\
         {{ a = \"2\", b = \"3\", rate = \"10Gbit/s\" }}, {{ a = \"0\", b = \"1\" }}, \
         {{ a = \"1\", b = \"2\" }}]\nhosts = ["
    );
    for (host, router) in [("s{}", 4), ("r{}", 3)] {
        let many = format!("name = \"{host}\", first = 0, count = {flows}, attach = \"{router}\"");
        write!(text, "{{ {many}, rate = \"40Mbit/s\" }},").unwrap();
    }
    text.push_str("]\nflows = [");
    for i in 0..flows {
        let protocol = if mixed && i % 2 == 0 { "inrpp" } else { "newreno" };
        let ends = format!("src = \"s{i}\", dst = \"r{i}\", start = \"{}ms\"", 100 * i);
        write!(text, "{{ {ends}, endless = true, protocol = \"{protocol}\" }},").unwrap();
    }
    text.push_str("]\n");
    text
}

/// Mbit/s of the even flows and of the odd ones, and the mean round trip of these.
fn of_both(text: &str, set: &[&str]) -> ([f64; 2], f64) {
    let spec = spec(text, set);
    let (mbps, sim) = goodputs(&spec, 30, 90);
    let sum = |first: usize| mbps.iter().skip(first).step_by(2).sum::<f64>();
    let rtt_ms = mean_rtt_ms(&sim, (1..spec.flows.len() as u32).step_by(2));
    ([sum(0), sum(1)], rtt_ms)
}

/// Fig. 19: the round trips of TCP are hardly longer than without INRPP. With two packets of room
/// for each TCP flow they were 1.6 and 2.8 times as long. All flows share link and detour, or those
/// of INRPP have the detour on top: the paper has 15 and 5 Mbit/s.
#[test]
fn tcp_beside_inrpp_waits_no_longer_and_has_its_share() {
    for (flows, mbps) in [(100, 10), (20, 1)] {
        let (_, alone_ms) = of_both(&friends(flows, mbps, false), &[]);
        for (turns, expected) in [("true", [1.0, 1.0]), ("false", [1.5, 0.5])] {
            let set = format!("inrpp.pooled_turns={turns}");
            let ([pooled, plain], rtt_ms) = of_both(&friends(flows, mbps, true), &[&set]);
            println!(
                "| {flows} flows, {mbps} Mbit/s, {set} | {pooled:.2} : {plain:.2} | \
                 {rtt_ms:.0} ms, alone {alone_ms:.0} ms |"
            );
            let rate = mbps as f64 * 0.965;
            for (is, part) in [pooled, plain].into_iter().zip(expected) {
                assert!((is / (rate * part) - 1.0).abs() < 0.08, "{set}: {pooled} and {plain}");
            }
            if turns == "true" {
                assert!(rtt_ms < 1.2 * alone_ms, "{set}: {rtt_ms} beside {alone_ms}");
            }
        }
    }
}

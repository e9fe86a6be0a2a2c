//! Short-flow latency next to bulk flows: the table of docs/papers/inrpp.md.
//!
//! `cargo test --release -p forebay-testkit --test inrpp latency -- --ignored --nocapture`
#![allow(clippy::print_stdout)] // the table

use forebay_base::{FlowId, Time};
use forebay_reference::{Wanted, fluid_reference};
use forebay_scenario::{FctClock, LoadOptions, Scenario};
use forebay_sim::{Options, Simulation};
use std::fmt::Write;

const SEED: u64 = 1;
/// Payload of a packet, of a flow of ten and of a hundred.
const SIZES: [u64; 3] = [1_446, 14_460, 144_600];
const EACH: usize = 10;
const FIRST_S: usize = 20;
const UNTIL_S: usize = FIRST_S + 2 * 3 * EACH + 5;

/// `links` links of 10 Mbit/s in a row, each full of `bulk` endless flows; short flows over all of
/// them, one every two seconds, of one, ten and a hundred packets in turn.
fn scenario(links: usize, bulk: usize) -> String {
    let routers: Vec<String> = (0..=links).map(|i| format!("\"r{i}\"")).collect();
    let mut text = format!(
        r#"protocols = ["inrpp"]
until_s = {UNTIL_S}
start_jitter = "0s"
fct = "established"
routers = [{}]
[tcp]
preset = "modern"
timestamps = false
[tcp_of.inrpp]
mss_bytes = 1446
[tcp_of.rcp]
mss_bytes = 1434
timestamps = true
# 53 hosts of 40 Mbit/s send 265 MB/s for 60 ms at most.
[inrpp.cache]
low = "1MB"
high = "2MB"
total = "18MB"
[link_defaults]
rate = "40Mbit/s"
delay = "5ms"
queue = "50ms"
"#,
        routers.join(", ")
    );
    let mut hosts = |name: &str, count: usize, at: usize| {
        let host = format!("[[hosts]]\nname = \"{name}\"\ncount = {count}\nattach = \"r{at}\"\n");
        text.push_str(&host);
    };
    hosts("short{}", 3 * EACH, 0);
    hosts("end{}", 3 * EACH, links);
    for i in 0..links {
        hosts(&format!("bulk{i}-{{}}"), bulk, i);
        hosts(&format!("exit{i}-{{}}"), bulk, i + 1);
    }
    for i in 0..links {
        let next = i + 1;
        write!(text, "[[links]]\na = \"r{i}\"\nb = \"r{next}\"\nrate = \"10Mbit/s\"\n").unwrap();
        write!(
            text,
            "[[flows]]\nsrc = \"bulk{i}-{{}}\"\ndst = \"exit{i}-{{}}\"\ncount = {bulk}\n\
             every = \"20ms\"\nendless = true\n"
        )
        .unwrap();
    }
    for at in 0..3 * EACH {
        let (bytes, start) = (SIZES[at % 3], FIRST_S + 2 * at);
        write!(
            text,
            "[[flows]]\nsrc = \"short{at}\"\ndst = \"end{at}\"\nstart = \"{start}s\"\n\
             bytes = {bytes}\n"
        )
        .unwrap();
    }
    text
}

/// Completion times by size, the median and the longest; and the mean of the reference.
fn measure(text: &str, protocol: &str) -> Vec<(f64, f64, f64)> {
    let options = LoadOptions::default();
    let scenario = Scenario::parse(text, "latency.toml", &options).expect("sound");
    let spec = scenario.build(protocol, SEED).expect("sound");
    let mut sim = Simulation::new(&spec, SEED, Options::default()).expect("sound");
    let until = Time::from_secs(UNTIL_S as u64);
    sim.run_until(until).unwrap();
    let clock = FctClock::Established;
    let wanted = Wanted {
        registry: &scenario.registry,
        spec: &spec,
        seed: SEED,
        from: Time::ZERO,
        until,
        clock,
        in_full: true,
    };
    let reference = fluid_reference(&wanted, &mut |_| true).expect("sound").expect("whole");
    let of_size = |bytes: u64| {
        let flows = (0..spec.flows.len()).filter(|&i| spec.flows[i].bytes == Some(bytes));
        let (mut ours, mut best) = (Vec::new(), 0.0);
        for flow in flows {
            let outcome = sim.flow(FlowId(flow as u32));
            let fct = match (outcome.completed_at, outcome.established_at) {
                (Some(done), Some(from)) => done.since(from).as_secs_f64(),
                _ => f64::INFINITY,
            };
            ours.push(fct);
            best += reference.per_flow_fct_s[flow].unwrap_or(f64::NAN) / EACH as f64;
        }
        ours.sort_by(f64::total_cmp);
        (ours[EACH / 2], ours[EACH - 1], best)
    };
    SIZES.map(of_size).to_vec()
}

#[test]
#[ignore = "prints the table"]
fn latency_table() {
    println!("| links | bulk | packets | reference | INRPP | RCP | NewReno | CUBIC |");
    for (links, bulk) in [(1, 3), (1, 50), (3, 3), (3, 50)] {
        let text = scenario(links, bulk);
        let rows = ["inrpp", "rcp", "newreno", "cubic"].map(|p| measure(&text, p));
        for (size, packets) in [1, 10, 100].into_iter().enumerate() {
            let cells: Vec<String> =
                rows.iter().map(|row| format!("{:.3} / {:.3}", row[size].0, row[size].1)).collect();
            let best = rows[0][size].2;
            println!("| {links} | {bulk} | {packets} | {best:.3} | {} |", cells.join(" | "));
        }
    }
}

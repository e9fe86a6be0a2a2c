//! Whole runs through the public interface: what they give, what they leave on disk, and when they
//! stop.

mod batches;
mod benchmark;
mod captures;
mod controllers;
mod delay_series;
mod delays;
mod discipline;
mod drop_lines;
mod formats;
mod general;
mod hops;
mod kernel;
mod multipath;
mod network;
mod observed;
mod panics;
mod pcapng;
mod pooling;
mod published;
mod records;
mod reference;
mod results;
mod stops;
mod threads;
mod traces;
mod tshark;
mod versions;

use forebay_lab::scenario::{LoadOptions, Scenario};
use std::path::Path;

/// Two flows of 200 kB over a 10 Mbit/s bottleneck of 20 ms round trip.
const SMALL: &str = r#"
    protocols = ["newreno", "cubic"]
    routers = ["l", "r"]
    link_defaults = { rate = "10Mbit/s", delay = "5ms", queue = "25kB" }
    links = [{ a = "l", b = "r" }]
    hosts = [
        { name = "s{}", count = 2, attach = "l", rate = "100Mbit/s", delay = "1ms" },
        { name = "d{}", count = 2, attach = "r", rate = "100Mbit/s", delay = "1ms" },
    ]
    flows = [{ src = "s{}", dst = "d{}", count = 2, bytes = 200_000 }]
"#;

fn scenario(set: &[&str]) -> Scenario {
    let set = set.iter().map(ToString::to_string).collect();
    Scenario::parse(SMALL, "small.toml", &LoadOptions { set, ..LoadOptions::default() }).unwrap()
}

/// The protocols of a scenario, and of variants of one algorithm the first two: parameters need no
/// run of their own where results are compared with themselves.
fn unlike_protocols(scenario: &Scenario) -> Vec<&str> {
    let mut kept: Vec<(&str, String)> = Vec::new();
    for protocol in &scenario.protocols {
        let spec = scenario.spec(protocol).expect("it has one");
        let algorithm = spec.name().to_string();
        if kept.iter().filter(|(_, of)| *of == algorithm).count() < 2 {
            kept.push((protocol, algorithm));
        }
    }
    kept.into_iter().map(|(protocol, _)| protocol).collect()
}

/// Names of what a folder holds, in order.
fn results_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

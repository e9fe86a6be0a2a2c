//! What `forebay run` does before the first packet, in a process that has done nothing yet: a
//! scenario is read, its network built.

use crate::harness::{Bench, counted_section};
use forebay_scenario::memory_estimate::check_outline;
use forebay_scenario::{LoadOptions, ScenarioText};
use forebay_sim::{Options, Simulation};
use std::hint::black_box;

pub fn benches() -> Vec<Bench> {
    ["s1", "s2"].map(|name| Bench::new(format!("start/{name}"), move || start(name))).into()
}

fn start(name: &'static str) -> u64 {
    counted_section(&mut || {
        let text = ScenarioText::read(name).expect("it is built in");
        let keys = text.keys(&LoadOptions::default()).expect("it can be read");
        check_outline(&keys.outline(), None).expect("it is small");
        let scenario = keys.scenario().expect("it is right");
        let spec = scenario.build("newreno", 1).expect("it names this protocol");
        black_box(Simulation::new(&spec, 1, Options::default()).expect("it can be built"));
    });
    1
}

//! Toys of what other crates may bring, each by registration alone and in less than 80 lines: then
//! it is a word of scenarios.

mod discipline;
mod router;
mod scheme;
mod users;

use forebay_cc::Init;
use forebay_lab::scenario::{
    LoadOptions, NoParams, RegisterError, Registration, Registry, Scenario,
};
use forebay_lab::{RunOptions, RunResult, run_one};
use scheme::Ten;
use std::sync::Arc;

/// Two routers between three hosts of each side; 10 Mbit/s and 10 ms in the middle, no start
/// jitter.
const LINE: &str = r#"
    protocols = ["newreno"]
    start_jitter = "0s"
    routers = ["l", "r"]
    link_defaults = { rate = "100Mbit/s", delay = "1ms", queue = "100packets" }
    links = [{ a = "l", b = "r", rate = "10Mbit/s", delay = "10ms", queue = "100packets" }]
    hosts = [{ name = "s{}", count = 3, attach = "l" }, { name = "d{}", count = 3, attach = "r" }]
"#;

fn scenario(registry: &Registry, flows: &str, set: &[&str]) -> Scenario {
    let registry = Arc::new(registry.clone());
    let set = set.iter().map(ToString::to_string).collect();
    let options = LoadOptions { set, registry, ..LoadOptions::default() };
    let scenario = Scenario::parse(&format!("{LINE}{flows}"), "line.toml", &options);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    // What a result keeps of it is the same scenario.
    let again =
        Scenario::parse(&scenario.to_toml(), "again", &LoadOptions { set: Vec::new(), ..options });
    assert_eq!(again.expect("reads back"), scenario);
    scenario
}

fn run(registry: &Registry, protocol: &str, flows: &str, set: &[&str]) -> RunResult {
    run_one(&scenario(registry, flows, set), protocol, 1, &RunOptions::default()).expect("runs")
}

/// As in a notebook, where the cell that registers a controller is changed and run again. What was
/// loaded before keeps its own.
#[test]
fn a_name_may_stand_for_another_machine_in_another_registry() {
    let flow = "flows = [{ src = \"s0\", dst = \"d0\", packets = 100 }]";
    let scenario_of = |segments: u64| {
        let build = move |_: &NoParams, init: Init| Ten(segments * u64::from(init.mss_bytes));
        let mut registry = Registry::default();
        let once = registry.register(Registration::new("mine", build));
        let twice = registry.register(Registration::new("mine", build));
        let stands = RegisterError::Stands { kind: "protocol", name: "mine".into() };
        assert_eq!((once, twice), (Ok(()), Err(stands)));
        scenario(&registry, flow, &["protocols=[\"mine\"]"])
    };
    let [slow, fast] = [2, 20].map(scenario_of);
    let fct_s = |scenario: &Scenario| {
        let result = run_one(scenario, "mine", 1, &RunOptions::default()).expect("runs");
        result.per_flow[0].fct_s.expect("completes")
    };
    let (first, second) = (fct_s(&slow), fct_s(&fast));
    assert!(first > 2.0 * second, "{first} {second}");
    assert_eq!(fct_s(&slow), first);
    let unknown = slow.registry.algorithm("mine").is_some()
        && Registry::default().algorithm("mine").is_none();
    assert!(unknown, "a registry knows what it was told, and no other does");
}

#[test]
fn each_toy_fits_on_a_screen() {
    for (name, source) in [
        ("discipline", include_str!("discipline.rs")),
        ("router", include_str!("router.rs")),
        ("scheme", include_str!("scheme.rs")),
        ("users", include_str!("users.rs")),
    ] {
        let lines = source.lines().count();
        assert!(lines < 80, "{name}: {lines} lines");
    }
}

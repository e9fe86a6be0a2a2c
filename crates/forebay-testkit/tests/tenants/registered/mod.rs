//! Toys of what other crates may bring, each by registration alone and in less than 80 lines: then
//! it is a word of scenarios.

mod discipline;
mod router;
mod scheme;
mod users;

use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{RunOptions, RunResult, run_one};

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

fn scenario(flows: &str, set: &[&str]) -> Scenario {
    let options = LoadOptions { set: set.iter().map(ToString::to_string).collect(), base: None };
    let scenario = Scenario::parse(&format!("{LINE}{flows}"), "line.toml", &options);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    // What a result keeps of it is the same scenario.
    let again = Scenario::parse(&scenario.to_toml(), "again", &LoadOptions::default());
    assert_eq!(again.expect("reads back"), scenario);
    scenario
}

fn run(protocol: &str, flows: &str, set: &[&str]) -> RunResult {
    run_one(&scenario(flows, set), protocol, 1, &RunOptions::default()).expect("runs")
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

//! Runs the scenario in a text under each of its protocols and prints the goodput.
#![allow(clippy::print_stdout)]

use forebay_run::scenario::{LoadOptions, Scenario};
use forebay_run::{RunOptions, run_one};

const TEXT: &str = r#"
protocols = ["newreno", "cubic", "bbr"]
hosts = [{ name = "a" }, { name = "b" }]
links = [{ a = "a", b = "b", rate = "10Mbit/s", delay = "10ms", queue = "50kB" }]
flows = [{ src = "a", dst = "b", bytes = 5_000_000 }]
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenario = Scenario::parse(TEXT, "one_run", &LoadOptions::default())?;
    for protocol in &scenario.protocols {
        let result = run_one(&scenario, protocol, 1, &RunOptions::default())?;
        let goodput_bps = result.metrics.of_flows.goodput_bps.unwrap_or(0.0);
        println!("{:10} {:.2} Mbit/s", result.label, goodput_bps / 1e6);
    }
    Ok(())
}

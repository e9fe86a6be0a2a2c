//! Tests of scenario files. The expected messages and numbers are written by hand.

mod arrivals;
mod buffers;
mod caches;
mod channels;
mod errors;
mod expansion;
mod expect;
mod faults;
mod files;
mod keys;
mod kickass;
mod lives;
mod mutations;
mod network;
mod paths;
mod protocols;
mod reassembly;
mod registered;
mod routes;
mod sizes;
mod sweep;
mod together;
mod topology;
mod variants;

use crate::plan::mtu_check;
use crate::registry::algorithms::AlgorithmSpec;
use crate::*;
use forebay_base::{NodeId, Rate, Span, Time};
use forebay_cc::Spec;
use forebay_net::NetEvent;
use forebay_queue::Limit;

/// A small valid scenario; lines are replaced to break it.
const SMALL: &str = r#"until_s = 5
routers = ["left", "right"]

[tcp]
mss_bytes = 1448

[[links]]
a = "left"
b = "right"
rate = "10Mbit/s"
delay = "5ms"
queue = "50ms"

[[hosts]]
name = "s{}"
count = 2
attach = "left"
rate = "100Mbit/s"
delay = "1ms"
queue = "100packets"

[[hosts]]
name = "d"
attach = "right"
rate = "100Mbit/s"
delay = "1ms"
queue = "100packets"

[[flows]]
src = "s0"
dst = "d"
bytes = 10000

[[events]]
at = "1s"
link = "left-right"
loss = 0.5
"#;

fn parse_with(text: &str, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let set = set.iter().map(ToString::to_string).collect();
    Scenario::parse(text, "small.toml", &LoadOptions { set, ..LoadOptions::default() })
}

fn parse(text: &str) -> Scenario {
    parse_with(text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn builtin(name: &str) -> Scenario {
    Scenario::load(name, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The message for the small scenario with `old` replaced by `new`.
fn message(old: &str, new: &str) -> String {
    assert!(SMALL.contains(old), "{old}");
    let error = parse_with(&SMALL.replacen(old, new, 1), &[]);
    error.expect_err("a broken scenario is refused").to_string()
}

/// The message for the small scenario with one `--set`.
fn set_message(assignment: &str) -> String {
    parse_with(SMALL, &[assignment]).expect_err("a wrong --set is refused").to_string()
}

/// The parameters of all ports of a scheme.
fn of_ports<P: Default + serde::de::DeserializeOwned>(scenario: &Scenario, scheme: &str) -> P {
    let given = scenario.ports.get(scheme).cloned();
    given.map_or_else(P::default, |params| params.try_into().unwrap())
}

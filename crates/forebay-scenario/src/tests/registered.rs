//! Controllers whose parameters are known when the program runs: those of another language.

use super::*;
use crate::registry::{RegisterError, Registration, Registry};
use forebay_cc::Init;
use forebay_cc::newreno::{NewReno, Params};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The parameters that a controller was last made with.
type Seen = Arc<Mutex<toml::Table>>;

fn defaults() -> toml::Table {
    toml::toml! {
        gain = 0.5
        segments = 4
        mode = "fast"
    }
}

fn registration(name: &str, seen: &Seen) -> Registration<toml::Table> {
    let seen = Arc::clone(seen);
    Registration::new(name.to_string(), move |params: &toml::Table, init: Init| {
        *seen.lock().unwrap() = params.clone();
        NewReno::new(&Params::default(), init)
    })
}

fn scenario_with(seen: &Seen, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let mut registry = Registry::default();
    registry.register_with(registration("mine", seen), defaults()).expect("a new name");
    let options = LoadOptions {
        set: set.iter().map(ToString::to_string).collect(),
        protocols: vec!["mine".to_string()],
        registry: Arc::new(registry),
        ..LoadOptions::default()
    };
    ScenarioText::of(SMALL.to_string(), "<text>".to_string(), PathBuf::new()).scenario(&options)
}

#[test]
fn what_is_given_stands_in_the_place_of_defaults() {
    let seen = Seen::default();
    // An integer stands for a float.
    let set = ["protocol.mine.gain=2", "protocol.mine.mode=slow"];
    let spec = scenario_with(&seen, &set).expect("reads").build("mine", 1).expect("builds");
    let transport = spec.transports.iter().find(|of| of.name == "mine").expect("is there");
    let init = Init {
        mss_bytes: 1448,
        initial_window_bytes: 14_480,
        initial_ssthresh_bytes: u64::MAX,
        paced: false,
        rng: forebay_base::Rng::new(1, forebay_base::Stream::Controller, 0),
    };
    drop((transport.controller)(init));
    let expected = toml::toml! {
        gain = 2.0
        segments = 4
        mode = "slow"
    };
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn wrong_parameters_have_their_place_and_their_hint() {
    let message = |set: &str| scenario_with(&Seen::default(), &[set]).unwrap_err().to_string();
    let unknown = message("protocol.mine.gian=1");
    assert!(unknown.contains("unknown key `gian`") && unknown.contains("gain"), "{unknown}");
    let wrong = message("protocol.mine.segments=many");
    assert!(wrong.starts_with("--set:1:24: protocol.mine.segments: expected"), "{wrong}");
}

#[test]
fn names_that_stand_and_names_of_other_keys_are_refused() {
    let seen = Seen::default();
    let mut registry = Registry::default();
    let mut register = |name: &str, defaults: toml::Table| {
        registry.register_with(registration(name, &seen), defaults)
    };
    let stands = Err(RegisterError::Stands { kind: "protocol", name: "cubic".into() });
    assert_eq!(register("cubic", defaults()), stands);
    assert!(matches!(register("No", defaults()), Err(RegisterError::NotAName { .. })));
    let title = toml::toml! { title = "x" };
    let key = Err(RegisterError::Key { name: "mine".into(), key: "title" });
    assert_eq!(register("mine", title), key);
}

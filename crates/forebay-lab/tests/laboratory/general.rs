//! Runs without any fast way give the same results.

use forebay_lab::{RunOptions, RunResult, run_one};
use forebay_scenario::{BUILTINS, LoadOptions, Scenario};

/// The same run the usual way and the general one; everything but what it cost.
fn compare(name: &str, until_s: Option<u32>) {
    let set = until_s.map(|s| [format!("until_s={s}"), "measure_from_s=0".into()]);
    let set = set.into_iter().flatten().collect();
    let options = LoadOptions { set, ..LoadOptions::default() };
    compare_runs(name, &Scenario::load(name, &options).unwrap_or_else(|e| panic!("{e}")));
}

fn compare_runs(name: &str, scenario: &Scenario) {
    for protocol in crate::unlike_protocols(scenario) {
        let run = |general| {
            let options = RunOptions { general, without_reference: true, ..RunOptions::default() };
            let run = run_one(scenario, protocol, 1, &options).unwrap_or_else(|e| panic!("{e}"));
            (run.trace_hash.clone(), all_but_costs(run))
        };
        let [usual, general] = [run(false), run(true)];
        assert_eq!(usual.0, general.0, "trace hashes of {name} with {protocol}");
        assert_eq!(usual.1, general.1, "{name} with {protocol}");
    }
}

/// The results of a run; how many events it took is no result.
fn all_but_costs(run: RunResult) -> serde_json::Value {
    let mut json = serde_json::to_value(run).expect("it is written as JSON");
    let fields = json.as_object_mut().expect("an object");
    for cost in ["events", "wall_s", "cpu_s", "memory", "threads", "reference"] {
        fields.remove(cost);
    }
    json
}

fn complete() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().filter(|builtin| !builtin.is_template()).map(|builtin| builtin.name)
}

/// A second of those that last.
#[test]
fn the_general_way_gives_the_results_of_every_built_in_scenario() {
    for name in complete() {
        compare(name, Some(1));
    }
}

/// What is in transmission at the end of a run has not been carried, whether its loss was drawn by
/// then or not.
#[test]
fn notes_count_packets_that_have_left() {
    const SLOW: &str = r#"
        protocols = ["newreno"]
        until_s = 0.25
        routers = ["r"]
        [[hosts]]
        name = "a"
        attach = "r"
        rate = "100kbit/s"
        delay = "1ms"
        queue = "2packets"
        loss = { packets = [1000] }
        [[hosts]]
        name = "b"
        attach = "r"
        rate = "100kbit/s"
        delay = "1ms"
        queue = "2packets"
        [[flows]]
        src = "a"
        dst = "b"
        endless = true
    "#;
    let scenario = Scenario::parse(SLOW, "slow", &LoadOptions::default());
    compare_runs("slow", &scenario.unwrap_or_else(|e| panic!("{e}")));
}

#[test]
#[ignore = "the long form: a minute"]
fn and_to_their_end() {
    for name in complete() {
        compare(name, None);
    }
}

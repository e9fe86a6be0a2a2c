//! The number of threads does not show in a result: every built-in scenario, and what a run says of
//! its threads.

use forebay_base::{Span, Time};
use forebay_lab::scenario::memory_estimate::RunMemory;
use forebay_lab::scenario::{BUILTINS, Builtin, Files, LoadOptions, Scenario};
use forebay_lab::{Parallel, RunOptions, RunResult, run_one};
use forebay_prerequisites::s3_data;
use serde_json::Value;

/// Scenarios that would run longer, in simulated time after the start of their window, are cut
/// short. So is the time before it.
const LONGEST: Span = Span::from_secs(1);
/// The same of those that end with their flows.
const LONGEST_OF_FLOWS: Span = Span::from_secs(5);

/// A built-in scenario, cut short. None for S3 where its map, which is not part of Forebay, is not
/// at hand; and for other templates, which are such maps with more traffic.
fn short(builtin: &Builtin) -> Option<Scenario> {
    let name = builtin.name;
    let files = if name == "s3" { Files::In(s3_data()?) } else { Files::Beside };
    if builtin.is_template() && name != "s3" {
        return None;
    }
    let load = |set: Vec<String>| {
        let options = LoadOptions { set, files: files.clone(), ..LoadOptions::default() };
        Scenario::load(name, &options).unwrap_or_else(|error| panic!("{error}"))
    };
    let whole = load(Vec::new());
    let from = whole.measure_from.min(Time::ZERO + LONGEST);
    let longest = whole.until.map_or(LONGEST_OF_FLOWS, |_| LONGEST);
    if whole.until.is_some_and(|until| until <= from + longest) {
        return Some(whole);
    }
    let (from_s, until_s) = (from.as_secs_f64(), (from + longest).as_secs_f64());
    Some(load(vec![format!("until_s={until_s}"), format!("measure_from_s={from_s}")]))
}

/// In so many threads, whatever they cost.
fn run(scenario: &Scenario, protocol: &str, threads: usize) -> RunResult {
    let options = RunOptions { without_reference: true, ..RunOptions::default() };
    let options = RunOptions { threads, without_trial: true, ..options };
    run_one(scenario, protocol, 1, &options).unwrap()
}

/// Everything but what the run cost, of memory too, and how it used its threads.
fn outcome(result: &RunResult) -> RunResult {
    let (parallel, memory) = (Parallel::default(), RunMemory::default());
    RunResult { wall_s: 0.0, cpu_s: 0.0, parallel, memory, ..result.clone() }
}

#[test]
fn no_built_in_scenario_shows_its_threads() {
    let mut used = [0; 9];
    for builtin in BUILTINS {
        let Some(scenario) = short(builtin) else { continue };
        for protocol in crate::unlike_protocols(&scenario) {
            let alone = run(&scenario, protocol, 1);
            assert_eq!(alone.parallel, Parallel::default());
            for threads in [2, 3, 4, 8] {
                let together = run(&scenario, protocol, threads);
                used[together.parallel.threads] += 1;
                let context = format!("{} with {protocol}, {threads} threads", builtin.name);
                assert_eq!(together.trace_hash, alone.trace_hash, "{context}");
                assert!(outcome(&together) == outcome(&alone), "{context}");
            }
        }
    }
    // Only a few have more than seven nodes that may be parted.
    assert!(used[2..5].iter().all(|&runs| runs > 8) && used[8] > 0, "{used:?}");
}

#[test]
fn a_result_says_how_it_used_its_threads() {
    let scenario = crate::scenario(&[]);
    let json = |threads, clocks_windows| -> Value {
        let options = RunOptions { without_reference: true, ..RunOptions::default() };
        let options = RunOptions { threads, clocks_windows, ..options };
        serde_json::to_value(run_one(&scenario, "cubic", 1, &options).unwrap()).unwrap()
    };
    let (one, two) = (json(1, true), json(2, true));
    let plain = serde_json::to_value(run(&scenario, "cubic", 2)).unwrap();
    assert!(plain["windows"].is_number() && plain["work_cpu_s"].is_null(), "{plain}");
    assert_eq!((&one["threads"], &two["threads"]), (&Value::from(1), &Value::from(2)));
    for key in ["windows", "work_cpu_s", "critical_path_s", "sync_share"] {
        assert!(one[key].is_null() && two[key].is_number(), "{key}");
    }
    let number = |key: &str| two[key].as_f64().unwrap();
    let (work_s, path_s) = (number("work_cpu_s"), number("critical_path_s"));
    assert!(path_s <= work_s && work_s <= 2.0 * path_s && work_s < number("cpu_s"), "{two}");
    assert!((0.0..1.0).contains(&number("sync_share")), "{two}");
}

/// It takes a few milliseconds: threads are not even tried.
#[test]
fn a_short_run_stays_in_one_thread_and_says_so() {
    let scenario = crate::scenario(&[]);
    let in_threads = |threads| {
        let options = RunOptions { threads, without_reference: true, ..RunOptions::default() };
        run_one(&scenario, "cubic", 1, &options).unwrap()
    };
    let (one, two) = (in_threads(1), in_threads(2));
    assert!(outcome(&one) == outcome(&two));
    assert_eq!((one.parallel, two.parallel.threads), (Parallel::default(), 1));
    let why = two.parallel.fewer_threads.unwrap();
    // A machine that is busy may make it long enough for a trial.
    assert!(why.contains("too little to do") || why.contains("a trial showed"), "{why}");
}

#[test]
fn fewer_threads_than_were_offered_are_explained() {
    // Everything hangs together by links without delay.
    let near =
        crate::scenario(&["link_defaults.delay=0s", "hosts.s{}.delay=0s", "hosts.d{}.delay=0s"]);
    let result = run(&near, "cubic", 4);
    let why = result.parallel.fewer_threads.unwrap();
    assert!(result.parallel.threads == 1 && why.contains("cannot be partitioned"), "{why}");
    // Two routers and four hosts.
    let result = run(&crate::scenario(&[]), "cubic", 8);
    let why = result.parallel.fewer_threads.unwrap();
    assert!(result.parallel.threads == 6 && why.contains("6 partitions"), "{why}");
}

/// Delays of 100 us at 10 Mbit/s: a window holds 2 events, so one thread does what two would.
#[test]
fn windows_that_hold_little_are_left_to_one_thread() {
    let near = crate::scenario(&[
        "link_defaults.delay=100us",
        "hosts.s{}.delay=100us",
        "hosts.d{}.delay=100us",
    ]);
    let (one, two) = (run(&near, "cubic", 1), run(&near, "cubic", 2));
    assert!(outcome(&one) == outcome(&two));
    let shares = two.parallel.shares.unwrap();
    assert!(shares.windows > 1000 && two.events < 10 * shares.windows, "{shares:?}");
    let why = two.parallel.fewer_threads.unwrap();
    assert!(two.parallel.threads == 2 && why.contains("one was faster"), "{why}");
}

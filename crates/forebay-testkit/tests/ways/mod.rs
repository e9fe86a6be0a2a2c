//! One run, computed in every way that there is.

use forebay_lab::scenario::Scenario;
use forebay_lab::{RunOptions, RunResult, run_one};

/// What is read off a run, with the trace hash and the drops: the same by bytes, without fast
/// paths, and in two threads. `context` is said where it is not.
pub fn same_every_way<T: PartialEq>(
    scenario: &Scenario,
    protocol: &str,
    context: &str,
    read: impl Fn(&RunResult) -> T,
) -> T {
    let with = |options: RunOptions| {
        let result = run_one(scenario, protocol, 1, &options).expect("it runs");
        (read(&result), result.trace_hash, result.drops)
    };
    let plain = with(RunOptions::default());
    let bytes = with(RunOptions { bytes: true, ..RunOptions::default() });
    let general = with(RunOptions { general: true, ..RunOptions::default() });
    let threads = with(RunOptions { threads: 2, without_trial: true, ..RunOptions::default() });
    assert!(plain == bytes && plain == general && plain == threads, "{context}");
    plain.0
}

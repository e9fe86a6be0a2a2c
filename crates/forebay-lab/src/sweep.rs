//! Many seeds and protocols, side by side.

use crate::run::{RunError, RunOptions, RunResult};
use crate::scenario::Scenario;
use crate::summary::Missing;

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKey {
    /// The protocol.
    pub protocol: String,
    /// The seed.
    pub seed: u64,
}

/// What to run.
#[derive(Clone, Copy)]
pub struct SweepPlan<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The protocols, by name.
    pub protocols: &'a [String],
    /// The seeds.
    pub seeds: &'a [u64],
}

/// How to run them.
#[derive(Clone, Copy)]
pub struct SweepOptions<'a> {
    /// Runs at the same time, at least 1.
    pub jobs: usize,
    /// How each is run; `progress` of it is not used.
    pub run: RunOptions<'a>,
    /// Told of progress several times a second, from any thread.
    pub progress: Option<&'a (dyn Fn(&SweepProgress) + Sync)>,
}

/// How far a sweep is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepProgress {
    /// Runs that have finished.
    pub finished: usize,
    /// Runs in all.
    pub runs: usize,
    /// The share of the work that is done, 0.0 to 1.0, runs under way included.
    pub fraction: f64,
}

/// What a sweep gave.
#[derive(Debug, Default)]
pub struct Sweep {
    /// The runs that finished: by protocol in the order given, then by seed in the order given, whatever finished first.
    pub runs: Vec<RunResult>,
    /// The others, in the same order.
    pub missing: Vec<Missing>,
    /// The first error of a run, in the same order, with the run. Cancelling is none.
    pub error: Option<(RunKey, RunError)>,
    /// True if it was cancelled before the end.
    pub cancelled: bool,
}

/// Run every protocol with every seed. A run that fails stops those that have not begun.
pub fn sweep(_plan: &SweepPlan<'_>, _options: &SweepOptions<'_>) -> Sweep {
    Sweep::default()
}

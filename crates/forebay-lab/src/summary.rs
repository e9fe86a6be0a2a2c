//! What is printed and kept of all runs together.

use crate::run::RunResult;
use crate::scenario::Scenario;
use crate::statistics::Interval;
use crate::sweep::Sweep;
use serde::Serialize;
use std::collections::BTreeMap;

/// The object that `run --json` prints and `summary.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of Forebay.
    pub forebay: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// The runs that finished: by protocol in the order given, then by seed in the order given.
    pub runs: Vec<RunResult>,
    /// Means over seeds, by protocol.
    pub aggregate: Vec<Aggregate>,
    /// The runs that were wanted and did not finish.
    pub missing: Vec<Missing>,
    /// What a reader should know: no randomness, flows that did not complete.
    pub notes: Vec<String>,
}

/// Means over the seeds of one protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aggregate {
    /// The protocol.
    pub protocol: String,
    /// The seeds that finished.
    pub seeds: Vec<u64>,
    /// Flows in all those runs.
    pub flows: usize,
    /// Flows that completed in all those runs.
    pub completed: usize,
    /// Mean number of drops over the runs, by reason.
    pub drops: BTreeMap<&'static str, Interval>,
    /// Metrics by name (those of [`crate::Metrics`] that are numbers); a metric that no run has is absent.
    pub metrics: BTreeMap<&'static str, Interval>,
    /// Utilisation by directed link.
    pub utilisation: BTreeMap<String, Interval>,
}

/// A run without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The protocol.
    pub protocol: String,
    /// The seed.
    pub seed: u64,
    /// "interrupted", "not started", or the error.
    pub why: String,
}

impl Summary {
    /// Put the runs of a sweep together.
    pub fn new(name: &str, _scenario: &Scenario, sweep: Sweep) -> Summary {
        Summary {
            forebay: env!("CARGO_PKG_VERSION"),
            scenario: name.to_string(),
            runs: sweep.runs,
            aggregate: Vec::new(),
            missing: sweep.missing,
            notes: Vec::new(),
        }
    }
}

//! What batches give.

use forebay_run::{Missing, RunError, RunResult};
use forebay_scenario::memory_estimate::{Admission, mib};
use serde::Serialize;

/// One run of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKey {
    /// The protocol.
    pub protocol: String,
    /// The seed.
    pub seed: u64,
}

/// What a batch gave.
#[derive(Debug, Default)]
pub struct Batch {
    /// The runs that finished: by protocol in the order given, then by seed in the order given,
    /// whatever finished first.
    pub runs: Vec<RunResult>,
    /// The others, in the same order.
    pub missing: Vec<Missing>,
    /// The first error of a run, in the same order, with the run. Cancelling is none.
    pub error: Option<(RunKey, RunError)>,
    /// True if it was cancelled before the end.
    pub cancelled: bool,
    /// What it took of memory.
    pub memory: BatchMemory,
}

impl Batch {
    /// With another batch after it, in the same process.
    pub fn absorb(&mut self, mut later: Batch) {
        self.runs.append(&mut later.runs);
        self.missing.append(&mut later.missing);
        self.error = self.error.take().or(later.error);
        self.cancelled |= later.cancelled;
        self.memory = later.memory;
    }
}

/// Memory of all runs, which share a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BatchMemory {
    /// Runs that went in parallel.
    pub jobs: usize,
    /// Why they are fewer than were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewer_jobs: Option<String>,
    /// Estimate of what the dearest run needs, the program included, in MiB.
    pub need_mib: f64,
    /// What was available before the first run, or what was allowed, in MiB; None if
    /// unknown.
    pub available_mib: Option<f64>,
    /// Measured: the peak of resident memory of the process while they ran, in MiB; None where the
    /// system does not report it. With one run at a time it is what the dearest run took, with the
    /// results of all.
    pub peak_mib: Option<f64>,
    /// `peak_mib` by `jobs`: what a run took on average where all are alike.
    pub peak_by_jobs_mib: Option<f64>,
}

impl BatchMemory {
    /// With what was known when the number of jobs was chosen.
    pub fn chosen_by(self, admission: Admission) -> BatchMemory {
        BatchMemory {
            fewer_jobs: admission.fewer,
            available_mib: admission.available_bytes.map(mib),
            ..self
        }
    }
}

//! What runs and sweeps give.

use crate::error::RunError;
use crate::metrics::{FlowResult, InterfaceResult};
use forebay_base::Histogram;
use forebay_reference::Reference;
use forebay_report::Metrics;
use forebay_scenario::memory_estimate::{Admission, RunMemory, mib};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a run gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunResult {
    /// Protocol of the flows that name none.
    pub protocol: String,
    /// What text and figures call it: see [`Scenario::label`](forebay_scenario::Scenario::label).
    pub label: String,
    /// Seed.
    pub seed: u64,
    /// Trace hash, 16 hexadecimal digits.
    pub trace_hash: String,
    /// Events handled.
    pub events: u64,
    /// Packets fully serialised on a link, each link counted.
    pub packet_hops: u64,
    /// Wall-clock time of the event loop, in seconds; building and measuring not counted.
    pub wall_s: f64,
    /// CPU time of the event loop (user and system) in all threads, in seconds.
    pub cpu_s: f64,
    /// How it used its threads.
    #[serde(flatten)]
    pub parallel: Parallel,
    /// Memory that it needed, by its size.
    pub memory: RunMemory,
    /// Simulated time at the end, in seconds.
    pub ended_s: f64,
    /// Number of flows.
    pub flows: usize,
    /// Flows that completed.
    pub completed: usize,
    /// Packets dropped, by reason; "full" always, other reasons where there are any.
    pub drops: BTreeMap<&'static str, u64>,
    /// Metrics.
    pub metrics: Metrics,
    /// One entry per flow.
    pub per_flow: Vec<FlowResult>,
    /// Interfaces of INRPP routers that did not stay in the state P; absent from JSON if there are
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceResult>,
    /// One-way delays of data packets in the window of the metrics, by class: `delays.parquet`.
    #[serde(skip)]
    pub one_way: BTreeMap<String, Histogram>,
    /// What a fluid model with max-min fair sharing would have done.
    pub reference: Reference,
    /// What a reader should know of this run; absent from JSON if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[cfg(test)]
impl RunResult {
    /// A run of one second with nothing in it, for tests to change.
    pub(crate) fn example(protocol: &str, seed: u64) -> RunResult {
        RunResult {
            protocol: protocol.to_string(),
            label: protocol.to_string(),
            seed,
            trace_hash: format!("{seed:016x}"),
            events: 0,
            packet_hops: 0,
            wall_s: 0.0,
            cpu_s: 0.0,
            parallel: Parallel::default(),
            memory: RunMemory::default(),
            ended_s: 1.0,
            flows: 0,
            completed: 0,
            drops: BTreeMap::new(),
            metrics: Metrics::default(),
            per_flow: Vec::new(),
            interfaces: Vec::new(),
            one_way: BTreeMap::new(),
            reference: Reference::none(""),
            notes: Vec::new(),
        }
    }
}

/// How a run used its threads. Only `threads` is in the JSON of a run in one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parallel {
    /// Threads that the run used.
    pub threads: usize,
    /// Why they are fewer than were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewer_threads: Option<String>,
    /// What only a run in several threads has.
    #[serde(flatten)]
    pub shares: Option<Shares>,
}

/// Who did what in a run in several threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// Windows of simulated time between which the threads met.
    pub windows: u64,
    /// CPU time spent on events, all threads together, in seconds.
    pub work_cpu_s: f64,
    /// Sum over all windows of the work of the thread that had most, in seconds.
    pub critical_path_s: f64,
    /// Share of all CPU time that was not spent on events: exchange of packets, and waiting that
    /// used a core.
    pub sync_share: f64,
}

impl Default for Parallel {
    /// One thread, as wanted.
    fn default() -> Parallel {
        Parallel { threads: 1, fewer_threads: None, shares: None }
    }
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKey {
    /// The protocol.
    pub protocol: String,
    /// The seed.
    pub seed: u64,
}

/// What a sweep gave.
#[derive(Debug, Default)]
pub struct Sweep {
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
    pub memory: SweepMemory,
}

/// Memory of all runs, which share a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SweepMemory {
    /// Runs that went side by side.
    pub jobs: usize,
    /// Why they are fewer than were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewer_jobs: Option<String>,
    /// Estimate of what the dearest run needs, the program included, in MiB.
    pub need_mib: f64,
    /// What was available before the first run, or what was allowed, in MiB; None where nobody
    /// knows.
    pub available_mib: Option<f64>,
    /// Measured: the peak of resident memory of the process while they ran, in MiB; None where the
    /// system does not tell. With one run at a time it is what the dearest run took, with the
    /// results of all.
    pub peak_mib: Option<f64>,
    /// `peak_mib` by `jobs`: what a run took on average where all are alike.
    pub peak_by_jobs_mib: Option<f64>,
}

impl SweepMemory {
    /// With what was known when the number of jobs was chosen.
    pub fn chosen_by(self, admission: Admission) -> SweepMemory {
        SweepMemory {
            fewer_jobs: admission.fewer,
            available_mib: admission.available_bytes.map(mib),
            ..self
        }
    }
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

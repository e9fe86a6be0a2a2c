//! The benchmark: fixed scenarios, CPU time per packet-hop.

use crate::run::RunError;
use crate::scenario::ScenarioError;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Names of the scenarios, in order.
pub const BENCH_NAMES: &[&str] = &["s1", "s2", "s3"];
/// The environment variable that names the folder of S3's files.
pub const BENCH_DATA_VARIABLE: &str = "FOREBAY_BENCH_DATA";

/// What to run.
#[derive(Clone, Copy)]
pub struct BenchOptions<'a> {
    /// Names from [`BENCH_NAMES`]; empty: all.
    pub only: &'a [String],
    /// Folder with `s3_links.csv`, `s3_hosts.csv` and `s3_flows.csv`; None: that of the environment variable, if set.
    pub data: Option<&'a PathBuf>,
    /// Each scenario is repeated until it has used this much CPU time, in seconds (1.0).
    pub min_cpu_s: f64,
    /// Set by whoever wants it to stop.
    pub cancel: Option<&'a AtomicBool>,
    /// Told the name of each scenario before it runs.
    pub progress: Option<&'a dyn Fn(&str)>,
}

/// One scenario of the benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchRow {
    /// Name of the scenario.
    pub name: String,
    /// Threads inside a run.
    pub threads: usize,
    /// Packet-hops of one run.
    pub packet_hops: u64,
    /// Events of one run.
    pub events: u64,
    /// Wall-clock time of one run, in seconds: the median of the repetitions.
    pub wall_s: f64,
    /// CPU time (user and system) of one run, in seconds: the median of the repetitions; building the network not counted.
    pub cpu_s: f64,
    /// `cpu_s` by `packet_hops`, in nanoseconds.
    pub ns_per_hop: f64,
    /// Peak of resident memory while it ran, in MiB; None where the system does not tell.
    pub peak_mib: Option<f64>,
    /// Trace hash, the same in all repetitions.
    pub trace_hash: String,
    /// Repetitions.
    pub repetitions: usize,
    /// Flows that completed, and flows.
    pub completed: [usize; 2],
}

/// A scenario that was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Name of the scenario.
    pub name: String,
    /// Why.
    pub why: String,
}

/// All rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BenchReport {
    /// One row per scenario.
    pub rows: Vec<BenchRow>,
    /// Scenarios without a row.
    pub skipped: Vec<Skipped>,
    /// Published figures for the same scenarios.
    pub peers: &'static [Peer],
}

/// What another simulator needs for one of the scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Peer {
    /// The scenario.
    pub name: &'static str,
    /// The simulator with its version.
    pub simulator: &'static str,
    /// CPU nanoseconds per packet-hop.
    pub ns_per_hop: f64,
    /// Peak of resident memory in MiB, if known.
    pub peak_mib: Option<f64>,
    /// Where the figure is from.
    pub source: &'static str,
}

/// Figures of other simulators.
pub const PEERS: &[Peer] = &[];

/// The benchmark cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There is no such scenario.
    #[error("there is no benchmark `{0}`: one of s1, s2, s3")]
    Unknown(String),
}

/// Run the benchmark.
pub fn bench(_options: &BenchOptions<'_>) -> Result<BenchReport, BenchError> {
    Ok(BenchReport::default())
}

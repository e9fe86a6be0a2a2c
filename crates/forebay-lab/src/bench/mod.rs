//! The benchmark: fixed scenarios, CPU time per packet-hop.
//!
//! What is measured: the event loop of one run in one thread, user and system time; reading the scenario, building the network
//! and computing metrics are not counted. The peak of memory is that of the whole process while the scenario ran, with all of
//! that, and with what the allocator kept of the scenarios before it: run one alone for a figure of its own.

mod memory;
mod peers;

pub use peers::{PEERS, Peer};

use crate::run::{RunError, RunOptions, run_one};
use crate::scenario::{LoadOptions, Scenario, ScenarioError};
use crate::statistics::quantile;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Names of the scenarios, in order.
pub const BENCH_NAMES: &[&str] = &["s1", "s2", "s3"];
/// The environment variable that names the folder of S3's files.
pub const BENCH_DATA_VARIABLE: &str = "FOREBAY_BENCH_DATA";
/// More repetitions than this make no figure better.
const MOST_REPETITIONS: usize = 1_000;
/// Repetitions at least, whatever CPU time they take: a median of fewer says nothing.
const FEWEST_REPETITIONS: usize = 3;

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
    /// The same of the fastest repetition: what the machine does when nobody else wants it.
    pub best_ns_per_hop: f64,
    /// Peak of resident memory while it ran, in MiB; None where the system does not tell.
    pub peak_mib: Option<f64>,
    /// Trace hash, the same in all repetitions.
    pub trace_hash: String,
    /// Repetitions.
    pub repetitions: usize,
    /// Flows that completed, and flows.
    pub completed: [usize; 2],
    /// Bytes in order at all receivers.
    pub delivered_bytes: u64,
    /// Mean completion time of completed flows, in seconds.
    pub afct_s: Option<f64>,
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

/// Run the benchmark: each scenario with the first of its protocols and seed 1, in this thread, without series.
pub fn bench(options: &BenchOptions<'_>) -> Result<BenchReport, BenchError> {
    if let Some(name) = options.only.iter().find(|name| !BENCH_NAMES.contains(&name.as_str())) {
        return Err(BenchError::Unknown(name.clone()));
    }
    let mut report = BenchReport { peers: PEERS, ..BenchReport::default() };
    for &name in BENCH_NAMES {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        match load(name, options)? {
            Ok(scenario) => {
                if let Some(tell) = options.progress {
                    tell(name);
                }
                report.rows.push(measure(name, &scenario, options)?);
            }
            Err(why) => report.skipped.push(Skipped { name: name.to_string(), why }),
        }
    }
    Ok(report)
}

/// The scenario, or why there is none here.
fn load(name: &str, options: &BenchOptions<'_>) -> Result<Result<Scenario, String>, BenchError> {
    let mut base = None;
    if name == "s3" {
        let folder = options.data.cloned().or_else(data_from_environment);
        let Some(folder) = folder else {
            let why = format!(
                "its map is not part of Forebay: name the folder of s3_links.csv, s3_hosts.csv and \
                 s3_flows.csv, or set {BENCH_DATA_VARIABLE}"
            );
            return Ok(Err(why));
        };
        base = Some(folder);
    }
    Ok(Ok(Scenario::load(name, &LoadOptions { set: Vec::new(), base })?))
}

/// The one input of the benchmark that no argument names; its documentation says so.
#[allow(clippy::disallowed_methods)]
fn data_from_environment() -> Option<PathBuf> {
    std::env::var_os(BENCH_DATA_VARIABLE).map(PathBuf::from)
}

/// Repeat the scenario until it has used enough CPU time.
fn measure(
    name: &str,
    scenario: &Scenario,
    options: &BenchOptions<'_>,
) -> Result<BenchRow, BenchError> {
    let run_options = RunOptions {
        name,
        cancel: options.cancel,
        without_reference: true,
        ..RunOptions::default()
    };
    let protocol = scenario.protocols[0];
    memory::reset_peak();
    let first = run_one(scenario, protocol, 1, &run_options)?;
    let (mut cpu_s, mut wall_s) = (vec![first.cpu_s], vec![first.wall_s]);
    let enough = |cpu_s: &[f64]| {
        cpu_s.len() >= FEWEST_REPETITIONS && cpu_s.iter().sum::<f64>() >= options.min_cpu_s
    };
    while !enough(&cpu_s) && cpu_s.len() < MOST_REPETITIONS {
        let again = run_one(scenario, protocol, 1, &run_options)?;
        assert_eq!(again.trace_hash, first.trace_hash, "{name} twice with the same seed");
        cpu_s.push(again.cpu_s);
        wall_s.push(again.wall_s);
    }
    let peak_mib = memory::peak_mib();
    let repetitions = cpu_s.len();
    let best_s = cpu_s.iter().copied().fold(f64::INFINITY, f64::min);
    let (cpu_s, wall_s) = (median(cpu_s), median(wall_s));
    let per_hop = |cpu_s: f64| cpu_s * 1e9 / first.packet_hops.max(1) as f64;
    Ok(BenchRow {
        name: name.to_string(),
        threads: 1,
        packet_hops: first.packet_hops,
        events: first.events,
        wall_s,
        cpu_s,
        ns_per_hop: per_hop(cpu_s),
        best_ns_per_hop: per_hop(best_s),
        peak_mib,
        trace_hash: first.trace_hash,
        repetitions,
        completed: [first.completed, first.flows],
        delivered_bytes: first.metrics.delivered_bytes,
        afct_s: first.metrics.afct_s,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5).expect("one repetition or more")
}

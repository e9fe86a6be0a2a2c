//! How much a sweep is, before it begins.

use super::SweepPlan;
use super::shard::estimate_hops;
use std::fmt::{self, Display, Formatter};

/// Most runs that begin without being asked twice.
pub const MAX_UNASKED: u64 = 100_000;
/// Most runs of any sweep.
const MAX_RUNS: u64 = 100_000_000;
/// CPU time of a packet-hop with its share of the events of a run, in seconds: 40 to 100 ns on the
/// benchmarks (`forebay bench`).
const HOP_CPU_S: f64 = 70e-9;
/// Bytes of a row in the table, and in the file of rows until the sweep is finished.
const ROW_BYTES: [u64; 2] = [300, 1_200];

/// More runs than begin unasked, or than any sweep has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TooManyRuns {
    /// Points; None above 2^64.
    points: Option<u64>,
    protocols: usize,
    seeds: usize,
    /// None if no sweep has so many.
    estimate: Option<Estimate>,
}

/// What the runs would take.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    runs: u64,
    /// Runs at a time.
    jobs: usize,
    /// Time of all; None if the first point cannot be made.
    elapsed_s: Option<f64>,
}

impl TooManyRuns {
    /// If the sweep may begin for someone who means it.
    pub fn may_begin(&self) -> bool {
        self.estimate.is_some()
    }
}

impl std::error::Error for TooManyRuns {}

impl Display for TooManyRuns {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.points {
            Some(points) => write!(f, "{points}")?,
            None => write!(f, "more than 2^64")?,
        }
        write!(f, " points x {} protocols x {} seeds are ", self.protocols, self.seeds)?;
        let Some(Estimate { runs, jobs, elapsed_s }) = self.estimate else {
            return write!(f, "more runs than {} million", MAX_RUNS / 1_000_000);
        };
        write!(f, "{runs} runs: ")?;
        if let Some(elapsed_s) = elapsed_s {
            write!(f, "about {} with {jobs} at a time, ", duration(elapsed_s))?;
        }
        let [table, rows] = ROW_BYTES.map(|bytes| (bytes * runs) as f64 / 1e9);
        write!(f, "a table of about {table:.1} GB and {rows:.1} GB on the way to it")
    }
}

impl SweepPlan<'_> {
    /// The number of runs, `jobs` at a time. Errors if they are many and not `meant`.
    pub fn checked_runs(&self, jobs: usize, meant: bool) -> Result<u64, TooManyRuns> {
        let (protocols, seeds) = (self.protocols.len(), self.seeds.len());
        let points = self.swept.grid().points();
        let error = |estimate| Err(TooManyRuns { points, protocols, seeds, estimate });
        let Some(runs) = self.runs().filter(|runs| *runs <= MAX_RUNS) else { return error(None) };
        if runs <= MAX_UNASKED || meant {
            return Ok(runs);
        }
        let cpu_s = estimate_hops(self, 0).map(|hops| hops * HOP_CPU_S * runs as f64);
        let elapsed_s = cpu_s.map(|cpu_s| cpu_s / jobs as f64);
        error(Some(Estimate { runs, jobs, elapsed_s }))
    }
}

/// A time as people say it.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} minutes", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} hours", s / 3_600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

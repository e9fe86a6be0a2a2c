//! What it took to run in several threads.

use super::clock::Cost;
use forebay_sim::{Effort, Simulation};
use serde::Serialize;

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

impl Parallel {
    pub(crate) fn of(simulation: &Simulation) -> Parallel {
        let Effort { windows, work, critical_path, .. } = simulation.effort();
        let shares = Shares {
            windows,
            work_cpu_s: work.as_secs_f64(),
            critical_path_s: critical_path.as_secs_f64(),
            sync_share: simulation.effort().sync_share(),
        };
        let threads = simulation.threads();
        Parallel {
            threads,
            fewer_threads: simulation.fewer_threads().map(|why| why.to_string()),
            shares: (threads > 1).then_some(shares),
        }
    }
}

impl Cost {
    /// Add what other threads used than the one that was measured.
    pub(crate) fn add_other_threads(&mut self, simulation: &Simulation) {
        self.cpu += simulation.effort().elsewhere;
    }
}

//! What it took to run in several threads.

use super::clock::Cost;
use crate::result::{Parallel, Shares};
use forebay_sim::{Effort, Simulation};

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

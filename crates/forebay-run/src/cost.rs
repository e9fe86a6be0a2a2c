//! What a run costs: wall-clock and CPU time, by the clocks of the caller.

use forebay_sim::Simulation;
use std::time::Duration;

/// The clocks of a caller: for costs and progress only, never for results.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// Wall-clock time since any fixed moment.
    pub wall: fn() -> Duration,
    /// CPU time that this thread has used, user and system.
    pub cpu: fn() -> Duration,
}

/// Adds up stretches of work; zero without clocks.
#[derive(Debug, Default)]
pub struct Cost {
    clocks: Option<Clocks>,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time of the thread that is charged, and of others that were added.
    pub cpu: Duration,
}

impl Cost {
    /// None yet, by these clocks.
    pub fn new(clocks: Option<Clocks>) -> Cost {
        Cost { clocks, ..Cost::default() }
    }

    /// Do `work`, and add what it cost. Gives its wall-clock time.
    pub fn charge<R>(&mut self, work: impl FnOnce() -> R) -> (R, Duration) {
        let Some(Clocks { wall, cpu }) = self.clocks else { return (work(), Duration::ZERO) };
        let before = (wall(), cpu());
        let result = work();
        let took = wall().saturating_sub(before.0);
        self.wall += took;
        self.cpu += cpu().saturating_sub(before.1);
        (result, took)
    }

    /// Add what other threads of the simulation used than the one that was charged.
    pub fn add_other_threads(&mut self, simulation: &Simulation) {
        self.cpu += simulation.effort().elsewhere;
    }
}

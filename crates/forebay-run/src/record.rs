//! What a caller keeps of a run besides its result: samples, packets.

use crate::error::RunError;
use forebay_net::NetSpec;
use forebay_scenario::{LinkNames, Scenario};
use forebay_sim::{Observer, Simulation};

/// A run whose network is built.
#[derive(Clone, Copy)]
pub struct RunStart<'a> {
    /// What is run.
    pub scenario: &'a Scenario,
    /// The protocol.
    pub protocol: &'a str,
    /// The seed.
    pub seed: u64,
    /// The network.
    pub spec: &'a NetSpec,
    /// Names of its links.
    pub names: &'a LinkNames,
}

/// Opens a [`Recorder`] for each run. One value serves all runs of a batch, from any thread.
pub trait Record: Sync {
    /// True if its recorders take samples.
    fn samples(&self) -> bool;
    /// The recorder of a run. An error ends the run.
    fn open(&self, run: &RunStart<'_>) -> Result<Box<dyn Recorder>, RunError>;
}

/// Keeps what it wants of one run. The run is the same with and without; an error ends it.
pub trait Recorder {
    /// What is shown every packet event; asked once. A run with an observer uses one thread.
    fn observer(&mut self) -> Option<Box<dyn Observer>> {
        None
    }
    /// Time is 0, and flows have their addresses.
    fn begin(&mut self, _: &Simulation) {}
    /// Called at each multiple of the scenario's `sample_s` if [`Record::samples`].
    fn sample(&mut self, _: &Simulation) -> Result<(), RunError> {
        Ok(())
    }
    /// Whether the observer is well; called several times a second.
    fn check(&mut self) -> Result<(), RunError> {
        Ok(())
    }
    /// The run has ended: write what is held back.
    fn finish(self: Box<Self>) -> Result<(), RunError> {
        Ok(())
    }
}

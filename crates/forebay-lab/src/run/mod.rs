//! One run: a scenario under one protocol and one seed.

use crate::metrics::{FlowResult, Metrics, Reference};
use crate::observe::{CaptureLimit, EventFilter, EventWriter};
use crate::scenario::{Scenario, ScenarioError};
use crate::store::{Store, StoreError};
use forebay_base::Time;
use forebay_net::SpecError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// How to run, as opposed to what. The default runs quietly and keeps nothing but the result.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// Name of the scenario as the user gave it, for messages that say how to run it again.
    pub name: &'a str,
    /// Emit every packet to bytes and parse it back on every link.
    pub bytes: bool,
    /// Use the simple event heap.
    pub binary_heap: bool,
    /// Set by whoever wants the run to stop; looked at several times a second.
    pub cancel: Option<&'a AtomicBool>,
    /// Told of progress several times a second.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// Where series go (and a capture, if wanted); None: no series.
    pub store: Option<&'a Store>,
    /// Write every packet to `packets.pcapng` of the store.
    pub capture: Option<CaptureLimit>,
    /// Write a line for each packet event of a flow or node.
    pub events: Option<(EventFilter, &'a EventWriter)>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// When it ends at the latest, if the scenario says so.
    pub until: Option<Time>,
    /// Flows that have completed.
    pub completed: usize,
    /// Flows with an end.
    pub flows: usize,
}

impl Progress {
    /// The share that is done, 0.0 to 1.0: of the time, or of the flows if that is more.
    pub fn fraction(&self) -> f64 {
        0.0
    }
}

/// What a run gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunResult {
    /// Protocol of the flows that name none.
    pub protocol: String,
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
    /// CPU time of the event loop (user and system), in seconds.
    pub cpu_s: f64,
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
    /// What an ideal network would have done.
    pub reference: Reference,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario cannot be run under this protocol.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The network cannot be built.
    #[error("the network cannot be built: {0}")]
    Network(String, SpecError),
    /// It was stopped.
    #[error("the run was stopped")]
    Cancelled,
    /// Its files cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Packet events cannot be written.
    #[error("cannot write packet events: {0}")]
    Events(#[source] std::io::Error),
}

/// Run `scenario` with `protocol` and `seed`.
///
/// Panics if a packet is missing at the end: that is a bug of Forebay, and the message says how to see it again.
pub fn run_one(
    _scenario: &Scenario,
    _protocol: &str,
    _seed: u64,
    _options: &RunOptions<'_>,
) -> Result<RunResult, RunError> {
    Err(RunError::Cancelled)
}

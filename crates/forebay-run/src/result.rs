//! What runs give.

use crate::measure::InterfaceResult;
use forebay_base::Histogram;
use forebay_metrics::{FlowResult, Metrics};
use forebay_reference::Reference;
use forebay_scenario::memory_estimate::RunMemory;
use forebay_sim::{Effort, Simulation};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a run gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    /// How a run over real interfaces went; absent from JSON of a run in simulated time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireReport>,
    /// Notes for readers of this run; absent from JSON if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How a run over real interfaces went.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WireReport {
    /// How the threads of nodes were scheduled: "fifo", or "ordinary" where the system refused
    /// more.
    pub priority: &'static str,
    /// Lateness of packets that left, in us: time after it was written minus nominal time, median.
    pub late_p50_us: f64,
    /// The same, 99th percentile.
    pub late_p99_us: f64,
    /// The same, maximum.
    pub late_max_us: f64,
    /// The distribution of lateness: from and to, in us, and the number of packets, in buckets 2 to
    /// 3 % wide.
    pub late_us: Vec<(f64, f64, u64)>,
    /// Packets that left over wires.
    pub sent_packets: u64,
    /// Packets that were sent and did not arrive, those on their way at the end included.
    pub missing_packets: u64,
    /// Packets that interfaces refused, dropped or damaged, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Share of arrivals that were executed over 1 ms later than they arrived.
    pub held_back_share: f64,
    /// Share of the time of the run in which something that was due at a node was over 5 ms late,
    /// of the node with most of it.
    pub behind_share: f64,
    /// Packets that came over links of the scenario and that no node had sent there; those that
    /// hosts of the kernel send are not counted.
    pub foreign_packets: u64,
    /// True if the machines did the same again in a replay of what was recorded.
    pub replayed: bool,
    /// Why the run is no evidence of what the protocol does; empty if it is.
    pub unfit: Vec<String>,
}

/// How a run used its threads. Only `threads` is in the JSON of a run in one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parallel {
    /// Threads that the run used.
    pub threads: usize,
    /// Why they are fewer than were wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fewer_threads: Option<String>,
    /// Results of a run in several threads only.
    #[serde(flatten)]
    pub shares: Option<Shares>,
}

/// Who did what in a run in several threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// Windows of simulated time between which the threads met.
    pub windows: u64,
    /// What was measured in each window, if it was: see
    /// [`RunOptions::clocks_windows`](crate::RunOptions::clocks_windows).
    #[serde(flatten)]
    pub measured: Option<WindowCosts>,
}

/// Costs that are measured window by window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WindowCosts {
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
    /// Of a simulation that has ended.
    pub fn of(simulation: &Simulation) -> Parallel {
        let Effort { windows, work, critical_path, .. } = simulation.effort();
        let costs = WindowCosts {
            work_cpu_s: work.as_secs_f64(),
            critical_path_s: critical_path.as_secs_f64(),
            sync_share: simulation.effort().sync_share(),
        };
        let shares = Shares { windows, measured: (!work.is_zero()).then_some(costs) };
        let threads = simulation.threads();
        Parallel {
            threads,
            fewer_threads: simulation.fewer_threads().map(|why| why.to_string()),
            shares: (threads > 1).then_some(shares),
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

//! What is reported of a run, with the names that results use.
//!
//! **The window.** Goodput, utilisation and delays count from the first flow's start, or from `measure_from_s` if that is
//! later, to the end of the run. Completion times, drops and retransmissions count over the whole run.

mod table;

pub use table::{CLASS_ROWS, METRICS, MetricDoc, RESULTS, ResultDoc, Unit, labels, says_nothing};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The metrics of one run. What cannot be said is None (JSON null), never a number that looks like one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Mean flow completion time of completed flows, in seconds.
    pub afct_s: Option<f64>,
    /// Median flow completion time of completed flows, in seconds.
    pub fct_p50_s: Option<f64>,
    /// 99th percentile of flow completion times of completed flows, in seconds.
    pub fct_p99_s: Option<f64>,
    /// From the first flow's start until all flows had completed, in seconds; None if some did not.
    pub all_done_s: Option<f64>,
    /// Jain's index over the goodputs (`per_flow[].goodput_bps`) of the flows that were active in the window.
    pub jain_goodput: Option<f64>,
    /// Number of flows in `jain_goodput`.
    pub jain_flows: usize,
    /// Bytes in order at all receivers in the window, as bits per second.
    pub goodput_bps: Option<f64>,
    /// Bytes in order at all receivers in the window.
    pub delivered_bytes: u64,
    /// Mean time that packets waited at `queue_delay_link`, in its queue or in a cache of its router, in milliseconds: of those
    /// whose transmission started in the window.
    pub queue_delay_mean_ms: Option<f64>,
    /// 95th percentile of those times, in milliseconds (within 3 %, and within what was seen).
    pub queue_delay_p95_ms: Option<f64>,
    /// The directed link of the queue delay: of those that leave a router the busiest in the window.
    pub queue_delay_link: Option<String>,
    /// One-way delays and round-trip times of all flows.
    #[serde(flatten)]
    pub delays: Delays,
    /// The same of the flows of each class, by its name.
    pub by_class: BTreeMap<String, ClassMetrics>,
    /// Retransmitted packets with payload, all flows, whole run.
    pub retransmits: u64,
    /// Retransmission timeouts, all flows, whole run.
    pub timeouts: u64,
    /// Packets in which queues set CE, whole run.
    pub ce_marks: u64,
    /// Share of the window that each direction of each link between routers was busy, 0.0 to 1.0.
    pub utilisation: BTreeMap<String, f64>,
    /// The window of measurement, in seconds: from the first flow's start, or `measure_from_s` if later, to the end of the run.
    pub window_s: [f64; 2],
}

/// What is reported of the flows of one class: what [`Metrics`] has of all flows, under the same
/// names. The class of a flow is what the scenario says, else its protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassMetrics {
    /// Number of flows.
    pub flows: usize,
    /// Mean flow completion time, in seconds.
    pub afct_s: Option<f64>,
    /// Median flow completion time, in seconds.
    pub fct_p50_s: Option<f64>,
    /// 99th percentile of flow completion times, in seconds.
    pub fct_p99_s: Option<f64>,
    /// From the start of the class's first flow until all its flows had completed, in seconds.
    pub all_done_s: Option<f64>,
    /// Jain's index over the goodputs of its flows.
    pub jain_goodput: Option<f64>,
    /// Number of flows in `jain_goodput`.
    pub jain_flows: usize,
    /// Bytes in order at its receivers in the window of the run, as bits per second.
    pub goodput_bps: Option<f64>,
    /// Bytes in order at its receivers in the window.
    pub delivered_bytes: u64,
    /// Delays of its packets.
    #[serde(flatten)]
    pub delays: Delays,
    /// Retransmitted packets with payload, whole run.
    pub retransmits: u64,
    /// Retransmission timeouts, whole run.
    pub timeouts: u64,
}

/// Delays of the packets of some flows in the window, in milliseconds; percentiles within 3 %, and within what was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    /// Mean one-way delay: from when the sender's transport made a packet with payload until the receiver's took it.
    pub one_way_delay_mean_ms: Option<f64>,
    /// Median one-way delay.
    pub one_way_delay_p50_ms: Option<f64>,
    /// 95th percentile of the one-way delay.
    pub one_way_delay_p95_ms: Option<f64>,
    /// 99th percentile of the one-way delay.
    pub one_way_delay_p99_ms: Option<f64>,
    /// Mean of the senders' samples of the round-trip time.
    pub rtt_mean_ms: Option<f64>,
    /// Median of those samples.
    pub rtt_p50_ms: Option<f64>,
    /// 95th percentile of those samples.
    pub rtt_p95_ms: Option<f64>,
    /// 99th percentile of those samples.
    pub rtt_p99_ms: Option<f64>,
}

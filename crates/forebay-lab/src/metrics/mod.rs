//! What is reported of a run, with the names that results use.
//!
//! **The window.** Goodput, utilisation and delays count from the first flow's start, or from `measure_from_s` if that is
//! later, to the end of the run. Completion times, drops and retransmissions count over the whole run.

mod delays;
mod interfaces;
mod measure;
mod table;

pub use delays::Delays;
pub use interfaces::InterfaceResult;
pub(crate) use interfaces::{has_left_push, interface, interfaces_of};
pub(crate) use measure::{Bounds, Mark, clock_seconds, flows_of, metrics_of};
pub use table::{CLASS_ROWS, METRICS, MetricDoc, RESULTS, ResultDoc, Unit, labels, says_nothing};

use serde::Serialize;
use std::collections::BTreeMap;

/// The metrics of one run. What cannot be said is None (JSON null), never a number that looks like one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Metrics {
    /// Mean flow completion time of completed flows, in seconds.
    pub afct_s: Option<f64>,
    /// Median flow completion time of completed flows, in seconds.
    pub fct_p50_s: Option<f64>,
    /// 99th percentile of flow completion times of completed flows, in seconds.
    pub fct_p99_s: Option<f64>,
    /// From the first flow's start until all flows had completed, in seconds; None if some did not.
    pub all_done_s: Option<f64>,
    /// Jain's index over the goodputs ([`FlowResult::goodput_bps`]) of the flows that were active in the window.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
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

/// What is reported of one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowResult {
    /// Number of the flow, from 1 in the order of the flow table.
    pub id: u32,
    /// Name of the host that sends.
    pub src: String,
    /// Name of the host that receives.
    pub dst: String,
    /// Its protocol.
    pub protocol: String,
    /// Its class: what the scenario says, else its protocol.
    pub class: String,
    /// When its SYN was due, in seconds; None of a flow that follows another and has not started.
    pub start_s: Option<f64>,
    /// Bytes to send; None: endless.
    pub bytes: Option<u64>,
    /// Bytes in order at the receiver at the end of the run.
    pub received_bytes: u64,
    /// Flow completion time in seconds; None if it did not complete.
    pub fct_s: Option<f64>,
    /// Bytes in order at the receiver in the flow's part of the window, as bits per second. That part begins when the clock of
    /// the completion time starts, and ends with completion: without `measure_from_s` a completed flow has bytes / FCT.
    /// None for a flow that was not active in the window.
    pub goodput_bps: Option<f64>,
    /// Mean round-trip time that the sender saw, in milliseconds.
    pub rtt_mean_ms: Option<f64>,
    /// 95th percentile of round-trip times, in milliseconds, within 3 %.
    pub rtt_p95_ms: Option<f64>,
    /// Packets with payload sent, retransmissions included.
    pub data_packets: u64,
    /// Retransmitted packets with payload.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Share of the flow's life, from its handshake to completion or the end of the run, in which
    /// the receive window alone held back new data: the congestion window had room. 0.0 to 1.0;
    /// None without a handshake.
    pub held_by_receive_window: Option<f64>,
    /// The same of the send buffer. Where both are full, both count.
    pub held_by_send_buffer: Option<f64>,
    /// Why the sender's end ended: "finished", "reset", "timed_out"; "running" if it did not;
    /// "unopened" if it never began, and "skipped" if it follows another and was not to start any
    /// more ("stop").
    pub end: &'static str,
}

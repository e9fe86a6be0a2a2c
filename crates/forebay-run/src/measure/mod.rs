//! From a simulation to what is reported of it: its metrics, its flows, its INRPP interfaces.

mod bins;
mod capacity;
mod delays;
mod interfaces;
mod metrics;
mod seconds;

pub use bins::{Bins, Life, arrived_bytes};
pub use capacity::Capacity;
pub use delays::DelaySamples;
pub(crate) use delays::split_transports;
pub(crate) use interfaces::interfaces_of;
pub use interfaces::{InterfaceResult, has_left_push, interface};
pub(crate) use metrics::{Bounds, Mark, Measured};
pub use seconds::clock_seconds;

use serde::Serialize;

/// What is reported of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    /// From its SYN to the end of the handshake at the sender, in seconds.
    pub handshake_s: Option<f64>,
    /// Bytes in order at the receiver in the flow's part of the window, as bits per second. That
    /// part begins when the clock of the completion time starts, and ends with completion: without
    /// `measure_from_s` a completed flow has bytes / FCT. None for a flow that was not active in
    /// the window.
    pub goodput_bps: Option<f64>,
    /// Mean round-trip time that the sender saw, in milliseconds.
    pub rtt_mean_ms: Option<f64>,
    /// 95th percentile of round-trip times, in milliseconds, within 3 %.
    pub rtt_p95_ms: Option<f64>,
    /// Mean time that its data packets took from sender to receiver, in milliseconds, in the window
    /// of the run. It and its percentiles: None if none arrived, and in runs of more than 50 flows.
    pub one_way_delay_mean_ms: Option<f64>,
    /// Median of those times, in milliseconds, within 3 %.
    pub one_way_delay_p50_ms: Option<f64>,
    /// 95th percentile of those times, in milliseconds, within 3 %.
    pub one_way_delay_p95_ms: Option<f64>,
    /// 99th percentile of those times, in milliseconds, within 3 %.
    pub one_way_delay_p99_ms: Option<f64>,
    /// Mean over bins of 1 s of the window, of those that lie within the flow's life, of what
    /// arrived at the receiver, in bits per second. None without such a bin.
    pub throughput_mean_bps: Option<f64>,
    /// 5th percentile over those bins.
    pub throughput_p5_bps: Option<f64>,
    /// Median over those bins.
    pub throughput_p50_bps: Option<f64>,
    /// 95th percentile over those bins.
    pub throughput_p95_bps: Option<f64>,
    /// Packets with payload sent, retransmissions included.
    pub data_packets: u64,
    /// Retransmitted packets with payload.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets that came to the receiver with CE; none without ECN.
    pub ce_received: u64,
    /// Reductions of the sender's window because of an ECN echo.
    pub ecn_responses: u64,
    /// Share of the flow's life, from its handshake to completion or the end of the run, in which
    /// the receive window alone held back new data: the congestion window had room. 0.0 to 1.0;
    /// None without a handshake.
    pub held_by_receive_window: Option<f64>,
    /// The same of the send buffer. Where both are full, both count.
    pub held_by_send_buffer: Option<f64>,
    /// Why the sender's end ended: "finished", "reset", "timed_out"; "running" if it did not;
    /// "unopened" if it never began, and "skipped" if it follows another and was not to start any
    /// more ("stop"), or is a spare one that did not.
    pub end: &'static str,
}

impl FlowResult {
    /// What is one number of it, by name.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + use<> {
        let count = |count: u64| Some(count as f64);
        let numbers = [
            ("fct_s", self.fct_s),
            ("handshake_s", self.handshake_s),
            ("goodput_bps", self.goodput_bps),
            ("rtt_mean_ms", self.rtt_mean_ms),
            ("rtt_p95_ms", self.rtt_p95_ms),
            ("one_way_delay_mean_ms", self.one_way_delay_mean_ms),
            ("one_way_delay_p50_ms", self.one_way_delay_p50_ms),
            ("one_way_delay_p95_ms", self.one_way_delay_p95_ms),
            ("one_way_delay_p99_ms", self.one_way_delay_p99_ms),
            ("throughput_mean_bps", self.throughput_mean_bps),
            ("throughput_p5_bps", self.throughput_p5_bps),
            ("throughput_p50_bps", self.throughput_p50_bps),
            ("throughput_p95_bps", self.throughput_p95_bps),
            ("received_bytes", count(self.received_bytes)),
            ("data_packets", count(self.data_packets)),
            ("retransmits", count(self.retransmits)),
            ("lost_packets", count(self.lost_packets)),
            ("timeouts", count(self.timeouts)),
        ];
        numbers.into_iter()
    }
}

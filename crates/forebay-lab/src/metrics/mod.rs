//! What is reported of a run, with the names that results use.
//!
//! **The window.** Goodput, utilisation and queue delay count from the first flow's start, or from `measure_from_s` if that is
//! later, to the end of the run. Completion times, drops and retransmissions count over the whole run.

mod interfaces;
mod measure;

pub use interfaces::InterfaceResult;
pub(crate) use interfaces::{has_left_push, interfaces_of};
pub(crate) use measure::{Bounds, Mark, clock_seconds, flows_of, metrics_of};

use serde::Serialize;
use std::collections::BTreeMap;

/// The metrics of one run. What cannot be said is None (JSON null), never a number that looks like one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    /// Mean time that packets waited in the queue of `queue_delay_link`, in milliseconds: of those whose transmission started in
    /// the window.
    pub queue_delay_mean_ms: Option<f64>,
    /// 95th percentile of those times, in milliseconds (within 3 %, and within what was seen).
    pub queue_delay_p95_ms: Option<f64>,
    /// The directed link of the queue delay: of those that leave a router the busiest in the window.
    pub queue_delay_link: Option<String>,
    /// Packets with payload sent again, all flows, whole run.
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
    /// When its SYN was due, in seconds.
    pub start_s: f64,
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
    /// Packets with payload sent again.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Why the sender's end ended: "finished", "reset", "timed_out"; "running" if it did not; "unopened" if it never began.
    pub end: &'static str,
}

/// A metric, for people.
#[derive(Clone, Copy, Debug)]
pub struct MetricDoc {
    /// Key in results.
    pub name: &'static str,
    /// Unit, or empty.
    pub unit: &'static str,
    /// What it is, in a line.
    pub meaning: &'static str,
    /// Formula, what it counts and when, where a line does not say it; else empty.
    pub more: &'static str,
}

const fn doc(name: &'static str, unit: &'static str, meaning: &'static str) -> MetricDoc {
    MetricDoc { name, unit, meaning, more: "" }
}

impl MetricDoc {
    const fn more(self, more: &'static str) -> MetricDoc {
        MetricDoc { more, ..self }
    }
}

/// The metrics of a run, in the order in which results have them.
pub const METRICS: &[MetricDoc] = &[
    doc("afct_s", "s", "mean flow completion time of the flows that completed"),
    doc("fct_p50_s", "s", "median of those times (linear interpolation between ranks)"),
    doc("fct_p99_s", "s", "99th percentile of those times"),
    doc("all_done_s", "s", "from the first flow's start until all flows had completed"),
    doc("jain_goodput", "", "Jain's index over the goodputs of the flows active in the window").more(
        "(Σx)² / (n Σx²) over the goodputs x of n flows: 1 if all are equal, 1/n if one has all. It counts every flow that sent \
         its SYN before the end of the run and had not completed before the window (window_s); n is jain_flows. The goodput of a \
         flow (per_flow[].goodput_bps) is what its receiver got in order in the flow's part of the window, per time: that part \
         begins when the clock of its completion time starts (key fct), and ends when it completes. A flow that got nothing \
         counts with 0. Without a value if no flow got anything.",
    ),
    doc("jain_flows", "", "number of flows in jain_goodput"),
    doc("goodput_bps", "bit/s", "bytes in order at all receivers in the window, per time"),
    doc("delivered_bytes", "B", "bytes in order at all receivers in the window"),
    doc("queue_delay_mean_ms", "ms", "mean time that packets waited at queue_delay_link").more(
        "The sum of the waits over their number, over the packets of all flows. A packet waits from its arrival in the queue until \
         its transmission starts, and the wait counts when the transmission starts: the packets are those whose transmission \
         starts in the window (window_s). One that finds the link idle counts with 0; one that is dropped, or still waits at the \
         end, does not count. Transmission and propagation are no part of it.",
    ),
    doc("queue_delay_p95_ms", "ms", "95th percentile of those times, within 3 %"),
    doc("queue_delay_link", "", "the busiest in the window of the links that leave a router"),
    doc("utilisation", "", "busy share of the window, each direction of links between routers"),
    doc("retransmits", "packets", "packets with payload sent again, whole run"),
    doc("timeouts", "", "retransmission timeouts, whole run"),
    doc("ce_marks", "packets", "packets in which queues set CE, whole run").more(
        "A queue discipline that marks sets CE (RFC 3168) in a packet of an ECN-capable flow instead of dropping it; drops are in \
         .runs[].drops. A packet that several queues would mark counts once. Flows are ECN-capable with tcp.ecn = true. The tables \
         show it where there are any.",
    ),
    doc("window_s", "s", "the window: first start or measure_from_s, to the end of the run"),
];

impl Metrics {
    /// The metrics that are one number, by name, in the order of [`METRICS`].
    pub fn numbers(&self) -> [(&'static str, Option<f64>); 12] {
        [
            ("afct_s", self.afct_s),
            ("fct_p50_s", self.fct_p50_s),
            ("fct_p99_s", self.fct_p99_s),
            ("all_done_s", self.all_done_s),
            ("jain_goodput", self.jain_goodput),
            ("goodput_bps", self.goodput_bps),
            ("delivered_bytes", Some(self.delivered_bytes as f64)),
            ("queue_delay_mean_ms", self.queue_delay_mean_ms),
            ("queue_delay_p95_ms", self.queue_delay_p95_ms),
            ("retransmits", Some(self.retransmits as f64)),
            ("timeouts", Some(self.timeouts as f64)),
            ("ce_marks", Some(self.ce_marks as f64)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_metrics_is_documented_and_no_other() {
        let json = serde_json::to_value(Metrics::default()).unwrap();
        let mut keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let mut documented: Vec<&str> = METRICS.iter().map(|m| m.name).collect();
        keys.sort_unstable();
        documented.sort_unstable();
        assert_eq!(keys, documented);
    }
}

//! What a connection is configured with.

use forebay_base::Span;
use forebay_cc::{AckPolicy, LossPolicy, Spec};

/// How much may be sent between the detection of a loss and the end of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Proportional rate reduction (RFC 9937).
    Prr,
    /// The pipe of RFC 6675: cwnd is halved at once. Needs SACK.
    Pipe,
    /// Window inflation and deflation of RFC 6582. Also in force without SACK.
    NewReno,
}

/// How the retransmission timeout and the wait for a tail loss probe follow from RTT samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRule {
    /// `max(SRTT + 4 RTTVAR, min_rto)` (RFC 6298). A probe waits for 2 SRTT, and for the longest
    /// delay of an ACK if one segment is in flight (RFC 8985 section 7.2).
    Rfc6298,
    /// `SRTT + max(4 RTTVAR, min_rto)` (Linux, `tcp_rtt_estimator` and `__tcp_set_rto`). RTTVAR
    /// there is the largest mean deviation of the last round trip; it rises at once and falls by a
    /// quarter per round trip, and a falling RTT moves the deviation by 1/32 and not 1/4. A
    /// probe waits for 2 SRTT + `min_rto` if one segment is in flight, else for 2 SRTT + 2 ms
    /// (`tcp_schedule_loss_probe`); both are bounded by the retransmission timer.
    Linux,
}

/// Whether window controllers are paced. Controllers that give a rate are always paced at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Packets leave as the window allows.
    Off,
    /// At a percentage of cwnd / srtt: one in slow start (below ssthresh / 2 in Linux), one after
    /// it.
    Windowed {
        /// Percent in slow start (Linux: 200).
        slow_start_percent: u32,
        /// Percent in congestion avoidance (Linux: 120).
        avoidance_percent: u32,
    },
}

/// Everything that a connection takes from its scenario. Presets are in
/// [`PRESETS`](crate::PRESETS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpConfig {
    /// Payload of a full-sized packet in bytes. The MSS option announces this plus the options that
    /// data carries: timestamps, and what the controller stamps on all data.
    pub mss_bytes: u16,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window_segments: u32,
    /// Initial slow start threshold in bytes; None: no threshold.
    pub initial_ssthresh_bytes: Option<u64>,
    /// RTO before the first sample (RFC 6298: 1 s).
    pub initial_rto: Span,
    /// How the RTO and the wait for a tail loss probe follow from RTT samples.
    pub rto_rule: RtoRule,
    /// Smallest RTO; with [`RtoRule::Linux`] the smallest 4 RTTVAR (RFC 6298: 1 s; Linux: 200 ms).
    pub min_rto: Span,
    /// Largest RTO (at least 60 s by RFC 6298).
    pub max_rto: Span,
    /// Timeouts in a row after which a connection gives up.
    pub max_retries: u32,
    /// When ACKs are sent, unless the controller says otherwise.
    pub ack_policy: AckPolicy,
    /// With delayed ACKs: acknowledge each packet while Linux would open its window
    /// (`tcp_grow_window`), nearly all of slow start.
    pub quick_while_growing: bool,
    /// How losses are found, unless the controller says otherwise.
    pub loss_policy: LossPolicy,
    /// How recovery is limited.
    pub recovery: Recovery,
    /// Offer and accept selective acknowledgment (RFC 2018).
    pub sack: bool,
    /// Offer and accept timestamps (RFC 7323).
    pub timestamps: bool,
    /// Offer and accept window scaling (RFC 7323).
    pub window_scaling: bool,
    /// Receive buffer in bytes: the largest window offered. What INRPP caches hold is in flight:
    /// give an INRPP flow buffers of its own length, here and for the send buffer. The
    /// window of a SYN-ACK is never scaled (RFC 7323 section 2.2): the first flight has 65 535
    /// bytes at most.
    pub receive_buffer_bytes: u64,
    /// Send buffer in bytes: the most that may be sent and not acknowledged; at most 2^30.
    pub send_buffer_bytes: u64,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Negotiate ECN (RFC 3168), unless the controller says otherwise.
    pub ecn: bool,
    /// Pacing of window controllers.
    pub pacing: Pacing,
    /// Set DF on every packet.
    pub dont_fragment: bool,
    /// Take the fast path where it is open (default: true). It changes how packets are processed,
    /// not which packets leave or when. Turn it off to check that. It is not a key of scenarios.
    pub fast_path: bool,
}

/// A named configuration.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it stands for, in one sentence.
    pub summary: &'static str,
    /// The values.
    pub config: TcpConfig,
    /// Controllers with parameters that differ from their defaults.
    pub controllers: &'static [Spec],
}

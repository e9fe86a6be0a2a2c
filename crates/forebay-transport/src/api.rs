//! Inputs to make a connection, and the views of it.

use crate::config::TcpConfig;
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{Endpoint, IpVersion, PortId, Rate, Span, Time};
use forebay_cc::{AnyController, AnyFeedback};

/// Who opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Sends the SYN when [`Connection::open`](crate::Connection::open) is called.
    Client,
    /// Waits for it.
    Server,
}

/// One path of a connection.
pub struct PathSetup {
    /// This end.
    pub local: Endpoint,
    /// The other end.
    pub remote: Endpoint,
    /// The port of the host through which it leaves.
    pub port: PortId,
    /// Initial sequence number of this end.
    pub isn: u32,
    /// A random number for a path that joins others (RFC 8684 section 3.2); without effect on the
    /// path of a connection that has one.
    pub nonce: u32,
    /// What limits sending.
    pub controller: AnyController,
    /// The controller's receiver half: what it writes into ACKs.
    pub feedback: AnyFeedback,
}

/// Inputs to make a connection.
pub struct Setup {
    /// Configuration, shared by all connections of a kind.
    pub config: Arc<TcpConfig>,
    /// Who opens.
    pub role: Role,
    /// IP version of its packets.
    pub version: IpVersion,
    /// Bytes that this end sends, FIN after them; None: without end.
    pub send_bytes: Option<u64>,
    /// The key of this end: random, should the connection be one of MPTCP (RFC 8684 section 3.1),
    /// which it is over several paths, or if a controller [says so](forebay_cc::Traits::multipath).
    pub key: u64,
    /// The paths, at least one.
    pub paths: Vec<PathSetup>,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Not `non_exhaustive`: forebay-run has words for each, and must not compile without those of a
// new one.
pub enum EndCause {
    /// Both sides sent everything and know that it arrived.
    Finished,
    /// The peer reset it.
    Reset,
    /// Too many timeouts in a row.
    TimedOut,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// When the first SYN was sent or received.
    pub opened_at: Option<Time>,
    /// When the handshake was over on this side.
    pub established_at: Option<Time>,
    /// Bytes received in order.
    pub received_bytes: u64,
    /// When the last of them became available.
    pub last_byte_at: Option<Time>,
    /// True once the peer's FIN is in order: no more bytes will come.
    pub stream_complete: bool,
    /// Bytes of this side's stream that were sent at least once.
    pub sent_bytes: u64,
    /// Bytes of this side's stream that the peer acknowledged.
    pub acked_bytes: u64,
    /// Why and when it ended.
    pub ended: Option<(EndCause, Time)>,
}

/// Events counted over the life of a connection, all paths together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Packets with payload sent, retransmissions included.
    pub data_packets: u64,
    /// Retransmitted packets with payload.
    pub retransmits: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail loss probes sent.
    pub tail_probes: u64,
    /// Times that loss recovery was entered.
    pub recoveries: u64,
    /// Pure ACKs sent.
    pub acks: u64,
    /// Packets received with payload of which every byte was there already.
    pub duplicates_received: u64,
    /// ECN: packets received with CE while ECN is in use.
    pub ce_received: u64,
    /// ECN: responses to ECE.
    pub ecn_responses: u64,
    /// For how long data waited for the peer's window while the congestion window had room. Valid
    /// only while nothing waits: read [`Connection::held_back`](crate::Connection::held_back).
    pub held_by_peer: Span,
    /// The same of the send buffer.
    pub held_by_buffer: Span,
}

/// Round-trip times seen on a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RttSummary {
    /// Samples.
    pub samples: u64,
    /// Mean in milliseconds.
    pub mean_ms: f64,
    /// 95th percentile in milliseconds, within 3 % and within what was seen.
    pub p95_ms: f64,
}

/// What a path shows for series and reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PathView {
    /// Window in force (in recovery: what recovery allows), in bytes.
    pub cwnd_bytes: u64,
    /// Slow start threshold, if set.
    pub ssthresh_bytes: Option<u64>,
    /// The controller's phase.
    pub phase: &'static str,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Pacing rate, if paced.
    pub pacing_rate: Option<Rate>,
    /// Bytes delivered.
    pub delivered_bytes: u64,
    /// Bytes declared lost.
    pub lost_bytes: u64,
}

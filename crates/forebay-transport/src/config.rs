//! Configuration of a connection.

use alloc::format;
use forebay_base::units::Bytes;
use forebay_base::{ParamError, Params, Span, require};
use forebay_cc::{AckPolicy, LossPolicy, Spec};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How much may be sent between the detection of a loss and the end of recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Proportional rate reduction (RFC 9937).
    Prr,
    /// The pipe of RFC 6675: cwnd is halved at once. Needs SACK.
    Pipe,
    /// Window inflation and deflation of RFC 6582. Also in force without SACK.
    NewReno,
}

/// How the retransmission timeout and the wait for a tail loss probe follow from RTT samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend(
    "$comment" = "a table such as { slow_start_percent = 200, avoidance_percent = 120 }"
)))]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// Packets leave as the window allows.
    Off,
    /// Pacing at a percentage of cwnd / srtt.
    // Linux: 200 in slow start (there below ssthresh / 2), 120 after it.
    #[serde(untagged)]
    Windowed {
        /// Pacing rate in slow start, as a percentage of cwnd / srtt. Range: 1 or more. Example:
        /// 200.
        slow_start_percent: u32,
        /// Pacing rate in congestion avoidance, as a percentage of cwnd / srtt. Range: 1 or more.
        /// Example: 120.
        avoidance_percent: u32,
    },
}

/// Transport configuration: a preset, and what differs from it.
///
/// Presets are in [`PRESETS`](crate::PRESETS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct TcpConfig {
    /// Payload of a full-sized packet, timestamps not counted. The MSS of a protocol that adds
    /// options of its own to all data is smaller by their length, unless `tcp_of` sets it. Range:
    /// 64 to 65535.
    // The MSS option announces this plus the options that data carries.
    pub mss_bytes: u16,
    /// Initial cwnd. Range: 1 or more.
    pub initial_window_segments: u32,
    /// Initial slow start threshold: a number of bytes, or "none".
    #[serde(with = "Threshold")]
    #[cfg_attr(feature = "schema", schemars(with = "Given"))]
    pub initial_ssthresh_bytes: Option<u64>,
    /// RTO before the first RTT sample. Range: more than 0s.
    pub initial_rto: Span,
    /// How the RTO follows from RTT samples: "rfc6298" is max(SRTT + 4 RTTVAR, min_rto), "linux" is
    /// SRTT + max(4 RTTVAR, min_rto). A tail loss probe waits for 2 SRTT and, with one segment in
    /// flight, for the longest delay of an ACK ("rfc6298") or min_rto ("linux", which else adds 2
    /// ms).
    pub rto_rule: RtoRule,
    /// Smallest RTO; with `rto_rule = "linux"` the smallest 4 RTTVAR. Range: more than 0s, at most
    /// max_rto.
    pub min_rto: Span,
    /// Largest RTO. Range: min_rto or more.
    pub max_rto: Span,
    /// Number of consecutive timeouts after which a connection gives up.
    pub max_retries: u32,
    /// When ACKs are sent: "every-packet", or a table of delayed ACKs. A protocol that needs an ACK
    /// for each packet gets one, whatever this key is.
    pub ack_policy: AckPolicy,
    /// With delayed ACKs: acknowledge each packet for as long as Linux would open its window, which
    /// is nearly all of slow start.
    pub quick_while_growing: bool,
    /// How losses are detected: a name, or a table of a timer for each gap. A protocol with a rule
    /// of its own keeps it.
    pub loss_policy: LossPolicy,
    /// How sending is limited during loss recovery: "prr" (RFC 9937), "pipe" (RFC 6675) or
    /// "newreno" (RFC 6582).
    pub recovery: Recovery,
    /// Offer and accept selective acknowledgments (SACK).
    pub sack: bool,
    /// Offer and accept timestamps.
    pub timestamps: bool,
    /// Offer and accept window scaling.
    pub window_scaling: bool,
    /// Scale the window of a SYN-ACK, too, against RFC 7323 section 2.2: for comparison with papers
    /// in which no window limits the first flight. Both ends need it, and window scaling.
    pub scaled_syn_ack: bool,
    /// Receive buffer. Without this key, and with the preset "modern", it follows the paths: twice
    /// what a flow's path holds at the start (BDP, and the queues that can fill, each for a second
    /// at most; of a flow of MPTCP the rates of all paths times the longest RTT), or the length of
    /// the flow if that is less; the maximum over all flows, 4 MiB to 2^30 bytes. Range: one
    /// segment or more. Example: "8MiB".
    // Without `scaled_syn_ack` the first flight has 65 535 bytes at most.
    #[serde(with = "Bytes")]
    pub receive_buffer_bytes: u64,
    /// Send buffer. Without this key, and with the preset "modern", it is as large as a receive
    /// buffer that follows the paths. Range: one segment to 2^30 bytes. Example: "8MiB".
    #[serde(with = "Bytes")]
    pub send_buffer_bytes: u64,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Over several paths: when windows or the end of the stream leave a path idle, it sends again
    /// what others deliver later; a path that holds up a full window halves its cwnd; and a path
    /// gets data only if the windows have room for what faster ones send in its RTT.
    // Raiciu et al., "How hard can it be?", 2012, section 4.2; Ferlin et al., "BLEST", 2016.
    pub opportunistic_retransmission: bool,
    /// Negotiate ECN (RFC 3168).
    pub ecn: bool,
    /// Pacing of controllers that set a window: "off" or a table. MPTCP is paced at 200 and 120
    /// percent unless `tcp_of` says otherwise.
    pub pacing: Pacing,
    /// Set DF on every packet.
    pub dont_fragment: bool,
    /// Take the fast path where it is open (default: true). It changes how packets are processed,
    /// not which packets leave or when. Turn it off to check that. It is not a key of scenarios.
    #[serde(skip)]
    pub fast_path: bool,
}

impl TcpConfig {
    /// Most bytes that may be sent and not acknowledged: sequence numbers must stay unambiguous.
    pub const MAX_SEND_BUFFER_BYTES: u64 = 1 << 30;
}

impl Params for TcpConfig {
    fn check(&self) -> Result<(), ParamError> {
        let mss = u64::from(self.mss_bytes);
        let send = (mss..=TcpConfig::MAX_SEND_BUFFER_BYTES).contains(&self.send_buffer_bytes);
        require(self.mss_bytes >= 64, "mss_bytes", "64 to 65535 bytes")?;
        require(self.initial_window_segments >= 1, "initial_window_segments", "at least 1")?;
        let buffer = format!("at least one segment ({mss}) and at most 2^30 bytes");
        require(send, "send_buffer_bytes", buffer)?;
        let receive = self.receive_buffer_bytes >= mss;
        let buffer = format!("at least one segment ({mss} bytes)");
        require(receive, "receive_buffer_bytes", buffer)?;
        require(!self.initial_rto.is_zero(), "initial_rto", "more than 0s")?;
        require(!self.min_rto.is_zero(), "min_rto", "more than 0s")?;
        let ordered = require(self.min_rto <= self.max_rto, "max_rto", "at least min_rto");
        ordered.map_err(|error| error.or("min_rto", "at most max_rto"))?;
        if let AckPolicy::Delayed { packets, .. } = self.ack_policy {
            require(packets >= 1, "ack_policy.packets", "1 to 255")?;
        }
        if let LossPolicy::GapTimer { num, den } = self.loss_policy {
            require(num >= 1, "loss_policy.num", "at least 1")?;
            require(den >= 1, "loss_policy.den", "at least 1")?;
        }
        if let Pacing::Windowed { slow_start_percent, avoidance_percent } = self.pacing {
            require(slow_start_percent >= 1, "pacing.slow_start_percent", "at least 1")?;
            require(avoidance_percent >= 1, "pacing.avoidance_percent", "at least 1")?;
        }
        Ok(())
    }
}

/// How serde reads and writes a threshold: "none", or a number of bytes.
enum Threshold {}

impl Threshold {
    fn serialize<S: Serializer>(bytes: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        match bytes {
            None => serializer.serialize_str("none"),
            Some(bytes) => Bytes::serialize(bytes, serializer),
        }
    }
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        Ok(match Given::deserialize(deserializer)? {
            Given::None => None,
            Given::Bytes(bytes) => Some(bytes),
        })
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("$comment" = "a number of bytes or \"none\"")))]
#[serde(rename_all = "lowercase")]
enum Given {
    /// No threshold.
    None,
    /// A number of bytes.
    #[serde(untagged)]
    Bytes(#[serde(with = "Bytes")] u64),
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

//! Parameters of the port.

use super::cut::Ipv6;
use super::fallback::Fallback;
use super::rtt::RttAverage;
use crate::rate_control::RateParams;
use forebay_base::{IPV4_HEADER_BYTES, ParamError, Params, Span, require};
use forebay_signal::kickass::Code;
use serde::{Deserialize, Serialize};

/// The smallest code that says a rate where [`Code::MIN`] says "use TCP".
const ABOVE_ORDER: Code = match Code::MIN.next() {
    Some(code) => code,
    None => unreachable!(),
};

/// Values of keys that are not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// What the paper says.
    Paper,
    /// What was measured to be better.
    Recommended,
}

/// Gains of the loop by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Pair {
    /// Stable with a standing queue, too.
    Xcp,
    /// Those of the experiments of RCP.
    Published,
    /// Those of the authors of RCP in ns-2.
    Ns2,
    /// Those with a larger margin.
    Stable,
}

/// Which of two codes is said of a rate between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Rounding {
    /// The lower one.
    Floor,
    /// One of them, drawn for each packet.
    Dither,
    /// One of them, by a hash of the packet that all routers share.
    Shared,
}

/// How flows that listen live beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Beside {
    /// In one queue.
    OneQueue,
    /// In one queue, with R nine tenths of an even share at least.
    Floor,
    /// In a queue of their own.
    TwoQueues,
}

/// Ports of Kick-Ass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct KickAssPortParams {
    /// Values of the keys that are not given: "recommended" (rounding "shared", rtt_average
    /// "trimmed", tagged, time_handshakes, fallback "hardened", explicit_tcp, beside "two-queues")
    /// or "paper"; each for senders with the preset of that name. Default: "recommended".
    #[serde(skip_serializing)]
    pub preset: Option<Preset>,
    /// Gains by name: "xcp" (alpha 0.4, beta 0.226), "published" (0.1, 1), "ns2" (0.4, 0.4) or
    /// "stable" (0.4, 0.08). Default: "xcp".
    #[serde(skip_serializing)]
    pub pair: Option<Pair>,
    /// Mean round-trip time before the first RTT indicator. Range: 1us or more. Default: "100ms".
    pub initial_rtt: Span,
    /// Which code signals a rate between two codes: "floor" (the lower one, as in the paper),
    /// "dither" (one of both, drawn for each packet so that the mean is the rate) or "shared" (one
    /// of both by a hash of the packet, the same in all routers). Default: that of
    /// `preset`.
    pub rounding: Rounding,
    /// Shortest unfragmented packet that is cut, IP header included. With IPv6 none below 612 is.
    /// Range: 45 or more. Default: 1500.
    pub least_bytes: u16,
    /// Which packets are cut with `ip_version = 6`, whose routers do not fragment (RFC 8200 section
    /// 5) and which has no DF: "header" (those with a Fragment header, which senders of Kick-Ass
    /// add to what may be cut), "insert" (those, and all others of `least_bytes`, to which the port
    /// adds one, as in the paper) or "pass" (none). Except with "pass", no link may then be faster
    /// than 8.1 Gbit/s. Default: "header".
    pub ipv6: Ipv6,
    /// If true, a packet is counted on arrival with the header that each cut will add; if false, a
    /// standing queue remains. Default: true.
    pub count_cuts: bool,
    /// How round-trip times are averaged: "moving" (weight 0.02, as in the paper), "median" or
    /// "trimmed" (the middle half of a histogram that forgets). Default: that of
    /// `preset`.
    pub rtt_average: RttAverage,
    /// If true, only packets whose IP ID is the tag indicate round-trip times; if false, all with
    /// DF and 600 to 611 bytes do, as in the paper. Default: that of
    /// `preset`.
    pub tagged: bool,
    /// If true, the time from a SYN that offers Kick-Ass to the next packet of its flow is a
    /// round-trip time, too, and the first one replaces `initial_rtt`. Default: that of `preset`.
    pub time_handshakes: bool,
    /// When ports stop signalling: "paper" (while more than half of the queue limit is used) or
    /// "hardened" (by averages, with hysteresis and trials). Default: that of
    /// `preset`.
    pub fallback: Fallback,
    /// If true, fallback is signalled with the smallest code, so that senders learn of it when
    /// another router on the path still signals; if false, with nothing, as in the paper. Default:
    /// that of `preset`.
    pub explicit_tcp: bool,
    /// Where flows that let routers cut wait beside others: "two-queues" (in a queue of their own,
    /// with the share of the link that they are of all active flows), "one-queue" (all in the
    /// discipline, as in the paper) or "floor" (the same, with a rate of at least nine tenths of an
    /// even share, and signals that never end while there are others). Default: that of `preset`.
    pub beside: Beside,
    /// Maximum number of packets of a flow that are cut per mean round-trip time; 0 is no maximum.
    /// Default: 0.
    pub cuts_per_rtt: u32,
    /// Gain on the spare rate. Range: more than 0. Default: that of `pair`. Example: 0.4.
    pub alpha: f64,
    /// Gain on the queue. Range: 0 or more. Default: that of `pair`. Example: 0.4.
    pub beta: f64,
    /// Share of the link to fill. Range: more than 0, at most 2. Default: 1.
    pub gamma: f64,
    /// Longest interval between two updates of the rate. Range: 1us or more. Default: "10ms".
    pub max_interval: Span,
    /// First rate as a share of the link's rate. Range: more than 0, at most 1. Default: 0.05.
    pub initial_share: f64,
}

impl KickAssPortParams {
    /// A packet that can say the smallest code: 20 of header, 24, and one after it.
    pub const MIN_CUT_BYTES: u16 = IPV4_HEADER_BYTES + Code::MIN.lead_bytes() + 1;

    /// The port of the paper, which says nothing of gains: here those of XCP, whose loop is stable
    /// with a standing queue, too (see [`RateParams::stable`]).
    pub const fn paper() -> KickAssPortParams {
        let RateParams { alpha, beta, gamma, max_interval, initial_share, .. } = RateParams::xcp();
        KickAssPortParams {
            preset: None,
            pair: None,
            initial_rtt: Span::from_millis(100),
            alpha,
            beta,
            gamma,
            max_interval,
            initial_share,
            rounding: Rounding::Floor,
            least_bytes: 1500,
            ipv6: Ipv6::Insert,
            count_cuts: true,
            rtt_average: RttAverage::Moving,
            tagged: false,
            time_handshakes: false,
            fallback: Fallback::Paper,
            explicit_tcp: false,
            beside: Beside::OneQueue,
            cuts_per_rtt: 0,
        }
    }
    /// What was measured to be better: dither that routers share, the middle of tagged round-trip
    /// times, the hardened fallback, which signals that to senders. Senders must tag their
    /// indicators. Of IPv6 only what senders let it cut.
    pub const fn recommended() -> KickAssPortParams {
        KickAssPortParams {
            rounding: Rounding::Shared,
            ipv6: Ipv6::Header,
            rtt_average: RttAverage::Trimmed,
            tagged: true,
            time_handshakes: true,
            fallback: Fallback::Hardened,
            explicit_tcp: true,
            beside: Beside::TwoQueues,
            ..KickAssPortParams::paper()
        }
    }
    /// These with the gains of `other`.
    pub const fn with_gains_of(self, other: RateParams) -> KickAssPortParams {
        KickAssPortParams { alpha: other.alpha, beta: other.beta, ..self }
    }
    /// The smallest code that is said as a rate: the one below it may be an order.
    pub(super) fn least_code(&self) -> Code {
        if self.explicit_tcp { ABOVE_ORDER } else { Code::MIN }
    }
    /// Those of the loop that computes R.
    pub fn control(&self) -> RateParams {
        let KickAssPortParams { alpha, beta, gamma, initial_rtt, .. } = *self;
        let KickAssPortParams { max_interval, initial_share, .. } = *self;
        RateParams { pair: None, initial_rtt, alpha, beta, gamma, max_interval, initial_share }
    }
}

impl Params for KickAssPortParams {
    fn check(&self) -> Result<(), ParamError> {
        self.control().check()?;
        let is_cuttable = self.least_bytes >= KickAssPortParams::MIN_CUT_BYTES;
        require(is_cuttable, "least_bytes", "45 or more")
    }
    fn implied(
        &self,
        _given: &dyn Fn(&str) -> bool,
        table: &KickAssPortParams,
    ) -> KickAssPortParams {
        let params = match self.preset {
            None => *table,
            Some(Preset::Paper) => KickAssPortParams::paper(),
            Some(Preset::Recommended) => KickAssPortParams::recommended(),
        };
        params.with_gains_of(match self.pair {
            None => params.control(),
            Some(Pair::Xcp) => RateParams::xcp(),
            Some(Pair::Published) => RateParams::published(),
            Some(Pair::Ns2) => RateParams::default_ns2(),
            Some(Pair::Stable) => RateParams::stable(),
        })
    }
}

impl Default for KickAssPortParams {
    fn default() -> KickAssPortParams {
        KickAssPortParams::recommended()
    }
}

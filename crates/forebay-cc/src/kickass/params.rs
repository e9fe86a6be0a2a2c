//! Parameters of Kick-Ass end points: two presets, and each of their choices by itself.

use crate::ParamError;
use forebay_base::{Rate, require};
use serde::{Deserialize, Serialize};

/// Values of parameters that are not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// What the paper says: DF clear on all full-sized packets, plain indicators, codes believed as
    /// they come.
    Paper,
    /// What this file adds: few packets that may be cut, and all guards.
    #[default]
    Recommended,
}

/// Which of a report's rates the sender obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RateSelection {
    /// That of the last code.
    Last,
    /// The receiver's mean over a round trip, which begins anew where a code is more than one step
    /// off.
    Mean,
    /// That of the lowest code of a round trip.
    #[serde(alias = "least")]
    Min,
}

/// The controller of the flow in TCP mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TcpKind {
    /// NewReno, as in the paper's simulations.
    #[default]
    NewReno,
    /// CUBIC, as on the paper's hosts.
    Cubic,
}

/// Parameters of Kick-Ass end points. Where none is given, the preset's stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// `paper` or `recommended`.
    pub preset: Preset,
    /// `newreno` or `cubic`: what the flow is in TCP mode.
    pub tcp: TcpKind,
    /// Packets of a round trip on which DF is clear, 0 to 1000; 0: all that are full-sized.
    /// `paper`: 0; `recommended`: 8.
    pub clear_per_rtt: Option<u32>,
    /// `last`, `mean` or `min`: which of the reported rates counts. Both presets: `last`.
    pub take: Option<RateSelection>,
    /// Round trips without a code that end KA mode, 1 to 100. `paper` (section II-C2): 1;
    /// `recommended`: 2.
    pub silence_rtts: Option<f64>,
    /// SYNs that offer, 1 to 10; those after them offer nothing, as behind a middlebox that drops
    /// SYNs with options that it does not know. `paper`: 1; `recommended`: 3, for a SYN that
    /// congestion dropped must not make a flow plain TCP.
    pub offers: Option<u32>,
    /// Take the lowest code for "use TCP", where the peer does, too. `paper`: false;
    /// `recommended`: true.
    pub explicit_tcp: Option<bool>,
    /// Draw indicators such that their mean is the RTT. `paper`: false; `recommended`: true.
    pub dither_indicators: Option<bool>,
    /// Write a tag into the IP ID of indicators. `paper`: false; `recommended`: true.
    pub tag_indicators: Option<bool>,
    /// Guard: a code counts once its datagram is complete and TCP has accepted it. `paper`: false;
    /// `recommended`: true.
    pub complete: Option<bool>,
    /// Guard, with `complete`: as many fragments as plain IP makes for a small path MTU are no code
    /// until the length of the first one varies, or a packet as long comes that no router may cut.
    /// `paper`: false; `recommended`: true.
    pub doubt_mtu: Option<bool>,
    /// Guard: a rise of two codes or more, and a fall to less than half, count with the second code
    /// that agrees. Until then a rise waits, and a fall halves, once in a round trip. `paper`:
    /// false; `recommended`: true.
    pub agree: Option<bool>,
    /// Guard: rate of the interface in Mbit/s, 0.12 (the lowest code) to 400 000; no code counts
    /// for more; 0: not known.
    pub interface_mbps: f64,
    /// Share of packets that may be lost in KA mode, 0 to 0.5: while codes come and the round trip
    /// is short, losses end KA mode only where more is lost. 0: each loss does. `paper`: 0;
    /// `recommended`: 0.02.
    pub loss_share: Option<f64>,
    /// Guard: where the network loses what may be cut and passes the rest, leave DF set. `paper`:
    /// false; `recommended`: true.
    pub watch_df: Option<bool>,
    /// After a short stay in KA mode, TCP mode goes on with the window that it had before it: a
    /// router that signals on trial costs little. False in both presets: among 150 flows one kept
    /// half of the link by it in two of six runs.
    pub keep_window: Option<bool>,
    /// For experiments: the receiver reports codes that are this much larger (if below 0, smaller)
    /// than those that came, -181 to 181; each step is 6.4 % of the rate.
    pub lie_codes: i16,
    /// For experiments: the receiver takes the offer and never reports.
    pub mute: bool,
}

impl Params {
    /// Those of the paper.
    pub fn paper() -> Params {
        Params { preset: Preset::Paper, ..Params::default() }
    }
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let s = self.settings();
        require(s.clear_per_rtt <= 1000, "clear_per_rtt", "0 to 1000")?;
        require((1.0..=100.0).contains(&s.silence_rtts), "silence_rtts", "1 to 100")?;
        require((1..=10).contains(&s.offers), "offers", "1 to 10")?;
        require((0.0..=0.5).contains(&s.loss_share), "loss_share", "0 to 0.5")?;
        require((-181..=181).contains(&self.lie_codes), "lie_codes", "-181 to 181")?;
        let interface = self.interface_mbps;
        // 120 kbit/s is the lowest code.
        let known = interface == 0.0 || (0.12..=400_000.0).contains(&interface);
        require(known, "interface_mbps", "0, or 0.12 to 400 000")
    }
    /// The lowest code is an order to use TCP to these end points, and no rate.
    pub fn takes_orders(&self) -> bool {
        self.settings().explicit_tcp
    }
    fn interface(&self) -> Rate {
        let bps =
            if self.interface_mbps > 0.0 { (self.interface_mbps * 1e6) as u64 } else { u64::MAX };
        Rate::clamped(bps)
    }
    /// Every choice made.
    pub(super) fn settings(&self) -> Settings {
        let ours = self.preset == Preset::Recommended;
        Settings {
            tcp: self.tcp,
            clear_per_rtt: self.clear_per_rtt.unwrap_or(if ours { 8 } else { 0 }),
            take: self.take.unwrap_or(RateSelection::Last),
            silence_rtts: self.silence_rtts.unwrap_or(if ours { 2.0 } else { 1.0 }),
            offers: self.offers.unwrap_or(if ours { 3 } else { 1 }),
            explicit_tcp: self.explicit_tcp.unwrap_or(ours),
            dither_indicators: self.dither_indicators.unwrap_or(ours),
            tag_indicators: self.tag_indicators.unwrap_or(ours),
            complete: self.complete.unwrap_or(ours),
            doubt_mtu: self.doubt_mtu.unwrap_or(ours),
            agree: self.agree.unwrap_or(ours),
            interface: self.interface(),
            loss_share: self.loss_share.unwrap_or(if ours { 0.02 } else { 0.0 }),
            watch_df: self.watch_df.unwrap_or(ours),
            keep_window: self.keep_window.unwrap_or(false),
        }
    }
}

/// [`Params`] with every choice made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub tcp: TcpKind,
    pub clear_per_rtt: u32,
    pub take: RateSelection,
    pub silence_rtts: f64,
    pub offers: u32,
    pub explicit_tcp: bool,
    pub dither_indicators: bool,
    pub tag_indicators: bool,
    pub complete: bool,
    pub doubt_mtu: bool,
    pub agree: bool,
    pub interface: Rate,
    pub loss_share: f64,
    pub watch_df: bool,
    pub keep_window: bool,
}

//! What an INRPP router is configured with.

use alloc::format;
use alloc::sync::Arc;
use core::f64::consts::{PI, SQRT_2};
use forebay_base::{ParamError, Params, PortId, Rate, Span, require};
use forebay_signal::inrpp::guard::LinkSecret;
use serde::{Deserialize, Serialize};

/// Sizes of the cache of one interface (paper, section II-A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheLimits {
    /// S_low: below it back-pressure ends.
    pub low_bytes: u64,
    /// S_high: above it back-pressure begins.
    pub high_bytes: u64,
    /// S_total: no more than this is held.
    pub total_bytes: u64,
}

/// How the thresholds of a cache follow the flows that have packets in it. Its limits are for so
/// many; with each fewer S_high is `flow_bytes` lower, and S_low half of that. Otherwise one flow
/// would fill what all of them need, and have a backlog that is its share of the link for minutes
/// once the others come. Not in the paper, whose caches are the same for any flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Crowd {
    /// Flows.
    pub flows: u64,
    /// Bytes for each of them, of which S_high holds all.
    pub flow_bytes: u64,
}

/// The cache of one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortCache {
    /// Its sizes with all flows.
    pub limits: CacheLimits,
    /// What each flow adds to them.
    pub crowd: Crowd,
}

/// The sizes of the caches of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheSize {
    /// The same for every interface, whatever its rate.
    Bytes(CacheLimits),
    /// The time that the interface takes to send it.
    Time {
        /// S_low.
        low: Span,
        /// S_high.
        high: Span,
        /// S_total.
        total: Span,
    },
    /// Of each interface its own, in the order of the ports: for one router alone.
    Ports(Arc<[PortCache]>),
}

impl Default for CacheSize {
    /// The paper's.
    fn default() -> CacheSize {
        let [low, high, total] = [4, 8, 10].map(Span::from_secs);
        CacheSize::Time { low, high, total }
    }
}

impl CacheSize {
    /// What each flow adds to the thresholds of the interface `port`.
    pub(super) fn crowd_at(&self, port: PortId) -> Crowd {
        match self {
            CacheSize::Ports(ports) => ports[port.index()].crowd,
            CacheSize::Bytes(_) | CacheSize::Time { .. } => Crowd::default(),
        }
    }
    /// The sizes at the interface `port`, which has this rate.
    ///
    /// Panics if each interface has its own and there are fewer of them.
    pub fn at(&self, port: PortId, rate: Rate) -> CacheLimits {
        match self {
            CacheSize::Bytes(limits) => *limits,
            CacheSize::Ports(ports) => ports[port.index()].limits,
            &CacheSize::Time { low, high, total } => {
                let bytes = |span: Span| {
                    let bits = rate.bps() as u128 * span.as_nanos() as u128 / 1_000_000_000;
                    u64::try_from(bits / 8).unwrap_or(u64::MAX)
                };
                CacheLimits {
                    low_bytes: bytes(low),
                    high_bytes: bytes(high),
                    total_bytes: bytes(total),
                }
            }
        }
    }
}

/// A packet of the usual size.
pub(super) const PACKET_BYTES: u64 = 1500;
/// Room for plain packets at an interface that has a backlog, in time at the rate at which their
/// turns are served (paper: 50 ms). Where the link has a longer FIFO queue, it is as long as that:
/// with 50 ms of 1 Mbit/s a TCP flow whose round trip is 200 ms had a tenth of the link.
pub(super) const PLAIN_ROOM: Span = Span::from_millis(50);
/// The same where the link has an AQM: how long CoDel lets a queue stand before it drops, its
/// interval (RFC 8289, section 4.3). With 50 ms at 1 Mbit/s a flow of CUBIC beside one of INRPP had
/// 24 % of the link, with 100 ms it has half, as beside CUBIC under FQ-CoDel.
pub(super) const AQM_ROOM: Span = Span::from_millis(100);
/// Room there at least: the initial window of a flow (RFC 6928), which an AQM lets pass.
pub(super) const AQM_LEAST_BYTES: u64 = 10 * PACKET_BYTES;
/// A round is short, and new flows go first in it, up to this multiple of [`PLAIN_ROOM`] at the
/// rate of the link: 200 ms. Where it lasts longer, a flow whose first packet was ahead declares
/// its other ones lost.
pub(super) const SHORT_ROUND: u64 = 4;
/// S_push at least, on links so slow that T_p holds less: the eight packets that it has where T_p
/// is 10 ms and links have 10 Mbit/s. Packets of routers that share a detour come together by
/// chance, at any rate. Where a third packet at a link of 1 Mbit/s closed it, the two routers of
/// Fig. 6 at a tenth of its rates took 1.15 to 1.2 of the reference's time; with four 1.02 to 1.13,
/// with eight 1.01 to 1.03.
pub(super) const LEAST_PUSH_BYTES: u64 = 8 * PACKET_BYTES;
/// Which flow of a cache sends next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TurnOrder {
    /// Each in turn: deficit round robin, equal shares.
    #[default]
    Share,
    /// The one that has sent the fewest bytes over the port: least attained service.
    Attained,
}

/// The secrets of a router's links, in the order of its ports.
pub type LinkSecrets = Arc<[Option<LinkSecret>]>;

/// Routers that run INRPP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Caches: their sizes may follow from the network, so scenarios read that key themselves.
    #[serde(skip)]
    pub cache: CacheSize,
    /// If true, excess data may leave on detours of one hop. Default: true.
    pub detours: bool,
    /// True: what a flow sends on detours counts in its turns, and the flows of a port share link
    /// and detours equally, those too that may take no detour, such as TCP. False: the flows share
    /// the link alone, and those that may take detours have these on top, as in the paper
    /// (Fig. 19). Default: true.
    pub pooled_turns: bool,
    /// Which flow of a cache sends next. `share`: each in turn (deficit round robin), so that all
    /// get equal rates. `attained`: the one that has sent the fewest bytes over the port (least
    /// attained service; equal ones take turns): short flows finish sooner, and long ones wait for
    /// all shorter ones. A flow silent for 30 s is new again. Default: "share".
    pub order: TurnOrder,
    /// Time between two probes of a detour, T_p; where the link to it takes longer for a packet of
    /// 1500 bytes, that long. Range: 100us to 10s. Default: "10ms".
    pub probe_interval: Span,
    /// Time for which a detour stays closed after one of its interfaces left the push state, T_d.
    /// Range: probe_interval or more. Default: probe_interval. Example: "50ms".
    pub decision_interval: Span,
    /// Gain of the rate of detours. Range: more than 0, less than 0.555 (pi / (4 sqrt 2)). Default:
    /// 0.4.
    // beta is alpha^2 sqrt 2. The paper does not state alpha; 0.4 is TeXCP's.
    pub alpha: f64,
    /// Weight of the last probe interval in the load that sets the rate of detours: 1 is no filter,
    /// 1/3 is the paper's. Range: more than 0, at most 1. Default: 1.
    pub load_weight: f64,
    /// Packets of 1500 bytes that may wait in the queue of a link in state P. More wait in the
    /// cache, where flows have turns and which has the room of that queue besides its own; up to
    /// one probe_interval of them at the rate of the link, and 8 of them at any rate, are no
    /// congestion yet. 0: as many as the queue of the link holds, as in the paper. Range: 0 to
    /// 1000. Default: 2.
    pub push_packets: u32,
    /// Bytes that a flow may send from a cache per round of deficit round robin. Below the MTU, the
    /// first packet of a new flow does not overtake those of other flows. Range: 64 to 1048576, or
    /// 0: the MTU of the link. Default: 0. Example: 1500.
    pub quantum_bytes: u32,
    /// Minimum time for which an interface signals that its congestion is over. Range: 1ms to
    /// 100s. Default: "200ms".
    pub cancel_for: Span,
    /// Minimum time after which a router forgets a congested downstream interface that sends it no
    /// signals. Range: 1ms to 100s. Default: "1s".
    pub forget_after: Span,
    /// Minimum time without an ACK after which one packet of a held flow is released. Range: 1ms
    /// to 100s. Default: "200ms".
    pub watchdog: Span,
    /// Count per flow what came and left at each interface: for figures, it costs a look-up per
    /// packet. Not a key of scenarios.
    #[serde(skip)]
    pub flow_totals: bool,
    /// Secrets of the links of one router; None: notices are not authenticated. Follows from the
    /// keys of links.
    #[serde(skip)]
    pub secrets: Option<LinkSecrets>,
}

impl Settings {
    /// With alpha at or above it the rate of detours is not stable, by TeXCP's analysis.
    const ALPHA_BOUND: f64 = PI / (4.0 * SQRT_2);

    /// T_p of detours over a link of this rate.
    pub(super) fn probe_interval_over(&self, rate: Rate) -> Span {
        self.probe_interval.max(rate.span_of(PACKET_BYTES))
    }
    /// What the queue of a link may hold in state P.
    pub(super) fn push_room_bytes(&self) -> u64 {
        match self.push_packets {
            0 => u64::MAX,
            packets => u64::from(packets) * PACKET_BYTES,
        }
    }
    /// The sizes of the cache before a link of this rate whose queue holds so many bytes. What that
    /// queue has room for and may not hold waits in the cache: it adds to what that may hold.
    pub(super) fn limits(&self, port: PortId, rate: Rate, queue_bytes: u64) -> CacheLimits {
        let limits = self.cache.at(port, rate);
        let freed_bytes = queue_bytes.saturating_sub(self.push_room_bytes());
        CacheLimits { total_bytes: limits.total_bytes.saturating_add(freed_bytes), ..limits }
    }
}

impl Params for Settings {
    fn check(&self) -> Result<(), ParamError> {
        let within = |param: &'static str, value: Span, least: Span, most: Span| {
            let fits = (least..=most).contains(&value);
            require(fits, param, format!("{} to {}", least.text(), most.text()))
        };
        let patience =
            |param, value| within(param, value, Span::from_millis(1), Span::from_secs(100));
        let (least, most) = (Span::from_micros(100), Span::from_secs(10));
        within("probe_interval", self.probe_interval, least, most)?;
        let (least, most) = (self.probe_interval, Span::from_secs(1_000));
        within("decision_interval", self.decision_interval, least, most)?;
        let is_stable = self.alpha > 0.0 && self.alpha < Settings::ALPHA_BOUND;
        require(is_stable, "alpha", "more than 0 and less than 0.555")?;
        let is_weight = self.load_weight > 0.0 && self.load_weight <= 1.0;
        require(is_weight, "load_weight", "more than 0, at most 1")?;
        let quantum = self.quantum_bytes == 0 || (64..=1 << 20).contains(&self.quantum_bytes);
        require(quantum, "quantum_bytes", "64 to 1048576 bytes, or 0: the MTU of the link")?;
        require(self.push_packets <= 1000, "push_packets", "0 to 1000")?;
        patience("cancel_for", self.cancel_for)?;
        patience("forget_after", self.forget_after)?;
        patience("watchdog", self.watchdog)
    }
    fn implied(&self, given: &dyn Fn(&str) -> bool, table: &Settings) -> Settings {
        let mut settings = table.clone();
        if given("probe_interval") {
            settings.decision_interval = self.probe_interval;
        }
        settings
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            cache: CacheSize::default(),
            detours: true,
            pooled_turns: true,
            order: TurnOrder::Share,
            probe_interval: Span::from_millis(10),
            decision_interval: Span::from_millis(10),
            alpha: 0.4,
            load_weight: 1.0,
            push_packets: 2,
            quantum_bytes: 0,
            cancel_for: Span::from_millis(200),
            forget_after: Span::from_secs(1),
            watchdog: Span::from_millis(200),
            flow_totals: false,
            secrets: None,
        }
    }
}

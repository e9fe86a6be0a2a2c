//! What an INRPP router is configured with.

use alloc::sync::Arc;
use forebay_base::{PortId, Rate, Span};

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
    Ports(Arc<[CacheLimits]>),
}

impl CacheSize {
    /// The sizes at the interface `port`, which has this rate.
    ///
    /// Panics if each interface has its own and there are fewer of them.
    pub fn at(&self, port: PortId, rate: Rate) -> CacheLimits {
        match self {
            CacheSize::Bytes(limits) => *limits,
            CacheSize::Ports(limits) => limits[port.index()],
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

/// Everything that an INRPP router takes from its scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Caches.
    pub cache: CacheSize,
    /// True if excess data may leave on 1-hop detours.
    pub detours: bool,
    /// T_p: time between probes of a detour (paper: 10 ms).
    pub probe_interval: Span,
    /// T_d: time between decisions to open or close a detour (paper: 50 ms, at least 5 T_p).
    pub decision_interval: Span,
    /// Gain alpha of the detour rate, in (0, pi / (4 sqrt 2)); beta is alpha^2 sqrt 2. The paper
    /// does not state it; 0.4 is TeXCP's.
    pub alpha: f64,
    /// Weight of the last interval in the load that the rate is computed from, in (0, 1]; 1: no
    /// filter, 1/3: a span of five samples, as the paper has it.
    pub load_weight: f64,
    /// DRR quantum: bytes that a flow may send per round; None: the MTU of the link. With less a new
    /// flow is not ahead of others with its first packet.
    pub quantum_bytes: Option<u32>,
    /// Shortest time for which an interface tells that its congestion is over (state DB).
    pub cancel_for: Span,
    /// Shortest time after which an upstream interface forgets a nonce of which it heard nothing.
    pub forget_after: Span,
    /// Shortest time after which one packet of a flow in closed loop is released though no ACK
    /// came.
    pub watchdog: Span,
    /// Count per flow what came and left at each interface: for figures, it costs a look-up per
    /// packet.
    pub flow_totals: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            cache: CacheSize::Time {
                low: Span::from_secs(4),
                high: Span::from_secs(8),
                total: Span::from_secs(10),
            },
            detours: true,
            probe_interval: Span::from_millis(10),
            decision_interval: Span::from_millis(50),
            alpha: 0.4,
            load_weight: 1.0,
            quantum_bytes: None,
            cancel_for: Span::from_millis(200),
            forget_after: Span::from_secs(1),
            watchdog: Span::from_millis(200),
            flow_totals: false,
        }
    }
}

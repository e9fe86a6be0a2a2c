//! Which codes a sender believes, and for how much.

use super::params::Settings;
use crate::controller::Ack;
use forebay_base::{Rate, Span, Time};
use forebay_signal::kickass::Code;

/// Rates that lie closer than one code and a half are of one code or of two neighbours:
/// `exp(1.5 x 8 / 128)`.
const NEIGHBOUR: f64 = 1.098_285;
/// Rates above this are cut to a multiple of what was delivered, in bit/s.
const DOUBTFUL_BPS: u64 = 1_000_000_000;
/// Path MTUs that are common, in bytes: PPPoE, tunnels (6in4, GRE, IPsec, WireGuard), the least of
/// IPv6, the least of old hosts. A router that cuts for one leaves a leading piece of
/// `floor8(MTU - 20)` bytes.
const COMMON_MTUS: [u16; 14] =
    [1492, 1480, 1476, 1472, 1468, 1460, 1454, 1450, 1440, 1420, 1400, 1380, 1280, 576];

/// A code that a common path MTU makes, and that never varied.
#[derive(Clone, Debug, Default)]
pub(super) struct MtuDoubt {
    first: Option<Code>,
    varied: bool,
}

impl MtuDoubt {
    /// A code came. True if it may be no router's.
    pub fn doubts(&mut self, code: Code) -> bool {
        let first = *self.first.get_or_insert(code);
        self.varied |= code != first;
        let of_mtu = |mtu: &u16| Code::of_lead_bytes((mtu - 20) / 8 * 8) == Some(code);
        !self.varied && COMMON_MTUS.iter().any(of_mtu)
    }
}

/// Two codes for a large step.
#[derive(Clone, Debug, Default)]
pub(super) struct Agreement {
    before: Option<Rate>,
    halved_at: Option<Time>,
}

impl Agreement {
    /// What a rate that was told stands for where `current` is obeyed.
    pub fn admit(&mut self, now: Time, told: Rate, current: Option<Rate>, rtt: Span) -> Rate {
        let before = self.before.replace(told);
        let (Some(current), Some(before)) = (current, before) else { return told };
        if told.bps() as f64 > current.bps() as f64 * NEIGHBOUR {
            return told.min(before).max(current);
        }
        let half = Rate::clamped(current.bps() / 2);
        if told >= half {
            return told;
        }
        if before < half {
            return told.max(before);
        }
        if self.halved_at.is_some_and(|at| now.since(at) < rtt) {
            return current;
        }
        self.halved_at = Some(now);
        half
    }
    /// What comes next follows nothing.
    pub fn forget(&mut self) {
        *self = Agreement::default();
    }
}

/// What was delivered in the last round trip.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    since: Option<(Time, u64)>,
    bps: u64,
}

impl Delivery {
    pub fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let Some(rtt) = ack.rtt.srtt else { return };
        let total_bytes = ack.total_delivered_bytes;
        let (since, before_bytes) = *self.since.get_or_insert((now, total_bytes));
        let span = now.since(since);
        if span >= rtt && !span.is_zero() {
            let bits = 8.0 * (total_bytes - before_bytes) as f64;
            self.bps = (bits / span.as_secs_f64()) as u64;
            self.since = Some((now, total_bytes));
        }
    }
    /// `rate`, cut to what is plausible; `least_bps` is what the flow may send in any case.
    pub fn plausible(&self, rate: Rate, settings: &Settings, least_bps: u64) -> Rate {
        let mut bps = rate.bps();
        if settings.delivered_multiple > 0.0 && bps > DOUBTFUL_BPS {
            let delivered = self.bps.max(least_bps) as f64;
            bps = bps.min((settings.delivered_multiple * delivered) as u64);
        }
        if settings.interface_bps > 0 {
            bps = bps.min(settings.interface_bps);
        }
        Rate::clamped(bps)
    }
}

/// Packets that may be cut, and whether the network passes them.
#[derive(Clone, Debug, Default)]
pub(super) struct DfWatch {
    /// Those lost since one arrived.
    lost: u32,
    /// Some of them since the last event.
    fresh: bool,
    /// Losses and timeouts with such packets among what was lost, since one arrived.
    events: u32,
    /// The network passes the others, and not these.
    blocked: bool,
}

/// Packets and events after which the network is taken for one that loses what may be cut.
const LOST_PACKETS: u32 = 3;
const LOST_EVENTS: u32 = 2;

impl DfWatch {
    pub fn on_lost(&mut self, clear: bool) {
        self.lost += u32::from(clear);
        self.fresh |= clear;
    }
    pub fn on_event(&mut self) {
        self.events += u32::from(core::mem::take(&mut self.fresh));
    }
    /// A packet arrived.
    pub fn on_delivered(&mut self, clear: bool) {
        if clear {
            (self.lost, self.events, self.fresh) = (0, 0, false);
        } else if self.lost >= LOST_PACKETS && self.events >= LOST_EVENTS {
            self.blocked = true;
        }
    }
    /// DF stays set for the life of the connection.
    pub fn is_blocked(&self) -> bool {
        self.blocked
    }
    /// Packets that may be cut were lost, and none has arrived since: send few of them.
    pub fn is_wary(&self) -> bool {
        self.events > 0
    }
}

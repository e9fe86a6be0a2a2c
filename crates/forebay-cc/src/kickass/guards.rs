//! Which codes a sender accepts, and for how much.

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
/// IPv6, the least of old hosts. A router that cuts for one leaves a first fragment of
/// `floor8(MTU - 20)` bytes.
const COMMON_MTUS: [u16; 14] =
    [1492, 1480, 1476, 1472, 1468, 1460, 1454, 1450, 1440, 1420, 1400, 1380, 1280, 576];

/// A code that a common path MTU makes, and that never varied.
#[derive(Clone, Debug, Default)]
pub(super) struct PathMtuGuard {
    first: Option<Code>,
    varied: bool,
}

impl PathMtuGuard {
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
    /// The rate to apply for a reported one while `current` is in force.
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

/// Packets that may be cut, and whether the network passes them. That those are lost and others
/// arrive is also what congestion looks like if few may be cut. So the share `p` of the others that
/// were lost meanwhile must make it unlikely: of `n` packets all are lost with `p^n`.
#[derive(Clone, Debug, Default)]
pub(super) struct FragmentableLossGuard {
    /// Those lost since one arrived.
    lost: u32,
    /// Packets with DF that were lost, and that arrived, since then.
    others_lost: u32,
    others_arrived: u32,
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
/// The network is blamed where chance alone would be less likely than this.
const UNLIKELY: f64 = 1e-6;

impl FragmentableLossGuard {
    /// A packet was lost. Where those with DF are lost, too, it may be congestion, of which packets
    /// that may be cut have their share.
    pub fn on_lost(&mut self, clear: bool) {
        if clear {
            self.lost += 1
        } else {
            self.others_lost += 1
        }
        self.fresh |= clear;
    }
    pub fn on_event(&mut self) {
        self.events += u32::from(core::mem::take(&mut self.fresh));
    }
    /// A packet arrived.
    pub fn on_delivered(&mut self, clear: bool) {
        if clear {
            *self =
                FragmentableLossGuard { blocked: self.blocked, ..FragmentableLossGuard::default() };
            return;
        }
        self.others_arrived += 1;
        if self.lost >= LOST_PACKETS && self.events >= LOST_EVENTS {
            self.blocked |= self.chance() < UNLIKELY;
        }
    }
    /// How likely congestion loses what was lost, by the rule of succession for `p`.
    fn chance(&self) -> f64 {
        let lost = f64::from(self.others_lost + 1);
        let all = f64::from(self.others_lost + self.others_arrived + 2);
        libm::pow(lost / all, self.lost.into())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Three packets that may be cut are lost in two events, and others arrive and are lost.
    fn watch(lost: u32, arrived: u32) -> FragmentableLossGuard {
        let mut watch = FragmentableLossGuard::default();
        for clear in [2, 1] {
            (0..clear).for_each(|_| watch.on_lost(true));
            watch.on_event();
        }
        (0..lost).for_each(|_| watch.on_lost(false));
        (0..arrived).for_each(|_| watch.on_delivered(false));
        watch
    }

    /// By hand: `((lost + 1) / (lost + arrived + 2))^3` against 1e-6.
    #[test]
    fn a_network_is_blamed_for_what_chance_does_not_explain() {
        assert!(!watch(0, 97).is_blocked(), "99^-3 = 1.03e-6");
        assert!(watch(0, 99).is_blocked(), "101^-3 = 0.97e-6");
        // Congestion loses one of ten.
        assert!(!watch(11, 99).is_blocked(), "0.11^3");
        let mut arrives = watch(0, 50);
        arrives.on_delivered(true);
        (0..1000).for_each(|_| arrives.on_delivered(false));
        assert!(!arrives.is_blocked() && !arrives.is_wary());
    }
}

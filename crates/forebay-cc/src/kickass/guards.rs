//! Which codes a sender accepts, and for how much.

use super::params::Settings;
use crate::controller::{Ack, RttView};
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

/// Losses that do not count as congestion. A router that signals keeps its queue short: what is lost
/// where codes are fresh and the round trip is short was lost by chance, unless it is much. Then the
/// bottleneck is another router, which signals nothing, or the code is no router's. Each packet that
/// arrives adds the share that may be lost, and each lost one takes a packet.
#[derive(Clone, Debug)]
pub(super) struct LossCredit {
    /// Packets that may yet be lost.
    packets: f64,
    /// R was refuted: more was lost.
    pub refuted: bool,
}

/// Most packets that are lost at once by chance, and that many more lose the gain. At a loss of 1 %
/// and a share of 2 % the credit is used up once in 300 000 losses.
const MOST_CREDIT_PACKETS: f64 = 10.0;
/// A queue delays by no more than this share of the least round trip, and this time, where what is
/// lost was lost by chance.
const SHORT_SHARE: u64 = 10;
const SHORT_TIME: Span = Span::from_millis(2);

impl LossCredit {
    pub fn new() -> LossCredit {
        LossCredit { packets: MOST_CREDIT_PACKETS, refuted: false }
    }
    /// `packets` arrived, of which `share` may be lost for each.
    pub fn on_delivered(&mut self, packets: f64, share: f64) {
        self.packets = (self.packets + share * packets).min(MOST_CREDIT_PACKETS);
    }
    pub fn on_lost(&mut self) {
        self.packets -= 1.0;
    }
    pub fn is_used_up(&self) -> bool {
        self.packets < 0.0
    }
    /// No queue delays what is sent.
    pub fn is_short(rtt: &RttView) -> bool {
        rtt.srtt.is_some_and(|srtt| srtt <= rtt.min + rtt.min / SHORT_SHARE + SHORT_TIME)
    }
}

/// Packets that may be cut, and whether the network passes them. That those are lost and others
/// arrive is also what congestion looks like if few may be cut. So the share `p` of the others that
/// were lost meanwhile must make it unlikely: of `n` events all take one that may be cut with
/// `p^n`. Events, not packets: a full queue drops whole bursts.
#[derive(Clone, Debug, Default)]
pub(super) struct FragmentableLossGuard {
    /// Events with such packets among what was lost, since one arrived.
    events: u32,
    /// One was lost since the last event, and one of the others.
    fresh: bool,
    fresh_other: bool,
    /// Packets with DF that were lost, and that arrived, since then.
    others_lost: u32,
    others_arrived: u32,
    /// The network passes the others, and not these: until when that is believed, and for how long
    /// it was.
    blocked: Option<(Time, Span)>,
}

/// Events after which the network may be taken for one that loses what may be cut.
const LOST_EVENTS: u32 = 3;
/// The network is blamed where chance alone would be less likely than this.
const UNLIKELY: f64 = 1e-6;
/// For how long DF stays set at first. After that one packet of a round trip may be cut until one
/// arrives, or one is lost: then DF stays set for twice as long.
const BLOCKED_TIME: Span = Span::from_secs(10);

impl FragmentableLossGuard {
    /// A packet was lost. Where those with DF are lost, too, it may be congestion, of which packets
    /// that may be cut have their share.
    pub fn on_lost(&mut self, now: Time, clear: bool) {
        if !clear {
            self.others_lost += 1;
            self.fresh_other = true;
            return;
        }
        self.fresh = true;
        if let Some((_, time)) = self.blocked.filter(|&(until, _)| until <= now) {
            self.blocked = Some((now + time * 2, time * 2));
        }
    }
    /// A loss, once for a window of data, or a timeout. True if nothing was lost but what asks
    /// whether such packets arrive: that is the network's answer, and no congestion.
    pub fn on_event(&mut self) -> bool {
        let clear = core::mem::take(&mut self.fresh);
        let other = core::mem::take(&mut self.fresh_other);
        let is_answer = self.is_wary() && clear && !other;
        self.events += u32::from(clear);
        is_answer
    }
    /// A packet arrived. True if from now on the network is blamed for all that was lost.
    pub fn on_delivered(&mut self, now: Time, clear: bool) -> bool {
        if clear {
            *self = FragmentableLossGuard::default();
            return false;
        }
        self.others_arrived += 1;
        let doubtful = self.blocked.is_none() && self.events >= LOST_EVENTS;
        if !doubtful || self.chance() >= UNLIKELY {
            return false;
        }
        self.blocked = Some((now + BLOCKED_TIME, BLOCKED_TIME));
        self.others_lost == 0
    }
    /// How likely congestion loses what was lost, by the rule of succession for `p`.
    fn chance(&self) -> f64 {
        let lost = f64::from(self.others_lost + 1);
        let all = f64::from(self.others_lost + self.others_arrived + 2);
        libm::pow(lost / all, self.events.into())
    }
    /// DF is set on all.
    pub fn is_blocked(&self, now: Time) -> bool {
        self.blocked.is_some_and(|(until, _)| now < until)
    }
    /// Packets that may be cut were lost, and none has arrived since: send few of them.
    pub fn is_wary(&self) -> bool {
        self.events > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }
    /// Three events take a packet that may be cut, the first one ten; others arrive and are lost.
    fn watch(lost: u32, arrived: u32) -> FragmentableLossGuard {
        let mut watch = FragmentableLossGuard::default();
        for clear in [10, 1, 1] {
            (0..clear).for_each(|_| watch.on_lost(ms(0), true));
            _ = watch.on_event();
        }
        (0..lost).for_each(|_| watch.on_lost(ms(0), false));
        (0..arrived).for_each(|_| _ = watch.on_delivered(ms(0), false));
        watch
    }

    /// By hand: `((lost + 1) / (lost + arrived + 2))^3` against 1e-6.
    #[test]
    fn a_network_is_blamed_for_what_chance_does_not_explain() {
        let blamed = |watch: FragmentableLossGuard| watch.is_blocked(ms(0));
        assert!(!blamed(watch(0, 97)), "99^-3 = 1.03e-6");
        assert!(blamed(watch(0, 99)), "101^-3 = 0.97e-6");
        // Congestion loses one of ten.
        assert!(!blamed(watch(11, 99)), "0.11^3");
        let mut arrives = watch(0, 50);
        arrives.on_delivered(ms(0), true);
        (0..1000).for_each(|_| _ = arrives.on_delivered(ms(0), false));
        assert!(!arrives.is_wary() && !blamed(arrives));
    }

    /// One packet asks after 10 s; where that is lost, the next one asks 20 s later, then 40 s. One
    /// that arrives ends it.
    #[test]
    fn the_verdict_expires() {
        let mut watch = watch(0, 99);
        for asks in [10_000, 30_000, 70_000] {
            assert!(watch.is_blocked(ms(asks - 1)));
            assert!(watch.is_wary() && !watch.is_blocked(ms(asks)));
            watch.on_lost(ms(asks), true);
            watch.on_lost(ms(asks), true);
            assert!(watch.on_event(), "no congestion");
            (0..1000).for_each(|_| _ = watch.on_delivered(ms(asks), false));
        }
        assert!(watch.is_blocked(ms(149_999)));
        watch.on_delivered(ms(150_000), true);
        assert!(!watch.is_wary() && !watch.is_blocked(ms(150_000)));
    }
}

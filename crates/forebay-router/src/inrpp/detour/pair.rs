//! One detour: packets of a primary interface to D that leave by another interface, over the router
//! X at its other end.
//!
//! This file keeps the asker's side: when to probe, what rate there is, when the next packet
//! may leave.

use super::control::Probe;
use super::law::{Delta, Gains};
use super::meter::LoadMeter;
use forebay_base::{PortId, Rate, Span, Time};
use forebay_signal::inrpp::RouterId;

/// Feedback counts for this many intervals.
pub(super) const FRESH_INTERVALS: u64 = 3;
/// No probe waits longer for its answer, and no interval is longer.
pub(super) const MAX_INTERVAL: Span = Span::from_secs(1);
/// Credit that a new detour has to earn before its first packet leaves. Without it one that opens
/// and closes with each probe would send a packet each time, at whatever rate.
const FIRST_BYTES: f64 = 1500.0;

/// A detour that is longer than the link by more than this is too long: senders wait a second for
/// what is missing, and queues on the way are part of that.
const TOO_LONG: Span = Span::from_millis(800);
/// Excess that has lasted for this multiple of the time by which a detour is longer is taken to
/// last. Of flows of 30 kB to 16 MB over 10 Mbit/s, with a detour that is 5 to 800 ms longer, the
/// mean completion time over that without it was at most 1.46 with 1, 1.22 with 3, and 2.55 without
/// this rule. The larger, the later bulk has its detours.
const LASTING: u64 = 3;

/// What must wait before a packet takes a detour: more than the link serves in the time by which
/// the detour is longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lag {
    /// No packet is to take it.
    TooLong,
    /// That many bytes.
    Bytes(u64),
    /// The same, or less where the cache is small: excess has lasted.
    Capped(u64),
}

/// When to ask, and what is known of the last question.
#[derive(Clone, Copy, Debug)]
struct Asking {
    /// When the last probe left.
    sent: Time,
    /// True if it was answered.
    answered: bool,
    /// When the probe left whose answer was the last to count.
    applied: Option<Time>,
    /// Round trip of that probe.
    rtt: Span,
    /// Probes since then.
    misses: u32,
}

/// One of the two interfaces of a detour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// The asker's own, to X.
    Here,
    /// That of X, to D.
    There,
}

/// An idle detour asks for a share in one of this many adjustments, in case it is idle no longer.
const TRY_AGAIN: u32 = 128;

/// A detour of `primary` over `via`.
#[derive(Clone, Debug)]
pub(super) struct Detour {
    pub via: PortId,
    pub primary: PortId,
    /// D: the router at the other end of the primary interface.
    pub target: RouterId,
    /// T_p of the link to X.
    probe_interval: Span,
    /// Load that this pair has put on `via`, to distinguish it from others' load.
    pub own: LoadMeter,
    asking: Option<Asking>,
    /// There is no excess: it is kept open until then, for bursts that are over before a probe is
    /// answered.
    pub lingers_until: Option<Time>,
    /// How much longer it takes than the link of the primary, as of the last answer.
    longer: Span,
    /// What the link of the primary serves meanwhile.
    lag_bytes: u64,
    /// When feedback came last.
    heard: Time,
    /// It stays closed until then.
    closed_until: Time,
    /// Which of its two interfaces gave the smaller rate last.
    narrow: Option<Side>,
    /// Adjustments since one at which a packet might have left for a whole interval; 0 as soon as
    /// one leaves.
    idle: u32,
    /// r in bytes per second; 0: closed.
    rate: f64,
    /// r before the last adjustment, and when that was.
    before: (f64, Time),
    /// What r had been raised by when the last probe left, and nobody could have measured yet.
    pending: f64,
    /// When the next packet may leave, while r > 0.
    ready: Time,
    /// Bytes to earn before the next packet, while r = 0.
    owed_bytes: f64,
}

impl Detour {
    pub fn new(
        [via, primary]: [PortId; 2],
        target: RouterId,
        probe_interval: Span,
        own: LoadMeter,
    ) -> Detour {
        Detour {
            via,
            primary,
            target,
            probe_interval,
            own,
            asking: None,
            lingers_until: None,
            longer: Span::ZERO,
            lag_bytes: 0,
            heard: Time::ZERO,
            closed_until: Time::ZERO,
            narrow: None,
            idle: 0,
            rate: 0.0,
            before: (0.0, Time::ZERO),
            pending: 0.0,
            ready: Time::ZERO,
            owed_bytes: 0.0,
        }
    }

    pub fn wants(&self) -> bool {
        self.asking.is_some()
    }

    /// r in bytes per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// T: the time between two adjustments. Feedback that sees what the last one did takes a round
    /// trip, and adjusting more often than that is what makes the loop unstable (paper: T_p > RTT
    /// of the probed path).
    pub fn interval(&self) -> Span {
        let rtt = self.asking.map_or(Span::ZERO, |asking| asking.rtt);
        self.probe_interval.max(rtt.min(MAX_INTERVAL))
    }

    /// A probe leaves now.
    pub fn ask(&mut self, me: RouterId, now: Time) -> Probe {
        let asking = match self.asking {
            Some(last) => {
                let misses = if last.answered { 0 } else { last.misses.saturating_add(1) };
                Asking { sent: now, answered: false, misses, ..last }
            }
            None => {
                Asking { sent: now, answered: false, applied: None, rtt: Span::ZERO, misses: 0 }
            }
        };
        self.asking = Some(asking);
        let (before, adjusted) = self.before;
        let is_new = now < adjusted + self.probe_interval / 2;
        self.pending = if is_new { (self.rate - before).max(0.0) } else { 0.0 };
        self.probe(me, now)
    }

    /// The primary wants no more: r = 0, and a last probe that says so.
    pub fn stop(&mut self, me: RouterId, now: Time) -> Probe {
        self.set_rate(now, 0.0);
        let last = Probe { wants: false, ..self.probe(me, now) };
        (self.asking, self.narrow, self.idle) = (None, None, 0);
        last
    }

    fn probe(&self, from: RouterId, sent: Time) -> Probe {
        let (target, primary) = (self.target, self.primary);
        let interval = self.interval();
        let limited = !self.shares(Side::There);
        Probe { from, target, primary, wants: true, limited, sent, interval }
    }

    /// When something is due: a probe, or the end of a rate without confirmation.
    ///
    /// The next probe leaves T_p after the last, but not before that one's answer: the round trip
    /// becomes the interval where it is longer. A probe that stays unanswered for 1.5 intervals is
    /// declared lost; then twice that, and so on.
    pub fn due(&self) -> Option<Time> {
        let probe = self.probe_due()?;
        let stale = self.stale_at();
        let probe = self.lingers_until.map_or(probe, |until| until.min(probe));
        Some(if self.rate > 0.0 { probe.min(stale) } else { probe })
    }

    pub fn probe_due(&self) -> Option<Time> {
        let asking = self.asking?;
        let wait = if asking.answered {
            self.probe_interval
        } else {
            let patience = self.interval().mul_div(3, 2) * (1 << asking.misses.min(10));
            patience.min(MAX_INTERVAL.max(self.probe_interval * 2))
        };
        Some(asking.sent + wait)
    }

    /// When the last feedback is too old to send by.
    pub fn stale_at(&self) -> Time {
        self.heard + self.interval() * FRESH_INTERVALS
    }

    /// Feedback for the probe that left at `sent` has come. True if it is news: from a probe of
    /// this pair, and later than the last that counted.
    pub fn hear(&mut self, now: Time, sent: Time) -> bool {
        let Some(asking) = &mut self.asking else { return false };
        if sent > asking.sent || asking.applied.is_some_and(|applied| sent <= applied) {
            return false;
        }
        asking.applied = Some(sent);
        asking.answered |= sent == asking.sent;
        asking.rtt = now.since(sent);
        self.heard = now;
        true
    }

    /// After [`Detour::hear`], given how long the links to X and of the primary take, and what X
    /// said of its link to D. The queue to X counts.
    pub fn compare(&mut self, [via, primary]: [Span; 2], longer_ms: i16, primary_rate: Rate) {
        let to_x = self.asking.map_or(Span::ZERO, |asking| asking.rtt.mul_div(1, 2));
        let more = Span::from_millis(u64::from(longer_ms.unsigned_abs()));
        let from_x = if longer_ms < 0 { via.saturating_sub(more) } else { via + more };
        self.longer = (to_x + from_x).saturating_sub(primary);
        self.lag_bytes = primary_rate.bytes_in(self.longer);
    }
    /// What must wait, of excess that has lasted for so long.
    pub fn lag(&self, excess: Span) -> Lag {
        if self.longer > TOO_LONG {
            Lag::TooLong
        } else if excess < self.lasting() {
            Lag::Bytes(self.lag_bytes)
        } else {
            Lag::Capped(self.lag_bytes)
        }
    }

    /// Excess that has been there for so long is taken to last.
    fn lasting(&self) -> Span {
        self.longer * LASTING
    }

    /// True if neither the other interface nor a lack of packets limits it: it would use a larger
    /// share of this one.
    pub fn shares(&self, side: Side) -> bool {
        let greedy = self.wants() && self.idle.is_multiple_of(TRY_AGAIN);
        greedy && self.narrow.is_none_or(|narrow| narrow == side)
    }

    /// (3'): r follows the feedback of both interfaces.
    pub fn adjust(&mut self, now: Time, gains: &Gains, here: &Delta, there: &Delta) {
        let interval = self.interval();
        let missed = self.ready().is_some_and(|ready| now >= ready + interval);
        if missed || self.idle > 0 {
            self.idle = self.idle.wrapping_add(1);
        }
        let by = |delta: &Delta| gains.step(delta, self.rate, self.pending);
        let (by_here, by_there) = (by(here), by(there));
        self.narrow = Some(if by_here < by_there { Side::Here } else { Side::There });
        self.before = (self.rate, now);
        self.set_rate(now, by_here.min(by_there));
    }

    /// One of the two interfaces is not in the push state: r = 0, and again for T_d, or an interval
    /// if that is longer, after the last such sign.
    pub fn close(&mut self, now: Time, decision_interval: Span) {
        self.set_rate(now, 0.0);
        (self.narrow, self.idle, self.before, self.pending) = (None, 0, (0.0, now), 0.0);
        let wait = decision_interval.max(self.interval());
        self.closed_until = now + wait;
    }

    pub fn is_closed(&self, now: Time) -> bool {
        now < self.closed_until
    }

    /// A new r in bytes per second. What the last packet still has to wait for is earned at the new
    /// rate.
    pub fn set_rate(&mut self, now: Time, rate: f64) {
        let rate = if rate < 1.0 { 0.0 } else { rate };
        if self.rate > 0.0 {
            if now >= self.ready && rate > 0.0 {
                self.rate = rate;
                return;
            }
            self.owed_bytes = self.ready.since(now).as_secs_f64() * self.rate;
        } else if rate > 0.0 {
            self.owed_bytes = self.owed_bytes.max(FIRST_BYTES);
        }
        self.rate = rate;
        if rate > 0.0 {
            self.ready = now + Span::from_secs_f64(self.owed_bytes / rate);
        }
    }

    /// When a packet may leave; None while closed.
    pub fn ready(&self) -> Option<Time> {
        (self.rate > 0.0).then_some(self.ready)
    }

    /// When, after `now`, a packet may leave that may not before, of excess since `excess`: by its
    /// rate, or as the excess is taken to last.
    pub fn wakes_at(&self, now: Time, excess: Time) -> Option<Time> {
        let ready = self.ready()?;
        [ready, excess + self.lasting()].into_iter().filter(|&at| at > now).min()
    }

    pub fn is_ready(&self, now: Time) -> bool {
        self.rate > 0.0 && self.ready <= now
    }

    /// A packet of `bytes` leaves now. One that was late lets the next follow at once, so no more
    /// than two leave together.
    pub fn charge(&mut self, now: Time, bytes: u16) {
        self.own.add(now, bytes);
        self.idle = 0;
        if self.rate > 0.0 {
            let gap = Span::from_secs_f64(f64::from(bytes) / self.rate);
            self.ready = self.ready.max(now - gap) + gap;
        }
    }
}

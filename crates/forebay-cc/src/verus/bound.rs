//! A window that losses bound, where the buffer is shallower than the queue that is sought.
//!
//! With a buffer below `(R - 1) D_min` delays never reach `R D_min`, and a full buffer has the same
//! delay under each window: nothing of rules 1 to 8 ends the growth of W.
//!
//! 1. a round is what leaves until a packet comes back that left in it, 100 packets at least. It is
//!    *lossy* if of its n packets k are lost, 5 at least, no delay of it was above `R D_min`, and
//!    chance takes that many at a rate of p = 2 %, the limit of BBR (draft-ietf-ccwg-bbr), with a
//!    probability below .005, or .05 where there is a bound. That probability is at most `b(k) / (1
//!    - r)` with `b(k) = C(n, k) p^k (1 - p)^(n - k)` and `r = (n - k) p / ((k + 1) (1 - p))`, for
//!    `k > n p` (Feller, An Introduction to Probability Theory and Its Applications I, VI.3.4);
//! 2. a loss, once for what left after the last one, finds the buffer *full* if the queueing delay
//!    was then at least 3/4 of the largest one of the last 10 to 20 s, and an eighth of D_min, and
//!    the delay at most `R D_min`. Chance takes packets at any delay;
//! 3. with a lossy round, or the third loss in a row that finds the buffer full, W is at most a
//!    window of CUBIC (RFC 9438). It begins at what that round has left, or at W, and takes each
//!    lossy round, or loss that finds the buffer full, for congestion. Packets that left before
//!    that do not count again;
//! 4. a bound by rule 2 ends with a loss that does not find the buffer full: it leaves a queue that
//!    is shorter, in which only chance takes packets. Each bound ends once W was below it for 2 s.

use crate::controller::{Ack, Congestion, CongestionCause, Controller, Init};
use crate::cubic::{self, Cubic};
use forebay_base::{Span, Time};

/// Rule 1.
const LOSSY: f64 = 0.02;
const FEWEST_SENT: u32 = 100;
const FEWEST: u32 = 5;
const CHANCE: f64 = 0.005;
const CHANCE_AGAIN: f64 = 0.05;
/// Rule 2.
const FULL: f64 = 0.75;
const LEAST_FULL: f64 = 0.125;
const MEMORY: Span = Span::from_secs(10);
/// Rule 3.
const IN_A_ROW: u32 = 3;
/// Rule 4.
const FREE: Span = Span::from_secs(2);
/// A window that one round of the path has delivered is no smaller than this, in packets.
const MIN_WINDOW: f64 = 4.0;

/// CUBIC in congestion avoidance, with a window of `packets`.
fn cubic_from(init: &Init, packets: f64) -> Cubic {
    let bytes = (packets * f64::from(init.mss_bytes)) as u64;
    let init = Init { initial_window_bytes: bytes, initial_ssthresh_bytes: bytes, ..init.clone() };
    Cubic::new(&cubic::Params::default(), init)
}

/// At least the probability that of `n` packets `k` or more are lost at a rate of [`LOSSY`].
pub(super) fn chance(n: u32, k: u32) -> f64 {
    let (n, k, p) = (f64::from(n), f64::from(k), LOSSY);
    if k <= n * p {
        return 1.0;
    }
    let factorial = |x: f64| libm::lgamma(x + 1.0);
    let ln_ways = factorial(n) - factorial(k) - factorial(n - k);
    let ln_b = ln_ways + k * libm::log(p) + (n - k) * libm::log(1.0 - p);
    let r = (n - k) * p / ((k + 1.0) * (1.0 - p));
    (libm::exp(ln_b) / (1.0 - r)).min(1.0)
}

/// What became of the packets that left from some time on.
#[derive(Clone, Copy, Debug)]
struct Round {
    from: Time,
    sent: u32,
    lost: u32,
    most_ms: f64,
}

impl Round {
    fn new(from: Time) -> Round {
        Round { from, sent: 0, lost: 0, most_ms: 0.0 }
    }
}

/// D_min, `R D_min` and W where a packet is lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtLoss {
    pub d_min_ms: f64,
    pub ceiling_ms: f64,
    pub window: f64,
}

/// The round that goes on and the one before, whose losses come to be known, and the bound.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    init: Init,
    before: Round,
    round: Round,
    /// The last delay, and the largest one of this time and of the time before (rule 2).
    last_ms: f64,
    largest_ms: [f64; 2],
    largest_until: Time,
    /// Losses in a row that found the buffer full, and since when a packet counts for the next.
    full: u32,
    full_from: Time,
    cubic: Option<Cubic>,
    /// The bound is one of rule 2.
    by_full: bool,
    /// Since when W is below it.
    free_since: Option<Time>,
}

impl Bound {
    pub(super) fn new(init: Init) -> Bound {
        let (before, round) = (Round::new(Time::ZERO), Round::new(Time::ZERO));
        Bound {
            init,
            before,
            round,
            last_ms: 0.0,
            largest_ms: [0.0; 2],
            largest_until: Time::ZERO,
            full: 0,
            full_from: Time::ZERO,
            cubic: None,
            by_full: false,
            free_since: None,
        }
    }

    /// The most that W may be, in packets.
    pub(super) fn window(&self) -> Option<f64> {
        let bytes = self.cubic.as_ref()?.limits().cwnd_bytes;
        Some(bytes as f64 / f64::from(self.init.mss_bytes))
    }

    /// The round that a packet left in, unless it is over for two.
    fn round_of(&mut self, sent_at: Time) -> Option<&mut Round> {
        if sent_at >= self.round.from {
            Some(&mut self.round)
        } else {
            Some(&mut self.before).filter(|before| sent_at >= before.from)
        }
    }

    pub(super) fn on_sent(&mut self) {
        self.round.sent = self.round.sent.saturating_add(1);
    }

    pub(super) fn on_delivered(&mut self, now: Time, sent_at: Time, delay_ms: f64) {
        if now >= self.largest_until {
            self.largest_ms = [0.0, self.largest_ms[0]];
            self.largest_until = now + MEMORY;
        }
        self.last_ms = delay_ms;
        self.largest_ms[0] = self.largest_ms[0].max(delay_ms);
        if let Some(round) = self.round_of(sent_at) {
            round.most_ms = round.most_ms.max(delay_ms);
        }
        if sent_at >= self.round.from && self.round.sent >= FEWEST_SENT {
            self.before = core::mem::replace(&mut self.round, Round::new(now));
        }
    }

    pub(super) fn on_loss(&mut self, now: Time, sent_at: Time, at: &AtLoss) {
        let most = if self.cubic.is_some() { CHANCE_AGAIN } else { CHANCE };
        let Some(round) = self.round_of(sent_at) else { return };
        round.lost += 1;
        let &mut Round { sent, lost, most_ms, .. } = round;
        // What left in a round that is counted anew may be lost in the next one.
        let sent = sent.max(lost);
        if lost >= FEWEST && chance(sent, lost) < most && most_ms <= at.ceiling_ms {
            self.by_full &= self.cubic.is_some();
            return self.reduce(now, f64::from(sent - lost).max(MIN_WINDOW));
        }
        if sent_at >= self.full_from {
            self.full_from = now;
            self.look_at_buffer(now, at);
        }
    }

    /// Rules 2 to 4.
    fn look_at_buffer(&mut self, now: Time, at: &AtLoss) {
        let queued_ms = self.last_ms - at.d_min_ms;
        let largest_ms = self.largest_ms[0].max(self.largest_ms[1]).min(at.ceiling_ms);
        let full = self.last_ms <= at.ceiling_ms
            && queued_ms >= FULL * (largest_ms - at.d_min_ms)
            && queued_ms >= LEAST_FULL * at.d_min_ms;
        self.full = if full { self.full + 1 } else { 0 };
        if full && self.cubic.is_some() {
            self.reduce(now, at.window);
        } else if self.full >= IN_A_ROW {
            self.by_full = true;
            self.reduce(now, at.window);
        } else if self.by_full && !full {
            (self.cubic, self.by_full) = (None, false);
        }
    }

    /// Rule 3.
    fn reduce(&mut self, now: Time, window: f64) {
        (self.before, self.round, self.full_from) = (Round::new(now), Round::new(now), now);
        self.free_since = None;
        let cubic = self.cubic.get_or_insert_with(|| cubic_from(&self.init, window));
        let flight_size_bytes = cubic.limits().cwnd_bytes;
        let cause = CongestionCause::Loss;
        let event = Congestion { cause, flight_size_bytes, cwnd_limited: true };
        cubic.on_congestion(now, &event);
    }

    /// The bound grows with what arrives, repairs or not, as long as `w` is at it.
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack<'_>, w: f64) {
        let Some(most) = self.window() else { return };
        if let Some(cubic) = &mut self.cubic {
            let (cwnd_limited, acked_bytes) = (w >= most - 1.0, ack.delivered_bytes);
            let ack = Ack { cwnd_limited, acked_bytes, in_recovery: false, ..*ack };
            cubic.on_ack(now, &ack);
        }
    }

    /// Rule 4: the delays ask for a window of `w`. The most that W may be.
    pub(super) fn on_epoch(&mut self, now: Time, w: f64) -> Option<f64> {
        let most = self.window()?;
        if w >= most {
            self.free_since = None;
            return Some(most);
        }
        let since = *self.free_since.get_or_insert(now);
        if now.since(since) > FREE {
            self.cubic = None;
        }
        None
    }
}

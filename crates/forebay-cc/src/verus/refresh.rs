//! D_min anew: the smallest delay of a path that has changed, and of a flow that came to a queue.
//!
//! 1. D_min is old 10 s after a delay of at most `1.05 D_min` was last seen (times a draw from 0.8
//!    to 1.2, so that flows do not drain in step), and in doubt if `D_max > 1.25 D_min` then;
//! 2. then the path is drained: the window is a quarter, 2 at least, for 200 ms or one round trip,
//!    whichever is longer, after one round trip for what is on its way;
//! 3. D_min becomes the smallest delay of that time.

use forebay_base::{Rng, Span, Time};

/// Rule 1.
const OLD_S: f64 = 10.0;
const SPREAD: f64 = 0.4;
const SEEN: f64 = 1.05;
const DOUBT: f64 = 1.25;
/// Rule 2.
const SHARE: f64 = 0.25;
const LEAST_WINDOW: f64 = 2.0;
const LEAST_DRAIN_MS: f64 = 200.0;

#[derive(Clone, Copy, Debug)]
struct Drain {
    /// Delays count from here on.
    from: Time,
    until: Time,
    least_ms: f64,
}

/// When D_min was last confirmed, and the drain that is under way.
#[derive(Clone, Debug)]
pub(super) struct Refresh {
    rng: Rng,
    old_at: Time,
    drain: Option<Drain>,
    quiet_until: Time,
}

impl Refresh {
    pub(super) fn new(rng: Rng) -> Refresh {
        Refresh { rng, old_at: Time::MAX, drain: None, quiet_until: Time::ZERO }
    }
    /// Slow start is over: D_min is new.
    pub(super) fn begin(&mut self, now: Time) {
        let s = OLD_S * (1.0 - SPREAD / 2.0 + SPREAD * self.rng.unit());
        self.old_at = now + Span::from_secs_f64(s);
    }
    /// The window is the small one.
    pub(super) fn is_draining(&self) -> bool {
        self.drain.is_some()
    }
    /// The set point rests: the queue is that of the small window, for one round trip more.
    pub(super) fn is_quiet(&self, now: Time) -> bool {
        self.is_draining() || now < self.quiet_until
    }
    /// The small one.
    pub(super) fn window(&self, window: f64) -> f64 {
        (SHARE * window).max(LEAST_WINDOW)
    }

    pub(super) fn on_delay(&mut self, now: Time, delay_ms: f64, d_min_ms: f64) {
        match &mut self.drain {
            Some(drain) if now >= drain.from => drain.least_ms = drain.least_ms.min(delay_ms),
            None if delay_ms <= SEEN * d_min_ms => self.begin(now),
            _ => {}
        }
    }

    /// An epoch began: D_min anew, if a drain has ended.
    pub(super) fn on_epoch(
        &mut self,
        now: Time,
        d_max_ms: f64,
        d_min_ms: f64,
        d_rtt_ms: f64,
    ) -> Option<f64> {
        let span = |ms: f64| Span::from_secs_f64(ms / 1e3);
        match self.drain {
            None if now >= self.old_at && d_max_ms > DOUBT * d_min_ms => {
                let from = now + span(d_rtt_ms);
                let until = from + span(d_rtt_ms.max(LEAST_DRAIN_MS));
                self.drain = Some(Drain { from, until, least_ms: f64::INFINITY });
                None
            }
            Some(Drain { until, least_ms, .. }) if now >= until => {
                self.drain = None;
                self.quiet_until = now + span(d_rtt_ms);
                self.begin(now);
                least_ms.is_finite().then_some(least_ms)
            }
            _ => None,
        }
    }
}

//! D_min anew: the smallest delay of a path that has changed, and of a flow that came to a queue.
//!
//! 1. D_min is old 10 s after a delay of at most `1.05 D_min` was last seen (times a draw from 0.8
//!    to 1.2, so that flows do not drain in step), and in doubt if `D_max > 1.25 D_min` then;
//! 2. then the path is drained: the window is a quarter, 2 at least, for 200 ms or one round trip,
//!    whichever is longer, after one round trip for what is on its way;
//! 3. D_min becomes the smallest delay of that time. It rises only if no delay of the 5 s before
//!    the drain was as small as `R D_min`: a set point that is in reach needs no other D_min, and
//!    what is left of the queue is that of flows that hold the same set point. Were it taken for
//!    the path, each flow would raise the queue of all others.

use forebay_base::{Rng, Span, Time};

/// Rule 1.
const OLD_S: f64 = 10.0;
const SPREAD: f64 = 0.4;
const SEEN: f64 = 1.05;
const DOUBT: f64 = 1.25;
/// Rule 2.
const SHARE: f64 = 0.25;
const MIN_WINDOW: f64 = 2.0;
const MIN_DRAIN_MS: f64 = 200.0;
/// Rule 3.
const OUT_OF_REACH: Span = Span::from_secs(5);

#[derive(Clone, Copy, Debug)]
struct Drain {
    /// Delays count from here on.
    from: Time,
    until: Time,
    least_ms: f64,
    may_rise: bool,
}

/// When D_min was last confirmed, and the drain that is under way.
#[derive(Clone, Debug)]
pub(super) struct MinDelayProbe {
    rng: Rng,
    old_at: Time,
    drain: Option<Drain>,
    quiet_until: Time,
    /// When a delay was last at most R D_min, but for drains.
    reached_at: Time,
}

impl MinDelayProbe {
    pub(super) fn new(rng: Rng) -> MinDelayProbe {
        let (quiet_until, reached_at) = (Time::ZERO, Time::ZERO);
        MinDelayProbe { rng, old_at: Time::MAX, drain: None, quiet_until, reached_at }
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
        (SHARE * window).max(MIN_WINDOW)
    }

    /// A delay, with D_min and R D_min.
    pub(super) fn on_delay(&mut self, now: Time, delay_ms: f64, d_min_ms: f64, ceiling_ms: f64) {
        match &mut self.drain {
            Some(drain) if now >= drain.from => drain.least_ms = drain.least_ms.min(delay_ms),
            Some(_) => {}
            None => {
                if delay_ms <= SEEN * d_min_ms {
                    self.begin(now);
                }
                if delay_ms <= ceiling_ms && !self.is_quiet(now) {
                    self.reached_at = now;
                }
            }
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
                let until = from + span(d_rtt_ms.max(MIN_DRAIN_MS));
                let may_rise = now.since(self.reached_at) > OUT_OF_REACH;
                self.drain = Some(Drain { from, until, least_ms: f64::INFINITY, may_rise });
                None
            }
            Some(Drain { until, least_ms, may_rise, .. }) if now >= until => {
                self.drain = None;
                self.quiet_until = now + span(d_rtt_ms);
                self.begin(now);
                let found_ms = if may_rise { least_ms } else { least_ms.min(d_min_ms) };
                least_ms.is_finite().then_some(found_ms)
            }
            _ => None,
        }
    }
}

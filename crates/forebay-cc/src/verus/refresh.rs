//! D_min anew: the smallest delay of a path that has changed, and of a flow that came to a queue.
//! What is in flight comes down to two packets, and the delays that follow are those of the path.
//!
//! 1. D_min is old 10 s after a delay of at most `1.05 D_min` was last seen (times a draw from 0.8
//!    to 1.2, so that flows do not drain in step), and in doubt if `D_max > 1.25 D_min` then;
//! 2. it is in doubt sooner where the path may have become longer: from one packet to the next the
//!    delay grew by half of `(R - 1) D_min` more than the time between them, which no queue does,
//!    no delay since has been `R D_min` or less, for 300 ms at least, and the set point has come
//!    down to D_min with two packets in flight;
//! 3. then the path is drained: two packets are in flight until two round trips are over, in which
//!    each packet left with no more than that, and 200 ms. Where nothing comes back it goes on: a
//!    path that is down says nothing. In a drain of rule 2 a delay of `R D_min` or less ends it;
//! 4. D_min becomes the smallest delay of that time. It rises only if no delay of the 5 s before
//!    a drain of rule 1 was as small as `R D_min`: a set point that is in reach needs no other
//!    D_min, and what is left of the queue is that of flows that hold the same set point. Were it
//!    taken for the path, each flow would raise the queue of all others.

use forebay_base::{Rng, Span, Time};

/// Rule 1.
const OLD_S: f64 = 10.0;
const SPREAD: f64 = 0.4;
const SEEN: f64 = 1.05;
const DOUBT: f64 = 1.25;
/// Rule 2.
const JUMP: f64 = 0.5;
const LONGER: Span = Span::from_millis(300);
/// Rule 3: packets in flight, and the least time.
const FLIGHT: f64 = 2.0;
const MIN_DRAIN: Span = Span::from_millis(200);
/// Rule 4.
const OUT_OF_REACH: Span = Span::from_secs(5);

/// D_min and `R D_min`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub d_min_ms: f64,
    pub ceiling_ms: f64,
}

/// What an epoch says of D_min.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    pub d_max_ms: f64,
    pub d_min_ms: f64,
    pub d_rtt_ms: f64,
    /// Packets in flight.
    pub in_flight: f64,
    /// The set point has come down to D_min.
    pub at_bottom: bool,
}

#[derive(Clone, Copy, Debug)]
struct Drain {
    /// Packets that left since then count; None while more than two are in flight.
    from: Option<Time>,
    /// When the first of them came back: the second round trip begins.
    second: Option<Time>,
    /// A packet of the second round trip came back.
    whole: bool,
    least_ms: f64,
    may_rise: bool,
    /// By rule 2.
    longer: bool,
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
    /// When the last packet that came back had left, and its delay.
    last: Option<(Time, f64)>,
    /// The delay has jumped beyond R D_min and stayed there.
    jumped: bool,
}

impl MinDelayProbe {
    pub(super) fn new(rng: Rng) -> MinDelayProbe {
        MinDelayProbe {
            rng,
            old_at: Time::MAX,
            drain: None,
            quiet_until: Time::ZERO,
            reached_at: Time::ZERO,
            last: None,
            jumped: false,
        }
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
    /// What may be in flight in a drain, in packets.
    pub(super) fn window() -> f64 {
        FLIGHT
    }

    /// A packet that left at `sent_at` came back; D_min and R D_min are those before it.
    pub(super) fn on_delay(&mut self, now: Time, sent_at: Time, known: &Known, delay_ms: f64) {
        let &Known { d_min_ms, ceiling_ms } = known;
        if delay_ms <= ceiling_ms {
            self.jumped = false;
        } else if let Some((before, before_ms)) = self.last {
            let between_ms = sent_at.since(before).as_nanos() as f64 / 1e6;
            let beyond_ms = delay_ms - before_ms - between_ms;
            self.jumped |= beyond_ms > JUMP * (ceiling_ms - d_min_ms);
        }
        self.last = Some((sent_at, delay_ms));
        let Some(drain) = &mut self.drain else {
            if delay_ms <= SEEN * d_min_ms {
                self.begin(now);
            }
            if delay_ms <= ceiling_ms && !self.is_quiet(now) {
                self.reached_at = now;
            }
            return;
        };
        if drain.longer && delay_ms <= ceiling_ms {
            self.drain = None;
        } else if drain.from.is_some_and(|from| sent_at >= from) {
            drain.least_ms = drain.least_ms.min(delay_ms);
            let second = *drain.second.get_or_insert(now);
            drain.whole |= sent_at >= second;
        }
    }

    /// An epoch began: D_min anew, if a drain has ended.
    pub(super) fn on_epoch(&mut self, now: Time, seen: &Epoch) -> Option<f64> {
        let Some(drain) = &mut self.drain else {
            let old = now >= self.old_at && seen.d_max_ms > DOUBT * seen.d_min_ms;
            let longer = self.jumped
                && now.since(self.reached_at) > LONGER
                && seen.at_bottom
                && seen.in_flight <= FLIGHT;
            if old || longer {
                let may_rise = longer || now.since(self.reached_at) > OUT_OF_REACH;
                let least_ms = f64::INFINITY;
                let (from, second, whole) = (None, None, false);
                self.drain = Some(Drain { from, second, whole, least_ms, may_rise, longer });
            }
            return None;
        };
        let from = match drain.from {
            Some(from) => from,
            None if seen.in_flight <= FLIGHT => *drain.from.insert(now),
            None => return None,
        };
        if !drain.whole || now.since(from) < MIN_DRAIN {
            return None;
        }
        let Drain { least_ms, may_rise, .. } = *drain;
        let may_rise = may_rise || self.jumped;
        self.drain = None;
        self.jumped = false;
        self.quiet_until = now + Span::from_secs_f64(seen.d_rtt_ms / 1e3);
        self.begin(now);
        Some(if may_rise { least_ms } else { least_ms.min(seen.d_min_ms) })
    }
}

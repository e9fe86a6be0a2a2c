//! CUBIC: RFC 9438 (doi:10.17487/RFC9438), with HyStart++ (RFC 9406) for the first slow start.
//!
//! Windows in segments, times in seconds, C in segments / s^3, beta and alpha without unit; t is
//! the time since the epoch began, without the time in which the application and not the window
//! limited sending:
//!
//! 1. `W_cubic(t) = C (t - K)^3 + W_max` (RFC eq. 1);
//! 2. `K = cbrt((W_max - cwnd_epoch) / C)` (RFC eq. 2);
//! 3. `W_est += alpha acked / cwnd`, `alpha = 3 (1 - beta) / (1 + beta)`, or 1 once
//!    `W_est >= cwnd_prior` (RFC eq. 4);
//! 4. `W_cubic(t) < W_est`: `cwnd = W_est` (section 4.3, the Reno-friendly region);
//! 5. else `target = clamp(W_cubic(t + SRTT), cwnd, 1.5 cwnd)`,
//!    `cwnd += (target - cwnd) acked / cwnd` (sections 4.2, 4.4, 4.5);
//! 6. congestion: `W_max = cwnd`, or `cwnd (1 + beta) / 2` if `cwnd < W_max` (section 4.7, fast
//!    convergence); `cwnd_prior = cwnd`; `ssthresh = max(beta flight, 2)`; `cwnd = ssthresh`, on an
//!    ECN echo down to 1 (section 4.6);
//! 7. timeout: `ssthresh` as in 6, `cwnd = 1` (section 4.8). In the first epoch after it, and in
//!    the first of all if no congestion came before it: `K = 0`, `W_max = cwnd_prior = cwnd_epoch`
//!    (sections 4.8, 4.10);
//! 8. a spurious signal: everything of 6 and 7 is given back (section 4.9).
//!
//! Differs from the RFC / Linux in: cwnd never falls in growth or rises in a congestion event,
//! where 4 and 6 taken by the letter could make it; an epoch that begins above W_max takes its
//! window for W_max (as Linux); after a silence the window is cut as in RFC 5681 section 4.1 and a
//! new epoch begins. From Linux, unless `linux_counting` is set: SRTT and not the smallest RTT in
//! 5, alpha rises to 1, no floor of 5 % per RTT before the first loss, no rounding to whole
//! segments and ticks; and, unless they are given, C is 0.4 and not 410/1024, beta 0.7 and not
//! 717/1024. The preset linux-6.18 gives them all.

use crate::ParamError;
use crate::controller::{
    Ack, Congestion, CongestionCause, Controller, Init, Limits, Recovered, Sent, Tag, Timeout,
    Traits,
};
use crate::hystart::{SlowStart, SlowStartKind};
use crate::idle_restart::IdleRestart;
use crate::ticks::LinuxCubic;
use alloc::boxed::Box;
use forebay_base::require;
use forebay_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// Most that the window aims to grow in one round trip (RFC 9438 section 4.2).
const MAX_GROWTH: f64 = 1.5;
/// Share that is kept on an ECN echo with ABE (RFC 8511 section 3.1).
const BETA_ABE: f64 = 0.85;
/// Smallest ssthresh in segments (RFC 9438 section 4.6).
const MIN_SSTHRESH: f64 = 2.0;

const MAX_CWND_BYTES: f64 = Limits::MAX_CWND_BYTES as f64;

/// Parameters of CUBIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Scale of the cubic in segments / s^3, above 0 (RFC 9438 section 4.1: 0.4).
    pub c: f64,
    /// Share of the window that is kept on loss, within (0, 1) (RFC 9438 section 4.6: 0.7).
    pub beta: f64,
    /// Give way to new flows: a flow that loses below its last maximum aims lower (RFC 9438 section
    /// 4.7).
    pub fast_convergence: bool,
    /// Reduce from cwnd instead of the flight, which RFC 9438 section 4.6 allows where the window
    /// does not grow unused, as here (Linux).
    pub reduce_from_cwnd: bool,
    /// Treat ECN as a milder signal than loss: 0.85 is kept (RFC 8511).
    pub abe: bool,
    /// How the first slow start ends.
    pub slow_start: SlowStartKind,
    /// Segments that one ACK may add in standard slow start and after a timeout, at least 1. RFC
    /// 5681 eq. 2: 1; Linux has no limit.
    pub abc_l: u32,
    /// Minimum silence after which the window is cut to the initial window, in milliseconds, if
    /// the retransmission timeout is not longer (RFC 5681 section 4.1 with the floor of RFC 6298
    /// eq. 2.4; Linux 200); 0: never.
    pub idle_restart_ms: u32,
    /// Reduce once more when a retransmission is lost in the same recovery (RFC 9937 section 6);
    /// Linux does not.
    pub reduce_again: bool,
    /// Congestion avoidance as Linux's bictcp_update counts it: in whole segments, in ticks of 4
    /// ms, one smallest RTT ahead, by 5 % or more per round trip before the first loss and after a
    /// timeout.
    pub linux_counting: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reduce_from_cwnd: false,
            abe: false,
            slow_start: SlowStartKind::default(),
            abc_l: 1,
            idle_restart_ms: 1000,
            reduce_again: true,
            linux_counting: false,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require(self.c > 0.0 && self.c.is_finite(), "c", "above 0")?;
        require(self.beta > 0.0 && self.beta < 1.0, "beta", "above 0 and below 1")?;
        require(self.abc_l >= 1, "abc_l", "1 or more")
    }
}

/// The curve since the last congestion event.
#[derive(Clone, Copy, Debug)]
struct Curve {
    /// False until the first ACK of congestion avoidance: the rest of the epoch is then to be set.
    begun: bool,
    /// The next epoch has no maximum to return to: `K = 0` from the window as it is.
    fresh: bool,
    /// The last ACK fell into the Reno-friendly region.
    reno: bool,
    /// Start of the epoch, moved on by the time that does not count.
    start: Time,
    k_s: f64,
    w_max: f64,
    w_est: f64,
    cwnd_prior: f64,
}

/// What a congestion event took away.
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd: f64,
    ssthresh: f64,
    curve: Curve,
}

/// What an ACK in congestion avoidance does not touch.
#[derive(Clone, Debug)]
struct Cold {
    params: Params,
    restart: f64,
    slow_start: SlowStart,
    undo: Option<Undo>,
    /// With `linux_counting`.
    ticks: Option<Box<LinuxCubic>>,
}

/// The window of one path. Windows in segments.
#[derive(Clone, Debug)]
pub struct Cubic {
    cwnd: f64,
    /// Infinite if there is none.
    ssthresh: f64,
    curve: Curve,
    /// Time of the last ACK: what the application leaves unused begins there.
    last_ack: Time,
    /// C, and alpha below cwnd_prior: copies of the curve's, so that an ACK touches nothing cold.
    c: f64,
    alpha_friendly: f64,
    mss_bytes: u32,
    linux_counting: bool,
    idle_restart: IdleRestart,
    cold: Box<Cold>,
}

impl Cubic {
    /// A window at its start. The parameters must have passed [`Params::check`].
    pub fn new(params: &Params, init: Init) -> Cubic {
        let mss = f64::from(init.mss_bytes);
        let initial_bytes = init.initial_window_bytes.min(Limits::MAX_CWND_BYTES);
        let initial = (initial_bytes as f64 / mss).max(1.0);
        let slow_start =
            SlowStart::new(params.slow_start, params.abc_l, init.mss_bytes, init.paced);
        let ssthresh = match init.initial_ssthresh_bytes {
            u64::MAX => f64::INFINITY,
            bytes => bytes as f64 / mss,
        };
        Cubic {
            cwnd: initial,
            ssthresh,
            curve: Curve {
                begun: false,
                fresh: true,
                reno: false,
                start: Time::ZERO,
                k_s: 0.0,
                w_max: 0.0,
                w_est: 0.0,
                cwnd_prior: 0.0,
            },
            last_ack: Time::ZERO,
            c: params.c,
            alpha_friendly: 3.0 * (1.0 - params.beta) / (1.0 + params.beta),
            mss_bytes: init.mss_bytes,
            linux_counting: params.linux_counting,
            idle_restart: IdleRestart::new(params.idle_restart_ms),
            cold: Box::new(Cold {
                params: params.clone(),
                restart: initial,
                slow_start,
                undo: None,
                ticks: params
                    .linux_counting
                    .then(|| Box::new(LinuxCubic::new(params.c, params.beta))),
            }),
        }
    }

    fn mss(&self) -> f64 {
        f64::from(self.mss_bytes)
    }

    #[inline]
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn grow_slow_start(&mut self, now: Time, ack: &Ack<'_>) {
        let cwnd_bytes = self.limits().cwnd_bytes;
        let step = self.cold.slow_start.on_ack(now, ack, cwnd_bytes);
        if ack.cwnd_limited {
            let growth = step.growth_bytes as f64 / self.mss();
            self.cwnd = (self.cwnd + growth).min(self.ssthresh);
        }
        if step.exit {
            self.ssthresh = self.cwnd;
        }
    }

    /// An ACK that window and peer let count, as Linux counts (cubictcp_cong_avoid).
    #[inline(never)]
    fn grow_linux(&mut self, now: Time, ack: &Ack<'_>) {
        let mut acked = ack.acked_bytes.div_ceil(u64::from(self.mss_bytes)) as u32;
        if self.in_slow_start() {
            let before = self.cwnd;
            self.grow_slow_start(now, ack);
            self.cwnd = libm::floor(self.cwnd);
            acked = acked.saturating_sub((self.cwnd - before) as u32);
        }
        if acked == 0 || !ack.cwnd_limited || self.in_slow_start() {
            return;
        }
        if let Some(ticks) = &mut self.cold.ticks {
            let min_rtt = if ack.rtt.min == Span::MAX { Span::ZERO } else { ack.rtt.min };
            self.cwnd = f64::from(ticks.on_ack(now, self.cwnd as u32, acked, min_rtt));
        }
    }

    /// Equations 2 and 7.
    fn begin_epoch(&mut self, now: Time) {
        let curve = &mut self.curve;
        if curve.fresh {
            curve.cwnd_prior = self.cwnd;
            curve.w_max = self.cwnd;
        }
        curve.w_max = curve.w_max.max(self.cwnd);
        curve.k_s = libm::cbrt((curve.w_max - self.cwnd) / self.c);
        curve.w_est = self.cwnd;
        curve.start = now;
        curve.begun = true;
        curve.fresh = false;
    }

    /// Equation 1 at `t_s` seconds.
    #[inline]
    fn w_cubic(&self, t_s: f64) -> f64 {
        let dt = t_s - self.curve.k_s;
        self.c * dt * dt * dt + self.curve.w_max
    }

    /// Equations 3 to 5 for `acked` segments.
    #[inline]
    fn grow_avoidance(&mut self, now: Time, acked: f64, srtt: Span) {
        let below = self.curve.w_est < self.curve.cwnd_prior;
        let alpha = if below { self.alpha_friendly } else { 1.0 };
        // An ACK for more than a window ends a silence of the receiver, not several rounds of the
        // sender.
        let share = (acked / self.cwnd).min(1.0);
        self.curve.w_est += alpha * share;
        let t_s = now.since(self.curve.start).as_secs_f64();
        self.curve.reno = self.w_cubic(t_s) < self.curve.w_est;
        if self.curve.reno {
            self.cwnd = self.cwnd.max(self.curve.w_est);
        } else {
            let ahead = self.w_cubic(t_s + srtt.as_secs_f64());
            let target = ahead.clamp(self.cwnd, MAX_GROWTH * self.cwnd);
            self.cwnd += (target - self.cwnd) * share;
        }
    }

    /// What equation 6 keeps, before its floors.
    fn kept(&self, flight_bytes: u64, beta: f64) -> f64 {
        let flight = flight_bytes as f64 / self.mss();
        beta * if self.cold.params.reduce_from_cwnd { self.cwnd } else { flight }
    }

    fn remember(&mut self) {
        let undo = Undo { cwnd: self.cwnd, ssthresh: self.ssthresh, curve: self.curve };
        self.cold.undo = Some(undo);
    }

    /// The first slow start is over: later ones are standard, as RFC 9406 asks.
    fn end_search(&mut self) {
        self.cold.slow_start.after_congestion(self.cold.params.abc_l);
    }

    /// Equation 6 as Linux counts (cubictcp_recalc_ssthresh).
    fn on_congestion_linux(&mut self, beta: f64) {
        let give_way = self.cold.params.fast_convergence;
        if let Some(ticks) = &mut self.cold.ticks {
            let ssthresh = f64::from(ticks.on_congestion(self.cwnd as u32, give_way));
            // ABE keeps more of the window than the curve knows of.
            let milder = beta > self.cold.params.beta;
            self.ssthresh = if milder { libm::floor(beta * self.cwnd) } else { ssthresh };
            self.cwnd = self.cwnd.min(self.ssthresh);
        }
    }
}

impl Controller for Cubic {
    #[inline]
    fn limits(&self) -> Limits {
        Limits::window((self.cwnd * self.mss()) as u64)
    }
    fn traits(&self) -> Traits {
        Traits {
            wants_rate: false,
            edits_headers: false,
            limits_change_on_send: false,
            ..Traits::default()
        }
    }

    #[inline]
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        let too_long = self.idle_restart.on_sent(now, sent.after_idle);
        if sent.after_idle {
            self.curve.start += now.since(self.last_ack);
            if let Some(ticks) = &mut self.cold.ticks {
                ticks.on_idle(now.since(self.last_ack));
            }
            self.last_ack = now;
            if too_long {
                self.cwnd = self.cwnd.min(self.cold.restart);
                self.curve.begun = false;
            }
        }
        Tag(0)
    }

    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        if ack.rtt_sample.is_some() {
            self.idle_restart.on_rtt(&ack.rtt);
        }
        let since_last = now.since(self.last_ack);
        self.last_ack = now;
        // RFC 3168 section 6.1.2: no growth on an ACK that echoes congestion.
        if ack.in_recovery || ack.ecn_echo {
            return;
        }
        if self.linux_counting {
            self.grow_linux(now, ack);
        } else if self.in_slow_start() {
            self.grow_slow_start(now, ack);
        } else if !ack.cwnd_limited {
            self.curve.start += since_last;
        } else if ack.acked_bytes > 0 {
            if !self.curve.begun {
                self.end_search();
                self.begin_epoch(now);
            }
            // Without a sample there is nothing to look ahead by: the curve is taken as of now.
            let srtt = ack.rtt.srtt.unwrap_or(Span::ZERO);
            self.grow_avoidance(now, ack.acked_bytes as f64 / self.mss(), srtt);
        }
        if self.cwnd * self.mss() > MAX_CWND_BYTES {
            self.cwnd = MAX_CWND_BYTES / self.mss();
        }
    }

    fn on_congestion(&mut self, _now: Time, event: &Congestion) {
        let Params { beta, fast_convergence, abe, reduce_again, .. } = self.cold.params;
        if event.cause == CongestionCause::LostRetransmission && !reduce_again {
            return;
        }
        self.remember();
        // FlightSize still counts the flight of an earlier reduction, or of a spurious timeout.
        let flight_bytes = event.flight_size_bytes.min(self.limits().cwnd_bytes);
        let (beta, floor) = match event.cause {
            CongestionCause::Loss | CongestionCause::LostRetransmission => (beta, MIN_SSTHRESH),
            CongestionCause::Ecn => (if abe { BETA_ABE } else { beta }, 1.0),
        };
        if self.linux_counting {
            self.on_congestion_linux(beta);
            return self.end_search();
        }
        let give_way = fast_convergence && self.cwnd < self.curve.w_max;
        self.curve.w_max = if give_way { self.cwnd * (1.0 + beta) / 2.0 } else { self.cwnd };
        self.curve.cwnd_prior = self.cwnd;
        self.curve.begun = false;
        self.curve.fresh = false;
        let kept = self.kept(flight_bytes, beta);
        self.ssthresh = kept.max(MIN_SSTHRESH);
        self.cwnd = self.cwnd.min(kept.max(floor));
        self.end_search();
    }

    fn on_recovered(&mut self, _now: Time, end: &Recovered) {
        // The window has stood still at ssthresh since the congestion event; RFC 6582 step 3 may
        // ask for less.
        if let Some(cap_bytes) = end.cwnd_cap_bytes {
            self.cwnd = self.cwnd.min(cap_bytes as f64 / self.mss()).max(1.0);
        }
    }

    fn on_rto(&mut self, _now: Time, timeout: &Timeout) {
        if timeout.first {
            self.remember();
            let kept = self.kept(timeout.flight_size_bytes, self.cold.params.beta);
            self.ssthresh = kept.max(MIN_SSTHRESH);
            if self.linux_counting {
                self.ssthresh = libm::floor(self.ssthresh);
            }
        }
        if let Some(ticks) = &mut self.cold.ticks {
            ticks.on_rto();
        }
        self.cwnd = 1.0;
        self.curve.begun = false;
        self.curve.fresh = true;
        self.cold.slow_start.after_timeout(self.cold.params.abc_l);
    }

    fn on_spurious(&mut self, _now: Time) {
        if let Some(undo) = self.cold.undo.take() {
            self.cwnd = self.cwnd.max(undo.cwnd);
            self.ssthresh = self.ssthresh.max(undo.ssthresh);
            self.curve = undo.curve;
        }
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.ssthresh.is_finite().then_some((self.ssthresh * self.mss()) as u64)
    }

    fn phase(&self) -> &'static str {
        match () {
            () if self.in_slow_start() => self.cold.slow_start.phase(),
            () if self.curve.begun && self.curve.reno => "reno-friendly",
            () if self.cwnd < self.curve.w_max => "concave",
            () => "convex",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{MSS, Pipe, ack, congestion, init, ms, sent};

    const NOW: Time = Time::from_secs(1);

    fn lone() -> Params {
        // RFC 9438 section 4.7: a flow that is alone does better without fast convergence.
        Params { fast_convergence: false, ..Params::default() }
    }
    fn cubic(params: &Params, segments: u64) -> Cubic {
        Cubic::new(params, init(segments))
    }
    fn loss(cubic: &mut Cubic, flight: f64) {
        cubic.on_congestion(NOW, &congestion(CongestionCause::Loss, flight));
    }
    /// Just after a loss at `w_max` segments, on a path that is always full.
    fn after_loss(params: &Params, w_max: u64, rtt: Span) -> Pipe<Cubic> {
        let mut pipe = Pipe::new(cubic(params, w_max), rtt);
        pipe.lose();
        pipe
    }
    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!((value / expected - 1.0).abs() <= tolerance, "{value} against {expected}");
    }

    /// Points of W_cubic(t), t in seconds, for C = 0.4 and beta = 0.7.
    const CURVE_100: [(f64, f64); 9] = [
        (0.5, 79.456),
        (1.0, 86.681),
        (2.0, 95.640),
        (3.0, 99.279),
        (4.0, 99.996),
        (5.0, 100.192),
        (6.0, 102.267),
        (8.0, 121.653),
        (10.0, 177.354),
    ];
    const CURVE_1000: [(f64, f64); 4] =
        [(1.0, 788.555), (2.0, 857.705), (5.0, 972.721), (10.0, 1000.306)];

    #[test]
    fn k_and_the_curve_have_the_values_of_equations_1_and_2() {
        for (w_max, k_s, points) in [(100, 4.2172, &CURVE_100[..]), (1000, 9.0856, &CURVE_1000[..])]
        {
            let mut cubic = cubic(&Params::default(), w_max);
            loss(&mut cubic, w_max as f64);
            cubic.begin_epoch(NOW);
            close(cubic.curve.k_s, k_s, 1e-5);
            for &(t_s, w) in points {
                close(cubic.w_cubic(t_s), w, 1e-5);
            }
        }
    }

    #[test]
    fn the_window_follows_the_curve() {
        // At 200 ms the Reno window stays below the curve. The target is one round trip ahead and
        // reached one round trip late: the first-order lag leaves W'' RTT^2 / 2 - W''' RTT^3 / 3,
        // and no more as the curve is cubic. ACKs are RTT / W apart: one interval because the
        // window is read at the first ACK after t, one because an ACK acts for the interval before
        // it.
        let (rtt_s, k_s) = (0.2, 4.2172);
        let mut pipe = after_loss(&lone(), 100, ms(200));
        pipe.ack();
        let start = pipe.controller.curve.start;
        for (t_s, w) in CURVE_100 {
            while pipe.now.since(start).as_secs_f64() < t_s {
                pipe.ack();
            }
            let (slope, bend) = (1.2 * (t_s - k_s) * (t_s - k_s), 2.4 * (t_s - k_s).abs());
            let lag = bend * rtt_s * rtt_s / 2.0 + 2.4 * rtt_s * rtt_s * rtt_s / 3.0;
            let bound = lag + 2.0 * slope * rtt_s / w;
            let error = (pipe.window() - w).abs();
            assert!(error < bound + 0.001, "{} at {t_s} s, not {w} +- {bound}", pipe.window());
        }
    }

    #[test]
    fn a_pipe_that_overflows_at_w_gives_period_k_and_mean_0_925_w() {
        let mut pipe = after_loss(&lone(), 1000, ms(100));
        let start = pipe.now;
        for _ in 0..5 {
            while !pipe.controller.curve.begun || pipe.controller.cwnd < pipe.controller.curve.w_max
            {
                pipe.ack();
            }
            pipe.lose();
        }
        let elapsed_s = pipe.now.since(start).as_secs_f64();
        close(elapsed_s / 5.0, 9.0856, 0.01);
        close(pipe.acked as f64 * 0.1 / elapsed_s, 925.0, 0.01);
    }

    #[test]
    fn deterministic_loss_gives_the_response_function() {
        // RFC 9438 section 5.1 with C = 0.4, beta = 0.7: W = 1.054 (RTT / p)^(3/4), the maximum is
        // W / 0.925. The curve is flat there, so that a cycle hardly corrects the maximum: it has
        // to be right from the start.
        for (interval, law) in [(100_000, 1053.8), (10_000, 187.4)] {
            let mut pipe = after_loss(&lone(), (law / 0.925) as u64, ms(100));
            close(pipe.mean_window_at_loss_interval(interval), law, 0.01);
        }
    }

    #[test]
    fn small_windows_match_the_response_of_reno() {
        // RFC 9438 section 5.1, p = 1e-3: 38, the window of AIMD, sqrt(3 / (2 p)) = 38.7. At 10 ms
        // the cubic is below it all the time; at 100 ms its steep start would add 3 %.
        let mut pipe = after_loss(&lone(), 40, ms(10));
        close(pipe.mean_window_at_loss_interval(1000), 38.7, 0.02);
    }

    #[test]
    fn the_reno_region_ends_where_the_laws_cross() {
        // sqrt(3 / (2 p)) = 1.054 (RTT / p)^(3/4) at p = 0.549 RTT^3, W = 1.654 / RTT^1.5: 585
        // segments at 20 ms. Four times that p: AIMD, 292 segments; a quarter of it: the cubic,
        // 1653 segments (AIMD would have 1169).
        let boundary = 1.0 / (0.549 * 0.02f64 * 0.02 * 0.02);
        let mut below = after_loss(&lone(), 300, ms(20));
        close(below.mean_window_at_loss_interval((boundary / 4.0) as u64), 292.3, 0.02);
        let mut above = after_loss(&lone(), (1653.0 / 0.925) as u64, ms(20));
        close(above.mean_window_at_loss_interval((boundary * 4.0) as u64), 1653.0, 0.02);
    }

    #[test]
    fn alpha_rises_to_one_once_the_old_window_is_reached() {
        let mut pipe = after_loss(&lone(), 10, ms(10));
        let mut seen = (false, false);
        while pipe.window() < 15.0 {
            let (before, w_est) = (pipe.controller.cwnd, pipe.controller.curve.w_est);
            pipe.ack();
            if pipe.controller.curve.w_est > w_est && w_est > 0.0 {
                let alpha = (pipe.controller.curve.w_est - w_est) * before;
                // 3 x 0.3 / 1.7 below cwnd_prior = 10.
                close(alpha, if w_est < 10.0 { 0.529412 } else { 1.0 }, 1e-5);
                if w_est < 10.0 { seen.0 = true } else { seen.1 = true }
            }
        }
        assert_eq!((seen, pipe.controller.phase()), ((true, true), "reno-friendly"));
    }

    #[test]
    fn the_target_is_never_beyond_half_as_much_again() {
        let mut cubic = cubic(&Params::default(), 100);
        loss(&mut cubic, 100.0);
        cubic.on_ack(NOW, &ack(MSS));
        let before = cubic.cwnd;
        cubic.on_ack(NOW + Span::from_secs(1000), &ack(MSS));
        // (1.5 cwnd - cwnd) / cwnd for one segment.
        close(cubic.cwnd - before, 0.5, 1e-9);
        cubic.on_ack(NOW + Span::from_secs(2000), &ack(1_000_000 * MSS));
        close(cubic.cwnd, 1.5 * (before + 0.5), 1e-9);
    }

    #[test]
    fn the_window_never_falls_in_growth() {
        // At 100 ms the Reno window overtakes the curve after 5.7 s, a little below the window that
        // follows the curve.
        let mut pipe = after_loss(&lone(), 100, ms(100));
        let mut regions = [0; 2];
        while pipe.now < NOW + Span::from_secs(12) {
            let before = pipe.controller.cwnd;
            pipe.ack();
            assert!(pipe.controller.cwnd >= before, "{:?}", pipe.now);
            regions[usize::from(pipe.controller.curve.reno)] += 1;
        }
        assert!(regions[0] > 1000 && regions[1] > 1000, "{regions:?}");
    }

    #[test]
    fn an_epoch_above_the_old_maximum_begins_convex() {
        let mut cubic = cubic(&Params::default(), 3);
        loss(&mut cubic, 3.0);
        // Fast convergence: 0.85 x 2.1 segments, below the smallest window.
        loss(&mut cubic, 2.0);
        close(cubic.curve.w_max, 0.85 * 2.1, 1e-9);
        cubic.on_ack(NOW, &ack(MSS));
        assert_eq!((cubic.curve.k_s, cubic.curve.w_max), (0.0, 2.0));
    }

    #[test]
    fn no_growth_without_need_in_recovery_on_echo_or_on_duplicates() {
        let mut avoiding = cubic(&Params::default(), 100);
        loss(&mut avoiding, 100.0);
        for mut cubic in [cubic(&Params::default(), 100), avoiding] {
            let (before, base) = (cubic.cwnd, ack(MSS));
            cubic.on_ack(NOW, &Ack { cwnd_limited: false, ..base });
            cubic.on_ack(NOW, &Ack { in_recovery: true, ..base });
            cubic.on_ack(NOW, &Ack { ecn_echo: true, ..base });
            cubic.on_ack(NOW, &Ack { acked_bytes: 0, duplicate: true, ..base });
            assert_eq!(cubic.cwnd, before);
            cubic.on_ack(NOW, &base);
            assert!(cubic.cwnd > before);
        }
    }

    #[test]
    fn slow_start_stops_at_ssthresh_and_is_standard_after_the_first_loss() {
        let mut cubic = cubic(&Params::default(), 20);
        loss(&mut cubic, 20.0);
        cubic.on_recovered(NOW, &Recovered { cwnd_cap_bytes: Some(0) });
        assert_eq!((cubic.cwnd, cubic.ssthresh), (1.0, 14.0));
        cubic.on_ack(NOW, &ack(8 * MSS));
        assert_eq!(cubic.cwnd, 2.0, "HyStart++ would add eight");
        cubic.cwnd = 13.5;
        cubic.on_ack(NOW, &ack(MSS));
        assert_eq!(cubic.cwnd, 14.0);
    }

    #[test]
    fn congestion_never_raises_the_window() {
        let mut cubic = cubic(&Params::default(), 32);
        cubic.on_rto(NOW, &Timeout { flight_size_bytes: 32 * MSS, first: true });
        loss(&mut cubic, 32.0);
        assert_eq!(cubic.cwnd, 1.0);
    }

    #[test]
    fn fast_convergence_aims_lower_only_below_the_last_maximum() {
        for (fast_convergence, second, w_max) in
            [(true, 80, 68.0), (false, 80, 80.0), (true, 120, 120.0)]
        {
            let mut cubic = cubic(&Params { fast_convergence, ..Params::default() }, 100);
            loss(&mut cubic, 100.0);
            assert_eq!(cubic.curve.w_max, 100.0);
            cubic.cwnd = f64::from(second);
            loss(&mut cubic, f64::from(second));
            close(cubic.curve.w_max, w_max, 1e-12);
        }
    }

    #[test]
    fn time_that_the_application_wastes_does_not_count() {
        for idle in [false, true] {
            let mut pipe = after_loss(&lone(), 100, ms(100));
            while pipe.now < NOW + Span::from_secs(2) {
                pipe.ack();
            }
            let elapsed = pipe.now.since(pipe.controller.curve.start);
            let before = pipe.controller.cwnd;
            let later = pipe.now + ms(900);
            if idle {
                pipe.controller.on_sent(later, &sent(true));
            } else {
                for step_ms in [100, 500, 900] {
                    let unused = Ack { cwnd_limited: false, ..ack(MSS) };
                    pipe.controller.on_ack(pipe.now + ms(step_ms), &unused);
                }
            }
            assert_eq!(pipe.controller.cwnd, before);
            assert_eq!(later.since(pipe.controller.curve.start), elapsed, "idle: {idle}");
            // From here on nothing but the time since then is left out.
            let unused = Ack { cwnd_limited: false, ..ack(MSS) };
            pipe.controller.on_ack(later + ms(100), &unused);
            assert_eq!((later + ms(100)).since(pipe.controller.curve.start), elapsed);
        }
    }

    #[test]
    fn a_long_silence_restarts_from_the_initial_window() {
        let mut cubic = cubic(&Params::default(), 10);
        cubic.cwnd = 50.0;
        loss(&mut cubic, 50.0);
        cubic.on_sent(NOW, &sent(true));
        cubic.on_ack(NOW, &ack(MSS));
        assert!(cubic.curve.begun);
        cubic.on_sent(NOW + ms(1001), &sent(true));
        assert_eq!((cubic.limits().cwnd_bytes, cubic.ssthresh), (10 * MSS, 35.0));
        assert!(!cubic.curve.begun, "the epoch begins anew after slow start");
    }

    #[test]
    fn after_a_timeout_the_curve_begins_convex() {
        let mut cubic = cubic(&Params::default(), 100);
        loss(&mut cubic, 100.0);
        cubic.on_rto(NOW, &Timeout { flight_size_bytes: 70 * MSS, first: true });
        cubic.on_rto(NOW, &Timeout { flight_size_bytes: MSS, first: false });
        assert_eq!((cubic.cwnd, cubic.ssthresh), (1.0, 49.0));
        (0..49).for_each(|_| cubic.on_ack(NOW, &ack(MSS)));
        assert_eq!((cubic.curve.k_s, cubic.curve.w_max, cubic.curve.cwnd_prior), (0.0, 49.0, 49.0));
    }

    #[test]
    fn hystart_ends_slow_start_without_loss_and_the_curve_begins_convex() {
        // A queue that grows with the window beyond 100 segments: RTT = window x 1 ms.
        let mut pipe = Pipe::new(cubic(&Params::default(), 10), ms(100));
        while pipe.controller.ssthresh.is_infinite() {
            pipe.rtt = ms(100).max(Span::from_secs_f64(pipe.window() * 1e-3));
            pipe.ack();
            assert!(pipe.window() < 1000.0, "slow start did not end");
        }
        let exit = pipe.window();
        pipe.ack();
        assert_eq!(pipe.controller.curve.k_s, 0.0);
        close(pipe.controller.curve.w_max, exit, 1e-12);
    }

    #[test]
    fn ecn_may_go_down_to_one_segment_and_loss_to_two() {
        let ecn = |cubic: &mut Cubic, flight| {
            cubic.on_congestion(NOW, &congestion(CongestionCause::Ecn, flight));
        };
        let mut small = cubic(&Params::default(), 2);
        ecn(&mut small, 1.0);
        assert_eq!((small.cwnd, small.ssthresh), (1.0, 2.0));
        let mut small = cubic(&Params::default(), 3);
        loss(&mut small, 1.0);
        assert_eq!((small.cwnd, small.ssthresh), (2.0, 2.0));
        for (abe, kept) in [(false, 70.0), (true, 85.0)] {
            let mut cubic = cubic(&Params { abe, ..Params::default() }, 100);
            ecn(&mut cubic, 100.0);
            close(cubic.cwnd, kept, 1e-12);
        }
    }

    #[test]
    fn the_flight_or_on_request_the_window_decides() {
        for (reduce_from_cwnd, kept) in [(false, 28.0), (true, 70.0)] {
            let mut cubic = cubic(&Params { reduce_from_cwnd, ..Params::default() }, 100);
            loss(&mut cubic, 40.0);
            close(cubic.cwnd, kept, 1e-12);
            assert_eq!(cubic.curve.w_max, 100.0);
        }
    }

    #[test]
    fn a_lost_retransmission_reduces_once_more() {
        let mut cubic = cubic(&Params::default(), 100);
        loss(&mut cubic, 100.0);
        cubic.on_congestion(NOW, &congestion(CongestionCause::LostRetransmission, 100.0));
        close(cubic.cwnd, 49.0, 1e-12);
    }

    #[test]
    fn a_spurious_loss_gives_the_curve_back() {
        let mut pipe = after_loss(&lone(), 100, ms(100));
        (0..500).for_each(|_| pipe.ack());
        let before = pipe.controller.clone();
        pipe.lose();
        pipe.controller.on_spurious(pipe.now);
        let after = &pipe.controller;
        assert_eq!((after.cwnd, after.ssthresh), (before.cwnd, before.ssthresh));
        assert_eq!((after.curve.k_s, after.curve.start), (before.curve.k_s, before.curve.start));
        assert_eq!(
            (after.curve.w_max, after.curve.w_est),
            (before.curve.w_max, before.curve.w_est)
        );
        assert!(after.curve.begun);
    }

    #[test]
    fn a_flow_needs_two_cache_lines() {
        assert!(size_of::<Cubic>() <= 128, "{}", size_of::<Cubic>());
    }
}

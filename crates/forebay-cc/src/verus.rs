//! Verus: Zaki, Poetsch, Chen, Subramanian and Goerg, "Adaptive Congestion Control for
//! Unpredictable Cellular Networks", SIGCOMM 2015 (doi:10.1145/2785956.2787498), and the authors'
//! code of 2017.
//!
//! The sender learns which delay follows from which window (`verus/profile.rs`), and moves a set
//! point on that curve every epoch of 5 ms. W is the window in packets, F what is in flight, D the
//! delay of a packet, from its departure to its ACK, w_p the window under which it left, all times
//! in ms. Every packet is acknowledged.
//!
//! 1. per epoch `D_max <- alpha D_max + (1 - alpha) max(D)` over the delays of the epoch; without
//!    one the time since the last ACK, if that is more than D_max (eq. 2). `dD` is what D_max has
//!    grown by (eq. 3);
//! 2. set point: `D_est -= delta_up` if `D_max > R D_min`; else `D_est -= delta_down` if `dD > 0`;
//!    else `D_est += delta_up`; D_min at least, the top of the profile at most (eq. 4);
//! 3. `W = f^-1(D_est)`, f the profile (eq. 1);
//! 4. `S = max(0, W - F (n - 2) / (n - 1))` packets leave in the epoch, `n = ceil(D_rtt / epoch)`,
//!    `S = W - F` for n = 1; D_rtt the mean of D with a gain of 1/8 (eq. 5). None where 2 has come
//!    down to D_min and two packets are in flight;
//! 5. slow start: one packet more per ACK, until a loss, or a delay above 15 D_min or 500 ms
//!    (section 4.4). Then `W = M w_p`, the first fit of the profile, `D_est = f(W)`;
//! 6. a loss: `W = M w_p`, `D_est = f(W)` (eq. 6); the profile learns nothing until a packet that
//!    left under at most W is acknowledged. Meanwhile `W += 1 / W` with each (section 4.5);
//! 7. a packet is lost if it is missing `3 srtt` after a later one has arrived (section 5.2). An
//!    ACK that is late without a gap is a delay. After a timeout nothing leaves but what the timer
//!    sends again, until an ACK comes;
//! 8. the profile is fitted every second.
//!
//! What the preset `recommended` changes, each by a key of its own: windows that were not used for
//! a second follow the rate of the path, and the profile is fitted each round trip while the set
//! point is at its top (`follow_rate`); S is spread over the epoch, and at most `max(10, 2 W / n)`,
//! and where n is 2 or less ACKs clock what leaves, up to W (`pacing`); W and S keep their
//! fractions, and the set point goes in steps of a quarter of `(R - 1) D_min` at most
//! (`fractional`); D_min is measured anew with two packets in flight where D_max stays above
//! `1.25 D_min` for 10 s, or the delay has jumped (`refresh`, `verus/refresh.rs`); slow start ends
//! with HyStart++, or eight delays in a row above `R D_min` (`slow_start`); where packets are lost
//! at delays below `R D_min`, the buffer is shallow, and W is at most a window of CUBIC
//! (`loss_bound`, `verus/bound.rs`). Without a key: a missing packet is waited for `srtt / 4` in
//! rule 7, longer after DSACKs.
//!
//! Differs from the paper in: F in 4 is what is in flight, not the last window, as in the authors'
//! code: with the paper's words the loop is open. The set point of `R D_min` and above is D_min at
//! least, too. f is isotonic and has an inverse; the paper interpolates by a spline that may fall.
//! Slow start ends at 500 ms, too, as in the authors' code. A flow whose application has nothing to
//! send does not raise D_est, and teaches the profile nothing; nor does a packet that left under
//! another window than W (a drain). The unused allowance of an epoch does not carry over to the
//! next one. Timeouts (RFC 6298, backed off), tail loss probes (RFC 8985) and retransmissions are
//! the transport's.
//!
//! `authors` tests D_max against R one epoch late, ends slow start at 500 ms alone, and not by a
//! loss that leaves 20 packets or fewer, forgets then what large windows did, raises D_min by 10 ms
//! where it holds the window down, and waits 150 ms for each missing packet in rule 7. Not taken
//! over from the authors' code: its smoothing spline, for which f stands; a new slow start where
//! that spline has no window for D_est; its timeout of `5 D`, 150 ms to 1 s; no retransmission.
//!
//! It hurts against other schemes in deep buffers, where several flows with R = 4 or more share
//! one, where flows have different round trips, on steady links, where others have as much
//! throughput with less queue, and on an uplink that an ACK per packet fills.

mod bound;
mod profile;
mod refresh;
mod rules;
mod series;

pub use rules::{Params, Preset, SlowStartEnd};

use crate::controller::{
    Ack, AckPolicy, Congestion, Controller, Delivered, Init, Limits, Loss, LossPolicy,
    RecoveryOwner, Sent, SeriesSample, Tag, Timeout, Traits,
};
use crate::hystart::{SlowStart, SlowStartKind};
use alloc::boxed::Box;
use alloc::vec::Vec;
use bound::{AtLoss, Bound};
use forebay_base::{Rate, Rng, Span, Time};
use profile::{MIN_POINTS, Profile};
use refresh::{Known, MinDelayProbe};
use rules::Rules;

/// Rule 5.
const LATE_FACTOR: f64 = 15.0;
const LATE_MS: f64 = 500.0;
/// Where it ends early: delays in a row, as many as HyStart++ takes for a sample.
const LATE_SAMPLES: u32 = 8;
/// Gain of D_rtt.
const RTT_GAIN: f64 = 0.125;
/// Growth of D_max that counts as one, in ms (authors' code).
const GROWTH_MS: f64 = 1e-4;
/// Epochs that a late timer makes up for.
const MAX_EPOCHS: u32 = 4;
/// The largest share of a window in an epoch that is paced, and what is always allowed.
const BURST_SHARE: f64 = 2.0;
const MIN_BURST: f64 = 10.0;
/// Headers of a packet in bytes: IPv4, TCP and timestamps.
const HEADER_BYTES: u64 = 52;
/// The authors' code: D_min rises by this much where nothing else helps, in ms.
const RATCHET_MS: f64 = 10.0;
/// The authors' code: a loss in slow start leaves the profile of these windows, or of those below
/// the window that lost.
const KEPT_WINDOWS: u64 = 100;
/// The authors' code: a loss that leaves a window up to this many packets does not end slow start.
const TOO_EARLY: f64 = 20.0;
/// Packets in flight that are enough where the set point has come down to D_min.
const BOTTOM: f64 = 2.0;
/// Epochs of a round trip up to which ACKs clock what leaves.
const SHORT: f64 = 2.0;
/// The largest step of the set point, of the queueing delay that is sought.
const STEP_SHARE: f64 = 0.25;

/// Set with w_p in a tag: the profile ignores this packet.
const EXCLUDE_FROM_PROFILE: u64 = 1 << 63;

fn ms(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// The window under which a packet left, in packets.
fn w_p(tag: Tag) -> f64 {
    (tag.0 & !EXCLUDE_FROM_PROFILE) as f64
}

/// The sender of one path.
#[derive(Clone, Debug)]
pub struct Verus {
    state: Box<State>,
}

#[derive(Clone, Debug)]
struct State {
    rules: Rules,
    init: Init,
    /// W, in packets.
    window: f64,
    in_flight_bytes: u64,
    /// What is left of S, and the part of a packet that was cut off.
    credits: u64,
    carry: f64,
    /// Two epochs or fewer make a round trip: what W lets be in flight.
    clocked: Option<f64>,
    pacing_rate: Option<Rate>,
    /// Rule 5; None once it is over.
    slow_start: Option<SlowStart>,
    /// Delays in a row that are too long for it.
    late: u32,
    /// Rule 6.
    recovering: bool,
    /// Rule 7: the timer has expired, and no ACK has come since.
    silent: bool,
    /// The application had less to send in the last epoch than was allowed, by half.
    idle: bool,
    /// When the next epoch begins, unless nothing asks for one.
    next_epoch: Time,
    next_fit: Time,
    fitted_at: Time,
    /// The set point is at the top of the profile.
    at_top: bool,
    last_ack: Time,
    /// Delays of this epoch.
    delays_ms: Vec<f64>,
    d_max_ms: Option<f64>,
    d_min_ms: f64,
    d_est_ms: f64,
    d_rtt_ms: f64,
    profile: Profile,
    refresh: MinDelayProbe,
    /// Where the buffer is shallow.
    bound: Option<Bound>,
}

impl Verus {
    /// A sender in slow start.
    pub fn new(params: &Params, init: Init) -> Verus {
        let rules = params.rules();
        let mut rng: Rng = init.rng.clone();
        let window = match params.preset {
            Preset::Recommended => init.initial_window_bytes as f64 / f64::from(init.mss_bytes),
            Preset::Paper | Preset::Authors => 1.0,
        };
        let kind = match rules.slow_start {
            SlowStartEnd::Early => SlowStartKind::HystartPlusPlus,
            SlowStartEnd::Late => SlowStartKind::Standard,
        };
        let slow_start = SlowStart::new(kind, 1, init.mss_bytes, false);
        // Flows that start together do not step together.
        let first = Span::from_secs_f64(rules.epoch.as_secs_f64() * rng.unit());
        Verus {
            state: Box::new(State {
                window: window.max(1.0),
                in_flight_bytes: 0,
                credits: 0,
                carry: 0.0,
                clocked: None,
                pacing_rate: None,
                slow_start: Some(slow_start),
                late: 0,
                recovering: false,
                silent: false,
                idle: false,
                next_epoch: Time::ZERO + first,
                next_fit: Time::ZERO,
                fitted_at: Time::ZERO,
                at_top: false,
                last_ack: Time::ZERO,
                delays_ms: Vec::new(),
                d_max_ms: None,
                d_min_ms: f64::INFINITY,
                d_est_ms: 0.0,
                d_rtt_ms: 0.0,
                profile: Profile::new(rules.profile_cap, rules.follow_rate),
                refresh: MinDelayProbe::new(rng),
                bound: rules.loss_bound.then(|| Bound::new(init.clone())),
                rules,
                init,
            }),
        }
    }
}

impl State {
    fn mss_bytes(&self) -> f64 {
        f64::from(self.init.mss_bytes)
    }
    /// The label of a packet that leaves now: its window. Where that is not the one in force, or
    /// the application has less to send, its delay says nothing of the window.
    fn tag(&self) -> Tag {
        let other = self.refresh.is_draining() || self.idle;
        Tag(self.window as u64 | if other { EXCLUDE_FROM_PROFILE } else { 0 })
    }
    /// F, in packets.
    fn in_flight(&self) -> f64 {
        self.in_flight_bytes as f64 / self.mss_bytes()
    }
    /// The delay up to which the set point may rise.
    fn ceiling_ms(&self) -> f64 {
        let Rules { r, queue_ms, .. } = self.rules;
        if queue_ms > 0.0 { self.d_min_ms + (r - 1.0) * queue_ms } else { r * self.d_min_ms }
    }

    /// delta_down and delta_up, with `fractional` at most a share of the queue that is sought.
    fn steps_ms(&self) -> (f64, f64) {
        let Rules { down_ms, up_ms, fractional, .. } = self.rules;
        let most_ms = STEP_SHARE * (self.ceiling_ms() - self.d_min_ms);
        if fractional { (down_ms.min(most_ms), up_ms.min(most_ms)) } else { (down_ms, up_ms) }
    }

    /// Rule 8.
    fn fit(&mut self, now: Time) {
        if self.d_min_ms.is_finite() {
            self.profile.fit(now, self.d_min_ms, self.d_rtt_ms);
        }
        self.fitted_at = now;
        self.next_fit = now + self.rules.update.unwrap_or(Span::MAX);
    }

    /// Slow start is over, and the window is this. Before the first delay there is nothing to steer
    /// by, and it goes on.
    fn leave_slow_start(&mut self, now: Time, window: f64) {
        self.set_window(window);
        if self.d_min_ms.is_infinite() {
            return;
        }
        self.slow_start = None;
        self.fit(now);
        self.d_est_ms = self.profile.delay_ms(self.window).max(self.d_min_ms);
        self.refresh.begin(now);
        self.align(now);
    }

    /// Skips epochs that ended without a timer.
    fn align(&mut self, now: Time) {
        let epoch = self.rules.epoch.as_nanos();
        if self.next_epoch <= now {
            let whole = now.since(self.next_epoch).as_nanos() / epoch;
            self.next_epoch += self.rules.epoch * (whole + 1);
        }
    }

    fn set_window(&mut self, window: f64) {
        let most = Limits::MAX_CWND_BYTES as f64 / self.mss_bytes();
        self.window = window.clamp(1.0, most.max(1.0));
    }

    /// Rule 6.
    fn on_loss(&mut self, now: Time, w_p: f64) {
        if self.recovering {
            return;
        }
        let window = self.window.min(self.rules.m * w_p);
        if self.slow_start.is_some() && self.rules.authors && window <= TOO_EARLY {
            return self.set_window(window);
        }
        self.recovering = true;
        if self.slow_start.is_some() {
            if self.rules.authors {
                self.profile.forget_from((w_p as u64).max(KEPT_WINDOWS));
            }
            self.leave_slow_start(now, window);
        } else {
            self.set_window(window);
            self.d_est_ms = self.profile.delay_ms(self.window).max(self.d_min_ms);
        }
    }

    /// A packet came back.
    fn on_delay(&mut self, now: Time, packet: &Delivered, sample: Span) {
        let (Delivered { tag, sent_at, .. }, delay_ms) = (*packet, ms(sample));
        let w_p = w_p(tag);
        self.last_ack = now;
        self.d_rtt_ms = if self.d_rtt_ms > 0.0 {
            self.d_rtt_ms + RTT_GAIN * (delay_ms - self.d_rtt_ms)
        } else {
            delay_ms
        };
        let known = Known { d_min_ms: self.d_min_ms, ceiling_ms: self.ceiling_ms() };
        self.refresh.on_delay(now, sent_at, &known, delay_ms);
        self.d_min_ms = self.d_min_ms.min(delay_ms);
        if self.recovering && w_p <= self.window {
            self.recovering = false;
            self.delays_ms.clear();
        }
        self.delays_ms.push(delay_ms);
        if self.recovering {
            self.set_window(self.window + 1.0 / self.window);
            self.d_est_ms = self.d_est_ms.min(self.profile.delay_ms(self.window));
        } else if tag.0 & EXCLUDE_FROM_PROFILE == 0 {
            self.profile.add(now, w_p as u64, delay_ms);
        }
        let (late_ms, enough) = match self.rules.slow_start {
            SlowStartEnd::Early => (self.ceiling_ms(), LATE_SAMPLES),
            SlowStartEnd::Late if self.rules.authors => (LATE_MS, 1),
            SlowStartEnd::Late => (LATE_FACTOR * self.d_min_ms, 1),
        };
        self.late = if delay_ms > late_ms.min(LATE_MS) { self.late + 1 } else { 0 };
        if self.slow_start.is_some() && self.late >= enough {
            self.recovering = true;
            self.leave_slow_start(now, self.rules.m * w_p);
        }
    }

    /// The delay of this epoch (rule 1).
    fn epoch_delay_ms(&mut self, now: Time) -> f64 {
        let silence_ms = ms(now.since(self.last_ack));
        let Some(last) = self.delays_ms.len().checked_sub(1) else {
            return self.d_max_ms.unwrap_or(0.0).max(silence_ms);
        };
        let at = (libm::ceil(self.rules.quantile * (last + 1) as f64) as usize).max(1) - 1;
        let (_, delay_ms, _) = self.delays_ms.select_nth_unstable_by(at.min(last), f64::total_cmp);
        *delay_ms
    }

    /// Rules 1 and 2. True if nothing may leave in this epoch.
    fn move_set_point(&mut self, now: Time) -> bool {
        let delay_ms = self.epoch_delay_ms(now);
        self.delays_ms.clear();
        let before_ms = self.d_max_ms.unwrap_or(delay_ms);
        let Rules { alpha, authors, .. } = self.rules;
        let (down_ms, up_ms) = self.steps_ms();
        let d_max_ms = alpha * before_ms + (1.0 - alpha) * delay_ms;
        self.d_max_ms = Some(d_max_ms);
        self.idle = self.in_flight() < self.window / 2.0 && self.credits > 0;
        if self.refresh.is_quiet(now) {
            return false;
        }
        let tested_ms = if authors { before_ms } else { d_max_ms };
        let mut hold = false;
        if tested_ms > self.ceiling_ms() {
            self.d_est_ms = (self.d_est_ms - up_ms).max(self.d_min_ms);
            if self.d_est_ms <= self.d_min_ms {
                hold = self.in_flight() >= BOTTOM;
                // A path that is down says nothing of D_min.
                if authors && !hold && !self.is_silent(now) {
                    self.d_min_ms += RATCHET_MS;
                }
            }
        } else if d_max_ms - before_ms > GROWTH_MS {
            self.d_est_ms = (self.d_est_ms - down_ms).max(self.d_min_ms);
        } else if !self.idle {
            self.d_est_ms += up_ms;
        }
        let top_ms = self.profile.delay_ms(self.profile.reach() as f64);
        let highest_ms = top_ms.max(self.d_min_ms + up_ms);
        self.at_top = self.d_est_ms > highest_ms;
        self.d_est_ms = self.d_est_ms.min(highest_ms);
        hold
    }

    fn on_epoch(&mut self, now: Time) {
        // A profile that ends below the set point does not wait for its second.
        let d_rtt = Span::from_secs_f64(self.d_rtt_ms / 1e3);
        let sooner = self.rules.follow_rate && self.at_top && now.since(self.fitted_at) >= d_rtt;
        if (now >= self.next_fit || sooner) && self.rules.update.is_some() {
            self.fit(now);
        }
        let hold = self.move_set_point(now);
        let window = if self.rules.fractional {
            self.profile.exact_window(self.d_est_ms)
        } else {
            self.profile.window(self.d_est_ms) as f64
        };
        self.set_window(window);
        if let Some(most) = self.bound.as_mut().and_then(|bound| bound.on_epoch(now, window)) {
            self.set_window(most);
            let highest_ms = self.profile.delay_ms(most).max(self.d_min_ms) + self.rules.up_ms;
            self.d_est_ms = self.d_est_ms.min(highest_ms);
        }
        if self.rules.refresh {
            let seen = refresh::Epoch {
                d_max_ms: self.d_max_ms.unwrap_or(self.d_min_ms),
                d_min_ms: self.d_min_ms,
                d_rtt_ms: self.d_rtt_ms,
                in_flight: self.in_flight(),
                at_bottom: self.d_est_ms <= self.d_min_ms,
            };
            if let Some(least_ms) = self.refresh.on_epoch(now, &seen) {
                self.d_min_ms = least_ms;
            }
        }
        self.clocked = None;
        if hold || self.silent {
            self.allow_nothing();
        } else {
            self.allow();
        }
    }

    fn allow_nothing(&mut self) {
        (self.credits, self.carry) = (0, 0.0);
    }
    /// Rule 4.
    fn allow(&mut self) {
        let window = if self.refresh.is_draining() { MinDelayProbe::window() } else { self.window };
        let epoch_ms = ms(self.rules.epoch);
        let n = libm::ceil(self.d_rtt_ms / epoch_ms);
        if self.rules.pacing && n <= SHORT {
            self.clocked = Some(window.max(BOTTOM));
        }
        let keep = if n > 1.0 { (n - 2.0) / (n - 1.0) } else { 1.0 };
        let mut packets = (window - self.in_flight() * keep).max(0.0);
        if self.rules.pacing {
            packets = packets.min((BURST_SHARE * window / n.max(1.0)).max(MIN_BURST));
        }
        if self.rules.fractional {
            packets += self.carry;
        }
        self.credits = packets as u64;
        self.carry = packets - self.credits as f64;
        self.pacing_rate = if self.rules.pacing && self.credits > 0 {
            Some(self.rate_of(self.credits as f64, epoch_ms))
        } else {
            None
        };
    }

    /// `packets` in `ms`.
    fn rate_of(&self, packets: f64, ms: f64) -> Rate {
        let bits = packets * (self.mss_bytes() + HEADER_BYTES as f64) * 8.0;
        Rate::clamped((bits * 1e3 / ms) as u64)
    }

    /// Nothing has come back for a round trip: the path is down.
    fn is_silent(&self, now: Time) -> bool {
        ms(now.since(self.last_ack)) > self.d_rtt_ms
    }

    fn on_timer(&mut self, now: Time) {
        if self.slow_start.is_some() {
            return;
        }
        for _ in 0..MAX_EPOCHS {
            if self.next_epoch > now {
                return;
            }
            self.next_epoch += self.rules.epoch;
            self.on_epoch(now);
        }
        self.align(now);
    }

    fn limits(&self) -> Limits {
        let window = |packets: f64| {
            let bytes = (packets * self.mss_bytes()) as u64;
            Limits::window(bytes.clamp(u64::from(self.init.mss_bytes), Limits::MAX_CWND_BYTES))
        };
        if self.slow_start.is_some() {
            return window(self.window);
        }
        if let Some(packets) = self.clocked {
            return window(packets);
        }
        // Credits alone limit; what F may be with them is shown.
        let allowed = (self.in_flight() + self.credits as f64).max(self.window);
        Limits {
            credits: Some(self.credits),
            pacing_rate: self.pacing_rate,
            ..window(allowed + 1.0)
        }
    }
}

impl Controller for Verus {
    fn limits(&self) -> Limits {
        self.state.limits()
    }
    fn traits(&self) -> Traits {
        Traits { wants_packets: true, wants_rate: false, edits_headers: false, ..Traits::default() }
    }

    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        let state = &mut self.state;
        if sent.bytes == 0 {
            return Tag(0);
        }
        if sent.after_idle {
            // The silence was the application's.
            state.last_ack = state.last_ack.max(now);
            state.align(now);
        }
        state.in_flight_bytes = sent.in_flight_bytes;
        state.credits = state.credits.saturating_sub(1);
        if let Some(bound) = &mut state.bound {
            bound.on_sent();
        }
        state.tag()
    }

    fn on_delivered(&mut self, now: Time, packet: &Delivered) {
        if let Some(delay) = packet.rtt.filter(|_| packet.tag != Tag(0)) {
            self.state.on_delay(now, packet, delay);
            if let Some(bound) = &mut self.state.bound {
                bound.on_delivered(now, packet.sent_at, ms(delay));
            }
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        self.state.in_flight_bytes = loss.in_flight_bytes;
        let state = &mut self.state;
        let (d_min_ms, ceiling_ms) = (state.d_min_ms, state.ceiling_ms());
        let at = AtLoss { d_min_ms, ceiling_ms, window: state.window };
        if let Some(bound) = &mut state.bound {
            bound.on_loss(now, loss.sent_at, &at);
        }
        if loss.tag != Tag(0) {
            self.state.on_loss(now, w_p(loss.tag));
        }
    }

    fn on_congestion(&mut self, _: Time, _: &Congestion) {}

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let state = &mut self.state;
        state.in_flight_bytes = ack.in_flight_bytes;
        if ack.delivered_bytes > 0 {
            (state.last_ack, state.silent) = (now, false);
        }
        if let Some(bound) = &mut state.bound {
            bound.on_ack(now, ack, state.window);
        }
        let window_bytes = (state.window * state.mss_bytes()) as u64;
        let mss_bytes = state.mss_bytes();
        if let Some(slow_start) = &mut state.slow_start {
            let step = slow_start.on_ack(now, ack, window_bytes);
            let window = state.window + step.growth_bytes as f64 / mss_bytes;
            state.set_window(window);
            if step.exit {
                state.leave_slow_start(now, window);
            }
        }
    }

    /// Everything starts over but what was learned.
    fn on_rto(&mut self, now: Time, _: &Timeout) {
        let state = &mut self.state;
        if state.slow_start.is_some() {
            if state.profile.known() >= MIN_POINTS {
                state.leave_slow_start(now, 1.0)
            } else {
                return state.set_window(1.0);
            }
        }
        state.recovering = true;
        state.silent = true;
        state.allow_nothing();
        if state.d_min_ms.is_finite() {
            state.d_est_ms = state.d_min_ms;
        }
    }

    fn loss_policy(&self) -> Option<LossPolicy> {
        Some(self.state.rules.losses)
    }
    fn ack_policy(&self) -> Option<AckPolicy> {
        Some(AckPolicy::EveryPacket)
    }
    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Controller
    }
    /// No epochs in slow start, and none while there is nothing to send: what may leave stays so.
    fn next_timeout(&self) -> Option<Time> {
        let state = &self.state;
        let idle = state.in_flight_bytes == 0 && state.credits > 0;
        let waits = state.slow_start.is_some() || idle;
        (!waits).then_some(state.next_epoch)
    }
    fn on_timer(&mut self, now: Time) {
        self.state.on_timer(now);
    }

    fn phase(&self) -> &'static str {
        let state = &self.state;
        match () {
            () if state.slow_start.is_some() => "slow start",
            () if state.refresh.is_draining() => "drain",
            () if state.recovering => "recovery",
            () => "steer",
        }
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        self.state.observe(visit);
    }
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;

//! BBR v1 as in Linux 4.9 to 5.0 (net/ipv4/tcp_bbr.c): Cardwell and others, "BBR: Congestion-Based
//! Congestion Control", ACM Queue 14(5), 2016 (doi:10.1145/3012426.3022184); what the measurements
//! of 2017 to 2019 are of.
//!
//! Rates in bit/s of payload, gains without unit:
//!
//! 1. `bw` = the largest delivery rate of the last 10 rounds; `min_rtt` = the smallest RTT of the
//!    last 10 s; `bdp = bw min_rtt`;
//! 2. `pacing_rate = 0.99 pacing_gain bw`, in quanta of 1/1024 s, 2 segments at least, 1 below 1.2
//!    Mbit/s;
//! 3. `target = cwnd_gain bdp + 3 quanta`, in whole segments, an even number, 2 more in the first
//!    phase of ProbeBW; cwnd grows to it by what is delivered, 4 segments at least;
//! 4. Startup: gains 2/ln 2, until three rounds bring less than 25 % more. Drain: pacing gain
//!    ln 2 / 2, until `inflight <= bdp`;
//! 5. ProbeBW: window gain 2; pacing gains 1.25, 0.75 and six times 1, for a min_rtt each; 1.25
//!    also until losses or 1.25 BDP in flight, 0.75 at most until 1 BDP in flight. It begins at a
//!    random phase, but not at 0.75;
//! 6. ProbeRTT when min_rtt is 10 s old: 4 segments for 200 ms and a round;
//! 7. losses: what is lost comes off cwnd; in the first round of recovery `cwnd = inflight +
//!    delivered`; after recovery the window from before. Timeout: `cwnd = inflight + 1`;
//! 8. a policer: two intervals of 4 to 16 rounds with 20 % lost or more and rates within 1/8 (or 4
//!    kbit/s): their mean is the rate for 48 rounds.
//!
//! An ECN echo changes nothing, as in Linux.
//!
//! With `extra_acked` and `departure_time` as in Linux 6.18 (the preset linux-6.18):
//!
//! 9. aggregation: the most that came beyond bw in 5 to 10 rounds, at most `bw 100 ms`, is added to
//!    the target once the pipe was full (bbr_ack_aggregation_cwnd);
//! 10. in flight, where phases and Drain ask for it, is what will be when the next packet leaves:
//!     `inflight - bw (departure - now)`, with a quantum more where the pacing gain is above 1
//!     (bbr_packets_in_net_at_edt).
//!
//! Differs from Linux in: an RTT is taken for a new min_rtt although the peer may have delayed its
//! ACK; the maximum of 9 is that of 10 rounds.

use crate::ParamError;
use crate::bbr::filters::{HeldBack, Rounds, WindowedMax, bandwidth, bytes_in, scaled};
use crate::controller::{
    Ack, Congestion, CongestionCause, Controller, Init, Limits, Loss, RateSample, Recovered,
    RecoveryOwner, RttView, Sent, SeriesSample, Tag, Timeout, Traits,
};
use alloc::boxed::Box;
use forebay_base::require;
use forebay_base::{OptionList, Rate, Rng, Span, Time};
use policer::{Policer, PolicerAck};
use serde::{Deserialize, Serialize};

mod policer;
#[cfg(test)]
mod tests;

/// Rounds over which the bandwidth is the maximum, and over which aggregation is.
const BW_ROUNDS: usize = 10;
/// Gain of Startup: 2 / ln 2.
const HIGH_GAIN: f64 = 2.885;
const PACING_MARGIN: f64 = 0.99;
/// Gains of the phases of ProbeBW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const MIN_SEGMENTS: u64 = 4;
/// Below it a quantum is one segment, in bit/s.
const SLOW_BPS: u64 = 1_200_000;
const MAX_QUANTUM_SEGMENTS: u64 = 127;
const MAX_QUANTUM_BYTES: u64 = 65_536;
/// Longest time whose data aggregation may add.
const MAX_AGGREGATED: Span = Span::from_millis(100);
/// Round-trip time before the first sample.
const NOMINAL_RTT: Span = Span::from_millis(1);

/// Parameters of BBR v1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Window gain of ProbeBW, 1 to 100 (Linux: 2).
    pub cwnd_gain: f64,
    /// Age of min_rtt at which ProbeRTT begins, in seconds, above 0 (Linux: 10).
    pub probe_rtt_interval_s: f64,
    /// Minimum duration of ProbeRTT, in milliseconds, 0 or more (Linux: 200).
    pub probe_rtt_ms: f64,
    /// Recognise policers (Linux: true).
    pub policer: bool,
    /// Add to the window what arrived beyond bw in the last 5 to 10 rounds, for paths that bring
    /// ACKs in lumps (Linux 5.1; 4.9 to 5.0: false).
    pub extra_acked: bool,
    /// Count in flight what will be there when the next packet leaves (Linux 5.0; 4.9: false).
    pub departure_time: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            cwnd_gain: 2.0,
            probe_rtt_interval_s: 10.0,
            probe_rtt_ms: 200.0,
            policer: true,
            extra_acked: false,
            departure_time: false,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require((1.0..=100.0).contains(&self.cwnd_gain), "cwnd_gain", "1 to 100")?;
        let interval = self.probe_rtt_interval_s;
        require(interval > 0.0 && interval <= 1e6, "probe_rtt_interval_s", "above 0, at most 1e6")?;
        require((0.0..=1e6).contains(&self.probe_rtt_ms), "probe_rtt_ms", "0 to 1e6")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Loss repair as the transport reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    /// `begins`: no ACK has been processed in it.
    Fast {
        begins: bool,
    },
    /// After a timeout, up to what had been sent by then; None: not known before the next ACK.
    Timeout {
        until: Option<u64>,
    },
}

/// What the next ACK has to add to the window for aggregation.
#[derive(Clone, Debug)]
struct Aggregation {
    since: Time,
    acked: u64,
    extra: WindowedMax<BW_ROUNDS>,
}

/// The sender of one path. What it knows of the path is on the heap: few flows are BBR's.
#[derive(Clone, Debug)]
pub struct Bbr1 {
    limits: Limits,
    machine: Box<Machine>,
}

#[derive(Clone, Debug)]
struct Machine {
    params: Params,
    mss: u64,
    initial_window: u64,
    rng: Rng,
    mode: Mode,
    cwnd: u64,
    /// In bit/s of payload.
    pacing_rate: u64,
    rounds: Rounds,
    max_bw: WindowedMax<BW_ROUNDS>,
    min_rtt: Option<Span>,
    min_rtt_stamp: Time,
    /// The plateau of Startup in bit/s, rounds on it, and whether it was found.
    full_bw: u64,
    full_bw_count: u8,
    full_bw_reached: bool,
    /// Phase of ProbeBW, and since when.
    phase: usize,
    phase_since: Time,
    probe_rtt_done_at: Option<Time>,
    probe_rtt_round_done: bool,
    held_back: HeldBack,
    recovery: Recovery,
    conserves: bool,
    prior_cwnd: u64,
    /// Bytes lost since the last ACK was processed, and when the last of them was found.
    losses: (u64, Time),
    lost: u64,
    delivered: u64,
    inflight: u64,
    /// Earliest departure of the next packet (tcp_wstamp_ns).
    departs_at: Time,
    idle_restart: bool,
    policer: Policer,
    aggregation: Aggregation,
}

impl Bbr1 {
    /// A sender at its start.
    pub fn new(params: &Params, init: Init) -> Bbr1 {
        let mss = u64::from(init.mss_bytes);
        let initial_window = init.initial_window_bytes.max(mss);
        let mut machine = Machine {
            params: params.clone(),
            mss,
            initial_window,
            rng: init.rng,
            mode: Mode::Startup,
            cwnd: initial_window,
            pacing_rate: 0,
            rounds: Rounds::default(),
            max_bw: WindowedMax::new(),
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
            full_bw: 0,
            full_bw_count: 0,
            full_bw_reached: false,
            phase: 0,
            phase_since: Time::ZERO,
            probe_rtt_done_at: None,
            probe_rtt_round_done: false,
            held_back: HeldBack::default(),
            recovery: Recovery::None,
            conserves: false,
            prior_cwnd: 0,
            losses: (0, Time::ZERO),
            lost: 0,
            delivered: 0,
            inflight: 0,
            departs_at: Time::ZERO,
            idle_restart: false,
            policer: Policer::default(),
            aggregation: Aggregation { since: Time::ZERO, acked: 0, extra: WindowedMax::new() },
        };
        machine.init_pacing_rate(NOMINAL_RTT);
        let mut bbr = Bbr1 { limits: Limits::window(initial_window), machine: Box::new(machine) };
        bbr.publish();
        bbr
    }

    fn publish(&mut self) {
        let m = &self.machine;
        self.limits = Limits {
            pacing_rate: Some(Rate::clamped(m.pacing_rate)),
            send_quantum_bytes: (m.quantum() * m.mss) as u32,
            ..Limits::window(m.cwnd.clamp(m.mss, Limits::MAX_CWND_BYTES))
        };
    }
}

impl Machine {
    // The model.

    /// The rate in force in bit/s.
    fn bw(&self) -> u64 {
        self.policer.rate().unwrap_or_else(|| self.max_bw.max())
    }
    /// Segments of `gain` bandwidth-delay products.
    fn bdp(&self, bw: u64, gain: f64) -> u64 {
        match self.min_rtt {
            Some(rtt) => scaled(gain, bytes_in(bw, rtt)).div_ceil(self.mss),
            None => self.initial_window.div_ceil(self.mss),
        }
    }
    /// Equation 3: segments.
    fn quantized(&self, segments: u64) -> u64 {
        let even = segments.saturating_add(3 * self.quantum()).next_multiple_of(2);
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2 } else { 0 }
    }
    /// Equation 2: segments that leave at once.
    fn quantum(&self) -> u64 {
        let least = if self.pacing_rate < SLOW_BPS { 1 } else { 2 };
        let bytes = (self.pacing_rate / 8 / 1024).min(MAX_QUANTUM_BYTES);
        (bytes / self.mss).clamp(least, MAX_QUANTUM_SEGMENTS)
    }

    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (1.0, self.params.cwnd_gain),
            Mode::ProbeBw => (CYCLE[self.phase], self.params.cwnd_gain),
            Mode::ProbeRtt => (1.0, 1.0),
        }
    }

    fn init_pacing_rate(&mut self, rtt: Span) {
        let nominal = self.initial_window as f64 * 8.0 / rtt.as_secs_f64();
        self.pacing_rate = (HIGH_GAIN * nominal) as u64;
    }
    /// Equation 2. Before the pipe was full the rate only rises.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = scaled(gain * PACING_MARGIN, self.bw());
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        // Losses that a timer found are none of this ACK.
        let (lost, found_at) = core::mem::take(&mut self.losses);
        let lost = if found_at == now { lost } else { 0 };
        self.delivered = ack.total_delivered_bytes;
        self.inflight = ack.in_flight_bytes;
        self.update_bw(now, ack.rate.as_ref(), lost);
        self.update_aggregation(now, ack.delivered_bytes);
        self.update_phase(now, lost, ack.prior_in_flight_bytes);
        self.check_full_bw(ack.rate.as_ref());
        self.check_drain(now);
        self.update_min_rtt(now, ack);
        self.set_pacing_rate(self.gains().0);
        self.set_cwnd(ack, lost);
    }

    /// Equation 1.
    fn update_bw(&mut self, now: Time, sample: Option<&RateSample>, lost: u64) {
        let Some(sample) = sample else { return self.rounds.no_sample() };
        self.rounds.on_sample(sample.prior_delivered_bytes, self.delivered);
        self.conserves &= !self.rounds.start;
        let limited = self.is_limited(sample);
        self.run_policer(now, lost > 0, limited);
        let bw = bandwidth(sample);
        if !limited || bw >= self.max_bw.max() {
            // Rounds without a counted sample (ProbeRTT) expire nothing.
            self.max_bw.advance_to(self.rounds.count);
            self.max_bw.add(bw);
        }
    }
    fn is_limited(&self, sample: &RateSample) -> bool {
        sample.app_limited || self.held_back.holds(sample.prior_delivered_bytes)
    }
    /// Equation 8.
    fn run_policer(&mut self, now: Time, losses: bool, limited: bool) {
        if !self.params.policer {
            return;
        }
        let ack = PolicerAck {
            delivered: self.delivered,
            lost: self.lost,
            round_start: self.rounds.start,
            losses,
            limited,
            probing: self.mode == Mode::ProbeBw,
        };
        if self.policer.on_ack(now, &ack) {
            self.start_probe_bw(now);
        }
    }
    fn update_aggregation(&mut self, now: Time, acked: u64) {
        if !self.params.extra_acked || acked == 0 {
            return;
        }
        let (bw, cwnd, a) = (self.bw(), self.cwnd, &mut self.aggregation);
        let mut expected = bytes_in(bw, now.since(a.since));
        if a.acked <= expected {
            (a.acked, a.since, expected) = (0, now, 0);
        }
        a.acked += acked;
        a.extra.advance_to(self.rounds.count);
        a.extra.add((a.acked - expected).min(cwnd));
    }

    /// Equation 10 for what is in flight at `now`.
    fn in_network(&self, now: Time, inflight: u64) -> u64 {
        if !self.params.departure_time {
            return inflight;
        }
        let probe = if self.gains().0 > 1.0 { self.quantum() * self.mss } else { 0 };
        let delivered = bytes_in(self.bw(), self.departs_at.since(now));
        (inflight + probe).saturating_sub(delivered)
    }

    // The state machine.

    /// Equation 5.
    fn update_phase(&mut self, now: Time, lost: u64, prior_inflight: u64) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let full = self.min_rtt.is_some_and(|rtt| now > self.phase_since + rtt);
        let reached = |m: &Machine, gain: f64| {
            let target = m.quantized(m.bdp(m.max_bw.max(), gain)) * m.mss;
            let inflight = m.in_network(now, prior_inflight);
            (inflight >= target, inflight <= target)
        };
        let gain = self.gains().0;
        let next = if gain > 1.0 {
            full && (lost > 0 || reached(self, gain).0)
        } else if gain < 1.0 {
            full || reached(self, 1.0).1
        } else {
            full
        };
        if next {
            self.next_phase(now);
        }
    }
    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_since = now;
    }
    fn start_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() - 1 - self.rng.below(CYCLE.len() as u64 - 1) as usize;
        self.next_phase(now);
    }

    /// Equation 4.
    fn check_full_bw(&mut self, sample: Option<&RateSample>) {
        let limited = sample.is_none_or(|sample| self.is_limited(sample));
        if self.full_bw_reached || !self.rounds.start || limited {
            return;
        }
        let bw = self.max_bw.max();
        if bw as f64 >= 1.25 * self.full_bw as f64 {
            (self.full_bw, self.full_bw_count) = (bw, 0);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= 3;
    }
    fn check_drain(&mut self, now: Time) {
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
        }
        let bdp = self.quantized(self.bdp(self.max_bw.max(), 1.0)) * self.mss;
        if self.mode == Mode::Drain && self.in_network(now, self.inflight) <= bdp {
            self.start_probe_bw(now);
        }
    }

    /// Equations 1 and 6.
    fn update_min_rtt(&mut self, now: Time, ack: &Ack<'_>) {
        let interval = Span::from_secs_f64(self.params.probe_rtt_interval_s);
        let expired = now > self.min_rtt_stamp + interval;
        if let Some(rtt) = ack.rtt_sample
            && (expired || self.min_rtt.is_none_or(|min| rtt < min))
        {
            (self.min_rtt, self.min_rtt_stamp) = (Some(rtt), now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_at = None;
            self.held_back.begin(self.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            self.handle_probe_rtt(now);
        }
        if ack.delivered_bytes > 0 {
            self.idle_restart = false;
        }
    }
    fn handle_probe_rtt(&mut self, now: Time) {
        self.held_back.go_on(self.delivered, self.inflight);
        if self.probe_rtt_done_at.is_none() {
            if self.inflight <= MIN_SEGMENTS * self.mss {
                let duration = Span::from_secs_f64(self.params.probe_rtt_ms / 1e3);
                self.probe_rtt_done_at = Some(now + duration);
                self.probe_rtt_round_done = false;
                self.rounds.begin(self.delivered);
            }
            return;
        }
        self.probe_rtt_round_done |= self.rounds.start;
        if self.probe_rtt_round_done {
            self.check_probe_rtt_done(now);
        }
    }
    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done_at.is_none_or(|at| now <= at) {
            return;
        }
        self.min_rtt_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.start_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    // The window.

    fn save_cwnd(&mut self) {
        let known = self.recovery == Recovery::None && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = self.cwnd.max(if known { 0 } else { self.prior_cwnd });
    }
    /// Equation 3: bytes.
    fn target(&self) -> u64 {
        let extra = if self.params.extra_acked && self.full_bw_reached {
            self.aggregation.extra.max().min(bytes_in(self.bw(), MAX_AGGREGATED))
        } else {
            0
        };
        let segments = self.bdp(self.bw(), self.gains().1).saturating_add(extra / self.mss);
        self.quantized(segments).saturating_mul(self.mss)
    }
    /// Equations 3 and 7.
    fn set_cwnd(&mut self, ack: &Ack<'_>, lost: u64) {
        let acked = ack.delivered_bytes;
        if acked > 0 {
            self.pass_timeout(ack);
            self.cwnd = self.cwnd.saturating_sub(lost).max(self.mss);
            if let Recovery::Fast { begins } = &mut self.recovery
                && core::mem::take(begins)
            {
                self.conserves = true;
                self.rounds.begin(self.delivered);
                self.cwnd = self.inflight + acked;
            }
            if self.conserves {
                self.cwnd = self.cwnd.max(self.inflight + acked);
            } else {
                self.grow(acked);
            }
        }
        self.bound();
    }
    fn grow(&mut self, acked: u64) {
        let target = self.target();
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || self.delivered < self.initial_window {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(MIN_SEGMENTS * self.mss);
    }
    fn bound(&mut self) {
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_SEGMENTS * self.mss);
        }
        self.cwnd = self.cwnd.clamp(self.mss, Limits::MAX_CWND_BYTES);
    }
    /// Recovery is over: the window from before, as far as the model allows it.
    fn restore(&mut self) {
        self.recovery = Recovery::None;
        self.conserves = false;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
    /// The repair of a timeout ends with the ACK of what had been sent by then. One segment has
    /// left since, and not a new one.
    fn pass_timeout(&mut self, ack: &Ack<'_>) {
        let Recovery::Timeout { until } = &mut self.recovery else { return };
        if ack.snd_una >= *until.get_or_insert(ack.snd_nxt) {
            self.restore();
        }
    }
}

impl Controller for Bbr1 {
    fn limits(&self) -> Limits {
        self.limits
    }
    fn traits(&self) -> Traits {
        Traits { edits_headers: false, ..Traits::default() }
    }

    fn on_established(&mut self, now: Time, rtt: &RttView, _options: Option<&OptionList>) {
        let m = &mut self.machine;
        if let Some(srtt) = rtt.srtt.filter(|srtt| !srtt.is_zero()) {
            (m.min_rtt, m.min_rtt_stamp) = (Some(srtt), now);
            m.init_pacing_rate(srtt);
        }
        m.aggregation.since = now;
        self.publish();
    }

    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        let m = &mut self.machine;
        m.inflight = sent.in_flight_bytes;
        if sent.after_idle && sent.app_limited {
            m.idle_restart = true;
            (m.aggregation.since, m.aggregation.acked) = (now, 0);
            match m.mode {
                Mode::ProbeBw => m.set_pacing_rate(1.0),
                Mode::ProbeRtt => m.check_probe_rtt_done(now),
                Mode::Startup | Mode::Drain => {}
            }
            self.publish();
        }
        let m = &mut self.machine;
        if m.params.departure_time {
            let gap = Rate::clamped(m.pacing_rate).span_of(u64::from(sent.bytes));
            m.departs_at = m.departs_at.max(now) + gap;
        }
        Tag(0)
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        self.machine.on_ack(now, ack);
        self.publish();
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        let m = &mut self.machine;
        m.inflight = loss.in_flight_bytes;
        m.lost += u64::from(loss.bytes);
        let before = if m.losses.1 == now { m.losses.0 } else { 0 };
        m.losses = (before + u64::from(loss.bytes), now);
    }

    fn on_congestion(&mut self, _now: Time, event: &Congestion) {
        if event.cause == CongestionCause::Loss {
            self.machine.save_cwnd();
            self.machine.recovery = Recovery::Fast { begins: true };
        }
    }

    fn on_recovered(&mut self, _now: Time, _end: &Recovered) {
        let m = &mut self.machine;
        m.restore();
        m.grow(0);
        m.bound();
        self.publish();
    }

    fn on_rto(&mut self, now: Time, _timeout: &Timeout) {
        let m = &mut self.machine;
        m.save_cwnd();
        m.recovery = Recovery::Timeout { until: None };
        m.full_bw = 0;
        m.rounds.start = true;
        m.run_policer(now, true, false);
        m.cwnd = m.inflight + m.mss;
        self.publish();
    }

    fn on_spurious(&mut self, _now: Time) {
        let m = &mut self.machine;
        (m.full_bw, m.full_bw_count) = (0, 0);
        m.policer.reset();
        m.restore();
        m.bound();
        self.publish();
    }

    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Controller
    }

    fn phase(&self) -> &'static str {
        match self.machine.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw => "probe-bw",
            Mode::ProbeRtt => "probe-rtt",
        }
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let m = &self.machine;
        let states = "0 startup, 1 drain, 2 probe-bw, 3 probe-rtt";
        let mut show = |name, unit, value| visit(SeriesSample { name, unit, value });
        show("state", states, f64::from(m.mode as u8));
        show("bw", "bit/s", m.bw() as f64);
        show("pacing_gain", "", m.gains().0);
        if let Some(rtt) = m.min_rtt {
            show("min_rtt", "s", rtt.as_secs_f64());
        }
    }
}

//! ProbeBW: Down, Cruise, Refill, Up, and the volume that they agree on, inflight_longterm.

use super::filters::scaled;
use super::{AckSample, Delivery, Machine, State, UNBOUNDED};
use forebay_base::{Span, Time};

/// Most rounds between two probes, for the sake of Reno and CUBIC (T_reno_bound).
const MAX_ROUNDS: u64 = 63;
/// Shortest time between two probes (T_bbr: 2 to 3 s).
const MIN_WAIT: Span = Span::from_secs(2);
/// Window gain of Up over that of the other states: 2.25 / 2.
const UP_CWND_GAIN: f64 = 1.125;
/// Doublings of the growth of inflight_longterm.
const MAX_DOUBLINGS: u32 = 30;

/// What the ACKs of now answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Other,
    Refilling,
    /// What was sent before the probe.
    ProbeStarting,
    /// The probe.
    ProbeFeedback,
    /// The probe; what is sent now is not.
    ProbeStopping,
}

/// Where the cycle is.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// The volume that is safe as far as is known; [`UNBOUNDED`] before losses have shown one.
    pub(super) inflight_longterm: u64,
    pub(super) rounds_since_probe: u64,
    /// Losses of now may be those of the last probe, and it has not answered any.
    pub(super) is_probe_sample: bool,
    ack_phase: AckPhase,
    /// When Down began, and for how long no probe follows.
    stamp: Time,
    wait: Span,
    /// Growth of inflight_longterm in Up: bytes acknowledged per segment of growth.
    acked_per_segment: u64,
    acked: u64,
    doublings: u32,
    /// The last probe lost too much; the last one was cut short for that reason.
    pub(super) was_too_high: bool,
    was_precautionary: bool,
}

impl Cycle {
    pub(super) fn new() -> Cycle {
        Cycle {
            inflight_longterm: UNBOUNDED,
            rounds_since_probe: 0,
            is_probe_sample: false,
            ack_phase: AckPhase::Other,
            stamp: Time::ZERO,
            wait: Span::ZERO,
            acked_per_segment: UNBOUNDED,
            acked: 0,
            doublings: 0,
            was_too_high: false,
            was_precautionary: false,
        }
    }
}

impl Machine {
    fn enter(&mut self, state: State, pacing_gain: f64) {
        let up = if state == State::Up { UP_CWND_GAIN } else { 1.0 };
        (self.state, self.pacing_gain) = (state, pacing_gain);
        self.cwnd_gain = self.params.cwnd_gain * up;
    }
    pub(super) fn start_round(&mut self) {
        self.model.rounds.begin(self.delivered);
    }

    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.cycle.acked_per_segment = UNBOUNDED;
        self.cycle.rounds_since_probe = self.rng.below(2);
        self.cycle.wait = MIN_WAIT + Span::from_secs_f64(self.rng.unit());
        self.cycle.stamp = now;
        self.stop_probe();
        self.enter(State::Down, self.params.down_pacing_gain);
    }
    /// Packets sent from now on are not a probe.
    pub(super) fn stop_probe(&mut self) {
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
    }
    pub(super) fn start_cruise(&mut self) {
        self.enter(State::Cruise, 1.0);
    }
    pub(super) fn start_refill(&mut self) {
        self.reset_shortterm();
        (self.cycle.doublings, self.cycle.acked) = (0, 0);
        self.cycle.was_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.enter(State::Refill, 1.0);
    }
    fn start_up(&mut self, bw: u64) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(bw);
        self.enter(State::Up, self.params.up_pacing_gain);
        self.raise_slope();
    }

    /// "ProbeBW Algorithm Details".
    pub(super) fn update_cycle(&mut self, news: &AckSample) {
        if !self.full_pipe.reached {
            return;
        }
        self.answer_mark(news);
        if self.adapt_longterm(news) {
            return;
        }
        let bw = news.delivery.as_ref().map_or(0, |sample| sample.bw);
        let state = self.state;
        match state {
            State::Down if self.is_time_to_probe(news.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.start_cruise(),
            State::Cruise if self.is_time_to_probe(news.now) => self.start_refill(),
            State::Refill if self.model.rounds.start => {
                self.cycle.is_probe_sample = true;
                self.start_up(bw);
            }
            State::Up if self.is_time_to_go_down(news, bw) => {
                self.cycle.was_too_high = false;
                self.start_down(news.now);
            }
            _ => {}
        }
    }

    /// Equation 7: after T_bbr, or as many rounds as Reno needs to grow by what is in flight.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = (self.target_inflight() / self.mss).min(MAX_ROUNDS);
        now > self.cycle.stamp + self.cycle.wait || self.cycle.rounds_since_probe >= rounds
    }
    /// Equation 7.
    fn is_time_to_cruise(&self) -> bool {
        let bdp = self.model.volume(self.model.max_bw()).unwrap_or(self.initial_window);
        self.inflight <= self.inflight_with_headroom() && self.inflight <= self.quantized(bdp)
    }
    /// "Exit Conditions for Bandwidth Probing", losses excepted.
    fn is_time_to_go_down(&mut self, news: &AckSample, bw: u64) -> bool {
        let longterm = self.cycle.inflight_longterm;
        if self.params.precautionary && self.cycle.was_too_high && self.inflight >= longterm {
            self.cycle.was_precautionary = true;
            return true;
        }
        if news.cwnd_limited && self.cwnd >= longterm {
            self.full_pipe.reset(bw); // the volume limits the rate, not the path
            return false;
        }
        self.full_pipe.now
    }
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        let longterm = self.cycle.inflight_longterm;
        if longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = scaled(self.params.headroom, longterm).max(self.mss);
        longterm.saturating_sub(headroom).max(self.min_pipe_cwnd())
    }

    /// inflight_longterm grows by 1, 2, 4, 8 .. segments in the rounds of Up.
    fn raise_slope(&mut self) {
        let growth = 1 << self.cycle.doublings;
        self.cycle.doublings = (self.cycle.doublings + 1).min(MAX_DOUBLINGS);
        self.cycle.acked_per_segment = (self.cwnd / growth).max(self.mss);
    }
    fn raise_longterm(&mut self, news: &AckSample) {
        let cycle = &mut self.cycle;
        if !news.cwnd_limited || self.cwnd < cycle.inflight_longterm {
            return; // it is not used up
        }
        cycle.acked += news.newly_acked;
        if cycle.acked >= cycle.acked_per_segment {
            let segments = cycle.acked / cycle.acked_per_segment;
            cycle.acked %= cycle.acked_per_segment;
            cycle.inflight_longterm += segments * self.mss;
        }
        if self.model.rounds.start {
            self.raise_slope();
        }
    }

    /// What the ACKs of a probe say of max_bw and inflight_longterm. True if the state has changed.
    fn adapt_longterm(&mut self, news: &AckSample) -> bool {
        let Some(sample) = &news.delivery else { return false };
        if self.model.rounds.start && self.adapt_phase(sample) {
            return true;
        }
        if self.is_too_much(sample.lost, sample.tx_in_flight) {
            return false; // on_lost_packet has answered
        }
        if self.cycle.inflight_longterm != UNBOUNDED {
            let safe = self.cycle.inflight_longterm.max(sample.tx_in_flight);
            self.cycle.inflight_longterm = safe;
            if self.state == State::Up {
                self.raise_longterm(news);
            }
        }
        false
    }
    /// A round is over.
    fn adapt_phase(&mut self, sample: &Delivery) -> bool {
        match self.cycle.ack_phase {
            AckPhase::ProbeStarting => self.cycle.ack_phase = AckPhase::ProbeFeedback,
            AckPhase::ProbeStopping => {
                self.cycle.is_probe_sample = false;
                self.cycle.ack_phase = AckPhase::Other;
                if self.state.is_probe_bw() {
                    if !sample.app_limited {
                        self.model.advance_max_bw();
                    }
                    if self.cycle.was_precautionary && !self.cycle.was_too_high {
                        self.start_refill();
                        return true;
                    }
                }
            }
            AckPhase::Other | AckPhase::Refilling | AckPhase::ProbeFeedback => {}
        }
        false
    }
}

//! ProbeRTT, and the restart after an idle time, which may take its place.

use super::filters::HeldBack;
use super::{AckSample, Machine, MinRttFilters, State};
use forebay_base::{Span, Time};

#[derive(Clone, Debug)]
pub(super) struct ProbeRtt {
    /// The window from the min_rtt before it expired; only with one filter.
    saved_cwnd: u64,
    /// When it may end; None before little enough is in flight.
    done_at: Option<Time>,
    round_done: bool,
    pub(super) held_back: HeldBack,
}

impl ProbeRtt {
    pub(super) fn new(initial_window: u64) -> ProbeRtt {
        let held_back = HeldBack::default();
        ProbeRtt { saved_cwnd: initial_window, done_at: None, round_done: false, held_back }
    }
}

impl Machine {
    pub(super) fn save_probe_rtt_cwnd(&mut self) {
        self.probe_rtt.saved_cwnd = self.half_bdp();
    }
    fn half_bdp(&self) -> u64 {
        self.bdp_multiple(self.params.probe_rtt_cwnd_gain).max(self.min_pipe_cwnd())
    }
    /// Equation 10, the window (ProbeRTTCwnd).
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        match self.params.min_rtt_filters {
            MinRttFilters::Two => self.half_bdp(),
            MinRttFilters::One => self.probe_rtt.saved_cwnd,
        }
    }

    /// Equation 10.
    pub(super) fn check_probe_rtt(&mut self, news: &AckSample) {
        let due = self.model.probe_rtt_due && !self.idle_restart;
        if self.state != State::ProbeRtt && due {
            self.state = State::ProbeRtt;
            self.pacing_gain = 1.0;
            self.cwnd_gain = self.params.probe_rtt_cwnd_gain;
            self.save_cwnd();
            self.probe_rtt.done_at = None;
            self.probe_rtt.held_back.begin(self.delivered);
            self.stop_probe();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(news.now);
        }
        if news.newly_acked > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, now: Time) {
        self.probe_rtt.held_back.go_on(self.delivered, self.inflight);
        if self.probe_rtt.done_at.is_none() {
            if self.inflight <= self.probe_rtt_cwnd() {
                let duration = Span::from_secs_f64(self.params.probe_rtt_ms / 1e3);
                self.probe_rtt.done_at = Some(now + duration);
                self.probe_rtt.round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt.round_done |= self.model.rounds.start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done(now);
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt.done_at.is_none_or(|at| now <= at) {
            return;
        }
        self.model.put_off_probe_rtt(now, self.params.min_rtt_filters);
        self.restore_cwnd();
        self.reset_shortterm();
        if self.full_pipe.reached {
            // The data in flight is below the BDP: there is nothing to drain.
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// "Restarting From Idle": sending begins again.
    pub(super) fn restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}

//! Startup and Drain: how the pipe is filled, and how that is noticed.

use super::{AckSample, Machine, State};

/// Growth in a round that counts as growth.
const GROWTH: f64 = 1.25;
/// Rounds without it.
const FLAT_ROUNDS: u8 = 3;
/// Ranges that must be lost in a round (BBRStartupFullLossCnt).
const LOST_RANGES: u32 = 6;
/// Rounds that Drain may last.
const DRAIN_ROUNDS: u64 = 3;

/// "Exiting Acceleration Based on Bandwidth Plateau".
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// The plateau in bit/s.
    bw: u64,
    /// Rounds on it.
    count: u8,
    /// The pipe is full now: ends Up.
    pub(super) now: bool,
    /// It was full at some time: ends Startup.
    pub(super) reached: bool,
    /// When Drain began, in rounds.
    drain_round: u64,
}

impl FullPipe {
    /// Look for a plateau from the beginning; `bw` bit/s are the first to compare with.
    pub(super) fn reset(&mut self, bw: u64) {
        (self.bw, self.count, self.now) = (bw, 0, false);
    }
}

impl Machine {
    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
        self.pacing_gain = self.params.startup_pacing_gain;
        self.cwnd_gain = self.params.cwnd_gain;
    }

    /// Equation 6, the plateau. Looked for in every state.
    pub(super) fn check_full_bw(&mut self, news: &AckSample) {
        let Some(sample) = &news.delivery else { return };
        let pipe = &mut self.full_pipe;
        if pipe.now || !self.model.rounds.start || sample.app_limited {
            return;
        }
        if sample.bw as f64 >= pipe.bw as f64 * GROWTH {
            pipe.reset(sample.bw);
            return;
        }
        pipe.count += 1;
        pipe.now = pipe.count >= FLAT_ROUNDS;
        pipe.reached |= pipe.now;
    }

    /// Equation 6.
    pub(super) fn check_startup_done(&mut self, news: &AckSample) {
        if self.state != State::Startup {
            return;
        }
        self.check_startup_loss(news);
        if self.full_pipe.reached {
            self.state = State::Drain;
            self.pacing_gain = self.params.drain_pacing_gain;
            self.cwnd_gain = self.params.cwnd_gain;
            self.full_pipe.drain_round = self.model.rounds.count;
        }
    }

    /// "Exiting Startup Based on Packet Loss". The round of losses began with the first of them, so
    /// at its end recovery has lasted a round.
    fn check_startup_loss(&mut self, news: &AckSample) {
        let Some(sample) = &news.delivery else { return };
        let lossy = self.signals.loss_round_start
            && self.recovery.is_fast()
            && self.signals.lost_ranges_last >= LOST_RANGES
            && self.is_too_much(sample.lost, sample.tx_in_flight);
        if lossy || self.signals.marked {
            self.undo.state = Some(State::Startup);
            (self.full_pipe.now, self.full_pipe.reached) = (true, true);
            let bdp = self.bdp_multiple(1.0);
            self.cycle.inflight_longterm = bdp.max(self.signals.inflight_latest);
            self.signals.marked = false;
        }
    }

    /// Equation 7.
    pub(super) fn check_drain_done(&mut self, news: &AckSample) {
        if self.state != State::Drain {
            return;
        }
        let drained = self.inflight <= self.inflight_at(1.0);
        if drained || self.model.rounds.count > self.full_pipe.drain_round + DRAIN_ROUNDS {
            self.start_down(news.now);
        }
    }
}

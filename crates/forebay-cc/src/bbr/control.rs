//! Pacing rate, send quantum, congestion window.

use super::filters::scaled;
use super::{Machine, State, UNBOUNDED};
use crate::controller::Limits;
use forebay_base::Span;

/// Share of bw at which a flow paces (PacingMarginPercent: 1).
const PACING_MARGIN: f64 = 0.99;
/// Segments of the smallest window (MinPipeCwnd).
const MIN_PIPE_SEGMENTS: u64 = 4;
/// Quanta in flight that full throughput needs (offload_budget, TCP).
const BUDGET_QUANTA: u64 = 3;
const MAX_QUANTUM_BYTES: u64 = 64 * 1024;
/// Round-trip time before the first sample.
const NOMINAL_RTT: Span = Span::from_millis(1);

impl Machine {
    /// Before there is a bandwidth: the initial window in a round trip.
    pub(super) fn init_pacing_rate(&mut self, srtt: Option<Span>) {
        let rtt = srtt.filter(|srtt| !srtt.is_zero()).unwrap_or(NOMINAL_RTT);
        let nominal = self.initial_window as f64 * 8.0 / rtt.as_secs_f64();
        self.pacing_rate = (self.params.startup_pacing_gain * nominal) as u64;
        self.set_send_quantum();
    }
    /// Equation 3. Until the pipe was full once the rate only rises: samples that the application
    /// limits do not lower it.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = scaled(gain * PACING_MARGIN, self.model.bw());
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }
    /// Equation 3.
    pub(super) fn set_send_quantum(&mut self) {
        let bytes = self.params.send_quantum_ms / 1e3 * self.pacing_rate as f64 / 8.0;
        self.send_quantum = (bytes as u64).min(MAX_QUANTUM_BYTES).max(2 * self.mss);
    }

    pub(super) fn min_pipe_cwnd(&self) -> u64 {
        MIN_PIPE_SEGMENTS * self.mss
    }
    /// Equation 4: `inflight` bytes, or what small windows need.
    pub(super) fn quantized(&self, inflight: u64) -> u64 {
        let budget = BUDGET_QUANTA * self.send_quantum;
        let up = if self.state == State::Up { 2 * self.mss } else { 0 };
        inflight.max(budget).max(self.min_pipe_cwnd()).saturating_add(up)
    }
    /// `gain` bandwidth-delay products, or what small windows need.
    pub(super) fn inflight_at(&self, gain: f64) -> u64 {
        self.quantized(self.bdp_multiple(gain))
    }
    pub(super) fn max_inflight(&self) -> u64 {
        let inflight = self.bdp_multiple(self.cwnd_gain).saturating_add(self.extra_acked());
        self.quantized(inflight)
    }

    /// Equation 4.
    pub(super) fn set_cwnd(&mut self, newly_acked: u64) {
        let max_inflight = self.max_inflight();
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + newly_acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.delivered < self.initial_window {
            self.cwnd += newly_acked;
        }
        self.bound_cwnd();
    }
    /// "Bounding cwnd Based on Recent Congestion", and what ProbeRTT allows.
    pub(super) fn bound_cwnd(&mut self) {
        self.cwnd = self.cwnd.clamp(self.min_pipe_cwnd(), Limits::MAX_CWND_BYTES);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.cycle.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => UNBOUNDED,
        };
        let cap = longterm.min(self.signals.inflight_shortterm).max(self.min_pipe_cwnd());
        self.cwnd = self.cwnd.min(cap);
    }
}

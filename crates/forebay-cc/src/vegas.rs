//! TCP Vegas (doi:10.1109/49.464716): Brakmo and Peterson, "TCP Vegas: end to end congestion
//! avoidance on a global internet", IEEE JSAC 13(8), 1995.
//!
//! The sender compares the rate that it expects with the one that it gets. The difference, times
//! the smallest RTT, is the number of its own packets in queues; it keeps that number between alpha
//! and beta. W is the window, alpha, beta, gamma and `diff` are in segments, `base` is the smallest
//! RTT of the connection, `rtt` the smallest of the round trip that ends:
//!
//! 1. `diff = (W / base - W / rtt) base = W (1 - base / rtt)`, once per round trip (section 3.2);
//! 2. congestion avoidance: `W += 1` if `diff < alpha`, `W -= 1` if `diff > beta` (section 3.2);
//! 3. slow start: W doubles every other round trip and stands still in between; it ends when
//!    `diff > gamma` after a round trip of standing still (section 3.3), with `W = 7/8 W` (authors'
//!    code as ported to ns-2);
//! 4. loss: `W = max(3/4 W, 2)`, and half for the loss of a retransmission (authors' code), once
//!    per window (section 3.1);
//! 5. timeout: `ssthresh = max(W / 2, 2)`, `W = 1` (RFC 5681 section 3.1).
//!
//! With `rules = "linux"`, as net/ipv4/tcp_vegas.c, all in whole segments:
//!
//! 6. `diff = W (rtt - base) / base`, which is 1 times `rtt / base`;
//! 7. slow start doubles each round trip; `diff > gamma` ends it with `W = min(W, W base / rtt +
//!    1)`;
//! 8. a round trip with fewer than 3 samples is one of NewReno; loss and timeout leave `max(W / 2,
//!    2)` (tcp_reno_ssthresh), once per recovery; after an idle time `base` is forgotten, and W is
//!    at most the initial window if it was longer than the timeout (tcp_cwnd_restart).
//!
//! Differs from the paper in: `rtt` is the smallest sample of a round trip and not that of one
//! segment, since delayed ACKs keep some waiting (as Linux); W in 1 stands for the bytes sent in
//! the round trip; retransmission is the transport's, with RACK or duplicate ACKs in place of the
//! paper's timer per segment; an ECN echo counts as a loss.

use crate::ParamError;
use crate::controller::{
    Ack, Congestion, CongestionCause, Controller, Init, Limits, Recovered, Sent, SeriesSample, Tag,
    Timeout, Traits,
};
use crate::idle_restart::IdleRestart;
use alloc::boxed::Box;
use forebay_base::require;
use forebay_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// Smallest window outside timeouts, in segments.
const MIN_SEGMENTS: u64 = 2;
/// Samples of a round trip that Linux asks for: with fewer, all may be of delayed ACKs.
const LINUX_SAMPLES: u32 = 3;
/// Largest threshold in segments.
const MAX_SEGMENTS: f64 = 1e6;

/// Whose rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Rules {
    /// Those of the paper, 1995.
    #[default]
    Paper,
    /// Those of net/ipv4/tcp_vegas.c.
    Linux,
}

/// Parameters of Vegas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// `paper` (1995) or `linux` (net/ipv4/tcp_vegas.c).
    pub rules: Rules,
    /// Minimum number of own segments in queues, above 0. The paper has 1 (Vegas-1,3) and 2
    /// (Vegas-2,4), Linux 2.
    pub alpha: f64,
    /// Maximum number of own segments in queues, alpha or more. The paper has 3 and 4, Linux 4.
    pub beta: f64,
    /// Own segments in queues that end slow start, 0 or more. Paper and Linux: 1.
    pub gamma: f64,
    /// Minimum silence after which the window is cut to the initial window, in milliseconds, if
    /// the retransmission timeout is not longer (Linux 200); 0: never (paper).
    pub idle_restart_ms: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { rules: Rules::Paper, alpha: 2.0, beta: 4.0, gamma: 1.0, idle_restart_ms: 0 }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let Params { alpha, beta, gamma, .. } = *self;
        require(alpha > 0.0 && alpha <= MAX_SEGMENTS, "alpha", "above 0, at most 1e6")?;
        require(beta >= alpha && beta <= MAX_SEGMENTS, "beta", "alpha or more, at most 1e6")?;
        require((0.0..=MAX_SEGMENTS).contains(&gamma), "gamma", "0 to 1e6")
    }
}

/// What a congestion event took away.
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd_bytes: u64,
    ssthresh_bytes: u64,
}

/// The round trip that is being measured.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// It is over when everything below this stream offset is acknowledged; None: it begins with
    /// the next ACK.
    end: Option<u64>,
    least: Span,
    samples: u32,
    /// The window stands still (equation 3).
    holds: bool,
}

impl Round {
    const NONE: Round = Round { end: None, least: Span::MAX, samples: 0, holds: false };
}

/// The window of one path.
#[derive(Clone, Debug)]
pub struct Vegas {
    cwnd_bytes: u64,
    ssthresh_bytes: u64,
    /// Bytes acknowledged towards the next segment, where NewReno's rule holds.
    acked_bytes: u64,
    mss_bytes: u64,
    restart_bytes: u64,
    // On the heap: other controllers are smaller.
    idle_restart: Box<IdleRestart>,
    params: Box<Params>,
    base: Span,
    round: Round,
    /// The last `diff`, in segments.
    diff: f64,
    undo: Option<Undo>,
}

impl Vegas {
    /// A window at its start.
    pub fn new(params: &Params, init: Init) -> Vegas {
        let mss_bytes = u64::from(init.mss_bytes);
        let initial = init.initial_window_bytes.clamp(mss_bytes, Limits::MAX_CWND_BYTES);
        Vegas {
            cwnd_bytes: initial,
            restart_bytes: initial,
            idle_restart: Box::new(IdleRestart::new(params.idle_restart_ms)),
            ssthresh_bytes: init.initial_ssthresh_bytes,
            acked_bytes: 0,
            mss_bytes,
            params: Box::new(params.clone()),
            base: Span::MAX,
            round: Round::NONE,
            diff: 0.0,
            undo: None,
        }
    }

    fn is_linux(&self) -> bool {
        self.params.rules == Rules::Linux
    }
    fn in_slow_start(&self) -> bool {
        self.cwnd_bytes < self.ssthresh_bytes
    }
    fn least_bytes(&self) -> u64 {
        MIN_SEGMENTS * self.mss_bytes
    }

    /// Equations 1 and 6, in segments.
    fn diff_of(&self, rtt: Span) -> f64 {
        let queued = rtt.saturating_sub(self.base).as_nanos() as f64;
        if self.is_linux() {
            let segments = (self.cwnd_bytes / self.mss_bytes) as f64;
            libm::floor(segments * queued / self.base.as_nanos() as f64)
        } else {
            self.cwnd_bytes as f64 / self.mss_bytes as f64 * queued / rtt.as_nanos() as f64
        }
    }

    /// A round trip is over, and `rtt` was its smallest.
    fn on_round(&mut self, rtt: Span, grows: bool) {
        self.diff = self.diff_of(rtt);
        if self.in_slow_start() {
            let checks = self.is_linux() || self.round.holds;
            if checks && self.diff > self.params.gamma {
                self.leave_slow_start(rtt);
            }
        } else if self.diff > self.params.beta {
            let less = self.cwnd_bytes.saturating_sub(self.mss_bytes);
            self.cwnd_bytes = less.max(self.least_bytes());
            self.ssthresh_bytes = self.ssthresh_bytes.min(self.cwnd_bytes);
        } else if self.diff < self.params.alpha && grows {
            self.cwnd_bytes += self.mss_bytes;
        }
    }

    /// Equations 3 and 7.
    fn leave_slow_start(&mut self, rtt: Span) {
        let kept = if self.is_linux() {
            let segments = self.cwnd_bytes / self.mss_bytes;
            let (base, rtt) = (self.base.as_nanos() as u128, rtt.as_nanos() as u128);
            (u128::from(segments) * base / rtt + 1) as u64 * self.mss_bytes
        } else {
            self.cwnd_bytes - self.cwnd_bytes / 8
        };
        self.cwnd_bytes = self.cwnd_bytes.min(kept.max(self.least_bytes()));
        self.ssthresh_bytes = self.cwnd_bytes;
    }

    /// NewReno's growth (RFC 5681 eq. 2, RFC 3465 section 2.1), without a limit per ACK in slow
    /// start.
    fn grow(&mut self, acked_bytes: u64) {
        if self.in_slow_start() {
            self.cwnd_bytes = (self.cwnd_bytes + acked_bytes).min(self.ssthresh_bytes);
            return;
        }
        self.acked_bytes += acked_bytes;
        if self.acked_bytes >= self.cwnd_bytes {
            self.acked_bytes -= self.cwnd_bytes;
            self.cwnd_bytes += self.mss_bytes;
        }
    }

    fn remember(&mut self) {
        self.undo = Some(Undo { cwnd_bytes: self.cwnd_bytes, ssthresh_bytes: self.ssthresh_bytes });
    }

    /// Equation 8, in whole segments.
    fn linux_half(&self) -> u64 {
        self.cwnd_bytes / self.mss_bytes / 2 * self.mss_bytes
    }
    /// What a loss leaves: equation 4, or half.
    fn reduced(&self, event: &Congestion) -> u64 {
        let kept = if self.is_linux() {
            self.linux_half()
        } else if event.cause == CongestionCause::LostRetransmission {
            self.cwnd_bytes / 2
        } else {
            self.cwnd_bytes - self.cwnd_bytes / 4
        };
        kept.max(self.least_bytes())
    }
}

impl Controller for Vegas {
    #[inline]
    fn limits(&self) -> Limits {
        Limits::window(self.cwnd_bytes)
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
        if self.idle_restart.on_sent(now, sent.after_idle) {
            self.cwnd_bytes = self.cwnd_bytes.min(self.restart_bytes);
            self.acked_bytes = 0;
        }
        if sent.after_idle && self.is_linux() {
            self.base = Span::MAX;
            self.round = Round::NONE;
        }
        Tag(0)
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        if ack.rtt_sample.is_some() {
            self.idle_restart.on_rtt(&ack.rtt);
        }
        if let Some(sample) = ack.rtt_sample.filter(|sample| !sample.is_zero()) {
            self.base = self.base.min(sample);
            self.round.least = self.round.least.min(sample);
            self.round.samples += 1;
        }
        if ack.in_recovery || ack.ecn_echo {
            self.round = Round::NONE; // what is measured now is of the window before
            return;
        }
        let grows = ack.cwnd_limited && ack.acked_bytes > 0;
        let needed = if self.is_linux() { LINUX_SAMPLES } else { 1 };
        let over = self.round.end.is_some_and(|end| ack.snd_una >= end);
        let measured = over && self.round.samples >= needed && self.base < Span::MAX;
        let was_slow_start = self.in_slow_start();
        if measured {
            self.on_round(self.round.least, grows);
        } else if over && self.is_linux() && !was_slow_start && grows {
            self.grow(ack.acked_bytes); // equation 8
        }
        if over || self.round.end.is_none() {
            let holds = over && !self.is_linux() && !self.round.holds;
            self.round = Round { end: Some(ack.snd_nxt), holds, ..Round::NONE };
        }
        if was_slow_start && self.in_slow_start() && grows && !self.round.holds {
            self.grow(ack.acked_bytes);
        }
        self.cwnd_bytes = self.cwnd_bytes.min(Limits::MAX_CWND_BYTES);
    }

    fn on_congestion(&mut self, _now: Time, event: &Congestion) {
        let again = event.cause == CongestionCause::LostRetransmission;
        if again && self.is_linux() {
            return;
        }
        self.remember();
        self.ssthresh_bytes = self.reduced(event);
        self.cwnd_bytes = self.cwnd_bytes.min(self.ssthresh_bytes);
        self.ssthresh_bytes = self.cwnd_bytes; // avoidance goes on from here
        self.acked_bytes = 0;
        self.round = Round::NONE;
    }

    fn on_recovered(&mut self, _now: Time, end: &Recovered) {
        if let Some(cap_bytes) = end.cwnd_cap_bytes {
            self.cwnd_bytes = self.cwnd_bytes.min(cap_bytes).max(self.mss_bytes);
        }
        self.round = Round::NONE;
    }

    fn on_rto(&mut self, _now: Time, timeout: &Timeout) {
        if timeout.first {
            self.remember();
            let linux = self.is_linux();
            let half = if linux { self.linux_half() } else { timeout.flight_size_bytes / 2 };
            self.ssthresh_bytes = half.max(self.least_bytes());
        }
        self.cwnd_bytes = self.mss_bytes;
        self.acked_bytes = 0;
        self.round = Round::NONE;
    }

    fn on_spurious(&mut self, _now: Time) {
        if let Some(undo) = self.undo.take() {
            self.cwnd_bytes = self.cwnd_bytes.max(undo.cwnd_bytes);
            self.ssthresh_bytes = self.ssthresh_bytes.max(undo.ssthresh_bytes);
        }
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        (self.ssthresh_bytes != u64::MAX).then_some(self.ssthresh_bytes)
    }

    fn phase(&self) -> &'static str {
        if self.in_slow_start() { "slow-start" } else { "congestion-avoidance" }
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        visit(SeriesSample { name: "diff", unit: "segments", value: self.diff });
        if self.base < Span::MAX {
            visit(SeriesSample { name: "base_rtt", unit: "s", value: self.base.as_secs_f64() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::Bottleneck;
    use crate::testbed::{MSS, ack, congestion, init, ms, sent};
    use alloc::vec::Vec;

    const NOW: Time = Time::from_secs(1);

    fn params(rules: Rules) -> Params {
        Params { rules, ..Params::default() }
    }
    fn vegas(rules: Rules, segments: u64) -> Vegas {
        Vegas::new(&params(rules), init(segments))
    }
    /// In congestion avoidance.
    fn avoiding(rules: Rules, segments: u64) -> Vegas {
        let init = Init { initial_ssthresh_bytes: 2 * MSS, ..init(segments) };
        Vegas::new(&params(rules), init)
    }
    fn window(vegas: &Vegas) -> f64 {
        vegas.limits().cwnd_bytes as f64 / MSS as f64
    }

    /// `diff` of a window of P + q segments over a path of P segments and 100 ms, where q wait.
    fn diff(rules: Rules, path: u64, queued: u64) -> f64 {
        let mut vegas = avoiding(rules, path + queued);
        vegas.base = ms(100);
        vegas.diff_of(ms(100 * (path + queued) / path))
    }

    #[test]
    fn the_paper_counts_queued_segments_and_linux_more_where_the_path_is_short() {
        for (path, queued) in [(4, 1), (4, 2), (4, 3), (100, 3)] {
            let diff = diff(Rules::Paper, path, queued);
            assert!((diff - queued as f64).abs() < 1e-9, "{path} + {queued}: {diff}");
        }
        // (P + q) q / P: 1.25, 3.0 and 5.25, in whole segments.
        assert_eq!([1, 2, 3].map(|queued| diff(Rules::Linux, 4, queued)), [1.0, 3.0, 5.0]);
        assert_eq!(diff(Rules::Linux, 100, 3), 3.0);
    }

    /// A flow alone with `path` segments of 100 ms on their way: W - P after a long time, smallest
    /// and largest.
    fn settled(rules: Rules, path: u64, buffer: u64) -> (f64, f64, u64) {
        let segment = ms(100) / path;
        let mut net = Bottleneck::new(segment, buffer);
        net.join(avoiding(rules, 3), ms(100).saturating_sub(segment));
        net.run(ms(100_000));
        let mut seen = (f64::INFINITY, 0.0f64);
        for _ in 0..300 {
            net.run(ms(100));
            let queued = window(&net.flows[0].controller) - path as f64;
            seen = (seen.0.min(queued), seen.1.max(queued));
        }
        (seen.0, seen.1, net.flows[0].lost)
    }

    #[test]
    fn a_flow_alone_keeps_alpha_to_beta_segments_queued_and_loses_none() {
        for (rules, path) in [(Rules::Paper, 50), (Rules::Paper, 4), (Rules::Linux, 50)] {
            let (least, most, lost) = settled(rules, path, 6);
            assert_eq!((least, lost), (most, 0), "{rules:?} {path}: it stands still");
            assert!((2.0..=4.0).contains(&least), "{rules:?} {path}: {least}");
        }
        // On four segments only 2 queued are between Linux's alpha and beta.
        assert_eq!(settled(Rules::Linux, 4, 6), (2.0, 2.0, 0));
    }

    #[test]
    fn flows_that_know_the_path_keep_alpha_to_beta_segments_each() {
        let mut net = Bottleneck::new(ms(1), 1_000);
        for _ in 0..4 {
            let mut vegas = avoiding(Rules::Paper, 3);
            vegas.base = ms(100);
            net.join(vegas, ms(99));
        }
        net.run(ms(60_000));
        let seen = net.measure(ms(30_000));
        assert!((8.0..16.01).contains(&seen.mean_queue), "{seen:?}");
        let total: f64 = seen.delivered.iter().sum();
        assert!(seen.delivered.iter().all(|&of| (0.17..0.33).contains(&(of / total))), "{seen:?}");
    }

    /// It takes the queue of the first for a part of the path (Mo et al., "Analysis and comparison
    /// of TCP Reno and Vegas", INFOCOM 1999).
    #[test]
    fn who_comes_late_gets_more() {
        let mut net = Bottleneck::new(ms(1), 1_000);
        net.join(avoiding(Rules::Paper, 100), ms(99));
        net.run(ms(10_000));
        net.join(avoiding(Rules::Paper, 3), ms(99));
        net.run(ms(60_000));
        let seen = net.measure(ms(30_000));
        assert!(seen.delivered[1] > 1.2 * seen.delivered[0], "{seen:?}");
    }

    /// Windows of rounds at a fixed RTT.
    fn rounds(mut vegas: Vegas, rtt: Span, count: usize) -> (Vegas, Vec<f64>) {
        let (mut una, mut windows) = (0, Vec::new());
        for _ in 0..count {
            let flight = vegas.limits().cwnd_bytes / MSS;
            windows.push(flight as f64);
            for _ in 0..flight {
                una += MSS;
                let (rtt_sample, snd_nxt) = (Some(rtt), una + vegas.limits().cwnd_bytes);
                vegas.on_ack(NOW, &Ack { rtt_sample, snd_una: una, snd_nxt, ..ack(MSS) });
            }
        }
        (vegas, windows)
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip_and_linux_each() {
        let (_, windows) = rounds(vegas(Rules::Paper, 4), ms(100), 7);
        assert!(windows.windows(3).all(|w| w[2] <= 2.0 * w[0] + 1.0), "{windows:?}");
        assert_eq!((windows[0], windows[6]), (4.0, 32.0), "{windows:?}");
        let (_, windows) = rounds(vegas(Rules::Linux, 4), ms(100), 4);
        assert_eq!(windows, [4.0, 8.0, 16.0, 32.0]);
    }

    #[test]
    fn slow_start_ends_when_gamma_is_exceeded() {
        for (rules, kept) in [(Rules::Paper, 56.0), (Rules::Linux, 52.0)] {
            let mut vegas = vegas(rules, 64);
            vegas.base = ms(80);
            vegas.round.holds = true;
            vegas.on_round(ms(81), true); // 0.8 segments
            assert_eq!((vegas.phase(), window(&vegas)), ("slow-start", 64.0));
            vegas.on_round(ms(100), true); // 12.8: 7/8 of 64, or 64 x 80 / 100 + 1
            assert_eq!((vegas.phase(), window(&vegas)), ("congestion-avoidance", kept));
        }
    }

    #[test]
    fn a_loss_leaves_three_quarters_and_linux_half() {
        let lost = |rules, cause| {
            let mut vegas = avoiding(rules, 20);
            vegas.on_congestion(NOW, &congestion(cause, 20.0));
            (window(&vegas), vegas.phase())
        };
        let [paper, linux] = [Rules::Paper, Rules::Linux];
        assert_eq!(lost(paper, CongestionCause::Loss), (15.0, "congestion-avoidance"));
        assert_eq!(lost(paper, CongestionCause::LostRetransmission).0, 10.0);
        assert_eq!(lost(linux, CongestionCause::Loss).0, 10.0);
        assert_eq!(lost(linux, CongestionCause::LostRetransmission).0, 20.0);
        let mut vegas = avoiding(paper, 20);
        vegas.on_rto(NOW, &Timeout { flight_size_bytes: 20 * MSS, first: true });
        assert_eq!((window(&vegas), vegas.ssthresh_bytes()), (1.0, Some(10 * MSS)));
        vegas.on_spurious(NOW);
        assert_eq!(window(&vegas), 20.0);
    }

    #[test]
    fn linux_forgets_the_path_after_an_idle_time() {
        for (rules, forgets) in [(Rules::Paper, false), (Rules::Linux, true)] {
            let (mut vegas, _) = rounds(avoiding(rules, 10), ms(100), 3);
            vegas.on_sent(NOW, &sent(true));
            assert_eq!(vegas.base == Span::MAX, forgets);
        }
    }

    /// tcp_reno_ssthresh and tcp_cwnd_restart, as for Linux's reno.
    #[test]
    fn linux_halves_the_window_and_cuts_it_after_a_long_idle_time() {
        let mut vegas = avoiding(Rules::Linux, 21);
        vegas.on_congestion(NOW, &congestion(CongestionCause::Loss, 8.0));
        assert_eq!(window(&vegas), 10.0, "of 21 in whole segments, whatever is in flight");
        let mut vegas = avoiding(Rules::Linux, 21);
        vegas.on_rto(NOW, &Timeout { flight_size_bytes: 2 * MSS, first: true });
        assert_eq!((window(&vegas), vegas.ssthresh_bytes()), (1.0, Some(10 * MSS)));
        let kept = |idle_restart_ms| {
            let params = Params { idle_restart_ms, ..params(Rules::Linux) };
            let mut vegas = Vegas::new(&params, init(10));
            vegas.on_sent(NOW, &sent(true));
            vegas.cwnd_bytes = 40 * MSS;
            vegas.on_sent(NOW + ms(250), &sent(true));
            window(&vegas)
        };
        assert_eq!((kept(200), kept(300), kept(0)), (10.0, 40.0, 40.0));
    }

    #[test]
    fn parameters_out_of_order_are_refused() {
        let refused = |params: Params| params.check().unwrap_err().param;
        assert_eq!(refused(Params { alpha: 0.0, ..Params::default() }), "alpha");
        assert_eq!(refused(Params { alpha: f64::NAN, ..Params::default() }), "alpha");
        assert_eq!(refused(Params { alpha: 5.0, ..Params::default() }), "beta");
        assert_eq!(refused(Params { gamma: -1.0, ..Params::default() }), "gamma");
    }
}

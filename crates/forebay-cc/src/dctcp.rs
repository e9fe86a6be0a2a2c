//! DCTCP: Bensley, Thaler, Balasubramanian, Eggert and Judd, "Data Center TCP (DCTCP): TCP
//! Congestion Control for Data Centers", RFC 8257 (doi:10.17487/RFC8257); Alizadeh and others,
//! "Data center TCP (DCTCP)", SIGCOMM 2010 (doi:10.1145/1851182.1851192).
//!
//! Switches mark packets that find more than K waiting. The receiver echoes each mark
//! ([`EcnPolicy::Rfc8257`]), so that the sender knows which share of its bytes was marked, and
//! reduces its window in proportion. M and alpha are shares, windows are in bytes:
//!
//! 1. per ACK: `BytesAcked += acked`, and `BytesMarked += acked` if it has an echo; SACK does not
//!    count (section 3.3, steps 1 to 3);
//! 2. once per window of data: `M = BytesMarked / BytesAcked`, `alpha = (1 - g) alpha + g M` with
//!    g = 1/16 (section 3.3, steps 4 to 7). alpha is 1 at first;
//! 3. at the first echo of a window: `cwnd = (1 - alpha / 2) cwnd`, `ssthresh` the same (section
//!    3.3, step 8);
//! 4. growth and losses as NewReno (sections 3.4 and 3.5), one reduction a window for losses and
//!    echoes together.
//!
//! N flows at a queue that marks above K, with path and queue of `C RTT + K` segments in all: each
//! has a window of up to `W = (C RTT + K) / N`, alpha is `sqrt(2 / W)`, and the queue swings by
//! `sqrt(2 N (C RTT + K)) / 2`; it never runs empty if `K > C RTT / 7` (SIGCOMM 2010, section 3.3).
//!
//! Differs from the RFC in: a window does not fall below two segments, as in Linux; a RST is not
//! ECN-capable. Differs from Linux in: Linux counts what SACK reports for M, ends a window one ACK
//! earlier, and has alpha in units of 1/1024.

use crate::ParamError;
use crate::controller::{
    Ack, Congestion, CongestionCause, Controller, EcnPolicy, Init, Limits, Recovered, Sent,
    SeriesSample, Tag, Timeout, Traits,
};
use crate::newreno::{self, NewReno};
use alloc::boxed::Box;
use forebay_base::Time;
use forebay_base::require;
use serde::{Deserialize, Serialize};

/// Parameters of DCTCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// g: weight of a window of data in alpha, above 0 and at most 1. RFC 8257 section 4: 1/16.
    pub gain: f64,
    /// alpha before the first window, 0 to 1. RFC 8257 section 3.3: 1, so that the first mark
    /// halves.
    pub initial_alpha: f64,
    /// Segments that one ACK may add in slow start, at least 1. RFC 5681 eq. 2: 1; Linux has no
    /// limit.
    pub abc_l: u32,
    /// Minimum silence after which the window is cut to the initial window, in milliseconds, as
    /// for NewReno (Linux 200); 0: never.
    pub idle_restart_ms: u32,
    /// After a loss: reduce from cwnd, in whole segments, instead of the flight (Linux,
    /// dctcp_react_to_loss).
    pub reduce_from_cwnd: bool,
    /// Reduce once more when a retransmission is lost in the same recovery (RFC 9937 section 6);
    /// Linux does not.
    pub reduce_again: bool,
}

impl Default for Params {
    fn default() -> Params {
        let newreno::Params { abc_l, idle_restart_ms, reduce_from_cwnd, reduce_again, .. } =
            newreno::Params::default();
        let (gain, initial_alpha) = (1.0 / 16.0, 1.0);
        Params { gain, initial_alpha, abc_l, idle_restart_ms, reduce_from_cwnd, reduce_again }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require(self.gain > 0.0 && self.gain <= 1.0, "gain", "above 0, at most 1")?;
        require((0.0..=1.0).contains(&self.initial_alpha), "initial_alpha", "0 to 1")?;
        self.reno().check()
    }
    fn reno(&self) -> newreno::Params {
        let Params { abc_l, idle_restart_ms, reduce_from_cwnd, reduce_again, .. } = *self;
        newreno::Params { abc_l, abe: false, idle_restart_ms, reduce_from_cwnd, reduce_again }
    }
}

/// Equations 1 and 2.
#[derive(Clone, Debug)]
struct Marks {
    gain: f64,
    alpha: f64,
    /// Of the window of data that is being observed.
    acked_bytes: u64,
    marked_bytes: u64,
    /// Stream offset beyond which an ACK ends it.
    window_end: u64,
}

/// The window of one path.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: NewReno,
    // On the heap: other controllers are smaller.
    marks: Box<Marks>,
    /// The first echo of a window came with the ACK that the next call reports.
    echoed: bool,
}

impl Dctcp {
    /// A window at its start.
    pub fn new(params: &Params, init: Init) -> Dctcp {
        Dctcp {
            reno: NewReno::new(&params.reno(), init),
            marks: Box::new(Marks {
                gain: params.gain,
                alpha: params.initial_alpha,
                acked_bytes: 0,
                marked_bytes: 0,
                window_end: 0,
            }),
            echoed: false,
        }
    }
}

impl Marks {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.acked_bytes += ack.acked_bytes;
        self.marked_bytes += if ack.ecn_echo { ack.acked_bytes } else { 0 };
        if ack.snd_una <= self.window_end || self.acked_bytes == 0 {
            return;
        }
        let share = self.marked_bytes as f64 / self.acked_bytes as f64;
        self.alpha = (1.0 - self.gain) * self.alpha + self.gain * share;
        self.window_end = ack.snd_nxt;
        (self.acked_bytes, self.marked_bytes) = (0, 0);
    }
}

impl Controller for Dctcp {
    #[inline]
    fn limits(&self) -> Limits {
        self.reno.limits()
    }
    fn traits(&self) -> Traits {
        Traits {
            wants_rate: false,
            edits_headers: false,
            limits_change_on_send: false,
            ecn_policy: Some(EcnPolicy::Rfc8257),
            ..Traits::default()
        }
    }

    #[inline]
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        self.reno.on_sent(now, sent)
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        self.marks.on_ack(ack);
        if core::mem::take(&mut self.echoed) {
            let kept = (1.0 - self.marks.alpha / 2.0) * self.limits().cwnd_bytes as f64;
            self.reno.reduce_to(kept as u64); // equation 3
        }
        self.reno.on_ack(now, ack);
    }

    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        match event.cause {
            // alpha may change with the ACK that has the echo: step 8 follows step 7.
            CongestionCause::Ecn => self.echoed = true,
            CongestionCause::Loss | CongestionCause::LostRetransmission => {
                self.reno.on_congestion(now, event);
            }
        }
    }

    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        self.reno.on_recovered(now, end);
    }

    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        self.reno.on_rto(now, timeout);
    }

    fn on_spurious(&mut self, now: Time) {
        self.reno.on_spurious(now);
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        self.reno.ssthresh_bytes()
    }

    fn phase(&self) -> &'static str {
        self.reno.phase()
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        visit(SeriesSample { name: "alpha", unit: "", value: self.marks.alpha });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{MSS, ack, congestion, init};

    const NOW: Time = Time::from_secs(1);

    /// Round trips of a window each.
    struct Rounds {
        dctcp: Dctcp,
        una: u64,
    }

    impl Rounds {
        fn new(params: &Params, segments: u64) -> Rounds {
            Rounds { dctcp: Dctcp::new(params, init(segments)), una: 0 }
        }
        fn window(&self) -> u64 {
            self.dctcp.limits().cwnd_bytes / MSS
        }
        /// A window of data, of which `marked` segments come with an echo, the first ones.
        fn round(&mut self, marked: u64) {
            let window = self.window();
            for n in 0..window {
                let ecn_echo = n < marked;
                self.una += MSS;
                if ecn_echo && n == 0 {
                    let event = congestion(CongestionCause::Ecn, window as f64);
                    self.dctcp.on_congestion(NOW, &event);
                }
                let snd_nxt = self.una + window * MSS;
                self.dctcp.on_ack(NOW, &Ack { snd_una: self.una, snd_nxt, ecn_echo, ..ack(MSS) });
            }
        }
    }

    /// `alpha_n = M + (1 - M) (15/16)^n` for a share M that stays.
    #[test]
    fn alpha_approaches_the_share_of_marks_by_a_sixteenth_a_window() {
        let mut dctcp = Dctcp::new(&Params::default(), init(100));
        let (mut una, mut windows, mut expected) = (0, 0, 1.0);
        for n in 0..20_000 {
            una += MSS;
            // Windows of 100 ACKs: the one after SND.NXT ends it.
            let snd_nxt = una + 99 * MSS;
            let before = dctcp.marks.window_end;
            let ecn_echo = n % 100 < 25;
            dctcp.marks.on_ack(&Ack { snd_una: una, snd_nxt, ecn_echo, ..ack(MSS) });
            if n > 0 && dctcp.marks.window_end > before {
                windows += 1;
                expected = 0.25 + 0.75 * (15.0_f64 / 16.0).powi(windows);
            }
            // The first window is one ACK, a marked one: alpha stays 1.
            assert!((dctcp.marks.alpha - expected).abs() < 1e-12, "{} at {n}", dctcp.marks.alpha);
        }
        assert_eq!(windows, 199);
    }

    #[test]
    fn the_first_mark_halves_and_each_window_is_reduced_once() {
        let mut rounds = Rounds::new(&Params::default(), 64);
        rounds.dctcp.reno.reduce_to(64 * MSS); // congestion avoidance
        rounds.round(64);
        assert_eq!(rounds.window(), 32, "alpha is 1: all was marked");
        rounds.dctcp.marks.alpha = 0.25;
        rounds.round(1);
        // 32 (1 - 0.25 / 2), then a segment of congestion avoidance.
        assert_eq!(rounds.window(), 29);
    }

    /// SIGCOMM 2010 section 3.3, one flow: it grows from `(1 - alpha / 2) (W + 1)` by one segment a
    /// round trip and is marked in the round trip above W. `alpha^2 (1 - alpha / 4) = (2 W + 1) /
    /// (W + 1)^2`, about 2 / W, if `g < 1.386 / sqrt(2 W)` (section 3.4).
    #[test]
    fn the_sawtooth_over_a_threshold_has_the_alpha_of_the_closed_form() {
        for (threshold, gain) in [(50_u64, 1.0 / 16.0), (200, 1.0 / 16.0), (800, 1.0 / 64.0)] {
            let mut rounds = Rounds::new(&Params { gain, ..Params::default() }, threshold);
            rounds.dctcp.reno.reduce_to(threshold * MSS);
            let (mut sum, mut least, mut count) = (0.0, u64::MAX, 0);
            for n in 0..6_000 {
                let above = rounds.window() > threshold;
                rounds.round(if above { rounds.window() } else { 0 });
                if n >= 3_000 {
                    sum += rounds.dctcp.marks.alpha;
                    least = least.min(rounds.window());
                    count += 1;
                }
            }
            let (mean, w) = (sum / f64::from(count), threshold as f64);
            let law = (2.0 / w).sqrt();
            assert!((mean / law - 1.0).abs() < 0.15, "{threshold}: alpha {mean}, law {law}");
            let kept = least as f64 / (w + 1.0);
            assert!((kept - (1.0 - law / 2.0)).abs() < 0.03, "{threshold}: {kept} kept");
        }
    }

    #[test]
    fn a_loss_halves_whatever_alpha_is_and_an_echo_never_goes_below_two_segments() {
        let mut rounds = Rounds::new(&Params { initial_alpha: 0.0, ..Params::default() }, 40);
        rounds.dctcp.on_congestion(NOW, &congestion(CongestionCause::Loss, 40.0));
        assert_eq!(rounds.window(), 20);
        let mut rounds = Rounds::new(&Params::default(), 4);
        (0..40).for_each(|_| rounds.round(2));
        assert!(rounds.window() >= 2);
    }

    #[test]
    fn what_sack_reports_does_not_count() {
        let mut rounds = Rounds::new(&Params { initial_alpha: 0.0, ..Params::default() }, 10);
        let sacked = Ack { acked_bytes: 0, snd_una: 0, ecn_echo: true, ..ack(MSS) };
        rounds.dctcp.marks.on_ack(&sacked);
        assert_eq!((rounds.dctcp.marks.marked_bytes, rounds.dctcp.marks.acked_bytes), (0, 0));
    }
}

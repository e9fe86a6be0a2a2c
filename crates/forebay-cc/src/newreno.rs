//! TCP NewReno: the window half of RFC 5681 (doi:10.17487/RFC5681) and RFC 6582
//! (doi:10.17487/RFC6582).
//!
//! With N the bytes that an ACK newly acknowledges, SMSS the segment and L the `abc_l` limit, all
//! in bytes:
//!
//! 1. slow start, cwnd < ssthresh: `cwnd += min(N, L SMSS)` per ACK (RFC 5681 eq. 2; RFC 3465
//!    section 2.2);
//! 2. congestion avoidance: `cwnd += SMSS` each time that `cwnd` bytes are acknowledged (RFC 3465
//!    section 2.1);
//! 3. loss: `ssthresh = max(FlightSize / 2, 2 SMSS)`, `cwnd = ssthresh` (RFC 5681 eq. 4);
//! 4. timeout: `ssthresh` as in 3, only the first time for the same data; `cwnd = SMSS` (RFC 5681
//!    section 3.1);
//! 5. ECN echo: as 3, or `ssthresh = max(0.8 FlightSize, 2 SMSS)` with ABE (RFC 8511 section 3.1);
//! 6. after a silence longer than the timeout: `cwnd = min(cwnd, IW)` (RFC 5681 section 4.1);
//! 7. a spurious signal: the window before it is given back (RFC 4015 section 3.2, as Linux).
//!
//! Inflation by duplicate ACKs, its deflation by partial ACKs, and PRR belong to the transport.
//!
//! Differs from the RFC / Linux in: a congestion event never raises a window that is already below
//! the new ssthresh, and halves no more than the window, since FlightSize may still count an older
//! and larger flight; slow start stops at ssthresh and the rest of the ACK counts for
//! congestion avoidance (as Linux); `abc_l` holds after a timeout too.

use crate::ParamError;
use crate::controller::{
    Ack, Congestion, CongestionCause, Controller, Init, Limits, Recovered, Sent, Tag, Timeout,
    Traits,
};
use crate::idle_restart::IdleRestart;
use forebay_base::Time;
use forebay_base::require;
use serde::{Deserialize, Serialize};

/// Parameters of NewReno.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Segments that one ACK may add in slow start, at least 1. RFC 5681 eq. 2: 1; RFC 3465 section
    /// 2.3 allows 2, but not after a timeout; Linux has no limit.
    pub abc_l: u32,
    /// Treat ECN as a milder signal than loss: 0.8 instead of 0.5 (RFC 8511).
    pub abe: bool,
    /// Minimum silence after which the window is cut to the initial window, in milliseconds, if
    /// the retransmission timeout is not longer (RFC 5681 section 4.1 with the floor of RFC 6298
    /// eq. 2.4; Linux 200); 0: never.
    pub idle_restart_ms: u32,
    /// Reduce from cwnd, in whole segments, instead of the flight (Linux, tcp_reno_ssthresh).
    pub reduce_from_cwnd: bool,
    /// Reduce once more when a retransmission is lost in the same recovery (RFC 9937 section 6);
    /// Linux does not.
    pub reduce_again: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            abc_l: 1,
            abe: false,
            idle_restart_ms: 1000,
            reduce_from_cwnd: false,
            reduce_again: true,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require(self.abc_l >= 1, "abc_l", "1 or more")
    }
}

/// What a congestion event took away.
#[derive(Clone, Copy, Debug)]
struct Undo {
    cwnd_bytes: u64,
    ssthresh_bytes: u64,
}

/// The window of one path.
#[derive(Clone, Debug)]
pub struct NewReno {
    cwnd_bytes: u64,
    ssthresh_bytes: u64,
    /// Bytes acknowledged towards the next segment of congestion avoidance.
    acked_bytes: u64,
    mss_bytes: u32,
    abe: bool,
    reduce_from_cwnd: bool,
    reduce_again: bool,
    slow_start_cap_bytes: u64,
    restart_bytes: u64,
    idle_restart: IdleRestart,
    undo: Option<Undo>,
}

impl NewReno {
    /// A window at its start.
    pub fn new(params: &Params, init: Init) -> NewReno {
        let mss = u64::from(init.mss_bytes);
        let initial = init.initial_window_bytes.clamp(mss, Limits::MAX_CWND_BYTES);
        NewReno {
            cwnd_bytes: initial,
            ssthresh_bytes: init.initial_ssthresh_bytes,
            acked_bytes: 0,
            mss_bytes: init.mss_bytes,
            abe: params.abe,
            reduce_from_cwnd: params.reduce_from_cwnd,
            reduce_again: params.reduce_again,
            slow_start_cap_bytes: mss * u64::from(params.abc_l),
            restart_bytes: initial,
            idle_restart: IdleRestart::new(params.idle_restart_ms),
            undo: None,
        }
    }

    fn mss(&self) -> u64 {
        u64::from(self.mss_bytes)
    }

    /// The window may change with this ACK. RFC 3168 section 6.1.2: not where it echoes congestion.
    #[inline]
    pub(crate) fn may_grow(ack: &Ack<'_>) -> bool {
        ack.cwnd_limited && !ack.in_recovery && !ack.ecn_echo && ack.acked_bytes > 0
    }
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd_bytes < self.ssthresh_bytes
    }

    /// The opposite of equation 2: one segment less for `cwnd` bytes, to a segment.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        if self.acked_bytes < bytes {
            let before = self.cwnd_bytes;
            self.cwnd_bytes = before.saturating_sub(self.mss()).max(self.mss());
            let borrowed = if self.cwnd_bytes < before { self.cwnd_bytes } else { 0 };
            self.acked_bytes += borrowed;
        }
        self.acked_bytes = self.acked_bytes.saturating_sub(bytes);
    }

    /// Equations 1 and 2 for `acked` bytes.
    #[inline]
    pub(crate) fn grow(&mut self, mut acked: u64) {
        if self.cwnd_bytes < self.ssthresh_bytes {
            let room = self.ssthresh_bytes - self.cwnd_bytes;
            let step = acked.min(self.slow_start_cap_bytes);
            self.cwnd_bytes += step.min(room);
            if step <= room {
                self.cwnd_bytes = self.cwnd_bytes.min(Limits::MAX_CWND_BYTES);
                return;
            }
            acked = step - room;
        }
        self.acked_bytes += acked;
        if self.acked_bytes >= self.cwnd_bytes {
            self.acked_bytes -= self.cwnd_bytes;
            self.cwnd_bytes += self.mss();
        }
        self.cwnd_bytes = self.cwnd_bytes.min(Limits::MAX_CWND_BYTES);
    }

    /// Equation 3 with the share `num / den` of the flight.
    fn reduced(&self, flight_bytes: u64, num: u64, den: u64) -> u64 {
        if self.reduce_from_cwnd {
            let segments = self.cwnd_bytes / self.mss() * num / den;
            return segments.max(2) * self.mss();
        }
        (flight_bytes.saturating_mul(num) / den).max(2 * self.mss())
    }

    /// A signal of congestion that leaves this much, two segments at least.
    pub(crate) fn reduce_to(&mut self, bytes: u64) {
        self.ssthresh_bytes = bytes.max(2 * self.mss());
        self.cwnd_bytes = self.cwnd_bytes.min(self.ssthresh_bytes);
        self.acked_bytes = 0;
    }

    fn remember(&mut self) {
        self.undo = Some(Undo { cwnd_bytes: self.cwnd_bytes, ssthresh_bytes: self.ssthresh_bytes });
    }
}

impl Controller for NewReno {
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
        Tag(0)
    }

    #[inline]
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        if ack.rtt_sample.is_some() {
            self.idle_restart.on_rtt(&ack.rtt);
        }
        if NewReno::may_grow(ack) {
            self.grow(ack.acked_bytes);
        }
    }

    fn on_congestion(&mut self, _now: Time, event: &Congestion) {
        if event.cause == CongestionCause::LostRetransmission && !self.reduce_again {
            return;
        }
        self.remember();
        // FlightSize still counts the flight of an earlier reduction, or of a spurious timeout.
        let flight = event.flight_size_bytes.min(self.cwnd_bytes);
        let kept_bytes = match event.cause {
            CongestionCause::Ecn if self.abe => self.reduced(flight, 4, 5),
            _ => self.reduced(flight, 1, 2),
        };
        self.reduce_to(kept_bytes);
    }

    fn on_recovered(&mut self, _now: Time, end: &Recovered) {
        // The window has stood still at ssthresh since the congestion event; RFC 6582 step 3 may
        // ask for less.
        if let Some(cap_bytes) = end.cwnd_cap_bytes {
            self.cwnd_bytes = self.cwnd_bytes.min(cap_bytes).max(self.mss());
        }
    }

    fn on_rto(&mut self, _now: Time, timeout: &Timeout) {
        if timeout.first {
            self.remember();
            self.ssthresh_bytes = self.reduced(timeout.flight_size_bytes, 1, 2);
        }
        self.cwnd_bytes = self.mss();
        self.acked_bytes = 0;
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{MSS, Pipe, ack, congestion, init, ms, sent};
    use alloc::vec::Vec;
    use forebay_base::Span;

    const NOW: Time = Time::from_secs(1);

    fn reno(segments: u64) -> NewReno {
        NewReno::new(&Params::default(), init(segments))
    }
    fn segments(reno: &NewReno) -> u64 {
        assert_eq!(reno.limits().cwnd_bytes % MSS, 0);
        reno.limits().cwnd_bytes / MSS
    }
    /// In congestion avoidance with a window of `half` segments.
    fn avoiding(half: u64) -> NewReno {
        let mut reno = reno(2 * half);
        reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 2.0 * half as f64));
        assert_eq!(segments(&reno), half);
        reno
    }

    #[test]
    fn slow_start_doubles_with_an_ack_per_segment() {
        let mut reno = reno(10);
        for expected in [20, 40, 80] {
            (0..segments(&reno)).for_each(|_| reno.on_ack(NOW, &ack(MSS)));
            assert_eq!(segments(&reno), expected);
        }
    }

    /// Windows per round with an ACK for every second segment; an odd last one waits for the next
    /// round.
    fn delayed_ack_windows(abc_l: u32, rounds: usize) -> Vec<u64> {
        let mut reno = NewReno::new(&Params { abc_l, ..Params::default() }, init(10));
        let mut leftover = 0;
        let round = |_| {
            let window = segments(&reno);
            let unacked = window + leftover;
            (0..unacked / 2).for_each(|_| reno.on_ack(NOW, &ack(2 * MSS)));
            leftover = unacked % 2;
            window
        };
        (0..rounds).map(round).collect()
    }

    #[test]
    fn slow_start_with_delayed_acks_grows_by_half_or_doubles_with_l_2() {
        assert_eq!(delayed_ack_windows(1, 5), [10, 15, 22, 33, 50]);
        assert_eq!(delayed_ack_windows(2, 4), [10, 20, 40, 80]);
    }

    #[test]
    fn slow_start_stops_at_ssthresh_and_the_rest_counts_on() {
        let mut reno = NewReno::new(&Params { abc_l: 4, ..Params::default() }, init(10));
        reno.ssthresh_bytes = 12 * MSS;
        reno.on_ack(NOW, &ack(4 * MSS));
        assert_eq!((segments(&reno), reno.acked_bytes), (12, 2 * MSS));
        (0..5).for_each(|_| reno.on_ack(NOW, &ack(2 * MSS)));
        assert_eq!((segments(&reno), reno.acked_bytes), (13, 0));
    }

    #[test]
    fn the_sawtooth_on_a_bare_pipe_of_100_segments_has_its_closed_form() {
        // A window of 100 overflows: rounds of 50..=99 segments, 3725 in 50 round trips, mean 74.5.
        let mut reno = avoiding(50);
        for _ in 0..3 {
            let mut rounds = Vec::new();
            while segments(&reno) < 100 {
                rounds.push(segments(&reno));
                (0..segments(&reno)).for_each(|_| reno.on_ack(NOW, &ack(MSS)));
            }
            assert_eq!(rounds.len(), 50);
            assert_eq!(rounds.iter().sum::<u64>(), 3725);
            reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 100.0));
            assert_eq!(segments(&reno), 50);
        }
    }

    #[test]
    fn deterministic_loss_gives_the_square_root_law() {
        // Mathis et al., W = sqrt(3 / (2 p)); the discrete cycle of 3 W^2 / 8 + W / 4 segments lies
        // below by 1/3 segment.
        for (interval, law) in [(10_000, 122.47), (100_000, 387.30)] {
            let mut pipe = Pipe::new(avoiding(50), ms(100));
            let mean = pipe.mean_window_at_loss_interval(interval);
            assert!((mean / law - 1.0).abs() < 0.005, "{mean} against {law}");
        }
    }

    #[test]
    fn ssthresh_is_half_the_flight_and_at_least_two_segments() {
        let mut reno = reno(10);
        // Ten in flight leave five, three leave two and not one and a half.
        reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 10.0));
        assert_eq!((segments(&reno), reno.ssthresh_bytes()), (5, Some(5 * MSS)));
        reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 3.0));
        assert_eq!((segments(&reno), reno.ssthresh_bytes()), (2, Some(2 * MSS)));
    }

    #[test]
    fn flight_and_not_window_decides() {
        let mut reno = reno(100);
        reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 20.0));
        assert_eq!(segments(&reno), 10);
    }

    #[test]
    fn a_lost_retransmission_halves_once_more() {
        let mut reno = reno(40);
        reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 40.0));
        reno.on_congestion(NOW, &congestion(CongestionCause::LostRetransmission, 40.0));
        assert_eq!(segments(&reno), 10);
    }

    #[test]
    fn ecn_halves_and_abe_takes_a_fifth() {
        for (abe, expected) in [(false, 50), (true, 80)] {
            let mut reno = NewReno::new(&Params { abe, ..Params::default() }, init(100));
            reno.on_congestion(NOW, &congestion(CongestionCause::Ecn, 100.0));
            assert_eq!(segments(&reno), expected);
            reno.on_congestion(NOW, &congestion(CongestionCause::Loss, expected as f64));
            assert_eq!(segments(&reno), expected / 2, "loss halves, ABE or not");
        }
    }

    #[test]
    fn timeouts_restart_at_one_segment_and_hold_ssthresh() {
        let mut reno = reno(32);
        reno.on_rto(NOW, &Timeout { flight_size_bytes: 32 * MSS, first: true });
        assert_eq!((segments(&reno), reno.ssthresh_bytes()), (1, Some(16 * MSS)));
        reno.on_rto(NOW, &Timeout { flight_size_bytes: MSS, first: false });
        assert_eq!((segments(&reno), reno.ssthresh_bytes()), (1, Some(16 * MSS)));
        (0..15).for_each(|_| reno.on_ack(NOW, &ack(MSS)));
        assert_eq!((segments(&reno), reno.phase()), (16, "congestion-avoidance"));
    }

    #[test]
    fn no_growth_without_need_in_recovery_on_echo_or_on_duplicates() {
        let mut reno = reno(10);
        let base = ack(MSS);
        reno.on_ack(NOW, &Ack { cwnd_limited: false, ..base });
        reno.on_ack(NOW, &Ack { in_recovery: true, ..base });
        reno.on_ack(NOW, &Ack { ecn_echo: true, ..base });
        reno.on_ack(NOW, &Ack { acked_bytes: 0, duplicate: true, ..base });
        assert_eq!(segments(&reno), 10);
        reno.on_ack(NOW, &base);
        assert_eq!(segments(&reno), 11);
    }

    #[test]
    fn a_full_ack_may_cap_the_window_and_slow_start_refills_it() {
        let mut reno = reno(10);
        reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 10.0));
        reno.on_recovered(NOW, &Recovered { cwnd_cap_bytes: None });
        assert_eq!(segments(&reno), 5);
        // min(ssthresh, max(FlightSize, SMSS) + SMSS) with nothing in flight.
        reno.on_recovered(NOW, &Recovered { cwnd_cap_bytes: Some(2 * MSS) });
        assert_eq!((segments(&reno), reno.phase()), (2, "slow-start"));
    }

    #[test]
    fn a_full_ack_leaves_at_least_one_segment() {
        let mut reno = avoiding(5);
        reno.on_recovered(NOW, &Recovered { cwnd_cap_bytes: Some(0) });
        assert_eq!(segments(&reno), 1);
    }

    #[test]
    fn congestion_never_raises_the_window() {
        let mut reno = reno(32);
        reno.on_rto(NOW, &Timeout { flight_size_bytes: 32 * MSS, first: true });
        reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 32.0));
        assert_eq!((segments(&reno), reno.ssthresh_bytes()), (1, Some(2 * MSS)));
    }

    /// Linux, tcp_reno_ssthresh: half of cwnd, however much of an older and larger flight is not
    /// acknowledged yet. Measured on Linux 6.18: 417 segments of 834 after a spurious timeout,
    /// where half of FlightSize would be 624.
    #[test]
    fn an_old_flight_does_not_raise_ssthresh() {
        let mut reno = reno(832);
        reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 1248.0));
        assert_eq!((segments(&reno), reno.ssthresh_bytes()), (416, Some(416 * MSS)));
    }

    #[test]
    fn the_window_stops_where_sequence_numbers_do() {
        for ssthresh_bytes in [0, u64::MAX] {
            let mut init = init(10);
            init.initial_window_bytes = Limits::MAX_CWND_BYTES - 1;
            init.initial_ssthresh_bytes = ssthresh_bytes;
            let mut reno = NewReno::new(&Params::default(), init);
            reno.on_ack(NOW, &ack(Limits::MAX_CWND_BYTES));
            assert_eq!(reno.limits().cwnd_bytes, Limits::MAX_CWND_BYTES);
        }
    }

    #[test]
    fn a_spurious_timeout_is_undone_once() {
        let mut reno = avoiding(20);
        reno.on_rto(NOW, &Timeout { flight_size_bytes: 20 * MSS, first: true });
        reno.on_rto(NOW, &Timeout { flight_size_bytes: 20 * MSS, first: false });
        reno.on_spurious(NOW);
        assert_eq!((segments(&reno), reno.ssthresh_bytes()), (20, Some(20 * MSS)));
        reno.on_congestion(NOW, &congestion(CongestionCause::Loss, 20.0));
        reno.on_spurious(NOW);
        assert_eq!(segments(&reno), 20);
        reno.on_rto(NOW, &Timeout { flight_size_bytes: 20 * MSS, first: false });
        reno.on_spurious(NOW);
        assert_eq!(segments(&reno), 1, "nothing is left to give back");
    }

    #[test]
    fn a_long_silence_brings_the_initial_window_back() {
        let mut reno = NewReno::new(&Params::default(), init(10));
        reno.on_sent(NOW, &sent(true));
        (0..30).for_each(|_| reno.on_ack(NOW, &ack(MSS)));
        reno.on_sent(NOW + ms(1000), &sent(true));
        assert_eq!(segments(&reno), 40);
        reno.on_sent(NOW + ms(1000) + Span::from_millis(1001), &sent(true));
        assert_eq!(segments(&reno), 10);
    }
}

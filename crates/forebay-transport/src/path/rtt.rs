//! Round-trip estimate and retransmission timeout (RFC 6298).

use crate::config::TcpConfig;
use forebay_base::Span;
use forebay_cc::RttView;

/// Bounds of the timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtoBounds {
    pub min: Span,
    pub max: Span,
}

impl RtoBounds {
    pub(crate) fn of(config: &TcpConfig) -> RtoBounds {
        RtoBounds { min: config.min_rto, max: config.max_rto }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Option<Span>,
    rttvar: Span,
    min: Span,
    latest: Option<Span>,
    bounds: RtoBounds,
    /// RTO before back-off.
    base: Span,
    /// Doublings since the last sample (5.5).
    backoff: u32,
}

/// RTO for data where the SYN timed out (RFC 6298 section 5.7).
const RTO_AFTER_SYN_LOSS: Span = Span::from_secs(3);

impl RttEstimator {
    pub(crate) fn new(initial_rto: Span, bounds: RtoBounds) -> RttEstimator {
        RttEstimator {
            srtt: None,
            rttvar: Span::ZERO,
            min: Span::MAX,
            latest: None,
            bounds,
            base: initial_rto,
            backoff: 0,
        }
    }

    /// A sample R (2.2, 2.3). The clock ticks in nanoseconds, so that G is nothing beside 4 RTTVAR.
    #[inline]
    pub(crate) fn sample(&mut self, r: Span) {
        match self.srtt {
            None => {
                self.srtt = Some(r);
                self.rttvar = r / 2;
            }
            Some(srtt) => {
                // RTTVAR first: it needs the old SRTT.
                let deviation = srtt.abs_diff(r).as_nanos();
                self.rttvar = Span::from_nanos((3 * self.rttvar.as_nanos() + deviation) / 4);
                self.srtt = Some(Span::from_nanos((7 * srtt.as_nanos() + r.as_nanos()) / 8));
            }
        }
        self.latest = Some(r);
        self.min = self.min.min(r);
        self.backoff = 0;
        let srtt = self.srtt.unwrap_or(r);
        self.base = (srtt + self.rttvar * 4).max(self.bounds.min).min(self.bounds.max);
    }

    /// The timeout in force.
    #[inline]
    pub(crate) fn rto(&self) -> Span {
        if self.backoff == 0 {
            return self.base.min(self.bounds.max);
        }
        (self.base * (1 << self.backoff.min(32))).min(self.bounds.max)
    }
    /// The same before back-off.
    pub(crate) fn base(&self) -> Span {
        self.base
    }
    /// Make the timeout that of a patient path: `floor` or more, and a quarter of SRTT beyond SRTT where 4 RTTVAR is less. What
    /// holds packets for seconds shows little variation, and detours bring some of them later than that.
    pub(crate) fn be_patient(&mut self, floor: Span) {
        if let Some(srtt) = self.srtt {
            self.base = self.base.max(srtt + srtt / 4).max(floor).min(self.bounds.max);
        }
    }
    /// The timer expired (5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }
    /// The handshake is over and its SYN had timed out: 3 s for data, if less was in use (5.7).
    pub(crate) fn after_syn_loss(&mut self) {
        self.backoff = 0;
        self.base = self.base.max(RTO_AFTER_SYN_LOSS);
    }
    /// A timeout was spurious, or the path proved alive: the back-off is void.
    pub(crate) fn collapse(&mut self) {
        self.backoff = 0;
    }
    #[inline]
    pub(crate) fn srtt(&self) -> Option<Span> {
        self.srtt
    }
    /// Smallest sample, [`Span::MAX`] before the first.
    #[inline]
    pub(crate) fn min(&self) -> Span {
        self.min
    }
    #[inline]
    pub(crate) fn view(&self) -> RttView {
        RttView { srtt: self.srtt, rttvar: self.rttvar, min: self.min, latest: self.latest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_FLOOR: RtoBounds = RtoBounds { min: Span::ZERO, max: Span::from_secs(60) };

    fn ms(x: f64) -> Span {
        Span::from_secs_f64(x * 1e-3)
    }
    fn close(a: Span, b: f64) -> bool {
        a.abs_diff(ms(b)).as_nanos() < 100
    }

    #[test]
    fn follows_the_hand_computed_table() {
        // (sample, SRTT, RTTVAR, RTO) in ms, computed by hand from RFC 6298 2.2 and 2.3.
        let table = [
            (100.0, 100.0, 50.0, 300.0),
            (200.0, 112.5, 62.5, 362.5),
            (100.0, 110.9375, 50.0, 310.9375),
            (300.0, 134.5703125, 84.765625, 473.6328125),
        ];
        let mut rtt = RttEstimator::new(Span::from_secs(1), NO_FLOOR);
        for (sample, srtt, rttvar, rto) in table {
            rtt.sample(ms(sample));
            let view = rtt.view();
            assert!(close(view.srtt.unwrap(), srtt) && close(view.rttvar, rttvar), "{view:?}");
            assert!(close(rtt.rto(), rto));
        }
    }

    #[test]
    fn constant_samples_shrink_the_variation_by_a_quarter() {
        let mut rtt = RttEstimator::new(Span::from_secs(1), NO_FLOOR);
        for rto in [300.0, 250.0, 212.5, 184.375, 163.28125, 147.4609375] {
            rtt.sample(ms(100.0));
            assert!(close(rtt.rto(), rto));
        }
    }

    #[test]
    fn backs_off_to_the_cap_and_a_sample_ends_it() {
        let bounds = RtoBounds { min: Span::from_secs(1), max: Span::from_secs(60) };
        let mut rtt = RttEstimator::new(Span::from_secs(1), bounds);
        let mut at = 0;
        for expected in [1, 3, 7, 15, 31, 63, 123, 183] {
            at += rtt.rto().as_millis() / 1000;
            assert_eq!(at, expected);
            rtt.back_off();
        }
        rtt.sample(ms(10.0));
        assert_eq!(rtt.rto(), Span::from_secs(1));
    }

    #[test]
    fn patience_adds_a_quarter_where_variation_is_less() {
        // By hand: SRTT 4 s, RTTVAR 2 s: 12 s; without variation 5 s. SRTT 100 ms: 1 s. SRTT 50 s: 62.5 s, but 60 at most.
        let floor = Span::from_secs(1);
        for (srtt_s, samples, rto_ms) in
            [(4.0, 1, 12_000), (4.0, 200, 5_000), (0.1, 200, 1_000), (50.0, 200, 60_000)]
        {
            let mut rtt = RttEstimator::new(Span::from_secs(1), NO_FLOOR);
            for _ in 0..samples {
                rtt.sample(Span::from_secs_f64(srtt_s));
            }
            rtt.be_patient(floor);
            assert_eq!(rtt.rto(), Span::from_millis(rto_ms), "{srtt_s} s");
        }
    }

    #[test]
    fn three_seconds_after_a_lost_syn() {
        let mut rtt = RttEstimator::new(Span::from_secs(1), NO_FLOOR);
        rtt.back_off();
        rtt.after_syn_loss();
        assert_eq!(rtt.rto(), Span::from_secs(3));
    }
}

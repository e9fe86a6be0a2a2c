//! What ACKs measure: the round trip, and the retransmission timeout that follows from it (RFC
//! 6298, or as Linux has it); the delivery rate (draft-ietf-ccwg-bbr section 4.5;
//! draft-cheng-iccrg-delivery-rate-estimation).

use crate::config::{RtoRule, TcpConfig};
use alloc::boxed::Box;
use forebay_base::{Span, Time};
use forebay_cc::{RateSample, RttView};

/// Bounds of the timeout, and its rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtoBounds {
    pub rule: RtoRule,
    pub min: Span,
    pub max: Span,
}

impl RtoBounds {
    pub(crate) fn of(config: &TcpConfig) -> RtoBounds {
        RtoBounds { rule: config.rto_rule, min: config.min_rto, max: config.max_rto }
    }
}

/// Offsets of the send sequence when a sample is taken: what the ACK leaves unacknowledged, and
/// SND.NXT.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edges {
    pub una: u64,
    pub nxt: u64,
}

/// Mean deviation as `tcp_rtt_estimator` of Linux keeps it, each value four times the deviation.
#[derive(Clone, Copy, Debug, Default)]
struct Deviation {
    /// mdev_us.
    mean: u64,
    /// mdev_max_us: the largest `mean` of this round trip, not below the smallest timeout.
    most: u64,
    /// rtt_seq: SND.NXT when this round trip began.
    round_end: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Option<Span>,
    rttvar: Span,
    min: Span,
    /// Of use where `srtt` is.
    latest: Span,
    min_rto: Span,
    max_rto: Span,
    /// With [`RtoRule::Linux`].
    deviation: Option<Box<Deviation>>,
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
            latest: Span::ZERO,
            min_rto: bounds.min,
            max_rto: bounds.max,
            deviation: (bounds.rule == RtoRule::Linux).then(Box::default),
            base: initial_rto,
            backoff: 0,
        }
    }

    /// A sample R (2.2, 2.3). The clock ticks in nanoseconds, so that G is negligible against 4
    /// RTTVAR.
    #[inline]
    pub(crate) fn sample(&mut self, r: Span, edges: Edges) {
        self.latest = r;
        self.min = self.min.min(r);
        self.backoff = 0;
        if self.deviation.is_some() {
            return self.sample_linux(r, edges);
        }
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
        let srtt = self.srtt.unwrap_or(r);
        self.base = (srtt + self.rttvar * 4).max(self.min_rto).min(self.max_rto);
    }

    /// The same by `tcp_rtt_estimator` of Linux; its `rttvar_us` is 4 RTTVAR.
    #[inline(never)]
    fn sample_linux(&mut self, r: Span, Edges { una, nxt }: Edges) {
        let Some(d) = &mut self.deviation else { return };
        let floor = self.min_rto.as_nanos();
        let mut variation = self.rttvar.as_nanos() * 4;
        let srtt = match self.srtt {
            None => {
                let mean = r.as_nanos() * 2; // RTO = 3 RTT
                variation = mean.max(floor);
                **d = Deviation { mean, most: variation, round_end: nxt };
                r
            }
            Some(srtt) => {
                let (error, quarter) = (srtt.abs_diff(r).as_nanos(), d.mean / 4);
                // A falling RTT raises the deviation by 1/8 of what a rising one does.
                let rise = error.saturating_sub(quarter) / if r < srtt { 8 } else { 1 };
                d.mean = d.mean + rise - quarter.saturating_sub(error);
                if d.mean > d.most {
                    d.most = d.mean;
                    variation = variation.max(d.most);
                }
                if una > d.round_end {
                    variation -= variation.saturating_sub(d.most) / 4;
                    (d.round_end, d.most) = (nxt, floor);
                }
                Span::from_nanos((7 * srtt.as_nanos() + r.as_nanos()) / 8)
            }
        };
        self.srtt = Some(srtt);
        self.rttvar = Span::from_nanos(variation / 4);
        self.base = (srtt + Span::from_nanos(variation)).min(self.max_rto);
    }

    /// The timeout in force.
    #[inline]
    pub(crate) fn rto(&self) -> Span {
        if self.backoff == 0 {
            return self.base.min(self.max_rto);
        }
        (self.base * (1 << self.backoff.min(32))).min(self.max_rto)
    }
    /// The same before back-off.
    pub(crate) fn base(&self) -> Span {
        self.base
    }
    /// The timeout is `floor` or more, and at least 5/4 SRTT. Networks that store packets for
    /// seconds show little variation, and detours delay some packets by more.
    pub(crate) fn keep_rto_floor(&mut self, floor: Span) {
        if let Some(srtt) = self.srtt {
            self.base = self.base.max(srtt + srtt / 4).max(floor).min(self.max_rto);
        }
    }
    /// A floor is lower than before: the timeout by the samples alone.
    pub(crate) fn drop_rto_floor(&mut self) {
        if let Some(srtt) = self.srtt {
            self.base = (srtt + self.rttvar * 4).max(self.min_rto).min(self.max_rto);
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
    /// With [`RtoRule::Linux`]: the smallest timeout besides SRTT, which probes wait for as well.
    #[inline]
    pub(crate) fn linux_floor(&self) -> Option<Span> {
        self.deviation.is_some().then_some(self.min_rto)
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
        RttView {
            srtt: self.srtt,
            rttvar: self.rttvar,
            min: self.min,
            latest: self.srtt.map(|_| self.latest),
        }
    }
}

/// What is noted on a transmission when it leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// Total delivered by then, and when that was reached.
    delivered: u64,
    delivered_at: Time,
    /// When the first packet of its flight was sent.
    flight_start: Time,
    /// Bytes in flight, it included.
    tx_in_flight: u32,
    /// Total bytes declared lost by then, modulo 2^32.
    lost_before: u32,
    /// The sender had nothing more to send.
    app_limited: bool,
}

#[derive(Debug)]
pub(crate) struct RateSampler {
    /// Somebody looks at the samples.
    wanted: bool,
    /// Total payload bytes delivered.
    delivered: u64,
    delivered_at: Time,
    /// When the first packet of the flight that is being measured was sent.
    flight_start: Time,
    /// Total payload bytes declared lost.
    lost: u64,
    /// Samples are limited by the application until this many bytes are delivered; 0: they are not.
    app_limited_until: u64,
}

impl RateSampler {
    /// Only the totals are kept unless samples are `wanted`.
    pub(crate) fn new(wanted: bool) -> RateSampler {
        let (delivered_at, flight_start) = (Time::ZERO, Time::ZERO);
        RateSampler {
            wanted,
            delivered: 0,
            delivered_at,
            flight_start,
            lost: 0,
            app_limited_until: 0,
        }
    }
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted
    }
    #[inline]
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
    pub(crate) fn add_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }
    #[inline]
    pub(crate) fn add_delivered(&mut self, now: Time, bytes: u64) {
        self.delivered += bytes;
        self.delivered_at = now;
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
    }
    /// The sender had run out of data, and what was in flight then is not delivered yet.
    #[inline]
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }
    /// There is nothing to send although the window is open.
    pub(crate) fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }
    /// A packet is about to leave, with which `tx_in_flight` bytes are in flight: what to note on
    /// it, if samples are wanted.
    #[inline]
    pub(crate) fn on_send(&mut self, now: Time, idle: bool, tx_in_flight: u64) -> Option<Flight> {
        if !self.wanted {
            return None;
        }
        if idle {
            (self.flight_start, self.delivered_at) = (now, now);
        }
        Some(Flight {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            flight_start: self.flight_start,
            tx_in_flight: tx_in_flight as u32,
            lost_before: self.lost as u32,
            app_limited: self.app_limited_until != 0,
        })
    }
    /// The sample of an ACK whose newest transmission was sent at `sent_at` with this noted on it;
    /// None if it is too short to mean anything.
    pub(crate) fn sample(
        &mut self,
        sent_at: Time,
        flight: &Flight,
        min_rtt: Span,
    ) -> Option<RateSample> {
        self.flight_start = sent_at;
        let send_elapsed = sent_at.since(flight.flight_start);
        let ack_elapsed = self.delivered_at.since(flight.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        if interval.is_zero() || (min_rtt != Span::MAX && interval < min_rtt) {
            return None;
        }
        Some(RateSample {
            delivered_bytes: self.delivered - flight.delivered,
            interval,
            prior_delivered_bytes: flight.delivered,
            tx_in_flight_bytes: flight.tx_in_flight as u64,
            app_limited: flight.app_limited,
            lost_bytes: (self.lost as u32).wrapping_sub(flight.lost_before) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_FLOOR: RtoBounds =
        RtoBounds { rule: RtoRule::Rfc6298, min: Span::ZERO, max: Span::from_secs(60) };
    const LINUX: RtoBounds =
        RtoBounds { rule: RtoRule::Linux, min: Span::from_millis(200), max: Span::from_secs(120) };
    const ANY: Edges = Edges { una: 0, nxt: 0 };

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
            rtt.sample(ms(sample), ANY);
            let view = rtt.view();
            assert!(close(view.srtt.unwrap(), srtt) && close(view.rttvar, rttvar), "{view:?}");
            assert!(close(rtt.rto(), rto));
        }
    }

    #[test]
    fn constant_samples_shrink_the_variation_by_a_quarter() {
        let mut rtt = RttEstimator::new(Span::from_secs(1), NO_FLOOR);
        for rto in [300.0, 250.0, 212.5, 184.375, 163.28125, 147.4609375] {
            rtt.sample(ms(100.0), ANY);
            assert!(close(rtt.rto(), rto));
        }
    }

    #[test]
    fn backs_off_to_the_cap_and_a_sample_ends_it() {
        let bounds = RtoBounds { min: Span::from_secs(1), ..NO_FLOOR };
        let mut rtt = RttEstimator::new(Span::from_secs(1), bounds);
        let mut at = 0;
        for expected in [1, 3, 7, 15, 31, 63, 123, 183] {
            at += rtt.rto().as_millis() / 1000;
            assert_eq!(at, expected);
            rtt.back_off();
        }
        rtt.sample(ms(10.0), ANY);
        assert_eq!(rtt.rto(), Span::from_secs(1));
    }

    /// By hand from tcp_rtt_estimator and __tcp_set_rto (net/ipv4/tcp_input.c, include/net/tcp.h),
    /// in ms; `una` and `nxt` in arbitrary offsets. mdev here is mdev_us: four times the mean
    /// deviation.
    #[test]
    fn linux_keeps_the_largest_deviation_of_a_round_trip_above_200_ms() {
        // (sample, una, nxt, SRTT, 4 RTTVAR)
        let table = [
            // First: mdev 1200, rttvar = mdev_max = 1200, rtt_seq 10.
            (600.0, 0, 10, 600.0, 1200.0),
            // Error -80: 80 - 300 < 0, mdev 1200 - 220 = 980. una is not after rtt_seq: rttvar
            // stays.
            (520.0, 10, 20, 590.0, 1200.0),
            // Error 0: mdev 980 - 245 = 735. A round trip is over, but mdev_max 1200 = rttvar; then
            // mdev_max = 200.
            (590.0, 11, 30, 590.0, 1200.0),
            // Error -590: 590 - 183.75 = 406.25, / 8: mdev 735 + 50.78125 = 785.78125 = mdev_max.
            // In the round trip: 1200.
            (0.0, 12, 30, 516.25, 1200.0),
            // Error 0: mdev 589.3359375. After rtt_seq 30: rttvar 1200 - (1200 - 785.78125) / 4 =
            // 1096.4453125.
            (516.25, 31, 40, 516.25, 1096.4453125),
            // Error +800: mdev 589.3359375 + 800 - 147.333984375 = 1242.001953125 > rttvar: at
            // once.
            (1316.25, 32, 40, 616.25, 1242.001953125),
        ];
        let mut rtt = RttEstimator::new(Span::from_secs(1), LINUX);
        for (sample, una, nxt, srtt, variation) in table {
            rtt.sample(ms(sample), Edges { una, nxt });
            let view = rtt.view();
            assert!(close(view.srtt.unwrap(), srtt), "{view:?}, SRTT {srtt}");
            assert!(close(view.rttvar * 4, variation), "{view:?}, 4 RTTVAR {variation}");
            assert!(close(rtt.rto(), srtt + variation));
        }
    }

    #[test]
    fn linux_adds_200_ms_to_a_steady_rtt_where_rfc_6298_takes_the_larger() {
        let rfc = RtoBounds { rule: RtoRule::Rfc6298, ..LINUX };
        for (bounds, rto_ms) in [(LINUX, 350.0), (rfc, 200.0)] {
            let mut rtt = RttEstimator::new(Span::from_secs(1), bounds);
            for at in 1..200 {
                rtt.sample(ms(150.0), Edges { una: 10 * at, nxt: 10 * at + 10 });
            }
            assert!(close(rtt.rto(), rto_ms), "{:?}: {}", bounds.rule, rtt.rto());
        }
    }

    #[test]
    fn a_floor_adds_a_quarter_where_variation_is_less() {
        // By hand: SRTT 4 s, RTTVAR 2 s: 12 s; without variation 5 s. SRTT 100 ms: 1 s. SRTT 50 s:
        // 62.5 s, but 60 at most.
        let floor = Span::from_secs(1);
        for (srtt_s, samples, rto_ms) in
            [(4.0, 1, 12_000), (4.0, 200, 5_000), (0.1, 200, 1_000), (50.0, 200, 60_000)]
        {
            let mut rtt = RttEstimator::new(Span::from_secs(1), NO_FLOOR);
            for _ in 0..samples {
                rtt.sample(Span::from_secs_f64(srtt_s), ANY);
            }
            rtt.keep_rto_floor(floor);
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

//! Delivery rate samples (draft-ietf-ccwg-bbr section 4.5; draft-cheng-iccrg-delivery-rate-estimation).

use super::scoreboard::{APP_LIMITED, Segment};
use forebay_base::{Span, Time};
use forebay_cc::RateSample;

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
    /// There is nothing to send although the window is open.
    pub(crate) fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }
    /// A packet is about to leave: write the state of the sampler on it.
    #[inline]
    pub(crate) fn on_send(&mut self, now: Time, idle: bool, segment: &mut Segment) {
        if !self.wanted {
            return;
        }
        if idle {
            (self.flight_start, self.delivered_at) = (now, now);
        }
        segment.delivered = self.delivered;
        segment.delivered_at = self.delivered_at;
        segment.flight_start = self.flight_start;
        segment.lost_before = self.lost as u32;
        if self.app_limited_until != 0 {
            segment.flags |= APP_LIMITED;
        }
    }
    /// The sample of an ACK whose newest transmission is `s`; None if it is too short to mean anything, or not wanted.
    #[inline]
    pub(crate) fn sample(&mut self, s: &Segment, min_rtt: Span) -> Option<RateSample> {
        if !self.wanted {
            return None;
        }
        self.flight_start = s.sent_at;
        let send_elapsed = s.sent_at.since(s.flight_start);
        let ack_elapsed = self.delivered_at.since(s.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        if interval.is_zero() || (min_rtt != Span::MAX && interval < min_rtt) {
            return None;
        }
        Some(RateSample {
            delivered_bytes: self.delivered - s.delivered,
            interval,
            prior_delivered_bytes: s.delivered,
            tx_in_flight_bytes: s.tx_in_flight as u64,
            app_limited: s.is(APP_LIMITED),
            lost_bytes: (self.lost as u32).wrapping_sub(s.lost_before) as u64,
        })
    }
}

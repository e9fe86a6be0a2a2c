//! Delivery rate samples (draft-ietf-ccwg-bbr section 4.5;
//! draft-cheng-iccrg-delivery-rate-estimation).

use forebay_base::{Span, Time};
use forebay_cc::RateSample;

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

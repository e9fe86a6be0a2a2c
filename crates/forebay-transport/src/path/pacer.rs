//! When the next packet may leave.

use forebay_base::{Rate, Span, Time};

/// Packets that may leave at once after a pause or behind a late timer.
const QUANTUM_PACKETS: u64 = 2;

/// Release times that are exact to the nanosecond: the fraction is carried from packet to packet.
///
/// The rate counts bytes of IP packets, headers included: what the rate of a router or a link
/// means.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    release: Time,
    /// What `release` is short of, in bits x 10^9 divided by the rate.
    remainder: u64,
    rate: Option<Rate>,
}

impl Pacer {
    #[inline]
    pub(crate) fn ready(&self, now: Time) -> bool {
        self.release <= now
    }
    /// When the next packet may leave.
    #[inline]
    pub(crate) fn release(&self) -> Time {
        self.release
    }
    /// Nothing leaves before `until`.
    pub(crate) fn hold(&mut self, until: Time) {
        self.release = self.release.max(until);
    }
    /// A packet of `bytes` left.
    pub(crate) fn sent(&mut self, now: Time, bytes: u64, rate: Rate) {
        if self.rate != Some(rate) {
            (self.rate, self.remainder) = (Some(rate), 0);
        }
        let catch_up = rate.span_of(bytes * (QUANTUM_PACKETS - 1));
        if self.release + catch_up < now {
            (self.release, self.remainder) = (now - catch_up, 0);
        }
        let scaled = bytes * 8_000_000_000 + self.remainder;
        let ns = scaled / rate.bps();
        self.remainder = scaled - ns * rate.bps();
        self.release += Span::from_nanos(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_flow_keeps_its_rate_to_the_nanosecond() {
        let rate = Rate::new(2_999_999_999).unwrap();
        let mut pacer = Pacer { release: Time::from_secs(1), ..Pacer::default() };
        for _ in 0..100_000 {
            let now = pacer.release();
            pacer.sent(now, 1500, rate);
        }
        let exact = 100_000u128 * 12_000 * 1_000_000_000 / 2_999_999_999;
        assert_eq!(pacer.release(), Time::from_secs(1) + Span::from_nanos(exact as u64));
    }

    #[test]
    fn after_a_pause_two_packets_leave_at_once_and_no_more() {
        let (rate, now) = (Rate::mbps(12), Time::from_secs(5));
        let mut pacer = Pacer::default();
        pacer.sent(now, 1500, rate);
        assert!(pacer.ready(now));
        pacer.sent(now, 1500, rate);
        assert_eq!(pacer.release(), now + Span::from_millis(1));
    }
}

//! When the next packet may leave.

use forebay_base::{Rate, Span, Time};

/// Packets that may leave at once after a pause or behind a late timer.
const QUANTUM_PACKETS: u64 = 2;

/// Release times that are exact to the nanosecond: the fraction is carried from packet to packet.
///
/// The rate counts bytes of IP packets, headers included: what the rate of a router or a link
/// means. Where packets leave by the quantum, it counts their payload.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    /// When the next packet may leave, the rest of a quantum excepted.
    release: Time,
    /// What `release` is short of, in bits x 10^9 divided by the rate.
    remainder: u64,
    /// In bit/s, that of the last packet; 0: there was none.
    rate: u64,
    /// Bytes of a quantum that may leave before `release`.
    quantum_left: u32,
}

impl Pacer {
    #[inline]
    pub(crate) fn ready(&self, now: Time) -> bool {
        self.release <= now || self.quantum_left > 0
    }
    /// When the next packet may leave.
    #[inline]
    pub(crate) fn release(&self) -> Time {
        self.release
    }
    /// Nothing leaves before `until`.
    pub(crate) fn hold(&mut self, until: Time) {
        self.release = self.release.max(until);
        self.quantum_left = 0;
    }
    /// A packet of `bytes` left.
    pub(crate) fn sent(&mut self, now: Time, bytes: u64, rate: Rate) {
        self.keep_remainder_of(rate);
        let catch_up = rate.span_of(bytes * (QUANTUM_PACKETS - 1));
        if self.release + catch_up < now {
            (self.release, self.remainder) = (now - catch_up, 0);
        }
        self.quantum_left = 0;
        self.advance(bytes);
    }
    /// A packet of `bytes` left. As much as `quantum` leaves at once, in whole packets.
    pub(crate) fn sent_of_quantum(&mut self, now: Time, bytes: u32, rate: Rate, quantum: u32) {
        self.keep_remainder_of(rate);
        if self.release <= now {
            // What the window kept of the last quantum is not saved up.
            (self.release, self.quantum_left) = (now, quantum);
        }
        self.quantum_left = self.quantum_left.saturating_sub(bytes);
        if self.quantum_left < bytes {
            self.quantum_left = 0;
        }
        self.advance(bytes.into());
    }
    /// The fraction that the last packet has left is one of its rate.
    fn keep_remainder_of(&mut self, rate: Rate) {
        if self.rate != rate.bps() {
            (self.rate, self.remainder) = (rate.bps(), 0);
        }
    }
    /// The next packet is due when `bytes` have left at the rate.
    fn advance(&mut self, bytes: u64) {
        let scaled = bytes * 8_000_000_000 + self.remainder;
        let ns = scaled / self.rate;
        self.remainder = scaled - ns * self.rate;
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

    #[test]
    fn a_quantum_leaves_at_once_and_the_next_one_when_it_is_due() {
        let (rate, start) = (Rate::mbps(12), Time::from_secs(5));
        let mut pacer = Pacer::default();
        // 5000 bytes: three packets of 1500. 12 Mbit/s: 1 ms each.
        for burst in 0..4 {
            let now = start + Span::from_millis(3 * burst);
            for _ in 0..3 {
                assert!(pacer.ready(now));
                pacer.sent_of_quantum(now, 1500, rate, 5000);
            }
            assert_eq!(pacer.release(), now + Span::from_millis(3));
        }
    }

    #[test]
    fn what_the_window_kept_of_a_quantum_leaves_later_and_the_rate_holds() {
        let (rate, start) = (Rate::mbps(12), Time::from_secs(5));
        let mut pacer = Pacer::default();
        pacer.sent_of_quantum(start, 1500, rate, 3000);
        // An ACK 0.4 ms later: the second packet may leave, a third may not before 2 ms.
        let soon = start + Span::from_micros(400);
        assert!(pacer.ready(soon));
        pacer.sent_of_quantum(soon, 1500, rate, 3000);
        assert_eq!(pacer.release(), start + Span::from_millis(2));
        // After a pause there is one quantum, not more.
        let late = start + Span::from_secs(1);
        pacer.sent_of_quantum(late, 1500, rate, 3000);
        pacer.sent_of_quantum(late, 1500, rate, 3000);
        assert_eq!(pacer.release(), late + Span::from_millis(2));
    }
}

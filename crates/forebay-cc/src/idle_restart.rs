//! Restart after idle: RFC 5681 section 4.1 has a window that was built up before it cut back to
//! the restart window, since the ACK clock is gone.

use crate::controller::RttView;
use forebay_base::{Span, Time};

/// Knows how long the sender has been silent, and for how long it may be.
#[derive(Clone, Debug)]
pub(crate) struct IdleRestart {
    last_sent: Time,
    /// SRTT + 4 RTTVAR (RFC 6298 eq. 2.3), zero before the first sample.
    timeout: Span,
    floor_ms: u32,
}

impl IdleRestart {
    /// `floor_ms` is the shortest silence that counts, in milliseconds; 0: none does.
    pub(crate) fn new(floor_ms: u32) -> IdleRestart {
        IdleRestart { last_sent: Time::ZERO, timeout: Span::ZERO, floor_ms }
    }
    /// The longest silence that does not count.
    fn limit(&self) -> Span {
        Span::from_millis(self.floor_ms as u64).max(self.timeout)
    }
    /// The estimate changed.
    #[inline]
    pub(crate) fn on_rtt(&mut self, rtt: &RttView) {
        if let Some(srtt) = rtt.srtt {
            self.timeout = srtt + rtt.rttvar * 4;
        }
    }
    /// A packet was sent; true if it ended a silence that was too long. The first packet ends none.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, after_idle: bool) -> bool {
        let before = core::mem::replace(&mut self.last_sent, now);
        after_idle && self.was_too_long(before, now)
    }
    /// Apart from the rest, for it is rare.
    #[inline(never)]
    fn was_too_long(&self, last_sent: Time, now: Time) -> bool {
        let first = last_sent == Time::ZERO;
        !first && self.floor_ms > 0 && now.since(last_sent) > self.limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(srtt_ms: u64, rttvar_ms: u64) -> RttView {
        let (srtt, rttvar) = (Some(Span::from_millis(srtt_ms)), Span::from_millis(rttvar_ms));
        RttView { srtt, rttvar, min: Span::from_millis(srtt_ms), latest: srtt }
    }

    #[test]
    fn only_an_idle_path_that_was_silent_for_more_than_the_timeout_counts() {
        let mut idle_restart = IdleRestart::new(200);
        assert!(!idle_restart.on_sent(Time::from_secs(5), true), "the first packet");
        idle_restart.on_rtt(&estimate(100, 50));
        assert!(
            !idle_restart.on_sent(Time::from_millis(5_300), true),
            "300 ms is the timeout, not more"
        );
        assert!(!idle_restart.on_sent(Time::from_millis(5_900), false), "something was in flight");
        assert!(idle_restart.on_sent(Time::from_millis(6_201), true));
        idle_restart.on_rtt(&estimate(10, 1));
        assert!(!idle_restart.on_sent(Time::from_millis(6_401), true), "the floor of 200 ms");
        assert!(idle_restart.on_sent(Time::from_millis(6_602), true));
    }

    #[test]
    fn a_floor_of_zero_turns_it_off() {
        let mut idle_restart = IdleRestart::new(0);
        idle_restart.on_sent(Time::from_secs(1), true);
        assert!(!idle_restart.on_sent(Time::from_secs(1_000), true));
    }
}

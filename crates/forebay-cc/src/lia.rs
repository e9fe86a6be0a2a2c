//! LIA, the linked increases of MPTCP: RFC 6356 (doi:10.17487/RFC6356).
//!
//! With w_i the window of subflow i in bytes, rtt_i its smoothed RTT, MSS its segment and N the
//! bytes that an ACK newly acknowledges:
//!
//! 1. congestion avoidance on subflow i: `w_i += min(alpha N MSS / w_total, N MSS / w_i)` (RFC 6356
//!    section 3);
//! 2. `alpha = w_total max(w_i / rtt_i^2) / (sum w_i / rtt_i)^2` (section 3, eq. 2).
//!
//! So all subflows together take on one bottleneck as much as one TCP flow, and at least as much as
//! the best of them would take alone. Slow start, decrease and timeout are those of NewReno
//! ([`crate::newreno`]), and so is a subflow that is alone.
//!
//! Differs from the RFC / Linux in: alpha is computed anew with each ACK; ssthresh is at least two
//! segments, as in RFC 5681 and Linux. A subflow that has timed out does not count for the others.

use crate::coupled::{Coupled, Rule, Subflow};
pub use crate::newreno::Params;

/// The window of one subflow.
pub type Lia = Coupled<LinkedIncreases>;

/// Equations 1 and 2.
#[derive(Clone, Copy, Debug)]
pub struct LinkedIncreases;

impl Rule for LinkedIncreases {
    fn increase(own: &Subflow, all: impl Iterator<Item = Subflow> + Clone) -> f64 {
        let rates: f64 = all.clone().map(|path| path.rate()).sum();
        let most = all.map(|path| path.rate() / path.rtt).fold(0.0, f64::max);
        // alpha / w_total, in 1 / w_i.
        (own.window * most / (rates * rates)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupled::tests::{assert_alone_is_newreno, assert_gains};

    /// By hand from equations 1 and 2: alpha is 0.5, 1.6529, 0.8 and 1.5432.
    #[test]
    fn increases_per_ack() {
        let gains = assert_gains::<LinkedIncreases>;
        gains([(10.0, 0.1), (10.0, 0.1)], [0.025, 0.025]);
        gains([(10.0, 0.01), (10.0, 0.1)], [0.08264, 0.08264]);
        gains([(20.0, 0.05), (5.0, 0.05)], [0.032, 0.032]);
        // The second term of equation 1 holds for the first: never more than NewReno.
        gains([(40.0, 0.1), (10.0, 0.02)], [0.025, 0.03086]);
    }

    #[test]
    fn alone_it_is_newreno() {
        assert_alone_is_newreno::<LinkedIncreases>();
    }
}

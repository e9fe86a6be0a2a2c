//! OLIA, the opportunistic linked increases of MPTCP: Khalili et al., "MPTCP is not
//! Pareto-optimal", 2013 (doi:10.1109/TNET.2013.2274462).
//!
//! With w_r the window of subflow r, rtt_r its smoothed RTT, l_r the bytes since its last loss or
//! between its last two losses, whichever is more, n the number of subflows and N the bytes that an
//! ACK newly acknowledges:
//!
//! 1. congestion avoidance on subflow r:
//!    `w_r += N MSS ((w_r / rtt_r^2) / (sum w / rtt)^2 + a_r / w_r)`;
//! 2. M are the subflows with the largest window, B those with the largest `l_r / rtt_r^2`;
//! 3. `a_r = 1 / (n |B \ M|)` in B \ M, `-1 / (n |M|)` in M, and 0 elsewhere; 0 everywhere if B \ M
//!    is empty.
//!
//! The second term moves window from the largest subflows to the best ones that are small. Slow
//! start, decrease and timeout are those of NewReno ([`crate::newreno`]), and so is a subflow that
//! is alone.
//!
//! Differs from the paper in: the window is counted in whole segments, so that a part of one is
//! taken away only with the rest of it. A subflow that has timed out does not count for the others.

use crate::coupled::{Coupled, Rule, Subflow};
pub use crate::newreno::Params;

/// The window of one subflow.
pub type Olia = Coupled<OpportunisticIncreases>;

/// Equations 1 to 3.
#[derive(Clone, Copy, Debug)]
pub struct OpportunisticIncreases;

/// l / rtt^2.
fn quality(path: &Subflow) -> f64 {
    path.between_losses / (path.rtt * path.rtt)
}

impl Rule for OpportunisticIncreases {
    fn increase(own: &Subflow, all: impl Iterator<Item = Subflow> + Clone) -> f64 {
        let rates: f64 = all.clone().map(|path| path.rate()).sum();
        let share = own.rate() / rates;
        let largest = all.clone().map(|path| path.window).fold(0.0, f64::max);
        let best = all.clone().map(|path| quality(&path)).fold(0.0, f64::max);
        let is_large = |path: &Subflow| path.window >= largest;
        let is_gaining = |path: &Subflow| quality(path) >= best && !is_large(path);
        let (mut paths, mut large, mut gaining) = (0.0, 0.0, 0.0);
        for path in all {
            paths += 1.0;
            large += f64::from(is_large(&path));
            gaining += f64::from(is_gaining(&path));
        }
        let moved = if gaining == 0.0 {
            0.0
        } else if is_gaining(own) {
            1.0 / (paths * gaining)
        } else if is_large(own) {
            -1.0 / (paths * large)
        } else {
            0.0
        };
        share * share + moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupled::tests::{assert_alone_is_newreno, assert_gains, gain, siblings};

    /// By hand from equations 1 to 3, l equal on both paths.
    #[test]
    fn increases_per_ack() {
        let gains = assert_gains::<OpportunisticIncreases>;
        gains([(10.0, 0.1), (10.0, 0.1)], [0.025, 0.025]);
        gains([(10.0, 0.01), (10.0, 0.1)], [0.08264, 0.000826]);
        gains([(20.0, 0.05), (5.0, 0.05)], [0.007, 0.108]);
        gains([(40.0, 0.1), (10.0, 0.02)], [-0.007562, 0.08086]);
    }

    /// Three paths: the third is neither large nor best, a = 0. x = 200, 100, 100: shares 1/2, 1/4,
    /// 1/4. n = 3: 1/4 - 1/3, 1/16 + 1/3, 1/16 over windows of 20, 10 and 10.
    #[test]
    fn only_the_largest_and_the_best_trade() {
        let mut paths = siblings(&[(20.0, 0.1), (10.0, 0.1), (10.0, 0.1)]);
        paths[2].since_loss_bytes = (0, 10_000);
        let expected = [-1.0 / 240.0, 19.0 / 480.0, 1.0 / 160.0];
        for (me, expected) in expected.into_iter().enumerate() {
            assert!((gain::<OpportunisticIncreases>(&paths, me) - expected).abs() < 1e-6, "{me}");
        }
    }

    #[test]
    fn alone_it_is_newreno() {
        assert_alone_is_newreno::<OpportunisticIncreases>();
    }
}

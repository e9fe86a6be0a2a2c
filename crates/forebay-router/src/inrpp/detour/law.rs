//! Equations (1) to (3): how fast a detour may be (paper, section III-B).
//!
//! As printed:
//!
//! ```text
//! (1)  SC = alpha T_p RB - beta Q                    RB = C - L
//! (2)  D+ = SC / N, D- = 0  if SC > 0;  D- = SC / L, D+ = 0  otherwise
//! (3)  r <- r + D+ - r D-
//! ```
//!
//! SC is in bytes, so D+ cannot be added to a rate and D- is a time, not a ratio; and with SC < 0,
//! D- is negative, so that (3) would raise r under congestion. TeXCP (Kandula et al., SIGCOMM
//! 2005), after which it is modelled, divides by the interval and takes the magnitude. In use here,
//! all rates in bytes per second:
//!
//! ```text
//! (1')  phi = alpha (C - L) - (beta / T) Q
//! (2')  D+ = phi / N, D- = 0  if phi > 0;  D- = min(1, -phi / L), D+ = 0  otherwise
//! (2")  M >= 2:  h = max(0, gamma L_d - |phi|),  D+ += h / M,  D- += h / L_d
//! (3')  r <- min over both interfaces of r (1 - D-) + D+, between 0 and C - L_o
//! (3")  D+ <- D+ / alpha - p, between 0 and D+,  if D- = 0;  D+ <- D+ - alpha p  otherwise
//! ```
//!
//! * T is the interval at which the asker adjusts its rate: T_p, or its round trip where that is
//!   longer.
//! * (2") is not in the paper. Without it every split that fills the link is a fixed point: a
//!   router that comes to a full detour gets nothing, which is not the "fair allocation" that the
//!   paper is after. It is the shuffling of XCP (Katabi, Handley, Rohrs, SIGCOMM 2002, section
//!   3.5.2), with the load L_d of detours instead of all traffic, because nothing else responds.
//!   Its sum is zero, and the split halves its distance from fair in 7 steps. M and L_d are
//!   those of the contenders that report no other limit. One that cannot use what it is given
//!   leaves up to gamma / alpha (M - 1) / M of the load unused, and reports are late.
//! * (3") is not in the paper. p is by what r was raised just before the probe left: the reading
//!   does not know of it, and without (3") each step would be taken twice. It counts as if it had
//!   arrived already, and an increase takes no more than is spare then: D+ / alpha is the part of
//!   C - L that belongs to the asker. Two routers that share a detour (Fig. 6), with links of 3.5
//!   to 40 ms, took 1.064 of the reference's time on average, 1.131 at worst; now 1.007 and 1.030.
//!   With D+ - alpha p in all cases, a Smith predictor, rates rise more slowly: short flows in
//!   meshes and in the hierarchy take up to 2 % longer. What r was lowered by does not count: where
//!   loads are shuffled as in (2"), that would make the split fair later.
//! * The bound in (3') is what others leave of the capacity: L_o is L less what this asker has put
//!   on the interface within the same intervals, both filtered. L - r in its place would subtract
//!   what was not yet there, and turn each decrease into one with a gain of 1, which oscillates.
//!   The filter does no harm here, for what others send is outside the loop.
//! * Q counts beyond two packets. Where links are slow one that waits for another does not make a
//!   queue, but would cost 7 % of a link of 10 Mbit/s: in balance alpha (C - L) = beta Q / T.
//! * C - L below zero counts beyond one packet per T_p, for a full link has sometimes one more in
//!   an interval and sometimes one less. What stays of an excess that small shows in Q.
//! * Both interfaces of the detour are evaluated, the asker's own and the one of the router that
//!   answers, and the smaller rate counts. Without (2") that is the same as the smaller D+ and the
//!   larger D-.

use core::f64::consts::SQRT_2;
use forebay_base::Span;

/// gamma of (2"): part of the detoured load that changes hands per step. XCP's; below alpha it
/// damps the loop. The larger, the more is left unused: six routers in a ring with chords take
/// 1.01, 1.02, 1.04, 1.07 of the reference's completion time with 0.05, 0.1, 0.2, 0.3, and with
/// asymmetric routes 1.07, 1.08, 1.12, 1.14. The smaller, the later the split is fair: within 60
/// steps with 0.1, 20 with 0.3.
const SHUFFLE: f64 = 0.1;

/// Length of a packet on a detour at most, or nearly so.
const PACKET_BYTES: f64 = 1500.0;
/// Less than this does not count as a queue.
const BURST_BYTES: u64 = 3000;

/// D- of 1 in the units that a message has.
const ONE: f64 = 4_294_967_296.0;

/// alpha and beta.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gains {
    alpha: f64,
    beta: f64,
    /// One packet per interval of the load meter, in bytes per second.
    grain: f64,
}

/// What an interface knows about itself. Rates in bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkLoad {
    /// C.
    pub capacity: f64,
    /// L: everything that was put on it.
    pub load: f64,
    /// L less what belongs to the asker, over some more intervals.
    pub others: f64,
    /// Q.
    pub queue_bytes: u64,
    /// N: routers that want to send on a detour over it, each (router, primary interface) once.
    pub contenders: usize,
    /// M: of those the ones that nothing else limits; 0 if the asker is not one of them.
    pub sharing: usize,
    /// L_d: what they have on it.
    pub shared: f64,
}

/// D+ and D- of one interface, and its bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Delta {
    /// D+ in bytes per second.
    pub increase: f64,
    /// D-, in [0, 1].
    pub decrease: f64,
    /// C - L_o, in bytes per second.
    pub cap: f64,
}

impl Gains {
    /// beta = alpha^2 sqrt 2. Panics outside 0 < alpha < pi / (4 sqrt 2), where the loop is
    /// unstable even without delay.
    pub fn new(alpha: f64, load_interval: Span) -> Gains {
        let bound = core::f64::consts::PI / (4.0 * SQRT_2);
        assert!(alpha > 0.0 && alpha < bound, "alpha {alpha} outside (0, {bound})");
        let grain = PACKET_BYTES / load_interval.as_secs_f64();
        Gains { alpha, beta: alpha * alpha * SQRT_2, grain }
    }

    /// (3') and (3") for one interface: the next rate after `rate`, of which what was read does not
    /// know `pending`, in bytes per second.
    pub fn step(&self, delta: &Delta, rate: f64, pending: f64) -> f64 {
        let increase = if delta.decrease > 0.0 {
            delta.increase - self.alpha * pending
        } else {
            (delta.increase / self.alpha - pending).clamp(0.0, delta.increase)
        };
        (rate * (1.0 - delta.decrease) + increase).min(delta.cap).max(0.0)
    }

    /// (1') and (2'), and (2") where several contend.
    pub fn delta(&self, reading: &LinkLoad, interval: Span) -> Delta {
        let LinkLoad { capacity, load, others, shared, .. } = *reading;
        let queue = reading.queue_bytes.saturating_sub(BURST_BYTES) as f64 / interval.as_secs_f64();
        let residual = capacity - load;
        let residual = if residual < 0.0 { (residual + self.grain).min(0.0) } else { residual };
        let phi = self.alpha * residual - self.beta * queue;
        let contenders = reading.contenders.max(1) as f64;
        let (mut increase, mut decrease) = if phi > 0.0 {
            (phi / contenders, 0.0)
        } else if load > 0.0 {
            (0.0, (-phi / load).min(1.0))
        } else {
            // Nothing came for a whole interval, and yet a queue waits: stop.
            (0.0, if phi < 0.0 { 1.0 } else { 0.0 })
        };
        if reading.sharing >= 2 && shared > 0.0 {
            let shuffled = (SHUFFLE * shared - phi.abs()).max(0.0);
            increase += shuffled / reading.sharing as f64;
            decrease = (decrease + shuffled / shared).min(1.0);
        }
        Delta { increase, decrease, cap: (capacity - others).clamp(0.0, capacity) }
    }
}

impl Delta {
    /// D+, D- and the bound as integers, rounded so that the rate is not higher for it.
    pub fn to_wire(self) -> (u64, u32, u64) {
        // Conversions of floats saturate: a decrease of 1 becomes the largest number.
        (self.increase as u64, (self.decrease * ONE + 0.5) as u32, self.cap as u64)
    }

    /// The inverse.
    pub fn from_wire(increase: u64, decrease: u32, cap: u64) -> Delta {
        let decrease = if decrease == u32::MAX { 1.0 } else { f64::from(decrease) / ONE };
        Delta { increase: increase as f64, decrease, cap: cap as f64 }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;

    const T_P: Span = Span::from_millis(10);
    /// 10 Mbit/s in bytes per second.
    const C: f64 = 1_250_000.0;

    fn reading(load: f64, queue_bytes: u64, contenders: usize) -> LinkLoad {
        let (others, sharing, shared) = (load, contenders, 0.0);
        LinkLoad { capacity: C, load, others, queue_bytes, contenders, sharing, shared }
    }

    #[test]
    fn equations_by_hand() {
        let gains = Gains::new(0.4, T_P);
        // Half of the link free, nothing waits: 0.4 * 625000 = 250000 bytes per second for two.
        let spare = gains.delta(&reading(625_000.0, 0, 2), T_P);
        assert_eq!(spare, Delta { increase: 125_000.0, decrease: 0.0, cap: 625_000.0 });
        // Full, and 12500 bytes (10 ms) wait beyond two packets:
        // beta = 0.16 sqrt 2 = 0.2262742; phi = -0.2262742 * 1250000 B/s.
        let full = gains.delta(&reading(C, 15_500, 1), T_P);
        assert!((full.decrease - 0.226_274_169_98).abs() < 1e-9 && full.increase == 0.0);
        // The same queue, adjusted every 20 ms, asks for half the rate.
        let slower = gains.delta(&reading(C, 15_500, 1), T_P * 2);
        assert!((slower.decrease - 0.113_137_084_99).abs() < 1e-9);
        // Overload by 312500 beyond a packet per 10 ms: phi = -0.4 * 312500; relative to L =
        // 1712500 that is 0.0729927.
        let over = gains.delta(&reading(1_712_500.0, 0, 5), T_P);
        assert!((over.decrease - 0.072_992_700_73).abs() < 1e-9);
        assert!(
            gains.step(&over, 1_000_000.0, 0.0).abs() < 1e-9,
            "others alone are more than the link takes"
        );
        let one_packet = gains.delta(&reading(C + 149_000.0, 3_000, 1), T_P);
        assert_eq!((one_packet.increase, one_packet.decrease), (0.0, 0.0));
        let all_queue = gains.delta(&reading(100.0, 10_000_000, 1), T_P);
        assert_eq!(all_queue.decrease, 1.0);
        assert_eq!(gains.delta(&reading(0.0, 10_000_000, 1), T_P).decrease, 1.0);
    }

    #[test]
    fn shuffling_moves_nothing_in_sum_and_needs_two() {
        let gains = Gains::new(0.4, T_P);
        let full = |contenders| LinkLoad { shared: 800_000.0, ..reading(C, 0, contenders) };
        let Delta { increase, decrease, .. } = gains.delta(&full(2), T_P);
        assert!((increase - 40_000.0).abs() < 1e-6 && (decrease - 0.1).abs() < 1e-12);
        let (a, b) = (700_000.0, 100_000.0);
        let moved = 2.0 * increase - decrease * (a + b);
        assert!(moved.abs() < 1e-6, "{moved}");
        let alone = gains.delta(&full(1), T_P);
        assert_eq!((alone.increase, alone.decrease), (0.0, 0.0));
        // A spare capacity beyond what would be shuffled is only given, not moved.
        let spare = LinkLoad { shared: 100_000.0, ..reading(C / 2.0, 0, 2) };
        assert_eq!(gains.delta(&spare, T_P).decrease, 0.0);
    }

    #[test]
    fn the_wire_keeps_rates_to_a_byte_and_ratios_to_2_to_minus_32() {
        for decrease in [0.0, 1e-9, 0.08, 0.5, 0.999_999, 1.0] {
            let delta = Delta { increase: 123_456.7, decrease, cap: 5e10 };
            let (a, b, c) = delta.to_wire();
            let back = Delta::from_wire(a, b, c);
            assert!((back.decrease - decrease).abs() <= 1.0 / ONE, "{decrease}");
            assert_eq!((back.increase, back.cap), (123_456.0, 5e10));
        }
        let stop = Delta::from_wire(0, u32::MAX, u64::MAX);
        assert_eq!(Gains::new(0.4, T_P).step(&stop, 1e12, 0.0), 0.0);
    }

    // Each probe leaves just after a step, and what it reads is from before that step.
    #[test]
    fn what_is_pending_counts() {
        let gains = Gains::new(0.4, T_P);
        for others in [0.0, 500_000.0] {
            let (mut rate, mut before, mut most) = (0.0, 0.0, 0.0_f64);
            for _ in 0..12 {
                let seen = LinkLoad { others, ..reading(others + before, 0, 1) };
                let next = gains.step(&gains.delta(&seen, T_P), rate, rate - before);
                (before, rate) = (rate, next);
                most = most.max(rate);
            }
            let free = C - others;
            assert!(most <= free + 1e-6 && rate > free * 0.999, "{most} {rate} of {free}");
        }
        // Two steps of 0.4 C, then the rest at once: as fast as without what is pending.
        let step = |rate: f64, before: f64| {
            let seen = LinkLoad { others: 0.0, ..reading(before, 0, 1) };
            gains.step(&gains.delta(&seen, T_P), rate, rate - before)
        };
        assert!((step(0.4 * C, 0.0) - 0.8 * C).abs() < 1e-3);
        assert!((step(0.8 * C, 0.4 * C) - C).abs() < 1e-3);
        // Where others have come, nothing is added, and congestion has its say.
        let taken = gains.delta(&reading(0.9 * C, 0, 1), T_P);
        assert_eq!(gains.step(&Delta { cap: C, ..taken }, 0.4 * C, 0.2 * C), 0.4 * C);
        let over = gains.delta(&reading(1.5 * C, 0, 1), T_P);
        let again = gains.step(&Delta { cap: C, ..over }, 0.8 * C, 0.2 * C);
        let anew = gains.step(&Delta { cap: C, ..over }, 0.8 * C, 0.0);
        assert!((anew - again - 0.08 * C).abs() < 1e-3);
    }

    // Roots of largest magnitude of the linear loop, worked out apart from this code: r_k+1 = r_k +
    // alpha (C - L_k), with a lag of one interval in L, the filter weight w, and feedback that is d
    // further intervals late.
    #[test]
    fn the_loop_contracts_and_diverges_with_the_radii_of_the_linear_analysis() {
        let cases = [
            (0.4, 1.0, [0.63, 0.88, 0.98, 1.02]),
            (0.4, 1.0 / 3.0, [0.89, 0.96, 1.006, 1.03]),
            (0.1, 1.0 / 3.0, [0.84, 0.86, 0.89, 0.91]),
        ];
        for (alpha, weight, radii) in cases {
            for (d, expected) in radii.into_iter().enumerate() {
                let measured = measured_radius(alpha, weight, d);
                assert!((measured - expected).abs() < 0.006, "{alpha} {weight} {d}: {measured}");
            }
        }
    }

    /// |lambda| of the control law without its bound after a small disturbance. Once a pair of
    /// complex roots dominates, e_k^2 - e_k+1 e_k-1 shrinks by |lambda|^2 per step, whatever the
    /// phase.
    fn measured_radius(alpha: f64, weight: f64, d: usize) -> f64 {
        // In the linear analysis a link carries a fluid.
        let gains = Gains { grain: 0.0, ..Gains::new(alpha, T_P) };
        let (mut rate, mut load) = (C + 12.0, C);
        let mut late: VecDeque<Delta> = VecDeque::new();
        let mut errors = Vec::new();
        for _ in 0..80 {
            late.push_back(gains.delta(&reading(load, 0, 1), T_P));
            load += weight * (rate - load);
            errors.push(rate - C);
            if late.len() > d {
                let delta = late.pop_front().expect("more than d");
                rate = gains.step(&Delta { cap: f64::INFINITY, ..delta }, rate, 0.0);
            }
        }
        let (first, last) = if d == 0 { (8, 20) } else { (40, 70) };
        let size = |k: usize| errors[k] * errors[k] - errors[k + 1] * errors[k - 1];
        let ratio = size(last) / size(first);
        f64::powf(ratio, 0.5 / (last - first) as f64)
    }
}

//! Closed forms of long flows over one drop-tail bottleneck. Windows in packets, times in seconds.
//!
//! A window of `w` packets over a pipe that holds `P` on their way has a round trip of `R(w) = R0
//! max(1, w / P)`, keeps `max(0, w - P)` packets waiting, and uses `min(1, w / P)` of the link. A
//! buffer of `B` packets overflows at `W = P + B`. From loss to loss a cycle has four parts:
//!
//! 1. The climb to `W` from `w0 = beta (W - 1) - 1/2`: FlightSize leaves out the packet that
//!    overflowed, and the packets in flight are the window without its fraction. Linear growth by
//!    `alpha` per round trip takes `T = integral of R(w) dw / alpha`, with `w0 <= P` this is `R0
//!    ((P - w0) + (W^2 - P^2) / (2 P)) / alpha`. CUBIC follows its curve or that line, whichever is
//!    higher (RFC 9438 section 4.3), so it takes at most `K = cbrt((1 - beta) W / C)` (RFC 9438 eq.
//!    2).
//! 2. The detection: the loss shows one round trip `R = R(W)` later, and the queue stays full. On
//!    the curve this decides when the next loss comes. The window runs after its target, `w' =
//!    (W_cubic(t + R) - w) / R`, so `u = (t - K) / R` after K it is `w = W_max + C R^3 f(u)` with
//!    `f(u) = u^3 + 3 u - 2`. `W_max` is the window at the detection, so that at every detection
//!    `f(u) = 0`: `u = 0.596`, and the overflow was at `u = -0.404`. A cycle that misses this point
//!    comes back to it, since a deviation is multiplied by `1 - f'(0.596) / f'(-0.404) = -0.165`.
//! 3. The recovery: another `R(W)`, in which `beta` packets leave for each that arrives (RFC 9937).
//!    The queue falls from `B` by `1 - beta` per packet time; once it is empty the link carries the
//!    share `beta`.
//! 4. The second repair: linear growth adds one more packet just before the detection, and it is
//!    lost like the one before it. That shows at the end of part 3, and the window stands at `beta
//!    W` for one more round trip. The curve, flat at its top, adds less than a packet, and needs no
//!    second repair.
//!
//! The textbook's sawtooth is part 1 alone: [`sawtooth_utilisation`] and [`cubic_utilisation`].

use forebay_base::{Rng, Stream};

/// A bottleneck as a window sees it.
#[derive(Clone, Copy, Debug)]
pub struct Pipe {
    /// Full-sized packets that the link carries in a second.
    pub packets_per_s: f64,
    /// Round trip of a packet that never waits, its transmission times included.
    pub rtt_s: f64,
    /// Packets that may wait.
    pub buffer: f64,
}

/// Where the curve leads: round trips from K to the overflow, 1 less than the root of `u^3 + 3 u -
/// 2`.
const OVERFLOW_AT: f64 = 0.596_071_637_983_321_5 - 1.0;

/// How a window climbs and falls.
#[derive(Clone, Copy, Debug)]
pub struct SawtoothModel {
    /// Packets per round trip of linear growth.
    pub alpha: f64,
    /// Share of the window that is kept on loss.
    pub beta: f64,
    /// Scale of the cubic in packets / s^3; None: linear growth alone.
    pub c: Option<f64>,
}

impl SawtoothModel {
    /// RFC 5681.
    pub const NEWRENO: SawtoothModel = SawtoothModel { alpha: 1.0, beta: 0.5, c: None };
    /// RFC 9438: `alpha = 3 (1 - beta) / (1 + beta)` with `beta = 0.7`, and 1 above the window of
    /// the last loss.
    pub const CUBIC: SawtoothModel = SawtoothModel { alpha: 9.0 / 17.0, beta: 0.7, c: Some(0.4) };
}

/// One cycle from loss to loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cycle {
    /// From loss to loss.
    pub period_s: f64,
    /// Share of that time in which the link transmits.
    pub utilisation: f64,
    /// Mean time that a packet waits.
    pub wait_s: f64,
    /// The curve and not the line leads to the loss.
    pub curve_leads: bool,
}

/// What the parts of a cycle leave open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variant {
    /// Part 4. None: where the line leads; else always or never.
    pub second_repair: Option<bool>,
    /// CUBIC looks ahead by SRTT. This one is of the full queue still when the climb begins, so
    /// that the window follows the curve of `R(W) - R(w0)` later. It is true of the beginning; here
    /// of the whole climb.
    pub old_srtt: bool,
    /// Round trips by which the overflow comes late where the curve leads.
    pub late_rounds: f64,
}

/// Who loses when two flows overflow the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Both, each time.
    HitsBoth,
    /// One of them: drop-tail drops the packet that came on top, and that is a packet of growth. So
    /// the chance of each is its share in the growth. For lines alone the windows `w` then balance
    /// at `(1 - beta) w` equal: CUBIC has 5/8 against NewReno.
    HitsTheGrower,
}

/// One flow's climb since its loss.
struct Climb {
    law: SawtoothModel,
    w_max: f64,
    /// The window before the loss: above it the line has a slope of 1 (RFC 9438 section 4.3).
    prior: f64,
    k_s: f64,
    t_s: f64,
    hold_s: f64,
    line: f64,
}

impl Climb {
    /// After a loss at `w`; `w_max` is what the last climb aimed at. Fast convergence: RFC 9438
    /// section 4.7.
    fn after_loss(law: SawtoothModel, w: f64, w_max: f64) -> Climb {
        let kept = law.beta * (w - 1.0);
        let aim = if w < w_max { w * f64::midpoint(1.0, law.beta) } else { w };
        let k_s = law.c.map_or(0.0, |c| ((aim - kept) / c).cbrt());
        Climb { law, w_max: aim, prior: w, k_s, t_s: 0.0, hold_s: 0.0, line: kept - 0.5 }
    }
    /// The same, standing still for `hold_s` first.
    fn holding(self, hold_s: f64) -> Climb {
        Climb { hold_s, ..self }
    }
    /// RFC 9438 eq. 1, `ahead_s` from now; nothing for a law without a curve.
    fn curve(&self, ahead_s: f64) -> f64 {
        self.law.c.map_or(0.0, |c| self.w_max + c * (self.t_s + ahead_s - self.k_s).powi(3))
    }
    fn window(&self) -> f64 {
        self.line.max(self.curve(0.0))
    }
    fn step(&mut self, step_s: f64, rtt_s: f64) {
        if self.hold_s > 0.0 {
            self.hold_s -= step_s;
            return;
        }
        let alpha = if self.line < self.prior { self.law.alpha } else { 1.0 };
        self.line += alpha * step_s / rtt_s;
        self.t_s += step_s;
    }
}

impl Pipe {
    /// Packets on their way when the link is just full.
    pub fn bdp(&self) -> f64 {
        self.packets_per_s * self.rtt_s
    }
    /// The largest window that loses nothing.
    pub fn top(&self) -> f64 {
        self.bdp() + self.buffer
    }
    /// Round trip at a window of `w` packets.
    pub fn rtt_at(&self, w: f64) -> f64 {
        self.rtt_s.max(w / self.packets_per_s)
    }
    fn utilisation_at(&self, w: f64) -> f64 {
        (w / self.bdp()).min(1.0)
    }
    fn queue_at(&self, w: f64) -> f64 {
        (w - self.bdp()).max(0.0)
    }

    /// The cycle of one flow alone.
    pub fn cycle(&self, law: SawtoothModel, variant: Variant) -> Cycle {
        let top = self.top();
        let round_s = self.rtt_at(top);
        let mut sum = Sum::default();
        let step_s = self.rtt_s / 200.0;
        let mut climb = Climb::after_loss(law, top, top);
        let low = climb.line;
        let overflow_s = climb.k_s + (OVERFLOW_AT + variant.late_rounds) * round_s;
        let ahead_s = if variant.old_srtt { round_s - self.rtt_at(low) } else { 0.0 };
        let mut curve_leads = false;
        while climb.line < top && !(curve_leads && climb.t_s >= overflow_s) {
            let w = climb.line.max(climb.curve(ahead_s).min(top));
            sum.add(step_s, self.utilisation_at(w), self.queue_at(w));
            curve_leads = climb.curve(0.0) > climb.line;
            climb.step(step_s, self.rtt_at(w));
        }
        sum.add(round_s, 1.0, self.buffer);
        let left = self.queue_at(low);
        let full_s = ((self.buffer - left) / (1.0 - law.beta) / self.packets_per_s).min(round_s);
        sum.add(full_s, 1.0, f64::midpoint(self.buffer, left));
        sum.add(round_s - full_s, law.beta, 0.0);
        if variant.second_repair.unwrap_or(!curve_leads) {
            sum.add(self.rtt_at(low), self.utilisation_at(low), left);
        }
        Cycle {
            period_s: sum.time_s,
            utilisation: sum.busy_s / sum.time_s,
            wait_s: sum.waiting / sum.busy_s / self.packets_per_s,
            curve_leads,
        }
    }

    /// Share of a flow under `law` competing with one under `other`, over many cycles. The flow
    /// that has lost stands still for parts 3 and 4, while the other climbs on; the loss is seen at
    /// once.
    pub fn share(&self, law: SawtoothModel, other: SawtoothModel, overflow: Overflow) -> f64 {
        const CYCLES: u32 = 1200;
        const SETTLED: u32 = 100;
        let mut rng = Rng::new(0, Stream::Test, 0);
        let step_s = self.rtt_s / 20.0;
        let hold_s = 2.0 * self.rtt_at(self.top());
        let half = self.top() / 2.0;
        let (mut a, mut b) =
            (Climb::after_loss(law, half, half), Climb::after_loss(other, half, half));
        let (mut of_a, mut of_both) = (0.0, 0.0);
        for cycle in 0..CYCLES {
            let (mut w, mut before) = ((a.window(), b.window()), (0.0, 0.0));
            while w.0 + w.1 < self.top() {
                let rtt_s = self.rtt_at(w.0 + w.1);
                if cycle >= SETTLED {
                    of_a += w.0 / rtt_s;
                    of_both += (w.0 + w.1) / rtt_s;
                }
                a.step(step_s, rtt_s);
                b.step(step_s, rtt_s);
                before = w;
                w = (a.window(), b.window());
            }
            let grown = (w.0 - before.0, w.1 - before.1);
            let hits_a = rng.chance(grown.0 / (grown.0 + grown.1));
            if overflow == Overflow::HitsBoth || hits_a {
                a = Climb::after_loss(law, w.0, a.w_max).holding(hold_s);
            }
            if overflow == Overflow::HitsBoth || !hits_a {
                b = Climb::after_loss(other, w.1, b.w_max).holding(hold_s);
            }
        }
        of_a / of_both
    }
}

/// Time, time busy, and integral of the queue over the time busy.
#[derive(Default)]
struct Sum {
    time_s: f64,
    busy_s: f64,
    waiting: f64,
}

impl Sum {
    fn add(&mut self, span_s: f64, utilisation: f64, queue: f64) {
        self.time_s += span_s;
        self.busy_s += span_s * utilisation;
        self.waiting += span_s * utilisation * queue;
    }
}

/// Utilisation of one flow with linear growth and decrease to `b` of the window, over a buffer of
/// `x` BDP: `((1 - b^2) / 2) (1 + x)^2 / ((1 - b (1 + x)) + ((1 + x)^2 - 1) / 2)` below `x = (1 -
/// b) / b`, full from there on. With `b = 1/2` it is `0.75 (1 + x)^2 / (1 + x + x^2)`.
pub fn sawtooth_utilisation(b: f64, x: f64) -> f64 {
    if x >= (1.0 - b) / b {
        return 1.0;
    }
    let top = 1.0 + x;
    ((1.0 - b * b) / 2.0) * top * top / ((1.0 - b * top) + (top * top - 1.0) / 2.0)
}

/// Utilisation of one CUBIC flow on its cubic curve over a buffer of `x` BDP: the window returns to
/// its maximum after K seconds whatever the buffer; below one BDP it sends a window each RTT, above
/// it the link is full.
///
/// With `u = t / K`, the window is `W (1 - (1 - beta) (1 - u)^3)`, and `W = 1 + x` in BDP.
pub fn cubic_utilisation(beta: f64, x: f64) -> f64 {
    let window = |u: f64| (1.0 + x) * (1.0 - (1.0 - beta) * (1.0 - u).powi(3));
    let steps = 10_000;
    let mid = |i: i32| (i as f64 + 0.5) / steps as f64;
    (0..steps).map(|i| window(mid(i)).min(1.0)).sum::<f64>() / steps as f64
}

/// Time that one CUBIC flow needs to return to a window of `w_max` packets: `K = cbrt(w_max (1 -
/// beta) / C)` (RFC 9438 eq. 2).
pub fn cubic_period_s(beta: f64, c: f64, w_max: f64) -> f64 {
    (w_max * (1.0 - beta) / c).cbrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_forms_have_their_known_values() {
        for (x, u) in [(0.0, 0.75), (0.1, 0.8176), (0.25, 0.8929), (0.5, 0.9643), (0.75, 0.9932)] {
            assert!((sawtooth_utilisation(0.5, x) - u).abs() < 1e-4, "{x}");
        }
        for (x, u) in [(0.0, 0.925), (0.1, 0.967), (0.2, 0.987), (0.4286, 1.0)] {
            assert!((cubic_utilisation(0.7, x) - u).abs() < 1e-3, "{x}");
        }
        assert!((cubic_period_s(0.7, 0.4, 100.0) - 4.2172).abs() < 1e-4);
    }

    /// 100 packets per second and 1 s: rounds count as seconds.
    fn pipe(buffer: f64) -> Pipe {
        Pipe { packets_per_s: 100.0, rtt_s: 1.0, buffer }
    }

    #[test]
    fn a_cycle_of_newreno_has_its_four_parts() {
        // No buffer: 51 rounds from 49 to 100, then 1 + 1 + 1. They carry (100^2 - 49^2) / 2 +
        // 100 + 50 + 49 packets.
        let bare = pipe(0.0).cycle(SawtoothModel::NEWRENO, Variant::default());
        assert!((bare.period_s - 54.0).abs() < 0.01, "{bare:?}");
        assert!((bare.utilisation - 3998.5 / 5400.0).abs() < 1e-3, "{bare:?}");
        assert!(bare.wait_s.abs() < 1e-12 && !bare.curve_leads);
        // One BDP: 1 s at 99.5, integral of w dw / 100 = 150 s from 100 to 200, then 2 + 2 + 1 s.
        // The link is full but for half a packet and one. The queue of w - 100 comes to 8333.3
        // packet seconds in the climb (integral of (w - 100) w dw / 100), then 200, 100 and 0.
        let full = pipe(100.0).cycle(SawtoothModel::NEWRENO, Variant::default());
        assert!((full.period_s - 156.0).abs() < 0.02, "{full:?}");
        assert!((full.utilisation - 15598.5 / 15600.0).abs() < 1e-5, "{full:?}");
        assert!((full.wait_s - 8633.3 / 15598.5).abs() < 1e-3, "{full:?}");
    }

    #[test]
    fn a_cycle_of_cubic_is_led_by_its_curve_above_the_boundary_of_rfc_9438() {
        // The line takes (0.3 W + 1.2) / alpha rounds, the curve cbrt(0.75 W + 1.75) s: equal at
        // 176 packets and 50 ms.
        let led = |packets: f64| {
            let pipe = Pipe { packets_per_s: packets / 0.05, rtt_s: 0.05, buffer: 0.0 };
            pipe.cycle(SawtoothModel::CUBIC, Variant::default())
        };
        assert!(!led(170.0).curve_leads && led(185.0).curve_leads);
        // On the curve K + 1.596 R: cbrt(751.75) + 0.0798.
        let root = OVERFLOW_AT + 1.0;
        assert!((root.powi(3) + 3.0 * root - 2.0).abs() < 1e-12);
        assert!((led(1000.0).period_s - 9.1726).abs() < 1e-3);
        // On the line 31.2 / alpha + 3 rounds.
        assert!((led(100.0).period_s - (31.2 * 17.0 / 9.0 + 3.0) * 0.05).abs() < 1e-3);
    }

    #[test]
    fn shares_have_their_limits() {
        let (reno, cubic) = (SawtoothModel::NEWRENO, SawtoothModel::CUBIC);
        // The line of CUBIC is made to be fair to NewReno when both lose (RFC 9438 section 4.3).
        let line = SawtoothModel { c: None, ..cubic };
        let small = Pipe { packets_per_s: 1e5, rtt_s: 0.01, buffer: 0.0 };
        assert!((small.share(line, reno, Overflow::HitsBoth) - 0.5).abs() < 0.01);
        assert!((small.share(reno, reno, Overflow::HitsTheGrower) - 0.5).abs() < 0.02);
        // On the curve: 2 T / R of NewReno and C T^3 / 0.3 of CUBIC make up 1000 packets at R = 0.1
        // for T = 8.52 s; 0.75 of 170.4 and 0.925 of 824.7 packets are 0.857 for CUBIC.
        let large = Pipe { packets_per_s: 10_000.0, rtt_s: 0.1, buffer: 0.0 };
        let share = large.share(cubic, reno, Overflow::HitsBoth);
        assert!((share - 0.857).abs() < 0.01, "{share}");
    }
}

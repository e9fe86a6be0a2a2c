//! What a receiver believes about the rate of the path: a probability for each of 257 rates.
//!
//! The grid is the authors': bins of equal width from 0 to the highest rate, and one for what lies
//! above. A bin stands for its middle, the first one for a rate of 0: the outage.
//!
//! 1. a tick passes: `p'_j = sum_i p_i T_ij`. The rate does Brownian motion, with
//!    `s = sigma sqrt(tick)`:
//!    `T_ij = Phi((upper_j - r_i) / s) - Phi((lower_j - r_i) / s)`, where the first bin takes all
//!    that lies below it, and the last one all above. Cut at 5 s. From bin 0 it is `exp(-e tick)`
//!    times this for j = 0, `1 - exp(-e tick)` times this for all others, e the escape rate of
//!    outages;
//! 2. k packets came in it: `p'_i = p_i Poisson(k; r_i tick)`;
//! 3. the sum is made 1.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use forebay_signal::sprout::TICK;

/// Width of a bin of the authors' grid, in packets/s.
const WIDTH: f64 = 1000.0 / 256.0;
/// Bins that a sum covers at a time.
pub(super) const LANES: usize = 8;
/// Transitions further than this are taken for impossible, in standard deviations.
const CUT: f64 = 5.0;

/// Length of a tick in seconds.
pub(super) fn tick_s() -> f64 {
    TICK.as_secs_f64()
}

/// Distribution function of the normal distribution.
fn phi(x: f64) -> f64 {
    0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
}

/// The rates, and how they change in a tick.
#[derive(Debug)]
pub(super) struct Grid {
    /// Packets per tick, bin by bin, and their logarithms.
    means: Box<[f64]>,
    logs: Box<[f64]>,
    /// `T_ij` of inner bins, by `|i - j|`.
    kernel: Box<[f64]>,
    /// `T_ij` into the first bin and into the last, by i.
    into_first: Box<[f64]>,
    into_last: Box<[f64]>,
    /// `T_0j`, by j.
    from_first: Box<[f64]>,
}

impl Grid {
    /// Rates up to `most` packets/s with `sigma` packets/s per root second; outages end at the rate
    /// `escape` per second.
    pub(super) fn new(most: f64, sigma: f64, escape: f64) -> Grid {
        let count = libm::ceil(most / WIDTH).clamp(64.0, 1024.0);
        let width = most / count;
        let last = count as usize;
        let s = (sigma * libm::sqrt(tick_s())).max(1e-9);
        let middle = |bin: usize| if bin == 0 { 0.0 } else { (bin as f64 + 0.5) * width };
        // Probability to lie below the upper end of bin j after a tick.
        let below = |i: usize, j: usize| phi(((j + 1) as f64 * width - middle(i)) / s);
        let radius = (libm::ceil(CUT * s / width) as usize).min(last);
        let near = |i: usize, j: usize| i.abs_diff(j) <= radius;
        let kernel = (0..=radius).map(|d| {
            let (upper, lower) = ((d as f64 + 0.5) * width, (d as f64 - 0.5) * width);
            phi(upper / s) - phi(lower / s)
        });
        let leave = 1.0 - libm::exp(-escape * tick_s());
        let from_first = (0..=last).map(|j| match j {
            0 => (1.0 - leave) * below(0, 0),
            _ if !near(0, j) => 0.0,
            _ if j == last => leave * (1.0 - below(0, j - 1)),
            _ => leave * (below(0, j) - below(0, j - 1)),
        });
        let one = |yes: bool, value: f64| if yes { value } else { 0.0 };
        let means: Box<[f64]> = (0..=last).map(|bin| middle(bin) * tick_s()).collect();
        Grid {
            logs: means.iter().map(|&mean| libm::log(mean)).collect(),
            means,
            kernel: kernel.collect(),
            into_first: (0..=last).map(|i| one(near(i, 0), below(i, 0))).collect(),
            into_last: (0..=last).map(|i| one(near(i, last), 1.0 - below(i, last - 1))).collect(),
            from_first: from_first.collect(),
        }
    }

    /// Bins.
    pub(super) fn len(&self) -> usize {
        self.means.len()
    }
    /// Packets per tick, bin by bin.
    pub(super) fn means(&self) -> &[f64] {
        &self.means
    }
    /// Room that [`Grid::spread`] works in.
    fn work(&self) -> Work {
        let pad = self.kernel.len();
        Work { pad, room: vec![0.0; self.len() + 2 * pad].into_boxed_slice() }
    }

    /// `out_j = sum_i x_i K(|i - j|)` over inner bins j; bin 0 gives nothing, and the last bin only
    /// if `last`.
    fn spread(&self, x: &[f64], last: bool, work: &mut Work, out: &mut [f64]) {
        let (pad, len) = (work.pad, x.len());
        let from = &mut work.room[pad..pad + len];
        from.copy_from_slice(x);
        from[0] = 0.0;
        if !last {
            from[len - 1] = 0.0;
        }
        for (out, x) in out.iter_mut().zip(&work.room[pad..]) {
            *out = self.kernel[0] * x;
        }
        for (d, &k) in self.kernel.iter().enumerate().skip(1) {
            let (left, right) = (&work.room[pad - d..], &work.room[pad + d..]);
            for ((out, left), right) in out.iter_mut().zip(left).zip(right) {
                *out += k * (left + right);
            }
        }
    }

    /// Rule 1.
    fn pass(&self, p: &[f64], work: &mut Work, out: &mut [f64]) {
        self.spread(p, true, work, out);
        let inner = p.iter().enumerate().skip(1);
        let (mut first, mut last) = (0.0, 0.0);
        for (i, p) in inner {
            first += p * self.into_first[i];
            last += p * self.into_last[i];
        }
        (out[0], out[p.len() - 1]) = (first, last);
        for (out, t) in out.iter_mut().zip(&self.from_first) {
            *out += p[0] * t;
        }
    }

    /// `sum_j T_ij x_j` for each bin i: what is expected of x a tick later.
    pub(super) fn expect(&self, x: &[f64], work: &mut Work, out: &mut [f64]) {
        let last = x.len() - 1;
        self.spread(x, false, work, out);
        for (i, out) in out.iter_mut().enumerate() {
            *out += x[0] * self.into_first[i] + x[last] * self.into_last[i];
        }
        out[0] = self.from_first.iter().zip(x).map(|(t, x)| t * x).sum();
    }
}

/// Room for one pass over the grid.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pad: usize,
    room: Box<[f64]>,
}

impl Work {
    pub(super) fn of(grid: &Grid) -> Work {
        grid.work()
    }
}

/// A probability for each rate.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    p: Vec<f64>,
    next: Vec<f64>,
    work: Work,
}

impl Belief {
    /// Every rate is as likely as any other.
    pub(super) fn new(grid: &Grid) -> Belief {
        let p = vec![1.0 / grid.len() as f64; grid.len()];
        Belief { next: p.clone(), p, work: grid.work() }
    }
    /// Rules 1 to 3. `packets`: None if the sender had nothing to send.
    pub(super) fn tick(&mut self, grid: &Grid, packets: Option<u32>) {
        grid.pass(&self.p, &mut self.work, &mut self.next);
        core::mem::swap(&mut self.p, &mut self.next);
        if let Some(packets) = packets {
            self.observe(grid, packets);
        }
        let sum: f64 = self.p.iter().sum();
        debug_assert!(sum > 0.0);
        self.p.iter_mut().for_each(|p| *p /= sum);
    }
    /// Rule 2, up to a factor: the likeliest of the rates that are possible has a factor of 1, so
    /// that the sum never vanishes.
    fn observe(&mut self, grid: &Grid, packets: u32) {
        let k = f64::from(packets);
        let log_of = |bin: usize| match (packets, bin) {
            (0, _) => -grid.means[bin],
            (_, 0) => f64::NEG_INFINITY,
            _ => k * grid.logs[bin] - grid.means[bin],
        };
        let mut most = f64::NEG_INFINITY;
        for (bin, (next, p)) in self.next.iter_mut().zip(&self.p).enumerate() {
            *next = log_of(bin);
            if *p > 0.0 {
                most = most.max(*next);
            }
        }
        if most == f64::NEG_INFINITY {
            // An outage without an end has ended: nothing is known.
            self.p.fill(1.0);
            most = self.next.iter().copied().fold(most, f64::max);
        }
        for (p, log) in self.p.iter_mut().zip(&self.next) {
            *p *= libm::exp(log - most);
        }
    }
    /// The probabilities.
    pub(super) fn shares(&self) -> &[f64] {
        &self.p
    }
}

//! How many packets come in the next ticks, given the belief.
//!
//! 1. from rate i, the packets of the t-th tick from now are k with probability
//!    `c_it(k) = sum_j (T^t)_ij Poisson(k; r_j tick) / sum_j (T^t)_ij`, t = 0 to 7, up to a most k;
//!    what lies above is left out;
//! 2. those of the first h ticks have the distribution `C_ih = c_i0 * ... * c_i(h-1)`, a
//!    convolution: the authors assume independent ticks once i is known;
//! 3. the forecast for h ticks is the smallest n such that `sum_i p_i C_ih(k <= n)` is 5 % or more.
//!
//! All `C_ih(k <= n)` are computed once, and shared by all receivers with the same parameters.

use super::belief::{Grid, LANES, Work};
use super::params::Params;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use forebay_signal::sprout::TICKS;

/// Grid and distribution functions.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) grid: Grid,
    /// For h = 1 to 8: rows of n, each with the probability of n packets or fewer for all bins,
    /// filled up with zeros.
    cdf: [Box<[f32]>; TICKS],
    /// Length of a row.
    row: usize,
    quantile: f32,
}

/// Packets per tick that the distributions cover: the authors' 0 to 29 for a mean of up to 20.
fn counts(mean: f64) -> usize {
    libm::ceil((1.5 * mean).max(mean + 10.0)) as usize
}

fn poisson(k: usize, mean: f64) -> f64 {
    let k = k as f64;
    if mean > 0.0 {
        return libm::exp(k * libm::log(mean) - mean - libm::lgamma(k + 1.0));
    }
    if k == 0.0 { 1.0 } else { 0.0 }
}

impl Tables {
    pub(super) fn new(params: &Params) -> Tables {
        let most = params.reach();
        let grid = Grid::new(most, params.sigma, params.outage_escape_per_s);
        let counts = counts(most * super::belief::tick_s());
        let laws = laws(&grid, counts);
        let row = grid.len().next_multiple_of(LANES);
        let mut cdf = [(); TICKS].map(|()| Vec::new());
        for (h, table) in cdf.iter_mut().enumerate() {
            *table = vec![0.0; ((h + 1) * (counts - 1) + 1) * row];
        }
        for bin in 0..grid.len() {
            let mut law = vec![1.0];
            for (ticks, table) in laws.iter().zip(&mut cdf) {
                law = convolve(&law, &ticks[bin * counts..][..counts]);
                let mut sum = 0.0;
                for (n, share) in law.iter().enumerate() {
                    sum += share;
                    table[n * row + bin] = sum as f32;
                }
            }
        }
        let cdf = cdf.map(Vec::into_boxed_slice);
        Tables { grid, cdf, row, quantile: params.quantile as f32 }
    }

    /// Room for the shares that [`Tables::forecast`] takes.
    pub(super) fn room(&self) -> Box<[f32]> {
        vec![0.0; self.row].into_boxed_slice()
    }

    /// Rule 3: packets from now on, for 1 to 8 ticks. `shares` is as long as [`Tables::room`].
    pub(super) fn forecast(&self, shares: &[f32]) -> [u32; TICKS] {
        let mut packets = [0; TICKS];
        for (packets, table) in packets.iter_mut().zip(&self.cdf) {
            // The first n at which it is reached, or the last one.
            let (mut low, mut high) = (0, table.len() / self.row - 1);
            while low < high {
                let n = (low + high) / 2;
                if dot(shares, &table[n * self.row..][..self.row]) >= self.quantile {
                    high = n
                } else {
                    low = n + 1
                }
            }
            *packets = low as u32;
        }
        packets
    }
}

/// Rule 1: for t = 0 to 7 the distribution of each bin, `counts` numbers each.
fn laws(grid: &Grid, counts: usize) -> Vec<Vec<f64>> {
    let len = grid.len();
    let mut work = Work::of(grid);
    let (mut next, mut total) = (vec![0.0; len], vec![1.0; len]);
    let mut expected: Vec<Vec<f64>> =
        (0..counts).map(|k| grid.means().iter().map(|&mean| poisson(k, mean)).collect()).collect();
    let mut laws = Vec::with_capacity(TICKS);
    for _ in 0..TICKS {
        let share = |at: usize| expected[at % counts][at / counts] / total[at / counts];
        laws.push((0..len * counts).map(share).collect());
        for x in expected.iter_mut().chain([&mut total]) {
            grid.expect(x, &mut work, &mut next);
            x.copy_from_slice(&next);
        }
    }
    laws
}

fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; a.len() + b.len() - 1];
    for (i, a) in a.iter().enumerate() {
        for (sum, b) in sums[i..].iter_mut().zip(b) {
            *sum += a * b;
        }
    }
    sums
}

/// Both are a multiple of [`LANES`] long. Lane by lane, so that the order of additions is the same
/// everywhere.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum()
}

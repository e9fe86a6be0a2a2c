//! What generators of channels are made of: random numbers, and Rician fading.

use core::f64::consts::PI;
use forebay_base::{Rng, Stream, normal};

const SINUSOIDS: usize = 16;
/// The longest outage or stall, as a multiple of the shortest.
const LONGEST: f64 = 100.0;

/// Random numbers of one purpose within a generator.
pub(super) struct Draws(Rng);

impl Draws {
    pub(super) fn new(seed: u64, purpose: u64) -> Draws {
        Draws(Rng::new(seed, Stream::Channel, purpose))
    }
    /// Uniform in 0..`bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }
    /// Uniform in (0, 1].
    pub(super) fn unit(&mut self) -> f64 {
        self.0.above_zero()
    }
    /// Normal.
    pub(super) fn normal(&mut self) -> f64 {
        normal(self.unit(), self.unit())
    }
    /// Exponential.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        mean * self.0.exponential()
    }
    /// At least `least`; more than x of it with the chance (least / x)^`exponent`, cut off at
    /// [`LONGEST`] times the least.
    pub(super) fn power_law(&mut self, least: f64, exponent: f64) -> f64 {
        let beyond = libm::pow(LONGEST, -exponent);
        least * libm::pow(beyond + self.unit() * (1.0 - beyond), -1.0 / exponent)
    }
    /// Poisson of a small mean, by multiplication (Knuth).
    pub(super) fn poisson(&mut self, mean: f64) -> u32 {
        let (least, mut product, mut count) = (libm::exp(-mean), self.unit(), 0);
        while product > least {
            product *= self.unit();
            count += 1;
        }
        count
    }
}

/// One branch of a Rician channel: the direct path and the scattered ones, as angular frequency in
/// 1/s and phase.
pub(super) struct Branch {
    direct: (f64, f64),
    scattered: [(f64, f64); SINUSOIDS],
    /// Amplitudes of the direct path and of each scattered one.
    amplitudes: (f64, f64),
}

impl Branch {
    pub(super) fn new(draws: &mut Draws, doppler_hz: f64, k: f64) -> Branch {
        let mut path = || {
            let (angle, phase) = (2.0 * PI * draws.unit(), 2.0 * PI * draws.unit());
            (2.0 * PI * doppler_hz * libm::cos(angle), phase)
        };
        let (direct, scattered) = (path(), core::array::from_fn(|_| path()));
        let each = libm::sqrt(1.0 / (k + 1.0) / SINUSOIDS as f64);
        Branch { direct, scattered, amplitudes: (libm::sqrt(k / (k + 1.0)), each) }
    }
    /// |h|^2, whose mean is 1.
    pub(super) fn power(&self, at_s: f64) -> f64 {
        let (mut re, mut im) = (0.0, 0.0);
        let mut add = |(omega, phase): (f64, f64), amplitude: f64| {
            let (sin, cos) = libm::sincos(omega * at_s + phase);
            re += amplitude * cos;
            im += amplitude * sin;
        };
        add(self.direct, self.amplitudes.0);
        self.scattered.iter().for_each(|&path| add(path, self.amplitudes.1));
        re * re + im * im
    }
}

/// Mean |h|^2 of branches, bounded from below.
pub(super) fn power_of(branches: &[Branch], at_s: f64) -> f64 {
    let power = branches.iter().map(|branch| branch.power(at_s)).sum::<f64>();
    (power / branches.len() as f64).max(1e-9)
}

//! Random streams, one per entity and purpose: a new flow does not change what other flows draw.
//!
//! Generator: xoshiro256++ (Blackman and Vigna, 2019, doi:10.1145/3460772), seeded by SplitMix64.

use crate::digest::mix64;

/// What a stream is drawn for. The number is part of the stream's identity: never renumber.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Stream {
    /// Loss, corruption and jitter on a link.
    Link = 1,
    /// Initial sequence numbers of a connection.
    Isn = 2,
    /// A flow's start jitter.
    StartJitter = 3,
    /// Draws of a workload.
    Workload = 4,
    /// Choices of the meter and the egress of a port.
    PortScheme = 5,
    /// Choices of a controller.
    Controller = 6,
    /// Choices of a router's forwarding.
    Forwarding = 7,
    /// Test generators.
    Test = 8,
    /// Where the IP identifications of a host begin, for each destination.
    IpId = 9,
    /// Choices of a queue discipline.
    Discipline = 10,
    /// An application: when it thinks, when it writes.
    Application = 11,
    /// How much a flow sends.
    FlowSize = 12,
    /// When a flow starts, where that is drawn from a distribution.
    FlowStart = 13,
    /// What the maker of forged packets does not know.
    SpoofedFragment = 14,
    /// A random process by which flows arrive.
    Arrivals = 15,
    /// Which hosts the flows of a group run between.
    Pairs = 16,
    /// Where in its delivery trace a link begins.
    ChannelOffset = 20,
    /// A generator of delivery traces.
    Channel = 21,
    /// Key and nonces of a connection over several paths.
    MultipathKey = 24,
    /// How late packets leave for a link.
    Lateness = 25,
    /// A generator of maps.
    Map = 30,
}

/// A deterministic random generator, the same on every machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The stream of one entity for one purpose under the seed of the run.
    pub fn new(seed: u64, stream: Stream, entity: u64) -> Rng {
        let mut x = mix64(mix64(seed ^ 0x9e37_79b9_7f4a_7c15) ^ stream as u64) ^ mix64(!entity);
        let state = core::array::from_fn(|_| {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix64(x)
        });
        Rng { state }
    }

    /// 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in `0..bound`, unbiased (Lemire 2019). Panics if `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0);
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let wide = self.next_u64() as u128 * bound as u128;
            if wide as u64 >= threshold {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Uniform in `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `(0, 1]`, for logarithms.
    #[inline]
    pub fn above_zero(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.above_zero())
    }

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

/// A normal draw of mean 0 and deviation 1 out of two uniform ones, `u` in `(0, 1]` and `v` in
/// `[0, 1]` (Box and Muller 1958, doi:10.1214/aoms/1177706645).
pub fn normal(u: f64, v: f64) -> f64 {
    libm::sqrt(-2.0 * libm::log(u)) * libm::cos(2.0 * core::f64::consts::PI * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_reference_output_of_xoshiro256plusplus() {
        // First outputs of the authors' C code for the state {1, 2, 3, 4}.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let expected = [41943041u64, 58720359, 3588806011781223, 3591011842654386];
        assert_eq!(core::array::from_fn(|_| rng.next_u64()), expected);
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_entity() {
        let first = |seed, stream, id| Rng::new(seed, stream, id).next_u64();
        let base = first(1, Stream::Link, 0);
        assert_ne!(base, first(2, Stream::Link, 0));
        assert_ne!(base, first(1, Stream::Isn, 0));
        assert_ne!(base, first(1, Stream::Link, 1));
        assert_eq!(base, first(1, Stream::Link, 0));
    }

    #[test]
    fn below_is_uniform() {
        let mut rng = Rng::new(1, Stream::Test, 0);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[rng.below(7) as usize] += 1);
        assert!(counts.iter().all(|&c| c.abs_diff(10_000) < 400), "{counts:?}");
    }

    /// Of 100 000 draws: mean and variance, and the shares beyond one and two deviations (normal
    /// 0.15866 and 0.02275) or means (exponential 1/e and 1/e^2), to four standard errors.
    #[test]
    fn laws_have_their_moments_and_tails() {
        let mut rng = Rng::new(1, Stream::Test, 0);
        let n = 100_000;
        let close = |found: f64, law: f64, deviation: f64| {
            assert!((found - law).abs() < 4.0 * deviation / libm::sqrt(n as f64), "{found} {law}");
        };
        let mut check = |draw: fn(&mut Rng) -> f64, mean: f64, tails: [f64; 2], fourth: f64| {
            let (mut sum, mut squares, mut above) = (0.0, 0.0, [0u32; 2]);
            for _ in 0..n {
                let x = draw(&mut rng);
                sum += x;
                squares += (x - mean) * (x - mean);
                above[0] += u32::from(x > 1.0);
                above[1] += u32::from(x > 2.0);
            }
            close(sum / n as f64, mean, 1.0);
            // The variance of squared deviations is the fourth moment less 1.
            close(squares / n as f64, 1.0, libm::sqrt(fourth - 1.0));
            for (above, tail) in above.into_iter().zip(tails) {
                close(f64::from(above) / n as f64, tail, libm::sqrt(tail * (1.0 - tail)));
            }
        };
        check(Rng::exponential, 1.0, [0.367_879, 0.135_335], 9.0);
        check(|rng| normal(rng.above_zero(), rng.unit()), 0.0, [0.158_655, 0.022_750], 3.0);
    }
}

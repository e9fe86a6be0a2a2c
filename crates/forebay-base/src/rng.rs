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
    /// What the maker of forged packets does not know.
    Forgery = 12,
    /// Where in its delivery trace a link begins.
    ChannelOffset = 20,
    /// A generator of delivery traces.
    Channel = 21,
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

    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
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
}

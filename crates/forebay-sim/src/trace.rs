//! The trace hash: the same for the same packets at the same times, whatever engine moved them.

use forebay_base::{Digest, Time, mix64};

/// The hash of one directed link: of (arrival, packet digest) in order of arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkHash(u64);

impl LinkHash {
    /// A packet with this digest arrived.
    #[inline]
    pub fn arrived(&mut self, at: Time, digest: u64) {
        // One widening multiplication of two words that differ in half their bits even for small inputs (wyhash).
        let (a, b) =
            (digest ^ 0xa076_1d64_78bd_642f, self.0 ^ at.as_nanos() ^ 0xe703_7ed1_a0b4_28db);
        let wide = a as u128 * b as u128;
        self.0 = (wide as u64 ^ (wide >> 64) as u64).wrapping_add(self.0.rotate_left(23));
    }
}

/// The trace hash of a run: over the link hashes in order of link id.
pub fn trace_hash(links: impl Iterator<Item = LinkHash>) -> u64 {
    let mut digest = Digest::default();
    links.for_each(|l| digest.word(mix64(l.0)));
    digest.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_content_order_and_link_all_matter() {
        let of = |events: &[(u64, u64)]| {
            let mut hash = LinkHash::default();
            events.iter().for_each(|&(t, d)| hash.arrived(Time::from_nanos(t), d));
            hash
        };
        let base = of(&[(1, 10), (2, 20)]);
        assert_ne!(base, of(&[(1, 10), (3, 20)]));
        assert_ne!(base, of(&[(1, 10), (2, 21)]));
        assert_ne!(base, of(&[(1, 20), (2, 10)]));
        let total = |links: [LinkHash; 2]| trace_hash(links.into_iter());
        assert_ne!(total([base, LinkHash::default()]), total([LinkHash::default(), base]));
    }
}

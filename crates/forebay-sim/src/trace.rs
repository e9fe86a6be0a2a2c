//! The trace hash: equal if the same packets arrive over the same links at the same times, whatever
//! the engine.

use forebay_base::{LinkId, Signature, Time, mix64};

/// Which definition of [`TraceSum`] and [`crate::Site::hash`] this is. Records made under another
/// have other hashes.
pub const HASH_EPOCH: u32 = 1;

/// The sum over all arrivals of a hash of (link, time, packet). The order of arrivals does not
/// matter, and the sums of partitions can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSum(u64);

impl TraceSum {
    /// A packet with this signature and this time to live arrives over `link` at `at`.
    #[inline]
    pub fn arrived(&mut self, at: Time, link: LinkId, signature: Signature, ttl: u8) {
        // Odd, so that the map from (link, time) is one-to-one.
        let place = ((link.0 as u64) << 8 | ttl as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = self.0.wrapping_add(signature.with(at.as_nanos(), place));
    }
    /// Add the sum of another partition.
    pub fn add(&mut self, other: TraceSum) {
        self.0 = self.0.wrapping_add(other.0);
    }
    /// The trace hash.
    pub fn finish(self) -> u64 {
        mix64(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Addr, Arena, Endpoint, IpVersion, Packet, TcpFields};

    fn signature(seq: u32) -> Signature {
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let fields = TcpFields { seq, ..TcpFields::default() };
        Packet::tcp(IpVersion::V4, end(1), end(2), fields, 1).signature(&Arena::default())
    }
    fn of(events: &[(u64, u32, u32, u8)]) -> u64 {
        let mut sum = TraceSum::default();
        for &(ns, link, seq, ttl) in events {
            sum.arrived(Time::from_nanos(ns), LinkId(link), signature(seq), ttl);
        }
        sum.finish()
    }

    #[test]
    fn time_content_ttl_and_link_matter_and_the_order_of_telling_does_not() {
        let base = of(&[(1, 1, 10, 64), (2, 1, 20, 64)]);
        let others: [&[_]; 8] = [
            &[(1, 1, 10, 64), (3, 1, 20, 64)],
            &[(1, 1, 10, 64), (2, 1, 21, 64)],
            &[(1, 1, 20, 64), (2, 1, 10, 64)],
            &[(1, 1, 10, 64), (2, 1, 20, 63)],
            &[(1, 1, 10, 64), (2, 2, 20, 64)],
            &[(1, 2, 10, 64), (2, 1, 20, 64)],
            &[(1, 1, 10, 64), (2, 1, 20, 64), (2, 1, 20, 64)],
            &[(1, 1, 10, 64)],
        ];
        for other in others {
            assert_ne!(base, of(other), "{other:?}");
        }
        assert_eq!(base, of(&[(2, 1, 20, 64), (1, 1, 10, 64)]));
    }

    /// Of a hundred thousand arrivals that differ in little no two have one hash, and each bit is
    /// set in half of them.
    #[test]
    fn small_differences_spread() {
        let mut hashes = std::collections::BTreeSet::new();
        let mut ones = [0u32; 64];
        for (ns, link, seq, ttl) in (0..100_000u32).map(|i| (i % 10, i / 10 % 10, i / 1000, i)) {
            let hash = of(&[(1_000 + ns as u64, link, seq, 60 + (ttl / 100 % 10) as u8)]);
            hashes.insert(hash);
            (0..64).for_each(|bit| ones[bit] += (hash >> bit) as u32 & 1);
        }
        assert_eq!(hashes.len(), 100_000);
        assert!(ones.iter().all(|ones| ones.abs_diff(50_000) < 1_000), "{ones:?}");
    }
}

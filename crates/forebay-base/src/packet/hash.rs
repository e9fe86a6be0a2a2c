//! Hashes of a packet: for queues that sort packets by flow, and for the trace hash of a run.

use super::arena::{Arena, Handle};
use super::packed_fields::TTL_SHIFT;
use super::{Kind, Packet};
use crate::digest::mix64;

impl Packet {
    /// A hash by which queues sort packets into flows: of addresses, ports and protocol. Without
    /// ports if the packet does not show them, and for *every* fragment, so that all fragments of a
    /// datagram have one hash. Fragments are therefore not with the whole packets of their flow,
    /// but with the fragments of all flows between the same hosts (as in Linux). Two values of
    /// `salt` give unrelated hashes.
    pub fn flow_hash(&self, salt: u64, arena: &Arena) -> u64 {
        let ports = match self.kind() {
            Kind::Fragment => None,
            Kind::Tcp | Kind::Opaque => self.ports(),
        };
        let ports = ports.map_or(0, |(src, dst)| 1 << 40 | (src as u64) << 24 | (dst as u64) << 8);
        let addresses = self.addrs.0.rotate_left(32); // the source in the high half
        mix64(mix64(addresses ^ salt) ^ ports ^ self.protocol(arena) as u64)
    }
    /// A digest of all that a capture shows of this packet except the payload. The trace hash is
    /// made of these.
    #[inline]
    pub fn digest(&self, arena: &Arena) -> u64 {
        self.signature(arena).digest(self.ttl())
    }
    /// The part of its digests that is the same on all links if routers change only the time to
    /// live.
    #[inline]
    pub fn signature(&self, arena: &Arena) -> Signature {
        let small = self.small.with_ttl(0).0 as u64;
        let a = fold(self.addrs.0 ^ K[0], self.numbers.0 ^ K[1]);
        let b = fold(self.timestamps.0 ^ K[2], self.sizes.0 ^ K[3]);
        let mut signature = Signature { a: a ^ small ^ K[4], b: b ^ K[5] };
        if self.cold != Handle::NONE {
            signature.a = arena.digest_cold(self, signature.a);
        }
        signature
    }
}

/// See [`Packet::signature`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    a: u64,
    b: u64,
}

impl Signature {
    /// The digest of the packet while it has this time to live.
    #[inline]
    pub fn digest(self, ttl: u8) -> u64 {
        self.with((ttl as u64) << TTL_SHIFT, 0)
    }
    /// A hash of the signature and two words.
    #[inline]
    pub fn with(self, x: u64, y: u64) -> u64 {
        fold(self.a ^ x, self.b ^ y)
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = a as u128 * b as u128;
    (wide as u64) ^ ((wide >> 64) as u64)
}

const K: [u64; 6] = [
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
    0x1d8e_4e27_c47d_124f,
    0xeb44_acca_b455_d165,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::segment;
    use crate::{Ecn, MAX_TTL, Time};

    #[test]
    fn the_digest_sees_every_field_and_not_the_stamp() {
        let mut arena = Arena::default();
        let base = segment(100, Some((7, 8)));
        let mut changed = segment(100, Some((7, 8)));
        changed.set_hop_time(Time::from_secs(3));
        assert_eq!(base.digest(&arena), changed.digest(&arena));
        changed.set_ecn(Ecn::Ce);
        assert_ne!(base.digest(&arena), changed.digest(&arena));
        changed.set_ecn(Ecn::NotEct);
        assert!(changed.decrement_ttl());
        assert_ne!(base.digest(&arena), changed.digest(&arena));
        changed.set_ttl(MAX_TTL);
        changed.cold_mut(&mut arena).ip_id = 5;
        assert_ne!(base.digest(&arena), changed.digest(&arena));
        assert_ne!(base.digest(&arena), segment(100, Some((7, 9))).digest(&arena));
        assert_ne!(base.digest(&arena), segment(101, Some((7, 8))).digest(&arena));
    }
}

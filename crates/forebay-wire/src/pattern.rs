//! The test pattern: what the payload of a simulated flow holds.
//!
//! A byte is a pure function of the flow it belongs to and of its own sequence number, so a payload
//! needs no storage, and a receiver can detect a byte that was lost, moved or mixed up with another
//! flow's. With the byte's 32-bit sequence number s:
//!
//! ```text
//! key  = mix64(mix64(src id << 32 | dst id) ^ (src port << 16 | dst port))
//! x    = (key + floor(s / 8)) * 0x9e3779b97f4a7c15   mod 2^64
//! byte = byte (s mod 8), lowest first, of x ^ (x >> 32)
//! ```
//!
//! Eight bytes cost one multiplication. The pattern knows ids, not wire addresses: it is the same
//! for IPv4 and IPv6. Sequence numbers wrap at 2^32, a multiple of 8, and the pattern with them.

use forebay_base::{Endpoint, mix64};

/// The pattern of one direction of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    key: u64,
}

impl Pattern {
    /// The pattern of what `src` sends to `dst`.
    pub fn new(src: Endpoint, dst: Endpoint) -> Pattern {
        let ids = u64::from(src.addr.0) << 32 | u64::from(dst.addr.0);
        let ports = u64::from(src.port) << 16 | u64::from(dst.port);
        Pattern { key: mix64(mix64(ids) ^ ports) }
    }
    /// Eight bytes; `index` counts on after the last block, into the first.
    #[inline]
    fn block(self, index: u32) -> [u8; 8] {
        let index = u64::from(index & INDEX_MASK);
        let x = self.key.wrapping_add(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ (x >> 32)).to_le_bytes()
    }
    /// The byte with sequence number `seq`.
    pub fn byte(self, seq: u32) -> u8 {
        self.block(seq / 8)[(seq % 8) as usize]
    }
    /// Fill `out` with the bytes from `seq` on.
    pub fn fill(self, seq: u32, out: &mut [u8]) {
        let (head, body) = out.split_at_mut(head_len(seq, out.len()));
        (seq..=u32::MAX).zip(head.iter_mut()).for_each(|(s, byte)| *byte = self.byte(s));
        let mut indices = seq.div_ceil(8)..;
        let (blocks, tail) = body.as_chunks_mut::<8>();
        blocks.iter_mut().zip(&mut indices).for_each(|(block, index)| *block = self.block(index));
        tail.copy_from_slice(&self.block(indices.start)[..tail.len()]);
    }
    /// True if `bytes` are those from `seq` on.
    pub fn matches(self, seq: u32, bytes: &[u8]) -> bool {
        let (head, body) = bytes.split_at(head_len(seq, bytes.len()));
        let mut indices = seq.div_ceil(8)..;
        let (blocks, tail) = body.as_chunks::<8>();
        (seq..=u32::MAX).zip(head).all(|(s, &byte)| byte == self.byte(s))
            && blocks.iter().zip(&mut indices).all(|(block, index)| *block == self.block(index))
            && tail == &self.block(indices.start)[..tail.len()]
    }
}

/// There are 2^29 blocks of 8 bytes.
const INDEX_MASK: u32 = (1 << 29) - 1;

/// Bytes before the next whole block, at most `len`.
fn head_len(seq: u32, len: usize) -> usize {
    (seq.wrapping_neg() % 8).min(len as u32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use forebay_base::Addr;

    fn pattern(src: u32, port: u16) -> Pattern {
        Pattern::new(Endpoint { addr: Addr(src), port }, Endpoint { addr: Addr(2), port: 80 })
    }

    #[test]
    fn bulk_agrees_with_the_definition_also_over_the_wrap() {
        let pattern = pattern(1, 1000);
        for seq in (0..9).chain(u32::MAX - 40..=u32::MAX) {
            for len in 0..40 {
                let mut bytes = vec![0; len];
                pattern.fill(seq, &mut bytes);
                for (at, &byte) in bytes.iter().enumerate() {
                    assert_eq!(byte, pattern.byte(seq.wrapping_add(at as u32)), "{seq} + {at}");
                }
                assert!(pattern.matches(seq, &bytes));
                for at in 0..len {
                    bytes[at] ^= 0x10;
                    assert!(!pattern.matches(seq, &bytes), "{seq} + {at}");
                    bytes[at] ^= 0x10;
                }
            }
        }
    }

    #[test]
    fn a_moved_or_foreign_payload_does_not_match() {
        let mut bytes = vec![0; 64];
        pattern(1, 1000).fill(1 << 20, &mut bytes);
        for shift in 1..5000 {
            assert!(!pattern(1, 1000).matches((1 << 20) + shift, &bytes));
            assert!(!pattern(1, 1000 + shift as u16).matches(1 << 20, &bytes));
            assert!(!pattern(1 + shift, 1000).matches(1 << 20, &bytes));
        }
    }

    #[test]
    fn bytes_are_spread_evenly() {
        let mut bytes = vec![0; 1 << 16];
        pattern(1, 1000).fill(0, &mut bytes);
        let mut counts = [0u32; 256];
        bytes.iter().for_each(|&b| counts[b as usize] += 1);
        // 256 expected of each value with a standard deviation of 16.
        assert!(counts.iter().all(|&c| c.abs_diff(256) < 96), "{counts:?}");
    }
}

//! The mixing function of trace hashes, flow hashes and seeds.

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection on 64 bits that mixes well.
#[inline]
pub const fn mix64(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A running digest of 64-bit words: order matters, the same on every machine, not cryptographic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0x243f_6a88_85a3_08d3)
    }
}

impl Digest {
    /// Fold one word in.
    #[inline]
    pub fn word(&mut self, word: u64) {
        // One widening multiplication a word (the core of wyhash): 64x64 -> 128, folded.
        let wide = (self.0 ^ word) as u128 * 0x9e37_79b9_7f4a_7c15_u128;
        self.0 = (wide as u64) ^ ((wide >> 64) as u64).rotate_left(29) ^ word.rotate_left(17);
    }
    /// Fold bytes in, their number too.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0u8; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(word));
        }
    }
    /// The digest of everything folded in so far.
    #[inline]
    pub fn finish(self) -> u64 {
        mix64(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of bytes as of their words, the last one filled up with zeros, after their number.
    #[test]
    fn bytes_are_words() {
        let bytes: [u8; 20] = core::array::from_fn(|at| at as u8 + 1);
        for len in 0..bytes.len() {
            let (mut by_bytes, mut by_words) = (Digest::default(), Digest::default());
            by_bytes.bytes(&bytes[..len]);
            by_words.word(len as u64);
            let byte = |at: usize| if at < len { u64::from(bytes[at]) } else { 0 };
            for from in (0..len).step_by(8) {
                by_words.word((0..8).fold(0, |word, at| word | byte(from + at) << (8 * at)));
            }
            assert_eq!(by_bytes, by_words, "{len} bytes");
        }
    }

    #[test]
    fn order_and_length_matter() {
        let of = |parts: &[&[u8]]| {
            let mut d = Digest::default();
            parts.iter().for_each(|p| d.bytes(p));
            d.finish()
        };
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
        assert_ne!(of(&[b"a", b"b"]), of(&[b"b", b"a"]));
        assert_ne!(of(&[b"\0"]), of(&[b"\0\0"]));
    }
}

//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

/// A one's complement sum of 16-bit words in progress.
///
/// 64 bits hold 2^31 words of 32 bits before they overflow, and a packet has at most 2^14: carries
/// are folded once for each run of bytes.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sum(u64);

fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Sum {
    /// Add bytes in pairs, high byte first; an odd last byte is padded with a zero after it.
    /// Only the last part of a sum may be odd.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        // 2^16 is 1 modulo 2^16 - 1, so words of 32 bits add up to the same as their halves; and
        // the sum of swapped words is the swapped sum (RFC 1071 section 2 B), so the machine's own
        // byte order will do.
        let (words, rest) = bytes.as_chunks::<4>();
        let mut sum: u64 = words.iter().map(|&w| u64::from(u32::from_ne_bytes(w))).sum();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        sum += u64::from(u32::from_ne_bytes(last));
        self.0 += u64::from(u16::from_be(fold(sum)));
    }
    /// Add a number as two 16-bit words.
    #[inline]
    pub fn word(&mut self, word: u32) {
        self.0 += u64::from(word);
    }
    /// The checksum field: the complement of the sum. Never 0xffff if anything added was not zero.
    #[inline]
    pub fn checksum(self) -> u16 {
        !fold(self.0)
    }
}

/// The checksum of some bytes, whose own checksum field is zero.
pub fn checksum(bytes: &[u8]) -> u16 {
    let mut sum = Sum::default();
    sum.bytes(bytes);
    sum.checksum()
}

/// The checksum after one 16-bit word under it changed from `old` to `new`: HC' = ~(~HC + ~m + m')
/// (RFC 1624 section 3, eqn. 3).
#[inline]
pub fn update(checksum: u16, old: u16, new: u16) -> u16 {
    let mut sum = Sum::default();
    sum.word(u32::from(!checksum));
    sum.word(u32::from(!old));
    sum.word(u32::from(new));
    sum.checksum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_1071_section_3_example() {
        // The words 0001 f203 f4f5 f6f7 sum to ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6]), !(0xddf2 - 0xf7));
        assert_eq!(checksum(&[]), 0xffff);
    }

    #[test]
    fn rfc_1624_section_4_example() {
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        let bytes: [u8; 67] = core::array::from_fn(|i| (i * 151 + 201) as u8);
        for len in 0..bytes.len() {
            let mut sum = 0u32;
            for (at, &byte) in bytes[..len].iter().enumerate() {
                sum += if at % 2 == 0 { u32::from(byte) << 8 } else { u32::from(byte) };
                sum = (sum & 0xffff) + (sum >> 16);
            }
            assert_eq!(checksum(&bytes[..len]), !(sum as u16), "{len} bytes");
        }
    }
}

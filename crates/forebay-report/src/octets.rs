//! Numbers in Parquet's mix of runs and packed bits: "RLE / bit-packing hybrid" in
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

/// Append `rows` numbers. None if they are not all there.
pub(super) fn unpack(bytes: &[u8], rows: usize, numbers: &mut Vec<u32>) -> Option<()> {
    let (&bits, mut bytes) = bytes.split_first()?;
    let bits = usize::from(bits);
    if bits > 32 {
        return None;
    }
    let end = numbers.len() + rows;
    while numbers.len() < end {
        let head = head(&mut bytes)?;
        let count = usize::try_from(head >> 1).ok()?;
        let missing = end - numbers.len();
        if head & 1 == 0 {
            let (number, rest) = bytes.split_at_checked(bits.div_ceil(8))?;
            let number = number.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
            numbers.resize(numbers.len() + count.min(missing), number);
            bytes = rest;
        } else {
            let (packed, rest) = bytes.split_at_checked(count.checked_mul(bits)?)?;
            unpack_octets(packed, bits as u32, missing.min(count.saturating_mul(8)), numbers);
            bytes = rest;
        }
    }
    Some(())
}

/// Append the first `rows` numbers of `packed`, which has them.
fn unpack_octets(packed: &[u8], bits: u32, rows: usize, numbers: &mut Vec<u32>) {
    let mut words = packed.chunks(4).map(|word| match word.first_chunk::<4>() {
        Some(word) => u32::from_le_bytes(*word),
        None => word.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte)),
    });
    let mask = (1u64 << bits) - 1;
    let (mut held, mut held_bits) = (0u64, 0);
    numbers.extend((0..rows).map(|_| {
        if held_bits < bits {
            held |= u64::from(words.next().unwrap_or_default()) << held_bits;
            held_bits += u32::BITS;
        }
        let number = (held & mask) as u32;
        (held, held_bits) = (held >> bits, held_bits - bits);
        number
    }));
}

/// A number in seven bits a byte, the lowest first.
fn head(bytes: &mut &[u8]) -> Option<u64> {
    let mut head = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        head |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(head);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unpacked() {
        // From the format's text: 0 to 7 in three bits; then a run of 200 times 5.
        let bytes = [3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010, 0x90, 3, 5];
        let mut numbers = Vec::new();
        assert_eq!(unpack(&bytes, 208, &mut numbers), Some(()));
        assert_eq!(numbers[..8], [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(numbers[8..], [5; 200]);
        // Wide numbers, the last of which has fewer bytes than a word.
        let wide: Vec<u32> = (0..8).map(|n| 0x10_0001 * (n + 1)).collect();
        let packed = wide.iter().enumerate().fold([0u8; 27], |mut packed, (row, number)| {
            for bit in (0..27).filter(|bit| number >> bit & 1 == 1) {
                packed[(27 * row + bit) / 8] |= 1 << ((27 * row + bit) % 8);
            }
            packed
        });
        assert_eq!(unpack(&[&[27, 3], &packed[..]].concat(), 8, &mut numbers), Some(()));
        assert_eq!(numbers[208..], wide);
        numbers.clear();
        // A page may end amid what is packed, or in a run.
        assert_eq!(unpack(&bytes, 10, &mut numbers), Some(()));
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 5, 5]);
    }

    #[test]
    fn what_is_cut_or_has_no_sense_is_refused() {
        let bytes = [3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010, 0x90, 3, 5];
        let refused = |bytes: &[u8], rows| unpack(bytes, rows, &mut Vec::new()).is_none();
        for end in 0..bytes.len() {
            assert!(refused(&bytes[..end], 208), "{end}");
        }
        assert!(refused(&bytes, 209), "more rows than there are");
        assert!(refused(&[33, 2, 0, 0, 0, 0, 0], 1), "too many bits");
        assert!(refused(&[1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], 9));
    }
}

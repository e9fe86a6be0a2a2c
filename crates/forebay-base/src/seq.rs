//! The one place where 64-bit stream offsets meet 32-bit sequence numbers.

/// The sequence number on the wire of stream offset `offset`, for initial sequence number `isn`.
#[inline]
pub const fn narrow(offset: u64, isn: u32) -> u32 {
    (offset as u32).wrapping_add(isn)
}

/// The stream offset nearest to `near` whose sequence number is `seq`. None if it would be
/// negative.
///
/// Unique while the two are within 2^31 of each other. A connection keeps at most 2^30 bytes
/// unacknowledged, so the caller must reject offsets further away.
#[inline]
pub const fn widen(seq: u32, isn: u32, near: u64) -> Option<u64> {
    let delta = seq.wrapping_sub(narrow(near, isn)) as i32;
    near.checked_add_signed(delta as i64)
}

/// `a < b` in the circular space of sequence numbers (RFC 9293 section 3.4).
#[inline]
pub const fn seq_lt(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_across_the_wrap() {
        let isn = u32::MAX - 4; // 2^32 - 5: the first bytes wrap
        for offset in [0u64, 1, 5, 6, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 40) + 7] {
            for skew in [-(1i64 << 30), -1, 0, 1, 1 << 30] {
                let Some(near) = offset.checked_add_signed(skew) else { continue };
                assert_eq!(widen(narrow(offset, isn), isn, near), Some(offset));
            }
        }
        assert_eq!(widen(narrow(0, isn).wrapping_sub(1), isn, 0), None);
    }

    #[test]
    fn circular_comparison() {
        assert!(seq_lt(u32::MAX, 0) && !seq_lt(0, u32::MAX) && !seq_lt(7, 7));
    }
}

//! The fixed IPv6 header (RFC 8200 section 3), and the Fragment header right after it (section
//! 4.5). Other extension headers are not looked into: a packet with some is opaque.
//!
//! ```text
//!   0                   1                   2                   3
//!   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//!  +-------+-----------+---+---------------------------------------+
//!  |   6   |   DSCP    |ECN|              flow label               |   0
//!  +-------+-----------+---+-------+---------------+---------------+
//!  |         payload length        |  next header  |   hop limit   |   4
//!  +-------------------------------+---------------+---------------+
//!  |                   source address, 16 bytes                    |   8
//!  +---------------------------------------------------------------+
//!  |                destination address, 16 bytes                  |  24
//!  +---------------------------------------------------------------+
//!
//!  +---------------+---------------+-------------------------+---+-+
//!  |  next header  |       0       |    offset / 8 bytes     | 0 |M|   0
//!  +---------------+---------------+-------------------------+---+-+
//!  |                        identification                         |   4
//!  +---------------------------------------------------------------+
//! ```

use crate::error::ParseError;

/// Length of the fixed header.
pub(crate) const HEADER: usize = 40;
const FLOW_LABEL_MASK: u32 = 0x000f_ffff;
/// Length of a Fragment header.
pub(crate) const FRAGMENT_HEADER: usize = 8;
/// The next header value that announces one.
pub(crate) const FRAGMENT: u8 = 44;
const MORE_FRAGMENTS: u16 = 1;
const OFFSET_MASK: u16 = 0xfff8;

/// The fields of a Fragment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub next_header: u8,
    /// In bytes.
    pub offset: u16,
    pub more: bool,
    pub id: u32,
}

impl Fragment {
    /// The header that `bytes` begin with, and what is after it. None if they end within it, or
    /// if a bit is set that a sender must leave clear.
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Fragment, &[u8])> {
        let (&[next_header, reserved, high, low, a, b, c, d], payload) =
            bytes.split_first_chunk::<FRAGMENT_HEADER>()?;
        let place = u16::from_be_bytes([high, low]);
        if reserved != 0 || place & !(OFFSET_MASK | MORE_FRAGMENTS) != 0 {
            return None;
        }
        let (offset, more) = (place & OFFSET_MASK, place & MORE_FRAGMENTS != 0);
        Some((
            Fragment { next_header, offset, more, id: u32::from_be_bytes([a, b, c, d]) },
            payload,
        ))
    }
    /// Its bytes.
    pub(crate) fn bytes(&self) -> [u8; FRAGMENT_HEADER] {
        let place = self.offset | if self.more { MORE_FRAGMENTS } else { 0 };
        let ([high, low], [a, b, c, d]) = (place.to_be_bytes(), self.id.to_be_bytes());
        [self.next_header, 0, high, low, a, b, c, d]
    }
}

/// The fields of a header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv6 {
    /// DSCP (6 bits) and ECN field (2 bits).
    pub class: u8,
    /// 20 bits.
    pub flow_label: u32,
    pub next_header: u8,
    pub hop_limit: u8,
    pub ends: [[u8; 16]; 2],
}

impl Ipv6 {
    /// The header of `bytes`, which must be exactly one packet, and what is after it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(Ipv6, &[u8]), ParseError> {
        let (fixed, payload) = bytes.split_first_chunk::<HEADER>().ok_or(ParseError::Truncated)?;
        let payload_len = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        if payload.len() < payload_len {
            return Err(ParseError::Truncated);
        }
        // A jumbogram states 0 (RFC 2675): its bytes are more than that, and refused here.
        if payload.len() > payload_len {
            return Err(ParseError::Length);
        }
        if bytes.len() > usize::from(u16::MAX) {
            return Err(ParseError::Unsupported);
        }
        let first = u32::from_be_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
        let address = |at: usize| core::array::from_fn(|i| fixed[at + i]);
        let ip = Ipv6 {
            class: (first >> 20) as u8,
            flow_label: first & FLOW_LABEL_MASK,
            next_header: fixed[6],
            hop_limit: fixed[7],
            ends: [address(8), address(24)],
        };
        Ok((ip, payload))
    }

    /// Write the header before `payload_len` bytes.
    pub(crate) fn write(&self, payload_len: usize, out: &mut [u8; HEADER]) {
        let payload_len = u16::try_from(payload_len).expect("length fits a packet");
        let first = 6 << 28 | u32::from(self.class) << 20 | self.flow_label;
        out[..4].copy_from_slice(&first.to_be_bytes());
        out[4..6].copy_from_slice(&payload_len.to_be_bytes());
        out[6] = self.next_header;
        out[7] = self.hop_limit;
        out[8..].copy_from_slice(self.ends.as_flattened());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_stand_where_rfc_8200_draws_them() {
        let mut bytes = [0u8; HEADER + 3];
        bytes[..8].copy_from_slice(&[0x6b, 0xa1, 0x23, 0x45, 0, 3, 6, 9]);
        bytes[8] = 0xfd;
        bytes[39] = 0x77;
        let (ip, payload) = Ipv6::parse(&bytes).unwrap();
        assert_eq!((ip.class, ip.flow_label), (0xba, 0x1_2345));
        assert_eq!((ip.next_header, ip.hop_limit, payload.len()), (6, 9, 3));
        assert_eq!((ip.ends[0][0], ip.ends[1][15]), (0xfd, 0x77));
        let mut out = [0xee; HEADER];
        ip.write(3, &mut out);
        assert_eq!(out, bytes[..HEADER]);
    }

    /// RFC 8200 section 4.5: the offset is in the upper 13 bits of its half word, M in the lowest.
    #[test]
    fn a_fragment_header_by_hand() {
        let bytes = [6, 0, 0x05, 0xb9, 0xde, 0xad, 0xbe, 0xef, 7, 7];
        let (fragment, payload) = Fragment::parse(&bytes).unwrap();
        let expected = Fragment { next_header: 6, offset: 183 * 8, more: true, id: 0xdead_beef };
        assert_eq!((fragment, payload), (expected, &[7, 7][..]));
        assert_eq!(fragment.bytes(), bytes[..8]);
        for (at, bit) in [(1, 1), (3, 2), (3, 4)] {
            let mut odd = bytes;
            odd[at] |= bit;
            assert_eq!(Fragment::parse(&odd), None, "byte {at}");
        }
        assert_eq!(Fragment::parse(&bytes[..7]), None);
    }

    #[test]
    fn each_refusal_has_its_reason() {
        let mut bytes = [0u8; HEADER + 3];
        bytes[0] = 0x60;
        let refused = |bytes: &[u8]| Ipv6::parse(bytes).map(|_| ()).unwrap_err();
        assert_eq!(refused(&bytes), ParseError::Length);
        bytes[5] = 4;
        assert_eq!(refused(&bytes), ParseError::Truncated);
        assert_eq!(refused(&bytes[..39]), ParseError::Truncated);
        let mut long = alloc::vec![0u8; HEADER + 65_535];
        long[..6].copy_from_slice(&[0x60, 0, 0, 0, 0xff, 0xff]);
        assert_eq!(refused(&long), ParseError::Unsupported);
    }
}

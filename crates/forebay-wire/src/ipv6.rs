//! The fixed IPv6 header (RFC 8200 section 3). Extension headers are not looked into: a packet with
//! some is opaque.
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
//! ```

use crate::error::ParseError;

/// Length of the fixed header.
pub(crate) const HEADER: usize = 40;
const FLOW_LABEL_MASK: u32 = 0x000f_ffff;

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
    /// The header of `bytes`, which must be exactly one packet, and what is behind it.
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

//! The IPv4 header (RFC 791 section 3.1).
//!
//! ```text
//!   0                   1                   2                   3
//!   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//!  +-------+-------+-----------+---+-------------------------------+
//!  |   4   |  IHL  |   DSCP    |ECN|          total length         |   0
//!  +-------+-------+-----------+---+-+-+-+-------------------------+
//!  |         identification        |0|D|M|  offset / 8 bytes       |   4
//!  +---------------+---------------+-+-+-+-------------------------+
//!  |      TTL      |   protocol    |        header checksum        |   8
//!  +---------------+---------------+-------------------------------+
//!  |                         source address                        |  12
//!  +---------------------------------------------------------------+
//!  |                      destination address                      |  16
//!  +---------------------------------------------------------------+
//!  |   options, zero padding to a multiple of 4 (0 to 40 bytes)    |  20
//!  +---------------------------------------------------------------+
//! ```

use crate::checksum::checksum;
use crate::error::ParseError;

/// Without options, in bytes.
pub(crate) const MIN_HEADER: usize = 20;
/// With 40 bytes of options.
pub(crate) const MAX_HEADER: usize = 60;
/// Where the checksum stands.
pub(crate) const CHECKSUM: usize = 10;

const RESERVED_FLAG: u16 = 0x8000;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET_MASK: u16 = 0x1fff;

/// The fields of a header, and what is after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv4<'a> {
    /// DSCP (6 bits) and ECN field (2 bits).
    pub tos: u8,
    pub id: u16,
    /// The flag that must be zero.
    pub reserved_flag: bool,
    pub dont_fragment: bool,
    pub more: bool,
    /// In bytes.
    pub offset: u16,
    pub ttl: u8,
    pub protocol: u8,
    pub ends: [[u8; 4]; 2],
    /// Padded to a multiple of 4 when parsed; padded by `write` when written.
    pub options: &'a [u8],
}

impl<'a> Ipv4<'a> {
    /// The header of `bytes`, which must be exactly one packet, and what is after it.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<(Ipv4<'a>, &'a [u8]), ParseError> {
        let fixed: &[u8; MIN_HEADER] = bytes.first_chunk().ok_or(ParseError::Truncated)?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let header_len = usize::from(fixed[0] & 0x0f) * 4;
        let total_len = usize::from(word(2));
        if header_len < MIN_HEADER || total_len < header_len || bytes.len() > total_len {
            return Err(ParseError::Length);
        }
        if bytes.len() < total_len {
            return Err(ParseError::Truncated);
        }
        let (header, payload) = bytes.split_at(header_len);
        // A field of 0xffff would verify where 0x0000 is right; only what `write` gives back is
        // accepted.
        if checksum(header) != 0 || word(CHECKSUM) == 0xffff {
            return Err(ParseError::Checksum);
        }
        let flags = word(6);
        let ip = Ipv4 {
            tos: fixed[1],
            id: word(4),
            reserved_flag: flags & RESERVED_FLAG != 0,
            dont_fragment: flags & DONT_FRAGMENT != 0,
            more: flags & MORE_FRAGMENTS != 0,
            offset: (flags & OFFSET_MASK) * 8,
            ttl: fixed[8],
            protocol: fixed[9],
            ends: [
                [fixed[12], fixed[13], fixed[14], fixed[15]],
                [fixed[16], fixed[17], fixed[18], fixed[19]],
            ],
            options: &header[MIN_HEADER..],
        };
        Ok((ip, payload))
    }

    /// Write the header, checksum included, before `payload_len` bytes. Returns its length.
    pub(crate) fn write(&self, payload_len: usize, out: &mut [u8; MAX_HEADER]) -> usize {
        let header_len = MIN_HEADER + self.options.len().next_multiple_of(4);
        let total_len = u16::try_from(header_len + payload_len).expect("length fits a packet");
        let flags = [
            (self.reserved_flag, RESERVED_FLAG),
            (self.dont_fragment, DONT_FRAGMENT),
            (self.more, MORE_FRAGMENTS),
        ];
        let flags: u16 = flags.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum();
        out[0] = 0x40 | (header_len / 4) as u8;
        out[1] = self.tos;
        out[2..4].copy_from_slice(&total_len.to_be_bytes());
        out[4..6].copy_from_slice(&self.id.to_be_bytes());
        out[6..8].copy_from_slice(&(flags | (self.offset / 8)).to_be_bytes());
        out[8] = self.ttl;
        out[9] = self.protocol;
        out[CHECKSUM..12].fill(0);
        out[12..20].copy_from_slice(self.ends.as_flattened());
        out[20..20 + self.options.len()].copy_from_slice(self.options);
        out[20 + self.options.len()..header_len].fill(0);
        let sum = checksum(&out[..header_len]);
        out[CHECKSUM..12].copy_from_slice(&sum.to_be_bytes());
        header_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header whose checksum is widely published as a worked example: b861.
    const EXAMPLE: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];

    #[test]
    fn the_fields_stand_where_rfc_791_draws_them() {
        let mut bytes = [0u8; 115];
        bytes[..20].copy_from_slice(&EXAMPLE);
        let (ip, payload) = Ipv4::parse(&bytes).unwrap();
        assert_eq!((ip.tos, ip.id, ip.ttl, ip.protocol), (0, 0, 64, 17));
        assert!(ip.dont_fragment && !ip.more && !ip.reserved_flag && ip.offset == 0);
        assert_eq!(ip.ends, [[192, 168, 0, 1], [192, 168, 0, 199]]);
        assert_eq!(payload.len(), 95);
        let mut out = [0xee; MAX_HEADER];
        assert_eq!(ip.write(95, &mut out), 20);
        assert_eq!(out[..20], EXAMPLE);
    }

    #[test]
    fn each_refusal_has_its_reason() {
        let mut bytes = [0u8; 115];
        bytes[..20].copy_from_slice(&EXAMPLE);
        let refused = |bytes: &[u8]| Ipv4::parse(bytes).map(|_| ()).unwrap_err();
        assert_eq!(refused(&bytes[..19]), ParseError::Truncated);
        assert_eq!(refused(&bytes[..114]), ParseError::Truncated);
        assert_eq!(refused(&[&bytes[..], &[0]].concat()), ParseError::Length);
        bytes[8] = 63;
        assert_eq!(refused(&bytes), ParseError::Checksum);
        bytes[0] = 0x44;
        assert_eq!(refused(&bytes), ParseError::Length);
    }

    #[test]
    fn of_the_two_zeros_of_ones_complement_only_the_written_one_is_accepted() {
        let mut bytes = [&EXAMPLE[..], &[0; 95]].concat();
        let ip = Ipv4::parse(&bytes).unwrap().0;
        // An ID that brings the sum to 0xffff: the old checksum itself.
        let mut out = [0; MAX_HEADER];
        Ipv4 { id: 0xb861, ..ip }.write(95, &mut out);
        bytes[..20].copy_from_slice(&out[..20]);
        assert_eq!(out[CHECKSUM..12], [0, 0]);
        assert!(Ipv4::parse(&bytes).is_ok());
        bytes[CHECKSUM..12].fill(0xff);
        assert_eq!(Ipv4::parse(&bytes).unwrap_err(), ParseError::Checksum);
    }
}

//! Changing what a router may change in bytes that it does not otherwise touch.

use crate::checksum::update;
use crate::error::ParseError;
use crate::{ipv4, ipv6};
use forebay_base::Ecn;

/// Write the time to live (hop limit) and the ECN field of the IP packet in `bytes`. The IPv4
/// header checksum is updated for the two 16-bit words that change (RFC 1624), so that one which
/// was wrong before stays wrong for the host that checks it. Errors, and changes nothing, if
/// `bytes` do not begin with an IP header.
///
/// ```text
/// IPv4   word at 0:  4 | IHL | DSCP | ECN      word at 8:  TTL | protocol
/// IPv6   word at 0:  6 | DSCP | ECN | label    word at 6:  next header | hop limit
/// ```
pub fn patch(bytes: &mut [u8], ttl: u8, ecn: Ecn) -> Result<(), ParseError> {
    match bytes.first().map(|first| first >> 4) {
        None => Err(ParseError::Truncated),
        Some(4) => {
            let header: &mut [u8; ipv4::MIN_HEADER] =
                bytes.first_chunk_mut().ok_or(ParseError::Truncated)?;
            let tos = header[1] & !3 | ecn as u8;
            set_byte(header, 1, tos);
            set_byte(header, 8, ttl);
            Ok(())
        }
        Some(6) => {
            let header: &mut [u8; ipv6::HEADER] =
                bytes.first_chunk_mut().ok_or(ParseError::Truncated)?;
            header[1] = header[1] & !0x30 | (ecn as u8) << 4;
            header[7] = ttl;
            Ok(())
        }
        Some(_) => Err(ParseError::Version),
    }
}

/// Change one byte of an IPv4 header, and its checksum where the byte differs.
fn set_byte(header: &mut [u8; ipv4::MIN_HEADER], at: usize, value: u8) {
    if header[at] == value {
        return;
    }
    let word_at = at & !1;
    let word = |header: &[u8], at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let old = word(header, word_at);
    header[at] = value;
    let checksum = update(word(header, ipv4::CHECKSUM), old, word(header, word_at));
    header[ipv4::CHECKSUM..ipv4::CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipv4::Ipv4;
    use crate::ipv6::Ipv6;
    use forebay_base::{Rng, Stream};

    #[test]
    fn a_patched_header_is_the_header_written_afresh() {
        let mut rng = Rng::new(1, Stream::Test, 0);
        for _ in 0..100_000 {
            let bits = rng.next_u64();
            let mut ip = Ipv4 {
                tos: bits as u8,
                id: (bits >> 8) as u16,
                reserved_flag: false,
                dont_fragment: bits >> 24 & 1 == 1,
                more: bits >> 25 & 1 == 1,
                offset: 0,
                ttl: (bits >> 32) as u8,
                protocol: (bits >> 40) as u8,
                ends: [[10, 0, 0, (bits >> 48) as u8], [10, 0, 0, (bits >> 56) as u8]],
                options: &[],
            };
            let (ttl, ecn) = (rng.next_u64() as u8, Ecn::from_bits(rng.next_u64() as u8));
            let mut patched = [0; ipv4::MAX_HEADER];
            ip.write(0, &mut patched);
            patch(&mut patched, ttl, ecn).unwrap();
            (ip.ttl, ip.tos) = (ttl, ip.tos & !3 | ecn as u8);
            let mut written = [0; ipv4::MAX_HEADER];
            ip.write(0, &mut written);
            assert_eq!(patched, written);
        }
    }

    #[test]
    fn an_ipv6_header_changes_in_two_fields_only() {
        let mut ip = Ipv6 {
            class: 0xab,
            flow_label: 0xf_ffff,
            next_header: 6,
            hop_limit: 9,
            ends: [[7; 16]; 2],
        };
        let (mut patched, mut written) = ([0; ipv6::HEADER], [0; ipv6::HEADER]);
        ip.write(0, &mut patched);
        patch(&mut patched, 8, Ecn::Ect1).unwrap();
        (ip.class, ip.hop_limit) = (0xa9, 8);
        ip.write(0, &mut written);
        assert_eq!(patched, written);
    }

    #[test]
    fn what_is_no_ip_header_is_left_alone() {
        let mut short = [0x45; 19];
        assert_eq!(patch(&mut short, 1, Ecn::Ce), Err(ParseError::Truncated));
        assert_eq!(patch(&mut [0x50; 40], 1, Ecn::Ce), Err(ParseError::Version));
        assert_eq!(patch(&mut [], 1, Ecn::Ce), Err(ParseError::Truncated));
        assert_eq!(short, [0x45; 19]);
    }
}

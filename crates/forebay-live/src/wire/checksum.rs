//! Checksums that the kernel has left to a device: the field holds the sum of the pseudo header.

use forebay_wire::checksum::checksum;
use std::ops::Range;

const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6_HEADER_BYTES: usize = 40;
/// Extension headers of IPv6 (RFC 8200 section 4) that are skipped: hop-by-hop options, routing,
/// destination options. All have a length in units of 8 bytes.
const SKIPPED: [u8; 3] = [0, 43, 60];
/// More of them than this in a row are no packet of a kernel.
const MAX_SKIPPED: usize = 8;

/// Complete the checksum of an IP packet. False if it is not whole TCP or UDP: nothing is changed.
pub(super) fn complete(packet: &mut [u8]) -> bool {
    let Some((protocol, start)) = upper_layer(packet) else { return false };
    let at = start + if protocol == TCP { 16 } else { 6 };
    let field: Range<usize> = at..at + 2;
    if packet.len() < field.end {
        return false;
    }
    let mut sum = checksum(&packet[start..]);
    if protocol == UDP && sum == 0 {
        sum = 0xffff; // RFC 768: zero stands for no checksum.
    }
    packet[field].copy_from_slice(&sum.to_be_bytes());
    true
}

/// The protocol of what an IP packet carries, and where it starts; None for fragments, and for
/// protocols without this kind of checksum.
fn upper_layer(packet: &[u8]) -> Option<(u8, usize)> {
    let (mut protocol, mut start) = match packet.first()? >> 4 {
        4 => {
            let fragment = u16::from_be_bytes(*packet.get(6..8)?.first_chunk()?) & 0x3fff;
            let header = usize::from(packet[0] & 15) * 4;
            (fragment == 0).then_some((*packet.get(9)?, header))?
        }
        6 => (*packet.get(6)?, IPV6_HEADER_BYTES),
        _ => return None,
    };
    for _ in 0..MAX_SKIPPED {
        if packet[0] >> 4 == 4 || !SKIPPED.contains(&protocol) {
            break;
        }
        let header = packet.get(start..start + 2)?;
        (protocol, start) = (header[0], start + (usize::from(header[1]) + 1) * 8);
    }
    let known = matches!(protocol, TCP | UDP) && start <= packet.len();
    known.then_some((protocol, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with a checksum as the kernel leaves it, and the same as it must be. The sum of
    /// the pseudo header and the checksum are computed here word by word (RFC 1071).
    fn pair(mut packet: Vec<u8>, start: usize, protocol: u8) -> (Vec<u8>, Vec<u8>) {
        let words = |bytes: &[u8]| -> u64 {
            let pair =
                |pair: &[u8]| u64::from(pair[0]) * 256 + u64::from(*pair.get(1).unwrap_or(&0));
            bytes.chunks(2).map(pair).sum()
        };
        let fold = |sum: u64| (1..4).fold(sum, |sum, _| (sum & 0xffff) + (sum >> 16)) as u16;
        let addresses = if packet[0] >> 4 == 4 { 12..20 } else { 8..40 };
        let len = packet.len() - start;
        let pseudo = words(&packet[addresses]) + u64::from(protocol) + len as u64;
        let at = start + if protocol == TCP { 16 } else { 6 };
        let mut done = packet.clone();
        done[at..at + 2].copy_from_slice(&(!fold(pseudo + words(&packet[start..]))).to_be_bytes());
        packet[at..at + 2].copy_from_slice(&fold(pseudo).to_be_bytes());
        (packet, done)
    }
    fn v4(protocol: u8, upper: usize) -> Vec<u8> {
        let mut packet: Vec<u8> = (0..20 + upper).map(|i| (i * 37) as u8).collect();
        (packet[0], packet[6], packet[7], packet[9]) = (0x45, 0x40, 0, protocol);
        let field = 20 + if protocol == TCP { 16 } else { 6 };
        packet[field..field + 2].fill(0);
        packet
    }

    #[test]
    fn what_the_kernel_left_is_completed() {
        for (protocol, upper) in [(TCP, 20), (TCP, 33), (UDP, 8), (UDP, 1001)] {
            let (mut packet, done) = pair(v4(protocol, upper), 20, protocol);
            assert!(complete(&mut packet));
            assert_eq!(packet, done, "{protocol} {upper}");
        }
        let mut v6: Vec<u8> = (0..88).map(|i| (i * 53) as u8).collect();
        (v6[0], v6[6], v6[40], v6[41]) = (0x60, 60, TCP, 0);
        v6[64..66].fill(0);
        let (mut packet, done) = pair(v6, 48, TCP);
        assert!(complete(&mut packet));
        assert_eq!(packet, done);
    }

    #[test]
    fn what_is_not_known_stays_as_it_is() {
        let mut fragment = v4(UDP, 8);
        fragment[7] = 1;
        let mut options_beyond = v4(TCP, 20);
        options_beyond[0] = 0x4f;
        let icmp = v4(1, 8);
        for packet in
            [fragment, options_beyond, icmp, v4(TCP, 20)[..37].to_vec(), vec![], vec![0x60]]
        {
            let mut after = packet.clone();
            assert!(!complete(&mut after));
            assert_eq!(after, packet);
        }
        let mut endless = vec![0u8; 200];
        endless[0] = 0x60;
        assert!(!complete(&mut endless));
    }
}

//! ICMP (RFC 792) and ICMPv6 (RFC 4443).
//!
//! ```text
//!   0                   1                   2                   3
//!   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//!  +---------------+---------------+-------------------------------+
//!  |     type      |     code      |           checksum            |   0
//!  +---------------+---------------+-------------------------------+
//!  |  0, MTU (RFC 1191: the second half; RFC 4443: all of it)      |   4
//!  +---------------------------------------------------------------+
//!  |  as much of the packet as fits into 576 (IPv6: 1280) bytes    |   8
//!  +---------------------------------------------------------------+
//! ```

use super::Trouble;
use crate::checksum::{Sum, checksum};
use crate::ipv4::{self, Ipv4};
use crate::ipv6::{self, Ipv6};
use alloc::vec::Vec;

/// The protocol numbers.
pub(super) const V4: u8 = 1;
pub(super) const V6: u8 = 58;

/// Header of a message.
const HEADER: usize = 8;
/// No error is longer, its IP header included: RFC 1812 section 4.3.2.3, RFC 4443 section 3.
const MAX_ERROR_V4: usize = 576;
const MAX_ERROR_V6: usize = 1280;
/// RFC 1812 section 4.3.2.5: precedence 6, internetwork control.
const CONTROL_CLASS: u8 = 0xc0;
/// RFC 1122 section 3.2.1.7.
const TTL: u8 = 64;

const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;
const ECHO_REQUEST_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;

/// Errors, and redirects and quenches, which are not answered either. A message without a type
/// counts as one.
pub(super) fn is_v4_error(message: &[u8]) -> bool {
    message.first().is_none_or(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12))
}
/// Types below 128; a redirect is one of RFC 4861.
pub(super) fn is_v6_error(message: &[u8]) -> bool {
    const REDIRECT: u8 = 137;
    message.first().is_none_or(|&kind| kind < 128 || kind == REDIRECT)
}

/// About `packet`, from the first to the second of `ends`.
pub(super) fn error_v4(trouble: Trouble, ends: [[u8; 4]; 2], packet: &[u8]) -> Vec<u8> {
    let (kind, code, mtu) = match trouble {
        Trouble::TimeExceeded => (11, 0, 0),
        Trouble::NoRoute => (3, 0, 0),
        Trouble::NoProtocol => (3, 2, 0),
        Trouble::NoPort => (3, 3, 0),
        Trouble::TooBig { mtu_bytes } => (3, 4, u32::from(mtu_bytes)),
    };
    let room = MAX_ERROR_V4 - ipv4::MIN_HEADER - HEADER;
    let mut message = message(kind, code, mtu, &packet[..packet.len().min(room)]);
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    in_v4(CONTROL_CLASS, ends, &message)
}
/// The same over IPv6.
pub(super) fn error_v6(trouble: Trouble, ends: [[u8; 16]; 2], packet: &[u8]) -> Vec<u8> {
    /// Where the next header field is.
    const NEXT_HEADER_AT: u32 = 6;
    let (kind, code, number) = match trouble {
        Trouble::TimeExceeded => (3, 0, 0),
        Trouble::NoRoute => (1, 0, 0),
        Trouble::NoProtocol => (4, 1, NEXT_HEADER_AT),
        Trouble::NoPort => (1, 4, 0),
        Trouble::TooBig { mtu_bytes } => (2, 0, u32::from(mtu_bytes)),
    };
    let room = MAX_ERROR_V6 - ipv6::HEADER - HEADER;
    let message = message(kind, code, number, &packet[..packet.len().min(room)]);
    in_v6(0, ends, message)
}

/// The reply to a request, if `message` is one with a right checksum. Options of its IP header are
/// not returned.
pub(super) fn echo_v4(ip: &Ipv4<'_>, message: &[u8]) -> Option<Vec<u8>> {
    let is_request = message.len() >= HEADER && message[..2] == [ECHO_REQUEST, 0];
    if !is_request || checksum(message) != 0 {
        return None;
    }
    let mut reply = message.to_vec();
    reply[..4].copy_from_slice(&[ECHO_REPLY, 0, 0, 0]);
    let sum = checksum(&reply);
    reply[2..4].copy_from_slice(&sum.to_be_bytes());
    Some(in_v4(ip.tos & !3, [ip.ends[1], ip.ends[0]], &reply))
}
/// The same over IPv6.
pub(super) fn echo_v6(ip: &Ipv6, message: &[u8]) -> Option<Vec<u8>> {
    let is_request = message.len() >= HEADER && message[..2] == [ECHO_REQUEST_V6, 0];
    if !is_request || checksum_v6(&ip.ends, message) != 0 {
        return None;
    }
    let mut reply = message.to_vec();
    reply[..4].copy_from_slice(&[ECHO_REPLY_V6, 0, 0, 0]);
    Some(in_v6(ip.class & !3, [ip.ends[1], ip.ends[0]], reply))
}

fn message(kind: u8, code: u8, number: u32, quoted: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + quoted.len());
    message.extend_from_slice(&[kind, code, 0, 0]);
    message.extend_from_slice(&number.to_be_bytes());
    message.extend_from_slice(quoted);
    message
}

fn in_v4(tos: u8, ends: [[u8; 4]; 2], message: &[u8]) -> Vec<u8> {
    let ip = Ipv4 {
        tos,
        id: 0,
        reserved_flag: false,
        // RFC 6864: without DF it would need an identification.
        dont_fragment: true,
        more: false,
        offset: 0,
        ttl: TTL,
        protocol: V4,
        ends,
        options: &[],
    };
    let mut header = [0; ipv4::MAX_HEADER];
    let header_len = ip.write(message.len(), &mut header);
    [&header[..header_len], message].concat()
}

fn in_v6(class: u8, ends: [[u8; 16]; 2], mut message: Vec<u8>) -> Vec<u8> {
    let sum = checksum_v6(&ends, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let ip = Ipv6 { class, flow_label: 0, next_header: V6, hop_limit: TTL, ends };
    let mut header = [0; ipv6::HEADER];
    ip.write(message.len(), &mut header);
    [&header[..], &message].concat()
}

/// With the pseudo header of RFC 8200 section 8.1.
fn checksum_v6(ends: &[[u8; 16]; 2], message: &[u8]) -> u16 {
    let mut sum = Sum::default();
    sum.bytes(ends.as_flattened());
    sum.word(message.len() as u32);
    sum.word(V6.into());
    sum.bytes(message);
    sum.checksum()
}

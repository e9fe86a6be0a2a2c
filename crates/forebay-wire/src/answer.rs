//! What hosts and routers answer to packets that they cannot pass on or take: ICMP messages and
//! resets. From bytes to bytes, without state: limits are their caller's.
//!
//! Some packets are never answered (RFC 1122 section 3.2.2, RFC 1812 section 4.3.2.7, RFC 4443
//! section 2.4): ICMP errors, fragments but the first, and those to or from addresses that are not
//! of one host.

mod icmp;
mod reset;

pub use reset::reset;

use crate::ipv4::Ipv4;
use crate::ipv6::{self, Fragment, Ipv6};
use crate::plan::AddressPlan;
use alloc::vec::Vec;
use forebay_base::Addr;

/// Why a packet cannot be passed on or taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Its time to live ran out at a router.
    TimeExceeded,
    /// A router has no route to its destination.
    NoRoute,
    /// It does not fit on the next link, and may not be cut.
    TooBig {
        /// The MTU of that link.
        mtu_bytes: u16,
    },
    /// Its host does not know the protocol.
    NoProtocol,
    /// No socket of its host has the port.
    NoPort,
}

/// The ICMP error about the packet in `bytes`, to its source. `router`: the address of who sends
/// it; None: the host that the packet is for. None if such a packet is not answered, or is none.
pub fn icmp_error(
    trouble: Trouble,
    bytes: &[u8],
    router: Option<Addr>,
    plan: &AddressPlan,
) -> Option<Vec<u8>> {
    match Invoking::read(bytes)? {
        Invoking::V4 { ip, is_first, payload } => {
            let is_error = ip.protocol == icmp::V4 && icmp::is_v4_error(payload);
            let is_answered = is_first && !is_error && ip.ends.iter().all(is_one_host_v4);
            let from = router.map_or(Some(ip.ends[1]), |router| plan.to_v4(router).ok())?;
            is_answered.then(|| icmp::error_v4(trouble, [from, ip.ends[0]], bytes))
        }
        Invoking::V6 { ip, protocol, is_first, payload } => {
            let is_error = protocol == icmp::V6 && icmp::is_v6_error(payload);
            let is_answered = is_first && !is_error && ip.ends.iter().all(is_one_host_v6);
            let from = router.map_or(ip.ends[1], |router| plan.to_v6(router));
            is_answered.then(|| icmp::error_v6(trouble, [from, ip.ends[0]], bytes))
        }
    }
}

/// The answer to the echo request in `bytes`, with its data. None if it is none, or a fragment, or
/// its checksum is wrong.
pub fn echo_reply(bytes: &[u8]) -> Option<Vec<u8>> {
    match Invoking::read(bytes)? {
        Invoking::V4 { ip, is_first, payload } => {
            let is_whole = is_first && !ip.more && ip.ends.iter().all(is_one_host_v4);
            (is_whole && ip.protocol == icmp::V4).then(|| icmp::echo_v4(&ip, payload))?
        }
        Invoking::V6 { ip, protocol, is_first, payload } => {
            let is_whole = is_first && ip.next_header == icmp::V6;
            let is_whole = is_whole && ip.ends.iter().all(is_one_host_v6);
            (is_whole && protocol == icmp::V6).then(|| icmp::echo_v6(&ip, payload))?
        }
    }
}

/// The IP protocol of the packet in `bytes`, behind the Fragment header if it has one, if that
/// packet has a right IP header.
pub fn protocol_of(bytes: &[u8]) -> Option<u8> {
    Some(match Invoking::read(bytes)? {
        Invoking::V4 { ip, .. } => ip.protocol,
        Invoking::V6 { protocol, .. } => protocol,
    })
}

/// A packet that is to be answered.
enum Invoking<'a> {
    V4 { ip: Ipv4<'a>, is_first: bool, payload: &'a [u8] },
    V6 { ip: Ipv6, protocol: u8, is_first: bool, payload: &'a [u8] },
}

impl<'a> Invoking<'a> {
    fn read(bytes: &'a [u8]) -> Option<Invoking<'a>> {
        match bytes.first()? >> 4 {
            4 => {
                let (ip, payload) = Ipv4::parse(bytes).ok()?;
                Some(Invoking::V4 { ip, is_first: ip.offset == 0, payload })
            }
            6 => {
                let (ip, payload) = Ipv6::parse(bytes).ok()?;
                let whole = (ip.next_header, true, payload);
                let fragment = (ip.next_header == ipv6::FRAGMENT).then(|| Fragment::parse(payload));
                let (protocol, is_first, payload) = fragment
                    .flatten()
                    .map_or(whole, |(f, rest)| (f.next_header, f.offset == 0, rest));
                Some(Invoking::V6 { ip, protocol, is_first, payload })
            }
            _ => None,
        }
    }
}

/// Neither unspecified, nor multicast, nor broadcast, nor of a host itself (RFC 1122 section
/// 3.2.1.3).
fn is_one_host_v4(address: &[u8; 4]) -> bool {
    !matches!(address[0], 0 | 127 | 224..)
}

/// Neither unspecified, nor multicast, nor of a host itself (RFC 4291 section 2.5).
fn is_one_host_v6(address: &[u8; 16]) -> bool {
    let (last, before) = (address[15], &address[..15]);
    address[0] != 0xff && !(before.iter().all(|&byte| byte == 0) && last <= 1)
}

#[cfg(test)]
mod tests;

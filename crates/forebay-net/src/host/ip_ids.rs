//! Identifications of the packets that a host sends and that routers may cut.

use crate::workload::Workload;
use alloc::collections::BTreeMap;
use forebay_base::{Addr, Arena, IpVersion, Packet};

/// One counter for each destination of a host, whichever socket sends there: all fragments of a
/// datagram, and no others, show its source, destination, protocol and identification (RFC 6864
/// section 4.3). Hosts send nothing but TCP, so the protocol is not part of the key.
///
/// 65 536 identifications are used in turn, 2^32 with IPv6 (RFC 8200 section 4.5). A host that
/// sends more than that many packets to one destination within the time that a receiver waits for
/// fragments (30 s) uses one twice, as real ones do (RFC 4963).
#[derive(Default)]
pub(super) struct IpIds {
    next: BTreeMap<Addr, u32>,
}

impl IpIds {
    /// Give `packet` of the host at `host` the next one. Only where DF is clear: an atomic datagram
    /// may have any (RFC 6864 section 4.1), and has 0. With IPv6: where there is a Fragment header
    /// that has none.
    #[cold]
    #[inline(never)]
    pub(crate) fn give(
        &mut self,
        host: Addr,
        packet: &mut Packet,
        workload: &Workload,
        arena: &mut Arena,
    ) {
        let (dst, version) = (packet.dst(), packet.version());
        let cold = packet.cold_mut(arena);
        let last = match version {
            IpVersion::V4 => u32::from(u16::MAX),
            IpVersion::V6 if cold.ip_id != 0 => return,
            IpVersion::V6 => u32::MAX,
        };
        let first = || workload.first_ip_id(host, dst) >> last.leading_zeros();
        let next = self.next.entry(dst).or_insert_with(first);
        cold.ip_id = *next;
        *next = next.wrapping_add(1) & last;
    }
}

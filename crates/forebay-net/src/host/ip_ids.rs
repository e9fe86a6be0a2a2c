//! Identifications of the packets that a host sends and that routers may cut.

use crate::workload::Workload;
use alloc::collections::BTreeMap;
use forebay_base::{Addr, Arena, Packet};

/// One counter for each destination of a host, whichever socket sends there: all pieces of a
/// datagram, and no others, show its source, destination, protocol and identification (RFC 6864
/// section 4.3). Hosts send nothing but TCP, so the protocol is no part of the key.
///
/// 65 536 identifications are used in turn. A host that sends more than that many packets to one
/// destination within the time that a receiver waits for pieces (30 s) uses one twice, as real
/// ones do (RFC 4963).
#[derive(Default)]
pub(super) struct IpIds {
    next: BTreeMap<Addr, u16>,
}

impl IpIds {
    /// Give `packet` of the host at `host` the next one. Only where DF is clear: an atomic datagram
    /// may have any (RFC 6864 section 4.1), and has 0.
    #[cold]
    #[inline(never)]
    pub(crate) fn give(
        &mut self,
        host: Addr,
        packet: &mut Packet,
        workload: &Workload,
        arena: &mut Arena,
    ) {
        let dst = packet.dst();
        let next = self.next.entry(dst).or_insert_with(|| workload.first_ip_id(host, dst));
        packet.cold_mut(arena).ip_id = *next;
        *next = next.wrapping_add(1);
    }
}

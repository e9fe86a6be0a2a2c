//! Which packets are cut, and where.
//!
//! IPv6 has no DF, and its routers may not cut (RFC 8200 section 5). The paper's section V has them
//! do it all the same, with Fragment headers, "as in IPv4". What such a port may touch is a choice
//! of its own, [`Ipv6`]. Otherwise the rules are those of IPv4: a packet is eligible if it is
//! whole and long enough, or leads a datagram; a code counts what follows the Fragment header,
//! in the units of 8 bytes that its offset has. So a packet of 1500 bytes, of which 1452 are
//! payload, can carry codes up to 181 (1448 bytes, 8.1 Gbit/s), and one of 1280, the least MTU of
//! IPv6, up to 153 (1224 bytes, 1.4 Gbit/s). A cut costs 48 bytes, 56 where the router puts the
//! Fragment header in. The first fragment of 24 bytes holds the 20 bytes of a TCP header that hosts
//! insist on (Linux does; RFC 7112 may be read as asking for its options, too).

use forebay_base::{
    Arena, FRAGMENT_HEADER_BYTES, IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, IpVersion, Kind,
    PIECE_UNIT_BYTES, Packet, mix64, place_of,
};
use forebay_signal::kickass::{Code, Indicator};
use serde::{Deserialize, Serialize};

/// Which packets of IPv6 a port cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Ipv6 {
    /// None: RFC 8200.
    Pass,
    /// Those that carry a Fragment header: senders of Kick-Ass put one into what may be cut, as
    /// they clear DF in IPv4.
    Header,
    /// Those and all others that are long enough, after a Fragment header was put in: the paper's
    /// variant. Senders cannot refuse.
    Insert,
}

/// A packet that may be cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuttable {
    /// What follows the IP header and its options.
    payload_bytes: u16,
    /// It is a first fragment.
    leads: bool,
    /// What a cut adds to the bytes of IP.
    pub(super) cut_bytes: u16,
}

/// The shortest packet of IPv6 that is cut: shorter ones may indicate a round-trip time, and carry
/// a Fragment header for the tag.
const MIN_V6_BYTES: u16 = Indicator::LAST.wire_len() + 1;

/// None: `packet` passes as it is, whatever the code. `least_bytes` is the shortest whole packet
/// that is cut.
#[inline]
pub(super) fn cuttable(
    packet: &Packet,
    least_bytes: u16,
    ipv6: Ipv6,
    arena: &Arena,
) -> Option<Cuttable> {
    match packet.version() {
        IpVersion::V6 => cuttable_v6(packet, least_bytes, ipv6, arena),
        IpVersion::V4 if packet.dont_fragment() => None,
        IpVersion::V4 => cuttable_v4(packet, least_bytes, arena),
    }
}

fn cuttable_v4(packet: &Packet, least_bytes: u16, arena: &Arena) -> Option<Cuttable> {
    let leads = match packet.kind() {
        Kind::Tcp => false,
        Kind::Fragment | Kind::Opaque => {
            let place = place_of(packet, arena);
            if place.offset > 0 {
                return None;
            }
            place.more
        }
    };
    if !leads && packet.wire_len() < least_bytes {
        return None;
    }
    let payload_bytes = packet.wire_len() - packet.ip_header_len(arena);
    Some(Cuttable { payload_bytes, leads, cut_bytes: IPV4_HEADER_BYTES })
}

#[inline(never)]
fn cuttable_v6(packet: &Packet, least_bytes: u16, ipv6: Ipv6, arena: &Arena) -> Option<Cuttable> {
    const PIECE_BYTES: u16 = IPV6_HEADER_BYTES + FRAGMENT_HEADER_BYTES;
    let inserts = packet.dont_fragment();
    if ipv6 == Ipv6::Pass || inserts && ipv6 == Ipv6::Header {
        return None;
    }
    let leads = match packet.kind() {
        Kind::Tcp => false,
        Kind::Opaque => return None,
        Kind::Fragment => {
            let place = place_of(packet, arena);
            if place.offset > 0 {
                return None;
            }
            place.more
        }
    };
    if !leads && packet.wire_len() < least_bytes.max(MIN_V6_BYTES) {
        return None;
    }
    // The size of a first fragment, which is no longer than the packet was: links have an MTU.
    let payload_bytes = packet.wire_len() - PIECE_BYTES;
    let cut_bytes = PIECE_BYTES + if inserts { FRAGMENT_HEADER_BYTES } else { 0 };
    Some(Cuttable { payload_bytes, leads, cut_bytes })
}

impl Cuttable {
    /// Payload of the first fragment if it is to carry `code`; None: it passes as it is.
    #[inline]
    pub(super) fn lead_bytes(self, code: Code) -> Option<u16> {
        let Cuttable { payload_bytes, leads, .. } = self;
        if leads {
            return (payload_bytes > code.lead_bytes()).then_some(code.lead_bytes());
        }
        // It must not arrive whole: that carries no code.
        let most_bytes = payload_bytes.saturating_sub(1) & !(PIECE_UNIT_BYTES - 1);
        let lead_bytes = code.lead_bytes().min(most_bytes);
        (lead_bytes >= Code::MIN.lead_bytes()).then_some(lead_bytes)
    }
}

/// The IP ID of a packet; 0 for what is of IPv6 and has none, or is not looked into.
pub(super) fn ip_id(packet: &Packet, arena: &Arena) -> u32 {
    let Some(cold) = packet.cold_part(arena) else { return 0 };
    match (packet.kind(), cold.body.as_deref()) {
        (Kind::Opaque, Some(&[first, _, _, _, high, low, ..])) if first >> 4 == 4 => {
            u16::from_be_bytes([high, low]).into()
        }
        _ => cold.ip_id,
    }
}

/// Uniform within [0, 1), and the same in every router that a datagram passes: of what all its
/// fragments share.
pub(super) fn shared_draw(packet: &Packet, arena: &Arena) -> f64 {
    let addresses = (packet.src().0 as u64) << 32 | packet.dst().0 as u64;
    let id = ip_id(packet, arena) as u64;
    let rest = (id >> 16) << 24 | (packet.protocol(arena) as u64) << 16 | id & 0xffff;
    let hash = mix64(mix64(addresses) ^ rest);
    (hash >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

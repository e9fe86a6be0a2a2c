//! Which packets are cut, and where.

use forebay_base::{Arena, IpVersion, Kind, PIECE_UNIT_BYTES, Packet, mix64, place_of};
use forebay_signal::kickass::Code;

/// Payload of the leading piece if `packet` is to say `code`; None: it passes as it is. `least_bytes`
/// is the shortest whole packet that is cut.
pub(super) fn lead_bytes(
    packet: &Packet,
    code: Code,
    least_bytes: u16,
    arena: &Arena,
) -> Option<u16> {
    if packet.dont_fragment() || packet.version() == IpVersion::V6 {
        return None;
    }
    let payload_bytes = packet.wire_len() - packet.ip_header_len(arena);
    let place = place_of(packet, arena);
    if place.offset > 0 {
        return None;
    }
    if place.more {
        return (payload_bytes > code.lead_bytes()).then_some(code.lead_bytes());
    }
    if packet.wire_len() < least_bytes {
        return None;
    }
    // It must not come whole: that would say nothing.
    let most_bytes = payload_bytes.saturating_sub(1) & !(PIECE_UNIT_BYTES - 1);
    let lead_bytes = code.lead_bytes().min(most_bytes);
    (lead_bytes >= Code::MIN.lead_bytes()).then_some(lead_bytes)
}

/// The IP ID of a packet.
pub(super) fn ip_id(packet: &Packet, arena: &Arena) -> u16 {
    let Some(cold) = packet.cold_part(arena) else { return 0 };
    match (packet.kind(), cold.body.as_deref()) {
        (Kind::Opaque, Some(&[_, _, _, _, high, low, ..])) => u16::from_be_bytes([high, low]),
        _ => cold.ip_id,
    }
}

/// Uniform within [0, 1), and the same in every router that a datagram passes: of what all its
/// pieces share.
pub(super) fn shared_draw(packet: &Packet, arena: &Arena) -> f64 {
    let addresses = (packet.src().0 as u64) << 32 | packet.dst().0 as u64;
    let rest = (packet.protocol(arena) as u64) << 16 | ip_id(packet, arena) as u64;
    let hash = mix64(mix64(addresses) ^ rest);
    (hash >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

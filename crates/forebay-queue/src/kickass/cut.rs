//! Which packets are cut, and where.

use forebay_base::{Arena, IPV4_HEADER_BYTES, IpVersion, Kind, Packet, mix64};
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
    let payload_bytes = packet.wire_len() - ip_header_bytes(packet, arena);
    if packet.kind() != Kind::Piece {
        if packet.wire_len() < least_bytes {
            return None;
        }
        // It must not come whole: that would say nothing.
        let most_bytes = payload_bytes.saturating_sub(1) & !7;
        let lead_bytes = code.lead_bytes().min(most_bytes);
        return (lead_bytes >= Code::MIN.lead_bytes()).then_some(lead_bytes);
    }
    let piece = packet.cold_part(arena)?.piece?;
    let leads = piece.offset == 0 && piece.more;
    (leads && payload_bytes > code.lead_bytes()).then_some(code.lead_bytes())
}

/// Length of the IP header with its options.
fn ip_header_bytes(packet: &Packet, arena: &Arena) -> u16 {
    let option_bytes = || packet.cold_part(arena).map_or(0, |cold| cold.ip_options.len() as u16);
    match packet.kind() {
        Kind::Tcp => IPV4_HEADER_BYTES + option_bytes(),
        Kind::Opaque | Kind::Piece => packet.header_len(),
    }
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

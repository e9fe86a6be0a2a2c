//! Which packets are cut, and where.

use forebay_base::{Arena, IpVersion, Kind, PIECE_UNIT_BYTES, Packet, mix64, place_of};
use forebay_signal::kickass::Code;

/// A packet that may be cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuttable {
    /// What stands behind the IP header and its options.
    payload_bytes: u16,
    /// It is a leading piece.
    leads: bool,
}

/// None: `packet` passes as it is, whatever the code. `least_bytes` is the shortest whole packet that
/// is cut.
#[inline]
pub(super) fn cuttable(packet: &Packet, least_bytes: u16, arena: &Arena) -> Option<Cuttable> {
    if packet.dont_fragment() || packet.version() == IpVersion::V6 {
        return None;
    }
    let leads = match packet.kind() {
        Kind::Tcp => false,
        Kind::Piece | Kind::Opaque => {
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
    Some(Cuttable { payload_bytes, leads })
}

impl Cuttable {
    /// Payload of the leading piece if it is to say `code`; None: it passes as it is.
    #[inline]
    pub(super) fn lead_bytes(self, code: Code) -> Option<u16> {
        let Cuttable { payload_bytes, leads } = self;
        if leads {
            return (payload_bytes > code.lead_bytes()).then_some(code.lead_bytes());
        }
        // It must not come whole: that would say nothing.
        let most_bytes = payload_bytes.saturating_sub(1) & !(PIECE_UNIT_BYTES - 1);
        let lead_bytes = code.lead_bytes().min(most_bytes);
        (lead_bytes >= Code::MIN.lead_bytes()).then_some(lead_bytes)
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

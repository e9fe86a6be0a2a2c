//! Cutting an IPv4 packet in two (RFC 791 section 3.2).

use crate::arena::{Arena, Cold, Piece};
use crate::ids::IpVersion;
use crate::packet::{Kind, Packet};

/// An IPv4 header without options, in bytes.
pub const IPV4_HEADER_BYTES: u16 = 20;
/// An IPv6 header, in bytes.
pub const IPV6_HEADER_BYTES: u16 = 40;
const TCP_PROTOCOL: u8 = 6;

/// Cut `packet` so that the first piece is at most `first_len` bytes long, IP header included; its
/// payload is rounded down to a multiple of 8. The pieces share the datagram; together they are 20
/// bytes longer.
///
/// Err gives the packet back where it cannot be cut: DF set, not IPv4, no ID, IP options, opaque,
/// or nothing would be left for one side.
pub fn split_ipv4(
    packet: Packet,
    first_len: u16,
    arena: &mut Arena,
) -> Result<(Packet, Packet), Packet> {
    let refuse = packet.dont_fragment()
        || packet.version() == IpVersion::V6
        || packet.kind() == Kind::Opaque
        || packet.cold_part(arena).is_none_or(|c| !c.ip_options.is_empty());
    let body_len = packet.wire_len().saturating_sub(IPV4_HEADER_BYTES);
    let first_body = first_len.saturating_sub(IPV4_HEADER_BYTES) & !7;
    if refuse || first_body == 0 || first_body >= body_len {
        return Err(packet);
    }
    let left_host_at = packet.left_host_at();
    let (ecn, ttl, addresses) = (packet.ecn(), packet.ttl(), (packet.src(), packet.dst()));
    let cold = arena.cold(packet.cold());
    let (dscp, ip_id) = (cold.dscp, cold.ip_id);
    let outer = cold.piece;
    let source_bytes = cold.body.clone().filter(|_| outer.is_some_and(|p| p.datagram.is_none()));
    let ports = packet.ports();

    let (base, last, protocol, datagram) = match outer {
        None => (0, true, TCP_PROTOCOL, Some(arena.share(packet, 2))),
        Some(piece) => {
            // The new pieces take over the old one's share, and one more.
            if let Some(datagram) = piece.datagram {
                arena.add_piece(datagram);
                arena.add_piece(datagram);
            }
            arena.free(packet);
            (piece.offset, !piece.more, piece.protocol, piece.datagram)
        }
    };
    let mut make = |offset: u16, len: u16, more: bool| {
        let body = source_bytes.as_ref().map(|b| b[offset as usize..][..len as usize].into());
        let piece = Piece { offset: base + offset, more, protocol, datagram };
        let holds_ports = piece.offset == 0 && len >= 4;
        let cold = Cold { dscp, ip_id, piece: Some(piece), body, ..Cold::default() };
        let ports = ports.filter(|_| holds_ports);
        let mut made =
            Packet::piece(IpVersion::V4, addresses, len + IPV4_HEADER_BYTES, ports, cold, arena);
        made.set_ecn(ecn);
        made.set_ttl(ttl);
        made.set_left_host_at(left_host_at);
        made
    };
    let first = make(0, first_body, true);
    let second = make(first_body, body_len - first_body, !last);
    Ok((first, second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Addr, Endpoint};
    use crate::packet::TcpFields;
    use alloc::vec;

    fn fragmentable(arena: &mut Arena) -> Packet {
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let mut packet = Packet::tcp(IpVersion::V4, end(1), end(2), TcpFields::default(), 1000);
        packet.set_dont_fragment(false);
        packet.cold_mut(arena).ip_id = 77;
        packet
    }

    #[test]
    fn two_pieces_then_three_share_one_datagram_and_give_it_back() {
        let mut arena = Arena::default();
        let whole = fragmentable(&mut arena);
        let digest = whole.digest(&arena);
        let (a, b) = split_ipv4(whole, 600, &mut arena).unwrap();
        assert_eq!((a.wire_len(), b.wire_len()), (596, 1040 - 576));
        assert_eq!((a.ports(), b.ports()), (Some((9, 9)), None));
        // By RFC 791 only the first piece has ports, so the hash must not use them. The protocol of
        // a piece is that of the datagram, TCP.
        assert_eq!(a.flow_hash(5, &arena), b.flow_hash(5, &arena));
        assert_ne!(a.flow_hash(5, &arena), a.flow_hash(6, &arena));
        assert_eq!([a.protocol(&arena), b.protocol(&arena)], [6, 6]);
        let (b1, b2) = split_ipv4(b, 100, &mut arena).unwrap();
        let piece = |p: &Packet, arena: &Arena| p.cold_part(arena).unwrap().piece.unwrap();
        assert_eq!(piece(&b1, &arena).offset, 576);
        assert_eq!(piece(&b2, &arena).offset, 576 + 80);
        assert!(piece(&b1, &arena).more && !piece(&b2, &arena).more);
        let again = arena.reassemble(&mut vec![a, b1, b2]).unwrap();
        assert_eq!(again.digest(&arena), digest);
        arena.free(again);
        assert_eq!(arena.live(), 0);
    }

    #[test]
    fn what_cannot_be_cut_comes_back_unharmed() {
        let mut arena = Arena::default();
        let mut whole = fragmentable(&mut arena);
        whole.set_dont_fragment(true);
        let whole = split_ipv4(whole, 600, &mut arena).unwrap_err();
        arena.free(whole);
        let whole = fragmentable(&mut arena);
        let whole = split_ipv4(whole, 2000, &mut arena).unwrap_err();
        let whole = split_ipv4(whole, 24, &mut arena).unwrap_err();
        arena.free(whole);
        assert_eq!(arena.live(), 0);
    }
}

//! Cutting a packet in two: IPv4 as routers do (RFC 791 section 3.2), IPv6 as its sources do (RFC
//! 8200 section 4.5).
//!
//! By RFC 8200 section 5 no router cuts IPv6, and [`cut_ipv4`], with which a network cuts for an
//! MTU, refuses it. [`cut_ipv6`] is for experiments in which routers do. What a packet of IPv6 says
//! about it, and what is made of it:
//!
//! ```text
//! IPv6 (40)                        | TCP ...     no Fragment header: `dont_fragment()`
//! IPv6 (40) | Fragment (8) 0, M=0  | TCP ...     an atomic fragment (RFC 6946): may be cut
//! IPv6 (40) | Fragment (8) 0, M=1  | first_payload bytes
//! IPv6 (40) | Fragment (8) 8n, M=0 | the rest
//! ```
//!
//! The bit that is DF in IPv4 says whether a Fragment header is there: packets are no longer for
//! it, and a caller of `dont_fragment()` asks both. Its 32-bit identification is in the cold part,
//! where that of IPv4 is. Fragments of IPv6 are [`Kind::Fragment`], as those of IPv4 are.

use crate::ids::{Addr, Ecn, IpVersion};
use crate::options::{OptionList, TcpOptions};
use crate::packet::{
    Arena, Cold, FRAGMENT_HEADER_BYTES, FragmentRange, IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, Kind,
    Packet,
};
use crate::time::Time;
use alloc::sync::Arc;
use core::fmt;

/// Offsets of fragments are counted in units of 8 bytes.
pub const PIECE_UNIT_BYTES: u16 = 8;

const TCP_PROTOCOL: u8 = 6;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET_MASK: u16 = 0x1fff;
/// The bit in the type of an option that all fragments carry (RFC 791 section 3.1).
const COPIED: u8 = 0x80;

/// Why a packet was not cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CutError {
    /// IPv6 where IPv4 was to be cut, for routers never cut IPv6 (RFC 8200 section 5); or the other
    /// way round.
    Version,
    /// DF is set; IPv6: there is no Fragment header.
    DontFragment,
    /// The first fragment would not carry a multiple of 8 bytes, or none.
    Unit,
    /// The packet carries no more than the first fragment would.
    Short,
    /// The packet, a fragment itself, ends beyond the 65 535 bytes that a datagram can have.
    Length,
}

impl fmt::Display for CutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CutError::Version => "routers never cut IPv6, and IPv4 has another way",
            CutError::DontFragment => "DF is set, or there is no Fragment header",
            CutError::Unit => "a first fragment carries a multiple of 8 bytes, at least 8",
            CutError::Short => "the packet carries no more than the first fragment would",
            CutError::Length => "the fragment ends beyond 65535 bytes of its datagram",
        })
    }
}

impl core::error::Error for CutError {}

/// A packet that was not cut, as it was.
#[derive(Debug)]
pub struct Uncut {
    /// The packet.
    pub packet: Packet,
    /// Why not.
    pub reason: CutError,
}

/// The payload, in bytes, of the largest first fragment of `packet` that is at most `mtu` bytes
/// long; 0 if there is none.
pub fn payload_within(mtu: u16, packet: &Packet, arena: &Arena) -> u16 {
    mtu.saturating_sub(packet.ip_header_len(arena)) & !(PIECE_UNIT_BYTES - 1)
}

/// Cut `packet` in two: the first fragment carries `first_payload` bytes, the second the others.
/// Payload is what stands after the IP header and its options; a TCP header is part of it.
///
/// Both fragments have the packet's addresses, protocol, identification, DSCP, ECN field and time
/// to live. The first has all IP options and MF set. The second has the options that are copied,
/// and the packet's own MF: a fragment can be cut again. Malformed options end the list of the
/// second.
///
/// The fragments of a TCP segment share it. Those of what is known by its bytes have their part of
/// these; the reserved flag of its header is cleared, as Linux does.
#[inline]
pub fn cut_ipv4(
    packet: Packet,
    first_payload: u16,
    arena: &mut Arena,
) -> Result<(Packet, Packet), Uncut> {
    let payload = packet.wire_len() - packet.ip_header_len(arena);
    let version = IpVersion::V4;
    if let Some(reason) = reason_against(&packet, first_payload, payload, version, false, arena) {
        return Err(Uncut { packet, reason });
    }
    let is_plain = payload + IPV4_HEADER_BYTES == packet.wire_len();
    if packet.kind() == Kind::Tcp && is_plain {
        return Ok(cut_segment(packet, first_payload, payload - first_payload, arena));
    }
    Ok(cut_any(packet, first_payload, arena))
}

/// The same for an IPv6 packet that carries a Fragment header: a TCP segment, or a fragment.
/// `insert` is the identification of one that is put into a segment that has none before it is cut.
/// (RFC 8200 section 5 lets only the source do either.)
///
/// Payload is what stands after the Fragment header. Both fragments have its identification and
/// next header, and the packet's addresses, traffic class, flow label and hop limit.
pub fn cut_ipv6(
    mut packet: Packet,
    first_payload: u16,
    insert: Option<u32>,
    arena: &mut Arena,
) -> Result<(Packet, Packet), Uncut> {
    let insert = insert.filter(|_| packet.kind() == Kind::Tcp && packet.dont_fragment());
    let payload = packet.wire_len() - packet.ip_header_len(arena);
    let (version, inserts) = (IpVersion::V6, insert.is_some());
    if let Some(reason) = reason_against(&packet, first_payload, payload, version, inserts, arena) {
        return Err(Uncut { packet, reason });
    }
    if let Some(id) = insert {
        packet.add_fragment_header(id, arena);
    }
    Ok(cut_any(packet, first_payload, arena))
}

/// A TCP segment without IP options: most packets. Its fragments get what they need and no more.
#[inline(always)] // its pieces are made where the caller wants them
fn cut_segment(packet: Packet, first: u16, second: u16, arena: &mut Arena) -> (Packet, Packet) {
    let (dscp, ip_id) = packet.cold_part(arena).map_or((0, 0), |cold| (cold.dscp, cold.ip_id));
    let mut lead = packet.piece_of_segment(first, true);
    let mut tail = packet.piece_of_segment(second, false);
    let datagram = Some(arena.share(packet, 2));
    let mut cold = |offset, more| {
        let piece = Some(FragmentRange { offset, more, protocol: TCP_PROTOCOL, datagram });
        arena.insert(Cold { dscp, ip_id, piece, ..Cold::default() })
    };
    lead.set_cold(cold(0, true));
    tail.set_cold(cold(first, false));
    (lead, tail)
}

/// Any packet.
#[inline(never)]
fn cut_any(packet: Packet, first_payload: u16, arena: &mut Arena) -> (Packet, Packet) {
    let payload = packet.wire_len() - packet.ip_header_len(arena);
    let source = Source::take(packet, arena);
    let first = source.piece(0, first_payload, true, source.options, arena);
    let (options, more) = (copied(&source.options), source.place.more);
    let second = source.piece(first_payload, payload - first_payload, more, options, arena);
    (first, second)
}

#[inline]
fn reason_against(
    packet: &Packet,
    first_payload: u16,
    payload: u16,
    version: IpVersion,
    inserts: bool,
    arena: &Arena,
) -> Option<CutError> {
    if packet.version() != version {
        return Some(CutError::Version);
    }
    if packet.dont_fragment() && !inserts {
        return Some(CutError::DontFragment);
    }
    if first_payload == 0 || !first_payload.is_multiple_of(PIECE_UNIT_BYTES) {
        return Some(CutError::Unit);
    }
    if payload <= first_payload {
        return Some(CutError::Short);
    }
    if packet.kind() == Kind::Tcp && !inserts {
        return None; // it begins its datagram
    }
    let header = u32::from(piece_header_len(version));
    let end = header + u32::from(place_of(packet, arena).offset) + u32::from(payload);
    (end > u32::from(u16::MAX)).then_some(CutError::Length)
}

/// Length of the headers of a fragment without options, in bytes.
const fn piece_header_len(version: IpVersion) -> u16 {
    match version {
        IpVersion::V4 => IPV4_HEADER_BYTES,
        IpVersion::V6 => IPV6_HEADER_BYTES + FRAGMENT_HEADER_BYTES,
    }
}

/// The options that every fragment carries.
fn copied(options: &OptionList) -> OptionList {
    let mut list = OptionList::EMPTY;
    // Kinds 0 and 1, and the length of all others, are as in TCP.
    for option in TcpOptions::new(options.as_bytes()).filter(|o| o.kind & COPIED != 0) {
        list.push(option.kind, option.data).expect("no longer than the list that it is from");
    }
    list
}

/// Where `packet` lies in its datagram. Opaque packets of IPv6 are not looked into.
pub fn place_of(packet: &Packet, arena: &Arena) -> FragmentRange {
    let whole = FragmentRange { offset: 0, more: false, protocol: TCP_PROTOCOL, datagram: None };
    let Some(cold) = packet.cold_part(arena) else { return whole };
    match (packet.kind(), cold.piece, cold.body.as_deref()) {
        (Kind::Fragment, Some(piece), _) => piece,
        (Kind::Opaque, _, Some(bytes)) if packet.version() == IpVersion::V4 => {
            let flags = u16::from_be_bytes([bytes[6], bytes[7]]);
            let offset = (flags & OFFSET_MASK) * PIECE_UNIT_BYTES;
            FragmentRange {
                offset,
                more: flags & MORE_FRAGMENTS != 0,
                protocol: bytes[9],
                datagram: None,
            }
        }
        _ => whole,
    }
}

/// What fragments have of the packet that they are cut from.
struct Source {
    version: IpVersion,
    addresses: (Addr, Addr),
    ports: Option<(u16, u16)>,
    ecn: Ecn,
    ttl: u8,
    left_host_at: Time,
    dscp: u8,
    ip_id: u32,
    flow_label: u32,
    options: OptionList,
    /// Where it lies in its datagram, and which that is.
    place: FragmentRange,
    /// Its bytes, and where its payload begins, where fragments hold bytes.
    bytes: Option<(Arc<[u8]>, u16)>,
}

impl Source {
    /// `packet` ends, or is shared by the two fragments that must follow.
    fn take(packet: Packet, arena: &mut Arena) -> Source {
        let (kind, header_len) = (packet.kind(), packet.header_len());
        let mut source = Source {
            version: packet.version(),
            addresses: (packet.src(), packet.dst()),
            ports: packet.ports(),
            ecn: packet.ecn(),
            ttl: packet.ttl(),
            left_host_at: packet.left_host_at(),
            dscp: 0,
            ip_id: 0,
            flow_label: 0,
            options: OptionList::EMPTY,
            place: place_of(&packet, arena),
            bytes: None,
        };
        if let Some(cold) = packet.cold_part(arena) {
            (source.dscp, source.ip_id) = (cold.dscp, cold.ip_id);
            (source.options, source.flow_label) = (cold.ip_options, cold.flow_label);
            if let (Kind::Opaque, Some(bytes)) = (kind, &cold.body) {
                source.dscp = bytes[1] >> 2;
                source.ip_id = u16::from_be_bytes([bytes[4], bytes[5]]).into();
                let options = &bytes[usize::from(IPV4_HEADER_BYTES)..usize::from(header_len)];
                source.options = OptionList::from_bytes(options).expect("40 bytes by the IHL");
                source.bytes = Some((Arc::clone(bytes), header_len));
            }
            if let (Kind::Fragment, None, Some(bytes)) = (kind, source.place.datagram, &cold.body) {
                source.bytes = Some((Arc::clone(bytes), 0));
            }
        }
        match (kind, source.place.datagram) {
            (Kind::Tcp, _) => source.place.datagram = Some(arena.share(packet, 2)),
            (_, Some(datagram)) => {
                arena.add_piece(datagram);
                arena.add_piece(datagram);
                arena.free(packet);
            }
            (_, None) => arena.free(packet),
        }
        source
    }

    /// The fragment of `len` bytes from byte `at` of the payload on.
    fn piece(
        &self,
        at: u16,
        len: u16,
        more: bool,
        options: OptionList,
        arena: &mut Arena,
    ) -> Packet {
        let piece = FragmentRange { offset: self.place.offset + at, more, ..self.place };
        let part = |(bytes, start): &(Arc<[u8]>, u16)| {
            bytes[usize::from(*start) + usize::from(at)..][..usize::from(len)].into()
        };
        let (dscp, ip_id, flow_label) = (self.dscp, self.ip_id, self.flow_label);
        let (piece_of, body) = (Some(piece), self.bytes.as_ref().map(part));
        let cold = Cold { dscp, ip_id, flow_label, piece: piece_of, body, ..Cold::default() };
        let ports = self.ports.filter(|_| piece.offset == 0 && len >= 4);
        let len = piece_header_len(self.version) + len;
        let mut made = Packet::piece(self.version, self.addresses, len, ports, cold, arena);
        if !options.is_empty() {
            made.set_ip_options(options, arena).expect("a piece is IPv4");
        }
        made.set_ecn(self.ecn);
        made.set_ttl(self.ttl);
        made.set_left_host_at(self.left_host_at);
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Endpoint;
    use crate::packet::TcpFields;
    use crate::{Rng, Stream};
    use alloc::vec;
    use alloc::vec::Vec;

    fn fragmentable(arena: &mut Arena) -> Packet {
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let mut packet = Packet::tcp(IpVersion::V4, end(1), end(2), TcpFields::default(), 1000);
        packet.set_dont_fragment(false);
        packet.cold_mut(arena).ip_id = 77;
        packet
    }
    fn place(packet: &Packet, arena: &Arena) -> (u16, bool) {
        let piece = packet.cold_part(arena).unwrap().piece.unwrap();
        (piece.offset, piece.more)
    }

    #[test]
    fn two_pieces_then_three_share_one_datagram_and_give_it_back() {
        let mut arena = Arena::default();
        let whole = fragmentable(&mut arena);
        let digest = whole.digest(&arena);
        assert_eq!(payload_within(600, &whole, &arena), 576);
        let (a, b) = cut_ipv4(whole, 576, &mut arena).unwrap();
        assert_eq!((a.wire_len(), b.wire_len()), (596, 1040 - 576));
        assert_eq!((a.ports(), b.ports()), (Some((9, 9)), None));
        // By RFC 791 only the first fragment has ports, so the hash must not use them. The protocol
        // of a fragment is that of the datagram, TCP.
        assert_eq!(a.flow_hash(5, &arena), b.flow_hash(5, &arena));
        assert_ne!(a.flow_hash(5, &arena), a.flow_hash(6, &arena));
        assert_eq!([a.protocol(&arena), b.protocol(&arena)], [6, 6]);
        let (b1, b2) = cut_ipv4(b, 80, &mut arena).unwrap();
        let places = [&a, &b1, &b2].map(|piece| place(piece, &arena));
        assert_eq!(places, [(0, true), (576, true), (576 + 80, false)]);
        // A fragment in front, cut again: its second half has MF, as it had.
        let (a1, a2) = cut_ipv4(a, 24, &mut arena).unwrap();
        assert_eq!([place(&a1, &arena), place(&a2, &arena)], [(0, true), (24, true)]);
        let again = arena.reassemble(&mut vec![a1, a2, b1, b2]).unwrap();
        assert_eq!(again.digest(&arena), digest);
        arena.free(again);
        assert_eq!(arena.live(), 0);
    }

    /// Two ways of cutting give the same fragments.
    #[test]
    fn a_segment_is_cut_as_any_packet_is() {
        let mut rng = Rng::new(1, Stream::Test, 0);
        let mut arena = Arena::default();
        for _ in 0..2_000 {
            let make = |arena: &mut Arena, rng: &mut Rng| {
                let end = |n: u64| Endpoint { addr: Addr(n as u32), port: (n >> 32) as u16 };
                let (n, m) = (rng.below(1 << 48), rng.below(1 << 48));
                let timestamps = (n % 2 == 0).then_some((n as u32, m as u32));
                let tcp = TcpFields { seq: n as u32, timestamps, ..TcpFields::default() };
                let len = 24 + (m % 1_400) as u16;
                let mut whole = Packet::tcp(IpVersion::V4, end(n), end(m), tcp, len);
                whole.set_dont_fragment(false);
                whole.set_ttl(n as u8);
                whole.set_ecn([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][(m % 4) as usize]);
                whole.set_left_host_at(Time::from_nanos(m));
                whole.set_hop_time(Time::from_nanos(n));
                if n % 8 > 0 {
                    let cold = whole.cold_mut(arena);
                    (cold.ip_id, cold.dscp) = (n as u32 & 0xffff, (m % 64) as u8);
                }
                whole
            };
            let seed = rng.clone();
            let one = make(&mut arena, &mut rng);
            let other = make(&mut arena, &mut seed.clone());
            let payload = one.wire_len() - IPV4_HEADER_BYTES;
            let first = 8 * (1 + rng.below(u64::from((payload - 1) / 8)) as u16);
            let (a, b) = cut_ipv4(one, first, &mut arena).unwrap();
            let (c, d) = cut_any(other, first, &mut arena);
            for (one, other) in [(&a, &c), (&b, &d)] {
                let seen =
                    |p: &Packet| (p.digest(&arena), p.left_host_at(), p.hop_time(), p.ports());
                assert_eq!(seen(one), seen(other));
                assert_eq!((one.wire_len(), one.header_len()), (other.wire_len(), 20));
                let [one, other] = [one, other].map(|p| p.cold_part(&arena).unwrap().clone());
                let place = |cold: &Cold| cold.piece.map(|p| (p.offset, p.more, p.protocol));
                assert_eq!(place(&one), place(&other));
                assert_eq!(Cold { piece: None, ..one }, Cold { piece: None, ..other });
            }
            [a, b, c, d].into_iter().for_each(|piece| arena.free(piece));
            assert_eq!(arena.live(), 0);
        }
    }

    #[test]
    fn what_cannot_be_cut_comes_back_unharmed_with_the_reason() {
        let mut arena = Arena::default();
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let mut refused = |packet: Packet, payload, reason| {
            let digest = packet.digest(&arena);
            let uncut = cut_ipv4(packet, payload, &mut arena).unwrap_err();
            assert_eq!((uncut.reason, uncut.packet.digest(&arena)), (reason, digest));
            arena.free(uncut.packet);
        };
        let v6 = || Packet::tcp(IpVersion::V6, end(1), end(2), TcpFields::default(), 1000);
        let v4 = |df| {
            let mut whole = Packet::tcp(IpVersion::V4, end(1), end(2), TcpFields::default(), 1000);
            whole.set_dont_fragment(df);
            whole
        };
        refused(v6(), 576, CutError::Version);
        refused(v4(true), 576, CutError::DontFragment);
        refused(v4(false), 0, CutError::Unit);
        refused(v4(false), 580, CutError::Unit);
        refused(v4(false), 1024, CutError::Short);
        // 1020 bytes of payload, of which the second fragment gets the last 4.
        let (first, second) = cut_ipv4(v4(false), 1016, &mut arena).unwrap();
        assert_eq!((first.wire_len(), second.wire_len()), (1036, 24));
        [first, second].into_iter().for_each(|piece| arena.free(piece));
        assert_eq!(arena.live(), 0);
    }

    /// 1000 bytes of payload and 20 of TCP, without a Fragment header and with one: 1060 and 1068.
    #[test]
    fn ipv6_is_cut_behind_its_fragment_header_or_one_that_is_put_in() {
        let mut arena = Arena::default();
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let plain = || Packet::tcp(IpVersion::V6, end(1), end(2), TcpFields::default(), 1000);
        let places = |pieces: &[Packet], arena: &Arena| -> Vec<(u16, u16, bool)> {
            let of = |piece: &Packet| {
                assert_eq!((piece.version(), piece.header_len()), (IpVersion::V6, 48));
                let (offset, more) = place(piece, arena);
                (offset, piece.payload_len(), more)
            };
            pieces.iter().map(of).collect()
        };
        let mut atomic = plain();
        atomic.add_fragment_header(0xdead_beef, &mut arena);
        atomic.cold_mut(&mut arena).flow_label = 0x12345;
        atomic.add_fragment_header(1, &mut arena); // it has one
        assert_eq!((atomic.wire_len(), atomic.ip_header_len(&arena)), (1068, 48));
        let digest = atomic.digest(&arena);
        let (a, b) = cut_ipv6(atomic, 576, None, &mut arena).unwrap();
        let (a, a2) = cut_ipv6(a, 24, Some(5), &mut arena).unwrap();
        let mut pieces = vec![a, a2, b];
        assert_eq!(places(&pieces, &arena), [(0, 24, true), (24, 552, true), (576, 444, false)]);
        for piece in &pieces {
            let cold = piece.cold_part(&arena).unwrap();
            assert_eq!((cold.ip_id, cold.flow_label), (0xdead_beef, 0x12345));
        }
        let again = arena.reassemble(&mut pieces).unwrap();
        assert_eq!(again.digest(&arena), digest);
        arena.free(again);
        let (a, b) = cut_ipv6(plain(), 576, Some(7), &mut arena).unwrap();
        let pieces = [a, b];
        assert_eq!(places(&pieces, &arena), [(0, 576, true), (576, 444, false)]);
        assert!(pieces.iter().all(|piece| piece.cold_part(&arena).unwrap().ip_id == 7));
        pieces.into_iter().for_each(|piece| arena.free(piece));
        // What is refused stays as it was, without a Fragment header.
        let v4 = fragmentable(&mut arena);
        let cases = [
            (plain(), 576, None, CutError::DontFragment),
            (plain(), 580, Some(7), CutError::Unit),
            (plain(), 1024, Some(7), CutError::Short),
            (v4, 576, Some(7), CutError::Version),
        ];
        for (packet, payload, insert, reason) in cases {
            let digest = packet.digest(&arena);
            let uncut = cut_ipv6(packet, payload, insert, &mut arena).unwrap_err();
            assert_eq!((uncut.reason, uncut.packet.digest(&arena)), (reason, digest));
            arena.free(uncut.packet);
        }
        assert_eq!(arena.live(), 0);
    }

    /// RFC 791 section 3.1: loose source routing (131) has the copied bit, record route (7) and
    /// the timestamp (68) do not, router alert (148, RFC 2113) does. The second header shrinks
    /// from 36 to 28 bytes.
    #[test]
    fn the_second_piece_has_the_options_with_the_copied_bit() {
        let mut arena = Arena::default();
        let mut whole = fragmentable(&mut arena);
        let options = [131, 3, 4, 1, 7, 3, 4, 148, 4, 0, 0, 68, 3, 5];
        let list = OptionList::from_bytes(&options).unwrap();
        whole.set_ip_options(list, &mut arena).unwrap();
        assert_eq!((whole.wire_len(), payload_within(600, &whole, &arena)), (1056, 560));
        let (a, b) = cut_ipv4(whole, 560, &mut arena).unwrap();
        let options_of = |p: &Packet| p.cold_part(&arena).unwrap().ip_options.as_bytes().to_vec();
        assert_eq!(
            (options_of(&a), options_of(&b)),
            (options.to_vec(), vec![131, 3, 4, 148, 4, 0, 0])
        );
        assert_eq!((a.header_len(), a.wire_len()), (36, 36 + 560));
        assert_eq!((b.header_len(), b.wire_len()), (28, 28 + 1020 - 560));
        let (b, c) = cut_ipv4(b, 80, &mut arena).unwrap();
        assert_eq!((b.header_len(), c.header_len()), (28, 28));
        [a, b, c].into_iter().for_each(|piece| arena.free(piece));
        assert_eq!(arena.live(), 0);
    }

    /// A packet of UDP with a router alert, written by hand; cut, its fragments hold its bytes.
    #[test]
    fn what_is_known_by_its_bytes_is_cut_into_bytes() {
        let mut arena = Arena::default();
        let header = [0x46, 0xb8, 0, 124, 0xbe, 0xef, 0, 0, 9, 17, 0, 0];
        let bytes: Vec<u8> = header
            .into_iter()
            .chain([10, 0, 0, 1, 10, 0, 0, 2, 148, 4, 0, 0])
            .chain(0..100)
            .collect();
        let cold = Cold { body: Some(bytes.into()), ..Cold::default() };
        let ends = (Addr(1), Addr(2));
        let mut whole = Packet::opaque(IpVersion::V4, ends, Some((1, 0x203)), cold, &mut arena);
        whole.set_ttl(5);
        whole.set_ecn(Ecn::Ect0);
        let (a, b) = cut_ipv4(whole, 32, &mut arena).unwrap();
        for (piece, range, more) in [(&a, 0..32, true), (&b, 32..100, false)] {
            let cold = piece.cold_part(&arena).unwrap();
            assert_eq!((cold.dscp, cold.ip_id), (0x2e, 0xbeef));
            assert_eq!(cold.ip_options.as_bytes(), [148, 4, 0, 0]);
            assert_eq!(cold.body.as_deref(), Some(&range.clone().collect::<Vec<u8>>()[..]));
            assert_eq!(place(piece, &arena), (range.start.into(), more));
            assert_eq!((piece.protocol(&arena), piece.ttl()), (17, 5));
            assert_eq!((piece.ecn(), piece.header_len()), (Ecn::Ect0, 24));
        }
        assert_eq!((a.ports(), b.ports()), (Some((1, 0x203)), None));
        [a, b].into_iter().for_each(|piece| arena.free(piece));
        assert_eq!(arena.live(), 0);
    }
}

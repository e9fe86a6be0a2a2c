//! Fragments: typed fragments show what their bytes show, and fragments known by bytes only make
//! the datagram again.

use crate::make::*;
use forebay_base::{Arena, Ecn, IpVersion, Kind, Packet, TcpFields, cut_ipv4, cut_ipv6};
use forebay_wire::{AddressPlan, ParseError, emit, join};

fn fragmentable(payload: u16, arena: &mut Arena) -> Packet {
    let fields =
        TcpFields { seq: u32::MAX - 100, timestamps: Some((3, 4)), ..TcpFields::default() };
    let mut packet = Packet::tcp(IpVersion::V4, end(1, 1000), end(2, 80), fields, payload);
    packet.set_dont_fragment(false);
    packet.cold_mut(arena).ip_id = 0xbeef;
    packet
}

/// Two fragments of a datagram, the second cut in two again.
fn three_pieces(whole: Packet, arena: &mut Arena) -> Vec<Packet> {
    let (a, rest) = cut_ipv4(whole, 600, arena).unwrap();
    let (b, c) = cut_ipv4(rest, 200, arena).unwrap();
    vec![a, b, c]
}

fn through_bytes(pieces: Vec<Packet>, arena: &mut Arena) -> Vec<Packet> {
    pieces
        .into_iter()
        .map(|piece| {
            let bytes = bytes_of(&piece, arena);
            arena.free(piece);
            parsed(&bytes, arena)
        })
        .collect()
}

#[test]
fn a_typed_piece_is_its_header_and_a_range_of_the_datagram() {
    let mut arena = Arena::default();
    let whole = fragmentable(1000, &mut arena);
    let datagram = bytes_of(&whole, &arena);
    let mut seen = vec![];
    for (piece, more) in three_pieces(whole, &mut arena).into_iter().zip([true, true, false]) {
        let bytes = bytes_of(&piece, &arena);
        let at = u16::from_be_bytes([bytes[6], bytes[7]]);
        assert_eq!((at & 0x2000 != 0, usize::from(at & 0x1fff) * 8), (more, seen.len()));
        assert_eq!(bytes[4..6], [0xbe, 0xef]);
        assert_eq!(slow_checksum(&[&bytes[..20]]), 0);
        seen.extend_from_slice(&bytes[20..]);
        arena.free(piece);
    }
    assert_eq!(seen, datagram[20..]);
    assert_eq!(arena.live(), 0);
}

#[test]
fn split_emit_parse_and_join_give_the_datagram_back() {
    let (mut rng, mut arena, plan) = (rng(3), Arena::default(), AddressPlan::default());
    let mut joined = 0;
    for _ in 0..20_000 {
        let mut whole = random_segment(&mut rng, &mut arena);
        whole.set_dont_fragment(false);
        let original = arena.duplicate(&whole);
        let mut pieces = vec![whole];
        for _ in 0..1 + rng.below(4) {
            let payload = 8 * (1 + rng.below(180)) as u16;
            match cut(pieces.pop().unwrap(), payload, &mut arena) {
                Ok((first, second)) => pieces.extend([first, second]),
                Err(uncut) => pieces.push(uncut.packet),
            }
        }
        if pieces[0].kind() == Kind::Fragment {
            let mut pieces = through_bytes(pieces, &mut arena);
            let again = join(&mut pieces, &plan, &mut arena).unwrap();
            assert_same(&original, &again, &arena);
            assert_eq!(bytes_of(&original, &arena), bytes_of(&again, &arena));
            arena.free(again);
            joined += 1;
        } else {
            pieces.into_iter().for_each(|p| arena.free(p));
        }
        arena.free(original);
    }
    assert!(joined > 1500, "{joined}");
    assert_eq!(arena.live(), 0);
}

/// RFC 8200 section 4.5, by hand: 1000 bytes of payload and 32 of TCP after the Fragment header of
/// an atomic fragment, cut after 24 and after 400, and the fragment in front cut again.
#[test]
fn pieces_of_ipv6_have_the_fragment_header_of_rfc_8200() {
    let (mut arena, plan) = (Arena::default(), AddressPlan::default());
    let fields = TcpFields { seq: 5, timestamps: Some((3, 4)), ..TcpFields::default() };
    let mut whole = Packet::tcp(IpVersion::V6, end(1, 1000), end(2, 80), fields, 1000);
    assert!(whole.dont_fragment());
    whole.add_fragment_header(0x0102_0304, &mut arena);
    assert_eq!((whole.wire_len(), whole.payload_len()), (40 + 8 + 32 + 1000, 1000));
    let original = arena.duplicate(&whole);
    let datagram = bytes_of(&whole, &arena);
    assert_eq!((datagram[6], &datagram[40..48]), (44, &[6, 0, 0, 0, 1, 2, 3, 4][..]));
    let again = parsed(&datagram, &mut arena);
    assert_same(&original, &again, &arena);
    let (lead, tail) = cut_ipv6(whole, 400, None, &mut arena).unwrap();
    let (lead, middle) = cut_ipv6(lead, 24, None, &mut arena).unwrap();
    let mut pieces = vec![lead, middle, tail];
    // Offset in units of 8 bytes in the upper 13 bits, M in the lowest one.
    let places = [[0, 1], [0, 25], [1, 144]]; // 0 | 1, 24 | 1, 400 | 0
    let lengths = [24, 376, 632];
    for ((piece, place), len) in pieces.iter().zip(places).zip(lengths) {
        let bytes = bytes_of(piece, &arena);
        assert_eq!(bytes[4..8], [((8 + len) >> 8) as u8, (8 + len) as u8, 44, 64]);
        assert_eq!(bytes[40..48], [6, 0, place[0], place[1], 1, 2, 3, 4]);
        assert_eq!((bytes.len(), piece.ip_header_len(&arena)), (48 + len, 48));
        assert_eq!(bytes[..4], datagram[..4]);
    }
    // The next header of a fragment that is not the first counts for nothing.
    let mut third = bytes_of(&pieces[2], &arena);
    third[40] = 17;
    arena.free(pieces.pop().unwrap());
    pieces.push(parsed(&third, &mut arena));
    let joined = join(&mut pieces, &plan, &mut arena).unwrap();
    assert_eq!(bytes_of(&joined, &arena), datagram);
    [original, again, joined].into_iter().for_each(|packet| arena.free(packet));
    assert_eq!(arena.live(), 0);
}

#[test]
fn a_piece_from_outside_can_be_cut_again() {
    let (mut arena, plan) = (Arena::default(), AddressPlan::default());
    let whole = fragmentable(1000, &mut arena);
    let original = arena.duplicate(&whole);
    let mut pieces = through_bytes(three_pieces(whole, &mut arena), &mut arena);
    let (a, b) = cut_ipv4(pieces.remove(0), 80, &mut arena).unwrap();
    let mut pieces: Vec<Packet> = [a, b].into_iter().chain(pieces).collect();
    let mut bytes = vec![];
    emit(&pieces[1], &arena, &plan, &mut bytes).unwrap();
    assert_eq!(bytes.len(), usize::from(pieces[1].wire_len()));
    let again = join(&mut pieces, &plan, &mut arena).unwrap();
    assert_same(&original, &again, &arena);
}

#[test]
fn marks_and_ttl_of_pieces_reach_the_datagram() {
    let (mut arena, plan) = (Arena::default(), AddressPlan::default());
    let mut whole = fragmentable(1000, &mut arena);
    whole.set_ecn(Ecn::Ect0);
    let mut pieces = through_bytes(three_pieces(whole, &mut arena), &mut arena);
    pieces[2].set_ecn(Ecn::Ce);
    pieces.iter_mut().for_each(|p| p.set_ttl(60));
    let again = join(&mut pieces, &plan, &mut arena).unwrap();
    assert_eq!((again.ecn(), again.ttl()), (Ecn::Ce, 60));
}

#[test]
fn pieces_that_do_not_fit_are_refused_and_kept() {
    let (mut arena, plan) = (Arena::default(), AddressPlan::default());
    let mut refused = |spoil: &dyn Fn(&mut Vec<Packet>, &mut Arena)| {
        let whole = fragmentable(1000, &mut arena);
        let mut pieces = through_bytes(three_pieces(whole, &mut arena), &mut arena);
        spoil(&mut pieces, &mut arena);
        let before = pieces.len();
        assert_eq!(join(&mut pieces, &plan, &mut arena).unwrap_err(), ParseError::Pieces);
        assert_eq!(pieces.len(), before);
        pieces.into_iter().for_each(|p| arena.free(p));
        assert_eq!(arena.live(), 0);
    };
    refused(&|pieces, arena| arena.free(pieces.remove(0)));
    refused(&|pieces, arena| arena.free(pieces.remove(1)));
    refused(&|pieces, arena| arena.free(pieces.pop().unwrap()));
    refused(&|pieces, _| pieces.swap(0, 1));
    refused(&|pieces, arena| pieces[1].cold_mut(arena).ip_id = 1);
    refused(&|pieces, arena| {
        let twice = arena.duplicate(&pieces[1]);
        pieces.insert(1, twice);
    });
    refused(&|pieces, arena| pieces.drain(..).for_each(|p| arena.free(p)));
}

#[test]
fn typed_pieces_join_by_their_bytes_and_beside_others() {
    let (mut arena, plan) = (Arena::default(), AddressPlan::default());
    for bytes_of_first in [false, true] {
        let whole = fragmentable(1000, &mut arena);
        let original = arena.duplicate(&whole);
        let mut pieces = three_pieces(whole, &mut arena);
        if bytes_of_first {
            let first = through_bytes(vec![pieces.remove(0)], &mut arena);
            pieces.splice(0..0, first);
        }
        let again = join(&mut pieces, &plan, &mut arena).unwrap();
        assert_same(&original, &again, &arena);
        [original, again].into_iter().for_each(|packet| arena.free(packet));
    }
    assert_eq!(arena.live(), 0);
}

//! Fragments as another implementation reads them and puts them together: etherparse.

use crate::make::*;
use etherparse::defrag::{IpDefragPayloadVec, IpDefragPool};
use etherparse::{
    IpNumber, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, SlicedPacket,
};
use forebay_base::{Arena, Cold, Ecn, IpVersion, Kind, OptionList, Packet, Rng, payload_within};
use forebay_wire::{AddressPlan, join};

/// What all fragments of a datagram show of it.
#[derive(Debug, PartialEq)]
struct Shown {
    id: u16,
    protocol: u8,
    ends: ([u8; 4], [u8; 4]),
    dscp: u8,
    ecn: u8,
    ttl: u8,
}

impl Shown {
    fn of(header: &Ipv4HeaderSlice<'_>) -> Shown {
        Shown {
            id: header.identification(),
            protocol: header.protocol().0,
            ends: (header.source(), header.destination()),
            dscp: header.dcp().value(),
            ecn: header.ecn().value(),
            ttl: header.ttl(),
        }
    }
}

/// The IPv4 header of `bytes` as etherparse reads it, its checksum verified.
fn header(bytes: &[u8]) -> Ipv4HeaderSlice<'_> {
    let header = Ipv4HeaderSlice::from_slice(bytes).expect("a header");
    assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
    assert_eq!(usize::from(header.total_len()), bytes.len());
    header
}

/// Options of whole kinds, padded: with some that are copied and some that are not.
fn options(rng: &mut Rng) -> OptionList {
    let all: [&[u8]; 5] = [&[1], &[7, 3, 4], &[131, 3, 4], &[148, 4, 0, 0], &[68, 5, 5, 0, 9]];
    let mut bytes = vec![];
    for _ in 0..rng.below(6) {
        bytes.extend_from_slice(all[rng.below(5) as usize]);
    }
    OptionList::from_bytes(&bytes).expect("at most 25 bytes")
}

/// A datagram that may be cut: TCP or another protocol, the latter known by its bytes.
fn datagram(rng: &mut Rng, arena: &mut Arena) -> Packet {
    loop {
        let mut whole = random_segment(rng, arena);
        whole.set_dont_fragment(false);
        if whole.version() == IpVersion::V6 || whole.payload_len() < 100 {
            arena.free(whole);
            continue;
        }
        whole.set_ip_options(options(rng), arena).expect("IPv4");
        if rng.chance(0.5) {
            return whole;
        }
        let ends = (whole.src(), whole.dst());
        let mut bytes = bytes_of(&whole, arena);
        arena.free(whole);
        bytes[9] = 47; // GRE: no ports
        fix_checksums(&mut bytes);
        let (ttl, ecn) = (bytes[8], Ecn::from_bits(bytes[1]));
        let cold = Cold { body: Some(bytes.into()), ..Cold::default() };
        let mut foreign = Packet::opaque(IpVersion::V4, ends, None, cold, arena);
        foreign.set_ttl(ttl);
        foreign.set_ecn(ecn);
        return foreign;
    }
}

/// Cut into two to nine fragments: some fragment again and again, whichever it is.
fn cut_often(whole: Packet, rng: &mut Rng, arena: &mut Arena) -> Vec<Packet> {
    let mut pieces = vec![whole];
    for _ in 0..1 + rng.below(8) {
        let at = rng.below(pieces.len() as u64) as usize;
        let piece = pieces.remove(at);
        let mtu = 68 + rng.below(1440) as u16;
        let payload = payload_within(mtu, &piece, arena);
        let cut = match cut(piece, payload, arena) {
            Ok((first, second)) => vec![first, second],
            Err(uncut) => vec![uncut.packet],
        };
        pieces.splice(at..at, cut);
    }
    pieces
}

fn shuffle<T>(list: &mut [T], rng: &mut Rng) {
    (1..list.len()).for_each(|i| list.swap(i, rng.below(i as u64 + 1) as usize));
}

/// Each fragment parses there to the fields of its datagram, and to its own place in it; all of
/// them, in any order, are put together there to the payload of the datagram, and here to the
/// datagram. RFC 791 section 3.2: the first has all options, the others those with the copied bit.
#[test]
fn every_piece_parses_in_etherparse_and_all_are_the_datagram() {
    let (mut rng, mut arena) = (rng(20), Arena::default());
    let (mut cuts, mut shrunk) = (0, 0);
    for _ in 0..5_000 {
        let whole = datagram(&mut rng, &mut arena);
        let bytes = bytes_of(&whole, &arena);
        let was = header(&bytes);
        let pieces = cut_often(whole, &mut rng, &mut arena);
        if let [only] = &pieces[..] {
            assert_ne!(only.kind(), Kind::Fragment);
            arena.free(pieces.into_iter().next().expect("one"));
            continue;
        }
        cuts += 1;
        let mut offset = 0;
        let mut emitted: Vec<Vec<u8>> = vec![];
        for (nth, piece) in pieces.iter().enumerate() {
            let bytes = bytes_of(piece, &arena);
            let header = header(&bytes);
            assert_eq!(Shown::of(&header), Shown::of(&was));
            let place =
                (usize::from(header.fragments_offset().byte_offset()), header.more_fragments());
            assert_eq!(place, (offset, nth + 1 < pieces.len()));
            assert!(!header.dont_fragment());
            if nth == 0 {
                assert_eq!(header.options(), was.options());
            } else {
                let copied = was.options().iter().any(|byte| matches!(byte, 131 | 148));
                assert_eq!(!header.options().is_empty(), copied, "{:?}", was.options());
                shrunk += u32::from(header.options().len() < was.options().len());
            }
            offset += bytes.len() - header.slice().len();
            emitted.push(bytes);
        }
        pieces.into_iter().for_each(|piece| arena.free(piece));
        assert_eq!(bytes_joined(&emitted, &mut arena), bytes);
        shuffle(&mut emitted, &mut rng);
        let joined = joined_by_etherparse(&emitted);
        assert_eq!(joined.ip_number, IpNumber(bytes[9]));
        assert_eq!(joined.payload, bytes[was.slice().len()..]);
    }
    assert!(cuts > 4_000 && shrunk > 2_000, "{cuts} {shrunk}");
    assert_eq!(arena.live(), 0);
}

/// The bytes of what our own parts make of all fragments, in order.
fn bytes_joined(emitted: &[Vec<u8>], arena: &mut Arena) -> Vec<u8> {
    let mut pieces = emitted.iter().map(|bytes| parsed(bytes, arena)).collect();
    let whole = join(&mut pieces, &AddressPlan::default(), arena).expect("all of them, in order");
    let bytes = bytes_of(&whole, arena);
    arena.free(whole);
    bytes
}

/// What etherparse makes of all fragments, in any order: whole with the last one, and not before.
fn joined_by_etherparse(emitted: &[Vec<u8>]) -> IpDefragPayloadVec {
    let mut pool = IpDefragPool::<(), ()>::new();
    let mut joined = None;
    for bytes in emitted {
        assert!(joined.is_none());
        let sliced = SlicedPacket::from_ip(bytes).expect("an IP packet");
        joined = pool.process_sliced_packet(&sliced, (), ()).expect("no conflict");
    }
    joined.expect("whole with its last piece")
}

/// What all fragments of a datagram of IPv6 show of it.
fn shown_v6(bytes: &[u8]) -> (Vec<u8>, IpNumber, u32) {
    let header = Ipv6HeaderSlice::from_slice(bytes).expect("a header");
    assert_eq!(usize::from(header.payload_length()) + 40, bytes.len());
    assert_eq!(header.next_header(), IpNumber::IPV6_FRAGMENTATION_HEADER);
    let fragment = Ipv6FragmentHeaderSlice::from_slice(&bytes[40..]).expect("a header");
    let mut fixed = bytes[..40].to_vec();
    fixed[4..6].fill(0); // the payload length is the piece's own
    (fixed, fragment.next_header(), fragment.identification())
}

/// The same of IPv6: the Fragment header of an atomic fragment becomes that of fragments.
#[test]
fn every_piece_of_ipv6_parses_in_etherparse_and_all_are_the_datagram() {
    let (mut rng, mut arena) = (rng(21), Arena::default());
    let mut cuts = 0;
    while cuts < 2_000 {
        let mut whole = random_segment(&mut rng, &mut arena);
        if whole.version() == IpVersion::V4 || whole.payload_len() < 100 {
            arena.free(whole);
            continue;
        }
        whole.add_fragment_header(rng.next_u64() as u32, &mut arena);
        let bytes = bytes_of(&whole, &arena);
        let pieces = cut_often(whole, &mut rng, &mut arena);
        if pieces.len() == 1 {
            pieces.into_iter().for_each(|piece| arena.free(piece));
            continue;
        }
        cuts += 1;
        let mut offset = 0;
        let mut emitted: Vec<Vec<u8>> = vec![];
        for (nth, piece) in pieces.iter().enumerate() {
            let piece = bytes_of(piece, &arena);
            assert_eq!(shown_v6(&piece), shown_v6(&bytes));
            let fragment = Ipv6FragmentHeaderSlice::from_slice(&piece[40..]).expect("a header");
            let place =
                (usize::from(fragment.fragment_offset().byte_offset()), fragment.more_fragments());
            assert_eq!(place, (offset, nth + 1 < pieces.len()));
            offset += piece.len() - 48;
            emitted.push(piece);
        }
        pieces.into_iter().for_each(|piece| arena.free(piece));
        assert_eq!(bytes_joined(&emitted, &mut arena), bytes);
        shuffle(&mut emitted, &mut rng);
        let joined = joined_by_etherparse(&emitted);
        assert_eq!((joined.ip_number, &joined.payload[..]), (IpNumber::TCP, &bytes[48..]));
    }
    assert_eq!(arena.live(), 0);
}

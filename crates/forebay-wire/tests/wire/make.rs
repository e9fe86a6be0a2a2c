//! Packets drawn at random, and what it means that two are the same.

use forebay_base::{
    Addr, Arena, Cold, Ecn, Endpoint, FragmentRange, IpVersion, Kind, OptionList, Packet, Rng,
    Stream, TcpFields, TcpFlags, Uncut, cut_ipv4, cut_ipv6,
};
use forebay_wire::{AddressPlan, emit, parse};

pub fn rng(entity: u64) -> Rng {
    Rng::new(1, Stream::Test, entity)
}

pub fn end(addr: u32, port: u16) -> Endpoint {
    Endpoint { addr: Addr(addr), port }
}

/// The bytes of a packet under the default plan.
pub fn bytes_of(packet: &Packet, arena: &Arena) -> Vec<u8> {
    let mut bytes = vec![];
    emit(packet, arena, &AddressPlan::default(), &mut bytes).unwrap();
    bytes
}

pub fn parsed(bytes: &[u8], arena: &mut Arena) -> Packet {
    parse(bytes, &AddressPlan::default(), arena).unwrap()
}

/// RFC 1071 as its definition reads: one 16-bit word after the other, end-around carry at once.
pub fn slow_checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for (at, &byte) in parts.concat().iter().enumerate() {
        sum += if at % 2 == 0 { u32::from(byte) << 8 } else { u32::from(byte) };
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Write the right checksums into something that may be an IPv4 or IPv6 packet with TCP in it.
pub fn fix_checksums(bytes: &mut [u8]) {
    let v4 = bytes.first().is_some_and(|b| b >> 4 == 4);
    let header_len = if v4 { usize::from(bytes[0] & 15) * 4 } else { 40 };
    if header_len < 20 || bytes.len() < header_len {
        return;
    }
    let (header, rest) = bytes.split_at_mut(header_len);
    if v4 {
        header[10..12].fill(0);
        let sum = slow_checksum(&[header]);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    let (protocol, ends) =
        if v4 { (header[9], &header[12..20]) } else { (header[6], &header[8..]) };
    if protocol == 6 && rest.len() >= 20 {
        rest[16..18].fill(0);
        let sum = slow_checksum(&[ends, &[0, 6], &(rest.len() as u32).to_be_bytes(), rest]);
        rest[16..18].copy_from_slice(&sum.to_be_bytes());
    }
}

fn random_bytes(rng: &mut Rng, len: usize) -> Vec<u8> {
    (0..len).map(|_| rng.next_u64() as u8).collect()
}

/// Options as senders pack them, or as no one should: NOPs, zeros within and after, broken
/// lengths.
fn random_options(rng: &mut Rng, max: usize) -> OptionList {
    let mut bytes = vec![];
    while bytes.len() < max && rng.chance(0.7) {
        match rng.below(8) {
            0 => bytes.push(1),
            1 => bytes.push(0),
            2 => bytes.extend([3, rng.below(4) as u8, 0]),
            3 => bytes.extend([8, 10, 1, 2, 3, 4, 5, 6, 7, 0]),
            _ => {
                let len = rng.below(9) as usize;
                bytes.extend([rng.next_u64() as u8, 2 + len as u8]);
                let data = random_bytes(rng, len);
                bytes.extend(data.iter().map(|b| if b % 3 == 0 { 0 } else { *b }));
            }
        }
    }
    bytes.truncate(max);
    OptionList::from_bytes(&bytes).unwrap()
}

pub fn random_segment(rng: &mut Rng, arena: &mut Arena) -> Packet {
    let version = if rng.chance(0.5) { IpVersion::V4 } else { IpVersion::V6 };
    let bits = rng.next_u64();
    let fields = TcpFields {
        seq: if rng.chance(0.2) { u32::MAX - (bits as u32 % 2000) } else { bits as u32 },
        ack: (bits >> 32) as u32,
        flags: TcpFlags(rng.next_u64() as u8),
        window: rng.next_u64() as u16,
        timestamps: rng.chance(0.5).then(|| (rng.next_u64() as u32, rng.next_u64() as u32)),
    };
    let payload = [0, 1, rng.below(100), 1448][rng.below(4) as usize] as u16;
    let (src, dst) = (end(rng.below(1 << 24) as u32, 1), end(2, rng.next_u64() as u16));
    let mut packet = Packet::tcp(version, src, dst, fields, payload);
    packet.set_ttl(rng.next_u64() as u8);
    packet.set_ecn(Ecn::from_bits(rng.next_u64() as u8));
    packet.set_dont_fragment(rng.chance(0.5));
    if rng.chance(0.5) {
        let room = if fields.timestamps.is_some() { 30 } else { 40 };
        let options = random_options(rng, room);
        // Only timestamps that belong into the fields are refused.
        let refused = packet.set_tcp_options(options, arena).is_err();
        assert!(!refused || (fields.timestamps.is_none() && options.as_bytes()[..2] == [8, 10]));
    }
    if version == IpVersion::V4 && rng.chance(0.2) {
        let options = random_options(rng, 40);
        packet.set_ip_options(options, arena).unwrap();
    }
    if rng.chance(0.5) {
        let body = rng.chance(0.5).then(|| random_bytes(rng, usize::from(payload)).into());
        let cold = packet.cold_mut(arena);
        cold.dscp = rng.below(64) as u8;
        cold.urgent = rng.next_u64() as u16;
        cold.tcp_reserved = rng.below(16) as u8;
        cold.body = body;
        match version {
            IpVersion::V4 => cold.ip_id = rng.next_u64() as u32 >> 16,
            IpVersion::V6 => cold.flow_label = rng.below(1 << 20) as u32,
        }
    }
    if rng.chance(0.4) {
        packet.add_fragment_header(rng.next_u64() as u32, arena);
    }
    packet
}

/// Cut a packet of either version.
pub fn cut(packet: Packet, payload: u16, arena: &mut Arena) -> Result<(Packet, Packet), Uncut> {
    match packet.version() {
        IpVersion::V4 => cut_ipv4(packet, payload, arena),
        IpVersion::V6 => cut_ipv6(packet, payload, None, arena),
    }
}

/// A fragment cut from a segment, or of a fragment cut from one; the other fragment is freed.
pub fn random_typed_piece(rng: &mut Rng, arena: &mut Arena) -> Packet {
    loop {
        let mut whole = random_segment(rng, arena);
        whole.set_dont_fragment(false);
        let mut packet = whole;
        for _ in 0..1 + rng.below(2) {
            let payload = 8 * (1 + rng.below(u64::from(packet.wire_len()) / 8)) as u16;
            match cut(packet, payload, arena) {
                Err(uncut) => packet = uncut.packet,
                Ok((first, second)) => {
                    let (keep, other) =
                        if rng.chance(0.5) { (first, second) } else { (second, first) };
                    arena.free(other);
                    packet = keep;
                }
            }
        }
        if packet.kind() == Kind::Fragment {
            return packet;
        }
        arena.free(packet);
    }
}

pub fn random_foreign_piece(rng: &mut Rng, arena: &mut Arena) -> Packet {
    let body = {
        let len = rng.below(200) as usize;
        random_bytes(rng, len)
    };
    let (offset, protocol) = (rng.below(100) as u16 * 8, [6, 17, 1][rng.below(3) as usize]);
    let more = offset == 0 || rng.chance(0.5);
    let ports = (offset == 0 && protocol != 1 && body.len() >= 4)
        .then(|| (u16::from_be_bytes([body[0], body[1]]), u16::from_be_bytes([body[2], body[3]])));
    let version = if rng.chance(0.5) { IpVersion::V4 } else { IpVersion::V6 };
    let (header, id_bits, label_bits) = match version {
        IpVersion::V4 => (20, 16, 0),
        IpVersion::V6 => (48, 32, 20),
    };
    let len = header + body.len() as u16;
    let cold = Cold {
        ip_id: rng.below(1 << id_bits) as u32,
        flow_label: rng.below(1 << label_bits) as u32,
        dscp: rng.below(64) as u8,
        piece: Some(FragmentRange::from_outside(offset, more, protocol)),
        body: Some(body.into()),
        ..Cold::default()
    };
    let mut packet = Packet::piece(version, (Addr(1), Addr(2)), len, ports, cold, arena);
    packet.set_ttl(rng.next_u64() as u8);
    packet.set_ecn(Ecn::from_bits(rng.next_u64() as u8));
    packet.set_dont_fragment(rng.chance(0.5));
    if version == IpVersion::V4 && rng.chance(0.3) {
        packet.set_ip_options(random_options(rng, 40), arena).unwrap();
    }
    packet
}

/// A segment with one byte of its TCP checksum or its protocol changed, and another TTL and ECN
/// field than its bytes.
pub fn random_opaque(rng: &mut Rng, arena: &mut Arena) -> Packet {
    let segment = loop {
        let segment = random_segment(rng, arena);
        if segment.version() == IpVersion::V4 || segment.dont_fragment() {
            break segment;
        }
        arena.free(segment);
    };
    let (version, ends) = (segment.version(), (segment.src(), segment.dst()));
    let df = segment.dont_fragment();
    let mut bytes = bytes_of(&segment, arena);
    arena.free(segment);
    let v4 = version == IpVersion::V4;
    let ip_len = if v4 { usize::from(bytes[0] & 15) * 4 } else { 40 };
    let has_ports = rng.chance(0.5);
    if has_ports {
        bytes[ip_len + 16] ^= 1;
    } else {
        bytes[if v4 { 9 } else { 6 }] = 1;
        fix_checksums(&mut bytes);
    }
    let half = |at: usize| u16::from_be_bytes([bytes[ip_len + at], bytes[ip_len + at + 1]]);
    let ports = has_ports.then(|| (half(0), half(2)));
    let cold = Cold { body: Some(bytes.into()), ..Cold::default() };
    let mut packet = Packet::opaque(version, ends, ports, cold, arena);
    packet.set_dont_fragment(df);
    packet.set_ttl(rng.next_u64() as u8);
    packet.set_ecn(Ecn::from_bits(rng.next_u64() as u8));
    packet
}

pub fn random_packet(rng: &mut Rng, arena: &mut Arena) -> Packet {
    match rng.below(8) {
        0 => random_opaque(rng, arena),
        1 => random_foreign_piece(rng, arena),
        2 => random_typed_piece(rng, arena),
        _ => random_segment(rng, arena),
    }
}

/// All that a machine can read of two packets is the same. Of a typed fragment and a segment with
/// the test pattern the one that came from bytes may hold those bytes.
pub fn assert_same(a: &Packet, b: &Packet, arena: &Arena) {
    assert_eq!(a.kind(), b.kind(), "{a:?} {b:?}");
    assert_eq!((a.version(), a.src(), a.dst()), (b.version(), b.src(), b.dst()));
    assert_eq!((a.ports(), a.flow_hash(7, arena)), (b.ports(), b.flow_hash(7, arena)));
    assert_eq!((a.wire_len(), a.header_len()), (b.wire_len(), b.header_len()));
    assert_eq!((a.ecn(), a.ttl(), a.dont_fragment()), (b.ecn(), b.ttl(), b.dont_fragment()));
    assert_eq!(a.tcp_fields(), b.tcp_fields());
    let visible = |packet: &Packet| {
        let mut cold = packet.cold_part(arena).cloned().unwrap_or_default();
        cold.piece = cold.piece.map(|p| FragmentRange::from_outside(p.offset, p.more, p.protocol));
        cold.body = None;
        cold
    };
    assert_eq!(visible(a), visible(b));
    assert_eq!(a.digest(arena), b.digest(arena), "{a:?} {b:?}");
}

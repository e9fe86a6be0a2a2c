//! `parse(emit(p)) == p`, and the bytes against packets laid out independently.

use crate::make::*;
use forebay_base::{
    Arena, Cold, Ecn, Handle, IpVersion, Kind, OptionList, Packet, TcpFields, TcpFlags, kind,
};
use forebay_wire::{AddressPlan, Pattern, PlanError, emit, parse};

#[test]
fn every_packet_comes_back_from_its_bytes() {
    let (mut rng, mut arena) = (rng(1), Arena::default());
    let mut seen = [0; 3];
    for _ in 0..40_000 {
        let packet = random_packet(&mut rng, &mut arena);
        let mut bytes = vec![0xaa; 3];
        emit(&packet, &arena, &AddressPlan::default(), &mut bytes).unwrap();
        assert_eq!(bytes[..3], [0xaa; 3]);
        let bytes = &bytes[3..];
        assert_eq!(bytes.len(), usize::from(packet.wire_len()));
        let back = parsed(bytes, &mut arena);
        assert_same(&packet, &back, &arena);
        assert_eq!(bytes_of(&back, &arena), bytes);
        seen[packet.kind() as usize] += 1;
        arena.free(packet);
        arena.free(back);
    }
    assert_eq!(arena.live(), 0);
    assert!(seen.iter().all(|&n| n > 3000), "{seen:?}");
}

#[test]
fn checksums_are_right_by_the_definition() {
    let (mut rng, mut arena) = (rng(2), Arena::default());
    for _ in 0..5_000 {
        let packet = random_segment(&mut rng, &mut arena);
        let bytes = bytes_of(&packet, &arena);
        let mut fixed = bytes.clone();
        fix_checksums(&mut fixed);
        assert_eq!(bytes, fixed);
        arena.free(packet);
    }
}

#[test]
fn a_plain_segment_needs_no_cold_part_on_either_side() {
    let mut arena = Arena::default();
    for version in [IpVersion::V4, IpVersion::V6] {
        for timestamps in [None, Some((1, 2))] {
            let fields =
                TcpFields { seq: 7, flags: TcpFlags::ACK, timestamps, ..TcpFields::default() };
            let packet = Packet::tcp(version, end(1, 2), end(3, 4), fields, 1000);
            let back = parsed(&bytes_of(&packet, &arena), &mut arena);
            assert_eq!(back.cold(), Handle::NONE);
            assert_same(&packet, &back, &arena);
        }
    }
    assert_eq!(arena.live(), 0);
}

#[test]
fn foreign_payload_is_kept_and_the_pattern_is_not() {
    let mut arena = Arena::default();
    let (src, dst) = (end(1, 2), end(3, 4));
    let fields = TcpFields { seq: u32::MAX - 2, flags: TcpFlags::SYN, ..TcpFields::default() };
    let packet = Packet::tcp(IpVersion::V4, src, dst, fields, 100);
    let mut bytes = bytes_of(&packet, &arena);
    // The SYN takes up a sequence number: data begins after it.
    assert!(
        (0..100u32).all(|i| bytes[40 + i as usize]
            == Pattern::new(src, dst).byte((u32::MAX - 1).wrapping_add(i)))
    );
    bytes[139] ^= 1;
    fix_checksums(&mut bytes);
    let foreign = parsed(&bytes, &mut arena);
    assert_eq!(foreign.kind(), Kind::Tcp);
    assert_eq!(foreign.cold_part(&arena).unwrap().body.as_deref(), Some(&bytes[40..]));
    assert_eq!(foreign.digest(&arena), packet.digest(&arena), "payload is not part of the digest");
}

/// seq 2^32-5, ack 01020304, PSH|ACK, window 1234, timestamps, one SACK block, "hello", EF, ECT(0),
/// TTL 63.
fn hello(version: IpVersion, arena: &mut Arena) -> Packet {
    let fields = TcpFields {
        seq: u32::MAX - 4,
        ack: 0x0102_0304,
        flags: TcpFlags::ACK.with(TcpFlags::PSH),
        window: 0x1234,
        timestamps: Some((0x0a0b_0c0d, 0x0e0f_1011)),
    };
    let mut packet = Packet::tcp(version, end(1, 1000), end(2, 80), fields, 5);
    let mut options = OptionList::EMPTY;
    options.push(kind::SACK, &[0, 0, 1, 0, 0, 0, 2, 0]).unwrap();
    packet.set_tcp_options(options, arena).unwrap();
    packet.set_ttl(63);
    packet.set_ecn(Ecn::Ect0);
    let cold = packet.cold_mut(arena);
    cold.dscp = 46;
    cold.body = Some((*b"hello").into());
    match version {
        IpVersion::V4 => cold.ip_id = 0x04d2,
        IpVersion::V6 => cold.flow_label = 0xabcde,
    }
    packet
}

/// Laid out and summed by another program in another language.
const HELLO_V4: [u8; 65] = [
    0x45, 0xba, 0x00, 0x41, 0x04, 0xd2, 0x40, 0x00, 0x3f, 0x06, 0x22, 0x29, 0x0a, 0x00, 0x00, 0x01,
    0x0a, 0x00, 0x00, 0x02, 0x03, 0xe8, 0x00, 0x50, 0xff, 0xff, 0xff, 0xfb, 0x01, 0x02, 0x03, 0x04,
    0xa0, 0x18, 0x12, 0x34, 0xa9, 0x24, 0x00, 0x00, 0x08, 0x0a, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
    0x10, 0x11, 0x05, 0x0a, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x68, 0x65, 0x6c, 0x6c,
    0x6f,
];

/// The first 60 bytes as IPv6 has them; the rest is the same but for the TCP checksum.
const HELLO_V6_HEAD: [u8; 60] = [
    0x6b, 0xaa, 0xbc, 0xde, 0x00, 0x2d, 0x06, 0x3f, 0xfd, 0x00, 0xf0, 0xbe, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xfd, 0x00, 0xf0, 0xbe, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xe8, 0x00, 0x50, 0xff, 0xff, 0xff, 0xfb,
    0x01, 0x02, 0x03, 0x04, 0xa0, 0x18, 0x12, 0x34, 0xe1, 0xa4, 0x00, 0x00,
];

#[test]
fn the_bytes_are_those_of_an_independent_layout() {
    let mut arena = Arena::default();
    let packet = hello(IpVersion::V4, &mut arena);
    assert_eq!(bytes_of(&packet, &arena), HELLO_V4);
    assert_same(&packet, &parsed(&HELLO_V4, &mut arena), &arena);
    let v6 = [&HELLO_V6_HEAD[..], &HELLO_V4[40..]].concat();
    let packet = hello(IpVersion::V6, &mut arena);
    assert_eq!(bytes_of(&packet, &arena), v6);
    assert_same(&packet, &parsed(&v6, &mut arena), &arena);
}

#[test]
fn an_address_outside_the_plan_writes_nothing() {
    let (arena, plan) = (Arena::default(), AddressPlan::default());
    let packet = |v| Packet::tcp(v, end(1 << 24, 1), end(2, 2), TcpFields::default(), 10);
    let mut bytes = vec![9];
    let error = emit(&packet(IpVersion::V4), &arena, &plan, &mut bytes).unwrap_err();
    assert_eq!((error, &bytes[..]), (PlanError(end(1 << 24, 1).addr), &[9][..]));
    emit(&packet(IpVersion::V6), &arena, &plan, &mut bytes).unwrap();
    assert_eq!(bytes.len(), 1 + 70);
    let elsewhere = AddressPlan::new(11, [0xfd; 12]);
    let mut arena = Arena::default();
    assert!(parse(&bytes[1..], &elsewhere, &mut arena).is_err());
    assert!(parse(&bytes[1..], &plan, &mut arena).is_ok());
}

#[test]
#[should_panic(expected = "another length")]
fn a_body_of_another_length_is_a_bug() {
    let mut arena = Arena::default();
    let mut packet = Packet::tcp(IpVersion::V4, end(1, 1), end(2, 2), TcpFields::default(), 10);
    *packet.cold_mut(&mut arena) = Cold { body: Some([0; 9].into()), ..Cold::default() };
    bytes_of(&packet, &arena);
}

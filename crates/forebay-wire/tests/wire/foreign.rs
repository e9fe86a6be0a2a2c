//! What others send: kept verbatim, or refused for a reason.

use crate::make::*;
use forebay_base::{Arena, Cold, Ecn, Kind, Packet};
use forebay_wire::{AddressPlan, ParseError, parse};

/// An IPv4 packet from 10.0.0.1 to 10.0.0.2 with right checksums.
fn v4(tos: u8, flags: [u8; 2], protocol: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let len = (20 + options.len() + payload.len()) as u16;
    let mut bytes = vec![0x45 + options.len() as u8 / 4, tos];
    bytes.extend(len.to_be_bytes());
    bytes.extend([0x12, 0x34, flags[0], flags[1], 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(options);
    bytes.extend(payload);
    fix_checksums(&mut bytes);
    bytes
}

fn v6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0, 0, payload.len() as u8, next_header, 64];
    for id in [1, 2] {
        bytes.extend([0xfd, 0, 0xf0, 0xbe, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, id]);
    }
    bytes.extend(payload);
    fix_checksums(&mut bytes);
    bytes
}

/// A TCP header from port 1000 to 80 with `options`, and two bytes of payload.
fn tcp(reserved: u8, urgent: u16, options: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x03, 0xe8, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2];
    bytes.extend([(5 + options.len() as u8 / 4) << 4 | reserved, 0x10, 0x20, 0x00, 0, 0]);
    bytes.extend(urgent.to_be_bytes());
    bytes.extend(options);
    bytes.extend(b"hi");
    bytes
}

const DF: [u8; 2] = [0x40, 0];

/// Parse, check that the same bytes come back, and hand the packet to `look`.
fn carried(bytes: &[u8], look: impl FnOnce(&Packet, &Cold)) {
    let mut arena = Arena::default();
    let packet = parsed(bytes, &mut arena);
    assert_eq!(bytes_of(&packet, &arena), bytes);
    look(&packet, packet.cold_part(&arena).unwrap());
    arena.free(packet);
    assert_eq!(arena.live(), 0);
}

#[test]
fn timestamps_are_hot_only_where_forebay_writes_them() {
    let stamps = [8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
    let canonical = [&stamps[..], &[0, 0]].concat();
    carried(&v4(0, DF, 6, &[], &tcp(0, 0, &canonical)), |packet, cold| {
        assert_eq!(packet.tcp_fields().unwrap().timestamps, Some((5, 6)));
        assert!(cold.tcp_options.is_empty());
    });
    let linux = [&[1, 1], &stamps[..]].concat();
    carried(&v4(0, DF, 6, &[], &tcp(0, 0, &linux)), |packet, cold| {
        assert_eq!(packet.tcp_fields().unwrap().timestamps, None);
        assert_eq!(cold.tcp_options.as_bytes(), linux);
        assert_eq!(cold.tcp_options.find(8), Some(&stamps[2..]));
    });
    let padded_with_nops = [&stamps[..], &[1, 1]].concat();
    carried(&v4(0, DF, 6, &[], &tcp(0, 0, &padded_with_nops)), |packet, cold| {
        assert_eq!(packet.tcp_fields().unwrap().timestamps, Some((5, 6)));
        assert_eq!(cold.tcp_options.as_bytes(), [1, 1]);
    });
}

#[test]
fn an_option_that_ends_in_zeros_keeps_them() {
    let maximum_segment_size = [2, 4, 5, 0];
    carried(&v4(0, DF, 6, &[], &tcp(0, 0, &maximum_segment_size)), |_, cold| {
        assert_eq!(cold.tcp_options.as_bytes(), maximum_segment_size);
    });
    let more_padding_than_needed = [3, 3, 0, 0, 0, 0, 0, 0];
    carried(&v4(0, DF, 6, &[], &tcp(0, 0, &more_padding_than_needed)), |_, cold| {
        assert_eq!(cold.tcp_options.find(3), Some(&[0u8][..]));
        assert_eq!(cold.tcp_options.len().next_multiple_of(4), 8);
    });
    let something_behind_the_end = [3, 3, 7, 0, 0, 0, 9, 0];
    carried(&v4(0, DF, 6, &[], &tcp(0, 0, &something_behind_the_end)), |_, cold| {
        assert_eq!(cold.tcp_options.as_bytes(), &something_behind_the_end[..7]);
    });
    carried(&v4(0, DF, 6, &[], &tcp(0, 0, &[5, 0, 3, 9])), |packet, _| {
        assert_eq!(packet.kind(), Kind::Tcp, "malformed options are the host's business");
    });
}

#[test]
fn every_field_of_a_segment_is_kept() {
    let router_alert = [0x94, 4, 0, 0];
    carried(&v4(0xb9, [0, 0], 6, &router_alert, &tcp(0xf, 0x55aa, &[])), |packet, cold| {
        assert_eq!((packet.kind(), packet.header_len(), packet.payload_len()), (Kind::Tcp, 44, 2));
        assert_eq!((cold.dscp, packet.ecn()), (0x2e, Ecn::Ect1));
        assert_eq!((cold.ip_id, packet.dont_fragment()), (0x1234, false));
        assert_eq!((cold.urgent, cold.tcp_reserved), (0x55aa, 0xf));
        assert_eq!(cold.ip_options.as_bytes(), router_alert);
        assert_eq!(cold.body.as_deref(), Some(&b"hi"[..]));
    });
}

#[test]
fn what_is_no_plain_segment_is_opaque() {
    let udp = [0x30, 0x39, 0, 53, 0, 8, 0, 0];
    let opaque = |bytes: &[u8], ports| {
        carried(bytes, |packet, cold| {
            assert_eq!((packet.kind(), packet.ports()), (Kind::Opaque, ports));
            assert_eq!(cold.body.as_deref(), Some(bytes));
        });
    };
    opaque(&v4(1, DF, 17, &[], &udp), Some((12345, 53)));
    opaque(&v4(1, DF, 1, &[], &udp), None);
    opaque(&v4(0, DF, 17, &[], &udp[..3]), None);
    opaque(&v6(17, &udp), Some((12345, 53)));
    // A hop-by-hop header before TCP: not looked into. A Fragment header with a bit set that a
    // sender leaves clear (RFC 8200 section 4.5), one that ends within it, and an atomic fragment
    // (RFC 6946) of something else than TCP.
    opaque(&v6(0, &[&[6, 0, 1, 4, 0, 0, 0, 0], &tcp(0, 0, &[])[..]].concat()), None);
    opaque(&v6(44, &[&[6, 1, 0, 1, 0, 0, 0, 9], &tcp(0, 0, &[])[..]].concat()), None);
    opaque(&v6(44, &[&[6, 0, 0, 3, 0, 0, 0, 9], &tcp(0, 0, &[])[..]].concat()), None);
    opaque(&v6(44, &[6, 0, 0, 0, 0, 0, 0]), None);
    opaque(&v6(44, &[&[17, 0, 0, 0, 0, 0, 0, 9], &udp[..]].concat()), Some((12345, 53)));
    // The flag that must be zero, and fragments with it.
    opaque(&v4(0, [0x80, 0], 6, &[], &tcp(0, 0, &[])), Some((1000, 80)));
    // A wrong checksum, a header of 16 bytes, a header longer than the segment, half a header.
    let mut wrong = v4(0, DF, 6, &[], &tcp(0, 0, &[]));
    wrong[36] ^= 1;
    opaque(&wrong, Some((1000, 80)));
    for offset in [0x40, 0x60] {
        let mut segment = tcp(0, 0, &[]);
        segment[12] = offset;
        opaque(&v4(0, DF, 6, &[], &segment), Some((1000, 80)));
    }
    opaque(&v4(0, DF, 6, &[], &tcp(0, 0, &[])[..19]), Some((1000, 80)));
    opaque(&v4(0, DF, 6, &[], &[]), None);
}

#[test]
fn of_the_two_zeros_of_a_tcp_checksum_only_the_written_one_makes_a_segment() {
    // An urgent pointer equal to the checksum without it brings the sum to 0xffff.
    let sum = v4(0, DF, 6, &[], &tcp(0, 0, &[]))[36..38].to_vec();
    let mut bytes = v4(0, DF, 6, &[], &tcp(0, u16::from_be_bytes([sum[0], sum[1]]), &[]));
    assert_eq!(bytes[36..38], [0, 0]);
    carried(&bytes, |packet, _| assert_eq!(packet.kind(), Kind::Tcp));
    bytes[36..38].fill(0xff);
    carried(&bytes, |packet, _| assert_eq!(packet.kind(), Kind::Opaque));
}

#[test]
fn a_router_changes_ttl_and_ecn_of_what_it_does_not_understand() {
    let mut arena = Arena::default();
    let udp = [0x30, 0x39, 0, 53, 0, 8, 0, 0];
    for bytes in [v4(0xba, DF, 17, &[1, 1, 1, 0], &udp), v6(17, &udp)] {
        let mut packet = parsed(&bytes, &mut arena);
        assert!(packet.decrement_ttl());
        packet.set_ecn(Ecn::Ce);
        let mut expected = bytes.clone();
        if bytes[0] >> 4 == 4 {
            (expected[8], expected[1]) = (63, 0xbb);
            fix_checksums(&mut expected);
        } else {
            (expected[7], expected[1]) = (63, 0x30);
        }
        assert_eq!(bytes_of(&packet, &arena), expected);
        let back = parsed(&expected, &mut arena);
        assert_same(&packet, &back, &arena);
    }
}

#[test]
fn refusals_say_why_and_leave_nothing_behind() {
    let good = v4(0, DF, 6, &[], &tcp(0, 0, &[]));
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        fix_checksums(&mut bytes);
        bytes
    };
    let mut long = good.clone();
    long.push(0);
    let mut unsummed = good.clone();
    unsummed[8] = 1;
    let cases = [
        (vec![], ParseError::Truncated),
        (good[..41].to_vec(), ParseError::Truncated),
        (with(0, 0x55), ParseError::Version),
        (with(0, 0x44), ParseError::Length),
        (with(3, 19), ParseError::Length),
        (long, ParseError::Length),
        (unsummed, ParseError::Checksum),
        (with(12, 11), ParseError::UnknownAddress),
        (with(16, 11), ParseError::UnknownAddress),
        // A fragment that would end after byte 65 535.
        (v4(0, [0x1f, 0xff], 6, &[], &[0; 8]), ParseError::Length),
    ];
    let mut arena = Arena::default();
    for (bytes, expected) in cases {
        let result = parse(&bytes, &AddressPlan::default(), &mut arena);
        assert_eq!(result.unwrap_err(), expected, "{bytes:02x?}");
    }
    assert_eq!(arena.live(), 0);
}

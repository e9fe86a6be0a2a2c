use super::*;
use crate::checksum::checksum;
use crate::{emit, parse};
use forebay_base::{Addr, Arena, Endpoint, IpVersion, Packet, Rng, Stream, TcpFields, TcpFlags};

const HOSTS: [Addr; 2] = [Addr(1), Addr(2)];
const ROUTER: Addr = Addr(0xff_fffe);
const TROUBLES: [Trouble; 5] = [
    Trouble::TimeExceeded,
    Trouble::NoRoute,
    Trouble::TooBig { mtu_bytes: 1400 },
    Trouble::NoProtocol,
    Trouble::NoPort,
];

fn plan() -> AddressPlan {
    AddressPlan::default()
}

/// An IPv4 packet between the hosts.
fn v4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    v4_with(|ip| ip.protocol = protocol, payload)
}
fn v4_with(change: impl FnOnce(&mut Ipv4<'static>), payload: &[u8]) -> Vec<u8> {
    let ends = HOSTS.map(|host| plan().to_v4(host).unwrap());
    let mut ip = Ipv4 {
        tos: 0,
        id: 7,
        reserved_flag: false,
        dont_fragment: false,
        more: false,
        offset: 0,
        ttl: 1,
        protocol: 17,
        ends,
        options: &[],
    };
    change(&mut ip);
    let mut header = [0; crate::ipv4::MAX_HEADER];
    let len = ip.write(payload.len(), &mut header);
    [&header[..len], payload].concat()
}
fn v6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    v6_between(HOSTS.map(|host| plan().to_v6(host)), next_header, payload)
}
fn v6_between(ends: [[u8; 16]; 2], next_header: u8, payload: &[u8]) -> Vec<u8> {
    let ip = Ipv6 { class: 0, flow_label: 0, next_header, hop_limit: 1, ends };
    let mut header = [0; ipv6::HEADER];
    ip.write(payload.len(), &mut header);
    [&header[..], payload].concat()
}
fn error(trouble: Trouble, bytes: &[u8]) -> Option<Vec<u8>> {
    icmp_error(trouble, bytes, Some(ROUTER), &plan())
}

#[test]
fn errors_stand_as_rfc_792_and_1191_draw_them() {
    let packet = v4(17, &[9; 1480]);
    let expected = [(11, 0, 0), (3, 0, 0), (3, 4, 1400), (3, 2, 0), (3, 3, 0)];
    for (trouble, (kind, code, mtu)) in TROUBLES.into_iter().zip(expected) {
        let answer = error(trouble, &packet).unwrap();
        assert_eq!(answer.len(), 576);
        assert_eq!(checksum(&answer[..20]), 0);
        assert_eq!((answer[8], answer[9], answer[1]), (64, 1, 0xc0));
        assert_eq!(answer[12..16], plan().to_v4(ROUTER).unwrap());
        assert_eq!(answer[16..20], plan().to_v4(HOSTS[0]).unwrap());
        let message = &answer[20..];
        assert_eq!((message[0], message[1], &message[4..6]), (kind, code, &[0, 0][..]));
        assert_eq!(u16::from_be_bytes([message[6], message[7]]), mtu, "{trouble:?}");
        assert_eq!(checksum(message), 0);
        assert_eq!(message[8..], packet[..548]);
    }
    // Of a host: from the address that the packet was for, and all of a short packet.
    let short = v4(17, &[1; 8]);
    let answer = icmp_error(Trouble::NoPort, &short, None, &plan()).unwrap();
    assert_eq!(answer[12..16], plan().to_v4(HOSTS[1]).unwrap());
    assert_eq!(answer[28..], short);
}

#[test]
fn errors_stand_as_rfc_4443_draws_them() {
    let packet = v6(17, &[9; 1452]);
    let expected = [(3, 0, 0), (1, 0, 0), (2, 0, 1400), (4, 1, 6), (1, 4, 0)];
    for (trouble, (kind, code, number)) in TROUBLES.into_iter().zip(expected) {
        let answer = error(trouble, &packet).unwrap();
        assert_eq!((answer.len(), answer[6], answer[7]), (1280, 58, 64));
        assert_eq!(answer[8..24], plan().to_v6(ROUTER));
        assert_eq!(answer[24..40], plan().to_v6(HOSTS[0]));
        let message = &answer[40..];
        assert_eq!((message[0], message[1]), (kind, code));
        assert_eq!(u32::from_be_bytes(*message[4..].first_chunk().unwrap()), number);
        assert_eq!(message[8..], packet[..1232]);
        let mut pseudo = answer[8..40].to_vec();
        pseudo.extend([0, 0, 0x04, 0xd8, 0, 0, 0, 58]);
        pseudo.extend_from_slice(message);
        assert_eq!(checksum(&pseudo), 0);
    }
}

#[test]
fn what_must_not_be_answered_is_not() {
    let silent = |packet: &[u8], what: &str| {
        for trouble in TROUBLES {
            assert_eq!(error(trouble, packet), None, "{what}");
        }
    };
    for kind in [3, 4, 5, 11, 12] {
        silent(&v4(1, &[kind, 0, 0, 0, 0, 0, 0, 0]), "an ICMP error");
    }
    silent(&v4(1, &[]), "an ICMP message without a type");
    assert!(error(Trouble::NoRoute, &v4(1, &[8, 0, 0, 0])).is_some(), "an echo request");
    silent(&v4_with(|ip| ip.offset = 8, &[0; 8]), "a later fragment");
    assert!(error(Trouble::NoRoute, &v4_with(|ip| ip.more = true, &[0; 8])).is_some());
    for address in [[0; 4], [127, 0, 0, 1], [224, 0, 0, 5], [255; 4], [240, 0, 0, 1]] {
        for end in 0..2 {
            silent(&v4_with(|ip| ip.ends[end] = address, &[0; 8]), "not one host");
        }
    }
    for kind in [1, 2, 3, 4, 100, 127, 137] {
        silent(&v6(58, &[kind, 0, 0, 0, 0, 0, 0, 0]), "an ICMPv6 error");
    }
    silent(&v6(58, &[]), "an ICMPv6 message without a type");
    silent(&v6(44, &[58, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0]), "an error in a fragment");
    silent(&v6(44, &[17, 0, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0]), "a later fragment");
    let host = plan().to_v6(HOSTS[0]);
    let (mut multicast, mut loopback) = ([0; 16], [0; 16]);
    (multicast[0], loopback[15]) = (0xff, 1);
    for address in [[0; 16], multicast, loopback] {
        silent(&v6_between([host, address], 17, &[0; 8]), "to no host");
        silent(&v6_between([address, host], 17, &[0; 8]), "from no host");
    }
    silent(&[], "nothing");
    silent(&v4(17, &[0; 8])[..19], "a part of a header");
}

/// No answer to an answer, whatever the bytes are.
#[test]
fn answers_are_not_answered() {
    let mut rng = Rng::new(3, Stream::Test, 0);
    for round in 0..20_000 {
        let random: Vec<u8> = (0..rng.below(64)).map(|_| rng.next_u64() as u8).collect();
        let packet = match round % 3 {
            0 => random,
            1 => v4(rng.next_u64() as u8, &random),
            _ => v6(rng.next_u64() as u8, &random),
        };
        let trouble = TROUBLES[rng.below(5) as usize];
        if let Some(answer) = error(trouble, &packet) {
            assert_eq!(error(trouble, &answer), None, "{packet:?}");
            assert_eq!(echo_reply(&answer), None, "{packet:?}");
        }
        if let Some(reply) = echo_reply(&packet) {
            assert_eq!(echo_reply(&reply), None, "{packet:?}");
        }
    }
}

#[test]
fn an_echo_comes_back_with_its_data() {
    let mut request = [8, 0, 0, 0, 0x12, 0x34, 0, 1, b'd', b'a', b't'];
    let sum = checksum(&request);
    request[2..4].copy_from_slice(&sum.to_be_bytes());
    let packet = v4_with(|ip| (ip.protocol, ip.tos) = (1, 0xb9), &request);
    let reply = echo_reply(&packet).unwrap();
    assert_eq!((reply[20], &reply[24..], checksum(&reply[20..])), (0, &request[4..], 0));
    assert_eq!((&reply[12..16], &reply[16..20]), (&packet[16..20], &packet[12..16]));
    assert_eq!((reply[1], reply[8]), (0xb8, 64), "the class without ECN, and a TTL of its own");
    // A wrong checksum, a fragment, another code, a broadcast, a part of a header.
    let mut wrong = request;
    wrong[9] ^= 1;
    assert_eq!(echo_reply(&v4(1, &wrong)), None);
    let whole = |change: fn(&mut Ipv4<'static>)| {
        v4_with(
            |ip| {
                ip.protocol = 1;
                change(ip);
            },
            &request,
        )
    };
    assert!(echo_reply(&whole(|_| ())).is_some());
    assert_eq!(echo_reply(&whole(|ip| ip.more = true)), None);
    assert_eq!(echo_reply(&whole(|ip| ip.ends[1] = [255; 4])), None);
    assert_eq!(echo_reply(&v4(1, &request[..7])), None);
    assert_eq!(echo_reply(&v4(17, &request)), None);

    let mut request = [128, 0, 0, 0, 0x12, 0x34, 0, 1, b'd', b'a'];
    let ends = HOSTS.map(|host| plan().to_v6(host));
    let mut pseudo = ends.as_flattened().to_vec();
    pseudo.extend([0, 0, 0, request.len() as u8, 0, 0, 0, 58]);
    pseudo.extend_from_slice(&request);
    request[2..4].copy_from_slice(&checksum(&pseudo).to_be_bytes());
    let reply = echo_reply(&v6(58, &request)).unwrap();
    assert_eq!((reply[40], &reply[44..]), (129, &request[4..]));
    assert_eq!((&reply[8..24], &reply[24..40]), (&ends[1][..], &ends[0][..]));
    request[9] ^= 1;
    assert_eq!(echo_reply(&v6(58, &request)), None);
}

#[test]
fn a_reset_is_that_of_rfc_9293() {
    let end = |addr, port| Endpoint { addr, port };
    let segment = |flags: u8, payload| {
        let fields =
            TcpFields { seq: 1000, ack: 77, flags: TcpFlags(flags), ..TcpFields::default() };
        Packet::tcp(IpVersion::V4, end(HOSTS[0], 4000), end(HOSTS[1], 80), fields, payload)
    };
    let (syn, fin, rst, ack) = (TcpFlags::SYN.0, TcpFlags::FIN.0, TcpFlags::RST.0, TcpFlags::ACK.0);
    // Flags, payload: sequence number, acknowledgment, flags.
    let cases = [
        (ack, 100, (77, 0, rst)),
        (syn | ack, 0, (77, 0, rst)),
        (syn, 0, (0, 1001, rst | ack)),
        (0, 10, (0, 1010, rst | ack)),
        (fin, 10, (0, 1011, rst | ack)),
    ];
    for (flags, payload, (seq, number, answer)) in cases {
        let reset = reset(&segment(flags, payload)).unwrap();
        let tcp = reset.tcp_fields().unwrap();
        assert_eq!((tcp.seq, tcp.ack, tcp.flags.0), (seq, number, answer), "{flags:02x}");
        assert_eq!(
            (reset.src(), reset.dst(), reset.ports()),
            (HOSTS[1], HOSTS[0], Some((80, 4000)))
        );
        let mut bytes = Vec::new();
        let mut arena = Arena::default();
        emit(&reset, &arena, &plan(), &mut bytes).unwrap();
        let parsed = parse(&bytes, &plan(), &mut arena).unwrap();
        assert_eq!(parsed.tcp_fields(), Some(tcp));
        assert!(super::reset(&parsed).is_none(), "a reset is not answered");
    }
    assert!(reset(&segment(rst, 0)).is_none() && reset(&segment(rst | ack, 0)).is_none());
}

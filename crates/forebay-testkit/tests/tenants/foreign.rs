//! Packets of others, of protocols that are not implemented here, carried byte for byte next to
//! TCP: a router changes the time to live and the checksum over it, and nothing else.

use crate::stage::{Scene, line, newreno, simulate};
use forebay_base::{DropReason, LinkId, PortId, Rate, Span, Time};
use forebay_cc::{AnyFeedback, Feedback, PieceView};
use forebay_sim::{Injection, PacketEvent};
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::world::{World, link};
use forebay_transport::PRESETS;
use forebay_wire::AddressPlan;

const HOPS: u8 = 2;

/// An IPv4 packet from 10.0.0.0 to 10.0.0.1, the hosts a and b, as RFC 791 draws it.
fn ipv4(
    ttl: u8,
    protocol: u8,
    (flags, offset): (u16, u16),
    options: &[u8],
    body: &[u8],
) -> Vec<u8> {
    let header_len = 20 + options.len();
    let mut bytes = vec![0x40 | (header_len / 4) as u8, 0xb8];
    bytes.extend(((header_len + body.len()) as u16).to_be_bytes());
    bytes.extend([0xbe, 0xef]);
    bytes.extend(((flags << 13) + offset / 8).to_be_bytes());
    bytes.extend([ttl, protocol, 0, 0, 10, 0, 0, 0, 10, 0, 0, 1]);
    bytes.extend(options);
    let checksum = internet_checksum(&bytes);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// RFC 1071: the complement of the ones' complement sum.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum: u32 = words.sum();
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

/// IPv6 from and to the same hosts (RFC 8200), with a flow label.
fn ipv6(hop_limit: u8, next_header: u8, body: &[u8]) -> Vec<u8> {
    let plan = AddressPlan::default();
    let mut bytes = vec![0x6b, 0x81, 0x23, 0x45];
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend([next_header, hop_limit]);
    [0, 1].into_iter().for_each(|id| bytes.extend(plan.to_v6(forebay_base::Addr(id))));
    bytes.extend(body);
    bytes
}

/// Each packet with this time to live. The UDP ports are those of the TCP connection next to it.
fn packets(ttl: u8) -> Vec<Vec<u8>> {
    let body: Vec<u8> = (0..977u32).map(|i| (i * i % 251) as u8).collect();
    let udp = [&[4, 0, 4, 0, 0, 105, 0, 0][..], &body[..97]].concat();
    let router_alert = [148, 4, 0, 0, 1, 1, 1, 0];
    let (whole, first, last) = ((2, 0), (1, 0), (0, 48));
    vec![
        ipv4(ttl, 17, whole, &[], &udp),
        ipv4(ttl, 1, whole, &[], &[8, 0, 0x12, 0x34, 0, 1, 0, 1]),
        ipv4(ttl, 132, whole, &router_alert, &body),
        ipv4(ttl, 2, whole, &router_alert, &[0x16, 0, 9, 4, 224, 0, 0, 251]),
        ipv4(ttl, 17, first, &[], &udp[..48]),
        ipv4(ttl, 17, last, &[], &udp[48..]),
        ipv4(ttl, 6, whole, &[], &body[..40]), // a TCP segment whose checksum is wrong
        ipv6(ttl, 17, &udp),
        ipv6(ttl, 58, &[128, 0, 1, 2, 3]),
    ]
}

/// Receives the fragments of its own connection: there are none.
struct NoPieces;

impl Feedback for NoPieces {
    fn on_piece(&mut self, _: Time, piece: &PieceView) {
        assert!(piece.offset == 0 && !piece.more, "a piece of another protocol");
    }
}

/// The bytes of what comes to b from the last router, where they are not of our own TCP.
fn scene() -> Scene<Notes<Vec<u8>>> {
    let (mut world, notes) = (World::new(), Notes::default());
    let access = link(Rate::mbps(50), Span::from_millis(1), u64::MAX);
    let middle = link(Rate::mbps(8), Span::from_millis(4), u64::MAX);
    let line = line(&mut world, &access, middle.clone(), middle);
    let feedback = || AnyFeedback::Custom(Box::new(NoPieces));
    let transport = world.transport_with("newreno", PRESETS[0].config, newreno, feedback);
    world.flow((line.a, line.b), Time::ZERO, Some(300_000), transport);
    let last = LinkId(line.middle.0 + 2);
    let seen = notes.clone();
    let tap = Tap::new(move |_, event, packet, arena| {
        if event == PacketEvent::Arrived(last) && packet.tcp_fields().is_none() {
            let mut bytes = Vec::new();
            forebay_wire::emit(packet, arena, &AddressPlan::default(), &mut bytes)
                .expect("both hosts are in the plan");
            seen.push(bytes);
        }
    });
    let injections = packets(64).into_iter().enumerate().map(|(i, bytes)| Injection {
        at: Time::from_millis(50 + 5 * i as u64),
        node: line.near,
        port: PortId(0),
        bytes,
    });
    let injections = injections.collect();
    Scene { injections, ..Scene::new(world, notes).with_tap(tap) }
}

#[test]
fn simulated() {
    simulate(scene, |sim, seen| {
        assert_eq!(*seen.read(), packets(64 - HOPS));
        // Routers carry TCP whose checksum is wrong; the host drops it.
        assert_eq!((sim.drops().count(DropReason::Checksum), sim.drops().total()), (1, 1));
    });
}

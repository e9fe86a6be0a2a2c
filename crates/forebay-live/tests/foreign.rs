//! Addresses outside the plan: prefixes behind hosts, whose packets are carried byte for byte.

use forebay_base::{IpVersion, LinkId, NodeId, Rate, Span};
use forebay_net::{NetSpec, Place, SpecError};
use forebay_sim::{RealWires, Site, SiteOptions};
use forebay_testkit::world::{self, World};
use forebay_wire::checksum::checksum;

const ROUTER: NodeId = NodeId(1);
const FROM_A: LinkId = LinkId(0);
const TO_A: LinkId = LinkId(1);
const TO_B: LinkId = LinkId(2);
const TO_C: LinkId = LinkId(4);

/// Hosts a, b and c beside a router. Behind a is 198.51.100.0/24, behind b 192.0.2.0/24, and behind
/// c the upper half of that.
fn spec(prefixes: &[(u32, &str)]) -> NetSpec {
    let mut world = World::new();
    let (a, router) = (world.host("a"), world.router("router"));
    let (b, c) = (world.host("b"), world.host("c"));
    let link = world::link(Rate::clamped(1_000_000_000), Span::from_micros(10), 1_000_000);
    world.join(a, router, link.clone());
    world.join(router, b, link.clone());
    world.join(router, c, link);
    let prefix = |&(host, text): &(u32, &str)| (NodeId(host), text.parse().expect("a prefix"));
    world.spec.prefixes = prefixes.iter().map(prefix).collect();
    world.spec
}
const PREFIXES: [(u32, &str); 3] =
    [(0, "198.51.100.0/24"), (2, "192.0.2.0/24"), (3, "192.0.2.128/25")];

fn router(spec: &NetSpec) -> Site {
    let place = Place { nodes: vec![ROUTER], ..Place::default() };
    let real = Some(RealWires { secret: [1, 2] });
    let options = SiteOptions { real, ..SiteOptions::default() };
    Site::new(spec, 1, &place, options).expect("a sound network")
}

/// What leaves because of this packet from a.
fn passed(site: &mut Site, packet: &[u8]) -> Vec<(LinkId, Vec<u8>)> {
    let at = site.now() + Span::from_millis(1);
    site.push(at, FROM_A, packet).expect("the link ends here");
    site.run_until(at + Span::from_millis(1));
    let mut left = Vec::new();
    site.exits(|exit| left.push((exit.link, exit.bytes.to_vec())));
    assert!(site.conservation().holds(), "{:?}", site.conservation());
    left
}

fn packet(src: [u8; 4], dst: [u8; 4], fragment: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0x28];
    packet.extend_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    packet.extend_from_slice(&[0x12, 0x34]);
    packet.extend_from_slice(&fragment.to_be_bytes());
    packet.extend_from_slice(&[64, 6, 0, 0]);
    packet.extend_from_slice(&src);
    packet.extend_from_slice(&dst);
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    [packet, payload.to_vec()].concat()
}

const SRC: [u8; 4] = [198, 51, 100, 7];

#[test]
fn packets_go_by_the_longest_prefix_byte_for_byte() {
    let spec = spec(&PREFIXES);
    // TCP with a wrong checksum, fragments, and what is shorter than any header.
    for (fragment, payload) in [(0, &[0x5a; 1480][..]), (0x2001, &[1; 64]), (0, &[2; 3]), (0, &[])]
    {
        for (dst, to) in [([192, 0, 2, 5], TO_B), ([192, 0, 2, 200], TO_C), (SRC, TO_A)] {
            let packet = packet(SRC, dst, fragment, payload);
            let left = passed(&mut router(&spec), &packet);
            let [(link, bytes)] = &left[..] else { panic!("{left:?}") };
            assert_eq!((*link, bytes[8]), (to, 63));
            assert_eq!(checksum(&bytes[..20]), 0);
            let mut expected = packet.clone();
            expected[8] = 63;
            expected[10..12].copy_from_slice(&bytes[10..12]);
            assert_eq!(*bytes, expected);
        }
    }
}

#[test]
fn where_no_prefix_fits_the_source_is_told() {
    let spec = spec(&PREFIXES);
    let mut router = router(&spec);
    let left = passed(&mut router, &packet(SRC, [203, 0, 113, 1], 0, &[7; 100]));
    let [(link, answer)] = &left[..] else { panic!("{left:?}") };
    assert_eq!((*link, answer[9], answer[20], answer[21]), (TO_A, 1, 3, 0));
    assert_eq!(answer[16..20], SRC);
    // Who has no route back is not told, and passes nothing on.
    assert!(passed(&mut router, &packet([203, 0, 113, 1], [192, 0, 2, 5], 0, &[7; 9])).is_empty());
    assert!(passed(&mut router, &packet([203, 0, 113, 1], [8, 8, 8, 8], 0, &[7; 9])).is_empty());
    // Without prefixes nothing of this is a packet of the network.
    let plain = spec_without();
    assert!(passed(&mut self::router(&plain), &packet(SRC, [192, 0, 2, 5], 0, &[])).is_empty());
}
fn spec_without() -> NetSpec {
    spec(&[])
}

/// A scan of all addresses is carried with no more than what one packet needs.
#[test]
fn a_scan_fills_nothing() {
    let spec = spec(&PREFIXES);
    let mut router = router(&spec);
    for number in 0..5_000u32 {
        let [.., high, low] = number.to_be_bytes();
        let scan = packet([198, 51, 100, high], [192, 0, 2, low], 0, &[7; 40]);
        assert_eq!(passed(&mut router, &scan).len(), 1);
    }
    let counts = router.body_counts();
    assert_eq!(counts.made + counts.reused, 5_000);
    assert!(counts.made <= 2, "{counts:?}");
}

#[test]
fn prefixes_are_checked() {
    let refused = |prefixes: &[(u32, &str)], version| {
        let spec = NetSpec { version, ..spec(prefixes) };
        match forebay_net::Network::build(&spec, 1, false).map(drop) {
            Err(SpecError::Unsound { part: "prefix", index, why }) => (index, why),
            other => panic!("{prefixes:?}: {other:?}"),
        }
    };
    let v4 = IpVersion::V4;
    assert_eq!(refused(&[(1, "192.0.2.0/24")], v4), (0, "it is not behind a host"));
    assert_eq!(refused(&[(9, "192.0.2.0/24")], v4), (0, "it is not behind a host"));
    assert_eq!(refused(&[(0, "2001:db8::/32")], v4).1, "it is of the other IP version");
    assert_eq!(refused(&[(0, "192.0.2.0/24")], IpVersion::V6).1, "it is of the other IP version");
    let taken = "its addresses are those of the hosts of the network";
    assert_eq!(refused(&[(0, "0.0.0.0/0"), (0, "10.1.0.0/16")], v4), (1, taken));
    assert_eq!(
        refused(&[(0, "192.0.2.0/24"), (2, "192.0.2.0/24")], v4),
        (1, "it is at two places")
    );
}

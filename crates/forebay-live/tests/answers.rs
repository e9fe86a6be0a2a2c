//! What nodes on real wires answer to packets that they cannot pass on or take, and to strangers
//! who connect.

use forebay_base::{
    Addr, Arena, Endpoint, IpVersion, LinkId, NodeId, Packet, Rate, Span, TcpFields, TcpFlags, Time,
};
use forebay_net::{AppSchedule, MAX_ANSWERS_PER_S, NetSpec, Network, Place};
use forebay_sim::{RealWires, Site, SiteOptions};
use forebay_testkit::world::{self, World};
use forebay_transport::PRESETS;
use forebay_wire::checksum::checksum;
use forebay_wire::{AddressPlan, emit, parse};

const A: NodeId = NodeId(0);
const ROUTER: NodeId = NodeId(1);
const B: NodeId = NodeId(2);
/// From a to the router, from the router to a, to b, from b to the router.
const FROM_A: LinkId = LinkId(0);
const TO_A: LinkId = LinkId(1);
const TO_B: LinkId = LinkId(2);
const FROM_B: LinkId = LinkId(3);
const ADDRESSES: [Addr; 2] = [Addr(0), Addr(1)];

/// Two hosts beside a router; packets for b have at most 1000 bytes.
fn spec(listeners: usize) -> NetSpec {
    let mut world = World::new();
    let (a, router, b) = (world.host("a"), world.router("router"), world.host("b"));
    let link = world::link(Rate::clamped(100_000_000), Span::from_millis(1), 1_000_000);
    world.join(a, router, link.clone());
    let narrow = link.clone().with_wire(|wire| wire.mtu_bytes = 1000);
    world.join_with(router, b, narrow, link);
    let newreno = world.transport("newreno", PRESETS[0].config, |init| {
        forebay_cc::Spec::by_name("newreno").expect("it is in the table").build(init)
    });
    for _ in 0..listeners {
        world.flow((a, b), Time::ZERO, Some(1), newreno);
        let life = AppSchedule { listen: Some(80), answer_bytes: 5000, ..AppSchedule::default() };
        world.spec.flows.last_mut().expect("just added").life = Some(Box::new(life));
    }
    world.spec
}

fn site(spec: &NetSpec, node: NodeId, real: Option<RealWires>) -> Site {
    let place = Place { nodes: vec![node], ..Place::default() };
    let site = Site::new(spec, 1, &place, SiteOptions { real, ..SiteOptions::default() });
    site.expect("a sound network")
}

/// What leaves within a second of these packets, which come over `link` 1 ms apart.
fn answers(site: &mut Site, link: LinkId, packets: &[Vec<u8>]) -> Vec<(LinkId, Vec<u8>)> {
    let start = site.now();
    for (packet, number) in packets.iter().zip(1..) {
        let at = start + Span::from_millis(number);
        site.push(at, link, packet).expect("the link ends here");
    }
    site.run_until(start + Span::from_secs(1));
    let mut left = Vec::new();
    site.exits(|exit| left.push((exit.link, exit.bytes.to_vec())));
    assert!(site.conservation().holds(), "{:?}", site.conservation());
    left
}

fn address(of: Addr) -> [u8; 4] {
    AddressPlan::default().to_v4(of).expect("a small one")
}

/// An IPv4 packet from a.
fn packet(to: Addr, protocol: u8, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0x40, 0, ttl, protocol, 0, 0]); // DF
    packet.extend_from_slice(&address(ADDRESSES[0]));
    packet.extend_from_slice(&address(to));
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    [packet, payload.to_vec()].concat()
}

fn segment(from_port: u16, to_port: u16, seq: u32, ack: u32, flags: TcpFlags) -> Vec<u8> {
    let [src, dst] = [(ADDRESSES[0], from_port), (ADDRESSES[1], to_port)]
        .map(|(addr, port)| Endpoint { addr, port });
    let fields = TcpFields { seq, ack, flags, window: u16::MAX, ..TcpFields::default() };
    let packet = Packet::tcp(IpVersion::V4, src, dst, fields, 0);
    let mut bytes = Vec::new();
    let plan = AddressPlan::default();
    emit(&packet, &Arena::default(), &plan, &mut bytes).expect("addresses of the plan");
    bytes
}

fn fields(bytes: &[u8]) -> TcpFields {
    let parsed = parse(bytes, &AddressPlan::default(), &mut Arena::default());
    parsed.expect("sound").tcp_fields().expect("a segment")
}

const REAL: Option<RealWires> = Some(RealWires { secret: [1, 2] });

#[test]
fn addresses_are_those_that_the_tests_have() {
    let network = Network::build(&spec(0), 1, false).expect("a sound network");
    let found = [A, B].map(|node| network.addresses[node.index()][0]);
    assert_eq!(found, ADDRESSES);
}

#[test]
fn a_router_says_why_it_does_not_pass_packets_on() {
    let spec = spec(0);
    // What comes, and type, code and MTU of what is answered.
    let cases = [
        (packet(ADDRESSES[1], 17, 1, &[7; 8]), (11, 0, 0)),
        (packet(Addr(4711), 17, 64, &[7; 8]), (3, 0, 0)),
        (packet(ADDRESSES[1], 17, 64, &[7; 1100]), (3, 4, 1000)),
    ];
    for (packet, (kind, code, mtu)) in cases {
        let mut router = site(&spec, ROUTER, REAL);
        let left = answers(&mut router, FROM_A, std::slice::from_ref(&packet));
        let [(link, answer)] = &left[..] else { panic!("{left:?}") };
        assert_eq!((*link, answer[9], answer[20], answer[21]), (TO_A, 1, kind, code));
        assert_eq!(u16::from_be_bytes([answer[26], answer[27]]), mtu);
        // The router's own address, at the upper end of the plan.
        assert_eq!(
            (&answer[12..16], &answer[16..20]),
            (&[10, 255, 255, 253][..], &address(ADDRESSES[0])[..])
        );
        assert_eq!(answer[28 + 12..28 + 20], packet[12..20]);
        assert_eq!(router.answers().errors, 1);
        // In a simulation there are no strangers.
        let mut simulated = site(&spec, ROUTER, None);
        assert!(answers(&mut simulated, FROM_A, &[packet]).is_empty());
        assert_eq!(simulated.answers(), Default::default());
    }
}

/// An echo request.
fn echo() -> [u8; 10] {
    let mut echo = [8, 0, 0, 0, 1, 2, 0, 1, b'x', b'y'];
    let sum = checksum(&echo);
    echo[2..4].copy_from_slice(&sum.to_be_bytes());
    echo
}

/// As a host at the address from which it answers.
#[test]
fn a_router_answers_echoes_at_its_address() {
    let mut router = site(&spec(0), ROUTER, REAL);
    let own = packet(Addr(0x00ff_fffd), 1, 9, &echo());
    let left = answers(&mut router, FROM_A, &[own]);
    let [(link, answer)] = &left[..] else { panic!("{left:?}") };
    assert_eq!((*link, answer[9], answer[20], &answer[28..]), (TO_A, 1, 0, &b"xy"[..]));
    assert_eq!(answer[12..16], [10, 255, 255, 253]);
    assert_eq!((router.answers().echoes, router.answers().errors), (1, 0));
}

#[test]
fn a_host_answers_echoes_and_what_it_has_no_socket_for() {
    let (spec, echo) = (spec(0), echo());
    let mut host = site(&spec, B, REAL);
    let left = answers(
        &mut host,
        TO_B,
        &[
            packet(ADDRESSES[1], 1, 9, &echo),
            packet(ADDRESSES[1], 17, 9, &[7; 8]),
            packet(ADDRESSES[1], 253, 9, &[7; 8]),
            segment(4000, 7, 100, 0, TcpFlags::SYN),
            segment(4000, 7, 100, 55, TcpFlags::ACK),
            segment(4000, 7, 100, 55, TcpFlags::RST),
        ],
    );
    assert!(left.iter().all(|(link, _)| *link == FROM_B));
    let kinds: Vec<_> =
        left.iter().map(|(_, answer)| (answer[9], answer[20], answer[21])).collect();
    assert_eq!(kinds[..3], [(1, 0, 0), (1, 3, 3), (1, 3, 2)]);
    assert_eq!(left[0].1[28..], *b"xy");
    let rst = |number: usize| (fields(&left[number].1).flags.0, fields(&left[number].1).seq);
    assert_eq!(rst(3), (TcpFlags::RST.0 | TcpFlags::ACK.0, 0));
    assert_eq!(rst(4), (TcpFlags::RST.0, 55));
    assert_eq!(left.len(), 5, "a reset is not answered");
    let count = host.answers();
    assert_eq!((count.echoes, count.errors, count.resets, count.withheld), (1, 2, 2, 0));
}

#[test]
fn a_flood_has_a_hundred_answers_a_second() {
    let spec = spec(0);
    let mut host = site(&spec, B, REAL);
    let flood: Vec<_> = (0..900).map(|port| segment(4000, 1 + port, 9, 0, TcpFlags::SYN)).collect();
    for second in 0..3 {
        let left = answers(&mut host, TO_B, &flood).len() as u64;
        let allowed = MAX_ANSWERS_PER_S / 2 - 5..=MAX_ANSWERS_PER_S;
        assert!(allowed.contains(&left), "{second}: {left}");
    }
    let count = host.answers();
    assert_eq!(count.resets + count.withheld, 2700);
}

/// The same inputs in other turns are the same run.
#[test]
fn answers_do_not_depend_on_turns() {
    let spec = spec(0);
    let run = |turn: Span| {
        let mut host = site(&spec, B, REAL);
        for number in 0..200 {
            let at = Time::from_millis(3 * number + 1);
            while host.now() + turn < at && turn < Span::from_millis(3) {
                let before = host.now();
                host.run_until(before + turn);
                if host.now() == before {
                    break;
                }
            }
            host.push(at, TO_B, &segment(4000, 7, 1, 0, TcpFlags::SYN)).expect("it ends here");
        }
        host.run_until(Time::from_secs(2));
        (host.hash(), host.answers())
    };
    assert_eq!(run(Span::from_secs(9)), run(Span::from_micros(500)));
}

#[test]
fn strangers_have_the_flows_of_a_port_until_all_are_taken() {
    let spec = spec(2);
    let mut host = site(&spec, B, REAL);
    let syns = [4000, 4001, 4002].map(|port| segment(port, 80, 9, 0, TcpFlags::SYN));
    let left = answers(&mut host, TO_B, &syns);
    let first = |port: u16| {
        let of = |(_, bytes): &&(LinkId, Vec<u8>)| bytes[22..24] == port.to_be_bytes();
        fields(&left.iter().find(of).expect("an answer").1)
    };
    for port in [4000, 4001] {
        assert_eq!(first(port).flags.0, TcpFlags::SYN.0 | TcpFlags::ACK.0);
        assert_eq!(first(port).ack, 10);
    }
    assert!(first(4002).flags.has(TcpFlags::RST), "no flow is left");
    assert_ne!(first(4000).seq, first(4001).seq);
    // Connected, it sends its answer; a stranger's segment to the same port changes nothing.
    let ack = first(4000).seq.wrapping_add(1);
    let connected = segment(4000, 80, 10, ack, TcpFlags::ACK);
    let stranger = segment(4003, 80, 10, ack, TcpFlags::ACK);
    let left = answers(&mut host, TO_B, &[connected, stranger]);
    let sent: usize = left
        .iter()
        .filter(|(_, bytes)| bytes[22..24] == 4000u16.to_be_bytes())
        .map(|(_, bytes)| bytes.len().saturating_sub(40))
        .sum();
    assert!(sent >= 5000, "{sent}");
}

/// SYNs whose senders never come back hold no more than the backlog, and that not for ever.
#[test]
fn a_flood_of_syns_takes_the_backlog_only() {
    let spec = spec(40);
    let mut host = site(&spec, B, REAL);
    let flood: Vec<_> = (0..40).map(|n| segment(5000 + n, 80, 9, 0, TcpFlags::SYN)).collect();
    let taken = |host: &Site| {
        let flows = (0..40).map(forebay_base::FlowId);
        flows
            .filter(|flow| host.connection(*flow, forebay_transport::Role::Server).is_some())
            .count()
    };
    answers(&mut host, TO_B, &flood);
    assert_eq!(taken(&host), 16);
    // When they have not come back for 63 s, others have their places.
    let later = Time::from_secs(70);
    host.run_until(later);
    host.exits(|_| ());
    let again: Vec<_> = (0..40).map(|n| segment(6000 + n, 80, 9, 0, TcpFlags::SYN)).collect();
    for syn in &again {
        host.push(later, TO_B, syn).expect("it ends here");
    }
    host.run_until(later + Span::from_millis(100));
    assert_eq!(taken(&host), 16, "those that had been taken");
    let mut opened = 0;
    host.exits(|exit| opened += usize::from(fields(exit.bytes).flags.has(TcpFlags::SYN)));
    assert_eq!(opened, 16);
}

/// Initial sequence numbers follow from the secret, and nothing else changes with it.
#[test]
fn what_strangers_must_not_foresee_follows_from_the_secret() {
    let spec = spec(1);
    let isn = |real: Option<RealWires>| {
        let mut host = site(&spec, B, real);
        let left = answers(&mut host, TO_B, &[segment(4000, 80, 9, 0, TcpFlags::SYN)]);
        fields(&left[0].1).seq
    };
    let of = |secret| isn(Some(RealWires { secret }));
    let found = [isn(None), of([0, 0]), of([1, 0]), of([0, 1])];
    assert_eq!(found, [isn(None), of([0, 0]), of([1, 0]), of([0, 1])]);
    let different: std::collections::BTreeSet<u32> = found.into_iter().collect();
    assert_eq!(different.len(), 4);
}

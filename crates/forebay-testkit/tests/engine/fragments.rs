//! Several connections between two hosts whose packets are cut on the way.

use forebay_base::{Addr, DropReason, NodeId, PortId, Rate, Span, Time};
use forebay_cc::{
    AckDemand, AnyController, AnyFeedback, DatagramView, Feedback, Init, PieceView, Spec, TcpHead,
};
use forebay_sim::{Injection, Options, PacketEvent, Simulation, Status};
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};
use std::collections::{BTreeMap, BTreeSet};

fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("it is in the table").build(init)
}

/// A host `a` with `flows` connections to each of `servers`, whose packets of 1500 bytes are cut in
/// two on a link with an MTU of 800 bytes and a queue of 30 kB.
fn narrow(servers: usize, flows: usize) -> World {
    let mut world = World::new();
    world.spec.reassembly.timeout = Span::from_millis(200);
    let (left, right, a) = (world.router("left"), world.router("right"), world.host("a"));
    let access = link(Rate::mbps(100), Span::from_millis(1), 1_000_000);
    world.join(a, left, access.clone());
    let middle = link(Rate::mbps(10), Span::from_millis(10), 30_000);
    world.join(left, right, middle.with_wire(|wire| wire.mtu_bytes = 800));
    let config = TcpConfig { dont_fragment: false, ..PRESETS[0].config };
    let transport = world.transport("newreno", config, newreno);
    let ends: Vec<NodeId> = (0..servers).map(|i| world.host(&format!("b{i}"))).collect();
    for &b in &ends {
        world.join(b, right, access.clone());
        (0..flows).for_each(|_| world.flow((a, b), Time::ZERO, Some(1_000_000), transport));
    }
    world
}

type Ids = BTreeMap<(Addr, Addr), Vec<u16>>;

/// The identifications that hosts sent, by source and destination.
fn ids_of(world: &World, seed: u64) -> (Simulation, Ids) {
    let notes: Notes<((Addr, Addr), u16)> = Notes::default();
    let written = notes.clone();
    let tap = Tap::new(move |_, event, packet, arena| {
        if let PacketEvent::Sent(_) = event {
            assert!(!packet.dont_fragment());
            let id = packet.cold_part(arena).expect("it has an identification").ip_id as u16;
            written.push(((packet.src(), packet.dst()), id));
        }
    });
    let options = Options { observer: Some(Box::new(tap)), ..Options::default() };
    let mut sim = Simulation::new(&world.spec, seed, options).expect("a sound network");
    assert_eq!(sim.run_until(Time::from_secs(1_000)).unwrap(), Status::FlowsEnded);
    let mut ids = Ids::new();
    notes.read().iter().for_each(|&(pair, id)| ids.entry(pair).or_default().push(id));
    (sim, ids)
}

/// RFC 6864 section 4.3: a source does not use an identification twice for one destination and
/// protocol while a datagram with it may live. Fewer than 65 536 packets are sent here, so no two
/// datagrams show the same, and none is made of fragments of two: what reassembly drops, or still
/// holds, are the fragments whose other half the queue dropped, one for each drop at most. Those
/// that came more than 200 ms before the last fragment are dropped.
#[test]
fn connections_between_two_hosts_share_one_row_of_identifications() {
    for (servers, flows) in [(1, 8), (1, 2), (3, 2)] {
        let (sim, ids) = ids_of(&narrow(servers, flows), 1);
        assert_eq!(ids.len(), 2 * servers);
        for (pair, ids) in &ids {
            let different: BTreeSet<u16> = ids.iter().copied().collect();
            assert_eq!(different.len(), ids.len(), "{pair:?}, {flows} flows");
        }
        let count = |reason| sim.drops().count(reason);
        let missing = count(DropReason::FragmentMissing) + count(DropReason::FirstFragmentMissing);
        let full = count(DropReason::Full);
        assert!(full > 50 && missing <= full && missing > full / 4, "{missing} of {full}");
        assert_eq!(sim.drops().total(), full + missing, "{flows} flows");
    }
}

/// Where the identifications begin differs by pair and seed (1 of 65 536 is the chance that two
/// agree), and does not by who else is sent to.
#[test]
fn the_first_identification_is_that_of_the_pair_and_the_seed() {
    let firsts = |servers, seed| -> BTreeMap<(Addr, Addr), u16> {
        let (_, ids) = ids_of(&narrow(servers, 1), seed);
        ids.into_iter().map(|(pair, ids)| (pair, ids[0])).collect()
    };
    let three = firsts(3, 1);
    assert_eq!(three.values().collect::<BTreeSet<_>>().len(), 6, "{three:?}");
    let (one, other_seed) = (firsts(1, 1), firsts(1, 2));
    assert!(one.iter().all(|(pair, id)| three[pair] == *id), "{one:?} {three:?}");
    assert!(one.iter().all(|(pair, id)| other_seed[pair] != *id), "{one:?} {other_seed:?}");
}

/// What a receiver half is shown of fragments and datagrams: for each fragment its length, payload,
/// whether others follow, identification and head; for each datagram how many fragments and its
/// identification.
#[derive(Default, Clone)]
struct Shown {
    pieces: Notes<(u16, u16, bool, u16, Option<TcpHead>)>,
    datagrams: Notes<(u16, u16, u32)>,
}

impl Feedback for Shown {
    fn on_piece(&mut self, _: Time, p: &PieceView) {
        assert!(!p.dont_fragment && p.offset == 0 && p.is_whole() != p.more);
        self.pieces.push((p.wire_len, p.payload_bytes, p.more, p.ip_id as u16, p.head));
    }
    fn on_datagram(&mut self, _: Time, d: &DatagramView<'_>) -> AckDemand {
        assert!(!d.dont_fragment && d.came_whole() == (d.pieces == 1));
        self.datagrams.push((d.pieces, d.ip_id as u16, d.payload_bytes));
        AckDemand::Policy
    }
}

/// The receiver half sees of each first fragment what its bytes hold (RFC 791 section 3.1, RFC
/// 9293 section 3.1), as the tap saw it leave: identification, ports and sequence number. Tails
/// name no connection. Segments of 1500 bytes come in two fragments of which the first carries 776
/// bytes, the largest multiple of 8 that 800 less 20 holds; others come whole.
#[test]
fn a_receiver_half_is_shown_heads_and_identifications() {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let narrow =
        link(Rate::mbps(10), Span::from_millis(5), u64::MAX).with_wire(|wire| wire.mtu_bytes = 800);
    world.join(a, b, narrow);
    let config = TcpConfig { dont_fragment: false, ..PRESETS[0].config };
    let (shown, sent) = (Shown::default(), Notes::<(u16, (u16, TcpHead))>::default());
    let (written, half) = (sent.clone(), shown.clone());
    let feedback = move || AnyFeedback::Custom(Box::new(half.clone()));
    let transport = world.transport_with("newreno", config, newreno, feedback);
    world.flow((a, b), Time::ZERO, Some(100_000), transport);
    let tap = Tap::new(move |_, event, packet, arena| {
        if let (PacketEvent::Sent(_), Some(tcp)) = (event, packet.tcp_fields()) {
            let (src_port, dst_port) = packet.ports().expect("TCP");
            let head = TcpHead { src_port, dst_port, seq: tcp.seq };
            let id = packet.cold_part(arena).expect("it has an identification").ip_id as u16;
            written.push((id, (packet.wire_len(), head)));
        }
    });
    let options = Options { observer: Some(Box::new(tap)), ..Options::default() };
    let mut sim = Simulation::new(&world.spec, 1, options).expect("a sound network");
    assert_eq!(sim.run_until(Time::from_secs(100)).unwrap(), Status::FlowsEnded);
    let sent: BTreeMap<u16, (u16, TcpHead)> = sent.read().iter().copied().collect();
    let (mut leads, mut wholes) = (0, 0);
    for &(wire_len, payload, more, id, head) in shown.pieces.read().iter() {
        let (whole_len, was) = sent[&id];
        assert_eq!((head, payload), (Some(was), wire_len - 20));
        assert_eq!(
            (wire_len, more),
            if whole_len > 800 { (796, true) } else { (whole_len, false) }
        );
        *if more { &mut leads } else { &mut wholes } += 1;
    }
    // Whole: SYN, its ACK's ACK, the last 88 bytes with FIN, the ACK of the peer's FIN.
    assert_eq!((leads, wholes), (100_000 / 1448, 4));
    for &(pieces, id, _) in shown.datagrams.read().iter() {
        assert_eq!(pieces, if sent[&id].0 > 800 { 2 } else { 1 });
    }
    let cut = shown.datagrams.read().iter().filter(|d| d.0 == 2).count();
    assert_eq!(cut, leads);
}

/// 1000 bytes of UDP by their bytes, with a router alert and a record route of which the former
/// goes with all fragments (RFC 791 section 3.1), over links of 500 and 300 bytes. By hand: 32 and
/// 968 bytes; after the first link 464 (32 + 464 = 496), 472 (24 + 472 = 496) and 32; after the
/// second 264 + 200, 272 + 200, and 32. The host has them as one.
#[test]
fn a_foreign_datagram_is_cut_on_each_link_that_is_too_narrow() {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let routers = [0, 1, 2].map(|i| world.router(&format!("r{i}")));
    let wide = link(Rate::mbps(10), Span::from_millis(1), u64::MAX);
    let narrow = |mtu_bytes| wide.clone().with_wire(|wire| wire.mtu_bytes = mtu_bytes);
    world.join(a, routers[0], wide.clone());
    let first = world.join(routers[0], routers[1], narrow(500));
    let second = world.join(routers[1], routers[2], narrow(300));
    world.join(routers[2], b, wide.clone());
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::from_millis(900), Some(100), transport);
    let mut bytes = vec![0x48, 0, 3, 232, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 0, 10, 0, 0, 1];
    bytes.extend([148, 4, 0, 0, 7, 7, 4, 0, 0, 0, 0, 0]);
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let sum: u32 = words.sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.resize(1000, 7);
    let seen: Notes<(bool, u16, u16)> = Notes::default();
    let written = seen.clone();
    let tap = Tap::new(move |_, event, packet, _| {
        let over = [first, second].map(|link| event == PacketEvent::Arrived(link));
        if over != [false; 2] && packet.tcp_fields().is_none() {
            written.push((over[1], packet.header_len(), packet.payload_len()));
        }
    });
    let injection = Injection { at: Time::ZERO, node: routers[0], port: PortId(0), bytes };
    let injections = vec![injection];
    let options = Options { observer: Some(Box::new(tap)), injections, ..Options::default() };
    let mut sim = Simulation::new(&world.spec, 1, options).expect("a sound network");
    assert_eq!(sim.run_until(Time::from_secs(2)).unwrap(), Status::FlowsEnded);
    let lens = |nth| -> Vec<(u16, u16)> {
        let of_link = |&&(second, ..): &&(bool, u16, u16)| second == nth;
        seen.read().iter().filter(of_link).map(|&(_, header, len)| (header, len)).collect()
    };
    assert_eq!(lens(false), [(32, 464), (24, 472), (24, 32)]);
    assert_eq!(lens(true), [(32, 264), (24, 200), (24, 272), (24, 200), (24, 32)]);
    assert_eq!((sim.conservation().split, sim.drops().total()), (4, 0));
}

//! Several connections between two hosts whose packets are cut on the way.

use forebay_base::{Addr, DropReason, NodeId, Rate, Span, Time};
use forebay_cc::{
    AckDemand, AnyController, AnyFeedback, DatagramView, Feedback, Init, PieceView, Spec, TcpHead,
};
use forebay_net::LinkSpec;
use forebay_sim::{Options, PacketEvent, Simulation, Status};
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
    let (left, right, a) = (world.router("left"), world.router("right"), world.host("a"));
    let access = link(Rate::mbps(100), Span::from_millis(1), 1_000_000);
    world.join(a, left, access.clone());
    let middle = link(Rate::mbps(10), Span::from_millis(10), 30_000);
    world.join(left, right, LinkSpec { mtu_bytes: 800, ..middle });
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
            let id = packet.cold_part(arena).expect("it has an identification").ip_id;
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
/// datagrams show the same, and none is made of pieces of two: what reassembly drops are the pieces
/// whose other half the queue dropped, one for each drop at most.
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
        let (full, alone) = (count(DropReason::Full), count(DropReason::Reassembly));
        assert!(full > 50 && alone <= full, "{alone} of {full}");
        assert_eq!(count(DropReason::Malformed), 0, "{flows} flows");
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

/// What a receiver half is shown of pieces and datagrams: for each piece its length, payload,
/// whether others follow, identification and head; for each datagram how many pieces and its
/// identification.
#[derive(Default, Clone)]
struct Shown {
    pieces: Notes<(u16, u16, bool, u16, Option<TcpHead>)>,
    datagrams: Notes<(u16, u16, u32)>,
}

impl Feedback for Shown {
    fn on_piece(&mut self, _: Time, p: &PieceView) {
        assert!(!p.dont_fragment && p.offset == 0 && p.is_whole() != p.more);
        self.pieces.push((p.wire_len, p.payload_bytes, p.more, p.ip_id, p.head));
    }
    fn on_datagram(&mut self, _: Time, d: &DatagramView<'_>) -> AckDemand {
        assert!(!d.dont_fragment && d.came_whole() == (d.pieces == 1));
        self.datagrams.push((d.pieces, d.ip_id, d.payload_bytes));
        AckDemand::Policy
    }
}

/// The receiver half is shown of each leading piece what its bytes hold (RFC 791 section 3.1, RFC
/// 9293 section 3.1), as the tap saw it leave: identification, ports and sequence number. Tails
/// name no connection. Segments of 1500 bytes come in two pieces of which the first carries 776
/// bytes, the largest multiple of 8 that 800 less 20 holds; others come whole.
#[test]
fn a_receiver_half_is_shown_heads_and_identifications() {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let narrow =
        LinkSpec { mtu_bytes: 800, ..link(Rate::mbps(10), Span::from_millis(5), u64::MAX) };
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
            let id = packet.cold_part(arena).expect("it has an identification").ip_id;
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

//! Several connections between two hosts whose packets are cut on the way.

use forebay_base::{Addr, DropReason, NodeId, Rate, Span, Time};
use forebay_cc::{AnyController, Init, Spec};
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

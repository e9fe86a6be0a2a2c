//! Foreign packets at external ports: whatever comes, nothing panics and no packet is lost count
//! of. A network is divided into two fabrics that exchange bytes, with routers, port schemes and
//! disciplines of every kind; into both come random packets, and what passed before, changed or
//! not.

use crate::make::{bytes_of, fix_checksums, random_packet};
use forebay_base::{Arena, LinkId, NodeId, Rng, Span, Stream, Time};
use forebay_net::{
    Deadline, Driver, DriverError, EventSpec, Fabric, Fragments, MiddleboxSpec, NetSpec, NodeKind,
    Place, QueueSpec, SchemeSpec, StripOptions,
};
use forebay_queue::{DISCIPLINES, SCHEMES};
use forebay_router::ROUTERS;
use forebay_testkit::random_pool::NetworkConditions;
use forebay_testkit::{random, random_pool};
use forebay_wire::emit;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Packets that passed, from which others are made.
const CORPUS: usize = 200;
/// No run has more events.
const EVENTS: usize = 3000;

#[derive(Default)]
struct Alarms(BTreeSet<(Time, Deadline)>);

impl Driver for Alarms {
    fn arm(&mut self, deadline: Deadline, at: Time) {
        self.0.insert((at, deadline));
    }
}

/// Two fabrics, and the packets between them.
struct Two {
    sides: [Fabric<Alarms>; 2],
    events: VecDeque<EventSpec>,
    /// Links from the one to the other and back.
    between: Vec<LinkId>,
    corpus: Vec<Vec<u8>>,
    rng: Rng,
    noise: u64,
}

impl Two {
    fn new(spec: &NetSpec, seed: u64) -> Two {
        let mut rng = Rng::new(seed, Stream::Test, 77);
        let here: Vec<bool> = spec.nodes.iter().map(|_| rng.chance(0.5)).collect();
        let sides = [true, false].map(|side| {
            let nodes = (0..spec.nodes.len() as u32).map(NodeId);
            let nodes = nodes.filter(|node| here[node.index()] == side).collect();
            let place = Place { nodes, ..Place::default() };
            let fabric = Fabric::of_place(spec, seed, false, None, &place, Alarms::default());
            let mut fabric = fabric.expect("a sound network");
            fabric.start();
            fabric
        });
        let ids = (0..spec.links.len() as u32).map(LinkId);
        let between = ids.filter(|&link| sides.iter().any(|side| side.is_exit(link))).collect();
        let mut events = spec.events.clone();
        events.sort_by_key(|event| event.at);
        Two { sides, events: events.into(), between, corpus: Vec::new(), rng, noise: 0 }
    }

    /// Do what is due next. False if nothing is.
    fn step(&mut self) -> bool {
        let first = |side: usize| self.sides[side].driver.0.first().map(|&(at, _)| at);
        let next = (0..2).filter_map(|side| Some((first(side)?, side))).min();
        let Some((now, side)) = next else { return false };
        while self.events.front().is_some_and(|event| event.at <= now) {
            let Some(event) = self.events.pop_front() else { break };
            // One of them has what it names.
            let applied = self.sides.each_mut().map(|side| side.on_event(now, &event.event));
            assert!(applied.iter().any(Result::is_ok), "{event:?}: {applied:?}");
        }
        let fabric = &mut self.sides[side];
        let Some((now, deadline)) = fabric.driver.0.pop_first() else { return true };
        if !fabric.due(now, deadline) {
            return true;
        }
        match deadline {
            Deadline::Arrival(link) if fabric.is_exit(link) => self.cross(now, side, link),
            Deadline::Arrival(link) => {
                if let Some(packet) = fabric.take_arrival(now, link) {
                    fabric.arrive(now, link, packet);
                }
            }
            Deadline::Transmitter(link) => fabric.on_transmitter(now, link),
            Deadline::Router(node) => fabric.on_router(now, node),
            Deadline::Socket(end) => drop(fabric.on_socket(now, end)),
        }
        true
    }
    fn cross(&mut self, now: Time, side: usize, link: LinkId) {
        let fabric = &mut self.sides[side];
        let Some(packet) = fabric.take_exit(now, link) else { return };
        let mut bytes = Vec::new();
        emit(&packet, &fabric.arena, &fabric.plan, &mut bytes).expect("it came over a wire");
        fabric.arena.free(packet);
        self.sides[1 - side].enter_bytes(now, link, &bytes).expect("it ends there");
        let place = self.rng.below(CORPUS as u64) as usize;
        match self.corpus.get_mut(place) {
            Some(old) => *old = bytes,
            None => self.corpus.push(bytes),
        }
    }

    /// A packet comes from nowhere.
    fn make_noise(&mut self, now: Time) {
        let Some(&link) = self.between.get(self.rng.below(1 + self.between.len() as u64) as usize)
        else {
            return;
        };
        let bytes = self.random_bytes();
        let late = Span::from_nanos(self.rng.below(2_000_000));
        let taken = self.sides.each_mut().map(|side| side.enter_bytes(now + late, link, &bytes));
        let refused = taken.iter().filter(|t| **t == Err(DriverError::NotAnEntry(link)));
        assert_eq!(refused.count(), 1, "a link enters one side: {taken:?}");
        self.noise += 1;
    }
    fn random_bytes(&mut self) -> Vec<u8> {
        let rng = &mut self.rng;
        let seen = self.corpus.get(rng.below(2 * CORPUS as u64) as usize);
        let mut bytes = seen.cloned().unwrap_or_else(|| {
            let mut arena = Arena::default();
            let packet = random_packet(rng, &mut arena);
            bytes_of(&packet, &arena)
        });
        let v4 = bytes[0] >> 4 == 4;
        if rng.chance(0.8) {
            // To one that is there, nearly always.
            let addresses = if v4 { [15, 19] } else { [23, 39] };
            addresses.iter().for_each(|&at| bytes[at] = rng.below(8) as u8);
            let high: &[usize] = if v4 { &[13, 14, 17, 18] } else { &[21, 22, 37, 38] };
            high.iter().for_each(|&at| bytes[at] = 0);
            let ports = if v4 { usize::from(bytes[0] & 15) * 4 } else { 40 };
            if let Some(port) = bytes.get_mut(ports + 2..ports + 4) {
                port.copy_from_slice(&(1024 + rng.below(4) as u16).to_be_bytes());
            }
        }
        for _ in 0..rng.below(4) {
            let at = rng.below(bytes.len().min(100) as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
        }
        if rng.chance(0.95) {
            fix_checksums(&mut bytes);
        }
        bytes
    }
}

/// Foreign packets that came.
fn run(spec: &NetSpec, seed: u64) -> u64 {
    let mut two = Two::new(spec, seed);
    for event in 0..EVENTS {
        if event % 4 == 0 {
            let pending = two.sides.iter().filter_map(|side| side.driver.0.first());
            let Some(&(now, _)) = pending.min() else { break };
            two.make_noise(now);
        }
        if !two.step() {
            break;
        }
        if event % 100 == 0 {
            check(&two, seed);
        }
    }
    check(&two, seed);
    two.noise
}

fn check(two: &Two, seed: u64) {
    let [a, b] = two.sides.each_ref().map(Fabric::conservation);
    assert!(a.holds() && b.holds(), "seed {seed}: {a:?} {b:?}");
    assert_eq!(a.entered + b.entered, a.left + b.left + two.noise, "seed {seed}");
}

/// The network of a seed: routers of kind `router`, port schemes `scheme`, counted in their tables,
/// and disciplines at random.
fn network(router: usize, scheme: usize, seed: u64) -> NetSpec {
    let mut spec = match seed % 2 {
        0 => random::scenario(seed),
        _ => random_pool::scenario(seed, NetworkConditions::Foul),
    };
    let mut rng = Rng::new(seed, Stream::Test, 78);
    if rng.chance(0.3) && spec.forgeries().next().is_none() {
        spec.version = forebay_base::IpVersion::V6;
    }
    for node in &mut spec.nodes {
        if let NodeKind::Router(forwarding) = &mut node.kind {
            *forwarding = (ROUTERS[router].spec)();
        }
    }
    for link in &mut spec.links {
        link.scheme = match scheme.checked_sub(1) {
            None => SchemeSpec::None,
            Some(line) => (SCHEMES[line].spec)(),
        };
        if rng.chance(0.5) {
            let line = &DISCIPLINES[rng.below(DISCIPLINES.len() as u64) as usize];
            let make = move |init| (line.spec)().build(init);
            link.queue = QueueSpec::Custom(link.queue.limit(), Arc::new(make));
        }
        if rng.chance(0.2) {
            let strip = StripOptions::Unknown;
            let fragments = [Fragments::Drop, Fragments::Whole, Fragments::Pieces];
            let fragments = fragments[rng.below(3) as usize];
            link.wire.middlebox =
                Some(MiddleboxSpec { strip, set_df: rng.chance(0.5), fragments, records: false });
        }
        if rng.chance(0.2) {
            link.wire.mtu_bytes = 600 + rng.below(900) as u16;
        }
    }
    spec
}

#[test]
fn foreign_packets_neither_panic_nor_get_lost() {
    let mut noise = 0;
    for router in 0..ROUTERS.len() {
        for scheme in 0..=SCHEMES.len() {
            for seed in 0..24 {
                noise += run(&network(router, scheme, seed), seed);
            }
        }
    }
    assert!(noise > 10_000, "{noise}");
}

//! The fabric under drivers that no product has: one that wakes only now and then, and one step at
//! a time.

use forebay_base::{Arena, DropReason, FlowId, LinkId, NodeId, Packet, PortId, Rate, Span, Time};
use forebay_net::{Deadline, Driver, DriverError, EndId, Fabric, NetSpec, PacketEvent};
use forebay_testkit::random;
use forebay_testkit::world::{World, link};
use forebay_transport::{EndCause, PRESETS, Role};
use forebay_wire::AddressPlan;
use std::collections::BTreeSet;

/// All that is pending in order, and every drop that was shown.
#[derive(Default)]
struct Alarms {
    pending: BTreeSet<(Time, Deadline)>,
    dropped: Vec<(NodeId, DropReason)>,
}

impl Driver for Alarms {
    fn arm(&mut self, deadline: Deadline, at: Time) {
        self.pending.insert((at, deadline));
    }
    fn observes(&self) -> bool {
        true
    }
    fn observe(&mut self, _: Time, event: PacketEvent, _: &Packet, _: &Arena) {
        if let PacketEvent::Dropped(node, reason) = event {
            self.dropped.push((node, reason));
        }
    }
}

fn fabric(spec: &NetSpec, seed: u64) -> Fabric<Alarms> {
    let mut fabric = Fabric::new(spec, seed, false, Alarms::default()).expect("a sound network");
    fabric.start();
    fabric
}

/// Do all that is pending for `now` or earlier.
fn catch_up(fabric: &mut Fabric<Alarms>, now: Time) {
    while let Some(&(at, deadline)) = fabric.driver.pending.first().filter(|d| d.0 <= now) {
        fabric.driver.pending.remove(&(at, deadline));
        if !fabric.due(now, deadline) {
            continue;
        }
        match deadline {
            Deadline::Arrival(link) => {
                if let Some(packet) = fabric.take_arrival(now, link) {
                    fabric.arrive(now, link, packet);
                }
            }
            Deadline::Transmitter(link) => fabric.on_transmitter(now, link),
            Deadline::Router(node) => fabric.on_router(now, node),
            Deadline::Socket(end) => {
                fabric.on_socket(now, end);
            }
        }
    }
}

/// Waking late is legal: every flow of the random scenarios ends well if the driver wakes at
/// multiples of `grid` only.
fn late(seed: u64, grid: Span) {
    let mut spec = random::scenario(seed);
    spec.events.sort_by_key(|e| e.at);
    let mut fabric = fabric(&spec, seed);
    let mut events = spec.events.iter().peekable();
    let grid = grid.as_nanos();
    while fabric.ends().1 > 0 {
        let &(at, _) = fabric.driver.pending.first().unwrap_or_else(|| panic!("stalled: {seed}"));
        let now = Time::from_nanos(at.as_nanos().div_ceil(grid) * grid);
        while let Some(event) = events.next_if(|e| e.at <= now) {
            fabric.on_event(now, &event.event).expect("an event of the spec");
        }
        catch_up(&mut fabric, now);
    }
    for (i, flow) in spec.flows.iter().enumerate() {
        let server = fabric.connection(FlowId(i as u32), Role::Server).expect("opened").progress();
        assert_eq!(Some(server.received_bytes), flow.bytes, "seed {seed}, flow {i}");
        assert!(matches!(server.ended, Some((EndCause::Finished, _))), "seed {seed}: {server:?}");
    }
    assert!(fabric.conservation().holds(), "seed {seed}: {:?}", fabric.conservation());
    assert_eq!(fabric.driver.dropped.len() as u64, fabric.drops().total(), "seed {seed}");
}

#[test]
fn a_driver_that_wakes_late_loses_nothing() {
    for seed in 0..300 {
        late(seed, Span::from_nanos(1));
        late(seed, Span::from_millis(1));
        late(seed, Span::from_millis(17));
    }
}

/// Hosts a and b at a router; the link to b takes packets of 1000 bytes.
fn narrow() -> (World, NodeId) {
    let mut world = World::new();
    let (a, router, b) = (world.host("a"), world.router("r"), world.host("b"));
    let wide = link(Rate::mbps(8), Span::from_millis(1), u64::MAX);
    world.join(a, router, wide.clone());
    world.join(router, b, wide.with_wire(|wire| wire.mtu_bytes = 1000));
    let newreno = |init| forebay_cc::Spec::by_name("newreno").expect("in the table").build(init);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::from_secs(1), Some(1), transport);
    (world, router)
}

#[test]
fn a_deadline_is_due_once_and_not_before_its_time() {
    let mut fabric = fabric(&narrow().0.spec, 1);
    let (start, open) = (Time::from_secs(1), Deadline::Socket(EndId(0)));
    assert_eq!(fabric.driver.pending.iter().collect::<Vec<_>>(), [&(start, open)]);
    assert!(!fabric.due(start - Span::from_nanos(1), open));
    assert!(fabric.due(start, open));
    assert!(!fabric.due(start, open));
    fabric.on_socket(start, EndId(0));
    // A SYN of 60 bytes at 8 Mbit/s: 60 us, and 1 ms of wire; RFC 6298's first timeout of 1 s.
    let arrival = (start + Span::from_micros(1060), Deadline::Arrival(LinkId(0)));
    assert!(fabric.driver.pending.contains(&arrival), "{:?}", fabric.driver.pending);
    assert!(fabric.driver.pending.contains(&(start + Span::from_secs(1), open)));
    assert!(fabric.take_arrival(start, LinkId(0)).is_none(), "early");
    let packet = fabric.take_arrival(arrival.0, LinkId(0)).expect("the SYN");
    assert_eq!((packet.wire_len(), fabric.conservation().held), (60, 0));
    fabric.arena.free(packet);
}

/// A UDP packet of 1200 bytes from a to b with these flags, as RFC 791 draws it.
fn udp(flags: u8) -> Vec<u8> {
    let plan = AddressPlan::default();
    let mut bytes = vec![0x45, 0, 4, 176, 0, 1, flags << 5, 0, 64, 17, 0, 0];
    [0, 1].into_iter().for_each(|id| {
        bytes.extend(plan.to_v4(forebay_base::Addr(id)).expect("in the plan"));
    });
    let words = bytes.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum: u32 = words.sum();
    let checksum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.resize(1200, 7);
    bytes
}

#[test]
fn foreign_packets_above_the_mtu_are_cut_unless_df_forbids_it() {
    const DONT_FRAGMENT: u8 = 2;
    let (world, router) = narrow();
    let mut fabric = fabric(&world.spec, 1);
    fabric
        .inject(Time::ZERO, router, PortId(0), &udp(DONT_FRAGMENT))
        .expect("a port that is there");
    assert_eq!(fabric.driver.dropped, [(router, DropReason::TooBig)]);
    fabric.inject(Time::ZERO, router, PortId(0), &udp(0)[..100]).expect("a port that is there");
    assert_eq!(fabric.drops().count(DropReason::Malformed), 1, "cut off");
    assert!(fabric.conservation().holds() && fabric.conservation().cold_parts == 0);
    fabric.inject(Time::ZERO, router, PortId(0), &udp(0)).expect("a port that is there");
    assert_eq!((fabric.conservation().split, fabric.drops().total()), (1, 2));
    assert!(fabric.conservation().holds());
}

/// A driver that knows the verbs of the fabric's documentation and nothing else.
struct Plain {
    pending: BTreeSet<(Time, Deadline)>,
    looks_ahead: bool,
}

impl Driver for Plain {
    fn arm(&mut self, deadline: Deadline, at: Time) {
        self.pending.insert((at, deadline));
    }
    fn looks_ahead(&self) -> bool {
        self.looks_ahead
    }
}

/// A transfer over a row of routers, at rest; with a driver that looks ahead or does not.
fn row(looks_ahead: bool) -> (Fabric<Plain>, NodeId) {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let (left, right) = (world.router("left"), world.router("right"));
    let wide = link(Rate::mbps(50), Span::from_millis(2), 100_000);
    world.join(a, left, wide.clone());
    world.join(left, right, link(Rate::mbps(10), Span::from_millis(10), 20_000));
    world.join(right, b, wide);
    let newreno = |init| forebay_cc::Spec::by_name("newreno").expect("in the table").build(init);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(1_000_000), transport);
    let driver = Plain { pending: BTreeSet::new(), looks_ahead };
    let mut fabric = Fabric::new(&world.spec, 1, false, driver).expect("a sound network");
    fabric.start();
    (fabric, left)
}

/// What a driver sees does not depend on whether it looks ahead, though it calls nothing for that
/// but [`Fabric::extend_horizon`]; nor on whether it takes arrivals in one verb or in three.
#[test]
fn a_driver_that_looks_ahead_need_do_nothing_else() {
    let ended = [(false, true), (true, true), (true, false)].map(|(looks_ahead, in_one)| {
        let (mut fabric, _) = row(looks_ahead);
        while fabric.ends().1 > 0 {
            let (now, deadline) = fabric.driver.pending.pop_first().expect("it goes on");
            if looks_ahead {
                fabric.extend_horizon(now + Span::from_millis(30));
            }
            match deadline {
                Deadline::Arrival(link) if in_one => {
                    fabric.pass_arrival(now, link);
                }
                _ if !fabric.due(now, deadline) => {}
                Deadline::Arrival(link) => {
                    if let Some(packet) = fabric.take_arrival(now, link) {
                        fabric.arrive(now, link, packet);
                    }
                }
                Deadline::Transmitter(link) => fabric.on_transmitter(now, link),
                Deadline::Router(node) => fabric.on_router(now, node),
                Deadline::Socket(end) => {
                    fabric.on_socket(now, end);
                }
            }
        }
        assert!(fabric.conservation().holds(), "{:?}", fabric.conservation());
        assert_eq!(fabric.early_transit_done().0 > 0, looks_ahead);
        fabric.last_ended()
    });
    assert!(ended[0] > Time::from_millis(800), "1 MB at 10 Mbit/s: {}", ended[0]);
    assert_eq!(ended, [ended[0]; 3]);
}

#[test]
fn a_packet_from_outside_must_not_come_before_the_horizon() {
    let (mut fabric, router) = row(true);
    let horizon = Time::from_millis(30);
    fabric.extend_horizon(horizon);
    let refused = fabric.inject(Time::from_millis(10), router, PortId(0), &[]);
    assert_eq!(refused, Err(DriverError::LookedAhead(horizon)));
}

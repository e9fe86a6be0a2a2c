//! Events of the network, under every engine: one step at a time, with early transit, in two
//! threads.

use forebay_base::{FlowId, LinkId, NodeId, PortId, Rate, Span, Time};
use forebay_cc::{AnyController, Init, Spec};
use forebay_net::{ChannelSpec, DeliveryTrace, LinkSpec, NetEvent, NetSpec, Network, SpecError};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::reading::{Reading, assert_same, read};
use forebay_testkit::world::{World, link};
use forebay_transport::PRESETS;
use std::sync::Arc;

fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("it is in the table").build(init)
}

/// The last reading of the simple engine; those of the others at 0.7 s, 1.3 s and the end are its.
fn same_in_all_engines(spec: &NetSpec) -> Reading {
    let run = |options: Options| -> Vec<Reading> {
        let mut sim = Simulation::new(spec, 1, options).expect("a sound network");
        let looks = [700, 1_300, 100_000].map(Time::from_millis);
        let look = |at| {
            sim.sample_not_before(at);
            let status = sim.run_until(at).unwrap();
            read(&sim, status, spec)
        };
        looks.map(look).into()
    };
    let mut simple = run(Options { binary_heap: true, ..Options::default() });
    for threads in [1, 2] {
        let other = run(Options { threads, ..Options::default() });
        assert_same(&other, &simple, &format!("{threads} threads"));
    }
    simple.pop().expect("three looks")
}

/// Two ways from `r0` to `r3`, over `r1` and `r2`; flows in both directions begin on the first, go
/// over to the second at 0.4 s, and back at 1 s.
fn diamond(events: bool) -> World {
    let mut world = World::new();
    let r: Vec<NodeId> = (0..4).map(|i| world.router(&format!("r{i}"))).collect();
    for (a, b, ms, weight) in [(0, 1, 5, 1), (1, 3, 5, 1), (0, 2, 3, 2), (2, 3, 3, 2)] {
        let way = link(Rate::mbps(10), Span::from_millis(ms), 40_000);
        world.join(r[a], r[b], LinkSpec { weight, ..way });
    }
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    for pair in 0..2 {
        let access = link(Rate::mbps(100), Span::from_millis(1), 1_000_000);
        let (a, b) = (world.host(&format!("a{pair}")), world.host(&format!("b{pair}")));
        world.join(a, r[0], access.clone());
        world.join(b, r[3], access);
        let ends = if pair == 0 { (a, b) } else { (b, a) };
        world.flow(ends, Time::ZERO, Some(2_000_000), transport);
        if events {
            // Port 0 of `r0` and of `r3` leads to `r1`, port 1 to `r2`.
            for (ms, port) in [(400, 1), (1_000, 0)] {
                for (node, dst) in [(r[0], b), (r[3], a)] {
                    let via = Some(PortId(port));
                    world.event(Time::from_millis(ms), NetEvent::Route { node, dst, via });
                }
            }
        }
    }
    world
}

/// The way over `r2` is used if, and only if, an event leads there.
#[test]
fn routes_that_change_are_the_same_under_early_transit() {
    for events in [false, true] {
        let world = diamond(events);
        let last = same_in_all_engines(&world.spec);
        assert_eq!(last.status, Status::FlowsEnded);
        let mut sim = Simulation::new(&world.spec, 1, Options::default()).expect("sound");
        sim.run_until(Time::from_secs(100)).unwrap();
        // Links 4 and 5 join `r0` and `r2`.
        let packets = [4, 5].map(|id| sim.link(LinkId(id)).stats().packets);
        assert_eq!(packets.map(|n| n > 100), [events; 2], "{packets:?}");
    }
}

/// A flow over a link whose delay falls from 80 to 10 ms, both ways, while it sends; nothing is
/// lost.
fn falling(reorder: bool) -> World {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let (left, right) = (world.router("left"), world.router("right"));
    let access = link(Rate::mbps(100), Span::from_millis(1), u64::MAX);
    let middle = link(Rate::mbps(20), Span::from_millis(80), u64::MAX);
    world.join(a, left, access.clone());
    let middle = world.join(left, right, middle.with_wire(|wire| wire.reorder = reorder));
    world.join(right, b, access);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(5_000_000), transport);
    for link in [middle, middle.opposite()] {
        world.event(Time::from_millis(900), NetEvent::Delay(link, Span::from_millis(10)));
    }
    world
}

/// Nothing is lost and nothing overtakes, so nothing is sent twice; where packets may overtake,
/// what was on the wire for up to 70 ms is taken for lost.
#[test]
fn a_delay_that_falls_makes_nothing_be_sent_twice() {
    let repeats = |reorder| {
        let last = same_in_all_engines(&falling(reorder).spec);
        assert_eq!(last.status, Status::FlowsEnded);
        assert_eq!(last.drops.iter().sum::<u64>(), 0);
        last.flows[FlowId(0).index()].sender.retransmits
    };
    assert_eq!(repeats(false), 0);
    assert!(repeats(true) > 0);
}

#[test]
fn an_event_that_sets_the_rate_of_a_trace_is_refused() {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let trace = DeliveryTrace::new(vec![Span::from_millis(1)], 1500).expect("one opportunity");
    let channel = ChannelSpec::Trace { trace: Arc::new(trace), offset: Span::ZERO };
    let plain = link(Rate::mbps(12), Span::from_millis(1), 30_000);
    let traced = LinkSpec { channel, ..plain.clone() };
    let there = world.join_with(a, b, traced, plain);
    let build = |world: &World| Network::build(&world.spec, 1, false).err();
    world.event(Time::from_secs(1), NetEvent::Rate(there.opposite(), Rate::mbps(1)));
    world.event(Time::from_secs(1), NetEvent::Delay(there, Span::ZERO));
    assert_eq!(build(&world), None);
    world.event(Time::from_secs(2), NetEvent::Rate(there, Rate::mbps(1)));
    assert_eq!(build(&world), Some(SpecError::RateOfTrace(there)));
}

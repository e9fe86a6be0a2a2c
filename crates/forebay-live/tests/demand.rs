//! Whether scenarios are too fast, by hand.

use forebay_base::{NodeId, Rate, Span, Time};
use forebay_cc::Spec;
use forebay_live::{Capacity, Demand, KernelHost, LivePlan, Overload};
use forebay_net::{AppSchedule, NetEvent, Network, Writing};
use forebay_testkit::world::{self, World};
use forebay_transport::PRESETS;
use std::collections::BTreeMap;

fn add_transport(world: &mut World) -> usize {
    world.transport("newreno", PRESETS[0].config, |init| {
        Spec::by_name("newreno").expect("it is in the table").build(init)
    })
}

/// Three routers in a row, with hosts at each; all links carry 100 Mbit/s.
fn row() -> (World, [NodeId; 3], [NodeId; 3], usize) {
    let mut world = World::new();
    let routers = ["r0", "r1", "r2"].map(|name| world.router(name));
    let hosts = ["h0", "h1", "h2"].map(|name| world.host(name));
    let link = world::link(Rate::clamped(100_000_000), Span::from_millis(1), 100_000);
    world.join(routers[0], routers[1], link.clone());
    world.join(routers[1], routers[2], link.clone());
    for (host, router) in hosts.into_iter().zip(routers) {
        world.join(host, router, link.clone());
    }
    let newreno = add_transport(&mut world);
    (world, routers, hosts, newreno)
}

fn overload(world: &World, per_thread_pps: f64, cores: usize) -> Option<Overload> {
    overload_beside(world, BTreeMap::new(), per_thread_pps, cores)
}

fn overload_beside(
    world: &World,
    kernel_hosts: BTreeMap<NodeId, KernelHost>,
    per_thread_pps: f64,
    cores: usize,
) -> Option<Overload> {
    let plan = LivePlan {
        spec: &world.spec,
        seed: 1,
        end: Time::from_secs(60),
        ends_with_flows: true,
        kernel_hosts,
        ring_frames: 64,
        seals: false,
    };
    let network = Network::build(&world.spec, 1, false).expect("a sound network");
    Demand::of(&plan, &network).overload(Capacity { per_thread_pps, cores })
}

/// 1448 bytes of payload and 52 of headers, over 100 Mbit/s; an ACK for every second one.
const FULL_PPS: f64 = 100e6 / 8.0 / 1500.0;

fn near(found: Option<Overload>, node: Option<NodeId>, needed_pps: f64) {
    let found = found.expect("it is too fast");
    assert_eq!(found.node, node, "{found:?}");
    assert!((found.needed_pps / needed_pps - 1.0).abs() < 0.01, "{found:?}, not {needed_pps}");
}

#[test]
fn a_flow_needs_its_data_and_acks() {
    let (mut world, _, hosts, newreno) = row();
    world.flow((hosts[0], hosts[2]), Time::ZERO, None, newreno);
    let needed = FULL_PPS * 1.5;
    assert_eq!(overload(&world, needed * 1.02, 100), None);
    near(overload(&world, needed * 0.98, 100), Some(NodeId(0)), needed);
    // Five nodes together.
    near(overload(&world, needed * 2.0, 2), None, 5.0 * needed);
    // A host of the kernel costs no thread of a node.
    let kernel = BTreeMap::from([hosts[0], hosts[2]].map(|h| (h, KernelHost::Programs)));
    near(overload_beside(&world, kernel, needed * 1.2, 2), None, 3.0 * needed);
}

/// The middle router has what both routers beside it have, and flows that share a link are no more
/// than that link.
#[test]
fn shares_are_max_min_fair() {
    let (mut world, routers, hosts, newreno) = row();
    for _ in 0..10 {
        world.flow((hosts[0], hosts[2]), Time::ZERO, None, newreno);
    }
    let needed = FULL_PPS * 1.5;
    assert_eq!(overload(&world, needed * 1.02, 100), None);
    // In the other direction, to the router between.
    world.flow((hosts[2], hosts[1]), Time::from_secs(3), None, newreno);
    let found = overload(&world, needed * 1.9, 100);
    near(found, Some(routers[1]), 2.0 * needed);
    assert_eq!(found.map(|found| found.from), Some(Time::from_secs(3)));
}

#[test]
fn what_ends_soon_or_writes_slowly_is_not_too_fast() {
    let (mut world, _, hosts, newreno) = row();
    // .8 s of the link: at half the rate, .4 s too late; at .8 of it, .2 s.
    let bytes = (0.8 * FULL_PPS * 1448.0) as u64;
    world.flow((hosts[0], hosts[2]), Time::ZERO, Some(bytes), newreno);
    let needed = FULL_PPS * 1.5;
    near(overload(&world, needed / 2.0, 100), Some(NodeId(0)), needed);
    assert_eq!(overload(&world, needed * 0.8, 100), None);
    // After a pause a second one is a case of its own.
    world.flow((hosts[0], hosts[2]), Time::from_secs(2), Some(bytes), newreno);
    assert_eq!(overload(&world, needed * 0.8, 100), None);
    // Without the pause it is not.
    world.flow((hosts[0], hosts[2]), Time::from_millis(500), Some(bytes), newreno);
    near(overload(&world, needed * 0.8, 100), Some(NodeId(0)), needed);

    let (mut world, _, hosts, newreno) = row();
    world.flow((hosts[0], hosts[2]), Time::ZERO, None, newreno);
    let rate = Some(Rate::clamped(10_000_000));
    let write = Some(Writing { rate, chunk_bytes: 1448, periods: None });
    let life = AppSchedule { write, ..AppSchedule::default() };
    world.spec.flows[0].life = Some(Box::new(life));
    let needed = 10e6 / 8.0 / 1448.0 * 1.5;
    assert_eq!(overload(&world, needed * 1.02, 100), None);
    near(overload(&world, needed * 0.98, 100), Some(NodeId(0)), needed);
}

#[test]
fn events_flows_that_stop_and_networks_without_flows() {
    let (mut world, _, hosts, newreno) = row();
    assert_eq!(overload(&world, 1.0, 1), None);
    world.flow((hosts[0], hosts[1]), Time::ZERO, None, newreno);
    let stop = Some(Time::from_millis(200));
    let life = AppSchedule { stop, ..AppSchedule::default() };
    world.spec.flows[0].life = Some(Box::new(life));
    assert_eq!(
        overload(&world, 1.0, 100),
        Some(Overload {
            node: Some(NodeId(0)),
            needed_pps: FULL_PPS * 1.5,
            possible_pps: 1.0,
            from: Time::ZERO,
        })
    );
    // Twice as fast as it goes, for a fifth of a second.
    assert_eq!(overload(&world, FULL_PPS * 0.75, 100), None);
    world.spec.flows[0].life = None;
    assert_eq!(overload(&world, FULL_PPS * 1.6, 100), None);
    for link in 0..world.spec.links.len() {
        let link = forebay_base::LinkId(link as u32);
        world.event(Time::from_secs(1), NetEvent::Rate(link, Rate::clamped(400_000_000)));
    }
    near(overload(&world, FULL_PPS * 1.6, 100), Some(NodeId(0)), FULL_PPS * 6.0);
}

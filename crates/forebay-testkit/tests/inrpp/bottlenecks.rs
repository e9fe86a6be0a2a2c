//! Several bottlenecks, each under the back-pressure of the next: in series, in a ring, behind lost
//! ACKs.

use forebay_base::{DropReason, FlowId, LinkId, NodeId, Rate, Span, Time};
use forebay_router::inrpp::{CacheLimits, State};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::pool::{Interfaces, config, pooled_link, router, settings, transport};
use forebay_testkit::world::World;

const NEAR: Span = Span::from_millis(5);
/// Wire bytes per payload byte: 1446 of payload, 40 of headers, 8 of echo, 2 of PPP.
const WIRE: f64 = 1496.0 / 1446.0;

fn cache(total_bytes: u64) -> CacheLimits {
    CacheLimits { low_bytes: total_bytes * 2 / 5, high_bytes: total_bytes * 4 / 5, total_bytes }
}

/// Hosts on either side of a chain of routers whose links have these rates; its links.
fn chain(caches: &[u64], mbps: &[u64], flows: u64, bytes: u64) -> (World, Vec<LinkId>) {
    chain_apart(Span::from_millis(10), caches, mbps, flows, bytes)
}

/// The same with `apart` between two starts.
fn chain_apart(
    apart: Span,
    caches: &[u64],
    mbps: &[u64],
    flows: u64,
    bytes: u64,
) -> (World, Vec<LinkId>) {
    let mut world = World::new();
    let r: Vec<NodeId> = (0..=mbps.len())
        .map(|i| {
            router(&mut world, &format!("r{i}"), &settings(cache(caches[i.min(caches.len() - 1)])))
        })
        .collect();
    let links = mbps.iter().enumerate();
    let links: Vec<LinkId> = links
        .map(|(i, &rate)| world.join(r[i], r[i + 1], pooled_link(Rate::mbps(rate), NEAR)))
        .collect();
    let inrpp = transport(&mut world, "inrpp", config());
    for i in 0..flows {
        let (s, d) = (world.host(&format!("s{i}")), world.host(&format!("d{i}")));
        world.join(s, r[0], pooled_link(Rate::mbps(40), NEAR));
        world.join(*r.last().unwrap(), d, pooled_link(Rate::mbps(40), NEAR));
        world.flow((s, d), Time::ZERO + apart * i, Some(bytes), inrpp);
    }
    (world, links)
}

/// Run to the end; when the last flow was complete, in seconds.
fn finish(world: &World, seed: u64) -> (Simulation, f64) {
    let mut sim = Simulation::new(&world.spec, seed, Options::default()).expect("sound");
    assert_eq!(sim.run_until(Time::from_secs(1_000)).unwrap(), Status::FlowsEnded);
    assert!(sim.conservation().holds());
    let flows =
        (0..world.spec.flows.len() as u32).map(|i| sim.flow(FlowId(i)).completed_at.unwrap());
    let last = flows.max().unwrap().as_secs_f64();
    (sim, last)
}

fn entered_b(sim: &Simulation, link: LinkId) -> Option<f64> {
    let first = sim.interface(link).unwrap().first_entered();
    first[State::BackPressure as usize].map(Time::as_secs_f64)
}

/// What it takes to send 6 MB over the slowest link, and over the way: three or more links of 5 ms
/// and a handshake.
fn at_best(mbps: u64) -> f64 {
    6e6 * WIRE * 8.0 / (mbps as f64 * 1e6) + 0.08
}

#[test]
fn bottlenecks_in_series_are_used_in_full_whichever_of_them_fills_first() {
    // (caches, rates, the link that pushes back first)
    let cases: [(&[u64], &[u64], usize); 3] = [
        // Three hosts of 40 Mbit/s hear of S_high 14 ms later: 190 kB.
        (&[1_000_000], &[10, 5], 0),
        (&[2_000_000, 100_000], &[10, 5], 1),
        (&[1_000_000, 500_000, 250_000, 125_000], &[20, 10, 5], 0),
    ];
    for (caches, mbps, first) in cases {
        for flows in [1, 3] {
            let (world, links) = chain(caches, mbps, flows, 6_000_000 / flows);
            let (sim, last) = finish(&world, 1);
            let ratio = last / at_best(5);
            assert!((0.98..1.02).contains(&ratio), "{caches:?} {mbps:?} x{flows}: {last} s");
            assert_eq!(sim.drops().count(DropReason::CacheFull), 0);
            let entered: Vec<f64> = links.iter().map(|&l| entered_b(&sim, l).unwrap()).collect();
            let earliest = entered.iter().copied().fold(f64::MAX, f64::min);
            // One flow fills the last cache of the long chain first, three fill the first.
            if flows == 3 {
                assert_eq!(entered[first], earliest, "{caches:?} {mbps:?}: {entered:?}");
            }
        }
    }
}

/// Each flow comes where the caches are full of those before it: it slows down, and they need not
/// change. With what one ACK says taken for all flows, each of them opened all loops: 810 drops.
#[test]
fn flows_that_come_one_by_one_to_a_chain_under_back_pressure_cost_no_drop() {
    let apart = Span::from_secs(1);
    let (world, _) = chain_apart(apart, &[1_000_000], &[20, 10, 5], 3, 10_000_000);
    let (sim, last) = finish(&world, 1);
    assert_eq!(sim.drops().count(DropReason::CacheFull), 0);
    let ideal = 3e7 * WIRE * 8.0 / 5e6 + 0.08;
    assert!(last < ideal * 1.005, "{last} s beside {ideal} s");
}

/// A flow over `links` of 10 Mbit/s competing with one flow of each link: who comes last comes to
/// ports that are all under back-pressure. Its max-min share is half of a link. Mbit/s of payload,
/// the long flow first.
fn parking_lot(links: usize, cache_bytes: u64, long_starts_at: Time) -> Vec<f64> {
    let mut world = World::new();
    let settings = settings(cache(cache_bytes));
    let r: Vec<NodeId> =
        (0..=links).map(|i| router(&mut world, &format!("r{i}"), &settings)).collect();
    for pair in r.windows(2) {
        world.join(pair[0], pair[1], pooled_link(Rate::mbps(10), NEAR));
    }
    let inrpp = transport(&mut world, "inrpp", config());
    let mut flow = |name: &str, (from, to): (NodeId, NodeId), start| {
        let (s, d) = (world.host(&format!("s{name}")), world.host(&format!("d{name}")));
        world.join(s, from, pooled_link(Rate::mbps(40), NEAR));
        world.join(to, d, pooled_link(Rate::mbps(40), NEAR));
        world.flow((s, d), start, None, inrpp);
    };
    flow("long", (r[0], r[links]), long_starts_at);
    (0..links).for_each(|i| flow(&i.to_string(), (r[i], r[i + 1]), Time::from_millis(3_000)));
    let mut sim = Simulation::new(&world.spec, 1, Options::default()).expect("sound");
    let received = |sim: &Simulation| -> Vec<u64> {
        (0..=links as u32).map(|i| sim.flow(FlowId(i)).received_bytes).collect()
    };
    sim.run_until(Time::from_secs(20)).unwrap();
    let before = received(&sim);
    sim.run_until(Time::from_secs(40)).unwrap();
    let after = received(&sim).into_iter().zip(before);
    after.map(|(now, before)| (now - before) as f64 * 8.0 / 20e6).collect()
}

/// It had 0.96, 0.60 and 0.51 Mbit/s for ever where it came last: packets cached under a nonce that
/// its ACKs no longer brought waited for the watchdog, one each 200 ms.
#[test]
fn a_flow_over_many_bottlenecks_has_its_share_first_or_last() {
    let share = 5.0 / WIRE;
    for links in [2, 3, 5] {
        for cache_bytes in [200_000, 1_000_000] {
            for long_starts_at in [Time::ZERO, Time::from_secs(10)] {
                let rates = parking_lot(links, cache_bytes, long_starts_at);
                let fair = rates.iter().all(|rate| (0.95..1.05).contains(&(rate / share)));
                assert!(fair, "{links} links, {cache_bytes}, {long_starts_at:?}: {rates:?}");
            }
        }
    }
}

#[test]
fn back_pressure_passes_over_four_hops() {
    let (world, links) = chain(&[200_000], &[20, 15, 10, 5], 1, 6_000_000);
    let (sim, last) = finish(&world, 1);
    assert!(last < at_best(5) * 1.02, "{last} s");
    assert!(links.iter().all(|&link| entered_b(&sim, link).is_some()), "each was full");
}

/// A lost ACK is a credit less, and nothing else gives it back but the watchdog and the end of the
/// episode; while there is a backlog downstream it costs no throughput, for the bottleneck has
/// something to send.
#[test]
fn lost_acks_cost_no_throughput() {
    for (loss, flows) in [(0.05, 1), (0.05, 3), (0.05, 10), (0.3, 1)] {
        let (mut world, links) = chain(&[500_000], &[10, 5], flows, 6_000_000 / flows);
        world.spec.links[links[1].index() ^ 1].wire.loss = loss;
        let (_, last) = finish(&world, 1);
        assert!(last < at_best(5) * 1.02, "{loss} x{flows}: {last} s");
    }
}

/// Each link carries two flows of two hops, so that each interface is held by the next: each flow
/// has half of a link.
#[test]
fn a_ring_in_which_each_holds_for_the_next_does_not_lock_up() {
    for total in [100_000, 500_000] {
        let mut world = World::new();
        let r: Vec<NodeId> = (0..3)
            .map(|i| {
                router(
                    &mut world,
                    &format!("r{i}"),
                    &forebay_router::inrpp::Settings { detours: false, ..settings(cache(total)) },
                )
            })
            .collect();
        // One way round: the other direction carries ACKs, at the same rate.
        let links: Vec<LinkId> = (0..3)
            .map(|i| world.join(r[i], r[(i + 1) % 3], pooled_link(Rate::mbps(10), NEAR)))
            .collect();
        let inrpp = transport(&mut world, "inrpp", config());
        let hosts: Vec<(NodeId, NodeId)> = (0..3)
            .map(|i| {
                let (s, d) = (world.host(&format!("s{i}")), world.host(&format!("d{i}")));
                world.join(s, r[i], pooled_link(Rate::mbps(40), NEAR));
                world.join(r[(i + 2) % 3], d, pooled_link(Rate::mbps(40), NEAR));
                (s, d)
            })
            .collect();
        for (i, &(s, d)) in hosts.iter().enumerate() {
            world.flow((s, d), Time::from_millis(i as u64), Some(3_000_000), inrpp);
        }
        // Force the long way round, forth and the same way back.
        for i in 0..3 {
            let port = |world: &World, from: NodeId, to: NodeId| {
                let mut ports = world.spec.links.iter().filter(|l| l.from == from);
                forebay_base::PortId(ports.position(|l| l.to == to).unwrap() as u16)
            };
            let (a, b, c) = (r[i], r[(i + 1) % 3], r[(i + 2) % 3]);
            for (node, dst, to) in
                [(a, hosts[i].1, b), (b, hosts[i].1, c), (c, hosts[i].0, b), (b, hosts[i].0, a)]
            {
                let via = Some(port(&world, node, to));
                world.event(Time::ZERO, forebay_net::NetEvent::Route { node, dst, via });
            }
        }
        let (sim, last) = finish(&world, 1);
        let ideal = 3e6 * WIRE * 8.0 / 5e6;
        assert!(last < ideal * 1.03, "{total}: {last} s beside {ideal} s");
        assert!(links.iter().all(|&link| entered_b(&sim, link).is_some()), "each was full");
    }
}

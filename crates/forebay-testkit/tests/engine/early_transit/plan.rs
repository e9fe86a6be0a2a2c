//! Which links look ahead, and why the others do not: decided per link.

use super::networks::{diamond, fork, inrpp};
use forebay_base::{LinkId, NodeId, Rate, Span, Time};
use forebay_cc::Spec;
use forebay_net::{Ineligible, NetEvent, NetSpec, Network};
use forebay_sim::{Options, Simulation};
use forebay_testkit::reading::{assert_same, read};
use forebay_testkit::world::{World, link};
use forebay_transport::PRESETS;

/// Add two hosts after three routers in a row, with a flow: the first link of the row, of six.
fn add_row(world: &mut World) -> LinkId {
    let (a, b) = (world.host("row a"), world.host("row b"));
    let routers = [1, 2, 3].map(|i| world.router(&format!("row {i}")));
    let way = [a, routers[0], routers[1], routers[2], b];
    let first = LinkId(world.spec.links.len() as u32);
    for pair in way.windows(2) {
        world.join(pair[0], pair[1], link(Rate::mbps(20), Span::from_millis(4), 30_000));
    }
    let newreno = |init| Spec::by_name("newreno").expect("in the table").build(init);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(400_000), transport);
    first
}

/// The row looks ahead, whatever the rest of the network does, and nothing shows it.
fn the_row_looks_ahead(mut world: World) -> Simulation {
    let first = add_row(&mut world);
    let sim = Simulation::new(&world.spec, 1, Options::default()).expect("a sound network");
    let there = |hop: u32| LinkId(first.0 + 2 * hop);
    for hop in 1..4 {
        let decided = sim.early_transit(there(hop));
        assert_eq!((decided.upstream, decided.arrivals), (Ok(there(hop - 1)), Ok(())), "{hop}");
    }
    compare(&world.spec);
    sim
}

/// Early transit is worth its while, and changes nothing.
fn compare(spec: &NetSpec) {
    let looks = [150, 333, 700, 20_000].map(Time::from_millis);
    let run = |options| {
        let mut sim = Simulation::new(spec, 1, options).expect("a sound network");
        let mut readings = Vec::new();
        for look in looks {
            let status = sim.run_until(look).unwrap();
            readings.push(read(&sim, status, spec));
        }
        (readings, sim.early_transit_events(), sim.events())
    };
    let (simple, none, _) = run(Options { binary_heap: true, ..Options::default() });
    assert_eq!(none, 0);
    for threads in [1, 2] {
        let (readings, ahead, all) = run(Options { threads, ..Options::default() });
        assert_same(&readings, &simple, &format!("{threads} threads"));
        assert!(threads > 1 || 4 * ahead > all, "{ahead} of {all} events");
    }
}

#[test]
fn an_inrpp_router_elsewhere_leaves_early_transit_to_the_rest() {
    let sim = the_row_looks_ahead(inrpp());
    // fork to upper, after a host's first link.
    let refused = sim.early_transit(LinkId(2));
    assert_eq!(refused.upstream, Err(Ineligible::HoldsPackets(NodeId(2))));
    assert_eq!(sim.early_transit(LinkId(0)).arrivals, Err(Ineligible::NotPlain(NodeId(2))));
}

#[test]
fn a_flow_of_two_paths_keeps_early_transit() {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let routers = [0, 1].map(|i| world.router(&format!("r{i}")));
    let wire = || link(Rate::mbps(10), Span::from_millis(4), 30_000);
    for router in routers {
        world.join(a, router, wire());
        world.join(router, b, wire());
    }
    let newreno = |init| Spec::by_name("newreno").expect("in the table").build(init);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.multipath_flow((a, b), Some(400_000), transport, &[(0, 0), (1, 1)]);
    let sim = the_row_looks_ahead(world);
    for path in [0, 4] {
        assert_eq!(sim.early_transit(LinkId(path + 2)).upstream, Ok(LinkId(path)));
        assert_eq!(
            sim.early_transit(LinkId(path + 2)).arrivals,
            Err(Ineligible::SharedHost(NodeId(1)))
        );
    }
}

#[test]
fn a_route_event_stops_early_transit_where_it_leads_and_nowhere_else() {
    let sim = the_row_looks_ahead(diamond());
    let (fork, up, down) = (NodeId(2), LinkId(2), LinkId(4));
    assert_eq!(sim.early_transit(up).upstream, Err(Ineligible::RouteChanges(fork)));
    assert_eq!(sim.early_transit(down).upstream, Err(Ineligible::RouteChanges(fork)));
    // Where the two ways meet again; links 6 and 8 come from above and from below.
    let met = sim.early_transit(LinkId(10)).upstream;
    assert_eq!(met, Err(Ineligible::SeveralUpstreams(LinkId(6), LinkId(8))));
    // After that the packets are in a row again.
    assert_eq!(sim.early_transit(LinkId(12)).upstream, Ok(LinkId(10)));
    assert_eq!(sim.early_transit(LinkId(6)).upstream, Ok(up));
    compare(&diamond().spec);
}

/// For a while a router sends what it has for a host to a router with nothing beyond it, and which
/// sends it back: each packet goes round until its time to live is over.
#[test]
fn packets_go_round_where_routes_lead_in_a_circle() {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let (middle, aside) = (world.router("middle"), world.router("aside"));
    let wire = |ms| link(Rate::mbps(10), Span::from_millis(ms), 30_000);
    world.join(a, middle, wire(5));
    let usual = world.join(b, middle, wire(5)).opposite();
    let turn = world.join(middle, aside, wire(1));
    let newreno = |init| Spec::by_name("newreno").expect("in the table").build(init);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(400_000), transport);
    let network = Network::build(&world.spec, 1, false).expect("a sound network");
    for (ms, link) in [(100, turn), (140, usual)] {
        let via = Some(network.ports.port(link));
        world.event(Time::from_millis(ms), NetEvent::Route { node: middle, dst: b, via });
    }
    let sim = the_row_looks_ahead(world);
    assert_eq!(sim.early_transit(turn.opposite()).upstream, Ok(turn));
}

#[test]
fn a_router_from_outside_says_through_which_ports_it_leaves_the_routes() {
    let sim = the_row_looks_ahead(fork());
    let met = sim.early_transit(LinkId(10)).upstream;
    assert_eq!(met, Err(Ineligible::SeveralUpstreams(LinkId(6), LinkId(8))));
    assert_eq!(sim.early_transit(LinkId(2)).upstream, Err(Ineligible::NotPlain(NodeId(2))));
    assert_eq!(sim.early_transit(LinkId(12)).upstream, Ok(LinkId(10)));
    compare(&fork().spec);
}

#[test]
fn every_reason_of_a_link_says_what_is_in_the_way() {
    let mut world = World::new();
    let (a, b) = (world.host("a"), world.host("b"));
    let router = world.router("r");
    let wire = link(Rate::mbps(10), Span::from_millis(4), 30_000);
    // What it loses is known when it is queued.
    world.join(a, router, wire.clone().with_wire(|wire| wire.loss = 0.1));
    world.join(router, b, wire.with_wire(|wire| wire.jitter = Span::from_millis(1)));
    let newreno = |init| Spec::by_name("newreno").expect("in the table").build(init);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((a, b), Time::ZERO, Some(1), transport);
    let sim = Simulation::new(&world.spec, 1, Options::default()).expect("a sound network");
    let said = |link| sim.early_transit(LinkId(link)).arrivals.map_err(|why| why.to_string());
    assert_eq!(said(0), Err("no link downstream of node 2 has its packets from it alone".into()));
    let upstream = |link| sim.early_transit(LinkId(link)).upstream;
    assert_eq!((upstream(1), upstream(2)), (Err(Ineligible::Jitter), Err(Ineligible::Jitter)));
    assert_eq!(said(2), Err("its delay varies".into()));
    let all = [
        Ineligible::General,
        Ineligible::Changes,
        Ineligible::Late,
        Ineligible::Trace,
        Ineligible::Scheme,
        Ineligible::Discipline,
        Ineligible::HoldsPackets(NodeId(7)),
        Ineligible::Restarts(NodeId(7)),
        Ineligible::NoUpstream,
        Ineligible::SeveralUpstreams(LinkId(7), LinkId(8)),
        Ineligible::UpstreamElsewhere(LinkId(7)),
        Ineligible::NotPlain(NodeId(7)),
        Ineligible::RouteChanges(NodeId(7)),
        Ineligible::SeveralTrees,
        Ineligible::NoneBehind(NodeId(7)),
        Ineligible::SharedHost(NodeId(7)),
        Ineligible::QueuedAnswers(LinkId(7)),
        Ineligible::BeginsElsewhere,
        Ineligible::EndsElsewhere,
        Ineligible::Observed,
        Ineligible::NoHorizon,
    ];
    let texts: std::collections::BTreeSet<String> = all.map(|why| why.to_string()).into();
    assert_eq!(texts.len(), all.len());
}

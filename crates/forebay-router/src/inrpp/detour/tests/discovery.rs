//! Which detours there are, and that idle networks are quiet.

use super::*;

fn settled(nodes: usize, links: &[(usize, usize)]) -> World {
    let links: Vec<_> = links.iter().map(|&(a, b)| (a, b, 100, ms(1))).collect();
    let mut world = World::new(nodes, &links, &Settings::default());
    world.run_until(Time::from_secs(10));
    world
}

#[test]
fn a_triangle_has_all_its_detours_and_a_ring_or_a_line_none() {
    let triangle = settled(3, &[(0, 1), (1, 2), (2, 0)]);
    let all = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)];
    assert_eq!(triangle.detours(), all);
    assert_eq!(settled(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]).detours(), []);
    assert_eq!(settled(3, &[(0, 1), (1, 2)]).detours(), []);
}

#[test]
fn k4_has_two_detours_per_interface() {
    let k4 = settled(4, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
    // Ordered triples of different routers: 4 * 3 * 2.
    assert_eq!(k4.detours().len(), 24);
    assert!(k4.detours().iter().all(|&(a, x, d)| a != x && x != d && a != d));
}

#[test]
fn an_idle_network_is_quiet() {
    let mut world = settled(4, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
    // Each of 12 ends sends its list, and once more to confirm the other's.
    assert_eq!(world.messages, 24);
    assert!(world.routers.iter().all(|router| router.detours.next_timeout().is_none()));
    world.set_excess(0, 1, true);
    world.run_until(world.now + Span::from_secs(1));
    assert!(world.messages > 200);
    world.set_excess(0, 1, false);
    world.run_until(world.now + Span::from_millis(1_010));
    let before = world.messages;
    world.run_until(world.now + Span::from_secs(10));
    assert_eq!(world.messages, before);
    assert!(world.routers.iter().all(|router| router.detours.next_timeout().is_none()));
}

#[test]
fn a_link_that_fails_takes_the_detours_over_it_and_leaves_those_round_it() {
    let mut world = settled(3, &[(0, 1), (1, 2), (2, 0)]);
    world.set_up(1, 2, false);
    world.run_until(world.now + ms(10));
    assert_eq!(world.detours(), [(1, 0, 2), (2, 0, 1)], "(router, over, to): round the link");
    world.set_up(1, 2, true);
    world.run_until(world.now + ms(10));
    assert_eq!(world.detours().len(), 6);
    assert_eq!(world.routers[0].detours.port_to(id(2)), Some(world.port(0, 2)));
    world.set_up(0, 2, false);
    assert_eq!(world.routers[0].detours.port_to(id(2)), None);
}

#[test]
fn a_detour_that_appears_while_there_is_excess_is_probed_at_once() {
    let mut world = settled(3, &[(0, 1), (1, 2), (2, 0)]);
    world.set_up(1, 2, false);
    world.run_until(world.now + ms(10));
    world.set_excess(0, 2, true);
    world.set_up(1, 2, true);
    world.run_until(world.now + ms(200));
    assert!(world.rate(0, 1, 2) > Some(90e6));
}

#[test]
fn lists_survive_loss_and_restarts() {
    let links = [(0, 1, 100, ms(1)), (1, 2, 100, ms(1)), (2, 0, 100, ms(1))];
    let mut world = World::new(3, &links, &Settings::default());
    world.loss = 0.3;
    world.run_until(Time::from_secs(10));
    assert_eq!(world.detours().len(), 6);
    world.loss = 0.0;
    let ends = [0, 2].map(|node| (Some(id(node)), Rate::mbps(100)));
    world.routers[1].detours = Detours::new(id(1), &ends, &Settings::default());
    world.run_until(Time::from_secs(11));
    assert_eq!(world.detours().len(), 6, "the one that restarts is told again");
}

#[test]
fn a_neighbour_that_does_not_answer_is_left_alone() {
    let links = [(0, 1, 100, ms(1)), (1, 2, 100, ms(1)), (2, 0, 100, ms(1))];
    let mut world = World::new(3, &links, &Settings::default());
    world.loss = 1.0;
    world.run_until(Time::from_secs(100));
    assert_eq!(world.messages, 6 * 6, "six tries at each of six ends");
    assert!(world.routers.iter().all(|router| router.detours.next_timeout().is_none()));
}

/// A hub with 1000 neighbours needs three packets for its list; a detour via the hub exists for
/// each pair of its neighbours that are adjacent.
#[test]
fn a_long_list_comes_in_packets_and_counts_when_it_is_complete() {
    let hub = RouterId(0);
    let to = |node| (Some(RouterId(node)), Rate::mbps(100));
    let ring: Vec<_> = (1..=1000).map(to).collect();
    let view = View { now: Time::ZERO, ends: &[] };
    let mut detours = Detours::new(RouterId(5), &[0, 6].map(to), &Settings::default());
    let mut out = Outbox::new();
    let mut far = Detours::new(hub, &ring, &Settings::default());
    far.on_link(Time::ZERO, PortId(999), false, &mut out);
    assert!(out.is_empty(), "nothing is told before the start");
    let ends: Vec<_> = (0..1000).map(|_| end()).collect();
    far.on_timeout(Time::ZERO, &View { now: Time::ZERO, ends: &ends }, &mut out);
    let lists: Vec<_> = out.drain(..).filter(|(port, _)| *port == PortId(4)).collect();
    assert_eq!(lists.len(), 3);
    let ours = |detours: &Detours| detours.rates().count();
    // Out of order, it does not count; in order it does.
    for order in [[0, 2, 1], [1, 2, 0], [0, 1, 2]] {
        assert_eq!(ours(&detours), 0);
        for at in order {
            let message = lists[at].1.clone();
            assert!(message.to_bytes().len() + 20 <= 1500);
            detours.on_message(Time::ZERO, PortId(0), message, &view, &mut out);
        }
    }
    assert_eq!(ours(&detours), 1, "for 6 over the hub");
}

fn end() -> End {
    End {
        node: 0,
        port: PortId(0),
        rate: Rate::mbps(100),
        delay: ms(1),
        up: true,
        push: true,
        busy_until: Time::ZERO,
        detoured_bytes: 0,
        cross: None,
    }
}

#[test]
fn a_router_without_detours_keeps_silent() {
    let settings = Settings { detours: false, ..Settings::default() };
    let links = [(0, 1, 100, ms(1)), (1, 2, 100, ms(1)), (2, 0, 100, ms(1))];
    let mut world = World::new(3, &links, &settings);
    world.set_excess(0, 2, true);
    world.run_until(Time::from_secs(1));
    assert_eq!((world.messages, world.detours()), (0, Vec::new()));
}

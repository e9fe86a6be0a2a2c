//! What rates become, against residual capacities worked out by hand.

use super::*;

const MBPS: f64 = 1e6;

/// R = 0, X = 1, D = 2; the link R-D is congested.
fn triangle(delay: Span, settings: &Settings) -> World {
    let links = [(0, 2, 100, delay), (0, 1, 100, delay), (1, 2, 100, delay)];
    let mut world = World::new(3, &links, settings);
    world.run_until(Time::from_secs(1));
    world
}

#[test]
fn a_detour_takes_what_constant_traffic_leaves_on_either_interface() {
    for (near, far, expected) in [(0, 40, 60.0), (70, 0, 30.0), (20, 65, 35.0), (0, 0, 100.0)] {
        let mut world = triangle(ms(5), &Settings::default());
        world.set_cross(0, 1, near);
        world.set_cross(1, 2, far);
        world.set_excess(0, 2, true);
        world.run_until(world.now + ms(500));
        let into = world.port(2, 1);
        let before = world.routers[2].ends[into.index()].detoured_bytes;
        let (mean, worst) = world.deviation((0, 1, 2), expected * MBPS, Span::from_secs(1));
        let bytes = world.routers[2].ends[into.index()].detoured_bytes - before;
        let carried = bytes as f64 * 8.0 / (expected * MBPS) - 1.0;
        assert!(mean.abs() < 0.03 && worst < 0.1, "{near} {far}: {mean} {worst}");
        assert!(carried.abs() < 0.03, "{near} {far}: carried {carried}");
    }
}

#[test]
fn rates_settle_whatever_the_delay() {
    for one_way in [ms(1), ms(5), ms(10), ms(20), ms(40), ms(100)] {
        let mut world = triangle(one_way, &Settings::default());
        world.set_cross(1, 2, 50);
        world.run_until(world.now + ms(500));
        world.set_excess(0, 2, true);
        let interval = (one_way * 2).max(T_P);
        world.run_until(world.now + interval * 20);
        let (mean, worst) = world.deviation((0, 1, 2), 50.0 * MBPS, interval * 20);
        assert!(mean.abs() < 0.03 && worst < 0.1, "{one_way}: {mean} {worst}");
    }
}

/// Fig. 6: R2 = 1 and R3 = 2 share the link R1-R4 (0-3); each has a congested link of its own to
/// R4.
fn figure_6(delay: Span) -> World {
    let links = [
        (1, 0, 100, delay),
        (2, 0, 100, delay),
        (0, 3, 100, delay),
        (1, 3, 100, delay),
        (2, 3, 100, delay),
    ];
    let mut world = World::new(4, &links, &Settings::default());
    world.run_until(Time::from_secs(1));
    world
}

/// Steps of `step` until both rates are within a tenth of half the link, and stay so for 50 more.
fn steps_to_fair(world: &mut World, step: Span) -> Option<u64> {
    let mut since = None;
    for k in 1..200 {
        world.run_until(world.now + step);
        let near =
            |from| (world.rate(from, 0, 3).expect("a detour") / (50.0 * MBPS) - 1.0).abs() < 0.1;
        since = if near(1) && near(2) { since.or(Some(k)) } else { None };
        if since.is_some_and(|since| k - since >= 50) {
            return since;
        }
    }
    None
}

/// A step leaves 0.9 of the distance at best, so that 22 leave a tenth of it; phi takes part of
/// what is shuffled.
#[test]
fn two_routers_share_a_spare_link_in_halves() {
    for delay in [ms(1), ms(5), ms(10), ms(30)] {
        let step = T_P.max(delay * 2);
        let mut world = figure_6(delay);
        world.set_excess(1, 3, true);
        world.set_excess(2, 3, true);
        let together = steps_to_fair(&mut world, step);
        let mut world = figure_6(delay);
        world.set_excess(1, 3, true);
        world.run_until(world.now + ms(500));
        world.set_excess(2, 3, true);
        let late = steps_to_fair(&mut world, step);
        assert!(together.is_some_and(|k| k <= 60), "{delay}: {together:?}");
        assert!(late.is_some_and(|k| k <= 60), "{delay}: {late:?}");
        world.set_excess(1, 3, false);
        world.run_until(world.now + step * 20);
        let (mean, _) = world.deviation((2, 0, 3), 100.0 * MBPS, ms(500));
        assert!(mean.abs() < 0.03, "the one that stays takes all: {mean}");
    }
}

/// Max-min by hand: R2's own link leaves it 20, so R3 has the other 80; without the bound 50 each.
#[test]
fn what_one_cannot_use_the_other_has() {
    let mut world = figure_6(ms(5));
    world.set_cross(1, 0, 80);
    world.set_excess(1, 3, true);
    world.set_excess(2, 3, true);
    world.run_until(world.now + ms(500));
    let (small, _) = world.deviation((1, 0, 3), 20.0 * MBPS, ms(500));
    let (large, _) = world.deviation((2, 0, 3), 80.0 * MBPS, ms(500));
    assert!(small.abs() < 0.1 && large.abs() < 0.05, "{small} {large}");
    world.set_cross(1, 0, 0);
    world.run_until(world.now + ms(300));
    let (freed, _) = world.deviation((1, 0, 3), 50.0 * MBPS, ms(500));
    assert!(freed.abs() < 0.1, "{freed}");
}

/// A contender that asks and never sends makes the first one slower and takes nothing from it.
#[test]
fn a_wrong_number_of_contenders_changes_only_the_speed() {
    let reached = |phantom: bool| {
        let mut world = figure_6(ms(5));
        if phantom {
            world.set_excess(2, 3, true);
            world.routers[2].greedy.fill(false);
            world.run_until(world.now + ms(200));
        }
        world.set_excess(1, 3, true);
        let begin = world.now;
        while world.rate(1, 0, 3).expect("a detour") < 85.0 * MBPS {
            world.run_until(world.now + ms(1));
            assert!(world.now < begin + Span::from_secs(1), "no more than 85 % with {phantom}");
        }
        let time = world.now.since(begin);
        world.run_until(world.now + ms(500));
        let (mean, _) = world.deviation((1, 0, 3), 100.0 * MBPS, ms(2000));
        assert!(mean.abs() < 0.03, "{phantom}: {mean}");
        time
    };
    let (alone, crowded) = (reached(false), reached(true));
    assert!(crowded > alone, "{alone} {crowded}");
}

#[test]
fn an_interface_out_of_push_closes_the_detour_at_once_and_for_t_d() {
    let settings = Settings { decision_interval: ms(50), ..Settings::default() };
    let mut world = triangle(ms(1), &settings);
    world.set_excess(0, 2, true);
    world.run_until(world.now + ms(305));
    assert!(world.rate(0, 1, 2) > Some(90.0 * MBPS));
    // X leaves push between two probes: the news takes 1 ms, not T_p.
    world.set_excess(1, 2, true);
    world.run_until(world.now + ms(2));
    assert_eq!(world.rate(0, 1, 2), Some(0.0));
    let zero = |world: &mut World, span: Span| {
        let end = world.now + span;
        while world.now < end {
            assert_eq!(world.rate(0, 1, 2), Some(0.0), "at {}", world.now);
            world.run_until(world.now + ms(1));
        }
    };
    zero(&mut world, ms(200));
    // Probes go on; the last answer that says "closed" came within T_p before the return to push.
    world.set_excess(1, 2, false);
    zero(&mut world, ms(38));
    world.run_until(world.now + ms(150));
    assert!(world.rate(0, 1, 2) > Some(90.0 * MBPS));
    // The own interface to X.
    world.set_excess(0, 1, true);
    assert_eq!(world.rate(0, 1, 2), Some(0.0));
    world.set_excess(0, 1, false);
    zero(&mut world, ms(50));
    world.run_until(world.now + ms(150));
    assert!(world.rate(0, 1, 2) > Some(90.0 * MBPS));
}

/// One that vanished without a last probe gets no feedback after three of its intervals. The last
/// that came in left 10 ms before the link went down.
#[test]
fn who_has_not_asked_for_three_intervals_is_forgotten() {
    for (silence, told) in [(ms(15), 1), (ms(25), 0)] {
        let mut world = triangle(ms(1), &Settings::default());
        world.set_excess(0, 2, true);
        world.run_until(world.now + ms(200));
        world.set_up(0, 1, false);
        world.run_until(world.now + silence);
        let mut out = Outbox::new();
        let (now, port) = (world.now, world.port(1, 2));
        world.routers[1].detours.demand(now, port, true, &mut out);
        let told_closed = |(_, message): &&(PortId, Message)| {
            matches!(message, Message::Feedback(Feedback { open: false, .. }))
        };
        assert_eq!(out.iter().filter(told_closed).count(), told, "{silence}");
    }
}

/// X goes in and out of push each 20 ms, less than T_d: the detour stays closed instead of pulsing.
#[test]
fn an_interface_that_flips_does_not_pulse_its_detours() {
    let settings = Settings { decision_interval: ms(50), ..Settings::default() };
    let mut world = triangle(ms(1), &settings);
    world.set_excess(0, 2, true);
    world.run_until(world.now + ms(200));
    for k in 0..20 {
        world.set_excess(1, 2, k % 2 == 0);
        for _ in 0..20 {
            world.run_until(world.now + ms(1));
            assert!(k == 0 || world.rate(0, 1, 2) == Some(0.0), "{k}");
        }
    }
}

#[test]
fn feedback_that_stops_ends_the_rate_after_three_intervals() {
    let mut world = triangle(ms(1), &Settings::default());
    world.set_excess(0, 2, true);
    world.run_until(world.now + ms(300));
    world.loss = 1.0;
    world.run_until(world.now + ms(15));
    assert!(world.rate(0, 1, 2) > Some(90.0 * MBPS), "one lost answer is nothing");
    world.run_until(world.now + ms(20));
    assert_eq!(world.rate(0, 1, 2), Some(0.0));
    let before = world.messages;
    world.run_until(world.now + Span::from_secs(20));
    assert!(
        world.messages - before < 40,
        "it asks less and less often: {}",
        world.messages - before
    );
    world.loss = 0.0;
    world.run_until(world.now + Span::from_secs(2));
    assert!(world.rate(0, 1, 2) > Some(90.0 * MBPS));
}

/// With a tenth of all messages lost, the rate ends only where two probes in a row or their answers
/// are lost.
#[test]
fn some_lost_messages_cost_little() {
    let mut world = triangle(ms(1), &Settings::default());
    world.loss = 0.1;
    world.set_excess(0, 2, true);
    world.run_until(world.now + ms(300));
    let (mean, _) = world.deviation((0, 1, 2), 100.0 * MBPS, Span::from_secs(5));
    assert!(mean > -0.25, "{mean}");
}

#[test]
fn an_answer_that_is_late_or_repeated_or_forged_counts_once_or_not_at_all() {
    let mut world = triangle(ms(1), &Settings::default());
    world.set_excess(0, 2, true);
    let (via, primary) = (world.port(0, 1), world.port(0, 2));
    let sent = world.now;
    let answer = Feedback {
        from: id(1),
        target: id(2),
        primary,
        sent,
        open: true,
        increase: 1_000_000,
        decrease: 0,
        cap: u64::MAX,
        longer_ms: 0,
    };
    let tell = |world: &mut World, port, answer: Feedback| {
        world.with(0, |detours, now, view, out| {
            detours.on_message(now, port, Message::Feedback(answer), view, out);
        });
        world.rate(0, 1, 2).expect("a detour")
    };
    world.now += ms(1);
    assert_eq!(tell(&mut world, via, Feedback { from: id(2), ..answer }), 0.0, "not X");
    assert_eq!(tell(&mut world, primary, answer), 0.0, "not from there");
    assert_eq!(tell(&mut world, via, Feedback { target: id(9), ..answer }), 0.0, "not for D");
    assert_eq!(
        tell(&mut world, via, Feedback { sent: sent + ms(1), ..answer }),
        0.0,
        "never asked"
    );
    assert_eq!(tell(&mut world, via, answer), 8.0 * MBPS);
    assert_eq!(tell(&mut world, via, answer), 8.0 * MBPS, "the same answer again");
    world.loss = 1.0;
    world.run_until(sent + ms(20));
    let huge = Feedback { increase: u64::MAX, sent: sent + ms(10), ..answer };
    assert!(tell(&mut world, via, huge) <= 100.0 * MBPS, "the own link bounds it");
}

/// Flows may be over before a probe is answered: the next burst finds the detour open.
#[test]
fn a_burst_soon_after_another_finds_its_detour_open() {
    let mut world = triangle(ms(1), &Settings::default());
    world.set_excess(0, 2, true);
    world.run_until(world.now + ms(100));
    world.set_excess(0, 2, false);
    world.run_until(world.now + ms(990));
    world.set_excess(0, 2, true);
    assert!(world.rate(0, 1, 2).expect("a detour") > 90.0 * MBPS);
    world.set_excess(0, 2, false);
    world.run_until(world.now + ms(1_010));
    assert_eq!(world.rate(0, 1, 2), Some(0.0), "it has been idle for longer than that");
}

/// The links take so many milliseconds: 0 to 2, and round it over 1. There has been excess for
/// `wait_ms`.
fn lag_after(ways: [u64; 3], wait_ms: u64) -> Lag {
    let [direct, to_x, from_x] = ways.map(ms);
    let links = [(0, 2, 100, direct), (0, 1, 100, to_x), (1, 2, 100, from_x)];
    let mut world = World::new(3, &links, &Settings::default());
    world.run_until(Time::from_secs(3));
    let (via, primary) = (world.port(0, 1), world.port(0, 2));
    let first = world.routers[0].detours.lag(world.now, primary, via);
    assert_eq!(first, Lag::Capped(0), "nothing is known yet");
    world.set_excess(0, 2, true);
    world.run_until(world.now + ms(wait_ms));
    world.routers[0].detours.lag(world.now, primary, via)
}

/// 100 Mbit/s are 12 500 bytes in a millisecond. The probe itself takes some microseconds.
#[test]
fn a_detour_is_longer_by_both_of_its_links_less_the_one_that_it_goes_round() {
    let longer_ms = |lag| match lag {
        Lag::TooLong => None,
        Lag::Bytes(bytes) | Lag::Capped(bytes) => Some(bytes as f64 / 12_500.0),
    };
    let cases = [
        ([5, 5, 5], Some(5.0)),
        ([5, 5, 40], Some(40.0)),
        ([5, 40, 5], Some(40.0)),
        ([20, 10, 30], Some(20.0)),
        ([40, 10, 10], Some(0.0)),
        ([5, 300, 500], Some(795.0)),
        ([5, 300, 510], None),
        ([5, 510, 300], None),
    ];
    for (ways, expected) in cases {
        let is = longer_ms(lag_after(ways, 2_000));
        let close = is.zip(expected).is_some_and(|(a, b)| (a - b).abs() < 0.1);
        assert!(close || is == expected, "{ways:?}: {is:?}");
    }
    assert!(matches!(lag_after([5, 5, 30], 80), Lag::Bytes(_)), "less than 3 times 30 ms");
    assert!(matches!(lag_after([5, 5, 30], 100), Lag::Capped(_)));
}

/// 8 Mbit/s are 1500 bytes each 1.5 ms.
#[test]
fn packets_are_paced_in_bursts_of_two_and_take_turns() {
    let mut world = triangle(ms(1), &Settings::default());
    world.set_excess(0, 2, true);
    world.routers[0].greedy.fill(false);
    let (via, primary) = (world.port(0, 1), world.port(0, 2));
    let (from, target, sent) = (id(1), id(2), world.now);
    let (open, increase, decrease, cap) = (true, 1_000_000, 0, u64::MAX);
    let longer_ms = 0;
    let answer = Feedback { from, target, primary, sent, open, increase, decrease, cap, longer_ms };
    world.with(0, |detours, now, view, out| {
        detours.on_message(now, via, Message::Feedback(answer), view, out);
    });
    let detours = &mut world.routers[0].detours;
    let at = |us: u64| sent + Span::from_micros(us);
    assert_eq!(detours.next_for(at(1_499), via), None, "the first packet is earned");
    assert_eq!(detours.next_timeout(), Some(at(1_500)));
    assert_eq!(detours.next_for(at(1_500), via), Some(primary));
    detours.charge(at(1_500), primary, via, PACKET);
    assert_eq!(detours.next_for(at(2_999), via), None);
    assert_eq!(detours.open_through(primary).collect::<Vec<_>>(), [via]);
    // Long after, two may leave together, and no third.
    for left in [2, 1] {
        assert_eq!(detours.next_for(at(9_000), via), Some(primary), "{left} left");
        detours.charge(at(9_000), primary, via, PACKET);
    }
    assert_eq!(detours.next_for(at(10_499), via), None);
    assert_eq!(detours.next_for(at(10_500), via), Some(primary));
}

/// K4: two congested interfaces of router 0 share the third; each has what its rate allows, in
/// turns.
#[test]
fn primaries_take_turns_on_a_shared_detour() {
    let mut links = Vec::new();
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        links.push((a, b, 100, ms(1)));
    }
    let mut world = World::new(4, &links, &Settings::default());
    world.run_until(Time::from_secs(1));
    world.set_excess(0, 1, true);
    world.set_excess(0, 2, true);
    world.run_until(world.now + ms(500));
    let (first, _) = world.deviation((0, 3, 1), 50.0 * MBPS, ms(500));
    let (second, _) = world.deviation((0, 3, 2), 50.0 * MBPS, ms(500));
    assert!(first.abs() < 0.1 && second.abs() < 0.1, "{first} {second}");
    assert_eq!(world.rate(0, 1, 2), Some(0.0), "a congested interface is no detour");
    let (primary, via) = (world.port(0, 1), world.port(0, 3));
    let later = world.now + Span::from_secs(1);
    let detours = &mut world.routers[0].detours;
    let order: Vec<_> = detours.due_for(later, via).collect();
    assert_eq!(order.len(), 2);
    detours.skip(order[0], via);
    assert_eq!(detours.next_for(later, via), Some(order[1]));
    assert!(detours.woken(later).eq([via]) && order.contains(&primary));
}

#[test]
fn probes_and_their_answers_are_the_wire_format() {
    let mut world = triangle(ms(1), &Settings::default());
    world.set_excess(0, 2, true);
    let (_, (_, _, event)) = world.events.first_key_value().expect("a probe is under way");
    let Event::Message(message) = event else { panic!("a message") };
    assert_eq!(Message::parse(&message.to_bytes()).as_ref(), Ok(message));
}

/// With 10 Mbit/s an interval holds 8 packets, with 1 Mbit/s less than one: rates hold on average,
/// and full links are full.
#[test]
fn slow_links_are_used_as_well() {
    let cases = [(1, 0, 0.005), (2, 1, 0.03), (10, 0, 0.005), (10, 4, 0.01), (10, 9, 0.05)];
    for (mbps, cross, tolerance) in cases {
        let links = [(0, 2, mbps, ms(5)), (0, 1, mbps, ms(5)), (1, 2, mbps, ms(5))];
        let mut world = World::new(3, &links, &Settings::default());
        world.run_until(Time::from_secs(1));
        world.set_cross(1, 2, cross);
        world.set_excess(0, 2, true);
        world.run_until(world.now + ms(500));
        let expected = (mbps - cross) as f64 * MBPS;
        let into = world.port(2, 1);
        let before = world.routers[2].ends[into.index()].detoured_bytes;
        let (mean, _) = world.deviation((0, 1, 2), expected, Span::from_secs(5));
        let bytes = world.routers[2].ends[into.index()].detoured_bytes - before;
        let carried = bytes as f64 * 8.0 / 5.0 / expected - 1.0;
        assert!(mean.abs() < tolerance, "{mbps} {cross}: {mean}");
        assert!(carried.abs() < tolerance, "{mbps} {cross}: carried {carried}");
    }
}

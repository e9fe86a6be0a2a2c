//! Rates with detours that can be worked out on paper. Detours cost nothing extra unless a test
//! says so.

use crate::close;
use forebay_reference::{Demand, Detour, MaxMin, Use};

pub fn detour(link: u32, legs: [u32; 2]) -> Detour {
    Detour { link, legs, relief: 1.0, cost: [1.0; 2] }
}

fn free(link: u32) -> Use {
    Use { link, weight: 1.0, detourable: 1.0, acks: false }
}

fn bound(link: u32) -> Use {
    Use { link, weight: 1.0, detourable: 0.0, acks: false }
}

fn assert_rates(capacity: &[f64], detours: Vec<Detour>, routes: &[Vec<Use>], expected: &[f64]) {
    let demands: Vec<Demand<'_>> = routes.iter().map(|uses| Demand { uses, flows: 1.0 }).collect();
    let mut solver = MaxMin::new(capacity.len(), detours);
    let found = solver.rates(capacity, &demands).to_vec();
    assert!(!solver.degraded());
    assert_eq!(found.len(), expected.len());
    for (&rate, &wanted) in found.iter().zip(expected) {
        close(rate, wanted, 1e-9);
    }
}

#[test]
fn a_triangle_doubles_one_flow() {
    assert_rates(&[10.0; 3], vec![detour(0, [1, 2])], &[vec![free(0)]], &[20.0]);
    // Only what may take it.
    assert_rates(&[10.0; 3], vec![detour(0, [1, 2])], &[vec![bound(0)]], &[10.0]);
    // A full mesh of four: two detours, 30.
    let two = vec![detour(0, [1, 2]), detour(0, [3, 4])];
    assert_rates(&[10.0; 5], two, &[vec![free(0)]], &[30.0]);
}

/// Links 0 and 1 can both go round over 2: 10 each of their own, and the 10 between them.
#[test]
fn two_links_share_a_detour() {
    let capacity = [10.0, 10.0, 10.0, 100.0, 100.0];
    let detours = vec![detour(0, [2, 3]), detour(1, [2, 4])];
    assert_rates(&capacity, detours.clone(), &[vec![free(0)], vec![free(1)]], &[15.0, 15.0]);
    // Three flows on the first, one on the second: the three have the first and all of the detour,
    // 20 / 3 each, and the one has the 10 of its link.
    let routes = [vec![free(0)], vec![free(0)], vec![free(0)], vec![free(1)]];
    assert_rates(&capacity, detours.clone(), &routes, &[20.0 / 3.0, 20.0 / 3.0, 20.0 / 3.0, 10.0]);
    // Two on the first: equal shares would be 10 each, where the second link needs no help.
    let routes = [vec![free(0)], vec![free(0)], vec![free(1)]];
    assert_rates(&capacity, detours, &routes, &[10.0, 10.0, 10.0]);
}

/// The detour of 0 goes over 1, which has a flow of its own: 20 for two.
#[test]
fn a_detour_with_traffic_of_its_own() {
    let capacity = [10.0, 10.0, 100.0];
    let detours = vec![detour(0, [1, 2])];
    assert_rates(&capacity, detours.clone(), &[vec![free(0)], vec![bound(1)]], &[10.0, 10.0]);
    // Two flows on 0: 20 in all for three.
    let routes = [vec![free(0)], vec![free(0)], vec![bound(1)]];
    assert_rates(&capacity, detours.clone(), &routes, &[20.0 / 3.0; 3]);
    // A flow of 1 that is held back to 2 elsewhere leaves 8.
    let capacity = [10.0, 10.0, 100.0, 2.0];
    assert_rates(&capacity, detours, &[vec![free(0)], vec![bound(1), bound(3)]], &[18.0, 2.0]);
}

/// Traffic on the first leg makes room by a detour of its own: 0 goes round over 1 and 2, 1 over 3
/// and 4.
#[test]
fn a_leg_makes_room_by_a_detour_of_its_own() {
    let capacity = [10.0, 10.0, 100.0, 10.0, 10.0];
    let detours = vec![detour(0, [1, 2]), detour(1, [3, 4])];
    // 30 in all; the flow on 1 has half, of which 10 go round, and leaves 5 to the other.
    assert_rates(&capacity, detours, &[vec![free(0)], vec![free(1)]], &[15.0, 15.0]);
}

/// Only the way of the flow on the detour is longer: 10 directly, 10 / 1.25 round.
#[test]
fn packets_are_longer_on_detours() {
    let long = Detour { link: 0, legs: [1, 2], relief: 1.0, cost: [1.25; 2] };
    assert_rates(&[10.0; 3], vec![long], &[vec![free(0)]], &[18.0]);
}

/// One flow may take detours and one may not. Both are on link 0 of 10 with a detour of 4: equal
/// until 7 each. With a detour of 20 the first leaves the link to the second, then goes on alone.
#[test]
fn a_flow_that_may_go_round_makes_room_for_one_that_may_not() {
    let routes = [vec![free(0)], vec![bound(0)]];
    let detours = vec![detour(0, [1, 2])];
    assert_rates(&[10.0, 4.0, 100.0], detours.clone(), &routes, &[7.0, 7.0]);
    assert_rates(&[10.0, 20.0, 100.0], detours, &routes, &[20.0, 10.0]);
}

#[test]
fn a_link_that_is_down_has_its_detour_and_a_detour_that_is_down_helps_nobody() {
    let detours = vec![detour(0, [1, 2])];
    assert_rates(&[0.0, 6.0, 9.0], detours.clone(), &[vec![free(0)]], &[6.0]);
    assert_rates(&[10.0, 0.0, 9.0], detours, &[vec![free(0)]], &[10.0]);
}

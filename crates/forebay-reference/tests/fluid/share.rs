//! Processor sharing over time, against closed forms.

use crate::close;
use forebay_reference::{Change, Detour, Fluid, FluidFlow, Horizon, Served, Use};

pub const FOREVER: Horizon = Horizon { from_s: 0.0, until_s: f64::INFINITY };

/// One link of `capacity`, and flows of (start, bytes) that load it with `weight`.
fn one_link(capacity: f64, weight: f64, flows: &[(f64, f64)]) -> Fluid {
    let flow = |&(from_s, bytes)| FluidFlow {
        from_s,
        until_s: f64::INFINITY,
        bytes: Some(bytes),
        route: 0,
    };
    Fluid {
        capacity: vec![capacity],
        routes: vec![vec![Use { link: 0, weight, detourable: 0.0, acks: false }]],
        flows: flows.iter().map(flow).collect(),
        ..Fluid::default()
    }
}

pub fn serve(fluid: &Fluid, horizon: Horizon) -> Served {
    fluid.serve(horizon, &mut |_| true).expect("nobody stops it")
}

fn assert_done(fluid: &Fluid, expected: &[f64]) {
    let served = serve(fluid, FOREVER);
    assert!(served.exact);
    for (done, &wanted) in served.done_s.iter().zip(expected) {
        close(done.expect("served"), wanted, 1e-12);
    }
    close(served.end_s, expected.iter().copied().fold(0.0, f64::max), 1e-12);
}

#[test]
fn completion_times_of_shared_links() {
    let starts = [(1.0, 80.0), (2.0, 80.0), (3.0, 80.0)];
    assert_done(&one_link(20.0, 1.0, &starts), &[10.5, 12.5, 13.0]);
    assert_done(&one_link(10.0, 1.0, &starts), &[22.5, 24.5, 25.0]);
    let together = [(0.0, 10.0), (0.0, 20.0), (0.0, 30.0)];
    assert_done(&one_link(10.0, 1.0, &together), &[3.0, 5.0, 6.0]);
    assert_done(&one_link(1.0, 1.0, &[(0.0, 1.0), (0.5, 1.0)]), &[1.5, 2.0]);
}

/// Three flows of 10 MB that start a second apart on a link of C: AFCT 3x - 2 with x = 8k /
/// C(Mbit/s) seconds per 10 MB, as long as each outlasts the arrivals.
#[test]
fn three_downloads_with_headers() {
    for (mbps, k) in [
        (20.0, 1.0),
        (20.0, 1496.0 / 1446.0),
        (20.0, 1500.0 / 1458.0),
        (10.0, 1.0),
        (10.0, 1500.0 / 1434.0),
    ] {
        let starts = [(1.0, 1e7), (2.0, 1e7), (3.0, 1e7)];
        let served = serve(&one_link(mbps * 1e6 / 8.0, k, &starts), FOREVER);
        let fcts = served.done_s.iter().zip(starts).map(|(done, start)| done.unwrap() - start.0);
        close(fcts.sum::<f64>() / 3.0, 3.0 * (80.0 * k / mbps) - 2.0, 1e-12);
    }
}

/// The same over two routes of 10 Mbit/s, the route and a detour: what one link of 20 Mbit/s would
/// do.
#[test]
fn two_ways_of_ten_are_one_of_twenty() {
    for k in [1.0, 1496.0 / 1446.0] {
        let used = |link, detourable| Use { link, weight: k, detourable, acks: false };
        let flow = |i| FluidFlow {
            from_s: f64::from(i),
            until_s: f64::INFINITY,
            bytes: Some(1e7),
            route: 0,
        };
        let fluid = Fluid {
            capacity: [10e6, 10e6, 10e6, 100e6].map(|bps| bps / 8.0).to_vec(),
            detours: vec![Detour { link: 0, legs: [1, 2], relief: 1.0, cost: [1.0; 2] }],
            routes: vec![vec![used(3, 0.0), used(0, k)]],
            flows: (1..=3).map(flow).collect(),
            ..Fluid::default()
        };
        let served = serve(&fluid, FOREVER);
        let fcts = served.done_s.iter().zip(1..).map(|(done, i)| done.unwrap() - f64::from(i));
        let afct_s = fcts.sum::<f64>() / 3.0;
        close(afct_s, 12.0 * k - 2.0, 1e-9);
        assert!(served.exact && (k == 1.0 || (afct_s - 10.415).abs() < 5e-4), "{afct_s}");
    }
}

#[test]
fn a_link_that_fails_and_slows_down() {
    // 30 of 100 bytes by 3 s, nothing until 5 s, 20 more by 7 s, the last 50 at half the rate.
    let mut fluid = one_link(10.0, 1.0, &[(0.0, 100.0)]);
    let change = |at_s, capacity| Change { at_s, link: 0, capacity };
    fluid.changes = vec![change(3.0, 0.0), change(5.0, 10.0), change(7.0, 5.0)];
    assert_done(&fluid, &[17.0]);
}

#[test]
fn a_network_that_stays_cut_ends() {
    let mut fluid = one_link(10.0, 1.0, &[(0.0, 100.0), (0.0, 20.0)]);
    fluid.changes = vec![Change { at_s: 6.0, link: 0, capacity: 0.0 }];
    let served = serve(&fluid, FOREVER);
    // Both have 20 at 4 s; then one has 20 more until the cut.
    assert_eq!(served.done_s[0], None);
    close(served.done_s[1].unwrap(), 4.0, 1e-12);
    close(served.bytes[0], 40.0, 1e-12);
    close(served.end_s, 6.0, 1e-12);
}

#[test]
fn flows_without_end_are_counted_in_the_window() {
    let mut fluid = one_link(10.0, 1.0, &[(0.0, 30.0), (2.0, 1.0)]);
    fluid.flows[1].bytes = None;
    // Alone until 2 s with 20 bytes served; 10 more at half the rate until 4 s; then the endless
    // one alone.
    let served = serve(&fluid, Horizon { from_s: 3.0, until_s: 10.0 });
    assert_eq!(served.done_s[1], None);
    close(served.done_s[0].unwrap(), 4.0, 1e-12);
    for (found, by_hand) in [(&served.before, [25.0, 5.0]), (&served.bytes, [30.0, 70.0])] {
        found.iter().zip(by_hand).for_each(|(&bytes, wanted)| close(bytes, wanted, 1e-12));
    }
    assert_eq!(served.end_s, 10.0);
}

#[test]
fn it_stops_when_told() {
    assert_eq!(one_link(10.0, 1.0, &[(0.0, 30.0)]).serve(FOREVER, &mut |_| false), None);
}

/// Until 5 s two flows have 5 bytes per second each. Then one leaves, the other has all for its
/// last 5 bytes, and one more comes a second after that.
#[test]
fn flows_that_stop_and_flows_that_follow() {
    let mut fluid = one_link(10.0, 1.0, &[(0.0, 0.0), (0.0, 30.0), (f64::INFINITY, 10.0)]);
    (fluid.flows[0].until_s, fluid.flows[0].bytes) = (5.0, None);
    let third_after_second = |flow: u32, at_s: f64| match flow {
        1 => vec![(2, at_s + 1.0)],
        _ => Vec::new(),
    };
    let served = fluid.serve_after(FOREVER, &mut |_| true, &third_after_second).unwrap();
    for (done, wanted) in served.done_s.iter().zip([5.0, 5.5, 7.5]) {
        close(done.expect("served"), wanted, 1e-12);
    }
    assert_eq!(served.bytes, [25.0, 30.0, 10.0]);
}

/// Endless flows between two ends: on link 0 `there` of them have their data, on link 1 one. Data
/// costs 1.05 of a byte on its link, the ACKs 0.02 on the other.
fn both_ways(capacity: [f64; 2], there: usize) -> Served {
    let route = |data, acks| {
        let data = Use { link: data, weight: 1.05, detourable: 0.0, acks: false };
        vec![data, Use { link: acks, weight: 0.02, detourable: 0.0, acks: true }]
    };
    let flow = |route| FluidFlow { from_s: 0.0, until_s: f64::INFINITY, bytes: None, route };
    let mut flows = vec![flow(0); there];
    flows.push(flow(1));
    let routes = vec![route(0, 1), route(1, 0)];
    let fluid = Fluid { capacity: capacity.to_vec(), routes, flows, ..Fluid::default() };
    serve(&fluid, Horizon { from_s: 0.0, until_s: 1.0 })
}

/// Three flows of rate x one way and one of rate y the other, 10 per second each way: 3.15 x + 0.02
/// y = 10 and 1.05 y + 0.06 x = 10.
#[test]
fn a_flow_alone_has_what_the_acks_of_the_others_leave() {
    let served = both_ways([10.0; 2], 3);
    let [x, y] = [10.3, 30.9].map(|over| over / 3.3063);
    served.bytes.iter().zip([x, x, x, y]).for_each(|(&found, by_hand)| close(found, by_hand, 1e-9));
    assert!(served.exact && !served.crowded);
}

/// 95 per second that a link of 100 could carry need 1.9 of the slow link for their ACKs: more than
/// it has, and all rise to 1 / 1.07. Without data on it the slow link says 1 / 0.02.
#[test]
fn acks_that_need_more_than_data_has_are_told() {
    let served = both_ways([1.0, 100.0], 1);
    served.bytes.iter().for_each(|&found| close(found, 1.0 / 1.07, 1e-9));
    assert!(served.crowded);
    let served = both_ways([1.0, 100.0], 0);
    close(served.bytes[0], 50.0, 1e-9);
    assert!(!served.crowded);
}

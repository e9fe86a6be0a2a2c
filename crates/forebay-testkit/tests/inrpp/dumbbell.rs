//! The dumbbell of the INRPP paper, section IV-A, against processor sharing worked out by hand.

use forebay_base::{DropReason, FlowId, LinkId, Span, Time};
use forebay_router::inrpp::{CacheLimits, State};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::pool::{self, Dumbbell, FIGURES, Interfaces, TEXT};

const FLOWS: u32 = 3;
const BYTES: u64 = 10_000_000;
/// Wire bytes per payload byte: 1446 of payload, 40 of headers, 8 of echo, 2 of PPP.
const WIRE: f64 = 1496.0 / 1446.0;

fn simulate(cache: CacheLimits, access: [Span; 3]) -> (Dumbbell, Simulation) {
    let dumbbell = pool::dumbbell(cache, BYTES, access);
    let sim = Simulation::new(&dumbbell.world.spec, 1, Options::default()).expect("sound");
    (dumbbell, sim)
}

fn near() -> [Span; 3] {
    [Span::from_millis(5); 3]
}

/// Run to the end: every byte arrives, nothing is lost, nothing is sent twice.
fn finish(sim: &mut Simulation) {
    assert_eq!(sim.run_until(Time::from_secs(60)).unwrap(), Status::FlowsEnded);
    assert_eq!(sim.drops().total(), 0, "cache drops: {}", sim.drops().count(DropReason::CacheFull));
    for flow in (0..FLOWS).map(FlowId) {
        let outcome = sim.flow(flow);
        assert_eq!((outcome.received_bytes, outcome.sender.retransmits), (BYTES, 0), "{flow:?}");
    }
    assert!(sim.conservation().holds());
}

/// Completion times in seconds, from establishment.
fn fcts(sim: &Simulation) -> Vec<f64> {
    let fct = |flow| {
        let outcome = sim.flow(FlowId(flow));
        let (done, from) = (outcome.completed_at.unwrap(), outcome.established_at.unwrap());
        done.since(from).as_secs_f64()
    };
    (0..FLOWS).map(fct).collect()
}

/// Three flows of S bytes at 1, 2, 3 s share C = 20 Mbit/s: with x = k S 8 / C they take 3x - 2.5,
/// 3x - 1.5 and 3x - 2 seconds. The last byte then has 25 ms of links to go, and what takes the
/// detour carries 8 bytes more, half of all.
#[test]
fn completion_times_are_those_of_processor_sharing_over_both_ways() {
    for cache in [FIGURES, TEXT] {
        let (_, mut sim) = simulate(cache, near());
        finish(&mut sim);
        let wire = WIRE + 4.0 / 1446.0;
        let x = wire * BYTES as f64 * 8.0 / 20e6;
        let expected = [3.0 * x - 2.5, 3.0 * x - 1.5, 3.0 * x - 2.0];
        for (fct, expected) in fcts(&sim).into_iter().zip(expected) {
            let ratio = fct / (expected + 0.025);
            assert!((ratio - 1.0).abs() < 0.02, "{cache:?}: {fct} beside {expected}");
        }
    }
}

/// The same with requests on data: 4 bytes more of header.
#[test]
fn notices_on_data_change_completion_times_by_less_than_a_hundredth() {
    for cache in [FIGURES, TEXT] {
        let (mut dumbbell, mut without) = simulate(cache, near());
        finish(&mut without);
        pool::notify_on_data(&mut dumbbell.world);
        let spec = &dumbbell.world.spec;
        let mut with = Simulation::new(spec, 1, Options::default()).expect("sound");
        finish(&mut with);
        let asked = with.interface(dumbbell.links[1]).expect("it pools").first_entered();
        assert!(asked[State::BackPressure as usize].is_some(), "there is something to tell");
        // The mean, and the last flow: with the small caches shares of single flows differ more.
        let mean = |fcts: &[f64]| fcts.iter().sum::<f64>() / fcts.len() as f64;
        let last = |fcts: &[f64]| fcts.iter().copied().fold(0.0, f64::max);
        let (with, without) = (fcts(&with), fcts(&without));
        for (name, of) in [("mean", &mean as &dyn Fn(&[f64]) -> f64), ("last", &last)] {
            let ratio = of(&with) / of(&without);
            assert!((ratio - 1.0).abs() < 0.01, "{cache:?}: {name} {ratio}");
        }
    }
}

/// What has come over the last link of a flow.
fn arrived_bytes(sim: &Simulation, dumbbell: &Dumbbell, flow: u32) -> u64 {
    let dst = dumbbell.world.spec.flows[flow as usize].dst;
    let last = dumbbell.world.spec.links.iter().position(|link| link.to == dst);
    sim.link(LinkId(last.expect("a host has a link") as u32)).stats().bytes
}

#[test]
fn every_flow_has_its_share_of_20_mbit_per_second_in_every_phase() {
    let (dumbbell, mut sim) = simulate(FIGURES, near());
    let phases = [(1_200, 2_000, 1, 20.0), (2_200, 3_000, 2, 10.0), (3_200, 11_000, 3, 20.0 / 3.0)];
    for (from, until, flows, expected) in phases {
        sim.run_until(Time::from_millis(from)).unwrap();
        let before: Vec<u64> = (0..flows).map(|f| arrived_bytes(&sim, &dumbbell, f)).collect();
        sim.run_until(Time::from_millis(until)).unwrap();
        for flow in 0..flows {
            let bytes = arrived_bytes(&sim, &dumbbell, flow) - before[flow as usize];
            let mbps = bytes as f64 * 8.0 / ((until - from) as f64 * 1e3);
            assert!((mbps / expected - 1.0).abs() < 0.03, "from {from} ms, {flow}: {mbps}");
        }
    }
}

/// Fluid, with access at 40 Mbit/s and 20 Mbit/s of drain: node 0 holds 10 MB at about 3.0 s, node
/// 4 at 4.75 to 5 s.
#[test]
fn back_pressure_begins_when_the_caches_of_the_figures_are_full() {
    let (dumbbell, mut sim) = simulate(FIGURES, near());
    finish(&mut sim);
    let [node_4, node_0, aside, last] = dumbbell.links.map(|link| sim.interface(link).unwrap());
    let entered = |view: forebay_router::inrpp::InterfaceView<'_>| {
        view.first_entered()[State::BackPressure as usize].map(Time::as_secs_f64)
    };
    let (first, second) = (entered(node_0).unwrap(), entered(node_4).unwrap());
    assert!((2.95..3.10).contains(&first), "node 0 at {first} s");
    assert!((4.6..5.1).contains(&second), "node 4 at {second} s");
    // The detour itself never was congested, and carried half.
    assert_eq!((entered(aside), entered(last)), (None, None));
    let share = node_0.detoured_bytes() as f64 / node_0.offered_bytes() as f64;
    assert!((share - 0.5).abs() < 0.02, "{share}");
    for view in [node_4, node_0] {
        assert_eq!(view.cache_bytes(), 0);
        assert!(view.highest_bytes() < FIGURES.total_bytes);
    }
}

fn jain(values: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (values.iter().sum(), values.iter().map(|v| v * v).sum());
    sum * sum / (values.len() as f64 * squares)
}

#[test]
fn shares_do_not_depend_on_round_trips() {
    for access in [near(), [50, 100, 200].map(Span::from_millis)] {
        let (dumbbell, mut sim) = simulate(FIGURES, access);
        sim.run_until(Time::from_secs(4)).unwrap();
        let before: Vec<u64> = (0..FLOWS).map(|f| arrived_bytes(&sim, &dumbbell, f)).collect();
        sim.run_until(Time::from_secs(10)).unwrap();
        let rates = (0..FLOWS).map(|f| arrived_bytes(&sim, &dumbbell, f) - before[f as usize]);
        let rates: Vec<f64> = rates.map(|bytes| bytes as f64).collect();
        assert!(jain(&rates) > 0.99, "{access:?}: {rates:?}");
        finish(&mut sim);
    }
}

//! Each condition of early transit switched off by its name: something must notice. With all of
//! them on, the same networks show no difference to runs without early transit.

use super::engine::{Engine, Reading, Run};
use super::horizon;
use super::networks::{diamond, fork, halves, inrpp, odd, row, slower_answers, steady};
use forebay_base::{Rng, Stream, Time};
use forebay_net::{Guard, Guards, NetSpec};
use forebay_testkit::random;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// This many random networks are tried until one notices.
const TRIES: u64 = 200;

/// One network and how it is run.
struct Case {
    spec: NetSpec,
    seed: u64,
    engine: Engine,
    looks: Vec<Time>,
}

impl Case {
    fn new(spec: NetSpec) -> Case {
        Case { spec, seed: 1, engine: Engine::SIMPLE, looks: vec![Time::from_secs(100)] }
    }
    /// A random network; every flow in it has an end, for early transit without a horizon would
    /// have none either.
    fn random(mut spec: NetSpec, seed: u64) -> Case {
        for flow in &mut spec.flows {
            flow.bytes.get_or_insert(300_000);
        }
        let mut rng = Rng::new(seed, Stream::Test, 15);
        let look = |rng: &mut Rng| Time::from_nanos(rng.below(3_000_000_000));
        let mut looks = vec![look(&mut rng), look(&mut rng)];
        looks.sort();
        looks.push(Time::from_secs(1_000));
        Case { seed, looks, ..Case::new(spec) }
    }
    fn divided(spec: NetSpec) -> Case {
        let engine = Engine { divided: true, ..Engine::SIMPLE };
        Case { engine, looks: vec![Time::from_millis(1_500)], ..Case::new(spec) }
    }
    fn observed(self) -> Case {
        Case { engine: Engine { observe: true, ..self.engine }, ..self }
    }

    fn readings(&self, engine: Engine) -> Vec<Reading> {
        let Engine { observe, divided, .. } = self.engine;
        let mut run = Run::new(&self.spec, self.seed, Engine { observe, divided, ..engine });
        self.looks.iter().map(|&look| run.read(&self.spec, look)).collect()
    }
}

/// The network number `n` on which the lack of `guard` may show.
fn case(guard: Guard, n: u64) -> Case {
    match guard {
        Guard::Unchanged | Guard::NoJitter | Guard::NoScheme | Guard::NoRestart => {
            Case::random(random::scenario(n), n)
        }
        Guard::HoldsNothing => Case::new(inrpp().spec),
        Guard::FixedRoutes | Guard::ChangedRoutes => Case::new(diamond().spec),
        Guard::OffRoute => Case::new(fork().spec),
        Guard::UpstreamHere => Case::divided(halves(false).spec),
        Guard::LastLinkHere => Case::divided(halves(true).spec),
        Guard::FirstLinkFifo => Case::new(slower_answers().spec),
        Guard::Unobserved => Case::random(row(n), n).observed(),
        Guard::SingleUpstream
        | Guard::Gate
        | Guard::InOrder
        | Guard::Horizon
        | Guard::Fits
        | Guard::HasRoom
        | Guard::HostFirst
        | Guard::NextLook => Case::random(row(n), n),
        Guard::SingleHost | Guard::EmptyRing => Case::random(odd(n), n),
        Guard::Armed | Guard::Overdue => Case::new(horizon::late()),
        Guard::EndOfRun | Guard::GivesUp => Case::new(horizon::doomed()),
        Guard::ConstantRate => Case::new(horizon::faster()),
        Guard::OnePath => Case::new(horizon::two_paths()),
        Guard::Stop => Case::new(horizon::stopped()),
        Guard::Skipped => Case::new(horizon::skipped()),
        Guard::OneSecond => Case {
            // Its sender is never at rest: what is done in one call has no other bound.
            looks: vec![Time::from_millis(100), Time::from_secs(20)],
            ..Case::new(horizon::patient())
        },
    }
}

/// On which network the lack of `guard` shows, as a panic or as another result.
fn noticed(guard: Guard) -> Option<u64> {
    let without = Engine { guards: Guards::without(guard), ..Engine::AHEAD };
    for n in 0..TRIES {
        let case = case(guard, n);
        let simple = case.readings(Engine::SIMPLE);
        let ahead = case.readings(Engine::AHEAD);
        let differ = |readings: &[Reading]| {
            simple.iter().zip(readings).find_map(|(simple, other)| other.difference(simple))
        };
        assert_eq!(differ(&ahead), None, "{guard:?} {n}, with all guards");
        match catch_unwind(AssertUnwindSafe(|| case.readings(without))) {
            Ok(readings) if differ(&readings).is_none() => {}
            Ok(_) | Err(_) => return Some(n),
        }
    }
    None
}

#[test]
fn each_condition_that_is_switched_off_is_noticed() {
    let mut unnoticed = Vec::new();
    for guard in Guard::ALL.into_iter().filter(|&guard| guard != Guard::OneSecond) {
        if noticed(guard).is_none() {
            unnoticed.push(guard);
        }
    }
    assert!(unnoticed.is_empty(), "nothing notices the lack of {unnoticed:?}");
}

/// It changes no result, but how much is done in one call: that of 100 ms and of a second.
#[test]
fn without_the_bound_of_a_second_one_call_does_it_all() {
    let case = case(Guard::OneSecond, 0);
    let ahead = |guards| {
        let mut run = Run::new(&case.spec, 1, Engine { guards, ..Engine::AHEAD });
        run.sample_not_before(Time::from_secs(20));
        run.read(&case.spec, case.looks[0]);
        run.ahead()
    };
    // 1000 packets a second, as many times that the interface has room, and an ACK of every other
    // packet: 2500 events in a second.
    assert!((1_000..2_750).contains(&ahead(Guards::ALL)));
    assert!(ahead(Guards::without(Guard::OneSecond)) > 10 * 2_500);
}

/// Where the simulator has a twin in these tests, both give one hash.
#[test]
fn the_engine_of_these_tests_gives_the_hash_of_the_simulator() {
    for seed in 0..20 {
        let case = Case::random(row(seed), seed);
        let look = case.looks[0];
        let run = Run::new(&case.spec, seed, Engine::AHEAD).read(&case.spec, look);
        let options = forebay_sim::Options::default();
        let mut sim = forebay_sim::Simulation::new(&case.spec, seed, options).expect("sound");
        sim.run_until(look).unwrap();
        assert_eq!(run.trace_hash, sim.trace_hash(), "seed {seed}");
    }
}

/// With all conditions on, a run that looks ahead gives what one gives that is general throughout:
/// two events for each packet, each thing at its time.
#[test]
fn the_general_way_gives_the_same() {
    for seed in 0..150 {
        for spec in [row(seed), odd(seed), steady(seed), random::scenario(seed)] {
            let case = Case::random(spec, seed);
            let [simple, ahead] = [Engine::SIMPLE, Engine::AHEAD].map(|e| case.readings(e));
            let pairs = simple.iter().zip(&ahead);
            let differs = pairs.into_iter().find_map(|(simple, ahead)| ahead.difference(simple));
            assert_eq!(differs, None, "seed {seed}, nodes {}", case.spec.nodes.len());
        }
    }
}

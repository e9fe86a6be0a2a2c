//! Random networks: progressive filling against the linear program, capacities, and detours that
//! hurt no one's minimum.

use crate::close;
use crate::oracle::Case;
use forebay_base::{Rng, Stream};
use forebay_reference::{Demand, Detour, MaxMin, Use};

struct Net {
    capacity: Vec<f64>,
    detours: Vec<Detour>,
    routes: Vec<(Vec<Use>, f64)>,
}

impl Net {
    fn demands(&self) -> Vec<Demand<'_>> {
        self.routes.iter().map(|(uses, flows)| Demand { uses, flows: *flows }).collect()
    }
    fn rates(&self, detours: &[Detour]) -> Vec<f64> {
        let mut solver = MaxMin::new(self.capacity.len(), detours.to_vec());
        let rates = solver.rates(&self.capacity, &self.demands()).to_vec();
        assert!(!solver.degraded(), "the solver failed");
        rates
    }
    fn oracle(&self, detours: &[Detour]) -> Vec<f64> {
        let demands = self.demands();
        Case { capacity: &self.capacity, detours, demands: &demands }.rates()
    }
}

/// 2 to 9 links, 1 to 8 routes of 1 to 4 links with headers and here and there the ACKs of another
/// direction.
fn random_net(rng: &mut Rng, weighted: bool) -> Net {
    let links = 2 + rng.below(8);
    let capacity = (0..links).map(|_| 1.0 + rng.below(1000) as f64 / 10.0).collect();
    let route = |rng: &mut Rng| {
        let mut on: Vec<u32> = (0..1 + rng.below(4)).map(|_| rng.below(links) as u32).collect();
        on.sort_unstable();
        on.dedup();
        let used = |link| {
            let data = 1.0 + if weighted { rng.below(100) as f64 / 1000.0 } else { 0.0 };
            let ack = weighted && rng.below(5) == 0;
            if ack {
                Use { link, weight: 0.02, detourable: 0.0, acks: false }
            } else {
                Use { link, weight: data, detourable: 1.0, acks: false }
            }
        };
        let uses = on.into_iter().map(used).collect();
        (uses, 1.0 + rng.below(3) as f64)
    };
    let routes = (0..1 + rng.below(8)).map(|_| route(rng)).collect();
    Net { capacity, detours: Vec::new(), routes }
}

/// The same with detours over pairs of other links.
fn random_detours(rng: &mut Rng, net: &mut Net) {
    let links = net.capacity.len() as u64;
    for link in 0..links as u32 {
        for _ in 0..rng.below(3) {
            let legs = [0, 1].map(|_| rng.below(links) as u32);
            if legs[0] != legs[1] && !legs.contains(&link) {
                let cost = [1.0 + rng.below(20) as f64 / 1000.0, 1.0];
                net.detours.push(Detour { link, legs, relief: 1.0, cost });
            }
        }
    }
}

#[test]
fn filling_is_the_linear_program_on_200_single_path_networks() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed, Stream::Test, 1);
        let net = random_net(&mut rng, seed % 2 == 1);
        for (found, wanted) in net.rates(&[]).into_iter().zip(net.oracle(&[])) {
            close(found, wanted, 1e-9);
        }
    }
}

#[test]
fn clusters_are_the_linear_program_on_200_networks_with_detours() {
    let mut differ = 0;
    for seed in 0..200 {
        let mut rng = Rng::new(seed, Stream::Test, 2);
        let mut net = random_net(&mut rng, seed % 2 == 1);
        random_detours(&mut rng, &mut net);
        let (with, without) = (net.rates(&net.detours), net.rates(&[]));
        for (&found, wanted) in with.iter().zip(net.oracle(&net.detours)) {
            assert!(
                (found - wanted).abs() <= 1e-7 * wanted,
                "seed {seed}: {found} is not {wanted}"
            );
        }
        let lowest = |rates: &[f64]| rates.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(lowest(&with) >= lowest(&without) * (1.0 - 1e-9), "seed {seed}");
        differ += usize::from(with != without);
    }
    assert!(differ > 50, "detours made a difference in {differ} networks");
}

/// Each flow meets a full link on which no flow has more: the definition of max-min on single paths
/// (Bertsekas and Gallager).
#[test]
fn no_link_is_overloaded_and_everyone_has_a_bottleneck() {
    for seed in 0..500 {
        let mut rng = Rng::new(seed, Stream::Test, 3);
        let net = random_net(&mut rng, true);
        let rates = net.rates(&[]);
        let mut load = vec![0.0; net.capacity.len()];
        let mut highest = vec![0.0f64; net.capacity.len()];
        for ((uses, flows), &rate) in net.routes.iter().zip(&rates) {
            for used in uses {
                load[used.link as usize] += used.weight * flows * rate;
                highest[used.link as usize] = highest[used.link as usize].max(rate);
            }
        }
        for (load, capacity) in load.iter().zip(&net.capacity) {
            assert!(*load <= capacity * (1.0 + 1e-12), "seed {seed}: {load} of {capacity}");
        }
        for ((uses, _), &rate) in net.routes.iter().zip(&rates) {
            let bottleneck = |used: &Use| {
                let link = used.link as usize;
                load[link] >= net.capacity[link] * (1.0 - 1e-9)
                    && rate >= highest[link] * (1.0 - 1e-9)
            };
            assert!(uses.iter().any(bottleneck), "seed {seed}");
        }
    }
}

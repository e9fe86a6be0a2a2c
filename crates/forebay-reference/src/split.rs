//! Max-min fair rates of flows that split their data over several paths.
//!
//! With level t, the capacity C of each link l, the share x of each path p of demand d, whose n
//! flows load the links of the path by w wire bytes for each byte, and the rate r of a demand that
//! rises no more, the primal program is
//!
//! ```text
//! max t  so that   Σ x(of d) >= t              for each demand d that rises   (price μ)   (1)
//!                  Σ x(of d) >= r              for each that does not         (price μ)   (2)
//!                  Σ n w x(over l) <= C        for each link l                (price λ)   (3)
//! ```
//!
//! The solver treats its dual, which has the same value and says who must stop:
//!
//! ```text
//! min Σ λ C - Σ μ r (of 2)  so that  Σ μ (of 1) >= 1                                      (4)
//!                                    Σ n w λ (over p) >= μ    for each path p of d        (5)
//! ```
//!
//! A demand of (1) with a price rises no more (complementary slackness): it stops at t, and the
//! program is solved again for the others.

use super::load::Use;
use microlp::{ComparisonOp, OptimizationDirection, Problem};
use std::collections::BTreeMap;

/// Room that rounding may have taken from a link, relative to its capacity.
const SLACK: f64 = 1e-13;
/// Prices below this, where those in (4) add up to 1, are rounding.
const NO_PRICE: f64 = 1e-9;

/// Flows that share their paths.
#[derive(Clone, Debug)]
pub struct SplitDemand<'a> {
    /// How each path loads its links; at least one path, each with a link at least.
    pub paths: Vec<&'a [Use]>,
    /// How many flows, at least one.
    pub flows: f64,
}

/// What a call found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Split {
    /// The rate of each flow of each demand, in bytes per second.
    pub rates: Vec<f64>,
    /// A program could not be solved: some rates are lower than they could be.
    pub degraded: bool,
    /// ACKs met data on a link: they limit their flows there as data does.
    pub met: bool,
}

/// Rates of `demands` over links of these capacities, in bytes per second.
pub fn split(capacity: &[f64], demands: &[SplitDemand<'_>]) -> Split {
    let mut known: Vec<Option<f64>> = vec![None; demands.len()];
    let mut found = Split { met: acks_meet_data(demands), ..Split::default() };
    let mut last = 0.0;
    while known.contains(&None) {
        let (level, stopping) = match solve(capacity, demands, &known) {
            // Nothing that is full now becomes less full: a lower level is rounding.
            Some((level, stopping)) if stopping.contains(&true) => (level.max(last), stopping),
            _ => {
                found.degraded = true;
                (last, vec![true; demands.len()])
            }
        };
        for (known, stops) in known.iter_mut().zip(stopping) {
            if stops {
                known.get_or_insert(level);
            }
        }
        last = level;
    }
    found.rates = known.into_iter().flatten().collect();
    found
}

fn acks_meet_data(demands: &[SplitDemand<'_>]) -> bool {
    let mut carries: BTreeMap<u32, [bool; 2]> = BTreeMap::new();
    for used in demands.iter().flat_map(|demand| &demand.paths).copied().flatten() {
        carries.entry(used.link).or_default()[usize::from(used.acks)] = true;
    }
    carries.values().any(|link| *link == [true; 2])
}

/// The level in bytes per second, and which of the demands that rise stop there. None if the
/// solver fails.
fn solve(
    capacity: &[f64],
    demands: &[SplitDemand<'_>],
    known: &[Option<f64>],
) -> Option<(f64, Vec<bool>)> {
    let uses = |demand: &SplitDemand<'_>| {
        let flows = demand.flows;
        let all: Vec<(u32, f64)> = demand
            .paths
            .iter()
            .flat_map(|path| path.iter().map(move |used| (used.link, used.weight * flows)))
            .collect();
        all
    };
    // In units of the largest capacity and of the largest load every number is near 1, as the
    // solver likes it.
    let all: Vec<(u32, f64)> = demands.iter().flat_map(uses).collect();
    let largest = all.iter().map(|&(link, _)| capacity[link as usize]).fold(0.0, f64::max);
    let growth = all.iter().map(|&(_, weight)| weight).fold(0.0, f64::max);
    if largest == 0.0 {
        return Some((0.0, known.iter().map(Option::is_none).collect()));
    }
    let unit = largest / growth;
    let mut program = Problem::new(OptimizationDirection::Minimize);
    let mut links = BTreeMap::new();
    for &(link, _) in &all {
        let room = capacity[link as usize] / largest * (1.0 + SLACK);
        links.entry(link).or_insert_with(|| program.add_var(room, (0.0, f64::INFINITY)));
    }
    let price = |rate: &Option<f64>| -rate.unwrap_or(0.0) / unit;
    let prices: Vec<_> =
        known.iter().map(|rate| program.add_var(price(rate), (0.0, f64::INFINITY))).collect();
    let rising = prices.iter().zip(known).filter(|(_, rate)| rate.is_none());
    let rising: Vec<_> = rising.map(|(&price, _)| (price, 1.0)).collect();
    program.add_constraint(&rising[..], ComparisonOp::Ge, 1.0);
    for (demand, &price) in demands.iter().zip(&prices) {
        for path in &demand.paths {
            let load = |used: &Use| (links[&used.link], used.weight * demand.flows / growth);
            let mut terms: Vec<_> = path.iter().map(load).collect();
            terms.push((price, -1.0));
            program.add_constraint(&terms[..], ComparisonOp::Ge, 0.0);
        }
    }
    let solution = program.solve().ok()?.into_solution().ok()?;
    let stops = prices.iter().zip(known);
    let stops = stops.map(|(&v, rate)| rate.is_none() && solution.var_value(v) > NO_PRICE);
    Some((solution.objective().max(0.0) * unit, stops.collect()))
}

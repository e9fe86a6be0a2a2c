//! Links that help each other by detours: up to which level they have room, and who must stop
//! there.
//!
//! With level t, the growth A, fixed load F, capacity C of each link l; the part B, P of growth and
//! load that may take a detour; and y bytes per second on each detour d, which rid its link of r
//! bytes each and put q bytes on its legs, the primal program is
//!
//! ```text
//! max t  so that   F + A t - Σ r y(of l) + Σ q y(over l) <= C   for each link l (price λ)     (1)
//!                  Σ y(of l) <= P + B t                         for each link l (price ν)     (2)
//! ```
//!
//! The solver treats its dual, which has the same value and says who must stop:
//!
//! ```text
//! min Σ λ (C - F) + Σ ν P  so that  Σ λ A - Σ ν B >= 1                                        (3)
//!                                   q1 λ1 + q2 λ2 + ν >= r λ      for each detour d           (4)
//! ```
//!
//! A demand for which λ and ν of its links add up to more than nothing rises no more (complementary
//! slackness). A detour that is not in the program and breaks (4) would help: it is taken in, and
//! the program is solved again.

use super::load::{Detour, Row, Use};
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use std::collections::BTreeMap;

/// Room that rounding may have taken from a full link, relative to its capacity.
const SLACK: f64 = 1e-13;
/// Prices below this, in units in which those in (3) add up to 1, are rounding.
const NO_PRICE: f64 = 1e-9;

/// Links and the detours among them that are in use.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    /// The links, with λ and ν of the last solution.
    prices: BTreeMap<u32, [f64; 2]>,
    links: Vec<u32>,
    detours: Vec<u32>,
    current: bool,
}

impl Cluster {
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }
    pub fn links(&self) -> &[u32] {
        &self.links
    }
    /// Links and detours.
    pub fn size(&self) -> usize {
        self.links.len() + self.detours.len()
    }
    pub fn add_link(&mut self, link: u32) {
        self.links.push(link);
    }
    pub fn add_detours(&mut self, detours: Vec<u32>) {
        self.detours.extend(detours);
    }
    pub fn absorb(&mut self, other: Cluster) {
        self.links.extend(other.links);
        self.detours.extend(other.detours);
    }
    /// A demand stopped: the last solution is no longer that of the program.
    pub fn outdate(&mut self) {
        self.current = false;
    }
    /// The solver failed: nothing has a price.
    pub fn give_up(&mut self) {
        self.prices.clear();
        self.current = true;
    }
    /// The last solution is that of the program.
    pub fn is_current(&self) -> bool {
        self.current
    }
    fn price(&self, link: u32) -> [f64; 2] {
        self.prices.get(&link).copied().unwrap_or([0.0; 2])
    }

    /// The full links that hold something which may take a detour.
    pub fn priced(&self, rows: &[Row]) -> Vec<u32> {
        let holds = |link: u32| {
            let row = &rows[link as usize];
            row.detourable_growth + row.detourable_fixed > 0.0
        };
        let full = |&link: &u32| self.price(link)[0] > 0.0 && holds(link);
        self.links.iter().copied().filter(full).collect()
    }

    /// The detour is not in use and breaks (4).
    pub fn wants(&self, id: u32, detour: &Detour) -> bool {
        let [own, bound] = self.price(detour.link);
        let [a, b] = detour.legs.map(|leg| self.price(leg)[0]);
        let reduced = detour.cost[0] * a + detour.cost[1] * b + bound - detour.relief * own;
        reduced < -NO_PRICE && !self.detours.contains(&id)
    }

    /// A demand with these uses pays.
    pub fn charges(&self, uses: &[Use]) -> bool {
        let cost = |used: &Use| {
            let [own, bound] = self.price(used.link);
            (own * used.weight - bound * used.detourable, own * used.weight)
        };
        let (net, gross) =
            uses.iter().map(cost).fold((0.0, 0.0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        // The prices in (3) are those of many demands at once: what counts as nothing is relative
        // to what the links cost.
        net > NO_PRICE * gross.max(f64::MIN_POSITIVE)
    }

    /// Solve the program. The level, in bytes per second; None if the solver fails.
    pub fn solve(&mut self, rows: &[Row], detours: &[Detour]) -> Option<f64> {
        // In units of the largest capacity and of the largest growth every number is near 1, as the
        // solver likes it.
        let of = |link: u32| &rows[link as usize];
        let capacity = self.links.iter().map(|&l| of(l).capacity).fold(0.0, f64::max);
        let growth = self.links.iter().map(|&l| of(l).growth).fold(0.0, f64::max);
        assert!(capacity > 0.0 && growth > 0.0, "a cluster has room and someone who rises");
        let mut program = Problem::new(OptimizationDirection::Minimize);
        let mut variables: BTreeMap<u32, [Option<Variable>; 2]> = BTreeMap::new();
        for &link in &self.links {
            let row = of(link);
            let slack = SLACK * row.capacity.max(row.fixed);
            let room = (row.capacity - row.fixed + slack) / capacity;
            let price = program.add_var(room, (0.0, f64::INFINITY));
            variables.insert(link, [Some(price), None]);
        }
        for &d in &self.detours {
            let link = detours[d as usize].link;
            let cost = of(link).detourable_fixed / capacity;
            let pair = variables.get_mut(&link).expect("the link of a detour is in its cluster");
            pair[1].get_or_insert_with(|| program.add_var(cost, (0.0, f64::INFINITY)));
        }
        let mut rising = Vec::new();
        for (&link, &[price, bound]) in &variables {
            let row = of(link);
            let pair = [(price, row.growth), (bound, -row.detourable_growth)];
            rising.extend(pair.iter().filter_map(|&(v, a)| Some((v?, a / growth))));
        }
        rising.retain(|&(_, a)| a != 0.0);
        program.add_constraint(&rising[..], ComparisonOp::Ge, 1.0);
        for &d in &self.detours {
            let detour = &detours[d as usize];
            let [own, bound] = variables[&detour.link];
            let legs = detour.legs.map(|leg| variables[&leg][0]);
            let terms = [
                (legs[0], detour.cost[0]),
                (legs[1], detour.cost[1]),
                (bound, 1.0),
                (own, -detour.relief),
            ];
            let terms: Vec<_> = terms.iter().filter_map(|&(v, a)| Some((v?, a))).collect();
            program.add_constraint(&terms[..], ComparisonOp::Ge, 0.0);
        }
        let solution = program.solve().ok()?.into_solution().ok()?;
        let price = |v| Some(solution.var_value(v)).filter(|&price| price > NO_PRICE);
        let value = |v: Option<Variable>| v.and_then(price).unwrap_or(0.0);
        self.prices = variables.iter().map(|(&link, pair)| (link, pair.map(value))).collect();
        self.current = true;
        Some(solution.objective() * capacity / growth)
    }
}

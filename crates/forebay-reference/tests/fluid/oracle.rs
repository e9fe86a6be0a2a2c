//! Max-min rates straight from the definition: the lowest rate as high as it can be, those that can
//! go no higher fixed, and again.
//!
//! Slow and simple: the program has a variable for every flow and every detour, and who can go no
//! higher is tried one by one.

use forebay_reference::{Demand, Detour};
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

/// A network with flows.
pub struct Case<'a> {
    pub capacity: &'a [f64],
    pub detours: &'a [Detour],
    pub demands: &'a [Demand<'a>],
}

/// What a demand may have.
#[derive(Clone, Copy, PartialEq)]
enum Share {
    Fixed(f64),
    AtLeast(f64),
    AboveLevel,
}

impl Case<'_> {
    /// Rates of all demands.
    pub fn rates(&self) -> Vec<f64> {
        let mut shares = vec![Share::AboveLevel; self.demands.len()];
        while shares.contains(&Share::AboveLevel) {
            let level = self.highest(&shares, None);
            let mut fixed = Vec::new();
            for demand in 0..shares.len() {
                if shares[demand] != Share::AboveLevel {
                    continue;
                }
                let others = |share: &Share| match share {
                    Share::AboveLevel => Share::AtLeast(level * (1.0 - 1e-9)),
                    fixed => *fixed,
                };
                let alone: Vec<Share> = shares.iter().map(others).collect();
                if self.highest(&alone, Some(demand)) < level * (1.0 + 1e-5) {
                    fixed.push(demand);
                }
            }
            assert!(!fixed.is_empty(), "someone can go no higher");
            fixed.into_iter().for_each(|demand| shares[demand] = Share::Fixed(level));
        }
        let rate = |share: &Share| match share {
            Share::Fixed(rate) => *rate,
            _ => unreachable!("all are fixed"),
        };
        shares.iter().map(rate).collect()
    }

    /// The highest level, or the highest rate of one demand.
    fn highest(&self, shares: &[Share], of: Option<usize>) -> f64 {
        let mut program = Problem::new(OptimizationDirection::Maximize);
        let any = (0.0, f64::INFINITY);
        let level = program.add_var(if of.is_none() { 1.0 } else { 0.0 }, any);
        let rate = |(i, share): (usize, &Share), program: &mut Problem| {
            let worth = if of == Some(i) { 1.0 } else { 0.0 };
            match *share {
                // A hair of room, so that rounding in what was fixed before leaves something
                // feasible.
                Share::Fixed(rate) => program.add_var(worth, (rate * (1.0 - 1e-11), rate)),
                Share::AtLeast(rate) => program.add_var(worth, (rate, f64::INFINITY)),
                Share::AboveLevel => {
                    let variable = program.add_var(worth, any);
                    let above = [(variable, 1.0), (level, -1.0)];
                    program.add_constraint(above, ComparisonOp::Ge, 0.0);
                    variable
                }
            }
        };
        let rates: Vec<Variable> =
            shares.iter().enumerate().map(|share| rate(share, &mut program)).collect();
        let on: Vec<Variable> = self.detours.iter().map(|_| program.add_var(0.0, any)).collect();
        for (link, &capacity) in (0..).zip(self.capacity) {
            let (mut load, mut detoured) = (Vec::new(), Vec::new());
            for (demand, &rate) in self.demands.iter().zip(&rates) {
                for used in demand.uses.iter().filter(|used| used.link == link) {
                    load.push((rate, used.weight * demand.flows));
                    detoured.push((rate, -used.detourable * demand.flows));
                }
            }
            for (detour, &y) in self.detours.iter().zip(&on) {
                if detour.link == link {
                    load.push((y, -detour.relief));
                    detoured.push((y, 1.0));
                }
                let legs = detour.legs.iter().zip(detour.cost);
                load.extend(legs.filter(|(leg, _)| **leg == link).map(|(_, cost)| (y, cost)));
            }
            if !load.is_empty() {
                program.add_constraint(load, ComparisonOp::Le, capacity);
                program.add_constraint(detoured, ComparisonOp::Le, 0.0);
            }
        }
        let solved = program.solve().expect("nothing at all is feasible, and links are finite");
        solved.into_solution().expect("no time limit").objective()
    }
}

//! Rates where ACKs meet the data of others.
//!
//! A flow is limited by the links of its data. On a link that carries data as well, ACKs take the
//! room that they need, a few percent of what they acknowledge, and data shares what is left: a
//! fixed point, found by rounds of progressive filling, each with the ACKs of the round before. On
//! a link of ACKs alone they limit their flows as data does.
//!
//! This holds while the ACKs of a flow take less of a full link than a data flow there. Where they
//! take more (a slow link under the ACKs of a fast one), who gets what depends on the queue:
//! then all rates rise together until the link is full, and [`TwoWay::crowded`] says so.

use super::load::{Demand, Detour, Use};
use super::max_min::MaxMin;

/// Most rounds until ACKs stay the same. Each is closer by the size of ACKs to data.
const MAX_ROUNDS: usize = 100;
/// ACKs that change by less of a link's capacity than this have stayed the same.
const SAME_LOAD: f64 = 1e-12;
/// A link is full if it carries its capacity up to this share.
const FULL: f64 = 1e-9;

/// What is on a link now.
#[derive(Clone, Copy, Debug, Default)]
struct Carries {
    data: bool,
    acks: bool,
}

/// The solver of one direction, and what it takes to use it for two.
#[derive(Debug)]
pub(super) struct TwoWay {
    solver: MaxMin,
    /// Of each link the legs of the detours that help it.
    legs: Vec<Vec<u32>>,
    /// False if no ACK ever meets data.
    possible: bool,
    /// True once ACKs took more of a full link than the data of others.
    crowded: bool,
    rates: Vec<f64>,
}

impl TwoWay {
    /// A solver for a network of `links` links with these detours, and flows on these routes.
    pub fn new(links: usize, detours: &[Detour], routes: &[Vec<Use>]) -> TwoWay {
        let mut legs = vec![Vec::new(); links];
        for detour in detours {
            legs[detour.link as usize].extend(detour.legs);
        }
        legs.iter_mut().for_each(|legs| {
            legs.sort_unstable();
            legs.dedup();
        });
        let solver = MaxMin::new(links, detours.to_vec());
        let mut all = TwoWay { solver, legs, possible: false, crowded: false, rates: Vec::new() };
        let carries = all.carries(routes.iter().map(Vec::as_slice));
        all.possible = carries.iter().any(|link| link.data && link.acks);
        all
    }
    /// True if a linear program could not be solved since the start.
    pub fn degraded(&self) -> bool {
        self.solver.degraded()
    }
    /// True if ACKs took more of a full link than the data of others since the start: flows have
    /// less then than the links of their data allow.
    pub fn crowded(&self) -> bool {
        self.crowded
    }

    /// See [`MaxMin::work`].
    pub fn work(&self) -> u64 {
        self.solver.work()
    }

    /// The rate of each flow of each demand, in bytes per second. `capacity` holds bytes per second
    /// by link.
    pub fn rates(&mut self, capacity: &[f64], demands: &[Demand<'_>]) -> &[f64] {
        if !self.possible {
            return self.solver.rates(capacity, demands);
        }
        let carries = self.carries(demands.iter().map(|demand| demand.uses));
        // A link that is down stops whom it carries, ACKs or data.
        let meet = |(link, capacity): (&Carries, &f64)| link.data && link.acks && *capacity > 0.0;
        let meets: Vec<bool> = carries.iter().zip(capacity).map(meet).collect();
        if !meets.contains(&true) {
            return self.solver.rates(capacity, demands);
        }
        if !self.fixed_point(capacity, demands, &meets) {
            self.crowded = true;
            return self.solver.rates(capacity, demands);
        }
        &self.rates
    }

    fn carries<'u>(&self, routes: impl Iterator<Item = &'u [Use]>) -> Vec<Carries> {
        let mut carries = vec![Carries::default(); self.legs.len()];
        for used in routes.flatten() {
            if used.acks {
                carries[used.link as usize].acks = true
            } else {
                carries[used.link as usize].data = true
            }
            if used.detourable > 0.0 {
                let legs = &self.legs[used.link as usize];
                legs.iter().for_each(|&leg| carries[leg as usize].data = true);
            }
        }
        carries
    }

    /// Fill `rates` with ACKs first where they meet data. False if there is no room for that.
    fn fixed_point(&mut self, capacity: &[f64], demands: &[Demand<'_>], meets: &[bool]) -> bool {
        let met = |used: &&Use| used.acks && meets[used.link as usize];
        let other = |used: &&Use| !met(used);
        let uses: Vec<Vec<Use>> = demands
            .iter()
            .map(|demand| demand.uses.iter().filter(other).copied().collect())
            .collect();
        let data: Vec<Demand<'_>> = uses
            .iter()
            .zip(demands)
            .map(|(uses, demand)| Demand { uses, flows: demand.flows })
            .collect();
        let mut acks = vec![0.0; capacity.len()];
        for _ in 0..MAX_ROUNDS {
            let room: Vec<f64> = capacity.iter().zip(&acks).map(|(all, acks)| all - acks).collect();
            if room.iter().zip(meets).any(|(&room, &meets)| meets && room <= 0.0) {
                return false;
            }
            self.rates = self.solver.rates(&room, &data).to_vec();
            let mut now = vec![0.0; capacity.len()];
            for (demand, &rate) in demands.iter().zip(&self.rates) {
                for used in demand.uses.iter().filter(met) {
                    now[used.link as usize] += used.weight * demand.flows * rate;
                }
            }
            let same = |((now, before), all): ((&f64, &f64), &f64)| {
                (now - before).abs() <= SAME_LOAD * all
            };
            if now.iter().zip(&acks).zip(capacity).all(same) {
                return self.is_fair(capacity, demands, meets, &now);
            }
            acks = now;
        }
        false
    }

    /// True if on no full link the ACKs of a flow take more than the data of any.
    fn is_fair(
        &self,
        capacity: &[f64],
        demands: &[Demand<'_>],
        meets: &[bool],
        acks: &[f64],
    ) -> bool {
        let mut load = acks.to_vec();
        let mut highest = vec![[0.0f64; 2]; capacity.len()];
        for (demand, &rate) in demands.iter().zip(&self.rates) {
            for used in demand.uses {
                let (link, wire) = (used.link as usize, used.weight * rate);
                let most = &mut highest[link][usize::from(used.acks)];
                *most = most.max(wire);
                load[link] += if used.acks { 0.0 } else { wire * demand.flows };
            }
        }
        (0..capacity.len()).filter(|&link| meets[link]).all(|link| {
            let [data, acks] = highest[link];
            // No data of its own: detours take what is left.
            data == 0.0 || acks <= data || load[link] < capacity[link] * (1.0 - FULL)
        })
    }
}

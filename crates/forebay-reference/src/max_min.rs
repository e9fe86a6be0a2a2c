//! Max-min fair rates by progressive filling (Bertsekas and Gallager, Data Networks, 1992, section
//! 6.5.2).
//!
//! All rates rise together until a link is full; the flows on it stop there, the others go on. A
//! flow uses a link with a weight, so that headers and ACKs count. Where traffic may leave its link
//! for a detour, a link that is full is joined with the links of those detours that help it, and a
//! linear program says up to which level such a cluster has room: see `cluster`. Without detours,
//! and with them unless the solver fails, the rates are the max-min fair ones, up to rounding.

use super::cluster::Cluster;
use super::load::{Demand, Detour, Row};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// What is asked of the heap next: an entry for a level, in the order of levels. Levels are never
/// negative, so their bits sort.
type Entry = Reverse<(u64, Part)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Link(u32),
    Cluster(u32),
}

/// What a linear program costs for each link and detour, where a link of a demand costs 1.
pub const PROGRAM_STEPS: u64 = 100;
/// Levels closer than this, relative, are one.
const SAME_LEVEL: f64 = 1e-12;

/// The solver, with what it keeps between calls.
#[derive(Debug)]
pub struct MaxMin {
    detours: Vec<Detour>,
    detours_of: Vec<Vec<u32>>,
    rows: Vec<Row>,
    clusters: Vec<Cluster>,
    heap: BinaryHeap<Entry>,
    rates: Vec<f64>,
    risen: Vec<bool>,
    rising: usize,
    call: u64,
    work: u64,
    /// True once the solver has failed: then some rates are lower than they could be.
    degraded: bool,
}

impl MaxMin {
    /// A solver for a network of `links` links with these detours.
    pub fn new(links: usize, detours: Vec<Detour>) -> MaxMin {
        let mut detours_of = vec![Vec::new(); links];
        for (i, detour) in detours.iter().enumerate() {
            detours_of[detour.link as usize].push(i as u32);
        }
        MaxMin {
            detours,
            detours_of,
            rows: vec![Row::default(); links],
            clusters: Vec::new(),
            heap: BinaryHeap::new(),
            rates: Vec::new(),
            risen: Vec::new(),
            rising: 0,
            call: 0,
            work: 0,
            degraded: false,
        }
    }
    /// True if a linear program could not be solved since the start: rates then are feasible, not
    /// max-min.
    pub fn degraded(&self) -> bool {
        self.degraded
    }

    /// Steps since the start: links of demands, and `PROGRAM_STEPS` for each link and detour of a
    /// linear program. The same on every machine.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// The rate of each flow of each demand, in bytes per second. `capacity` holds bytes per second
    /// by link.
    pub fn rates(&mut self, capacity: &[f64], demands: &[Demand<'_>]) -> &[f64] {
        self.begin(capacity, demands);
        while self.rising > 0 {
            let Some(Reverse((bits, part))) = self.heap.pop() else {
                unreachable!("every demand meets a full link")
            };
            let level = f64::from_bits(bits);
            match part {
                Part::Link(link) => self.fill_link(capacity, demands, link, level),
                Part::Cluster(cluster) => self.fill_cluster(capacity, demands, cluster, level),
            }
        }
        &self.rates
    }

    fn begin(&mut self, capacity: &[f64], demands: &[Demand<'_>]) {
        self.call += 1;
        self.clusters.clear();
        self.rates.clear();
        self.rates.resize(demands.len(), 0.0);
        self.risen.clear();
        self.risen.resize(demands.len(), false);
        self.rising = demands.len();
        let mut touched = Vec::new();
        for (demand, id) in demands.iter().zip(0..) {
            self.work += demand.uses.len() as u64;
            for used in demand.uses {
                if self.rows[used.link as usize].call != self.call {
                    touched.push(used.link);
                }
                let row = self.row(capacity, used.link);
                row.growth += used.weight * demand.flows;
                row.detourable_growth += used.detourable * demand.flows;
                row.users.push(id);
                row.rising += 1;
            }
        }
        let entry =
            |link: u32| Reverse((self.rows[link as usize].level().to_bits(), Part::Link(link)));
        self.heap = touched.into_iter().map(entry).collect();
    }

    /// The row of a link, cleared if this call has not seen it.
    fn row(&mut self, capacity: &[f64], link: u32) -> &mut Row {
        let row = &mut self.rows[link as usize];
        if row.call != self.call {
            row.users.clear();
            let users = std::mem::take(&mut row.users);
            let capacity = capacity[link as usize];
            *row = Row { capacity, users, call: self.call, ..Row::default() };
        }
        row
    }

    /// A link that stands alone was full at `level` when it was last looked at.
    fn fill_link(&mut self, capacity: &[f64], demands: &[Demand<'_>], link: u32, level: f64) {
        let row = &self.rows[link as usize];
        if row.cluster.is_some() || row.rising == 0 {
            return;
        }
        let now = row.level();
        if now > level * (1.0 + SAME_LEVEL) {
            self.heap.push(Reverse((now.to_bits(), Part::Link(link))));
            return;
        }
        let helped = row.detourable_growth + row.detourable_fixed > 0.0;
        let useful = |&&d: &&u32| self.is_useful(capacity, d);
        let detours: Vec<u32> = if helped {
            self.detours_of[link as usize].iter().filter(useful).copied().collect()
        } else {
            Vec::new()
        };
        if detours.is_empty() {
            self.stop_users(demands, link, level)
        } else {
            self.join(capacity, link, detours, level)
        }
    }

    fn is_useful(&self, capacity: &[f64], detour: u32) -> bool {
        self.detours[detour as usize].legs.iter().all(|&leg| capacity[leg as usize] > 0.0)
    }

    /// The users of a link rise no more.
    fn stop_users(&mut self, demands: &[Demand<'_>], link: u32, level: f64) {
        let users = std::mem::take(&mut self.rows[link as usize].users);
        for &user in &users {
            self.stop(demands, user, level);
        }
        self.rows[link as usize].users = users;
    }

    fn stop(&mut self, demands: &[Demand<'_>], user: u32, level: f64) {
        if std::mem::replace(&mut self.risen[user as usize], true) {
            return;
        }
        self.rising -= 1;
        self.rates[user as usize] = level;
        let Demand { uses, flows } = demands[user as usize];
        for used in uses {
            let row = &mut self.rows[used.link as usize];
            row.rising -= 1;
            let (weight, detourable) = (used.weight * flows, used.detourable * flows);
            row.fixed += weight * level;
            row.detourable_fixed += detourable * level;
            // A remaining difference when nothing rises is rounding.
            row.growth = if row.rising == 0 { 0.0 } else { row.growth - weight };
            row.detourable_growth =
                if row.rising == 0 { 0.0 } else { (row.detourable_growth - detourable).max(0.0) };
            if let Some(cluster) = row.cluster {
                self.clusters[cluster as usize].outdate();
            }
        }
    }

    /// A cluster was full at `level` when it was last looked at.
    fn fill_cluster(&mut self, capacity: &[f64], demands: &[Demand<'_>], id: u32, level: f64) {
        let cluster = &self.clusters[id as usize];
        if cluster.is_empty() || !self.rises(cluster) {
            return;
        }
        if !cluster.is_current() {
            self.evaluate(id, level);
            return;
        }
        let wanted: Vec<u32> = {
            let priced = cluster.priced(&self.rows);
            let offers = priced.iter().flat_map(|&link| &self.detours_of[link as usize]);
            let useful = offers.filter(|&&d| {
                cluster.wants(d, &self.detours[d as usize]) && self.is_useful(capacity, d)
            });
            useful.copied().collect()
        };
        if let Some(&first) = wanted.first() {
            let link = self.detours[first as usize].link;
            self.join(capacity, link, wanted, level);
            return;
        }
        self.stop_priced(demands, id, level);
        self.evaluate(id, level);
    }

    fn rises(&self, cluster: &Cluster) -> bool {
        cluster.links().iter().any(|&link| self.rows[link as usize].rising > 0)
    }

    /// The demands that pay for a full link of the cluster rise no more: complementary slackness
    /// says that they cannot. If rounding hides all of them, or the solver failed, everything on
    /// the cluster stops.
    fn stop_priced(&mut self, demands: &[Demand<'_>], id: u32, level: f64) {
        let cluster = &self.clusters[id as usize];
        let users: BTreeSet<u32> = cluster
            .links()
            .iter()
            .flat_map(|&link| &self.rows[link as usize].users)
            .copied()
            .filter(|&user| !self.risen[user as usize])
            .collect();
        let pays = |&&user: &&u32| cluster.charges(demands[user as usize].uses);
        let mut stopping: Vec<u32> = users.iter().filter(pays).copied().collect();
        if stopping.is_empty() {
            self.degraded = true;
            stopping = users.into_iter().collect();
        }
        for user in stopping {
            self.stop(demands, user, level);
        }
    }

    /// Put `link`, the legs of `detours` and all that belongs to them into one cluster, which uses
    /// these detours from now on.
    fn join(&mut self, capacity: &[f64], link: u32, detours: Vec<u32>, level: f64) {
        let id = self.clusters.len() as u32;
        let mut whole = Cluster::default();
        let ends = detours.iter().flat_map(|&d| {
            let detour = &self.detours[d as usize];
            [detour.link, detour.legs[0], detour.legs[1]]
        });
        let parts: Vec<u32> = std::iter::once(link).chain(ends).collect();
        for part in parts {
            match self.row(capacity, part).cluster {
                Some(cluster) if cluster == id => {}
                Some(cluster) => {
                    let old = std::mem::take(&mut self.clusters[cluster as usize]);
                    old.links().iter().for_each(|&l| self.rows[l as usize].cluster = Some(id));
                    whole.absorb(old);
                }
                None => {
                    self.rows[part as usize].cluster = Some(id);
                    whole.add_link(part);
                }
            }
        }
        whole.add_detours(detours);
        self.clusters.push(whole);
        self.evaluate(id, level);
    }

    /// Find out when the cluster is full, and look at it again then.
    fn evaluate(&mut self, id: u32, level: f64) {
        if !self.rises(&self.clusters[id as usize]) {
            return;
        }
        self.work += PROGRAM_STEPS * self.clusters[id as usize].size() as u64;
        let next = match self.clusters[id as usize].solve(&self.rows, &self.detours) {
            // Nothing that is full now becomes less full: a lower level is rounding.
            Some(full) => full.max(level),
            None => {
                self.clusters[id as usize].give_up();
                level
            }
        };
        self.heap.push(Reverse((next.to_bits(), Part::Cluster(id))));
    }
}

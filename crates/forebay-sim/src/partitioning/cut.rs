//! Cuts a graph into parts of about the same load with little traffic between them. Parts grow from
//! seeds far from each other; then single clusters change parts (after Fiduccia and Mattheyses
//! 1982, doi:10.1145/800263.809204, for several parts at once).

use super::graph::Clusters;
use std::collections::{BinaryHeap, VecDeque};

/// Number of sets of seeds that are tried. The best result is taken.
const STARTS: usize = 32;
/// Limit for clusters times sets of seeds, if there is more than one set.
const WORK: usize = 200_000;
/// Maximum rounds of changes.
const ROUNDS: usize = 12;
/// A part may exceed its share by this much: a thread has several parts, which even out.
const SLACK_PERCENT: u64 = 10;
/// Cost of a packet between parts, in packets that a router forwards, times two.
const CROSSING_COST_TWICE: u64 = 1;

/// A cut.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cut {
    /// Load of the slowest part including traffic to other parts, in packets forwarded.
    pub cost: u64,
    /// By cluster.
    pub part: Vec<u16>,
    /// No part has much more than its share.
    pub is_even: bool,
}

/// Cut `clusters` into `parts`, none empty.
pub(super) fn cut(clusters: &Clusters, parts: usize) -> Cut {
    assert!(0 < parts && parts <= clusters.len());
    let starts = (WORK / clusters.len()).clamp(1, STARTS).min(clusters.len());
    let tries = (0..starts).map(|start| {
        let mut state = State::grown(clusters, parts, start * clusters.len() / starts);
        for _ in 0..ROUNDS {
            let balanced = state.balance();
            let refined = state.refine();
            if !balanced && !refined {
                break;
            }
        }
        let is_even = state.loads.iter().all(|&load| load <= state.limit());
        Cut { cost: state.cost(), part: state.part, is_even }
    });
    tries.min().expect("at least one start")
}

struct State<'a> {
    clusters: &'a Clusters,
    /// By cluster; [`NOWHERE`] while it is in none.
    part: Vec<u16>,
    /// By part.
    loads: Vec<u64>,
    members: Vec<usize>,
}

const NOWHERE: u16 = u16::MAX;

impl State<'_> {
    fn grown(clusters: &Clusters, parts: usize, start: usize) -> State<'_> {
        let mut state = State {
            clusters,
            part: vec![NOWHERE; clusters.len()],
            loads: vec![0; parts],
            members: vec![0; parts],
        };
        // Candidates of each part: most traffic with the part first, then the smallest number.
        let mut frontiers = vec![BinaryHeap::new(); parts];
        for (part, seed) in seeds(clusters, parts, start).into_iter().enumerate() {
            state.put(seed, part, &mut frontiers);
        }
        let mut rest = 0;
        for _ in parts..clusters.len() {
            let part = state.lightest();
            let taken = std::iter::from_fn(|| frontiers[part].pop())
                .map(|(_, std::cmp::Reverse(cluster))| cluster)
                .find(|&cluster: &usize| state.part[cluster] == NOWHERE);
            let cluster = taken.unwrap_or_else(|| {
                while state.part[rest] != NOWHERE {
                    rest += 1;
                }
                rest
            });
            state.put(cluster, part, &mut frontiers);
        }
        state
    }
    fn put(
        &mut self,
        cluster: usize,
        part: usize,
        frontiers: &mut [BinaryHeap<(u64, std::cmp::Reverse<usize>)>],
    ) {
        self.part[cluster] = part as u16;
        self.loads[part] += self.clusters.loads[cluster];
        self.members[part] += 1;
        for &(neighbour, _) in &self.clusters.neighbours[cluster] {
            let neighbour = neighbour as usize;
            if self.part[neighbour] == NOWHERE {
                let traffic = self.traffic(neighbour, part);
                frontiers[part].push((traffic, std::cmp::Reverse(neighbour)));
            }
        }
    }
    fn lightest(&self) -> usize {
        (0..self.loads.len()).min_by_key(|&part| self.loads[part]).expect("there are parts")
    }
    /// Traffic between a cluster and a part.
    fn traffic(&self, cluster: usize, part: usize) -> u64 {
        let there = |&&(neighbour, _): &&(u32, u64)| self.part[neighbour as usize] == part as u16;
        let neighbours = self.clusters.neighbours[cluster].iter();
        neighbours.filter(there).map(|&(_, packets)| packets).sum()
    }
    /// The largest load that a part should have.
    fn limit(&self) -> u64 {
        let share = self.loads.iter().sum::<u64>().div_ceil(self.loads.len() as u64);
        share + share * SLACK_PERCENT / 100
    }
    fn change(&mut self, cluster: usize, to: usize) {
        let from = self.part[cluster] as usize;
        self.part[cluster] = to as u16;
        self.loads[from] -= self.clusters.loads[cluster];
        self.loads[to] += self.clusters.loads[cluster];
        self.members[from] -= 1;
        self.members[to] += 1;
    }
    /// Decrease of the traffic between parts if `cluster` were in `to`.
    fn gain(&self, cluster: usize, to: usize) -> i64 {
        let from = self.part[cluster] as usize;
        self.traffic(cluster, to) as i64 - self.traffic(cluster, from) as i64
    }

    /// Move clusters away from the part with the largest load while that is too much, at the least
    /// cost in traffic. True if anything changed.
    fn balance(&mut self) -> bool {
        let (limit, mut changed) = (self.limit(), false);
        for _ in 0..self.loads.len() {
            let heaviest = (0..self.loads.len()).max_by_key(|&p| self.loads[p]);
            let from = heaviest.expect("there are parts");
            if self.loads[from] <= limit || !self.relieve(from, limit) {
                break;
            }
            changed = true;
        }
        changed
    }
    /// Move clusters of `from` away. First those that cost least traffic for their load, and to
    /// parts that do not become too heavy if there are any.
    fn relieve(&mut self, from: usize, limit: u64) -> bool {
        let mut offers: Vec<(bool, f64, usize, usize)> = Vec::new();
        for cluster in (0..self.part.len()).filter(|&c| self.part[c] == from as u16) {
            let load = self.clusters.loads[cluster];
            for to in (0..self.loads.len()).filter(|&to| to != from) {
                // A cluster without traffic to the part would be isolated there.
                let island = if self.traffic(cluster, to) == 0 { 1.0 } else { 0.0 };
                let cost = island - self.gain(cluster, to) as f64 / load as f64;
                offers.push((self.loads[to] + load > limit, cost, cluster, to));
            }
        }
        offers.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut changed = false;
        for (_, _, cluster, to) in offers {
            let there = self.loads[to] + self.clusters.loads[cluster];
            let enough = self.loads[from] <= limit || self.members[from] == 1;
            // No gain if the other part would have as much load.
            let helps = self.part[cluster] == from as u16 && there < self.loads[from];
            if !enough && helps {
                self.change(cluster, to);
                changed = true;
            }
        }
        changed
    }

    /// Move clusters if that reduces traffic and makes no part too heavy. True if anything changed.
    fn refine(&mut self) -> bool {
        let (limit, mut changed) = (self.limit(), false);
        for cluster in 0..self.part.len() {
            let from = self.part[cluster] as usize;
            let neighbours = &self.clusters.neighbours[cluster];
            let inside = neighbours.iter().all(|&(n, _)| self.part[n as usize] == from as u16);
            if inside || self.members[from] == 1 {
                continue;
            }
            let load = self.clusters.loads[cluster];
            let fits = |&to: &usize| to != from && self.loads[to] + load <= limit;
            let best = (0..self.loads.len())
                .filter(fits)
                .max_by_key(|&to| (self.gain(cluster, to), std::cmp::Reverse(self.loads[to])));
            if let Some(to) = best.filter(|&to| self.gain(cluster, to) > 0) {
                self.change(cluster, to);
                changed = true;
            }
        }
        changed
    }

    /// Load of the slowest part.
    fn cost(&self) -> u64 {
        let mut costs = self.loads.clone();
        for (cluster, neighbours) in self.clusters.neighbours.iter().enumerate() {
            let here = self.part[cluster];
            let across = neighbours.iter().filter(|&&(n, _)| self.part[n as usize] != here);
            let packets: u64 = across.map(|&(_, packets)| packets).sum();
            costs[here as usize] += packets * CROSSING_COST_TWICE / 2;
        }
        costs.into_iter().max().expect("there are parts")
    }
}

/// One seed for each part, each as far as possible from those before it, in links; of equals the
/// one with more load.
fn seeds(clusters: &Clusters, parts: usize, start: usize) -> Vec<usize> {
    let mut distance = vec![u32::MAX; clusters.len()];
    let mut seeds = vec![start];
    while seeds.len() < parts {
        let mut queue = VecDeque::from(seeds[seeds.len() - 1..].to_vec());
        distance[queue[0]] = 0;
        while let Some(at) = queue.pop_front() {
            let next = distance[at] + 1;
            for &(neighbour, _) in &clusters.neighbours[at] {
                if distance[neighbour as usize] > next {
                    distance[neighbour as usize] = next;
                    queue.push_back(neighbour as usize);
                }
            }
        }
        let far = (0..clusters.len()).filter(|&c| distance[c] > 0);
        let far = far.max_by_key(|&c| (distance[c], clusters.loads[c], std::cmp::Reverse(c)));
        seeds.push(far.expect("no more parts than clusters"));
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crossing(edges: &[(u32, u32, u64)], part: &[u16]) -> u64 {
        let across = edges.iter().filter(|&&(a, b, _)| part[a as usize] != part[b as usize]);
        across.map(|&(_, _, packets)| packets).sum()
    }

    #[test]
    fn a_ring_is_cut_in_arcs() {
        let edges: Vec<(u32, u32, u64)> = (0..12).map(|i| (i, (i + 1) % 12, 10)).collect();
        let clusters = Clusters::of_edges(&[100; 12], &edges);
        for (parts, cuts) in [(2, 2), (3, 3), (4, 4)] {
            let cut = cut(&clusters, parts);
            assert!(cut.is_even, "{cut:?}");
            assert_eq!(crossing(&edges, &cut.part), cuts * 10, "{cut:?}");
        }
    }

    /// Three crowds of four that talk among themselves, joined by thin links: no cut through a
    /// crowd is as cheap.
    #[test]
    fn crowds_stay_together() {
        let mut edges = vec![(0, 4, 1), (4, 8, 1), (8, 0, 1)];
        for crowd in [0, 4, 8] {
            for a in crowd..crowd + 4 {
                edges.extend((a + 1..crowd + 4).map(|b| (a, b, 50)));
            }
        }
        let cut = cut(&Clusters::of_edges(&[100; 12], &edges), 3);
        assert_eq!((crossing(&edges, &cut.part), cut.is_even), (3, true), "{cut:?}");
    }

    #[test]
    fn a_heavy_one_is_left_alone_and_none_is_left_empty() {
        let edges: Vec<(u32, u32, u64)> = (1..9).map(|leaf| (0, leaf, 10)).collect();
        let loads = [800, 100, 100, 100, 100, 100, 100, 100, 100];
        let halves = cut(&Clusters::of_edges(&loads, &edges), 2);
        let hub = halves.part[0];
        assert!(halves.is_even && halves.part[1..].iter().all(|&part| part != hub), "{halves:?}");
        let all = cut(&Clusters::of_edges(&loads, &edges), 9);
        let mut parts = all.part.clone();
        parts.sort_unstable();
        assert_eq!(parts, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(!all.is_even);
    }
}

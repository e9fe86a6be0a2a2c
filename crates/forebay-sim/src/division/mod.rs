//! Which nodes run in which thread.
//!
//! Links that must not lead from one partition to another are contracted: those of no delay, which give no look-ahead, and
//! those that fail, heal or change their delay, for what is on their wire belongs to both ends. The longer the delays of the
//! links that are left, the longer the windows, the rarer the meetings; but the fewer, too, the ways to spread the load. So the
//! links shorter than a delay are contracted as well, and the rest is cut ([`cut`]), for several such delays, the longest first,
//! each at most half the one before, until the load can be spread evenly.

mod cut;
mod graph;

use cut::{Cut, cut};
use forebay_base::{LinkId, Span};
use forebay_net::{NetEvent, NetSpec, Network};
use graph::{Clusters, Load};
use std::fmt;

/// Partitions for each thread, so that the load can be spread anew in each window.
const PARTS_PER_THREAD: usize = 2;
/// More threads than this are of no use to anyone.
const MOST_THREADS: usize = 256;

/// Why a run uses fewer threads than it was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FewerThreads {
    /// Its nodes, contracted over links that cannot be cut, are no more than this.
    Indivisible(usize),
    /// Someone looks on, and must see packets in their order.
    Observed,
}

impl fmt::Display for FewerThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FewerThreads::Indivisible(1) => f.write_str(
                "the network cannot be partitioned: all its nodes hang together by links that have no delay, fail, or change \
                 their delay",
            ),
            FewerThreads::Indivisible(pieces) => write!(
                f,
                "the network falls into {pieces} pieces at most: links that have no delay, fail, or change their delay are not cut"
            ),
            FewerThreads::Observed => f.write_str("captures and event lists need packets in their order"),
        }
    }
}

/// Which nodes run in which thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Division {
    /// By node.
    pub owner: Vec<u16>,
    pub parts: u16,
    /// Threads that the parts are for.
    pub threads: usize,
    /// The smallest delay of the links between parts; of no meaning if there is one part.
    pub lookahead: Span,
    pub fewer: Option<FewerThreads>,
}

impl Division {
    /// All in one.
    pub fn whole(spec: &NetSpec, fewer: Option<FewerThreads>) -> Division {
        let owner = vec![0; spec.nodes.len()];
        Division { owner, parts: 1, threads: 1, lookahead: Span::ZERO, fewer }
    }
}

/// Divide a network among `threads` threads, or among fewer if it cannot be.
pub(crate) fn divide(spec: &NetSpec, network: &Network, threads: usize) -> Division {
    if threads == 1 {
        return Division::whole(spec, None);
    }
    let threads = threads.min(MOST_THREADS);
    let load = Load::expected(spec, network);
    let delays = delays(spec);
    let pieces = Clusters::contract(spec, &load, &delays, Span::from_nanos(1)).len();
    let fewer = (pieces < threads).then_some(FewerThreads::Indivisible(pieces));
    let threads = threads.min(pieces);
    let parts = (threads * PARTS_PER_THREAD).min(pieces);
    if threads == 1 {
        return Division::whole(spec, fewer);
    }
    let mut best: Option<(Cut, Clusters)> = None;
    for at_least in candidates(&delays) {
        let clusters = Clusters::contract(spec, &load, &delays, at_least);
        if clusters.len() < parts {
            continue;
        }
        let cut = cut(&clusters, parts);
        let is_even = cut.is_even;
        if is_even || best.as_ref().is_none_or(|(known, _)| cut.cost < known.cost) {
            best = Some((cut, clusters));
        }
        if is_even {
            break;
        }
    }
    let (cut, clusters) = best.expect("the shortest delay gives enough pieces");
    let owner = clusters.of_nodes(&cut.part);
    let lookahead = lookahead(spec, &owner).unwrap_or(Span::MAX);
    Division { owner, parts: parts as u16, threads, lookahead, fewer }
}

/// By pair of links: the shorter of both delays; zero if it must not be cut.
fn delays(spec: &NetSpec) -> Vec<Span> {
    let mut delays: Vec<Span> =
        spec.links.chunks(2).map(|pair| pair[0].delay.min(pair[1].delay)).collect();
    for event in &spec.events {
        match event.event {
            NetEvent::Delay(LinkId(link), _)
            | NetEvent::Down(LinkId(link))
            | NetEvent::Up(LinkId(link)) => delays[link as usize / 2] = Span::ZERO,
            NetEvent::Rate(..)
            | NetEvent::Loss(..)
            | NetEvent::Restart(_)
            | NetEvent::Route { .. } => {}
        }
    }
    delays
}

/// Delays below which links may be contracted, the longest first: each at most half the one before, and the shortest of all.
fn candidates(delays: &[Span]) -> Vec<Span> {
    let mut sorted: Vec<Span> = delays.iter().copied().filter(|d| !d.is_zero()).collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let mut taken: Vec<Span> = Vec::new();
    for &delay in &sorted {
        if taken.last().is_none_or(|&last| delay <= last / 2) {
            taken.push(delay);
        }
    }
    if taken.last() != sorted.last() {
        taken.extend(sorted.last());
    }
    taken
}

/// The smallest delay of the links between parts. None if no link is between parts.
fn lookahead(spec: &NetSpec, owner: &[u16]) -> Option<Span> {
    let between = spec.links.iter().filter(|l| owner[l.from.index()] != owner[l.to.index()]);
    between.map(|link| link.delay).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_tried_from_the_longest_by_halves_down_to_the_shortest() {
        let ms = Span::from_millis;
        let delays = [3, 0, 40, 21, 20, 19, 10, 3, 2].map(ms);
        assert_eq!(candidates(&delays), [40, 20, 10, 3, 2].map(ms));
        assert_eq!(candidates(&[ms(5), ms(5)]), [ms(5)]);
        assert_eq!(candidates(&[Span::ZERO]), []);
    }
}

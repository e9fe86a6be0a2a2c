//! Which nodes run in which thread.
//!
//! Some links must not join two partitions: links without delay, which give no early transit, and
//! links that fail or change their delay, because both ends own what is on their wire. They are
//! contracted. Longer delays of the links that remain give longer windows and rarer meetings, but
//! fewer ways to balance the load. So shorter links are contracted as well, and the rest is cut
//! ([`cut`]). This is tried for several minimum delays, the longest first, each at most half the
//! one before, until the load is balanced.

mod cut;
mod graph;

use cut::{Cut, cut};
use forebay_base::{LinkId, Span};
use forebay_net::{NetEvent, NetSpec, Network};
use graph::{Clusters, Load};
use std::fmt;

/// Partitions per thread, so that the load can be balanced in each window.
const PARTS_PER_THREAD: usize = 2;
/// Maximum number of threads.
const MAX_THREADS: usize = 256;
/// The shortest delay of a link that may be cut.
const LEAST_DELAY: Span = Span::from_nanos(1);

/// Why a run uses fewer threads than it was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FewerThreads {
    /// After contraction the network has only this many clusters.
    Indivisible(usize),
    /// The network has one node at most.
    OneNode,
    /// There is an observer, which must see packets in order.
    Observed,
    /// Somebody forges packets with the sequence number that a receiver expects, and must read it
    /// there.
    Forged,
    /// The run was over, or had gone far, before there was enough to do at a time to try them.
    Idle,
    /// Another thread did not get to run.
    NoCore,
    /// A trial showed that this many threads take this share of the time of one, in per cent.
    Slower {
        /// Threads.
        threads: usize,
        /// Share.
        percent: u64,
    },
    /// In this share of the windows, in per cent, one thread ran all: there was too little to do in
    /// them, or several were slower.
    SerialFallback(u64),
}

impl fmt::Display for FewerThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FewerThreads::Indivisible(1) => f.write_str(
                "the network cannot be partitioned: links that have no delay, fail, or change \
                 their delay join all its nodes",
            ),
            FewerThreads::Indivisible(pieces) => write!(
                f,
                "the network can be divided into at most {pieces} partitions: links that have no \
                 delay, fail, or change their delay are not cut"
            ),
            FewerThreads::OneNode => f.write_str("the network has one node"),
            FewerThreads::Forged => f.write_str(
                "whoever forges packets with the right sequence number reads it at the receiver",
            ),
            FewerThreads::Idle => f.write_str("it has too little to do for more"),
            FewerThreads::NoCore => f.write_str("no core was free for another"),
            FewerThreads::Slower { threads, percent } => {
                write!(f, "a trial showed that {threads} would take {percent} % of the time of one")
            }
            FewerThreads::SerialFallback(percent) => {
                write!(f, "in {percent} % of the sync windows one was faster, and ran them alone")
            }
            FewerThreads::Observed => {
                f.write_str("captures and event lists need packets in their order")
            }
        }
    }
}

/// Which nodes run in which thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partitioning {
    /// By node.
    pub owner: Vec<u16>,
    pub parts: u16,
    /// Threads that the parts are for.
    pub threads: usize,
    /// The smallest delay of the links between parts; not used if there is one part.
    pub lookahead: Span,
    pub fewer: Option<FewerThreads>,
}

impl Partitioning {
    /// One part.
    pub fn whole(spec: &NetSpec, fewer: Option<FewerThreads>) -> Partitioning {
        let owner = vec![0; spec.nodes.len()];
        Partitioning { owner, parts: 1, threads: 1, lookahead: Span::ZERO, fewer }
    }
}

/// Divide a network among `threads` threads, or fewer if it has too few parts.
pub(crate) fn divide(spec: &NetSpec, network: &Network, threads: usize) -> Partitioning {
    if threads == 1 {
        return Partitioning::whole(spec, None);
    }
    if spec.nodes.len() <= 1 {
        return Partitioning::whole(spec, Some(FewerThreads::OneNode));
    }
    let threads = threads.min(MAX_THREADS);
    let load = Load::expected(spec, network);
    let delays = delays(spec);
    let pieces = Clusters::contract(spec, &load, &delays, LEAST_DELAY).len();
    let fewer = (pieces < threads).then_some(FewerThreads::Indivisible(pieces));
    let threads = threads.min(pieces);
    let parts = (threads * PARTS_PER_THREAD).min(pieces);
    if threads == 1 {
        return Partitioning::whole(spec, fewer);
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
    Partitioning { owner, parts: parts as u16, threads, lookahead, fewer }
}

/// By pair of links: the shorter of the two delays; zero if it must not be cut.
fn delays(spec: &NetSpec) -> Vec<Span> {
    let mut delays: Vec<Span> =
        spec.links.chunks(2).map(|pair| pair[0].wire.delay.min(pair[1].wire.delay)).collect();
    for event in &spec.events {
        match event.event {
            NetEvent::Delay(LinkId(link), _)
            | NetEvent::Down(LinkId(link))
            | NetEvent::Up(LinkId(link)) => delays[link as usize / 2] = Span::ZERO,
            NetEvent::Rate(..)
            | NetEvent::Loss(..)
            | NetEvent::Restart(_)
            | NetEvent::Forge(_)
            | NetEvent::Replay(_)
            | NetEvent::Route { .. } => {}
        }
    }
    delays
}

/// Minimum delays to try, the longest first: each at most half the one before, and the shortest of
/// all. If no link may be cut, the least delay: networks without a link between them are left.
fn candidates(delays: &[Span]) -> Vec<Span> {
    let mut sorted: Vec<Span> = delays.iter().copied().filter(|d| !d.is_zero()).collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let mut taken: Vec<Span> = Vec::new();
    for &delay in &sorted {
        if taken.last().is_none_or(|&last| delay <= last / 2) {
            taken.push(delay);
        }
    }
    let shortest = sorted.last().copied().unwrap_or(LEAST_DELAY);
    if taken.last() != Some(&shortest) {
        taken.push(shortest);
    }
    taken
}

/// The smallest delay of the links between parts. None if no link is between parts.
fn lookahead(spec: &NetSpec, owner: &[u16]) -> Option<Span> {
    let between = spec.links.iter().filter(|l| owner[l.from.index()] != owner[l.to.index()]);
    between.map(|link| link.wire.delay).min()
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
        assert_eq!(candidates(&[Span::ZERO]), [LEAST_DELAY]);
    }
}

//! Adjacency of routers: each router sends its neighbours the list of its neighbours, at the
//! start and on change.
//!
//! A list is retransmitted until the other end has confirmed its version in its own; five times,
//! and then no more: a neighbour that does not answer speaks no INRPP. So a network in which
//! nothing changes is quiet.

use super::control::{LIST_CHUNK, Message, Neighbours};
use alloc::vec::Vec;
use forebay_base::{PortId, Span, Time};
use forebay_signal::inrpp::RouterId;

/// Time until the first retransmission of a list; it doubles each time.
const RETRY: Span = Span::from_millis(100);
/// Number of retransmissions to a neighbour that does not answer.
const MAX_TRIES: u32 = 5;
/// Packets of one list that are accepted: 2^14 neighbours.
const MAX_CHUNKS: u16 = 46;

/// A list of which not all packets have come.
#[derive(Clone, Debug, Default)]
struct Partial {
    version: u64,
    chunks: u16,
    routers: Vec<RouterId>,
}

/// State of the other end of a port.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    /// The router there, if it is one.
    pub neighbour: Option<RouterId>,
    /// True while the link is up.
    pub up: bool,
    /// Its neighbours, in order.
    list: Vec<RouterId>,
    /// The version of that list; 0: none.
    seen: u64,
    partial: Partial,
    /// The other end has our list as it is now.
    confirmed: bool,
    tries: u32,
    due: Option<Time>,
}

/// Outcome of a packet of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Heard {
    /// Its list differs from the one before.
    pub changed: bool,
    /// Send it ours: it lacks it, or needs to know that its own has arrived.
    pub answer: bool,
}

impl Adjacency {
    pub fn new(neighbour: Option<RouterId>) -> Adjacency {
        Adjacency {
            neighbour,
            up: true,
            list: Vec::new(),
            seen: 0,
            partial: Partial::default(),
            confirmed: false,
            tries: 0,
            due: None,
        }
    }

    /// The link goes up or down; what was learnt over it no longer counts.
    pub fn set_up(&mut self, up: bool) {
        *self = Adjacency { up, ..Adjacency::new(self.neighbour) };
    }

    /// The router at the other end of a link that is up.
    pub fn router(&self) -> Option<RouterId> {
        self.neighbour.filter(|_| self.up)
    }

    /// True if the other end has said that `router` is its neighbour.
    pub fn knows(&self, router: RouterId) -> bool {
        self.list.binary_search(&router).is_ok()
    }

    /// When to retransmit the list.
    pub fn due(&self) -> Option<Time> {
        self.due
    }

    /// Our list changes: it is unknown there.
    pub fn renew(&mut self) {
        (self.confirmed, self.tries) = (false, 0);
    }

    /// Send our list.
    pub fn tell(
        &mut self,
        now: Time,
        port: PortId,
        me: RouterId,
        version: u64,
        routers: &[RouterId],
        out: &mut Vec<(PortId, Message)>,
    ) {
        let again = !self.confirmed && self.tries < MAX_TRIES;
        self.due = again.then(|| now + RETRY * (1 << self.tries));
        self.tries = self.tries.saturating_add(1);
        let chunks = routers.len().div_ceil(LIST_CHUNK).max(1);
        for chunk in 0..chunks {
            let first = chunk * LIST_CHUNK;
            let part = &routers[first..routers.len().min(first + LIST_CHUNK)];
            let list = Neighbours {
                from: me,
                version,
                seen: self.seen,
                chunk: u16::try_from(chunk).expect("ports are numbered in 16 bits"),
                last: chunk + 1 == chunks,
                routers: part.to_vec(),
            };
            out.push((port, Message::Neighbours(list)));
        }
    }

    /// A packet of the other end's list; ours is of `version`.
    pub fn hear(&mut self, part: Neighbours, version: u64) -> Heard {
        self.confirmed = part.seen == version;
        if self.confirmed {
            self.due = None;
        }
        let seen = self.seen;
        let changed = self.take(part);
        let answer = changed.is_some() && (!self.confirmed || self.seen != seen);
        Heard { changed: changed == Some(true), answer }
    }

    /// Adds a packet to the list in the making. If it is complete now: true if it differs from the
    /// one before.
    fn take(&mut self, part: Neighbours) -> Option<bool> {
        if part.chunk == 0 {
            self.partial = Partial { version: part.version, ..Partial::default() };
        }
        let expected = part.version == self.partial.version && part.chunk == self.partial.chunks;
        if !expected || part.chunk >= MAX_CHUNKS {
            self.partial = Partial::default();
            return None;
        }
        self.partial.chunks += 1;
        self.partial.routers.extend(part.routers);
        if !part.last {
            return None;
        }
        let mut list = core::mem::take(&mut self.partial).routers;
        list.sort_unstable();
        list.dedup();
        self.seen = part.version;
        let changed = list != self.list;
        self.list = list;
        Some(changed)
    }
}

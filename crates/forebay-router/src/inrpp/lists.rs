//! Lists of flows that cost the same however many flows there are: a flow is in one that says whose
//! turn it is, and in one of those of its length.

use alloc::vec::Vec;

/// No place.
pub(super) const NONE: u32 = u32::MAX;

/// The neighbours of a place in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Links {
    before: u32,
    pub after: u32,
}

impl Default for Links {
    fn default() -> Links {
        Links { before: NONE, after: NONE }
    }
}

/// Where the links of places are.
pub(super) trait Linked {
    fn links(&mut self, place: u32) -> &mut Links;
}

/// Both ends of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct List {
    pub first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> List {
        List { first: NONE, last: NONE }
    }
}

impl List {
    pub fn is_empty(self) -> bool {
        self.first == NONE
    }
    /// True if `place` is in it, and no other.
    pub fn is_only(self, place: u32) -> bool {
        (self.first, self.last) == (place, place)
    }
    pub fn push(&mut self, all: &mut impl Linked, place: u32) {
        *all.links(place) = Links { before: self.last, after: NONE };
        match self.last {
            NONE => self.first = place,
            last => all.links(last).after = place,
        }
        self.last = place;
    }
    pub fn remove(&mut self, all: &mut impl Linked, place: u32) {
        let Links { before, after } = core::mem::take(all.links(place));
        match before {
            NONE => self.first = after,
            before => all.links(before).after = after,
        }
        match after {
            NONE => self.last = before,
            after => all.links(after).before = before,
        }
    }
}

/// Bytes in which the flows of one rank may differ.
pub(super) const RANK_BYTES: u64 = 1500;

/// Flows by the most that has waited of them since they were listed: no flow is longer than its
/// rank says, and one that is shorter is listed anew when it is the first of the highest. So only
/// a flow that is longer than before moves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ranks {
    lists: Vec<List>,
}

impl Ranks {
    /// List the flow at `place`, of which `bytes` wait. It may stay there while it has less than
    /// what is returned, in [`RANK_BYTES`].
    pub fn put(&mut self, all: &mut impl Linked, place: u32, bytes: u64) -> u32 {
        let rank = bytes / RANK_BYTES;
        if self.lists.len() <= rank as usize {
            self.lists.resize(rank as usize + 1, List::default());
        }
        self.lists[rank as usize].push(all, place);
        rank as u32 + 1
    }
    /// The flow at `place`, listed for less than `below`, is listed no more.
    pub fn take(&mut self, all: &mut impl Linked, place: u32, below: u32) {
        self.lists[below as usize - 1].remove(all, place);
    }
    /// The flow that came first to the highest rank, and the bytes from which on it belongs there.
    pub fn first(&mut self) -> Option<(u32, u64)> {
        // Each rank that is taken off here was put on by bytes that came.
        while self.lists.last().is_some_and(|list| list.is_empty()) {
            self.lists.pop();
        }
        let highest = self.lists.last()?;
        Some((highest.first, (self.lists.len() as u64 - 1) * RANK_BYTES))
    }
}

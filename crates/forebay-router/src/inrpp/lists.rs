//! Lists of flows that cost the same however many flows there are: a flow is in one that says whose turn it is, and in one of
//! those of its length.

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
const RANK_BYTES: u64 = 1500;

/// Flows by what waits of them: the longest, to within [`RANK_BYTES`], is known at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ranks {
    lists: Vec<List>,
}

impl Ranks {
    fn rank(bytes: u64) -> usize {
        (bytes / RANK_BYTES) as usize
    }
    /// The flow at `place` had `before` bytes, and now has `bytes`; 0: it is not listed.
    #[inline]
    pub fn change(&mut self, all: &mut impl Linked, place: u32, before: u64, bytes: u64) {
        let (from, to) = (Ranks::rank(before), Ranks::rank(bytes));
        if from == to && before > 0 && bytes > 0 {
            return;
        }
        if before > 0 {
            self.lists[from].remove(all, place);
        }
        if bytes > 0 {
            if self.lists.len() <= to {
                self.lists.resize(to + 1, List::default());
            }
            self.lists[to].push(all, place);
        }
        // Each rank that is taken off here was put on by bytes that came.
        while self.lists.last().is_some_and(|list| list.is_empty()) {
            self.lists.pop();
        }
    }
    /// A flow of the highest rank: the first that came there.
    pub fn longest(&self) -> Option<u32> {
        self.lists.last().map(|list| list.first)
    }
}

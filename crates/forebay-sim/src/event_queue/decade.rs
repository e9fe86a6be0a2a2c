//! Events after the year of the calendar, most of them timers: unsorted, by the season in which
//! they are.

use super::{Key, time_of};

/// Seasons of a decade.
const SEASONS: u64 = 512;

/// A season is a quarter of the calendar's year. Its events move into the calendar when the first
/// of them is next, and are sorted there. A heap would sort all timers, most of which are put off.
pub(super) struct Decade {
    seasons: Box<[Season]>,
    /// A season is `1 << shift` ns long.
    shift: u32,
    first_ns: u64,
}

#[derive(Clone)]
struct Season {
    /// Time of its first event; the largest value if there is none.
    first_ns: u64,
    events: Vec<Key>,
}

impl Decade {
    pub fn new(shift: u32) -> Decade {
        let empty = Season { first_ns: u64::MAX, events: Vec::new() };
        let seasons = vec![empty; SEASONS as usize].into_boxed_slice();
        Decade { seasons, shift, first_ns: u64::MAX }
    }
    /// Time of the first event; the largest value if there is none.
    #[inline]
    pub fn first_ns(&self) -> u64 {
        self.first_ns
    }
    /// Add an event that is at least a season after `now`. False if it is more than a decade after
    /// that, or at the end of time.
    pub fn push(&mut self, now: u64, key: Key) -> bool {
        let ns = time_of(key);
        let number = ns >> self.shift;
        if number - (now >> self.shift) >= SEASONS || ns == u64::MAX {
            return false;
        }
        let season = &mut self.seasons[(number % SEASONS) as usize];
        season.first_ns = season.first_ns.min(ns);
        season.events.push(key);
        self.first_ns = self.first_ns.min(ns);
        true
    }
    /// Take the events of the first season that has one.
    pub fn take_first(&mut self) -> Vec<Key> {
        let number = self.first_ns >> self.shift;
        let season = &mut self.seasons[(number % SEASONS) as usize];
        season.first_ns = u64::MAX;
        let events = std::mem::take(&mut season.events);
        let later = (1..SEASONS).map(|ahead| (number + ahead) % SEASONS);
        let mut firsts = later.map(|slot| self.seasons[slot as usize].first_ns);
        self.first_ns = firsts.find(|&ns| ns < u64::MAX).unwrap_or(u64::MAX);
        events
    }
    /// Give back what [`Decade::take_first`] gave, for its memory; `ns` is in that season.
    pub fn give_back(&mut self, ns: u64, mut events: Vec<Key>) {
        events.clear();
        let season = &mut self.seasons[((ns >> self.shift) % SEASONS) as usize];
        if season.events.is_empty() {
            season.events = events;
        }
    }
}

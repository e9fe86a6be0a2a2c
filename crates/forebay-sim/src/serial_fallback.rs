//! When one thread runs all partitions.
//!
//! At the end of each window the threads meet. A meeting takes as long as some ten events, so
//! windows that hold few events take longer in several threads than in one. Windows are as long as
//! the shortest delay between two partitions; what counts is how many events they hold. Where those
//! of a period hold few, one thread runs all partitions through the next period. Events and windows
//! are counted: the same run decides alike on every machine.
//!
//! With a clock, time counts as well: where several threads took longer for their events than one
//! did, one goes on, and after a while several try again. A machine may have other things to do.

use crate::pace::Pace;
use std::time::Duration;

/// Windows of a period.
const PERIOD_WINDOWS: u64 = 256;
/// Minimum number of events per thread in a window.
const MIN_EVENTS: u64 = 32;
/// Time after which it is judged.
const JUDGED: Duration = Duration::from_millis(50);
/// Several threads are slower if they take more than this share of the time of one.
const SLOWER: f64 = 1.05;
/// One thread goes on for so many times that long when several were slower: at first, and at most.
/// Each time that several are slower again, it is twice as often.
const FEWEST_TURNS: u32 = 2;
const MOST_TURNS: u32 = 64;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SerialFallback {
    /// Of this period: windows and events so far.
    period_windows: u64,
    period_events: u64,
    /// The windows of the last period held few events.
    is_thin: bool,
    /// The pace since it was last judged.
    pace: Pace,
    /// The last pace of one thread that was judged.
    alone: Pace,
    /// For how often one thread still goes on because several were slower; and how often it was
    /// when that was seen.
    turns: u32,
    last_turns: u32,
    /// One thread is alone in this call.
    is_alone: bool,
    /// All windows, and those in which one thread was alone.
    windows: u64,
    alone_windows: u64,
}

impl SerialFallback {
    /// True if one thread should go on alone in the next call.
    pub fn is_alone(&mut self) -> bool {
        let was_alone = self.is_alone;
        self.is_alone = self.is_thin || self.turns > 0;
        if self.is_alone != was_alone {
            self.pace = Pace::default();
        }
        self.is_alone
    }
    /// The pace of one thread over all partitions, as far as it is known.
    pub fn expect_alone(&mut self, pace: Pace) {
        self.alone = pace;
    }

    /// In the last call there were so many windows, and events in them, at this pace; it took no
    /// time without a clock. There are `threads` in all.
    pub fn learn(&mut self, windows: u64, pace: Pace, threads: usize) {
        self.windows += windows;
        self.alone_windows += if self.is_alone { windows } else { 0 };
        self.period_windows += windows;
        self.period_events += pace.events;
        if self.period_windows >= PERIOD_WINDOWS {
            self.is_thin = self.period_events < self.period_windows * MIN_EVENTS * threads as u64;
            (self.period_windows, self.period_events) = (0, 0);
        }
        self.pace.add(pace);
        if self.pace.time >= JUDGED {
            let pace = std::mem::take(&mut self.pace);
            self.judge(pace);
        }
    }
    fn judge(&mut self, pace: Pace) {
        if self.is_alone {
            self.alone = pace;
            self.turns = self.turns.saturating_sub(1);
        } else if pace.relative_to(self.alone).is_some_and(|ratio| ratio > SLOWER) {
            self.last_turns = (2 * self.last_turns).clamp(FEWEST_TURNS, MOST_TURNS);
            self.turns = self.last_turns;
        } else {
            self.last_turns = 0;
        }
    }

    /// The share of windows in which one thread was alone, in per cent.
    pub fn percent(&self) -> u64 {
        (100 * self.alone_windows).checked_div(self.windows).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(windows: u64, events: u64, threads: usize) -> bool {
        let mut fallback = SerialFallback::default();
        fallback.learn(windows, Pace { time: Duration::ZERO, events }, threads);
        fallback.is_alone()
    }

    /// 256 windows with 2 x 32 events each are enough for two threads, and too little for three.
    #[test]
    fn windows_need_32_events_for_each_thread() {
        assert!(!after(256, 16_384, 2));
        assert!(after(256, 16_383, 2));
        assert!(after(256, 16_384, 3));
        assert!(!after(255, 0, 2), "too early to tell");
    }

    #[test]
    fn each_period_is_decided_by_the_one_before() {
        let mut fallback = SerialFallback::default();
        let mut pass = |windows, events| {
            fallback.learn(windows, Pace { time: Duration::ZERO, events }, 2);
            (fallback.is_alone(), fallback.percent())
        };
        assert_eq!(pass(256, 500), (true, 0));
        assert_eq!(pass(144, 1_000_000), (true, 36), "the period lasts");
        assert_eq!(pass(112, 0), (false, 50));
        assert_eq!(pass(256, 1_000_000), (false, 33));
    }

    /// One thread takes 100 ns for an event; windows hold enough.
    #[test]
    fn threads_that_were_slower_wait_longer_each_time() {
        let mut fallback = SerialFallback::default();
        let ms = Duration::from_millis;
        let pace_alone = Pace { time: ms(50), events: 500_000 };
        fallback.expect_alone(pace_alone);
        let mut turns_alone = |wall_ms: u64, events: u64| {
            let half = Pace { time: ms(wall_ms / 2), events: events / 2 };
            assert!(!fallback.is_alone());
            fallback.learn(10, half, 2);
            assert!(!fallback.is_alone(), "too early to tell");
            fallback.learn(10, half, 2);
            let mut turns = 0;
            while fallback.is_alone() {
                fallback.learn(10, pace_alone, 2);
                turns += 1;
            }
            turns
        };
        let mut slower = || turns_alone(60, 500_000);
        assert_eq!([slower(), slower(), slower()], [2, 4, 8]);
        assert_eq!(turns_alone(52, 500_000), 0, "as fast as one, and forgiven");
        let mut slower = || turns_alone(60, 500_000);
        assert_eq!((0..9).map(|_| slower()).max(), Some(MOST_TURNS));
        assert_eq!(turns_alone(90, 1_000_000), 0);
    }
}

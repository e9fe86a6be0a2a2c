//! Whether windows hold enough for several threads.
//!
//! At the end of each window the threads meet. A meeting takes as long as some ten events, so
//! windows that hold few events take longer in several threads than in one. Windows are as long as
//! the shortest delay between two partitions; what counts is how many events they hold. Where those
//! of a period hold few, one thread runs all partitions through the next period. Events and windows
//! are counted, not timed: the same run decides alike on every machine.

/// Windows of a period.
const PERIOD_WINDOWS: u64 = 256;
/// Minimum number of events per thread in a window.
const MIN_EVENTS: u64 = 32;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SerialFallback {
    /// At the end of the last period: windows and events so far.
    windows: u64,
    events: u64,
    /// One thread is alone now.
    is_alone: bool,
    /// Windows of periods in which one thread was alone.
    alone_windows: u64,
}

impl SerialFallback {
    /// True if one thread should go on alone, after this many windows and events since the start of
    /// a run in `threads` threads.
    pub fn is_alone(&mut self, windows: u64, events: u64, threads: usize) -> bool {
        let passed = windows - self.windows;
        if passed >= PERIOD_WINDOWS {
            if self.is_alone {
                self.alone_windows += passed;
            }
            self.is_alone = events - self.events < passed * MIN_EVENTS * threads as u64;
            (self.windows, self.events) = (windows, events);
        }
        self.is_alone
    }
    /// The share of windows in which one thread was alone, in per cent.
    pub fn percent(&self) -> u64 {
        (100 * self.alone_windows).checked_div(self.windows).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 256 windows with 2 x 32 events each are enough for two threads, and too little for three.
    #[test]
    fn windows_need_32_events_for_each_thread() {
        assert!(!SerialFallback::default().is_alone(256, 16_384, 2));
        assert!(SerialFallback::default().is_alone(256, 16_383, 2));
        assert!(SerialFallback::default().is_alone(256, 16_384, 3));
        assert!(!SerialFallback::default().is_alone(255, 0, 2), "too early to tell");
    }

    #[test]
    fn each_period_is_decided_by_the_one_before() {
        let mut thin = SerialFallback::default();
        assert!(thin.is_alone(256, 500, 2));
        assert!(thin.is_alone(400, 1_000_000, 2), "the period lasts");
        assert_eq!(thin.percent(), 0);
        assert!(!thin.is_alone(512, 1_000_000, 2));
        assert_eq!(thin.percent(), 50);
        assert!(!thin.is_alone(768, 2_000_000, 2));
        assert_eq!(thin.percent(), 33);
    }
}

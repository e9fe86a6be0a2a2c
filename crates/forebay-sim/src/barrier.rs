//! A barrier for threads.
//!
//! A system call per window costs more than most windows, and a thread that sleeps wakes up late:
//! so a thread that waits polls. Where the others have no core it takes one from them by that. How
//! long a thread polls therefore follows from how the waits before it ended.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Fewest and most polls before the thread yields: some ten microseconds, and about a millisecond.
const FEWEST_SPINS: u32 = 1 << 9;
const MOST_SPINS: u32 = 1 << 15;
/// Yields before the thread sleeps.
const YIELDS: u32 = 1 << 4;

/// The panic of a thread that waited for one that has panicked.
pub(crate) struct OtherPanicked;

/// How long one thread polls: twice as long after a wait that polling ended, half as long after one
/// that it did not.
pub(crate) struct Patience {
    spins: Cell<u32>,
    most_spins: u32,
}

impl Patience {
    fn of(most_spins: u32) -> Patience {
        Patience { spins: Cell::new(most_spins), most_spins }
    }
    fn spins(&self) -> u32 {
        self.spins.get()
    }
    fn learn(&self, was_enough: bool) {
        let spins = if was_enough { self.spins() * 2 } else { self.spins() / 2 };
        self.spins.set(spins.clamp(FEWEST_SPINS, self.most_spins));
    }
}

/// A reusable barrier for `parties` threads. A thread spins, then yields, then sleeps, since cores
/// are shared.
pub(crate) struct Barrier {
    parties: usize,
    /// Most polls: where there are fewer cores than threads, each takes one from another.
    most_spins: u32,
    arrived: AtomicUsize,
    /// Number of times that it was passed.
    passed: AtomicUsize,
    /// A thread has panicked: no thread may wait any longer.
    broken: AtomicBool,
    sleepers: Mutex<usize>,
    wake: Condvar,
}

impl Barrier {
    pub fn new(parties: usize) -> Barrier {
        let (arrived, passed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (sleepers, wake) = (Mutex::new(0), Condvar::new());
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let most_spins = if parties <= cores { MOST_SPINS } else { FEWEST_SPINS };
        let broken = AtomicBool::new(false);
        Barrier { parties, most_spins, arrived, passed, broken, sleepers, wake }
    }
    /// That of one of the threads, at the start of a run.
    pub fn patience(&self) -> Patience {
        Patience::of(self.most_spins)
    }

    /// Wait until all parties have called this, each with a patience of its own. Their earlier
    /// writes are visible afterwards. Panics with [`OtherPanicked`] if one of them has panicked.
    pub fn wait(&self, patience: &Patience) {
        let turn = self.passed.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            self.arrived.store(0, Ordering::Relaxed);
            self.passed.store(turn.wrapping_add(1), Ordering::Release);
            self.wake_sleepers();
        } else {
            self.wait_for_others(turn, patience);
        }
        if self.broken.load(Ordering::Acquire) {
            // The first panic has been shown; this one only ends the thread.
            std::panic::resume_unwind(Box::new(OtherPanicked));
        }
    }

    fn wait_for_others(&self, turn: usize, patience: &Patience) {
        let over =
            || self.passed.load(Ordering::Acquire) != turn || self.broken.load(Ordering::Relaxed);
        for _ in 0..patience.spins() {
            if over() {
                return patience.learn(true);
            }
            std::hint::spin_loop();
        }
        patience.learn(false);
        for _ in 0..YIELDS {
            if over() {
                return;
            }
            thread::yield_now();
        }
        let mut sleepers = self.lock();
        *sleepers += 1;
        while !over() {
            sleepers = self.wake.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        }
        *sleepers -= 1;
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// A thread that held the lock has either seen that the barrier was passed, or sleeps and is
    /// counted.
    fn wake_sleepers(&self) {
        if *self.lock() > 0 {
            self.wake.notify_all();
        }
    }

    /// A guard that releases all threads if this one panics.
    pub fn panic_guard(&self) -> impl Drop + '_ {
        PanicGuard(self)
    }
}

struct PanicGuard<'a>(&'a Barrier);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Release);
            self.0.wake_sleepers();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thread writes its turn, passes, and must find that of all others; with more threads
    /// than cores some sleep.
    #[test]
    fn nobody_passes_before_all_have_come() {
        const THREADS: usize = 7;
        let barrier = Barrier::new(THREADS);
        let turns = [const { AtomicUsize::new(0) }; THREADS];
        thread::scope(|scope| {
            for me in 0..THREADS {
                let (barrier, turns) = (&barrier, &turns);
                scope.spawn(move || {
                    let patience = barrier.patience();
                    for turn in 1..=2_000 {
                        turns[me].store(turn, Ordering::Relaxed);
                        barrier.wait(&patience);
                        assert!(turns.iter().all(|t| t.load(Ordering::Relaxed) >= turn));
                        barrier.wait(&patience);
                        assert!(turns.iter().all(|t| t.load(Ordering::Relaxed) <= turn + 1));
                    }
                });
            }
        });
    }

    #[test]
    fn patience_follows_from_how_waits_ended() {
        let patience = Patience::of(MOST_SPINS);
        patience.learn(true);
        assert_eq!(patience.spins(), MOST_SPINS);
        (0..20).for_each(|_| patience.learn(false));
        assert_eq!(patience.spins(), FEWEST_SPINS);
        patience.learn(true);
        assert_eq!(patience.spins(), 2 * FEWEST_SPINS);
    }

    #[test]
    fn a_thread_that_panics_lets_the_others_out() {
        let barrier = Barrier::new(3);
        let outcomes = thread::scope(|scope| {
            let threads = [true, false, false].map(|fails| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let _guard = barrier.panic_guard();
                    let patience = barrier.patience();
                    barrier.wait(&patience);
                    assert!(!fails, "on purpose");
                    barrier.wait(&patience);
                })
            });
            threads.map(|thread| thread.join().is_err())
        });
        assert_eq!(outcomes, [true; 3]);
    }
}

//! Memory that runs take side by side: each waits until what it needs is free.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often a run that waits looks whether it was cancelled.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// See the module.
#[derive(Debug)]
pub(super) struct Budget {
    /// None: unknown, and no run waits.
    all_bytes: Option<u64>,
    taken_bytes: Mutex<u64>,
    freed: Condvar,
}

/// What a run has taken, until it is dropped.
#[derive(Debug)]
pub(super) struct Taken<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Budget {
    pub fn new(all_bytes: Option<u64>) -> Budget {
        Budget { all_bytes, taken_bytes: Mutex::new(0), freed: Condvar::new() }
    }

    /// Take this much, once it is there. One that alone is more than there is goes alone. None if
    /// `cancelled` is true while it waits, and where memory is not known.
    pub fn take(&self, bytes: u64, cancelled: impl Fn() -> bool) -> Option<Taken<'_>> {
        let all_bytes = self.all_bytes?;
        let mut taken = self.taken_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken > 0 && taken.saturating_add(bytes) > all_bytes {
            if cancelled() {
                return None;
            }
            let waited = self.freed.wait_timeout(taken, LOOK_EVERY);
            taken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken = taken.saturating_add(bytes);
        Some(Taken { budget: self, bytes })
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let taken = self.budget.taken_bytes.lock();
        let mut taken = taken.unwrap_or_else(PoisonError::into_inner);
        *taken = taken.saturating_sub(self.bytes);
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_does_not_fit_waits_until_it_does() {
        let budget = Budget::new(Some(100));
        let (at_once, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let taken = budget.take(40, || false);
                        assert!(taken.is_some());
                        most.fetch_max(
                            at_once.fetch_add(1, Ordering::SeqCst) + 1,
                            Ordering::SeqCst,
                        );
                        std::thread::yield_now();
                        at_once.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 2);
        // Alone, more than there is goes; beside another it waits, here until it is cancelled.
        let alone = budget.take(1_000, || false);
        assert!(alone.is_some() && budget.take(1, || true).is_none());
        assert!(Budget::new(None).take(u64::MAX, || false).is_none());
    }
}

//! Threads that wait for packets and time.

use crate::clock::Clock;
use crate::os;
use forebay_base::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use std::os::fd::BorrowedFd;

/// How the threads of a run are scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Before all ordinary threads (`SCHED_FIFO`).
    Fifo,
    /// As all others, since the system refused more.
    Ordinary,
}

/// Priority of nodes under `SCHED_FIFO`, 1 to 99: below the threads of the kernel, which have 50.
const FIFO_PRIORITY: i32 = 10;

/// Ask for the best scheduling that this thread may have, and for timers without slack.
pub fn hurry() -> Priority {
    // Ordinary timers may be 50 us late by default, so that they can be served together. An error
    // leaves it at that.
    let _ = prctl::set_timerslack(1);
    match os::schedule_fifo(FIFO_PRIORITY) {
        Ok(()) => Priority::Fifo,
        Err(_) => Priority::Ordinary,
    }
}

/// Sleep until `until`, or until something can be read from one of `files` or is wrong with it:
/// then true.
pub(crate) fn wait(clock: Clock, until: Time, files: &mut [PollFd<'_>]) -> nix::Result<bool> {
    let left = clock.until(until);
    let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(left.as_nanos()));
    match ppoll(files, Some(timeout), None) {
        // A signal: the caller looks whether the run is to end.
        Err(Errno::EINTR) => Ok(false),
        result => result.map(|ready| ready > 0),
    }
}

/// What is waited for.
pub(crate) fn readable(file: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::new(file, PollFlags::POLLIN)
}

/// Sleep `count` times until the next multiple of `period`, and record how late the thread wakes.
pub(crate) fn timer_lateness(period: Span, count: u64) -> forebay_base::Histogram {
    let clock = Clock::starting_in(period);
    let mut late = forebay_base::Histogram::default();
    for number in 1..=count {
        let due = Time::from_nanos(number * period.as_nanos());
        while clock.now() < due && wait(clock, due, &mut []).is_ok() {}
        late.record(clock.now().since(due));
    }
    late
}

//! What a run costs: wall-clock and CPU time of the threads that run it.

use std::time::{Duration, Instant};

/// Adds up stretches of work.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    pub wall: Duration,
    /// User and system time of the thread that is charged, and of others that were added;
    /// wall-clock time where the system does not tell.
    pub cpu: Duration,
}

impl Cost {
    /// Do `work`, and add what it cost. Gives its wall-clock time.
    pub fn charge<R>(&mut self, work: impl FnOnce() -> R) -> (R, Duration) {
        let (wall, cpu) = (now(), thread_cpu());
        let result = work();
        let took = wall.elapsed();
        self.wall += took;
        self.cpu += match (cpu, thread_cpu()) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => took,
        };
        (result, took)
    }
}

/// The wall clock: for costs and progress only, never for results.
#[allow(clippy::disallowed_methods)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// CPU time that this thread has used; zero where the system does not tell.
pub(crate) fn cpu_clock() -> Duration {
    thread_cpu().unwrap_or(Duration::ZERO)
}

/// CPU time that this thread has used.
#[cfg(unix)]
fn thread_cpu() -> Option<Duration> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(used.tv_sec.try_into().ok()?, used.tv_nsec.try_into().ok()?))
}

#[cfg(not(unix))]
fn thread_cpu() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn sleeping_costs_wall_time_and_no_cpu_time() {
        let mut cost = Cost::default();
        cost.charge(|| std::thread::sleep(Duration::from_millis(60)));
        assert!(cost.wall >= Duration::from_millis(60));
        assert!(cfg!(not(unix)) || cost.cpu < Duration::from_millis(40), "{:?}", cost.cpu);
    }

    #[test]
    fn work_costs_cpu_time() {
        let mut cost = Cost::default();
        let start = now();
        while cost.cpu < Duration::from_millis(20) && start.elapsed() < Duration::from_secs(20) {
            cost.charge(|| (0..10_000u64).map(std::hint::black_box).sum::<u64>());
        }
        assert!(cost.cpu >= Duration::from_millis(20));
    }
}

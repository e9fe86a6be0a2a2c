//! The clocks of the machine: what runs cost is measured with them.

use forebay_run::Clocks;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Wall clock, and CPU time of the thread.
pub(crate) const CLOCKS: Clocks = Clocks { wall, cpu };

/// Wall-clock time since the first call.
#[allow(clippy::disallowed_methods)] // for costs and progress, never for results
fn wall() -> Duration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let now = Instant::now();
    now.saturating_duration_since(*FIRST.get_or_init(|| now))
}

/// CPU time that this thread has used.
#[cfg(unix)]
fn cpu() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let nonnegative = "a clock that counts from zero";
    Duration::new(
        used.tv_sec.try_into().expect(nonnegative),
        used.tv_nsec.try_into().expect(nonnegative),
    )
}

/// Wall-clock time, where the system does not report it.
#[cfg(not(unix))]
fn cpu() -> Duration {
    wall()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_run::Cost;

    #[test]
    #[allow(clippy::disallowed_methods)]
    fn sleeping_costs_wall_time_and_no_cpu_time() {
        let mut cost = Cost::new(Some(CLOCKS));
        cost.charge(|| std::thread::sleep(Duration::from_millis(60)));
        assert!(cost.wall >= Duration::from_millis(60));
        assert!(cfg!(not(unix)) || cost.cpu < Duration::from_millis(40), "{:?}", cost.cpu);
    }

    #[test]
    fn work_costs_cpu_time() {
        let mut cost = Cost::new(Some(CLOCKS));
        let start = wall();
        while cost.cpu < Duration::from_millis(20) && wall() - start < Duration::from_secs(20) {
            cost.charge(|| (0..10_000u64).map(std::hint::black_box).sum::<u64>());
        }
        assert!(cost.cpu >= Duration::from_millis(20));
    }
}

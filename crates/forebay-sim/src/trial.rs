//! Whether several threads are faster than one: a trial at the start of a run.
//!
//! Partitions cost something of their own: packets do not look ahead across them, and each window
//! has a price. Whether threads win more than that depends on the network, its traffic and the
//! machine. So the run begins in one thread over the whole network, and the same run in partitions
//! is tried beside it:
//!
//! 1. **Race.** While the caller's thread runs the whole, another thread runs all partitions. What
//!    several threads would take follows from how evenly the events of its windows fall on
//!    partitions. If that is not less than one thread takes, the partitions are given up. The run
//!    has lost nothing if there was a core for the other thread.
//! 2. **Proof.** All threads run the partitions, and their time counts. The whole network stays
//!    where it was, and goes on from there if it was faster.
//!
//! Nothing depends on who wins but time: both are the same run.

use crate::division::Division;
use crate::pace::Pace;
use crate::partitioning::FewerThreads;
use crate::windows::{Effort, Race};
use forebay_base::Time;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The race begins when the run has taken this long: many are over by then.
const BEGINS: Duration = Duration::from_millis(20);
/// Runs that take less than this for a call have too little to do at a time: no thread is started
/// for them, and none any more after a call of half of it.
const BUSY: Duration = Duration::from_millis(2);
/// A run that is not busy after so long stays in one thread: the partitions are too far behind it.
const TOO_LATE: Duration = Duration::from_millis(100);
/// The race, in CPU time: first its warm-up, since flows are in slow start, then what counts.
const WARM_UP: Duration = Duration::from_millis(10);
const RACE: Duration = Duration::from_millis(20);
/// A race in which one thread has taken so long is over: there is no core for another, and the
/// partitions are far behind.
const STARVED: Duration = Duration::from_millis(200);
/// Partitions are given up at once if they look worse than this after the warm-up.
const HOPELESS: f64 = 1.5;
/// Partitions win the race if they are to take less than this share of the time of one thread. The
/// rest of the run may be less favourable than its start.
const WINS: f64 = 0.7;
/// The proof.
const PROOF: Duration = Duration::from_millis(50);
/// What a meeting of threads costs.
const MEETING: Duration = Duration::from_micros(5);

/// CPU time that several threads would take on their critical path, for what one took for all
/// partitions.
fn forecast(race: &Race) -> Pace {
    let events = race.pace.events;
    let share = race.critical_events as f64 / events.max(1) as f64;
    let meetings = MEETING * u32::try_from(race.windows).unwrap_or(u32::MAX);
    Pace { time: race.cpu.mul_f64(share) + meetings, events }
}

/// One thread goes on, since `threads` take this share of its time.
fn slower(threads: usize, ratio: f64) -> Verdict {
    let percent = (100.0 * ratio).round() as u64;
    Verdict::One(FewerThreads::Slower { threads, percent })
}

/// What one thread did for the whole network in a race.
#[derive(Clone, Copy, Default)]
struct Whole {
    pace: Pace,
    cpu: Duration,
}

/// Run `whole` to `limit` in this thread, and `partitions` as far as they come meanwhile in
/// another.
fn race(
    whole: &mut Division,
    partitions: &mut Division,
    limit: Time,
    effort: &mut Effort,
) -> (Whole, Race) {
    let is_over = AtomicBool::new(false);
    let (ran, raced) = thread::scope(|scope| {
        let racer = scope.spawn(|| partitions.race(limit, &is_over));
        let cpu = whole.rules.cpu();
        let pace = whole.run(limit, effort);
        is_over.store(true, Ordering::Relaxed);
        let cpu = whole.rules.cpu().saturating_sub(cpu);
        (Whole { pace, cpu }, racer.join())
    });
    let raced = raced.unwrap_or_else(|panic| resume_unwind(panic));
    effort.elsewhere += raced.cpu;
    (ran, raced)
}

/// How far a trial is.
#[derive(Clone, Copy)]
enum Phase {
    /// The run has not been busy, and has taken so long.
    Waiting(Duration),
    /// What is known of the whole and of the partitions; the warm-up is over.
    Race { whole: Whole, partitions: Race, is_warm: bool },
    /// The pace of the whole in the race, and of all threads since.
    Proof { whole: Pace, threads: Pace },
}

/// See the module.
pub(crate) struct Trial {
    /// The run that waits: the partitions, and from the proof on the whole.
    other: Division,
    phase: Phase,
}

/// What becomes of a trial in a call.
pub(crate) enum Verdict {
    /// It goes on.
    Open(Box<Trial>),
    /// The partitions have won: several threads go on.
    Threads,
    /// One thread goes on, for this reason.
    One(FewerThreads),
}

impl Trial {
    /// Try `partitions`.
    pub fn of(partitions: Division) -> Box<Trial> {
        Box::new(Trial { other: partitions, phase: Phase::Waiting(Duration::ZERO) })
    }

    /// Run `active` to `limit`, as [`Division::run`] does; afterwards it may be the other one.
    /// Nothing is sampled before `look`.
    pub fn run(
        mut self: Box<Self>,
        active: &mut Division,
        limit: Time,
        look: Time,
        effort: &mut Effort,
    ) -> Verdict {
        active.sample_not_before(look);
        match self.phase {
            Phase::Waiting(before) => {
                let took = active.run(limit, effort).time;
                self.wait(before, took)
            }
            Phase::Race { .. } => self.race(active, limit, look, effort),
            Phase::Proof { whole, mut threads } => {
                threads.add(active.run(limit, effort));
                self.phase = Phase::Proof { whole, threads };
                self.prove(active, limit, look, effort)
            }
        }
    }

    /// The run that waits takes the place of `active`, and catches up when that runs next. Before,
    /// the partitions, if it is they that wait, go to `raced_to` as in a race, nothing sampled
    /// before `look`.
    pub fn take_over(&mut self, active: &mut Division, raced_to: Time, look: Time) {
        if self.other.threads() > 1 {
            self.other.sample_not_before(look);
            self.other.race(raced_to, &AtomicBool::new(false));
        }
        std::mem::swap(active, &mut self.other);
    }

    fn wait(mut self: Box<Self>, before: Duration, took: Duration) -> Verdict {
        let spent = before + took;
        self.phase = if took >= BUSY && spent >= BEGINS {
            Phase::Race { whole: Whole::default(), partitions: Race::default(), is_warm: false }
        } else if spent >= TOO_LATE {
            return Verdict::One(FewerThreads::Idle);
        } else {
            Phase::Waiting(spent)
        };
        Verdict::Open(self)
    }

    fn race(
        mut self: Box<Self>,
        active: &mut Division,
        limit: Time,
        look: Time,
        effort: &mut Effort,
    ) -> Verdict {
        self.other.sample_not_before(look);
        let (ran, raced) = race(active, &mut self.other, limit, effort);
        if ran.pace.time < BUSY / 2 {
            return Verdict::One(FewerThreads::Idle);
        }
        let Phase::Race { whole, partitions, is_warm } = &mut self.phase else {
            unreachable!("the phase of a race")
        };
        whole.pace.add(ran.pace);
        whole.cpu += ran.cpu;
        partitions.add(raced);
        if whole.pace.time >= STARVED {
            return Verdict::One(FewerThreads::NoCore);
        }
        if active.end.is_some() || partitions.cpu < if *is_warm { RACE } else { WARM_UP } {
            return Verdict::Open(self);
        }
        let whole_cpu = Pace { time: whole.cpu, events: whole.pace.events };
        let Some(ratio) = forecast(partitions).relative_to(whole_cpu) else {
            return Verdict::Open(self); // one of them has not begun
        };
        let (now_warm, whole) = (std::mem::replace(is_warm, true), std::mem::take(whole));
        let partitions = std::mem::take(partitions);
        if ratio > if now_warm { WINS } else { HOPELESS } {
            return slower(self.other.threads(), ratio);
        }
        if now_warm {
            std::mem::swap(active, &mut self.other);
            active.fallback.expect_alone(partitions.pace);
            // The partitions are behind: they catch up before anyone reads them.
            let threads = active.run(limit, effort);
            self.phase = Phase::Proof { whole: whole.pace, threads };
        }
        Verdict::Open(self)
    }

    fn prove(
        mut self: Box<Self>,
        active: &mut Division,
        limit: Time,
        look: Time,
        effort: &mut Effort,
    ) -> Verdict {
        let Phase::Proof { whole, threads } = self.phase else { unreachable!("in a proof") };
        if threads.time < PROOF || active.end.is_some() {
            return Verdict::Open(self);
        }
        match threads.relative_to(whole) {
            Some(ratio) if ratio > 1.0 => {
                std::mem::swap(active, &mut self.other);
                active.sample_not_before(look);
                active.run(limit, effort);
                slower(self.other.threads(), ratio)
            }
            _ => Verdict::Threads,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_of_several_threads_and_the_meetings_take_the_time() {
        let pace = Pace { time: Duration::from_millis(99), events: 1_000 };
        let cpu = Duration::from_millis(10);
        let race = Race { pace, cpu, windows: 200, critical_events: 600 };
        // 0.6 of 10 ms, and 200 times 5 us.
        let expected = Pace { time: Duration::from_micros(7_000), events: 1_000 };
        assert_eq!(forecast(&race), expected);
        let whole = Pace { time: Duration::from_millis(28), events: 2_000 };
        let ratio = forecast(&race).relative_to(whole).expect("both had events");
        assert!((ratio - 0.5).abs() < 1e-9, "{ratio}");
        assert_eq!(forecast(&Race::default()).relative_to(whole), None);
    }
}

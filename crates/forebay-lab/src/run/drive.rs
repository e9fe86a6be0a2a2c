//! Moves a simulation from stop to stop: start of the window, samples, looks at the outside world.

use super::clock::{Cost, now};
use super::{Progress, RunError, RunOptions};
use crate::metrics::{Bounds, Mark};
use crate::observe::Watch;
use crate::store::SeriesWriter;
use forebay_base::{FlowId, Span, Time};
use forebay_net::NetSpec;
use forebay_sim::{Simulation, Status};
use forebay_transport::Role;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The longest and the shortest stretch of simulated time between two looks at the outside world. No stretch crosses a
/// multiple of the longest: see [`Drive::end_quietly`].
const LONGEST: Span = Span::from_millis(100);
const SHORTEST: Span = Span::from_micros(1);
/// A stretch that takes less wall-clock time than the first is doubled, one that takes more than the second is halved.
const TOO_SHORT: Duration = Duration::from_millis(5);
const TOO_LONG: Duration = Duration::from_millis(20);
/// Progress is told this often.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// One simulation on its way.
pub(super) struct Drive<'a> {
    pub simulation: &'a mut Simulation,
    pub spec: &'a NetSpec,
    pub bounds: Bounds,
    pub options: &'a RunOptions<'a>,
    pub watch: &'a Watch,
    /// Where samples go, and their distance.
    pub series: Option<(&'a mut SeriesWriter, Span)>,
    pub cost: Cost,
}

impl Drive<'_> {
    /// Run to the end. The counts at the start of the window.
    pub fn run(&mut self) -> Result<Mark, RunError> {
        let (mut step, mut told, mut mark) = (Span::from_millis(1), now(), None);
        let mut sample_at = match &self.series {
            Some((_, sample)) => Time::ZERO + *sample,
            None => Time::MAX,
        };
        loop {
            let window = if mark.is_none() { self.bounds.from } else { Time::MAX };
            let stop = (self.simulation.now() + step).min(sample_at).min(window);
            let stop = stop.min(boundary_after(self.simulation.now())).min(self.bounds.until);
            let simulation = &mut *self.simulation;
            let (status, took) = self.cost.charge(|| simulation.run_until(stop));
            if status == Status::Quiet {
                self.end_quietly();
            }
            let running = status == Status::Running && stop < self.bounds.until;
            if mark.is_none() && (self.simulation.now() >= self.bounds.from || !running) {
                mark = Some(Mark::of(self.simulation, self.spec));
            }
            let due = self.simulation.now() >= sample_at;
            if let Some((series, sample)) = self.series.as_mut().filter(|_| due) {
                series.sample(self.simulation, self.spec.flows.len())?;
                sample_at += *sample;
            }
            self.look(&mut told)?;
            match mark {
                Some(mark) if !running => return Ok(mark),
                _ => step = next_step(step, took),
            }
        }
    }

    /// Nothing will ever happen again, though not every flow has ended (a network that stays cut). The clock stands where the
    /// wall clock made us stop; the next boundary follows from the last event alone, so that every machine ends there.
    fn end_quietly(&mut self) {
        let now = self.simulation.now();
        let end = match now.as_nanos().is_multiple_of(LONGEST.as_nanos()) {
            true => now,
            false => boundary_after(now).min(self.bounds.until),
        };
        let status = self.simulation.run_until(end);
        assert_eq!(status, Status::Quiet, "nothing happens in a quiet network");
    }

    /// Is the run still wanted, are its observers well, is someone to be told?
    fn look(&self, told: &mut Instant) -> Result<(), RunError> {
        if self.options.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(RunError::Cancelled);
        }
        self.watch.check()?;
        if let Some(tell) = self.options.progress.filter(|_| told.elapsed() >= TELL_EVERY) {
            tell(&self.progress());
            *told = now();
        }
        Ok(())
    }

    fn progress(&self) -> Progress {
        let flows = (0..).zip(&self.spec.flows).filter(|(_, flow)| flow.bytes.is_some());
        let done = |id| {
            let server = self.simulation.connection(FlowId(id), Role::Server);
            server.is_some_and(|c| c.progress().stream_complete)
        };
        let (mut ends, mut completed) = (0, 0);
        for (id, _) in flows {
            ends += 1;
            completed += done(id) as usize;
        }
        let until = Some(self.bounds.until).filter(|&until| until < Time::MAX);
        Progress { now: self.simulation.now(), until, completed, flows: ends }
    }
}

/// The first multiple of the longest stretch after `now`.
fn boundary_after(now: Time) -> Time {
    let grid = LONGEST.as_nanos();
    Time::from_nanos((now.as_nanos() / grid + 1).saturating_mul(grid))
}

fn next_step(step: Span, took: Duration) -> Span {
    let next = if took > TOO_LONG {
        step / 2
    } else if took < TOO_SHORT {
        step * 2
    } else {
        step
    };
    next.clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_multiples_of_a_tenth_of_a_second() {
        let after = |ns| boundary_after(Time::from_nanos(ns));
        assert_eq!((after(0), after(99_999_999)), (Time::from_millis(100), Time::from_millis(100)));
        assert_eq!(after(100_000_000), Time::from_millis(200));
        assert_eq!(after(u64::MAX), Time::MAX);
    }

    #[test]
    fn the_step_follows_the_wall_clock_within_its_bounds() {
        let ms = Span::from_millis;
        assert_eq!(next_step(ms(4), Duration::from_millis(1)), ms(8));
        assert_eq!(next_step(ms(4), Duration::from_millis(10)), ms(4));
        assert_eq!(next_step(ms(4), Duration::from_millis(100)), ms(2));
        assert_eq!(next_step(ms(80), Duration::ZERO), LONGEST);
        assert_eq!(next_step(SHORTEST, Duration::from_secs(1)), SHORTEST);
    }
}

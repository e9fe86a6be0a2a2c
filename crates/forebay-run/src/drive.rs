//! Moves a simulation from stop to stop: start of the window, samples, looks at the outside world.

use crate::cost::Cost;
use crate::error::RunError;
use crate::measure::{Bounds, WindowBaseline};
use crate::options::{Progress, RunOptions};
use crate::record::{Recorder, RunStart};
use forebay_base::{FlowId, Span, Time};
use forebay_net::NetSpec;
use forebay_sim::{ConservationError, Simulation, Status};
use std::time::Duration;

/// The longest and the shortest stretch of simulated time between two looks at the outside world.
/// No stretch crosses a multiple of the longest, unless something is known to come after it: see
/// [`Drive::end_quietly`] and [`Ahead`].
const LONGEST: Span = Span::from_millis(100);
const SHORTEST: Span = Span::from_micros(1);
/// A stretch that takes less wall-clock time than the first is doubled, one that takes more than
/// the second is halved.
const TOO_SHORT: Duration = Duration::from_millis(5);
const TOO_LONG: Duration = Duration::from_millis(20);
/// Shortest interval of progress reports.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// The next report comes after that many times what one took: it looks at every flow that has not
/// completed, which may be a million.
const TELL_SHARE: u32 = 100;

/// One simulation on its way.
pub(super) struct Drive<'a> {
    pub simulation: &'a mut Simulation,
    pub start: &'a RunStart<'a>,
    pub bounds: Bounds,
    pub options: &'a RunOptions<'a>,
    pub recorder: Option<&'a mut (dyn Recorder + 'static)>,
    /// Distance of samples, if any are taken.
    pub sample: Option<Span>,
    pub cost: Cost,
    pub unfinished: Unfinished,
}

/// Flows with an end that had not completed when progress was reported last. A report then costs
/// nothing for those that had.
pub(super) struct Unfinished {
    flows: Vec<FlowId>,
    /// Flows with an end.
    ends: usize,
}

impl Unfinished {
    pub fn of(spec: &NetSpec) -> Unfinished {
        let flows = (0..).map(FlowId).zip(&spec.flows).filter(|(_, flow)| !flow.is_endless());
        let flows: Vec<FlowId> = flows.map(|(id, _)| id).collect();
        Unfinished { ends: flows.len(), flows }
    }
    /// Completed now.
    fn completed(&mut self, simulation: &Simulation) -> usize {
        self.flows.retain(|&flow| simulation.completed_at(flow).is_none());
        self.ends - self.flows.len()
    }
}

impl Drive<'_> {
    /// Run to the end. The counts at the start of the window.
    pub fn run(&mut self) -> Result<WindowBaseline, RunError> {
        let spec = self.start.spec;
        let (mut step, mut mark) = (Span::from_millis(1), None);
        let mut tell_at = self.wall() + TELL_EVERY;
        let (mut ahead, mut idle) = (Ahead::of(spec), Span::ZERO);
        let mut sample_at = self.sample.map_or(Time::MAX, |sample| Time::ZERO + sample);
        let mut look_at = self.options.looks.map_or(Time::MAX, |looks| Time::ZERO + looks.every);
        loop {
            let window = if mark.is_none() { self.bounds.from } else { Time::MAX };
            let (began, events) = (self.simulation.now(), self.simulation.events());
            // Results are read at these times alone; between them only the outside world is looked
            // at.
            let bin_at = mark.as_ref().map_or(Time::MAX, |mark: &WindowBaseline| mark.bins.next());
            let read_at = sample_at.min(look_at).min(window).min(bin_at).min(self.bounds.until);
            let stop = ahead.stop(began, step, idle).min(read_at);
            let simulation = &mut *self.simulation;
            simulation.sample_not_before(read_at);
            let (status, took) = self.cost.charge(|| simulation.run_until(stop));
            let status = status.map_err(|error| self.unbalanced(error))?;
            let is_idle = self.simulation.events() == events;
            idle = if is_idle { idle + stop.since(began) } else { Span::ZERO };
            if status == Status::Quiet {
                self.end_quietly()?;
            }
            let running = status == Status::Running && stop < self.bounds.until;
            if mark.is_none() && (self.simulation.now() >= self.bounds.from || !running) {
                mark = Some(WindowBaseline::of(self.simulation, spec));
            }
            if let Some(mark) = &mut mark {
                mark.bins.look(self.simulation);
            }
            self.sample(&mut sample_at)?;
            if let Some(looks) = self.options.looks
                && (!running || self.simulation.now() >= look_at)
            {
                (looks.who)(self.simulation);
                look_at += looks.every;
            }
            self.look(&mut tell_at)?;
            match mark {
                Some(mark) if !running => return Ok(mark),
                _ => step = next_step(step, took),
            }
        }
    }

    /// Take the sample that is due at `at`, if it is.
    fn sample(&mut self, at: &mut Time) -> Result<(), RunError> {
        if let (Some(recorder), Some(sample)) = (&mut self.recorder, self.sample)
            && self.simulation.now() >= *at
        {
            recorder.sample(self.simulation)?;
            *at += sample;
        }
        Ok(())
    }

    /// Nothing will ever happen again, though not every flow has ended (a network that stays cut).
    /// The clock stands where the wall clock made us stop; the next boundary follows from the last
    /// event alone, so that every machine ends there.
    fn end_quietly(&mut self) -> Result<(), RunError> {
        let now = self.simulation.now();
        let is_boundary = now.as_nanos().is_multiple_of(LONGEST.as_nanos());
        let end = if is_boundary { now } else { boundary_after(now).min(self.bounds.until) };
        let status = self.simulation.run_until(end).map_err(|error| self.unbalanced(error))?;
        assert_eq!(status, Status::Quiet, "nothing happens in a quiet network");
        Ok(())
    }

    fn unbalanced(&self, error: ConservationError) -> RunError {
        self.options.unbalanced(error, self.start.protocol, self.start.seed)
    }

    /// Is the run still wanted, is its recorder well, is a progress report due?
    fn look(&mut self, tell_at: &mut Duration) -> Result<(), RunError> {
        if self.options.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.check()?;
        }
        if let Some(tell) = self.options.progress {
            let now = self.wall();
            if self.options.clocks.is_none() || now >= *tell_at {
                tell(&self.progress());
                let took = self.wall().saturating_sub(now);
                *tell_at = now + TELL_EVERY.max(took * TELL_SHARE);
            }
        }
        Ok(())
    }

    fn wall(&self) -> Duration {
        self.options.clocks.map_or(Duration::ZERO, |clocks| (clocks.wall)())
    }

    fn progress(&mut self) -> Progress {
        let completed = self.unfinished.completed(self.simulation);
        let until = Some(self.bounds.until).filter(|&until| until < Time::MAX);
        let reference = (!self.options.without_reference).then_some(1.0);
        let (now, flows) = (self.simulation.now(), self.unfinished.ends);
        Progress { now, until, completed, flows, reference }
    }
}

/// Scheduled events of the scenario: starts of flows, and events of the network. Before the next
/// of them the network is not quiet, so that a stretch may cross multiples of the longest without a
/// change of where the run ends.
struct Ahead {
    /// Multiples of the longest stretch at or before those times, in ns, the latest first; none
    /// twice.
    known_ns: Vec<u64>,
}

impl Ahead {
    fn of(spec: &NetSpec) -> Ahead {
        let starts = spec.flows.iter().map(|flow| flow.start);
        let times = starts.chain(spec.events.iter().map(|event| event.at));
        let grid = LONGEST.as_nanos();
        let mut known_ns: Vec<u64> = times.map(|at| at.as_nanos() / grid * grid).collect();
        known_ns.sort_unstable_by(|a, b| b.cmp(a));
        known_ns.dedup();
        Ahead { known_ns }
    }

    /// Where a stretch that begins at `now` ends. After `idle` time without an event, as much again
    /// is crossed at once: years in which nothing happens cost a few looks, and what wakes up
    /// unforeseen is noticed soon.
    fn stop(&mut self, now: Time, step: Span, idle: Span) -> Time {
        while self.known_ns.last().is_some_and(|&at| at <= now.as_nanos()) {
            self.known_ns.pop();
        }
        match self.known_ns.last() {
            Some(&at) if idle >= LONGEST => (now + idle).min(Time::from_nanos(at)),
            _ => (now + step).min(boundary_after(now)),
        }
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
    fn idle_time_is_crossed_in_growing_stretches_up_to_what_is_known() {
        let ms = Time::from_millis;
        let step = Span::from_millis(30);
        let mut ahead = Ahead { known_ns: vec![ms(9_000).as_nanos(), ms(500).as_nanos()] };
        let mut stop = |at, idle| ahead.stop(ms(at), step, Span::from_millis(idle));
        // Events come: a step, not across a boundary.
        assert_eq!((stop(100, 0), stop(190, 0)), (ms(130), ms(200)));
        // As much again as was idle, to the next that is known.
        assert_eq!((stop(200, 100), stop(300, 200), stop(300, 300)), (ms(300), ms(500), ms(500)));
        // From there on as ever, until it is idle again.
        assert_eq!(
            (stop(500, 0), stop(1_000, 400), stop(8_900, 7_000)),
            (ms(530), ms(1_400), ms(9_000))
        );
        // Nothing is known: the network may be quiet at any time.
        assert_eq!(stop(9_000, 9_000), ms(9_030));
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

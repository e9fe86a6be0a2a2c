//! The time of a live run, and what the kernel's timestamps are in it.

use forebay_base::{Span, Time};
use nix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC` since the start of the run. All nodes of a run share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    start_ns: u64,
}

fn read(clock: ClockId) -> u64 {
    let now = clock_gettime(clock).expect("Linux has this clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

impl Clock {
    /// A run that starts after this span.
    pub fn starting_in(span: Span) -> Clock {
        Clock { start_ns: read(ClockId::CLOCK_MONOTONIC) + span.as_nanos() }
    }
    /// The time since the start; zero before it.
    pub fn now(self) -> Time {
        self.at(read(ClockId::CLOCK_MONOTONIC))
    }
    /// How long it takes until `time`.
    pub fn until(self, time: Time) -> Span {
        let end_ns = self.start_ns.saturating_add(time.as_nanos());
        Span::from_nanos(end_ns.saturating_sub(read(ClockId::CLOCK_MONOTONIC)))
    }
    fn at(self, monotonic_ns: u64) -> Time {
        Time::from_nanos(monotonic_ns.saturating_sub(self.start_ns))
    }
}

/// Both clocks, read together: the real time was read between the other two.
#[derive(Clone, Copy, Debug)]
struct Reading {
    before_ns: u64,
    real_ns: u64,
    after_ns: u64,
}

impl Reading {
    fn take() -> Reading {
        let before_ns = read(ClockId::CLOCK_MONOTONIC);
        let real_ns = read(ClockId::CLOCK_REALTIME);
        Reading { before_ns, real_ns, after_ns: read(ClockId::CLOCK_MONOTONIC) }
    }
    /// Several in a row, of which the shortest counts.
    fn best() -> Reading {
        let readings = (0..READINGS).map(|_| Reading::take());
        readings.min_by_key(|reading| reading.width_ns()).expect("there are some")
    }
    fn width_ns(self) -> u64 {
        self.after_ns - self.before_ns
    }
    /// Real minus monotonic time. Negative where the real time is wrong by decades.
    fn offset_ns(self) -> i64 {
        self.real_ns as i64 - (self.before_ns + self.width_ns() / 2) as i64
    }
}

/// A difference of offsets above this is a step of the real time, if both were read without an
/// interruption. Corrections of frequency change both clocks alike and no offset.
const STEP_NS: u64 = 50_000;
/// A reading that took longer was interrupted.
const MAX_WIDTH_NS: u64 = 20_000;
/// Readings that make a good one.
const READINGS: usize = 8;

/// Real minus monotonic time, and what it was before the last step.
#[derive(Clone, Copy, Debug)]
struct Offset {
    ns: i64,
    before_step_ns: i64,
}

impl Offset {
    /// Takes note of a reading. True if the real time was set since the last one.
    fn stepped(&mut self, reading: Reading) -> bool {
        let ns = reading.offset_ns();
        let stepped = reading.width_ns() <= MAX_WIDTH_NS && ns.abs_diff(self.ns) > STEP_NS;
        if stepped {
            *self = Offset { ns, before_step_ns: self.ns };
        }
        stepped
    }
    /// The monotonic times that a real time may stand for, the likelier one first.
    fn candidates(self, real_ns: u64) -> [u64; 2] {
        [self.ns, self.before_step_ns].map(|offset| real_ns.saturating_add_signed(-offset))
    }
}

/// The kernel stamps packets with the real time, which may be set while a run goes on. A packet
/// that is read now has arrived after the one before it, and before now: this decides in case of
/// doubt.
#[derive(Clone, Copy, Debug)]
pub struct Stamps {
    clock: Clock,
    offset: Offset,
    /// No packet that is still to be read has arrived before.
    floor: Time,
    /// What the clock has shown last.
    ceiling: Time,
    steps: u64,
}

/// A packet may be stamped so long before it can be read.
const MAX_HANDOVER: Span = Span::from_millis(1);

impl Stamps {
    /// Stamps in the time of `clock`.
    pub fn new(clock: Clock) -> Stamps {
        let ns = Reading::best().offset_ns();
        let offset = Offset { ns, before_step_ns: ns };
        Stamps { clock, offset, floor: Time::ZERO, ceiling: Time::ZERO, steps: 0 }
    }
    /// Before packets are read.
    pub fn begin(&mut self) {
        let reading = Reading::take();
        self.steps += u64::from(self.offset.stepped(reading));
        self.ceiling = self.clock.at(reading.after_ns);
    }
    /// When the packet with this stamp has arrived: no packet before another that was read first.
    pub fn arrival(&mut self, real_ns: u64) -> Time {
        let mut found = self.fitting(real_ns);
        if found.is_none() {
            // It came, or the clock was set, after `begin`.
            self.begin();
            found = self.fitting(real_ns);
        }
        let likely = || self.clock.at(self.offset.candidates(real_ns)[0]);
        let at = found.unwrap_or_else(|| likely().min(self.ceiling).max(self.floor));
        self.floor = at;
        at
    }
    fn fitting(&self, real_ns: u64) -> Option<Time> {
        let since_start = |ns: u64| ns.checked_sub(self.clock.start_ns).map(Time::from_nanos);
        let mut times = self.offset.candidates(real_ns).into_iter().filter_map(since_start);
        times.find(|at| (self.floor..=self.ceiling).contains(at))
    }
    /// All packets have been read that arrived before [`Stamps::begin`].
    pub fn emptied(&mut self) {
        let earliest = self.ceiling.as_nanos().saturating_sub(MAX_HANDOVER.as_nanos());
        self.floor = self.floor.max(Time::from_nanos(earliest));
    }
    /// How often the real time was set.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn reading(at_ns: u64, offset_ns: i64) -> Reading {
        let real_ns = (at_ns + 50).saturating_add_signed(offset_ns);
        Reading { before_ns: at_ns, real_ns, after_ns: at_ns + 100 }
    }
    /// Stamps whose real time is ahead by `offset_ns`, in a run that started at 10 s.
    fn stamps(offset_ns: i64) -> Stamps {
        let offset = Offset { ns: offset_ns, before_step_ns: offset_ns };
        let clock = Clock { start_ns: 10 * SECOND };
        Stamps { clock, offset, floor: Time::ZERO, ceiling: Time::from_secs(1), steps: 0 }
    }

    #[test]
    fn stamps_are_times_since_the_start() {
        for offset in [0, 1_700_000_000 * SECOND as i64, -5 * SECOND as i64] {
            let mut stamps = stamps(offset);
            let real = |ns: u64| (10 * SECOND + ns).saturating_add_signed(offset);
            assert_eq!(stamps.arrival(real(500)), Time::from_nanos(500));
            assert_eq!(stamps.arrival(real(500)), Time::from_nanos(500));
            assert_eq!(stamps.arrival(real(SECOND)), Time::from_secs(1));
        }
    }

    #[test]
    fn a_step_is_seen_and_jitter_and_interruptions_are_not() {
        let mut offset = Offset { ns: 0, before_step_ns: 0 };
        let day = 86_400 * SECOND;
        assert!(!offset.stepped(reading(day, 40_000)));
        let slow = Reading { before_ns: 0, real_ns: SECOND, after_ns: MAX_WIDTH_NS + 1 };
        assert!(!offset.stepped(slow));
        assert!(offset.stepped(reading(day, -3_600 * SECOND as i64)));
        assert!(!offset.stepped(reading(day + 9, -3_600 * SECOND as i64)));
        assert_eq!(offset.before_step_ns, 0);
    }

    /// Packets of before and after a step are read in one go: all keep their times.
    #[test]
    fn a_step_moves_no_packet() {
        for step in [3_600 * SECOND as i64, -3_600 * SECOND as i64, 200_000_000] {
            let offset = 1_700_000_000 * SECOND as i64;
            let mut stamps = stamps(offset);
            assert!(stamps.offset.stepped(reading(11 * SECOND, offset + step)));
            let real = |ns: u64| (10 * SECOND + ns).saturating_add_signed(offset);
            assert_eq!(stamps.arrival(real(400_000)), Time::from_nanos(400_000), "{step}");
            let after = real(900_000_000).saturating_add_signed(step);
            assert_eq!(stamps.arrival(after), Time::from_nanos(900_000_000), "{step}");
        }
    }

    /// A stamp that fits nowhere: the packet came between the one before it and now.
    #[test]
    fn a_stamp_from_elsewhere_is_bounded() {
        let clock = Clock::starting_in(Span::ZERO);
        let mut stamps = Stamps::new(clock);
        stamps.begin();
        let early = stamps.arrival(0);
        let late = stamps.arrival(u64::MAX / 4);
        assert!(early <= late && late <= clock.now(), "{early:?} {late:?}");
    }

    #[test]
    fn the_clock_of_a_run_goes_on_from_its_start() {
        let clock = Clock::starting_in(Span::from_millis(5));
        assert_eq!(clock.now(), Time::ZERO);
        assert!(clock.until(Time::ZERO) <= Span::from_millis(5));
        while clock.now() == Time::ZERO {}
        assert!(clock.until(Time::from_secs(1)) <= Span::from_secs(1));
        assert_eq!(clock.until(Time::ZERO), Span::ZERO);
        assert!(clock.until(Time::MAX) > Span::from_secs(1 << 32));
    }
}

//! The time that a number of events took.

use std::time::Duration;

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    pub time: Duration,
    pub events: u64,
}

impl Pace {
    /// Time relative to that of `other` for as many events. None if one of them had no event, or
    /// took no time: then there is no clock.
    pub fn relative_to(self, other: Pace) -> Option<f64> {
        let [own, others] = [self, other].map(|pace| pace.time.as_secs_f64() / pace.events as f64);
        (own > 0.0 && own.is_finite() && others > 0.0 && others.is_finite()).then(|| own / others)
    }
    pub fn add(&mut self, other: Pace) {
        self.time += other.time;
        self.events += other.events;
    }
}

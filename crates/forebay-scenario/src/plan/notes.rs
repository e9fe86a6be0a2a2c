//! Notes on a scenario for readers of results.

use super::queues;
use crate::Scenario;
use crate::format::fields::shown;
use crate::format::units;
use forebay_base::Time;

impl Scenario {
    /// Notes for readers of its results: settings that are allowed and seldom meant.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.unused.clone();
        notes.extend(self.inrpp_notes());
        notes.extend(self.late_notes());
        notes.extend(queues::notes(self));
        notes.extend(self.short_packet_notes());
        notes.extend(self.beside_notes());
        notes
    }

    /// Flows and events that no run reaches, because they begin when it has ended.
    fn late_notes(&self) -> Vec<String> {
        let Some(until) = self.until else { return Vec::new() };
        let end = shown(&units::Seconds(until.since(Time::ZERO)));
        let late = self.flows.iter().filter(|flow| flow.start >= until).count();
        let all = self.flows.len();
        let mut notes = Vec::new();
        // If no flow starts, every run has a note that says so.
        if (1..all).contains(&late) {
            notes.push(format!(
                "{late} of {all} flows never start: they are due at until_s ({end} s) or later"
            ));
        }
        if self.attacks.iter().any(|attack| attack.start >= until) {
            notes.push(format!("attacks at until_s ({end} s) or later never happen"));
        }
        if self.events.iter().any(|event| event.at >= until) {
            notes.push(format!("events at until_s ({end} s) or later never happen"));
        }
        notes
    }
}

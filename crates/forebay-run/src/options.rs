//! How to run, as opposed to what.

use crate::cost::Clocks;
use crate::error::RunError;
use crate::record::Record;
use forebay_base::{Span, Time};
use forebay_net::NetSpec;
use forebay_reference::ReferenceCache;
use forebay_sim::{ConservationError, Recording, Simulation};
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};

/// Looks at a network before it runs; an error ends the run.
pub type Inspect<'a> = dyn Fn(&NetSpec) -> Result<(), RunError> + Sync + 'a;

/// How to run, as opposed to what. The default runs quietly and keeps nothing but the result.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// Scenario as the user gave it, `--set` arguments included, for messages that say how to run
    /// it again.
    pub name: &'a str,
    /// Emit every packet to bytes and parse it back on every link.
    pub bytes: bool,
    /// Use the simple event heap.
    pub binary_heap: bool,
    /// Disable all fast paths, to check them: see [`Options::general`]. Results do not
    /// depend on it.
    ///
    /// [`Options::general`]: forebay_sim::Options::general
    pub general: bool,
    /// Make no trace hash: that of the result is that of a run in which nothing arrives. For
    /// measurements of what it costs.
    pub without_hash: bool,
    /// Set by a caller to stop the run; looked at several times a second.
    pub cancel: Option<&'a AtomicBool>,
    /// Receives progress several times a second.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
    /// Keeps more of the run than its result.
    pub record: Option<&'a dyn Record>,
    /// Do not work out the reference.
    pub without_reference: bool,
    /// Work it out also where it takes long beside the run.
    pub whole_reference: bool,
    /// References computed by other runs of the scenario; None: this run shares none.
    pub known: Option<&'a ReferenceCache>,
    /// Threads to use in the run, if its network can be divided among that many, and a trial by
    /// `clocks` does not show that they are not faster; 0 and 1: one. A run that is observed uses
    /// one. Results do not depend on it.
    pub threads: usize,
    /// Use that many threads whatever they cost, to check them.
    pub without_trial: bool,
    /// Who looks at the simulation from time to time.
    pub looks: Option<Looks<'a>>,
    /// Receives the network before it runs; with an error there is no run.
    pub network: Option<&'a Inspect<'a>>,
    /// Do again what a run over real wires did. Threads, engines and fast paths are then not
    /// chosen.
    pub recording: Option<&'a (dyn Fn() -> Recording + Sync)>,
    /// Clocks to measure costs with. Results do not depend on it; without clocks the costs of the
    /// result are zero, and progress is reported more often.
    pub clocks: Option<Clocks>,
    /// Measure each sync window of a run in several threads, too, which slows it down.
    pub clocks_windows: bool,
}

impl RunOptions<'_> {
    /// True once the run is to stop.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The error for packets that are missing.
    pub(crate) fn unbalanced(
        &self,
        error: ConservationError,
        protocol: &str,
        seed: u64,
    ) -> RunError {
        RunError::ConservationError(error, self.again(protocol, seed))
    }

    /// The error for a panic, given what it was called with.
    pub(crate) fn panicked(&self, panic: &dyn Any, protocol: &str, seed: u64) -> RunError {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        RunError::Panicked {
            protocol: protocol.to_string(),
            seed,
            message: text.unwrap_or("without a message").to_string(),
            again: self.again(protocol, seed),
        }
    }

    /// The command that runs it again.
    fn again(&self, protocol: &str, seed: u64) -> String {
        let name = self.name;
        let bytes = if self.bytes { " --bytes" } else { "" };
        let general = if self.general { " --general" } else { "" };
        format!("forebay run {name} --protocol {protocol} --seeds {seed}..{seed}{bytes}{general}")
    }
}

/// Looks at a simulation while it runs. They change nothing: the trace is the same with and
/// without.
#[derive(Clone, Copy)]
pub struct Looks<'a> {
    /// Simulated time between two of them; the first is that long after time 0, the last at the end
    /// of the run.
    pub every: Span,
    /// Who looks.
    pub who: &'a (dyn Fn(&Simulation) + Sync),
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// When it ends at the latest, if the scenario says so.
    pub until: Option<Time>,
    /// Flows that have completed.
    pub completed: usize,
    /// Flows with an end.
    pub flows: usize,
    /// The share of the reference that is worked out, which comes before the run; None: there is
    /// none.
    pub reference: Option<f64>,
}

impl Progress {
    /// The share that is done, 0.0 to 1.0: of the time, or of the flows if that is more. The
    /// reference counts as half of all.
    pub fn fraction(&self) -> f64 {
        let time = self.until.map_or(0.0, |until| {
            self.now.as_secs_f64() / until.as_secs_f64().max(f64::MIN_POSITIVE)
        });
        let flows = self.completed as f64 / self.flows.max(1) as f64;
        let run = time.max(flows).clamp(0.0, 1.0);
        self.reference.map_or(run, |reference| (reference + run) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_is_missing_is_a_bug_that_can_be_seen_again() {
        let [sent, held] = [2, 1];
        let conservation = forebay_sim::Conservation {
            sent,
            entered: 0,
            split: 0,
            delivered: 0,
            left: 0,
            dropped: 0,
            held,
            cold_parts: 0,
        };
        let options = RunOptions { name: "s1 --set fct=syn", bytes: true, ..RunOptions::default() };
        let lost = ConservationError { at: Time::from_secs(1), conservation };
        let text = options.unbalanced(lost, "cubic", 7).to_string();
        let again = "forebay run s1 --set fct=syn --protocol cubic --seeds 7..7 --bytes";
        assert!(text.starts_with("packets are not conserved at 1"), "{text}");
        assert!(text.contains("sent: 2") && text.ends_with(again), "{text}");
    }

    #[test]
    fn progress_is_the_share_of_time_or_of_flows() {
        let until = Some(Time::from_secs(10));
        let at = |s, until, completed| {
            let now = Time::from_secs(s);
            Progress { now, until, completed, flows: 4, reference: None }.fraction()
        };
        assert_eq!((at(5, until, 1), at(1, until, 3), at(99, None, 1)), (0.5, 0.75, 0.25));
        let nothing =
            Progress { now: Time::ZERO, until: None, completed: 0, flows: 0, reference: None };
        assert_eq!(nothing.fraction(), 0.0);
        // The reference comes first, and is half of all.
        let half = Progress { reference: Some(0.5), ..nothing };
        assert_eq!(half.fraction(), 0.25);
    }
}

//! An episode of recovery, and the rule that limits what is sent in it: one file per rule.

use super::{NewReno, Pipe, Prr};

/// The rule in force.
#[derive(Debug)]
pub(crate) enum Rule {
    Prr(Prr),
    Pipe(Pipe),
    NewReno(NewReno),
    /// The controller's own limits.
    Controller,
}

/// From the detection of a loss until everything that had been sent by then is acknowledged.
#[derive(Debug)]
pub(crate) struct Episode {
    /// SND.NXT at entry: RecoveryPoint, `recover`.
    pub point: u64,
    pub rule: Rule,
    /// A partial ACK came (RFC 6582: only the first one restarts the timer).
    pub partial_seen: bool,
    /// The ACK that began it has been counted.
    pub entered: bool,
}

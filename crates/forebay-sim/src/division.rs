//! A network divided into partitions that run it together, in one thread or several.

use crate::pace::Pace;
use crate::partition::Partition;
use crate::partitioning::Partitioning;
use crate::serial_fallback::SerialFallback;
use crate::windows::{Effort, Race, Rules, WindowSync};
use forebay_base::Time;
use forebay_net::NetSpec;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// See the module.
pub(crate) struct Division {
    pub parts: Vec<Partition>,
    /// The part of each node.
    pub owner: Vec<u16>,
    pub rules: Rules,
    /// When the run ends, once that is known.
    pub end: Option<Time>,
    meeting: WindowSync,
    /// The same of one thread, for windows that hold little.
    alone: WindowSync,
    pub fallback: SerialFallback,
}

impl Division {
    /// At the start of a run: `parts` of a network that was divided like this.
    pub fn new(
        spec: &NetSpec,
        parts: Vec<Partition>,
        division: Partitioning,
        rules: Rules,
    ) -> Division {
        let Partitioning { owner, parts: count, threads, lookahead, .. } = division;
        let senders = senders(spec, &owner, count);
        Division {
            parts,
            owner,
            rules: Rules { lookahead, ..rules },
            end: None,
            alone: WindowSync::new(1, senders.clone()),
            meeting: WindowSync::new(threads, senders),
            fallback: SerialFallback::default(),
        }
    }
    /// Parts of a run that have nothing to exchange in windows, in one thread.
    pub fn of_places(parts: Vec<Partition>, owner: Vec<u16>, rules: Rules) -> Division {
        let (meeting, alone) = (WindowSync::new(1, Vec::new()), WindowSync::new(1, Vec::new()));
        let fallback = SerialFallback::default();
        Division { parts, owner, rules, end: None, meeting, alone, fallback }
    }

    /// Threads that it is divided for.
    pub fn threads(&self) -> usize {
        self.meeting.threads()
    }
    /// Events handled.
    pub fn events(&self) -> u64 {
        self.parts.iter().map(|part| part.site.events()).sum()
    }
    /// Nothing is sampled before `look`.
    pub fn sample_not_before(&mut self, look: Time) {
        self.parts.iter_mut().for_each(|part| part.site.sample_not_before(look));
    }

    /// Run all events up to and including `limit`, or to the end of the run, and count what it
    /// costs. Gives how many they were, and how long it took: no time without a clock.
    pub fn run(&mut self, limit: Time, effort: &mut Effort) -> Pace {
        let (wall, events, windows) = (self.rules.wall(), self.events(), effort.windows);
        let is_whole = self.parts.len() == 1;
        self.end = match self.parts.as_mut_slice() {
            [part] => run_alone(part, &self.rules, self.end, limit),
            parts => {
                let meeting = if self.fallback.is_alone() { &self.alone } else { &self.meeting };
                meeting.run(parts, &self.rules, limit, effort)
            }
        };
        let pace = self.pace_since(wall, events);
        if !is_whole {
            self.fallback.learn(effort.windows - windows, pace, self.threads());
        }
        pace
    }
    /// The pace since that time on the clock, and so many events.
    fn pace_since(&self, wall: Duration, events: u64) -> Pace {
        let time = self.rules.wall().saturating_sub(wall);
        Pace { time, events: self.events() - events }
    }

    /// Run in this thread alone, up to and including `limit`, or until someone sets `stop`.
    pub fn race(&mut self, limit: Time, stop: &AtomicBool) -> Race {
        let (wall, cpu, events) = (self.rules.wall(), self.rules.cpu(), self.events());
        let threads = self.threads();
        let mut race = self.alone.race(&mut self.parts, &self.rules, limit, stop, threads);
        race.pace = self.pace_since(wall, events);
        race.cpu = self.rules.cpu().saturating_sub(cpu);
        race
    }
}

/// Run all events up to and including `limit`, or to the end of the run. Gives that end if it is
/// known.
fn run_alone(part: &mut Partition, rules: &Rules, end: Option<Time>, limit: Time) -> Option<Time> {
    let (all, open) = part.site.fabric.ends();
    if all > 0 && open > 0 {
        part.site.run(limit, true);
    }
    // There may be more events at the instant at which the last flow ended.
    let ended = all > 0 && part.site.fabric.ends().1 == 0;
    let end = end.or_else(|| ended.then(|| rules.round_up(part.site.fabric.last_ended())));
    if end.is_some() || all == 0 {
        part.site.run(end.map_or(limit, |end| end.min(limit)), false);
    }
    end
}

/// By part: the others that have links to it.
fn senders(spec: &NetSpec, owner: &[u16], parts: u16) -> Vec<Vec<usize>> {
    let mut senders = vec![BTreeSet::new(); parts as usize];
    for link in &spec.links {
        let [from, to] = [link.from, link.to].map(|node| owner[node.index()] as usize);
        if from != to {
            senders[to].insert(from);
        }
    }
    senders.into_iter().map(|from| from.into_iter().collect()).collect()
}

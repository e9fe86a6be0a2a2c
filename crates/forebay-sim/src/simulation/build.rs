//! How the partitions of a run are built, or its one part.

use super::{Options, rules_of};
use crate::division::Division;
use crate::driver::SimDriver;
use crate::event_queue::EventQueue;
use crate::injection::{Entrant, Injection};
use crate::observe::Observer;
use crate::partition::Partition;
use crate::partitioning::{FewerThreads, Partitioning, divide};
use crate::spec_parts::events_of_parts;
use crate::windows::Rules;
use forebay_net::{Fabric, Horizon, Knowledge, NetSpec, Network, SpecError};
use std::collections::VecDeque;

/// A run that is to be built, perhaps more than once.
#[derive(Clone, Copy)]
pub(super) struct Build<'a> {
    spec: &'a NetSpec,
    seed: u64,
    bytes: bool,
    binary_heap: bool,
    without_hash: bool,
    all_queued: bool,
    injections: &'a [Injection],
    rules: Rules,
}

impl<'a> Build<'a> {
    pub fn new(spec: &'a NetSpec, seed: u64, options: &'a Options) -> Build<'a> {
        let &Options { cpu_clock, wall_clock, clocks_windows, .. } = options;
        Build {
            spec,
            seed,
            bytes: options.bytes,
            binary_heap: options.binary_heap || options.general,
            without_hash: options.without_hash,
            all_queued: options.all_queued || options.general,
            injections: &options.injections,
            rules: Rules { wall_clock, clocks_windows, ..rules_of(spec, cpu_clock) },
        }
    }

    /// For `threads` threads at most, and why there are fewer.
    pub fn divided(
        self,
        threads: usize,
        mut observer: Option<Box<dyn Observer>>,
    ) -> Result<(Division, Option<FewerThreads>), SpecError> {
        let Build { spec, rules, .. } = self;
        let network = Network::build(spec, self.seed, self.all_queued)?;
        check_injections(self.injections, &network)?;
        let division = match &observer {
            None if threads > 1 && spec.forgeries().any(|f| f.knows == Knowledge::Sequence) => {
                Partitioning::whole(spec, Some(FewerThreads::Forged))
            }
            Some(_) if threads > 1 => Partitioning::whole(spec, Some(FewerThreads::Observed)),
            _ => divide(spec, &network, threads),
        };
        let (owner, parts, fewer) = (&division.owner, division.parts, division.fewer);
        // The simple engine is the reference for early transit. Packets from outside and forged
        // ones may come from anywhere.
        let only_own = self.injections.is_empty() && spec.forgeries().next().is_none();
        let looks_ahead = !self.binary_heap && !self.bytes && only_own;
        let mut driver = || {
            let agenda =
                if self.binary_heap { EventQueue::binary() } else { EventQueue::calendar() };
            SimDriver::new(agenda, !self.without_hash, observer.take(), looks_ahead)
        };
        let fabrics = if parts == 1 {
            vec![Fabric::whole(network, spec, driver())]
        } else {
            let networks = network.split(spec, owner, parts);
            Fabric::of_partitions(networks, spec, owner, driver)
        };
        let mut events = events_of_parts(spec, owner, parts);
        let mut injections = injections_of_parts(self.injections, owner, parts);
        let start = |(here, mut fabric): (usize, Fabric<SimDriver>)| {
            fabric.start();
            let (events, injections) =
                (std::mem::take(&mut events[here]), std::mem::take(&mut injections[here]));
            let horizon = Horizon::new(&fabric, rules.last_start);
            Partition::new(fabric, events, injections, self.bytes, horizon)
        };
        let parts = fabrics.into_iter().enumerate().map(start).collect();
        Ok((Division::new(spec, parts, division, rules), fewer))
    }
}

/// Packets from outside come to ports that are there.
fn check_injections(all: &[Injection], network: &Network) -> Result<(), SpecError> {
    let is_there = |injection: &Injection| {
        injection.node.index() < network.nodes.len()
            && injection.port.index() < network.ports.links_of(injection.node).len()
    };
    match all.iter().position(|injection| !is_there(injection)) {
        Some(index) => {
            let why = "it comes to a port that is not there";
            Err(SpecError::Unsound { part: "injection", index, why })
        }
        None => Ok(()),
    }
}

/// The packets from outside that each partition gets.
fn injections_of_parts(all: &[Injection], owner: &[u16], parts: u16) -> Vec<VecDeque<Entrant>> {
    let mut of_parts: Vec<VecDeque<Entrant>> = (0..parts).map(|_| VecDeque::new()).collect();
    for injection in all {
        of_parts[owner[injection.node.index()] as usize].push_back(injection.into());
    }
    of_parts
}

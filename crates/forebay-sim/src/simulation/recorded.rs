//! A run in which wires carried the packets between the places of a network: what came out of the
//! wires is known, and the same machines do again what they did.

use super::{Rules, Simulation, rules_of};
use crate::division::Division;
use crate::foreign::ForeignEnd;
use crate::input::{Input, InputEvent};
use crate::observe::Observer;
use crate::partition::Partition;
use crate::site::{RealWires, Site, SiteOptions};
use forebay_base::{Arena, Packet, Signature, Time};
use forebay_net::{NetSpec, PacketEvent, Place, SpecError};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::iter::Peekable;
use std::sync::{Arc, Mutex};

/// Packets of one link whose way over the wire is followed at a time.
const MOST_ON_WIRE: usize = 1 << 16;

/// One place of a recorded run.
pub struct RecordedSite {
    /// What was there.
    pub place: Place,
    /// What came, in order of time. An input for another place, or one that is earlier than the one
    /// before, ends the run with a panic: whoever reads a record checks it.
    pub inputs: Box<dyn Iterator<Item = Input> + Send>,
}

/// A recorded run.
pub struct Recording {
    /// Its places. Each node is in one at most; hosts of others are in none.
    pub sites: Vec<RecordedSite>,
    /// Ends of flows at hosts of others, each at most once. With some, the run ends at `until`.
    pub foreign: Vec<ForeignEnd>,
    /// Until when all of them ran.
    pub until: Time,
    /// What its sites had of [`SiteOptions::real`].
    pub real: Option<RealWires>,
}

/// What a recorded [`Simulation`] knows besides its parts.
pub(super) struct Recorded {
    /// By part.
    inputs: Vec<Peekable<Box<dyn Iterator<Item = Input> + Send>>>,
    /// By link: packets that have left and have not come, as far as it is known, and when they left
    /// the host that made them.
    wires: Vec<VecDeque<(Signature, Time)>>,
    /// Not all ends of flows are in the parts.
    has_foreign: bool,
    until: Time,
}

impl Simulation {
    pub(super) fn of_recording(
        spec: &NetSpec,
        seed: u64,
        recording: Recording,
        observer: Option<Box<dyn Observer>>,
    ) -> Result<Simulation, SpecError> {
        let Recording { sites, foreign, until, real } = recording;
        assert!(!sites.is_empty(), "a recorded run has a place");
        let observer = observer.map(|observer| Shared(Arc::new(Mutex::new(observer))));
        let (mut owner, mut parts, mut inputs) = (vec![0; spec.nodes.len()], vec![], vec![]);
        for (number, site) in sites.into_iter().enumerate() {
            let Place { nodes, offered } = &site.place;
            nodes.iter().for_each(|node| owner[node.index()] = number as u16);
            // The link of a host elsewhere is read off where it is.
            for link in offered {
                owner[spec.links[link.index()].from.index()] = number as u16;
            }
            let observer = observer.clone().map(|observer| Box::new(observer) as _);
            let options = SiteOptions { observer, real, ..SiteOptions::default() };
            parts.push(Partition::of(Site::new(spec, seed, &site.place, options)?));
            inputs.push(site.inputs.peekable());
        }
        let wires = spec.links.iter().map(|_| VecDeque::new()).collect();
        let has_foreign = !foreign.is_empty();
        let recorded = Some(Box::new(Recorded { inputs, wires, has_foreign, until }));
        let active = Division::of_places(parts, owner, rules_of(spec, None));
        Ok(Simulation { recorded, foreign, ..Simulation::of_division(spec, active) })
    }
}

impl Recorded {
    /// Run all events and inputs of all places in order of time, up to and including `limit`, or to
    /// the end of the run. Gives that end if it is known.
    pub fn run(
        &mut self,
        parts: &mut [Partition],
        rules: &Rules,
        mut end: Option<Time>,
        limit: Time,
    ) -> Option<Time> {
        // Places act on one another through what is recorded alone: when a place acts next is known
        // until it acts.
        let mut due: BinaryHeap<_> =
            (0..parts.len()).map(|part| Reverse((self.next_of(parts, part), part))).collect();
        let ends_with_flows = !self.has_foreign && parts.iter().any(|part| part.site.ends().0 > 0);
        let mut open: isize = parts.iter().map(|part| part.site.ends().1).sum();
        loop {
            if end.is_none() && ends_with_flows && open <= 0 {
                let last = parts.iter().map(|part| part.site.last_ended()).max();
                end = last.map(|last| rules.round_up(last).min(self.until));
            }
            let stop = end.unwrap_or(self.until).min(limit);
            let Some(now) = due.peek().map(|next| next.0.0).filter(|&now| now <= stop) else {
                return end.or((limit >= self.until).then_some(self.until));
            };
            // In the order of the places.
            while let Some(mut next) = due.peek_mut().filter(|next| next.0.0 == now) {
                let part = next.0.1;
                let open_before = parts[part].site.ends().1;
                self.run_instant(&mut parts[part], part, now);
                open += parts[part].site.ends().1 - open_before;
                *next = Reverse((self.next_of(parts, part), part));
            }
        }
    }
    fn next_of(&mut self, parts: &[Partition], part: usize) -> Time {
        let input = self.inputs[part].peek().map_or(Time::MAX, |input| input.at);
        parts[part].site.next_time().min(input)
    }
    /// All that happens in a part at `now`.
    fn run_instant(&mut self, part: &mut Partition, number: usize, now: Time) {
        let (site, inputs) = (&mut part.site, &mut self.inputs[number]);
        while let Some(Input { at, link, event }) = inputs.next_if(|input| input.at <= now) {
            let wire = &mut self.wires[link.index()];
            let pushed = match event {
                InputEvent::Packet(bytes) => {
                    site.push_stamped(at, link, &bytes, |signature| came(wire, signature))
                }
                InputEvent::Carrier(up) => site.push_carrier(at, link, up),
            };
            assert_eq!(pushed, Ok(at), "a record is in order, and of its place");
        }
        site.run(now, false);
        site.exits(|exit| {
            let wire = &mut self.wires[exit.link.index()];
            if wire.len() == MOST_ON_WIRE {
                wire.pop_front();
            }
            wire.push_back(exit.stamp);
        });
    }
}

/// A packet has come over a wire: when it left the host that made it, zero if that is not known.
/// Wires keep packets in order: those that left before it were lost.
fn came(wire: &mut VecDeque<(Signature, Time)>, signature: Signature) -> Time {
    let Some(place) = wire.iter().position(|(other, _)| *other == signature) else {
        return Time::ZERO;
    };
    wire.drain(..=place).next_back().map_or(Time::ZERO, |(_, left_host_at)| left_host_at)
}

/// One observer for all places.
#[derive(Clone)]
struct Shared(Arc<Mutex<Box<dyn Observer>>>);

impl Observer for Shared {
    fn on_packet(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena) {
        let mut observer = self.0.lock().expect("an observer panicked");
        observer.on_packet(now, event, packet, arena);
    }
}

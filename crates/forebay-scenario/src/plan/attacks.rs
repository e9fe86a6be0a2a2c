//! Forged packets as events of a run.

use crate::Scenario;
use crate::model::attacks::Attack;
use forebay_base::{Rng, Stream};
use forebay_net::{EventSpec, NetEvent, SpoofedFragment};

impl Scenario {
    /// The events of a run, forged packets among them, in order of time.
    pub(crate) fn all_events(&self, seed: u64) -> Vec<EventSpec> {
        let mut events = self.events.clone();
        for (number, attack) in (0..).zip(&self.attacks) {
            let mut rng = Rng::new(seed, Stream::SpoofedFragment, number);
            let &Attack { from: node, flow, lead_bytes, knows, .. } = attack;
            events.extend((0..u64::from(attack.count)).map(|i| {
                let draw = rng.next_u64();
                let forgery = SpoofedFragment { node, flow, lead_bytes, knows, draw };
                let at = attack.start + attack.every * i;
                EventSpec { at, event: NetEvent::Forge(forgery) }
            }));
        }
        events.sort_by_key(|event| event.at);
        events
    }
}

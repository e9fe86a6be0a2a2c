//! Attacks in a run: forged and replayed packets as events, links that record, and ends of flows
//! that break the rules.

use crate::model::attacks::{Attack, AttackKind};
use crate::{AlgorithmSpec, Scenario};
use forebay_base::{Rng, Stream};
use forebay_cc::inrpp::Misbehaviour;
use forebay_net::{EventSpec, NetEvent, NetSpec, Replay, SpoofedPacket, TransportSpec};
use std::sync::Arc;

impl Scenario {
    /// The events of a run, forged and replayed packets among them, in order of time.
    pub(crate) fn all_events(&self, seed: u64) -> Vec<EventSpec> {
        let mut events = self.events.clone();
        for (number, attack) in (0..).zip(&self.attacks) {
            let mut rng = Rng::new(seed, Stream::SpoofedFragment, number);
            let Attack { from: node, flow, what } = *attack;
            match what {
                AttackKind::Forge { start, every, count, look, knows } => {
                    events.extend((0..u64::from(count)).map(|i| {
                        let draw = rng.next_u64();
                        let forgery = SpoofedPacket { node, flow, look, knows, draw };
                        EventSpec { at: start + every * i, event: NetEvent::Forge(forgery) }
                    }));
                }
                AttackKind::Replay { start, every, count, link, ask, age } => {
                    events.extend((0..u64::from(count)).map(|i| {
                        let event = NetEvent::Replay(Replay { link, flow, ask, age });
                        EventSpec { at: start + every * i, event }
                    }));
                }
                AttackKind::Misbehave(_) => {}
            }
        }
        events.sort_by_key(|event| event.at);
        events
    }

    /// The links on which somebody records.
    pub(crate) fn record(&self, spec: &mut NetSpec) {
        for attack in &self.attacks {
            if let AttackKind::Replay { link, .. } = attack.what {
                let wire = &mut spec.links[link.index()].wire;
                wire.middlebox.get_or_insert_default().records = true;
            }
        }
    }

    /// The flows with an end that breaks the rules get a transport of their own. Those of other
    /// protocols than INRPP have no rules of it.
    pub(crate) fn misbehave(&self, protocol: &str, spec: &mut NetSpec) {
        for attack in &self.attacks {
            let AttackKind::Misbehave(misbehaviour) = attack.what else { continue };
            let name = self.flows[attack.flow.index()].protocol_under(protocol);
            let Some(algorithm) = self.spec(name).and_then(|of| misbehaving(of, misbehaviour))
            else {
                continue;
            };
            let flow = &mut spec.flows[attack.flow.index()];
            let usual = spec.transports[flow.transport].clone();
            flow.transport = spec.transports.len();
            spec.transports.push(TransportSpec {
                feedback: algorithm.feedback_maker(),
                controller: Arc::new(move |init| algorithm.build(init)),
                ..usual
            });
        }
    }
}

fn misbehaving(mut spec: AlgorithmSpec, misbehaves: Misbehaviour) -> Option<AlgorithmSpec> {
    spec.inrpp_mut()?.misbehaves = misbehaves;
    Some(spec)
}

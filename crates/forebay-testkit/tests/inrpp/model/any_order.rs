//! Any order of events: what is held leaves, what is asked ends.

use super::net::{Net, Shape};
use super::port::Mutant;
use super::rules::{self, Faults};
use stateright::{Model, Property};

/// A network, and what may go wrong in it.
#[derive(Clone, Debug)]
pub struct AnyOrder {
    pub shape: Shape,
    pub mutant: Option<Mutant>,
    pub faults: Faults,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    Send(usize),
    Deliver(usize),
    Ack(usize),
    Wait,
    LoseAck(usize),
    SwapAcks(usize),
    Restart(usize),
}

type World = (Net, Faults);

impl Model for AnyOrder {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![(Net::new(&self.shape, self.mutant), self.faults)]
    }
    fn actions(&self, (net, left): &World, steps: &mut Vec<Step>) {
        for flow in (0..net.senders.len()).filter(|&f| net.senders[f].may_send()) {
            steps.push(Step::Send(flow));
        }
        for port in 0..net.ports.len() {
            if !net.data[port].is_empty() {
                steps.push(Step::Deliver(port));
            }
            let acks = net.acks[port].len();
            if acks > 0 {
                steps.push(Step::Ack(port));
                if left.lost_acks > 0 {
                    steps.push(Step::LoseAck(port));
                }
            }
            if acks > 1 && left.swapped_acks > 0 {
                steps.push(Step::SwapAcks(port));
            }
            if left.restarts > 0 && (net.ports[port].cached() > 0 || net.ports[port].nonces() > 0) {
                steps.push(Step::Restart(port));
            }
        }
        if net.due().is_some() && (net.stands_still() || left.delays > 0) {
            steps.push(Step::Wait);
        }
    }
    fn next_state(&self, (net, left): &World, step: Step) -> Option<World> {
        let (mut net, mut left) = (net.clone(), *left);
        match step {
            Step::Send(flow) => net.send(&self.shape, flow),
            Step::Deliver(port) => net.deliver(&self.shape, port),
            Step::Ack(port) => net.ack(&self.shape, port),
            Step::Wait => {
                left.delays -= !net.stands_still() as u8;
                net.wait(&self.shape);
            }
            Step::LoseAck(port) => {
                left.lost_acks -= 1;
                net.acks[port].pop_front();
            }
            Step::SwapAcks(port) => {
                left.swapped_acks -= 1;
                net.acks[port].swap(0, 1);
            }
            Step::Restart(port) => {
                left.restarts -= 1;
                net.restart(port);
            }
        }
        Some((net, left))
    }
    fn properties(&self) -> Vec<Property<AnyOrder>> {
        vec![
            Property::always(rules::WAY, |model: &AnyOrder, (net, left): &World| {
                *left != model.faults || rules::has_a_way(net)
            }),
            Property::always(rules::REST, |_, (net, _): &World| {
                !net.stands_still() || net.due().is_some() || rules::nothing_is_left(net)
            }),
            Property::always(rules::ENDS, |_, (net, _): &World| rules::ends(net)),
            Property::always(rules::SOON, |_, (net, _): &World| rules::soon(net)),
            Property::always(rules::STEP, |_, (net, _): &World| net.broken.is_none()),
        ]
    }
}

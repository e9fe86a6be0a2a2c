//! Any order of events: what is held leaves, what is asked ends.

use super::net::{Net, Shape, limits};
use super::port::{MUTANTS, Mutant};
use super::rules::{self, Faults, check};
use super::slots::Slots;
use stateright::{Model, Property};

/// A network, and what may go wrong in it.
#[derive(Clone, Debug)]
struct AnyOrder {
    shape: Shape,
    mutant: Option<Mutant>,
    faults: Faults,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
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

fn line(packets: [u8; 2]) -> Shape {
    Shape {
        paths: vec![vec![0, 1, 2], vec![0, 1, 2]],
        packets: packets.map(|k| (k < 200).then_some(k)).to_vec(),
        limits: vec![limits(1, 1, 20); 3],
        room: 1,
    }
}
/// Flow 0 over all three, flow 1 over the last two.
fn joined(packets: [u8; 2]) -> Shape {
    Shape { paths: vec![vec![0, 1, 2], vec![1, 2]], ..line(packets) }
}
/// A long flow over two links, and one over each of them.
fn parking(packets: [u8; 3]) -> Shape {
    Shape {
        paths: vec![vec![0, 1], vec![0], vec![1]],
        packets: packets.map(|k| (k < 200).then_some(k)).to_vec(),
        ..line([0, 0])
    }
}
fn ring(packets: [u8; 3]) -> Shape {
    Shape {
        paths: vec![vec![0, 1], vec![1, 2], vec![2, 0]],
        packets: packets.map(|k| (k < 200).then_some(k)).to_vec(),
        ..line([0, 0])
    }
}

#[test]
fn try_one() {
    let arg = |name: &str| std::env::var(name).unwrap_or_default();
    let packets: Vec<u8> = arg("K").split(',').map(|k| k.parse().unwrap()).collect();
    let shape = match arg("SHAPE").as_str() {
        "line" => line([packets[0], packets[1]]),
        "joined" => joined([packets[0], packets[1]]),
        "parking" => parking([packets[0], packets[1], packets[2]]),
        _ => ring([packets[0], packets[1], packets[2]]),
    };
    let l: Vec<u64> = std::env::var("L").unwrap_or("1,1,20".into()).split(',').map(|k| k.parse().unwrap()).collect();
    let shape = Shape { limits: vec![limits(l[0], l[1], l[2]); 3], ..shape };
    let f: Vec<u8> = arg("F").split(',').map(|k| k.parse().unwrap()).collect();
    let faults = Faults { lost_acks: f[0], swapped_acks: f[1], restarts: f[2], delays: f[3] };
    let mutant = MUTANTS.into_iter().find(|m| format!("{m:?}") == arg("M"));
    let most = arg("MOST").parse().unwrap_or(4_000_000);
    if let Ok(slots) = std::env::var("SLOTS") {
        let s: Vec<u8> = slots.split(',').map(|k| k.parse().unwrap()).collect();
        let (periods, access, pauses, deadline) = (s[..3].to_vec(), s[3], s[4], s[5]);
        let model = Slots { shape, mutant, faults, periods, access, pauses, deadline };
        check(&format!("{mutant:?}"), model, most);
        return;
    }
    check(&format!("{mutant:?}"), AnyOrder { shape, mutant, faults }, most);
}

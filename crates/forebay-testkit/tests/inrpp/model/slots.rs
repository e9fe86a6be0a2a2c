//! Slots of time: links send one packet per fixed number of slots, and whatever is on its way moves
//! on. A run differs from this in when flows start, and in a bounded number of pauses and faults.
//!
//! Longer runs than in any order can be seen whole this way: what goes wrong goes wrong after few
//! surprises.

use super::net::{Net, Shape};
use super::port::Mutant;
use super::rules::{self, Faults};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};
use stateright::{Model, Property};

#[derive(Clone, Debug)]
pub struct Slots {
    pub shape: Shape,
    pub mutant: Option<Mutant>,
    pub faults: Faults,
    /// Routers authenticate what comes over links.
    pub keys: bool,
    /// Slots that each link takes for a packet.
    pub periods: Vec<u8>,
    /// Packets that a sender may send in a slot.
    pub access: u8,
    /// Times that a link, a row of ACKs or a sender misses a slot.
    pub pauses: u8,
    /// Slots after the last start in which all is done where nothing fails.
    pub deadline: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Everything moves.
    Slot,
    Start(usize),
    PauseData(usize),
    PauseAcks(usize),
    PauseSender(usize),
    LoseAck(usize),
    SwapAcks(usize),
    Restart(usize),
    Replay(usize),
    Change(usize, BackPressureSignal),
    Inject(usize, u8, BackPressureSignal),
    /// The next timer runs out.
    Wait,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct World {
    pub net: Net,
    pub faults: Faults,
    pauses: u8,
    /// Slots so far, modulo all periods.
    slot: u8,
    /// Slots since a flow started last.
    elapsed: u8,
}

impl Slots {
    fn attacked(&self) -> bool {
        self.faults.replays + self.faults.forgeries > 0
    }
    fn cycle(&self) -> u8 {
        self.periods.iter().product()
    }
    /// What the next router finds of a signal that no router has made.
    fn forged(&self, ask: BackPressureSignal) -> Option<BackPressure> {
        let forged = BackPressure { ask, nonce: Nonce::new(7), ..BackPressure::default() };
        (!self.keys).then_some(forged)
    }
    fn is_over(&self, world: &World) -> bool {
        let all = world.net.senders.iter().all(|sender| sender.started);
        all && world.net.stands_still() && world.net.due().is_none()
    }
    fn slot(&self, world: &mut World, step: Step) {
        let World { net, slot, .. } = world;
        let acks: Vec<usize> = net.acks.iter().map(|row| row.len()).collect();
        for port in (0..net.ports.len()).rev() {
            let due = slot.is_multiple_of(self.periods[port]) && step != Step::PauseData(port);
            if due && !net.data[port].is_empty() {
                net.deliver(&self.shape, port);
            }
        }
        for (port, &waiting) in acks.iter().enumerate() {
            let waiting = if step == Step::PauseAcks(port) { 0 } else { waiting };
            (0..waiting).for_each(|_| net.ack(&self.shape, port));
        }
        for flow in 0..net.senders.len() {
            let may = if step == Step::PauseSender(flow) { 0 } else { self.access };
            for _ in 0..may {
                if net.senders[flow].may_send() {
                    net.send(&self.shape, flow);
                }
            }
        }
        *slot = (*slot + 1) % self.cycle();
        world.elapsed = world.elapsed.saturating_add(1);
    }
}

impl Model for Slots {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let mut net = Net::new(&self.shape, self.mutant);
        net.senders.iter_mut().for_each(|sender| sender.started = false);
        net.tapped = self.faults.replays > 0;
        vec![World { net, faults: self.faults, pauses: self.pauses, slot: 0, elapsed: 0 }]
    }
    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        let World { net, faults, .. } = world;
        let flows = || 0..net.senders.len();
        steps.extend(flows().filter(|&f| !net.senders[f].started).map(Step::Start));
        // Who starts is what comes first.
        if self.is_over(world) || !net.senders.iter().any(|sender| sender.started) {
            return;
        }
        let quiet = net.stands_still();
        if quiet {
            steps.extend(net.due().map(|_| Step::Wait));
            return;
        }
        steps.push(Step::Slot);
        if faults.delays > 0 && net.due().is_some() {
            steps.push(Step::Wait);
        }
        if world.pauses > 0 {
            let rows = 0..net.ports.len();
            steps.extend(rows.clone().filter(|&p| !net.data[p].is_empty()).map(Step::PauseData));
            steps.extend(rows.filter(|&p| !net.acks[p].is_empty()).map(Step::PauseAcks));
            let able = flows().filter(|&f| net.senders[f].may_send());
            steps.extend(able.map(Step::PauseSender));
        }
        for port in 0..net.ports.len() {
            let acks = net.acks[port].len();
            if acks > 0 && faults.lost_acks > 0 {
                steps.push(Step::LoseAck(port));
            }
            if acks > 1 && faults.swapped_acks > 0 {
                steps.push(Step::SwapAcks(port));
            }
            if faults.replays > 0 && net.clone().replay(port) {
                steps.push(Step::Replay(port));
            }
            if faults.forgeries > 0 {
                let asks = [BackPressureSignal::Pause, BackPressureSignal::Cancel];
                if acks > 0 {
                    steps.extend(asks.map(|ask| Step::Change(port, ask)));
                }
                let paths = self.shape.paths.iter().zip(0..);
                let over = paths.filter(|(path, _)| path.contains(&port)).map(|(_, flow)| flow);
                let over = over.filter(|&flow| net.is_acked(flow));
                for flow in over {
                    steps.extend(asks.map(|ask| Step::Inject(port, flow, ask)));
                }
            }
            let knows = net.ports[port].cached() > 0 || net.ports[port].nonces() > 0;
            if faults.restarts > 0 && knows {
                steps.push(Step::Restart(port));
            }
        }
    }
    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        match step {
            Step::Slot => self.slot(&mut next, step),
            Step::Start(flow) => {
                next.net.senders[flow].started = true;
                next.elapsed = 0;
            }
            Step::PauseData(_) | Step::PauseAcks(_) | Step::PauseSender(_) => {
                next.pauses -= 1;
                self.slot(&mut next, step);
            }
            Step::LoseAck(port) => {
                next.faults.lost_acks -= 1;
                next.net.acks[port].pop_front();
            }
            Step::SwapAcks(port) => {
                next.faults.swapped_acks -= 1;
                next.net.acks[port].swap(0, 1);
            }
            Step::Restart(port) => {
                next.faults.restarts -= 1;
                next.net.restart(port);
            }
            Step::Replay(port) => {
                next.faults.replays -= 1;
                next.net.replay(port);
            }
            Step::Change(port, ask) => {
                next.faults.forgeries -= 1;
                next.net.change(port, self.forged(ask));
            }
            Step::Inject(port, flow, ask) => {
                next.faults.forgeries -= 1;
                next.net.inject(port, flow, self.forged(ask));
            }
            Step::Wait => {
                next.faults.delays -= !next.net.stands_still() as u8;
                if !rules::has_a_way(&next.net) {
                    // What waits for a timer is late.
                    next.elapsed = u8::MAX;
                }
                next.net.wait(&self.shape);
            }
        }
        Some(next)
    }
    fn properties(&self) -> Vec<Property<Slots>> {
        vec![
            Property::always(rules::WAY, |model: &Slots, world: &World| {
                world.faults != model.faults || rules::has_a_way(&world.net)
            }),
            Property::always(rules::REST, |model: &Slots, world: &World| {
                !model.is_over(world) || rules::nothing_is_left(&world.net)
            }),
            Property::always(rules::ENDS, |_, world: &World| rules::ends(&world.net)),
            Property::always(rules::SOON, |_, world: &World| rules::soon(&world.net)),
            Property::always(rules::STEP, |_, world: &World| world.net.broken.is_none()),
            Property::always(rules::SPEED, |model: &Slots, world: &World| {
                world.faults != model.faults || world.elapsed <= model.deadline
            }),
            Property::always(rules::LOSS, |model: &Slots, world: &World| {
                world.faults != model.faults || world.net.lost == 0
            }),
            Property::always(rules::CUSTODY, |model: &Slots, world: &World| {
                model.faults.restarts > 0 || !model.attacked() || world.net.lost == 0
            }),
            Property::always(rules::BOUND, |model: &Slots, world: &World| {
                let forged = model.faults.forgeries - world.faults.forgeries;
                let others = model.faults.replays + model.faults.lost_acks;
                !model.attacked() || rules::is_bounded(&world.net, forged + others)
            }),
        ]
    }
}

//! Three routers in a line or in a ring, and flows over them.
//!
//! ```text
//!   line   sender ─► port 0 ─► port 1 ─► port 2 ─► receiver      both flows over all three
//!   ring   port 0 ─► port 1 ─► port 2 ─► port 0                  flow i over ports i and i + 1
//! ```
//!
//! A link is a row of packets one way, a row of ACKs the other way. Ports are the real machine; the
//! senders obey rules 1 to 5 of `forebay_cc::inrpp`, in whole packets. There is no retransmission:
//! what is lost is lost.

use super::port::{Data, Mutant, PACKET_BYTES, Port, asks};
use forebay_base::{Span, Time};
use forebay_router::inrpp::{CacheLimits, State};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};
use std::collections::VecDeque;

/// RFC 6298: the least that an end point waits before it retransmits.
const RTO: Span = Span::from_secs(1);
const MAX_CREDITS: u8 = 2;
/// The window of a ramp is counted in quarters of a packet: from 4 packets on it grows by one for
/// each packet that arrives.
const QUARTERS: u16 = 4;
const SMALL_PACKETS: u16 = 4;

/// What a network is made of.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The ports that each flow passes, in order.
    pub paths: Vec<Vec<usize>>,
    /// Packets of each flow.
    pub packets: Vec<u8>,
    pub limits: Vec<CacheLimits>,
    /// Packets that a link holds, in its queue and on the wire.
    pub room: usize,
}

/// Sizes of a cache in packets.
pub fn limits(low: u64, high: u64, total: u64) -> CacheLimits {
    let bytes = |packets: u64| packets * PACKET_BYTES as u64;
    CacheLimits { low_bytes: bytes(low), high_bytes: bytes(high), total_bytes: bytes(total) }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ack {
    pub flow: u8,
    /// Of which packet, and of all before it.
    number: u8,
    /// None: its code was wrong, and no one reads it.
    pub option: Option<BackPressure>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Loop {
    Open,
    Closed { credits: u8 },
    Ramp { quarters: u16 },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sender {
    pub started: bool,
    pub left: u8,
    next: u8,
    acked: u8,
    state: Loop,
    echo: Option<Nonce>,
}

impl Sender {
    fn in_flight(&self) -> u8 {
        self.next - self.acked
    }
    fn is_allowed(&self) -> bool {
        match self.state {
            Loop::Open => true,
            Loop::Closed { credits } => credits > 0,
            Loop::Ramp { quarters } => (u16::from(self.in_flight()) + 1) * QUARTERS <= quarters,
        }
    }
    pub fn may_send(&self) -> bool {
        self.started && self.left > 0 && self.is_allowed()
    }
    pub fn is_stuck(&self) -> bool {
        self.started && self.left > 0 && !self.is_allowed()
    }
    /// Rules 2 to 5 of `forebay_cc::inrpp`.
    fn hear(&mut self, number: u8, option: Option<BackPressure>) {
        let before = self.in_flight();
        let delivered = (number + 1).saturating_sub(self.acked);
        self.acked = self.acked.max(number + 1);
        let paused = option.is_some_and(|option| self.obey(option, before));
        if paused && self.in_flight() > 0 {
            return;
        }
        let least = (self.in_flight() == 0) as u8;
        match &mut self.state {
            Loop::Open => {}
            Loop::Closed { credits } => {
                *credits = (*credits + delivered.max(least)).min(MAX_CREDITS);
            }
            Loop::Ramp { quarters } => {
                let part = if *quarters < SMALL_PACKETS * QUARTERS { QUARTERS } else { 1 };
                *quarters += u16::from(delivered.min(2)) * part;
            }
        }
    }
    /// True if it is told to pause.
    fn obey(&mut self, option: BackPressure, before: u8) -> bool {
        let allowed = option.allowance;
        self.state = match (self.state, option.ask) {
            (
                closed @ Loop::Closed { .. },
                BackPressureSignal::SlowDown | BackPressureSignal::Pause,
            ) => closed,
            (_, BackPressureSignal::SlowDown | BackPressureSignal::Pause) => {
                Loop::Closed { credits: 0 }
            }
            (Loop::Ramp { quarters }, _) => {
                Loop::Ramp { quarters: quarters.max(in_quarters(allowed)) }
            }
            (Loop::Open, _) if allowed == 0 => Loop::Open,
            _ => Loop::Ramp { quarters: in_quarters(u16::from(before).max(allowed).max(1)) },
        };
        self.echo = option.nonce.filter(|_| option.ask != BackPressureSignal::Cancel);
        option.ask == BackPressureSignal::Pause
    }
    /// Nothing came for the longest time: what is missing is taken for lost.
    fn time_out(&mut self) {
        (self.acked, self.state) = (self.next, Loop::Ramp { quarters: QUARTERS });
    }
}

fn in_quarters(packets: u16) -> u16 {
    packets * QUARTERS
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Net {
    pub now: Time,
    pub ports: Vec<Port>,
    /// Packets on each link, ACKs on it in the other direction.
    pub data: Vec<VecDeque<Data>>,
    pub acks: Vec<VecDeque<Ack>>,
    /// The last ACK with a request that came over each link.
    requests: Vec<Option<Ack>>,
    pub senders: Vec<Sender>,
    /// The number that each receiver expects next.
    expected: Vec<u8>,
    /// Packets of each flow that ACKs have reported to each port.
    seen: Vec<Vec<u8>>,
    pub lost: u8,
    /// Somebody remembers what comes over the links.
    pub tapped: bool,
    /// A rule of a single step that was broken.
    pub broken: Option<&'static str>,
    /// Time has passed that often since something moved last, and when that was.
    pub idle: u8,
    pub moved_at: Time,
    /// The longest time for which everything stood still while packets were cached.
    pub longest_wait: Span,
    /// All of these.
    pub total_wait: Span,
}

impl Net {
    pub fn new(shape: &Shape, mutant: Option<Mutant>) -> Net {
        let ports = shape.limits.iter().enumerate();
        let sender = |&left: &u8| Sender {
            started: true,
            left,
            next: 0,
            acked: 0,
            state: Loop::Open,
            echo: None,
        };
        Net {
            now: Time::ZERO,
            ports: ports.map(|(i, &limits)| Port::new(i as u8, limits, mutant)).collect(),
            data: vec![VecDeque::new(); shape.limits.len()],
            acks: vec![VecDeque::new(); shape.limits.len()],
            requests: vec![None; shape.limits.len()],
            senders: shape.packets.iter().map(sender).collect(),
            expected: vec![0; shape.packets.len()],
            seen: vec![vec![0; shape.packets.len()]; shape.limits.len()],
            lost: 0,
            tapped: false,
            broken: None,
            idle: 0,
            moved_at: Time::ZERO,
            longest_wait: Span::ZERO,
            total_wait: Span::ZERO,
        }
    }
    fn moved(&mut self) {
        (self.idle, self.moved_at) = (0, self.now);
    }
    /// A sender sends one packet.
    pub fn send(&mut self, shape: &Shape, flow: usize) {
        self.moved();
        let sender = &mut self.senders[flow];
        let data = Data { flow: flow as u8, number: sender.next, echo: sender.echo };
        (sender.left, sender.next) = (sender.left - 1, sender.next + 1);
        if let Loop::Closed { credits } = &mut sender.state {
            *credits -= 1;
        }
        self.arrive(shape, shape.paths[flow][0], data);
    }
    fn arrive(&mut self, shape: &Shape, port: usize, data: Data) {
        if self.ports[port].passes(data) && self.data[port].len() < shape.room {
            self.data[port].push_back(data);
        } else {
            self.lost += self.ports[port].keep(self.now, data);
        }
        self.fill(shape, port);
    }
    /// A link takes what it has room for.
    fn fill(&mut self, shape: &Shape, port: usize) {
        while self.data[port].len() < shape.room {
            let Some(data) = self.ports[port].pull(self.now) else { return };
            self.data[port].push_back(data);
        }
    }
    /// The first packet on a link comes to its end.
    pub fn deliver(&mut self, shape: &Shape, port: usize) {
        self.moved();
        let data = self.data[port].pop_front().expect("there is one");
        let path = &shape.paths[data.flow as usize];
        let hop = path.iter().position(|&p| p == port).expect("on its way");
        match path.get(hop + 1) {
            Some(&next) => self.arrive(shape, next, data),
            None => self.receive(shape, port, data),
        }
        self.fill(shape, port);
    }
    /// The receiver is next to the last router: its ACK is there at once.
    fn receive(&mut self, shape: &Shape, port: usize, data: Data) {
        let expected = &mut self.expected[data.flow as usize];
        if data.number < *expected {
            self.broken = Some("a packet has overtaken another of its flow");
        }
        *expected = data.number + 1;
        let (flow, number, option) = (data.flow, data.number, Some(BackPressure::default()));
        self.pass_ack(shape, port, Ack { flow, number, option });
    }
    /// The first ACK on a link comes to the router.
    pub fn ack(&mut self, shape: &Shape, port: usize) {
        self.moved();
        let ack = self.acks[port].pop_front().expect("there is one");
        if self.tapped && ack.option.is_some_and(asks) {
            self.requests[port] = Some(ack);
        }
        self.pass_ack(shape, port, ack);
    }
    /// The last ACK with a request that came over a link comes again. False if there was none.
    pub fn replay(&mut self, port: usize) -> bool {
        let again = self.requests[port];
        self.acks[port].extend(again);
        again.is_some()
    }
    /// Another option on the first ACK of a link.
    pub fn change(&mut self, port: usize, forged: Option<BackPressure>) {
        self.acks[port].front_mut().expect("there is one").option = forged;
    }
    /// An ACK that no receiver has sent comes over a link, of what the sender knows has arrived.
    pub fn inject(&mut self, port: usize, flow: u8, forged: Option<BackPressure>) {
        let number = self.senders[flow as usize].acked - 1;
        self.acks[port].push_back(Ack { flow, number, option: forged });
    }
    /// True if an ACK of `flow` has come back.
    pub fn is_acked(&self, flow: u8) -> bool {
        self.senders[flow as usize].acked > 0
    }
    fn pass_ack(&mut self, shape: &Shape, port: usize, ack: Ack) {
        let Some(came) = ack.option else { return self.pass_on(shape, port, ack) };
        let free_before = self.ports[port].others_free(ack.flow);
        // How many routers were passed does not matter here.
        let said = self.ports[port].on_ack(self.now, ack.flow, ack.number, came);
        let said = BackPressure { routers: 0, ..said };
        let slows = matches!(said.ask, BackPressureSignal::SlowDown | BackPressureSignal::Pause);
        if slows && self.ports[port].state() != State::BackPressure {
            self.broken = Some("who is not congested asks to slow down");
        }
        if self.ports[port].state() == State::BackPressure && !(asks(said) && said.nonce.is_some())
        {
            self.broken = Some("who is congested asks for nothing, and allows all");
        }
        // As much as has arrived, an allowance, or twice as much in a ramp.
        let seen = &mut self.seen[port][ack.flow as usize];
        let arrived = (ack.number + 1).saturating_sub(*seen);
        *seen += arrived;
        let worth = usize::from(came.allowance).max(2 * usize::from(arrived));
        if self.ports[port].others_free(ack.flow) > free_before + worth {
            self.broken = Some("an ACK lets more go of other flows than it is worth");
        }
        let is_last =
            |p: usize| shape.paths.iter().all(|path| path.last() == Some(&p) || !path.contains(&p));
        if is_last(port) && self.ports[port].nonces() > 0 {
            self.broken = Some("what nobody downstream asks for is held");
        }
        self.fill(shape, port);
        self.pass_on(shape, port, Ack { option: Some(said), ..ack });
    }
    fn pass_on(&mut self, shape: &Shape, port: usize, ack: Ack) {
        let path = &shape.paths[ack.flow as usize];
        let hop = path.iter().position(|&p| p == port).expect("on its way");
        match hop.checked_sub(1) {
            Some(before) => self.acks[path[before]].push_back(ack),
            None => self.senders[ack.flow as usize].hear(ack.number, ack.option),
        }
    }
    pub fn restart(&mut self, port: usize) {
        self.lost += self.ports[port].restart();
    }
    /// Neither packets nor ACKs are on their way.
    pub fn links_are_empty(&self) -> bool {
        self.data.iter().all(VecDeque::is_empty) && self.acks.iter().all(VecDeque::is_empty)
    }
    /// Nothing is on a link, and no sender may send.
    pub fn stands_still(&self) -> bool {
        self.links_are_empty() && !self.senders.iter().any(Sender::may_send)
    }
    pub fn cached(&self) -> u64 {
        self.ports.iter().map(Port::cached).sum()
    }
    /// The next time at which something is due.
    pub fn due(&self) -> Option<Time> {
        let stuck = self.senders.iter().any(Sender::is_stuck) && self.stands_still();
        let rto = stuck.then(|| self.now + RTO);
        self.ports.iter().filter_map(Port::next_timeout).chain(rto).min()
    }
    /// Time passes until something is due.
    pub fn wait(&mut self, shape: &Shape) {
        let due = self.due().expect("something is due").max(self.now);
        if self.stands_still() && self.cached() > 0 {
            self.longest_wait = self.longest_wait.max(due.since(self.now));
            self.total_wait += due.since(self.now);
        }
        self.idle += 1;
        let still = self.stands_still();
        for port in 0..self.ports.len() {
            if self.ports[port].next_timeout().is_some_and(|at| at <= due) {
                self.ports[port].on_timeout(due);
            }
        }
        let late = still && due >= self.now + RTO;
        for sender in self.senders.iter_mut().filter(|s| late && s.is_stuck()) {
            sender.time_out();
        }
        self.now = due;
        for port in 0..self.ports.len() {
            self.fill(shape, port);
        }
    }
}

//! Three routers in a line or in a ring, and flows over them.
//!
//! ```text
//!   line   sender ─► port 0 ─► port 1 ─► port 2 ─► receiver      both flows over all three
//!   ring   port 0 ─► port 1 ─► port 2 ─► port 0                  flow i over ports i and i + 1
//! ```
//!
//! A link is a row of packets one way, a row of ACKs the other way. Ports are the real machine; the
//! senders obey rules 1 to 5 of `forebay_cc::inrpp`. There is no retransmission: what is lost is lost.

use super::port::{Data, Mutant, Port};
use forebay_base::signal::inrpp::{Ask, BackPressure, Nonce};
use forebay_base::{Span, Time};
use forebay_router::inrpp::{CacheLimits, State};
use std::collections::VecDeque;

/// RFC 6298: the least that an end point waits before it sends again.
const RTO: Span = Span::from_secs(1);
const MAX_CREDITS: u8 = 2;

/// What a network is made of.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The ports that each flow passes, in order.
    pub paths: Vec<Vec<usize>>,
    /// Packets of each flow; None: without end.
    pub packets: Vec<Option<u8>>,
    pub limits: Vec<CacheLimits>,
    /// Packets that a link holds, in its queue and on the wire.
    pub room: usize,
}

pub fn limits(low: u64, high: u64, total: u64) -> CacheLimits {
    CacheLimits { low_bytes: low, high_bytes: high, total_bytes: total }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ack {
    pub flow: u8,
    pub option: BackPressure,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Loop {
    Open,
    Closed,
    Ramp,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sender {
    pub started: bool,
    pub left: Option<u8>,
    next: u8,
    pub state: Loop,
    pub credits: u8,
    echo: Option<Nonce>,
}

impl Sender {
    pub fn may_send(&self) -> bool {
        self.started && self.left != Some(0) && (self.state == Loop::Open || self.credits > 0)
    }
    pub fn is_stuck(&self) -> bool {
        self.started && self.left != Some(0) && !self.may_send()
    }
    fn hear(&mut self, option: BackPressure) {
        self.state = match (option.ask, self.state) {
            (Ask::SlowDown, _) => Loop::Closed,
            (Ask::Nothing, Loop::Ramp) => Loop::Ramp,
            (Ask::Nothing | Ask::Cancel, _) => Loop::Open,
        };
        self.credits = match self.state {
            Loop::Open => 0,
            Loop::Closed => (self.credits + 1).min(MAX_CREDITS),
            Loop::Ramp => self.credits + 2,
        };
        self.echo = option.nonce.filter(|_| option.ask != Ask::Cancel);
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Net {
    pub now: Time,
    pub ports: Vec<Port>,
    /// Packets on each link, ACKs on it in the other direction.
    pub data: Vec<VecDeque<Data>>,
    pub acks: Vec<VecDeque<Ack>>,
    pub senders: Vec<Sender>,
    /// The number that each receiver expects next.
    expected: Vec<u8>,
    pub lost: u8,
    /// A rule of a single step that was broken.
    pub broken: Option<&'static str>,
    /// Time has passed that often since something moved last, and when that was.
    pub idle: u8,
    pub moved_at: Time,
    /// The longest time for which everything stood still while packets were cached.
    pub longest_wait: Span,
}

impl Net {
    pub fn new(shape: &Shape, mutant: Option<Mutant>) -> Net {
        let ports = shape.limits.iter().enumerate();
        let sender = |&left: &Option<u8>| Sender {
            started: true,
            left,
            next: 0,
            state: Loop::Open,
            credits: 0,
            echo: None,
        };
        Net {
            now: Time::ZERO,
            ports: ports.map(|(i, &limits)| Port::new(i as u8, limits, mutant)).collect(),
            data: vec![VecDeque::new(); shape.limits.len()],
            acks: vec![VecDeque::new(); shape.limits.len()],
            senders: shape.packets.iter().map(sender).collect(),
            expected: vec![0; shape.packets.len()],
            lost: 0,
            broken: None,
            idle: 0,
            moved_at: Time::ZERO,
            longest_wait: Span::ZERO,
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
        if let Some(left) = &mut sender.left {
            (*left, sender.next) = (*left - 1, sender.next + 1);
        }
        if sender.state != Loop::Open {
            sender.credits -= 1;
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
    /// The receiver is beside the last router: its ACK is there at once.
    fn receive(&mut self, shape: &Shape, port: usize, data: Data) {
        let expected = &mut self.expected[data.flow as usize];
        if data.number < *expected {
            self.broken = Some("a packet has overtaken another of its flow");
        }
        if self.senders[data.flow as usize].left.is_some() {
            *expected = data.number + 1;
        }
        let option = BackPressure::default();
        self.pass_ack(shape, port, Ack { flow: data.flow, option });
    }
    /// The first ACK on a link comes to the router.
    pub fn ack(&mut self, shape: &Shape, port: usize) {
        self.moved();
        let ack = self.acks[port].pop_front().expect("there is one");
        self.pass_ack(shape, port, ack);
    }
    fn pass_ack(&mut self, shape: &Shape, port: usize, ack: Ack) {
        let came = ack.option;
        // How many routers were passed is nobody's business here.
        let said = self.ports[port].on_ack(self.now, ack.flow, came);
        let said = BackPressure { routers: 0, ..said };
        if said.ask == Ask::SlowDown && self.ports[port].state() != State::BackPressure {
            self.broken = Some("who is not congested asks to slow down");
        }
        let is_last = |p: usize| shape.paths.iter().all(|path| path.last() == Some(&p) || !path.contains(&p));
        if is_last(port) && self.ports[port].nonces() > 0 {
            self.broken = Some("what nobody downstream asks for is held");
        }
        self.fill(shape, port);
        let path = &shape.paths[ack.flow as usize];
        let hop = path.iter().position(|&p| p == port).expect("on its way");
        match hop.checked_sub(1) {
            Some(before) => self.acks[path[before]].push_back(Ack { option: said, ..ack }),
            None => self.senders[ack.flow as usize].hear(said),
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
            (sender.state, sender.credits) = (Loop::Ramp, 1);
        }
        self.now = due;
        for port in 0..self.ports.len() {
            self.fill(shape, port);
        }
    }
}

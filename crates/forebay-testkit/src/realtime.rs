//! A small real-time driver: two sites of a spec that share nothing but two UDP sockets over
//! loopback. What crosses is the bytes of a packet after the number of the link that it crosses on.
//!
//! One thread. Events happen at their nominal times; where a turn comes late, because the computer
//! is busy, packets cross late. It is a check of the walls, not a data path: no more than two
//! sides.
#![allow(clippy::disallowed_methods, reason = "a driver owns the clock")]

mod side;

use crate::tap::Tap;
use forebay_base::{FlowId, NodeId, Span, Time};
use forebay_net::NetSpec;
use forebay_sim::Conservation;
use forebay_transport::{ConnectionView, Role};
use side::Side;
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest that the loop sleeps: loopback may deliver a little after it was sent to.
const NAP: Duration = Duration::from_millis(1);

/// A run on the wall clock.
pub struct Realtime {
    sides: [Side; 2],
    start: Instant,
    /// How late the turns were that had something to do: count, sum, maximum.
    late: (u64, Span, Span),
}

impl Realtime {
    /// Build a run of `spec`: the nodes in `right` on one side, all others on the other. Clients
    /// send the bytes in `payload`, by flow, each flow as many as its spec says; without it a
    /// pattern. Errors if there are no sockets.
    pub fn new(
        spec: &NetSpec,
        seed: u64,
        right: &[NodeId],
        tap: Option<&Tap>,
        payload: Option<Vec<Vec<u8>>>,
    ) -> std::io::Result<Realtime> {
        let sockets = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
        let addresses = [sockets[0].local_addr()?, sockets[1].local_addr()?];
        let [left, other] = sockets;
        left.connect(addresses[1])?;
        other.connect(addresses[0])?;
        let payload = payload.map(Arc::new);
        let nodes = (0..spec.nodes.len() as u32).map(NodeId);
        let (right, left_nodes): (Vec<_>, Vec<_>) = nodes.partition(|node| right.contains(node));
        let side =
            |nodes, socket| Side::new(spec, seed, nodes, socket, tap.cloned(), payload.clone());
        let sides = [side(left_nodes, left)?, side(right, other)?];
        Ok(Realtime { sides, start: Instant::now(), late: (0, Span::ZERO, Span::ZERO) })
    }

    /// Bytes that the server of a flow has received in order.
    pub fn received(&self, flow: FlowId) -> Option<&[u8]> {
        self.sides.iter().find_map(|side| side.received(flow))
    }

    /// Run until every flow has ended at both ends, or for `limit`. True if every flow has.
    pub fn run(&mut self, limit: Duration) -> std::io::Result<bool> {
        self.start = Instant::now();
        let mut due = Time::ZERO;
        while self.start.elapsed() < limit {
            let now = self.now();
            if due <= now {
                let late = now.since(due);
                self.late = (self.late.0 + 1, self.late.1 + late, self.late.2.max(late));
            }
            let mut moved = false;
            for side in &mut self.sides {
                moved |= side.turn(now)?;
            }
            if self.sides.iter().map(Side::open_ends).sum::<isize>() == 0 {
                self.drain()?;
                return Ok(true);
            }
            if !moved {
                due = self.sides.iter().map(Side::next_deadline).min().expect("two sides");
                let now = self.now();
                if due > now {
                    sleep(NAP.min(Duration::from_nanos(due.since(now).as_nanos())));
                }
            }
        }
        self.drain()?;
        Ok(false)
    }
    fn now(&self) -> Time {
        Time::from_nanos(self.start.elapsed().as_nanos() as u64)
    }
    /// Take in what is still between the sockets; nothing more is sent.
    fn drain(&mut self) -> std::io::Result<()> {
        for _ in 0..100 {
            let now = self.now();
            for side in &mut self.sides {
                side.receive(now)?;
            }
            if self.between() == 0 {
                break;
            }
            sleep(NAP);
        }
        Ok(())
    }

    /// Packets that went into one socket and did not come out of the other.
    pub fn between(&self) -> u64 {
        let Conservation { entered, left, .. } = self.conservation();
        left - entered
    }
    /// Packets that crossed as bytes.
    pub fn crossed(&self) -> u64 {
        self.conservation().entered
    }
    /// Where every packet is, both sides together.
    pub fn conservation(&self) -> Conservation {
        let [a, b] = self.sides.each_ref().map(Side::conservation);
        a.with(b)
    }
    /// The connection at an end of a flow, once it exists.
    pub fn connection(&self, flow: FlowId, role: Role) -> Option<ConnectionView<'_>> {
        self.sides.iter().find_map(|side| side.connection(flow, role))
    }
    /// Mean and maximum by which turns came after the deadline that they were for.
    pub fn lateness(&self) -> (Span, Span) {
        let (count, sum, max) = self.late;
        (sum / count.max(1), max)
    }
}

//! A wire without a kernel: its owner puts packets in and takes them out.

use super::{Backlog, Count, Counters, Packets, Wire};
use forebay_base::Time;
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

/// Packets that arrive and leave in memory, for tests.
#[derive(Clone, Debug)]
pub struct MemoryWire {
    /// Packets that have arrived, with ascending times.
    pub arrived: VecDeque<(Time, Vec<u8>)>,
    /// Packets that were sent.
    pub sent: VecDeque<Vec<u8>>,
    /// See [`Wire::carrier`]. What is sent without one is lost.
    pub carrier: bool,
    counters: Counters,
}

impl Default for MemoryWire {
    fn default() -> MemoryWire {
        let (arrived, sent, counters) = Default::default();
        MemoryWire { arrived, sent, carrier: true, counters }
    }
}

impl Wire for MemoryWire {
    fn receive(&mut self, limit: usize, mut take: impl FnMut(Time, &[u8])) -> Backlog {
        for (at, packet) in self.arrived.drain(..limit.min(self.arrived.len())) {
            take(at, &packet);
            self.counters[Count::Received] += 1;
        }
        self.arrived.front().map_or(Backlog::Empty, |(at, _)| Backlog::Since(*at))
    }
    fn send(&mut self, packets: &Packets) {
        if !self.carrier {
            self.counters[Count::InterfaceDown] += packets.len() as u64;
            return;
        }
        self.counters[Count::Sent] += packets.len() as u64;
        self.sent.extend(packets.from(0).map(<[u8]>::to_vec));
    }
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    fn carrier(&self) -> bool {
        self.carrier
    }
    fn refresh(&mut self) {}
    fn counters(&mut self) -> Counters {
        self.counters
    }
}

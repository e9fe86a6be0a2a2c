//! What a FIFO link draws for a packet when it is queued: whether it is lost, and how late it is.
//!
//! Packets leave in the order in which they are queued, so the numbers are those that would be
//! drawn as they leave. A packet that will be lost takes its place in the queue and its time on the
//! transmitter, and ends when it has left.

use crate::link::impairment::{Impairment, Propagation};
use forebay_base::{DropReason, Packet, PacketRing, Time};
use forebay_queue::PortContext;

/// What happens to a packet that was scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// It arrives when it was scheduled to.
    Steady,
    /// It arrives at this time, perhaps before others.
    Shaken(Time),
    /// It is lost when it has left.
    Lost,
}

/// See the module.
pub(crate) struct Fates {
    impairment: Impairment,
    /// Of the packet that was scheduled last.
    last: Fate,
    /// Packets that are lost when they have left, which is their hop time.
    doomed: PacketRing,
    lost: u64,
}

impl Fates {
    /// Nothing is late: see [`Impairment::late`].
    pub fn new(impairment: Impairment) -> Fates {
        assert!(impairment.late.is_none(), "how late a packet leaves is drawn when it does");
        Fates { impairment, last: Fate::Steady, doomed: PacketRing::default(), lost: 0 }
    }
    /// Draw for the packet that was just scheduled, for this arrival. True if it arrives then.
    pub fn draw(&mut self, arrival: Time) -> bool {
        self.last = match self.impairment.draw() {
            Propagation::Lost => Fate::Lost,
            Propagation::Arrives(_) if self.impairment.jitter.is_zero() => Fate::Steady,
            Propagation::Arrives(extra) => Fate::Shaken(arrival + extra),
        };
        self.last == Fate::Steady
    }
    /// Keep the packet for which was drawn last, and which leaves at `departure` and was scheduled
    /// to arrive at `arrival`. Those that arrive go into `ring`.
    pub fn keep(
        &mut self,
        mut packet: Packet,
        departure: Time,
        arrival: Time,
        ring: &mut PacketRing,
    ) {
        match self.last {
            Fate::Steady => ring.push_back(packet).set_hop_time(arrival),
            Fate::Shaken(at) => {
                packet.set_hop_time(at);
                ring.insert_by_stamp(packet);
            }
            Fate::Lost => self.doomed.push_back(packet).set_hop_time(departure),
        }
    }
    /// When the first of those has left.
    #[inline]
    pub fn next_loss(&self) -> Option<Time> {
        self.doomed.front().map(Packet::hop_time)
    }
    /// Lose those that have left.
    pub fn lose_due(&mut self, cx: &mut PortContext<'_>) {
        while self.next_loss().is_some_and(|at| at <= cx.now)
            && let Some(packet) = self.doomed.pop_front()
        {
            self.lost += 1;
            cx.drop_packet(packet, DropReason::Loss);
        }
    }
    /// Packets lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
    /// Packets that will be.
    pub fn doomed_packets(&self) -> u64 {
        self.doomed.len() as u64
    }
}

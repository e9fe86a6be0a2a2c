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
    /// Where the packet is kept for which was drawn last, and with which hop time. It leaves at
    /// `departure` and was scheduled to arrive at `arrival`; those that arrive go into `ring`.
    #[inline(always)]
    pub fn place<'a>(
        &'a mut self,
        departure: Time,
        arrival: Time,
        ring: &'a mut PacketRing,
    ) -> (&'a mut PacketRing, Time) {
        match self.last {
            Fate::Steady => (ring, arrival),
            Fate::Shaken(at) => (ring, at),
            Fate::Lost => (&mut self.doomed, departure),
        }
    }
    /// When the first of those that are lost has left.
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

//! Packets on links that begin in one partition and end in another.

use super::{Deadline, Driver, Fabric};
use crate::link::AnyLink;
use alloc::collections::VecDeque;
use forebay_base::{LinkId, PacketTransfer, Time};

/// What one partition has for another: packets that will arrive there, each stamped with the time. Its memory is used again.
#[derive(Debug, Default)]
pub struct Mail {
    /// How many of the packets, in their order, are on which link.
    runs: VecDeque<(LinkId, usize)>,
    packets: PacketTransfer,
}

impl Mail {
    /// Number of packets.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }
}

impl<D: Driver> Fabric<D> {
    /// Put all that is on links to other partitions into the mail for each, by number of partition. Gives the earliest of the
    /// times at which that arrives; [`Time::MAX`] if there is nothing.
    pub fn export(&mut self, mail: &mut [Mail]) -> Time {
        let mut earliest = Time::MAX;
        for &(link, to) in &self.exits {
            let leaving = &mut self.links[link.index()].link;
            let Some(first) = leaving.next_arrival() else { continue };
            earliest = earliest.min(first);
            let mail = &mut mail[to as usize];
            let before = mail.packets.len();
            leaving.export(&mut mail.packets, &mut self.arena);
            mail.runs.push_back((link, mail.packets.len() - before));
        }
        earliest
    }

    /// Put what another partition has for this one on the links that end here, and leave `mail` empty. What it holds must
    /// arrive later than all that has happened here.
    pub fn import(&mut self, mail: &mut Mail) {
        while let Some((link, packets)) = mail.runs.pop_front() {
            let slot = &mut self.links[link.index()];
            let AnyLink::Fifo(far_end) = &mut slot.link else {
                unreachable!("the far end of a link is a wire")
            };
            for _ in 0..packets {
                let packet = mail.packets.unpack(&mut self.arena);
                far_end.import(packet.expect("as many as were packed"));
            }
            if let Some(at) = far_end.next_arrival().filter(|&at| at < slot.armed_arrival) {
                slot.armed_arrival = at;
                self.driver.arm(Deadline::Arrival(link), at);
            }
        }
    }
}

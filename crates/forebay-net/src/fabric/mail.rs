//! Packets on links that begin in one partition and end in another.

use super::{Deadline, Driver, Fabric};
use crate::link::AnyLink;
use alloc::collections::VecDeque;
use forebay_base::{LinkId, PacketTransfer, Time};

/// Packets from one partition to another, each with its arrival there as hop time. The memory is
/// reused.
#[derive(Debug, Default)]
pub struct Mail {
    /// Runs of packets on the same link: the link, and how many.
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
    /// Move all packets on links to other partitions into the mail for each. The result is the
    /// earliest arrival; [`Time::MAX`] if there is nothing.
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

    /// Put mail from another partition on the links that end here, and leave `mail` empty. All
    /// arrivals must be later than all that has happened here.
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

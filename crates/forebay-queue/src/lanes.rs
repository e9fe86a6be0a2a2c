//! The queues of a port: its discipline, and beside it a queue for the flows that listen to its
//! scheme, if that asks for one.
//!
//! Listeners wait first in, first out, and nothing marks or drops them but their limit; the others
//! are the discipline's. Each queue has the share of the link that its flows are of all:
//!
//! 1. `w_l = N_l / (N_l + N_o)`, `w_o = N_o / (N_l + N_o)`, N the weights that the scheme gives;
//! 2. a balance says who is next: listeners where it is 0 or more. A packet of b bytes on the link
//!    takes `b N_o` from it if it is of listeners, and adds `b N_l` if not. It stays within
//!    `[-max(B N_o, A N_l), B N_l]`, B the bytes of a full packet: listeners that were away return
//!    at most one packet ahead, and others A bytes, which the scheme gives. Where one queue has
//!    nothing to give, the other one is served;
//! 3. a packet of at most 128 bytes, as acknowledgments are, is not charged while such packets are
//!    less than an eighth of what is: flows that only acknowledge have no weight, and shall not
//!    wait for want of one.
//!
//! While the scheme does not signal, listeners are like all others, and the discipline is for all.
//! No flow overtakes itself: what listeners have in their own queue leaves first then, and later
//! what all had in the discipline when they parted.

use crate::discipline::{Discipline, Overflow};
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::port::{Backlog, PortContext};
use crate::table::AnyDiscipline;
use alloc::boxed::Box;
use forebay_base::{DropReason, Packet};

/// What a port with two queues publishes: bytes of listeners that wait.
pub const LISTENERS_BYTES_METRIC: &str = "listeners_queue_bytes";

/// Equation 3.
const SMALL_BYTES: u64 = 128;
const FREE_SHARE: u64 = 8;
/// B: a full packet and the framing of most links.
const PACKET_BYTES: u64 = 1500 + 38;

/// Which queue of a port a packet waits in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// The discipline.
    #[default]
    Others,
    /// The one beside it.
    Listeners,
}

/// How two queues divide a port.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// Where the packet waits that the scheme saw arrive last.
    pub lane: Lane,
    /// All wait in the discipline: [`Division::lane`] is of others.
    pub joined: bool,
    /// N_l. 0 counts as 1 here.
    pub listeners: u32,
    /// N_o. 0 counts as 1 here.
    pub others: u32,
    /// What listeners may fill, in bytes, besides the limit.
    pub listeners_bytes: u64,
    /// What others may fill, in bytes, besides the limit of the discipline.
    pub others_bytes: u64,
    /// A: what others may be ahead, in bytes.
    pub others_ahead_bytes: u64,
    /// The limit of the queue of listeners.
    pub limit: Limit,
    /// What a packet takes of the link besides its bytes.
    pub overhead_bytes: u16,
    /// What the link has carried since the start.
    pub carried: Carried,
}

/// What the link has carried since the start, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Of listeners.
    pub listeners_bytes: u64,
    /// Of others.
    pub others_bytes: u64,
}

/// See the module. A port whose scheme gives no [`Division`] has one queue.
pub(crate) struct Queues {
    discipline: AnyDiscipline,
    listeners: Option<Box<Listeners>>,
}

#[derive(Default)]
struct Listeners {
    fifo: Fifo,
    /// Equation 2.
    balance: i64,
    /// What small packets may take before they are charged.
    free_bytes: u64,
    /// What waits in the discipline, came there while all did, and before what is here.
    joint_bytes: u64,
    /// The last packet joined the others.
    joined: bool,
}

impl Queues {
    pub(crate) fn new(discipline: AnyDiscipline, are_two: bool) -> Queues {
        Queues { discipline, listeners: are_two.then(Box::default) }
    }
    #[inline]
    pub(crate) fn discipline(&self) -> &AnyDiscipline {
        &self.discipline
    }
    #[inline]
    pub(crate) fn discipline_mut(&mut self) -> &mut AnyDiscipline {
        &mut self.discipline
    }
    /// True if listeners have one of their own.
    #[inline]
    pub(crate) fn are_two(&self) -> bool {
        self.listeners.is_some()
    }
    /// What a scheme sees: what waits where those that listen to it do.
    #[inline]
    pub(crate) fn of_scheme(&self) -> Backlog {
        let all = Backlog {
            bytes: self.discipline.backlog_bytes(),
            packets: self.discipline.backlog_packets(),
        };
        let Some(own) = &self.listeners else { return all };
        let joint = match (own.joined, own.joint_bytes) {
            (true, _) => all,
            (false, 0) => Backlog::default(),
            (false, bytes) => Backlog { bytes, ..all },
        };
        Backlog {
            bytes: own.fifo.bytes() + joint.bytes,
            packets: own.fifo.packets() + joint.packets,
        }
    }
    #[inline]
    pub(crate) fn backlog_bytes(&self) -> u64 {
        let own = self.listeners.as_ref().map_or(0, |own| own.fifo.bytes());
        self.discipline.backlog_bytes() + own
    }
    #[inline]
    pub(crate) fn backlog_packets(&self) -> u64 {
        let own = self.listeners.as_ref().map_or(0, |own| own.fifo.packets());
        self.discipline.backlog_packets() + own
    }
    /// True if a packet of this length would be taken without a drop, whichever queue it is for.
    pub(crate) fn has_room(&self, wire_len: u16, division: Option<&Division>) -> bool {
        let admits = |(own, division): (&Listeners, &Division)| {
            own.admits(wire_len, division) && self.admits_other(wire_len, division)
        };
        let two = self.listeners.as_deref().zip(division);
        self.discipline.has_room(wire_len) && two.is_none_or(admits)
    }
    /// Take a packet, or give it back.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        packet: Packet,
        division: &Division,
        cx: &mut PortContext<'_>,
    ) -> Result<(), Overflow> {
        let Some(own) = &mut self.listeners else { return self.discipline.enqueue(packet, cx) };
        if division.joined {
            let taken = self.discipline.enqueue(packet, cx);
            own.joined = true;
            if own.fifo.packets() == 0 {
                own.joint_bytes = self.discipline.backlog_bytes();
            }
            return taken;
        }
        own.joined = false;
        let wire_len = packet.wire_len();
        match division.lane {
            Lane::Listeners if own.admits(wire_len, division) => {
                own.fifo.push(packet);
                Ok(())
            }
            Lane::Others if self.admits_other(wire_len, division) => {
                self.discipline.enqueue(packet, cx)
            }
            _ => Err(Overflow(packet)),
        }
    }
    #[inline]
    fn admits_other(&self, wire_len: u16, division: &Division) -> bool {
        division.joined
            || self.discipline.backlog_bytes() + u64::from(wire_len) <= division.others_bytes
    }
    /// The next packet of either.
    #[inline]
    pub(crate) fn dequeue(
        &mut self,
        division: &mut Division,
        cx: &mut PortContext<'_>,
    ) -> Option<Packet> {
        let Some(own) = &mut self.listeners else { return self.discipline.dequeue(cx) };
        let others_wait = self.discipline.backlog_packets() > 0;
        let is_turn = own.fifo.packets() > 0 && (own.is_next(division.joined) || !others_wait);
        if !is_turn && let Some(packet) = self.discipline.dequeue(cx) {
            own.charge(packet.wire_len(), Lane::Others, division);
            if own.joint_bytes > 0 {
                let left_bytes = own.joint_bytes.saturating_sub(packet.wire_len().into());
                own.joint_bytes = left_bytes.min(self.discipline.backlog_bytes());
            }
            return Some(packet);
        }
        let packet = own.fifo.pop()?;
        if own.joined && own.fifo.packets() == 0 {
            own.joint_bytes = self.discipline.backlog_bytes();
        }
        own.charge(packet.wire_len(), Lane::Listeners, division);
        Some(packet)
    }
    /// A packet leaves that did not wait.
    pub(crate) fn pass(&mut self, wire_len: u16, division: &mut Division) {
        if let Some(own) = &mut self.listeners {
            own.charge(wire_len, division.lane, division);
        }
    }
    pub(crate) fn publish(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(own) = &self.listeners {
            see(LISTENERS_BYTES_METRIC, own.fifo.bytes() as f64);
        }
    }
    pub(crate) fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        if let Some(own) = &mut self.listeners {
            own.fifo.clear(reason, cx);
            own.joint_bytes = 0;
        }
        self.discipline.clear(reason, cx);
    }
}

impl Listeners {
    #[inline]
    fn admits(&self, wire_len: u16, division: &Division) -> bool {
        let (packets, bytes) = (self.fifo.packets(), self.fifo.bytes());
        division.limit.admits(wire_len, packets, bytes)
            && bytes + u64::from(wire_len) <= division.listeners_bytes
    }
    /// Its packets leave before those of the discipline.
    #[inline]
    fn is_next(&self, joined: bool) -> bool {
        self.joint_bytes == 0 && (joined || self.balance >= 0)
    }
    /// Equations 2 and 3.
    #[inline]
    fn charge(&mut self, wire_len: u16, lane: Lane, division: &mut Division) {
        let bytes = u64::from(wire_len) + u64::from(division.overhead_bytes);
        match lane {
            Lane::Listeners => division.carried.listeners_bytes += bytes,
            Lane::Others => division.carried.others_bytes += bytes,
        }
        if bytes <= SMALL_BYTES && bytes <= self.free_bytes {
            self.free_bytes -= bytes;
            return;
        }
        self.free_bytes = (self.free_bytes + bytes / FREE_SHARE).min(PACKET_BYTES);
        let [listeners, others] =
            [division.listeners, division.others].map(|flows| i64::from(flows.max(1)));
        let charged = match lane {
            Lane::Listeners => -(bytes as i64 * others),
            Lane::Others => bytes as i64 * listeners,
        };
        let most = PACKET_BYTES as i64;
        let ahead = (most * others).max(division.others_ahead_bytes as i64 * listeners);
        self.balance = (self.balance + charged).clamp(-ahead, most * listeners);
    }
}

#[cfg(test)]
mod tests;

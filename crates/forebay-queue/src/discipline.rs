//! The second stage of a port: order, mark and drop.

use crate::droptail::{DropTailBytes, DropTailPackets};
use crate::pipeline::PortContext;
use alloc::boxed::Box;
use forebay_base::{DropReason, Packet, Time};

/// A packet that a full queue did not take.
#[derive(Debug)]
pub struct Overflow(pub Packet);

/// Holds packets until the transmitter has room. Packets carry their arrival time in [`Packet::stamp`].
///
/// A discipline ends a packet only through [`PortContext::drop_packet`].
pub trait Discipline: Send {
    /// Take a packet, or give it back because there is no room: forwarding may then cache it, or the port drops it as
    /// [`DropReason::Full`]. A discipline that makes room by dropping another packet does so itself.
    fn enqueue(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow>;
    /// True if a packet of `wire_len` bytes would be taken now without a drop.
    fn has_room(&self, wire_len: u16) -> bool;
    /// The next packet to send, if any is due.
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet>;
    /// Bytes held.
    fn backlog_bytes(&self) -> u64;
    /// Packets held.
    fn backlog_packets(&self) -> u64;
    /// When a packet may become due although none arrives; None for work-conserving disciplines.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// Give up everything held, for `reason`: a node restarted.
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>);
}

/// The disciplines.
pub enum AnyDiscipline {
    /// First in, first out; limited in bytes.
    DropTailBytes(DropTailBytes),
    /// First in, first out; limited in packets.
    DropTailPackets(DropTailPackets),
    /// Brought from outside.
    Custom(Box<dyn Discipline>),
}

macro_rules! each {
    ($self:expr, $d:ident => $call:expr) => {
        match $self {
            AnyDiscipline::DropTailBytes($d) => $call,
            AnyDiscipline::DropTailPackets($d) => $call,
            AnyDiscipline::Custom($d) => $call,
        }
    };
}

impl AnyDiscipline {
    /// True if a packet that finds it empty leaves as it came, and nothing remembers that it was there.
    #[inline]
    pub(crate) fn passes_at_once(&self) -> bool {
        match self {
            AnyDiscipline::DropTailBytes(_) | AnyDiscipline::DropTailPackets(_) => true,
            AnyDiscipline::Custom(_) => false,
        }
    }
}

impl Discipline for AnyDiscipline {
    #[inline]
    fn enqueue(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        each!(self, d => d.enqueue(packet, cx))
    }
    fn has_room(&self, wire_len: u16) -> bool {
        each!(self, d => d.has_room(wire_len))
    }
    #[inline]
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        each!(self, d => d.dequeue(cx))
    }
    #[inline]
    fn backlog_bytes(&self) -> u64 {
        each!(self, d => d.backlog_bytes())
    }
    #[inline]
    fn backlog_packets(&self) -> u64 {
        each!(self, d => d.backlog_packets())
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each!(self, d => d.next_timeout())
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        each!(self, d => d.clear(reason, cx))
    }
}

//! What an observer of a run is told of packets.

use forebay_base::{Arena, DropReason, LinkId, NodeId, Packet, Time};

/// Where a packet is and what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// A host made it.
    Sent(NodeId),
    /// It came to the queue of a link.
    Offered(LinkId),
    /// It was serialised on the link and arrived at its far end.
    Arrived(LinkId),
    /// It ended: at this node, for this reason.
    Dropped(NodeId, DropReason),
    /// The forwarding of this node holds it.
    Held(NodeId),
}

/// Is told of every packet event, if a run has one. Sees, changes nothing.
pub trait Observer: Send {
    /// `event` happens to `packet` at `now`.
    fn on_packet(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena);
}

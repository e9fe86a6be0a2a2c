//! The interface between the fabric and its driver, which owns the clock.

use crate::early_transit::Guards;
use crate::host::EndId;
use forebay_base::{Arena, DropReason, LinkId, NodeId, Packet, Signature, Time};

/// Things that may wait for a time. Each is armed for at most one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Deadline {
    /// The first packet on the wire of a link arrives: [`crate::Fabric::take_arrival`].
    Arrival(LinkId),
    /// A transmission ends, or the interface of a host has room: [`crate::Fabric::on_transmitter`].
    Transmitter(LinkId),
    /// The forwarding of a router: [`crate::Fabric::on_router`].
    Router(NodeId),
    /// One end of a flow: [`crate::Fabric::on_socket`].
    Socket(EndId),
}

/// Where a packet is and what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// Not `non_exhaustive`: forebay-run has words for each, and must not compile without those of a
// new one.
pub enum PacketEvent {
    /// This node made it: a host, or a router one of its own.
    Sent(NodeId),
    /// The queue of a link took it, or its transmission began at once. A packet that is refused,
    /// or dropped on arrival, has only [`PacketEvent::Dropped`] or [`PacketEvent::Held`].
    Queued(LinkId),
    /// It was serialised on the link and arrived at its far end.
    Arrived(LinkId),
    /// It was dropped for this reason: at this node, in the queue of one of its ports, or on a link
    /// that leaves it.
    Dropped(NodeId, DropReason),
    /// The forwarding of this node holds it. The packet is shown as it came.
    Held(NodeId),
}

/// Owns the clock and the pending events. The fabric knows neither.
pub trait Driver {
    /// Arm `deadline` for `at`, which is earlier than the time it was armed for, if it was armed.
    /// The driver may drop or keep the old event: [`crate::Fabric::due`] says which one counts.
    fn arm(&mut self, deadline: Deadline, at: Time);
    /// True if [`Driver::observe`] looks at packets. Called once.
    fn observes(&self) -> bool {
        false
    }
    /// True if the fabric may be given a horizon: see [`crate::Fabric::extend_horizon`]. Called
    /// once.
    fn looks_ahead(&self) -> bool {
        false
    }
    /// The conditions of early transit that hold: all of them, but in a test that switches one off
    /// and looks whether anything notices. They must be those with which the network was built.
    #[doc(hidden)]
    #[inline(always)]
    fn guards(&self) -> Guards {
        Guards::ALL
    }
    /// True if [`Driver::passed`] looks at signatures.
    #[inline]
    fn signs(&self) -> bool {
        false
    }
    /// A packet arrives over `link` at `at`, which may be in the future. Called if there is no
    /// observer: the signature and the time to live are all that is known of the packet.
    #[inline]
    fn passed(&mut self, _at: Time, _link: LinkId, _signature: Signature, _ttl: u8) {}
    /// `event` happens to `packet` at `now`.
    #[inline]
    fn observe(&mut self, _now: Time, _event: PacketEvent, _packet: &Packet, _arena: &Arena) {}
}

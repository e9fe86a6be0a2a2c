//! Observers of a run.

use forebay_base::{Arena, Packet, Time};
use forebay_net::PacketEvent;

/// Receives every packet event. Cannot change anything.
pub trait Observer: Send {
    /// `event` happens to `packet` at `now`.
    fn on_packet(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena);
}

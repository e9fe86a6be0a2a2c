//! Who looks on.

use forebay_base::{Arena, Packet, Time};
use forebay_net::PacketEvent;

/// Is told of every packet event, if a run has one. Sees, changes nothing.
pub trait Observer: Send {
    /// `event` happens to `packet` at `now`.
    fn on_packet(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena);
}

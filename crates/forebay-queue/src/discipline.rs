//! The second stage of a port: order, mark and drop.

use crate::port::PortContext;
use forebay_base::{Arena, DropReason, Packet, Rate, Time};

/// A packet that a full queue did not take.
#[derive(Debug)]
pub struct Overflow(pub Packet);

/// Holds packets until the transmitter has room. Packets carry their arrival time in
/// [`Packet::hop_time`].
///
/// A discipline ends a packet only through [`PortContext::drop_packet`], and marks only through
/// [`PortContext::mark`].
pub trait Discipline: Send {
    /// Take a packet, or give it back because there is no room: forwarding may then cache it, or
    /// the port drops it as [`DropReason::Full`]. A discipline that makes room by dropping another
    /// packet does so itself.
    fn enqueue(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow>;
    /// True if a packet of `wire_len` bytes would be taken now without a drop.
    fn has_room(&self, wire_len: u16) -> bool;
    /// The link can carry a packet now (of a delivery trace: an opportunity has come): the next one
    /// to send, if any is due. `cx.now` is when its transmission starts, also where the driver woke
    /// late.
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet>;
    /// Bytes held.
    fn backlog_bytes(&self) -> u64;
    /// Packets held.
    fn backlog_packets(&self) -> u64;
    /// When [`Discipline::on_timeout`] is due: a parameter is computed anew, or a packet becomes
    /// due although none arrives. May change in every `&mut self` method. None while nothing is
    /// held and nothing will change, so that an idle network comes to rest.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// The time asked for has come; it is `cx.now`. Early calls do nothing. Afterwards
    /// [`Discipline::next_timeout`] is later, and the port tries [`Discipline::dequeue`] if the
    /// link can carry a packet.
    fn on_timeout(&mut self, _cx: &mut PortContext<'_>) {}
    /// The link runs at `rate` from `now` on. Called when the port is built, and at each change.
    fn set_rate(&mut self, _now: Time, _rate: Rate) {}
    /// True if a packet that finds nothing waiting may leave as it came, unseen by
    /// [`Discipline::enqueue`] and [`Discipline::dequeue`], and if there are no timers. Asked once.
    fn passes_at_once(&self) -> bool {
        false
    }
    /// True if [`Discipline::note_passing`] is to be called for such packets. Asked once.
    fn notes_passing(&self) -> bool {
        false
    }
    /// `packet` passes at once: nothing waits.
    fn note_passing(&mut self, _packet: &Packet, _arena: &Arena) {}
    /// Give what it has computed by `now` to `see`, each number under a name that ends in its unit
    /// (`red_average_packets`), the same names each time: for series and tests, never fed back.
    fn publish(&self, _now: Time, _see: &mut dyn FnMut(&'static str, f64)) {}
    /// Give up everything held, for `reason`: a node restarted.
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>);
}

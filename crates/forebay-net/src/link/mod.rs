//! One direction of a link: a queue, a transmitter, and a wire of fixed delay.
//!
//! [`FifoLink`] computes the departure of a packet when it is queued: one event per packet, and one
//! more for each that is lost. It needs a constant rate, a drop-tail queue, and departures that
//! nothing can cancel. [`QueuedLink`] takes any pipeline and any channel, and may fail: two events
//! per packet. Where both are legal their results are the same.

mod fates;
mod fifo;
mod impairment;
mod lateness;
mod middlebox;
mod queued;
mod recording;
mod stats;
mod wire;

pub use fifo::FifoLink;
pub(crate) use fifo::UpstreamGate;
pub use impairment::{Impairment, LossModel};
pub use lateness::{Buckets, Lateness};
pub use middlebox::{Fragments, MiddleboxCounts, MiddleboxSpec, StripOptions};
pub use queued::{Outage, QueuedLink};
pub use stats::LinkStats;
pub use wire::WireSpec;

use alloc::boxed::Box;
use forebay_base::{Arena, Packet, PacketRing, PacketTransfer, Rate, Span, Time};
use forebay_queue::{Overflow, PortContext};

/// A link of either kind. Nearly all links of a big network are of the first kind, which is inline
/// because every hop touches it.
#[allow(clippy::large_enum_variant)]
pub enum AnyLink {
    /// Departures are known when packets are queued.
    Fifo(FifoLink),
    /// Any queue, any channel.
    Queued(Box<QueuedLink>),
}

macro_rules! each {
    ($self:expr, $l:ident => $call:expr) => {
        match $self {
            AnyLink::Fifo($l) => $call,
            AnyLink::Queued($l) => $call,
        }
    };
}

impl AnyLink {
    /// Queue a packet. If there is no room it comes back.
    #[inline]
    pub fn offer(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        self.offer_since(packet, cx.now, cx)
    }
    /// The same for a packet that its node has held since `queued_at`: its wait counts from then.
    #[inline]
    pub fn offer_since(
        &mut self,
        packet: Packet,
        queued_at: Time,
        cx: &mut PortContext<'_>,
    ) -> Result<(), Overflow> {
        match self {
            AnyLink::Fifo(l) => {
                l.on_transmitter(cx); // what ends now has ended
                l.offer(packet, cx.now)
            }
            AnyLink::Queued(l) => l.offer(packet, queued_at, cx),
        }
    }
    /// When the first packet arrives, of those on the wire and, where there is no delay, in
    /// transmission. May change in every `&mut self` method.
    #[inline(always)]
    pub fn next_arrival(&self) -> Option<Time> {
        each!(self, l => l.next_arrival())
    }
    /// The first packet on the wire.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<&Packet> {
        each!(self, l => l.first())
    }
    /// The first packet on the wire, if it has arrived by `now`.
    #[inline(always)]
    pub(crate) fn first_arrived(&self, now: Time) -> Option<&Packet> {
        each!(self, l => l.first_arrived(now))
    }
    /// The ring from which packets arrive, the first first.
    #[inline(always)]
    pub(crate) fn wire_mut(&mut self) -> &mut PacketRing {
        each!(self, l => l.wire_mut())
    }
    /// The packet that has arrived by `now`, if there is one; in order of arrival.
    #[inline]
    pub fn take_arrival(&mut self, now: Time) -> Option<Packet> {
        each!(self, l => l.take_arrival(now))
    }
    /// Move all packets on the wire into `transfer`, in order of arrival, which is their hop time.
    /// For a link whose far end is in another partition.
    pub fn export(&mut self, transfer: &mut PacketTransfer, arena: &mut Arena) {
        each!(self, l => l.export(transfer, arena))
    }
    /// See [`QueuedLink::is_newly_deferred`].
    #[inline]
    pub(crate) fn is_newly_deferred(&mut self) -> bool {
        match self {
            AnyLink::Fifo(_) => false,
            AnyLink::Queued(l) => l.is_newly_deferred(),
        }
    }
    /// When [`AnyLink::on_transmitter`] is due.
    #[inline]
    pub fn next_transmitter(&self) -> Option<Time> {
        each!(self, l => l.next_transmitter())
    }
    /// A transmission ended, an opportunity to start one has come, or a timer of the pipeline is
    /// due. Early calls do nothing.
    pub fn on_transmitter(&mut self, cx: &mut PortContext<'_>) {
        each!(self, l => l.on_transmitter(cx))
    }
    /// Packets that wait for transmission.
    pub fn waiting_packets(&mut self, now: Time) -> u64 {
        each!(self, l => l.waiting_packets(now))
    }
    /// Bytes that wait for transmission.
    pub fn waiting_bytes(&self, now: Time) -> u64 {
        each!(self, l => l.waiting_bytes(now))
    }
    /// When the first packet that waits may start transmission, if that is known.
    pub fn next_start(&self) -> Option<Time> {
        each!(self, l => l.next_start())
    }
    /// True if a packet of `wire_len` bytes would be queued now without a drop.
    pub fn has_room(&self, wire_len: u16, now: Time) -> bool {
        each!(self, l => l.has_room(wire_len, now))
    }
    /// True if nothing waits or is in transmission: a packet that is offered starts at once, or at
    /// the next opportunity of a delivery trace.
    pub fn is_idle(&self, now: Time) -> bool {
        each!(self, l => l.is_idle(now))
    }
    /// True if many packets may leave at one time: its feeder keeps its queue full.
    pub fn takes_bursts(&self) -> bool {
        match self {
            AnyLink::Fifo(_) => false,
            AnyLink::Queued(l) => l.takes_bursts(),
        }
    }
    /// False while the link is down.
    pub fn is_up(&self) -> bool {
        match self {
            AnyLink::Fifo(_) => true,
            AnyLink::Queued(l) => l.is_up(),
        }
    }
    /// How long a packet is on the wire, without what impairments add.
    pub fn delay(&self) -> Span {
        each!(self, l => l.delay())
    }
    /// The rate now.
    pub fn rate(&self, now: Time) -> Rate {
        each!(self, l => l.rate(now))
    }
    /// What the scheme of its port publishes, each number under its name.
    pub fn publish(&self, now: Time, see: &mut dyn FnMut(&'static str, f64)) {
        match self {
            AnyLink::Fifo(_) => {}
            AnyLink::Queued(l) => l.publish(now, see),
        }
    }
    /// Counts and times until `now`.
    pub fn stats(&self, now: Time) -> LinkStats {
        each!(self, l => l.stats(now))
    }
    /// Time spent transmitting until `now`.
    pub fn busy(&self, now: Time) -> Span {
        each!(self, l => l.busy(now))
    }
    /// Bytes transmitted by `now`, per-packet overhead included. The packet in transmission counts
    /// by the share of its time that has passed. A failure that cuts off a packet reduces the
    /// count.
    pub fn transmitted_bytes(&self, now: Time) -> u64 {
        each!(self, l => l.transmitted_bytes(now))
    }
    /// Packets whose transmission has ended by `now`.
    pub fn serialized_packets(&self, now: Time) -> u64 {
        each!(self, l => l.serialized_packets(now))
    }
    /// Packets in the queue, in transmission and on the wire.
    pub fn held_packets(&self) -> u64 {
        each!(self, l => l.held_packets())
    }
    /// What the middlebox on it did.
    pub fn middlebox(&self) -> MiddleboxCounts {
        match self {
            AnyLink::Fifo(_) => MiddleboxCounts::default(),
            AnyLink::Queued(l) => l.middlebox(),
        }
    }
    /// True if departures are known when packets are queued.
    #[inline]
    pub fn is_fifo(&self) -> bool {
        matches!(self, AnyLink::Fifo(_))
    }
    /// The link as one that may fail and change. None if it was built as FIFO.
    pub fn as_queued(&mut self) -> Option<&mut QueuedLink> {
        match self {
            AnyLink::Fifo(_) => None,
            AnyLink::Queued(l) => Some(l),
        }
    }
}

//! The first and the last stage of a port, which belong together: what a scheme measures where
//! packets arrive, and what it does to packets that leave. One machine has both, and they share
//! its state.

use crate::lanes::Division;
use crate::port::{Backlog, PortContext, PortInit};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use forebay_base::{Arena, IpVersion, Packet, Params, Rate, Time, cut_ipv4, cut_ipv6};

/// Packets that leave right after the first one that an egress returns, adjacent on the wire,
/// before anything else that waits.
pub struct TrailingPackets<'a> {
    packets: &'a mut VecDeque<Packet>,
    queued_at: Time,
}

impl<'a> TrailingPackets<'a> {
    /// Maximum number of packets that may leave after the first.
    pub const MOST: usize = 3;

    /// Packets put here go into this list, as if it had come at `queued_at`.
    #[inline]
    pub(crate) fn new(packets: &'a mut VecDeque<Packet>, queued_at: Time) -> TrailingPackets<'a> {
        TrailingPackets { packets, queued_at }
    }
    /// The next of them: cut off from the packet that leaves. Panics if there are
    /// [`TrailingPackets::MOST`] already.
    #[inline]
    pub fn push(&mut self, mut packet: Packet) {
        assert!(
            self.packets.len() < TrailingPackets::MOST,
            "an egress gives a short list of packets"
        );
        packet.set_hop_time(self.queued_at);
        self.packets.push_back(packet);
    }
    /// Cut `packet` after `lead_bytes` of its IP payload: returns the first fragment, and
    /// [pushes](TrailingPackets::push) the tail. Err(it, whole) if it cannot be cut so: see
    /// [`cut_ipv4`].
    pub fn cut(
        &mut self,
        packet: Packet,
        lead_bytes: u16,
        arena: &mut Arena,
    ) -> Result<Packet, Packet> {
        let (lead, tail) = cut_ipv4(packet, lead_bytes, arena).map_err(|uncut| uncut.packet)?;
        self.push(tail);
        Ok(lead)
    }
    /// The same with a packet of IPv6, and the identification of the Fragment header that is put
    /// in: see [`cut_ipv6`].
    pub fn cut_v6(
        &mut self,
        packet: Packet,
        insert: Option<u32>,
        lead_bytes: u16,
        arena: &mut Arena,
    ) -> Result<Packet, Packet> {
        let cut = cut_ipv6(packet, lead_bytes, insert, arena);
        let (lead, tail) = cut.map_err(|uncut| uncut.packet)?;
        self.push(tail);
        Ok(lead)
    }
}

/// Meter and egress of one port: one scheme measures and writes rates, another measures and cuts.
pub trait PortScheme: Send {
    /// A packet arrives at the port, before any drop: read it, and change what routers may change.
    /// `queue` is what waits, without it.
    fn on_arrival(&mut self, packet: &mut Packet, queue: Backlog, cx: &mut PortContext<'_>);
    /// How the discipline and a queue for listeners beside it divide the port; None: there is no
    /// such queue, now and ever.
    fn division(&self) -> Option<&Division> {
        None
    }
    /// The same, to count in what leaves.
    fn division_mut(&mut self) -> Option<&mut Division> {
        None
    }
    /// False if [`PortScheme::leave`] would do nothing with this packet, or for it.
    fn touches(&self, _packet: &Packet, _now: Time) -> bool {
        true
    }
    /// `packet` is next on the transmitter, and `queue` is what waits after it. The returned packet
    /// leaves first, then those pushed to `behind`: each of these counts as made by cutting.
    fn leave(
        &mut self,
        packet: Packet,
        behind: &mut TrailingPackets<'_>,
        queue: Backlog,
        cx: &mut PortContext<'_>,
    ) -> Packet;
    /// When [`PortScheme::on_timeout`] is due. None while nothing arrives and nothing waits, so
    /// that an idle network comes to rest.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// The time asked for has come. Early calls do nothing.
    fn on_timeout(&mut self, _now: Time, _queue: Backlog) {}
    /// The link runs at `rate` from `now` on. Everything that was due by `now` has been done.
    /// Called when the port is built, and at each change.
    fn set_rate(&mut self, _now: Time, _rate: Rate) {}
    /// Give what it has computed by `now` to `see`, each number under a name that ends in its unit
    /// (`rcp_rate_bps`): for series and tests, never fed back.
    fn publish(&self, _now: Time, _see: &mut dyn FnMut(&'static str, f64)) {}
}

/// A large machine is boxed, so that ports without it stay small.
impl<S: PortScheme + ?Sized> PortScheme for Box<S> {
    #[inline]
    fn on_arrival(&mut self, packet: &mut Packet, queue: Backlog, cx: &mut PortContext<'_>) {
        (**self).on_arrival(packet, queue, cx);
    }
    #[inline]
    fn division(&self) -> Option<&Division> {
        (**self).division()
    }
    #[inline]
    fn division_mut(&mut self) -> Option<&mut Division> {
        (**self).division_mut()
    }
    #[inline]
    fn touches(&self, packet: &Packet, now: Time) -> bool {
        (**self).touches(packet, now)
    }
    #[inline]
    fn leave(
        &mut self,
        packet: Packet,
        behind: &mut TrailingPackets<'_>,
        queue: Backlog,
        cx: &mut PortContext<'_>,
    ) -> Packet {
        (**self).leave(packet, behind, queue, cx)
    }
    fn next_timeout(&self) -> Option<Time> {
        (**self).next_timeout()
    }
    fn on_timeout(&mut self, now: Time, queue: Backlog) {
        (**self).on_timeout(now, queue);
    }
    fn set_rate(&mut self, now: Time, rate: Rate) {
        (**self).set_rate(now, rate);
    }
    fn publish(&self, now: Time, see: &mut dyn FnMut(&'static str, f64)) {
        (**self).publish(now, see);
    }
}

/// The parameters of a scheme.
pub trait SchemeParams: Params + Send + Sync + 'static {
    /// The machine that they are for.
    type Port: PortScheme + 'static;
    /// The machine of one port. The parameters are within their ranges.
    fn build(&self, init: PortInit) -> Self::Port;
    /// On which links it can do its work; None: on all.
    fn carries(&self, _version: IpVersion) -> Option<Carries> {
        None
    }
}

/// Links on which a port scheme can do its work.
#[derive(Clone, Copy, Debug)]
pub struct Carries {
    /// The lowest rate.
    pub least_rate: Rate,
    /// The highest rate.
    pub most_rate: Rate,
    /// The length of packets with which it has something to do, in bytes. An MTU below leaves it
    /// none.
    pub packet_bytes: u16,
    /// Which of its parameters says so.
    pub key: &'static str,
    /// Why.
    pub why: &'static str,
    /// Flows that listen to it wait beside the discipline: see [`PortScheme::division`].
    pub beside: bool,
}

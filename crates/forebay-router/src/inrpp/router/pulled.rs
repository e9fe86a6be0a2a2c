//! Packets that leave a cache: over their own link, or round it.

use super::{Inrpp, Port};
use crate::forwarding::NodeContext;
use crate::inrpp::detour::Lag;
use crate::inrpp::signals::set_tag;
use forebay_base::{DropReason, Packet, PortId, Time};
use forebay_signal::inrpp::{DETOUR_TAG_BYTES, DetourTag};

/// Routers that a packet may pass between leaving the direct way and coming back to it.
const DETOUR_BUDGET: u8 = 1;

impl Inrpp {
    /// The next packet for the interface of `port` itself.
    pub(super) fn pull_own(&mut self, port: PortId, cx: &mut NodeContext<'_>) -> Option<Packet> {
        let out = &mut self.ports[port.index()];
        let data_waits = out.interface.has_eligible();
        if !(data_waits && out.express.yields())
            && let Some(packet) = out.express.pop()
        {
            if data_waits {
                out.express.sent(packet.wire_len());
            }
            out.express.passed(cx.now, cx.ports.rate(port), packet.wire_len());
            return Some(packet);
        }
        let (flow, cached) = out.interface.pull(cx.now, &mut self.rng)?;
        out.express.data_sent(cached.wire_len);
        let mut packet = cached.what;
        if let Some(ack) = out.express.outdated_by(&packet, cx.arena) {
            cx.drops.record(ack, DropReason::AckReplaced, cx.arena);
        }
        self.notify(port, flow, &mut packet, cx);
        self.guard.sign(cx.now, port, &packet, cx.arena);
        self.count_sent(port, flow, packet.wire_len(), packet.payload_len(), cx.now);
        self.after(port, cx);
        self.wake_detours(port, cx);
        Some(packet)
    }
    /// The next packet of another interface that takes a detour through `port`.
    pub(super) fn pull_detour(&mut self, port: PortId, cx: &mut NodeContext<'_>) -> Option<Packet> {
        let max_wire_len = cx.ports.mtu_bytes(port).saturating_sub(DETOUR_TAG_BYTES);
        self.ports[port.index()].detour_bytes = max_wire_len;
        let primary = self.due(cx.now, port)?;
        let from = &mut self.ports[primary.index()];
        let (flow, cached) = from
            .interface
            .pull_for_detour(cx.now, max_wire_len, &mut self.rng)
            .expect("it was seen to have one");
        let mut packet = cached.what;
        let next_hop = from.neighbour.expect("detours lead to routers");
        set_tag(&mut packet, Some(DetourTag { next_hop, budget: DETOUR_BUDGET }), cx.arena);
        let payload_len = packet.payload_len();
        from.log.left(flow, cached.wire_len, payload_len, self.settings.flow_totals);
        from.log.detoured_bytes += cached.wire_len as u64;
        if self.settings.pooled_turns {
            from.interface.note_sent(cx.now, flow, cached.wire_len);
        }
        let wire_len = packet.wire_len();
        self.detours.sent(cx.now, port, wire_len);
        self.detours.charge(cx.now, primary, port, wire_len);
        self.notify(primary, flow, &mut packet, cx);
        self.guard.sign(cx.now, port, &packet, cx.arena);
        self.after(primary, cx);
        Some(packet)
    }
    /// The next primary that may send over `port` now and has a packet for it.
    pub(super) fn due(&self, now: Time, port: PortId) -> Option<PortId> {
        let max_wire_len = self.ports[port.index()].detour_bytes;
        let able = |primary: &PortId| {
            let Port { interface, push_room_bytes, .. } = &self.ports[primary.index()];
            // Before what waits here there is the whole queue of the link, or no link.
            let comes_last = *push_room_bytes == u64::MAX || !self.detours.is_up(*primary);
            let waits_longer = comes_last
                || match self.detours.lag(now, *primary, port) {
                    Lag::TooLong => false,
                    Lag::Bytes(bytes) => interface.cache_bytes() > bytes,
                    Lag::Capped(bytes) => interface.is_worth_a_detour(bytes),
                };
            waits_longer && interface.has_eligible_for_detour(max_wire_len)
        };
        self.detours.due_for(now, port).find(able)
    }
}

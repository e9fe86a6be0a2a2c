//! Packets that go from the ring of a link into a cache.

use super::{Inrpp, flow_of, is_express, is_pushed_enough};
use crate::forwarding::{NodeContext, Verdict};
use crate::inrpp::signals::Signals;
use forebay_base::{Kind, PacketRing};

impl Inrpp {
    /// See [`crate::Forwarding::keep_first`]: what takes its turn at its port and says nothing to
    /// this router, where others wait, its flow is held, or the queue of the link has enough.
    pub(super) fn keep_first_of(
        &mut self,
        ring: &mut PacketRing,
        cx: &mut NodeContext<'_>,
    ) -> bool {
        let Some(packet) = ring.front() else { return false };
        let (ttl, wire_len) = (packet.ttl(), packet.wire_len());
        if packet.kind() != Kind::Tcp || ttl <= 1 || is_express(packet) {
            return false;
        }
        // Without these there is no code to check, and none to write.
        let signals = Signals::of(packet, cx.arena);
        if signals.back_pressure.is_some() || signals.notice.is_some() || signals.tag.is_some() {
            return false;
        }
        let Some(port) = cx.routes.port(cx.node, packet) else { return false };
        let (flow, echo) = flow_of(packet, &signals, false);
        let out = &mut self.ports[port.index()];
        // As in `pass`.
        let waits = !out.express.is_empty()
            || !out.interface.passes(flow, echo)
            || is_pushed_enough(out, flow, wire_len, || cx.ports.backlog_bytes(port));
        if !waits || wire_len > out.mtu_bytes {
            return false;
        }
        let Some(mut packet) = ring.pop_front() else { return false };
        packet.set_ttl(ttl - 1);
        out.log.offered_bytes += u64::from(wire_len);
        match self.keep(port, flow, echo, packet, cx) {
            Verdict::Drop(packet, reason) => cx.drops.record(packet, reason, cx.arena),
            verdict => debug_assert!(matches!(verdict, Verdict::Held), "kept or dropped"),
        }
        true
    }
}

//! Plain IP forwarding: decrement the TTL, look up the destination, queue.

use crate::forwarding::{Forwarding, NodeContext, Verdict};
use forebay_base::{DropReason, Packet, PortId};

/// Plain IP forwarding. Holds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainIp;

impl Forwarding for PlainIp {
    #[inline]
    fn on_packet(&mut self, _: PortId, mut packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        if !packet.decrement_ttl() {
            return Verdict::Drop(packet, DropReason::Ttl);
        }
        match cx.routes.port(cx.node, packet.dst()) {
            Some(port) => Verdict::Forward(port, packet),
            None => Verdict::Drop(packet, DropReason::NoRoute),
        }
    }
}

//! Plain IP forwarding: decrement the TTL, look up the destination, queue.

use crate::forwarding::{Forwarding, NodeContext, Sends, Verdict};
use crate::routes::Routes;
use forebay_base::{DropReason, NodeId, Packet, PortId};

/// Plain IP forwarding. Holds nothing, asks for no time.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainIp;

impl PlainIp {
    /// All there is to it: the port for `packet` at `node`, its TTL decremented; or why it ends
    /// there.
    #[inline]
    pub fn route(
        &self,
        node: NodeId,
        packet: &mut Packet,
        routes: &Routes,
    ) -> Result<PortId, DropReason> {
        if !packet.decrement_ttl() {
            return Err(DropReason::Ttl);
        }
        routes.port(node, &*packet).ok_or(DropReason::NoRoute)
    }
}

impl Forwarding for PlainIp {
    fn holds_packets(&self) -> bool {
        false
    }
    fn sends(&self, _: PortId) -> Sends {
        Sends::Routed
    }
    #[inline]
    fn on_packet(&mut self, _: PortId, mut packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        match self.route(cx.node, &mut packet, cx.routes) {
            Ok(port) => Verdict::Forward(port, packet),
            Err(reason) => Verdict::Drop(packet, reason),
        }
    }
}

//! The machine inside a node that decides where a packet goes, and that may hold it.

use crate::routes::Routes;
use alloc::vec::Vec;
use core::any::Any;
use forebay_base::{
    Arena, DropLog, DropReason, IpVersion, NodeId, Packet, PacketRing, Params, PortId, Rate, Rng,
    Span, Time,
};

/// View of the ports of its node for forwarding.
pub trait Ports {
    /// Bytes that wait in the queue of a port, the packet in service not counted.
    fn backlog_bytes(&self, port: PortId) -> u64;
    /// True if the queue of a port would take a packet of `wire_len` bytes now.
    fn has_room(&self, port: PortId, wire_len: u16) -> bool;
    /// The rate of a port's link.
    fn rate(&self, port: PortId) -> Rate;
    /// Propagation delay of a port's link.
    fn delay(&self, port: PortId) -> Span;
    /// Longest IP packet that a port's link takes, in bytes.
    fn mtu_bytes(&self, port: PortId) -> u16;
    /// True if a packet for that link would start at once.
    fn is_idle(&self, port: PortId) -> bool;
    /// False while that link is down.
    fn is_up(&self, port: PortId) -> bool;
}

/// What forwarding asks of the driver after a call.
#[derive(Debug, Default)]
pub struct Work {
    /// Ports that may now have work: the driver calls [`Forwarding::pull`] for each that has room.
    pub ready: Vec<PortId>,
    /// Packets of the node's own (probes, neighbour lists) to queue at a port.
    pub send: Vec<(PortId, Packet)>,
}

/// What forwarding works with during one call.
pub struct NodeContext<'a> {
    /// Now.
    pub now: Time,
    /// The node.
    pub node: NodeId,
    /// Where the cold parts of packets are.
    pub arena: &'a mut Arena,
    /// Where drops are counted.
    pub drops: &'a mut DropLog,
    /// The routes of the network.
    pub routes: &'a Routes,
    /// The ports of the node.
    pub ports: &'a dyn Ports,
    /// Work for the driver afterwards.
    pub work: &'a mut Work,
}

/// What a port of a router leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouterPort {
    /// Rate of the link at the start.
    pub rate: Rate,
    /// Longest IP packet that the link takes, in bytes.
    pub mtu_bytes: u16,
    /// Room of its queue in bytes; of one limited in packets, for packets of 1500 bytes.
    pub queue_bytes: u64,
    /// True if that is what packets find there: it is a FIFO queue that drops only when it is full.
    pub drop_tail: bool,
    /// The node at its other end, if that is a router of the same kind.
    pub neighbour: Option<NodeId>,
    /// True if it is a router of another kind.
    pub foreign: bool,
}

/// Inputs to build a router.
#[derive(Clone, Debug)]
pub struct RouterInit<'a> {
    /// The node.
    pub node: NodeId,
    /// Its ports, in order.
    pub ports: &'a [RouterPort],
    /// IP version of the network.
    pub version: IpVersion,
    /// Random numbers for this router alone.
    pub rng: Rng,
}

/// Configuration of a kind of router.
pub trait RouterSettings: Params + Send + Sync + 'static {
    /// The machine that it is for.
    type Router: Forwarding;
    /// The machine of one node. The settings are within their ranges.
    fn build(&self, init: RouterInit<'_>) -> Self::Router;
    /// Maximum bytes that it holds in addition to the queue of a port of that rate: for memory
    /// estimates.
    fn cache_bytes(&self, _port: PortId, _rate: Rate) -> u64 {
        0
    }
    /// It sends what it has too much of over its neighbours, and lets them do so over it.
    fn detours(&self) -> bool {
        false
    }
    /// Count what each flow has had of each port: for figures, it may cost a look-up per packet.
    fn count_per_flow(&mut self) {}
}

/// What to do with a packet.
#[derive(Debug)]
pub enum Verdict {
    /// Queue it at this port.
    Forward(PortId, Packet),
    /// Forwarding keeps it.
    Held,
    /// It was for this node.
    Consumed(Packet),
    /// It ends here.
    Drop(Packet, DropReason),
}

/// Which packets forwarding may send through a port. Early transit asks it once, when a network is
/// built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Those that came to the node and that its routes send there, and no others.
    Routed,
    /// Any that came to the node. Those of its own, if it makes any, end at the port's neighbour.
    Passing,
    /// Any, also packets of its own for any address.
    Any,
}

/// Owns the caches of one node.
pub trait Forwarding: Any + Send {
    /// False if it never keeps a packet: it gives no [`Verdict::Held`] and puts no port into
    /// [`Work::ready`]. The links of its ports may then be of the simple kind, whose departures
    /// are known when packets are queued. Asked once, when a network is built.
    fn holds_packets(&self) -> bool {
        true
    }
    /// Which packets it may send through `port`. Asked once, when a network is built.
    fn sends(&self, _port: PortId) -> Sends {
        Sends::Any
    }
    /// A packet came in on `in_port`. TTL and routes are this machine's business.
    fn on_packet(&mut self, in_port: PortId, packet: Packet, cx: &mut NodeContext<'_>) -> Verdict;
    /// The same for a packet that stays where it lies, if it goes on at once and nothing of it
    /// changes but its TTL, which the driver lowers by one, and bytes of options that are there.
    /// None, and nothing has been done, if [`Forwarding::on_packet`] must see to it.
    ///
    /// It does what `on_packet` would have done: drivers may ask it or not.
    fn forward_in_place(
        &mut self,
        _in_port: PortId,
        _packet: &Packet,
        _cx: &mut NodeContext<'_>,
    ) -> Option<PortId> {
        None
    }
    /// [`Forwarding::forward_in_place`] has given None for the first packet of `ring`. Take it out
    /// and keep it, if [`Forwarding::on_packet`] would do that and nothing else. False, and nothing
    /// has been done, if that must see to it.
    fn keep_first(&mut self, _ring: &mut PacketRing, _cx: &mut NodeContext<'_>) -> bool {
        false
    }
    /// The queue of `port` did not take a packet that this machine forwarded there: hold it or drop
    /// it.
    fn on_overflow(&mut self, _port: PortId, packet: Packet, _cx: &mut NodeContext<'_>) -> Verdict {
        Verdict::Drop(packet, DropReason::Full)
    }
    /// `port` has room and its queue is empty: the next packet for it from the caches.
    fn pull(&mut self, _port: PortId, _cx: &mut NodeContext<'_>) -> Option<Packet> {
        None
    }
    /// True if [`Forwarding::pull`] would give a packet for `port` now. After each call the driver
    /// asserts, in debug builds, that no idle port has one.
    fn has_eligible(&self, _port: PortId, _now: Time) -> bool {
        false
    }
    /// Packets held.
    fn held_packets(&self) -> u64 {
        0
    }
    /// Bytes held for `port`.
    fn held_bytes(&self, _port: PortId) -> u64 {
        0
    }
    /// When `on_timeout` is due. May change in every `&mut self` method.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// The time asked for has come. Early calls do nothing, late ones are legal.
    fn on_timeout(&mut self, _cx: &mut NodeContext<'_>) {}
    /// The link of `port` went down or up, in both directions.
    fn on_link(&mut self, _port: PortId, _up: bool, _cx: &mut NodeContext<'_>) {}
    /// The node restarts: everything held and learnt is lost.
    fn restart(&mut self, _cx: &mut NodeContext<'_>) {}
}

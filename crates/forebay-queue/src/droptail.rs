//! Drop-tail (RFC 7567 section 2): first in, first out, and what does not fit is refused.
//!
//! A queue limited in bytes takes a packet if and only if backlog + length <= limit, so it favours
//! small packets; one that is limited in packets counts packets of any size alike. The limit is
//! written with its unit: "64kB"; "100packets"; "50ms", the bytes that the link sends in that time;
//! { limit = "1BDP", rtt = "100ms" }, the bytes of rate x rtt.
//!
//! Differs from the bfifo and pfifo of Linux in: the packet in transmission is not counted, nor any
//! that a driver holds.

use crate::ParamError;
use crate::discipline::{Discipline, Overflow};
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::port::{PortContext, PortInit};
use forebay_base::{DropReason, Packet};
use serde::{Deserialize, Serialize};

/// Drop-tail has no parameters besides its limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Params {
    /// There is nothing to be wrong.
    pub fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

/// See the module.
#[derive(Debug)]
pub struct DropTail {
    fifo: Fifo,
    limit: Limit,
}

impl DropTail {
    /// An empty queue of a port.
    pub fn new(_: &Params, init: PortInit) -> DropTail {
        DropTail::with_limit(init.limit)
    }
    /// An empty queue.
    pub fn with_limit(limit: Limit) -> DropTail {
        DropTail { fifo: Fifo::default(), limit }
    }
    /// Its limit.
    pub fn limit(&self) -> Limit {
        self.limit
    }
}

impl Discipline for DropTail {
    #[inline]
    fn enqueue(&mut self, packet: Packet, _: &mut PortContext<'_>) -> Result<(), Overflow> {
        if !self.has_room(packet.wire_len()) {
            return Err(Overflow(packet));
        }
        self.fifo.push(packet);
        Ok(())
    }
    #[inline]
    fn has_room(&self, wire_len: u16) -> bool {
        self.limit.admits(wire_len, self.fifo.packets(), self.fifo.bytes())
    }
    #[inline]
    fn dequeue(&mut self, _: &mut PortContext<'_>) -> Option<Packet> {
        self.fifo.pop()
    }
    #[inline]
    fn backlog_bytes(&self) -> u64 {
        self.fifo.bytes()
    }
    #[inline]
    fn backlog_packets(&self) -> u64 {
        self.fifo.packets()
    }
    fn passes_at_once(&self) -> bool {
        true
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.fifo.clear(reason, cx);
    }
}

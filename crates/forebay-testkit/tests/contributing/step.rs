//! Step marking: a packet that finds `mark_packets` or more waiting is marked.
//!
//! The queue of a switch for DCTCP: RFC 8257 (doi:10.17487/RFC8257) section 3.1. Q is the number of
//! packets that wait, K is `mark_packets`:
//!
//! 1. on arrival, CE is set if Q >= K;
//! 2. a packet that does not fit below the limit is refused.
//!
//! Differs from the RFC in: Q does not count the packet in transmission. A packet that is not
//! ECN-capable is queued without a mark, so it may be lost by rule 2 only.

use forebay_base::{DropReason, Packet};
use forebay_queue::require;
use forebay_queue::{Discipline, Fifo, Limit, Overflow, ParamError, PortContext, PortInit};
use serde::{Deserialize, Serialize};

/// Parameters of step marking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// K: packets that may wait without a mark, at least 1. Alizadeh et al. 2010
    /// (doi:10.1145/1851182.1851192): 20 at 1 Gbit/s, 65 at 10 Gbit/s.
    pub mark_packets: u64,
}

impl Default for Params {
    fn default() -> Params {
        Params { mark_packets: 20 }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require(self.mark_packets >= 1, "mark_packets", "1 or more")
    }
}

/// See the module.
#[derive(Debug)]
pub struct Step {
    fifo: Fifo,
    limit: Limit,
    mark_packets: u64,
}

impl Step {
    /// An empty queue of a port.
    pub fn new(params: &Params, init: PortInit) -> Step {
        Step { fifo: Fifo::default(), limit: init.limit, mark_packets: params.mark_packets }
    }
}

impl Discipline for Step {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        if !self.has_room(packet.wire_len()) {
            return Err(Overflow(packet)); // rule 2
        }
        if self.fifo.packets() >= self.mark_packets {
            cx.mark(&mut packet); // rule 1
        }
        self.fifo.push(packet);
        Ok(())
    }
    fn has_room(&self, wire_len: u16) -> bool {
        self.limit.admits(wire_len, self.fifo.packets(), self.fifo.bytes())
    }
    fn dequeue(&mut self, _: &mut PortContext<'_>) -> Option<Packet> {
        self.fifo.pop()
    }
    fn backlog_bytes(&self) -> u64 {
        self.fifo.bytes()
    }
    fn backlog_packets(&self) -> u64 {
        self.fifo.packets()
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.fifo.clear(reason, cx);
    }
}

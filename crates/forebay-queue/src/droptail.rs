//! Drop-tail: first in, first out, and what does not fit is refused.
//!
//! The packet in service is not counted: it has left the queue when its transmission starts. Byte mode takes a packet if
//! and only if backlog + length <= limit, so it favours small packets; packet mode counts packets of any size alike.

use crate::discipline::{Discipline, Overflow};
use crate::pipeline::PortContext;
use alloc::collections::VecDeque;
use forebay_base::{DropReason, Packet};

#[derive(Debug, Default)]
struct Fifo {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Fifo {
    fn push(&mut self, packet: Packet) {
        self.bytes += packet.wire_len() as u64;
        self.packets.push_back(packet);
    }
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.wire_len() as u64;
        Some(packet)
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        while let Some(packet) = self.pop() {
            cx.drop_packet(packet, reason);
        }
    }
}

macro_rules! drop_tail {
    ($(#[$doc:meta])* $name:ident, $limit:ident, |$fifo:ident, $len:ident, $bound:ident| $room:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name {
            fifo: Fifo,
            $limit: u64,
        }
        impl $name {
            /// An empty queue with the given limit, the packet in service not counted.
            pub fn new($limit: u64) -> Self {
                $name { fifo: Fifo::default(), $limit }
            }
            /// The limit.
            pub fn limit(&self) -> u64 {
                self.$limit
            }
        }
        impl Discipline for $name {
            fn enqueue(&mut self, packet: Packet, _: &mut PortContext<'_>) -> Result<(), Overflow> {
                if !self.has_room(packet.wire_len()) {
                    return Err(Overflow(packet));
                }
                self.fifo.push(packet);
                Ok(())
            }
            fn has_room(&self, $len: u16) -> bool {
                let ($fifo, $bound) = (&self.fifo, self.$limit);
                $room
            }
            fn dequeue(&mut self, _: &mut PortContext<'_>) -> Option<Packet> {
                self.fifo.pop()
            }
            fn backlog_bytes(&self) -> u64 {
                self.fifo.bytes
            }
            fn backlog_packets(&self) -> u64 {
                self.fifo.packets.len() as u64
            }
            fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
                self.fifo.clear(reason, cx);
            }
        }
    };
}

drop_tail!(
    /// Drop-tail limited in bytes.
    DropTailBytes, limit_bytes, |fifo, len, limit| fifo.bytes + len as u64 <= limit
);
drop_tail!(
    /// Drop-tail limited in packets.
    DropTailPackets, limit_packets, |fifo, _len, limit| (fifo.packets.len() as u64) < limit
);

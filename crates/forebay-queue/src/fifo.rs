//! Packets in order of arrival with their bytes counted: what most disciplines keep them in.

use crate::port::PortContext;
use alloc::collections::VecDeque;
use forebay_base::{DropReason, Packet};

/// A queue without a limit.
#[derive(Debug, Default)]
pub struct Fifo {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Fifo {
    /// Append a packet.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.bytes += packet.wire_len() as u64;
        self.packets.push_back(packet);
    }
    /// Take the first packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.wire_len() as u64;
        Some(packet)
    }
    /// The first packet.
    pub fn front(&self) -> Option<&Packet> {
        self.packets.front()
    }
    /// Bytes held.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
    /// Packets held.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }
    /// Drop everything for `reason`.
    pub fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        while let Some(packet) = self.pop() {
            cx.drop_packet(packet, reason);
        }
    }
}

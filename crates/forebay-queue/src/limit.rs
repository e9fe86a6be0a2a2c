//! How much a queue holds.

use core::fmt;

/// The limit of a queue, the packet in transmission not counted. Times and multiples of rate x RTT,
/// which people write, have become bytes where a scenario is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// In bytes, IP headers included: favours small packets.
    Bytes(u64),
    /// In packets of any length.
    Packets(u64),
}

impl Limit {
    /// True if a packet of `wire_len` bytes fits after `packets` packets of `bytes` bytes.
    #[inline]
    pub const fn admits(self, wire_len: u16, packets: u64, bytes: u64) -> bool {
        match self {
            Limit::Bytes(limit) => bytes + wire_len as u64 <= limit,
            Limit::Packets(limit) => packets < limit,
        }
    }
    /// Packets of `packet_bytes` bytes that fit.
    pub const fn packets_of(self, packet_bytes: u64) -> u64 {
        match self {
            Limit::Bytes(limit) => limit / packet_bytes,
            Limit::Packets(limit) => limit,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Limit::Packets(packets) => write!(f, "{packets} packets"),
        }
    }
}

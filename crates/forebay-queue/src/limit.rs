//! How much a queue holds.

use core::fmt;

/// The limit of a queue, the packet in transmission not counted. Times and multiples of rate x RTT,
/// which people write, have become bytes where a scenario is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// In bytes, IP headers included: favours small packets.
    Bytes(u64),
    /// In bytes, of which each packet takes `overhead_bytes` more than its IP length: mahimahi's
    /// queues count the header of the tun device.
    FramedBytes {
        /// The limit.
        limit: u64,
        /// Bytes that a packet takes besides its IP length.
        overhead_bytes: u16,
    },
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
            Limit::FramedBytes { .. } => {
                self.used(packets + 1, bytes + wire_len as u64) <= self.most()
            }
        }
    }
    /// What `packets` packets of `bytes` bytes take of [`Limit::most`].
    #[inline]
    pub const fn used(self, packets: u64, bytes: u64) -> u64 {
        match self {
            Limit::Bytes(_) => bytes,
            Limit::Packets(_) => packets,
            Limit::FramedBytes { overhead_bytes, .. } => bytes + packets * overhead_bytes as u64,
        }
    }
    /// The limit in its unit.
    #[inline]
    pub const fn most(self) -> u64 {
        match self {
            Limit::Bytes(limit) | Limit::Packets(limit) | Limit::FramedBytes { limit, .. } => limit,
        }
    }
    /// The same limit, in which each packet takes `overhead_bytes` more, if it is one in bytes.
    #[must_use]
    pub const fn framed(self, overhead_bytes: u16) -> Limit {
        match self {
            Limit::Bytes(limit) => Limit::FramedBytes { limit, overhead_bytes },
            Limit::Packets(_) | Limit::FramedBytes { .. } => self,
        }
    }
    /// The bytes of full packets that fit.
    pub const fn full_bytes(self) -> u64 {
        match self {
            Limit::Bytes(limit) | Limit::FramedBytes { limit, .. } => limit,
            Limit::Packets(limit) => limit.saturating_mul(1500),
        }
    }
    /// Packets of `packet_bytes` bytes that fit.
    pub const fn packets_of(self, packet_bytes: u64) -> u64 {
        self.most() / self.used(1, packet_bytes)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Limit::FramedBytes { limit, overhead_bytes } => {
                write!(f, "{limit} bytes, {overhead_bytes} more for each packet")
            }
            Limit::Packets(packets) => write!(f, "{packets} packets"),
        }
    }
}

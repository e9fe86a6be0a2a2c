//! The layout of a packet's header: several fields in one word.
//!
//! A word that is written at once can be read back at once, while the store is still on its way to
//! memory. Fields that are written one by one cannot be read back as a word so soon.

use super::tcp_fields::TcpFlags;

// The bits of [`Small::bits`].
pub(super) const ECN_MASK: u8 = 0b0000_0011;
pub(super) const DONT_FRAGMENT: u8 = 0b0000_0100;
pub(super) const TIMESTAMPS: u8 = 0b0000_1000;
pub(super) const KIND_SHIFT: u8 = 4;
pub(super) const KIND_MASK: u8 = 0b0011_0000;
pub(super) const V6: u8 = 0b0100_0000;
pub(super) const PORTS: u8 = 0b1000_0000;

/// Two numbers in one word, the first in its low half.
#[derive(Clone, Copy)]
pub(super) struct Pair(pub u64);

impl Pair {
    #[inline]
    pub const fn new(first: u32, second: u32) -> Pair {
        Pair(first as u64 | (second as u64) << 32)
    }
    #[inline]
    pub const fn first(self) -> u32 {
        self.0 as u32
    }
    #[inline]
    pub const fn second(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Ports, window and length of a packet in one word.
#[derive(Clone, Copy)]
pub(super) struct Sizes(pub u64);

impl Sizes {
    #[inline]
    pub const fn new(ports: (u16, u16), window: u16, len: u16) -> Sizes {
        let low = ports.0 as u64 | (ports.1 as u64) << 16;
        Sizes(low | (window as u64) << 32 | (len as u64) << 48)
    }
    #[inline]
    pub const fn ports(self) -> (u16, u16) {
        (self.0 as u16, (self.0 >> 16) as u16)
    }
    #[inline]
    pub const fn window(self) -> u16 {
        (self.0 >> 32) as u16
    }
    #[inline]
    pub const fn len(self) -> u16 {
        (self.0 >> 48) as u16
    }
}

/// Flags, bits, time to live and header length of a packet in one word.
#[derive(Clone, Copy)]
pub(super) struct Small(pub u32);

/// Where the time to live lies in [`Small`].
pub(super) const TTL_SHIFT: u32 = 16;
const HEADER_LEN_SHIFT: u32 = 24;

impl Small {
    #[inline]
    pub const fn new(flags: TcpFlags, bits: u8, ttl: u8, header_len: u8) -> Small {
        let low = flags.0 as u32 | (bits as u32) << 8;
        Small(low | (ttl as u32) << TTL_SHIFT | (header_len as u32) << HEADER_LEN_SHIFT)
    }
    #[inline]
    pub const fn flags(self) -> TcpFlags {
        TcpFlags(self.0 as u8)
    }
    #[inline]
    pub const fn bits(self) -> u8 {
        (self.0 >> 8) as u8
    }
    #[inline]
    pub const fn ttl(self) -> u8 {
        (self.0 >> TTL_SHIFT) as u8
    }
    #[inline]
    pub const fn header_len(self) -> u8 {
        (self.0 >> HEADER_LEN_SHIFT) as u8
    }
    #[inline]
    pub const fn with_bits(self, bits: u8) -> Small {
        Small::new(self.flags(), bits, self.ttl(), self.header_len())
    }
    #[inline]
    pub const fn with_ttl(self, ttl: u8) -> Small {
        Small::new(self.flags(), self.bits(), ttl, self.header_len())
    }
    pub const fn with_header_len(self, header_len: u8) -> Small {
        Small::new(self.flags(), self.bits(), self.ttl(), header_len)
    }
}

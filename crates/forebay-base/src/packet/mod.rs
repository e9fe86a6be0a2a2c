//! The packet: 56 bytes by value, and a handle to a cold part if it carries more than the usual.
//!
//! Machines use accessors and do not know the layout. Every packet that can be built has a wire
//! format: `wire::emit` and `wire::parse` are inverse to each other.

mod arena;
mod bodies;
mod hash;
mod make;
mod packed_fields;
mod ring;
mod set_options;
mod tcp_fields;
mod transfer;

pub use arena::{Arena, Cold, FragmentRange, Handle};
pub use bodies::BodyCounts;
pub use hash::Signature;
pub use ring::PacketRing;
pub use tcp_fields::{TcpFields, TcpFlags};
pub use transfer::PacketTransfer;

use crate::ids::{Addr, Ecn, Endpoint, IpVersion};
use crate::time::Time;
use core::fmt;
use packed_fields::{
    DONT_FRAGMENT, ECN_MASK, KIND_MASK, KIND_SHIFT, PORTS, Pair, Sizes, Small, TIMESTAMPS, V6,
};

/// An IPv4 header without options, in bytes.
pub const IPV4_HEADER_BYTES: u16 = 20;
/// An IPv6 header, in bytes.
pub const IPV6_HEADER_BYTES: u16 = 40;
/// An IPv6 Fragment header (RFC 8200 section 4.5), in bytes.
pub const FRAGMENT_HEADER_BYTES: u16 = 8;
/// The time to live that hosts send with.
pub const MAX_TTL: u8 = 64;

/// What a packet's bytes hold after the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A whole TCP segment.
    Tcp = 0,
    /// Something that Forebay does not speak: its bytes are kept verbatim.
    Opaque = 1,
    /// A fragment of a datagram.
    Fragment = 2,
}

/// The protocol number of TCP (RFC 9293).
const TCP_PROTOCOL: u8 = 6;

/// A packet. Not `Clone`: two packets need two cold parts, see [`Arena::duplicate`].
#[repr(C)] // the small fields lie together
pub struct Packet {
    hop_time: Time,
    /// See [`Packet::left_host_at`].
    left_host_at: Time,
    /// Source and destination.
    addrs: Pair,
    /// Sequence and acknowledgment number.
    numbers: Pair,
    /// Timestamp value and echo.
    timestamps: Pair,
    sizes: Sizes,
    small: Small,
    cold: Handle,
}

const _: () = assert!(size_of::<Option<Packet>>() <= 56);

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packet")
            .field("kind", &self.kind())
            .field("src", &self.src())
            .field("dst", &self.dst())
            .field("ports", &self.ports())
            .field("tcp", &self.tcp_fields())
            .field("wire_len", &self.wire_len())
            .field("header_len", &self.header_len())
            .field("ecn", &self.ecn())
            .field("ttl", &self.ttl())
            .field("stamp", &self.hop_time())
            .field("cold", &self.cold())
            .finish()
    }
}

impl Packet {
    /// When it came to the queue it is in, or will arrive at the far end of the link it is on. Set
    /// and read by the owner of that queue or link; not on the wire.
    #[inline]
    pub fn hop_time(&self) -> Time {
        self.hop_time
    }
    /// Set by the owner of the queue or the wire.
    #[inline]
    pub fn set_hop_time(&mut self, at: Time) {
        self.hop_time = at;
    }
    /// When a socket made it. Zero if it has no payload or comes from outside. For measurements of
    /// drivers and hosts only: it is not on the wire and not in digests, and no machine reads it
    /// (`testkit/tests/walls` checks that).
    #[inline]
    pub fn left_host_at(&self) -> Time {
        self.left_host_at
    }
    /// Set by the connection that makes it, and by code that makes a packet from another.
    #[inline]
    pub fn set_left_host_at(&mut self, at: Time) {
        self.left_host_at = at;
    }
    /// Source address.
    #[inline]
    pub fn src(&self) -> Addr {
        Addr(self.addrs.first())
    }
    /// Destination address.
    #[inline]
    pub fn dst(&self) -> Addr {
        Addr(self.addrs.second())
    }
    /// Source and destination port, if the bytes of this packet hold them.
    #[inline]
    pub fn ports(&self) -> Option<(u16, u16)> {
        (self.small.bits() & PORTS != 0).then_some(self.sizes.ports())
    }
    /// What the packet holds.
    #[inline]
    pub fn kind(&self) -> Kind {
        match (self.small.bits() & KIND_MASK) >> KIND_SHIFT {
            0 => Kind::Tcp,
            1 => Kind::Opaque,
            _ => Kind::Fragment,
        }
    }
    /// The IP version.
    #[inline]
    pub fn version(&self) -> IpVersion {
        if self.small.bits() & V6 != 0 { IpVersion::V6 } else { IpVersion::V4 }
    }
    /// Length on the wire from the IP header on, in bytes.
    #[inline]
    pub fn wire_len(&self) -> u16 {
        self.sizes.len()
    }
    /// Length of IP and TCP header with options, in bytes; of the IP header alone if not TCP.
    #[inline]
    pub fn header_len(&self) -> u16 {
        self.small.header_len() as u16
    }
    /// Length of the IP header with its options or its Fragment header, in bytes.
    #[inline]
    pub fn ip_header_len(&self, arena: &Arena) -> u16 {
        let options = self.cold_part(arena).map_or(0, |cold| cold.ip_options.len() as u16);
        match (self.kind(), self.version()) {
            (Kind::Fragment | Kind::Opaque, _) => self.header_len(),
            (Kind::Tcp, IpVersion::V4) => IPV4_HEADER_BYTES + options.next_multiple_of(4),
            (Kind::Tcp, IpVersion::V6) if self.dont_fragment() => IPV6_HEADER_BYTES,
            (Kind::Tcp, IpVersion::V6) => IPV6_HEADER_BYTES + FRAGMENT_HEADER_BYTES,
        }
    }
    /// Bytes after the header.
    #[inline]
    pub fn payload_len(&self) -> u16 {
        self.sizes.len() - self.header_len()
    }
    /// The TCP header, if this is a whole TCP segment.
    #[inline]
    pub fn tcp_fields(&self) -> Option<TcpFields> {
        (self.kind() == Kind::Tcp).then_some(TcpFields {
            seq: self.numbers.first(),
            ack: self.numbers.second(),
            flags: self.small.flags(),
            window: self.sizes.window(),
            timestamps: self.timestamps(),
        })
    }
    #[inline]
    fn timestamps(&self) -> Option<(u32, u32)> {
        (self.small.bits() & TIMESTAMPS != 0)
            .then_some((self.timestamps.first(), self.timestamps.second()))
    }
    /// The ECN field.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.small.bits())
    }
    /// Set the ECN field: senders, and routers that mark.
    #[inline]
    pub fn set_ecn(&mut self, ecn: Ecn) {
        self.small = self.small.with_bits((self.small.bits() & !ECN_MASK) | ecn as u8);
    }
    /// The protocol number of the IP header. Fragment: that of its datagram. Opaque IPv6 packet:
    /// the first Next Header.
    pub fn protocol(&self, arena: &Arena) -> u8 {
        let cold = self.cold_part(arena);
        match self.kind() {
            Kind::Tcp => TCP_PROTOCOL,
            Kind::Fragment => cold.and_then(|cold| cold.piece).map_or(0, |piece| piece.protocol),
            Kind::Opaque => {
                let at = if self.version() == IpVersion::V6 { 6 } else { 9 };
                let body = cold.and_then(|cold| cold.body.as_deref());
                body.and_then(|bytes| bytes.get(at)).copied().unwrap_or(0)
            }
        }
    }
    /// True if routers must not cut it. With IPv6, which has no such flag: it carries no Fragment
    /// header. By RFC 8200 section 5 routers never cut IPv6; see [`cut_ipv6`](crate::cut_ipv6).
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.small.bits() & DONT_FRAGMENT != 0
    }
    /// Allow or forbid fragmentation. A packet that may be fragmented needs an ID in its cold part.
    /// IPv6 has no such flag, and is left as it is: see [`Packet::add_fragment_header`].
    pub fn set_dont_fragment(&mut self, df: bool) {
        if self.version() == IpVersion::V4 {
            self.set_flag(df);
        }
    }
    fn set_flag(&mut self, df: bool) {
        let bits = self.small.bits() & !DONT_FRAGMENT;
        self.small = self.small.with_bits(if df { bits | DONT_FRAGMENT } else { bits });
    }
    /// Put a Fragment header with this identification into a TCP segment of IPv6, which then is an
    /// atomic fragment (RFC 6946) and 8 bytes longer. With another version, and where there is one,
    /// nothing changes. Panics if the packet becomes longer than 65 535 bytes.
    pub fn add_fragment_header(&mut self, id: u32, arena: &mut Arena) {
        if self.version() == IpVersion::V4 || self.kind() != Kind::Tcp || !self.dont_fragment() {
            return;
        }
        self.set_flag(false);
        self.cold_mut(arena).ip_id = id;
        let len = self.wire_len().checked_add(FRAGMENT_HEADER_BYTES);
        let header_len = self.header_len() + FRAGMENT_HEADER_BYTES;
        self.small = self.small.with_header_len(header_len as u8);
        self.set_len(len.expect("packet longer than 65535 bytes"));
    }
    /// Time to live.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.small.ttl()
    }
    /// Set the time to live: for parsers and for sources other than hosts.
    #[inline]
    pub fn set_ttl(&mut self, ttl: u8) {
        self.small = self.small.with_ttl(ttl);
    }
    /// A router forwards it. False if the packet must be dropped.
    #[inline]
    pub fn decrement_ttl(&mut self) -> bool {
        self.set_ttl(self.ttl().saturating_sub(1));
        self.ttl() > 0
    }
    /// The handle of the cold part.
    #[inline]
    pub fn cold(&self) -> Handle {
        self.cold
    }
    /// TCP options other than timestamps, IP options, ID, DSCP. None stands for the default.
    #[inline]
    pub fn cold_part<'a>(&self, arena: &'a Arena) -> Option<&'a Cold> {
        (self.cold != Handle::NONE).then(|| arena.cold(self.cold))
    }
    /// The cold part to write to, made if there was none. To change the length of options use
    /// [`Packet::set_tcp_options`] or [`Packet::set_ip_options`], which update the header length.
    pub fn cold_mut<'a>(&mut self, arena: &'a mut Arena) -> &'a mut Cold {
        if self.cold == Handle::NONE {
            self.cold = arena.insert(Cold::default());
        }
        arena.cold_mut(self.cold)
    }
    /// A bitwise copy. Only for the arena, which counts the packets that share a cold part, and for
    /// a ring, which forgets the original.
    #[inline]
    pub(crate) fn bitwise_copy(&self) -> Packet {
        Packet { ..*self }
    }
    /// The content of an empty slot.
    pub(crate) fn left_over() -> Packet {
        let nobody = Endpoint { addr: Addr(0), port: 0 };
        Packet::tcp(IpVersion::V4, nobody, nobody, TcpFields::default(), 0)
    }
    pub(crate) fn set_cold(&mut self, cold: Handle) {
        self.cold = cold;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(addr: u32, port: u16) -> Endpoint {
        Endpoint { addr: Addr(addr), port }
    }

    pub fn segment(payload: u16, timestamps: Option<(u32, u32)>) -> Packet {
        let fields = TcpFields { seq: 1, ack: 2, flags: TcpFlags::ACK, window: 9, timestamps };
        Packet::tcp(IpVersion::V4, endpoint(1, 1000), endpoint(2, 80), fields, payload)
    }

    #[test]
    fn a_full_segment_with_timestamps_is_1500_bytes() {
        let packet = segment(1448, Some((7, 8)));
        assert_eq!(
            (packet.wire_len(), packet.header_len(), packet.payload_len()),
            (1500, 52, 1448)
        );
        assert_eq!(packet.tcp_fields().unwrap().timestamps, Some((7, 8)));
    }
}

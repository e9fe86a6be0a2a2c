//! The packet: 56 bytes by value, with a handle to a cold part where it carries more than the usual.
//!
//! A machine reads and writes through accessors and never names the layout. Whatever an accessor returns,
//! a wire can carry: `wire::emit` and `wire::parse` are inverse to each other on every packet that can be built.

use crate::arena::{Arena, Cold, Handle};
use crate::digest::mix64;
use crate::ids::{Addr, Ecn, Endpoint, IpVersion};
use crate::options::{MAX_OPTION_BYTES, OptionError, OptionList, TcpOptions, kind};
use crate::packed_fields::{Pair, Sizes, Small, TTL_SHIFT};
use crate::time::Time;
use core::fmt;

/// The time to live that hosts send with.
pub const MAX_TTL: u8 = 64;

const TCP_HEADER_BYTES: usize = 20;
const TIMESTAMP_OPTION_BYTES: usize = 10;

/// The flags of a TCP header (RFC 9293 section 3.1, RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// The acknowledgment number is valid.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// Urgent pointer valid.
    pub const URG: TcpFlags = TcpFlags(0x20);
    /// ECN echo.
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced.
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// True if any bit of `other` is set.
    #[inline]
    pub const fn has(self, other: TcpFlags) -> bool {
        self.0 & other.0 != 0
    }
    /// Both sets of flags.
    #[inline]
    pub const fn with(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

/// The usual fields of a TCP header, in wire widths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpFields {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window, as on the wire: not scaled.
    pub window: u16,
    /// Timestamp value and echo reply (RFC 7323), if the option is there.
    pub timestamps: Option<(u32, u32)>,
}

/// What a packet's bytes hold behind the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A whole TCP segment.
    Tcp = 0,
    /// Something that Forebay does not speak: its bytes are kept verbatim.
    Opaque = 1,
    /// A fragment of a datagram.
    Piece = 2,
}

/// The protocol number of TCP (RFC 9293).
const TCP_PROTOCOL: u8 = 6;

// Layout of `bits`.
const ECN_MASK: u8 = 0b0000_0011;
const DONT_FRAGMENT: u8 = 0b0000_0100;
const TIMESTAMPS: u8 = 0b0000_1000;
const KIND_SHIFT: u8 = 4;
const KIND_MASK: u8 = 0b0011_0000;
const V6: u8 = 0b0100_0000;
const PORTS: u8 = 0b1000_0000;

/// A packet. Not `Clone`: two packets need two cold parts, see [`Arena::duplicate`].
#[repr(C)] // the small fields lie together
pub struct Packet {
    stamp: Time,
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

const fn tcp_header_len(version: IpVersion, timestamps: bool, options: usize) -> usize {
    let ip = match version {
        IpVersion::V4 => 20,
        IpVersion::V6 => 40,
    };
    let options = if timestamps { TIMESTAMP_OPTION_BYTES + options } else { options };
    ip + TCP_HEADER_BYTES + options.next_multiple_of(4)
}

/// Of all lists that give the same header bytes, make it the one that a parser finds. A header rounds its options up
/// to a multiple of 4 with zeros; `before` option bytes precede the list in it. Zeros behind the last option
/// are dropped as far as that rounding brings them back; zeros that belong to an option stay.
#[inline]
fn drop_padding(list: &mut OptionList, before: usize) {
    match *list.as_bytes() {
        [] => {}
        // One option and nothing else: the tags and echoes of most packets.
        [first, len, ..] if first > kind::NOP && len >= 2 && len as usize == list.len() => {}
        _ => drop_padding_of_many(list, before),
    }
}

fn drop_padding_of_many(list: &mut OptionList, before: usize) {
    let mut walk = TcpOptions::new(list.as_bytes());
    walk.by_ref().for_each(drop);
    if walk.rest().is_empty() {
        return; // nothing but whole options
    }
    let padded_len = (before + list.len()).next_multiple_of(4) - before;
    let mut region = [0u8; MAX_OPTION_BYTES + 4];
    region[..list.len()].copy_from_slice(list.as_bytes());
    let region = &region[..padded_len];
    let mut walk = TcpOptions::new(region);
    walk.by_ref().for_each(drop);
    let listed = padded_len - walk.rest().len();
    let written = region.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
    let kept = listed.max(written).max(padded_len.saturating_sub(3));
    *list = OptionList::from_bytes(&region[..kept]).expect("rounding stays within 40 bytes");
}

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
            .field("stamp", &self.stamp())
            .field("cold", &self.cold())
            .finish()
    }
}

impl Packet {
    /// A TCP segment of `payload_len` bytes, not ECN-capable, DF set, full TTL.
    /// Panics if the packet would be longer than 65 535 bytes.
    pub fn tcp(
        version: IpVersion,
        src: Endpoint,
        dst: Endpoint,
        tcp: TcpFields,
        payload_len: u16,
    ) -> Packet {
        let header_len = tcp_header_len(version, tcp.timestamps.is_some(), 0);
        let len =
            payload_len.checked_add(header_len as u16).expect("packet longer than 65535 bytes");
        let (ts_value, ts_echo) = tcp.timestamps.unwrap_or((0, 0));
        let mut bits = DONT_FRAGMENT | PORTS | ((Kind::Tcp as u8) << KIND_SHIFT);
        if tcp.timestamps.is_some() {
            bits |= TIMESTAMPS;
        }
        if version == IpVersion::V6 {
            bits |= V6;
        }
        Packet {
            stamp: Time::ZERO,
            left_host_at: Time::ZERO,
            addrs: Pair::new(src.addr.0, dst.addr.0),
            numbers: Pair::new(tcp.seq, tcp.ack),
            timestamps: Pair::new(ts_value, ts_echo),
            sizes: Sizes::new((src.port, dst.port), tcp.window, len),
            small: Small::new(tcp.flags, bits, MAX_TTL, header_len as u8),
            cold: Handle::NONE,
        }
    }

    /// A packet of a protocol that Forebay does not speak; `cold.body` holds its bytes, IP header included.
    /// `ports` are those of its transport header, where it has some. TTL and ECN field of the packet overrule
    /// those in the bytes. Panics if the bytes are shorter than their IP header.
    pub fn opaque(
        version: IpVersion,
        (src, dst): (Addr, Addr),
        ports: Option<(u16, u16)>,
        cold: Cold,
        arena: &mut Arena,
    ) -> Packet {
        let len = cold.body.as_ref().map_or(0, |b| b.len());
        let len = u16::try_from(len).expect("packet longer than 65535 bytes");
        let mut packet = Packet::blank(version, Kind::Opaque, (src, dst), len);
        if let (IpVersion::V4, Some(&first)) = (version, cold.body.as_ref().and_then(|b| b.first()))
        {
            // With IPv4 options the header is longer than 20 bytes: the IHL field says so.
            let header_len = packet.small.header_len().max((first & 0x0f) * 4);
            packet.small = packet.small.with_header_len(header_len);
        }
        assert!(len >= packet.header_len(), "opaque bytes end within the IP header");
        packet.set_visible_ports(ports);
        packet.cold = arena.insert(cold);
        packet
    }

    /// An IPv4 fragment: `cold.piece` says which. `ports` are visible only if the piece holds them.
    /// IPv6 fragments only come from outside, and stay opaque.
    pub fn piece(
        version: IpVersion,
        (src, dst): (Addr, Addr),
        len: u16,
        ports: Option<(u16, u16)>,
        cold: Cold,
        arena: &mut Arena,
    ) -> Packet {
        assert!(cold.piece.is_some(), "a piece needs Cold::piece");
        assert_eq!(version, IpVersion::V4, "a piece is IPv4");
        let mut packet = Packet::blank(version, Kind::Piece, (src, dst), len);
        packet.set_visible_ports(ports);
        packet.cold = arena.insert(cold);
        packet
    }

    fn blank(version: IpVersion, kind: Kind, (src, dst): (Addr, Addr), len: u16) -> Packet {
        let endpoint = |addr| Endpoint { addr, port: 0 };
        let mut packet =
            Packet::tcp(version, endpoint(src), endpoint(dst), TcpFields::default(), 0);
        let bits = (packet.small.bits() & V6) | ((kind as u8) << KIND_SHIFT);
        packet.small = packet.small.with_bits(bits);
        packet.set_dont_fragment(false);
        packet.set_len(len);
        let header_len = if version == IpVersion::V6 { 40 } else { 20 };
        packet.small = packet.small.with_header_len(header_len);
        packet
    }

    fn set_len(&mut self, len: u16) {
        self.sizes = Sizes::new(self.sizes.ports(), self.sizes.window(), len);
    }
    fn set_visible_ports(&mut self, ports: Option<(u16, u16)>) {
        if let Some((src, dst)) = ports {
            self.small = self.small.with_bits(self.small.bits() | PORTS);
            self.sizes = Sizes::new((src, dst), self.sizes.window(), self.sizes.len());
        }
    }

    /// When it came to the queue it is in, or arrives at the end of the wire it is on.
    /// Known to whoever holds the packet there; not on the wire.
    #[inline]
    pub fn stamp(&self) -> Time {
        self.stamp
    }
    /// Set by the owner of the queue or the wire.
    #[inline]
    pub fn set_stamp(&mut self, at: Time) {
        self.stamp = at;
    }
    /// When a socket made it, of packets with payload; zero of others, and where it is not known, as of packets from outside. A
    /// measurement of drivers and hosts: it is on no wire and in no digest, and no machine reads it (a test over the sources holds
    /// that).
    #[inline]
    pub fn left_host_at(&self) -> Time {
        self.left_host_at
    }
    /// Set by the connection that makes it, and by who makes a packet anew from one.
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
            _ => Kind::Piece,
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
    /// Bytes behind the header.
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
    /// The protocol number of the IP header: that of the datagram for a fragment, and for an opaque IPv6 packet the first Next
    /// Header.
    pub fn protocol(&self, arena: &Arena) -> u8 {
        let cold = self.cold_part(arena);
        match self.kind() {
            Kind::Tcp => TCP_PROTOCOL,
            Kind::Piece => cold.and_then(|cold| cold.piece).map_or(0, |piece| piece.protocol),
            Kind::Opaque => {
                let at = if self.version() == IpVersion::V6 { 6 } else { 9 };
                let body = cold.and_then(|cold| cold.body.as_deref());
                body.and_then(|bytes| bytes.get(at)).copied().unwrap_or(0)
            }
        }
    }
    /// True if routers must not fragment it.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.small.bits() & DONT_FRAGMENT != 0
    }
    /// Allow or forbid fragmentation. A packet that may be fragmented needs an ID in its cold part.
    /// IPv6 has no such flag: its routers never fragment (RFC 8200 section 5), so it cannot be allowed.
    pub fn set_dont_fragment(&mut self, df: bool) {
        let df = df || self.version() == IpVersion::V6;
        let bits = self.small.bits() & !DONT_FRAGMENT;
        self.small = self.small.with_bits(if df { bits | DONT_FRAGMENT } else { bits });
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
    /// One router passed: false if the packet must be dropped.
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
    /// TCP options other than timestamps, IP options, ID, DSCP: the default if it has no cold part.
    pub fn cold_part<'a>(&self, arena: &'a Arena) -> Option<&'a Cold> {
        (self.cold != Handle::NONE).then(|| arena.cold(self.cold))
    }
    /// The cold part to write to, made if there was none. Whoever changes option lengths uses
    /// [`Packet::set_tcp_options`] or [`Packet::set_ip_options`] instead, which keep the header length true.
    pub fn cold_mut<'a>(&mut self, arena: &'a mut Arena) -> &'a mut Cold {
        if self.cold == Handle::NONE {
            self.cold = arena.insert(Cold::default());
        }
        arena.cold_mut(self.cold)
    }
    /// The same 56 bytes again: only the arena, which counts who holds a cold part, and a ring, which forgets the first, may do
    /// this.
    #[inline]
    pub(crate) fn bitwise_copy(&self) -> Packet {
        Packet { ..*self }
    }
    /// What lies where no packet is.
    pub(crate) fn left_over() -> Packet {
        let nobody = Endpoint { addr: Addr(0), port: 0 };
        Packet::tcp(IpVersion::V4, nobody, nobody, TcpFields::default(), 0)
    }
    pub(crate) fn set_cold(&mut self, cold: Handle) {
        self.cold = cold;
    }
    /// Replace the TCP options beside timestamps. Errors if they do not fit with them into 40 bytes, or if
    /// they begin with the timestamps that [`TcpFields`] lacks. Final padding is dropped.
    pub fn set_tcp_options(
        &mut self,
        mut options: OptionList,
        arena: &mut Arena,
    ) -> Result<(), OptionError> {
        assert_eq!(self.kind(), Kind::Tcp);
        let stamps = self.small.bits() & TIMESTAMPS != 0;
        let before = if stamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        if options.len() + before > MAX_OPTION_BYTES {
            return Err(OptionError);
        }
        drop_padding(&mut options, before);
        let leading_stamps = [kind::TIMESTAMPS, TIMESTAMP_OPTION_BYTES as u8];
        if !stamps
            && options.len() >= TIMESTAMP_OPTION_BYTES
            && options.as_bytes().starts_with(&leading_stamps)
        {
            return Err(OptionError);
        }
        if options.is_empty() && self.cold == Handle::NONE {
            return Ok(());
        }
        self.cold_mut(arena).tcp_options = options;
        self.fix_header_len(arena);
        Ok(())
    }
    /// Replace the IPv4 options. Errors for IPv6, which has none, and for opaque packets, whose bytes are fixed.
    /// Final padding is dropped.
    pub fn set_ip_options(
        &mut self,
        mut options: OptionList,
        arena: &mut Arena,
    ) -> Result<(), OptionError> {
        if self.version() == IpVersion::V6 || self.kind() == Kind::Opaque {
            return Err(OptionError);
        }
        drop_padding(&mut options, 0);
        self.cold_mut(arena).ip_options = options;
        self.fix_header_len(arena);
        Ok(())
    }
    fn fix_header_len(&mut self, arena: &Arena) {
        let cold = arena.cold(self.cold);
        let ip_options = cold.ip_options.len().next_multiple_of(4);
        let header_len = ip_options
            + match self.kind() {
                Kind::Tcp => tcp_header_len(
                    self.version(),
                    self.small.bits() & TIMESTAMPS != 0,
                    cold.tcp_options.len(),
                ),
                _ if self.version() == IpVersion::V6 => 40,
                _ => 20,
            };
        let payload = self.payload_len();
        self.small = self.small.with_header_len(header_len as u8);
        let len = payload.checked_add(header_len as u16).expect("packet longer than 65535 bytes");
        self.set_len(len);
    }
    /// A hash that queues sort packets into flows by: of addresses, ports and protocol, or of addresses and protocol where the
    /// bytes of this packet do not hold the ports, and for *every* fragment, so that the pieces of one datagram stay together.
    /// The pieces are thus not with the whole packets of their flow, but with the pieces of all flows between their hosts
    /// (Linux does the same). Two values of `salt` give unrelated hashes.
    pub fn flow_hash(&self, salt: u64, arena: &Arena) -> u64 {
        let ports = match self.kind() {
            Kind::Piece => None,
            Kind::Tcp | Kind::Opaque => self.ports(),
        };
        let ports = ports.map_or(0, |(src, dst)| 1 << 40 | (src as u64) << 24 | (dst as u64) << 8);
        let addresses = self.addrs.0.rotate_left(32); // the source in the high half
        mix64(mix64(addresses ^ salt) ^ ports ^ self.protocol(arena) as u64)
    }
    /// A digest of everything a capture would show of this packet, payload apart: the trace hash is made of these.
    #[inline]
    pub fn digest(&self, arena: &Arena) -> u64 {
        self.signature(arena).digest(self.ttl())
    }
    /// What its digests on all links have in common, where routers change nothing but the time to live.
    #[inline]
    pub fn signature(&self, arena: &Arena) -> Signature {
        let small = self.small.with_ttl(0).0 as u64;
        let a = fold(self.addrs.0 ^ K[0], self.numbers.0 ^ K[1]);
        let b = fold(self.timestamps.0 ^ K[2], self.sizes.0 ^ K[3]);
        let mut signature = Signature { a: a ^ small ^ K[4], b: b ^ K[5] };
        if self.cold != Handle::NONE {
            signature.a = arena.digest_cold(self, signature.a);
        }
        signature
    }
}

/// See [`Packet::signature`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    a: u64,
    b: u64,
}

impl Signature {
    /// The digest of the packet while it has this time to live.
    #[inline]
    pub fn digest(self, ttl: u8) -> u64 {
        self.with((ttl as u64) << TTL_SHIFT, 0)
    }
    /// A hash of the signature and two words.
    #[inline]
    pub fn with(self, x: u64, y: u64) -> u64 {
        fold(self.a ^ x, self.b ^ y)
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = a as u128 * b as u128;
    (wide as u64) ^ ((wide >> 64) as u64)
}

const K: [u64; 6] = [
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
    0x1d8e_4e27_c47d_124f,
    0xeb44_acca_b455_d165,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::kind;

    fn endpoint(addr: u32, port: u16) -> Endpoint {
        Endpoint { addr: Addr(addr), port }
    }

    fn segment(payload: u16, timestamps: Option<(u32, u32)>) -> Packet {
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

    #[test]
    fn options_lengthen_the_header_and_are_bounded_by_40() {
        let mut arena = Arena::default();
        let mut packet = segment(100, Some((7, 8)));
        let mut options = OptionList::EMPTY;
        options.push(kind::SACK, &[0; 24]).unwrap();
        packet.set_tcp_options(options, &mut arena).unwrap();
        assert_eq!((packet.header_len(), packet.payload_len()), (20 + 20 + 36, 100));
        options.push(kind::WINDOW_SCALE, &[1, 2, 3]).unwrap();
        assert!(packet.set_tcp_options(options, &mut arena).is_err());
        packet.set_ip_options(OptionList::from_bytes(&[1; 8]).unwrap(), &mut arena).unwrap();
        assert_eq!((packet.header_len(), packet.payload_len()), (84, 100));
        arena.free(packet);
        assert_eq!(arena.live(), 0);
    }

    #[test]
    fn padding_that_rounding_brings_back_is_dropped_and_nothing_else() {
        // By hand: (list, bytes before it, what stays).
        let cases: [(&[u8], usize, &[u8]); 9] = [
            (&[2, 4, 5, 0], 0, &[2, 4, 5, 0]),
            (&[1, 1, 0], 0, &[1, 1]),
            (&[1, 1, 0, 0, 0, 0, 0], 0, &[1, 1, 0, 0, 0]),
            (&[0, 0, 0, 0], 0, &[0]),
            (&[0, 0], 10, &[]),
            (&[0, 0, 0], 10, &[0, 0, 0]),
            (&[5, 4, 9], 0, &[5, 4, 9, 0]),
            (&[5, 0, 7, 0], 0, &[5, 0, 7]),
            (&[0, 9, 0, 0], 0, &[0, 9]),
        ];
        for (list, before, expected) in cases {
            let mut kept = OptionList::from_bytes(list).unwrap();
            drop_padding(&mut kept, before);
            assert_eq!(kept.as_bytes(), expected, "{list:?} behind {before}");
        }
    }

    #[test]
    fn timestamps_have_one_place() {
        let mut arena = Arena::default();
        let mut stamps = OptionList::EMPTY;
        stamps.push(kind::TIMESTAMPS, &[0; 8]).unwrap();
        assert!(segment(1, None).set_tcp_options(stamps, &mut arena).is_err());
        let mut twice = segment(1, Some((1, 2)));
        twice.set_tcp_options(stamps, &mut arena).unwrap();
        assert_eq!(twice.header_len(), 20 + 20 + 20);
    }

    #[test]
    fn the_digest_sees_every_field_and_not_the_stamp() {
        let mut arena = Arena::default();
        let base = segment(100, Some((7, 8)));
        let mut changed = segment(100, Some((7, 8)));
        changed.set_stamp(Time::from_secs(3));
        assert_eq!(base.digest(&arena), changed.digest(&arena));
        changed.set_ecn(Ecn::Ce);
        assert_ne!(base.digest(&arena), changed.digest(&arena));
        changed.set_ecn(Ecn::NotEct);
        assert!(changed.decrement_ttl());
        assert_ne!(base.digest(&arena), changed.digest(&arena));
        changed.set_ttl(MAX_TTL);
        changed.cold_mut(&mut arena).ip_id = 5;
        assert_ne!(base.digest(&arena), changed.digest(&arena));
        assert_ne!(base.digest(&arena), segment(100, Some((7, 9))).digest(&arena));
        assert_ne!(base.digest(&arena), segment(101, Some((7, 8))).digest(&arena));
    }
}

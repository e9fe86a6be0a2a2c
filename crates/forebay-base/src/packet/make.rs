//! Constructors of packets.

use super::arena::{Arena, Cold, Handle};
use super::packed_fields::{
    DONT_FRAGMENT, ECN_MASK, KIND_SHIFT, PORTS, Pair, Sizes, Small, TIMESTAMPS, V6,
};
use super::set_options::tcp_header_len;
use super::{IPV4_HEADER_BYTES, Kind, MAX_TTL, Packet, TcpFields, TcpFlags};
use crate::ids::{Addr, Endpoint, IpVersion};
use crate::time::Time;

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
            hop_time: Time::ZERO,
            left_host_at: Time::ZERO,
            addrs: Pair::new(src.addr.0, dst.addr.0),
            numbers: Pair::new(tcp.seq, tcp.ack),
            timestamps: Pair::new(ts_value, ts_echo),
            sizes: Sizes::new((src.port, dst.port), tcp.window, len),
            small: Small::new(tcp.flags, bits, MAX_TTL, header_len as u8),
            cold: Handle::NONE,
        }
    }

    /// A packet of a protocol that Forebay does not speak; `cold.body` holds its bytes, IP header
    /// included. `ends` are source and destination, `ports` those of its transport header, where it
    /// has some. TTL and ECN field of the packet overrule those in the bytes. Panics if the bytes
    /// are shorter than their IP header.
    pub fn opaque(
        version: IpVersion,
        ends: (Addr, Addr),
        ports: Option<(u16, u16)>,
        cold: Cold,
        arena: &mut Arena,
    ) -> Packet {
        let len = cold.body.as_ref().map_or(0, |b| b.len());
        let len = u16::try_from(len).expect("packet longer than 65535 bytes");
        let mut packet = Packet::blank(version, Kind::Opaque, ends, len);
        if let (IpVersion::V4, Some(&first)) = (version, cold.body.as_ref().and_then(|b| b.first()))
        {
            // With IPv4 options the header is longer than 20 bytes: the IHL field says so.
            let header_len = packet.small.header_len().max((first & 0x0f) * 4);
            packet.small = packet.small.with_header_len(header_len);
        }
        assert!(len >= packet.header_len(), "opaque bytes end within the IP header");
        packet.set_visible_ports(ports);
        packet.cold = arena.insert_opaque(cold);
        packet
    }

    /// A fragment from the first of `ends` to the second: `cold.piece` says which. `ports` are
    /// visible only if the fragment holds them. An IPv6 one has its Fragment header after the IPv6
    /// header, and no other extension header.
    pub fn piece(
        version: IpVersion,
        ends: (Addr, Addr),
        len: u16,
        ports: Option<(u16, u16)>,
        cold: Cold,
        arena: &mut Arena,
    ) -> Packet {
        assert!(cold.piece.is_some(), "a piece needs Cold::piece");
        let mut packet = Packet::blank(version, Kind::Fragment, ends, len);
        packet.set_visible_ports(ports);
        packet.cold = arena.insert(cold);
        packet
    }

    /// A fragment, without its cold part, of this TCP segment over IPv4: with `payload_len` bytes
    /// after an IP header without options, and the ports of the segment if it `leads`.
    #[inline]
    pub(crate) fn piece_of_segment(&self, payload_len: u16, leads: bool) -> Packet {
        let (ports, shows_ports) = if leads { (self.sizes.ports(), PORTS) } else { ((0, 0), 0) };
        let bits =
            self.small.bits() & ECN_MASK | ((Kind::Fragment as u8) << KIND_SHIFT) | shows_ports;
        let header_len = IPV4_HEADER_BYTES as u8;
        Packet {
            hop_time: Time::ZERO,
            left_host_at: self.left_host_at,
            addrs: self.addrs,
            numbers: Pair::new(0, 0),
            timestamps: Pair::new(0, 0),
            sizes: Sizes::new(ports, 0, IPV4_HEADER_BYTES + payload_len),
            small: Small::new(TcpFlags::default(), bits, self.ttl(), header_len),
            cold: Handle::NONE,
        }
    }

    fn blank(version: IpVersion, kind: Kind, ends: (Addr, Addr), len: u16) -> Packet {
        let (src, dst) = ends;
        let endpoint = |addr| Endpoint { addr, port: 0 };
        let mut packet =
            Packet::tcp(version, endpoint(src), endpoint(dst), TcpFields::default(), 0);
        let (header_len, whole) = match (version, kind) {
            (IpVersion::V4, _) => (20, 0),
            (IpVersion::V6, Kind::Fragment) => (40 + 8, 0),
            (IpVersion::V6, _) => (40, DONT_FRAGMENT),
        };
        let bits = (packet.small.bits() & V6) | ((kind as u8) << KIND_SHIFT) | whole;
        packet.small = packet.small.with_bits(bits);
        packet.set_len(len);
        packet.small = packet.small.with_header_len(header_len);
        packet
    }

    pub(super) fn set_len(&mut self, len: u16) {
        self.sizes = Sizes::new(self.sizes.ports(), self.sizes.window(), len);
    }
    fn set_visible_ports(&mut self, ports: Option<(u16, u16)>) {
        if let Some((src, dst)) = ports {
            self.small = self.small.with_bits(self.small.bits() | PORTS);
            self.sizes = Sizes::new((src, dst), self.sizes.window(), self.sizes.len());
        }
    }
}

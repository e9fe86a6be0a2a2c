//! From bytes to a packet.

use crate::emit::pattern_of;
use crate::error::ParseError;
use crate::ipv4::Ipv4;
use crate::ipv6::{self, Fragment, Ipv6};
use crate::plan::{AddressPlan, Ends, Found};
use crate::tcp::{self, Tcp};
use forebay_base::{
    Addr, Arena, Cold, Ecn, Endpoint, FragmentRange, IpVersion, OptionList, Packet,
};

/// The packet in `bytes`, which must hold exactly one, from the IP header on.
///
/// * A whole TCP segment with a right checksum: `Kind::Tcp`.
/// * A fragment, of IPv6 with no other extension header before it: `Kind::Fragment`, known by its
///   own bytes.
/// * All else that has a right IP header and addresses of the plan: `Kind::Opaque`, bytes kept;
///   among them TCP segments with a wrong checksum, which routers carry and hosts drop, and
///   whatever has an address that stands for a prefix of the plan.
///
/// Nothing is left in `arena` on error.
pub fn parse(bytes: &[u8], plan: &AddressPlan, arena: &mut Arena) -> Result<Packet, ParseError> {
    match bytes.first().map(|first| first >> 4) {
        None => Err(ParseError::Truncated),
        Some(4) => parse_v4(bytes, plan, arena),
        Some(6) => parse_v6(bytes, plan, arena),
        Some(_) => Err(ParseError::Version),
    }
}

/// What the IP headers of both versions say, as a packet has it.
#[derive(Clone, Copy)]
struct Ip {
    version: IpVersion,
    addresses: (Addr, Addr),
    /// DSCP and ECN field.
    class: u8,
    ttl: u8,
    dont_fragment: bool,
    id: u32,
    flow_label: u32,
    options: OptionList,
    protocol: u8,
}

impl Ip {
    /// The packet with these fields; `made` holds the rest.
    fn dress(&self, mut made: Packet, arena: &mut Arena) -> Packet {
        if self.version == IpVersion::V6 && !self.dont_fragment {
            made.add_fragment_header(self.id, arena);
        }
        made.set_ttl(self.ttl);
        made.set_ecn(Ecn::from_bits(self.class));
        made.set_dont_fragment(self.dont_fragment);
        made
    }
}

fn parse_v4(bytes: &[u8], plan: &AddressPlan, arena: &mut Arena) -> Result<Packet, ParseError> {
    let (header, payload) = Ipv4::parse(bytes)?;
    let [src, dst] = header.ends.map(|end| plan.find_v4(end));
    let (addresses, is_foreign) = Found::ends(src, dst).ok_or(ParseError::UnknownAddress)?;
    let ip = Ip {
        version: IpVersion::V4,
        addresses,
        class: header.tos,
        ttl: header.ttl,
        dont_fragment: header.dont_fragment,
        id: header.id.into(),
        flow_label: 0,
        options: OptionList::from_bytes(header.options).expect("at most 40 bytes by its IHL"),
        protocol: header.protocol,
    };
    if header.reserved_flag {
        return Ok(opaque(&ip, bytes, visible_ports(header.protocol, payload), arena));
    }
    if is_foreign {
        let ports = if header.offset == 0 { visible_ports(header.protocol, payload) } else { None };
        return Ok(opaque(&ip, bytes, ports, arena));
    }
    if header.more || header.offset != 0 {
        return piece(&ip, header.offset, header.more, payload, arena);
    }
    let ends = Ends::V4(header.ends);
    Ok(whole(&ip, &ends, bytes, payload, arena))
}

fn parse_v6(bytes: &[u8], plan: &AddressPlan, arena: &mut Arena) -> Result<Packet, ParseError> {
    let (header, payload) = Ipv6::parse(bytes)?;
    let [src, dst] = header.ends.map(|end| plan.find_v6(end));
    let (addresses, is_foreign) = Found::ends(src, dst).ok_or(ParseError::UnknownAddress)?;
    let mut ip = Ip {
        version: IpVersion::V6,
        addresses,
        class: header.class,
        ttl: header.hop_limit,
        dont_fragment: true,
        id: 0,
        flow_label: header.flow_label,
        options: OptionList::EMPTY,
        protocol: header.next_header,
    };
    if is_foreign {
        return Ok(opaque(&ip, bytes, visible_ports(ip.protocol, payload), arena));
    }
    let ends = Ends::V6(header.ends);
    let fragment = if ip.protocol == ipv6::FRAGMENT { Fragment::parse(payload) } else { None };
    let Some((fragment, behind)) = fragment else {
        return Ok(whole(&ip, &ends, bytes, payload, arena));
    };
    let plain = ip;
    ip = Ip { dont_fragment: false, id: fragment.id, protocol: fragment.next_header, ..ip };
    if fragment.more || fragment.offset != 0 {
        return piece(&ip, fragment.offset, fragment.more, behind, arena);
    }
    // An atomic fragment (RFC 6946).
    let segment = if ip.protocol == tcp::PROTOCOL { Tcp::parse(behind, &ends) } else { None };
    Ok(match segment {
        Some((tcp, payload)) => tcp_segment(&ip, &tcp, payload, arena),
        None => opaque(&plain, bytes, visible_ports(ip.protocol, behind), arena),
    })
}

/// A datagram that is no fragment.
fn whole(ip: &Ip, ends: &Ends, bytes: &[u8], behind_ip: &[u8], arena: &mut Arena) -> Packet {
    let segment = if ip.protocol == tcp::PROTOCOL { Tcp::parse(behind_ip, ends) } else { None };
    match segment {
        Some((tcp, payload)) => tcp_segment(ip, &tcp, payload, arena),
        None => opaque(ip, bytes, visible_ports(ip.protocol, behind_ip), arena),
    }
}

fn tcp_segment(ip: &Ip, tcp: &Tcp<'_>, payload: &[u8], arena: &mut Arena) -> Packet {
    let src = Endpoint { addr: ip.addresses.0, port: tcp.ports.0 };
    let dst = Endpoint { addr: ip.addresses.1, port: tcp.ports.1 };
    let payload_len = u16::try_from(payload.len()).expect("part of a packet");
    let made = Packet::tcp(ip.version, src, dst, tcp.fields, payload_len);
    let mut made = ip.dress(made, arena);
    let (pattern, seq) = pattern_of(&made, tcp.ports, tcp.fields.seq, tcp.fields.flags);
    let cold = Cold {
        dscp: ip.class >> 2,
        ip_id: ip.id,
        flow_label: ip.flow_label,
        urgent: tcp.urgent,
        tcp_reserved: tcp.reserved,
        body: (!pattern.matches(seq, payload)).then(|| arena.body(payload)),
        ..Cold::default()
    };
    // What is plain has no cold part, so that it is the same packet as the one that was never
    // bytes.
    if cold != Cold::default() {
        *made.cold_mut(arena) = cold;
    }
    if !ip.options.is_empty() {
        made.set_ip_options(ip.options, arena).expect("IPv6 has none");
    }
    if !tcp.options.is_empty() {
        let options = OptionList::from_bytes(tcp.options).expect("at most 40 bytes by its offset");
        made.set_tcp_options(options, arena).expect("leading timestamps are taken out");
    }
    made
}

fn piece(
    ip: &Ip,
    offset: u16,
    more: bool,
    body: &[u8],
    arena: &mut Arena,
) -> Result<Packet, ParseError> {
    let header_len = match ip.version {
        IpVersion::V4 => crate::ipv4::MIN_HEADER,
        IpVersion::V6 => ipv6::HEADER + ipv6::FRAGMENT_HEADER,
    };
    // The datagram itself must fit into its length field (RFC 791), the largest being 65 535 with
    // its header. (RFC 8200 does not count the fixed header.)
    let datagram_len = header_len + usize::from(offset) + body.len();
    let len = u16::try_from(header_len + body.len());
    let (Ok(len), true) = (len, datagram_len <= usize::from(u16::MAX)) else {
        return Err(ParseError::Length);
    };
    let cold = Cold {
        dscp: ip.class >> 2,
        ip_id: ip.id,
        flow_label: ip.flow_label,
        piece: Some(FragmentRange::from_outside(offset, more, ip.protocol)),
        body: Some(arena.body(body)),
        ..Cold::default()
    };
    let ports = if offset == 0 { visible_ports(ip.protocol, body) } else { None };
    let mut made = Packet::piece(ip.version, ip.addresses, len, ports, cold, arena);
    if !ip.options.is_empty() {
        made.set_ip_options(ip.options, arena).expect("IPv4 has options");
    }
    Ok(ip.dress(made, arena))
}

fn opaque(ip: &Ip, bytes: &[u8], ports: Option<(u16, u16)>, arena: &mut Arena) -> Packet {
    let cold = Cold { body: Some(arena.body(bytes)), ..Cold::default() };
    let made = Packet::opaque(ip.version, ip.addresses, ports, cold, arena);
    ip.dress(made, arena)
}

/// The ports, of a protocol that begins with them, if the bytes hold them.
fn visible_ports(protocol: u8, behind_ip: &[u8]) -> Option<(u16, u16)> {
    const UDP: u8 = 17;
    const DCCP: u8 = 33;
    const SCTP: u8 = 132;
    const UDP_LITE: u8 = 136;
    let has_ports = matches!(protocol, tcp::PROTOCOL | UDP | DCCP | SCTP | UDP_LITE);
    let &[a, b, c, d] = behind_ip.first_chunk().filter(|_| has_ports)?;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

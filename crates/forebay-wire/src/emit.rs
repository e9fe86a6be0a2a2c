//! From a packet to its bytes.

use crate::ipv4::{self, Ipv4};
use crate::ipv6::{self, Fragment, Ipv6};
use crate::patch::patch;
use crate::pattern::Pattern;
use crate::plan::{AddressPlan, Ends, PlanError};
use crate::tcp::{self, Tcp};
use alloc::vec::Vec;
use forebay_base::{Arena, Cold, Endpoint, Kind, OptionList, Packet, TcpFlags};

/// What a packet without cold part carries.
static PLAIN: Cold = Cold {
    dscp: 0,
    ip_id: 0,
    flow_label: 0,
    urgent: 0,
    tcp_reserved: 0,
    ip_options: OptionList::EMPTY,
    tcp_options: OptionList::EMPTY,
    piece: None,
    body: None,
};

/// Append the bytes of `packet`, from the IP header on: [`Packet::wire_len`] of them. Payload that
/// the cold part does not hold is the test pattern.
///
/// Errors, and appends nothing, if an address has no place in the plan. Panics on a cold part that
/// contradicts its packet: a body of another length, a field that its IP version lacks.
pub fn emit(
    packet: &Packet,
    arena: &Arena,
    plan: &AddressPlan,
    out: &mut Vec<u8>,
) -> Result<(), PlanError> {
    emit_with(packet, arena, plan, None, out)
}

/// The same with the `payload` of a whole TCP segment, [`Packet::payload_len`] bytes that its
/// caller keeps, in place of what it would hold otherwise.
///
/// Panics if `payload` is longer or shorter, or the packet is no whole segment.
pub fn emit_payload(
    packet: &Packet,
    arena: &Arena,
    plan: &AddressPlan,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), PlanError> {
    assert_eq!(packet.kind(), Kind::Tcp, "only a whole segment has a payload");
    emit_with(packet, arena, plan, Some(payload), out)
}

fn emit_with(
    packet: &Packet,
    arena: &Arena,
    plan: &AddressPlan,
    payload: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<(), PlanError> {
    let cold = packet.cold_part(arena).unwrap_or(&PLAIN);
    let start = out.len();
    out.reserve(usize::from(packet.wire_len()));
    if packet.kind() == Kind::Opaque {
        append_opaque(packet, cold, out);
        return Ok(());
    }
    let ends = plan.ends(packet.version(), (packet.src(), packet.dst()))?;
    append_ip_header(packet, cold, &ends, out);
    match cold.piece.filter(|_| packet.kind() == Kind::Fragment) {
        None => append_segment(packet, cold, payload, &ends, out),
        Some(piece) => match arena.datagram_of(&piece) {
            None => out.extend_from_slice(cold.body.as_ref().expect("a piece has bytes")),
            Some(whole) => {
                let body = out.len();
                let whole_cold = whole.cold_part(arena).unwrap_or(&PLAIN);
                append_segment(whole, whole_cold, None, &ends, out);
                let first = body + usize::from(piece.offset);
                out.copy_within(first..first + usize::from(packet.payload_len()), body);
                out.truncate(body + usize::from(packet.payload_len()));
            }
        },
    }
    assert_eq!(out.len() - start, usize::from(packet.wire_len()), "the body has another length");
    Ok(())
}

fn append_opaque(packet: &Packet, cold: &Cold, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(cold.body.as_ref().expect("an opaque packet has bytes"));
    let header = patch(&mut out[start..], packet.ttl(), packet.ecn());
    header.expect("opaque bytes begin with an IP header");
}

fn append_ip_header(packet: &Packet, cold: &Cold, ends: &Ends, out: &mut Vec<u8>) {
    assert!(cold.dscp < 1 << 6 && cold.flow_label < 1 << 20, "field wider than on the wire");
    let class = cold.dscp << 2 | packet.ecn() as u8;
    let (protocol, offset, more) = match cold.piece {
        Some(piece) if packet.kind() == Kind::Fragment => {
            (piece.protocol, piece.offset, piece.more)
        }
        _ => (tcp::PROTOCOL, 0, false),
    };
    match *ends {
        Ends::V4(ends) => {
            assert_eq!(cold.flow_label, 0, "IPv4 has no flow label");
            let ip = Ipv4 {
                tos: class,
                id: u16::try_from(cold.ip_id).expect("an IPv4 identification has 16 bits"),
                reserved_flag: false,
                dont_fragment: packet.dont_fragment(),
                more,
                offset,
                ttl: packet.ttl(),
                protocol,
                ends,
                options: cold.ip_options.as_bytes(),
            };
            let mut header = [0; ipv4::MAX_HEADER];
            let header_len = ipv4::MIN_HEADER + cold.ip_options.len().next_multiple_of(4);
            ip.write(usize::from(packet.wire_len()) - header_len, &mut header);
            out.extend_from_slice(&header[..header_len]);
        }
        Ends::V6(ends) => {
            let is_fragment = !packet.dont_fragment();
            assert!(cold.ip_options.is_empty(), "IPv6 has no options");
            assert!(cold.ip_id == 0 || is_fragment, "IPv6 has an ID in a Fragment header only");
            let next_header = if is_fragment { ipv6::FRAGMENT } else { protocol };
            let (flow_label, hop_limit) = (cold.flow_label, packet.ttl());
            let ip = Ipv6 { class, flow_label, next_header, hop_limit, ends };
            let mut header = [0; ipv6::HEADER];
            ip.write(usize::from(packet.wire_len()) - ipv6::HEADER, &mut header);
            out.extend_from_slice(&header);
            if is_fragment {
                let (next_header, id) = (protocol, cold.ip_id);
                out.extend_from_slice(&Fragment { next_header, offset, more, id }.bytes());
            }
        }
    }
}

/// TCP header and payload of a whole segment.
fn append_segment(
    packet: &Packet,
    cold: &Cold,
    payload: Option<&[u8]>,
    ends: &Ends,
    out: &mut Vec<u8>,
) {
    assert!(cold.tcp_reserved < 1 << 4, "field wider than on the wire");
    let fields = packet.tcp_fields().expect("a datagram that Forebay cuts is a TCP segment");
    let ports = packet.ports().expect("a whole segment holds its ports");
    let (reserved, urgent) = (cold.tcp_reserved, cold.urgent);
    let tcp = Tcp { ports, fields, reserved, urgent, options: cold.tcp_options.as_bytes() };
    let mut header = [0; tcp::MAX_HEADER];
    let header_len = tcp.write(&mut header);
    let start = out.len();
    out.extend_from_slice(&header[..header_len]);
    match payload.or(cold.body.as_deref()) {
        Some(bytes) => out.extend_from_slice(bytes),
        None => {
            let payload = out.len();
            out.resize(payload + usize::from(packet.payload_len()), 0);
            let (pattern, seq) = pattern_of(packet, ports, fields.seq, fields.flags);
            pattern.fill(seq, &mut out[payload..]);
        }
    }
    let checksum = tcp::segment_checksum(&out[start..], ends);
    let field = start + tcp::CHECKSUM;
    out[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The pattern of a segment's payload, and the sequence number of its first byte: a SYN takes up
/// one.
pub(crate) fn pattern_of(
    packet: &Packet,
    ports: (u16, u16),
    seq: u32,
    flags: TcpFlags,
) -> (Pattern, u32) {
    let src = Endpoint { addr: packet.src(), port: ports.0 };
    let dst = Endpoint { addr: packet.dst(), port: ports.1 };
    (Pattern::new(src, dst), seq.wrapping_add(u32::from(flags.has(TcpFlags::SYN))))
}

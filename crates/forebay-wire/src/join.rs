//! Putting fragments together by their bytes.

use crate::emit::emit;
use crate::error::ParseError;
use crate::ipv4::{self, Ipv4};
use crate::ipv6::{self, Fragment, Ipv6};
use crate::parse::parse;
use crate::plan::{AddressPlan, PlanError};
use alloc::vec::Vec;
use forebay_base::{Arena, Cold, Ecn, IpVersion, Kind, Packet};

/// The datagram that `pieces`, in order of their offsets, make up; the fragments end. Its IP header
/// is that of the first fragment with offset and MF cleared (RFC 791 section 3.2); it is CE if any
/// fragment is (RFC 3168 section 5.3). With IPv6 the Fragment header stays, as that of an atomic
/// fragment: its identification is that of the datagram.
///
/// Errors, and no fragment ends, if they leave a gap or overlap, if their addresses, protocols or
/// IDs differ (IPv6: the protocol is that of the first one), or if the whole is longer than 65 535
/// bytes. Fragments cut from datagrams in this arena
/// count as their bytes. ([`Arena::reassemble`] joins those of one datagram without.)
pub fn join(
    pieces: &mut Vec<Packet>,
    plan: &AddressPlan,
    arena: &mut Arena,
) -> Result<Packet, ParseError> {
    let bytes = joined_bytes(pieces, plan, arena)?;
    let whole = parse(&bytes, plan, arena)?;
    pieces.drain(..).for_each(|piece| arena.free(piece));
    Ok(whole)
}

fn joined_bytes(
    pieces: &[Packet],
    plan: &AddressPlan,
    arena: &Arena,
) -> Result<Vec<u8>, ParseError> {
    let first = pieces.first().ok_or(ParseError::Pieces)?;
    let head = cold_of(first, arena)?;
    check_contiguous(pieces, arena)?;
    let mut body = Vec::new();
    for piece in pieces {
        append_body(piece, plan, arena, &mut body)?;
    }
    let header_len = usize::from(first.header_len());
    if header_len + body.len() > usize::from(u16::MAX) {
        return Err(ParseError::Length);
    }
    let marked = pieces.iter().any(|piece| piece.ecn() == Ecn::Ce);
    let ecn = if marked { Ecn::Ce } else { first.ecn() };
    let mut bytes = Vec::with_capacity(header_len + body.len());
    let protocol = head.piece.ok_or(ParseError::Pieces)?.protocol;
    if first.version() == IpVersion::V6 {
        let ip = Ipv6 {
            class: head.dscp << 2 | ecn as u8,
            flow_label: head.flow_label,
            next_header: ipv6::FRAGMENT,
            hop_limit: first.ttl(),
            ends: [plan.to_v6(first.src()), plan.to_v6(first.dst())],
        };
        let mut header = [0; ipv6::HEADER];
        ip.write(ipv6::FRAGMENT_HEADER + body.len(), &mut header);
        let (next_header, id) = (protocol, head.ip_id);
        let fragment = Fragment { next_header, offset: 0, more: false, id };
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&fragment.bytes());
        bytes.append(&mut body);
        return Ok(bytes);
    }
    let address = |addr| plan.to_v4(addr).map_err(|PlanError(_)| ParseError::UnknownAddress);
    let ip = Ipv4 {
        tos: head.dscp << 2 | ecn as u8,
        id: u16::try_from(head.ip_id).map_err(|_| ParseError::Pieces)?,
        reserved_flag: false,
        dont_fragment: first.dont_fragment(),
        more: false,
        offset: 0,
        ttl: first.ttl(),
        protocol,
        ends: [address(first.src())?, address(first.dst())?],
        options: head.ip_options.as_bytes(),
    };
    let mut header = [0; ipv4::MAX_HEADER];
    let header_len = ip.write(body.len(), &mut header);
    bytes.extend_from_slice(&header[..header_len]);
    bytes.append(&mut body);
    Ok(bytes)
}

fn cold_of<'a>(piece: &Packet, arena: &'a Arena) -> Result<&'a Cold, ParseError> {
    let cold = piece.cold_part(arena).filter(|_| piece.kind() == Kind::Fragment);
    cold.ok_or(ParseError::Pieces)
}

/// Append the bytes of a fragment after its IP header.
fn append_body(
    piece: &Packet,
    plan: &AddressPlan,
    arena: &Arena,
    out: &mut Vec<u8>,
) -> Result<(), ParseError> {
    if let Some(body) = &cold_of(piece, arena)?.body {
        out.extend_from_slice(body);
        return Ok(());
    }
    let start = out.len();
    emit(piece, arena, plan, out).map_err(|PlanError(_)| ParseError::UnknownAddress)?;
    out.drain(start..start + usize::from(piece.header_len()));
    Ok(())
}

/// Errors unless the fragments are all of a datagram and of nothing else.
fn check_contiguous(pieces: &[Packet], arena: &Arena) -> Result<(), ParseError> {
    let identity = |piece: &Packet| -> Result<_, ParseError> {
        let cold = cold_of(piece, arena)?;
        let protocol = cold.piece.ok_or(ParseError::Pieces)?.protocol;
        let version = piece.version();
        let protocol = Some(protocol).filter(|_| version == IpVersion::V4);
        Ok((version, piece.src(), piece.dst(), protocol, cold.ip_id))
    };
    let mut next = 0;
    for (at, packet) in pieces.iter().enumerate() {
        let cold = cold_of(packet, arena)?;
        let piece = cold.piece.ok_or(ParseError::Pieces)?;
        let last = at + 1 == pieces.len();
        if identity(packet)? != identity(&pieces[0])?
            || usize::from(piece.offset) != next
            || piece.more == last
        {
            return Err(ParseError::Pieces);
        }
        next += usize::from(packet.payload_len());
    }
    Ok(())
}

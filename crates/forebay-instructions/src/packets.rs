//! Packets to measure with.

use forebay_base::{
    Addr, Arena, Endpoint, IpVersion, OptionList, Packet, Span, TcpFields, TcpFlags, kind,
};
use forebay_signal::rcp::Request;

/// Payload of a full-sized packet with timestamps, in bytes.
pub const MSS: u16 = 1448;

fn segment(number: u32, payload_len: u16) -> Packet {
    let end = |addr, port| Endpoint { addr: Addr(addr), port };
    let fields = TcpFields {
        seq: number.wrapping_mul(u32::from(MSS)),
        ack: 1,
        flags: TcpFlags::ACK,
        window: 30_000,
        timestamps: Some((number, number)),
    };
    Packet::tcp(IpVersion::V4, end(1, 5001), end(2, 80), fields, payload_len)
}

/// 1500 bytes of data.
pub fn data(number: u32) -> Packet {
    segment(number, MSS)
}

/// The same without DF: routers may cut it.
pub fn cuttable(number: u32, arena: &mut Arena) -> Packet {
    let mut packet = data(number);
    packet.set_dont_fragment(false);
    packet.cold_mut(arena).ip_id = (number as u16).into();
    packet
}

/// The same with the request of an RCP sender, in place of as much payload.
pub fn rcp_data(number: u32, arena: &mut Arena) -> Packet {
    let mut options = OptionList::EMPTY;
    let request = Request { rate: None, rtt: Some(Span::from_millis(20)) };
    request.push(&mut options).expect("12 bytes fit into 40");
    let mut packet = segment(number, MSS - 12);
    packet.set_tcp_options(options, arena).expect("28 bytes are free");
    packet
}

/// An ACK with two SACK blocks.
pub fn sack(number: u32, arena: &mut Arena) -> Packet {
    let mut blocks = [0; 16];
    for (at, edge) in blocks.chunks_exact_mut(4).zip([10u32, 11, 14, 20]) {
        at.copy_from_slice(&(number.wrapping_add(edge) * u32::from(MSS)).to_be_bytes());
    }
    let mut options = OptionList::EMPTY;
    options.push(kind::SACK, &blocks).expect("18 bytes fit into 40");
    let mut packet = segment(number, 0);
    packet.set_tcp_options(options, arena).expect("28 bytes are free");
    packet
}

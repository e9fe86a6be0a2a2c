//! The reset that answers a segment for which there is no connection.

use forebay_base::{Endpoint, Packet, TcpFields, TcpFlags};

/// RFC 9293 section 3.10.7.1: `<SEQ=SEG.ACK><CTL=RST>` for a segment with an ACK, else
/// `<SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>`. None if `packet` is a reset, or no whole segment.
pub fn reset(packet: &Packet) -> Option<Packet> {
    let (tcp, (src_port, dst_port)) = packet.tcp_fields().zip(packet.ports())?;
    if tcp.flags.has(TcpFlags::RST) {
        return None;
    }
    let fields = if tcp.flags.has(TcpFlags::ACK) {
        TcpFields { seq: tcp.ack, flags: TcpFlags::RST, ..TcpFields::default() }
    } else {
        let occupied = [TcpFlags::SYN, TcpFlags::FIN].map(|flag| u32::from(tcp.flags.has(flag)));
        let len = u32::from(packet.payload_len()) + occupied[0] + occupied[1];
        let flags = TcpFlags(TcpFlags::RST.0 | TcpFlags::ACK.0);
        TcpFields { ack: tcp.seq.wrapping_add(len), flags, ..TcpFields::default() }
    };
    let src = Endpoint { addr: packet.dst(), port: dst_port };
    let dst = Endpoint { addr: packet.src(), port: src_port };
    Some(Packet::tcp(packet.version(), src, dst, fields, 0))
}

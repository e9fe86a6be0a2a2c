//! A packet comes to a host: which socket it is for, and what the socket makes of it.

use super::{Host, HostContext, Life};
use crate::workload::index_of;
use forebay_base::{
    Arena, DropReason, Endpoint, FragmentRange, IPV6_HEADER_BYTES, IpVersion, Kind, Packet,
    SocketId, Time,
};
use forebay_cc::{PieceView, TcpHead};

const TCP_PROTOCOL: u8 = 6;

/// A socket took a segment: its timeout may have changed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Received {
    /// The socket.
    pub socket: SocketId,
    /// A socket of the host may have something to send.
    pub ready: bool,
    /// Nothing of the segment was taken: it is dropped for this reason.
    pub refused: Option<DropReason>,
}

impl Host {
    /// A packet came. If it is a whole TCP segment for a socket here, the socket reads it where it
    /// lies. The caller then ends the packet: as delivered, which is counted here, or as dropped
    /// for [`Received::refused`].
    ///
    /// None, and nothing has happened to the packet, if it is anything else:
    /// [`Host::receive_other`] must follow.
    #[inline]
    pub fn receive(&mut self, packet: &Packet, cx: &mut HostContext<'_>) -> Option<Received> {
        self.pass_time_to_arrival(cx.now);
        if packet.kind() != Kind::Tcp {
            return None;
        }
        let received = self.read_segment(packet, 1, cx)?;
        *cx.delivered += u64::from(received.refused.is_none());
        Some(received)
    }
    /// The same with a packet that [`Host::receive`] did not take. The packet ends here, or waits
    /// for the rest of its datagram.
    pub fn receive_other(&mut self, packet: Packet, cx: &mut HostContext<'_>) -> Option<Received> {
        self.pass_time_to_arrival(cx.now);
        match packet.kind() {
            Kind::Tcp => cx.drops.record(packet, DropReason::NoSocket, cx.arena),
            Kind::Opaque => end_foreign(packet, 1, cx),
            Kind::Fragment => {
                let (datagram, pieces) = self.receive_piece(packet, cx)?;
                return self.receive_datagram(datagram, pieces, cx);
            }
        }
        None
    }

    /// A fragment came. The datagram and the number of its fragments, if it was the last that
    /// missed.
    fn receive_piece(&mut self, packet: Packet, cx: &mut HostContext<'_>) -> Option<(Packet, u64)> {
        let part = packet.cold_part(cx.arena).and_then(|c| c.piece).expect("a piece says which");
        // Only the first fragment shows its ports, so only that one can be shown to its socket.
        // Ports of other protocols mean other sockets.
        if part.protocol == TCP_PROTOCOL {
            self.show_piece(&packet, &part, cx);
        }
        let left_host_at = packet.left_host_at();
        let whole = self.reassembly.on_piece(cx.now, packet, cx.plan, cx.arena, cx.drops);
        let (mut datagram, pieces) = whole?;
        // Fragments that came as bytes say it nowhere else.
        datagram.set_left_host_at(left_host_at);
        Some((datagram, pieces))
    }
    /// Show a fragment to the connection that it is for, if that looks at fragments.
    fn show_piece(&mut self, packet: &Packet, part: &FragmentRange, cx: &mut HostContext<'_>) {
        let Some((interface, entry)) = self.find_entry(packet) else { return };
        let entry = self.interfaces[interface].entries[entry];
        let socket = &mut self.sockets[entry.socket.index()];
        if let Some(connection) = socket.open_connection().filter(|c| c.wants_pieces()) {
            let view = view_of_piece(packet, part, cx.arena);
            connection.on_piece(cx.now, entry.path as usize, &view);
        }
    }
    /// A datagram that came in `pieces` is whole, and ends here.
    fn receive_datagram(
        &mut self,
        datagram: Packet,
        pieces: u64,
        cx: &mut HostContext<'_>,
    ) -> Option<Received> {
        if datagram.kind() != Kind::Tcp {
            end_foreign(datagram, pieces, cx);
            return None;
        }
        let received = self.read_segment(&datagram, pieces, cx);
        match &received {
            Some(Received { refused: None, .. }) => end_delivered(datagram, pieces, cx),
            Some(Received { refused: Some(reason), .. }) => {
                drop_pieces(datagram, pieces, *reason, cx);
            }
            None => drop_pieces(datagram, pieces, DropReason::NoSocket, cx),
        }
        received
    }

    /// The socket that a TCP segment is for reads it. None if there is none. If it came in `pieces`
    /// of more than one, the connection has been shown them.
    #[inline]
    fn read_segment(
        &mut self,
        packet: &Packet,
        pieces: u64,
        cx: &mut HostContext<'_>,
    ) -> Option<Received> {
        let found = self.find_entry(packet).or_else(|| self.find_listener(cx.now, packet));
        let (i, e) = found?;
        let entry = self.interfaces[i].entries[e];
        let socket = &mut self.sockets[entry.socket.index()];
        let (path, transport) = (entry.path as usize, socket.transport);
        let Some(connection) = socket.connection_for_packet(cx, packet) else {
            return self.read_late(i, e, packet, cx);
        };
        if !connection.is_from_peer(path, packet) {
            return None;
        }
        let refused = if pieces == 1 {
            if connection.wants_pieces() {
                connection.on_piece(cx.now, path, &view_of_whole(packet, cx.arena));
            }
            connection.on_packet(cx.now, path, packet, cx.arena)
        } else {
            connection.on_reassembled(cx.now, path, packet, pieces as u16, cx.arena)
        };
        if refused.is_none() {
            cx.note_one_way(transport, packet);
        }
        if connection.paths() > 1 {
            self.mark_all_ready(entry.socket);
        } else if !connection.has_nothing_to_send(path) {
            self.interfaces[i].mark_ready(e);
        }
        Some(Received { socket: entry.socket, ready: self.any_ready(), refused })
    }
    /// The same where the connection of the socket is over, or has never been.
    #[cold]
    #[inline(never)]
    pub(super) fn read_late(
        &mut self,
        interface: usize,
        e: usize,
        packet: &Packet,
        cx: &mut HostContext<'_>,
    ) -> Option<Received> {
        let entry = self.interfaces[interface].entries[e];
        let socket = &mut self.sockets[entry.socket.index()];
        let Life::Closed(closed) = &mut socket.life else { return None };
        if !closed.is_from_peer(packet) {
            return None;
        }
        closed.on_packet(cx.now, packet, cx.arena);
        cx.note_one_way(socket.transport, packet);
        if !closed.has_nothing_to_send() {
            self.interfaces[interface].mark_ready(e);
        }
        Some(Received { socket: entry.socket, ready: self.any_ready(), refused: None })
    }
    /// The same of a port that listens.
    #[cold]
    fn find_listener(&mut self, now: Time, packet: &Packet) -> Option<(usize, usize)> {
        let listeners = self.listeners.as_mut()?;
        let socket = listeners.socket_for(now, packet, &mut self.sockets)?;
        let &(interface, entry) = self.sockets[socket.index()].places().next()?;
        Some((interface as usize, entry as usize))
    }
    /// The (interface, entry) that a packet's destination address and port name.
    #[inline]
    fn find_entry(&self, packet: &Packet) -> Option<(usize, usize)> {
        let (_, port) = packet.ports()?;
        let end = Endpoint { addr: packet.dst(), port };
        let interface = match &*self.interfaces {
            [_] => 0, // what is for an address before its first has no index there
            all => all.iter().rposition(|i| i.addr <= end.addr)?,
        };
        let index = index_of(self.interfaces[interface].addr, end)? as usize;
        (index < self.interfaces[interface].entries.len()).then_some((interface, index))
    }
}

/// A TCP segment that came whole, in the form of a fragment.
#[inline(never)] // few connections look at pieces
pub(super) fn view_of_whole(packet: &Packet, arena: &Arena) -> PieceView {
    view_of(packet, 0, false, head_of(packet), arena)
}

/// A fragment of a TCP segment.
fn view_of_piece(packet: &Packet, part: &FragmentRange, arena: &Arena) -> PieceView {
    let body = packet.cold_part(arena).and_then(|cold| cold.body.as_deref());
    let is_long_enough = part.offset == 0 && packet.payload_len() >= TCP_HEAD_BYTES;
    let head = match arena.datagram_of(part) {
        _ if !is_long_enough => None,
        Some(whole) if whole.kind() == Kind::Tcp => head_of(whole),
        Some(whole) => whole.cold_part(arena).and_then(|cold| {
            read_head(cold.body.as_ref()?.get(usize::from(whole.ip_header_len(arena))..)?)
        }),
        None => body.and_then(read_head),
    };
    view_of(packet, part.offset, part.more, head, arena)
}

fn view_of(
    packet: &Packet,
    offset: u16,
    more: bool,
    head: Option<TcpHead>,
    arena: &Arena,
) -> PieceView {
    PieceView {
        wire_len: packet.wire_len(),
        payload_bytes: packet.wire_len() - packet.ip_header_len(arena),
        offset,
        more,
        dont_fragment: packet.dont_fragment(),
        ip_id: packet.cold_part(arena).map_or(0, |cold| cold.ip_id),
        ecn: packet.ecn(),
        head,
    }
}

const TCP_HEAD_BYTES: u16 = 8;

/// How a TCP segment begins.
fn head_of(segment: &Packet) -> Option<TcpHead> {
    let ((src_port, dst_port), tcp) = segment.ports().zip(segment.tcp_fields())?;
    Some(TcpHead { src_port, dst_port, seq: tcp.seq })
}

fn read_head(bytes: &[u8]) -> Option<TcpHead> {
    let &[a, b, c, d, seq @ ..] = bytes.first_chunk::<{ TCP_HEAD_BYTES as usize }>()?;
    let (src_port, dst_port) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    Some(TcpHead { src_port, dst_port, seq: u32::from_be_bytes(seq) })
}

/// A datagram that came in `pieces` ends as delivered.
fn end_delivered(packet: Packet, pieces: u64, cx: &mut HostContext<'_>) {
    *cx.delivered += pieces;
    cx.arena.free(packet);
}

/// A datagram that came in `pieces` ends as dropped. Each fragment counts, as each was sent.
fn drop_pieces(packet: Packet, pieces: u64, reason: DropReason, cx: &mut HostContext<'_>) {
    cx.drops.count_only(reason, pieces - 1);
    cx.drops.record(packet, reason, cx.arena);
}

/// A datagram of another protocol, or of TCP that could not be read, ends. The first has reached
/// its destination. The second has a wrong checksum, and a host drops it (RFC 9293 section 3.1).
fn end_foreign(packet: Packet, pieces: u64, cx: &mut HostContext<'_>) {
    if opaque_protocol(&packet, cx.arena) == Some(TCP_PROTOCOL) {
        return drop_pieces(packet, pieces, DropReason::Checksum, cx);
    }
    end_delivered(packet, pieces, cx);
}

/// The IP protocol of an opaque packet: byte 9 of an IPv4 header, the next header of an IPv6 one or
/// of the Fragment header after it.
fn opaque_protocol(packet: &Packet, arena: &Arena) -> Option<u8> {
    const FRAGMENT_HEADER: u8 = 44; // RFC 8200 section 4.5
    let bytes = packet.cold_part(arena)?.body.as_ref()?;
    let at = match packet.version() {
        IpVersion::V4 => 9,
        IpVersion::V6 if bytes.get(6) == Some(&FRAGMENT_HEADER) => usize::from(IPV6_HEADER_BYTES),
        IpVersion::V6 => 6,
    };
    bytes.get(at).copied()
}

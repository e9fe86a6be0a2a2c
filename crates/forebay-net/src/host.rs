//! A host: sockets behind interfaces, reassembly, and a round robin over the sockets that have something to send.

use crate::reassembly::Reassembly;
use crate::workload::{Workload, index_of};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use forebay_base::{
    Addr, Arena, DropLog, DropReason, Endpoint, FlowId, IpVersion, Kind, Packet, PortId, SocketId,
    Time,
};
use forebay_cc::PieceView;
use forebay_transport::{Connection, Role};
use forebay_wire::AddressPlan;

const TCP_PROTOCOL: u8 = 6;

/// What a host works with during one call.
pub struct HostContext<'a> {
    /// Now.
    pub now: Time,
    /// Where the cold parts of packets are.
    pub arena: &'a mut Arena,
    /// Where drops are counted.
    pub drops: &'a mut DropLog,
    /// The flows.
    pub workload: &'a Workload,
    /// Addresses on the wire.
    pub plan: &'a AddressPlan,
    /// Packets that reached a host, pieces one by one.
    pub delivered: &'a mut u64,
}

/// The place of a socket that has no local port yet.
const NOWHERE: (u16, u32) = (u16::MAX, u32::MAX);

/// One end of a flow.
pub struct Socket {
    flow: FlowId,
    role: Role,
    connection: Option<Box<Connection>>,
    /// Its local ports: (interface, index there), path by path. Almost all sockets have one.
    first_place: (u16, u32),
    more_places: Vec<(u16, u32)>,
}

impl Socket {
    /// The flow.
    pub fn flow(&self) -> FlowId {
        self.flow
    }
    /// Which end it is.
    pub fn role(&self) -> Role {
        self.role
    }
    /// The connection, once it was opened or a packet came for it.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_deref()
    }
}

/// A local port: one path of a socket.
#[derive(Clone, Copy)]
struct Entry {
    socket: SocketId,
    path: u8,
    queued: bool,
}

struct Interface {
    /// The first of its addresses.
    addr: Addr,
    /// Local ports in order.
    entries: Vec<Entry>,
    /// Entries that may have something to send, served in turn.
    ready: VecDeque<u32>,
}

/// What [`Host::pull`] found.
#[derive(Debug)]
pub enum Pulled {
    /// A packet of this socket.
    Packet(Packet, SocketId),
    /// This socket has nothing to send now.
    Idle(SocketId),
    /// No socket has.
    Nothing,
}

/// See the module. The interface of index i is port i of the node.
#[derive(Default)]
pub struct Host {
    interfaces: Vec<Interface>,
    sockets: Vec<Socket>,
    reassembly: Reassembly,
}

impl Host {
    /// Add the next interface, whose addresses start at `addr`.
    pub(crate) fn add_interface(&mut self, addr: Addr) {
        self.interfaces.push(Interface { addr, entries: Vec::new(), ready: VecDeque::new() });
    }
    /// Add one end of a flow.
    pub(crate) fn add_socket(&mut self, flow: FlowId, role: Role) -> SocketId {
        let (first_place, more_places) = (NOWHERE, Vec::new());
        self.sockets.push(Socket { flow, role, connection: None, first_place, more_places });
        SocketId(self.sockets.len() as u32 - 1)
    }
    /// Add the next local port of an interface.
    pub(crate) fn add_port(&mut self, interface: PortId, socket: SocketId, path: u8) {
        let entries = &mut self.interfaces[interface.index()].entries;
        let place = (interface.0, entries.len() as u32);
        entries.push(Entry { socket, path, queued: false });
        let socket = &mut self.sockets[socket.index()];
        if socket.first_place == NOWHERE {
            socket.first_place = place;
        } else {
            socket.more_places.push(place);
        }
    }
    /// The sockets.
    pub fn sockets(&self) -> &[Socket] {
        &self.sockets
    }
    /// Pieces that wait for their datagram.
    pub fn held_packets(&self) -> u64 {
        self.reassembly.held_packets()
    }

    /// A packet came. The socket that took it, if one did: its timeout may have changed, and it may have something to send.
    pub fn on_packet(&mut self, packet: Packet, cx: &mut HostContext<'_>) -> Option<SocketId> {
        match packet.kind() {
            Kind::Tcp => {
                let piece = whole_as_piece(&packet);
                let taken = self.on_datagram(&packet, Some(piece), cx);
                match taken {
                    Some(_) => {
                        *cx.delivered += 1;
                        cx.arena.free(packet);
                    }
                    None => cx.drops.record(packet, DropReason::NoSocket, cx.arena),
                }
                taken
            }
            Kind::Piece => self.on_fragment(packet, cx),
            Kind::Opaque => {
                foreign(packet, 1, cx);
                None
            }
        }
    }

    fn on_fragment(&mut self, packet: Packet, cx: &mut HostContext<'_>) -> Option<SocketId> {
        let part = packet.cold_part(cx.arena).and_then(|c| c.piece).expect("a piece says which");
        let view = PieceView {
            wire_len: packet.wire_len(),
            offset: part.offset,
            more: part.more,
            ecn: packet.ecn(),
        };
        // Only the first piece shows its ports, so only that one can be told to its socket. Ports of other protocols mean
        // other sockets.
        if let Some(entry) = self.find(&packet).filter(|_| part.protocol == TCP_PROTOCOL) {
            self.tell_piece(entry, &view, cx);
        }
        let (now, plan) = (cx.now, cx.plan);
        let (whole, pieces) = self.reassembly.on_piece(now, packet, plan, cx.arena, cx.drops)?;
        if whole.kind() != Kind::Tcp {
            foreign(whole, pieces, cx);
            return None;
        }
        let taken = self.on_datagram(&whole, None, cx);
        match taken {
            Some(_) => {
                *cx.delivered += pieces;
                cx.arena.free(whole);
            }
            None => drop_whole(whole, pieces, DropReason::NoSocket, cx),
        }
        taken
    }

    /// The (interface, entry) that a packet's destination address and port name.
    #[inline]
    fn find(&self, packet: &Packet) -> Option<(usize, usize)> {
        let (_, port) = packet.ports()?;
        let end = Endpoint { addr: packet.dst(), port };
        let interface = self.interfaces.iter().rposition(|i| i.addr <= end.addr)?;
        let index = index_of(self.interfaces[interface].addr, end)? as usize;
        (index < self.interfaces[interface].entries.len()).then_some((interface, index))
    }

    fn tell_piece(&mut self, (i, e): (usize, usize), view: &PieceView, cx: &mut HostContext<'_>) {
        let entry = self.interfaces[i].entries[e];
        let socket = &mut self.sockets[entry.socket.index()];
        if let Some(connection) = socket.connection.as_mut().filter(|c| c.wants_pieces()) {
            connection.on_piece(cx.now, entry.path as usize, view);
        }
    }

    #[inline]
    fn on_datagram(
        &mut self,
        packet: &Packet,
        piece: Option<PieceView>,
        cx: &mut HostContext<'_>,
    ) -> Option<SocketId> {
        let (i, e) = self.find(packet)?;
        let entry = self.interfaces[i].entries[e];
        let socket = &mut self.sockets[entry.socket.index()];
        if socket.connection.is_none() {
            if socket.role == Role::Client {
                return None; // not opened yet: nobody can know of it
            }
            socket.connection = Some(Box::new(cx.workload.connection(socket.flow, Role::Server)));
        }
        let connection = socket.connection.as_mut()?;
        let path = entry.path as usize;
        if let Some(view) = piece.filter(|_| connection.wants_pieces()) {
            connection.on_piece(cx.now, path, &view);
        }
        connection.on_packet(cx.now, path, packet, cx.arena);
        if connection.paths() == 1 {
            self.interfaces[i].mark_ready(e);
        } else {
            self.mark_all_ready(entry.socket);
        }
        Some(entry.socket)
    }

    /// What one path learns may let the others send.
    fn mark_all_ready(&mut self, socket: SocketId) {
        let socket = &self.sockets[socket.index()];
        for &(interface, entry) in [socket.first_place].iter().chain(&socket.more_places) {
            self.interfaces[interface as usize].mark_ready(entry as usize);
        }
    }

    /// The client of `socket` opens its connection.
    pub fn open(&mut self, socket: SocketId, cx: &mut HostContext<'_>) {
        let entry = &mut self.sockets[socket.index()];
        assert!(entry.role == Role::Client && entry.connection.is_none(), "opened twice");
        let mut connection = cx.workload.connection(entry.flow, Role::Client);
        connection.open(cx.now);
        entry.connection = Some(Box::new(connection));
        self.mark_all_ready(socket);
    }
    /// When [`Host::on_timeout`] is due for `socket`.
    #[inline]
    pub fn next_timeout(&self, socket: SocketId) -> Option<Time> {
        self.sockets[socket.index()].connection.as_ref()?.next_timeout()
    }
    /// The time that `socket` asked for has come.
    pub fn on_timeout(&mut self, socket: SocketId, cx: &mut HostContext<'_>) {
        if let Some(connection) = &mut self.sockets[socket.index()].connection {
            connection.on_timeout(cx.now);
            self.mark_all_ready(socket);
        }
    }
    /// The next packet for interface `port`, one socket after the other.
    #[inline]
    pub fn pull(&mut self, port: PortId, cx: &mut HostContext<'_>) -> Pulled {
        let interface = &mut self.interfaces[port.index()];
        let Some(&e) = interface.ready.front() else { return Pulled::Nothing };
        let entry = &mut interface.entries[e as usize];
        let socket = &mut self.sockets[entry.socket.index()];
        let connection = socket.connection.as_mut().expect("only open sockets are ready");
        match connection.poll_transmit(cx.now, entry.path as usize, cx.arena) {
            Some(packet) => {
                if interface.ready.len() > 1 {
                    interface.ready.rotate_left(1);
                }
                Pulled::Packet(packet, entry.socket)
            }
            None => {
                entry.queued = false;
                interface.ready.pop_front();
                Pulled::Idle(entry.socket)
            }
        }
    }
    /// True if a socket of interface `port` may have something to send.
    #[inline]
    pub fn has_ready(&self, port: PortId) -> bool {
        !self.interfaces[port.index()].ready.is_empty()
    }
    /// Number of interfaces.
    pub fn interfaces(&self) -> usize {
        self.interfaces.len()
    }
}

impl Interface {
    #[inline]
    fn mark_ready(&mut self, entry: usize) {
        if !self.entries[entry].queued {
            self.entries[entry].queued = true;
            self.ready.push_back(entry as u32);
        }
    }
}

/// A datagram, which came in `pieces`, that is not for a socket of ours. It has come where it wanted to go; unless it is
/// TCP that could not be read, its checksum being wrong (RFC 9293 section 3.1): a host drops that.
fn foreign(packet: Packet, pieces: u64, cx: &mut HostContext<'_>) {
    if opaque_protocol(&packet, cx.arena) == Some(TCP_PROTOCOL) {
        return drop_whole(packet, pieces, DropReason::Malformed, cx);
    }
    *cx.delivered += pieces;
    cx.arena.free(packet);
}

/// Drop a datagram that came in `pieces`: each counts, as each was sent.
fn drop_whole(packet: Packet, pieces: u64, reason: DropReason, cx: &mut HostContext<'_>) {
    cx.drops.count_only(reason, pieces - 1);
    cx.drops.record(packet, reason, cx.arena);
}

/// The IP protocol of an opaque packet: byte 9 of an IPv4 header, the next header of an IPv6 one.
fn opaque_protocol(packet: &Packet, arena: &Arena) -> Option<u8> {
    let at = match packet.version() {
        IpVersion::V4 => 9,
        IpVersion::V6 => 6,
    };
    packet.cold_part(arena)?.body.as_ref()?.get(at).copied()
}

#[inline]
fn whole_as_piece(packet: &Packet) -> PieceView {
    PieceView { wire_len: packet.wire_len(), offset: 0, more: false, ecn: packet.ecn() }
}

//! A host: sockets behind interfaces, reassembly, and a round robin over the sockets that have something to send.

use crate::app::App;
use crate::fabric::EndId;
use crate::inline_one::InlineOne;
use crate::ip_ids::IpIds;
use crate::reassembly::Reassembly;
use crate::workload::{FIRST_PORT, Workload, index_of};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{
    Addr, Arena, DropLog, DropReason, Endpoint, FlowId, Histogram, IpVersion, Kind, Packet, PortId,
    SocketId, Time,
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
    pub workload: &'a Arc<Workload>,
    /// Addresses on the wire.
    pub plan: &'a AddressPlan,
    /// Packets that reached a host, pieces one by one.
    pub delivered: &'a mut u64,
    /// One-way delays of data packets that sockets here took, by transport of their flow.
    pub one_way: &'a mut Vec<Histogram>,
}

impl HostContext<'_> {
    /// A socket whose flow is of `transport` took `packet`.
    #[inline(always)]
    fn note_one_way(&mut self, transport: u16, packet: &Packet) {
        let left = packet.left_host_at();
        if left > Time::ZERO {
            self.one_way[transport as usize].record(self.now.since(left));
        }
    }
}

/// The place of a socket that has no local port yet.
const NOWHERE: (u16, u32) = (u16::MAX, u32::MAX);

/// One end of a flow.
pub struct Socket {
    flow: FlowId,
    role: Role,
    /// Number of the transport of its flow.
    transport: u16,
    connection: Option<Box<Connection>>,
    /// Its local ports: (interface, index there), path by path. Almost all sockets have one.
    first_place: (u16, u32),
    more_places: Vec<(u16, u32)>,
    /// What it sends, where not all was written at once.
    app: Option<Box<App>>,
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
    /// The end of its flow that it is.
    #[inline]
    pub fn end(&self) -> EndId {
        EndId::of(self.flow, self.role)
    }
    /// The connection, once it was opened or a packet came for it.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_deref()
    }
    /// When [`Host::on_timeout`] is due, if it ever is.
    #[inline(always)]
    pub fn next_timeout(&self) -> Option<Time> {
        let connection = self.connection()?;
        match &self.app {
            None => connection.next_timeout(),
            Some(app) => with_app(app, connection),
        }
    }
}

/// When a connection times out or its application does something. That of one that has ended does
/// nothing.
#[inline(never)]
fn with_app(app: &App, connection: &Connection) -> Option<Time> {
    let timeout = connection.next_timeout();
    let acts_at = if connection.is_ended() { Time::MAX } else { app.next() };
    let next = timeout.map_or(acts_at, |at| at.min(acts_at));
    (next != Time::MAX).then_some(next)
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
    entries: InlineOne<Entry>,
    /// Entries that may have something to send, served in turn.
    ready: VecDeque<u32>,
}

/// A socket took a segment: its timeout may have changed.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The socket.
    pub socket: SocketId,
    /// A socket of the host may have something to send.
    pub ready: bool,
    /// Nothing of the segment was taken: it is dropped for this reason.
    pub refused: Option<DropReason>,
}

/// Where the packets of a host's only interface go.
pub(crate) trait Outlet {
    /// When the first packet that waits there starts, and whether it is the only one, so that there
    /// is room then; None: there is room now.
    fn room_at(&mut self, now: Time) -> Option<(Time, bool)>;
    /// Take a packet that was just made, or give it back: then it needs more than this.
    fn send(&mut self, now: Time, packet: Packet, arena: &Arena) -> Result<(), Packet>;
}

/// The only socket of a host has taken a packet.
pub(crate) struct SingleReceived {
    /// It may have something to send.
    ready: bool,
    /// Nothing of the packet was taken: it is dropped for this reason.
    pub refused: Option<DropReason>,
}

/// It has sent what it could.
pub(crate) struct SingleTransmitted {
    /// Which end of a flow it is.
    pub end: EndId,
    /// When to ask it again, because there is room.
    pub wake_at: Option<Time>,
    /// When it times out.
    pub timeout: Option<Time>,
    /// It has ended.
    pub ended: bool,
}

/// An entry that would be asked for a packet when the interface has room, and whose answer is known.
#[derive(Clone, Copy)]
struct Deferred {
    /// When the interface has room.
    at: Time,
    entry: u32,
}

/// See the module. The interface of index i is port i of the node.
#[derive(Default)]
pub struct Host {
    interfaces: InlineOne<Interface>,
    sockets: InlineOne<Socket>,
    /// Of a host with one interface, at a time when no entry is ready: see [`Host::defer_until_window`].
    deferred: Option<Deferred>,
    reassembly: Reassembly,
    /// Made at the first packet that routers may cut.
    ip_ids: Option<Box<IpIds>>,
}

impl Host {
    /// Add the next interface, whose addresses start at `addr`.
    pub(crate) fn add_interface(&mut self, addr: Addr) {
        self.interfaces.push(Interface {
            addr,
            entries: InlineOne::default(),
            ready: VecDeque::new(),
        });
    }
    /// Add one end of a flow.
    pub(crate) fn add_socket(&mut self, flow: FlowId, role: Role, transport: u16) -> SocketId {
        let (first_place, more_places) = (NOWHERE, Vec::new());
        let (connection, app) = (None, None);
        let socket = Socket { flow, role, transport, connection, first_place, more_places, app };
        self.sockets.push(socket);
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
    /// True if it has one socket and one interface: [`Host::receive_single`] and [`Host::transmit_single`] are for it.
    pub(crate) fn is_single(&self) -> bool {
        let entries = self.interfaces.first().map_or(0, |interface| interface.entries.len());
        self.sockets.len() == 1 && self.interfaces.len() == 1 && entries == 1
    }
    /// Pieces that wait for their datagram.
    pub fn held_packets(&self) -> u64 {
        self.reassembly.held_packets()
    }

    /// A packet came. The socket that took it, if one did.
    pub fn on_packet(&mut self, packet: Packet, cx: &mut HostContext<'_>) -> Option<Taken> {
        self.end_deferral_at_arrival(cx.now);
        let (socket, refused) = match packet.kind() {
            Kind::Tcp => {
                let received = self.on_datagram(&packet, true, cx);
                end_received(packet, 1, received, cx);
                received?
            }
            Kind::Piece => self.on_fragment(packet, cx)?,
            Kind::Opaque => {
                foreign(packet, 1, cx);
                return None;
            }
        };
        Some(Taken { socket, ready: self.any_ready(), refused })
    }
    /// The same with a whole TCP segment, which the caller ends if there is a socket for it: as
    /// delivered, which is counted here, or as dropped where the socket refused it. None, and
    /// nothing has happened to it, if there is no socket for it.
    #[inline]
    pub fn on_segment(&mut self, packet: &Packet, cx: &mut HostContext<'_>) -> Option<Taken> {
        self.end_deferral_at_arrival(cx.now);
        let (socket, refused) = self.on_datagram(packet, true, cx)?;
        *cx.delivered += u64::from(refused.is_none());
        Some(Taken { socket, ready: self.any_ready(), refused })
    }

    /// The address and port of the only socket.
    #[inline]
    fn only_end(&self) -> Option<(Addr, u16)> {
        self.interfaces.first().map(|interface| (interface.addr, FIRST_PORT))
    }
    /// When the only socket times out; [`Time::MAX`] if it does not.
    #[inline]
    pub(crate) fn times_out_at(&self) -> Time {
        self.sockets.first().and_then(Socket::next_timeout).unwrap_or(Time::MAX)
    }
    /// The only socket takes a packet, which the caller ends. None, and nothing has happened to it, if that is not for it alone.
    /// [`Host::transmit_single`] must follow.
    #[inline(always)]
    pub(crate) fn receive_single(
        &mut self,
        packet: &Packet,
        cx: &mut HostContext<'_>,
    ) -> Option<SingleReceived> {
        // The first port of the only interface is that of the only socket.
        let named = Some((packet.dst(), packet.ports()?.1)) == self.only_end();
        if !named || packet.kind() != Kind::Tcp {
            return None;
        }
        let socket = self.sockets.first_mut()?;
        if socket.connection.is_none() && socket.role == Role::Server {
            socket.connection = Some(Box::new(cx.workload.connection(socket.flow, Role::Server)));
        }
        let connection = socket.connection.as_mut()?;
        let mut ready = false;
        if let Some(deferred) = self.deferred.take() {
            // As in `end_deferral_at_arrival`: an interface that has room now has none yet.
            match deferred.at < cx.now {
                true => connection.note_window_full(0),
                false => ready = true,
            }
        }
        if connection.wants_pieces() {
            connection.on_piece(cx.now, 0, &whole_as_piece(packet));
        }
        let refused = connection.on_packet(cx.now, 0, packet, cx.arena);
        if refused.is_none() {
            *cx.delivered += 1;
            cx.note_one_way(socket.transport, packet);
        }
        Some(SingleReceived { ready: ready || !connection.has_nothing_to_send(0), refused })
    }
    /// The same where there is only room, for a socket that has waited for it.
    #[inline]
    pub(crate) fn resume_single(&self) -> Option<SingleReceived> {
        self.interfaces[0].entries[0]
            .queued
            .then_some(SingleReceived { ready: false, refused: None })
    }
    /// The only socket sends while there is room. `refused` is what its outlet gave back, if it did: the socket may have more to
    /// send then.
    #[inline(always)]
    pub(crate) fn transmit_single(
        &mut self,
        now: Time,
        received: SingleReceived,
        arena: &mut Arena,
        workload: &Workload,
        outlet: &mut impl Outlet,
        refused: &mut Option<Packet>,
    ) -> SingleTransmitted {
        let (socket, interface) = (&mut self.sockets[0], &mut self.interfaces[0]);
        let end = socket.end();
        let connection = socket.connection.as_mut().expect("it has received something");
        let mut wake_at = None;
        let mut ready = received.ready || interface.entries[0].queued;
        while ready {
            if let Some((at, room)) = outlet.room_at(now) {
                // See [`Host::defer_until_window`].
                if room && connection.awaits_window(now, 0) {
                    self.deferred = Some(Deferred { at, entry: 0 });
                    ready = false;
                } else {
                    wake_at = Some(at);
                }
                break;
            }
            let packet = match connection.poll_fast(now) {
                None => {
                    let ids = &mut self.ip_ids;
                    poll_other(connection, now, (interface.addr, ids), workload, arena)
                }
                packet => packet,
            };
            let Some(packet) = packet else {
                ready = false;
                break;
            };
            ready = !connection.has_nothing_to_send(0);
            if let Err(packet) = outlet.send(now, packet, arena) {
                *refused = Some(packet);
                break;
            }
        }
        let ended = connection.is_ended();
        let timeout = socket.next_timeout();
        if ready {
            interface.mark_ready(0);
        } else if interface.entries[0].queued {
            interface.entries[0].queued = false;
            interface.ready.clear();
        }
        SingleTransmitted { end, wake_at, timeout, ended }
    }

    fn on_fragment(
        &mut self,
        packet: Packet,
        cx: &mut HostContext<'_>,
    ) -> Option<(SocketId, Option<DropReason>)> {
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
        let (now, plan, left_host_at) = (cx.now, cx.plan, packet.left_host_at());
        let (mut whole, pieces) =
            self.reassembly.on_piece(now, packet, plan, cx.arena, cx.drops)?;
        if whole.kind() != Kind::Tcp {
            foreign(whole, pieces, cx);
            return None;
        }
        // Of pieces that came as bytes nothing else says it.
        whole.set_left_host_at(left_host_at);
        let received = self.on_datagram(&whole, false, cx);
        end_received(whole, pieces, received, cx);
        received
    }

    /// The (interface, entry) that a packet's destination address and port name.
    #[inline]
    fn find(&self, packet: &Packet) -> Option<(usize, usize)> {
        let (_, port) = packet.ports()?;
        let end = Endpoint { addr: packet.dst(), port };
        let interface = match &*self.interfaces {
            [_] => 0, // what is for an address before its first has no index there
            all => all.iter().rposition(|i| i.addr <= end.addr)?,
        };
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

    /// `whole`: it came in one piece, which the connection has not seen yet. The socket that it is
    /// for, and why that refused it, if it did.
    #[inline]
    fn on_datagram(
        &mut self,
        packet: &Packet,
        whole: bool,
        cx: &mut HostContext<'_>,
    ) -> Option<(SocketId, Option<DropReason>)> {
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
        if whole && connection.wants_pieces() {
            connection.on_piece(cx.now, path, &whole_as_piece(packet));
        }
        let refused = connection.on_packet(cx.now, path, packet, cx.arena);
        if refused.is_none() {
            cx.note_one_way(socket.transport, packet);
        }
        if connection.paths() > 1 {
            self.mark_all_ready(entry.socket);
        } else if !connection.has_nothing_to_send(path) {
            self.interfaces[i].mark_ready(e);
        }
        Some((entry.socket, refused))
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
        self.pass_time(cx.now);
        let entry = &mut self.sockets[socket.index()];
        assert!(entry.role == Role::Client && entry.connection.is_none(), "opened twice");
        let mut connection = cx.workload.connection(entry.flow, Role::Client);
        entry.app = cx.workload.app(entry.flow, cx.now).map(Box::new);
        if let Some(app) = &mut entry.app {
            app.begin(cx.now, &mut connection);
        }
        connection.open(cx.now);
        entry.connection = Some(Box::new(connection));
        self.mark_all_ready(socket);
    }
    /// When [`Host::on_timeout`] is due for `socket`.
    #[inline]
    pub fn next_timeout(&self, socket: SocketId) -> Option<Time> {
        self.sockets[socket.index()].next_timeout()
    }
    /// The time that `socket` asked for has come.
    pub fn on_timeout(&mut self, socket: SocketId, cx: &mut HostContext<'_>) {
        self.pass_time(cx.now);
        let Socket { connection, app, .. } = &mut self.sockets[socket.index()];
        if let Some(connection) = connection {
            connection.on_timeout(cx.now);
            if let Some(app) = app.as_mut().filter(|_| !connection.is_ended()) {
                app.act(cx.now, connection);
            }
            self.mark_all_ready(socket);
        }
    }
    /// The socket that [`Host::pull`] would ask next, if one may have something to send.
    #[inline]
    pub fn first_ready(&self, port: PortId) -> Option<SocketId> {
        let interface = &self.interfaces[port.index()];
        let &entry = interface.ready.front()?;
        Some(interface.entries[entry as usize].socket)
    }
    /// The next packet for interface `port`, one socket after the other. None: it was the turn of one that has nothing to send now.
    #[inline]
    pub fn pull(&mut self, port: PortId, cx: &mut HostContext<'_>) -> Option<Packet> {
        let interface = &mut self.interfaces[port.index()];
        let &e = interface.ready.front()?;
        let entry = &mut interface.entries[e as usize];
        let socket = &mut self.sockets[entry.socket.index()];
        let connection = socket.connection.as_mut().expect("only open sockets are ready");
        let path = entry.path as usize;
        let mut packet = connection.poll_transmit(cx.now, path, cx.arena);
        if let Some(packet) = &mut packet
            && !packet.dont_fragment()
        {
            let ids = self.ip_ids.get_or_insert_default();
            ids.give(interface.addr, packet, cx.workload, cx.arena);
        }
        if packet.is_none() || connection.has_nothing_to_send(path) {
            entry.queued = false;
            interface.ready.pop_front();
        } else if interface.ready.len() > 1 {
            interface.ready.rotate_left(1);
        }
        packet
    }

    /// The only interface has room at `at` and not before. True if it need not be asked then: the one entry that is ready
    /// would only note that its window is full. That is made up for when something else happens here.
    #[inline]
    pub fn defer_until_window(&mut self, at: Time, now: Time) -> bool {
        let [interface] = &mut *self.interfaces else { return false };
        let [entry] = *interface.ready.make_contiguous() else { return false };
        let Entry { socket, path, .. } = interface.entries[entry as usize];
        let Some(connection) = &self.sockets[socket.index()].connection else { return false };
        if !connection.awaits_window(now, path as usize) {
            return false;
        }
        interface.entries[entry as usize].queued = false;
        interface.ready.clear();
        self.deferred = Some(Deferred { at, entry });
        true
    }
    /// Whether the interface has had room for the deferred entry, or it is ready again.
    #[inline]
    fn end_deferral(&mut self, Deferred { entry, .. }: Deferred, had_room: bool) {
        let interface = &mut self.interfaces[0];
        if !had_room {
            return interface.mark_ready(entry as usize);
        }
        let Entry { socket, path, .. } = interface.entries[entry as usize];
        if let Some(connection) = &mut self.sockets[socket.index()].connection {
            connection.note_window_full(path as usize);
        }
    }
    /// Arrivals go first at equal times: an interface that has room at `now` has none yet.
    #[inline]
    fn end_deferral_at_arrival(&mut self, now: Time) {
        if let Some(deferred) = self.deferred.take() {
            self.end_deferral(deferred, deferred.at < now);
        }
    }
    /// It is `now`: an interface that has room by now has it before whatever is to happen.
    pub fn pass_time(&mut self, now: Time) {
        if let Some(deferred) = self.deferred.take() {
            self.end_deferral(deferred, deferred.at <= now);
        }
    }
    #[inline]
    fn any_ready(&self) -> bool {
        self.interfaces.iter().any(|interface| !interface.ready.is_empty())
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

/// The next packet of a connection that has no plain one, from the host at `host`.
#[inline(never)]
fn poll_other(
    connection: &mut Connection,
    now: Time,
    (host, ids): (Addr, &mut Option<Box<IpIds>>),
    workload: &Workload,
    arena: &mut Arena,
) -> Option<Packet> {
    let mut packet = connection.poll_general(now, 0, arena)?;
    if !packet.dont_fragment() {
        ids.get_or_insert_default().give(host, &mut packet, workload, arena);
    }
    Some(packet)
}

/// A TCP segment that came in `pieces` ends: `received` is what [`Host::on_datagram`] made of it.
fn end_received(
    packet: Packet,
    pieces: u64,
    received: Option<(SocketId, Option<DropReason>)>,
    cx: &mut HostContext<'_>,
) {
    match received {
        Some((_, None)) => {
            *cx.delivered += pieces;
            cx.arena.free(packet);
        }
        Some((_, Some(reason))) => drop_whole(packet, pieces, reason, cx),
        None => drop_whole(packet, pieces, DropReason::NoSocket, cx),
    }
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

//! A host: sockets on top of interfaces.
//!
//! * A packet comes: [`Host::receive`], and [`Host::receive_other`] if that does not take it
//!   (`receive`). Fragments of datagrams wait in [`Reassembly`].
//! * An interface has room: [`Host::pull`] asks the sockets in turn . If all that
//!   the next socket would do is note that its window is full, the question is put off (`single`).
//! * Time passes: [`Host::open`] and [`Host::on_timeout`].
//!
//! A [`NetSpec`](crate::NetSpec) makes hosts with a network around them, and
//! [`HostBuilder`](crate::HostBuilder) a host that its caller drives by itself.
//!
//! A host with one socket and one interface has a fast path besides these (`single`).

mod ip_ids;
mod listeners;
mod receive;
mod single;
pub use receive::Received;
pub(crate) use single::{Outlet, SingleTransmitted};

use crate::app::App;
use crate::reassembly::{Reassembly, ReassemblyLimits};
use crate::workload::Workload;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::ops::{Deref, DerefMut};
use forebay_base::{
    Addr, Arena, DropLog, Endpoint, FlowId, Histogram, Packet, PortId, SocketId, Time,
};
use forebay_transport::{ClosedConnection, Connection, ConnectionView, Role};
use forebay_wire::AddressPlan;
use ip_ids::IpIds;
use listeners::Listeners;
use single::Deferred;

/// One end of a flow: two times the flow's number, one more for the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EndId(pub u32);

impl EndId {
    /// The end of `flow` that has this role.
    #[inline]
    pub const fn of(flow: FlowId, role: Role) -> EndId {
        EndId(2 * flow.0 + matches!(role, Role::Server) as u32)
    }
    /// The flow.
    #[inline]
    pub const fn flow(self) -> FlowId {
        FlowId(self.0 / 2)
    }
    /// Its role there.
    #[inline]
    pub const fn role(self) -> Role {
        if self.0.is_multiple_of(2) { Role::Client } else { Role::Server }
    }
    /// As an index.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

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
    /// Packets that reached a host, fragments one by one.
    pub delivered: &'a mut u64,
    /// One-way delays of data packets that sockets here took, by transport of their flow.
    pub one_way: &'a mut Vec<Histogram>,
    /// Round-trip times of senders whose connection was given back, by transport of their flow.
    pub round_trips: &'a mut Vec<Histogram>,
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

/// See the module. The interface of index i is port i of the node.
#[derive(Default)]
pub struct Host {
    interfaces: InlineOne<Interface>,
    sockets: InlineOne<Socket>,
    /// See [`Host::defer_until_window`].
    deferred: Option<Deferred>,
    /// When the interface has room for the entry that a deferral has given back; see
    /// [`Host::take_room_at`]. None between two events.
    room_at: Option<Time>,
    reassembly: Reassembly,
    /// Made at the first packet that routers may cut.
    ip_ids: Option<Box<IpIds>>,
    /// Made with the first flow that listens.
    listeners: Option<Box<Listeners>>,
}

impl Host {
    /// A host whose reassembly has these bounds.
    pub(crate) fn with_limits(limits: ReassemblyLimits) -> Host {
        Host { reassembly: Reassembly::new(limits), ..Host::default() }
    }
    /// Add the next interface, whose addresses start at `addr`.
    pub(crate) fn add_interface(&mut self, addr: Addr) {
        self.interfaces.push(Interface::new(addr));
    }
    /// Add one end of a flow.
    pub(crate) fn add_socket(&mut self, flow: FlowId, role: Role, transport: u16) -> SocketId {
        self.sockets.push(Socket::new(flow, role, transport));
        SocketId(self.sockets.len() as u32 - 1)
    }
    /// Add the next local port of an interface, for one path of a socket.
    pub(crate) fn add_port(&mut self, interface: PortId, socket: SocketId, path: u8) {
        let entry = self.interfaces[interface.index()].add_entry(socket, path);
        self.sockets[socket.index()].add_place(interface.0, entry);
    }
    /// The server `socket` has whoever connects to `port` of the first interface.
    pub(crate) fn add_listener(&mut self, port: u16, socket: SocketId) {
        let addr = self.interfaces[0].addr;
        self.listeners.get_or_insert_default().add(addr, port, socket);
    }
    /// The flow over which `peer` is, or was, connected to a port `local` that listens.
    pub fn accepted(&self, peer: Endpoint, local: Endpoint) -> Option<FlowId> {
        let socket = self.listeners.as_ref()?.accepted(peer, local)?;
        Some(self.sockets[socket.index()].flow)
    }
    /// The sockets.
    pub fn sockets(&self) -> &[Socket] {
        &self.sockets
    }
    /// Number of interfaces.
    pub fn interfaces(&self) -> usize {
        self.interfaces.len()
    }
    /// Fragments that wait for the rest of their datagram.
    pub fn held_packets(&self) -> u64 {
        self.reassembly.held_packets()
    }

    /// The client of `socket` opens its connection, if it has not. Of a server nothing happens.
    pub fn open(&mut self, socket: SocketId, cx: &mut HostContext<'_>) {
        self.pass_time(cx.now);
        if self.sockets[socket.index()].open(cx.now, cx.workload) {
            self.mark_all_ready(socket);
        }
    }
    /// Give the connection of `socket` back, a while after its end. False: ask again, it is still
    /// needed.
    pub fn give_back(&mut self, socket: SocketId, cx: &mut HostContext<'_>) -> bool {
        self.sockets[socket.index()].give_back(cx)
    }
    /// The time of [`Socket::next_timeout`] has come.
    pub fn on_timeout(&mut self, socket: SocketId, cx: &mut HostContext<'_>) {
        self.pass_time(cx.now);
        if self.sockets[socket.index()].on_timeout(cx.now) {
            self.mark_all_ready(socket);
        }
    }
}

/// A local port: (interface, index among its entries).
type Place = (u16, u32);

/// The place of a socket that has no local port yet.
const NOWHERE: Place = (u16::MAX, u32::MAX);

/// How far a socket is.
pub(super) enum Life {
    /// It has not opened its connection, and none has come.
    Unborn,
    Open(Box<Connection>),
    Closed(Box<ClosedConnection>),
}

/// One end of a flow.
pub struct Socket {
    flow: FlowId,
    role: Role,
    /// Number of the transport of its flow.
    pub(super) transport: u16,
    pub(super) life: Life,
    /// Its local ports, path by path. Almost all sockets have one.
    first_place: Place,
    more_places: Box<[Place]>,
    /// What it sends, where not all was written at once.
    app: Option<Box<App>>,
}

impl Socket {
    pub(super) fn new(flow: FlowId, role: Role, transport: u16) -> Socket {
        let (first_place, more_places) = (NOWHERE, Box::default());
        let life = Life::Unborn;
        Socket { flow, role, transport, life, first_place, more_places, app: None }
    }
    /// Its next path has this local port.
    pub(super) fn add_place(&mut self, interface: u16, entry: u32) {
        if self.first_place == NOWHERE {
            self.first_place = (interface, entry);
        } else {
            let mut more = mem::take(&mut self.more_places).into_vec();
            more.push((interface, entry));
            self.more_places = more.into_boxed_slice();
        }
    }
    /// Its local ports, path by path.
    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        [&self.first_place].into_iter().chain(&self.more_places)
    }

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
    /// The connection, from when it was opened or a packet came for it until it is given back.
    pub fn connection(&self) -> Option<&Connection> {
        match &self.life {
            Life::Open(connection) => Some(connection),
            Life::Unborn | Life::Closed(_) => None,
        }
    }
    /// The same, and what is left of it then.
    pub fn view(&self) -> Option<ConnectionView<'_>> {
        match &self.life {
            Life::Unborn => None,
            Life::Open(connection) => Some(ConnectionView::Open(connection)),
            Life::Closed(closed) => Some(ConnectionView::Closed(closed)),
        }
    }
    /// When [`Host::on_timeout`](crate::Host::on_timeout) is due, if it ever is.
    #[inline(always)]
    pub fn next_timeout(&self) -> Option<Time> {
        next_timeout(self.connection()?, self.app.as_deref())
    }
    /// The same, and whether the connection has ended; None if there is none as a whole.
    #[inline(always)]
    pub(crate) fn timeout_and_end(&self) -> Option<(Option<Time>, bool)> {
        let connection = self.connection()?;
        Some((next_timeout(connection, self.app.as_deref()), connection.is_ended()))
    }

    /// The connection that takes `packet`. A server begins to exist with its first packet. None: a
    /// client that has not been opened, which no one can know, or one that is over.
    #[inline(always)]
    pub(super) fn connection_for_packet(
        &mut self,
        cx: &mut HostContext<'_>,
        packet: &Packet,
    ) -> Option<&mut Box<Connection>> {
        if !matches!(&self.life, Life::Open(connection) if connection.is_single()) {
            self.begin_or_end(cx, packet);
        }
        self.open_connection()
    }
    #[cold]
    #[inline(never)]
    fn begin_or_end(&mut self, cx: &mut HostContext<'_>, packet: &Packet) {
        match &self.life {
            Life::Unborn if self.role == Role::Server => {
                if let Some(connection) = cx.workload.accept(self.flow, packet) {
                    self.life = Life::Open(Box::new(connection));
                }
            }
            Life::Unborn | Life::Closed(_) => {}
            Life::Open(_) => _ = self.give_back(cx),
        }
    }
    #[inline(always)]
    pub(super) fn open_connection(&mut self) -> Option<&mut Box<Connection>> {
        match &mut self.life {
            Life::Open(connection) => Some(connection),
            Life::Unborn | Life::Closed(_) => None,
        }
    }
    /// Give a connection back that is over and not needed any more. False if it is needed, and will
    /// not always be.
    fn give_back(&mut self, cx: &mut HostContext<'_>) -> bool {
        let Life::Open(connection) = &self.life else { return true };
        let Some(closed) = connection.closed(cx.now) else { return connection.stays_whole() };
        if self.role == Role::Client {
            cx.round_trips[usize::from(self.transport)].add(connection.round_trips(0));
        }
        (self.life, self.app) = (Life::Closed(Box::new(closed)), None);
        true
    }
    /// The client opens its connection. False, and nothing has happened, if it is a server, or has
    /// opened it before.
    pub(super) fn open(&mut self, now: Time, workload: &Workload) -> bool {
        if self.role == Role::Server || !matches!(self.life, Life::Unborn) {
            return false;
        }
        let mut connection = workload.connection(self.flow, Role::Client);
        self.app = workload.app(self.flow, now).map(Box::new);
        if let Some(app) = &mut self.app {
            app.begin(now, &mut connection);
        }
        connection.open(now);
        self.life = Life::Open(Box::new(connection));
        true
    }
    /// The time of [`Socket::next_timeout`] has come. False if nothing is new to send: see
    /// [`Connection::on_timeout`].
    pub(super) fn on_timeout(&mut self, now: Time) -> bool {
        let Life::Open(connection) = &mut self.life else { return false };
        let expired = connection.on_timeout(now);
        let app = self.app.as_mut().filter(|_| !connection.is_ended());
        let acted = app.is_some_and(|app| app.act(now, connection));
        expired || acted
    }
    /// The last ACK of a connection that is over, if it is due; then nothing more is.
    #[cold]
    #[inline(never)]
    fn poll_last_ack(&mut self, now: Time, arena: &mut Arena) -> Option<Packet> {
        match &mut self.life {
            Life::Closed(closed) => closed.poll_transmit(now, arena),
            Life::Unborn | Life::Open(_) => unreachable!("only open sockets are ready"),
        }
    }
}

/// When a connection times out, or its application does something, if it has one.
#[inline(always)]
fn next_timeout(connection: &Connection, app: Option<&App>) -> Option<Time> {
    match app {
        None => connection.next_timeout(),
        Some(app) => next_with_app(app, connection),
    }
}
/// The application of a connection that has ended does nothing.
#[inline(never)]
fn next_with_app(app: &App, connection: &Connection) -> Option<Time> {
    let timeout = connection.next_timeout();
    let acts_at = if connection.is_ended() { Time::MAX } else { app.next() };
    let next = timeout.map_or(acts_at, |at| at.min(acts_at));
    (next != Time::MAX).then_some(next)
}

/// A local port: one path of a socket.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub socket: SocketId,
    pub path: u8,
    /// It is in [`Interface::ready`].
    pub queued: bool,
}

pub(super) struct Interface {
    /// The first of its addresses.
    pub addr: Addr,
    /// Local ports in order.
    pub entries: InlineOne<Entry>,
    /// Entries that may have something to send, served in turn.
    pub ready: VecDeque<u32>,
}

impl Interface {
    pub fn new(addr: Addr) -> Interface {
        Interface { addr, entries: InlineOne::default(), ready: VecDeque::new() }
    }
    /// Add the next local port: its index.
    pub fn add_entry(&mut self, socket: SocketId, path: u8) -> u32 {
        self.entries.push(Entry { socket, path, queued: false });
        self.entries.len() as u32 - 1
    }
    /// An entry may have something to send.
    #[inline]
    pub fn mark_ready(&mut self, entry: usize) {
        if !self.entries[entry].queued {
            self.entries[entry].queued = true;
            self.ready.push_back(entry as u32);
        }
    }
}

impl Host {
    /// Feedback on one path may let the others send.
    pub(super) fn mark_all_ready(&mut self, socket: SocketId) {
        for &(interface, entry) in self.sockets[socket.index()].places() {
            self.interfaces[interface as usize].mark_ready(entry as usize);
        }
    }
    /// True if a socket may have something to send.
    #[inline]
    pub(super) fn any_ready(&self) -> bool {
        self.interfaces.iter().any(|interface| !interface.ready.is_empty())
    }
    /// The socket that [`Host::pull`] would ask next, if one may have something to send.
    #[inline]
    pub fn first_ready(&self, port: PortId) -> Option<SocketId> {
        let interface = &self.interfaces[port.index()];
        let &entry = interface.ready.front()?;
        Some(interface.entries[entry as usize].socket)
    }
    /// The next packet for interface `port`, one socket after the other. None: it was the turn of
    /// one that has nothing to send now.
    #[inline]
    pub fn pull(&mut self, port: PortId, cx: &mut HostContext<'_>) -> Option<Packet> {
        let interface = &mut self.interfaces[port.index()];
        let &e = interface.ready.front()?;
        let entry = &mut interface.entries[e as usize];
        let socket = &mut self.sockets[entry.socket.index()];
        let path = entry.path as usize;
        let (mut packet, done) = if let Life::Open(connection) = &mut socket.life {
            let packet = connection.poll_transmit(cx.now, path, cx.arena);
            let done = packet.is_none() || connection.has_nothing_to_send(path);
            (packet, done)
        } else {
            (socket.poll_last_ack(cx.now, cx.arena), true)
        };
        if let Some(packet) = &mut packet
            && !packet.dont_fragment()
        {
            let ids = self.ip_ids.get_or_insert_default();
            ids.give(interface.addr, packet, cx.workload, cx.arena);
        }
        if done {
            entry.queued = false;
            interface.ready.pop_front();
        } else if interface.ready.len() > 1 {
            interface.ready.rotate_left(1);
        }
        packet
    }
}

/// Stores one element inline; saves a cache miss.
#[derive(Debug)]
pub(super) enum InlineOne<T> {
    One(T),
    /// None, or several.
    Many(Vec<T>),
}

impl<T> Default for InlineOne<T> {
    fn default() -> InlineOne<T> {
        InlineOne::Many(Vec::new())
    }
}

impl<T> InlineOne<T> {
    pub fn push(&mut self, item: T) {
        *self = match mem::take(self) {
            InlineOne::Many(mut many) if !many.is_empty() => {
                many.push(item);
                InlineOne::Many(many)
            }
            InlineOne::Many(_) => InlineOne::One(item),
            InlineOne::One(first) => InlineOne::Many(Vec::from([first, item])),
        };
    }
    /// The element, if there is one and no other.
    #[inline(always)]
    pub fn only(&self) -> Option<&T> {
        if let InlineOne::One(one) = self { Some(one) } else { None }
    }
    /// The same, to change it.
    #[inline(always)]
    pub fn only_mut(&mut self) -> Option<&mut T> {
        if let InlineOne::One(one) = self { Some(one) } else { None }
    }
}

impl<T> Deref for InlineOne<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            InlineOne::One(one) => core::slice::from_ref(one),
            InlineOne::Many(many) => many,
        }
    }
}
impl<T> DerefMut for InlineOne<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            InlineOne::One(one) => core::slice::from_mut(one),
            InlineOne::Many(many) => many,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let mut inline = InlineOne::default();
        let mut list = Vec::new();
        for item in 0..5 {
            assert_eq!(*inline, *list);
            assert_eq!(inline.only(), if let [only] = &list[..] { Some(only) } else { None });
            inline.push(item);
            list.push(item);
            inline[0] = 7;
            list[0] = 7;
        }
        assert_eq!(*inline, *list);
    }
}

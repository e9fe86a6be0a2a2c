//! The fast path of a host with one socket and one interface.
//!
//! It is open to a host for which [`Host::is_single`] holds. Nothing is looked up and no turns are
//! kept: [`Host::receive_single`], then [`Host::transmit_alone`], which sends while the interface
//! has room. What [`Host::receive_single`] does not take goes the general way. The results are
//! those of [`Host::receive`] and [`Host::pull`]. With several sockets, [`Host::receive`] comes
//! first, and the second step is the same while one of them is ready.
//!
//! # A question that is put off, because its answer is known
//!
//! An interface has room at a known time. If one entry is ready then, and all that its connection
//! would do is note that its window is full, the interface does not wake up for it. Whatever
//! happens next at the host makes up for it: either the interface had room by then, and the
//! connection notes its full window, or the entry is ready again.
//!
//! Two fields of the host hold this:
//!
//! - `deferred` is set by `defer_until_window` and `transmit_alone`. What happens next at the host
//!   clears it: `pass_time`, `pass_time_to_arrival`, `receive_single`.
//! - `room_at` is set by `pass_time_to_arrival`, if the interface has no room yet. `take_room_at`
//!   clears it in the same event.

use super::ip_ids::IpIds;
use super::receive::{Received, view_of_whole};
use super::{EndId, Entry, Host, HostContext, Life, Socket, next_timeout};
use crate::workload::{FIRST_PORT, Workload};
use alloc::boxed::Box;
use forebay_base::{Addr, Arena, Kind, Packet, SocketId, Time};
use forebay_transport::Connection;

/// Where the packets of a host's only interface go.
pub(crate) trait Outlet {
    /// When the first packet that waits there starts, and whether it is the only one, so that there
    /// is room then; None: there is room now.
    fn room_at(&mut self, now: Time) -> Option<(Time, bool)>;
    /// Take a packet that was just made, or give it back: then it needs the general way.
    fn send(&mut self, now: Time, packet: Packet, arena: &mut Arena) -> Result<(), Packet>;
}

/// The only socket of a host has sent what it could.
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

impl Host {
    /// True if it has one interface with one local port, and so one socket with one path.
    pub(crate) fn is_single(&self) -> bool {
        let entries = self.interfaces.first().map_or(0, |interface| interface.entries.len());
        self.sockets.len() == 1 && self.interfaces.len() == 1 && entries == 1
    }
    /// When the only socket times out; [`Time::MAX`] if it does not.
    #[inline]
    pub(crate) fn times_out_at(&self) -> Time {
        self.sockets.only().and_then(Socket::next_timeout).unwrap_or(Time::MAX)
    }

    /// A packet came. If it is a whole TCP segment for the only socket, the socket reads it where
    /// it lies; the caller then ends the packet, and [`Host::transmit_alone`] must follow. None,
    /// and nothing has happened to the packet, if it is anything else: [`Host::receive_other`] must
    /// follow.
    #[inline(always)]
    pub(crate) fn receive_single(
        &mut self,
        packet: &Packet,
        cx: &mut HostContext<'_>,
    ) -> Option<Received> {
        let is_for_it =
            packet.dst() == self.interfaces.only()?.addr && packet.ports()?.1 == FIRST_PORT;
        if !is_for_it || packet.kind() != Kind::Tcp {
            return None;
        }
        let socket = self.sockets.only_mut()?;
        let transport = socket.transport;
        let Some(connection) = socket.connection_for_packet(cx, packet) else {
            return self.receive_late(packet, cx);
        };
        let mut ready = false;
        if let Some(deferred) = self.deferred.take() {
            // As in `pass_time_to_arrival`.
            if deferred.at < cx.now { connection.note_window_full(0) } else { ready = true }
        }
        if connection.wants_pieces() {
            connection.on_piece(cx.now, 0, &view_of_whole(packet, cx.arena));
        }
        let refused = connection.on_packet(cx.now, 0, packet, cx.arena);
        if refused.is_none() {
            *cx.delivered += 1;
            cx.note_one_way(transport, packet);
        }
        let ready = ready || !connection.has_nothing_to_send(0);
        Some(Received { socket: SocketId(0), ready, refused })
    }
    #[cold]
    #[inline(never)]
    fn receive_late(&mut self, packet: &Packet, cx: &mut HostContext<'_>) -> Option<Received> {
        let received = self.read_late(0, 0, packet, cx)?;
        *cx.delivered += 1;
        Some(received)
    }
    /// There is room for a socket that waits for it. None if it does not wait.
    #[inline]
    pub(crate) fn resume_single(&self) -> Option<Received> {
        let waits = self.interfaces.only()?.entries.only()?.queued;
        waits.then_some(Received { socket: SocketId(0), ready: false, refused: None })
    }
    /// The socket of `received` sends while there is room. `refused` is what its outlet gave back,
    /// if it did: the socket may have more to send then. None, and nothing has happened, if its
    /// connection is over, or it is not the only one that is ready at the only interface: then
    /// [`Host::pull`] knows whose turn it is. `SINGLE`: it is the only socket.
    #[inline(always)]
    pub(crate) fn transmit_alone<const SINGLE: bool>(
        &mut self,
        now: Time,
        received: Received,
        arena: &mut Arena,
        workload: &Workload,
        outlet: &mut impl Outlet,
        refused: &mut Option<Packet>,
    ) -> Option<SingleTransmitted> {
        let interface = self.interfaces.only_mut()?;
        let (number, entry, socket) = if SINGLE {
            (0, interface.entries.only_mut()?, self.sockets.only_mut()?)
        } else {
            let number = *interface.ready.front().filter(|_| interface.ready.len() == 1)?;
            let entry = &mut interface.entries[number as usize];
            if entry.socket != received.socket {
                return None;
            }
            (number, entry, &mut self.sockets[received.socket.index()])
        };
        let end = socket.end();
        let Life::Open(connection) = &mut socket.life else { return None };
        if !SINGLE && !connection.is_single() {
            return None;
        }
        let mut wake_at = None;
        let mut ready = received.ready || entry.queued;
        while ready {
            if let Some((at, room)) = outlet.room_at(now) {
                if room && connection.awaits_window(now, 0) {
                    self.deferred = Some(Deferred { at, entry: number });
                    ready = false;
                } else {
                    wake_at = Some(at);
                }
                break;
            }
            let packet = match connection.poll_fast(now) {
                None => {
                    let ids = &mut self.ip_ids;
                    poll_general(connection, now, interface.addr, ids, workload, arena)
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
        let timeout = next_timeout(connection, socket.app.as_deref());
        if ready != entry.queued {
            entry.queued = ready;
            if ready { interface.ready.push_back(number) } else { interface.ready.clear() }
        }
        Some(SingleTransmitted { end, wake_at, timeout, ended })
    }
}

/// The next packet of a connection that has none on its own fast path, from the host at `host`.
#[inline(never)]
fn poll_general(
    connection: &mut Connection,
    now: Time,
    host: Addr,
    ids: &mut Option<Box<IpIds>>,
    workload: &Workload,
    arena: &mut Arena,
) -> Option<Packet> {
    let mut packet = connection.poll_general(now, 0, arena)?;
    if !packet.dont_fragment() {
        ids.get_or_insert_default().give(host, &mut packet, workload, arena);
    }
    Some(packet)
}

/// An entry whose turn is put off.
#[derive(Clone, Copy)]
pub(super) struct Deferred {
    /// When the interface has room.
    pub at: Time,
    pub entry: u32,
}

impl Host {
    /// The only interface has room at `at` and not before. True if it need not be asked then: see
    /// the module.
    #[inline]
    pub fn defer_until_window(&mut self, at: Time, now: Time) -> bool {
        let [interface] = &mut *self.interfaces else { return false };
        let [entry] = *interface.ready.make_contiguous() else { return false };
        let Entry { socket, path, .. } = interface.entries[entry as usize];
        let Some(connection) = self.sockets[socket.index()].connection() else { return false };
        if !connection.awaits_window(now, path as usize) {
            return false;
        }
        interface.entries[entry as usize].queued = false;
        interface.ready.clear();
        self.deferred = Some(Deferred { at, entry });
        true
    }
    /// It is `now`. An interface that has room by now has it before whatever is to happen.
    pub fn pass_time(&mut self, now: Time) {
        if let Some(deferred) = self.deferred.take() {
            self.end_deferral(deferred, deferred.at <= now);
            self.room_at = None; // what happens now ends with a question to all that are ready
        }
    }
    /// The same before an arrival. Arrivals go first at equal times: an interface that has room at
    /// `now` has none yet.
    #[inline]
    pub(super) fn pass_time_to_arrival(&mut self, now: Time) {
        if let Some(deferred) = self.deferred.take() {
            self.end_deferral(deferred, deferred.at < now);
        }
    }
    /// When the only interface has room for an entry that an arrival has made ready again; None if
    /// no arrival did. The fabric takes it after `receive` and `receive_other`, whatever they
    /// return. If it does not ask the host for packets in the same event, it must wake the host at
    /// that time. `receive_single` sets none: `transmit_alone` follows it and asks.
    #[inline]
    pub fn take_room_at(&mut self) -> Option<Time> {
        self.room_at.take()
    }
    /// The interface has had room for the deferred entry, or the entry is ready again.
    #[inline]
    fn end_deferral(&mut self, Deferred { at, entry }: Deferred, had_room: bool) {
        let interface = &mut self.interfaces[0];
        if !had_room {
            self.room_at = Some(at);
            return interface.mark_ready(entry as usize);
        }
        let Entry { socket, path, .. } = interface.entries[entry as usize];
        if let Some(connection) = self.sockets[socket.index()].open_connection() {
            connection.note_window_full(path as usize);
        }
    }
}

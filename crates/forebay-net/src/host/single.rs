//! The fast path of a host with one socket and one interface.
//!
//! It is open to a host for which [`Host::is_single`] holds. Nothing is looked up and no turns are
//! kept: [`Host::receive_single`], then [`Host::transmit_single`], which sends while the interface
//! has room. What [`Host::receive_single`] does not take goes the general way. The results are
//! those of [`Host::receive`] and [`Host::pull`].

use super::defer::Deferred;
use super::ip_ids::IpIds;
use super::receive::view_of_whole;
use super::{Host, HostContext, Socket};
use crate::ids::EndId;
use crate::workload::{FIRST_PORT, Workload};
use alloc::boxed::Box;
use forebay_base::{Addr, Arena, DropReason, Kind, Packet, Time};
use forebay_transport::Connection;

/// Where the packets of a host's only interface go.
pub(crate) trait Outlet {
    /// When the first packet that waits there starts, and whether it is the only one, so that there
    /// is room then; None: there is room now.
    fn room_at(&mut self, now: Time) -> Option<(Time, bool)>;
    /// Take a packet that was just made, or give it back: then it needs the general way.
    fn send(&mut self, now: Time, packet: Packet, arena: &Arena) -> Result<(), Packet>;
}

/// The only socket of a host has taken a packet.
pub(crate) struct SingleReceived {
    /// It may have something to send.
    ready: bool,
    /// Nothing of the packet was taken: it is dropped for this reason.
    pub refused: Option<DropReason>,
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
    /// The address and port of the only socket: the first port of the only interface.
    #[inline]
    fn only_endpoint(&self) -> Option<(Addr, u16)> {
        self.interfaces.first().map(|interface| (interface.addr, FIRST_PORT))
    }
    /// When the only socket times out; [`Time::MAX`] if it does not.
    #[inline]
    pub(crate) fn times_out_at(&self) -> Time {
        self.sockets.first().and_then(Socket::next_timeout).unwrap_or(Time::MAX)
    }

    /// A packet came. If it is a whole TCP segment for the only socket, the socket reads it where
    /// it lies; the caller then ends the packet, and [`Host::transmit_single`] must follow. None,
    /// and nothing has happened to the packet, if it is anything else: [`Host::receive_other`] must
    /// follow.
    #[inline(always)]
    pub(crate) fn receive_single(
        &mut self,
        packet: &Packet,
        cx: &mut HostContext<'_>,
    ) -> Option<SingleReceived> {
        let is_for_it = Some((packet.dst(), packet.ports()?.1)) == self.only_endpoint();
        if !is_for_it || packet.kind() != Kind::Tcp {
            return None;
        }
        let socket = self.sockets.first_mut()?;
        let transport = socket.transport;
        let connection = socket.connection_for_packet(cx.workload, packet)?;
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
        Some(SingleReceived { ready: ready || !connection.has_nothing_to_send(0), refused })
    }
    /// There is room for a socket that waits for it. None if it does not wait.
    #[inline]
    pub(crate) fn resume_single(&self) -> Option<SingleReceived> {
        let waits = self.interfaces[0].entries[0].queued;
        waits.then_some(SingleReceived { ready: false, refused: None })
    }
    /// The only socket sends while there is room. `refused` is what its outlet gave back, if it
    /// did: the socket may have more to send then.
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
        let timeout = socket.next_timeout();
        if ready {
            interface.mark_ready(0);
        } else if interface.entries[0].queued {
            interface.clear_only();
        }
        SingleTransmitted { end, wake_at, timeout, ended }
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

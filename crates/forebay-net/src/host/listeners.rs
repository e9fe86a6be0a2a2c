//! Ports of a host to which anybody may connect. Each listens for a number of flows: whoever
//! connects has the next one, and who comes when all are taken has none. What a peer can fill is
//! bounded by that.

use super::{Life, Socket};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use forebay_base::{Addr, Endpoint, Packet, SocketId, Span, TcpFlags, Time};
use forebay_transport::ConnectionView;

/// Connections of a port that have not been established, at most.
const BACKLOG: usize = 16;
/// A peer that has not come back after so long does not: what Linux waits with five SYN-ACKs.
const PATIENCE: Span = Span::from_secs(63);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Listeners(Vec<Listener>);

/// One port.
#[derive(Debug)]
struct Listener {
    local: Endpoint,
    /// Servers of its flows, in order.
    sockets: Vec<SocketId>,
    /// Who is connected, or was, and when the SYN came.
    peers: BTreeMap<Endpoint, (SocketId, Time)>,
}

impl Listeners {
    /// One more connection may come to `port` of the interface with the address `addr`.
    pub fn add(&mut self, addr: Addr, port: u16, socket: SocketId) {
        let local = Endpoint { addr, port };
        if let Some(found) = self.0.iter_mut().find(|listener| listener.local == local) {
            return found.sockets.push(socket);
        }
        self.0.push(Listener { local, sockets: Vec::from([socket]), peers: BTreeMap::new() });
    }
    /// The socket that is connected, or was, with `peer`.
    pub fn accepted(&self, peer: Endpoint, local: Endpoint) -> Option<SocketId> {
        let listener = self.0.iter().find(|listener| listener.local == local)?;
        listener.peers.get(&peer).map(|(socket, _)| *socket)
    }
    /// The socket for a segment. A SYN takes one; None if there is none.
    pub fn socket_for(
        &mut self,
        now: Time,
        packet: &Packet,
        sockets: &mut [Socket],
    ) -> Option<SocketId> {
        let (src_port, dst_port) = packet.ports()?;
        let flags = packet.tcp_fields()?.flags;
        let local = Endpoint { addr: packet.dst(), port: dst_port };
        let peer = Endpoint { addr: packet.src(), port: src_port };
        let listener = self.0.iter_mut().find(|listener| listener.local == local)?;
        let opens =
            flags.has(TcpFlags::SYN) && !flags.has(TcpFlags(TcpFlags::ACK.0 | TcpFlags::RST.0));
        let known = listener.peers.get(&peer).map(|(socket, _)| *socket);
        let has_ended = |socket: &SocketId| {
            sockets[socket.index()].view().is_some_and(ConnectionView::is_ended)
        };
        match known {
            Some(socket) if !(opens && has_ended(&socket)) => Some(socket),
            _ if opens => listener.take(now, peer, sockets),
            _ => None,
        }
    }
}

impl Listener {
    /// A socket for a new peer: one that has had none, or whose peer never was there.
    fn take(&mut self, now: Time, peer: Endpoint, sockets: &mut [Socket]) -> Option<SocketId> {
        let came = |socket: &SocketId| {
            self.peers.values().find(|(other, _)| other == socket).map(|(_, since)| *since)
        };
        let is_half_open = |socket: &SocketId| {
            let connection = sockets[socket.index()].view();
            connection.is_some_and(|of| of.progress().established_at.is_none() && !of.is_ended())
        };
        let is_left = |socket: &SocketId| {
            let has_ended = sockets[socket.index()]
                .view()
                .is_some_and(|of| of.progress().established_at.is_none() && of.is_ended());
            let is_old = came(socket).is_some_and(|since| now.since(since) > PATIENCE);
            has_ended || is_half_open(socket) && is_old
        };
        let waiting = self.sockets.iter().filter(|of| is_half_open(of) && !is_left(of)).count();
        if waiting >= BACKLOG {
            return None;
        }
        let is_free = |of: &SocketId| sockets[of.index()].view().is_none() || is_left(of);
        let taken = self.sockets.iter().copied().find(is_free)?;
        self.peers.retain(|_, (socket, _)| *socket != taken);
        self.peers.insert(peer, (taken, now));
        sockets[taken.index()].life = Life::Unborn;
        Some(taken)
    }
}

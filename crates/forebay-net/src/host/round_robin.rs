//! The interfaces of a host: the local ports behind each, and whose turn it is to send.

use super::inline_one::InlineOne;
use super::{Host, HostContext};
use alloc::collections::VecDeque;
use forebay_base::{Addr, Packet, PortId, SocketId};

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
    /// The only entry has nothing to send.
    #[inline]
    pub fn clear_only(&mut self) {
        self.entries[0].queued = false;
        self.ready.clear();
    }
}

impl Host {
    /// What one path learns may let the others send.
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
}

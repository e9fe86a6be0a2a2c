//! One side of a real-time run: some nodes of a network, and a socket.

use crate::tap::Tap;
use forebay_base::{FlowId, LinkId, NodeId, Time};
use forebay_net::{NetSpec, Place};
use forebay_sim::{Conservation, Site, SiteOptions};
use forebay_transport::{ConnectionView, Role};
use std::io::{Error, ErrorKind, Result};
use std::net::UdpSocket;
use std::sync::Arc;

/// Packets from the socket in one turn.
const RECEIVE_BURST: usize = 64;

pub(super) struct Side {
    site: Site,
    socket: UdpSocket,
    buffer: Vec<u8>,
}

impl Side {
    pub(super) fn new(
        spec: &NetSpec,
        seed: u64,
        nodes: Vec<NodeId>,
        socket: UdpSocket,
        tap: Option<Tap>,
        payload: Option<Arc<Vec<Vec<u8>>>>,
    ) -> Result<Side> {
        socket.set_nonblocking(true)?;
        let observer = tap.map(|tap| Box::new(tap) as _);
        let options = SiteOptions { observer, payload, ..SiteOptions::default() };
        let place = Place { nodes, ..Place::default() };
        let site = Site::new(spec, seed, &place, options)
            .map_err(|error| Error::other(format!("no such network: {error:?}")))?;
        Ok(Side { site, socket, buffer: Vec::new() })
    }

    /// Bytes that the server of a flow has received in order, if it is here.
    pub(super) fn received(&self, flow: FlowId) -> Option<&[u8]> {
        self.site.received(flow)
    }

    /// Do what is due at `now`. True if a packet may have moved.
    pub(super) fn turn(&mut self, now: Time) -> Result<bool> {
        let before = self.site.now();
        let received = self.receive(now)?;
        self.site.run_until(now);
        let (socket, buffer, mut sent) = (&self.socket, &mut self.buffer, Ok(0));
        self.site.exits(|exit| {
            buffer.clear();
            buffer.extend(exit.link.0.to_be_bytes());
            buffer.extend(exit.bytes);
            if sent.is_ok() {
                sent = socket.send(buffer);
            }
        });
        sent?;
        Ok(received || self.site.now() > before)
    }

    /// What the other side sent.
    pub(super) fn receive(&mut self, now: Time) -> Result<bool> {
        let mut datagram = [0; 1 << 16];
        for received in 0..RECEIVE_BURST {
            let len = match self.socket.recv(&mut datagram) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(received > 0),
                result => result?,
            };
            let (id, bytes) =
                datagram[..len].split_first_chunk().ok_or(ErrorKind::UnexpectedEof)?;
            let link = LinkId(u32::from_be_bytes(*id));
            self.site.push(now, link, bytes).map_err(Error::other)?;
        }
        Ok(true)
    }

    /// When the next turn is due; [`Time::MAX`] if only the other side can change anything. It may
    /// be a deadline that is met already: the turn then does nothing.
    pub(super) fn next_deadline(&self) -> Time {
        self.site.next().unwrap_or(Time::MAX)
    }
    /// Ends of flows here that have not ended.
    pub(super) fn open_ends(&self) -> isize {
        self.site.ends().1
    }
    pub(super) fn connection(&self, flow: FlowId, role: Role) -> Option<ConnectionView<'_>> {
        self.site.connection(flow, role)
    }
    pub(super) fn conservation(&self) -> Conservation {
        self.site.conservation()
    }
}

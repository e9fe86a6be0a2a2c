//! One side of a real-time run: the fabric of some nodes of a network, its deadlines, and a socket.

use super::streams::Streams;
use crate::tap::Tap;
use forebay_base::{Arena, FlowId, LinkId, NodeId, Packet, Time};
use forebay_net::{Deadline, Driver, Fabric, NetSpec, PacketEvent};
use forebay_sim::{Conservation, Observer};
use forebay_transport::{Connection, Role};
use forebay_wire::{emit, emit_payload, parse};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{Error, ErrorKind, Result};
use std::net::UdpSocket;
use std::sync::Arc;

/// Packets from the socket in one turn.
const RECEIVE_BURST: usize = 64;
/// Deadlines in one turn: fewer than would let the socket's buffer fill up.
const DEADLINE_BURST: usize = 64;

pub(super) struct Side {
    fabric: Fabric<Timers>,
    socket: UdpSocket,
    buffer: Vec<u8>,
    streams: Option<Streams>,
}

/// What is pending, and who looks on.
struct Timers {
    pending: BinaryHeap<Reverse<(Time, Deadline)>>,
    tap: Option<Tap>,
}

impl Driver for Timers {
    fn arm(&mut self, deadline: Deadline, at: Time) {
        self.pending.push(Reverse((at, deadline)));
    }
    fn observes(&self) -> bool {
        self.tap.is_some()
    }
    fn observe(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena) {
        if let Some(tap) = &mut self.tap {
            tap.on_packet(now, event, packet, arena);
        }
    }
}

impl Side {
    pub(super) fn new(
        spec: &NetSpec,
        seed: u64,
        here: impl Fn(NodeId) -> bool,
        socket: UdpSocket,
        tap: Option<Tap>,
    ) -> Result<Side> {
        socket.set_nonblocking(true)?;
        let timers = Timers { pending: BinaryHeap::new(), tap };
        let mut fabric = Fabric::of_nodes(spec, seed, here, timers)
            .map_err(|error| Error::other(format!("no such network: {error:?}")))?;
        fabric.start();
        Ok(Side { fabric, socket, buffer: Vec::new(), streams: None })
    }

    /// Clients send these bytes, by flow.
    pub(super) fn carry(&mut self, sent: Arc<Vec<Vec<u8>>>) {
        self.streams = Some(Streams::new(self.fabric.workload(), sent));
    }
    /// Bytes that the server of a flow has received in order, if it is here.
    pub(super) fn received(&self, flow: FlowId) -> Option<&[u8]> {
        self.streams.as_ref()?.received(flow, &self.fabric)
    }

    /// Do what is due at `now`. True if a packet may have moved.
    pub(super) fn turn(&mut self, now: Time) -> Result<bool> {
        let mut moved = self.receive(now)?;
        for _ in 0..DEADLINE_BURST {
            let pending = &mut self.fabric.driver.pending;
            let Some(&Reverse((_, deadline))) = pending.peek().filter(|d| d.0.0 <= now) else {
                break;
            };
            pending.pop();
            if self.fabric.due(now, deadline) {
                self.meet(now, deadline)?;
                moved = true;
            }
        }
        Ok(moved)
    }
    fn meet(&mut self, now: Time, deadline: Deadline) -> Result<()> {
        match deadline {
            Deadline::Arrival(link) if self.fabric.is_exit(link) => {
                if let Some(packet) = self.fabric.take_exit(now, link) {
                    self.cross(link, packet)?;
                }
            }
            Deadline::Arrival(link) => {
                if let Some(packet) = self.fabric.take_arrival(now, link) {
                    self.fabric.arrive(now, link, packet);
                }
            }
            Deadline::Transmitter(link) => self.fabric.on_transmitter(now, link),
            Deadline::Router(node) => self.fabric.on_router(now, node),
            Deadline::Socket(end) => {
                self.fabric.on_socket(now, end);
            }
        }
        Ok(())
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
            self.note_bytes(bytes);
            self.fabric.enter_bytes(now, link, bytes).map_err(Error::other)?;
        }
        Ok(true)
    }
    /// Real payload that came.
    fn note_bytes(&mut self, bytes: &[u8]) {
        let Some(streams) = &mut self.streams else { return };
        let Ok(packet) = parse(bytes, &self.fabric.plan, &mut self.fabric.arena) else { return };
        let payload = &bytes[bytes.len() - usize::from(packet.payload_len())..];
        streams.incoming(&packet, payload, &self.fabric);
        self.fabric.arena.free(packet);
    }
    /// Write a packet to the other side, after the number of its link.
    fn cross(&mut self, link: LinkId, packet: Packet) -> Result<()> {
        let (plan, arena, buffer) = (&self.fabric.plan, &self.fabric.arena, &mut self.buffer);
        buffer.clear();
        buffer.extend(link.0.to_be_bytes());
        let payload = self.streams.as_ref().and_then(|s| s.outgoing(&packet, &self.fabric));
        match payload {
            Some(payload) => emit_payload(&packet, arena, plan, payload, buffer),
            None => emit(&packet, arena, plan, buffer),
        }
        .map_err(Error::other)?;
        self.fabric.arena.free(packet);
        self.socket.send(&self.buffer)?;
        Ok(())
    }

    /// When the next turn is due; [`Time::MAX`] if only the other side can change anything. It may
    /// be a deadline that is met already: the turn then does nothing.
    pub(super) fn next_deadline(&self) -> Time {
        self.fabric.driver.pending.peek().map_or(Time::MAX, |d| d.0.0)
    }
    /// Ends of flows here that have not ended.
    pub(super) fn open_ends(&self) -> isize {
        self.fabric.ends().1
    }
    pub(super) fn connection(&self, flow: FlowId, role: Role) -> Option<&Connection> {
        self.fabric.connection(flow, role)
    }
    pub(super) fn conservation(&self) -> Conservation {
        self.fabric.conservation()
    }
}

//! One side of a real-time run: its nodes, the links that leave them, an arena of its own.

use crate::tap::Tap;
use forebay_base::{
    Arena, DropLog, DropReason, FlowId, LinkId, NodeId, Packet, PortId, Rate, SocketId, Time,
    split_ipv4,
};
use forebay_net::{AnyLink, Host, HostContext, NetSpec, Network, Node, Pulled, Socket};
use forebay_queue::{Overflow, PortContext};
use forebay_router::{AnyForwarding, Forwarding, NodeContext, Ports, Verdict, Work};
use forebay_sim::{Conservation, Observer, PacketEvent};
use forebay_transport::{Connection, Role};
use std::io::{Error, ErrorKind, Result};
use std::net::UdpSocket;

/// Packets of one link in one turn.
const BURST: usize = 16;
/// Packets from the socket in one turn: those of four links, so that its buffer does not fill up.
const RECEIVE_BURST: usize = 4 * BURST;

pub(super) struct Side {
    now: Time,
    network: Network,
    /// Per link: the node at its end, its port there, and the longest packet.
    links: Vec<(NodeId, PortId, u16)>,
    here: Vec<bool>,
    own_nodes: Vec<NodeId>,
    own_links: Vec<LinkId>,
    /// The sockets of the hosts that are here.
    own_ends: Vec<(NodeId, SocketId)>,
    socket: UdpSocket,
    buffer: Vec<u8>,
    tap: Option<Tap>,
    arena: Arena,
    drops: DropLog,
    work: Work,
    sent: u64,
    split: u64,
    delivered: u64,
    /// Packets written to the socket, and read from it.
    pub crossed: (u64, u64),
}

/// What forwarding sees of its ports.
struct PortView<'a> {
    links: &'a [AnyLink],
    ports: &'a [LinkId],
    now: Time,
}

impl PortView<'_> {
    fn link(&self, port: PortId) -> &AnyLink {
        &self.links[self.ports[port.index()].index()]
    }
}

impl Ports for PortView<'_> {
    fn backlog_bytes(&self, port: PortId) -> u64 {
        self.link(port).waiting_bytes(self.now)
    }
    fn has_room(&self, port: PortId, wire_len: u16) -> bool {
        self.link(port).has_room(wire_len, self.now)
    }
    fn rate(&self, port: PortId) -> Rate {
        self.link(port).rate(self.now)
    }
    fn is_up(&self, port: PortId) -> bool {
        self.link(port).is_up()
    }
}

macro_rules! port_context {
    ($self:ident) => {
        &mut PortContext {
            now: $self.now,
            arena: &mut $self.arena,
            drops: &mut $self.drops,
            split: &mut $self.split,
        }
    };
}

impl Side {
    pub(super) fn new(
        spec: &NetSpec,
        seed: u64,
        here: Vec<bool>,
        socket: UdpSocket,
        tap: Option<Tap>,
    ) -> Result<Side> {
        socket.set_nonblocking(true)?;
        let network = Network::build(spec, seed, true)
            .map_err(|error| Error::other(format!("no such network: {error:?}")))?;
        let links = spec.links.iter().enumerate();
        let in_port = |i: usize| network.ports.port(LinkId(i as u32 ^ 1));
        let links = links.map(|(i, link)| (link.to, in_port(i), link.mtu_bytes)).collect();
        let own = |node: NodeId| here[node.index()];
        let own_nodes = (0..here.len() as u32).map(NodeId).filter(|&n| own(n)).collect();
        let own_ends = network.ends.iter().flatten().filter(|(node, _)| own(*node)).copied();
        let ids = spec.links.iter().zip((0..).map(LinkId));
        let own_links = ids.filter(|(link, _)| own(link.from)).map(|(_, id)| id).collect();
        Ok(Side {
            now: Time::ZERO,
            own_ends: own_ends.collect(),
            network,
            links,
            own_nodes,
            own_links,
            here,
            socket,
            buffer: Vec::new(),
            tap,
            arena: Arena::default(),
            drops: DropLog::default(),
            work: Work::default(),
            sent: 0,
            split: 0,
            delivered: 0,
            crossed: (0, 0),
        })
    }

    /// Do what is due at `now`. True if a packet moved.
    pub(super) fn turn(&mut self, now: Time) -> Result<bool> {
        let mut moved = self.receive(now)?;
        for i in 0..self.own_links.len() {
            moved |= self.run_link(self.own_links[i])?;
        }
        for i in 0..self.own_ends.len() {
            self.run_socket(self.own_ends[i]);
        }
        for i in 0..self.own_nodes.len() {
            self.run_node(self.own_nodes[i]);
        }
        Ok(moved)
    }
    fn run_node(&mut self, node: NodeId) {
        match &self.network.nodes[node.index()] {
            Node::Host(_) => self.pump(node),
            Node::Router(forwarding) => {
                if forwarding.next_timeout().is_some_and(|at| at <= self.now) {
                    self.forwarding(node, |f, cx| f.on_timeout(cx));
                }
                self.serve(node);
            }
        }
    }
    /// What the other side sent.
    pub(super) fn receive(&mut self, now: Time) -> Result<bool> {
        self.now = now;
        let mut datagram = [0; 1 << 16];
        for received in 0..RECEIVE_BURST {
            let len = match self.socket.recv(&mut datagram) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(received > 0),
                result => result?,
            };
            self.crossed.1 += 1;
            let (id, bytes) =
                datagram[..len].split_first_chunk().ok_or(ErrorKind::UnexpectedEof)?;
            match forebay_wire::parse(bytes, &self.network.plan, &mut self.arena) {
                Ok(packet) => self.arrive(LinkId(u32::from_be_bytes(*id)), packet),
                Err(_) => self.drops.count_only(DropReason::Malformed, 1),
            }
        }
        Ok(true)
    }
    fn run_link(&mut self, id: LinkId) -> Result<bool> {
        let now = self.now;
        let link = &mut self.network.links[id.index()];
        if link.next_transmitter().is_some_and(|at| at <= now) {
            link.on_transmitter(port_context!(self));
        }
        for arrived in 0..BURST {
            let link = &mut self.network.links[id.index()];
            let Some(packet) = link.take_arrival(now) else { return Ok(arrived > 0) };
            if self.here[self.links[id.index()].0.index()] {
                self.arrive(id, packet);
            } else {
                self.cross(id, packet)?;
            }
        }
        Ok(true)
    }
    fn cross(&mut self, link: LinkId, packet: Packet) -> Result<()> {
        self.buffer.clear();
        self.buffer.extend(link.0.to_be_bytes());
        forebay_wire::emit(&packet, &self.arena, &self.network.plan, &mut self.buffer)
            .map_err(Error::other)?;
        self.arena.free(packet);
        self.crossed.0 += 1;
        self.socket.send(&self.buffer)?;
        Ok(())
    }
    fn arrive(&mut self, link: LinkId, packet: Packet) {
        self.observe(PacketEvent::Arrived(link), &packet);
        let (node, port, _) = self.links[link.index()];
        match &self.network.nodes[node.index()] {
            Node::Host(_) => {
                self.host(node, |host, cx| host.on_packet(packet, cx));
                self.pump(node);
            }
            Node::Router(_) => {
                let verdict = self.forwarding(node, |f, cx| f.on_packet(port, packet, cx));
                self.obey(node, verdict);
                self.serve(node);
            }
        }
    }
    fn observe(&mut self, event: PacketEvent, packet: &Packet) {
        if let Some(tap) = &mut self.tap {
            tap.on_packet(self.now, event, packet, &self.arena);
        }
    }

    fn host<R>(
        &mut self,
        node: NodeId,
        call: impl FnOnce(&mut Host, &mut HostContext<'_>) -> R,
    ) -> R {
        let Node::Host(host) = &mut self.network.nodes[node.index()] else {
            unreachable!("only hosts have sockets")
        };
        let mut cx = HostContext {
            now: self.now,
            arena: &mut self.arena,
            drops: &mut self.drops,
            workload: &self.network.workload,
            plan: &self.network.plan,
            delivered: &mut self.delivered,
        };
        call(host, &mut cx)
    }
    fn run_socket(&mut self, (node, socket): (NodeId, SocketId)) {
        if self.socket_deadline((node, socket)).is_some_and(|at| at <= self.now) {
            self.host(node, |host, cx| match host.sockets()[socket.index()].connection() {
                Some(_) => host.on_timeout(socket, cx),
                None => host.open(socket, cx),
            });
        }
    }
    fn socket(&self, (node, socket): (NodeId, SocketId)) -> &Socket {
        match &self.network.nodes[node.index()] {
            Node::Host(host) => &host.sockets()[socket.index()],
            Node::Router(_) => unreachable!("only hosts have sockets"),
        }
    }
    fn socket_deadline(&self, end: (NodeId, SocketId)) -> Option<Time> {
        let socket = self.socket(end);
        match (socket.connection(), socket.role()) {
            (Some(connection), _) => connection.next_timeout(),
            (None, Role::Client) => {
                Some(self.network.workload.flows()[socket.flow().index()].start)
            }
            (None, Role::Server) => None,
        }
    }
    /// One packet in transmission and one behind it, on each interface.
    fn pump(&mut self, node: NodeId) {
        for (i, link) in self.network.ports.links_of(node).to_vec().into_iter().enumerate() {
            while self.network.links[link.index()].waiting_packets(self.now) == 0 {
                match self.host(node, |host, cx| host.pull(PortId(i as u16), cx)) {
                    Pulled::Packet(packet, _) => {
                        self.sent += 1;
                        self.observe(PacketEvent::Sent(node), &packet);
                        self.send(node, link, packet);
                    }
                    Pulled::Idle(_) => {}
                    Pulled::Nothing => break,
                }
            }
        }
    }

    fn forwarding<R>(
        &mut self,
        node: NodeId,
        call: impl FnOnce(&mut AnyForwarding, &mut NodeContext<'_>) -> R,
    ) -> R {
        let network = &mut self.network;
        let Node::Router(forwarding) = &mut network.nodes[node.index()] else {
            unreachable!("only routers forward")
        };
        let ports = network.ports.links_of(node);
        let ports = PortView { links: &network.links, ports, now: self.now };
        let mut cx = NodeContext {
            now: self.now,
            node,
            arena: &mut self.arena,
            drops: &mut self.drops,
            routes: &network.routes,
            ports: &ports,
            work: &mut self.work,
        };
        call(forwarding, &mut cx)
    }
    fn obey(&mut self, node: NodeId, verdict: Verdict) {
        match verdict {
            Verdict::Forward(port, packet) => {
                self.send(node, self.network.ports.link(node, port), packet);
            }
            Verdict::Held => {}
            Verdict::Drop(packet, reason) => self.drops.record(packet, reason, &mut self.arena),
        }
    }
    /// What forwarding asked for, and what it holds for ports that are idle.
    fn serve(&mut self, node: NodeId) {
        for (port, packet) in std::mem::take(&mut self.work.send) {
            self.sent += 1;
            self.obey(node, Verdict::Forward(port, packet));
        }
        self.work.ready.clear(); // all ports are tried
        for (i, link) in self.network.ports.links_of(node).to_vec().into_iter().enumerate() {
            let port = PortId(i as u16);
            while self.network.links[link.index()].is_idle(self.now) {
                let Some(packet) = self.forwarding(node, |f, cx| f.pull(port, cx)) else {
                    let eligible = self.forwarding(node, |f, cx| f.has_eligible(port, cx.now));
                    assert!(!eligible, "port {i} of {node:?} is idle and has work");
                    break;
                };
                self.send(node, link, packet);
            }
        }
    }
    fn send(&mut self, node: NodeId, link: LinkId, packet: Packet) {
        let mtu = self.links[link.index()].2;
        if packet.wire_len() > mtu {
            return match split_ipv4(packet, mtu, &mut self.arena) {
                Ok((first, rest)) => {
                    self.split += 1;
                    self.send(node, link, first);
                    self.send(node, link, rest);
                }
                Err(packet) => self.drops.record(packet, DropReason::TooBig, &mut self.arena),
            };
        }
        let offered = self.network.links[link.index()].offer(packet, port_context!(self));
        let Err(Overflow(packet)) = offered else { return };
        let port = self.network.ports.port(link);
        let verdict = match &self.network.nodes[node.index()] {
            Node::Host(_) => Verdict::Drop(packet, DropReason::Full),
            Node::Router(_) => self.forwarding(node, |f, cx| f.on_overflow(port, packet, cx)),
        };
        match verdict {
            Verdict::Forward(port, packet) => {
                let other = self.network.ports.link(node, port);
                let offered = self.network.links[other.index()].offer(packet, port_context!(self));
                if let Err(Overflow(packet)) = offered {
                    self.drops.record(packet, DropReason::Full, &mut self.arena);
                }
            }
            held_or_dropped => self.obey(node, held_or_dropped),
        }
    }

    /// When the next turn is due; [`Time::MAX`] if only the other side can change anything.
    pub(super) fn next_deadline(&self) -> Time {
        let links = self.own_links.iter().map(|l| &self.network.links[l.index()]);
        let links = links.flat_map(|l| [l.next_transmitter(), l.next_arrival()]);
        let routers = self.own_nodes.iter().map(|n| match &self.network.nodes[n.index()] {
            Node::Router(forwarding) => forwarding.next_timeout(),
            Node::Host(_) => None,
        });
        let ends = self.own_ends.iter().map(|&end| self.socket_deadline(end));
        links.chain(routers).chain(ends).flatten().min().unwrap_or(Time::MAX)
    }
    /// True if every flow has ended at those of its ends that are here.
    pub(super) fn all_ended(&self) -> bool {
        let mut ends = self.own_ends.iter().map(|&end| self.socket(end).connection());
        ends.all(|c| c.is_some_and(|c| c.progress().ended.is_some()))
    }
    pub(super) fn connection(&self, flow: FlowId, role: Role) -> Option<&Connection> {
        self.socket(self.network.ends[flow.index()][(role == Role::Server) as usize]).connection()
    }
    pub(super) fn conservation(&self) -> Conservation {
        let in_nodes = self.network.nodes.iter().map(|node| match node {
            Node::Host(host) => host.held_packets(),
            Node::Router(forwarding) => forwarding.held_packets(),
        });
        let on_links = self.network.links.iter().map(AnyLink::held_packets);
        Conservation {
            sent: self.sent,
            split: self.split,
            delivered: self.delivered,
            dropped: self.drops.total(),
            held: in_nodes.chain(on_links).sum(),
            cold_parts: self.arena.live() as u64,
        }
    }
}

//! What happens at each kind of event: the hands of the driver.

use crate::observe::PacketEvent;
use crate::world::{LinkSlot, Role, Simulation};
use forebay_base::{DropReason, LinkId, NodeId, Packet, PortId, Rate, SocketId, Time, split_ipv4};
use forebay_net::{Host, HostContext, NetEvent, Node, Pulled};
use forebay_queue::{Overflow, PortContext};
use forebay_router::{AnyForwarding, Forwarding, NodeContext, Ports, Verdict, Work};

/// What forwarding sees of its ports.
struct PortView<'a> {
    links: &'a [LinkSlot],
    ports: &'a [LinkId],
    now: Time,
}

impl PortView<'_> {
    fn slot(&self, port: PortId) -> &LinkSlot {
        &self.links[self.ports[port.index()].index()]
    }
}

impl Ports for PortView<'_> {
    fn backlog_bytes(&self, port: PortId) -> u64 {
        self.slot(port).link.waiting_bytes(self.now)
    }
    fn has_room(&self, port: PortId, wire_len: u16) -> bool {
        self.slot(port).link.has_room(wire_len, self.now)
    }
    fn rate(&self, port: PortId) -> Rate {
        self.slot(port).link.rate(self.now)
    }
    fn is_up(&self, port: PortId) -> bool {
        self.slot(port).link.is_up()
    }
}

macro_rules! port_context {
    ($self:ident) => {
        PortContext {
            now: $self.now,
            arena: &mut $self.arena,
            drops: &mut $self.drops,
            split: &mut $self.count.split,
        }
    };
}

impl Simulation {
    /// The first packet on the wire of `link` has arrived.
    #[inline]
    pub(crate) fn on_arrival(&mut self, link: LinkId) {
        let now = self.now;
        let slot = &mut self.links[link.index()];
        let packet = slot.link.take_arrival(now);
        if let Some(next) = slot.link.next_arrival() {
            slot.armed_arrival = next;
            self.agenda.push(next, Role::Arrival.entity(link.0));
        }
        // None if a failure took what was on the wire when this was armed.
        let Some(mut packet) = packet else { return };
        if self.bytes.is_some() {
            packet = self.through_bytes(packet);
        }
        let slot = &mut self.links[link.index()];
        slot.hash.arrived(now, packet.digest(&self.arena));
        let (node, in_port) = (slot.to, slot.in_port);
        self.observe(PacketEvent::Arrived(link), &packet);
        self.deliver(node, in_port, packet);
    }

    /// A packet comes to a node.
    #[inline]
    fn deliver(&mut self, node: NodeId, in_port: PortId, mut packet: Packet) {
        match &self.nodes[node.index()] {
            // The same as through `router_packet`, without a context that it would not look at.
            Node::Router(AnyForwarding::PlainIp(plain)) => {
                match plain.route(node, &mut packet, &self.routes) {
                    Ok(port) => self.send(node, self.ports.link(node, port), packet),
                    Err(reason) => self.end(node, packet, reason),
                }
            }
            Node::Router(AnyForwarding::Custom(_)) => self.router_packet(node, in_port, packet),
            Node::Host(_) => self.host_packet(node, packet),
        }
    }

    /// Emit to bytes and parse back: what a machine reads, a wire carries.
    fn through_bytes(&mut self, packet: Packet) -> Packet {
        let buffer = self.bytes.as_mut().expect("bytes mode");
        buffer.clear();
        let emitted = forebay_wire::emit(&packet, &self.arena, &self.plan, buffer);
        emitted.expect("every address of a run is in its plan");
        assert_eq!(buffer.len(), packet.wire_len() as usize, "wire length of {packet:?}");
        let stamp = packet.stamp();
        let mut parsed = match forebay_wire::parse(buffer, &self.plan, &mut self.arena) {
            Ok(parsed) => parsed,
            Err(error) => panic!("{error}: {packet:?} does not parse back"),
        };
        parsed.set_stamp(stamp);
        self.arena.free(packet);
        parsed
    }

    // Hosts.

    #[inline]
    fn with_host<R>(
        &mut self,
        node: NodeId,
        call: impl FnOnce(&mut Host, &mut HostContext<'_>) -> R,
    ) -> R {
        let Node::Host(host) = &mut self.nodes[node.index()] else {
            unreachable!("only hosts have sockets")
        };
        let mut cx = HostContext {
            now: self.now,
            arena: &mut self.arena,
            drops: &mut self.drops,
            workload: &self.workload,
            plan: &self.plan,
            delivered: &mut self.count.delivered,
        };
        call(host, &mut cx)
    }

    #[inline]
    fn host_packet(&mut self, node: NodeId, packet: Packet) {
        let socket = self.with_host(node, |host, cx| host.on_packet(packet, cx));
        if let Some(socket) = socket {
            self.pump(node, socket);
        }
    }

    /// A client opens, or a connection's time has come.
    pub(crate) fn on_socket(&mut self, end: u32) {
        let (node, socket) = (self.ends[end as usize].node, self.ends[end as usize].socket);
        self.with_host(node, |host, cx| {
            if host.sockets()[socket.index()].connection().is_some() {
                host.on_timeout(socket, cx);
            } else {
                host.open(socket, cx);
            }
        });
        self.pump(node, socket);
    }

    /// Let the sockets of a host send while its interfaces have room: one packet in transmission, one behind it.
    /// `socket` is the one that something happened to.
    #[inline]
    fn pump(&mut self, node: NodeId, socket: SocketId) {
        let mut all_polled = true;
        for port in 0..self.ports.links_of(node).len() as u16 {
            all_polled &= self.pump_port(node, PortId(port));
        }
        // A socket that was asked for packets has told its deadline since.
        if !all_polled {
            self.sync_socket(node, socket);
        }
    }

    /// False if the interface had no room for all that the sockets may have.
    fn pump_port(&mut self, node: NodeId, port: PortId) -> bool {
        let link = self.ports.link(node, port);
        loop {
            let Node::Host(host) = &self.nodes[node.index()] else { return true };
            if !host.has_ready(port) {
                return true;
            }
            let slot = &mut self.links[link.index()];
            if slot.link.waiting_packets(self.now) > 0 {
                // Woken when what waits starts; a link that is down says so when it is up again.
                if let Some(at) = slot.link.next_start() {
                    self.arm_transmitter(link, at);
                }
                return false;
            }
            match self.with_host(node, |host, cx| host.pull(port, cx)) {
                Pulled::Packet(packet, socket) => {
                    self.count.sent += 1;
                    self.observe(PacketEvent::Sent(node), &packet);
                    self.send(node, link, packet);
                    self.sync_socket(node, socket);
                }
                Pulled::Idle(socket) => self.sync_socket(node, socket),
                Pulled::Nothing => return true,
            }
        }
    }

    /// Arm the deadline of a socket, lazily: a later one costs nothing; note its end.
    #[inline]
    fn sync_socket(&mut self, node: NodeId, socket: SocketId) {
        let Node::Host(host) = &self.nodes[node.index()] else { return };
        let socket = &host.sockets()[socket.index()];
        let Some(connection) = socket.connection() else { return };
        let server = socket.role() == forebay_transport::Role::Server;
        let index = 2 * socket.flow().index() + server as usize;
        let end = &mut self.ends[index];
        if let Some(at) = connection.next_timeout() {
            let at = at.max(self.now);
            if at < end.armed {
                end.armed = at;
                self.agenda.push(at, Role::Socket.entity(index as u32));
            }
        }
        if !end.ended && connection.is_ended() {
            end.ended = true;
            self.open_ends -= 1;
        }
    }

    // Links.

    /// Put a packet of `node` on one of its links. What the queue does not take ends here, unless forwarding wants it.
    fn send(&mut self, node: NodeId, link: LinkId, packet: Packet) {
        let mtu = self.links[link.index()].mtu_bytes;
        if packet.wire_len() > mtu {
            return self.send_too_big(node, link, packet, mtu);
        }
        if let Err(Overflow(packet)) = self.offer(link, packet) {
            self.on_overflow(node, link, packet);
        }
    }

    #[cold]
    fn send_too_big(&mut self, node: NodeId, link: LinkId, packet: Packet, mtu: u16) {
        match split_ipv4(packet, mtu, &mut self.arena) {
            Ok((first, rest)) => {
                self.count.split += 1;
                self.send(node, link, first);
                self.send(node, link, rest);
            }
            Err(packet) => self.end(node, packet, DropReason::TooBig),
        }
    }

    #[inline]
    fn offer(&mut self, link: LinkId, packet: Packet) -> Result<(), Overflow> {
        self.observe(PacketEvent::Offered(link), &packet);
        let slot = &mut self.links[link.index()];
        let result = slot.link.offer(packet, &mut port_context!(self));
        self.sync_link(link);
        result
    }

    #[inline]
    fn sync_link(&mut self, link: LinkId) {
        let slot = &mut self.links[link.index()];
        if let Some(at) = slot.link.next_arrival().filter(|&at| at < slot.armed_arrival) {
            slot.armed_arrival = at;
            self.agenda.push(at, Role::Arrival.entity(link.0));
        }
        if let Some(at) = slot.link.next_transmitter() {
            self.arm_transmitter(link, at);
        }
    }

    fn arm_transmitter(&mut self, link: LinkId, at: Time) {
        let slot = &mut self.links[link.index()];
        if at < slot.armed_transmitter {
            slot.armed_transmitter = at;
            self.agenda.push(at, Role::Transmitter.entity(link.0));
        }
    }

    /// A transmission ended, or the interface of a host has room again.
    pub(crate) fn on_transmitter(&mut self, link: LinkId) {
        let slot = &mut self.links[link.index()];
        slot.link.on_transmitter(&mut port_context!(self));
        self.sync_link(link);
        self.after_room(link);
    }

    /// `link` may have room: whoever feeds it may have something.
    fn after_room(&mut self, link: LinkId) {
        let node = self.links[link.index()].from;
        match &self.nodes[node.index()] {
            Node::Host(_) => {
                self.pump_port(node, self.ports.port(link));
            }
            Node::Router(AnyForwarding::PlainIp(_)) => {}
            Node::Router(AnyForwarding::Custom(_)) => {
                self.pull(node, self.ports.port(link));
                self.check_idle_ports(node);
            }
        }
    }

    fn end(&mut self, node: NodeId, packet: Packet, reason: DropReason) {
        self.observe(PacketEvent::Dropped(node, reason), &packet);
        self.drops.record(packet, reason, &mut self.arena);
    }

    // Routers.

    #[inline]
    fn with_forwarding<R>(
        &mut self,
        node: NodeId,
        call: impl FnOnce(&mut AnyForwarding, &mut NodeContext<'_>) -> R,
    ) -> R {
        let Node::Router(forwarding) = &mut self.nodes[node.index()] else {
            unreachable!("only routers forward")
        };
        let ports =
            PortView { links: &self.links, ports: self.ports.links_of(node), now: self.now };
        let mut cx = NodeContext {
            now: self.now,
            node,
            arena: &mut self.arena,
            drops: &mut self.drops,
            routes: &self.routes,
            ports: &ports,
            work: &mut self.work,
        };
        call(forwarding, &mut cx)
    }

    #[inline]
    fn router_packet(&mut self, node: NodeId, in_port: PortId, packet: Packet) {
        let verdict = self.with_forwarding(node, |f, cx| f.on_packet(in_port, packet, cx));
        self.obey(node, verdict);
        self.serve(node);
    }

    #[inline]
    fn obey(&mut self, node: NodeId, verdict: Verdict) {
        match verdict {
            Verdict::Forward(port, packet) => {
                let link = self.ports.link(node, port);
                self.send(node, link, packet);
            }
            Verdict::Held => {}
            Verdict::Drop(packet, reason) => self.end(node, packet, reason),
        }
    }

    #[cold]
    fn on_overflow(&mut self, node: NodeId, link: LinkId, packet: Packet) {
        if let Node::Host(_) = &self.nodes[node.index()] {
            return self.end(node, packet, DropReason::Full);
        }
        let port = self.ports.port(link);
        match self.with_forwarding(node, |f, cx| f.on_overflow(port, packet, cx)) {
            // Once more, but only once: a second queue that is full ends it.
            Verdict::Forward(port, packet) => {
                let link = self.ports.link(node, port);
                if let Err(Overflow(packet)) = self.offer(link, packet) {
                    self.end(node, packet, DropReason::Full);
                }
            }
            Verdict::Held => {}
            Verdict::Drop(packet, reason) => self.end(node, packet, reason),
        }
    }

    /// Do what forwarding asked for: send its own packets, serve the ports that may have work; then arm its deadline.
    fn serve(&mut self, node: NodeId) {
        // Pulling and sending may ask for more work; each round takes what is there.
        while !self.work.ready.is_empty() || !self.work.send.is_empty() {
            let Work { ready, send } = std::mem::take(&mut self.work);
            for (port, packet) in send {
                self.count.sent += 1;
                self.obey(node, Verdict::Forward(port, packet));
            }
            ready.into_iter().for_each(|port| self.pull(node, port));
        }
        self.sync_router(node);
        self.check_idle_ports(node);
    }

    /// While `port` is idle, send what forwarding holds for it.
    fn pull(&mut self, node: NodeId, port: PortId) {
        let link = self.ports.link(node, port);
        while self.links[link.index()].link.is_idle(self.now) {
            let Some(packet) = self.with_forwarding(node, |f, cx| f.pull(port, cx)) else { break };
            self.send(node, link, packet);
        }
        self.sync_router(node);
    }

    fn check_idle_ports(&self, node: NodeId) {
        if cfg!(debug_assertions) {
            let Node::Router(forwarding) = &self.nodes[node.index()] else { return };
            for (i, link) in self.ports.links_of(node).iter().enumerate() {
                let idle = self.links[link.index()].link.is_idle(self.now);
                let eligible = forwarding.has_eligible(PortId(i as u16), self.now);
                assert!(!(idle && eligible), "port {i} of {node:?} is idle and has work");
            }
        }
    }

    pub(crate) fn on_router(&mut self, node: NodeId) {
        self.with_forwarding(node, |f, cx| f.on_timeout(cx));
        self.serve(node);
    }

    pub(crate) fn sync_router(&mut self, node: NodeId) {
        let Node::Router(forwarding) = &self.nodes[node.index()] else { return };
        if let Some(at) = forwarding.next_timeout() {
            let (at, armed) = (at.max(self.now), &mut self.router_armed[node.index()]);
            if at < *armed {
                *armed = at;
                self.agenda.push(at, Role::Router.entity(node.0));
            }
        }
    }

    // Events of the scenario.

    /// Everything of the event list and of the injections that is due.
    pub(crate) fn on_control(&mut self) {
        while let Some(event) = self.events.get(self.next_event).filter(|e| e.at <= self.now) {
            let event = event.event.clone();
            self.next_event += 1;
            self.on_net_event(event);
        }
        while self.injections.front().is_some_and(|i| i.at <= self.now) {
            let injection = self.injections.pop_front().expect("just seen");
            self.count.sent += 1;
            match forebay_wire::parse(&injection.bytes, &self.plan, &mut self.arena) {
                Ok(packet) => self.deliver(injection.node, injection.port, packet),
                Err(_) => self.drops.count_only(DropReason::Malformed, 1),
            }
        }
        self.arm_control();
    }

    fn on_net_event(&mut self, event: NetEvent) {
        match event {
            NetEvent::Rate(link, rate) => self.queued(link).set_rate(rate),
            NetEvent::Delay(link, delay) => self.queued(link).set_delay(delay),
            NetEvent::Loss(link, loss) => self.queued(link).set_loss(loss),
            NetEvent::Down(link) => {
                let queued = self.links[link.index()].link.as_queued();
                queued.expect(CAN_CHANGE).fail(&mut port_context!(self));
            }
            NetEvent::Up(link) => {
                let queued = self.links[link.index()].link.as_queued();
                queued.expect(CAN_CHANGE).heal(&mut port_context!(self));
                self.sync_link(link);
                self.after_room(link);
            }
            NetEvent::Restart(node) => self.restart(node),
            NetEvent::Route { node, dst, via } => {
                for i in 0..self.addresses[dst.index()].len() {
                    self.routes.redirect(node, self.addresses[dst.index()][i], via);
                }
            }
        }
    }

    fn queued(&mut self, link: LinkId) -> &mut forebay_net::QueuedLink {
        self.links[link.index()].link.as_queued().expect(CAN_CHANGE)
    }

    fn restart(&mut self, node: NodeId) {
        for i in 0..self.ports.links_of(node).len() {
            let link = self.ports.links_of(node)[i];
            let queued = self.links[link.index()].link.as_queued().expect(CAN_CHANGE);
            queued.clear_queue(DropReason::NodeRestart, &mut port_context!(self));
        }
        if let Node::Router(_) = &self.nodes[node.index()] {
            self.with_forwarding(node, |f, cx| f.restart(cx));
            self.serve(node);
        }
    }
}

const CAN_CHANGE: &str = "links named in the event list are built to change";

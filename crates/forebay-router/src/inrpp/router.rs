//! The router: what comes in is read, kept or passed on; what a port has room for is taken from
//! caches.

mod kept;
mod notices;
mod pulled;

use super::cache::Cached;
use super::credits::Arrived;
use super::detour::{self, Detours, Message};
use super::earliest;
use super::express::{Express, Waits};
use super::guard::Guard;
use super::interface::{Interface, Kept};
use super::key::{Class, FlowKey};
use super::log::{InterfaceView, Log};
use super::settings::{
    AQM_LEAST_BYTES, AQM_ROOM, LEAST_PUSH_BYTES, PLAIN_ROOM, SHORT_ROUND, Settings,
};
use super::signals::{Signals, has_room_for_tag, note_foreign, set_tag};
use super::state::State;
use crate::forwarding::{Forwarding, NodeContext, Ports, Sends, Verdict};
use alloc::vec::Vec;
use forebay_base::{
    Arena, DropReason, Kind, Packet, PacketRing, PortId, Rate, Rng, Span, TcpFlags, Time,
};
use forebay_signal::inrpp::{BackPressure, DetourTag, Echo, Nonce, Notice, PathDigest, RouterId};
use notices::notice_of;

/// What a port leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// Rate of the link at the start.
    pub rate: Rate,
    /// Longest IP packet that the link takes, in bytes.
    pub mtu_bytes: u16,
    /// Room of its queue in bytes.
    pub queue_bytes: u64,
    /// See [`RouterPort::drop_tail`](crate::RouterPort::drop_tail).
    pub drop_tail: bool,
    /// The INRPP router at its other end, if there is one.
    pub neighbour: Option<RouterId>,
    /// True if there is a router that does not speak INRPP.
    pub foreign: bool,
}

/// The ports of a big map do not fit into the caches of the processor: what every packet touches
/// lies in two of their lines.
#[repr(C, align(64))]
struct Port {
    plain_limit_bytes: u64,
    neighbour: Option<RouterId>,
    log: Log,
    mtu_bytes: u16,
    /// The longest packet that its link takes with a tag; 0 before the first look at the link.
    detour_bytes: u16,
    /// See [`PortInfo::foreign`].
    foreign: bool,
    /// What the queue of the link may hold in state P.
    push_room_bytes: u64,
    /// ACKs and messages that the queue of the link had no room for, or whose turn it was not.
    express: Express,
    interface: Interface<Packet>,
}

impl Port {
    /// True if an ACK must wait: others do, it is the turn of data, or those in the queue of the
    /// link take it long.
    #[inline]
    fn has_acks_wait(&self, now: Time, rate: Rate) -> bool {
        let Port { express, interface, .. } = self;
        !express.is_empty()
            || express.is_long(now, rate)
            || (express.yields() && interface.has_eligible())
    }
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(core::mem::offset_of!(Port, log.offered_bytes) == 2 * 64);

/// The forwarding of an INRPP router. See the module.
#[repr(C, align(64))] // what every packet touches comes first
pub struct Inrpp {
    ports: Vec<Port>,
    guard: Guard,
    /// No interface has a deadline before this.
    wake: Option<Time>,
    id: RouterId,
    /// No neighbour is a router of another kind: what it says of room holds up to the next one.
    vouches: bool,
    /// A packet with a notice has come: those that leave are looked at for one.
    noticed: bool,
    settings: Settings,
    detours: Detours,
    /// The ports that lead to routers, in order: few of many.
    routers: Vec<(RouterId, PortId)>,
    rng: Rng,
    /// Messages to send, kept for their memory.
    outbox: detour::Outbox,
}

/// View of the interfaces for the detour machine.
struct View<'a> {
    ports: &'a [Port],
    links: &'a dyn Ports,
}

impl detour::Interfaces for View<'_> {
    /// What waits for credits alone leaves its link to others.
    fn is_push(&self, port: PortId) -> bool {
        let interface = &self.ports[port.index()].interface;
        interface.state() == State::Push || !interface.has_eligible()
    }
    fn rate(&self, port: PortId) -> Rate {
        self.links.rate(port)
    }
    fn delay(&self, port: PortId) -> Span {
        self.links.delay(port)
    }
    /// What waits for its turn in the cache is as good as in the queue.
    fn queue_bytes(&self, port: PortId) -> u64 {
        let interface = &self.ports[port.index()].interface;
        let cached_bytes = interface.plain_bytes() + interface.cache_bytes();
        let in_turn = if interface.has_eligible() { cached_bytes } else { 0 };
        self.links.backlog_bytes(port) + in_turn
    }
    fn is_up(&self, port: PortId) -> bool {
        self.links.is_up(port)
    }
}

impl Inrpp {
    /// A router with these ports; its own stream of random numbers gives the nonces.
    pub fn new(id: RouterId, ports: &[PortInfo], settings: &Settings, rng: Rng) -> Inrpp {
        let port = |(id, info): (u16, &PortInfo)| {
            let limits = settings.limits(PortId(id), info.rate, info.queue_bytes);
            let push_room_bytes = settings.push_room_bytes();
            // Where the queue of the link may be full in state P, no packet waits here before.
            let (push_bytes, patience) = match push_room_bytes {
                u64::MAX => (0, Span::MAX),
                _ => {
                    let probed_bytes = info.rate.bytes_in(settings.probe_interval);
                    (probed_bytes.max(LEAST_PUSH_BYTES), settings.probe_interval)
                }
            };
            let room_bytes = info.rate.bytes_in(PLAIN_ROOM);
            let (queue_bytes, least_bytes) = if info.drop_tail {
                (info.queue_bytes, 0)
            } else {
                (info.rate.bytes_in(AQM_ROOM), AQM_LEAST_BYTES.min(info.queue_bytes))
            };
            let interface = Interface::new(limits, info.mtu_bytes, settings)
                .with_crowd(settings.cache.crowd_at(PortId(id)))
                .with_push_bytes(push_bytes)
                .with_short_round(SHORT_ROUND * room_bytes)
                .with_plain_least(least_bytes);
            Port {
                interface,
                express: Express::new(info.rate, patience),
                log: Log::default(),
                plain_limit_bytes: room_bytes.max(queue_bytes),
                push_room_bytes,
                neighbour: info.neighbour,
                foreign: info.foreign,
                mtu_bytes: info.mtu_bytes,
                detour_bytes: 0,
            }
        };
        let links: Vec<_> = ports.iter().map(|info| (info.neighbour, info.rate)).collect();
        let numbered = (0..).map(PortId).zip(ports);
        let routers = numbered.filter_map(|(port, info)| Some((info.neighbour?, port)));
        Inrpp {
            id,
            settings: settings.clone(),
            ports: (0..).zip(ports).map(port).collect(),
            routers: routers.collect(),
            detours: Detours::new(id, &links, settings),
            guard: Guard::default(),
            vouches: ports.iter().all(|info| !info.foreign),
            noticed: false,
            rng,
            wake: None,
            outbox: Vec::new(),
        }
    }
    /// The same, and it believes what `guard` says.
    pub(super) fn guarded_by(self, guard: Guard) -> Inrpp {
        Inrpp { guard, ..self }
    }
    /// One interface.
    pub fn view(&self, port: PortId) -> InterfaceView<'_> {
        let port = &self.ports[port.index()];
        InterfaceView { interface: &port.interface, log: &port.log }
    }
    /// The detours.
    pub fn detours(&self) -> &Detours {
        &self.detours
    }

    /// The way of a packet: where its tag says, else where the routes say. The tag is taken off
    /// where the detour ends, or cannot go on.
    fn way(
        &self,
        packet: &mut Packet,
        tag: Option<DetourTag>,
        cx: &mut NodeContext<'_>,
    ) -> Result<(PortId, bool), DropReason> {
        if let Some(tag) = tag {
            let named = self.routers.iter().filter(|(router, _)| *router == tag.next_hop);
            let open = named.map(|&(_, port)| port).find(|&port| cx.ports.is_up(port));
            if let Some(port) = open.filter(|_| tag.budget > 0 && tag.next_hop != self.id) {
                let spent = DetourTag { budget: tag.budget - 1, ..tag };
                set_tag(packet, Some(spent), cx.arena);
                return Ok((port, true));
            }
            set_tag(packet, None, cx.arena);
        }
        let port = cx.routes.port(cx.node, &*packet).ok_or(DropReason::NoRoute)?;
        Ok((port, false))
    }

    /// Something happened to the interface of `port`: note its state and deadline, and ask for what
    /// may leave.
    fn after(&mut self, port: PortId, cx: &mut NodeContext<'_>) {
        let Port { interface, log, .. } = &mut self.ports[port.index()];
        let before = log.state();
        log.look(cx.now, interface);
        let after = interface.state();
        self.wake = earliest(self.wake, interface.next_timeout());
        if (before == State::Push) != (after == State::Push) {
            self.detours.demand(cx.now, port, after != State::Push, &mut self.outbox);
            self.send_messages(cx);
        }
    }
    /// `port` may have something to send. If something that may leave has `waited` there before,
    /// the driver asks for it when the link is free.
    #[inline]
    fn wake_ports(&self, port: PortId, waited: bool, cx: &mut NodeContext<'_>) {
        if !self.ports[port.index()].interface.has_eligible() {
            return;
        }
        if !waited {
            cx.work.ready.push(port);
        }
        self.wake_detours(port, cx);
    }
    /// The packets that wait at `port` have changed, and one of its detours may take them now.
    /// Those that are paced wake by time.
    #[inline]
    fn wake_detours(&self, port: PortId, cx: &mut NodeContext<'_>) {
        let due = |via: &PortId| self.detours.due_for(cx.now, *via).any(|p| p == port);
        cx.work.ready.extend(self.detours.open_through(port).filter(due));
    }
    fn send_messages(&mut self, cx: &mut NodeContext<'_>) {
        for (port, message) in self.outbox.drain(..) {
            cx.work.send.push((port, message.to_packet(cx.arena)));
        }
    }

    /// A message of a neighbour.
    fn on_message(&mut self, in_port: PortId, packet: &Packet, cx: &mut NodeContext<'_>) {
        // A packet that does not parse is not our message: it ends here all the same, for it was
        // addressed to this router alone.
        if let Some(Ok(message)) = Message::of_packet(packet, cx.arena) {
            let view = View { ports: &self.ports, links: cx.ports };
            self.detours.on_message(cx.now, in_port, message, &view, &mut self.outbox);
            self.send_messages(cx);
            cx.work.ready.push(in_port);
        }
    }

    /// What counts of the signals of a packet that has come in over `port`, and is not believed.
    #[cold]
    fn correct(&mut self, port: PortId, packet: &Packet, cx: &mut NodeContext<'_>) -> Signals {
        self.ports[port.index()].log.ignored_notices += 1;
        self.guard.correct(port, packet, cx)
    }
    /// An ACK has come in over `port`: the data that it acknowledges leaves there.
    fn on_ack(
        &mut self,
        port: PortId,
        mut option: BackPressure,
        packet: &Packet,
        cx: &mut NodeContext<'_>,
    ) {
        option.detours |= self.detours.lead_round(cx.now, port);
        let Port { interface, foreign, .. } = &mut self.ports[port.index()];
        option.foreign |= *foreign;
        let opens = (self.vouches && is_syn(packet)).then(|| cx.ports.rate(port));
        let (idle, mut lets_go, mut waited) = (interface.on_idle_ack(option), false, false);
        let written = idle.unwrap_or_else(|| {
            let flow = FlowKey::acknowledged_by(packet);
            (lets_go, waited) = (interface.reads_arrived(&option), interface.has_eligible());
            let arrived = if lets_go { arrived(packet, cx.arena) } else { Arrived::default() };
            interface.on_ack(cx.now, flow, arrived, option)
        });
        let written = opens.map_or(written, |rate| interface.offer(cx.now, rate, option, written));
        let there = written.overwrite(&mut cx.arena.cold_mut(packet.cold()).tcp_options);
        debug_assert!(there, "it was read from there");
        if lets_go {
            self.after(port, cx);
            self.wake_ports(port, waited, cx);
        }
    }

    /// A packet without payload passes from one port to another: the path of a SYN is noted on it.
    #[inline]
    fn fold_path(&self, ports: [PortId; 2], packet: &Packet, arena: &mut Arena) {
        if is_syn(packet) {
            self.fold_syn(ports, packet, arena);
        }
    }
    #[inline(never)]
    fn fold_syn(&self, ports: [PortId; 2], packet: &Packet, arena: &mut Arena) {
        if packet.cold_part(arena).is_none() {
            return;
        }
        let options = &mut arena.cold_mut(packet.cold()).tcp_options;
        if let Some(digest) = PathDigest::find(options) {
            digest.passing(self.id, ports).overwrite(options);
        }
    }

    /// A packet that leaves through `port`, if it need not wait.
    fn pass(
        &mut self,
        port: PortId,
        flow: FlowKey,
        echo: Option<Nonce>,
        mut packet: Packet,
        cx: &mut NodeContext<'_>,
    ) -> Verdict {
        let out = &mut self.ports[port.index()];
        out.log.offered_bytes += packet.wire_len() as u64;
        // What the link takes in fragments alone is cut when it leaves: fragments of a segment are
        // no INRPP data, and one that a queue has no room for costs all of it.
        let leaves_whole = packet.wire_len() <= out.mtu_bytes || cx.ports.is_idle(port);
        let backlog = || cx.ports.backlog_bytes(port);
        if !leaves_whole
            || !out.express.is_empty()
            || !out.interface.passes(flow, echo)
            || is_pushed_enough(out, flow, packet.wire_len(), backlog)
        {
            return self.keep(port, flow, echo, packet, cx);
        }
        self.notify(port, flow, &mut packet, cx);
        self.guard.sign(cx.now, port, &packet, cx.arena);
        self.count_sent(port, flow, packet.wire_len(), packet.payload_len(), cx.now);
        Verdict::Forward(port, packet)
    }
    fn count_sent(&mut self, port: PortId, flow: FlowKey, wire: u16, payload: u16, now: Time) {
        self.detours.sent(now, port, wire);
        let out = &mut self.ports[port.index()];
        out.interface.note_sent(now, flow, wire);
        out.log.left(flow, wire, payload, self.settings.flow_totals);
    }
    fn keep(
        &mut self,
        port: PortId,
        flow: FlowKey,
        echo: Option<Nonce>,
        packet: Packet,
        cx: &mut NodeContext<'_>,
    ) -> Verdict {
        let out = &mut self.ports[port.index()];
        let (limit, wire_len) = (out.plain_limit_bytes, packet.wire_len());
        let taggable = has_room_for_tag(&packet, cx.arena);
        let payload_len = packet.payload_len();
        let seq = packet.tcp_fields().map_or(0, |tcp| tcp.seq);
        let notice = if self.noticed { notice_of(&packet, cx.arena) } else { None };
        let cached = Cached { echo, wire_len, payload_len, seq, taggable, what: packet };
        let waited = out.interface.has_eligible();
        if out.interface.has_copy(flow, &cached) {
            return Verdict::Drop(cached.what, DropReason::CacheDuplicate);
        }
        let Kept { pushed_out, refused } =
            out.interface.keep(cx.now, flow, cached, limit, &mut self.rng);
        if let Some(Notice(notice)) = notice {
            out.interface.note(flow, notice);
        }
        let reason = match flow.class() {
            Class::Plain => DropReason::Full,
            Class::Pooled | Class::Tagged => DropReason::CacheFull,
        };
        if reason == DropReason::CacheFull {
            out.log.dropped_packets += pushed_out.len() as u64 + u64::from(refused.is_some());
        }
        for packet in pushed_out {
            cx.drops.record(packet, reason, cx.arena);
        }
        self.after(port, cx);
        self.wake_ports(port, waited, cx);
        refused.map_or(Verdict::Held, |packet| Verdict::Drop(packet, reason))
    }

    /// An ACK leaves through `port` without a wait.
    #[inline]
    fn pass_ack(&mut self, now: Time, port: PortId, rate: Rate, wire_len: u16) {
        let Port { express, interface, .. } = &mut self.ports[port.index()];
        if interface.has_eligible() {
            express.sent(wire_len);
        }
        express.passed_at_once(now, rate, wire_len);
    }
    fn wait(&mut self, port: PortId, packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        if !self.has_eligible(port, cx.now) {
            cx.work.ready.push(port);
        }
        match self.ports[port.index()].express.wait(packet, cx.arena) {
            Waits::Last => {}
            Waits::InsteadOf(old) => cx.drops.record(old, DropReason::AckReplaced, cx.arena),
            Waits::Needless(packet) => return Verdict::Drop(packet, DropReason::AckReplaced),
            Waits::NoRoom(packet) => return Verdict::Drop(packet, DropReason::Full),
        }
        Verdict::Held
    }
    fn is_message(packet: &Packet) -> bool {
        packet.kind() == Kind::Opaque && packet.dst() == detour::ALL_ROUTERS
    }
}

/// What an ACK says has arrived.
fn arrived(packet: &Packet, arena: &Arena) -> Arrived {
    let Some(tcp) = packet.tcp_fields() else { return Arrived::default() };
    let later = |a: u32, b: u32| if b.wrapping_sub(a).cast_signed() > 0 { b } else { a };
    let blocks =
        packet.cold_part(arena).into_iter().flat_map(|cold| cold.tcp_options.sack_blocks());
    let highest = blocks.fold(tcp.ack, |highest, block| later(highest, block.end));
    Arrived { before: tcp.ack, highest }
}

/// Which flow a packet belongs to here, and what it echoes.
fn flow_of(packet: &Packet, signals: &Signals, tagged: bool) -> (FlowKey, Option<Nonce>) {
    let Some(Echo(echo)) = signals.echo else { return (FlowKey::of(packet, Class::Plain), None) };
    let class = if tagged { Class::Tagged } else { Class::Pooled };
    (FlowKey::of(packet, class), echo)
}

fn is_syn(packet: &Packet) -> bool {
    packet.tcp_fields().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN))
}

/// True if the queue of a port, with this backlog in bytes, should not hold another packet of
/// `flow`: it would wait without turns.
#[inline]
fn is_pushed_enough(out: &Port, flow: FlowKey, wire_len: u16, backlog: impl Fn() -> u64) -> bool {
    flow.class() != Class::Plain
        && out.push_room_bytes != u64::MAX
        && backlog() + u64::from(wire_len) > out.push_room_bytes
}

/// True if it must not wait for data: closed loops are driven by ACKs. SYNs as well, whose flows
/// have no turn yet.
fn is_express(packet: &Packet) -> bool {
    let tcp = packet.tcp_fields();
    tcp.is_some_and(|tcp| packet.payload_len() == 0 && !tcp.flags.has(TcpFlags::FIN))
}

impl Forwarding for Inrpp {
    /// Detours lead over neighbours only, and messages end there.
    fn sends(&self, port: PortId) -> Sends {
        match self.ports[port.index()].neighbour {
            Some(_) => Sends::Passing,
            None => Sends::Routed,
        }
    }
    fn on_packet(
        &mut self,
        in_port: PortId,
        mut packet: Packet,
        cx: &mut NodeContext<'_>,
    ) -> Verdict {
        if Inrpp::is_message(&packet) {
            self.on_message(in_port, &packet, cx);
            return Verdict::Consumed(packet);
        }
        if !packet.decrement_ttl() {
            return Verdict::Drop(packet, DropReason::Ttl);
        }
        let mut signals = Signals::of(&packet, cx.arena);
        if self.guard.is_on()
            && let Some(said) = signals.notice.map(|Notice(said)| said).or(signals.back_pressure)
            && !self.guard.believes(in_port, &packet, said, cx)
        {
            signals = self.correct(in_port, &packet, cx);
        }
        if let Some(option) = signals.back_pressure {
            self.on_ack(in_port, option, &packet, cx);
        }
        if let Some(notice) = signals.notice {
            self.count_in(in_port, notice, &mut packet, cx.arena);
        }
        let (port, tagged) = match self.way(&mut packet, signals.tag, cx) {
            Ok(way) => way,
            Err(reason) => return Verdict::Drop(packet, reason),
        };
        if self.ports[port.index()].foreign && signals.back_pressure.is_some() {
            note_foreign(&mut packet, cx.arena);
        }
        if is_express(&packet) {
            if signals.notice.is_some() {
                let flow = FlowKey::of(&packet, Class::Pooled);
                self.notify(port, flow, &mut packet, cx);
            }
            self.fold_path([in_port, port], &packet, cx.arena);
            self.guard.sign(cx.now, port, &packet, cx.arena);
            self.detours.sent(cx.now, port, packet.wire_len());
            let rate = cx.ports.rate(port);
            if self.ports[port.index()].has_acks_wait(cx.now, rate) {
                return self.wait(port, packet, cx);
            }
            self.pass_ack(cx.now, port, rate, packet.wire_len());
            return Verdict::Forward(port, packet);
        }
        if tagged {
            self.detours.relayed(cx.now, in_port, port, packet.wire_len());
        }
        let (flow, echo) = flow_of(&packet, &signals, tagged);
        self.pass(port, flow, echo, packet, cx)
    }

    fn forward_in_place(
        &mut self,
        in_port: PortId,
        packet: &Packet,
        cx: &mut NodeContext<'_>,
    ) -> Option<PortId> {
        if packet.kind() != Kind::Tcp || packet.ttl() <= 1 {
            return None;
        }
        let port = cx.routes.port(cx.node, packet)?;
        let wire_len = packet.wire_len();
        let out = &self.ports[port.index()];
        let express = is_express(packet).then(|| cx.ports.rate(port));
        let waits = match express {
            Some(rate) => out.has_acks_wait(cx.now, rate),
            None => !out.interface.is_open() || wire_len > out.mtu_bytes || !out.express.is_empty(),
        };
        if waits || out.foreign {
            return None;
        }
        let signals = Signals::of(packet, cx.arena);
        if signals.tag.is_some() || signals.notice.is_some() {
            return None;
        }
        if let Some(rate) = express {
            let mut back_pressure = signals.back_pressure;
            if self.guard.is_on()
                && let Some(said) = back_pressure
                && !self.guard.believes(in_port, packet, said, cx)
            {
                back_pressure = self.correct(in_port, packet, cx).back_pressure;
            }
            if let Some(option) = back_pressure {
                self.on_ack(in_port, option, packet, cx);
            }
            self.fold_path([in_port, port], packet, cx.arena);
            if back_pressure.is_some() {
                self.guard.sign(cx.now, port, packet, cx.arena);
            }
            self.detours.sent(cx.now, port, wire_len);
            debug_assert!(
                !self.ports[port.index()].has_acks_wait(cx.now, rate),
                "it was looked at before"
            );
            self.pass_ack(cx.now, port, rate, wire_len);
            return Some(port);
        }
        if signals.back_pressure.is_some() {
            return None;
        }
        let (flow, _) = flow_of(packet, &signals, false);
        let backlog = || cx.ports.backlog_bytes(port);
        if is_pushed_enough(&self.ports[port.index()], flow, wire_len, backlog) {
            return None;
        }
        self.ports[port.index()].log.offered_bytes += wire_len as u64;
        self.count_sent(port, flow, wire_len, packet.payload_len(), cx.now);
        Some(port)
    }

    fn keep_first(&mut self, ring: &mut PacketRing, cx: &mut NodeContext<'_>) -> bool {
        self.keep_first_of(ring, cx)
    }

    fn on_overflow(&mut self, port: PortId, packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        if is_express(&packet) || Inrpp::is_message(&packet) {
            return self.wait(port, packet, cx);
        }
        let signals = Signals::of(&packet, cx.arena);
        let (flow, echo) = flow_of(&packet, &signals, signals.tag.is_some());
        // It was counted when it was forwarded. Fragments of one that was too big for the link have
        // more header than was counted.
        let log = &mut self.ports[port.index()].log;
        log.sent_bytes = log.sent_bytes.saturating_sub(packet.wire_len() as u64);
        if let Some(passed) = log.passed.get_mut(&flow) {
            *passed = passed.saturating_sub(packet.payload_len() as u64);
        }
        if signals.echo.is_none() {
            return Verdict::Drop(packet, DropReason::Full);
        }
        self.keep(port, flow, echo, packet, cx)
    }

    fn pull(&mut self, port: PortId, cx: &mut NodeContext<'_>) -> Option<Packet> {
        self.pull_own(port, cx).or_else(|| self.pull_detour(port, cx))
    }

    fn has_eligible(&self, port: PortId, now: Time) -> bool {
        let own = &self.ports[port.index()];
        !own.express.is_empty() || own.interface.has_eligible() || self.due(now, port).is_some()
    }
    fn held_packets(&self) -> u64 {
        let held =
            |port: &Port| port.interface.cache_packets() + port.express.iter().count() as u64;
        self.ports.iter().map(held).sum()
    }
    fn held_bytes(&self, port: PortId) -> u64 {
        let port = &self.ports[port.index()];
        let express: u64 = port.express.iter().map(|p| p.wire_len() as u64).sum();
        port.interface.cache_bytes() + port.interface.plain_bytes() + express
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        let next = self.wake.unwrap_or(Time::MAX).min(self.detours.wakes_at());
        (next < Time::MAX).then_some(next)
    }
    fn on_timeout(&mut self, cx: &mut NodeContext<'_>) {
        if self.wake.is_some_and(|wake| wake <= cx.now) {
            self.wake = None;
            for i in 0..self.ports.len() {
                let interface = &mut self.ports[i].interface;
                let Some(at) = interface.next_timeout() else { continue };
                if at <= cx.now {
                    let waited = interface.has_eligible();
                    interface.on_timeout(cx.now, &mut self.rng);
                    self.wake_ports(PortId(i as u16), waited, cx);
                }
                self.after(PortId(i as u16), cx);
            }
        }
        let view = View { ports: &self.ports, links: cx.ports };
        self.detours.on_timeout(cx.now, &view, &mut self.outbox);
        self.send_messages(cx);
        cx.work.ready.extend(self.detours.woken(cx.now));
    }
    fn on_link(&mut self, port: PortId, up: bool, cx: &mut NodeContext<'_>) {
        self.detours.on_link(cx.now, port, up, &mut self.outbox);
        self.send_messages(cx);
        cx.work.ready.push(port);
        cx.work.ready.extend(self.detours.open_through(port));
    }
    fn restart(&mut self, cx: &mut NodeContext<'_>) {
        for port in &mut self.ports {
            let lost = port.interface.restart().into_iter().chain(port.express.drain());
            lost.for_each(|p| cx.drops.record(p, DropReason::NodeRestart, cx.arena));
            port.log.look(cx.now, &port.interface);
        }
        self.wake = None;
        let numbered = (0..).map(PortId).zip(&self.ports);
        let links = numbered.map(|(id, port)| (port.neighbour, cx.ports.rate(id)));
        self.detours = Detours::new(self.id, &links.collect::<Vec<_>>(), &self.settings);
    }
}

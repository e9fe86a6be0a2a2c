//! Real bytes: a caller keeps them, a connection says which go where.

use crate::stage::{line, newreno};
use forebay_base::{
    Addr, Arena, DropLog, DropReason, FlowId, Histogram, IpVersion, PortId, Rate, Rng, SocketId,
    Span, Stream, TcpFields, Time,
};
use forebay_cc::AnyFeedback;
use forebay_net::{Host, HostBuilder, HostContext, ReassemblyLimits, TransportSpec, Workload};
use forebay_testkit::realtime::Realtime;
use forebay_testkit::world::{World, link};
use forebay_transport::{Connection, EndCause, PRESETS};
use forebay_wire::{AddressPlan, emit, emit_payload, parse};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const MEGABYTE: usize = 1_000_000;
const PORT: PortId = PortId(0);

fn random_bytes(len: usize) -> Vec<u8> {
    let mut rng = Rng::new(1, Stream::Test, 0);
    (0..len).map(|_| rng.next_u64() as u8).collect()
}

/// A host by itself, with one socket, and all that it works with.
struct Alone {
    host: Host,
    workload: Arc<Workload>,
    socket: SocketId,
    arena: Arena,
    drops: DropLog,
    plan: AddressPlan,
    delivered: u64,
    one_way: Vec<Histogram>,
    sends: Vec<u8>,
    received: Vec<u8>,
}

impl Alone {
    /// The host at `addr` with the socket that `add` adds.
    fn new(
        addr: u32,
        sends: Vec<u8>,
        add: impl FnOnce(&mut HostBuilder, u16) -> SocketId,
    ) -> Alone {
        let mut builder = HostBuilder::new(IpVersion::V4, 7, ReassemblyLimits::default());
        assert_eq!(builder.interface(Addr(addr)), PORT);
        let transport = builder.transport(TransportSpec {
            name: "newreno".into(),
            algorithm: "newreno".into(),
            class: "newreno".into(),
            config: Arc::new(PRESETS[0].config),
            controller: Arc::new(newreno),
            feedback: Arc::new(|| AnyFeedback::None),
        });
        let socket = add(&mut builder, transport);
        let (host, workload) = builder.build();
        Alone {
            host,
            workload,
            socket,
            arena: Arena::default(),
            drops: DropLog::default(),
            plan: AddressPlan::default(),
            delivered: 0,
            one_way: vec![Histogram::default()],
            sends,
            received: Vec::new(),
        }
    }
    fn connection(&self) -> Option<&Connection> {
        self.host.sockets()[self.socket.index()].connection()
    }
    fn ended(&self) -> Option<EndCause> {
        self.connection()?.progress().ended.map(|(cause, _)| cause)
    }
    fn next_timeout(&self) -> Time {
        self.host.sockets()[self.socket.index()].next_timeout().unwrap_or(Time::MAX)
    }
    fn call<R>(&mut self, now: Time, f: impl FnOnce(&mut Host, &mut HostContext<'_>) -> R) -> R {
        let mut cx = HostContext {
            now,
            arena: &mut self.arena,
            drops: &mut self.drops,
            workload: &self.workload,
            plan: &self.plan,
            delivered: &mut self.delivered,
            one_way: &mut self.one_way,
        };
        f(&mut self.host, &mut cx)
    }
    /// The packets that it sends now, as bytes.
    fn send(&mut self, now: Time) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while self.host.first_ready(PORT).is_some() {
            let Some(packet) = self.call(now, |host, cx| host.pull(PORT, cx)) else { continue };
            let connection = self.connection().expect("it made a packet");
            let bytes = connection.outgoing_bytes(0, &packet, &self.arena);
            let payload = &self.sends[bytes.start as usize..bytes.end as usize];
            let mut out = Vec::new();
            emit_payload(&packet, &self.arena, &self.plan, payload, &mut out).expect("in the plan");
            self.arena.free(packet);
            all.push(out);
        }
        all
    }
    /// A packet comes.
    fn receive(&mut self, now: Time, bytes: &[u8]) {
        let packet = parse(bytes, &self.plan, &mut self.arena).expect("the other end made it");
        let placed = self.connection().and_then(|c| c.incoming_bytes(0, &packet, &self.arena));
        if let Some((range, place)) = placed {
            let payload = &bytes[bytes.len() - usize::from(packet.payload_len())..];
            let end = range.end as usize;
            self.received.resize(self.received.len().max(end), 0);
            self.received[range.start as usize..end].copy_from_slice(&payload[place]);
        }
        match self.call(now, |host, cx| host.receive(&packet, cx)) {
            None => drop(self.call(now, |host, cx| host.receive_other(packet, cx))),
            Some(received) => match received.refused {
                None => self.arena.free(packet),
                Some(reason) => self.drops.record(packet, reason, &mut self.arena),
            },
        }
    }
}

/// An ACK that belongs to nothing.
fn stray_ack(to: forebay_base::Endpoint) -> Vec<u8> {
    let (mut arena, mut bytes) = (Arena::default(), Vec::new());
    let from = forebay_base::Endpoint { addr: Addr(9), port: 9 };
    let packet = forebay_base::Packet::tcp(IpVersion::V4, from, to, TcpFields::default(), 0);
    emit(&packet, &arena, &AddressPlan::default(), &mut bytes).expect("in the plan");
    arena.free(packet);
    bytes
}

/// A client and a server, each with the four verbs and nothing else, over a wire that loses 2 % of
/// the packets and takes 5 ms.
#[test]
fn two_hosts_by_hand_carry_a_megabyte_over_a_lossy_wire() {
    let (sent, mut local) = (random_bytes(MEGABYTE), None);
    let server = Alone::new(1, Vec::new(), |builder, transport| {
        let (socket, end) = builder.listen(PORT, transport);
        local = Some(end);
        socket
    });
    let peer = local.expect("it listens");
    let client = Alone::new(0, sent.clone(), |builder, transport| {
        builder.connect(PORT, peer, transport, Some(MEGABYTE as u64)).0
    });
    let mut ends = [client, server];
    ends[1].receive(Time::ZERO, &stray_ack(peer));
    assert!(ends[1].connection().is_none() && ends[1].drops.count(DropReason::NoSocket) == 1);

    let mut rng = Rng::new(2, Stream::Test, 0);
    let mut wire: BTreeMap<(Time, u64), (usize, Vec<u8>)> = BTreeMap::new();
    let (mut now, mut count, mut lost) = (Time::ZERO, 0, 0);
    let socket = ends[0].socket;
    ends[0].call(now, |host, cx| host.open(socket, cx));
    while ends.iter().any(|end| end.ended().is_none()) {
        for (from, end) in ends.iter_mut().enumerate() {
            for bytes in end.send(now) {
                count += 1;
                if rng.chance(0.02) {
                    lost += 1;
                    continue;
                }
                wire.insert((now + Span::from_millis(5), count), (1 - from, bytes));
            }
        }
        let arrival = wire.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
        now = ends.iter().map(Alone::next_timeout).min().expect("two").min(arrival);
        assert!(now < Time::from_secs(1000), "stalled");
        for end in &mut ends {
            if end.next_timeout() <= now {
                let socket = end.socket;
                end.call(now, |host, cx| host.on_timeout(socket, cx));
            }
        }
        if arrival <= now {
            let (_, (to, bytes)) = wire.pop_first().expect("just seen");
            ends[to].receive(now, &bytes);
        }
    }
    assert!(ends.iter().all(|end| end.ended() == Some(EndCause::Finished)));
    assert!(lost > 10, "{lost} of {count}");
    assert!(ends[1].received == sent, "other bytes came than were sent");
    let progress = ends[0].connection().expect("open").progress();
    assert_eq!(progress.acked_bytes, MEGABYTE as u64, "none is needed any more");
    assert!(ends.iter().all(|end| end.arena.live() == 0));
}

/// The same through two routers in real time, over UDP sockets, over one path and over two.
#[test]
fn a_megabyte_crosses_a_lossy_network_in_real_time() {
    let mut world = World::new();
    let access = link(Rate::mbps(100), Span::from_millis(1), u64::MAX);
    let mut middle = link(Rate::mbps(40), Span::from_millis(2), 200_000);
    middle.wire.loss = 0.01;
    let line = line(&mut world, &access, middle.clone(), middle.clone());
    world.join(line.a, line.near, access.clone());
    world.join(line.far, line.b, access);
    let transport = world.transport("newreno", PRESETS[0].config, newreno);
    world.flow((line.a, line.b), Time::ZERO, Some(MEGABYTE as u64), transport);
    let paths = [(0, 0), (1, 1)];
    world.multipath_flow((line.a, line.b), Some(MEGABYTE as u64), transport, &paths);
    // Where bytes belong is asked as they cross, so they have to cross into the host: keys that are
    // still on their way would say it.
    let sent = vec![random_bytes(MEGABYTE), random_bytes(2 * MEGABYTE).split_off(MEGABYTE)];
    let run = Realtime::new(&world.spec, 7, &[line.b], None, Some(sent.clone()));
    let mut run = run.expect("two sockets");
    assert!(run.run(Duration::from_secs(60)).expect("loopback works"), "{:?}", run.lateness());
    for (flow, sent) in (0..).map(FlowId).zip(&sent) {
        assert!(run.received(flow) == Some(sent), "other bytes came than {flow:?} sent");
    }
    assert!(run.conservation().holds(), "{:?}", run.conservation());
}

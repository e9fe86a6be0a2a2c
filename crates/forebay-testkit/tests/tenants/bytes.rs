//! Real bytes: a caller keeps them, a connection says which go where.

use crate::stage::{line, newreno};
use forebay_base::{
    Addr, Arena, DropLog, DropReason, Endpoint, FlowId, Histogram, IpVersion, PortId, Rate, Rng,
    SocketId, Span, Stream, TcpFields, TcpFlags, TcpOptions, Time, kind,
};
use forebay_cc::AnyFeedback;
use forebay_net::{Host, HostBuilder, HostContext, ReassemblyLimits, TransportSpec, Workload};
use forebay_testkit::realtime::Realtime;
use forebay_testkit::world::{World, link};
use forebay_transport::{ConnectionView, EndCause, PRESETS};
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
    local: Endpoint,
    arena: Arena,
    drops: DropLog,
    plan: AddressPlan,
    delivered: u64,
    one_way: Vec<Histogram>,
    round_trips: Vec<Histogram>,
    sends: Vec<u8>,
    received: Vec<u8>,
}

impl Alone {
    /// The host at `addr` with the socket that `add` adds.
    fn new(
        addr: u32,
        sends: Vec<u8>,
        add: impl FnOnce(&mut HostBuilder, u16) -> (SocketId, Endpoint),
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
        let (socket, local) = add(&mut builder, transport);
        let (host, workload) = builder.build();
        Alone {
            host,
            workload,
            socket,
            local,
            arena: Arena::default(),
            drops: DropLog::default(),
            plan: AddressPlan::default(),
            delivered: 0,
            one_way: vec![Histogram::default()],
            round_trips: vec![Histogram::default()],
            sends,
            received: Vec::new(),
        }
    }
    fn connection(&self) -> Option<ConnectionView<'_>> {
        self.host.sockets()[self.socket.index()].view()
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
            round_trips: &mut self.round_trips,
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
fn stray_ack(to: Endpoint) -> Vec<u8> {
    let (mut arena, mut bytes) = (Arena::default(), Vec::new());
    let from = Endpoint { addr: Addr(9), port: 9 };
    let packet = forebay_base::Packet::tcp(IpVersion::V4, from, to, TcpFields::default(), 0);
    emit(&packet, &arena, &AddressPlan::default(), &mut bytes).expect("in the plan");
    arena.free(packet);
    bytes
}

/// A client that sends `sent`, and a server.
fn client_and_server(sent: &[u8]) -> [Alone; 2] {
    let server = Alone::new(1, Vec::new(), |builder, transport| builder.listen(PORT, transport));
    let (peer, bytes) = (server.local, sent.len() as u64);
    let client = Alone::new(0, sent.to_vec(), |builder, transport| {
        builder.connect(PORT, peer, transport, Some(bytes))
    });
    [client, server]
}

/// Let both talk, with the four verbs and nothing else, over a wire that takes 5 ms. `wire` says
/// what of a packet arrives, given the number of the host it is for and that host. When the last
/// ended.
fn talk(
    ends: &mut [Alone; 2],
    mut wire: impl FnMut(usize, Vec<u8>, &mut Alone, Time) -> Option<Vec<u8>>,
) -> Time {
    let mut under_way: BTreeMap<(Time, u64), (usize, Vec<u8>)> = BTreeMap::new();
    let (mut now, mut count) = (Time::ZERO, 0);
    let socket = ends[0].socket;
    ends[0].call(now, |host, cx| host.open(socket, cx));
    while ends.iter().any(|end| end.ended().is_none()) {
        for (from, end) in ends.iter_mut().enumerate() {
            for bytes in end.send(now) {
                count += 1;
                under_way.insert((now + Span::from_millis(5), count), (1 - from, bytes));
            }
        }
        let arrival = under_way.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
        now = ends.iter().map(Alone::next_timeout).min().expect("two").min(arrival);
        assert!(now < Time::from_secs(1000), "stalled");
        for end in ends.iter_mut() {
            if end.next_timeout() <= now {
                let socket = end.socket;
                end.call(now, |host, cx| host.on_timeout(socket, cx));
            }
        }
        if arrival <= now {
            let (_, (to, bytes)) = under_way.pop_first().expect("just seen");
            if let Some(bytes) = wire(to, bytes, &mut ends[to], now) {
                ends[to].receive(now, &bytes);
            }
        }
    }
    now
}

/// All of `sent` has arrived, and nothing is left.
fn assert_carried(ends: &[Alone; 2], sent: &[u8]) {
    assert!(ends.iter().all(|end| end.ended() == Some(EndCause::Finished)));
    assert!(ends[1].received == sent, "other bytes came than were sent");
    let progress = ends[0].connection().expect("open").progress();
    assert_eq!(progress.acked_bytes, sent.len() as u64, "none is needed any more");
    assert!(ends.iter().all(|end| end.arena.live() == 0));
}

#[test]
fn two_hosts_by_hand_carry_a_megabyte_over_a_lossy_wire() {
    let sent = random_bytes(MEGABYTE);
    let mut ends = client_and_server(&sent);
    let (mut rng, mut count, mut lost) = (Rng::new(2, Stream::Test, 0), 0, 0);
    talk(&mut ends, |_, bytes, _, _| {
        count += 1;
        let is_lost = rng.chance(0.02);
        lost += usize::from(is_lost);
        (!is_lost).then_some(bytes)
    });
    assert!(lost > 10, "{lost} of {count}");
    assert_carried(&ends, &sent);
}

/// Where the header of TCP begins.
const TCP: usize = 20;

/// The segment with its options as Linux orders them: `MSS SACK TS NOP WS` on a SYN, `NOP NOP TS`
/// first on all others. They are as long as Forebay's.
fn as_linux_writes(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = TCP + usize::from(bytes[TCP + 12] >> 4) * 4;
    let list = bytes[TCP + 20..end].to_vec();
    let options: Vec<(u8, Vec<u8>)> =
        TcpOptions::new(&list).map(|option| (option.kind, option.data.to_vec())).collect();
    let find = |kind: u8| options.iter().find(|option| option.0 == kind);
    let (kinds, is_syn) = match find(kind::MSS) {
        Some(_) => (
            &[kind::MSS, kind::SACK_PERMITTED, kind::TIMESTAMPS, kind::NOP, kind::WINDOW_SCALE][..],
            true,
        ),
        None => (&[kind::NOP, kind::NOP, kind::TIMESTAMPS][..], false),
    };
    let mut written = Vec::new();
    for &kind in kinds {
        match find(kind) {
            Some((_, data)) => {
                written.extend([kind, data.len() as u8 + 2]);
                written.extend(data);
            }
            None => written.push(kind::NOP),
        }
    }
    assert_eq!(written.len(), list.len(), "SYN: {is_syn}, {options:?}");
    bytes[TCP + 20..end].copy_from_slice(&written);
    seal(&mut bytes);
    bytes
}

/// The complement of the sum of all words (RFC 1071), by hand.
fn checksum(bytes: &[u8], more: u32) -> [u8; 2] {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum = words.sum::<u32>() + more;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// Make both checksums right: that of the IPv4 header, and that over pseudo header and segment
/// (RFC 9293 section 3.1).
fn seal(bytes: &mut [u8]) {
    bytes[10..12].fill(0);
    let of_ip = checksum(&bytes[..TCP], 0);
    bytes[10..12].copy_from_slice(&of_ip);
    bytes[TCP + 16..TCP + 18].fill(0);
    let of_tcp = checksum(&bytes[12..], 6 + (bytes.len() - TCP) as u32);
    bytes[TCP + 16..TCP + 18].copy_from_slice(&of_tcp);
}

/// Linux does not write timestamps first. They are agreed on and used all the same: every packet
/// comes when it did, and each carries them.
#[test]
fn timestamps_are_read_where_linux_writes_them() {
    let sent = random_bytes(MEGABYTE);
    let mut ends = client_and_server(&sent);
    let plain = talk(&mut ends, |_, bytes, _, _| Some(bytes));
    let [samples, _] = ends.each_ref().map(|end| end.connection().expect("open").rtt_summary(0));
    let mut linux = client_and_server(&sent);
    let mut packets = 0;
    let took = talk(&mut linux, |_, bytes, _, _| {
        packets += 1;
        let options_bytes = usize::from(bytes[TCP + 12] >> 4) * 4 - 20;
        assert!(options_bytes >= 12, "packet {packets} has no timestamps");
        Some(as_linux_writes(bytes))
    });
    assert_carried(&linux, &sent);
    assert_eq!(took, plain);
    assert_eq!(linux[0].connection().expect("open").rtt_summary(0), samples);
}

/// Who knows the port and the sequence number of one end, and not both of the other, is not inside.
#[test]
fn a_reset_counts_only_from_the_peer() {
    for (wrong_port, wrong_addr) in [(true, false), (false, true), (false, false)] {
        let sent = random_bytes(100_000);
        let mut ends = client_and_server(&sent);
        let (mut packets, mut forged) = (0, false);
        talk(&mut ends, |to, bytes, host, now| {
            packets += u64::from(to == 1);
            if packets == 20 && !forged {
                forged = true;
                let mut reset = bytes[..40].to_vec();
                reset[2..4].copy_from_slice(&40u16.to_be_bytes());
                reset[TCP + 12..TCP + 14].copy_from_slice(&[5 << 4, TcpFlags::RST.0]);
                reset[15] ^= u8::from(wrong_addr) * 2;
                reset[TCP + 1] ^= u8::from(wrong_port);
                seal(&mut reset);
                host.receive(now, &reset);
                let refused = host.drops.count(DropReason::NoSocket) == 1;
                assert_eq!(refused, wrong_port || wrong_addr);
                let open = host.ended().is_none();
                assert_eq!(open, wrong_port || wrong_addr, "{:?}", host.ended());
            }
            Some(bytes)
        });
        assert!(forged);
        if wrong_port || wrong_addr {
            assert_carried(&ends, &sent);
        }
    }
}

#[test]
fn a_stray_ack_meets_no_socket() {
    let [_, mut server] = client_and_server(&[0; 10]);
    server.receive(Time::ZERO, &stray_ack(server.local));
    assert!(server.connection().is_none() && server.drops.count(DropReason::NoSocket) == 1);
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

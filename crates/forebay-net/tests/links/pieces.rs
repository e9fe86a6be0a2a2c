//! Connections whose packets are cut, cut again, lost, duplicated and reordered on the way.

use forebay_base::{
    Addr, Arena, Cold, DropLog, DropReason, Endpoint, FragmentRange, IpVersion, Kind, Packet,
    PortId, Rng, Span, Stream, Time, cut_ipv4,
};
use forebay_cc::{AnyFeedback, Init, Spec};
use forebay_net::{Reassembly, ReassemblyLimits};
use forebay_transport::{Connection, EndCause, PRESETS, PathSetup, Role, Setup, TcpConfig};
use forebay_wire::{AddressPlan, emit, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How bad the way is.
#[derive(Clone, Copy, Debug)]
struct Weather {
    /// Probabilities: that a router cuts a packet, and that a fragment is lost, comes twice, or
    /// comes up to 50 ms late.
    cut: f64,
    loss: f64,
    twice: f64,
    late: f64,
    /// Packets are made into bytes and parsed at the end of the way.
    bytes: bool,
    /// Identifications that are used in turn.
    ids: u32,
    /// Instead of what `cut` says, each packet is cut once, after this many bytes of payload.
    lead: Option<u16>,
}

/// A fragment that came: direction, identification, offset.
type Came = (usize, u16, u16);

struct Way {
    ends: [Connection; 2],
    buffers: [Reassembly; 2],
    arena: Arena,
    drops: DropLog,
    plan: AddressPlan,
    rng: Rng,
    weather: Weather,
    now: Time,
    wires: BTreeMap<(Time, u64), (usize, Packet)>,
    sent: u64,
    next_id: [u32; 2],
    /// Datagrams of which a fragment was lost.
    broken: BTreeSet<(usize, u16)>,
    came: Vec<Came>,
    /// Fragments in datagrams that were put together.
    joined: u64,
}

fn end(role: Role, bytes: u64, case: u64) -> Connection {
    let config = TcpConfig { dont_fragment: false, ..PRESETS[0].config };
    let endpoint = |addr: u32| Endpoint { addr: Addr(addr), port: 1000 };
    let (local, remote) = match role {
        Role::Client => (endpoint(1), endpoint(2)),
        Role::Server => (endpoint(2), endpoint(1)),
    };
    let mss = u64::from(config.mss_bytes);
    let init = Init {
        mss_bytes: u32::from(config.mss_bytes),
        initial_window_bytes: u64::from(config.initial_window_segments) * mss,
        initial_ssthresh_bytes: u64::MAX,
        paced: false,
        rng: Rng::new(case, Stream::Controller, 0),
    };
    let controller = Spec::by_name("newreno").expect("it is in the table").build(init);
    let (port, isn, feedback) = (PortId(0), u32::MAX - 5_000, AnyFeedback::None);
    Connection::new(Setup {
        config: Arc::new(config),
        role,
        version: IpVersion::V4,
        send_bytes: Some(if role == Role::Client { bytes } else { 0 }),
        key: 0,
        paths: vec![PathSetup { local, remote, port, isn, nonce: 0, controller, feedback }],
    })
}

impl Way {
    fn new(case: u64, bytes: u64, weather: Weather) -> Way {
        let limits = ReassemblyLimits { max_distance: 0, ..ReassemblyLimits::default() };
        let mut way = Way {
            ends: [end(Role::Client, bytes, case), end(Role::Server, bytes, case)],
            buffers: [Reassembly::new(limits), Reassembly::new(limits)],
            arena: Arena::default(),
            drops: DropLog::default(),
            plan: AddressPlan::default(),
            rng: Rng::new(case, Stream::Test, 1),
            weather,
            now: Time::ZERO,
            wires: BTreeMap::new(),
            sent: 0,
            next_id: [0; 2],
            broken: BTreeSet::new(),
            came: Vec::new(),
            joined: 0,
        };
        way.ends[0].open(Time::ZERO);
        way
    }

    /// Two routers, each of which may cut what comes, into fragments of any length.
    fn cut(&mut self, packet: Packet) -> Vec<Packet> {
        if let Some(payload) = self.weather.lead {
            return match cut_ipv4(packet, payload, &mut self.arena) {
                Ok((first, second)) => vec![first, second],
                Err(uncut) => vec![uncut.packet],
            };
        }
        let mut pieces = vec![packet];
        for _ in 0..2 {
            let mut out = Vec::new();
            for mut rest in pieces {
                while self.rng.chance(self.weather.cut) {
                    let most = u64::from(rest.wire_len() - rest.ip_header_len(&self.arena)) / 8;
                    let payload = 8 * (1 + self.rng.below(most.max(1))) as u16;
                    match cut_ipv4(rest, payload, &mut self.arena) {
                        Ok((first, second)) => {
                            out.push(first);
                            rest = second;
                        }
                        Err(uncut) => {
                            rest = uncut.packet;
                            break;
                        }
                    }
                }
                out.push(rest);
            }
            pieces = out;
        }
        pieces
    }

    fn send(&mut self, from: usize, mut packet: Packet) {
        assert!(!packet.dont_fragment());
        let id = (self.next_id[from] % self.weather.ids) as u16;
        self.next_id[from] += 1;
        packet.cold_mut(&mut self.arena).ip_id = id.into();
        if self.rng.chance(self.weather.twice) {
            // Cut in another way than the first.
            let again = self.arena.duplicate(&packet);
            self.pass(from, id, again);
        }
        self.pass(from, id, packet);
    }
    fn pass(&mut self, from: usize, id: u16, packet: Packet) {
        for piece in self.cut(packet) {
            if self.rng.chance(self.weather.loss) {
                self.broken.insert((from, id));
                self.arena.free(piece);
                continue;
            }
            if self.rng.chance(self.weather.twice) {
                let again = self.arena.duplicate(&piece);
                self.put(from, again);
            }
            self.put(from, piece);
        }
    }
    fn put(&mut self, from: usize, packet: Packet) {
        let late = if self.rng.chance(self.weather.late) { self.rng.below(50_000) } else { 0 };
        self.sent += 1;
        let at = self.now + Span::from_millis(10) + Span::from_micros(late);
        let packet = if self.weather.bytes {
            let mut bytes = Vec::new();
            emit(&packet, &self.arena, &self.plan, &mut bytes).expect("in the plan");
            self.arena.free(packet);
            parse(&bytes, &self.plan, &mut self.arena).expect("what was emitted")
        } else {
            packet
        };
        self.wires.insert((at, self.sent), (1 - from, packet));
    }

    fn take(&mut self, to: usize, packet: Packet) {
        let (whole, pieces) = if packet.kind() == Kind::Fragment {
            let cold = packet.cold_part(&self.arena).expect("a piece has one");
            let offset = cold.piece.expect("a piece says which").offset;
            self.came.push((1 - to, cold.ip_id as u16, offset));
            let Way { buffers, arena, drops, plan, now, .. } = self;
            let Some(whole) = buffers[to].on_piece(*now, packet, plan, arena, drops) else {
                return;
            };
            self.joined += whole.1;
            whole
        } else {
            (packet, 1)
        };
        if whole.kind() != Kind::Tcp {
            self.drops.record(whole, DropReason::Checksum, &mut self.arena);
            return;
        }
        // A payload that is not the bytes of the stream would be held as bytes.
        let cold = whole.cold_part(&self.arena);
        assert!(cold.is_none_or(|cold| cold.body.is_none()), "other bytes than were sent");
        let refused = match pieces {
            1 => self.ends[to].on_packet(self.now, 0, &whole, &self.arena),
            _ => self.ends[to].on_reassembled(self.now, 0, &whole, pieces as u16, &self.arena),
        };
        assert_eq!(refused, None);
        self.arena.free(whole);
    }

    fn run(&mut self) {
        for _ in 0..1_000_000 {
            for from in 0..2 {
                while let Some(packet) = self.ends[from].poll_transmit(self.now, 0, &mut self.arena)
                {
                    self.send(from, packet);
                }
            }
            let timers = self.ends.iter().filter_map(Connection::next_timeout);
            let wire = self.wires.first_key_value().map(|(key, _)| key.0);
            let Some(at) = timers.chain(wire).min() else { return };
            self.now = self.now.max(at);
            if wire == Some(at) {
                let (_, (to, packet)) = self.wires.pop_first().expect("it is there");
                self.take(to, packet);
            } else {
                self.ends.iter_mut().for_each(|end| _ = end.on_timeout(at));
            }
        }
        panic!("no end in sight at {}", self.now);
    }

    /// Later than any fragment may wait, a datagram comes in two fragments: all others end.
    fn flush(&mut self) {
        self.now += Span::from_secs(60);
        for to in 0..2 {
            for (first, more) in [(0, true), (8, false)] {
                let piece = Some(FragmentRange::from_outside(first, more, 17));
                let cold = Cold { piece, body: Some([0; 8].into()), ..Cold::default() };
                let ends = (Addr(8), Addr(9));
                let arena = &mut self.arena;
                let packet = Packet::piece(IpVersion::V4, ends, 28, None, cold, arena);
                let whole =
                    self.buffers[to].on_piece(self.now, packet, &self.plan, arena, &mut self.drops);
                whole.into_iter().for_each(|(whole, _)| arena.free(whole));
            }
        }
    }
}

const REASSEMBLY: [DropReason; 4] = [
    DropReason::FragmentMissing,
    DropReason::FirstFragmentMissing,
    DropReason::FragmentOverlap,
    DropReason::FragmentDuplicate,
];

/// Any weather, and how many bytes are sent in it.
fn any_weather(case: u64) -> (Weather, u64) {
    let mut rng = Rng::new(case, Stream::Test, 0);
    let weather = Weather {
        cut: 0.5 * rng.unit(),
        loss: if rng.chance(0.8) { 0.1 * rng.unit() } else { 0.0 },
        twice: if rng.chance(0.5) { 0.1 * rng.unit() } else { 0.0 },
        late: if rng.chance(0.8) { rng.unit() } else { 0.0 },
        bytes: rng.chance(0.3),
        ids: 1 << 16,
        lead: None,
    };
    (weather, rng.below(40_000))
}

/// Run a case; what was dropped at the ends, by name.
fn check(case: u64, (weather, bytes): (Weather, u64)) -> [u64; 5] {
    let mut way = Way::new(case, bytes, weather);
    way.run();
    let [client, server] = [0, 1].map(|i: usize| way.ends[i].progress());
    for progress in [&client, &server] {
        let finished = matches!(progress.ended, Some((EndCause::Finished, _)));
        assert!(finished, "case {case}: {progress:?}");
    }
    assert_eq!((server.received_bytes, server.stream_complete), (bytes, true), "case {case}");
    assert_eq!((client.sent_bytes, client.acked_bytes), (bytes, bytes), "case {case}");
    way.flush();
    let count = |reason| way.drops.count(reason);
    let named: u64 = REASSEMBLY.map(count).iter().sum();
    assert_eq!(way.came.len() as u64, way.joined + named, "case {case}: each piece once");
    assert_eq!(named + count(DropReason::Checksum), way.drops.total(), "case {case}");
    assert_eq!(way.arena.live(), 0, "case {case}");
    if weather.twice == 0.0 && weather.ids == 1 << 16 {
        // Then what came of a datagram of which a fragment was lost ends by the name of what
        // misses.
        let alone = way.came.iter().filter(|&&(from, id, _)| way.broken.contains(&(from, id)));
        let alone: Vec<&Came> = alone.collect();
        let led: BTreeSet<_> = alone.iter().filter(|c| c.2 == 0).map(|c| (c.0, c.1)).collect();
        let tails = alone.iter().filter(|c| led.contains(&(c.0, c.1))).count() as u64;
        let expected = [tails, alone.len() as u64 - tails, 0, 0];
        assert_eq!(REASSEMBLY.map(count), expected, "case {case}: {weather:?}");
    }
    let [a, b, c, d] = REASSEMBLY.map(count);
    [a, b, c, d, count(DropReason::Checksum)]
}

fn check_all(cases: std::ops::Range<u64>, weather: impl Fn(u64) -> (Weather, u64)) -> [u64; 5] {
    let mut sum = [0; 5];
    for case in cases {
        let counts = check(case, weather(case));
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    sum
}

#[test]
fn lost_duplicated_reordered_and_recut_pieces_leave_the_stream_intact() {
    let [tails, leads, overlaps, duplicates, checksums] = check_all(0..10_000, any_weather);
    let each = [tails, leads, overlaps, duplicates];
    assert!(each.iter().all(|&count| count > 3_000) && checksums == 0, "{each:?} {checksums}");
}

/// Eight identifications come round while fragments wait for others: fragments of two datagrams
/// become one, whose checksum is wrong (RFC 4963). 1 of 65 536 of those would pass; here none does.
#[test]
fn identifications_that_come_round_are_caught_by_the_checksum() {
    let weather = |case| {
        let (any, bytes) = any_weather(case);
        (Weather { loss: 0.05, twice: 0.0, ids: 8, lead: Some(600), ..any }, bytes)
    };
    let [.., checksums] = check_all(0..200, weather);
    assert!((100..20_000).contains(&checksums), "{checksums}");
}

/// A fragment of one of a few datagrams, of any length and place, with any options and flags.
fn noise(rng: &mut Rng) -> Vec<u8> {
    let options: Vec<u8> = (0..4 * rng.below(3)).map(|_| rng.next_u64() as u8).collect();
    let body: Vec<u8> = (0..rng.below(60)).map(|_| rng.next_u64() as u8).collect();
    let header_len = 20 + options.len();
    let mut bytes = vec![0x40 | (header_len / 4) as u8, rng.next_u64() as u8];
    bytes.extend(((header_len + body.len()) as u16).to_be_bytes());
    bytes.extend([0, rng.below(4) as u8]);
    let offset = if rng.chance(0.98) { rng.below(8) } else { rng.below(1 << 13) } as u16;
    let flags = if rng.chance(0.9) { rng.below(2) } else { rng.below(8) } as u16;
    bytes.extend((flags << 13 | offset).to_be_bytes());
    bytes.extend([rng.next_u64() as u8, if rng.chance(0.5) { 6 } else { 17 }, 0, 0]);
    bytes.extend([10, 0, 0, 1, 10, 0, 0, rng.below(2) as u8]);
    bytes.extend(options);
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// Whatever comes is parsed, cut, made into bytes and put together without a panic, and each
/// fragment ends once.
#[test]
fn noise_is_cut_and_put_together_without_a_panic() {
    let (mut rng, mut arena, plan) =
        (Rng::new(9, Stream::Test, 0), Arena::default(), AddressPlan::default());
    let (mut buffer, mut drops) = (Reassembly::default(), DropLog::default());
    let (mut came, mut joined, mut wholes, mut cuts) = (0, 0, 0, 0);
    for step in 0..200_000u64 {
        let Ok(packet) = parse(&noise(&mut rng), &plan, &mut arena) else { continue };
        let payload = rng.below(60) as u16;
        let packets = match cut_ipv4(packet, payload, &mut arena) {
            Ok((first, second)) => {
                cuts += 1;
                vec![first, second]
            }
            Err(uncut) => vec![uncut.packet],
        };
        for packet in packets {
            let mut bytes = Vec::new();
            emit(&packet, &arena, &plan, &mut bytes).expect("in the plan");
            arena.free(packet);
            let packet = parse(&bytes, &plan, &mut arena).expect("what was emitted");
            if packet.kind() != Kind::Fragment {
                arena.free(packet);
                continue;
            }
            came += 1;
            let now = Time::from_millis(step * 3);
            if let Some((whole, pieces)) =
                buffer.on_piece(now, packet, &plan, &mut arena, &mut drops)
            {
                joined += pieces;
                wholes += 1;
                arena.free(whole);
            }
        }
    }
    assert_eq!(came, joined + drops.total() + buffer.held_packets());
    assert_eq!(arena.live() as u64, buffer.held_packets());
    assert!(wholes > 300 && cuts > 1_000, "{wholes} {cuts}");
    for reason in
        [DropReason::FragmentOverlap, DropReason::FragmentDuplicate, DropReason::Malformed]
    {
        assert!(drops.count(reason) > 100, "{reason:?}: {}", drops.count(reason));
    }
}

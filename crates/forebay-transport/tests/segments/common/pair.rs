//! Two connections over a scripted wire. Properties of every TCP are checked on each packet
//! that is sent.

use super::{Seg, connection};
use forebay_base::{Arena, Ecn, OptionList, Packet, Rate, Serializer, Span, TcpFlags, Time};
use forebay_cc::{AnyController, AnyFeedback};
use forebay_transport::{Connection, EndCause, TcpConfig};
use std::collections::{BTreeMap, VecDeque};

/// What happens to a packet on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fate {
    /// It is lost.
    pub drop: bool,
    /// It comes this much later.
    pub late: Span,
    /// A second copy comes this much after the first.
    pub again: Option<Span>,
    /// It is marked, if it is ECN-capable.
    pub mark: bool,
    /// Its TCP options of this kind are taken away.
    pub strip: Option<u8>,
}

impl Fate {
    /// It arrives.
    pub const PASS: Fate =
        Fate { drop: false, late: Span::ZERO, again: None, mark: false, strip: None };
    /// It is lost.
    pub const DROP: Fate = Fate { drop: true, ..Fate::PASS };
    /// It is marked.
    pub const MARK: Fate = Fate { mark: true, ..Fate::PASS };
    /// Lost if `lost`.
    pub fn drop_if(lost: bool) -> Fate {
        if lost { Fate::DROP } else { Fate::PASS }
    }
}

/// A packet that was sent.
#[derive(Clone, Debug)]
pub struct Event {
    /// 0: by the client; 1: by the server.
    pub side: usize,
    /// Path.
    pub path: usize,
    /// Place among the packets of this side, from 1.
    pub index: u64,
    /// How often this side sent payload from this offset on this path, this time included; 0
    /// without payload.
    pub nth: u32,
    /// What it shows.
    pub seg: Seg,
    /// What became of it: false if it was lost.
    pub arrived: bool,
}

/// One direction of a path.
#[derive(Clone)]
pub struct Hop {
    delay: Span,
    tx: Option<Serializer>,
    room: usize,
    free_at: Time,
    departures: VecDeque<Time>,
}

impl Hop {
    /// A wire of infinite rate.
    pub fn wire(delay: Span) -> Hop {
        Hop { delay, tx: None, room: usize::MAX, free_at: Time::ZERO, departures: VecDeque::new() }
    }
    /// A drop-tail link with room for `room` packets, the one in service not counted.
    pub fn link(delay: Span, rate: Rate, room: usize) -> Hop {
        Hop { tx: Some(Serializer::new(rate)), room, ..Hop::wire(delay) }
    }
    /// When a packet sent now arrives; None if there is no room.
    fn carry(&mut self, now: Time, wire_len: u16) -> Option<Time> {
        let Some(tx) = &mut self.tx else { return Some(now + self.delay) };
        while self.departures.front().is_some_and(|&t| t <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() > self.room {
            return None;
        }
        self.free_at = self.free_at.max(now) + tx.serialize(wire_len as u32);
        self.departures.push_back(self.free_at);
        Some(self.free_at + self.delay)
    }
}

type Script = Box<dyn FnMut(&Event) -> Fate>;

/// What a pair is set up with.
pub struct Wiring {
    /// Configuration of client and server.
    pub configs: [TcpConfig; 2],
    /// Bytes that client and server send.
    pub send_bytes: [Option<u64>; 2],
    /// For each path: forward and backward.
    pub hops: Vec<[Hop; 2]>,
    /// Decides what becomes of each packet.
    pub script: Script,
    /// Keep a log of all packets.
    pub keep_log: bool,
}

impl Wiring {
    /// One path of `delay` each way on which nothing goes wrong; the client sends `bytes`, the
    /// server nothing.
    pub fn new(config: TcpConfig, bytes: Option<u64>, delay: Span) -> Wiring {
        Wiring {
            configs: [config, config],
            send_bytes: [bytes, Some(0)],
            hops: vec![[Hop::wire(delay), Hop::wire(delay)]],
            script: Box::new(|_| Fate::PASS),
            keep_log: true,
        }
    }
    /// With a script.
    pub fn script(mut self, script: impl FnMut(&Event) -> Fate + 'static) -> Wiring {
        self.script = Box::new(script);
        self
    }
    /// With a controller for each path on each side, from `make(side, path)`.
    pub fn build(self, make: impl Fn(usize, usize) -> AnyController) -> Pair {
        Pair::new(self, make)
    }
}

/// Sequence space of one direction of one path, as an onlooker knows it.
#[derive(Default)]
struct Ledger {
    /// End of the data sent.
    sent_end: u64,
    /// Ranges that arrived: start to end.
    arrived: BTreeMap<i64, i64>,
    /// Highest acknowledgment of this direction that arrived at the sender.
    una: i64,
    /// Highest offset that the receiver's windows allowed, as far as the sender knows.
    right_edge: i64,
    /// Highest acknowledgment of this direction that its receiver sent.
    acked: i64,
    /// Scale of the windows that the receiver offers, and whether the SYN had one.
    scale: Option<u8>,
    /// Transmissions of each offset.
    times: BTreeMap<i64, u32>,
}

impl Ledger {
    fn arrive(&mut self, mut start: i64, mut end: i64) {
        if start >= end {
            return;
        }
        let touching: Vec<i64> = self
            .arrived
            .range(..=end)
            .rev()
            .take_while(|&(_, &e)| e >= start)
            .map(|(&s, _)| s)
            .collect();
        for s in touching {
            let e = self.arrived.remove(&s).unwrap();
            (start, end) = (start.min(s), end.max(e));
        }
        self.arrived.insert(start, end);
    }
    fn holds(&self, start: i64, end: i64) -> bool {
        self.arrived.range(..=start).next_back().is_some_and(|(_, &e)| e >= end)
    }
    fn in_order(&self) -> i64 {
        self.arrived.get(&0).copied().unwrap_or(0)
    }
}

struct Arrival {
    to: usize,
    path: usize,
    packet: Packet,
    seg: Seg,
}

/// Two connections, the wire between them, and the clock.
pub struct Pair {
    pub ends: [Connection; 2],
    pub arena: Arena,
    pub now: Time,
    pub log: Vec<Event>,
    /// Call `on_timeout` after every arrival although nothing is due.
    pub early_calls: bool,
    wiring: Wiring,
    on_wire: BTreeMap<(Time, u64), Arrival>,
    counter: u64,
    indices: [u64; 2],
    ledgers: Vec<[Ledger; 2]>,
    spins: u32,
}

/// Initial sequence numbers: near the wrap for the client, anywhere for the server.
pub fn isn(side: usize, path: usize) -> u32 {
    if side == 0 { u32::MAX - 4 - path as u32 } else { 123_456_789 + path as u32 }
}

impl Pair {
    fn new(wiring: Wiring, make: impl Fn(usize, usize) -> AnyController) -> Pair {
        let paths = wiring.hops.len();
        let end = |side: usize| {
            let controllers = (0..paths).map(|path| make(side, path)).collect();
            let (config, bytes) = (wiring.configs[side], wiring.send_bytes[side]);
            connection(
                side,
                config,
                bytes,
                controllers,
                |path| isn(side, path),
                || AnyFeedback::None,
            )
        };
        Pair {
            ends: [end(0), end(1)],
            arena: Arena::default(),
            now: Time::ZERO,
            log: Vec::new(),
            early_calls: false,
            on_wire: BTreeMap::new(),
            counter: 0,
            indices: [0; 2],
            ledgers: (0..paths).map(|_| Default::default()).collect(),
            spins: 0,
            wiring,
        }
    }
    /// Server and client open at time zero.
    pub fn open(&mut self) {
        self.ends[1].open(self.now);
        self.ends[0].open(self.now);
        self.pump();
    }
    /// Runs until both sides have ended; panics if they have not at `limit`, or if both wait for
    /// nothing.
    pub fn finish(&mut self, limit: Time) {
        self.open();
        while self.ends.iter().any(|end| end.progress().ended.is_none()) {
            assert!(self.step(), "stall at {}: {:?}", self.now, self.state());
            assert!(self.now <= limit, "not finished at {}: {:?}", self.now, self.state());
        }
        for side in 0..2 {
            let ended = self.ends[side].progress().ended.map(|(cause, _)| cause);
            assert_eq!(ended, Some(EndCause::Finished), "side {side}: {:?}", self.state());
            let complete = self.wiring.send_bytes[1 - side].unwrap_or(0);
            let progress = self.ends[side].progress();
            assert_eq!(progress.received_bytes, complete, "side {side} receives all, once");
            assert!(progress.stream_complete, "side {side} saw no FIN: {}", self.state());
            assert_eq!(Some(progress.acked_bytes), self.wiring.send_bytes[side]);
        }
    }
    /// Runs what is left on the wire; afterwards nothing may be armed and no cold part alive.
    pub fn drain(&mut self) {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 10_000, "ended connections do not fall silent");
        }
        assert_eq!(self.arena.live(), 0, "a packet's cold part was lost");
    }
    /// Runs until `until`.
    pub fn run(&mut self, until: Time) {
        while self.next_time().is_some_and(|t| t <= until) {
            self.step();
        }
        self.now = until;
    }
    fn state(&self) -> String {
        let side = |end: &Connection| {
            format!("{:?} {:?} next {:?}", end.progress(), end.counters(), end.next_timeout())
        };
        format!("client {} | server {}", side(&self.ends[0]), side(&self.ends[1]))
    }
    fn next_time(&self) -> Option<Time> {
        let timers = self.ends.iter().filter_map(|end| end.next_timeout());
        let arrival = self.on_wire.first_key_value().map(|(key, _)| key.0);
        timers.chain(arrival).min()
    }
    /// One arrival, or one timer if it is due before; false if nothing is to come.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.next_time() else { return false };
        self.spins = if next <= self.now { self.spins + 1 } else { 0 };
        assert!(self.spins < 100_000, "time stands still at {}: {:?}", self.now, self.state());
        self.now = self.now.max(next);
        if self.on_wire.first_key_value().is_some_and(|(key, _)| key.0 <= self.now) {
            let (_, arrival) = self.on_wire.pop_first().unwrap();
            self.deliver(arrival);
        } else {
            for end in &mut self.ends {
                if end.next_timeout().is_some_and(|t| t <= self.now) {
                    end.on_timeout(self.now);
                }
            }
        }
        self.pump();
        if self.early_calls {
            for end in &mut self.ends {
                if end.next_timeout().is_some_and(|t| t > self.now) {
                    end.on_timeout(self.now);
                }
            }
            self.pump();
        }
        true
    }
    fn deliver(&mut self, Arrival { to, path, packet, seg }: Arrival) {
        let from = 1 - to;
        self.ledgers[path][from].arrive(seg.off, seg.end());
        if let Some(ack) = seg.ack {
            let ledger = &mut self.ledgers[path][to];
            // The window field of a SYN is never scaled (RFC 7323 section 2.2).
            let scale = ledger.scale.filter(|_| !seg.has(TcpFlags::SYN));
            let shift = scale.map_or(0, i64::from);
            ledger.una = ledger.una.max(ack);
            ledger.right_edge = ledger.right_edge.max(ack + ((seg.window as i64) << shift));
        }
        self.ends[to].on_packet(self.now, path, &packet, &self.arena);
        self.arena.free(packet);
    }
    /// All that both ends may send leaves.
    pub fn pump(&mut self) {
        for side in 0..2 {
            for path in 0..self.ledgers.len() {
                let mut burst = 0;
                while let Some(packet) =
                    self.ends[side].poll_transmit(self.now, path, &mut self.arena)
                {
                    burst += 1;
                    assert!(burst < 1_000_000, "poll_transmit does not end");
                    self.send(side, path, packet);
                }
            }
        }
    }
    fn send(&mut self, side: usize, path: usize, packet: Packet) {
        let ledgers = &self.ledgers[path];
        let near = (ledgers[side].sent_end, ledgers[1 - side].sent_end);
        let isns = (isn(side, path), isn(1 - side, path));
        let mut seg = Seg::read(&packet, &self.arena, isns, near, self.now);
        seg.name(ledgers[side].sent_end);
        self.check(side, path, &seg);
        self.indices[side] += 1;
        let ledger = &mut self.ledgers[path][side];
        ledger.sent_end = ledger.sent_end.max(seg.off.max(0) as u64 + seg.len);
        let nth = if seg.len > 0 && self.wiring.keep_log {
            let times = ledger.times.entry(seg.off).or_insert(0);
            *times += 1;
            *times
        } else {
            0
        };
        let index = self.indices[side];
        let mut event = Event { side, path, index, nth, seg, arrived: true };
        let fate = (self.wiring.script)(&event);
        self.carry(&mut event, fate, packet);
        if self.wiring.keep_log {
            self.log.push(event);
        }
    }
    fn carry(&mut self, event: &mut Event, fate: Fate, mut packet: Packet) {
        let hop = &mut self.wiring.hops[event.path][event.side];
        let arrival = if fate.drop { None } else { hop.carry(self.now, packet.wire_len()) };
        let Some(at) = arrival else {
            event.arrived = false;
            return self.arena.free(packet);
        };
        if fate.mark && packet.ecn().is_capable() {
            packet.set_ecn(Ecn::Ce);
        }
        if let Some(kind) = fate.strip {
            strip(&mut packet, kind, &mut self.arena);
        }
        if let Some(behind) = fate.again {
            let copy = self.arena.duplicate(&packet);
            self.put(at + fate.late + behind, event, copy);
        }
        self.put(at + fate.late, event, packet);
    }
    fn put(&mut self, at: Time, event: &Event, packet: Packet) {
        self.counter += 1;
        let arrival =
            Arrival { to: 1 - event.side, path: event.path, packet, seg: event.seg.clone() };
        self.on_wire.insert((at, self.counter), arrival);
    }
    /// Properties of every TCP, whatever its options.
    fn check(&mut self, side: usize, path: usize, seg: &Seg) {
        let state = || format!("side {side} path {path} at {}: {seg:?}", self.now);
        let config = self.wiring.configs[side];
        assert!(seg.len <= config.mss_bytes as u64, "longer than the MSS: {}", state());
        let own = &self.ledgers[path][side];
        if seg.len > 0 {
            let end = seg.off + seg.len as i64;
            // With more than one path the window counts from the data acknowledgment (RFC 8684
            // section 3.3.1).
            let shared = self.ledgers.len() > 1;
            assert!(shared || end <= own.right_edge, "beyond the peer's window: {}", state());
            assert!(end > own.una, "all of it is acknowledged: {}", state());
        }
        let peer = &self.ledgers[path][1 - side];
        if let Some(ack) = seg.ack.filter(|_| !seg.has(TcpFlags::RST)) {
            assert!(ack <= peer.in_order(), "acknowledges what is not there: {}", state());
            assert!(ack >= peer.acked, "acknowledgments go back: {}", state());
            for (at, &(start, end)) in seg.sack.iter().enumerate() {
                assert!(start < end, "empty SACK block: {}", state());
                assert!(peer.holds(start, end), "SACKs what is not there: {}", state());
                assert!(at == 0 || start > ack, "SACK block below the ACK: {}", state());
            }
        }
        let peer = &mut self.ledgers[path][1 - side];
        peer.acked = peer.acked.max(seg.ack.unwrap_or(0));
        if seg.has(TcpFlags::SYN) {
            peer.scale = seg.scale();
            // Only the second SYN shows whether both speak it.
            if seg.ack.is_some() && seg.scale().is_none() {
                self.ledgers[path][side].scale = None;
            }
        }
    }
    /// The packets that `side` sent.
    pub fn sent(&self, side: usize) -> Vec<&Event> {
        self.log.iter().filter(|event| event.side == side).collect()
    }
    /// The packets with payload that the client sent.
    pub fn data(&self) -> Vec<&Event> {
        self.sent(0).into_iter().filter(|event| event.seg.len > 0).collect()
    }
}

/// Take the options of a kind away.
fn strip(packet: &mut Packet, kind: u8, arena: &mut Arena) {
    let Some(cold) = packet.cold_part(arena) else { return };
    let mut kept = OptionList::EMPTY;
    for option in cold.tcp_options.iter().filter(|option| option.kind != kind) {
        kept.push(option.kind, option.data).expect("it is shorter than before");
    }
    packet.set_tcp_options(kept, arena).expect("it is shorter than before");
}

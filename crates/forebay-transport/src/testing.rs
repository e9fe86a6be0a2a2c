//! Two ends of a connection with wires between them that a test scripts. Nothing queues: every
//! packet takes its wire's delay.

use crate::{Connection, Counters, PRESETS, PathSetup, PathView, Role, Setup, TcpConfig};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{
    Addr, Arena, Endpoint, IpVersion, Packet, PortId, Rng, Span, Stream, TcpFlags, Time,
};
use forebay_cc::{AnyController, AnyFeedback, Init, Spec};

/// Sequence numbers wrap after five bytes.
pub(crate) const ISN: u32 = u32::MAX - 4;

/// One packet on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentPacket {
    pub at: Time,
    /// From the client to the server.
    pub forth: bool,
    pub path: usize,
    pub flags: TcpFlags,
    /// Stream offset of the first byte.
    pub offset: u64,
    pub len: u64,
    /// Stream offset that is acknowledged.
    pub ack: u64,
    pub dropped: bool,
    /// Of all that a capture would show of it, options too.
    pub digest: u64,
}

impl SentPacket {
    /// Number of the segment of `mss` bytes, from 1 on.
    pub(crate) fn segment(&self, mss: u64) -> u64 {
        self.offset / mss + 1
    }
}

/// The fate of a packet on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Deliver,
    Drop,
    Delay(Span),
}

type Script = Box<dyn FnMut(&SentPacket) -> Delivery>;

pub(crate) struct Pair {
    pub ends: [Connection; 2],
    pub now: Time,
    pub log: Vec<SentPacket>,
    delays: Vec<Span>,
    arena: Arena,
    /// Packets that took the fast path.
    pub fast_packets: u64,
    wires: BTreeMap<(Time, u64), (usize, usize, Packet)>,
    count: u64,
    script: Script,
}

pub(crate) struct Plan {
    pub config: TcpConfig,
    pub server_config: Option<TcpConfig>,
    pub client_bytes: Option<u64>,
    pub server_bytes: Option<u64>,
    /// One-way delay of each path.
    pub delays: Vec<Span>,
    pub controller: fn(Init) -> AnyController,
    pub feedback: fn() -> AnyFeedback,
}

pub(crate) fn config() -> TcpConfig {
    PRESETS[0].config
}

pub(crate) fn newreno(init: Init) -> AnyController {
    Spec::by_name("newreno").expect("it is in the table").build(init)
}

impl Plan {
    pub(crate) fn new(config: TcpConfig, bytes: u64) -> Plan {
        Plan {
            config,
            server_config: None,
            client_bytes: Some(bytes),
            server_bytes: Some(0),
            delays: Vec::from([Span::from_millis(50)]),
            controller: newreno,
            feedback: || AnyFeedback::None,
        }
    }
    pub(crate) fn end(&self, role: Role) -> Connection {
        let config = match role {
            Role::Server => self.server_config.unwrap_or(self.config),
            Role::Client => self.config,
        };
        let endpoint =
            |addr: u32, path: usize| Endpoint { addr: Addr(addr), port: 1000 + path as u16 };
        let path = |index: usize| {
            let init = Init {
                mss_bytes: config.mss_bytes as u32,
                initial_window_bytes: config.initial_window_segments as u64
                    * config.mss_bytes as u64,
                initial_ssthresh_bytes: config.initial_ssthresh_bytes.unwrap_or(u64::MAX),
                paced: false,
                rng: Rng::new(1, Stream::Controller, index as u64),
            };
            let (a, b) = (endpoint(1, index), endpoint(2, index));
            let (local, remote) = if role == Role::Client { (a, b) } else { (b, a) };
            let (controller, feedback) = ((self.controller)(init), (self.feedback)());
            PathSetup { local, remote, port: PortId(0), isn: ISN, nonce: 0, controller, feedback }
        };
        Connection::new(Setup {
            config: Arc::new(config),
            role,
            version: IpVersion::V4,
            send_bytes: if role == Role::Client { self.client_bytes } else { self.server_bytes },
            key: 0x0011_2233_4455_6677 + u64::from(role == Role::Server),
            paths: (0..self.delays.len()).map(path).collect(),
        })
    }
    /// Build both ends and open at 0.
    pub(crate) fn start(self, script: impl FnMut(&SentPacket) -> Delivery + 'static) -> Pair {
        let mut ends = [self.end(Role::Client), self.end(Role::Server)];
        ends[0].open(Time::ZERO);
        Pair {
            ends,
            now: Time::ZERO,
            log: Vec::new(),
            delays: self.delays,
            arena: Arena::default(),
            fast_packets: 0,
            wires: BTreeMap::new(),
            count: 0,
            script: Box::new(script),
        }
    }
}

impl Pair {
    fn offset_of(seq: u32) -> u64 {
        seq.wrapping_sub(ISN).wrapping_sub(1) as u64
    }
    fn describe(&self, from: usize, path: usize, packet: &Packet) -> SentPacket {
        let tcp = packet.tcp_fields().expect("only TCP leaves");
        SentPacket {
            at: self.now,
            forth: from == 0,
            path,
            flags: tcp.flags,
            offset: Pair::offset_of(tcp.seq),
            len: packet.payload_len() as u64,
            ack: Pair::offset_of(tcp.ack),
            dropped: false,
            digest: packet.digest(&self.arena),
        }
    }
    fn put(&mut self, from: usize, path: usize, packet: Packet) {
        let mut flight = self.describe(from, path, &packet);
        let mut delay = self.delays[path];
        match (self.script)(&flight) {
            Delivery::Deliver => {}
            Delivery::Drop => flight.dropped = true,
            Delivery::Delay(more) => delay += more,
        }
        self.log.push(flight);
        if flight.dropped {
            self.arena.free(packet);
            return;
        }
        self.count += 1;
        self.wires.insert((self.now + delay, self.count), (1 - from, path, packet));
    }
    /// What [`Connection::poll_transmit`] gives; counts what its fast half gives.
    fn poll(&mut self, from: usize, path: usize) -> Option<Packet> {
        let end = &mut self.ends[from];
        let Some(packet) = end.poll_fast(self.now) else {
            return end.poll_transmit(self.now, path, &mut self.arena);
        };
        self.fast_packets += 1;
        Some(packet)
    }
    /// Take everything that may leave now.
    fn drain(&mut self) {
        loop {
            let mut idle = true;
            for from in 0..2 {
                for path in 0..self.ends[from].paths() {
                    while let Some(packet) = self.poll(from, path) {
                        self.put(from, path, packet);
                        idle = false;
                    }
                }
            }
            if idle {
                return;
            }
        }
    }
    /// Go on to the next thing that happens, not beyond `end`. False if nothing does.
    fn step(&mut self, end: Time) -> bool {
        self.drain();
        let timers = self.ends.iter().filter_map(Connection::next_timeout);
        let wire = self.wires.keys().next().map(|k| k.0);
        let Some(at) = timers.chain(wire).min().filter(|&at| at <= end) else {
            return false;
        };
        self.now = self.now.max(at);
        if wire == Some(at) {
            let key = *self.wires.keys().next().unwrap();
            let (to, path, packet) = self.wires.remove(&key).unwrap();
            self.ends[to].on_packet(self.now, path, &packet, &self.arena);
            self.arena.free(packet);
        } else {
            self.ends.iter_mut().for_each(|e| _ = e.on_timeout(at));
        }
        true
    }
    /// Run until nothing more happens before `end`.
    pub(crate) fn run_until(&mut self, end: Time) {
        let mut steps = 0;
        while self.step(end) {
            steps += 1;
            assert!(steps < 20_000_000, "no end in sight at {}", self.now);
        }
        self.now = end;
    }
    pub(crate) fn run_ms(&mut self, ms: u64) {
        self.run_until(Time::from_millis(ms));
    }
    /// Both ends are through, everything came, nothing is left in the arena.
    pub(crate) fn assert_finished(&self, bytes: u64) {
        for end in &self.ends {
            assert!(
                matches!(end.progress().ended, Some((crate::EndCause::Finished, _))),
                "{:?}",
                end.progress()
            );
        }
        let got = self.ends[1].progress();
        assert_eq!((got.received_bytes, got.stream_complete), (bytes, true));
        let sent = self.ends[0].progress();
        assert_eq!((sent.sent_bytes, sent.acked_bytes), (bytes, bytes));
        assert_eq!(self.arena.live(), 0);
    }
    pub(crate) fn counters(&self) -> Counters {
        self.ends[0].counters()
    }
    pub(crate) fn view(&self) -> PathView {
        self.ends[0].view(0)
    }
    /// Data packets from the client, those dropped too.
    pub(crate) fn data(&self) -> impl Iterator<Item = &SentPacket> + '_ {
        self.log.iter().filter(|f| f.forth && f.len > 0)
    }
    /// Data packets with an offset sent before.
    pub(crate) fn repeats(&self) -> Vec<SentPacket> {
        let mut seen = alloc::collections::BTreeSet::new();
        self.data().filter(|f| !seen.insert((f.path, f.offset))).copied().collect()
    }
}

//! What the tests of disciplines work with: packets of one flow or several, a port, a clock that
//! the test sets.

use crate::{Discipline, Limit, Overflow, PortContext, PortInit};
use alloc::vec::Vec;
use forebay_base::{
    Addr, Arena, DropLog, DropReason, Ecn, Endpoint, IpVersion, Packet, Rate, Rng, Span, Stream,
    TcpFields, Time,
};

/// A segment of `wire_len` bytes with a number, of the flow from `flow` to address 2.
pub(crate) fn packet(flow: u32, number: u32, wire_len: u16, ecn: Ecn) -> Packet {
    let end = |id| Endpoint { addr: Addr(id), port: 7 };
    let fields = TcpFields { seq: number, ..TcpFields::default() };
    let mut packet = Packet::tcp(IpVersion::V4, end(flow), end(2), fields, wire_len - 40);
    packet.set_ecn(ecn);
    packet
}

/// A port at 10 Mbit/s without overhead.
pub(crate) fn init(limit: Limit) -> PortInit {
    let rng = Rng::new(1, Stream::Discipline, 0);
    let rate = Rate::mbps(10);
    PortInit { limit, rate, mtu_bytes: 1500, overhead_bytes: 0, rng }
}

/// A discipline with what it needs to be called.
pub(crate) struct Port<D> {
    pub(crate) queue: D,
    arena: Arena,
    pub(crate) drops: DropLog,
    split: u64,
    /// Numbers of the packets that the discipline itself dropped, in order.
    dropped: Vec<u32>,
}

impl<D: Discipline> Port<D> {
    pub(crate) fn new(queue: D) -> Port<D> {
        let (arena, drops) = (Arena::default(), DropLog::keeping());
        Port { queue, arena, drops, split: 0, dropped: Vec::new() }
    }
    fn call<R>(&mut self, now: Time, act: impl FnOnce(&mut D, &mut PortContext<'_>) -> R) -> R {
        let Port { queue, arena, drops, split, .. } = self;
        let result = act(queue, &mut PortContext { now, arena, drops, split });
        for (packet, _) in self.drops.take_kept() {
            self.dropped.push(number(&packet));
            self.arena.free(packet);
        }
        result
    }
    /// Offer a packet. False if it was given back.
    pub(crate) fn offer(&mut self, now: Time, mut packet: Packet) -> bool {
        packet.set_hop_time(now);
        self.call(now, |queue, cx| match queue.enqueue(packet, cx) {
            Ok(()) => true,
            Err(Overflow(packet)) => {
                cx.drop_packet(packet, DropReason::Full);
                false
            }
        })
    }
    /// The packet that leaves.
    pub(crate) fn take(&mut self, now: Time) -> Option<Packet> {
        self.call(now, |queue, cx| queue.dequeue(cx))
    }
    /// A packet passes at once.
    fn pass(&mut self, packet: &Packet) {
        assert!(self.queue.passes_at_once());
        self.queue.note_passing(packet, &self.arena);
    }
    /// Do what timers ask for by `now`.
    pub(crate) fn wake(&mut self, now: Time) {
        while let Some(at) = self.queue.next_timeout().filter(|&at| at <= now) {
            self.call(at, |queue, cx| queue.on_timeout(cx));
        }
    }
    /// Numbers of the packets dropped since the last call.
    pub(crate) fn take_dropped(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.dropped)
    }
    pub(crate) fn early(&self) -> u64 {
        self.drops.count(DropReason::Early)
    }
    pub(crate) fn full(&self) -> u64 {
        self.drops.count(DropReason::Full)
    }
}

/// The number of a packet.
pub(crate) fn number(packet: &Packet) -> u32 {
    packet.tcp_fields().expect("a segment").seq
}

/// `ms` milliseconds after the start.
pub(crate) fn at(ms: f64) -> Time {
    Time::from_nanos((ms * 1e6 + 0.5) as u64)
}

/// What leaves a link of 10 Mbit/s, and when, and what the discipline drops: bursts of five flows,
/// with pauses in which it is idle. `passes`: a packet that finds nothing waiting passes it by;
/// else it is queued, and leaves the queue at once.
fn departures<D: Discipline>(port: &mut Port<D>, passes: bool, seed: u64) -> Vec<(Time, u32)> {
    let mut rng = Rng::new(seed, Stream::Test, 0);
    let (mut arrives, mut ends, mut left) = (Time::ZERO, Time::ZERO, Vec::new());
    let rate = Rate::mbps(10);
    for n in 0..4_000 {
        let pause_ns = if rng.chance(0.005) { 400_000_000 } else { 900_000 };
        arrives += Span::from_nanos(rng.below(pause_ns));
        let wire_len = 40 + rng.below(1_461) as u16;
        let ecn = if rng.chance(0.5) { Ecn::Ect0 } else { Ecn::NotEct };
        let offered = packet(10 + rng.below(5) as u32, n, wire_len, ecn);
        while ends <= arrives && port.queue.backlog_packets() > 0 {
            let Some(next) = port.take(ends) else { break };
            left.push((ends, number(&next)));
            ends += rate.span_of(u64::from(next.wire_len()));
        }
        if ends > arrives {
            port.offer(arrives, offered);
            continue;
        }
        if passes {
            port.pass(&offered);
        } else {
            assert!(port.take(arrives).is_none(), "as a link that is free tries");
            assert!(port.offer(arrives, offered));
            assert_eq!(port.take(arrives).map(|packet| number(&packet)), Some(n));
        }
        left.push((arrives, n));
        ends = arrives + rate.span_of(u64::from(wire_len));
    }
    left
}

/// What passes makes no difference to what waits later.
pub(crate) fn assert_passing_is_as_queueing<D: Discipline>(build: impl Fn() -> D) {
    let mut actions = 0;
    for seed in 0..30 {
        let [passed, queued] = [true, false].map(|passes| {
            let mut port = Port::new(build());
            let left = departures(&mut port, passes, seed);
            (left, port.take_dropped(), port.drops.ce_marks())
        });
        assert!(passed == queued, "seed {seed}");
        actions += passed.1.len() as u64 + passed.2;
    }
    assert!(actions > 1_000, "{actions} drops and marks: it had something to do");
}

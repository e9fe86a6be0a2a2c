//! What the tests of disciplines work with: packets of one flow or several, a port, a clock that
//! the test sets.

use crate::{Discipline, Limit, Overflow, PortContext, PortInit};
use alloc::vec::Vec;
use forebay_base::{
    Addr, Arena, DropLog, DropReason, Ecn, Endpoint, IpVersion, Packet, Rate, Rng, Stream,
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

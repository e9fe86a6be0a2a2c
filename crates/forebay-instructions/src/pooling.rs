//! The interface of an INRPP router, with fifty flows in its cache; a full one, with a hundred and
//! with four thousand.

use crate::harness::{Bench, repeat};
use forebay_base::{Rng, Span, Stream, Time};
use forebay_router::inrpp::{
    Arrived, CacheLimits, Cached, Class, FlowKey, Interface, Settings, State,
};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};
use std::hint::black_box;

const FLOWS: u32 = 50;
const WIRE_LEN: u16 = 1_500;
/// Packets in the cache, of 1500 bytes.
const CACHED: u32 = 500;
const STEP: Span = Span::from_micros(1_200);
const BEFORE: u64 = 2_000;
const OPERATIONS: u64 = 20_000;

struct Port {
    flows: u32,
    interface: Interface<u32>,
    rng: Rng,
    now: Time,
    /// Counts through the flows.
    turn: u32,
    /// ACKs so far.
    acks: u32,
}

impl Port {
    /// Back-pressure begins at so many bytes.
    fn filled(high_bytes: u64) -> Port {
        let limits = CacheLimits { low_bytes: high_bytes / 2, high_bytes, total_bytes: 10_000_000 };
        let mut port = Port::empty(FLOWS, limits);
        (0..CACHED).for_each(|_| port.keep(None));
        port
    }
    fn empty(flows: u32, limits: CacheLimits) -> Port {
        let interface = Interface::new(limits, 1500, &Settings::default());
        let rng = Rng::new(1, Stream::Forwarding, 0);
        Port { flows, interface, rng, now: Time::from_secs(1), turn: 0, acks: 0 }
    }
    fn numbered(number: u32) -> FlowKey {
        FlowKey::new((number, 5001), (100_000, 80), Class::Pooled)
    }
    fn flow(&mut self) -> FlowKey {
        self.turn = (self.turn + 1) % self.flows;
        Port::numbered(self.turn)
    }
    fn keep(&mut self, echo: Option<Nonce>) {
        let flow = self.flow();
        assert_eq!(self.keep_of(flow, echo), 0, "there is room");
    }
    /// Keep a packet of `flow`. How many others had to leave for it.
    fn keep_of(&mut self, flow: FlowKey, echo: Option<Nonce>) -> usize {
        let (wire_len, payload_len) = (WIRE_LEN, WIRE_LEN);
        let cached = Cached { echo, wire_len, payload_len, seq: 0, taggable: true, what: 0 };
        black_box(self.interface.passes(flow, echo));
        let kept = self.interface.keep(self.now, flow, cached, 0, &mut self.rng);
        assert!(kept.refused.is_none(), "there is room, or a longer flow");
        kept.pushed_out.len()
    }
    /// What an ACK says: a packet more than the last one of its flow. Where every second turn is
    /// one of an ACK, half of the flows have some.
    fn arrived(&mut self) -> Arrived {
        self.acks += 1;
        let before = u32::from(WIRE_LEN) * (self.acks / (FLOWS / 2));
        Arrived { before, highest: before }
    }
    fn pull(&mut self) -> FlowKey {
        let pulled = self.interface.pull(self.now, &mut self.rng);
        black_box(pulled).expect("one may leave").0
    }
}

/// A packet comes to the cache, and one leaves.
fn store() -> u64 {
    let mut port = Port::filled(5_000_000);
    assert_eq!(port.interface.state(), State::StoreDetour);
    repeat(BEFORE, OPERATIONS, || {
        port.now += STEP;
        port.keep(None);
        port.pull();
    })
}

/// The interface is congested: an ACK passes, and asks its flow to slow down.
fn ask() -> u64 {
    let mut port = Port::filled(500_000);
    assert_eq!(port.interface.state(), State::BackPressure);
    repeat(BEFORE, OPERATIONS, || {
        port.now += STEP;
        let flow = port.flow();
        let arrived = port.arrived();
        let told = port.interface.on_ack(port.now, flow, arrived, BackPressure::default());
        assert!(matches!(told.ask, BackPressureSignal::SlowDown | BackPressureSignal::Pause));
    })
}

/// An interface downstream is congested: a packet is held, an ACK lets one go, and it leaves.
fn hold() -> u64 {
    let mut port = Port::filled(5_000_000);
    let nonce = Nonce::new(7);
    let asked = BackPressure {
        ask: BackPressureSignal::SlowDown,
        routers: 1,
        nonce,
        ..BackPressure::default()
    };
    let ack = |port: &mut Port| {
        port.now += STEP;
        let flow = port.flow();
        let arrived = port.arrived();
        black_box(port.interface.on_ack(port.now, flow, arrived, asked));
        port.pull();
    };
    repeat(BEFORE, OPERATIONS, || {
        port.keep(nonce);
        ack(&mut port);
    })
}

/// The cache is full: a packet comes and the last one of the longest flow is dropped for it, one
/// leaves in its turn, and the longest flow has another.
fn full(flows: u32) -> u64 {
    const LONGEST: u32 = 50;
    let total_bytes = u64::from(WIRE_LEN) * u64::from(2 * flows + LONGEST);
    let limits = CacheLimits { low_bytes: total_bytes, high_bytes: total_bytes, total_bytes };
    let mut port = Port::empty(flows, limits);
    let longest = Port::numbered(flows);
    (0..LONGEST).for_each(|_| assert_eq!(port.keep_of(longest, None), 0));
    (0..2 * flows).for_each(|_| port.keep(None));
    repeat(BEFORE, OPERATIONS, || {
        port.now += STEP;
        let flow = port.flow();
        assert_eq!(port.keep_of(flow, None), 1, "it is full");
        // Where the longest itself has the turn, another leaves as well: it stays the longest.
        while port.pull() == longest {
            assert_eq!(port.keep_of(longest, None), 0, "one has left");
        }
        assert_eq!(port.keep_of(longest, None), 0, "one has left");
    })
}

pub fn benches() -> Vec<Bench> {
    vec![
        Bench::new("inrpp/store", store),
        Bench::new("inrpp/ask", ask),
        Bench::new("inrpp/hold", hold),
        Bench::new("inrpp/full-100", || full(100)),
        Bench::new("inrpp/full-4000", || full(4_000)),
    ]
}

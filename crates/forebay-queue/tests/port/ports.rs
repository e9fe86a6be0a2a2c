//! Every discipline of the table by its contract, and what a port reports to its machines.

use crate::bench::Bench;
use forebay_base::{
    Addr, DropReason, Ecn, Endpoint, IpVersion, Packet, Rate, Rng, Span, Stream, TcpFields, Time,
};
use forebay_queue::{
    AnyDiscipline, AnyScheme, DISCIPLINES, Discipline, DropTail, Fifo, Limit, Overflow, Pipeline,
    PortContext, PortInit,
};
use std::sync::{Arc, Mutex};

fn packet(seq: u32, wire_len: u16, from: u32) -> Packet {
    let end = |id| Endpoint { addr: Addr(id), port: 7 };
    let fields = TcpFields { seq, ..TcpFields::default() };
    Packet::tcp(IpVersion::V4, end(from), end(200), fields, wire_len - 40)
}

/// RFC 3168 section 5: CE may be set in ECT(0) and ECT(1) alone.
#[test]
fn a_mark_needs_an_ecn_capable_packet_and_counts_once() {
    let mut bench = Bench::default();
    let mut mark = |from: Ecn| {
        let mut packet = packet(0, 100, 1);
        packet.set_ecn(from);
        let could = bench.at(Time::ZERO).mark(&mut packet);
        (could, packet.ecn(), bench.drops.ce_marks())
    };
    assert_eq!(mark(Ecn::NotEct), (false, Ecn::NotEct, 0));
    assert_eq!(mark(Ecn::Ect0), (true, Ecn::Ce, 1));
    assert_eq!(mark(Ecn::Ect1), (true, Ecn::Ce, 2));
    assert_eq!(mark(Ecn::Ce), (true, Ecn::Ce, 2), "it had been marked before");
}

fn init(limit: Limit, seed: u64) -> PortInit {
    let rng = Rng::new(seed, Stream::Discipline, 0);
    let rate = Rate::mbps(10);
    PortInit { limit, rate, mtu_bytes: 1500, overhead_bytes: 0, rng }
}

/// What is reported of a discipline under random calls: each packet is held, given back, sent or
/// dropped; backlogs are sums; room is room; timers move on; after a restart nothing is left.
fn torture(discipline: &mut AnyDiscipline, seed: u64, calls: u32) -> Vec<(u64, u32)> {
    let (mut bench, mut rng) = (Bench::default(), Rng::new(seed, Stream::Test, 0));
    let (mut now, mut offered, mut refused, mut sent) = (Time::ZERO, 0, 0, Vec::new());
    // The longest time between two calls, and how many of them are arrivals.
    let (pause_ns, arrivals) = (1 << rng.below(26), 0.3 + 0.6 * rng.unit());
    discipline.set_rate(now, Rate::mbps(10));
    for number in 0..calls {
        now += Span::from_nanos(rng.below(pause_ns));
        while let Some(at) = discipline.next_timeout().filter(|&at| at <= now) {
            discipline.on_timeout(&mut bench.at(at));
            assert!(discipline.next_timeout().is_none_or(|next| next > at), "a timer stands still");
        }
        if rng.chance(arrivals) {
            let mut packet = packet(number, 40 + rng.below(1461) as u16, 1 + rng.below(6) as u32);
            packet.set_ecn(Ecn::from_bits(rng.next_u64() as u8));
            packet.set_hop_time(now);
            offered += 1;
            let (room, wire_len) = (discipline.has_room(packet.wire_len()), packet.wire_len());
            let before = bench.drops.total();
            match discipline.enqueue(packet, &mut bench.at(now)) {
                Ok(()) => assert!(room || bench.drops.total() > before),
                Err(Overflow(back)) => {
                    assert!(!room && back.wire_len() == wire_len);
                    refused += 1;
                }
            }
        } else if rng.chance(0.001) {
            discipline.clear(DropReason::LinkDown, &mut bench.at(now));
            assert_eq!(discipline.backlog_packets(), 0);
        } else if rng.chance(0.01) {
            discipline.set_rate(now, Rate::mbps(1 + rng.below(1_000)));
        } else if let Some(packet) = discipline.dequeue(&mut bench.at(now)) {
            sent.push((now.as_nanos(), packet.tcp_fields().expect("a segment").seq));
        }
        let held = discipline.backlog_packets();
        assert_eq!(offered, held + refused + sent.len() as u64 + bench.drops.total());
        assert_eq!(held == 0, discipline.backlog_bytes() == 0);
        assert!(held > 0 || discipline.next_timeout().is_none_or(|at| at > now));
    }
    discipline.clear(DropReason::NodeRestart, &mut bench.at(now));
    assert!(discipline.dequeue(&mut bench.at(now)).is_none());
    assert_eq!((discipline.backlog_packets(), discipline.backlog_bytes()), (0, 0));
    assert_eq!(offered, refused + sent.len() as u64 + bench.drops.total());
    sent
}

#[test]
fn every_discipline_keeps_the_contract_and_is_itself_behind_a_trait_object() {
    for entry in DISCIPLINES {
        for seed in 0..20 {
            for limit in [Limit::Packets(1 + seed), Limit::Bytes(1_500 * (1 + seed))] {
                let build = || (entry.spec)().build(init(limit, seed));
                let sent = torture(&mut build(), seed, 4_000);
                let boxed = torture(&mut AnyDiscipline::Custom(build().into_boxed()), seed, 4_000);
                assert!(sent == boxed && !sent.is_empty(), "{} seed {seed}", entry.name);
            }
        }
    }
}

/// Many short runs, each with its own limit, share of arrivals and pauses.
#[test]
fn ten_thousand_random_sequences_keep_the_contract() {
    for entry in DISCIPLINES {
        for seed in 0..10_000 {
            let limit = match seed % 3 {
                0 => Limit::Packets(1 + seed % 50),
                1 => Limit::Bytes(40 + 37 * (seed % 3_000)),
                _ => Limit::Packets(1_000),
            };
            torture(
                &mut (entry.spec)().build(init(limit, seed)),
                seed,
                50 + (seed % 7) as u32 * 30,
            );
        }
    }
}

/// Records what is reported to it.
struct Told {
    fifo: Fifo,
    told: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Discipline for Told {
    fn enqueue(&mut self, packet: Packet, _: &mut PortContext<'_>) -> Result<(), Overflow> {
        self.fifo.push(packet);
        Ok(())
    }
    fn has_room(&self, _: u16) -> bool {
        true
    }
    fn dequeue(&mut self, _: &mut PortContext<'_>) -> Option<Packet> {
        self.fifo.pop()
    }
    fn backlog_bytes(&self) -> u64 {
        self.fifo.bytes()
    }
    fn backlog_packets(&self) -> u64 {
        self.fifo.packets()
    }
    fn set_rate(&mut self, now: Time, rate: Rate) {
        self.told.lock().unwrap().push((now.as_nanos(), rate.bps()));
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.fifo.clear(reason, cx);
    }
}

#[test]
fn a_discipline_is_told_the_rate_at_the_start_and_each_change() {
    let told = Arc::default();
    let discipline = Told { fifo: Fifo::default(), told: Arc::clone(&told) };
    let custom = AnyDiscipline::Custom(Box::new(discipline));
    let mut port = Pipeline::new(AnyScheme::None, custom);
    port.begin(Rate::mbps(3));
    port.set_rate(Rate::mbps(5), &mut Bench::default().at(Time::from_nanos(9)));
    assert_eq!(*told.lock().unwrap(), [(0, 3_000_000), (9, 5_000_000)]);
}

/// By hand: 3 packets of 500 bytes fit into 1 500 bytes, and a fourth does not.
#[test]
fn drop_tail_takes_what_fits_into_its_limit() {
    for (limit, fits) in
        [(Limit::Bytes(1_500), 3), (Limit::Bytes(1_499), 2), (Limit::Packets(5), 5)]
    {
        let (mut queue, mut bench) = (DropTail::with_limit(limit), Bench::default());
        let took =
            (0..9).filter(|&n| queue.enqueue(packet(n, 500, 1), &mut bench.at(Time::ZERO)).is_ok());
        assert_eq!((took.count(), limit.packets_of(500)), (fits, fits as u64), "{limit}");
    }
}

//! A port: its meter, its discipline, its egress. One packet comes and one leaves, and some always
//! wait.

use crate::harness::{Bench, repeat};
use crate::packets::{cuttable, data, rcp_data};
use forebay_base::{Arena, DropLog, Kind, Packet, Rate, Rng, Span, Stream, Time};
use forebay_queue::kickass::{Fallback, Rounding};
use forebay_queue::{
    AnyDiscipline, AnyScheme, DISCIPLINES, DisciplineEntry, DropTail, KickAssPort,
    KickAssPortParams, Limit, Pipeline, PortContext, PortInit, RcpPort, RcpPortParams,
};

const RATE: Rate = Rate::mbps(1_000);
/// Time of a full packet at that rate.
const STEP: Span = Span::from_micros(12);
/// Packets that wait: below the thresholds of all disciplines.
const WAITING: u32 = 4;
const BEFORE: u64 = 5_000;
const OPERATIONS: u64 = 20_000;

/// Every discipline of the table with its default parameters, limited in bytes and in packets.
fn disciplines() -> Vec<(String, Box<dyn Fn() -> AnyDiscipline>)> {
    let limits = [("bytes", Limit::Bytes(1 << 20)), ("packets", Limit::Packets(1_000))];
    let of = |entry: &'static DisciplineEntry| {
        limits.map(|(unit, limit)| {
            let make = move || (entry.spec)().build(init(limit));
            let name = entry.title.to_lowercase();
            (format!("{name}-{unit}"), Box::new(make) as Box<dyn Fn() -> AnyDiscipline>)
        })
    };
    DISCIPLINES.iter().flat_map(of).collect()
}

fn init(limit: Limit) -> PortInit {
    let rng = Rng::new(1, Stream::Discipline, 0);
    PortInit { limit, rate: RATE, mtu_bytes: 1500, overhead_bytes: 0, rng }
}

fn rcp() -> Pipeline {
    let discipline = DropTail::with_limit(Limit::Bytes(1 << 20));
    let rng = Rng::new(1, Stream::Link, 0);
    let port = RcpPort::new(RATE, 0, RcpPortParams::published(), rng);
    Pipeline::new(AnyScheme::Rcp(port), discipline.into())
}

fn kickass(params: KickAssPortParams) -> Pipeline {
    let limit = Limit::Bytes(1 << 20);
    let port = KickAssPort::new(params, init(limit));
    Pipeline::new(AnyScheme::KickAss(Box::new(port)), DropTail::with_limit(limit).into())
}

/// As [`pass`], but each packet leaves in two pieces, which end here, and another one comes: an
/// operation is a piece.
fn cut(mut port: Pipeline) -> u64 {
    let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
    let mut number = 0;
    let mut now = Time::ZERO;
    let packets = repeat(BEFORE, OPERATIONS, || {
        let packet = cuttable(number, &mut arena);
        (number, now) = (number + 1, now + STEP);
        let mut cx = PortContext { now, arena: &mut arena, drops: &mut drops, split: &mut split };
        if port.next_timeout().is_some_and(|at| at <= now) {
            port.on_timeout(&mut cx);
        }
        port.enqueue(packet, &mut cx).expect("there is room");
        if number > WAITING {
            for _ in 0..2 {
                let piece = port.dequeue(&mut cx).expect("a piece");
                cx.arena.free(piece);
            }
        }
    });
    assert_eq!(port.backlog_packets(), u64::from(WAITING));
    2 * packets
}

/// As [`pass`], but each tenth packet may be cut, as of hosts that thin: its pieces end here, and
/// another packet comes in its place.
fn thinned(mut port: Pipeline) -> u64 {
    let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
    let mut cx =
        PortContext { now: Time::ZERO, arena: &mut arena, drops: &mut drops, split: &mut split };
    for number in 0..WAITING {
        port.enqueue(data(number), &mut cx).expect("there is room");
    }
    let mut number = WAITING;
    let mut outside = Some(data(number));
    let operations = repeat(BEFORE, OPERATIONS, || {
        (number, cx.now) = (number + 1, cx.now + STEP);
        if port.next_timeout().is_some_and(|at| at <= cx.now) {
            port.on_timeout(&mut cx);
        }
        let again = outside.take().filter(|_| !number.is_multiple_of(10));
        let packet = again.unwrap_or_else(|| cuttable(number, cx.arena));
        port.enqueue(packet, &mut cx).expect("there is room");
        let first = port.dequeue(&mut cx).expect("one waits");
        if first.kind() == Kind::Fragment {
            let tail = port.dequeue(&mut cx).expect("the rest of it");
            cx.arena.free(first);
            cx.arena.free(tail);
            outside = Some(data(number));
        } else {
            outside = Some(first);
        }
    });
    assert_eq!(port.backlog_packets(), u64::from(WAITING));
    assert!(split > 0, "nothing was cut");
    operations
}

/// An operation is a packet that comes and one that leaves, and what the timers of the port do
/// meanwhile.
fn pass(mut port: Pipeline, packet: fn(u32, &mut Arena) -> Packet) -> u64 {
    let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
    let mut packets: Vec<Packet> = (0..=WAITING).map(|n| packet(n, &mut arena)).collect();
    let mut outside = packets.pop();
    let mut cx =
        PortContext { now: Time::ZERO, arena: &mut arena, drops: &mut drops, split: &mut split };
    packets.into_iter().for_each(|p| port.enqueue(p, &mut cx).expect("there is room"));
    let operations = repeat(BEFORE, OPERATIONS, || {
        cx.now += STEP;
        if port.next_timeout().is_some_and(|at| at <= cx.now) {
            port.on_timeout(&mut cx);
        }
        let packet = outside.take().expect("the one that left");
        port.enqueue(packet, &mut cx).expect("there is room");
        outside = port.dequeue(&mut cx);
    });
    assert_eq!(port.backlog_packets(), u64::from(WAITING));
    operations
}

pub fn benches() -> Vec<Bench> {
    let plain_data = |number, _: &mut Arena| data(number);
    let of = |(name, make): (String, Box<dyn Fn() -> AnyDiscipline>)| {
        Bench::new(format!("port/{name}"), move || pass(Pipeline::plain(make()), plain_data))
    };
    let stamped = Bench::new("port/rcp", || pass(rcp(), rcp_data));
    let paper = KickAssPortParams::paper();
    let hardened = KickAssPortParams {
        rounding: Rounding::Shared,
        fallback: Fallback::Hardened,
        ..KickAssPortParams::paper()
    };
    let cuts = [
        stamped,
        Bench::new("port/kickass", move || cut(kickass(paper))),
        Bench::new("port/kickass-hardened", move || cut(kickass(hardened))),
        Bench::new("port/kickass-df", move || pass(kickass(paper), |n, _: &mut Arena| data(n))),
        Bench::new("port/kickass-recommended", || thinned(kickass(KickAssPortParams::default()))),
    ];
    disciplines().into_iter().map(of).chain(cuts).collect()
}

//! A port: its meter, its discipline, its egress. One packet comes and one leaves, and some always wait.

use crate::harness::{Bench, repeat};
use crate::packets::{data, rcp_data};
use forebay_base::{Arena, DropLog, Packet, Rate, Rng, Span, Stream, Time};
use forebay_queue::{
    AnyDiscipline, AnyEgress, AnyMeter, DropTailBytes, DropTailPackets, Pipeline, PortContext,
    RcpPortParams, rcp_pipeline,
};

const RATE: Rate = Rate::mbps(1_000);
/// Time of a full packet at that rate.
const STEP: Span = Span::from_micros(12);
/// Packets that wait.
const WAITING: u32 = 16;
const BEFORE: u64 = 5_000;
const OPERATIONS: u64 = 20_000;

/// The name of a discipline; a new one does not compile before it has one, and then belongs into [`disciplines`].
fn name(discipline: &AnyDiscipline) -> &'static str {
    match discipline {
        AnyDiscipline::DropTailBytes(_) => "drop-tail-bytes",
        AnyDiscipline::DropTailPackets(_) => "drop-tail-packets",
        AnyDiscipline::Custom(_) => "custom",
    }
}

fn disciplines() -> Vec<fn() -> AnyDiscipline> {
    vec![|| AnyDiscipline::DropTailBytes(DropTailBytes::new(1 << 20)), || {
        AnyDiscipline::DropTailPackets(DropTailPackets::new(1_000))
    }]
}

fn plain(discipline: AnyDiscipline) -> Pipeline {
    Pipeline::new(AnyMeter::None, discipline, AnyEgress::Plain)
}

fn rcp() -> Pipeline {
    let discipline = AnyDiscipline::DropTailBytes(DropTailBytes::new(1 << 20));
    let rng = Rng::new(1, Stream::Link, 0);
    rcp_pipeline(RATE, 0, discipline, RcpPortParams::published(), rng)
}

/// An operation is a packet that comes and one that leaves, and what the timers of the port do meanwhile.
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
            port.on_timeout(cx.now);
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
    let of = |make: fn() -> AnyDiscipline| {
        Bench::new(format!("port/{}", name(&make())), move || pass(plain(make()), plain_data))
    };
    let stamped = Bench::new("port/rcp", || pass(rcp(), rcp_data));
    disciplines().into_iter().map(of).chain([stamped]).collect()
}

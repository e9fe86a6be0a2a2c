//! A link: what arrives is offered again. There are more packets than the wire holds, so that some
//! wait; or few, so that none does.

use crate::harness::{Bench, repeat};
use crate::packets::data;
use forebay_base::{Arena, DropLog, Rate, Rng, Span, Stream, Time};
use forebay_net::{
    AnyChannel, AnyLink, ConstantRate, DeliveryTrace, FifoLink, Impairment, QueuedLink,
    TraceChannel,
};
use forebay_queue::{AnyDiscipline, DropTail, Limit, Pipeline, PortContext};
use std::sync::Arc;

const RATE: Rate = Rate::mbps(1_000);
/// Holds 83 packets.
const DELAY: Span = Span::from_millis(1);
const MANY: u32 = 100;
const FEW: u32 = 10;
const LIMIT_BYTES: u64 = 1 << 20;
const BEFORE: u64 = 5_000;
const OPERATIONS: u64 = 20_000;

/// An operation is one packet, from its offer to its arrival.
fn carry(mut link: AnyLink, packets: u32) -> u64 {
    let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
    let mut cx =
        PortContext { now: Time::ZERO, arena: &mut arena, drops: &mut drops, split: &mut split };
    for number in 0..packets {
        link.offer(data(number), &mut cx).expect("there is room");
    }
    let operations = repeat(BEFORE, OPERATIONS, || {
        loop {
            let arrival = link.next_arrival();
            if let Some(at) = link.next_transmitter().filter(|&at| arrival.is_none_or(|a| at <= a))
            {
                cx.now = at;
                link.on_transmitter(&mut cx);
                continue;
            }
            cx.now = arrival.expect("all packets are in the link");
            let packet = link.take_arrival(cx.now).expect("it is time");
            break link.offer(packet, &mut cx).expect("there is room");
        }
    });
    assert_eq!(link.held_packets(), u64::from(packets));
    operations
}

fn fifo(limit: Limit) -> AnyLink {
    AnyLink::Fifo(FifoLink::new(RATE, DELAY, limit, 0))
}

fn queued(channel: AnyChannel, loss: f64, steady: bool) -> AnyLink {
    let discipline = AnyDiscipline::DropTail(DropTail::with_limit(Limit::Bytes(LIMIT_BYTES)));
    let pipeline = Pipeline::plain(discipline);
    let impairment = Impairment::new(loss, Span::ZERO, Rng::new(1, Stream::Link, 0));
    AnyLink::Queued(Box::new(QueuedLink::new(pipeline, channel, DELAY, 0, impairment, steady)))
}

fn constant() -> AnyChannel {
    AnyChannel::Constant(ConstantRate::new(RATE))
}

/// An opportunity for one packet each 12 us, as at [`RATE`].
fn trace() -> AnyChannel {
    let opportunities = (1..=1_000).map(|n| Span::from_micros(12 * n));
    let trace = DeliveryTrace::new(opportunities, 1_500).expect("in order, and not empty");
    AnyChannel::Trace(TraceChannel::new(Arc::new(trace), Span::ZERO))
}

pub fn benches() -> Vec<Bench> {
    vec![
        Bench::new("link/fifo-bytes", || carry(fifo(Limit::Bytes(LIMIT_BYTES)), MANY)),
        Bench::new("link/fifo-packets", || carry(fifo(Limit::Packets(1_000)), MANY)),
        Bench::new("link/fifo-idle", || carry(fifo(Limit::Bytes(LIMIT_BYTES)), FEW)),
        Bench::new("link/queued-steady", || carry(queued(constant(), 0.0, true), MANY)),
        Bench::new("link/queued-steady-idle", || carry(queued(constant(), 0.0, true), FEW)),
        Bench::new("link/queued", || carry(queued(constant(), 0.0, false), MANY)),
        Bench::new("link/queued-trace", || carry(queued(trace(), 0.0, false), MANY)),
        // So unlikely that none is lost, and yet a number is drawn for each packet.
        Bench::new("link/queued-lossy", || carry(queued(constant(), 1e-12, false), MANY)),
    ]
}

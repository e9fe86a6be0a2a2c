//! A link that follows a delivery trace besides mahimahi's arithmetic, packet by packet.
//!
//! The oracle is written from what mm-link does (link_queue.cc, `rationalize`; Netravali et al.,
//! USENIX ATC 2015), one opportunity after the other and in bytes: no code is shared.

#![allow(clippy::print_stderr)] // the numbers beside each other

use forebay_base::{
    Addr, Arena, DropLog, Endpoint, IpVersion, Packet, Rng, Span, Stream, TcpFields, Time,
};
use forebay_net::{AnyChannel, DeliveryTrace, Impairment, QueuedLink, TraceChannel};
use forebay_prerequisites::measured_trace;
use forebay_queue::{DropTail, Limit, Overflow, Pipeline, PortContext};
use std::collections::VecDeque;
use std::sync::Arc;

const MS: u64 = 1_000_000;
/// PACKET_SIZE of mahimahi: 1500 bytes of IP and 4 of the tun header, which every packet has.
const OPPORTUNITY_BYTES: u32 = 1504;
const TUN_BYTES: u32 = 4;

/// What came when: nanoseconds and bytes of IP. Packets are numbered in this order.
type Arrivals = [(u64, u32)];
/// Departures in nanoseconds with the number of the packet, and what was dropped.
type Passed = (Vec<(u64, u32)>, Vec<u32>);

/// mm-link with a drop-tail queue in front of a trace in ms. A packet of the queue counts with its
/// tun header, that in transit does not (drop_tail_packet_queue.hh, `good_with`).
fn mahimahi(trace: &[u64], limit: Limit, arrivals: &Arrivals) -> Passed {
    let (mut departed, mut dropped) = (Vec::new(), Vec::new());
    let mut queue: VecDeque<(u32, u32)> = VecDeque::new();
    let mut transit: Option<(u32, u32)> = None;
    let (mut next, mut base) = (0, 0);
    let mut rationalize = |now: u64, queue: &mut VecDeque<(u32, u32)>| {
        while (trace[next] + base) * MS <= now {
            let at = (trace[next] + base) * MS;
            next = (next + 1) % trace.len();
            if next == 0 {
                base += trace[trace.len() - 1];
            }
            let mut left = OPPORTUNITY_BYTES;
            while left > 0 {
                let Some((number, bytes)) = transit.take().or_else(|| queue.pop_front()) else {
                    break;
                };
                let sent = left.min(bytes);
                left -= sent;
                match bytes - sent {
                    0 => departed.push((at, number)),
                    rest => transit = Some((number, rest)),
                }
            }
        }
    };
    for (number, &(at, bytes)) in (0..).zip(arrivals) {
        rationalize(at, &mut queue); // before the packet is queued
        let bytes = bytes + TUN_BYTES;
        let has_room = match limit {
            Limit::Packets(limit) => (queue.len() as u64) < limit,
            limit => {
                let held: u32 = queue.iter().map(|&(_, held)| held).sum();
                u64::from(held + bytes) <= limit.most()
            }
        };
        if has_room { queue.push_back((number, bytes)) } else { dropped.push(number) }
    }
    let last = arrivals.last().map_or(0, |&(at, _)| at);
    rationalize(last + 100_000 * MS, &mut queue);
    (departed, dropped)
}

/// Our link, with a wire of no length.
fn ours(trace: &[u64], limit: Limit, arrivals: &Arrivals, steady: bool) -> Passed {
    let times = trace.iter().map(|&ms| Span::from_millis(ms));
    let trace = Arc::new(DeliveryTrace::new(times, OPPORTUNITY_BYTES).expect("a good trace"));
    let channel = AnyChannel::Trace(TraceChannel::new(trace, Span::ZERO));
    let limit = limit.framed(TUN_BYTES as u16);
    let pipeline = Pipeline::plain(DropTail::with_limit(limit).into());
    let impairment = Impairment::new(0.0, Span::ZERO, Rng::new(1, Stream::Link, 0));
    let overhead = TUN_BYTES as u16;
    let mut link = QueuedLink::new(pipeline, channel, Span::ZERO, overhead, impairment, steady);
    let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
    let (mut departed, mut dropped) = (Vec::new(), Vec::new());
    let all = (0..).zip(arrivals.iter().copied().map(Some)).chain([(0, None)]);
    for (number, arrival) in all {
        let until = arrival.map_or(Time::MAX, |(at, _)| Time::from_nanos(at));
        let due = |link: &QueuedLink| {
            let due = [link.next_transmitter(), link.next_arrival()];
            due.into_iter().flatten().min().filter(|&at| at < until)
        };
        while let Some(now) = due(&link) {
            let cx =
                &mut PortContext { now, arena: &mut arena, drops: &mut drops, split: &mut split };
            link.on_transmitter(cx);
            while let Some(packet) = link.take_arrival(now) {
                let number = packet.tcp_fields().expect("all are TCP").seq;
                departed.push((now.as_nanos(), number));
            }
        }
        let Some((_, bytes)) = arrival else { break };
        let end = |a| Endpoint { addr: Addr(a), port: 1 };
        let fields = TcpFields { seq: number, ..TcpFields::default() };
        let packet = Packet::tcp(IpVersion::V4, end(0), end(1), fields, bytes as u16 - 40);
        let cx = &mut PortContext {
            now: until,
            arena: &mut arena,
            drops: &mut drops,
            split: &mut split,
        };
        if let Err(Overflow(_)) = link.offer(packet, until, cx) {
            dropped.push(number);
        }
    }
    // Those that left at one time left in this order.
    (departed, dropped)
}

/// Ten seconds of packets of many lengths, about `load` times what the trace carries; some on the
/// grid of the trace, some together, with pauses.
fn arrivals(rng: &mut Rng, load: f64, trace: &[u64]) -> Vec<(u64, u32)> {
    let period = trace[trace.len() - 1];
    let gap_ns = (period as f64 * MS as f64 / trace.len() as f64 / load) as u64 + 1;
    let grid = [1, 1_000, MS][rng.below(3) as usize];
    let mut now = 0;
    let mut next = || {
        now += match rng.below(20) {
            0 => 0,
            1 => rng.below(100 * MS),
            _ => rng.below(2 * gap_ns),
        };
        let bytes = if rng.chance(0.6) { 1500 } else { 40 + rng.below(1461) as u32 };
        (now / grid * grid, bytes)
    };
    std::iter::from_fn(|| Some(next())).take_while(|&(at, _)| at < 10_000 * MS).collect()
}

fn compare(trace: &[u64], seed: u64, what: &str) -> usize {
    let mut rng = Rng::new(seed, Stream::Test, 7);
    let load = [0.3, 0.9, 1.1, 3.0][rng.below(4) as usize];
    let limit = match rng.below(2) {
        0 => Limit::Packets([3, 40, 100_000][rng.below(3) as usize]),
        _ => Limit::Bytes([3_008, 30_000, 60_160][rng.below(3) as usize]),
    };
    let arrivals = arrivals(&mut rng, load, trace);
    let expected = mahimahi(trace, limit, &arrivals);
    for steady in [false, true] {
        let found = ours(trace, limit, &arrivals, steady);
        let first = expected.0.iter().zip(&found.0).position(|(a, b)| a != b);
        assert_eq!(
            first,
            None,
            "{what}, seed {seed}, limit {limit}: {:?}",
            first.map(|i| { (expected.0[i], found.0[i], arrivals[expected.0[i].1 as usize]) })
        );
        assert_eq!(expected.1, found.1, "{what}, seed {seed}, limit {limit}: what was dropped");
        assert_eq!(expected.0.len(), found.0.len(), "{what}, seed {seed}");
    }
    expected.0.len()
}

/// A trace of `length` ms whose opportunities come in bursts, from a walk of the rate.
fn random_trace(rng: &mut Rng, length: u64) -> Vec<u64> {
    let mut trace = Vec::new();
    let mut now = rng.below(3); // often at zero
    let most = 1 + rng.below(12);
    while now < length {
        let burst = 1 + rng.below(most);
        trace.extend((0..burst).map(|_| now));
        now += if rng.chance(0.03) { rng.below(300) } else { rng.below(9) };
    }
    // An end of the period that is an opportunity, as any is.
    trace.push(now.max(1));
    trace
}

#[test]
fn two_hundred_random_traces() {
    let mut packets = 0;
    for seed in 0..200 {
        let mut rng = Rng::new(seed, Stream::Test, 3);
        let length = [5, 400, 12_000][rng.below(3) as usize];
        let trace = random_trace(&mut rng, length);
        packets += compare(&trace, seed, "a random trace");
    }
    assert!(packets > 200_000, "{packets}");
}

/// A constant rate (a file that holds "1"), and one opportunity of many at a time.
#[test]
fn two_traces_by_hand() {
    for seed in 0..8 {
        assert!(compare(&[1], seed, "1") > 500);
        let bursts: Vec<u64> = (0..400).map(|n| n / 40 * 25).chain([250]).collect();
        assert!(compare(&bursts, seed, "40 opportunities each 25 ms") > 500);
    }
}

#[test]
fn measured_traces() {
    for name in ["2_campus_pedestrian.trace", "ATT-LTE-driving.down"] {
        let Some(file) = measured_trace(name) else { continue };
        let text = std::fs::read_to_string(file).expect("a text");
        let trace: Vec<u64> = text.lines().map(|line| line.parse().expect("a number")).collect();
        for seed in 0..4 {
            assert!(compare(&trace, seed, name) > 500);
        }
    }
}

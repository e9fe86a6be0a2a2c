//! Packets to bytes and back, what a router changes in bytes, and the trace hash.

use crate::harness::{Bench, repeat};
use crate::packets::{data, sack};
use forebay_base::{Arena, Ecn, LinkId, Packet, Time};
use forebay_sim::TraceSum;
use forebay_wire::{AddressPlan, emit, parse, patch};
use std::hint::black_box;

const BEFORE: u64 = 100;
const OPERATIONS: u64 = 5_000;

type Make = fn(u32, &mut Arena) -> Packet;

fn emitted(make: Make) -> u64 {
    let (plan, mut arena, mut bytes) = (AddressPlan::default(), Arena::default(), Vec::new());
    let packet = make(1, &mut arena);
    repeat(BEFORE, OPERATIONS, || {
        bytes.clear();
        emit(black_box(&packet), &arena, &plan, &mut bytes).expect("within the plan");
        black_box(&bytes);
    })
}

fn parsed(make: Make) -> u64 {
    let (plan, mut arena, mut bytes) = (AddressPlan::default(), Arena::default(), Vec::new());
    let packet = make(1, &mut arena);
    emit(&packet, &arena, &plan, &mut bytes).expect("within the plan");
    repeat(BEFORE, OPERATIONS, || {
        let packet = parse(black_box(&bytes), &plan, &mut arena).expect("it was emitted");
        arena.free(black_box(packet));
    })
}

fn patched() -> u64 {
    let (plan, arena, mut bytes) = (AddressPlan::default(), Arena::default(), Vec::new());
    emit(&data(1), &arena, &plan, &mut bytes).expect("within the plan");
    let mut ttl = 0u8;
    repeat(BEFORE, OPERATIONS, || {
        ttl = ttl.wrapping_add(1);
        patch(black_box(&mut bytes), ttl, Ecn::Ce).expect("it begins with a header");
    })
}

/// What a hop costs for the trace hash, the packet's signature included.
fn hashed(make: Make) -> u64 {
    let (mut arena, mut sum) = (Arena::default(), TraceSum::default());
    let packet = make(1, &mut arena);
    let mut ns = 0;
    let operations = repeat(BEFORE, OPERATIONS, || {
        ns += 12_000;
        let packet = black_box(&packet);
        let (at, signature) = (Time::from_nanos(ns), packet.signature(&arena));
        sum.arrived(at, LinkId(1), signature, packet.ttl());
    });
    black_box(sum);
    operations
}

pub fn benches() -> Vec<Bench> {
    let makes: [(&str, Make); 2] = [("data", |number, _| data(number)), ("sack", sack)];
    let of = |(name, make): (&str, Make)| {
        [
            Bench::new(format!("wire/emit-{name}"), move || emitted(make)),
            Bench::new(format!("wire/parse-{name}"), move || parsed(make)),
            Bench::new(format!("trace-hash/{name}"), move || hashed(make)),
        ]
    };
    let patched = Bench::new("wire/patch", patched);
    makes.into_iter().flat_map(of).chain([patched]).collect()
}

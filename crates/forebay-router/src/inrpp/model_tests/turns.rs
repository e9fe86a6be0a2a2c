//! Turns of flows in a cache: deficit round robin, and credits under one nonce.

use super::flow;
use crate::inrpp::cache::Cached;
use crate::inrpp::credits::Arrived;
use crate::inrpp::interface::Interface;
use crate::inrpp::key::Class;
use crate::inrpp::settings::{CacheLimits, Settings, TurnOrder};
use alloc::vec::Vec;
use forebay_base::{Rng, Stream, Time};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};

/// Shreedhar and Varghese, theorem 2: among flows with a backlog no one gets ahead of another by
/// more than Q + 2 Max.
#[test]
fn flows_share_the_link_and_its_detours_within_the_bound_of_deficit_round_robin() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed, Stream::Test, 1);
        let quantum_bytes = [64, 500, 1500, 9000][rng.below(4) as usize];
        let settings = Settings { quantum_bytes, ..Settings::default() };
        let roomy = CacheLimits { low_bytes: 1, high_bytes: 1 << 29, total_bytes: 1 << 30 };
        let mut machine = Interface::<u32>::new(roomy, 1500, &settings);
        let largest: Vec<u64> = (0..4).map(|_| 40 + rng.below(1461)).collect();
        for n in (0..4).flat_map(|n| [n; 400]) {
            let wire_len = 1 + rng.below(largest[n]) as u16;
            let what = n as u32;
            let cached = Cached {
                echo: None,
                wire_len,
                payload_len: wire_len,
                seq: 0,
                taggable: true,
                what,
            };
            machine.keep(Time::ZERO, flow(n as u64, Class::Pooled), cached, 0, &mut rng);
        }
        let mut sent = [0u64; 4];
        while machine.flows().count() == 4 {
            let (_, cached) = if rng.chance(0.4) {
                machine.pull_for_detour(Time::ZERO, 1500, &mut rng).unwrap()
            } else {
                machine.pull(Time::ZERO, &mut rng).unwrap()
            };
            sent[cached.what as usize] += cached.wire_len as u64;
            let ahead = sent.iter().max().unwrap() - sent.iter().min().unwrap();
            let bound = quantum_bytes as u64 + 2 * largest.iter().max().unwrap();
            assert!(ahead <= bound, "{seed}: {sent:?}, bound {bound}");
        }
    }
}

#[test]
fn flows_under_one_nonce_have_as_many_credits_each() {
    let limits = CacheLimits { low_bytes: 1, high_bytes: 1 << 29, total_bytes: 1 << 30 };
    let mut machine = Interface::<u32>::new(limits, 1500, &Settings::default());
    let mut rng = Rng::new(1, Stream::Test, 2);
    let nonce = Nonce::new(5);
    let slow = BackPressure {
        ask: BackPressureSignal::SlowDown,
        routers: 1,
        nonce,
        ..BackPressure::default()
    };
    let mut before = 0;
    let mut ack = |machine: &mut Interface<u32>, n| {
        before += 1_500;
        let arrived = Arrived { before, highest: before };
        machine.on_ack(Time::ZERO, flow(n, Class::Pooled), arrived, slow);
    };
    ack(&mut machine, 0);
    for n in (0..7).flat_map(|n| [n; 100]) {
        let (wire_len, payload_len) = (1_500, 1_500);
        let cached = Cached { echo: nonce, wire_len, payload_len, seq: 0, taggable: true, what: n };
        machine.keep(Time::ZERO, flow(n as u64, Class::Pooled), cached, 0, &mut rng);
    }
    // The ACK that came before anything waited is worth a packet of the first that came.
    assert_eq!(machine.pull(Time::ZERO, &mut rng).map(|(_, cached)| cached.what), Some(0));
    let mut sent = [0u32; 7];
    for _ in 0..500 {
        while let Some((_, cached)) = machine.pull(Time::ZERO, &mut rng) {
            sent[cached.what as usize] += 1;
        }
        // Only flow 3 has ACKs.
        ack(&mut machine, 3);
        assert!(sent.iter().max().unwrap() - sent.iter().min().unwrap() <= 1, "{sent:?}");
    }
    assert_eq!(sent.iter().sum::<u32>(), 499, "one for each ACK but the last");
}

fn packet(what: u32, wire_len: u16) -> Cached<u32> {
    Cached { echo: None, wire_len, payload_len: wire_len, seq: 0, taggable: true, what }
}

fn in_order(order: TurnOrder) -> Interface<u32> {
    let roomy = CacheLimits { low_bytes: 1, high_bytes: 1 << 29, total_bytes: 1 << 30 };
    Interface::new(roomy, 1500, &Settings { order, ..Settings::default() })
}

/// A flow has sent A packets and has many more when one of B comes. By attained service the second
/// one has the link to itself until it has sent A, and half of it from then on: it takes the time
/// of B packets if B <= A, else that of 2 B - A. With equal shares it takes 2 B.
#[test]
fn a_late_short_flow_takes_as_long_as_the_closed_forms_say() {
    for (a, b) in [(10, 4), (10, 10), (10, 30), (2, 6), (0, 8)] {
        for (order, expect) in
            [(TurnOrder::Share, 2 * b), (TurnOrder::Attained, if b <= a { b } else { 2 * b - a })]
        {
            let mut machine = in_order(order);
            let mut rng = Rng::new(1, Stream::Test, 3);
            let mut keep = |machine: &mut Interface<u32>, n: u32, packets| {
                for _ in 0..packets {
                    let flow = flow(n.into(), Class::Pooled);
                    machine.keep(Time::ZERO, flow, packet(n, 1500), 0, &mut rng);
                }
            };
            keep(&mut machine, 0, a + 100);
            let mut rng = Rng::new(1, Stream::Test, 4);
            let mut pull = |machine: &mut Interface<u32>| {
                let (flow, cached) = machine.pull(Time::ZERO, &mut rng).unwrap();
                machine.note_sent(Time::ZERO, flow, cached.wire_len);
                cached.what
            };
            (0..a).for_each(|_| assert_eq!(pull(&mut machine), 0));
            keep(&mut machine, 1, b);
            let sent: Vec<u32> = (0..2 * b + 1).map(|_| pull(&mut machine)).collect();
            let last = 1 + sent.iter().rposition(|&n| n == 1).unwrap() as u32;
            assert!(last.abs_diff(expect) <= 1, "{order:?}, {a}, {b}: {last}, {expect}: {sent:?}");
        }
    }
}

/// Whatever comes and leaves, also past the cache and on detours: who sends has sent no more than
/// anybody else who waits. A flow that has run dry is not new when it comes back.
#[test]
fn by_attained_service_who_sends_has_sent_least() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed, Stream::Test, 5);
        let mut machine = in_order(TurnOrder::Attained);
        let (mut sent, mut waiting) = ([0u64; 6], [0u32; 6]);
        for _ in 0..600 {
            let n = rng.below(6) as usize;
            let (key, wire_len) = (flow(n as u64, Class::Pooled), 40 + rng.below(1461) as u16);
            if rng.chance(0.5) {
                if machine.passes(key, None) {
                    machine.note_sent(Time::ZERO, key, wire_len);
                    sent[n] += u64::from(wire_len);
                    if rng.chance(0.5) {
                        continue;
                    }
                }
                machine.keep(Time::ZERO, key, packet(n as u32, wire_len), 0, &mut rng);
                waiting[n] += 1;
                continue;
            }
            let pulled = if rng.chance(0.3) {
                machine.pull_for_detour(Time::ZERO, 1500, &mut rng)
            } else {
                machine.pull(Time::ZERO, &mut rng)
            };
            let Some((key, cached)) = pulled else {
                assert_eq!(waiting, [0; 6], "a flow that waits may send");
                continue;
            };
            machine.note_sent(Time::ZERO, key, cached.wire_len);
            let n = cached.what as usize;
            let least = (0..6).filter(|&n| waiting[n] > 0).map(|n| sent[n]).min();
            assert_eq!(Some(sent[n]), least, "{seed}: {n} of {sent:?}, {waiting:?}");
            waiting[n] -= 1;
            sent[n] += u64::from(cached.wire_len);
        }
    }
}

/// As with credits, what a flow has sent counts for 30 s.
#[test]
fn a_flow_that_was_silent_for_long_is_new_again() {
    for (silent_s, first) in [(29, 1), (30, 0)] {
        let mut machine = in_order(TurnOrder::Attained);
        let mut rng = Rng::new(1, Stream::Test, 6);
        let [old, other] = [0, 1].map(|n| flow(n, Class::Pooled));
        machine.note_sent(Time::ZERO, old, 1500);
        let now = Time::from_secs(silent_s);
        machine.note_sent(now, other, 1000);
        machine.keep(now, other, packet(1, 1500), 0, &mut rng);
        machine.keep(now, old, packet(0, 1500), 0, &mut rng);
        assert_eq!(machine.pull(now, &mut rng).map(|(_, p)| p.what), Some(first), "{silent_s} s");
    }
}

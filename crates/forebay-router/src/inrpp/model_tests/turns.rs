//! Turns of flows in a cache: deficit round robin, and credits under one nonce.

use super::flow;
use crate::inrpp::cache::Cached;
use crate::inrpp::credits::Arrived;
use crate::inrpp::interface::Interface;
use crate::inrpp::key::Class;
use crate::inrpp::settings::{CacheLimits, Settings};
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

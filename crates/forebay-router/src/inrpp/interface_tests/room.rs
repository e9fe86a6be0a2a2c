//! How much a port has room for, and for whom.

use super::super::interface::Interface;
use super::super::key::{Class, FlowKey};
use super::super::settings::{CacheLimits, Crowd, Settings};
use super::super::state::State;
use super::{Bench, LIMITS, PACKET, asks, flow, ms, packet};
use alloc::vec::Vec;
use forebay_base::Rate;
use forebay_signal::inrpp::{BackPressure, BackPressureSignal};

/// Of three flows the last may take no detour. The link and a detour send in turn: with pooled
/// turns that one has half of the link while the others take the detour between its turns, without
/// them a third.
#[test]
fn what_leaves_on_a_detour_counts_in_turns_or_does_not() {
    for (pooled_turns, plain) in [(true, 15), (false, 10)] {
        let limits = CacheLimits { low_bytes: 1 << 20, high_bytes: 1 << 21, total_bytes: 1 << 22 };
        let settings = Settings { pooled_turns, ..Settings::default() };
        let interface = Interface::new(limits, PACKET, &settings);
        let mut b = Bench { interface, ..Bench::new() };
        for n in (1..=3).cycle().take(180) {
            let class = if n == 3 { Class::Plain } else { Class::Pooled };
            let key = FlowKey::new((n, 1), (9, 2), class);
            assert_eq!(b.interface.keep(ms(0), key, packet(n), 1 << 20, &mut b.rng).refused, None);
        }
        let mut sent = [0; 4];
        for _ in 0..30 {
            sent[b.pull(ms(0)).unwrap().1 as usize] += 1;
            let (_, aside) = b.interface.pull_for_detour(ms(0), PACKET, &mut b.rng).unwrap();
            sent[aside.what as usize] += 1;
        }
        let [_, one, other, last] = sent;
        assert!(i32::abs_diff(last, plain) <= 1, "{pooled_turns}: {sent:?}");
        assert!(one.min(other) > last, "{pooled_turns}: {sent:?}");
    }
}

/// New flows are told what is missing to S_high, half of it each, less what leaves in the meantime.
#[test]
fn a_syn_ack_is_told_how_much_there_is_room_for() {
    let limits = CacheLimits { low_bytes: 60_000, high_bytes: 120_000, total_bytes: 240_000 };
    let mut b = Bench::with(limits);
    let rate = Rate::mbps(12); // a packet in 1 ms
    let none = BackPressure::default();
    let told = |b: &mut Bench, at, came, written| b.interface.offer(at, rate, came, written);
    let offers = [0, 0, 0, 30].map(|at| told(&mut b, ms(at), none, none).allowance);
    // 80 packets; 70 of them are taken when 30 have left: 40.
    assert_eq!(offers, [40, 20, 10, 20]);
    let less = BackPressure { allowance: 3, ..none };
    assert_eq!(told(&mut b, ms(500), less, none).allowance, 3, "another router has less");
    for n in 0..80 {
        b.put(ms(500), n, 0);
    }
    assert_eq!(told(&mut b, ms(500), none, none).allowance, 1, "nothing is missing");
    let asked = asks(BackPressureSignal::SlowDown, 7);
    assert_eq!(told(&mut b, ms(500), none, asked), asked, "who asks has said what is to be done");
}

/// In state P packets wait in turns, up to a few of them.
#[test]
fn a_few_packets_in_the_cache_are_no_congestion() {
    let limits = CacheLimits { low_bytes: 60_000, high_bytes: 120_000, total_bytes: 240_000 };
    let mut b = Bench::with(limits);
    b.interface = b.interface.with_push_bytes(3 * u64::from(PACKET));
    let mut after = Vec::new();
    for n in [1, 1, 1, 2] {
        b.put(ms(0), n, 0);
        after.push(b.interface.state());
    }
    assert_eq!(after, [State::Push, State::Push, State::Push, State::StoreDetour]);
    let turns: Vec<FlowKey> = core::iter::from_fn(|| b.pull(ms(1))).map(|(flow, _)| flow).collect();
    assert_eq!(turns, [flow(1), flow(2), flow(1), flow(1)]);
    assert_eq!(b.interface.state(), State::Push);
    // Of a small cache no more than half of S_low: a packet and a half.
    let mut small = Bench::with(LIMITS);
    small.interface = small.interface.with_push_bytes(1 << 20);
    small.put(ms(0), 1, 0);
    assert_eq!(small.interface.state(), State::Push);
    small.put(ms(0), 1, 0);
    assert_eq!(small.interface.state(), State::StoreDetour);
}

/// With all four flows S_high is 20 packets and S_low 10; each that is missing takes 4 and 2 away.
#[test]
fn thresholds_follow_the_flows_that_are_there() {
    let limits = CacheLimits { low_bytes: 15_000, high_bytes: 30_000, total_bytes: 60_000 };
    let crowded = || {
        let b = Bench::with(limits);
        let crowd = Crowd { flows: 4, flow_bytes: 6_000 };
        Bench { interface: b.interface.with_crowd(crowd), ..b }
    };
    let put = |b: &mut Bench, n: u32, packets: u32| {
        (0..packets).for_each(|_| assert!(b.put(ms(0), n, 0).is_empty()));
        b.interface.state()
    };
    let mut b = crowded();
    assert_eq!([put(&mut b, 1, 8), put(&mut b, 1, 1)], [State::StoreDetour, State::BackPressure]);
    // Another one comes, and both have their packets asked for by the smaller S_low of two flows.
    put(&mut b, 2, 1);
    b.ack(ms(0), 1, BackPressure::default());
    let mut states = core::iter::from_fn(|| {
        b.pull(ms(1))?;
        Some((b.interface.cache_bytes() / u64::from(PACKET), b.interface.state()))
    });
    let ends = states.find(|(_, state)| *state == State::Disable).expect("B ends");
    assert_eq!(ends.0, 3, "flow 2 is gone: S_low of one flow is four packets");
    let mut all = crowded();
    let one_each = [1, 2, 3].map(|n| put(&mut all, n, 1));
    assert_eq!((one_each, put(&mut all, 4, 17)), ([State::StoreDetour; 3], State::StoreDetour));
    assert_eq!(put(&mut all, 4, 1), State::BackPressure);
    let more = put(&mut all, 5, 1);
    assert_eq!(more, State::BackPressure, "a fifth takes nothing away");
    // A SYN-ACK is told half of what the cache would hold of all flows, up to a first flight.
    let mut idle = crowded();
    let none = BackPressure::default();
    assert_eq!(idle.interface.offer(ms(0), Rate::mbps(12), none, none).allowance, 10);
}

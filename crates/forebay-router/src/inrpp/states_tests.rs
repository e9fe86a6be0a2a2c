//! Every state that a small interface machine can get into: no flow that was asked to slow down is
//! forgotten, and with time everything leaves.

use super::cache::Cached;
use super::credits::Arrived;
use super::interface::Interface;
use super::key::{Class, FlowKey};
use super::model_tests::flow;
use super::settings::{CacheLimits, Settings};
use super::state::State;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use forebay_base::{Rng, Stream, Time};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};

/// Bytes of a packet of the small machine. Its S_high is two of them: a quarter of that is room for
/// two packets of 1500 bytes of one flow, for one of each of two.
const UNIT: u16 = 6_000;

/// A state of the small machine, and who is owed a cancellation.
type Node = (Interface<u8>, BTreeSet<FlowKey>);

/// Everything that can happen to it within an instant. Nonces are drawn from the same numbers each
/// time: at most two aliases.
fn steps((machine, owed): &Node) -> Vec<Node> {
    let rng = || Rng::new(7, Stream::Test, 3);
    let mut next = Vec::new();
    let mut add = |change: &dyn Fn(&mut Interface<u8>, &mut BTreeSet<FlowKey>)| {
        let (mut after, mut owed) = (machine.clone(), owed.clone());
        change(&mut after, &mut owed);
        check_step(machine.state(), after.state(), &mut owed);
        next.push((after, owed));
    };
    for n in 0..2 {
        let flow = flow(n, Class::Pooled);
        for echo in [None, Nonce::new(5)] {
            let cached = || {
                let (wire_len, payload_len) = (UNIT, UNIT);
                Cached { echo, wire_len, payload_len, seq: 0, taggable: true, what: 0 }
            };
            add(&|m, _| {
                m.keep(Time::ZERO, flow, cached(), 0, &mut rng());
            });
        }
        for (ask, nonce, allowance) in [
            (BackPressureSignal::Nothing, 0, 0),
            (BackPressureSignal::Nothing, 5, 1),
            (BackPressureSignal::SlowDown, 5, 0),
            (BackPressureSignal::Pause, 5, 0),
            (BackPressureSignal::Nothing, 5, 0),
            (BackPressureSignal::Cancel, 5, 0),
            (BackPressureSignal::SlowDown, 6, 0),
        ] {
            let came = BackPressure {
                ask,
                allowance,
                nonce: Nonce::new(nonce),
                ..BackPressure::default()
            };
            add(&|m, owed| {
                let state = m.state();
                // Half a packet more, or nothing: what the second ACK under a nonce reports.
                let before = if allowance > 0 { 0 } else { u32::from(UNIT) / 2 };
                let arrived = Arrived { before, highest: before };
                let wrote = m.on_ack(Time::ZERO, flow, arrived, came);
                let own = wrote.nonce.is_some_and(|nonce| nonce.get() > 6);
                if matches!(wrote.ask, BackPressureSignal::SlowDown | BackPressureSignal::Pause)
                    && own
                {
                    assert_eq!(state, State::BackPressure);
                    owed.insert(flow);
                } else if state == State::Disable
                    && ask != BackPressureSignal::Cancel
                    && owed.remove(&flow)
                {
                    assert!(wrote.ask == BackPressureSignal::Cancel && own, "{wrote:?}");
                }
            });
        }
    }
    add(&|m, _| {
        m.pull(Time::ZERO, &mut rng());
    });
    add(&|m, _| {
        m.pull_for_detour(Time::ZERO, UNIT, &mut rng());
    });
    next
}

/// Back-pressure is not given up before all have been signalled; if it begins again they are asked
/// again.
fn check_step(before: State, after: State, owed: &mut BTreeSet<FlowKey>) {
    if after == State::BackPressure && before != State::BackPressure {
        owed.clear();
    }
    let given_up = matches!(after, State::Push | State::StoreDetour);
    assert!(!given_up || owed.is_empty(), "{before:?} to {after:?}, {owed:?} not told");
}

/// With the link and time alone everything leaves, and nothing is left to be done.
fn drains(mut machine: Interface<u8>) {
    let mut rng = Rng::new(7, Stream::Test, 3);
    // At most five credits without ACKs before a nonce is forgotten, two nonces, and the end of DB.
    let mut now = Time::ZERO;
    for _ in 0..32 {
        while machine.pull(now, &mut rng).is_some() {}
        assert!(!machine.has_eligible());
        match machine.next_timeout() {
            Some(at) => now = at,
            None => {
                assert_eq!((machine.cache_packets(), machine.state()), (0, State::Push));
                return;
            }
        }
        machine.on_timeout(now, &mut rng);
    }
    panic!("it does not come to rest: {machine:?}");
}

/// FNV-1a: the machine has a hash and no order, and a pure crate no hash table.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Nodes by hash.
#[derive(Default)]
struct Seen(BTreeMap<u64, Vec<Node>>);

impl Seen {
    /// False if it is there.
    fn insert(&mut self, node: &Node) -> bool {
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        node.hash(&mut hasher);
        let alike = self.0.entry(hasher.finish()).or_default();
        let new = !alike.contains(node);
        if new {
            alike.push(node.clone());
        }
        new
    }
}

#[test]
fn every_state_of_a_small_interface_keeps_its_word_and_drains() {
    let bytes = u64::from(UNIT);
    let limits =
        CacheLimits { low_bytes: 2 * bytes, high_bytes: 2 * bytes, total_bytes: 4 * bytes };
    let settings = Settings { quantum_bytes: UNIT.into(), ..Settings::default() };
    let mut seen = Seen::default();
    let mut edge: Vec<Node> = [(Interface::new(limits, 1500, &settings), BTreeSet::new())].into();
    for _ in 0..6 {
        let next: Vec<Node> = edge.iter().flat_map(steps).collect();
        edge = next.into_iter().filter(|node| seen.insert(node)).collect();
        edge.iter().for_each(|(machine, _)| drains(machine.clone()));
    }
    let states: usize = seen.0.values().map(Vec::len).sum();
    assert!(states > 30_000, "{states} states");
}

/// A flow that gains a quantum goes to the end of the round, after more flows that may take
/// no detour than are looked at. It has a packet for the detour all the same.
#[test]
fn a_flow_that_may_take_a_detour_does_behind_many_that_may_not() {
    let limits =
        CacheLimits { low_bytes: 1_000_000, high_bytes: 2_000_000, total_bytes: 4_000_000 };
    let settings = Settings { quantum_bytes: 1_500, ..Settings::default() };
    let mut rng = Rng::new(7, Stream::Test, 3);
    // A packet of more than a quantum, and of more than three.
    for wire_len in [1_508, 5_000] {
        let mut machine = Interface::new(limits, 1500, &settings);
        for n in 0..60 {
            let taggable = n == 10;
            let (payload_len, seq, what) = (wire_len - 60, 0, n as u8);
            let cached = Cached { echo: None, wire_len, payload_len, seq, taggable, what };
            // Rounds that are not short: no flow is ahead of others.
            machine.keep(Time::ZERO, flow(n, Class::Pooled), cached, 0, &mut rng);
        }
        assert!(machine.has_eligible_for_detour(wire_len));
        let pulled = machine.pull_for_detour(Time::ZERO, wire_len, &mut rng);
        assert_eq!(pulled.map(|(_, cached)| cached.what), Some(10));
        assert!(!machine.has_eligible_for_detour(wire_len));
    }
}

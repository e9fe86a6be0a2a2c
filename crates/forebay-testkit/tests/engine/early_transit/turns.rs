//! Whose turn it is where several sockets of a host share an interface: a run with all fast ways
//! gives what one without them gives, in any number of threads.

use super::networks::odd;
use super::random::{random_looks, readings};
use forebay_base::{Rng, Span, Stream};
use forebay_net::NetSpec;
use forebay_sim::Options;
use forebay_testkit::random_pool::{self, NetworkConditions};
use forebay_testkit::{lives, random};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

type Pool = (&'static str, fn(u64) -> NetSpec);

const POOLS: [Pool; 5] = [
    ("foul", |seed| random_pool::scenario(seed, NetworkConditions::Foul)),
    ("fair", |seed| random_pool::scenario(seed, NetworkConditions::Fair)),
    ("random", random::scenario),
    ("odd", odd),
    ("instant", instant),
];

/// Many links have no delay: what leaves them arrives at the same instant, which the general path
/// knows only when the transmission has ended.
fn instant(seed: u64) -> NetSpec {
    let mut spec = odd(seed);
    let mut rng = Rng::new(seed, Stream::Test, 27);
    let share = [0.3, 1.0][rng.below(2) as usize];
    for link in &mut spec.links {
        if rng.chance(share) {
            link.wire.delay = Span::ZERO;
        }
    }
    spec
}

/// The networks of these seeds that give another trace hash, another number of packets or other
/// flows without fast paths.
fn that_differ(pools: &[Pool], seeds: std::ops::Range<u64>) -> Vec<String> {
    let (next, differ) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let check = |(name, scenario): Pool, seed: u64| {
        let mut spec = scenario(seed);
        if seed % 4 == 3 {
            lives::give(&mut spec, seed);
        }
        let looks = random_looks(&spec, seed);
        let run = |options| {
            let last = readings(&spec, seed, options, &looks).1.readings.pop().expect("a look");
            (last.trace_hash, last.status, last.conservation, last.drops, last.ends)
        };
        let general = run(Options { general: true, ..Options::default() });
        for threads in [1, 2 + seed as usize % 3] {
            if run(Options { threads, ..Options::default() }) != general {
                differ.lock().unwrap().push(format!("{name} {seed} in {threads} threads"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let seed = seeds.start + number / pools.len() as u64;
                    if seed >= seeds.end {
                        return;
                    }
                    check(pools[number as usize % pools.len()], seed);
                }
            });
        }
    });
    differ.into_inner().unwrap()
}

/// Of the first pool 169 among them: a deadline that comes early once put a socket into the order
/// of turns, on the fast path alone.
#[test]
fn sockets_of_a_host_have_the_same_turns_without_fast_ways() {
    assert_eq!(that_differ(&POOLS[..1], 160..180), [""; 0]);
    assert_eq!(that_differ(&POOLS, 0..20), [""; 0]);
}

/// Among them 38, 53 and 64: arrivals that came after transmitters of their instant.
#[test]
fn arrivals_without_delay_come_first_without_fast_ways() {
    assert_eq!(that_differ(&POOLS[4..], 30..100), [""; 0]);
}

#[test]
#[ignore = "the long form: minutes"]
fn sockets_of_a_host_have_the_same_turns_without_fast_ways_in_many_networks() {
    assert_eq!(that_differ(&POOLS, 0..1_000), [""; 0]);
}

//! The order in which a port serves its cache.

use super::super::interface::Interface;
use super::super::settings::{CacheLimits, Settings};
use super::{Bench, Cached, PACKET, ROOMY, flow, ms, packet};
use alloc::vec::Vec;
use forebay_base::{Rng, Stream};

/// A router recognises a retransmission by its number: what its flow has here comes after it.
#[test]
fn what_is_sent_again_goes_ahead_of_what_waits_of_its_flow_and_of_no_other() {
    let mut b = Bench::new();
    let mut put = |n: u32, seq: u32| {
        let cached = Cached { seq, ..packet(seq) };
        b.interface.keep(ms(0), flow(n), cached, 0, &mut b.rng);
    };
    let order = [(1, 50), (1, 51), (2, 60), (1, 10), (1, 11), (1, 52)];
    order.into_iter().for_each(|(n, seq)| put(n, seq));
    let order: Vec<u32> = core::iter::from_fn(|| b.pull(ms(0))).map(|(_, what)| what).collect();
    assert_eq!(order, [10, 60, 11, 50, 51, 52]);
}

/// Wherever that is in the backlog: its later data waits for it at the receiver.
#[test]
fn what_comes_late_over_a_detour_has_its_place_among_what_waits_of_its_flow() {
    let mut b = Bench::with(CacheLimits { total_bytes: 1_000_000, ..ROOMY });
    let late = [3, 150, 299];
    let order = (0..300).filter(|seq| !late.contains(seq)).chain([150, 299, 3]);
    for at in order {
        // Across the wrap of sequence numbers.
        let seq = u32::wrapping_sub(at, 200);
        b.interface.keep(ms(0), flow(1), Cached { seq, ..packet(at) }, 0, &mut b.rng);
    }
    let order: Vec<u32> = core::iter::from_fn(|| b.pull(ms(0))).map(|(_, what)| what).collect();
    assert_eq!(order, (0..300).collect::<Vec<u32>>());
}

/// Each of three bulk flows is in the middle of a round. A quantum is a packet.
#[test]
fn a_new_flow_has_a_quantum_first_and_is_not_new_again_before_the_round_is_over() {
    let mut b = Bench::new();
    for n in [1, 1, 2, 2, 3, 3] {
        b.put(ms(0), n, 0);
    }
    let next = |b: &mut Bench| b.pull(ms(0)).expect("all may leave").0;
    assert_eq!([0; 3].map(|_| next(&mut b)), [1, 2, 3].map(flow));
    b.put(ms(0), 4, 0);
    assert_eq!(next(&mut b), flow(4), "first");
    b.put(ms(0), 4, 0);
    b.put(ms(0), 4, 0);
    b.put(ms(0), 5, 0);
    assert_eq!(next(&mut b), flow(5), "new as well");
    let rest = [0; 5].map(|_| next(&mut b));
    assert_eq!(rest, [1, 2, 3, 4, 4].map(flow), "4 and 5 kept a place at the end of the round");
    b.put(ms(0), 4, 0);
    b.put(ms(0), 6, 0);
    assert_eq!((next(&mut b), next(&mut b)), (flow(4), flow(6)), "the round is over");
}

/// TCP with a small window competing with bulk: its next packet comes when the last has left.
#[test]
fn a_flow_that_runs_dry_with_each_packet_has_one_in_a_round() {
    let mut b = Bench::with(ROOMY);
    for n in [1, 2, 3].repeat(10) {
        b.put(ms(0), n, 0);
    }
    b.put(ms(0), 4, 0);
    for _ in 0..5 {
        for n in [1, 2, 3, 4] {
            assert_eq!(b.pull(ms(0)).expect("all may leave").0, flow(n));
        }
        b.put(ms(0), 4, 0);
    }
}

/// A first packet of the longest length that the link takes is ahead as any other is.
#[test]
fn a_new_flow_of_long_packets_is_ahead_by_one() {
    for mtu_bytes in [1_500, 9_000] {
        let settings = Settings::default();
        let interface: Interface<u32> = Interface::new(ROOMY, mtu_bytes, &settings);
        let mut interface = interface.with_short_round(4_000_000);
        let mut rng = Rng::new(1, Stream::Forwarding, 0);
        for n in [1, 2, 1, 2, 3, 3] {
            if n == 3 && interface.cache_packets() == 4 {
                let mut next = || interface.pull(ms(0), &mut rng).expect("all may leave").0;
                assert_eq!([next(), next()], [1, 2].map(flow));
            }
            let cached = Cached { wire_len: mtu_bytes, ..packet(0) };
            interface.keep(ms(0), flow(n), cached, 1_000_000, &mut rng);
        }
        let mut next = || interface.pull(ms(0), &mut rng).expect("all may leave").0;
        assert_eq!([0; 4].map(|_| next()), [3, 1, 2, 3].map(flow), "{mtu_bytes}");
    }
}

/// What its sender took for lost waits here: as much of it, or less, of the same flow.
#[test]
fn a_copy_of_what_waits_is_known() {
    let mut b = Bench::new();
    (0..4).for_each(|_| drop(b.put(ms(0), 1, 0))); // sequence numbers 1 to 4
    let known = |b: &Bench, n: u32, seq: u32, payload_len: u16| {
        let copy = Cached { seq, payload_len, ..packet(9) };
        b.interface.has_copy(flow(n), &copy)
    };
    for (seq, payload_len, is_copy) in [
        (1, PACKET, true),
        (3, PACKET - 1, true),
        (3, PACKET + 1, false),
        (4, PACKET, true),
        (4, 0, false),
        (5, PACKET, false),
        (0, PACKET, false),
    ] {
        assert_eq!(known(&b, 1, seq, payload_len), is_copy, "{payload_len} bytes from {seq}");
    }
    assert!(!known(&b, 2, 3, PACKET), "another flow");
    b.pull(ms(1)).unwrap();
    assert!(!known(&b, 1, 1, PACKET) && known(&b, 1, 2, PACKET), "it has left");
}

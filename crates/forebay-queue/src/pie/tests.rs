use super::*;
use crate::testbed::{Port, at, init, packet};
use alloc::vec::Vec;
use forebay_base::{Ecn, Stream};

fn close(found: f64, expected: f64, share: f64) {
    assert!((found - expected).abs() <= share * expected, "{found} instead of {expected}");
}

/// Constant queueing delay of `ms`, after the first update.
fn constant(ms: f64) -> DropProbability {
    DropProbability { old: ms * 1e-3, ..DropProbability::new(&Params::default()) }
}

/// RFC 8033 section 4.2 by hand: over a constant delay of 30 ms dp is 0.125 x 0.015, divided by
/// the scale of p.
#[test]
fn the_probability_grows_by_its_scaled_steps() {
    let mut law = constant(30.0);
    let mut p = Vec::new();
    (0..200).for_each(|_| {
        law.update(0.03);
        p.push(law.p);
    });
    let expected = [
        (1, 9.155e-7),
        (2, 1.831e-6),
        (3, 5.493e-6),
        (10, 8.606e-5),
        (50, 6.43e-3),
        (100, 0.04205),
        (200, 0.1714),
    ];
    expected.iter().for_each(|&(n, expected)| close(p[n - 1], expected, 1e-3));
    // 1 % after 0.99 s, 10 % after 2.43 s.
    let above = |level: f64| p.iter().position(|&p| p >= level).map(|n| n + 1);
    assert_eq!((above(0.01), above(0.1)), (Some(66), Some(162)));
}

/// The fixed point of the controller: at the target delay nothing changes.
#[test]
fn at_the_target_the_probability_stays() {
    let mut law = DropProbability { p: 0.03, ..constant(15.0) };
    (0..100).for_each(|_| law.update(0.015));
    assert_eq!(law.p, 0.03);
}

/// RFC 8033 section 5.5: a leap of the delay by a second adds 0.02 where p is 0.1, and 1.37 / 2
/// where it is just below.
#[test]
fn a_step_is_at_most_two_hundredths_from_a_tenth_on() {
    let step = |p: f64| {
        let mut law = DropProbability { p, ..constant(15.0) };
        law.update(1.015);
        law.p - p
    };
    close(step(0.1), 0.02, 1e-9);
    close(step(0.0999), 1.375 / 2.0, 1e-9);
}

/// RFC 8033 section 4.2: without a queue p decays by 2 % an update, on top of alpha's share.
#[test]
fn the_probability_decays_while_there_is_no_queue_and_comes_to_rest() {
    let mut law = DropProbability { p: 0.5, ..constant(0.0) };
    law.update(0.0);
    close(law.p, (0.5 - 0.125 * 0.015) * 0.98, 1e-12);
    let updates = (0..10_000).take_while(|_| {
        law.update(0.0);
        !law.rests()
    });
    assert!(updates.count() < 1_000);
}

/// RFC 8033 section 4.4: 150 ms are 10 updates; the allowance is there again when p is 0 and the
/// delay was low twice.
#[test]
fn a_burst_passes_until_its_allowance_is_spent() {
    let mut law = DropProbability { p: 1.0, ..constant(30.0) };
    let mut passed = 0;
    while law.passes(false, || 0.0) {
        law.update(0.03);
        passed += 1;
    }
    assert_eq!((passed, law.burst_left), (10, Span::ZERO));
    law.p = 0.0;
    law.update(0.0);
    assert_eq!(law.burst_left, Span::ZERO, "the delay was 30 ms one update ago");
    law.update(0.0);
    assert_eq!(law.burst_left, Span::from_millis(150));
}

/// RFC 8033 section 4.1: no drop while the delay was below half the target, unless p is 0.2 or
/// more; none while two MTU or less wait.
#[test]
fn a_short_queue_loses_nothing() {
    let passes = |old_ms: f64, p: f64, short: bool| {
        let params = Params { derandomize: false, burst_ms: 0.0, ..Params::default() };
        let mut law = DropProbability { p, old: old_ms * 1e-3, ..DropProbability::new(&params) };
        law.passes(short, || 0.0)
    };
    assert!(passes(7.4, 0.19, false) && !passes(7.4, 0.2, false));
    assert!(!passes(7.5, 0.19, false) && passes(7.5, 0.19, true));
}

/// RFC 8033 section 5.4: the sum of p between two drops is 0.85 at least and 8.5 at most: at
/// p = 1/16, 14 packets at least and 136 at most. From the 14th on each with p: mean 14 - 1 + 16,
/// cut at 136, which takes 16 (15/16)^123 = 0.006 off.
#[test]
fn drops_are_spaced_by_derandomization() {
    let params = Params { burst_ms: 0.0, ..Params::default() };
    let mut law = DropProbability { p: 0.0625, old: 0.03, ..DropProbability::new(&params) };
    let mut rng = Rng::new(3, Stream::Test, 0);
    let (mut gaps, mut gap) = (Vec::new(), 0u32);
    while gaps.len() < 20_000 {
        gap += 1;
        if !law.passes(false, || rng.unit()) {
            gaps.push(core::mem::take(&mut gap));
        }
    }
    assert_eq!(gaps.iter().min(), Some(&14));
    assert!(gaps.iter().all(|&gap| gap <= 136));
    let mean = gaps.iter().map(|&gap| f64::from(gap)).sum::<f64>() / gaps.len() as f64;
    // Standard deviation of one gap 15.5: of the mean 0.11; three of them.
    assert!((mean - 29.0).abs() < 0.34, "{mean}");
    // Never by the draw: at the sum of 8.5.
    law.sum = 0.0;
    let gap = (1..).find(|_| !law.passes(false, || 1.0));
    assert_eq!(gap, Some(136));
}

/// ns-3's pie-queue-disc tests 2 to 4, in their numbers: 400 packets of 1000 bytes, one each 10 ms,
/// into a queue of 300; reference 20 ms, update 30 ms, burst allowance 100 ms. One leaves each 12
/// ms (2), with a reference of 80 ms (3), each 15 ms (4).
fn ns_3(target_ms: f64, leave_ms: f64, ecn: Ecn, params: Params) -> (u64, u64, u64) {
    let params = Params { target_ms, update_ms: 30.0, burst_ms: 100.0, ..params };
    let mut port = Port::new(Pie::new(&params, init(Limit::Packets(300))));
    let (mut comes, mut leaves) = (0u32, 1u32);
    while leaves <= 400 {
        let (next_in, next_out) = (f64::from(comes) * 10.0, f64::from(leaves) * leave_ms);
        let now = at(next_in.min(next_out));
        if comes == 400 || next_out < next_in {
            port.wake(at(next_out));
            port.take(at(next_out));
            leaves += 1;
        } else {
            port.wake(now);
            let (p, early, marks) = (port.queue.law.p, port.early(), port.drops.ce_marks());
            port.offer(now, packet(1, comes, 1000, ecn));
            comes += 1;
            let may_mark = params.ecn && ecn == Ecn::Ect0 && p < params.ecn_threshold;
            assert!(port.early() == early || !may_mark, "p = {p}");
            assert!(port.drops.ce_marks() == marks || may_mark, "p = {p}");
        }
    }
    (port.early(), port.full(), port.drops.ce_marks())
}

#[test]
fn the_vectors_of_ns_3_hold() {
    // There without de-randomisation.
    let plain = || Params { derandomize: false, ..Params::default() };
    let dropped = |target_ms, leave_ms| ns_3(target_ms, leave_ms, Ecn::NotEct, plain());
    let (second, third, fourth) = (dropped(20.0, 12.0), dropped(80.0, 12.0), dropped(20.0, 15.0));
    assert!(second.0 > 0 && second.0 > third.0 && fourth.0 > second.0, "{second:?} {third:?}");
    assert_eq!((second.1, third.1, fourth.1), (0, 0, 0), "no packet found the queue full");
    // Its tests of ECN: marks below the threshold if the packets are ECN-capable and ECN is on,
    // drops from there on.
    let off = Params { ecn: false, ..plain() };
    let (early, _, marks) = ns_3(20.0, 12.0, Ecn::Ect0, off);
    assert!(early > 0 && marks == 0);
    let low = Params { ecn_threshold: 0.01, ..plain() };
    let (early, _, marks) = ns_3(20.0, 15.0, Ecn::Ect0, low);
    assert!(early > 0 && marks > 0, "{early} {marks}");
}

#[test]
fn what_is_outside_its_range_is_refused() {
    let wrong = |edit: fn(&mut Params)| {
        let mut params = Params::default();
        edit(&mut params);
        params.check().expect_err("must be refused").param
    };
    assert_eq!(wrong(|p| p.target_ms = 0.0), "target_ms");
    assert_eq!(wrong(|p| p.update_ms = 0.0), "update_ms");
    assert_eq!(wrong(|p| p.alpha = 0.0), "alpha");
    assert_eq!(wrong(|p| p.beta = -1.0), "beta");
    assert_eq!(wrong(|p| p.burst_ms = f64::NAN), "burst_ms");
    assert_eq!(wrong(|p| p.ecn_threshold = 1.5), "ecn_threshold");
}

/// RFC 8033 section 4.1: no drop while at most two MTU wait.
#[test]
fn exactly_two_packets_that_wait_are_a_short_queue() {
    let mut port = Port::new(Pie::new(&Params::default(), init(Limit::Packets(100))));
    port.queue.law =
        DropProbability { p: 1.0, burst_left: Span::ZERO, derandomize: false, ..constant(30.0) };
    (0..4).for_each(|n| assert!(port.offer(at(0.0), packet(1, n, 1500, Ecn::NotEct))));
    assert_eq!((port.take_dropped(), port.queue.backlog_packets()), ([3].to_vec(), 3));
}

/// RFC 8033 appendix A, `enque`: a packet that does not fit sets accu_prob to 0, as one that is
/// dropped early does.
#[test]
fn a_packet_that_does_not_fit_begins_a_new_sum() {
    let mut port = Port::new(Pie::new(&Params::default(), init(Limit::Packets(1))));
    assert!(port.offer(at(0.0), packet(1, 0, 1500, Ecn::NotEct)));
    port.queue.law.sum = 3.0;
    assert!(!port.offer(at(0.0), packet(1, 1, 1500, Ecn::NotEct)));
    assert_eq!(port.queue.law.sum, 0.0);
}

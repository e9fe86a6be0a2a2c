use super::*;
use crate::testbed::{Port, assert_passing_is_as_queueing, at, init, number, packet};
use alloc::vec::Vec;
use forebay_base::Ecn;

fn port(params: &Params) -> Port<Codel> {
    Port::new(Codel::new(params, init(Limit::Packets(1_000_000))))
}

fn no_ecn() -> Params {
    Params { ecn: false, ..Params::default() }
}

/// RFC 8289 section 5.5: drop n + 1 is I / sqrt(n) after drop n. By hand, I = 100 ms: sums of
/// 100 / sqrt(n). A packet leaves each 10 us and all have waited too long.
#[test]
fn under_a_standing_queue_drops_come_at_interval_by_root_n() {
    let mut port = port(&no_ecn());
    for n in 0..200_000 {
        assert!(port.offer(Time::ZERO, packet(1, n, 1500, Ecn::NotEct)));
    }
    let (mut now, mut times) = (at(10.0), Vec::new());
    while times.len() < 10 {
        port.take(now);
        times.extend(port.take_dropped().iter().map(|_| now));
        now += Span::from_micros(10);
    }
    let since_first = |t: &Time| t.since(times[0]).as_secs_f64() * 1e3;
    let found: Vec<f64> = times.iter().map(since_first).collect();
    // The first drop is allowed an interval after the first packet that was above target.
    assert_eq!(times[0], at(110.0));
    let expected =
        [0.0, 100.0, 170.711, 228.446, 278.446, 323.167, 363.992, 401.788, 437.144, 470.477];
    for (found, expected) in found.iter().zip(expected) {
        // Dropped at the first departure that is not before its time.
        assert!((0.0..0.0111).contains(&(found - expected + 0.0005)), "{found} {expected}");
    }
}

/// A path with numbers: 1500 bytes arrive each 1.01 ms and leave each 1.2 ms. Computed with whole
/// nanoseconds by a program of 20 lines that is not this one, from the pseudocode of RFC 8289
/// section 5: the times of the first ten drops.
#[test]
fn an_overload_by_a_fifth_is_dropped_as_the_pseudocode_of_the_rfc_says() {
    let mut port = port(&no_ecn());
    let (mut sent, mut next) = (0u64, Time::ZERO);
    let mut times = Vec::new();
    while times.len() < 10 {
        let arrives = Time::from_nanos(sent * 1_010_000);
        if arrives <= next {
            assert!(port.offer(arrives, packet(1, sent as u32, 1500, Ecn::NotEct)));
            sent += 1;
            continue;
        }
        port.take(next);
        times.extend(port.take_dropped().iter().map(|_| next.as_nanos() as f64 / 1e6));
        next += Span::from_nanos(1_200_000);
    }
    let expected = [133.2, 234.0, 304.8, 362.4, 412.8, 457.2, 498.0, 535.2, 571.2, 604.8];
    assert_eq!(times, expected);
}

/// RFC 8289 section 5.5: after a pause shorter than 16 intervals the drop rate goes on where it
/// was, with the drops of the last dropping state; after a longer one from the start.
#[test]
fn the_count_of_the_last_dropping_state_is_used_again_within_sixteen_intervals() {
    let count_after = |pause_ms: f64| {
        let mut port = port(&no_ecn());
        let mut now = Time::ZERO;
        let overload = |port: &mut Port<Codel>, now: &mut Time, drops: u64| {
            let (from, until) = (*now, port.early() + drops);
            (0..100_000).for_each(|n| _ = port.offer(from, packet(1, n, 1500, Ecn::NotEct)));
            *now += Span::from_millis(10);
            while port.early() < until {
                port.take(*now);
                *now += Span::from_micros(10);
            }
        };
        overload(&mut port, &mut now, 8);
        assert_eq!(port.queue.control.count(), 8);
        while port.take(now).is_some() {}
        assert!(!port.queue.control.is_dropping(), "an empty queue ends the state");
        // Drops of the last emptying are part of the count, too.
        let before = port.queue.control.count();
        now += Span::from_secs_f64(pause_ms * 1e-3);
        overload(&mut port, &mut now, 1);
        (before, port.queue.control.count())
    };
    // lastcount was 1: 8 - 1 drops.
    assert_eq!(count_after(100.0), (8, 7));
    assert_eq!(count_after(1_400.0), (8, 7));
    assert_eq!(count_after(1_700.0), (8, 1));
}

/// RFC 8289 section 4.2 (and 5.4): a backlog of one MTU or less is not a queue, however long it
/// waits.
#[test]
fn one_mtu_that_waits_is_not_dropped() {
    for (bytes, dropped) in [(1500, false), (1501, true)] {
        let mut port = port(&no_ecn());
        for step in 0..40u32 {
            let now = at(f64::from(step) * 50.0);
            // After each packet that leaves `bytes` wait: one full packet, or one and a byte.
            port.offer(now, packet(1, step, 1000, Ecn::NotEct));
            port.offer(now, packet(1, step, bytes - 1000, Ecn::NotEct));
            if step > 0 {
                port.take(now);
                port.take(now);
            }
        }
        assert_eq!(port.early() > 0, dropped, "{bytes}");
    }
}

/// What Linux's codel_dequeue does where ECN is on: a mark in place of a drop, and the marked
/// packet leaves: at most one mark a departure.
#[test]
fn ecn_capable_packets_are_marked_at_the_times_of_drops() {
    let run = |ecn: Ecn, params: &Params| {
        let mut port = port(params);
        (0..20_000).for_each(|n| _ = port.offer(Time::ZERO, packet(1, n, 1500, ecn)));
        let (mut now, mut left, mut marked) = (at(10.0), 0, Vec::new());
        while now < at(500.0) {
            let packet = port.take(now).expect("enough of them");
            left += 1;
            if packet.ecn() == Ecn::Ce {
                marked.push(now.as_millis());
            }
            now += Span::from_micros(100);
        }
        assert_eq!(marked.len() as u64, port.drops.ce_marks());
        (left, marked, port.early())
    };
    let marked_at: Vec<u64> = [110, 210, 280, 338, 388, 433, 474].into();
    assert_eq!(run(Ecn::Ect0, &Params::default()), (4_900, marked_at, 0));
    assert_eq!(run(Ecn::NotEct, &Params::default()), (4_900, Vec::new(), 7));
    assert_eq!(run(Ecn::Ect0, &no_ecn()), (4_900, Vec::new(), 7));
}

/// ns-3's codel-queue-disc test "Basic drop operations": 20 packets of 1000 bytes at 0. One leaves
/// at 10 ms; at 210 ms one is dropped and one leaves; a third leaves at once; at 420 ms drops are
/// due at 310, 310 + 100 / sqrt(2) = 380.7, and 438.4 ms: two. (Linux's first Newton step puts the
/// third at 416.2 ms, so ns-3 drops three.)
#[test]
fn the_vector_of_ns_3_holds_but_for_its_approximate_root() {
    let mut port = port(&no_ecn());
    (0..20).for_each(|n| assert!(port.offer(Time::ZERO, packet(1, n, 1000, Ecn::NotEct))));
    let mut seen = Vec::new();
    for ms in [10.0, 210.0, 210.0, 420.0] {
        let left = number(&port.take(at(ms)).expect("one is left"));
        seen.push((left, port.early(), port.queue.backlog_packets()));
    }
    assert_eq!(seen, [(0, 0, 19), (2, 1, 17), (3, 1, 16), (6, 3, 13)]);
}

/// ns-3's "Basic overflow behavior": of 503 packets into a queue of 500 three are lost.
#[test]
fn what_does_not_fit_is_given_back() {
    for limit in [Limit::Packets(500), Limit::Bytes(500_000)] {
        let mut port = Port::new(Codel::new(&Params::default(), init(limit)));
        (0..503).for_each(|n| _ = port.offer(Time::ZERO, packet(1, n, 1000, Ecn::Ect0)));
        assert_eq!((port.queue.backlog_packets(), port.full(), port.early()), (500, 3, 0));
    }
}

#[test]
fn times_that_make_no_sense_are_refused() {
    let wrong = |target_ms, interval_ms| {
        let params = Params { target_ms, interval_ms, ..Params::default() };
        params.check().map_err(|error| error.param)
    };
    assert_eq!(wrong(0.0, 100.0), Err("target_ms"));
    assert_eq!(wrong(-1.0, 100.0), Err("target_ms"));
    assert_eq!(wrong(f64::NAN, 100.0), Err("target_ms"));
    assert_eq!(wrong(5.0, 5.0), Err("interval_ms"), "thresholds out of order");
    assert_eq!(wrong(5.0, f64::INFINITY), Err("interval_ms"));
    assert_eq!(wrong(5.0, 100.0), Ok(()));
}

/// Linux, codel_impl.h: at the end of a dequeue CE is set if the sojourn is above the threshold, in
/// ECN-capable packets alone, with or without `ecn`.
#[test]
fn above_the_ce_threshold_every_capable_packet_is_marked_and_no_other() {
    for ecn in [false, true] {
        let params = Params { ecn, ce_threshold_ms: 1.0, ..Params::default() };
        let mut port = port(&params);
        for n in 0..6 {
            let field = if n % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            assert!(port.offer(Time::ZERO, packet(1, n, 1500, field)));
        }
        // Sojourn times of 0.5 ms to 3 ms: from the third packet on above 1 ms.
        let left: Vec<Ecn> =
            (1..=6).map(|n| port.take(at(0.5 * f64::from(n))).expect("queued").ecn()).collect();
        let expected = [Ecn::Ect0, Ecn::NotEct, Ecn::Ce, Ecn::NotEct, Ecn::Ce, Ecn::NotEct];
        assert_eq!(left, expected);
        assert!(port.take_dropped().is_empty(), "5 ms for 100 ms were not reached");
    }
    let mut port = port(&Params::default());
    assert!(port.offer(Time::ZERO, packet(1, 0, 1500, Ecn::Ect0)));
    assert_eq!(port.take(at(50.0)).expect("queued").ecn(), Ecn::Ect0, "no threshold by default");
}

/// RFC 8289 section 5: a packet that waited for exactly TARGET is above it, a drop is due from
/// first_above_time and drop_next on, and 16 intervals after drop_next the count begins anew.
#[test]
fn limits_are_exact_to_the_nanosecond() {
    let before = |ms: f64| Time::from_nanos(at(ms).as_nanos() - 1);
    let mut port = port(&no_ecn());
    (0..100).for_each(|n| _ = port.offer(Time::ZERO, packet(1, n, 1500, Ecn::NotEct)));
    port.take(before(5.0));
    assert_eq!(port.queue.control.allowed_at, Time::ZERO);
    port.take(at(5.0));
    assert_eq!(port.queue.control.allowed_at, at(105.0));
    for (due, drops) in [(105.0, 1), (205.0, 2)] {
        port.take(before(due));
        assert_eq!(port.early(), drops - 1);
        port.take(at(due));
        assert_eq!(port.early(), drops);
    }
    let seen = Control { count: 5, last_count: 1, drop_next: at(400.0), ..Control::default() };
    for (now, count) in [(before(2000.0), 4), (at(2000.0), 1)] {
        port.queue.control = Control { allowed_at: at(300.0), ..seen };
        port.take(now);
        assert_eq!(port.queue.control.count(), count);
    }
}

/// RFC 8289 section 5.5, `dodequeue`: the packet that leaves in place of the first one that is
/// dropped ends the time above target if it has not waited for long.
#[test]
fn a_fresh_packet_behind_the_first_drop_begins_a_new_interval() {
    let mut port = port(&no_ecn());
    port.offer(Time::ZERO, packet(1, 0, 1500, Ecn::NotEct));
    (1..10).for_each(|n| _ = port.offer(at(199.0), packet(1, n, 1500, Ecn::NotEct)));
    port.queue.control.allowed_at = at(150.0);
    assert_eq!(port.take(at(200.0)).map(|packet| number(&packet)), Some(1));
    assert_eq!(port.take_dropped(), [0]);
    // The next drop would be due at 300 ms, but only from 206 ms on was the queue above target.
    port.take(at(206.0));
    port.take(at(300.0));
    assert_eq!(port.early(), 1);
    port.take(at(306.0));
    assert_eq!(port.early(), 2);
}

#[test]
fn a_packet_that_passes_leaves_the_state_of_one_that_was_queued() {
    assert_passing_is_as_queueing(|| Codel::new(&Params::default(), init(Limit::Packets(100))));
}

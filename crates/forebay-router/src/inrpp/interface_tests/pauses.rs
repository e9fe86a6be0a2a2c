//! Flows that an interface downstream has told to pause.

use super::{Bench, PACKET, ROOMY, asks, flow, ms};
use alloc::vec::Vec;
use forebay_signal::inrpp::BackPressureSignal::{Nothing, Pause, SlowDown};

/// Flows 1 and 2 are held under nonce 5 with a backlog each, and flow 1 is to pause.
fn held() -> Bench {
    let mut b = Bench::with(ROOMY);
    b.ack(ms(0), 1, asks(Pause, 5));
    b.ack(ms(0), 2, asks(Pause, 5));
    (0..40).for_each(|_| drop((b.put(ms(0), 1, 5), b.put(ms(0), 2, 5))));
    assert_eq!(b.pull(ms(0)), None);
    b.ack(ms(0), 2, asks(SlowDown, 5));
    assert_eq!(b.pull(ms(0)).expect("for its ACK").0, flow(2));
    assert_eq!(b.pull(ms(0)), None);
    b
}

#[test]
fn a_paused_flow_has_no_part_in_the_credits_of_others() {
    let mut b = held();
    // Flow 3 has nothing here: what its ACKs bring is for those that wait.
    b.ack(ms(1), 3, asks(SlowDown, 5));
    assert_eq!(b.pull(ms(1)).expect("for the first ACK of flow 3").0, flow(2));
    for _ in 0..10 {
        b.ack(ms(1), 3, asks(SlowDown, 5));
        assert_eq!(b.pull(ms(1)).expect("for an ACK of flow 3").0, flow(2));
    }
    b.ack(ms(2), 1, asks(SlowDown, 5));
    let next = [(); 2].map(|()| b.pull(ms(2)).map(|(flow, _)| flow));
    assert_eq!(next, [Some(flow(2)), None], "it waits again, behind flow 2");
    b.ack(ms(2), 3, asks(SlowDown, 5));
    assert_eq!(b.pull(ms(2)).expect("it has a part").0, flow(1));
}

#[test]
fn what_no_flow_takes_is_kept_up_to_what_one_ack_may_bring() {
    let mut b = held();
    while b.interface.flows().any(|(waits, _)| waits == flow(2)) {
        b.ack(ms(1), 2, asks(SlowDown, 5));
        b.pull(ms(1));
    }
    for _ in 0..500 {
        b.ack(ms(2), 2, asks(SlowDown, 5));
    }
    (0..200).for_each(|_| drop(b.put(ms(2), 1, 5)));
    assert_eq!(b.pull(ms(2)), None, "it is still paused");
    b.ack(ms(3), 1, asks(SlowDown, 5));
    let burst = core::iter::from_fn(|| b.pull(ms(3))).count();
    assert_eq!(burst, (1usize << 17).div_ceil(PACKET.into()));
}

/// Its packets downstream may be lost, and no ACK come.
#[test]
fn a_paused_flow_without_acks_is_not_paused_for_ever() {
    let mut b = held();
    for at in (10..1_000).step_by(10) {
        b.ack(ms(at), 2, asks(SlowDown, 5));
        assert_eq!(b.pull(ms(at)).expect("for its ACK").0, flow(2));
        b.put(ms(at), 2, 5);
    }
    b.ack(ms(1_000), 2, asks(SlowDown, 5));
    b.pull(ms(1_000));
    let mut left = || {
        b.put(ms(1_010), 2, 5);
        b.ack(ms(1_010), 2, asks(SlowDown, 5));
        b.pull(ms(1_010)).expect("for an ACK").0
    };
    assert!((0..3).any(|_| left() == flow(1)));
}

/// Nor where no ACK comes at all.
#[test]
fn where_nothing_else_waits_the_watchdog_lets_a_packet_of_a_paused_flow_go() {
    let mut b = Bench::with(ROOMY);
    b.ack(ms(0), 1, asks(Pause, 5));
    (0..3).for_each(|_| drop(b.put(ms(0), 1, 5)));
    assert_eq!(b.pull(ms(199)), None);
    b.interface.on_timeout(ms(199), &mut b.rng);
    assert_eq!(b.pull(ms(199)), None);
    let due = b.interface.next_timeout().expect("it waits");
    assert_eq!(due, ms(200));
    b.interface.on_timeout(due, &mut b.rng);
    assert_eq!(b.pull(due).map(|(flow, _)| flow), Some(flow(1)));
    assert_eq!(b.pull(due), None, "one");
}

/// A router between holds flows 1 and 2 for nonce 5: an ACK says so with a nonce that asks nothing.
#[test]
fn what_a_router_between_holds_leaves_the_link_to_others_but_for_what_has_arrived() {
    let mut b = Bench::with(ROOMY);
    (0..70).for_each(|n| drop(b.put(ms(0), 1 + n % 2, 5)));
    for held in [1, 2] {
        b.ack(ms(0), held, asks(Nothing, 5));
    }
    // Alone they have the link.
    let alone: Vec<_> = (0..20).filter_map(|_| b.pull(ms(1))).map(|(one, _)| one).collect();
    assert_eq!(alone.len(), 20);
    assert!(alone.iter().filter(|&&one| one == flow(1)).count().abs_diff(10) <= 1, "{alone:?}");
    (0..30).for_each(|_| drop(b.put(ms(2), 3, 0)));
    // One of them was about to send.
    b.pull(ms(2)).expect("the one");
    b.pull(ms(2)).expect("the next");
    let mut left = [0; 4];
    for round in 0..10 {
        for held in [1, 2] {
            b.ack(ms(3 + round), held, asks(Nothing, 5));
        }
        for _ in 0..4 {
            let (flow, _) = b.pull(ms(3 + round)).expect("plenty");
            left[(1..4).find(|&n| flow == super::flow(n)).expect("a flow") as usize] += 1;
        }
    }
    // 10 ACKs for each, and a quarter more.
    let [_, one, two, other] = left;
    assert!(one >= 10 && two >= 10 && other == 15, "{left:?}");
}

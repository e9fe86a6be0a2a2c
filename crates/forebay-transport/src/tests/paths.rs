//! One stream over two paths.

use crate::TcpConfig;
use crate::testing::{Delivery, Plan, SentPacket, config};
use alloc::vec::Vec;
use forebay_base::{Rng, Span, Stream, Time};

fn two(bytes: u64) -> Plan {
    let delays = Vec::from([Span::from_millis(10), Span::from_millis(50)]);
    Plan { delays, ..Plan::new(config(), bytes) }
}

#[test]
fn both_paths_carry_and_the_stream_is_whole() {
    // The first window is full before the second path has joined.
    let small = TcpConfig { initial_ssthresh_bytes: Some(30_000), ..config() };
    let mut pair = Plan { config: small, ..two(2_000_000) }.start(|_| Delivery::Deliver);
    pair.run_ms(60_000);
    pair.assert_finished(2_000_000);
    assert!((0..2).all(|path| pair.data().any(|f| f.path == path)));
}

#[test]
fn a_path_that_dies_is_replaced() {
    for dead in 0..2 {
        let mut pair = two(2_000_000).start(move |f| {
            let gone = f.path == dead && f.at > Time::from_millis(300);
            if gone { Delivery::Drop } else { Delivery::Deliver }
        });
        pair.run_ms(600_000);
        pair.assert_finished(2_000_000);
    }
}

#[test]
fn a_path_that_cannot_join_is_not_missed() {
    let lost = |f: &SentPacket| if f.path == 1 { Delivery::Drop } else { Delivery::Deliver };
    let mut pair = two(100_000).start(lost);
    pair.run_ms(600_000);
    pair.assert_finished(100_000);
}

/// Two SYNs are not answered. The second path exchanges the keys, and the first joins when it is
/// back, whatever of its handshake got through before: it carries the rest when the second dies.
#[test]
fn the_next_path_begins_where_the_first_is_dead() {
    // Slow enough to go on when the SYN of 7 s leaves.
    let slow = TcpConfig { receive_buffer_bytes: 200_000, ..config() };
    for (answers_lost, back_ms) in
        [(false, None), (true, None), (false, Some(4500)), (true, Some(4500))]
    {
        let plan = Plan { config: slow, ..two(20_000_000) };
        let mut pair = plan.start(move |f| {
            let gone = match (f.path, back_ms) {
                (0, _) if answers_lost && f.forth => false,
                (0, back_ms) => back_ms.is_none_or(|back_ms| f.at < Time::from_millis(back_ms)),
                (_, back_ms) => back_ms.is_some() && f.at > Time::from_secs(8),
            };
            if gone { Delivery::Drop } else { Delivery::Deliver }
        });
        pair.run_ms(600_000);
        pair.assert_finished(20_000_000);
        let first_carries = pair.data().any(|f| f.path == 0);
        assert_eq!(first_carries, back_ms.is_some(), "{answers_lost} {back_ms:?}");
    }
}

#[test]
fn loss_on_both_paths_is_repaired() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed, Stream::Test, 1);
        let mut pair = two(500_000)
            .start(move |_| if rng.chance(0.05) { Delivery::Drop } else { Delivery::Deliver });
        pair.run_ms(3_000_000);
        pair.assert_finished(500_000);
    }
}

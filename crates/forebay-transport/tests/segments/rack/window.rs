//! The reordering window as DSACKs widen it: RFC 8985 section 6.2 step 4, RFC 2883.

use super::{Bench, Lab, config, connected, data, ms, spaced, when};
use crate::common::{MSS, Reaction, Window};
use forebay_base::Span;

/// RTT 100 ms, ten segments in flight whatever is lost; `rounds` ACKs of everything, each with a
/// DSACK of its own, so that `reo_wnd_mult` is `1 + rounds`.
fn widened(rounds: u64) -> Bench {
    let window = Window { reaction: Reaction::Hold, ..Window::fixed(10) };
    let mut bench = connected(Lab { config: config(), window, ..Lab::default() });
    for round in 1..=rounds {
        assert_eq!(data(&bench.sack(10 * round, &[(1, 1)])).split(' ').count(), 10);
        bench.advance(ms(100));
    }
    bench
}

/// Of what was sent 100 ms ago the second segment arrives: how long after its transmission the
/// first is found lost.
fn found_lost_after(bench: &mut Bench) -> Option<u64> {
    let (sent_at, una) = (bench.now - ms(100), bench.conn.progress().acked_bytes / MSS);
    bench.sack(una, &[(una + 2, una + 2)]);
    let sent = bench.advance(ms(300));
    when(&sent, &format!("R{}", una + 1), sent_at)
}

/// RFC 8985 section 6.2: reo_wnd = min(reo_wnd_mult * min_RTT / 4, SRTT). All round trips took
/// 100 ms, and the newest arrival did.
#[test]
fn it_grows_by_a_quarter_of_min_rtt_a_round_up_to_srtt() {
    for (rounds, reo_wnd_ms) in [(0, 25), (1, 50), (2, 75), (3, 100), (4, 100), (8, 100)] {
        let found = found_lost_after(&mut widened(rounds));
        assert_eq!(found, Some(1000 * (100 + reo_wnd_ms)), "{rounds} DSACKs");
    }
}

/// RFC 8985 section 6.2 step 4: "reo_wnd_persist = 16 // Keep reo_wnd_mult for 16 recoveries",
/// then "reo_wnd_mult = 1".
#[test]
fn it_stays_wide_for_sixteen_recoveries() {
    let mut bench = widened(1);
    for recovery in 1..=18 {
        let reo_wnd_ms = if recovery <= 16 { 50 } else { 25 };
        let found = found_lost_after(&mut bench);
        assert_eq!(found, Some(1000 * (100 + reo_wnd_ms)), "recovery {recovery}");
        // All of it arrives, and what was sent meanwhile; the next flight leaves.
        bench.ack(bench.sent_end / MSS);
        bench.advance(ms(100));
    }
    assert_eq!(bench.log.recoveries().len(), 18);
    assert_eq!(bench.conn.counters().timeouts, 0);
}

/// RFC 2883 section 4.1.2: a first block inside the second one is a DSACK, above the cumulative
/// ACK too. 11 is missing, 12 came twice.
#[test]
fn a_duplicate_inside_the_second_block_widens_it() {
    for (blocks, reo_wnd_ms) in [
        (&[(12, 12), (12, 13)][..], 50),
        (&[(13, 13), (12, 13)], 50),
        (&[(12, 13)], 25),
        (&[(13, 13), (12, 12)], 25),
    ] {
        // 11 to 13 left at 0, 1 and 2 ms.
        let (mut bench, start) = spaced(Lab { config: config(), ..Lab::default() });
        bench.advance_to(start + ms(102));
        bench.sack(10, blocks);
        let sent = bench.advance_to(start + ms(190));
        let found = when(&sent, "R11", start);
        assert_eq!(found, Some(1000 * (100 + reo_wnd_ms)), "{blocks:?}");
    }
}

/// "More than": a segment is lost when its remaining time is not above zero, and not a nanosecond
/// before.
#[test]
fn the_timer_is_exact_to_the_nanosecond() {
    let (mut bench, start) = spaced(Lab { config: config(), ..Lab::default() });
    bench.advance_to(start + ms(101));
    bench.sack(10, &[(12, 12)]);
    let due = start + ms(125);
    assert_eq!(data(&bench.advance_to(due - Span::from_nanos(1))), "");
    assert_eq!(data(&bench.advance_to(due)), "R11");
}

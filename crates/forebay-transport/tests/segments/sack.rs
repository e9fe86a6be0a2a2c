//! The pipe: RFC 6675, limited transmit in it, and what RFC 2018 forbids a sender to believe.

use crate::common::{Bench, Inject, Lab, MSS, Window, data, ms, plain};
use forebay_base::Span;
use forebay_transport::TcpConfig;

fn in_flight(segments: u64, limited_transmit: bool) -> Bench {
    let config = TcpConfig { limited_transmit, ..plain() };
    let lab = Lab { config, window: Window::fixed(segments), ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(100));
    bench
}

/// The segments from `from` to `to` arrive one by one above a hole: what is sent on each ACK.
fn sacks(bench: &mut Bench, ack: u64, from: u64, to: u64) -> Vec<String> {
    (from..=to)
        .map(|last| {
            bench.advance(ms(1));
            data(&bench.sack(ack, &[(from, last)]))
        })
        .collect()
}

#[test]
fn two_losses_of_ten() {
    let mut bench = in_flight(10, false);
    let sent = sacks(&mut bench, 0, 3, 10);
    assert_eq!(sent, ["", "", "R1", "", "R2", "11", "12", "13"]);
    assert_eq!(bench.in_flight(), 5, "pipe stays at ssthresh");
    assert_eq!((bench.ssthresh(), bench.log.congestions().len()), (Some(5), 1));
    assert_eq!(bench.log.congestions()[0].flight_size_bytes, 10 * MSS);
    // The repair arrives: R1 fills to 1, then R2 to 10 = the recovery point.
    bench.advance(ms(90));
    assert_eq!(data(&bench.sack(1, &[(3, 10)])), "14");
    assert_eq!(bench.log.recoveries().len(), 0, "a partial ACK");
    assert_eq!(data(&bench.ack(10)), "15");
    assert_eq!(bench.log.recoveries().len(), 1);
    assert_eq!(bench.cwnd(), 5);
}

#[test]
fn two_losses_of_ten_with_limited_transmit() {
    let mut bench = in_flight(10, true);
    let sent = sacks(&mut bench, 0, 3, 10);
    assert_eq!(sent, ["11", "12", "R1", "", "", "", "R2", "13"]);
    assert_eq!(bench.ssthresh(), Some(5), "limited transmit is not part of FlightSize");
}

#[test]
fn five_losses_of_twenty() {
    let mut bench = in_flight(20, false);
    let sent = sacks(&mut bench, 0, 6, 20).join("|");
    assert_eq!(sent, "||R1||||R2|R3|R4|R5|21|22|23|24|25");
    assert_eq!(bench.in_flight(), 10);
    assert_eq!(bench.conn.counters().lost_packets, 5);
}

#[test]
fn one_ack_that_shows_three_segments_starts_recovery() {
    // RFC 6675 section 5 step 2: DupThresh duplicates, or IsLost(HighACK + 1). The ACKs before were
    // lost.
    let mut bench = in_flight(10, false);
    // pipe: 10 - 3 SACKed - 1 lost = 6, one retransmission makes 7 > cwnd 5.
    assert_eq!(data(&bench.sack(0, &[(2, 4)])), "R1");
    assert_eq!(bench.log.congestions().len(), 1);
}

#[test]
fn two_segments_above_a_hole_are_not_enough() {
    // Exactly 2 * SMSS bytes: IsLost asks for more.
    let mut bench = in_flight(10, false);
    assert_eq!(data(&bench.sack(0, &[(2, 3)])), "");
    assert_eq!(bench.log.congestions().len(), 0);
}

#[test]
fn three_separate_ranges_are_a_loss() {
    let mut bench = in_flight(10, false);
    // 1, 3 and 5 are missing below; only 1 has three ranges above it, and 3 has 2 (but two segments
    // only).
    assert_eq!(data(&bench.sack(0, &[(6, 6), (4, 4), (2, 2)])), "R1");
    assert_eq!(bench.conn.counters().lost_packets, 1);
}

#[test]
fn an_ack_without_new_sack_information_is_no_duplicate() {
    // RFC 6675 section 2.
    let mut bench = in_flight(10, false);
    bench.sack(0, &[(2, 2)]);
    for _ in 0..5 {
        assert_eq!(data(&bench.sack(0, &[(2, 2)])), "");
        assert_eq!(data(&bench.ack(0)), "");
    }
    assert_eq!(bench.log.acks().iter().filter(|n| n.duplicate).count(), 1);
    assert_eq!(bench.log.congestions().len(), 0);
}

#[test]
fn the_rescue_retransmission_is_sent_once() {
    // NextSeg rule 4. Ten segments and no more data; 1, 9 and 10 are lost.
    let lab = Lab { send_bytes: Some(10 * MSS), ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3 4 5 6 7 8 9 10");
    bench.advance(ms(100));
    assert_eq!(sacks(&mut bench, 0, 2, 8), ["", "", "R1", "", "", "", ""]);
    bench.advance(ms(95));
    // HighACK is beyond RescueRxt now: one segment with the highest outstanding sequence number.
    assert_eq!(data(&bench.ack(8)), "R10");
    bench.advance(ms(100));
    // 10 arrives: 9 is a hole below the highest SACK (rule 3).
    assert_eq!(data(&bench.sack(8, &[(10, 10)])), "R9");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(10)), "");
    assert_eq!(bench.conn.counters().timeouts, 0);
}

#[test]
fn a_hole_below_the_highest_sack_is_sent_when_there_is_nothing_better() {
    // NextSeg rule 3: ten segments and no more data; 1 and 8 are lost. When 9 is SACKed, segment 8
    // is not lost by IsLost (one segment above it), but nothing else is left to send.
    let lab = Lab { send_bytes: Some(10 * MSS), ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(100));
    assert_eq!(sacks(&mut bench, 0, 2, 7), ["", "", "R1", "", "", ""]);
    bench.advance(ms(1));
    assert_eq!(data(&bench.sack(0, &[(9, 9), (2, 7)])), "R8");
}

#[test]
fn sacked_data_is_kept_until_the_cumulative_ack() {
    // RFC 2018 section 8: SACK is advisory. After a timeout the first segment is retransmitted
    // whatever was SACKed, and what the cumulative ACK does not cover stays available.
    let mut bench = in_flight(4, false);
    bench.sack(0, &[(2, 3)]);
    assert_eq!(bench.conn.progress().acked_bytes, 0);
    assert_eq!(data(&bench.advance(Span::from_secs(1))), "R1");
    bench.ack(1); // the receiver reneged: it does not cover 2 and 3 any more
    let again = bench.advance(Span::from_secs(60));
    assert!(data(&again).contains("R2"), "{}", data(&again));
}

#[test]
fn no_second_recovery_below_the_recovery_point_after_a_timeout() {
    // RFC 6675 section 5.1.
    let mut bench = in_flight(10, false);
    assert_eq!(sacks(&mut bench, 0, 2, 5)[2], "R1");
    assert_eq!(data(&bench.advance(Span::from_secs(1)))[..2], *"R1");
    let congestions = bench.log.congestions().len();
    bench.advance(ms(50));
    for last in 6..=10 {
        bench.sack(0, &[(2, last)]);
    }
    assert_eq!(bench.log.congestions().len(), congestions);
}

#[test]
fn a_new_loss_above_the_recovery_point_is_a_new_recovery() {
    let mut bench = in_flight(10, false);
    let sent = sacks(&mut bench, 0, 2, 10).join(" ");
    assert!(sent.contains("11 12 13 14"), "{sent}");
    bench.advance(ms(90));
    assert_eq!(data(&bench.ack(10)), "15");
    assert_eq!(bench.log.recoveries().len(), 1);
    // 11 is lost; 12, 13, 14 arrive.
    assert_eq!(sacks(&mut bench, 10, 12, 14)[2], "R11");
    assert_eq!(bench.log.congestions().len(), 2);
    assert_eq!(bench.log.congestions()[1].flight_size_bytes, 5 * MSS);
}

#[test]
fn acks_of_data_that_was_never_sent_are_ignored() {
    // RFC 9293 3.10.7.4: an ACK beyond SND.NXT is answered and dropped.
    let mut bench = in_flight(10, false);
    let una = |bench: &Bench| bench.conn.progress().acked_bytes;
    bench.inject(Inject { ack: Some(11_000), ..Inject::default() });
    assert_eq!(una(&bench), 0);
    bench.inject(Inject { ack: Some(-5000), ..Inject::default() });
    assert_eq!(una(&bench), 0);
    // SACK blocks outside what is outstanding, or upside down, say nothing.
    for bad in [(20_000, 21_000), (3000, 2000), (-3000, -2000), (4000, 4000)] {
        let sent = bench.inject(Inject { sack: vec![bad; 3], ..Inject::default() });
        assert_eq!(data(&sent), "", "{bad:?}");
    }
    assert_eq!(bench.log.congestions().len(), 0);
    assert_eq!(bench.in_flight(), 10);
    assert_eq!(data(&bench.ack(1)), "11");
}

#[test]
fn delivery_is_counted_once() {
    let mut bench = in_flight(10, false);
    sacks(&mut bench, 0, 2, 10);
    bench.advance(ms(90));
    bench.ack(10);
    let notes = bench.log.acks();
    let delivered: u64 = notes.iter().map(|n| n.delivered_bytes).sum();
    let acked: u64 = notes.iter().map(|n| n.acked_bytes).sum();
    assert_eq!((delivered, acked), (10 * MSS, 10 * MSS));
    assert_eq!(bench.conn.view(0).delivered_bytes, 10 * MSS);
    assert_eq!(bench.conn.view(0).lost_bytes, MSS);
}

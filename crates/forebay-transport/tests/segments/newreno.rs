//! Fast retransmit and recovery without SACK: RFC 5681 section 3.2, RFC 6582, RFC 3042.

use crate::common::{Bench, Fate, Hop, Inject, Lab, MSS, Window, Wiring, data, ms, plain};
use forebay_base::{Rate, Span, TcpFlags, Time};
use forebay_cc::{CongestionCause, LossPolicy};
use forebay_transport::{Recovery, TcpConfig};

fn without_sack(limited_transmit: bool) -> TcpConfig {
    TcpConfig { sack: false, recovery: Recovery::NewReno, limited_transmit, ..plain() }
}

/// Ten segments in flight, one RTT after they were sent.
fn ten_in_flight(config: TcpConfig) -> Bench {
    let (mut bench, sent) = Lab { config, ..Lab::default() }.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3 4 5 6 7 8 9 10");
    bench.advance(ms(100));
    bench
}

/// `count` ACKs of the first `number` segments: what is sent on each.
fn acks(bench: &mut Bench, number: u64, count: usize) -> Vec<String> {
    (0..count)
        .map(|_| {
            bench.advance(ms(1));
            data(&bench.ack(number))
        })
        .collect()
}

#[test]
fn one_loss_without_limited_transmit() {
    let mut bench = ten_in_flight(without_sack(false));
    assert_eq!(acks(&mut bench, 0, 3), ["", "", "R1"]);
    assert_eq!((bench.ssthresh(), bench.cwnd()), (Some(5), 8));
    // Duplicates 4 to 9 inflate the window to 14.
    assert_eq!(acks(&mut bench, 0, 6), ["", "", "11", "12", "13", "14"]);
    assert_eq!(bench.cwnd(), 14);
    bench.advance(ms(90));
    // Full ACK: FlightSize 4, cwnd min(5, 4 + 1).
    assert_eq!(acks(&mut bench, 10, 1), ["15"]);
    assert_eq!((bench.ssthresh(), bench.cwnd()), (Some(5), 5));
    let congestions = bench.log.congestions();
    assert_eq!(congestions.len(), 1);
    assert_eq!(congestions[0].cause, CongestionCause::Loss);
    assert_eq!(congestions[0].flight_size_bytes, 10 * MSS);
    assert_eq!(bench.log.recoveries().len(), 1);
    assert_eq!(bench.conn.counters().recoveries, 1);
    assert_eq!(bench.conn.counters().lost_packets, 1);
}

#[test]
fn one_loss_with_limited_transmit() {
    let mut bench = ten_in_flight(without_sack(true));
    // RFC 3042: one new segment on each of the first two duplicates; RFC 5681: not part of
    // FlightSize.
    assert_eq!(acks(&mut bench, 0, 3), ["11", "12", "R1"]);
    assert_eq!((bench.ssthresh(), bench.cwnd()), (Some(5), 8));
    assert_eq!(acks(&mut bench, 0, 6), ["", "", "", "", "13", "14"]);
    // 11 and 12 arrive and make the tenth and eleventh duplicate.
    assert_eq!(acks(&mut bench, 0, 2), ["15", "16"]);
    bench.advance(ms(90));
    // recover is 12: an ACK of 12 is the full one. FlightSize 4, cwnd 5.
    assert_eq!(acks(&mut bench, 12, 1), ["17"]);
    assert_eq!((bench.ssthresh(), bench.cwnd()), (Some(5), 5));
}

#[test]
fn two_losses_take_one_reduction() {
    let mut bench = ten_in_flight(without_sack(false));
    assert_eq!(acks(&mut bench, 0, 3), ["", "", "R1"]);
    assert_eq!(acks(&mut bench, 0, 5), ["", "", "11", "12", "13"]);
    assert_eq!(bench.cwnd(), 13);
    bench.advance(ms(90));
    // Partial ACK: the first four. Deflate by 4, add 1: cwnd 10, flight 9.
    assert_eq!(acks(&mut bench, 4, 1), ["R5 14"]);
    assert_eq!(bench.cwnd(), 10);
    assert_eq!(acks(&mut bench, 4, 3), ["15", "16", "17"]);
    assert_eq!(acks(&mut bench, 13, 1), ["18"]);
    assert_eq!((bench.ssthresh(), bench.cwnd()), (Some(5), 5));
    assert_eq!(bench.log.congestions().len(), 1, "one ssthresh change in total");
    assert_eq!(bench.conn.counters().retransmits, 2);
}

#[test]
fn the_window_of_limited_transmit_is_cwnd_plus_two() {
    let mut bench = ten_in_flight(without_sack(true));
    assert_eq!(acks(&mut bench, 0, 2), ["11", "12"]);
    assert_eq!(bench.cwnd(), 10, "RFC 3042: cwnd must not change");
}

#[test]
fn limited_transmit_respects_the_peers_window() {
    let lab =
        Lab { config: without_sack(true), peer_scale: None, peer_window: 10_000, ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(100));
    assert_eq!(acks(&mut bench, 0, 3), ["", "", "R1"]);
}

#[test]
fn a_packet_with_data_or_another_window_is_no_duplicate() {
    // RFC 5681 section 2: (b) carries no data, (e) the advertised window is that of the last ACK.
    let mut bench = ten_in_flight(without_sack(false));
    for len in [1u16, 100, 1000] {
        let sent = bench.inject(Inject { len, ..Inject::default() });
        assert_eq!(data(&sent), "");
    }
    for window in [59_000, 58_000, 60_000, 57_000] {
        let sent = bench.inject(Inject { window: Some(window), ..Inject::default() });
        assert_eq!(data(&sent), "");
    }
    assert!(bench.log.acks().iter().all(|n| !n.duplicate));
    // The peer's data moved its sequence number; these are duplicates.
    bench.lab.peer_window = 57_000;
    assert_eq!(acks(&mut bench, 0, 3), ["", "", "R1"]);
}

#[test]
fn an_ack_when_nothing_is_outstanding_is_no_duplicate() {
    // RFC 5681 section 2 (a).
    let lab = Lab { config: without_sack(false), send_bytes: Some(2 * MSS), ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2");
    bench.ack(2);
    for _ in 0..5 {
        assert_eq!(data(&bench.ack(2)), "");
    }
    assert!(bench.log.acks().iter().all(|n| !n.duplicate));
    assert_eq!(bench.log.congestions().len(), 0);
}

#[test]
fn duplicates_of_data_before_a_timeout_start_nothing() {
    // RFC 6582 section 3.2 step 4 and 2: after a timeout `recover` is the highest sequence number
    // sent.
    let mut bench = ten_in_flight(without_sack(false));
    assert_eq!(data(&bench.advance(ms(900))), "R1");
    bench.advance(ms(100));
    bench.ack(1);
    let congestions = bench.log.congestions().len();
    for _ in 0..6 {
        bench.advance(ms(1));
        bench.ack(1);
    }
    assert_eq!(bench.log.congestions().len(), congestions, "no second reduction");
    assert_eq!(bench.ssthresh(), Some(5));
    assert!(bench.cwnd() <= 3, "no inflation: {}", bench.cwnd());
}

#[test]
fn duplicates_of_the_recovery_point_start_nothing() {
    // RFC 6582: ack - 1 > recover. Three late duplicates of the full ACK are not a new loss: they
    // cover data sent up to `recover`, not more.
    let mut bench = ten_in_flight(without_sack(false));
    acks(&mut bench, 0, 9);
    bench.advance(ms(90));
    assert_eq!(acks(&mut bench, 10, 1), ["15"]);
    let retransmits = bench.conn.counters().retransmits;
    acks(&mut bench, 10, 3);
    assert_eq!(bench.conn.counters().retransmits, retransmits);
    assert_eq!(bench.log.congestions().len(), 1);
}

#[test]
fn only_the_first_partial_ack_resets_the_timer() {
    // RFC 6582 section 3.2 step 3. Losses 1, 3, 5: R1 at 103 ms after the start.
    let mut bench = ten_in_flight(without_sack(false));
    let start = bench.now;
    assert_eq!(acks(&mut bench, 0, 3), ["", "", "R1"]);
    acks(&mut bench, 0, 4);
    bench.advance(ms(100));
    let first_partial = bench.now + ms(1);
    assert!(acks(&mut bench, 2, 1)[0].starts_with("R3"));
    bench.advance(ms(100));
    assert!(acks(&mut bench, 4, 1)[0].starts_with("R5"));
    // No more ACKs: the timer runs from the first partial ACK.
    let again = bench.advance(Span::from_secs(2));
    let timeout = again.iter().find(|s| s.label == "R5").expect("a timeout");
    assert_eq!(timeout.at.since(first_partial), Span::from_secs(1), "started {start}");
}

#[test]
fn prr_and_pipe_fall_back_where_the_peer_has_no_sack() {
    for recovery in [Recovery::Prr, Recovery::Pipe] {
        for loss_policy in [LossPolicy::DupThresh, LossPolicy::RackTlp] {
            let config = TcpConfig { sack: true, recovery, loss_policy, ..plain() };
            let lab = Lab { config, peer_sack: false, ..Lab::default() };
            let (mut bench, _) = lab.connected(ms(100));
            bench.advance(ms(100));
            let sent = acks(&mut bench, 0, 9).join("|");
            assert_eq!(sent, "||R1|||11|12|13|14", "{recovery:?} {loss_policy:?}");
        }
    }
}

#[test]
fn congestion_is_not_answered_by_growth() {
    let lab = Lab { config: without_sack(false), window: Window::reno(10), ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(100));
    acks(&mut bench, 0, 9);
    bench.advance(ms(90));
    acks(&mut bench, 10, 1);
    assert_eq!(bench.cwnd(), 5, "the full ACK does not grow the window");
}

#[test]
fn a_fin_is_not_a_duplicate() {
    // RFC 5681 section 2 (c): SYN and FIN are off.
    let mut bench = ten_in_flight(without_sack(false));
    for _ in 0..4 {
        bench.inject(Inject { flags: TcpFlags::FIN, ..Inject::default() });
    }
    assert_eq!(bench.log.congestions().len(), 0);
    assert_eq!(bench.conn.counters().retransmits, 0);
}

#[test]
fn the_sawtooth_has_the_utilisation_of_the_closed_form() {
    // P = 100 packets of pipe, B = 50 of buffer: U = 0.75 (1 + x)^2 / (1 + x + x^2) with x = 1/2 is
    // 0.9643, and one loss in 3/8 (P + B)^2 = 8437 packets.
    let rate = Rate::new(1040 * 8 * 1000).unwrap(); // one packet of 1040 bytes a millisecond
    let config = TcpConfig { recovery: Recovery::Prr, ..plain() };
    let mut wiring = Wiring::new(config, None, ms(50));
    wiring.hops = vec![[Hop::link(ms(50), rate, 50), Hop::wire(ms(50))]];
    wiring.keep_log = false;
    let reno = Window { ssthresh: 60 * MSS, ..Window::reno(10) };
    let mut pair = wiring.build(|_, _| reno.clone().any());
    pair.open();
    pair.run(Time::from_secs(50));
    let (before, losses) =
        (pair.ends[1].progress().received_bytes, pair.ends[0].counters().recoveries);
    pair.run(Time::from_secs(350));
    let packets = (pair.ends[1].progress().received_bytes - before) / MSS;
    let losses = pair.ends[0].counters().recoveries - losses;
    let utilisation = packets as f64 / 300_000.0;
    assert!((utilisation - 0.9643).abs() < 0.015, "{utilisation}");
    let cycle = packets as f64 / losses as f64;
    assert!((cycle / 8437.0 - 1.0).abs() < 0.15, "{cycle} packets a loss");
    assert_eq!(pair.ends[0].counters().timeouts, 0);
}

#[test]
fn periodic_loss_gives_the_window_of_mathis() {
    // One new segment in 1000 is lost: W = sqrt(3 / (2 p)) = 38.73 segments on average, 387.3 a
    // second at an RTT of 100 ms. The round trip of recovery, which the formula leaves out, is one
    // in about 26.
    let config = TcpConfig { recovery: Recovery::Prr, ..plain() };
    let mut new_segments = 0u64;
    let mut top = -1;
    let mut wiring = Wiring::new(config, None, ms(50)).script(move |e| {
        let new = e.side == 0 && e.seg.len > 0 && e.seg.off > top;
        new_segments += new as u64;
        top = top.max(if e.side == 0 { e.seg.off } else { -1 });
        Fate::drop_if(new && new_segments.is_multiple_of(1000))
    });
    wiring.keep_log = false;
    let reno = Window { ssthresh: 30 * MSS, ..Window::reno(10) };
    let mut pair = wiring.build(|_, _| reno.clone().any());
    pair.open();
    pair.run(Time::from_secs(20));
    let before = pair.ends[1].progress().received_bytes;
    pair.run(Time::from_secs(520));
    let rate = ((pair.ends[1].progress().received_bytes - before) / MSS) as f64 / 500.0;
    assert!((rate / 387.3 - 1.0).abs() < 0.05, "{rate} segments a second");
    assert_eq!(pair.ends[0].counters().timeouts, 0);
}

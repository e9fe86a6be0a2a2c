//! The retransmission timer: RFC 6298, RFC 5681 section 3.1, and the persist timer of RFC 9293.

use crate::common::{Bench, Fate, Inject, Lab, MSS, Reaction, Window, Wiring, data, ms, plain};
use forebay_base::{Span, Time};
use forebay_cc::LossPolicy;
use forebay_transport::{EndCause, TcpConfig};

/// Times of `segs` after `start` in milliseconds.
fn times(segs: &[crate::common::Seg], start: Time) -> Vec<u64> {
    segs.iter().map(|s| s.at.since(start).as_millis()).collect()
}

fn one_at_a_time(min_rto: Span) -> Lab {
    let window = Window { reaction: Reaction::Hold, ..Window::fixed(1) };
    Lab { config: TcpConfig { min_rto, ..plain() }, window, ..Lab::default() }
}

fn close(a: Span, b_us: f64) -> bool {
    // Estimates are kept in whole nanoseconds or finer: a microsecond holds every rounding of a few
    // steps.
    (a.as_nanos() as f64 / 1000.0 - b_us).abs() < 1.0
}

#[test]
fn samples_of_100_200_100_300_ms() {
    let (mut bench, _) = one_at_a_time(Span::ZERO).connected(ms(100));
    for (number, rtt) in [(1, 200), (2, 100), (3, 300)] {
        // Keep the timer away: the RTO is above each of the next samples but the last.
        let silent = bench.advance(ms(rtt));
        assert_eq!(data(&silent), "", "RTO before the sample of {rtt} ms");
        bench.ack(number);
    }
    let notes = bench.log.acks();
    let seen: Vec<(Span, Span)> = notes
        .iter()
        .filter(|n| n.acked_bytes > 0)
        .map(|n| (n.rtt.srtt.unwrap(), n.rtt.rttvar))
        .collect();
    let expected = [(112_500.0, 62_500.0), (110_937.5, 50_000.0), (134_570.31, 84_765.625)];
    for ((srtt, rttvar), (s, v)) in seen.iter().zip(expected) {
        assert!(close(*srtt, s) && close(*rttvar, v), "{srtt} {rttvar}, not {s} {v} us");
    }
    assert_eq!(seen.len(), 3);
    let start = bench.now;
    let again = bench.advance(ms(500));
    assert_eq!(data(&again), "R4");
    assert!(close(again[0].at.since(start), 473_632.81), "{}", again[0].at.since(start));
}

#[test]
fn a_constant_rtt_lets_the_variation_decay_by_three_quarters() {
    let (mut bench, _) = one_at_a_time(Span::ZERO).connected(ms(100));
    for number in 1..=5 {
        bench.advance(ms(100));
        bench.ack(number);
    }
    let seen: Vec<Span> =
        bench.log.acks().iter().filter(|n| n.acked_bytes > 0).map(|n| n.rtt.rttvar).collect();
    for (n, rttvar) in seen.iter().enumerate() {
        let expected = 50_000.0 * 0.75f64.powi(n as i32 + 1);
        assert!(close(*rttvar, expected), "{rttvar}, not {expected} us");
    }
    // RTO after six samples: 100 + 4 * 11.865 = 147.461 ms.
    let start = bench.now;
    let again = bench.advance(ms(200));
    assert!(close(again[0].at.since(start), 147_460.94), "{}", again[0].at.since(start));
}

#[test]
fn a_black_hole_sees_retransmissions_at_1_3_7_15_31_63_123_183_s() {
    let (mut bench, _) = Lab::default().connected(ms(100));
    let start = bench.now;
    let again = bench.advance(Span::from_secs(190));
    assert_eq!(times(&again, start), [1000, 3000, 7000, 15_000, 31_000, 63_000, 123_000, 183_000]);
    assert_eq!(data(&again), ["R1"; 8].join(" "), "the earliest segment each time");
    let timeouts = bench.log.timeouts();
    assert_eq!(timeouts[0].flight_size_bytes, 10 * MSS);
    let first: Vec<bool> = timeouts.iter().map(|t| t.first).collect();
    assert_eq!(first, [true, false, false, false, false, false, false, false], "RFC 5681: held");
    assert_eq!(bench.ssthresh(), Some(5));
    assert_eq!(bench.cwnd(), 1);
    assert_eq!(bench.conn.counters().timeouts, 8);
}

#[test]
fn a_connection_that_hears_nothing_gives_up() {
    let config = TcpConfig { max_retries: 5, ..plain() };
    let (mut bench, _) = Lab { config, ..Lab::default() }.connected(ms(100));
    let start = bench.now;
    bench.advance(Span::from_secs(1000));
    let (cause, at) = bench.conn.progress().ended.expect("it gave up");
    assert_eq!(cause, EndCause::TimedOut);
    let after = at.since(start).as_millis();
    assert!(after == 31_000 || after == 63_000, "the fifth or the sixth timeout: {after} ms");
    assert_eq!(bench.conn.next_timeout(), None);
}

#[test]
fn retries_count_only_in_a_row() {
    let config = TcpConfig { max_retries: 3, ..plain() };
    let (mut bench, _) = Lab { config, ..Lab::default() }.connected(ms(100));
    for number in 1..=6 {
        let before = bench.conn.counters().timeouts;
        while bench.conn.counters().timeouts < before + 2 {
            let due = bench.conn.next_timeout().expect("data is outstanding");
            bench.advance_to(due);
        }
        bench.ack(number);
        assert_eq!(bench.conn.progress().ended, None, "after ACK {number}");
    }
}

#[test]
fn an_ack_of_new_data_restarts_the_timer() {
    // RFC 6298 (5.3).
    let (mut bench, _) = Lab { window: Window::fixed(2), ..Lab::default() }.connected(ms(100));
    bench.advance(ms(900));
    bench.ack(1);
    let start = bench.now;
    let again = bench.advance(ms(1500));
    // The sample of 900 ms: SRTT 200, RTTVAR 0.75 * 50 + 0.25 * 800 = 237.5, RTO 200 + 950.
    assert_eq!(times(&again, start), [1150]);
    assert_eq!(data(&again), "R2");
}

#[test]
fn a_duplicate_ack_does_not_restart_the_timer() {
    let (mut bench, _) = Lab { window: Window::fixed(2), ..Lab::default() }.connected(ms(100));
    let start = bench.now;
    bench.advance(ms(900));
    bench.sack(0, &[(2, 2)]);
    let again = bench.advance(ms(500));
    assert_eq!(data(&again[..1]), "R1");
    assert_eq!(times(&again[..1], start), [1000]);
}

#[test]
fn sending_more_does_not_restart_the_timer() {
    // RFC 6298 (5.1): only if it is not running. The window opens at 900 ms.
    let lab = Lab { peer_scale: None, peer_window: 2000, ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2");
    let start = bench.now;
    bench.advance(ms(900));
    bench.lab.peer_window = 5000;
    assert_eq!(data(&bench.ack(0)), "3 4 5");
    let again = bench.advance(ms(500));
    assert_eq!((times(&again, start), data(&again)), (vec![1000], "R1".into()));
}

#[test]
fn the_repair_of_the_first_hole_restarts_the_timer_and_ssthresh_is_reduced_once() {
    // RFC 6675 section 6 and Linux, tcp_xmit_retransmit_queue: the retransmission of the head gets
    // a full RTO. Linux, tcp_enter_loss: ssthresh is not reduced again inside a window that was
    // reduced already.
    let (mut bench, _) = Lab { window: Window::reno(10), ..Lab::default() }.connected(ms(100));
    let start = bench.now;
    bench.advance(ms(900));
    assert_eq!(data(&bench.sack(0, &[(2, 4)])), "R1");
    assert_eq!(bench.ssthresh(), Some(5), "10 in flight");
    let again = bench.advance(ms(1500));
    // The sample of 900 ms: SRTT 200, RTTVAR 0.75 * 50 + 0.25 * 800 = 237.5, RTO 200 + 950, from
    // 900 ms on.
    assert_eq!((times(&again[..1], start), data(&again[..1])), (vec![2050], "R1".into()));
    let timeout = bench.log.timeouts()[0];
    assert!(!timeout.first, "the loss has reduced this window");
    assert_eq!(timeout.flight_size_bytes, 7 * MSS, "three of ten have arrived");
    assert_eq!((bench.ssthresh(), bench.cwnd()), (Some(5), 1));
}

#[test]
fn the_timer_stops_when_everything_is_acknowledged() {
    // RFC 6298 (5.2). The window is closed for new data by the peer's small buffer having been
    // filled and freed.
    let lab = Lab { send_bytes: Some(2 * MSS), ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2");
    bench.advance(ms(100));
    bench.ack(2);
    let after = bench.advance(Span::from_secs(300));
    assert_eq!(data(&after), "");
    assert_eq!(bench.conn.counters().timeouts, 0);
}

#[test]
fn karn_takes_no_sample_from_a_retransmission_and_keeps_the_backoff() {
    // With timestamps there is a sample: the next test.
    let lab = one_at_a_time(Span::from_secs(1));
    let config = TcpConfig { timestamps: false, ..lab.config };
    let (mut bench, _) = Lab { config, ..lab }.connected(ms(100));
    bench.advance(ms(1100)); // R1 at 1000
    bench.ack(1);
    assert_eq!(bench.conn.view(0).srtt, Some(ms(100)), "no sample");
    // RFC 6298 section 5: the RTO stays backed off until a new sample: segment 2 is due after 2 s.
    let start = bench.now;
    let again = bench.advance(ms(2500));
    assert_eq!((times(&again, start), data(&again)), (vec![2000], "R2".into()));
    bench.ack(2);
    bench.advance(ms(100));
    bench.ack(3); // a sample collapses it
    let start = bench.now;
    let again = bench.advance(ms(1500));
    assert_eq!((times(&again, start), data(&again)), (vec![1000], "R4".into()));
}

#[test]
fn timestamps_disambiguate_a_retransmission() {
    let config = TcpConfig { timestamps: true, ..plain() };
    let lab = Lab { config, window: Window::fixed(1), ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(1300)); // R1 at 1000; its ACK comes 300 ms later
    let ts = Some((2000, bench.tsval));
    bench.inject(Inject { ack: Some(MSS as i64), ts, ..Inject::default() });
    let srtt = bench.conn.view(0).srtt.unwrap();
    // 7/8 of 100 + 1/8 of 300, within the millisecond of the timestamp clock.
    assert!(srtt.abs_diff(ms(125)) <= Span::from_micros(125), "{srtt}");
}

#[test]
fn after_a_timeout_slow_start_sends_what_was_lost_again() {
    // All ten are lost; RFC 5681: one segment, then slow start from the loss window through the old
    // data. There is no new data with which F-RTO could ask first (RFC 5682 section 2.1 step 2b).
    let lab = Lab { window: Window::reno(10), send_bytes: Some(10 * MSS), ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3 4 5 6 7 8 9 10");
    assert_eq!(data(&bench.advance(ms(1000))), "R1");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(1)), "R2 R3");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(2)), "R4 R5");
    assert_eq!(data(&bench.ack(3)), "R6 R7");
    bench.advance(ms(100));
    // cwnd 4 -> 5 = ssthresh (10 / 2): slow start is over.
    assert_eq!(data(&bench.ack(4)), "R8 R9");
}

#[test]
fn after_a_timeout_sacked_segments_are_not_sent_again() {
    // RFC 2018 section 8 lets a sender keep SACK information it has no reason to doubt; ours does
    // not renege, and RFC 6675 section 5.1 asks to use it. What was sent within an RTT of being
    // declared lost counts as lost.
    let lab = Lab { window: Window::reno(10), send_bytes: Some(10 * MSS), ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(100));
    bench.sack(0, &[(5, 6)]); // two segments: below DupThresh
    assert_eq!(data(&bench.advance(ms(900))), "R1");
    bench.advance(ms(100));
    assert_eq!(data(&bench.sack(1, &[(5, 6)])), "R2 R3");
    bench.advance(ms(100));
    assert_eq!(data(&bench.sack(2, &[(5, 6)])), "R4 R7");
}

#[test]
fn a_spurious_timeout_gives_the_window_back() {
    // A delay of 3 RTO without loss (RFC 4015, RFC 3522): with timestamps the first ACK names the
    // original.
    let config = TcpConfig { timestamps: true, ..plain() };
    let lab = Lab { config, window: Window::reno(10), ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    let original = sent.iter().find(|s| s.len > 0).unwrap().ts.unwrap().0;
    assert_eq!(data(&bench.advance(ms(1200))), "R1");
    let ts = Some((2200, original));
    let ack = |n: u64| Inject { ack: Some((n * MSS) as i64), ts, ..Inject::default() };
    let sent = bench.inject(ack(1));
    assert!(bench.log.spurious() == 1, "Eifel: TSecr is older than the retransmission");
    assert!(!data(&sent).contains('R'), "nothing more is sent again: {}", data(&sent));
    for number in 2..=10 {
        let sent = bench.inject(ack(number));
        assert!(!data(&sent).contains('R'), "{}", data(&sent));
    }
    assert!(bench.cwnd() >= 10, "{}", bench.cwnd());
}

#[test]
fn the_timer_alone_finds_losses_where_the_policy_says_so() {
    let config = TcpConfig { loss_policy: LossPolicy::TimeoutOnly, ..plain() };
    let (mut bench, _) = Lab { config, ..Lab::default() }.connected(ms(100));
    let start = bench.now;
    bench.advance(ms(100));
    for number in 2..=10 {
        let sent = bench.sack(0, &[(2, number)]);
        assert!(!data(&sent).contains('R'), "{}", data(&sent));
    }
    let again = bench.advance(ms(1000));
    assert_eq!(data(&again), "R1");
    assert_eq!(times(&again, start), [1000]);
}

#[test]
fn a_zero_window_is_probed_with_backoff_and_forever() {
    // RFC 9293 3.8.6.1: the first probe after an RTO (SHLD-29), then with exponential backoff
    // (SHLD-30); the connection stays open as long as the probes are answered (MUST-37).
    let lab = Lab {
        config: TcpConfig { max_retries: 4, ..plain() },
        peer_scale: None,
        peer_window: 3000,
        ..Lab::default()
    };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3");
    bench.advance(ms(100));
    bench.lab.peer_window = 0;
    assert_eq!(data(&bench.ack(3)), "");
    let mut gaps = Vec::new();
    for _ in 0..8 {
        let start = bench.now;
        let probe = next_packet(&mut bench);
        assert!(probe.len <= 1, "a probe holds at most one byte of new data");
        gaps.push(probe.at.since(start).as_millis());
        bench.inject(Inject { ack: Some(3000), ..Inject::default() });
        assert_eq!(bench.conn.progress().ended, None);
    }
    assert_eq!(gaps, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
    assert_eq!(bench.log.congestions().len() + bench.log.timeouts().len(), 0, "not congestion");
    bench.lab.peer_window = 4000;
    let sent = bench.inject(Inject { ack: Some(3000), ..Inject::default() });
    let bytes: u64 = sent.iter().map(|s| s.len).sum();
    let end = sent.iter().map(|s| s.end()).max();
    assert_eq!(end, Some(7000), "all that the window allows: {bytes} bytes");
}

fn next_packet(bench: &mut Bench) -> crate::common::Seg {
    for _ in 0..1000 {
        let due = bench.conn.next_timeout().expect("a zero window is probed");
        let sent = bench.advance_to(due);
        if let Some(first) = sent.first() {
            assert_eq!(sent.len(), 1);
            return first.clone();
        }
    }
    panic!("no probe in 1000 timeouts");
}

#[test]
fn silly_windows_are_not_filled() {
    // RFC 9293 3.8.6.2.1: half a segment is not sent into a window that has held two and a half.
    let lab = Lab { peer_scale: None, peer_window: 2500, ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2");
    bench.advance(ms(100));
    // One more is acknowledged: 1.5 segments of room, one is sent.
    assert_eq!(data(&bench.ack(1)), "3");
}

#[test]
fn the_peers_window_limits_sending() {
    let lab = Lab { peer_scale: None, peer_window: 4000, ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3 4");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(1)), "5");
    bench.lab.peer_window = 6000;
    assert_eq!(data(&bench.ack(1)), "6 7", "a window update is no duplicate and opens the window");
    assert_eq!(bench.log.acks().iter().filter(|n| n.duplicate).count(), 0);
}

#[test]
fn the_send_buffer_limits_what_is_unacknowledged() {
    let config = TcpConfig { send_buffer_bytes: 6 * MSS, ..plain() };
    let (mut bench, sent) = Lab { config, ..Lab::default() }.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3 4 5 6");
    bench.advance(ms(100));
    assert_eq!(data(&bench.sack(0, &[(2, 2)])), "", "SACKed bytes are still in the buffer");
    assert_eq!(data(&bench.ack(2)), "7 8");
}

#[test]
fn a_late_timeout_is_legal() {
    let (mut bench, _) = Lab::default().connected(ms(100));
    bench.now += Span::from_secs(5);
    bench.conn.on_timeout(bench.now);
    let sent = bench.pump();
    assert_eq!(data(&sent), "R1", "one timeout, however late");
    assert_eq!(bench.conn.counters().timeouts, 1);
    assert!(bench.conn.next_timeout().unwrap() > bench.now);
}

#[test]
fn slow_start_takes_the_rounds_of_the_closed_form() {
    // Rounds k: sum of windows >= S. RTT (k + 0.5) to the last byte, RTT (k + 1) to the last ACK.
    for (initial, table) in [(10, [1u64, 2, 4, 6, 8]), (1, [4, 5, 7, 9, 11])] {
        for (segments, k) in [10, 30, 100, 500, 2000].into_iter().zip(table) {
            let wiring = Wiring::new(plain(), Some(segments * MSS), ms(50));
            let mut pair = wiring.build(|_, _| Window::reno(initial).any());
            pair.finish(Time::from_secs(10));
            let last = pair.ends[1].progress().last_byte_at.unwrap();
            assert_eq!(last, Time::from_millis(100 * k + 50), "IW {initial}, {segments} segments");
        }
    }
}

#[test]
fn slow_start_with_delayed_acks_takes_the_rounds_of_the_closed_form() {
    // Windows 10, 15, 22, 33, 50, ...: one more segment for each second one, the odd one carried
    // over.
    let policy = forebay_cc::AckPolicy::Delayed { packets: 2, timeout: ms(500), quick: 0 };
    let config = TcpConfig { ack_policy: policy, ..plain() };
    for (segments, k) in [(10, 1u64), (30, 3), (100, 5), (500, 9), (2000, 12)] {
        let wiring = Wiring::new(config, Some(segments * MSS), ms(50));
        let mut pair = wiring.build(|_, _| Window::reno(10).any());
        pair.finish(Time::from_secs(10));
        let last = pair.ends[1].progress().last_byte_at.unwrap();
        assert_eq!(last, Time::from_millis(100 * k + 50), "{segments} segments");
    }
}

#[test]
fn a_lost_retransmission_is_sent_again_by_the_timer() {
    // Segment 1 is lost three times over; everything else arrives.
    let wiring = Wiring::new(plain(), Some(20 * MSS), ms(50))
        .script(|e| Fate::drop_if(e.side == 0 && e.seg.len > 0 && e.seg.off == 0 && e.nth <= 3));
    let mut pair = wiring.build(|_, _| Window::reno(10).any());
    pair.finish(Time::from_secs(30));
    let sent = pair.data().iter().filter(|e| e.seg.off == 0).count();
    assert_eq!(sent, 4);
}

#[test]
fn probes_of_a_zero_window_do_not_back_off_the_retransmission_timer() {
    // RFC 6298 section 5.5 doubles the RTO when the retransmission timer expires. The persist timer
    // is another one: data sent when the window opens after a minute of probes is due one RTO
    // later, not a minute later.
    let lab = Lab { peer_scale: None, peer_window: 3000, ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(100));
    bench.lab.peer_window = 0;
    bench.ack(3);
    for _ in 0..6 {
        next_packet(&mut bench);
        bench.inject(Inject { ack: Some(3000), ..Inject::default() });
    }
    bench.lab.peer_window = 4000;
    let start = bench.now;
    let sent = bench.inject(Inject { ack: Some(3000), ..Inject::default() });
    assert!(!data(&sent).is_empty());
    let again = bench.advance(ms(1500));
    assert_eq!(times(&again, start), [1000]);
}

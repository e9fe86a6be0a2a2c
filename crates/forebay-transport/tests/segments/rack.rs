//! RACK-TLP: RFC 8985.

use crate::common::{Bench, Lab, MSS, Reaction, Seg, Window, data, ms, plain};
use forebay_base::Time;
use forebay_cc::{AckPolicy, CongestionCause, LossPolicy};
use forebay_transport::{Recovery, RtoRule, TcpConfig};

fn config() -> TcpConfig {
    TcpConfig { loss_policy: LossPolicy::RackTlp, recovery: Recovery::Prr, ..plain() }
}

#[path = "rack/window.rs"]
mod window;

fn connected(lab: Lab) -> Bench {
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3 4 5 6 7 8 9 10");
    bench.advance(ms(100));
    bench
}

/// Segments 11 to 20 sent at 0, 1, ..., 9 ms after the time that is returned, RTT 100 ms, 1 to 10
/// acknowledged.
fn spaced(lab: Lab) -> (Bench, Time) {
    let mut bench = connected(lab);
    let start = bench.now;
    for number in 1..=10 {
        bench.advance_to(start + ms(number - 1));
        assert_eq!(data(&bench.ack(number)), (number + 10).to_string());
    }
    (bench, start)
}

/// The first transmission of `label` among `sent`, in microseconds after `start`.
fn when(sent: &[Seg], label: &str, start: Time) -> Option<u64> {
    let seg = sent.iter().find(|s| s.label == label)?;
    Some(seg.at.since(start).as_nanos() / 1000)
}

#[test]
fn without_reordering_the_third_sack_is_enough() {
    let (mut bench, start) = spaced(Lab { config: config(), ..Lab::default() });
    for (at, number) in [(101, 12), (102, 13)] {
        assert_eq!(data(&bench.advance_to(start + ms(at))), "");
        assert!(!data(&bench.sack(10, &[(12, number)])).contains('R'));
    }
    bench.advance_to(start + ms(103));
    let sent = bench.sack(10, &[(12, 14)]);
    assert_eq!(data(&sent), "R11", "reo_wnd is 0: lost at 103 ms");
    let congestion = bench.log.congestions()[0];
    assert_eq!(congestion.cause, CongestionCause::Loss);
    assert_eq!(congestion.flight_size_bytes, 10 * MSS);
}

#[test]
fn without_reordering_and_with_one_sack_the_timer_waits_a_quarter_of_min_rtt() {
    let (mut bench, start) = spaced(Lab { config: config(), ..Lab::default() });
    bench.advance_to(start + ms(101));
    bench.sack(10, &[(12, 12)]);
    let sent = bench.advance_to(start + ms(140));
    assert_eq!(when(&sent, "R11", start), Some(125_000));
}

/// As [`spaced`], but segment 2 arrived before segment 1, so that reordering was seen.
fn reordered() -> (Bench, Time) {
    reordered_with(config())
}
fn reordered_with(config: TcpConfig) -> (Bench, Time) {
    let mut bench = connected(Lab { config, ..Lab::default() });
    let start = bench.now;
    let mut sent = bench.sack(0, &[(2, 2)]);
    sent.extend(bench.ack(2));
    assert_eq!(data(&sent), "11 12");
    for number in 3..=10 {
        bench.advance_to(start + ms(number - 1));
        bench.ack(number);
    }
    assert_eq!(bench.conn.counters().retransmits, 0);
    // Now 11 to 20 are in flight; two round trips later all is spaced by 1 ms again.
    for number in 11..=20 {
        bench.advance_to(start + ms(89 + number));
        bench.ack(number);
    }
    (bench, start + ms(100))
}

#[test]
fn with_reordering_seen_the_third_sack_is_not_enough() {
    // 21 to 30 were sent at 0, 1, ..., 9 ms; 21 is lost.
    let (mut bench, start) = reordered();
    for (at, number) in (101..=109).zip(22..) {
        let sent = bench.advance_to(start + ms(at));
        assert_eq!(data(&sent), "");
        assert!(!data(&bench.sack(20, &[(22, number)])).contains('R'), "at {at} ms");
    }
    let sent = bench.advance_to(start + ms(150));
    assert_eq!(when(&sent, "R21", start), Some(125_000), "lost at 125 ms");
}

#[test]
fn the_rtt_is_that_of_what_arrived_last() {
    // RFC 8985 section 6.2 step 2: RACK.rtt follows every arrival, RACK.xmit_ts the one that was
    // sent last. 23 comes 20 ms late, after 24: 21 is lost 120 + 25 ms after it was sent.
    let (mut bench, start) = reordered();
    for (at, blocks) in [(101, &[(22, 22)][..]), (103, &[(24, 24), (22, 22)]), (122, &[(22, 24)])] {
        bench.advance_to(start + ms(at));
        bench.sack(20, blocks);
    }
    let sent = bench.advance_to(start + ms(180));
    assert_eq!(when(&sent, "R21", start), Some(145_000));
}

#[test]
fn with_reordering_seen_a_late_segment_is_not_retransmitted() {
    let (mut bench, start) = reordered();
    for (at, number) in (101..=109).zip(22..) {
        bench.advance_to(start + ms(at));
        bench.sack(20, &[(22, number)]);
    }
    bench.advance_to(start + ms(120));
    bench.ack(30); // 21 came 20 ms late
    bench.advance_to(start + ms(180));
    assert_eq!(bench.conn.counters().retransmits, 0);
    assert_eq!(bench.log.congestions().len(), 0);
}

#[test]
fn the_timer_is_that_of_the_last_of_the_waiting() {
    // RFC 8985 section 6.2 step 5: the timeout is the maximum of the remaining times. 11 and 12 are
    // missing (sent at 0 and 1 ms), 13 arrives at 102: both are found lost at 126 ms, when the
    // later of the two is due.
    let (mut bench, start) = spaced(Lab { config: config(), ..Lab::default() });
    bench.advance_to(start + ms(102));
    bench.sack(10, &[(13, 13)]);
    let sent = bench.advance_to(start + ms(140));
    assert_eq!(when(&sent, "R11", start), Some(126_000));
    assert_eq!(bench.log.losses().len(), 2);
}

#[test]
fn a_lost_retransmission_is_found_and_answered_once_more() {
    // R11 leaves at 103 ms, new data after it; when that is SACKed, R11 is lost as well (reo_wnd 0
    // in recovery).
    let (mut bench, start) = spaced(Lab { config: config(), ..Lab::default() });
    let mut sent = Vec::new();
    for (at, number) in (101..=109).zip(12..) {
        bench.advance_to(start + ms(at));
        sent.extend(bench.sack(10, &[(12, number)]));
    }
    assert_eq!(when(&sent, "R11", start), Some(103_000));
    let first_new = sent.iter().filter(|s| s.len > 0).find(|s| !s.label.starts_with('R')).unwrap();
    assert_eq!((first_new.label.as_str(), first_new.at.since(start)), ("21", ms(104)));
    bench.advance_to(start + ms(204));
    let again = bench.sack(10, &[(12, 21)]);
    assert!(data(&again).starts_with("R11"), "{}", data(&again));
    let causes: Vec<CongestionCause> = bench.log.congestions().iter().map(|c| c.cause).collect();
    assert_eq!(causes, [CongestionCause::Loss, CongestionCause::LostRetransmission]);
}

#[test]
fn a_lost_tail_and_its_lost_repeats_are_repaired_without_the_timer() {
    // Ten segments and no more data; 6 to 10 are lost, and R8 as well. The probe R10 leaves two
    // SRTT after the last ACK; its SACK shows that 6 to 9 are lost, and that of R9 that R8 is: both
    // are repeats beyond a hole, whose ACKs echo a timestamp of long before.
    let lab = Lab { config: config(), send_bytes: Some(10 * MSS), ..Lab::default() };
    let mut bench = connected(lab);
    let start = bench.now;
    bench.ack(5);
    let probe = bench.advance(ms(300));
    assert_eq!((data(&probe), when(&probe, "R10", start)), ("R10".into(), Some(200_000)));
    let mut sent = bench.sack(5, &[(10, 10)]);
    sent.extend(bench.advance(ms(26)));
    assert_eq!(data(&sent), "R6", "PRR: one for one");
    bench.advance_to(sent[0].at + ms(100));
    let sent = bench.ack(6);
    assert_eq!(data(&sent), "R7 R8", "PRR: a SafeACK sends two");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(7)), "R9");
    // R8 is lost.
    bench.advance(ms(100));
    let mut sent = bench.sack(7, &[(9, 10)]);
    sent.extend(bench.advance(ms(26)));
    assert_eq!(data(&sent), "R8");
    bench.advance(ms(100));
    bench.ack(10);
    assert_eq!((bench.conn.counters().timeouts, bench.in_flight()), (0, 0));
}

#[test]
fn a_retransmission_acknowledged_too_early_says_nothing() {
    // RFC 8985 section 6.2 step 2: acknowledged less than min_RTT after the retransmission, it was
    // the original.
    let (mut bench, start) = spaced(Lab { config: config(), ..Lab::default() });
    for (at, number) in (101..=103).zip(12..) {
        bench.advance_to(start + ms(at));
        bench.sack(10, &[(12, number)]);
    }
    // R11 left at 103 ms; at 104 an ACK covers 11 to 14: the original was late. 15 to 20 were sent
    // before R11; were R11 taken for the newest delivered segment, all of them would be lost now.
    bench.advance_to(start + ms(104));
    bench.ack(14);
    for (at, number) in (105..=110).zip(15..) {
        bench.advance_to(start + ms(at));
        bench.ack(number);
    }
    assert_eq!(bench.conn.counters().retransmits, 1);
    assert_eq!(bench.conn.counters().lost_packets, 1);
}

#[test]
fn a_tail_loss_is_probed_after_two_srtt() {
    // More than one segment in flight: PTO = 2 * SRTT after the last advancing ACK. No new data:
    // the last segment.
    let lab = Lab { config: config(), send_bytes: Some(10 * MSS), ..Lab::default() };
    let mut bench = connected(lab);
    bench.ack(8);
    let start = bench.now;
    let sent = bench.advance(ms(900));
    assert_eq!(data(&sent), "R10", "one probe");
    assert_eq!(when(&sent, "R10", start), Some(200_000));
    assert_eq!(bench.conn.counters().tail_probes, 1);
    // Then the RTO, from the probe on.
    let sent = bench.advance(ms(400));
    assert_eq!(when(&sent, "R9", start), Some(1_200_000));
}

#[test]
fn a_probe_that_arrives_repairs_by_recovery() {
    let lab = Lab { config: config(), send_bytes: Some(10 * MSS), ..Lab::default() };
    let mut bench = connected(lab);
    bench.ack(8);
    assert_eq!(data(&bench.advance(ms(300))), "R10");
    // The probe is SACKed: 9, sent two RTTs before it, is lost at once, or a quarter of min_RTT
    // later at most.
    let mut sent = bench.sack(8, &[(10, 10)]);
    sent.extend(bench.advance(ms(26)));
    assert_eq!(data(&sent), "R9");
    bench.advance(ms(100));
    bench.ack(10);
    assert_eq!(bench.log.congestions().len(), 1);
    assert_eq!(bench.conn.counters().timeouts, 0);
}

#[test]
fn a_single_segment_waits_for_the_delayed_ack() {
    // PTO = 2 * SRTT + max_ack_delay where FlightSize is one segment.
    let ack_policy = AckPolicy::Delayed { packets: 2, timeout: ms(40), quick: 0 };
    let config = TcpConfig { ack_policy, ..config() };
    let lab = Lab { config, window: Window::fixed(1), ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1");
    let start = bench.now;
    let sent = bench.advance(ms(990));
    assert_eq!(data(&sent), "2", "new data, one segment beyond the window");
    let at = when(&sent, "2", start).unwrap();
    assert!((240_000..=400_000).contains(&at), "{at} us");
}

#[test]
fn linux_probes_a_single_segment_after_its_smallest_timeout() {
    // tcp_schedule_loss_probe: 2 SRTT + RTO_MIN for one segment, 2 SRTT + 2 ms for more, the RTO at
    // most. One sample of 100 ms: RTO = SRTT + max(2 SRTT, 200 ms) = 300 ms.
    let linux = TcpConfig { rto_rule: RtoRule::Linux, min_rto: ms(200), ..config() };
    for (segments, rtt, label, due_us) in
        [(1, 100, "2", 300_000), (1, 300, "2", 800_000), (2, 100, "3", 202_000)]
    {
        let lab = Lab { config: linux, window: Window::fixed(segments), ..Lab::default() };
        let (mut bench, _) = lab.connected(ms(rtt));
        let start = bench.now;
        let sent = bench.advance(ms(850));
        assert_eq!(when(&sent, label, start), Some(due_us), "{segments} in flight");
    }
}

#[test]
fn a_probe_prefers_new_data() {
    let window = Window { reaction: Reaction::Hold, ..Window::fixed(10) };
    let (mut bench, _) = Lab { config: config(), window, ..Lab::default() }.connected(ms(100));
    let start = bench.now;
    let sent = bench.advance(ms(1100));
    assert_eq!(data(&sent), "11", "one probe for a flight");
    assert_eq!(when(&sent, "11", start), Some(200_000));
    let sent = bench.advance(ms(200));
    assert_eq!(when(&sent, "R1", start), Some(1_200_000), "the RTO restarts with the probe");
}

#[test]
fn a_probe_that_repaired_a_loss_is_answered_by_congestion_control() {
    // RFC 8985 section 7.4.2. The peer's window holds ten segments; the tenth is lost.
    let lab = Lab { config: config(), peer_scale: None, peer_window: 10_000, ..Lab::default() };
    let mut bench = connected(lab);
    bench.lab.peer_window = 1000;
    bench.ack(9);
    assert_eq!(data(&bench.advance(ms(450))), "R10");
    assert_eq!(bench.log.congestions().len(), 0);
    bench.lab.peer_window = 10_000;
    bench.ack(10);
    bench.advance(ms(100));
    bench.ack(11);
    let congestions = bench.log.congestions();
    assert_eq!(congestions.len(), 1, "the probe repaired the one loss");
    assert_eq!(congestions[0].cause, CongestionCause::Loss);
    bench.ack(12);
    assert_eq!(bench.log.congestions().len(), 1);
}

#[test]
fn a_probe_that_was_not_needed_is_not_answered() {
    // The same, but the receiver had the tenth segment: DSACK.
    let lab = Lab { config: config(), peer_scale: None, peer_window: 10_000, ..Lab::default() };
    let mut bench = connected(lab);
    bench.lab.peer_window = 1000;
    bench.ack(9);
    assert_eq!(data(&bench.advance(ms(450))), "R10");
    bench.lab.peer_window = 10_000;
    bench.ack(10); // the original, late
    bench.sack(10, &[(10, 10)]); // and the probe: a duplicate
    bench.advance(ms(100));
    bench.ack(11);
    bench.ack(14);
    assert_eq!(bench.log.congestions().len(), 0);
}

#[test]
fn no_probe_while_something_is_sacked_or_in_recovery() {
    let mut bench = connected(Lab { config: config(), ..Lab::default() });
    for number in 2..=4 {
        bench.sack(0, &[(2, number)]);
    }
    bench.advance(ms(990));
    assert_eq!(bench.conn.counters().tail_probes, 0);
}

#[test]
fn no_second_probe_without_an_rtt_sample_between() {
    let mut bench = connected(Lab { config: config(), ..Lab::default() });
    bench.advance(ms(300));
    assert_eq!(bench.conn.counters().tail_probes, 1);
    bench.advance(ms(650));
    assert_eq!(bench.conn.counters().tail_probes, 1);
}

#[test]
fn a_timeout_marks_only_what_is_old_enough() {
    // RFC 8985 section 6.3: the first segment is lost, another only if its age is RACK.rtt +
    // reo_wnd. Data that is younger than that stays in flight.
    let lab = Lab { config: config(), peer_scale: None, peer_window: 4000, ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3 4");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(1)), "5");
    let start = bench.now;
    // The window is full: the probe is segment 5 again.
    let sent = bench.advance(ms(1150));
    assert_eq!((data(&sent), when(&sent, "R5", start)), ("R5".into(), Some(200_000)));
    bench.lab.peer_window = 6000;
    assert_eq!(data(&bench.ack(1)), "6 7", "50 ms before the timeout");
    let sent = bench.advance(ms(60));
    assert_eq!(when(&sent, "R2", start), Some(1_200_000));
    // 2, 3, 4, 5 and R5: nothing that is younger than the probe.
    let losses = bench.log.losses();
    assert!(losses.len() >= 4 && losses.iter().all(|l| l.sent_at <= start + ms(200)), "{losses:?}");
    assert_eq!(bench.in_flight(), 3, "R2, 6 and 7");
}

#[test]
fn a_dsack_widens_the_reordering_window() {
    // RFC 8985 section 6.2 step 4: a round with a DSACK adds a quarter of min_RTT.
    let (mut bench, start) = reordered();
    // 21 is 30 ms late: R21 at 125 ms was spurious, and the receiver says so when it comes.
    for (at, number) in (101..=109).zip(22..) {
        bench.advance_to(start + ms(at));
        bench.sack(20, &[(22, number)]);
    }
    let sent = bench.advance_to(start + ms(130));
    assert_eq!(when(&sent, "R21", start), Some(125_000));
    bench.ack(30);
    bench.advance_to(start + ms(225));
    bench.sack(30, &[(21, 21)]);
    // A new flight, its first segment lost: found 100 + 2 * 25 ms after it was sent.
    bench.advance_to(start + ms(260));
    let una = bench.sent_end / MSS;
    let flight = bench.ack(una);
    assert!(data(&flight).split(' ').count() > 2, "{}", data(&flight));
    let sent_at = bench.now;
    bench.advance(ms(100));
    bench.sack(una, &[(una + 2, una + 2)]);
    let sent = bench.advance(ms(80));
    assert_eq!(when(&sent, &format!("R{}", una + 1), sent_at), Some(150_000));
}

#[test]
fn recoveries_that_were_undone_leave_the_reordering_window() {
    // RFC 8985 section 6.2 step 4: after 16 recoveries without a DSACK a widened window is what it
    // was. Linux (tcp_try_undo_recovery) does not count those that timestamps undo.
    let (mut bench, start) = reordered_with(TcpConfig { timestamps: true, ..config() });
    bench.advance_to(start + ms(109));
    bench.ack(30);
    bench.sack(30, &[(21, 21)]); // a DSACK: two quarters of min_RTT from now on
    for round in 0..20 {
        bench.advance(ms(200));
        let una = bench.sent_end / MSS;
        assert!(data(&bench.ack(una)).split(' ').count() > 2);
        let sent_at = bench.now;
        bench.advance(ms(100));
        bench.sack(una, &[(una + 2, una + 2)]);
        let sent = bench.advance(ms(60));
        assert_eq!(when(&sent, &format!("R{}", una + 1), sent_at), Some(150_000), "{round}");
        bench.ack(una + 2); // 10 ms after the repeat: the original
    }
    assert_eq!(bench.conn.counters().recoveries, 20);
}

/// Segment 11 of [`spaced`] is lost and retransmitted at 103 ms, 12 to 15 arrive on time, `last` is
/// SACKed at 700 ms, and then nothing comes.
fn sacked_late(loss_policy: LossPolicy, last: u64) -> (Bench, Time) {
    let config = TcpConfig { loss_policy, ..config() };
    let (mut bench, start) = spaced(Lab { config, ..Lab::default() });
    for (at, number) in (101..=104).zip(12..) {
        bench.advance_to(start + ms(at));
        bench.sack(10, &[(12, number)]);
    }
    assert_eq!(bench.conn.counters().retransmits, 1);
    assert_eq!(bench.sent_end, 21 * MSS, "21 left after R11");
    bench.advance_to(start + ms(700));
    bench.sack(10, &[(last, last), (12, 15)]);
    (bench, start)
}

#[test]
fn what_was_sent_before_the_heads_retransmission_restarts_the_timer() {
    // Linux, tcp_clean_rtx_queue; RFC 6675 section 6 allows it. R11 set the timer to 1103 ms, with
    // RTO 1 s.
    for policy in [LossPolicy::RackTlp, LossPolicy::DupThresh] {
        let (mut bench, start) = sacked_late(policy, 20);
        bench.advance_to(start + ms(1699));
        assert_eq!(bench.conn.counters().timeouts, 0, "{policy:?}: 20 left before R11");
        bench.advance_to(start + ms(4000));
        assert!(bench.conn.counters().timeouts > 0, "{policy:?}: nothing came since");
    }
}

#[test]
fn what_was_sent_after_the_heads_retransmission_leaves_the_timer_alone() {
    // "Do not re-arm RTO if the sack RTT is measured from data sent after when the head was last
    // (re)transmitted."
    let (mut bench, start) = sacked_late(LossPolicy::DupThresh, 21);
    bench.advance_to(start + ms(1102));
    assert_eq!(bench.conn.counters().timeouts, 0);
    bench.advance_to(start + ms(1104));
    assert_eq!(bench.conn.counters().timeouts, 1);
}

#[test]
fn what_the_timer_finds_lost_in_recovery_leaves_its_window_as_it_is() {
    // Linux, tcp_rack_reo_timeout and tcp_cwnd_reduction: without newly delivered data cwnd stays,
    // and what is found lost makes room. 21 to 30 left at 0, ..., 9 ms; of them 23 arrives at 102
    // and 30 at 127.
    let (mut bench, start) = reordered();
    bench.advance_to(start + ms(102));
    bench.sack(20, &[(23, 23)]);
    let sent = bench.advance_to(start + ms(127));
    assert_eq!(data(&sent), "R21", "21 and 22 are lost at 126 ms, recovery begins");
    // PRR on the ACK: in flight 24 to 29 and R21, ssthresh 5: 1 * 5 / 10 less 1 that has left. cwnd
    // = 7.
    assert_eq!(data(&bench.sack(20, &[(30, 30), (23, 23)])), "");
    assert_eq!(bench.cwnd(), 7);
    // RTT of 30: 118 ms, reo_wnd 25: 29, sent at 8 ms, is the last that is due. R21 alone is in
    // flight.
    let sent = bench.advance_to(start + ms(200));
    assert_eq!(when(&sent, "R22", start), Some(151_000));
    assert_eq!(data(&sent), "R22 R24 R25 R26 R27 R28");
    assert_eq!(bench.cwnd(), 7);
}

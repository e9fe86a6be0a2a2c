//! The receiver: delayed ACKs (RFC 5681 section 4.2), SACK and DSACK generation (RFC 2018, RFC
//! 2883), timestamps (RFC 7323), the window.

use crate::common::{Bench, Fate, Inject, Lab, MSS, Seg, Window, Wiring, ms, plain};
use forebay_base::{Span, TcpFlags, Time};
use forebay_cc::{AckPolicy, LossPolicy};
use forebay_transport::TcpConfig;

fn delayed(packets: u8, timeout: Span, quick: u16) -> TcpConfig {
    TcpConfig { ack_policy: AckPolicy::Delayed { packets, timeout, quick }, ..plain() }
}

fn server(config: TcpConfig) -> Bench {
    // A server with nothing to send, so that every packet it sends is an ACK.
    Lab { config, send_bytes: Some(0), ..Lab::default() }.accepted()
}

fn blocks(seg: &Seg) -> Vec<(i64, i64)> {
    // In segments, both ends included.
    seg.sack.iter().map(|&(a, b)| (a / MSS as i64 + 1, b / MSS as i64)).collect()
}

fn acked(seg: &Seg) -> i64 {
    seg.ack.unwrap() / MSS as i64
}

#[test]
fn every_packet_is_acknowledged_where_the_policy_says_so() {
    let mut bench = server(plain());
    for number in 1..=20 {
        let sent = bench.peer_data(number);
        assert_eq!(sent.len(), 1);
        assert!(sent[0].is_pure_ack());
        assert_eq!(sent[0].ack, Some((number * MSS) as i64));
        assert!(sent[0].sack.is_empty());
    }
    assert_eq!(bench.conn.progress().received_bytes, 20 * MSS);
    assert_eq!(bench.conn.progress().last_byte_at, Some(bench.now));
    assert_eq!(bench.conn.counters().acks, 20);
}

#[test]
fn the_second_full_sized_segment_is_acknowledged_at_once() {
    let mut bench = server(delayed(2, ms(40), 0));
    for pair in 0..10 {
        assert!(bench.peer_data(2 * pair + 1).is_empty());
        bench.advance(ms(1));
        let sent = bench.peer_data(2 * pair + 2);
        assert_eq!(sent.len(), 1);
        assert_eq!(acked(&sent[0]), 2 * pair as i64 + 2);
        assert!(bench.advance(ms(1)).is_empty());
    }
    assert!(bench.advance(Span::from_secs(1)).is_empty(), "nothing is left to acknowledge");
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_timeout() {
    let mut bench = server(delayed(2, ms(40), 0));
    for number in 1..=3 {
        let start = bench.now;
        assert!(bench.peer_data(number).is_empty());
        let sent = bench.advance(ms(100));
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].at.since(start), ms(40));
        assert_eq!(acked(&sent[0]), number as i64);
    }
}

#[test]
fn the_delay_runs_from_the_first_segment_that_waits() {
    let mut bench = server(delayed(4, ms(40), 0));
    let start = bench.now;
    for number in 1..=3 {
        assert!(bench.peer_data(number).is_empty());
        assert!(bench.advance(ms(10)).is_empty());
    }
    let sent = bench.advance(ms(100));
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].at.since(start), acked(&sent[0])), (ms(40), 3));
}

#[test]
fn the_first_packets_are_acknowledged_one_by_one() {
    let mut bench = server(delayed(2, ms(40), 5));
    for number in 1..=5 {
        assert_eq!(bench.peer_data(number).len(), 1, "packet {number}");
    }
    assert!(bench.peer_data(6).is_empty());
    assert_eq!(bench.peer_data(7).len(), 1);
}

#[test]
fn out_of_order_data_and_what_fills_a_gap_are_acknowledged_at_once() {
    // RFC 5681 section 4.2.
    let mut bench = server(delayed(2, ms(40), 0));
    let sent = bench.peer_data(2);
    assert_eq!((sent.len(), acked(&sent[0]), blocks(&sent[0])), (1, 0, vec![(2, 2)]));
    let sent = bench.peer_data(4);
    assert_eq!((sent.len(), acked(&sent[0]), blocks(&sent[0])), (1, 0, vec![(4, 4), (2, 2)]));
    let sent = bench.peer_data(1);
    assert_eq!((sent.len(), acked(&sent[0]), blocks(&sent[0])), (1, 2, vec![(4, 4)]));
    let sent = bench.peer_data(3);
    assert_eq!((sent.len(), acked(&sent[0]), blocks(&sent[0])), (1, 4, vec![]));
    assert_eq!(bench.conn.progress().received_bytes, 4 * MSS);
    assert!(bench.peer_data(5).is_empty(), "in order again: delayed again");
}

#[test]
fn a_gap_flushes_the_ack_that_waits() {
    let mut bench = server(delayed(2, ms(40), 0));
    assert!(bench.peer_data(1).is_empty());
    let sent = bench.peer_data(3);
    assert_eq!((sent.len(), acked(&sent[0]), blocks(&sent[0])), (1, 1, vec![(3, 3)]));
    assert!(bench.advance(ms(100)).is_empty(), "and no second one when the delay is over");
}

#[test]
fn the_block_of_the_newest_segment_is_first_and_the_others_follow_by_recency() {
    // RFC 2018 section 4.
    let mut bench = server(plain());
    bench.peer_data(3);
    bench.peer_data(7);
    let sent = bench.peer_data(5);
    assert_eq!(blocks(&sent[0]), [(5, 5), (7, 7), (3, 3)]);
    let sent = bench.peer_data(9);
    assert_eq!(blocks(&sent[0]), [(9, 9), (5, 5), (7, 7), (3, 3)]);
    // 4 joins 3 and 5; the joined block is the newest.
    let sent = bench.peer_data(4);
    assert_eq!(blocks(&sent[0]), [(3, 5), (9, 9), (7, 7)]);
    let sent = bench.peer_data(6);
    assert_eq!(blocks(&sent[0]), [(3, 7), (9, 9)]);
    let sent = bench.peer_data(2);
    assert_eq!(blocks(&sent[0]), [(2, 7), (9, 9)]);
    let sent = bench.peer_data(1);
    assert_eq!((acked(&sent[0]), blocks(&sent[0])), (7, vec![(9, 9)]));
}

#[test]
fn four_blocks_fit_without_timestamps_and_three_with_them() {
    for (timestamps, fit) in [(false, 4), (true, 3)] {
        let mut bench = server(TcpConfig { timestamps, ..plain() });
        let mut last = Vec::new();
        for number in [2u64, 4, 6, 8, 10, 12] {
            let seq = Some(((number - 1) * MSS) as i64);
            let ts = timestamps.then_some((1001, 0));
            last = bench.inject(Inject { seq, len: MSS as u16, ts, ..Inject::default() });
        }
        let expected: Vec<(i64, i64)> = (0..fit).map(|i| (12 - 2 * i, 12 - 2 * i)).collect();
        assert_eq!(blocks(&last[0]), expected);
    }
}

#[test]
fn each_block_is_repeated_in_three_acks() {
    // RFC 2018 section 4: so that a lost ACK does not lose a block. With four blocks an ACK, four.
    let mut bench = server(plain());
    let mut seen = 0;
    for number in (2u64..=20).step_by(2) {
        let sent = bench.peer_data(number);
        seen += blocks(&sent[0]).contains(&(4, 4)) as u32;
    }
    assert!(seen >= 3, "{seen}");
}

#[test]
fn sack_is_not_sent_to_who_did_not_permit_it() {
    let lab = Lab { peer_sack: false, send_bytes: Some(0), ..Lab::default() };
    let mut bench = lab.accepted();
    let sent = bench.peer_data(2);
    assert_eq!(sent.len(), 1);
    assert!(sent[0].sack.is_empty());
    assert_eq!(acked(&sent[0]), 0, "a duplicate ACK all the same");
}

#[test]
fn a_duplicate_below_the_ack_is_reported_first() {
    // RFC 2883 section 4.1.1, case of a segment received twice.
    let mut bench = server(delayed(2, ms(40), 0));
    bench.peer_data(1);
    bench.peer_data(2);
    let sent = bench.peer_data(2);
    assert_eq!(sent.len(), 1, "a duplicate is acknowledged at once");
    assert_eq!((acked(&sent[0]), blocks(&sent[0])), (2, vec![(2, 2)]));
    assert_eq!(bench.conn.counters().duplicates_received, 1);
    assert_eq!(bench.conn.progress().received_bytes, 2 * MSS);
    // Only once: the next ACK is clean.
    bench.peer_data(3);
    let sent = bench.peer_data(4);
    assert_eq!((acked(&sent[0]), blocks(&sent[0])), (4, vec![]));
}

#[test]
fn a_duplicate_above_the_ack_is_reported_before_the_block_that_holds_it() {
    // RFC 2883 section 4.1.3 / 4.2: first the duplicate, then the block that contains it.
    let mut bench = server(plain());
    bench.peer_data(3);
    bench.peer_data(4);
    bench.peer_data(6);
    let sent = bench.peer_data(4);
    assert_eq!(blocks(&sent[0]), [(4, 4), (3, 4), (6, 6)]);
    assert_eq!(acked(&sent[0]), 0);
}

#[test]
fn a_partial_duplicate_reports_the_part() {
    // RFC 2883 section 4.3: the first contiguous duplicate range of the segment.
    let mut bench = server(plain());
    bench.peer_data(1);
    bench.peer_data(2);
    // 1500 to 2500: the first half is there already.
    let sent = bench.inject(Inject { seq: Some(1500), len: 1000, ..Inject::default() });
    assert_eq!((sent[0].ack, sent[0].sack.clone()), (Some(2500), vec![(1500, 2000)]));
    assert_eq!(bench.conn.progress().received_bytes, 2500);
}

#[test]
fn overlapping_and_odd_segments_are_counted_once() {
    let mut bench = server(plain());
    for (seq, len) in [(5000, 300), (4900, 250), (0, 100), (50, 100), (200, 4750), (100, 150)] {
        bench.inject(Inject { seq: Some(seq), len, ..Inject::default() });
    }
    assert_eq!(bench.conn.progress().received_bytes, 5300);
}

#[test]
fn data_outside_the_window_is_refused_and_answered() {
    // RFC 9293 3.10.7.4 first step: not acceptable, an ACK is sent.
    let config = TcpConfig { receive_buffer_bytes: 50_000, ..plain() };
    let mut bench = server(config);
    let sent = bench.inject(Inject { seq: Some(60_000), len: 1000, ..Inject::default() });
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].ack, sent[0].sack.len()), (Some(0), 0));
    let sent = bench.inject(Inject { seq: Some(-5000), len: 1000, ..Inject::default() });
    assert_eq!(sent.len(), 1);
    assert_eq!(bench.conn.progress().received_bytes, 0);
    assert_eq!(acked(&bench.peer_data(1)[0]), 1);
}

#[test]
fn the_fin_is_acknowledged_and_ends_the_stream() {
    let mut bench = server(plain());
    bench.peer_data(1);
    let fin = |seq| Inject { seq: Some(seq), len: 1000, flags: TcpFlags::FIN, ..Inject::default() };
    let sent = bench.inject(fin(2000)); // out of order
    assert!(sent.iter().all(|s| s.ack == Some(1000)));
    assert!(!bench.conn.progress().stream_complete);
    let sent = bench.peer_data(2);
    assert_eq!(sent.iter().filter_map(|s| s.ack).max(), Some(3001));
    let progress = bench.conn.progress();
    assert!(progress.stream_complete);
    assert_eq!(progress.received_bytes, 3000, "the FIN is not a byte");
    assert!(sent.iter().any(|s| s.has(TcpFlags::FIN)), "the server has nothing to send: its FIN");
    // Acknowledged: both sides are done.
    bench.inject(Inject { seq: Some(3001), ack: Some(1), ..Inject::default() });
    assert!(bench.conn.progress().ended.is_some());
}

#[test]
fn the_echo_follows_rfc_7323() {
    // RFC 7323 section 4.3: an ACK echoes TS.Recent, which follows segments at Last.ACK.sent only.
    let config = TcpConfig { timestamps: true, ..delayed(2, ms(40), 0) };
    let mut bench = server(config);
    let mut put = |number: u64, value: u32| {
        let seq = Some(((number - 1) * MSS) as i64);
        bench.advance(ms(1));
        bench.inject(Inject { seq, len: MSS as u16, ts: Some((value, 0)), ..Inject::default() })
    };
    let echo = |sent: &[Seg]| sent[0].ts.map(|(_, echo)| echo);
    // Delayed: the first of the segments that one ACK covers.
    assert!(put(1, 2001).is_empty());
    assert_eq!(echo(&put(2, 2002)), Some(2001));
    // 3 (TSval 2003) is missing; 4 does not lie at Last.ACK.sent.
    assert_eq!(echo(&put(4, 2004)), Some(2001));
    // What fills the gap is echoed, although its TSval is older than that of 4.
    assert_eq!(echo(&put(3, 2003)), Some(2003));
    // 6 comes before 5.
    assert_eq!(echo(&put(6, 2006)), Some(2003));
    assert_eq!(echo(&put(5, 2005)), Some(2005));
}

#[test]
fn timestamps_count_milliseconds_and_are_on_every_packet() {
    let config = TcpConfig { timestamps: true, ..plain() };
    let mut bench = server(config);
    let put = |bench: &mut Bench, number: u64| {
        let seq = Some(((number - 1) * MSS) as i64);
        let ts = Some((1500, 0));
        bench.inject(Inject { seq, len: MSS as u16, ts, ..Inject::default() })
    };
    let first = put(&mut bench, 1)[0].ts.unwrap().0;
    bench.advance(ms(777));
    let second = put(&mut bench, 2)[0].ts.unwrap().0;
    assert_eq!(second.wrapping_sub(first), 777);
}

#[test]
fn old_timestamps_are_refused() {
    // RFC 7323 section 5 (PAWS, R1): SEG.TSval < TS.Recent: an ACK, and the segment is dropped.
    let config = TcpConfig { timestamps: true, ..plain() };
    let mut bench = server(config);
    let put = |bench: &mut Bench, number: u64, value: u32| {
        let seq = Some(((number - 1) * MSS) as i64);
        let ts = Some((value, 0));
        bench.inject(Inject { seq, len: MSS as u16, ts, ..Inject::default() })
    };
    put(&mut bench, 1, 5000);
    let sent = put(&mut bench, 2, 4000);
    assert_eq!(sent.len(), 1);
    assert_eq!(bench.conn.progress().received_bytes, MSS);
    put(&mut bench, 2, 5000);
    assert_eq!(bench.conn.progress().received_bytes, 2 * MSS);
}

#[test]
fn a_late_original_passes_after_a_needless_repeat() {
    // RFC 7323 section 5.3: R2 refuses a segment wholly below RCV.NXT before R3 records its
    // timestamp. 1 and 2 were sent at 2000, 3 at 2040; 1 again, needlessly, at 2090.
    let config = TcpConfig { timestamps: true, ..plain() };
    let mut bench = server(config);
    let put = |bench: &mut Bench, number: u64, value: u32| {
        let seq = Some(((number - 1) * MSS) as i64);
        let ts = Some((value, 0));
        bench.inject(Inject { seq, len: MSS as u16, ts, ..Inject::default() })
    };
    put(&mut bench, 1, 2000);
    put(&mut bench, 2, 2000);
    let answer = put(&mut bench, 1, 2090);
    assert_eq!(answer[0].ts.unwrap().1, 2000, "TS.Recent");
    let answer = put(&mut bench, 3, 2040);
    assert_eq!((answer[0].ack, answer[0].ts.unwrap().1), (Some(3 * MSS as i64), 2040));
    // The same of a pure ACK below RCV.NXT; one at RCV.NXT is recorded.
    for (seq, recent) in [(2 * MSS, 2040), (3 * MSS, 2120)] {
        let ack = Inject { seq: Some(seq as i64), ts: Some((2120, 0)), ..Inject::default() };
        bench.inject(ack);
        assert_eq!(put(&mut bench, 5, 2130)[0].ts.unwrap().1, recent);
    }
}

#[test]
fn a_packet_that_brings_nothing_new_is_counted_however_it_comes() {
    let config = TcpConfig { timestamps: true, ..plain() };
    let mut bench = server(config);
    let mut put = |from: u64, value: u32| {
        let (seq, ts) = (Some((from * MSS / 2) as i64), Some((value, 0)));
        bench.inject(Inject { seq, len: MSS as u16, ts, ..Inject::default() });
        bench.conn.counters().duplicates_received
    };
    // In half segments: 0 and 2 in order, 6 beyond a hole.
    assert_eq!([put(0, 2000), put(2, 2000), put(6, 2040)], [0, 0, 0]);
    assert_eq!(put(0, 2090), 1, "acknowledged before");
    assert_eq!(put(6, 2090), 2, "held");
    assert_eq!(put(3, 2090), 2, "half of it is new");
    assert_eq!(put(4, 2100), 2, "the other half of the hole");
    assert_eq!(put(4, 2040), 3, "an original that its repeat has overtaken: PAWS refuses it");
    assert_eq!(put(10, 2040), 3, "PAWS refuses it, and nothing of it was there");
}

#[test]
fn the_window_shows_the_buffer() {
    // The application reads at once: in order the window stays open, and what waits out of order is
    // inside it.
    let config = TcpConfig { receive_buffer_bytes: 60_000, window_scaling: false, ..plain() };
    let mut bench = server(config);
    let sent = bench.peer_data(1);
    assert_eq!(sent[0].window, 60_000);
    let edge = |seg: &Seg| seg.ack.unwrap() + seg.window as i64;
    let before = edge(&sent[0]);
    let sent = bench.peer_data(5);
    assert_eq!(edge(&sent[0]), before, "the right edge does not shrink (RFC 9293 3.8.6)");
}

#[test]
fn a_policy_that_the_controller_declares_wins() {
    let window = Window { ack_policy: Some(AckPolicy::EveryPacket), ..Window::fixed(10) };
    let lab = Lab { config: delayed(2, ms(40), 0), window, send_bytes: Some(0), ..Lab::default() };
    let mut bench = lab.accepted();
    assert_eq!(bench.peer_data(1).len(), 1);
}

#[test]
fn data_carries_the_ack_and_no_second_one_follows() {
    // A client that sends takes its ACKs along.
    let (mut bench, _) = Lab { config: delayed(2, ms(40), 0), ..Lab::default() }.connected(ms(100));
    bench.advance(ms(100));
    let seq = Some(0);
    // The peer's data acknowledges a segment: a new one leaves and carries the ACK.
    let sent =
        bench.inject(Inject { seq, ack: Some(MSS as i64), len: MSS as u16, ..Inject::default() });
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].label.as_str(), sent[0].ack), ("11", Some(MSS as i64)));
    let later = bench.advance(ms(500));
    assert!(later.is_empty(), "{later:?}");
}

#[test]
fn dsacks_of_needless_retransmissions_reach_the_sender() {
    // All ACKs are lost for two seconds: the sender retransmits, the receiver has it all.
    let wiring = Wiring::new(plain(), Some(5 * MSS), ms(50)).script(|e| {
        let early = e.seg.at < Time::from_secs(2) && e.index > 1;
        Fate::drop_if(e.side == 1 && early)
    });
    let mut pair = wiring.build(|_, _| Window::fixed(10).any());
    pair.finish(Time::from_secs(20));
    let needless = pair.ends[0].counters().retransmits;
    assert!(needless >= 1);
    assert_eq!(pair.ends[1].counters().duplicates_received, needless);
    let is_dsack =
        |e: &&crate::common::Event| e.seg.sack.iter().any(|&(_, end)| Some(end) <= e.seg.ack);
    assert_eq!(pair.sent(1).into_iter().filter(is_dsack).count() as u64, needless);
}

/// A client with ten segments in flight, RTO 1 s; two ACKs of the peer, at 6000 and `value` ms of
/// its clock: the first of them reports segment 5, the second one `sack`. Returns what answers the
/// second one, and what is in flight then.
fn overtaken(value: u32, ack: u64, sack: u64) -> (usize, u64) {
    let config = TcpConfig { timestamps: true, loss_policy: LossPolicy::RackTlp, ..plain() };
    let lab = Lab { config, window: Window::fixed(10), ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(100));
    let mut put = |value: u32, ack: u64, sack: u64| {
        let block = (((sack - 1) * MSS) as i64, (sack * MSS) as i64);
        let (ack, ts) = (Some((ack * MSS) as i64), Some((value, bench.tsval)));
        bench.inject(Inject { ack, sack: vec![block], ts, ..Inject::default() })
    };
    put(6000, 1, 5);
    let acks = put(value, ack, sack).iter().filter(|s| s.len == 0).count();
    (acks, bench.in_flight())
}

#[test]
fn an_overtaken_ack_is_used_and_not_answered() {
    // The PAWS exception of Linux, tcp_disordered_ack: a pure ACK of SND.UNA, 1.2 RTO old at most.
    let in_order = overtaken(6000, 1, 7);
    for value in [5999, 4800] {
        assert_eq!(overtaken(value, 1, 7), in_order, "{value}: its SACK counts");
    }
    // Too old, and another ACK: dropped, and no answer to a pure ACK.
    let without = overtaken(6000, 1, 5);
    assert_ne!(without.1, in_order.1);
    for (value, ack) in [(4799, 1), (5999, 2)] {
        assert_eq!(overtaken(value, ack, 7), without, "{value} {ack}");
    }
    assert_eq!((in_order.0, without.0), (0, 0));
}

//! Opening, options on the wire, closing: RFC 9293, 7323, 2018, 3168, 6298 section 5.7.

use crate::common::{Fate, Inject, Lab, MSS, Pair, Window, Wiring, data, data_segs, ms, plain};
use forebay_base::{OptionList, Span, TcpFlags, Time, kind};
use forebay_transport::{EndCause, TcpConfig};

fn pair(config: TcpConfig, bytes: Option<u64>) -> Pair {
    Wiring::new(config, bytes, ms(50)).build(|_, _| Window::fixed(10).any())
}

#[test]
fn the_syn_carries_the_options_of_the_configuration() {
    let config = TcpConfig { timestamps: true, mss_bytes: 1448, ..plain() };
    let mut bench = Lab { config, ..Lab::default() }.client();
    let sent = bench.open();
    assert_eq!(sent.len(), 1);
    let syn = &sent[0];
    assert_eq!(syn.label, "SYN");
    assert_eq!((syn.off, syn.len, syn.ack), (-1, 0, None));
    // RFC 6691: the MSS option does not count options; 1448 and 12 bytes of timestamps make 1460.
    assert_eq!(syn.option(kind::MSS), Some(&1460u16.to_be_bytes()[..]));
    assert_eq!(syn.option(kind::SACK_PERMITTED), Some(&[][..]));
    let (_, echo) = syn.ts.expect("timestamps are offered");
    assert_eq!(echo, 0, "RFC 7323 section 3.2: TSecr is 0 without ACK");
    let shift = syn.scale().expect("window scaling is offered");
    assert!(shift <= 14, "RFC 7323 section 2.3");
    assert!((u16::MAX as u64) << shift >= config.receive_buffer_bytes / 2, "can offer the buffer");
    assert!(!syn.has(TcpFlags::ECE) && !syn.has(TcpFlags::CWR));
    assert!(bench.conn.progress().opened_at == Some(bench.now));
    assert!(bench.conn.progress().established_at.is_none());
}

#[test]
fn what_is_not_configured_is_not_offered() {
    let config = TcpConfig { sack: false, window_scaling: false, ..plain() };
    let mut bench = Lab { config, ..Lab::default() }.client();
    let syn = &bench.open()[0];
    assert_eq!(syn.option(kind::SACK_PERMITTED), None);
    assert_eq!(syn.scale(), None);
    assert_eq!(syn.ts, None);
    assert_eq!(syn.option(kind::MSS), Some(&(MSS as u16).to_be_bytes()[..]));
    assert_eq!(syn.window, u16::MAX, "a 4 MiB buffer without scaling offers all the field can say");
}

#[test]
fn the_server_agrees_only_to_what_was_offered() {
    let config = TcpConfig { timestamps: true, ..plain() };
    for (sack, stamps, scale) in
        [(true, true, Some(7)), (false, true, None), (true, false, Some(0)), (false, false, None)]
    {
        let mut bench = Lab {
            config,
            peer_sack: sack,
            peer_timestamps: stamps,
            peer_scale: scale,
            ..Lab::default()
        }
        .server();
        assert!(bench.open().is_empty(), "a server waits");
        let syn = bench.peer_syn();
        let sent = bench.inject(syn);
        assert_eq!(sent.len(), 1);
        let reply = &sent[0];
        assert_eq!(reply.label, "SYNACK");
        assert_eq!(reply.ack, Some(0), "the SYN takes one sequence number");
        assert_eq!(reply.option(kind::SACK_PERMITTED).is_some(), sack);
        assert_eq!(reply.ts.is_some(), stamps);
        assert_eq!(reply.scale().is_some(), scale.is_some());
        assert!(reply.option(kind::MSS).is_some());
        if let Some((_, echo)) = reply.ts {
            assert_eq!(echo, 1000, "RFC 7323 section 4: the SYN's TSval is echoed");
        }
    }
}

#[test]
fn a_second_syn_is_answered() {
    let mut bench = Lab::default().server();
    bench.open();
    let syn = bench.peer_syn();
    let first = bench.inject(syn.clone());
    bench.advance(ms(500));
    let second = bench.inject(syn);
    // RFC 9293 3.10.7.4 asks for an ACK; the SYN-ACK again says the same and more.
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].ack, first[0].ack);
    assert!(!second[0].has(TcpFlags::RST));
}

#[test]
fn the_handshake_takes_one_round_trip_on_each_side() {
    let mut pair = pair(plain(), Some(1));
    pair.finish(Time::from_secs(5));
    let [client, server] = [pair.ends[0].progress(), pair.ends[1].progress()];
    assert_eq!(client.opened_at, Some(Time::ZERO));
    assert_eq!(client.established_at, Some(Time::from_millis(100)));
    assert_eq!(server.opened_at, Some(Time::from_millis(50)));
    assert_eq!(server.established_at, Some(Time::from_millis(150)));
    assert_eq!(server.last_byte_at, Some(Time::from_millis(150)));
    pair.drain();
}

#[test]
fn the_handshake_gives_the_first_rtt_sample() {
    let (bench, _) = Lab::default().connected(ms(80));
    assert_eq!(bench.conn.view(0).srtt, Some(ms(80)));
    assert_eq!(bench.conn.rtt_summary(0).samples, 1);
}

#[test]
fn syns_are_sent_again_at_1_3_7_15_seconds() {
    let mut bench = Lab::default().client();
    let start = bench.now;
    bench.open();
    let again = bench.advance(Span::from_secs(32));
    let at: Vec<u64> = again.iter().map(|s| s.at.since(start).as_millis()).collect();
    assert_eq!(at, [1000, 3000, 7000, 15_000, 31_000]);
    assert!(again.iter().all(|s| s.label == "SYN" && s.off == -1));
}

#[test]
fn a_server_sends_its_syn_ack_again() {
    let mut bench = Lab::default().server();
    bench.open();
    let start = bench.now;
    let syn = bench.peer_syn();
    bench.inject(syn);
    let again = bench.advance(ms(7500));
    let at: Vec<u64> = again.iter().map(|s| s.at.since(start).as_millis()).collect();
    assert_eq!(at, [1000, 3000, 7000]);
    assert!(again.iter().all(|s| s.label == "SYNACK"));
}

#[test]
fn after_a_lost_syn_data_starts_with_an_rto_of_three_seconds() {
    // RFC 6298 (5.7), and no sample from the SYN: Karn.
    let mut bench = Lab::default().client();
    bench.open();
    bench.advance(ms(1100));
    let sent = bench.syn_ack();
    // RFC 5681 section 3.1: where the SYN was lost, the initial window is one segment. Nothing is
    // said of ssthresh: no data was in flight.
    assert_eq!(data(&sent), "1");
    assert_eq!(bench.ssthresh(), None);
    assert_eq!(bench.conn.view(0).srtt, None, "Karn: the SYN was sent twice");
    let start = bench.now;
    let again = bench.advance(ms(3500));
    assert_eq!(data(&again), "R1");
    assert_eq!(again[0].at.since(start), Span::from_secs(3));
}

#[test]
fn a_connection_gives_up_after_max_retries() {
    let config = TcpConfig { max_retries: 3, ..plain() };
    let mut bench = Lab { config, ..Lab::default() }.client();
    let start = bench.now;
    bench.open();
    bench.advance(Span::from_secs(100));
    let (cause, at) = bench.conn.progress().ended.expect("it gave up");
    assert_eq!(cause, EndCause::TimedOut);
    // The third timeout is at 7 s, the fourth at 15 s.
    let after = at.since(start).as_millis();
    assert!(after == 7000 || after == 15_000, "{after} ms");
    assert_eq!(bench.conn.next_timeout(), None, "an ended connection falls silent");
}

#[test]
fn a_small_mss_of_the_peer_is_kept() {
    for (offer, payload) in [(Some(512u16), 512u64), (None, 536)] {
        // RFC 9293 MUST-15: 536 bytes where the option is missing. No timestamps here.
        let (_, sent) = Lab { peer_mss: offer, ..Lab::default() }.connected(ms(10));
        let sizes: Vec<u64> = sent.iter().filter(|s| s.len > 0).map(|s| s.len).collect();
        assert!(!sizes.is_empty() && sizes.iter().all(|&len| len == payload), "{sizes:?}");
    }
}

#[test]
fn options_on_all_data_leave_a_full_sized_payload_its_length() {
    // By hand: 1446 + 20 + 20 + 8 of echo; 1434 + 40 + 24 for timestamps (10) and 12 bytes of rate,
    // padded together. The MSS option does not count options (RFC 6691).
    for (mss, timestamps, stamped, announced, wire) in
        [(1446, false, 8, 1454, 1494), (1434, true, 12, 1458, 1498)]
    {
        let config = TcpConfig { mss_bytes: mss, timestamps, ..plain() };
        let mut options = OptionList::EMPTY;
        options.push_experiment(0x1234, &[9; 12][..stamped - 4]).unwrap();
        let window = Window { stamped: options, ..Window::fixed(10) };
        let lab = Lab { config, window, peer_mss: Some(announced), ..Lab::default() };
        let mut bench = lab.client();
        let syn = bench.open().remove(0);
        assert_eq!(syn.option(kind::MSS), Some(&announced.to_be_bytes()[..]));
        bench.advance(ms(10));
        let sent = bench.syn_ack();
        let data = data_segs(&sent);
        assert!(data.len() >= 6);
        for seg in data {
            assert_eq!((seg.len, seg.wire_len), (u64::from(mss), wire));
            assert_eq!(seg.options.find_experiment(0x1234).map(<[u8]>::len), Some(stamped - 4));
        }
    }
}

#[test]
fn timestamps_take_their_twelve_bytes_from_the_peers_mss() {
    // RFC 6691: the sender subtracts the options it sends.
    let config = TcpConfig { timestamps: true, ..plain() };
    let (_, sent) = Lab { config, peer_mss: Some(512), ..Lab::default() }.connected(ms(10));
    assert!(sent.iter().filter(|s| s.len > 0).all(|s| s.len == 500 && s.ts.is_some()));
}

#[test]
fn a_peer_without_scaling_means_what_it_says() {
    let lab = Lab { peer_scale: None, peer_window: 3000, ..Lab::default() };
    let (bench, sent) = lab.connected(ms(10));
    assert_eq!(data(&sent), "1 2 3");
    drop(bench);
    // And our own window field is not scaled either.
    let ack = &sent[0];
    assert_eq!(ack.window, u16::MAX, "4 MiB of room, not shifted");
}

#[test]
fn the_window_of_a_syn_ack_is_never_scaled() {
    let lab = Lab { peer_scale: Some(10), peer_window: 4000, ..Lab::default() };
    let (mut bench, sent) = lab.connected(ms(10));
    assert_eq!(data(&sent), "1 2 3 4", "RFC 7323 section 2.2");
    bench.lab.peer_window = 1; // 1024 bytes
    assert_eq!(data(&bench.ack(4)), "5");
}

#[test]
fn the_window_of_a_syn_ack_is_scaled_where_both_ends_are_told_to() {
    let config = TcpConfig { scaled_syn_ack: true, ..plain() };
    let lab = Lab { config, peer_scale: Some(2), peer_window: 1000, ..Lab::default() };
    assert_eq!(data(&lab.connected(ms(10)).1), "1 2 3 4");
    let mut bench = Lab { config, ..Lab::default() }.server();
    bench.open();
    let syn = bench.peer_syn();
    let syn_ack = &bench.inject(syn)[0];
    let shift = syn_ack.scale().expect("the peer offered it");
    assert_eq!(u64::from(syn_ack.window) << shift, config.receive_buffer_bytes);
}

#[test]
fn own_windows_are_scaled_by_the_announced_shift() {
    let config = TcpConfig { receive_buffer_bytes: 1 << 20, ..plain() };
    let (_, sent) = Lab { config, ..Lab::default() }.connected(ms(10));
    let mut bench = Lab { config, ..Lab::default() }.client();
    let shift = bench.open()[0].scale().unwrap();
    let offered = (sent[0].window as u64) << shift;
    assert!(offered <= 1 << 20 && offered > (1 << 20) - (1 << shift) - 1, "{offered}");
}

#[test]
fn a_flow_of_no_bytes_opens_and_closes() {
    let mut pair = pair(plain(), Some(0));
    pair.finish(Time::from_secs(5));
    assert!(pair.data().is_empty());
    pair.drain();
}

#[test]
fn a_flow_of_one_byte() {
    let mut pair = pair(plain(), Some(1));
    pair.finish(Time::from_secs(5));
    assert_eq!(pair.data().len(), 1);
    assert_eq!(pair.data()[0].seg.len, 1);
    pair.drain();
}

#[test]
fn flows_of_exactly_k_segments_have_k_segments() {
    for k in [1u64, 2, 9, 10, 11, 100] {
        for (extra, count) in [(0i64, k), (-1, k), (1, k + 1)] {
            let bytes = (k * MSS).checked_add_signed(extra).unwrap();
            let mut pair = pair(plain(), Some(bytes));
            pair.finish(Time::from_secs(60));
            let data = pair.data();
            assert_eq!(data.len() as u64, count, "{bytes} bytes");
            assert_eq!(data.iter().map(|e| e.seg.len).sum::<u64>(), bytes);
            assert!(data[..data.len() - 1].iter().all(|e| e.seg.len == MSS));
            let counters = pair.ends[0].counters();
            assert_eq!((counters.data_packets, counters.retransmits), (count, 0));
            pair.drain();
        }
    }
}

#[test]
fn the_fin_rides_on_the_last_segment_and_is_answered() {
    let mut pair = pair(plain(), Some(3 * MSS));
    pair.finish(Time::from_secs(5));
    let data = pair.data();
    let fins: Vec<bool> = data.iter().map(|e| e.seg.has(TcpFlags::FIN)).collect();
    assert_eq!(fins, [false, false, true]);
    // The server's FIN, and the acknowledgment of both FINs: one sequence number each.
    let server_fin = pair.sent(1).into_iter().find(|e| e.seg.has(TcpFlags::FIN)).unwrap();
    assert_eq!(server_fin.seg.ack, Some(3 * MSS as i64 + 1));
    assert_eq!(pair.sent(0).last().unwrap().seg.ack, Some(1));
    pair.drain();
}

#[test]
fn a_lost_last_acknowledgment_is_given_again() {
    let mut dropped = false;
    let wiring = Wiring::new(plain(), Some(MSS), ms(50)).script(move |e| {
        // The client's ACK of the server's FIN.
        let last = e.side == 0 && e.seg.ack == Some(1) && !dropped;
        dropped |= last;
        Fate::drop_if(last)
    });
    let mut pair = wiring.build(|_, _| Window::fixed(10).any());
    pair.finish(Time::from_secs(10));
    let fins = pair.sent(1).into_iter().filter(|e| e.seg.has(TcpFlags::FIN)).count();
    assert_eq!(fins, 2, "the server's FIN is sent again and acknowledged again");
    pair.drain();
}

#[test]
fn both_sides_may_send() {
    let mut wiring = Wiring::new(plain(), Some(25 * MSS + 3), ms(50));
    wiring.send_bytes = [Some(25 * MSS + 3), Some(40 * MSS + 7)];
    let mut pair = wiring.build(|_, _| Window::fixed(10).any());
    pair.finish(Time::from_secs(20));
    assert_eq!(pair.ends[0].counters().retransmits + pair.ends[1].counters().retransmits, 0);
    pair.drain();
}

#[test]
fn endless_flows_do_not_end() {
    let mut pair = pair(plain(), None);
    pair.open();
    pair.run(Time::from_secs(10));
    for end in &pair.ends {
        assert_eq!(end.progress().ended, None);
        assert!(!end.progress().stream_complete);
    }
    // 10 segments for each RTT of 100 ms from 0.15 s to 10 s.
    assert_eq!(pair.ends[1].progress().received_bytes, 990 * MSS);
}

#[test]
fn more_than_four_gibibytes_pass_the_wrap_twice() {
    let bytes = (1u64 << 33) + 12_345;
    let config = TcpConfig {
        mss_bytes: 60_000,
        receive_buffer_bytes: 1 << 26,
        send_buffer_bytes: 1 << 26,
        ..plain()
    };
    let mut wiring = Wiring::new(config, Some(bytes), ms(1));
    wiring.keep_log = false;
    let mut pair = wiring.build(|_, _| Window { cwnd: 60_000 * 500, ..Window::fixed(1) }.any());
    pair.finish(Time::from_secs(100));
    assert_eq!(pair.ends[1].progress().received_bytes, bytes);
    assert_eq!(pair.ends[0].counters().retransmits, 0);
}

#[test]
fn at_most_2_to_the_30_bytes_are_unacknowledged() {
    let config = TcpConfig {
        mss_bytes: 60_000,
        receive_buffer_bytes: 1 << 30,
        send_buffer_bytes: 1 << 30,
        ..plain()
    };
    let lab = Lab {
        config,
        window: Window { cwnd: u64::MAX, ..Window::fixed(1) },
        peer_mss: Some(60_000),
        peer_scale: Some(14),
        peer_window: u16::MAX,
        ..Lab::default()
    };
    let (mut bench, _) = lab.connected(ms(10));
    bench.ack(0); // the SYN-ACK's window was not scaled
    bench.inject(Inject { ack: Some(60_000), ..Inject::default() });
    assert!(bench.sent_end <= (1 << 30) + 60_000, "{}", bench.sent_end);
    assert!(bench.sent_end > 1 << 29, "the window is used: {}", bench.sent_end);
}

#[test]
fn resets_end_a_connection_only_where_they_fit() {
    // RFC 9293 3.10.7.4 (RFC 5961): exactly RCV.NXT resets; elsewhere in the window asks; outside
    // is ignored.
    let rst = |seq| Inject { seq: Some(seq), ack: None, flags: TcpFlags::RST, ..Inject::default() };
    let (mut bench, _) = Lab::default().connected(ms(10));
    bench.inject(rst(-100_000));
    assert_eq!(bench.conn.progress().ended, None, "a reset from outside the window");
    bench.inject(rst(0));
    assert_eq!(bench.conn.progress().ended, Some((EndCause::Reset, bench.now)));
    assert!(bench.advance(Span::from_secs(200)).is_empty());
    assert_eq!(bench.conn.next_timeout(), None);
}

#[test]
fn a_refused_syn_ends_the_connection() {
    let mut bench = Lab::default().client();
    bench.open();
    bench.advance(ms(10));
    // RFC 9293 3.10.7.3: in SYN-SENT a reset counts if it acknowledges the SYN.
    let rst = Inject { seq: Some(-1), ack: Some(0), flags: TcpFlags::RST, ..Inject::default() };
    bench.inject(rst);
    assert_eq!(bench.conn.progress().ended, Some((EndCause::Reset, bench.now)));
}

#[test]
fn unknown_options_are_skipped() {
    let mut bench = Lab::default().client();
    bench.open();
    bench.advance(ms(10));
    // NOP, NOP, kind 99 of 6 bytes, then MSS 700, then a list that ends.
    let bytes = [1, 1, 99, 6, 1, 2, 3, 4, kind::MSS, 4, 2, 188, 0, 77];
    let options = OptionList::from_bytes(&bytes).unwrap();
    let sent =
        bench.inject(Inject { seq: Some(-1), flags: TcpFlags::SYN, options, ..Inject::default() });
    assert!(sent.iter().filter(|s| s.len > 0).all(|s| s.len == 700));
    assert!(!data(&sent).is_empty());
}

#[test]
fn early_calls_do_nothing() {
    let run = |early: bool| {
        let wiring = Wiring::new(plain(), Some(200 * MSS), ms(50))
            .script(|e| Fate::drop_if(e.index % 17 == 5));
        let mut pair = wiring.build(|_, _| Window::reno(10).any());
        pair.early_calls = early;
        pair.finish(Time::from_secs(600));
        let show = |e: &crate::common::Event| (e.side, e.seg.at, e.seg.off, e.seg.len, e.seg.ack);
        pair.log.iter().map(show).collect::<Vec<_>>()
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn duplicates_and_old_packets_of_the_handshake_do_no_harm() {
    for index in 1..=3 {
        for side in 0..2 {
            let wiring = Wiring::new(plain(), Some(30 * MSS), ms(50)).script(move |e| Fate {
                again: (e.side == side && e.index == index).then_some(ms(230)),
                ..Fate::PASS
            });
            let mut pair = wiring.build(|_, _| Window::fixed(10).any());
            pair.finish(Time::from_secs(20));
            assert_eq!(pair.ends[0].counters().retransmits, 0, "side {side} packet {index}");
            pair.drain();
        }
    }
}

#[test]
fn resets_and_syns_inside_the_window_are_challenged() {
    // RFC 9293 3.10.7.4 (RFC 5961): not exactly RCV.NXT, or a SYN: one ACK, and nothing changes.
    let (mut bench, _) = Lab::default().connected(ms(10));
    for flags in [TcpFlags::RST, TcpFlags::SYN] {
        let sent = bench.inject(Inject { seq: Some(500), flags, ..Inject::default() });
        assert_eq!(sent.len(), 1, "{flags:?}");
        assert!(sent[0].is_pure_ack());
        assert_eq!(bench.conn.progress().ended, None);
        assert!(bench.inject(Inject { seq: Some(500), flags, ..Inject::default() }).is_empty());
        bench.peer_end = 0;
        bench.advance(ms(500)); // RFC 5961 section 7: a limit
    }
}

#[test]
fn data_with_an_ack_of_what_was_never_sent_are_not_taken() {
    // RFC 9293 3.10.7.4, fifth (RFC 5961 section 5): an ACK, and nothing of the segment counts.
    let (mut bench, _) = Lab::default().connected(ms(10));
    for ack in [bench.sent_end as i64 + 1, 1 << 30, -1_000] {
        let guess = || Inject { seq: Some(0), ack: Some(ack), len: 100, ..Inject::default() };
        let sent = bench.inject(guess());
        assert_eq!((sent.len(), bench.conn.progress().received_bytes), (1, 0), "{ack}");
        assert!(sent[0].is_pure_ack() && sent[0].ack == Some(0), "{ack}: {sent:?}");
        assert!(bench.inject(guess()).is_empty(), "{ack}: one in half a second");
        bench.advance(ms(500));
    }
    bench.inject(Inject { seq: Some(0), ack: Some(0), len: 100, ..Inject::default() });
    assert_eq!(bench.conn.progress().received_bytes, 100);
}

#[test]
fn data_with_an_ack_older_than_any_window_are_not_taken() {
    // RFC 5961 section 5: SND.UNA - MAX.SND.WND <= SEG.ACK. Windows of ten segments, and of one.
    let window = (10 * MSS) as u16;
    let lab = Lab { peer_window: window, peer_scale: Some(0), ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(10));
    bench.ack(10);
    let una = bench.end_of(20);
    let small = Some(MSS as u16);
    bench.inject(Inject { ack: Some(una), window: small, ..Inject::default() });
    let oldest = una - i64::from(window);
    let data = |ack| Inject { seq: Some(0), ack: Some(ack), len: 100, ..Inject::default() };
    let sent = bench.inject(data(oldest - 1));
    assert_eq!((sent.len(), bench.conn.progress().received_bytes), (1, 0));
    assert!(sent[0].is_pure_ack() && sent[0].ack == Some(0), "{sent:?}");
    assert!(bench.inject(data(oldest - 1)).is_empty(), "one in half a second");
    bench.inject(data(oldest));
    assert_eq!(bench.conn.progress().received_bytes, 100);
}

#[test]
fn a_syn_ack_of_something_else_opens_nothing() {
    // RFC 9293 3.10.7.3: SEG.ACK <= ISS or > SND.NXT.
    let mut bench = Lab::default().client();
    bench.open();
    bench.advance(ms(10));
    for ack in [-1, 5, -1000] {
        let flags = TcpFlags::SYN;
        let sent =
            bench.inject(Inject { seq: Some(-1), ack: Some(ack), flags, ..Inject::default() });
        assert!(sent.iter().all(|s| s.has(TcpFlags::RST)), "{sent:?}");
        assert_eq!(bench.conn.progress().established_at, None);
    }
    assert_eq!(data(&bench.syn_ack()), "1 2 3 4 5 6 7 8 9 10");
}

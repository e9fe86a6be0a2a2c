//! ECN at the end points: RFC 3168 section 6.1.

use crate::common::{
    Bench, Event, Fate, Inject, Lab, MSS, Pair, Seg, Window, Wiring, data, ms, plain,
};
use forebay_base::{Ecn, TcpFlags, Time};
use forebay_cc::CongestionCause;
use forebay_transport::TcpConfig;

fn config() -> TcpConfig {
    TcpConfig { ecn: true, ..plain() }
}

fn marked(bytes: u64, mark: impl FnMut(&Event) -> bool + 'static) -> Pair {
    let mut mark = mark;
    let wiring = Wiring::new(config(), Some(bytes), ms(50))
        .script(move |e| if mark(e) { Fate::MARK } else { Fate::PASS });
    wiring.build(|_, _| Window::reno(10).any())
}

fn echo(number: u64) -> Inject {
    Inject { ack: Some((number * MSS) as i64), flags: TcpFlags::ECE, ..Inject::default() }
}

fn connected() -> (Bench, Vec<Seg>) {
    let (mut bench, sent) = Lab { config: config(), ..Lab::default() }.connected(ms(100));
    bench.advance(ms(100));
    (bench, sent)
}

#[test]
fn it_is_negotiated_with_ece_and_cwr_against_ece() {
    let mut client = Lab { config: config(), ..Lab::default() }.client();
    let syn = client.open().remove(0);
    assert!(syn.has(TcpFlags::ECE) && syn.has(TcpFlags::CWR));
    assert_eq!(syn.ecn, Ecn::NotEct);
    let mut server = Lab { config: config(), ..Lab::default() }.server();
    server.open();
    let offer = server.peer_syn();
    let reply = server.inject(offer).remove(0);
    assert!(reply.has(TcpFlags::ECE) && !reply.has(TcpFlags::CWR));
    assert_eq!(reply.ecn, Ecn::NotEct);
}

#[test]
fn a_peer_without_it_gets_none() {
    let lab = Lab { config: config(), peer_ecn: false, ..Lab::default() };
    let (_, sent) = lab.clone().connected(ms(100));
    assert!(sent.iter().all(|s| s.ecn == Ecn::NotEct));
    let mut server = lab.server();
    server.open();
    let syn = server.peer_syn();
    let reply = server.inject(syn).remove(0);
    assert!(!reply.has(TcpFlags::ECE) && !reply.has(TcpFlags::CWR));
}

#[test]
fn a_reflecting_peer_gets_none() {
    // RFC 3168 section 6.1.1: a SYN-ACK with both bits is a reflection, not an answer.
    let mut bench = Lab { config: config(), ..Lab::default() }.client();
    bench.open();
    bench.advance(ms(10));
    let flags = TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR);
    let sent = bench.inject(Inject { seq: Some(-1), flags, ..Inject::default() });
    assert!(!data(&sent).is_empty());
    assert!(sent.iter().all(|s| s.ecn == Ecn::NotEct));
}

#[test]
fn new_data_is_ect0_and_nothing_else_is() {
    let (mut bench, sent) = connected();
    for seg in &sent {
        assert_eq!(seg.ecn, if seg.len > 0 { Ecn::Ect0 } else { Ecn::NotEct }, "{seg:?}");
    }
    // A retransmission (section 6.1.5).
    let sent = bench.sack(0, &[(2, 4)]);
    let again = sent.iter().find(|s| s.label == "R1").unwrap();
    assert_eq!(again.ecn, Ecn::NotEct);
    // Pure ACKs of a receiver (section 6.1.4).
    let mut server = Lab { config: config(), send_bytes: Some(0), ..Lab::default() }.accepted();
    assert_eq!(server.peer_data(1)[0].ecn, Ecn::NotEct);
}

#[test]
fn the_receiver_echoes_until_it_sees_cwr() {
    let mut bench = Lab { config: config(), send_bytes: Some(0), ..Lab::default() }.accepted();
    let mut put = |number: u64, ecn: Ecn, flags: TcpFlags| {
        let seq = Some(((number - 1) * MSS) as i64);
        let sent = bench.inject(Inject { seq, len: MSS as u16, ecn, flags, ..Inject::default() });
        assert_eq!(sent.len(), 1);
        sent[0].has(TcpFlags::ECE)
    };
    let none = TcpFlags(0);
    assert!(!put(1, Ecn::Ect0, none));
    assert!(put(2, Ecn::Ce, none));
    assert!(put(3, Ecn::Ect0, none));
    assert!(put(4, Ecn::Ect0, none));
    assert!(!put(5, Ecn::Ect0, TcpFlags::CWR));
    assert!(!put(6, Ecn::Ect0, none));
    // CWR and CE on one packet: the mark is newer than what CWR answers.
    assert!(put(7, Ecn::Ce, none));
    assert!(put(8, Ecn::Ce, TcpFlags::CWR));
    assert!(put(9, Ecn::Ect0, none));
    assert!(!put(10, Ecn::Ect0, TcpFlags::CWR));
}

#[test]
fn the_sender_answers_once_a_window_and_says_cwr_once() {
    let (mut bench, _) = connected();
    let sent = bench.inject(echo(1));
    assert_eq!(data(&sent), "", "the window was halved, nine are in flight");
    let congestions = bench.log.congestions();
    assert_eq!(congestions.len(), 1);
    assert_eq!(congestions[0].cause, CongestionCause::Ecn);
    // FlightSize with or without the segment that this ACK covers.
    let ssthresh = bench.conn.view(0).ssthresh_bytes.unwrap();
    assert!((9 * MSS / 2..=5 * MSS).contains(&ssthresh));
    let mut sent = Vec::new();
    for number in 2..=10 {
        bench.advance(ms(1));
        sent.extend(bench.inject(echo(number)));
    }
    assert_eq!(bench.log.congestions().len(), 1, "once per window of data");
    assert!(!data(&sent).contains('R'));
    let cwr: Vec<bool> = sent.iter().map(|s| s.has(TcpFlags::CWR)).collect();
    assert!("11 12 13 14 15".starts_with(&data(&sent)) && sent.len() >= 4, "{}", data(&sent));
    assert!(cwr[0] && !cwr[1..].contains(&true), "on the first new data: {cwr:?}");
    assert_eq!(bench.conn.counters().ecn_responses, 1);
    assert_eq!(bench.conn.view(0).cwnd_bytes, ssthresh);
    // Data sent after the response: a mark there is a new one.
    bench.advance(ms(100));
    bench.inject(echo(11));
    assert_eq!(bench.log.congestions().len(), 2);
}

#[test]
fn an_ack_with_an_echo_does_not_grow_the_window() {
    let lab = Lab { config: config(), window: Window::reno(10), ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(100));
    bench.inject(echo(1));
    assert_eq!(Some(bench.conn.view(0).cwnd_bytes), bench.conn.view(0).ssthresh_bytes);
    assert!(bench.log.acks().iter().all(|n| n.ecn_echo == (n.acked_bytes > 0)));
}

#[test]
fn loss_and_mark_in_one_window_are_one_event() {
    let (mut bench, _) = connected();
    let ece = |from: u64, to: u64| Inject {
        sack: vec![(((from - 1) * MSS) as i64, (to * MSS) as i64)],
        flags: TcpFlags::ECE,
        ..Inject::default()
    };
    for last in 2..=8 {
        bench.advance(ms(1));
        bench.inject(ece(2, last));
    }
    assert_eq!(bench.log.congestions().len(), 1);
    assert_eq!(bench.ssthresh(), Some(5));
    assert_eq!(bench.conn.counters().retransmits, 1);
}

#[test]
fn a_loss_is_announced_with_cwr_too() {
    // RFC 3168 section 6.1.2: after any reduction, on the first new data packet.
    let (mut bench, _) = connected();
    let mut sent = Vec::new();
    for last in 2..=10 {
        bench.advance(ms(1));
        sent.extend(bench.sack(0, &[(2, last)]));
    }
    let news: Vec<&Seg> = sent.iter().filter(|s| !s.label.starts_with('R')).collect();
    assert!(news[0].has(TcpFlags::CWR));
    assert!(sent.iter().filter(|s| s.has(TcpFlags::CWR)).count() == 1);
}

#[test]
fn one_mark_is_one_halving_and_no_retransmission() {
    // The 31st segment is marked.
    let mut pair = marked(100 * MSS, |e| e.side == 0 && e.seg.off == 30 * MSS as i64);
    pair.finish(Time::from_secs(20));
    let client = pair.ends[0].counters();
    assert_eq!((client.retransmits, client.ecn_responses, client.timeouts), (0, 1, 0));
    // ECE on every ACK from the mark to CWR.
    let says_cwr = |e: &&Event| e.seg.has(TcpFlags::CWR) && e.seg.len > 0;
    let cwr: Vec<&Event> = pair.log.iter().filter(says_cwr).collect();
    assert_eq!(cwr.len(), 1, "one CWR");
    let arrives = cwr[0].seg.at + ms(50);
    let mark = pair.data().iter().find(|e| e.seg.off == 30 * MSS as i64).unwrap().seg.at + ms(50);
    let acks: Vec<&Event> = pair.sent(1).into_iter().filter(|e| e.seg.is_pure_ack()).collect();
    let covers = |e: &Event| e.seg.ack.unwrap() > 30 * MSS as i64;
    for ack in acks {
        let inside = ack.seg.at >= mark && ack.seg.at < arrives && covers(ack);
        let outside = ack.seg.at > arrives || ack.seg.at < mark;
        if inside || outside {
            assert_eq!(ack.seg.has(TcpFlags::ECE), inside, "{ack:?}");
        }
    }
}

#[test]
fn marking_everything_brings_the_window_down_and_loses_nothing() {
    let mut pair = marked(300 * MSS, |_| true);
    pair.finish(Time::from_secs(300));
    let counters = pair.ends[0].counters();
    assert_eq!(counters.retransmits, 0);
    assert!(counters.ecn_responses >= 3, "{counters:?}");
    // ssthresh is at least two segments, so that the window settles there: 300 segments in about
    // 150 RTTs.
    let took = pair.ends[1].progress().last_byte_at.unwrap();
    assert!(took > Time::from_secs(5), "{took}");
}

#[test]
fn one_ce_mark_counts_where_it_is_not_negotiated_as_nothing() {
    let (mut bench, _) = Lab::default().connected(ms(100));
    bench.advance(ms(100));
    bench.inject(echo(1));
    assert_eq!(bench.log.congestions().len(), 0);
    let mut server = Lab { send_bytes: Some(0), ..Lab::default() }.accepted();
    let sent = server.inject(Inject { len: 1000, ecn: Ecn::Ce, ..Inject::default() });
    assert!(!sent[0].has(TcpFlags::ECE));
}

/// RFC 3168 section 6.1.2: one reduction for a window of data, whether by loss or by a mark. What
/// is acknowledged up to the recovery point was sent before the reduction.
#[test]
fn a_mark_on_data_sent_before_a_loss_was_answered_is_no_event_after_recovery_either() {
    let (mut bench, _) = connected();
    for last in 2..=10 {
        bench.advance(ms(1));
        bench.sack(0, &[(2, last)]);
    }
    assert_eq!(bench.log.congestions().len(), 1);
    bench.advance(ms(100));
    bench.inject(echo(10)); // the recovery point
    assert_eq!(bench.log.recoveries().len(), 1);
    bench.advance(ms(1));
    bench.inject(echo(10)); // recovery is over
    assert_eq!(bench.log.congestions().len(), 1, "{:?}", bench.log.congestions());
    // 11 was sent after the reduction.
    bench.inject(echo(11));
    let causes: Vec<CongestionCause> = bench.log.congestions().iter().map(|c| c.cause).collect();
    assert_eq!(causes, [CongestionCause::Loss, CongestionCause::Ecn]);
}

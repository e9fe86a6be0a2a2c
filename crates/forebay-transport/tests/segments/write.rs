//! An application that writes over time: what it has written is sent, what it takes back is not,
//! and FIN follows when it closes.

use crate::common::{Bench, Inject, Lab, MSS, Seg, Window, ms};
use forebay_base::TcpFlags;

/// A client that is connected, held before it opened, and has sent nothing.
fn held(window: u64) -> Bench {
    let mut bench = Lab { window: Window::fixed(window), ..Lab::default() }.client();
    assert_eq!(bench.conn.hold(bench.now), 0);
    bench.open();
    bench.advance(ms(100));
    let sent = bench.syn_ack();
    assert!(sent.iter().all(|s| s.len == 0), "{sent:?}");
    bench
}
fn write(bench: &mut Bench, bytes: u64) -> Vec<Seg> {
    assert!(bench.conn.write(bench.now, bytes));
    bench.pump()
}
fn payloads(sent: &[Seg]) -> Vec<(i64, u64, bool)> {
    sent.iter().map(|s| (s.off, s.len, s.has(TcpFlags::FIN))).collect()
}

#[test]
fn what_is_written_is_sent_at_once_short_segments_too() {
    let mut bench = held(10);
    assert_eq!(payloads(&write(&mut bench, 100)), [(0, 100, false)]);
    let (mss, end) = (MSS as i64, 100 + MSS as i64);
    assert_eq!(payloads(&write(&mut bench, MSS + 1)), [(100, MSS, false), (end, 1, false)]);
    // FIN alone once all is acknowledged, then nothing more can be written.
    bench.advance(ms(50));
    bench.inject(Inject { ack: Some(101 + mss), ..Inject::default() });
    bench.conn.close(bench.now);
    assert_eq!(payloads(&bench.pump()), [(101 + mss, 0, true)]);
    assert!(!bench.conn.write(bench.now, 1));
    assert_eq!(bench.conn.progress().sent_bytes, 101 + MSS);
}

#[test]
fn fin_rides_on_the_last_byte_where_the_application_closes_at_once() {
    let mut bench = held(10);
    assert!(bench.conn.write(bench.now, 100));
    bench.conn.close(bench.now);
    assert_eq!(payloads(&bench.pump()), [(0, 100, true)]);
}

#[test]
fn what_was_not_sent_is_taken_back() {
    // Four segments of an endless stream fit into the window.
    let mut bench = Lab { window: Window::fixed(4), ..Lab::default() }.connected(ms(100)).0;
    assert_eq!(bench.sent_end, 4 * MSS);
    assert_eq!(bench.conn.hold(bench.now), 4 * MSS);
    bench.advance(ms(50));
    assert_eq!(payloads(&bench.ack(2)), []);
    assert_eq!(payloads(&write(&mut bench, 1)), [(4 * MSS as i64, 1, false)]);
    // An endless stream that closes ends with what was sent.
    assert!(bench.conn.write(bench.now, u64::MAX));
    assert_eq!(bench.pump().len(), 1);
    let end = bench.sent_end as i64;
    bench.conn.close(bench.now);
    assert_eq!(payloads(&bench.pump()), [(end, 0, true)]);
    // FIN was sent: it cannot be taken back.
    assert_eq!(bench.conn.hold(bench.now), end as u64);
    assert!(!bench.conn.write(bench.now, 1));
}

/// The byte of a window probe is not on the scoreboard, and the peer may take it: FIN comes after
/// it.
#[test]
fn a_window_probe_is_not_taken_back() {
    let mut bench = held(10);
    bench.inject(Inject { window: Some(0), ..Inject::default() });
    write(&mut bench, 5_000);
    let probes = bench.advance(ms(5_000));
    assert!(probes.iter().any(|s| (s.off, s.len) == (0, 1)), "{probes:?}");
    assert_eq!(bench.conn.hold(bench.now), 1);
    bench.conn.close(bench.now);
    let fin = bench.inject(Inject { ack: Some(1), window: Some(60_000), ..Inject::default() });
    assert_eq!(payloads(&fin), [(1, 0, true)]);
}

/// A probe that was overtaken by what was sent when the window opened is no byte more.
#[test]
fn a_window_probe_of_long_ago_is_not_counted() {
    let mut bench = held(10);
    bench.inject(Inject { window: Some(0), ..Inject::default() });
    write(&mut bench, 5_000);
    bench.advance(ms(5_000));
    let open = Inject { ack: Some(1), window: Some(60_000), ..Inject::default() };
    let sent: u64 = bench.inject(open).iter().map(|s| s.len).sum();
    assert_eq!(sent, 4_999);
    assert!(bench.conn.write(bench.now, 100_000));
    bench.pump();
    let sent = bench.conn.progress().sent_bytes;
    assert!((5_000..105_000).contains(&sent), "the window holds up the rest: {sent}");
    assert_eq!(bench.conn.hold(bench.now), sent);
}

/// `tcp_rate_check_app_limited`: samples of what was sent after a pause of the application say so,
/// until that is through; and a window that is full is not the application's doing.
#[test]
fn rate_samples_know_that_the_application_paused() {
    let mut bench = held(4);
    for _ in 0..3 {
        write(&mut bench, 4 * MSS);
        bench.advance(ms(100));
        let acked = bench.sent_end / MSS;
        (acked - 3..=acked).for_each(|number| drop(bench.ack(number)));
    }
    write(&mut bench, 100 * MSS);
    for number in 13..=40 {
        if number % 4 == 1 {
            bench.advance(ms(100));
        }
        bench.ack(number);
    }
    let acks: Vec<_> = bench.log.acks().into_iter().filter(|a| a.acked_bytes > 0).collect();
    let limited: Vec<bool> = acks.iter().filter_map(|a| a.rate.map(|r| r.app_limited)).collect();
    // Twelve written in three strokes, four after the last pause; what was sent when those were
    // acknowledged is free of it.
    assert_eq!(limited.iter().rposition(|&l| l), Some(15), "{limited:?}");
    assert!(limited[..16].iter().all(|&l| l));
    // The last ACKs end flights that the window limited, the first ones do not.
    assert!(!acks[0].cwnd_limited && acks[39].cwnd_limited);
}

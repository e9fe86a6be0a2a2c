//! Pacing, credits, and what a controller may write on a packet.

use crate::common::{Hop, Lab, MSS, Reaction, Seg, Window, Wiring, data, data_segs, ms, plain};
use forebay_base::{Rate, Span, Time};
use forebay_transport::{Pacing, TcpConfig};

/// Ten segments of 1000 bytes a second at 8 Mbit/s take 1 ms each; with headers, 1.04 ms.
fn paced(rate: Rate, segments: u64) -> Lab {
    let window = Window { rate: Some(rate), ..Window::fixed(segments) };
    Lab { window, ..Lab::default() }
}

fn gaps_us(segs: &[&Seg]) -> Vec<u64> {
    segs.windows(2).map(|w| w[1].at.since(w[0].at).as_nanos() / 1000).collect()
}

#[test]
fn packets_leave_at_the_pacing_rate() {
    let (mut bench, mut sent) = paced(Rate::mbps(8), 200).connected(ms(100));
    sent.extend(bench.ack(0)); // a window update: that of a SYN-ACK is not scaled
    sent.extend(bench.advance(ms(80)));
    let segs = data_segs(&sent);
    // A burst of at most two, then one packet for each packet time: of payload, or of payload and
    // headers.
    let gaps = gaps_us(&segs);
    let bursts = gaps.iter().filter(|&&gap| gap == 0).count();
    assert!(bursts <= 1, "{gaps:?}");
    assert!(gaps.iter().all(|&gap| gap == 0 || (1000..=1040).contains(&gap)), "{gaps:?}");
    assert!((76..=82).contains(&segs.len()), "{} packets in 80 ms", segs.len());
}

#[test]
fn the_long_run_rate_is_exact() {
    // An awkward rate: 7 777 777 bit/s. No rounding may add up over a thousand packets.
    let rate = Rate::new(7_777_777).unwrap();
    let (mut bench, mut sent) = paced(rate, 5000).connected(ms(10));
    sent.extend(bench.ack(0));
    sent.extend(bench.advance(ms(900)));
    let segs = data_segs(&sent);
    let count = segs.len();
    let took = segs[count - 1].at.since(segs[count - 301].at);
    let (low, high) = (rate.span_of(300 * 1000), rate.span_of(300 * 1040));
    let near = |span: Span| took.abs_diff(span) < Span::from_micros(2);
    assert!(near(low) || near(high), "300 packets in {took}, not {low} or {high}");
}

#[test]
fn an_idle_time_saves_up_no_burst() {
    let lab = Lab { peer_scale: None, peer_window: 5000, ..paced(Rate::mbps(8), 100) };
    let (mut bench, _) = lab.connected(ms(100));
    bench.advance(ms(500));
    bench.lab.peer_window = 50_000;
    let mut sent = bench.ack(5);
    sent.extend(bench.advance(ms(20)));
    let gaps = gaps_us(&data_segs(&sent));
    assert!(gaps.iter().filter(|&&gap| gap == 0).count() <= 1, "{gaps:?}");
    assert!(gaps.iter().all(|&gap| gap == 0 || gap >= 1000), "{gaps:?}");
}

#[test]
fn a_quantum_leaves_at_once_and_its_payload_is_paced() {
    // 3500 bytes: three whole segments of 1000 bytes, 1 ms of payload each, whatever the headers.
    let window = Window { quantum: 3500, ..paced(Rate::mbps(8), 200).window };
    let (mut bench, mut sent) = Lab { window, ..Lab::default() }.connected(ms(100));
    sent.extend(bench.ack(0));
    sent.extend(bench.advance(ms(80)));
    let gaps = gaps_us(&data_segs(&sent));
    assert!(gaps.len() > 70, "{gaps:?}");
    assert!(gaps.chunks_exact(3).all(|burst| burst == [0, 0, 3000]), "{gaps:?}");
}

#[test]
fn acks_are_not_paced() {
    let lab = Lab { send_bytes: Some(0), ..paced(Rate::new(8000).unwrap(), 10) };
    let mut bench = lab.accepted();
    for number in 1..=20 {
        assert_eq!(bench.peer_data(number).len(), 1);
    }
}

#[test]
fn a_window_is_paced_at_twice_its_rate_in_slow_start_and_at_a_fifth_more_after_it() {
    let pacing = Pacing::Windowed { slow_start_percent: 200, avoidance_percent: 120 };
    let config = TcpConfig { pacing, ..plain() };
    let (mut bench, mut sent) = Lab { config, ..Lab::default() }.connected(ms(100));
    sent.extend(bench.advance(ms(99)));
    // 2 * 10 segments / 100 ms: 5 ms each.
    let gaps = gaps_us(&data_segs(&sent));
    assert_eq!(gaps.len(), 9);
    assert!(gaps.iter().all(|&g| g == 0 || (4990..=5210).contains(&g)), "{gaps:?}");
    assert!(gaps.iter().filter(|&&g| g == 0).count() <= 1, "{gaps:?}");

    let window = Window { ssthresh: 5 * MSS, ..Window::fixed(10) };
    let (mut bench, mut sent) = Lab { config, window, ..Lab::default() }.connected(ms(100));
    sent.extend(bench.advance(ms(99)));
    // 1.2 * 10 segments / 100 ms: 8.33 ms each.
    let gaps = gaps_us(&data_segs(&sent));
    assert!(gaps.iter().all(|&g| g == 0 || (8320..=8680).contains(&g)), "{gaps:?}");
}

#[test]
fn no_pacing_means_none() {
    let (bench, sent) = Lab::default().connected(ms(100));
    assert_eq!(data_segs(&sent).len(), 10);
    assert_eq!(bench.conn.view(0).pacing_rate, None);
}

#[test]
fn the_view_shows_the_rate() {
    let (bench, _) = paced(Rate::mbps(8), 10).connected(ms(100));
    assert_eq!(bench.conn.view(0).pacing_rate, Some(Rate::mbps(8)));
}

#[test]
fn a_paced_flow_fills_a_link_without_a_queue() {
    // 10 Mbit/s of wire bytes, paced below it: the queue has room for two packets and drops
    // nothing.
    let mut wiring = Wiring::new(plain(), Some(500 * MSS), ms(20));
    wiring.hops = vec![[Hop::link(ms(20), Rate::mbps(10), 2), Hop::wire(ms(20))]];
    let window = Window { rate: Some(Rate::mbps(9)), ..Window::fixed(1000) };
    let mut pair = wiring.build(|_, _| window.clone().any());
    pair.finish(Time::from_secs(10));
    assert_eq!(pair.ends[0].counters().retransmits, 0);
    let took = pair.ends[1].progress().last_byte_at.unwrap().as_secs_f64();
    // 500 packets of 1000 to 1040 bytes at 9 Mbit/s, and 1.5 RTT.
    assert!((0.44..0.53).contains(&took), "{took}");
}

#[test]
fn credits_are_kept() {
    let window = Window { credits: Some(6), ..Window::fixed(100) };
    let (bench, sent) = Lab { window, ..Lab::default() }.connected(ms(100));
    // The SYN may count as one.
    assert!((5..=6).contains(&data_segs(&sent).len()), "{}", data(&sent));
    drop(bench);
}

#[test]
fn the_retransmission_of_a_timeout_needs_no_credit() {
    let window = Window { credits: Some(4), ..Window::fixed(100) };
    let (mut bench, sent) = Lab { window, ..Lab::default() }.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3", "the SYN was the first");
    assert_eq!(data(&bench.advance(ms(999))), "");
    assert_eq!(data(&bench.advance(ms(1))), "R1", "one, although all is taken for lost");
    // 1 has arrived: 2 and 3 wait, for a credit as everything else.
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(1)), "");
}

#[test]
fn a_stamped_length_cuts_the_payload() {
    // 540 bytes of IP packet: 40 of headers, 500 of payload.
    let window = Window { max_wire_len: Some(540), ..Window::fixed(10) };
    let (mut bench, sent) = Lab { window, ..Lab::default() }.connected(ms(100));
    let segs = data_segs(&sent);
    assert!(segs.iter().all(|s| s.wire_len <= 540 && s.len == 500));
    // The window counts bytes; whether its last half segment is used is the sender's choice.
    let count = segs.len();
    assert!(count == 19 || count == 20, "{count}");
    bench.advance(ms(100));
    assert_eq!(data_segs(&bench.ack(1)).len(), 2);
}

#[test]
fn a_cut_flow_survives_losses() {
    let wiring = Wiring::new(plain(), Some(100 * MSS + 77), ms(50))
        .script(|e| crate::common::Fate::drop_if(e.index % 13 == 7));
    let window = Window { max_wire_len: Some(333), ..Window::reno(10) };
    let mut pair = wiring.build(|_, _| window.clone().any());
    pair.finish(Time::from_secs(600));
}

#[test]
fn retransmissions_are_paced_too() {
    let window = Window { reaction: Reaction::Hold, ..paced(Rate::mbps(8), 40).window };
    let (mut bench, _) = Lab { window, ..Lab::default() }.connected(ms(100));
    bench.advance(ms(140));
    let mut sent = bench.sack(0, &[(21, 40)]); // twenty lost at once
    sent.extend(bench.advance(ms(60)));
    let gaps = gaps_us(&data_segs(&sent));
    assert!(data(&sent).starts_with("R1 R2 R3"), "{}", data(&sent));
    assert!(gaps.iter().filter(|&&gap| gap == 0).count() <= 1, "{gaps:?}");
}

//! INRPP end points on the wire: doi:10.1109/TNET.2021.3128384, section III-C; RFC 8985 for what a
//! patient sender keeps of it.

use crate::common::{Bench, Fate, Inject, Lab, MSS, Road, Seg, Wiring, data, data_segs, ms, plain};
use forebay_base::{Rate, Rng, Span, Stream, TcpFlags, Time};
use forebay_cc::{AnyController, AnyFeedback, Init, LossPolicy, Spec};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Echo, Nonce, PathDigest};
use forebay_transport::{Recovery, TcpConfig};

fn controller(name: &str) -> AnyController {
    build(&Spec::by_name(name).expect("in the table"))
}
fn build(spec: &Spec) -> AnyController {
    spec.build(Init {
        mss_bytes: MSS as u32,
        initial_window_bytes: 10 * MSS,
        initial_ssthresh_bytes: u64::MAX,
        paced: false,
        rng: Rng::new(1, Stream::Controller, 0),
    })
}
fn inrpp() -> AnyController {
    controller("inrpp")
}
/// Where no router holds a packet for longer than 100 ms.
fn inrpp_of_short_holds() -> AnyController {
    let Some(Spec::Inrpp(mut params)) = Spec::by_name("inrpp") else { panic!("in the table") };
    params.cache_depth = Some(ms(100));
    build(&Spec::Inrpp(params))
}
fn receiver() -> AnyFeedback {
    Spec::by_name("inrpp").expect("in the table").build_feedback()
}
fn config(timestamps: bool) -> TcpConfig {
    TcpConfig {
        timestamps,
        initial_rto: Span::from_secs(20), // no SYN is lost here, and the longest round trip is 4 s
        min_rto: ms(200),                 // a patient sender has its own floor of 1 s
        receive_buffer_bytes: 1 << 30,
        send_buffer_bytes: 1 << 30,
        ..plain()
    }
}
fn lab(segments: u64) -> Lab {
    Lab {
        config: config(true),
        controller: Some(inrpp),
        feedback: receiver,
        send_bytes: Some(segments * MSS),
        peer_mss: Some(MSS as u16 + 20), // timestamps 10 and echo 8, padded
        ..Lab::default()
    }
}
fn signal(ask: BackPressureSignal, nonce: u32) -> Option<BackPressure> {
    Some(BackPressure { ask, routers: 2, nonce: Nonce::new(nonce), ..BackPressure::default() })
}
fn echo(seg: &Seg) -> Option<u32> {
    Echo::find(&seg.options).expect("on all data").0.map(Nonce::get)
}

/// A client past a handshake of `rtt` over routers; `ask` is on the SYN-ACK, and on what comes
/// until a test says otherwise.
fn connected(lab: Lab, rtt: Span, ask: BackPressureSignal) -> (Bench, Vec<Seg>) {
    welcomed(lab, rtt, signal(ask, 7))
}
/// The same with what is on the SYN-ACK.
fn welcomed(lab: Lab, rtt: Span, says: Option<BackPressure>) -> (Bench, Vec<Seg>) {
    let mut bench = lab.client();
    let syn = bench.open();
    assert_eq!(PathDigest::find(&syn[0].options), Some(PathDigest::default()));
    bench.signal = says;
    bench.advance(rtt);
    let sent = bench.syn_ack();
    (bench, sent)
}

#[test]
fn every_option_set_fits_into_forty_bytes() {
    // By hand, without padding. SYN: MSS 4, SACK permitted 2, scale 3, digest 8, stamps 10 = 27.
    // SYN-ACK: and 10 of back-pressure = 37. ACK: 10 + 10 + 2 + 8 n = 38 for n = 2; without
    // timestamps 10 + 2 + 8 n = 36 for n = 3.
    for (timestamps, in_list, blocks) in [(true, 28, 2), (false, 36, 3)] {
        let stamps = if timestamps { 10 } else { 0 };
        let lab = Lab { config: config(timestamps), send_bytes: Some(0), ..lab(0) };
        let mut client = lab.clone().client();
        let syn = client.open().remove(0);
        assert_eq!(syn.options.len(), 17);
        let mut server = lab.server();
        server.open();
        let mut syn = server.peer_syn();
        PathDigest(9).push(&mut syn.options).unwrap();
        let syn_ack = server.inject(syn).remove(0);
        assert!(syn_ack.has(TcpFlags::SYN) && syn_ack.options.len() == 27);
        assert_eq!(BackPressure::find(&syn_ack.options), Some(BackPressure::default()));
        assert_eq!(PathDigest::find(&syn_ack.options), Some(PathDigest(9)), "back to the client");
        server.inject(Inject::default());
        for number in [2, 4, 6, 8, 10] {
            let acks = server.peer_data(number);
            assert_eq!(acks.len(), 1, "an ACK for every packet");
            assert_eq!(BackPressure::find(&acks[0].options), Some(BackPressure::default()));
            assert!(acks[0].options.len() + stamps <= 40);
            if number == 10 {
                assert_eq!((acks[0].options.len(), acks[0].sack.len()), (in_list, blocks));
                assert_eq!(acks[0].sack[0], (9000, 10_000), "the newest first");
            }
        }
    }
}

#[test]
fn a_plain_peer_gets_plain_acks() {
    let mut server = Lab { send_bytes: Some(0), ..lab(0) }.accepted();
    let ack = server.peer_data(1).remove(0);
    assert!(ack.options.is_empty());
}

/// A SYN-ACK cannot say it (RFC 7323 section 2.2), and only who sends more at first wants to know:
/// not a peer whose SYN has passed no INRPP router.
#[test]
fn the_whole_window_follows_a_syn_ack() {
    for (digest, receive_buffer_bytes, expected) in
        [(Some(9), 1 << 20, 2), (Some(0), 1 << 20, 1), (None, 1 << 20, 1), (Some(9), 65_535, 1)]
    {
        let config = TcpConfig { receive_buffer_bytes, ..config(true) };
        let mut server = Lab { config, send_bytes: Some(0), ..lab(0) }.server();
        server.open();
        let mut syn = server.peer_syn();
        if let Some(digest) = digest {
            PathDigest(digest).push(&mut syn.options).unwrap();
        }
        let sent = server.inject(syn);
        assert_eq!(sent.len(), expected, "{digest:?}, {receive_buffer_bytes}");
        assert!(sent[0].has(TcpFlags::SYN) && sent[0].window == u16::MAX);
        if let Some(more) = sent.get(1) {
            let shift = sent[0].scale().expect("the peer offered it");
            assert_eq!((more.len, more.has(TcpFlags::SYN)), (0, false));
            assert_eq!(u64::from(more.window) << shift, receive_buffer_bytes);
            assert_eq!(BackPressure::find(&more.options), Some(BackPressure::default()));
        }
    }
}

#[test]
fn in_the_open_loop_sixteen_leave_for_each_that_arrives_and_carry_the_last_nonce() {
    let (mut bench, sent) = connected(lab(300), ms(100), BackPressureSignal::Nothing);
    // The window of a SYN-ACK is not scaled (RFC 7323 section 2.2): 60 000 bytes in the first round
    // trip, whatever there is.
    assert_eq!(data_segs(&sent).len(), 60);
    // That is the first flight, 65 535 bytes: then sixteen times what has arrived may be in flight
    // beside it. 60 are, of which one has arrived: 81 535 bytes hold 81.
    let rest = bench.ack(1);
    assert_eq!(data_segs(&rest).len(), 22);
    let mut all = sent.iter().chain(&rest).filter(|s| s.len > 0);
    assert!(all.all(|s| echo(s) == Some(7) && s.wire_len == 1060), "40 + 20 + 1000");
    assert_eq!(bench.conn.view(0).phase, "open");
}

#[test]
fn in_the_closed_loop_one_segment_leaves_for_each_ack() {
    let (mut bench, sent) = connected(lab(300), ms(100), BackPressureSignal::SlowDown);
    assert_eq!(data(&sent), "1", "for the SYN-ACK");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(1)), "2");
    assert_eq!(data(&bench.ack(1)), "", "a duplicate tells of nothing");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(2)), "3");
    bench.signal = None;
    assert_eq!(data(&bench.ack(3)), "4", "without the option the last word holds");
    bench.signal = signal(BackPressureSignal::Cancel, 7);
    // 4 was in flight: a ramp from one segment, and one for that which has arrived.
    let rest = bench.ack(4);
    assert_eq!(data(&rest), "5 6");
    assert!(data_segs(&rest).iter().all(|s| echo(s).is_none()));
}

#[test]
fn a_timeout_in_the_closed_loop_sends_one_segment_and_ramps() {
    let (mut bench, sent) = connected(lab(300), ms(100), BackPressureSignal::SlowDown);
    assert_eq!(data(&sent), "1");
    // A ramp of one round trip, so that three are in flight.
    bench.advance(ms(100));
    bench.signal = signal(BackPressureSignal::Nothing, 7);
    assert_eq!(data(&bench.ack(1)), "2 3");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(2)), "4 5");
    bench.signal = signal(BackPressureSignal::SlowDown, 7);
    assert_eq!(data(&bench.ack(3)), "6");
    // 4, 5 and 6 are gone. Routers hold: 10 s, and a quarter less for each of three samples.
    let silence = ms(10_000).mul_div(27, 64);
    assert_eq!(data(&bench.advance(silence.saturating_sub(ms(1)))), "");
    let sent = bench.advance(ms(1));
    assert_eq!(data(&sent), "R4", "without a credit, and alone");
    assert_eq!(bench.conn.view(0).phase, "closed", "the others may wait somewhere");
    // It arrives, and then nothing else comes: there is nothing else.
    bench.signal = signal(BackPressureSignal::Pause, 7);
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(4)), "");
    let silence = silence.mul_div(3, 4);
    assert_eq!(data(&bench.advance(silence.saturating_sub(ms(1)))), "");
    assert_eq!(data(&bench.advance(ms(1))), "R5");
    assert_eq!(bench.conn.view(0).phase, "ramp");
    bench.signal = signal(BackPressureSignal::Nothing, 7);
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(5)), "R6 7");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(6)), "8 9");
    assert_eq!(bench.conn.counters().retransmits, 3);
    bench.signal = signal(BackPressureSignal::SlowDown, 9);
    assert_eq!(data(&bench.ack(7)), "10", "closed again");
}

#[test]
fn the_timer_restarts_with_every_ack_that_brings_news() {
    // Segments 2 to 9 leave, 2 is lost; an ACK every 900 ms. Its hole is repaired after its
    // patience, not by the timer.
    let (mut bench, sent) = connected(lab(9), ms(100), BackPressureSignal::Nothing);
    assert_eq!(data(&sent), "1 2 3 4 5 6 7 8 9");
    bench.advance(ms(100));
    bench.ack(1);
    for number in 3..=9 {
        bench.advance(ms(900));
        bench.sack(1, &[(3, number)]);
    }
    assert_eq!(bench.conn.counters().timeouts, 0);
}

/// After 400 round trips 501 segments leave, 1 ms apart, and when the first of them does. Routers
/// have room for as many, and know detours or do not.
fn settled(rtt: Span, detours: bool) -> (Bench, Time) {
    let one = Lab { peer_window: MSS as u16, ..lab(901) };
    let room = BackPressure { allowance: 1_024, routers: 2, detours, ..BackPressure::default() };
    let (mut bench, sent) = welcomed(one, rtt, Some(room));
    bench.signal = signal(BackPressureSignal::Nothing, 7);
    assert_eq!(data(&sent), "1");
    let allow = |bench: &mut Bench, acked: u64, last: u64| {
        bench.lab.peer_window = ((last - acked) * MSS).div_ceil(1 << 7) as u16;
        assert_eq!(data(&bench.ack(acked)), format!("{last}"));
    };
    for number in 1..400 {
        bench.advance(rtt);
        allow(&mut bench, number, number + 1);
    }
    bench.advance(rtt);
    let start = bench.now;
    allow(&mut bench, 400, 401);
    for number in 402..=901 {
        bench.advance(ms(1));
        allow(&mut bench, 400, number);
    }
    bench.lab.peer_window = 60_000;
    bench.signal = signal(BackPressureSignal::SlowDown, 7);
    (bench, start)
}

#[test]
fn reordering_of_detours_causes_no_retransmission() {
    // 401 comes after 8, 30 or 100 packets sent after it, 1 ms apart: in time, the packets of a
    // detour that is this much longer.
    for (rtt, behind) in [(600, 8), (600, 30), (600, 100), (4000, 8), (4000, 30), (4000, 100)] {
        let (mut bench, start) = settled(ms(rtt), true);
        let mut sent = Vec::new();
        for later in 1..=behind {
            sent.extend(bench.advance_to(start + ms(rtt + later)));
            sent.extend(bench.sack(400, &[(402, 401 + later)]));
        }
        sent.extend(bench.ack(401 + behind));
        for later in behind + 1..=500 {
            sent.extend(bench.advance_to(start + ms(rtt + later)));
            sent.extend(bench.ack(401 + later));
        }
        let counters = bench.conn.counters();
        assert_eq!((counters.retransmits, counters.lost_packets), (0, 0), "{rtt} ms, {behind}");
    }
}

/// When 401, which is lost, leaves again, in ms after it left; and how often.
fn repair(rtt: u64, detours: bool) -> (u64, u64) {
    let (mut bench, start) = settled(ms(rtt), detours);
    let mut sent = Vec::new();
    for later in 1..=500 {
        sent.extend(bench.advance_to(start + ms(rtt + later)));
        sent.extend(bench.sack(400, &[(402, 401 + later)]));
    }
    sent.extend(bench.advance_to(start + ms(rtt * 5 / 2))); // its ACK cannot be back much before
    let again: Vec<&Seg> = sent.iter().filter(|s| s.label == "R401").collect();
    let first = again.first().expect("it is repaired");
    (first.at.since(start).as_millis(), again.len() as u64)
}

#[test]
fn a_loss_is_repaired_once_and_after_the_patience() {
    // No variation; the first loss of the path, and no packet has been late. 401 alone is missing:
    // 200 ms after 402 has arrived it is lost, or a quarter of a round trip if that is longer.
    assert_eq!(repair(500, true), (500 + 1 + 200, 1));
    assert_eq!(repair(600, true), (600 + 1 + 200, 1));
    assert_eq!(repair(4000, true), (4000 + 1 + 1000, 1));
    // Where no router knows a detour: a quarter of a round trip after 402 has arrived.
    for rtt in [500, 600, 4000] {
        assert_eq!(repair(rtt, false), (rtt + 1 + rtt / 4, 1));
    }
}

#[test]
fn short_holes_are_waited_for_200_ms_and_long_ones_longer() {
    // RTT 600 ms, no variation. 401 left at 0, each later one 1 ms after the one before. 401, 801
    // and 811 to 814 are lost; 811 to 814 are more than 3.
    let (mut bench, start) = settled(ms(600), true);
    bench.signal = signal(BackPressureSignal::Nothing, 0);
    let mut sent = Vec::new();
    for last in 402..=901 {
        sent.extend(bench.advance_to(start + ms(600 + last - 401)));
        let from = [815, 802, 402].into_iter().find(|&from| from <= last);
        if last != 801 && !(811..=814).contains(&last) {
            sent.extend(bench.sack(400, &[(from.expect("402 is the first"), last)]));
        }
    }
    sent.extend(bench.advance_to(start + ms(1500)));
    let again = |number: u64| -> Vec<u64> {
        let label = format!("R{number}");
        let of = sent.iter().filter(|s| s.label == label);
        of.map(|s| s.at.since(start).as_millis()).collect()
    };
    // 200 ms after the one behind it has arrived. Long holes: 600 + 3 x 600 / 4 = 1050 ms after
    // they left.
    assert_eq!(again(401), [600 + 1 + 200]);
    assert_eq!(again(801), [400 + 600 + 1 + 200], "not 400 + 1050");
    assert_eq!(again(811), [410 + 1050], "the others may be on another way");
    assert_eq!(again(814), [413 + 1050]);
    assert_eq!(bench.conn.counters().retransmits, 6);
}

/// 1 to 9 leave after a round trip of 100 ms, and 1 arrives with each of `says`.
fn first_of_nine(lab: Lab, says: &[Option<BackPressure>]) -> Bench {
    let mut bench = lab.client();
    bench.open();
    bench.signal = signal(BackPressureSignal::Nothing, 0);
    bench.advance(ms(100));
    assert_eq!(data(&bench.syn_ack()), "1 2 3 4 5 6 7 8 9");
    bench.advance(ms(100));
    for &says in says {
        bench.signal = says;
        assert_eq!(data(&bench.ack(1)), "");
    }
    bench
}
/// Nothing comes after it, until the repair of 2, which leaves after `silence_ms`, has arrived.
fn silent(lab: Lab, says: Option<BackPressure>, silence_ms: u64) -> Bench {
    let mut bench = first_of_nine(lab, &[says]);
    assert_eq!(data(&bench.advance(ms(silence_ms - 1))), "");
    assert_eq!(data(&bench.advance(ms(1))), "R2");
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(2)), "");
    bench
}

#[test]
fn what_left_before_a_repair_that_arrives_alone_is_lost_at_the_second_silence() {
    // When 2 has arrived, either nothing comes after it, and the next silence takes 3 to 9 for
    // lost; or 5 does, which left before it, so that the path may hold 6 to 9, and the next silence
    // asks for what is below 5 alone.
    for (holds, again) in [(false, "R3 R4 R5 R6 R7 R8 R9"), (true, "R3 R4")] {
        let mut bench = silent(lab(9), signal(BackPressureSignal::Nothing, 0), 1000);
        if holds {
            assert_eq!(data(&bench.sack(2, &[(5, 5)])), "");
        }
        assert_eq!(data(&bench.advance(ms(1_000))), again);
    }
}

#[test]
fn where_routers_hold_packets_for_a_short_time_it_is_lost_as_soon_as_a_short_hole() {
    // The silence is that of four round trips. With detours a hole is waited for 200 ms, or else a
    // quarter of a round trip; so is what may be late behind the first packet.
    for (detours, wait_ms) in [(false, 25), (true, 200)] {
        let says = BackPressure { routers: 2, detours, ..BackPressure::default() };
        let lab = || Lab { controller: Some(inrpp_of_short_holds), ..lab(9) };
        let mut bench = silent(lab(), Some(says), 400);
        assert_eq!(data(&bench.advance(ms(wait_ms - 1))), "", "{detours}");
        assert_eq!(data(&bench.advance(ms(1))), "R3 R4 R5 R6 R7 R8 R9", "{detours}");

        let mut bench = silent(lab(), Some(says), 400);
        assert_eq!(data(&bench.ack(8)), "", "they were late");
        assert_eq!(data(&bench.advance(ms(399))), "");
        assert_eq!(bench.conn.counters().retransmits, 1);
    }
}

#[test]
fn without_sack_the_repair_of_a_hole_shows_the_next_one_where_routers_hold_little() {
    // 2, 4 and 9 are lost. A quarter of a round trip is waited for what is late, and as long as a
    // cache holds what the repair of 2 may have overtaken.
    let says = Some(BackPressure { routers: 2, ..BackPressure::default() });
    let config = TcpConfig { sack: false, ..config(true) };
    for (controller, next) in [(inrpp_of_short_holds as fn() -> _, "R4"), (inrpp, "")] {
        let lab = Lab { controller: Some(controller), config, ..lab(9) };
        let mut bench = first_of_nine(lab, &[says; 6]);
        assert_eq!(data(&bench.advance(ms(24))), "");
        assert_eq!(data(&bench.advance(ms(1))), "R2");
        bench.advance(ms(100));
        assert_eq!(data(&bench.ack(3)), "");
        assert_eq!(data(&bench.advance(ms(99))), "");
        assert_eq!(data(&bench.advance(ms(1))), next);
    }
}

#[test]
fn where_a_router_has_asked_a_flow_that_is_sent_round_it_is_waited_for_longer() {
    let says = |ask, nonce| signal(ask, nonce).map(|says| BackPressure { detours: true, ..says });
    let asked = [says(BackPressureSignal::SlowDown, 7), says(BackPressureSignal::Cancel, 7)];
    let lab = Lab { controller: Some(inrpp_of_short_holds), ..lab(9) };
    let mut bench = first_of_nine(lab, &asked);
    assert_eq!(data(&bench.advance(ms(999))), "");
}

const ACCESS: Rate = Rate::mbps(40);
const BOTTLENECK: Rate = Rate::mbps(10);

/// 15 MB from 40 into 10 Mbit/s: for 3 s the cache grows by 30 Mbit/s, and the round trip by 3 s
/// each second.
fn into_a_cache(timestamps: bool, detours: bool) -> Road {
    let rates = (ACCESS, BOTTLENECK);
    let mut road = Road::new(config(timestamps), 15_000 * MSS, rates, ms(25), (inrpp, receiver));
    let says = BackPressure { routers: 2, detours, ..BackPressure::default() };
    road.router = Box::new(move |_| Some(says));
    road
}

#[test]
fn a_round_trip_that_grows_from_50_ms_to_9_s_causes_neither_timeout_nor_retransmission() {
    for timestamps in [true, false] {
        let mut road = into_a_cache(timestamps, false);
        road.finish(Time::from_secs(60));
        let counters = road.ends[0].counters();
        assert!(road.longest > Span::from_secs(9), "{:?}", road.longest);
        assert_eq!((counters.retransmits, counters.timeouts, counters.lost_packets), (0, 0, 0));
        assert_eq!(road.ends[1].progress().received_bytes, 15_000 * MSS);
        // All that the link can do: wire bytes at its rate, two round trips without a queue.
        let wire = 1000 + 40 + if timestamps { 20 } else { 8 };
        let least = BOTTLENECK.span_of(15_000 * wire) + ms(100);
        let (_, end) = road.ends[1].progress().ended.unwrap();
        assert!(end <= Time::ZERO + least + ms(60), "{end} for {least:?}");
    }
}

#[test]
fn reordering_in_a_growing_cache_causes_no_retransmission() {
    for shuffle in [8, 30, 100] {
        // Where no router knows a detour the first ones are needless: DSACKs say so.
        for (detours, needless) in [(true, 0), (false, 4)] {
            let mut road = into_a_cache(true, detours);
            road.shuffle = shuffle;
            road.finish(Time::from_secs(60));
            let counters = road.ends[0].counters();
            assert!(counters.retransmits <= needless, "{shuffle}: {}", counters.retransmits);
            assert_eq!(counters.timeouts, 0);
        }
    }
}

#[test]
fn five_percent_loss_in_a_growing_cache_is_repaired_and_nothing_else_sent_again() {
    for timestamps in [true, false] {
        let mut road = into_a_cache(timestamps, false);
        road.loss = 0.05;
        road.finish(Time::from_secs(300));
        let counters = road.ends[0].counters();
        assert_eq!(road.ends[1].progress().received_bytes, 15_000 * MSS);
        assert!(road.lost > 600);
        assert_eq!(counters.retransmits, road.lost, "one for each loss ({timestamps})");
    }
}

#[test]
fn a_cache_that_asks_for_less_gets_one_packet_for_each_it_serves() {
    // Slow down above 1 MB, cancel below 0.5 MB. What comes above the threshold: 40 Mbit/s for a
    // round trip of 50 ms and the time in which the ACK in front of the cache waits for nothing:
    // 250 kB at most.
    let rates = (ACCESS, BOTTLENECK);
    let mut road = Road::new(config(true), 15_000 * MSS, rates, ms(25), (inrpp, receiver));
    let most = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let seen = most.clone();
    let mut slow = false;
    road.router = Box::new(move |cached| {
        seen.fetch_max(cached, std::sync::atomic::Ordering::Relaxed);
        let before = slow;
        slow = if slow { cached > 500_000 } else { cached > 1_000_000 };
        match (before, slow) {
            (_, true) => signal(BackPressureSignal::SlowDown, 3),
            (true, false) => signal(BackPressureSignal::Cancel, 3),
            (false, false) => signal(BackPressureSignal::Nothing, 0),
        }
    });
    road.finish(Time::from_secs(60));
    let counters = road.ends[0].counters();
    assert_eq!((counters.retransmits, counters.timeouts), (0, 0));
    let most = most.load(std::sync::atomic::Ordering::Relaxed);
    assert!((1_000_000..1_250_000).contains(&most), "{most}");
    let least = BOTTLENECK.span_of(15_000 * 1060) + ms(100);
    let (_, end) = road.ends[1].progress().ended.unwrap();
    assert!(end <= Time::ZERO + least + ms(60), "the link never waits: {end} for {least:?}");
}

#[test]
fn without_routers_the_packets_are_those_of_cubic() {
    // The same losses, the same times, the same segments: all but the echo.
    for seed in 0..10 {
        let run = |name: &'static str| {
            let mut rng = Rng::new(seed, Stream::Test, 31);
            let config = TcpConfig {
                loss_policy: LossPolicy::RackTlp,
                recovery: Recovery::Prr,
                ..config(seed % 2 == 0)
            };
            let wiring = Wiring::new(config, Some(400 * MSS), ms(40));
            let wiring = wiring.script(move |_| Fate::drop_if(rng.chance(0.02)));
            let mut pair = wiring.build(|_, _| controller(name));
            pair.finish(Time::from_secs(600));
            let log = pair.log.iter().map(|e| (e.side, e.seg.at, e.seg.label.clone(), e.arrived));
            log.collect::<Vec<_>>()
        };
        assert_eq!(run("inrpp"), run("cubic"), "seed {seed}");
    }
}

#[test]
fn a_path_that_loses_its_routers_becomes_one_of_tcp() {
    // 60 in flight, as the SYN-ACK's window has it. Eight ACKs that have passed no router.
    let (mut bench, sent) = connected(lab(300), ms(100), BackPressureSignal::Nothing);
    assert_eq!(data_segs(&sent).len(), 60);
    bench.advance(ms(100));
    bench.lab.peer_window = 400; // x 128: 51 200 bytes, nothing new may leave
    for number in 1..=7 {
        bench.signal = Some(BackPressure { routers: 0, ..BackPressure::default() });
        bench.ack(number);
    }
    let window = |bench: &Bench| bench.conn.view(0).cwnd_bytes;
    // Six have arrived since the first ACK ended a round trip.
    assert_eq!(window(&bench), 65_535 + 16 * 6 * MSS);
    // Duplicates mean nothing to a patient sender, whatever the configuration says (three are a
    // loss).
    for top in [10, 11, 12] {
        bench.signal = signal(BackPressureSignal::Nothing, 0);
        assert_eq!(data(&bench.sack(7, &[(10, top)])), "");
    }
    for number in 8..=15 {
        bench.signal = Some(BackPressure::default());
        bench.ack(number);
    }
    assert_eq!(window(&bench), 10 * MSS, "a new CUBIC, whose window has limited nothing yet");
    for (top, sent) in [(17, ""), (18, ""), (19, "R16")] {
        assert_eq!(data(&bench.sack(15, &[(17, top)])), sent, "RFC 6675 finds the loss");
    }
    assert!(window(&bench) < 1 << 20);
    assert_eq!(bench.conn.counters().recoveries, 1);
}

#[test]
fn patience_works_without_sack() {
    // Segment 2 is lost. Three duplicates show that others came: after a quarter of a round trip,
    // or 200 ms where a router uses a detour. The ACK of 2 covers all.
    for (detours, after) in [(true, 200), (false, 25)] {
        let config = TcpConfig { sack: false, ..config(true) };
        let says = BackPressure { routers: 2, detours, ..BackPressure::default() };
        let (mut bench, _) = welcomed(Lab { config, ..lab(10) }, ms(100), Some(says));
        bench.advance(ms(100));
        bench.ack(1);
        let duplicates: Vec<Seg> = (0..8).flat_map(|_| bench.ack(1)).collect();
        assert_eq!(data(&duplicates), "");
        assert_eq!(data(&bench.advance(ms(after - 1))), "");
        assert_eq!(data(&bench.advance(ms(1))), "R2");
        bench.advance(ms(100));
        assert_eq!(data(&bench.ack(10)), "");
        let counters = bench.conn.counters();
        assert_eq!((counters.timeouts, counters.retransmits), (0, 1));
    }
}

#[test]
fn an_ack_that_advances_ends_the_back_off() {
    // No timestamps: what was sent twice gives no sample (Karn). RTO 1 s; 2 s if the timer runs out
    // again without an ACK.
    let lab = Lab { config: config(false), peer_mss: Some(MSS as u16 + 8), ..lab(4) };
    let (mut bench, sent) = connected(lab, ms(100), BackPressureSignal::Nothing);
    assert_eq!(data(&sent), "1 2 3 4");
    assert_eq!(data(&bench.advance(ms(9_999))), "", "routers hold");
    assert_eq!(data(&bench.advance(ms(1))), "R1");
    bench.signal = signal(BackPressureSignal::Nothing, 0);
    bench.advance(ms(100));
    assert_eq!(data(&bench.ack(1)), "", "caches serve first what was sent again");
    assert_eq!(data(&bench.advance(ms(999))), "");
    // R1 has arrived, and nothing after it: everything is lost, not the first segment alone.
    assert_eq!(data(&bench.advance(ms(1))), "R2 R3 R4");
    assert_eq!(data(&bench.advance(ms(1999))), "");
    assert_eq!(data(&bench.advance(ms(1))), "R2", "one packet, for as long as nothing answers");
}

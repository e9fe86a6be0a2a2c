//! The gap timer: Verus section 5.2, "for every missing sequence number [...] a timeout timer of
//! 3 x delay. If the missing packet arrives before the timer expires, no packet loss is identified".

use crate::common::{Bench, Inject, Lab, MSS, Reaction, Seg, Window, data, ms, plain};
use forebay_base::{Rng, Span, Stream, Time};
use forebay_cc::verus::{Params, Preset, Verus};
use forebay_cc::{AnyController, Init, LossPolicy};
use forebay_transport::{Recovery, TcpConfig};

fn config() -> TcpConfig {
    let loss_policy = LossPolicy::GapTimer { num: 3, den: 1 };
    TcpConfig { loss_policy, recovery: Recovery::Prr, limited_transmit: true, ..plain() }
}

fn window(segments: u64) -> Window {
    Window { reaction: Reaction::Hold, ..Window::fixed(segments) }
}

/// With an RTT of 100 ms and segments 1 to 10 sent at the time that is returned.
fn connected() -> (Bench, Time) {
    let lab = Lab { config: config(), window: window(10), ..Lab::default() };
    let (bench, sent) = lab.connected(ms(100));
    assert_eq!(data(&sent), "1 2 3 4 5 6 7 8 9 10");
    let start = bench.now;
    (bench, start)
}

/// Retransmissions with their times after `start` in ms.
fn repeats(sent: &[Seg], start: Time) -> Vec<(String, u64)> {
    let repeated = sent.iter().filter(|s| s.label.starts_with('R'));
    repeated.map(|s| (s.label.clone(), s.at.since(start).as_millis())).collect()
}

fn at(label: &str, ms: u64) -> (String, u64) {
    (label.to_string(), ms)
}

#[test]
fn the_timer_runs_from_the_time_that_the_gap_is_noticed() {
    // SRTT after the ACK of segments 2 to 10: 100 ms, or 7/8 100 + 1/8 180 = 110.
    for (noticed_ms, due_ms) in [(100, 400), (180, 510)] {
        let (mut bench, start) = connected();
        bench.advance(ms(noticed_ms));
        assert_eq!(repeats(&bench.sack(0, &[(2, 10)]), start), []);
        let sent = bench.advance(ms(600));
        assert_eq!(repeats(&sent, start)[0], at("R1", due_ms));
        assert_eq!(bench.log.losses().len(), 1);
        assert_eq!(bench.conn.counters().timeouts, 0);
    }
}

#[test]
fn each_gap_has_its_own_time() {
    let (mut bench, start) = connected();
    bench.advance(ms(100));
    bench.sack(0, &[(2, 5)]);
    bench.advance(ms(60));
    // 6 is noticed 60 ms later. SRTT 107.5: 1 is due at 100 + 322.5, 6 at 160 + 322.5.
    bench.sack(0, &[(2, 5), (7, 10)]);
    let sent = repeats(&bench.advance(ms(400)), start);
    assert_eq!(sent[..2], [at("R1", 422), at("R6", 482)]);
}

#[test]
fn a_late_ack_without_a_gap_declares_nothing() {
    let (mut bench, start) = connected();
    bench.advance(ms(100));
    bench.ack(5);
    let sent = bench.advance(ms(800)); // 8 SRTT, less than the RTO
    assert_eq!(repeats(&sent, start), []);
    assert_eq!(repeats(&bench.ack(10), start), []);
    assert_eq!(bench.log.losses().len(), 0);
}

#[test]
fn what_arrives_before_its_timer_expires_is_not_lost() {
    let (mut bench, start) = connected();
    bench.advance(ms(100));
    let mut sent = bench.sack(0, &[(4, 10)]);
    sent.extend(bench.advance(ms(250)));
    sent.extend(bench.ack(10));
    sent.extend(bench.advance(ms(600)));
    assert_eq!(repeats(&sent, start), []);
}

/// The peer acknowledges `number` segments, of which the last came in its first copy.
fn ack_of_first_copy(bench: &mut Bench, number: u64, tsval: u32) -> Vec<Seg> {
    let clock = (bench.now.as_millis() as u32).wrapping_sub(9000);
    let ts = bench.stamps.then_some((clock, tsval));
    bench.inject(Inject { ack: Some((number * MSS) as i64), ts, ..Inject::default() })
}

#[test]
fn a_stall_of_10_s_costs_one_packet_per_timeout_and_is_learned_as_a_delay() {
    let (mut bench, start) = connected();
    let tsval = bench.tsval;
    let sent = bench.advance(Span::from_secs(10));
    // After 2 SRTT a probe, of new data; then the timer, which the probe has restarted.
    let expected = [at("R1", 1200), at("R1", 3200), at("R1", 7200)];
    assert_eq!(repeats(&sent, start), expected);
    assert_eq!(data(&sent), "11 R1 R1 R1", "nothing else goes into a path that is silent");
    for number in 1..=10 {
        let sent = ack_of_first_copy(&mut bench, number, tsval);
        assert_eq!(repeats(&sent, start), [], "ACK {number}");
        let sent = bench.advance(ms(12));
        assert_eq!(repeats(&sent, start), [], "after ACK {number}");
    }
    // Segments 2 to 10 were sent once: nine samples of 10 s.
    let srtt = bench.log.acks().last().unwrap().rtt.srtt.unwrap();
    assert!(srtt > Span::from_secs(6), "{srtt}");
    assert_eq!(bench.log.losses().len(), 3, "the first segment, once per timeout");
}

#[test]
fn what_a_silent_path_has_dropped_is_missing_once_the_probe_arrives() {
    let (mut bench, start) = connected();
    assert_eq!(repeats(&bench.advance(ms(1300)), start), [at("R1", 1200)]);
    let mut sent = bench.ack(1);
    let noticed = bench.now;
    sent.extend(bench.advance(ms(700)));
    // The probe is a sample only where timestamps tell it from the first copy; SRTT stays 100 ms.
    assert_eq!(repeats(&sent, noticed)[0], at("R2", 300));
    assert_eq!(bench.log.losses().len(), 11, "1 to 10, and the tail loss probe");
    assert_eq!(bench.conn.counters().timeouts, 1, "the gap has its own timer");
}

#[test]
fn a_lost_retransmission_is_missing_like_any_other() {
    let (mut bench, start) = connected();
    bench.advance(ms(100));
    bench.sack(0, &[(2, 10)]); // 11 to 19 leave
    bench.advance_to(start + ms(200));
    bench.sack(0, &[(2, 19)]); // 20 to 28 leave
    let sent = bench.advance_to(start + ms(410));
    assert_eq!(repeats(&sent, start), [at("R1", 400)]);
    let mut sent = bench.sack(0, &[(2, 28)]); // 29 leaves after R1
    assert!(data(&sent).starts_with("29 "));
    bench.advance_to(start + ms(510));
    sent.extend(bench.sack(0, &[(2, 29)])); // noticed
    let srtt = bench.log.acks().last().unwrap().rtt.srtt.unwrap();
    sent.extend(bench.advance(ms(900)));
    let due = 510 + (srtt * 3).as_millis();
    assert_eq!(repeats(&sent, start)[0], at("R1", due));
    assert_eq!(bench.conn.counters().timeouts, 0, "each ACK restarts the timer");
}

#[test]
fn a_tail_is_found_by_a_probe_or_else_by_the_retransmission_timer() {
    let lab =
        Lab { config: config(), window: window(10), send_bytes: Some(5 * MSS), ..Lab::default() };
    for probe_arrives in [true, false] {
        let (mut bench, _) = lab.clone().connected(ms(100));
        let start = bench.now;
        bench.advance(ms(100));
        bench.ack(3);
        let sent = bench.advance(ms(200));
        assert_eq!(repeats(&sent, start), [at("R5", 300)], "2 SRTT after the last ACK");
        bench.advance(ms(100));
        if probe_arrives {
            bench.sack(3, &[(5, 5)]); // 4 was sent before the probe
        }
        let sent = bench.advance(ms(1000));
        let (due_ms, timeouts) = if probe_arrives { (700, 0) } else { (1300, 1) };
        assert_eq!(repeats(&sent, start)[0], at("R4", due_ms));
        assert_eq!(bench.conn.counters().timeouts, timeouts);
    }
}

#[test]
fn without_sack_a_duplicate_ack_shows_the_gap_and_only_the_first_segment_is_sent_again() {
    let lab = Lab { config: config(), window: window(10), peer_sack: false, ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    let start = bench.now;
    bench.advance(ms(100));
    bench.ack(0);
    bench.advance(ms(10));
    bench.ack(0);
    let sent = bench.advance(ms(400));
    assert_eq!(repeats(&sent, start), [at("R1", 400)]);
    let late = bench.advance(Span::from_secs(1));
    assert!(repeats(&late, start).len() > 1, "RFC 5681: after the timer all is lost");
}

fn sender(preset: Preset) -> AnyController {
    let init = Init {
        mss_bytes: MSS as u32,
        initial_window_bytes: 10 * MSS,
        initial_ssthresh_bytes: u64::MAX,
        paced: false,
        rng: Rng::new(1, Stream::Test, 0),
    };
    AnyController::Verus(Verus::new(&Params { preset, ..Params::default() }, init))
}

fn paper() -> AnyController {
    sender(Preset::Paper)
}
fn authors() -> AnyController {
    sender(Preset::Authors)
}
fn default() -> AnyController {
    sender(Preset::Recommended)
}

/// Connections of Verus by each of its presets, which have sent more than 100 segments with an RTT
/// of 100 ms, and have something in flight.
fn steering(peer_sack: bool) -> impl Iterator<Item = (&'static str, Bench)> {
    let presets = [("paper", paper as fn() -> _), ("authors", authors), ("recommended", default)];
    presets.into_iter().map(move |(name, make)| {
        let lab = Lab { config: plain(), controller: Some(make), peer_sack, ..Lab::default() };
        let (mut bench, _) = lab.connected(ms(100));
        while bench.sent_end < 100 * MSS {
            let sent = bench.sent_end / MSS;
            bench.advance(ms(100));
            bench.ack(sent);
        }
        assert_eq!(bench.conn.counters().retransmits, 0, "{name}");
        (name, bench)
    })
}

#[test]
fn verus_sends_a_packet_per_timeout_into_a_silent_path_and_goes_on_when_it_answers() {
    for (name, mut bench) in steering(true) {
        bench.advance(ms(1500)); // at least one timeout
        let (start, before) = (bench.now, bench.conn.counters());
        let sent = bench.advance(Span::from_secs(60));
        let timeouts = bench.conn.counters().timeouts - before.timeouts;
        assert!(before.timeouts >= 1 && timeouts >= 3, "{name}: {timeouts}");
        assert_eq!(sent.len() as u64, timeouts, "{name}: {:?}", repeats(&sent, start));
        let end = bench.sent_end / MSS;
        bench.ack(end);
        let sent = bench.advance(Span::from_secs(1));
        assert!(!sent.is_empty() && repeats(&sent, start).is_empty(), "{name}: {}", data(&sent));
    }
}

#[test]
fn acks_that_acknowledge_nothing_for_a_minute_are_a_silence() {
    for sack in [true, false] {
        for (name, mut bench) in steering(sack) {
            bench.advance(ms(1500));
            let una = bench.sent_end / MSS - 20;
            bench.ack(una);
            bench.advance(ms(1500));
            let before = bench.conn.counters();
            let mut sent = Vec::new();
            for _ in 0..6000 {
                sent.extend(bench.ack(una));
                sent.extend(bench.advance(ms(10)));
            }
            let after = bench.conn.counters();
            let timeouts = after.timeouts - before.timeouts;
            assert!((3..=10).contains(&timeouts), "{name}, SACK {sack}: {timeouts}");
            assert!(sent.len() as u64 <= timeouts + 1, "{name}, SACK {sack}: {}", data(&sent));
        }
    }
}

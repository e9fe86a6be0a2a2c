//! The draft's numbers and rules, ACK by ACK. Its test cases run in forebay-testkit.

use super::*;
use crate::controller::RateSample;
use crate::testbed::{MSS, ack, init, ms};
use alloc::vec::Vec;

const RTT: Span = ms(10);
/// Of the path, in bit/s: 100 segments in 10 ms.
const FULL_BPS: u64 = 100 * MSS * 8 * 100;

/// Rounds of one ACK each.
struct Feed {
    bbr: Bbr,
    now: Time,
    delivered: u64,
    sent: u64,
}

/// A round.
#[derive(Clone, Copy)]
struct Round {
    bps: u64,
    /// Segments in flight after its ACK, and when the packet that it delivers last left.
    inflight: u64,
    sent_into: u64,
    limited: bool,
    cwnd_limited: bool,
    rtt: Span,
    lost: u64,
}

const FLAT: Round = Round {
    bps: FULL_BPS,
    inflight: 100,
    sent_into: 100,
    limited: false,
    cwnd_limited: false,
    rtt: RTT,
    lost: 0,
};

impl Feed {
    fn with(params: &Params) -> Feed {
        let mut bbr = Bbr::new(params, init(10));
        let now = Time::from_secs(1);
        let rtt = RttView { srtt: Some(RTT), rttvar: RTT, min: RTT, latest: Some(RTT) };
        bbr.on_established(now, &rtt, None);
        Feed { bbr, now, delivered: 0, sent: 0 }
    }
    fn new() -> Feed {
        Feed::with(&Params::default())
    }
    /// In ProbeBW, a tenth of a BDP in flight, so that nothing is to be drained.
    fn cruising() -> Feed {
        Feed::cruising_with(&Params::default())
    }
    fn cruising_with(params: &Params) -> Feed {
        let mut feed = Feed::with(params);
        (0..8).for_each(|_| feed.round(FLAT));
        (0..3).for_each(|_| feed.round(Round { inflight: 10, sent_into: 10, ..FLAT }));
        assert_eq!(feed.bbr.phase(), "cruise");
        feed
    }
    fn probing() -> Feed {
        let mut feed = Feed::cruising();
        feed.until("up");
        feed
    }
    /// Rounds until the state is that.
    fn until(&mut self, phase: &str) {
        let rounds = (0..2_000).find(|_| {
            self.round(Round { inflight: 10, sent_into: 10, ..FLAT });
            self.bbr.phase() == phase
        });
        assert!(rounds.is_some(), "never in {phase}");
    }
    fn round(&mut self, round: Round) {
        self.now += RTT;
        self.same_time(round);
    }
    fn same_time(&mut self, round: Round) {
        let bytes = (round.bps as u128 * RTT.as_nanos() as u128 / 8_000_000_000) as u64;
        self.ack(bytes, (bytes, self.delivered), round);
    }
    /// An ACK of `bytes`; `flight` bytes were delivered since the packet left, `prior` before.
    fn ack(&mut self, bytes: u64, (flight, prior): (u64, u64), round: Round) {
        self.delivered += bytes;
        let rate = RateSample {
            delivered_bytes: flight,
            interval: RTT,
            prior_delivered_bytes: prior,
            tx_in_flight_bytes: round.sent_into * MSS,
            app_limited: round.limited,
            lost_bytes: round.lost,
        };
        let news = Ack {
            total_delivered_bytes: self.delivered,
            rtt_sample: Some(round.rtt),
            in_flight_bytes: round.inflight * MSS,
            snd_una: self.delivered,
            snd_nxt: self.delivered + round.inflight * MSS,
            cwnd_limited: round.cwnd_limited,
            rate: Some(rate),
            ..ack(bytes)
        };
        self.bbr.on_ack(self.now, &news);
    }
    /// A packet leaves with this many segments in flight. Its tag.
    fn send(&mut self, inflight: u64, after_idle: bool) -> (Tag, u64) {
        self.sent += 1;
        let sent = Sent {
            number: self.sent,
            bytes: MSS as u32,
            in_flight_bytes: inflight * MSS,
            retransmission: false,
            after_idle,
            app_limited: after_idle,
        };
        (self.bbr.on_sent(self.now, &sent), self.sent)
    }
    fn lose(&mut self, (tag, number): (Tag, u64), inflight: u64) {
        let (bytes, in_flight_bytes) = (MSS as u32, inflight * MSS);
        let loss = Loss { tag, number, bytes, sent_at: self.now, in_flight_bytes };
        self.bbr.on_loss(self.now, &loss);
    }
    fn recover(&mut self) {
        let event =
            Congestion { cause: CongestionCause::Loss, flight_size_bytes: 0, cwnd_limited: true };
        self.bbr.on_congestion(self.now, &event);
    }
    fn mark(&mut self) {
        let event =
            Congestion { cause: CongestionCause::Ecn, flight_size_bytes: 0, cwnd_limited: true };
        self.bbr.on_congestion(self.now, &event);
    }
    fn machine(&mut self) -> &mut Machine {
        &mut self.bbr.machine
    }
    fn longterm(&self) -> u64 {
        self.bbr.machine.cycle.inflight_longterm / MSS
    }
    fn cwnd(&self) -> u64 {
        self.bbr.limits().cwnd_bytes / MSS
    }
    /// Share of the path at which it paces.
    fn pace(&self) -> f64 {
        self.bbr.limits().pacing_rate.expect("paced").bps() as f64 / FULL_BPS as f64
    }
}

#[test]
fn startup_ends_with_the_third_round_that_brings_less_than_a_quarter_more() {
    let mut feed = Feed::new();
    let round = |percent| Round { bps: FULL_BPS * percent / 100, inflight: 300, ..FLAT };
    for percent in [10, 20, 40, 80, 100, 110, 120] {
        feed.round(round(percent));
        assert_eq!(feed.bbr.phase(), "startup", "{percent} %"); // 100 = 1.25 x 80
    }
    feed.round(round(124));
    assert_eq!(feed.bbr.phase(), "drain");
    assert!((feed.pace() - 0.5 * 0.99 * 1.24).abs() < 1e-6, "{}", feed.pace());
}

#[test]
fn rounds_that_the_application_limits_end_no_startup_and_do_not_lower_the_rate() {
    let mut feed = Feed::new();
    feed.round(FLAT);
    let pace = feed.pace();
    for _ in 0..100 {
        feed.round(Round { bps: FULL_BPS / 2, limited: true, ..FLAT });
    }
    assert_eq!(feed.bbr.phase(), "startup");
    assert!((pace - 2.77 * 0.99).abs() < 1e-6 && feed.pace() == pace);
    assert_eq!(feed.machine().model.max_bw(), FULL_BPS);
}

/// Startup with `ranges` lost in one round that the application limits, `lost` segments of 100 in
/// flight.
fn startup_with_losses(ranges: u64, lost: u64) -> Feed {
    let mut feed = Feed::new();
    feed.round(FLAT);
    feed.now += RTT;
    for _ in 0..ranges {
        feed.send(100, false); // arrives
        let packet = feed.send(100, false);
        feed.lose(packet, 99);
    }
    feed.recover();
    let round = Round { inflight: 200, limited: true, ..FLAT };
    feed.same_time(round);
    // The round that began with the first loss.
    feed.round(Round { lost: lost * MSS, ..round });
    feed
}

#[test]
fn six_ranges_and_more_than_two_percent_lost_in_a_round_of_recovery_end_startup() {
    assert_eq!(startup_with_losses(5, 5).bbr.phase(), "startup");
    assert_eq!(startup_with_losses(6, 2).bbr.phase(), "startup", "2 % are not more than 2 %");
    let mut feed = startup_with_losses(6, 3);
    assert_eq!(feed.bbr.phase(), "drain");
    assert!(feed.machine().full_pipe.now && feed.machine().full_pipe.reached);
    assert_eq!(feed.longterm(), 100, "max(bdp, inflight_latest)");
}

#[test]
fn drain_ends_with_a_bdp_in_flight_or_after_three_rounds() {
    let mut feed = Feed::new();
    (0..4).for_each(|_| feed.round(Round { inflight: 200, ..FLAT }));
    assert_eq!(feed.bbr.phase(), "drain");
    feed.round(Round { inflight: 101, ..FLAT });
    assert_eq!(feed.bbr.phase(), "drain");
    feed.round(FLAT);
    assert_ne!(feed.bbr.phase(), "drain");

    let mut feed = Feed::new();
    (0..4).for_each(|_| feed.round(Round { inflight: 200, ..FLAT }));
    for _ in 0..3 {
        feed.round(Round { inflight: 200, ..FLAT });
        assert_eq!(feed.bbr.phase(), "drain");
    }
    feed.round(Round { inflight: 200, ..FLAT });
    assert_eq!(feed.bbr.phase(), "down");
}

#[test]
fn gains_are_those_of_the_table() {
    // A BDP of 100 segments. extra_acked is 0 once it has been measured over a whole interval.
    let mut feed = Feed::cruising();
    let settled = |feed: &mut Feed| {
        let extra = feed.machine().extra_acked() / MSS;
        (feed.pace(), feed.machine().max_inflight() / MSS - extra)
    };
    let near = |(pace, window): (f64, u64), gain: f64, bdps: u64| {
        assert!((pace - 0.99 * gain).abs() < 1e-6, "{pace}");
        assert_eq!(window, bdps);
    };
    near(settled(&mut feed), 1.0, 200);
    feed.until("refill");
    near(settled(&mut feed), 1.0, 200);
    feed.until("up");
    near(settled(&mut feed), 1.25, 227); // 2.25 BDP and two segments
    feed.until("down");
    near(settled(&mut feed), 0.9, 200);
}

#[test]
fn a_probe_follows_after_two_to_three_seconds_or_sixty_three_rounds() {
    // 10 ms: 62 or 63 rounds (the count begins at 0 or 1), after the round of Down.
    let mut feed = Feed::probing();
    feed.until("down");
    let start = feed.now;
    feed.until("refill");
    let rounds = feed.now.since(start).as_millis() / 10;
    assert!((62..=63).contains(&rounds), "{rounds}");
    // Rounds of 100 ms: T_bbr is shorter.
    let mut feed = Feed::probing();
    feed.until("down");
    let start = feed.now;
    while feed.bbr.phase() != "refill" {
        feed.now += ms(90);
        feed.round(Round { inflight: 10, ..FLAT });
    }
    let wait = feed.now.since(start).as_secs_f64();
    assert!((2.0..=3.1).contains(&wait), "{wait}");
}

#[test]
fn inflight_longterm_grows_by_one_two_four_eight_segments_a_round() {
    let mut feed = Feed::cruising();
    feed.machine().cycle.inflight_longterm = 50 * MSS;
    feed.until("refill");
    feed.round(Round { inflight: 10, sent_into: 10, ..FLAT });
    assert_eq!(feed.bbr.phase(), "up");
    let mut sum = 0;
    for n in 0..6 {
        // An ACK for each segment of a window, which was sent a window ago.
        let window = feed.longterm();
        let round = Round { inflight: window, sent_into: 10, cwnd_limited: true, ..FLAT };
        for _ in 0..window {
            feed.now += RTT / window;
            let prior = feed.delivered + MSS - window * MSS;
            feed.ack(MSS, (window * MSS, prior), round);
        }
        sum += 1 << n;
        let grown = feed.longterm() - 50;
        assert!(grown.abs_diff(sum) <= n, "{grown} after {} rounds, not {sum}", n + 1);
    }
    assert_eq!(feed.bbr.phase(), "up", "the volume limits the rate: no plateau");
}

#[test]
fn the_volume_at_the_two_percent_point_is_solved_for() {
    // Before the packet 100 in flight, 1 lost: (0.02 100 - 1) / 0.98 = 1.0204 more.
    let feed = Feed::new();
    let at = feed.bbr.machine.inflight_at_loss(MSS, 2 * MSS, 101 * MSS);
    assert!((at as f64 / MSS as f64 - 101.0204).abs() < 0.001, "{at}");
}

#[test]
fn too_many_losses_end_up_set_the_volume_and_make_the_next_probe_careful() {
    let mut feed = Feed::probing();
    let packets: Vec<_> = (0..6).map(|_| feed.send(150, false)).collect();
    for (lost, packet) in packets.into_iter().enumerate() {
        let phase = if lost < 3 { "up" } else { "down" };
        feed.lose(packet, 140);
        assert_eq!(feed.bbr.phase(), phase, "{} of 150 lost", lost + 1);
    }
    // The fourth: 149 before it, 3 lost of them, 149 - 0.02 / 0.98; 0.7 min(bdp, cwnd) is less.
    assert_eq!(feed.longterm(), 148);
    feed.round(Round { inflight: 10, sent_into: 10, ..FLAT });
    assert!(feed.bbr.machine.cycle.was_too_high);
    feed.until("up");
    feed.round(Round { inflight: 147, sent_into: 10, ..FLAT });
    assert_eq!(feed.bbr.phase(), "up");
    feed.round(Round { inflight: 149, sent_into: 10, ..FLAT });
    assert_eq!(feed.bbr.phase(), "down", "as soon as it reaches that volume");
    // Without losses it probes again at once.
    feed.round(Round { inflight: 60, sent_into: 10, ..FLAT });
    assert_eq!(feed.bbr.phase(), "refill");
}

#[test]
fn what_the_application_limits_ends_up_and_leaves_the_volume() {
    let mut feed = Feed::probing();
    let packets: Vec<_> = (0..5).map(|_| feed.send(100, true)).collect();
    for packet in packets {
        feed.lose(packet, 90);
    }
    assert_eq!(feed.bbr.phase(), "down");
    assert_eq!(feed.bbr.machine.cycle.inflight_longterm, UNBOUNDED);
}

#[test]
fn a_round_with_a_loss_lowers_the_short_term_model_by_three_tenths_at_most() {
    let mut feed = Feed::cruising();
    let mut lossy = |percent: u64| {
        feed.now += RTT;
        let packet = feed.send(100, false);
        feed.lose(packet, 99);
        feed.same_time(Round { bps: FULL_BPS * percent / 100, inflight: 10, ..FLAT });
        // The next ACK ends the round.
        feed.round(Round { bps: FULL_BPS * percent / 100, inflight: 10, ..FLAT });
        feed.bbr.machine.model.bw() as f64 / FULL_BPS as f64
    };
    // bw_latest of the first is still that of the round before.
    assert!(lossy(80) >= 0.8);
    assert!((lossy(80) - 0.8).abs() < 1e-6);
    assert!((lossy(40) - 0.8).abs() < 1e-6, "the largest of the round is 0.8");
    assert!((lossy(40) - 0.56).abs() < 1e-6, "0.7 x 0.8, not 0.4");
    feed.until("refill");
    assert_eq!(feed.machine().signals.bw_shortterm, UNBOUNDED);
}

/// Rounds with twice the RTT until ProbeRTT begins, which is `after_s` seconds after the handshake
/// at 1 s, the last sample that was lower than those before.
fn until_probe_rtt(feed: &mut Feed, after_s: u64) -> Round {
    let slow = Round { inflight: 60, sent_into: 10, rtt: RTT * 2, ..FLAT };
    while feed.bbr.phase() != "probe-rtt" {
        assert!(feed.now < Time::from_secs(15), "{}", feed.bbr.phase());
        feed.round(slow);
    }
    let late = feed.now.since(Time::from_secs(1 + after_s));
    assert!(late < ms(20), "{}", feed.now);
    slow
}

#[test]
fn probe_rtt_is_half_a_bdp_of_the_old_min_rtt_for_200_ms_and_a_round() {
    let mut feed = Feed::cruising();
    let slow = until_probe_rtt(&mut feed, 5);
    assert_eq!(feed.bbr.machine.model.min_rtt(), Some(RTT), "10 s are not over");
    assert_eq!((feed.cwnd(), feed.pace() > 0.98), (50, true));
    let start = feed.now;
    while feed.bbr.phase() == "probe-rtt" {
        feed.round(Round { inflight: 50, ..slow });
    }
    let lasted = feed.now.since(start);
    assert!((ms(210)..=ms(230)).contains(&lasted), "{lasted}");
    assert_eq!(feed.bbr.phase(), "cruise");
}

/// Each ProbeRTT postpones the next one by 5 s; min_rtt rises when it is 10 s old, and then to the
/// smallest RTT of the window that schedules ProbeRTT.
#[test]
fn min_rtt_outlives_one_probe_rtt_and_not_two() {
    let mut feed = Feed::cruising();
    let slow = until_probe_rtt(&mut feed, 5);
    let mut begins = alloc::vec![feed.now];
    let mut was = "probe-rtt";
    while feed.now < Time::from_secs(13) {
        feed.round(Round { inflight: 50, ..slow });
        let expected = if feed.now <= Time::from_secs(11) { RTT } else { RTT * 2 };
        assert_eq!(feed.bbr.machine.model.min_rtt(), Some(expected), "{}", feed.now);
        if feed.bbr.phase() == "probe-rtt" && was != "probe-rtt" {
            begins.push(feed.now);
        }
        was = feed.bbr.phase();
    }
    let apart = begins[1].since(begins[0]);
    assert!((ms(5_210)..=ms(5_250)).contains(&apart), "200 ms, a round and 5 s, not {apart}");
}

#[test]
fn one_filter_schedules_probe_rtt_by_min_rtt_and_takes_its_window_from_the_old_one() {
    let params = Params { min_rtt_filters: MinRttFilters::One, ..Params::default() };
    let mut feed = Feed::cruising_with(&params);
    until_probe_rtt(&mut feed, 10);
    assert_eq!(feed.bbr.machine.model.min_rtt(), Some(RTT * 2), "the sample that replaces it");
    assert_eq!(feed.cwnd(), 50);
}

#[test]
fn probe_rtt_in_startup_returns_to_startup() {
    let mut feed = Feed::new();
    let slow = Round { bps: FULL_BPS / 10, limited: true, rtt: RTT * 2, inflight: 3, ..FLAT };
    let mut seen = [false; 2];
    for _ in 0..1_100 {
        feed.round(slow);
        seen[0] |= feed.bbr.phase() == "probe-rtt";
        seen[1] |= seen[0] && feed.bbr.phase() == "startup";
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn after_an_idle_time_there_is_no_probe_rtt_and_the_rate_is_that_of_the_path() {
    let mut feed = Feed::cruising();
    feed.now += Span::from_secs(15);
    feed.send(1, true);
    assert!((feed.pace() - 0.99).abs() < 1e-6);
    feed.round(Round { inflight: 10, rtt: RTT * 3, ..FLAT });
    assert_ne!(feed.bbr.phase(), "probe-rtt");
    assert_eq!(feed.bbr.machine.model.min_rtt(), Some(RTT * 3), "the estimate is new");
}

#[test]
fn a_timeout_leaves_one_segment_and_its_repair_gives_the_window_back() {
    let mut feed = Feed::cruising();
    let before = feed.cwnd();
    let packet = feed.send(100, false);
    feed.lose(packet, 0);
    feed.bbr.on_rto(feed.now, &Timeout { flight_size_bytes: 100 * MSS, first: true });
    assert_eq!(feed.cwnd(), 1);
    // An ACK that leaves something open, and one that does not.
    feed.round(Round { bps: FULL_BPS / 100, inflight: 1, sent_into: 1, ..FLAT });
    assert!(feed.cwnd() < 10, "{}", feed.cwnd());
    feed.round(Round { bps: FULL_BPS / 100, inflight: 1, sent_into: 1, ..FLAT });
    let bound = feed.bbr.machine.signals.inflight_shortterm / MSS;
    assert!(feed.cwnd() >= before.min(bound), "{} of {before}", feed.cwnd());
}

#[test]
fn a_spurious_recovery_gives_model_and_state_back() {
    let mut feed = Feed::probing();
    let packets: Vec<_> = (0..5).map(|_| feed.send(150, false)).collect();
    for packet in packets {
        feed.lose(packet, 140);
    }
    feed.recover();
    feed.same_time(Round { inflight: 140, ..FLAT });
    feed.round(Round { bps: FULL_BPS / 2, inflight: 140, ..FLAT });
    assert!(feed.bbr.phase() == "down" && feed.longterm() < 150);
    feed.bbr.on_spurious(feed.now);
    let m = feed.machine();
    assert_eq!(m.cycle.inflight_longterm, UNBOUNDED);
    assert_eq!((m.signals.bw_shortterm, m.signals.inflight_shortterm), (UNBOUNDED, UNBOUNDED));
    assert_eq!(feed.bbr.phase(), "refill", "the probe begins again");

    let mut feed = startup_with_losses(6, 3);
    feed.bbr.on_spurious(feed.now);
    assert_eq!((feed.bbr.phase(), feed.bbr.machine.full_pipe.reached), ("startup", false));
}

#[test]
fn a_mark_counts_as_a_round_with_too_many_losses() {
    let mut feed = Feed::new();
    feed.round(FLAT);
    feed.mark();
    feed.round(Round { inflight: 200, ..FLAT });
    assert_eq!(feed.bbr.phase(), "drain", "Startup ends");

    let mut feed = Feed::probing();
    feed.mark();
    feed.round(Round { inflight: 120, sent_into: 130, ..FLAT });
    assert_eq!((feed.bbr.phase(), feed.longterm()), ("down", 130), "Up ends");

    let mut feed = Feed::cruising();
    feed.now += RTT;
    feed.mark();
    feed.same_time(Round { inflight: 10, ..FLAT });
    feed.round(Round { inflight: 10, ..FLAT });
    assert!(feed.machine().signals.bw_shortterm <= FULL_BPS, "elsewhere the short term adapts");
}

#[test]
fn the_window_holds_four_segments_and_the_quantum_two() {
    let mut feed = Feed::new();
    let slow = Round { bps: 64_000, inflight: 1, sent_into: 1, ..FLAT };
    (0..50).for_each(|_| feed.round(slow));
    assert_eq!(feed.bbr.limits().send_quantum_bytes, 2 * MSS as u32);
    assert!(feed.cwnd() >= 4);
    // 1 ms of 116.8 Mbit/s at 0.99, or 64 KB of a hundred times that.
    let feed = Feed::cruising();
    let quantum = FULL_BPS as f64 * 0.99 / 8000.0;
    assert!((f64::from(feed.bbr.limits().send_quantum_bytes) - quantum).abs() < 2.0);
    let mut feed = Feed::new();
    (0..9).for_each(|_| feed.round(Round { bps: 100 * FULL_BPS, ..FLAT }));
    assert_eq!(feed.bbr.limits().send_quantum_bytes, 64 * 1024);
}

#[test]
fn parameters_out_of_range_are_named() {
    let bad = |change: fn(&mut Params)| {
        let mut params = Params::default();
        change(&mut params);
        params.check().expect_err("out of range").param
    };
    assert_eq!(bad(|p| p.up_pacing_gain = 1.0), "up_pacing_gain");
    assert_eq!(bad(|p| p.drain_pacing_gain = 0.0), "drain_pacing_gain");
    assert_eq!(bad(|p| p.loss_thresh = f64::NAN), "loss_thresh");
    assert_eq!(bad(|p| p.headroom = 1.0), "headroom");
    assert_eq!(bad(|p| p.probe_rtt_interval_s = 0.0), "probe_rtt_interval_s");
    assert_eq!(bad(|p| p.min_rtt_filter_s = f64::INFINITY), "min_rtt_filter_s");
    assert_eq!(bad(|p| p.send_quantum_ms = -1.0), "send_quantum_ms");
}

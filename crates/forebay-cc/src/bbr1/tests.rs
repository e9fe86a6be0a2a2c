//! Linux's numbers, ACK by ACK.

use super::*;
use crate::testbed::{MSS, ack, init, ms, sent};

const RTT: Span = ms(40);
/// 100 segments in 40 ms.
const FULL_BPS: u64 = 100 * MSS * 8 * 25;

struct Feed {
    bbr: Bbr1,
    now: Time,
    delivered: u64,
}

impl Feed {
    fn new() -> Feed {
        Feed::with(&Params::default())
    }
    fn with(params: &Params) -> Feed {
        let mut bbr = Bbr1::new(params, init(10));
        let now = Time::from_secs(1);
        let rtt = RttView { srtt: Some(RTT), rttvar: RTT, min: RTT, latest: Some(RTT) };
        bbr.on_established(now, &rtt, None);
        Feed { bbr, now, delivered: 0 }
    }
    /// In ProbeBW.
    fn cycling() -> Feed {
        Feed::cycling_with(&Params::default())
    }
    fn cycling_with(params: &Params) -> Feed {
        let mut feed = Feed::with(params);
        (0..4).for_each(|_| feed.round(FULL_BPS, 300));
        assert_eq!(feed.bbr.phase(), "drain");
        feed.round(FULL_BPS, 100);
        assert_eq!(feed.bbr.phase(), "probe-bw");
        feed
    }
    /// A round of one ACK, with this many segments in flight before it and after it.
    fn round(&mut self, bps: u64, inflight: u64) {
        self.now += RTT + Span::from_nanos(1);
        self.ack(bps, inflight, RTT);
    }
    fn ack(&mut self, bps: u64, inflight: u64, rtt: Span) {
        let bytes = bytes_in(bps, RTT);
        let rate = RateSample {
            delivered_bytes: bytes,
            interval: RTT,
            prior_delivered_bytes: self.delivered,
            tx_in_flight_bytes: inflight * MSS,
            app_limited: false,
            lost_bytes: 0,
        };
        self.delivered += bytes;
        let news = Ack {
            total_delivered_bytes: self.delivered,
            rtt_sample: Some(rtt),
            prior_in_flight_bytes: inflight * MSS,
            in_flight_bytes: inflight * MSS,
            snd_una: self.delivered,
            snd_nxt: self.delivered + inflight * MSS,
            rate: Some(rate),
            ..ack(bytes)
        };
        self.bbr.on_ack(self.now, &news);
    }
    fn pace(&self) -> f64 {
        self.bbr.limits().pacing_rate.expect("paced").bps() as f64 / FULL_BPS as f64
    }
    fn cwnd(&self) -> u64 {
        self.bbr.limits().cwnd_bytes / MSS
    }
    fn lose(&mut self, segments: u64, inflight: u64) {
        let (bytes, in_flight_bytes) = (MSS as u32, inflight * MSS);
        for number in 0..segments {
            let loss = Loss { tag: Tag(0), number, bytes, sent_at: self.now, in_flight_bytes };
            self.bbr.on_loss(self.now, &loss);
        }
        let cause = CongestionCause::Loss;
        let event = Congestion { cause, flight_size_bytes: 0, cwnd_limited: true };
        self.bbr.on_congestion(self.now, &event);
    }
}

#[test]
fn startup_takes_three_flat_rounds_and_drain_a_bdp() {
    let mut feed = Feed::new();
    for percent in [25, 50, 100, 110, 120] {
        feed.round(FULL_BPS * percent / 100, 300);
        assert_eq!(feed.bbr.phase(), "startup");
    }
    feed.round(FULL_BPS, 300);
    assert_eq!(feed.bbr.phase(), "drain");
    // ln 2 / 2 of the largest bandwidth.
    assert!((feed.pace() - 1.2 * 0.99 / 2.885).abs() < 1e-3, "{}", feed.pace());
}

#[test]
fn eight_phases_of_a_min_rtt_each_have_the_gains_of_the_cycle() {
    let mut feed = Feed::cycling();
    let mut gains = alloc::vec::Vec::new();
    for _ in 0..24 {
        // More than 1.25 BDP and 3 quanta end the phase that waits for them.
        feed.round(FULL_BPS, 300);
        gains.push((feed.pace() / 0.99 * 100.0 + 0.5) as u64);
    }
    let first = gains.iter().position(|&gain| gain == 125).expect("a phase of 1.25");
    let expected = [125, 75, 100, 100, 100, 100, 100, 100];
    for (i, gain) in gains[first..].iter().enumerate() {
        assert_eq!(*gain, expected[i % 8], "{gains:?}");
    }
}

#[test]
fn the_window_is_two_bdp_and_three_quanta() {
    let mut feed = Feed::cycling();
    (0..5).for_each(|_| feed.round(FULL_BPS, 300));
    let m = &feed.bbr.machine;
    let more = if m.phase == 0 { 2 } else { 0 };
    let target = (200 + 3 * m.quantum()).next_multiple_of(2) + more;
    assert_eq!(feed.cwnd(), target);
    // 1/1024 s of the pacing rate in whole segments.
    let quantum = (m.pacing_rate / 8192 / MSS).max(2);
    assert_eq!(u64::from(feed.bbr.limits().send_quantum_bytes), quantum * MSS);
}

#[test]
fn bandwidth_is_forgotten_after_ten_rounds() {
    let mut feed = Feed::cycling();
    feed.round(2 * FULL_BPS, 300);
    for _ in 0..9 {
        feed.round(FULL_BPS, 300);
        assert_eq!(feed.bbr.machine.bw(), 2 * FULL_BPS);
    }
    feed.round(FULL_BPS, 300);
    assert_eq!(feed.bbr.machine.bw(), FULL_BPS);
}

#[test]
fn probe_rtt_is_four_segments_for_200_ms() {
    let mut feed = Feed::cycling();
    while feed.bbr.phase() != "probe-rtt" {
        assert!(feed.now < Time::from_secs(12));
        feed.now += RTT + Span::from_nanos(1);
        feed.ack(FULL_BPS, 150, RTT * 2);
    }
    assert!(feed.now.since(Time::from_secs(11)) < ms(45), "10 s after the handshake's sample");
    assert_eq!(feed.cwnd(), 4);
    let start = feed.now;
    while feed.bbr.phase() == "probe-rtt" {
        feed.round(FULL_BPS / 25, 4);
        assert_eq!(feed.bbr.machine.bw(), FULL_BPS, "its rates do not count");
    }
    assert!((ms(240)..=ms(290)).contains(&feed.now.since(start)));
    assert!(feed.cwnd() > 100, "the window from before");
}

#[test]
fn the_first_round_of_recovery_conserves_packets_and_its_end_restores_the_window() {
    let mut feed = Feed::cycling();
    (0..5).for_each(|_| feed.round(FULL_BPS, 200));
    let before = feed.cwnd();
    feed.now += RTT;
    feed.lose(20, 120);
    feed.ack(FULL_BPS / 100, 120, RTT);
    assert_eq!(feed.cwnd(), 121, "in flight, and what was delivered");
    feed.bbr.on_recovered(feed.now, &Recovered { cwnd_cap_bytes: None });
    assert!(feed.cwnd().abs_diff(before) <= 2, "{} of {before}", feed.cwnd());
    assert_eq!(feed.bbr.machine.bw(), FULL_BPS, "deaf to losses");
}

#[test]
fn a_timeout_leaves_one_segment_and_an_idle_time_paces_at_the_bandwidth() {
    let mut feed = Feed::cycling();
    feed.lose(1, 0);
    feed.bbr.on_rto(feed.now, &Timeout { flight_size_bytes: 100 * MSS, first: true });
    assert_eq!(feed.cwnd(), 1);
    let mut feed = Feed::cycling();
    feed.now += Span::from_secs(20);
    feed.bbr.on_sent(feed.now, &Sent { app_limited: true, ..sent(true) });
    assert!((feed.pace() - 0.99).abs() < 1e-6);
    feed.ack(FULL_BPS, 10, RTT);
    assert_eq!(feed.bbr.phase(), "probe-bw", "no ProbeRTT");
}

/// bbr_packets_in_net_at_edt: what is in flight, and a quantum if the gain is above 1, less what is
/// delivered until the next packet departs.
#[test]
fn in_flight_at_the_departure_of_the_next_packet_is_what_counts() {
    let mut feed = Feed::cycling_with(&Params { departure_time: true, ..Params::default() });
    while feed.bbr.machine.phase != 2 {
        feed.round(FULL_BPS, 300);
    }
    assert!((feed.pace() - 0.99).abs() < 1e-6);
    let flight = 100 * MSS;
    assert_eq!(feed.bbr.machine.in_network(feed.now, flight), flight, "it may leave at once");
    // 20 segments leave together; at 0.99 of 100 segments in 40 ms they are due for 8.08 ms.
    for _ in 0..20 {
        feed.bbr.on_sent(feed.now, &sent(false));
    }
    let later =
        |m: &Machine, after: Span| m.in_network(feed.now + after, flight) as f64 / MSS as f64;
    let m = &feed.bbr.machine;
    assert!((later(m, Span::ZERO) - (100.0 - 20.0 / 0.99)).abs() < 0.01);
    assert!((later(m, ms(4)) - (100.0 - 20.0 / 0.99 + 10.0)).abs() < 0.01);
    assert_eq!(later(m, ms(9)), 100.0);
    while feed.bbr.machine.phase != 0 {
        feed.round(FULL_BPS, 300);
    }
    let m = &feed.bbr.machine;
    assert_eq!(m.in_network(feed.now + ms(100), flight), flight + m.quantum() * MSS);
}

/// bbr_ack_aggregation_cwnd: what came beyond bw is added to the window, at most bw times 100 ms.
#[test]
fn what_came_in_lumps_is_added_to_the_window() {
    let params = Params { extra_acked: true, ..Params::default() };
    let mut feed = Feed::cycling_with(&params);
    (0..15).for_each(|_| feed.round(FULL_BPS, 300));
    let settled = |feed: &Feed| feed.cwnd() - if feed.bbr.machine.phase == 0 { 2 } else { 0 };
    let before = settled(&feed);
    // 40 segments more than bw explains, at the time of the last ACK.
    let bytes = 40 * MSS;
    feed.bbr.machine.update_aggregation(feed.now, bytes);
    (0..3).for_each(|_| feed.round(FULL_BPS, 300));
    assert!(settled(&feed).abs_diff(before + 40) <= 2, "{} of {before}", settled(&feed));
}

#[test]
fn parameters_out_of_range_are_named() {
    let params = Params { cwnd_gain: 0.5, ..Params::default() };
    assert_eq!(params.check().expect_err("out of range").param, "cwnd_gain");
    let params = Params { probe_rtt_ms: f64::NAN, ..Params::default() };
    assert_eq!(params.check().expect_err("out of range").param, "probe_rtt_ms");
}

//! What the transport promises to a controller, and to whatever drives it.

use crate::common::{Fate, Inject, Lab, MSS, Told, Window, Wiring, data, ms, plain};
use forebay_base::{OptionList, Rng, Stream, Time, kind};
use forebay_cc::{AckDemand, AckPolicy, AnyFeedback, DatagramView, Feedback, LossPolicy};
use forebay_transport::{Recovery, TcpConfig};
use std::collections::BTreeMap;

fn kinds(told: &[(Time, Told)]) -> Vec<&'static str> {
    let kind = |(_, told): &(Time, Told)| match told {
        Told::Established(_) => "established",
        Told::Sent(_) => "sent",
        Told::Ack(_) => "ack",
        Told::Loss(_) => "loss",
        Told::Congestion(_) => "congestion",
        Told::Recovered(_) => "recovered",
        Told::Rto(_) => "rto",
        Told::Spurious => "spurious",
        Told::Delivered(_) => "delivered",
        Told::Couple(..) => "couple",
    };
    told.iter().map(kind).collect()
}

#[test]
fn calls_for_one_ack_come_in_the_documented_order() {
    // on_loss for each loss, on_congestion at most once, on_ack once, on_recovered if recovery
    // ended with it.
    let (mut bench, _) = Lab::default().connected(ms(100));
    bench.advance(ms(100));
    bench.sack(0, &[(3, 4)]);
    let before = bench.log.all().len();
    bench.sack(0, &[(3, 5)]);
    let told = bench.log.all().split_off(before);
    assert_eq!(kinds(&told), ["loss", "loss", "congestion", "ack", "sent"]);
    bench.sack(0, &[(3, 10)]);
    bench.advance(ms(100));
    let before = bench.log.all().len();
    bench.ack(10);
    let told = bench.log.all().split_off(before);
    assert_eq!(kinds(&told)[..2], ["ack", "recovered"]);
}

#[test]
fn a_controller_hears_that_the_handshake_is_over_before_anything_else_of_the_path() {
    let (bench, sent) = Lab::default().connected(ms(70));
    let told = bench.log.all();
    let place = told.iter().position(|(_, t)| matches!(t, Told::Established(_))).unwrap();
    let Told::Established(rtt) = told[place].1 else { unreachable!() };
    assert_eq!((rtt.srtt, rtt.min, rtt.latest), (Some(ms(70)), ms(70), Some(ms(70))));
    let first_data =
        told.iter().position(|(_, t)| matches!(t, Told::Sent(s) if s.bytes > 0)).unwrap();
    assert!(place < first_data, "{}", data(&sent));
}

#[test]
fn what_is_told_of_a_sent_packet_is_true() {
    let (bench, _) = Lab::default().connected(ms(70));
    let sent: Vec<_> = bench
        .log
        .all()
        .into_iter()
        .filter_map(|(_, t)| if let Told::Sent(s) = t { Some(s) } else { None })
        .filter(|s| s.bytes > 0)
        .collect();
    for (at, s) in sent.iter().enumerate() {
        assert_eq!(s.bytes as u64, MSS);
        assert_eq!(s.in_flight_bytes, (at as u64 + 1) * MSS);
        assert_eq!((s.retransmission, s.after_idle), (false, at == 0));
    }
}

#[test]
fn transmission_numbers_grow_and_each_fate_is_told_once() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed, Stream::Test, 21);
        let policies = [LossPolicy::DupThresh, LossPolicy::RackTlp];
        let config = TcpConfig {
            loss_policy: policies[seed as usize % 2],
            recovery: Recovery::Prr,
            timestamps: seed.is_multiple_of(3),
            ..plain()
        };
        let wiring = Wiring::new(config, Some(150 * MSS), ms(30)).script(move |_| Fate {
            drop: rng.chance(0.08),
            late: if rng.chance(0.1) { ms(rng.below(40)) } else { ms(0) },
            ..Fate::PASS
        });
        let client = Window { wants_packets: true, ..Window::reno(10) };
        let log = client.log.clone();
        let mut pair = wiring
            .build(|side, _| if side == 0 { client.clone().any() } else { Window::reno(10).any() });
        pair.finish(Time::from_secs(600));
        let mut arrived = BTreeMap::new();
        let (mut last, mut lost) = (None, BTreeMap::new());
        let mut sent = BTreeMap::new();
        for (at, told) in log.all() {
            match told {
                Told::Sent(s) => {
                    assert!(last < Some(s.number), "seed {seed}: {s:?} after {last:?}");
                    last = Some(s.number);
                    sent.insert(s.number, (at, s.bytes));
                }
                Told::Loss(l) => {
                    assert_eq!(sent.get(&l.number), Some(&(l.sent_at, l.bytes)), "seed {seed}");
                    assert!(lost.insert(l.number, at).is_none(), "seed {seed}: lost twice");
                }
                Told::Delivered(d) => {
                    assert_eq!(sent.get(&d.number), Some(&(d.sent_at, d.bytes)), "seed {seed}");
                    assert!(arrived.insert(d.number, d.bytes).is_none(), "seed {seed}: twice");
                    let rtt = at.since(d.sent_at);
                    assert!(d.rtt.is_none_or(|told| told == rtt), "seed {seed}: {d:?}");
                }
                _ => {}
            }
        }
        let view = pair.ends[0].view(0);
        assert_eq!((view.in_flight_bytes, view.delivered_bytes), (0, 150 * MSS), "seed {seed}");
        let notes = log.acks();
        let delivered: u64 = notes.iter().map(|n| n.delivered_bytes).sum();
        let acked: u64 = notes.iter().map(|n| n.acked_bytes).sum();
        assert_eq!((delivered, acked), (150 * MSS, 150 * MSS), "seed {seed}");
        let counters = pair.ends[0].counters();
        assert_eq!(counters.lost_packets as usize, lost.len(), "seed {seed}");
    }
}

#[test]
fn at_most_one_congestion_event_a_window() {
    // Between two events there is data that was sent after the first one.
    for seed in 0..30 {
        let mut rng = Rng::new(seed, Stream::Test, 22);
        let config = TcpConfig { ecn: true, recovery: Recovery::Prr, ..plain() };
        let wiring = Wiring::new(config, Some(300 * MSS), ms(30)).script(move |_| Fate {
            drop: rng.chance(0.03),
            mark: rng.chance(0.1),
            ..Fate::PASS
        });
        let client = Window::reno(20);
        let log = client.log.clone();
        let mut pair = wiring
            .build(|side, _| if side == 0 { client.clone().any() } else { Window::reno(10).any() });
        pair.finish(Time::from_secs(600));
        let times: Vec<Time> = log
            .all()
            .iter()
            .filter(|(_, t)| matches!(t, Told::Congestion(_)))
            .map(|(at, _)| *at)
            .collect();
        for pair in times.windows(2) {
            assert!(pair[1].since(pair[0]) >= ms(60), "seed {seed}: {pair:?}: less than an RTT");
        }
    }
}

#[test]
fn an_ack_tells_whether_the_window_was_the_limit() {
    // RFC 9438 section 5.8, RFC 9293: growth is not due where the application or the peer limits.
    let (mut bench, _) = Lab::default().connected(ms(100));
    bench.advance(ms(100));
    bench.ack(5);
    assert!(bench.log.acks().last().unwrap().cwnd_limited);
    let lab = Lab { peer_scale: None, peer_window: 4000, ..Lab::default() };
    let (mut bench, _) = lab.connected(ms(100));
    for number in 1..=8 {
        bench.advance(ms(100));
        bench.ack(number);
    }
    assert!(!bench.log.acks().last().unwrap().cwnd_limited, "the peer's window was");
}

#[test]
fn progress_counts_in_order_bytes_and_acknowledged_bytes() {
    let (mut bench, _) = Lab::default().connected(ms(100));
    bench.advance(ms(100));
    bench.ack(3);
    assert_eq!(bench.conn.progress().acked_bytes, 3 * MSS);
    bench.sack(3, &[(5, 7)]);
    assert_eq!(bench.conn.progress().acked_bytes, 3 * MSS, "SACKed is not acknowledged");
    bench.peer_data(2);
    assert_eq!(bench.conn.progress().received_bytes, 0);
    let now = bench.now;
    bench.peer_data(1);
    let progress = bench.conn.progress();
    assert_eq!((progress.received_bytes, progress.last_byte_at), (2 * MSS, Some(now)));
}

#[test]
fn the_delivery_rate_of_a_steady_flow_is_window_over_rtt() {
    // draft-ietf-ccwg-bbr, rate sample: ten segments in each 100 ms.
    let (mut bench, _) = Lab::default().connected(ms(100));
    for number in 1..=30 {
        if number % 10 == 1 {
            bench.advance(ms(100));
        }
        bench.ack(number);
    }
    let acks = bench.log.acks();
    for (at, note) in acks.iter().filter(|n| n.acked_bytes > 0).enumerate().skip(10) {
        let rate = note.rate.expect("something was delivered");
        assert_eq!((rate.delivered_bytes, rate.interval), (10 * MSS, ms(100)), "ACK {}", at + 1);
        assert_eq!(rate.prior_delivered_bytes, (at as u64 - 9) * MSS);
        assert_eq!((rate.tx_in_flight_bytes, rate.lost_bytes), (10 * MSS, 0));
        assert!(!rate.app_limited);
    }
}

#[test]
fn the_rtt_summary_counts_all_samples() {
    let (mut bench, _) = Lab { window: Window::fixed(1), ..Lab::default() }.connected(ms(100));
    for (number, rtt) in [(1, 200), (2, 100), (3, 300)] {
        bench.advance(ms(rtt));
        bench.ack(number);
    }
    let summary = bench.conn.rtt_summary(0);
    assert_eq!(summary.samples, 4);
    assert!((summary.mean_ms - 175.0).abs() < 1e-6, "{summary:?}");
    assert!((summary.p95_ms / 300.0 - 1.0).abs() < 0.07, "{summary:?}");
}

#[test]
fn packets_may_be_cut_only_if_the_configuration_says_so() {
    let config = TcpConfig { dont_fragment: false, ..plain() };
    let (_, sent) = Lab { config, ..Lab::default() }.connected(ms(100));
    assert!(!sent.is_empty() && sent.iter().all(|s| !s.dont_fragment));
    let (_, sent) = Lab::default().connected(ms(100));
    assert!(sent.iter().all(|s| s.dont_fragment));
}

/// Fills an experimental option of this length into each ACK; demands an ACK for each datagram.
struct Teller(usize);

impl Feedback for Teller {
    fn on_datagram(&mut self, _now: Time, _datagram: &DatagramView<'_>) -> AckDemand {
        AckDemand::Now
    }
    fn fill(&mut self, _now: Time, options: &mut OptionList) {
        options.push(kind::EXPERIMENT, &vec![7; self.0 - 2]).expect("it is first");
    }
}

#[test]
fn feedback_goes_before_sack_into_the_forty_bytes() {
    // Timestamps 10, feedback 10 or 14, SACK 2 + 8 n: two blocks, one block.
    let makers: [(fn() -> AnyFeedback, usize); 2] = [
        (|| AnyFeedback::Custom(Box::new(Teller(10))), 2),
        (|| AnyFeedback::Custom(Box::new(Teller(14))), 1),
    ];
    for (feedback, blocks) in makers {
        let config = TcpConfig { timestamps: true, ..plain() };
        let mut bench = Lab { config, feedback, send_bytes: Some(0), ..Lab::default() }.accepted();
        let mut last = Vec::new();
        for number in [2, 4, 6, 8] {
            last = bench.peer_data(number);
        }
        assert!(last[0].option(kind::EXPERIMENT).is_some());
        assert_eq!(last[0].sack.len(), blocks);
        assert_eq!(last[0].sack[0], (7000, 8000), "the newest is kept");
    }
}

#[test]
fn feedback_may_demand_an_ack() {
    let ack_policy = AckPolicy::Delayed { packets: 2, timeout: ms(40), quick: 0 };
    let config = TcpConfig { ack_policy, ..plain() };
    let feedback: fn() -> AnyFeedback = || AnyFeedback::Custom(Box::new(Teller(8)));
    let mut bench = Lab { config, feedback, send_bytes: Some(0), ..Lab::default() }.accepted();
    for number in 1..=5 {
        let sent = bench.peer_data(number);
        assert_eq!(sent.len(), 1);
        assert!(sent[0].option(kind::EXPERIMENT).is_some());
    }
}

/// Says on each ACK how many datagrams it was shown.
struct Count(u8);

impl Feedback for Count {
    fn on_datagram(&mut self, _now: Time, _datagram: &DatagramView<'_>) -> AckDemand {
        self.0 += 1;
        AckDemand::Now
    }
    fn fill(&mut self, _now: Time, options: &mut OptionList) {
        options.push(kind::EXPERIMENT, &[self.0]).expect("it is first");
    }
}

/// The last ACK of the handshake ends it, and is a segment like the others: one, not two.
#[test]
fn feedback_is_shown_each_segment_of_the_handshake_once() {
    let feedback: fn() -> AnyFeedback = || AnyFeedback::Custom(Box::new(Count(0)));
    let mut bench = Lab { feedback, send_bytes: Some(0), ..Lab::default() }.accepted();
    for number in 1..=3 {
        let sent = bench.peer_data(number);
        // The SYN, the ACK, and data.
        assert_eq!(sent[0].option(kind::EXPERIMENT), Some(&[2 + number as u8][..]));
    }
}

#[test]
fn timestamps_pass_the_wrap_of_their_clock() {
    // 2^32 ms are 49.7 days.
    let config = TcpConfig { timestamps: true, ..plain() };
    let mut bench = Lab { config, ..Lab::default() }.client();
    bench.now = Time::from_millis((1 << 32) - 450);
    bench.open();
    bench.advance(ms(100));
    bench.syn_ack();
    for number in 1..=100 {
        if number % 10 == 1 {
            bench.advance(ms(100));
        }
        bench.ack(number);
        let (ack, seq) = (Some(bench.end_of(number)), Some(((number - 1) * MSS) as i64));
        bench.inject(Inject { ack, seq, len: MSS as u16, ..Inject::default() });
    }
    assert_eq!(bench.conn.view(0).srtt, Some(ms(100)));
    assert_eq!(bench.conn.counters().retransmits, 0);
    assert_eq!(bench.conn.progress().received_bytes, 100 * MSS);
}

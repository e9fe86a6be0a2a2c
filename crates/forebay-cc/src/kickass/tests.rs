//! The state machine row by row, the marks and the guards, with numbers by hand.

use super::*;
use crate::testbed::{MSS, ack, congestion, init, ms, next_packet, sent};
use alloc::vec::Vec;
use forebay_signal::kickass::Indicator;

const NOW: Time = Time::from_secs(10);
/// P of the testbed: 1460 + 40.
const PACKET: u64 = 1500;

fn code(bytes: u16) -> Code {
    Code::of_lead_bytes(bytes).unwrap()
}
/// 14.769 Mbit/s, and its neighbours 13.874 and 15.722.
fn fifteen() -> Code {
    code(640)
}

fn options(push: impl Fn(&mut OptionList)) -> OptionList {
    let mut options = OptionList::EMPTY;
    push(&mut options);
    options
}
fn offer(explicit_tcp: bool) -> OptionList {
    let offer = Offer { explicit_tcp, ..Offer::default() };
    options(|list| offer.push(list).unwrap())
}

/// A flow between established ends, its packets and its clock.
struct Flow {
    kickass: KickAss,
    now: Time,
    number: u64,
    tags: Vec<Tag>,
    delivered: u64,
}

impl Flow {
    fn new(params: Params) -> Flow {
        params.check().unwrap();
        let mut flow = Flow::fresh(params, 10);
        flow.kickass.on_established(NOW, &ack(0).rtt, Some(&offer(true)));
        flow
    }
    fn fresh(params: Params, segments: u64) -> Flow {
        let kickass = KickAss::new(&params, init(segments));
        Flow { kickass, now: NOW, number: 1, tags: Vec::new(), delivered: 0 }
    }
    fn paper() -> Flow {
        Flow::new(Params::paper())
    }
    /// A full-sized packet leaves.
    fn send(&mut self) -> HeaderEdits {
        let next = NextPacket { number: self.number, ..next_packet() };
        self.send_next(next)
    }
    fn send_next(&mut self, next: NextPacket) -> HeaderEdits {
        let edits = self.kickass.edit_header(self.now, &next);
        let idle = self.tags.is_empty();
        let sent = Sent { number: self.number, ..sent(idle) };
        self.tags.push(self.kickass.on_sent(self.now, &sent));
        self.number += 1;
        edits
    }
    /// All that left is acknowledged, with this report.
    fn acked(&mut self, report: Option<Report>) {
        let packets = self.tags.len() as u64;
        let newest = self.tags.last().map(|&tag| (tag, self.number - 1));
        self.tags.clear();
        self.delivered += packets * MSS;
        let options = report.map(|report| options(|list| report.push(list).unwrap()));
        let options = options.as_ref();
        let total_delivered_bytes = self.delivered;
        let ack = Ack { newest, options, total_delivered_bytes, ..ack(packets * MSS) };
        self.kickass.on_ack(self.now, &ack);
    }
    /// A packet leaves, and its ACK says `code`.
    fn told(&mut self, code: Code) {
        self.send();
        self.acked(Some(says(code)));
    }
    /// `packets` that may be cut leave, and their ACK says nothing.
    fn untold(&mut self, packets: u32) {
        let clear = |flow: &mut Flow| flow.send().dont_fragment == Some(false);
        (0..packets).for_each(|_| while !clear(self) {});
        self.acked(None);
    }
    fn lose(&mut self, segments: f64) {
        self.kickass.on_congestion(self.now, &congestion(CongestionCause::Loss, segments));
    }
    fn mode(&self) -> Mode {
        self.kickass.mode
    }
    fn cwnd(&self) -> u64 {
        self.kickass.limits().cwnd_bytes / MSS
    }
    fn rate(&self) -> Option<Rate> {
        self.kickass.limits().pacing_rate
    }
}

fn says(code: Code) -> Report {
    let (code, rate) = (Some(code), Some(code.rate()));
    Report { least: code, last: code, signalled: 1, silent: 0, rate }
}

/// Each loss counts.
fn each_loss() -> Params {
    Params { loss_share: Some(0.0), ..Params::default() }
}

const NONE: Mode = Mode::Tcp(Reason::None);
const SIGNAL: Mode = Mode::Tcp(Reason::Signal);
const LOSS: Mode = Mode::Tcp(Reason::Loss);

// Rule 1.

#[test]
fn syns_offer_for_a_while_and_a_syn_ack_leaves_that_to_the_receiver() {
    let mut flow = Flow::fresh(Params::default(), 10);
    let syn = NextPacket { syn: true, payload_bytes: 0, ..next_packet() };
    let first = flow.kickass.edit_header(NOW, &syn).options.unwrap();
    let offered = Offer { dither: false, explicit_tcp: true, thinning: true };
    assert_eq!(Offer::find(&first), Some(offered));
    let again = NextPacket { retransmission: true, ..syn };
    let repeats = [(); 4].map(|()| flow.kickass.edit_header(NOW, &again).options);
    assert_eq!(repeats, [Some(first), Some(first), None, None]);
    let reply = NextPacket { reply: true, ..syn };
    assert_eq!(flow.kickass.edit_header(NOW, &reply), HeaderEdits::default());
    let mut paper = Flow::fresh(Params::paper(), 10);
    let options = paper.kickass.edit_header(NOW, &syn).options.unwrap();
    assert_eq!(Offer::find(&options), Some(Offer::default()));
    assert_eq!(paper.kickass.edit_header(NOW, &again), HeaderEdits::default());
}

/// Whatever reports say, and whatever happens: nothing is written, and the window is NewReno's.
#[test]
fn without_the_peers_offer_it_is_plain_tcp() {
    use crate::newreno::{self, NewReno};
    let (mut flow, report) = (Flow::fresh(Params::default(), 10), says(fifteen()));
    let mut reno = NewReno::new(&newreno::Params::default(), init(10));
    flow.kickass.on_established(NOW, &ack(0).rtt, None);
    let mut windows = alloc::collections::BTreeSet::new();
    for step in 0..600u64 {
        flow.now += ms(if step % 90 == 0 { 4000 } else { 40 });
        assert_eq!(flow.send(), HeaderEdits::default());
        reno.on_sent(flow.now, &sent(true));
        flow.acked(Some(report));
        reno.on_ack(flow.now, &ack(MSS));
        if step % 100 == 50 {
            flow.lose(12.0);
            reno.on_congestion(flow.now, &congestion(CongestionCause::Loss, 12.0));
        }
        if step % 100 == 70 {
            let timeout = Timeout { flight_size_bytes: 9 * MSS, first: true };
            flow.kickass.on_rto(flow.now, &timeout);
            reno.on_rto(flow.now, &timeout);
        }
        assert_eq!(flow.kickass.limits(), reno.limits(), "step {step}");
        assert_eq!((flow.kickass.phase(), flow.mode()), (reno.phase(), NONE));
        windows.insert(reno.limits().cwnd_bytes);
    }
    assert!(windows.len() > 10);
}

// The table of the specification, row by row.

#[test]
fn a_connection_starts_as_tcp_with_df_clear_on_full_packets() {
    let mut flow = Flow::paper();
    assert_eq!((flow.mode(), flow.cwnd(), flow.rate()), (NONE, 10, None));
    for _ in 0..10 {
        assert_eq!(flow.send().dont_fragment, Some(false));
    }
    let short = NextPacket { payload_bytes: MSS as u32 - 1, ..next_packet() };
    assert_eq!(flow.send_next(short), HeaderEdits::default());
}

#[test]
fn the_first_code_leads_to_ka_at_once() {
    let mut flow = Flow::paper();
    flow.told(fifteen());
    assert_eq!((flow.mode(), flow.rate()), (Mode::Ka, Some(fifteen().rate())));
    // 14.769 Mbit/s for 100 ms are 123.08 packets; 1.25 of that are 153.8, and two on top.
    assert_eq!((flow.cwnd(), flow.kickass.phase()), (156, "ka"));
    // ssthresh = R srtt.
    assert_eq!(flow.kickass.ssthresh_bytes().unwrap() / MSS, 123);
}

#[test]
fn in_ka_each_report_sets_rate_and_window() {
    let mut flow = Flow::paper();
    for bytes in [640, 632, 648, 24, 1000] {
        flow.told(code(bytes));
        let rate = code(bytes).rate();
        assert_eq!((flow.mode(), flow.rate()), (Mode::Ka, Some(rate)));
        let packets = rate.bps() as f64 * 0.1 / 8.0 / PACKET as f64;
        let cwnd = (libm::ceil(1.25 * packets) as u64 + 2).max(4);
        assert_eq!(flow.cwnd(), cwnd, "{bytes}");
    }
}

#[test]
fn a_loss_a_timeout_and_an_echo_lead_to_tcp_with_its_back_off() {
    for cause in [CongestionCause::Loss, CongestionCause::Ecn] {
        let mut flow = Flow::paper();
        flow.told(fifteen());
        flow.kickass.on_congestion(NOW, &congestion(cause, 100.0));
        assert_eq!((flow.mode(), flow.cwnd(), flow.rate()), (LOSS, 50, None));
        assert_eq!(flow.kickass.ssthresh_bytes(), Some(50 * MSS));
    }
    let mut flow = Flow::paper();
    flow.told(fifteen());
    flow.kickass.on_rto(NOW, &Timeout { flight_size_bytes: 100 * MSS, first: true });
    assert_eq!((flow.mode(), flow.cwnd()), (LOSS, 1));
    assert_eq!(flow.kickass.ssthresh_bytes(), Some(50 * MSS));
}

#[test]
fn after_a_loss_a_code_counts_when_tcp_has_come_as_far() {
    let mut flow = Flow::paper();
    flow.told(fifteen());
    flow.lose(100.0);
    // 50 segments in 100 ms are 6 Mbit/s of packets of 1500 bytes.
    flow.told(fifteen());
    assert_eq!(flow.mode(), LOSS);
    // 584 bytes say 9.54 Mbit/s, 79.5 packets; 536 say 6.55, 520 say 5.78 Mbit/s.
    flow.told(code(536));
    assert_eq!(flow.mode(), LOSS);
    flow.told(code(520));
    assert_eq!((flow.mode(), flow.rate()), (Mode::Ka, Some(code(520).rate())));
    // By growth: 74 segments and more carry 8.78 Mbit/s and more.
    flow.lose(50.0);
    flow.told(code(576));
    let mut acks = 0;
    while flow.mode() == LOSS {
        flow.now += ms(1);
        flow.told(code(576));
        acks += 1;
    }
    // From 25 segments one more each window: 25 + 26 + ... + 74 ACKs, the one before counted.
    let needed: u64 = (25..75).take_while(|w| (w * 8 * PACKET * 10) < code(576).rate().bps()).sum();
    assert!(acks + 1 >= needed && acks <= needed + 1, "{acks} for {needed}");
}

#[test]
fn in_recovery_no_code_ends_tcp_mode() {
    let mut flow = Flow::paper();
    flow.told(fifteen());
    flow.lose(100.0);
    let report = options(|list| says(code(24)).push(list).unwrap());
    let ack = Ack { options: Some(&report), in_recovery: true, ..ack(MSS) };
    flow.kickass.on_ack(NOW, &ack);
    assert_eq!(flow.mode(), LOSS);
    flow.kickass.on_ack(NOW, &Ack { in_recovery: false, ..ack });
    assert_eq!(flow.mode(), Mode::Ka);
}

#[test]
fn silence_leads_to_tcp_at_the_same_rate_and_a_code_back_at_once() {
    let mut flow = Flow::paper();
    flow.told(fifteen());
    flow.now += ms(100);
    flow.untold(4);
    assert_eq!(flow.mode(), Mode::Ka, "not more than a round trip");
    flow.now += ms(1);
    flow.untold(1);
    // R srtt: 123.08 packets; congestion avoidance.
    assert_eq!((flow.mode(), flow.cwnd(), flow.rate()), (SIGNAL, 123, None));
    assert_eq!(flow.kickass.phase(), "congestion-avoidance");
    flow.told(code(400));
    assert_eq!((flow.mode(), flow.rate()), (Mode::Ka, Some(code(400).rate())));
}

#[test]
fn what_could_not_be_cut_is_not_silence() {
    let mut flow = Flow::paper();
    flow.told(fifteen());
    flow.now += ms(500);
    for _ in 0..20 {
        let short = NextPacket { payload_bytes: 100, ..next_packet() };
        flow.send_next(short);
        flow.acked(None);
    }
    flow.untold(3);
    assert_eq!(flow.mode(), Mode::Ka, "three packets might have been cut");
    flow.untold(1);
    assert_eq!(flow.mode(), SIGNAL);
}

/// 120 kbit/s are a packet each 100 ms: four take longer than the round trip.
#[test]
fn a_slow_flow_waits_for_four_of_its_packets() {
    let mut flow = Flow::paper();
    flow.told(Code::MIN);
    for late in [100, 200, 300, 399] {
        flow.now = NOW + ms(late);
        flow.untold(1);
        assert_eq!(flow.mode(), Mode::Ka, "{late} ms");
    }
    flow.now = NOW + ms(401);
    flow.untold(1);
    assert_eq!(flow.mode(), SIGNAL);
}

#[test]
fn silence_after_a_loss_lets_a_code_back_at_once() {
    let mut flow = Flow::paper();
    flow.told(fifteen());
    flow.lose(100.0);
    flow.now += ms(101);
    flow.untold(3);
    assert_eq!(flow.mode(), LOSS);
    flow.untold(1);
    assert_eq!(flow.mode(), SIGNAL);
    flow.told(fifteen());
    assert_eq!(flow.mode(), Mode::Ka, "though TCP sends at half of that");
}

#[test]
fn a_loss_that_was_none_is_as_silence() {
    let mut flow = Flow::paper();
    flow.told(fifteen());
    flow.lose(100.0);
    flow.kickass.on_spurious(flow.now);
    assert_eq!((flow.mode(), flow.cwnd()), (SIGNAL, 100));
    flow.told(fifteen());
    assert_eq!(flow.mode(), Mode::Ka);
}

#[test]
fn a_loss_in_tcp_mode_leaves_the_reason() {
    let mut flow = Flow::paper();
    flow.lose(10.0);
    assert_eq!((flow.mode(), flow.cwnd()), (NONE, 5));
    flow.told(fifteen());
    assert_eq!(flow.mode(), Mode::Ka);
    flow.now += ms(200);
    flow.untold(4);
    flow.lose(60.0);
    assert_eq!((flow.mode(), flow.cwnd()), (SIGNAL, 30));
}

#[test]
fn after_a_pause_the_flow_begins_anew() {
    let mut flow = Flow::paper();
    flow.told(fifteen());
    flow.now += ms(1000);
    flow.send();
    assert_eq!(flow.mode(), Mode::Ka, "not longer than a second");
    flow.acked(None);
    flow.now += ms(1);
    flow.send();
    assert_eq!((flow.mode(), flow.cwnd(), flow.rate()), (NONE, 10, None));
}

#[test]
fn the_lowest_code_is_an_order_where_both_take_it() {
    let both = Params { explicit_tcp: Some(true), ..Params::paper() };
    let mut flow = Flow::new(both.clone());
    flow.told(Code::MIN);
    assert_eq!((flow.mode(), flow.cwnd()), (NONE, 11), "slow start goes on");
    flow.told(fifteen());
    flow.told(Code::MIN);
    assert_eq!((flow.mode(), flow.cwnd()), (SIGNAL, 123));
    flow.told(fifteen());
    flow.lose(100.0);
    assert_eq!(flow.mode(), LOSS);
    flow.told(Code::MIN);
    assert_eq!(flow.mode(), SIGNAL);
    flow.told(fifteen());
    assert_eq!((flow.mode(), flow.rate()), (Mode::Ka, Some(fifteen().rate())), "as after silence");
    for (params, peer) in [(both, false), (Params::paper(), true)] {
        let mut flow = Flow::fresh(params, 10);
        flow.kickass.on_established(NOW, &ack(0).rtt, Some(&offer(peer)));
        flow.told(Code::MIN);
        assert_eq!((flow.mode(), flow.rate()), (Mode::Ka, Some(Code::MIN.rate())));
    }
}

#[test]
fn cubic_takes_over_where_it_is_asked_for() {
    let mut flow = Flow::new(Params { tcp: TcpKind::Cubic, ..Params::paper() });
    flow.told(fifteen());
    flow.lose(100.0);
    // RFC 9438: 0.7 of the flight.
    assert_eq!((flow.mode(), flow.cwnd()), (LOSS, 70));
    flow.now += ms(101);
    flow.untold(4);
    flow.told(fifteen());
    flow.now += ms(101);
    flow.untold(4);
    assert_eq!((flow.mode(), flow.cwnd()), (SIGNAL, 123));
}

// Marks.

#[test]
fn indicators_begin_with_the_first_code_and_come_each_100_ms_or_8_packets() {
    let mut flow = Flow::paper();
    let said = |edits: HeaderEdits| {
        let bytes = edits.max_wire_len?;
        assert_eq!(edits.dont_fragment, Some(true));
        Indicator::of_wire_len(bytes)
    };
    for _ in 0..20 {
        flow.now += ms(10);
        assert_eq!(said(flow.send()), None);
    }
    flow.acked(Some(says(fifteen())));
    // A packet each 5 ms: 100 ms decide; each 20 ms: 8 packets do.
    for (gap, expected) in [(5, 20), (20, 8)] {
        let mut at = Vec::new();
        for packet in 0..200u64 {
            flow.now += ms(gap);
            if let Some(indicator) = said(flow.send()) {
                assert_eq!(indicator.wire_len(), 606, "100 ms lie in 64 to 127");
                at.push(packet);
            }
            flow.acked(Some(says(fifteen())));
        }
        let steps: Vec<u64> = at.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(steps.iter().all(|&step| step == expected) && steps.len() > 5, "{steps:?}");
    }
}

/// In TCP mode a packet cut short costs: with thinning they are a second apart.
#[test]
fn in_tcp_mode_indicators_of_a_thinning_sender_are_a_second_apart() {
    let indicators = |params: Params, seconds: u64| {
        let mut flow = Flow::new(params);
        flow.told(fifteen());
        flow.lose(100.0);
        let begin = flow.now;
        let mut found = 0;
        while flow.now < begin + Span::from_secs(seconds) {
            flow.now += ms(5);
            found += u32::from(flow.send().max_wire_len.is_some());
            flow.acked(None);
        }
        found
    };
    // The first of 10 s is due at once: none came since the first code.
    assert_eq!(indicators(each_loss(), 10), 10);
    assert_eq!(indicators(Params::paper(), 10), 100);
}

/// Rule 9.
#[test]
fn tcp_has_the_window_from_before_a_trial_again() {
    // A loss: 50 segments.
    let before = |keep_window: bool| {
        let keep_window = Some(keep_window);
        let mut flow = Flow::new(Params { keep_window, ..Params::paper() });
        flow.told(fifteen());
        flow.lose(100.0);
        flow.now += ms(301);
        flow.untold(4);
        assert_eq!((flow.mode(), flow.cwnd()), (SIGNAL, 50));
        // 2.265 Mbit/s in 100 ms: 18 segments.
        flow.told(code(400));
        flow.told(code(400));
        assert_eq!(flow.rate(), Some(code(400).rate()));
        flow
    };
    let ssthresh = |flow: &Flow| flow.kickass.ssthresh_bytes().unwrap() / MSS;
    for kept in [true, false] {
        let after = |late: Span| {
            let mut flow = before(kept);
            while flow.now < NOW + ms(301) + late {
                flow.now += ms(100);
                flow.told(code(400));
            }
            flow
        };
        for (late, window) in [(ms(1_500), 50), (ms(1_900), 18)] {
            let mut flow = after(late);
            flow.now += ms(301);
            flow.untold(4);
            // No burst: slow start, of which one ACK came.
            let grown = u64::from(kept && window == 50);
            assert_eq!((flow.mode(), flow.cwnd()), (SIGNAL, 18 + grown));
            assert_eq!(ssthresh(&flow), if kept { window } else { 18 }, "{late:?} {kept}");
        }
        // A loss on trial is one of the window from before it.
        for (late, window) in [(ms(1_500), 25), (ms(2_500), 9)] {
            let mut flow = after(late);
            flow.lose(18.0);
            assert_eq!(flow.mode(), LOSS);
            assert_eq!(ssthresh(&flow), if kept { window } else { 9 }, "{late:?} {kept}");
        }
    }
}

/// 100 ms lie between the midpoints 95.5 and 191.5: 4.7 % of the indicators say the second.
#[test]
fn drawn_indicators_have_the_rtt_as_their_mean_and_carry_a_tag() {
    let mut flow = Flow::new(Params { dither_indicators: Some(true), ..Params::default() });
    flow.told(fifteen());
    let (mut sum_ms, mut count) = (0.0, 0);
    while count < 4000 {
        flow.now += ms(100);
        if let Some(bytes) = flow.send().max_wire_len {
            let indicator = Indicator::of_wire_len(bytes).unwrap();
            sum_ms += indicator.midpoint().as_secs_f64() * 1e3;
            count += 1;
        }
        flow.acked(Some(says(fifteen())));
    }
    // Standard error: 96 ms x sqrt(0.047 x 0.953 / 4000) = 0.32 ms.
    let mean = sum_ms / f64::from(count);
    assert!((mean - 100.0).abs() < 1.0, "{mean} ms");
    let mut tagged = Flow::new(Params { dither_indicators: Some(false), ..Params::default() });
    tagged.told(fifteen());
    let edits = tagged.send();
    let tag = Indicator::of_wire_len(606).unwrap().tag(1, 2);
    assert_eq!((edits.max_wire_len, edits.ip_id), (Some(606), Some(tag.into())));
}

/// With IPv6 a Fragment header stands for what DF says in IPv4. A retransmission keeps its length,
/// and has none; P counts 40 bytes of IP.
#[test]
fn ipv6_has_its_own_tag_and_length_and_nothing_is_cut_that_is_sent_again() {
    let (v6, mut flow) = (IpVersion::V6, Flow::fresh(Params::default(), 10));
    let next = NextPacket { version: v6, ..next_packet() };
    assert_eq!(flow.kickass.packet_bytes(), MSS + 40);
    flow.kickass.edit_header(NOW, &NextPacket { syn: true, payload_bytes: 0, ..next });
    assert_eq!(flow.kickass.packet_bytes(), MSS + 60);
    flow.kickass.on_established(NOW, &ack(0).rtt, Some(&offer(true)));
    let edits = flow.send_next(next);
    assert!(edits.has_fragment_header(v6) && !edits.has_fragment_header(IpVersion::V4));
    let again = flow.send_next(NextPacket { retransmission: true, ..next });
    assert_eq!(again, HeaderEdits::default());
    assert!(!again.has_fragment_header(v6));
    flow.told(fifteen());
    let indicator = flow.send_next(next);
    let said = Indicator::of_wire_len(indicator.max_wire_len.unwrap()).unwrap();
    assert_eq!(indicator.ip_id, Some(0x4B41_0000 | u32::from(said.tag(1, 2))));
    assert!(indicator.has_fragment_header(v6));
}

/// A packet each ms, 100 ms a round trip: 8 of 100 may be cut, 12.5 ms apart; 2 in TCP mode.
#[test]
fn thinning_spreads_what_may_be_cut_over_the_round_trip() {
    let mut flow = Flow::new(each_loss());
    let clear = |edits: HeaderEdits| edits.dont_fragment == Some(false);
    let flight: Vec<_> = (0..10).map(|_| clear(flow.send())).collect();
    assert!(flight.iter().enumerate().all(|(at, &clear)| clear == (at != 1)), "{flight:?}");
    flow.acked(Some(says(fifteen())));
    flow.acked(Some(says(fifteen())));
    let count = |flow: &mut Flow, report: Option<Report>| {
        let mut times = Vec::new();
        for i in 0..1000u64 {
            flow.now += ms(1);
            if clear(flow.send()) {
                times.push(i);
            }
            flow.acked(report);
        }
        times
    };
    let times = count(&mut flow, Some(says(fifteen())));
    assert!((80..=81).contains(&times.len()), "{}", times.len());
    assert!(times.windows(2).all(|w| (12..=14).contains(&(w[1] - w[0]))), "{times:?}");
    flow.lose(100.0);
    let times = count(&mut flow, Some(says(code(1400))));
    assert_eq!(flow.mode(), LOSS);
    assert!((19..=21).contains(&times.len()), "{}", times.len());
    // One of eight in a small window, and none that is sent again.
    let spaced = (0..80).filter(|_| {
        flow.now += ms(100);
        clear(flow.send())
    });
    // Each second one is an indicator: 9 of 72.
    assert_eq!(spaced.count(), 9);
    (0..20).for_each(|_| {
        flow.now += ms(100);
        let again = NextPacket { retransmission: true, number: flow.number, ..next_packet() };
        assert!(!clear(flow.send_next(again)));
    });
}

// Guards.

#[test]
fn two_agreeing_codes_make_a_rise_and_a_deep_fall() {
    let mut flow = Flow::new(Params::default());
    flow.told(fifteen());
    let rate = |flow: &Flow| flow.rate().unwrap();
    // A step up or down is taken; so is a fall to a half.
    for bytes in [648, 640, 560, 568, 576] {
        flow.told(code(bytes));
        assert_eq!(rate(&flow), code(bytes).rate());
    }
    // One high code says nothing, two say the lower of them.
    flow.told(code(880));
    assert_eq!(rate(&flow), code(576).rate());
    flow.told(code(880));
    assert_eq!(rate(&flow), code(880).rate());
    // One low code halves, and once in a round trip; the second is believed.
    let half = |rate: Rate| Rate::clamped(rate.bps() / 2);
    flow.told(code(32));
    assert_eq!(rate(&flow), half(code(880).rate()));
    flow.told(code(880));
    flow.told(code(32));
    assert_eq!(rate(&flow), half(code(880).rate()), "twice in a round trip");
    flow.told(code(32));
    assert_eq!(rate(&flow), code(32).rate());
}

#[test]
fn no_code_counts_for_more_than_the_interface() {
    let mut flow = Flow::new(Params { interface_mbps: 100.0, ..Params::default() });
    flow.told(code(1000));
    assert_eq!(flow.rate(), Some(Rate::mbps(100)));
}

/// A flow at 14.769 Mbit/s, 100 ms: of each flight of 100 packets so many are lost, and the round
/// trip is so much longer than the least.
fn losing(lost: u32, flights: u32, longer: Span) -> Flow {
    let mut flow = Flow::new(Params::default());
    let ack_of = |flow: &mut Flow, rtt: Span| {
        let report = options(|list| says(fifteen()).push(list).unwrap());
        let ack = Ack { rtt_sample: Some(rtt), options: Some(&report), ..ack(MSS) };
        flow.kickass.on_ack(flow.now, &ack);
    };
    ack_of(&mut flow, ms(100));
    for flight in 0..flights {
        for packet in 0..100 {
            if flow.mode() == LOSS {
                return flow;
            }
            flow.now += ms(1);
            if packet < lost {
                let (number, bytes, sent_at) = (u64::from(flight), MSS as u32, flow.now);
                let loss = Loss { tag: Tag(0), number, bytes, sent_at, in_flight_bytes: 0 };
                flow.kickass.on_loss(flow.now, &loss);
            } else {
                ack_of(&mut flow, ms(100) + longer);
            }
            if packet + 1 == lost {
                flow.lose(100.0);
            }
        }
    }
    flow
}

/// By hand: 2 % of what arrives may be lost, and ten packets at once.
#[test]
fn losses_by_chance_leave_the_rate_and_much_loss_refutes_it() {
    let none = Span::ZERO;
    assert_eq!(losing(1, 50, none).mode(), Mode::Ka);
    assert_eq!(losing(10, 1, none).mode(), Mode::Ka);
    assert_eq!(losing(11, 1, none).mode(), LOSS);
    // 3 take 3 and give 1.94: ten are used up by the tenth flight.
    assert_eq!(losing(3, 7, none).mode(), Mode::Ka);
    let mut refuted = losing(3, 12, none);
    assert_eq!(refuted.mode(), LOSS);
    // Neither a loss that was none nor a pause bring it back.
    refuted.kickass.on_spurious(refuted.now);
    assert_eq!(refuted.mode(), LOSS);
    refuted.now += ms(5000);
    refuted.send();
    refuted.told(fifteen());
    assert_eq!(refuted.mode(), LOSS);
    let mut echo = losing(1, 1, none);
    let ecn = congestion(CongestionCause::Ecn, 100.0);
    echo.kickass.on_congestion(echo.now, &ecn);
    assert_eq!(echo.mode(), LOSS);
}

/// A 64th of 100 ms, and a packet's 0.81 ms, are no queue; for four round trips nothing is known.
/// Then each loss takes a quarter of the credit, and nothing adds to it.
#[test]
fn where_a_queue_stands_few_losses_are_congestion() {
    assert_eq!(losing(1, 50, ms(2)).mode(), Mode::Ka);
    assert_eq!(losing(1, 8, ms(3)).mode(), Mode::Ka);
    assert_eq!(losing(1, 11, ms(3)).mode(), LOSS);
}

/// Ten packets that may be cut are lost, and retransmissions pass: then one of each round trip may
/// be cut, and where such a one alone is lost the window stays. Of three events each took one: no
/// chance once 99 others have arrived. None is cut then, and slow start goes on.
#[test]
fn where_only_packets_with_df_arrive_df_stays_set() {
    let mut flow = Flow::new(Params::default());
    let lose_clear = |flow: &mut Flow| {
        let tags = core::mem::take(&mut flow.tags).into_iter();
        let (lost, arrived): (Vec<_>, _) = tags.partition(|tag| tag.0 & 1 == 1);
        flow.tags = arrived;
        for tag in lost {
            let (number, bytes, sent_at) = (0, MSS as u32, flow.now);
            let loss = Loss { tag, number, bytes, sent_at, in_flight_bytes: 0 };
            flow.kickass.on_loss(flow.now, &loss);
        }
    };
    (0..10).for_each(|_| _ = flow.send());
    flow.now += ms(1000);
    lose_clear(&mut flow);
    flow.kickass.on_rto(flow.now, &Timeout { flight_size_bytes: 10 * MSS, first: true });
    assert_eq!(flow.kickass.ssthresh_bytes(), Some(5 * MSS));
    let again = NextPacket { retransmission: true, ..next_packet() };
    assert_eq!(flow.send_next(again), HeaderEdits::default());
    for _ in 0..2 {
        flow.acked(None);
        let stamps: Vec<_> = (0..20).map(|_| flow.send().dont_fragment).collect();
        assert_eq!(stamps.iter().filter(|df| df.is_some()).count(), 1, "{stamps:?}");
        flow.now += ms(100);
        lose_clear(&mut flow);
        let before = flow.cwnd();
        flow.lose(20.0);
        assert_eq!(flow.cwnd(), before);
    }
    let until = flow.now + Span::from_secs(13);
    while flow.now < until {
        flow.now += ms(20);
        assert_eq!(flow.send_next(again), HeaderEdits::default());
        flow.acked(None);
    }
    assert_eq!(flow.kickass.ssthresh_bytes(), None);
    assert_eq!(flow.send().dont_fragment, Some(false), "one asks again");
    assert_eq!(flow.send().dont_fragment, None);
}

#[test]
fn parameters_outside_their_ranges_are_refused() {
    let wrong = [
        Params { clear_per_rtt: Some(1001), ..Params::default() },
        Params { silence_rtts: Some(0.5), ..Params::default() },
        Params { silence_rtts: Some(f64::NAN), ..Params::default() },
        Params { loss_share: Some(0.6), ..Params::default() },
        Params { interface_mbps: -1.0, ..Params::default() },
    ];
    let names: Vec<_> = wrong.iter().map(|params| params.check().unwrap_err().param).collect();
    let expected =
        ["clear_per_rtt", "silence_rtts", "silence_rtts", "loss_share", "interface_mbps"];
    assert_eq!(names, expected);
}

/// 14.769 Mbit/s are 123.08 packets in 100 ms, 246.2 in 200 ms: the window of 308 and two more,
/// where the queue has made the round trip 300 ms.
#[test]
fn the_window_holds_twice_the_least_round_trip() {
    let mut flow = Flow::new(Params::default());
    let report = options(|list| says(fifteen()).push(list).unwrap());
    let of = |rtt: Span| {
        let view = RttView { srtt: Some(rtt), min: ms(100), ..ack(0).rtt };
        Ack { rtt_sample: Some(rtt), rtt: view, options: Some(&report), ..ack(MSS) }
    };
    for (rtt, segments) in [(100, 156), (150, 233), (300, 310)] {
        flow.now += ms(rtt);
        flow.kickass.on_ack(flow.now, &of(ms(rtt)));
        assert_eq!(flow.cwnd(), segments, "{rtt}");
    }
    // A path that has become longer: 300 ms leave the window of four round trips, then 1.0625^7 >
    // 1.5.
    for _ in 0..12 {
        flow.now += ms(300);
        flow.kickass.on_ack(flow.now, &of(ms(300)));
    }
    assert_eq!(flow.cwnd(), 464);
}

/// After recovery slow start leads on from 50 segments, by one for each ACK. A loss ends it, and it
/// waits for 10 s, then for 20 s.
#[test]
fn slow_start_leads_back_to_the_rate_and_waits_after_a_failure() {
    let mut flow = Flow::new(Params::default());
    flow.told(fifteen());
    flow.kickass.leave_on_loss(flow.now, 100 * MSS);
    flow.lose(100.0);
    assert_eq!((flow.mode(), flow.cwnd()), (LOSS, 50));
    // The first ACK begins it, the others add a segment each.
    (0..11).for_each(|_| flow.told(fifteen()));
    assert_eq!((flow.mode(), flow.cwnd()), (LOSS, 60));
    for pause in [10_000, 20_000, 40_000] {
        flow.lose(60.0);
        let failed_at = flow.now;
        while flow.now + ms(500) < failed_at + ms(pause) {
            flow.now += ms(500);
            flow.told(fifteen());
        }
        // Congestion avoidance until then.
        let before = flow.cwnd();
        assert!(before <= 33, "{pause}: {before}");
        flow.now = failed_at + ms(pause);
        (0..11).for_each(|_| flow.told(fifteen()));
        assert_eq!(flow.cwnd(), before + 10, "{pause}");
    }
    (0..100).for_each(|_| flow.told(fifteen()));
    assert_eq!(flow.mode(), Mode::Ka);
}

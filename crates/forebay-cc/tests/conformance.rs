//! What every algorithm of the table must hold, whatever happens to it.
//!
//! Two copies of a machine get the same random operations: one as its enum variant, one as
//! `Custom(Box<dyn Controller>)`. They must agree in everything they show, and keep the contract of
//! [`Controller`]. A failure names algorithm and seed.

use forebay_base::{Addr, IpVersion, OptionList, Rng, Span, Stream, Time};
use forebay_cc::{
    Ack, AckDemand, AckPolicy, AnyController, AnyFeedback, Congestion, CongestionCause, Controller,
    DatagramView, Delivered, EcnPolicy, Feedback, HeaderEdits, Init, Limits, Loss, LossPolicy,
    NextPacket, PieceView, RateSample, Recovered, RecoveryOwner, RttView, Sent, SeriesSample,
    Sibling, Spec, TABLE, Tag, Timeout, Traits,
};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};
use forebay_signal::kickass::{Code, Offer, Report};
use forebay_signal::sprout::{Forecast, TICKS};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

const MSS: u32 = 1448;
const OPERATIONS: usize = 3_000;
/// Short sequences: many starts, and what happens first.
const SEQUENCES: u64 = 10_000;
const SHORT: usize = 60;
/// Settings that are algorithms of their own.
const VARIANTS: &[&str] = &[
    r#"{"vegas":{"rules":"linux"}}"#,
    r#"{"copa":{"mode":"competitive","double_after":1}}"#,
    r#"{"copa":{"mode":"default"}}"#,
    r#"{"copa":{"delay_sample":"latest"}}"#,
    r#"{"bbr":{"min_rtt_filters":"one"}}"#,
    r#"{"bbr1":{"extra_acked":true,"departure_time":true}}"#,
    r#"{"pcc":{"rules":"released","utility":"latency"}}"#,
    r#"{"ledbat":{"slowdowns":false}}"#,
    r#"{"sprout":{"drain":"cumulative","early_transit_ticks":7}}"#,
    r#"{"kickass":{"preset":"paper"}}"#,
    r#"{"kickass":{"tcp":"cubic","take":"mean","interface_mbps":1000.0}}"#,
];
/// Packets that the model keeps out at most.
const MAX_OUT: usize = 512;

/// A packet that is out.
#[derive(Clone, Copy)]
struct Out {
    number: u64,
    sent_at: Time,
    tags: [Tag; 2],
    retransmission: bool,
    prior_delivered_bytes: u64,
}

/// A full segment of new data.
fn next_packet(number: u64) -> NextPacket {
    let (src, dst) = (Addr(1), Addr(2));
    let (syn, reply, retransmission) = (false, false, false);
    let version = IpVersion::V4;
    NextPacket { number, syn, reply, retransmission, payload_bytes: MSS, version, src, dst }
}

/// A sender reduced to what a controller sees of it, driving twins.
struct Sender {
    /// The enum variant, and the same machine behind a trait object.
    twins: [AnyController; 2],
    /// What they say of themselves.
    traits: Traits,
    rng: Rng,
    now: Time,
    out: VecDeque<Out>,
    numbers: u64,
    delivered_bytes: u64,
    in_recovery: bool,
    timeouts: u32,
    rtt: RttView,
    /// Routers write on ACKs.
    signalled: bool,
    /// All outputs so far, condensed.
    digest: u64,
    name: &'static str,
}

impl Sender {
    fn new(spec: &Spec, seed: u64) -> Sender {
        let mut rng = Rng::new(seed, Stream::Test, 0);
        let ssthresh =
            if rng.chance(0.5) { u64::MAX } else { (2 + rng.below(64)) * u64::from(MSS) };
        let init = Init {
            mss_bytes: MSS,
            initial_window_bytes: (1 + rng.below(20)) * u64::from(MSS),
            initial_ssthresh_bytes: ssthresh,
            paced: rng.chance(0.5),
            rng: Rng::new(seed, Stream::Controller, 0),
        };
        let boxed = AnyController::Custom(spec.build(init.clone()).into_boxed());
        let mut sender = Sender {
            traits: boxed.traits(),
            twins: [spec.build(init), boxed],
            rng,
            now: Time::from_secs(1),
            out: VecDeque::new(),
            numbers: 0,
            delivered_bytes: 0,
            in_recovery: false,
            timeouts: 0,
            rtt: RttView { srtt: None, rttvar: Span::ZERO, min: Span::MAX, latest: None },
            signalled: true,
            digest: 0,
            name: spec.name(),
        };
        sender.rtt_sample(Span::from_millis(50));
        let (now, rtt) = (sender.now, sender.rtt);
        // A peer that speaks what asks for it.
        let mut options = OptionList::EMPTY;
        let offer = Offer { explicit_tcp: sender.rng.chance(0.5), ..Offer::default() };
        offer.push(&mut options).expect("6 bytes fit into 40");
        if sender.rng.chance(0.5) {
            sender.forecast().push(&mut options).expect("19 bytes fit into 40");
        }
        sender.each(|c| c.on_established(now, &rtt, Some(&options)));
        sender
    }

    /// Call both twins; the answers must be the same.
    fn each<T: PartialEq + std::fmt::Debug>(
        &mut self,
        mut call: impl FnMut(&mut AnyController) -> T,
    ) -> T {
        let [variant, boxed] = &mut self.twins;
        let (a, b) = (call(variant), call(boxed));
        assert_eq!(a, b, "{}: the enum variant and the boxed machine differ", self.name);
        a
    }

    fn in_flight_bytes(&self) -> u64 {
        self.out.len() as u64 * u64::from(MSS)
    }

    fn rtt_sample(&mut self, sample: Span) {
        let view = &mut self.rtt;
        view.min = view.min.min(sample);
        view.latest = Some(sample);
        view.rttvar = match view.srtt {
            None => sample / 2,
            Some(srtt) => (view.rttvar * 3 + srtt.abs_diff(sample)) / 4,
        };
        view.srtt = Some(view.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8));
    }

    fn send(&mut self) {
        if self.out.len() >= MAX_OUT {
            return;
        }
        let retransmission = self.rng.chance(0.1);
        let (now, number) = (self.now, self.numbers);
        let next = NextPacket { retransmission, ..next_packet(number) };
        let edits = self.each(|c| c.edit_header(now, &next));
        let silent = !self.each(|c| c.traits().edits_headers);
        assert!(!silent || edits == HeaderEdits::default(), "{}: a stamp unannounced", self.name);
        let written = edits.options.map_or(0, |options| options.len());
        let announced = self.each(|c| c.traits().option_bytes);
        assert_eq!(written, usize::from(announced), "{}: options on data", self.name);
        self.note(u64::from(edits.options.is_some()));
        let sent = Sent {
            number,
            bytes: MSS,
            in_flight_bytes: self.in_flight_bytes() + u64::from(MSS),
            retransmission,
            after_idle: self.out.is_empty(),
            app_limited: self.rng.chance(0.1),
        };
        let (before, moves) = (self.shown().0, self.each(|c| c.traits().limits_change_on_send));
        let [variant, boxed] = &mut self.twins;
        let tags = [variant.on_sent(now, &sent), boxed.on_sent(now, &sent)];
        assert_eq!(tags[0], tags[1], "{}", self.name);
        let paced = self.shown().0.pacing_rate.is_some();
        assert!(moves || !paced, "{}: a paced sender is asked after each packet", self.name);
        let stays = !moves && !sent.after_idle;
        assert!(!stays || self.shown().0 == before, "{}: limits moved unannounced", self.name);
        self.numbers += 1;
        let prior_delivered_bytes = self.delivered_bytes;
        let packet = Out { number, sent_at: now, tags, retransmission, prior_delivered_bytes };
        self.out.push_back(packet);
    }

    /// The oldest packets are acknowledged, at most `most`.
    fn acknowledge(&mut self, most: u64, ecn_echo: bool) {
        let count = (1 + self.rng.below(most)).min(self.out.len() as u64);
        let prior_in_flight_bytes = self.in_flight_bytes();
        let mut newest: Option<Out> = None;
        for _ in 0..count {
            let packet = self.out.pop_front().expect("counted");
            newest = Some(packet);
            self.delivered_bytes += u64::from(MSS);
            if self.each(|c| c.traits().wants_packets) {
                let now = self.now;
                let rtt = (!packet.retransmission).then_some(now.since(packet.sent_at));
                let Out { number, sent_at, tags, .. } = packet;
                let [variant, boxed] = &mut self.twins;
                for (twin, tag) in [(variant, tags[0]), (boxed, tags[1])] {
                    twin.on_delivered(now, &Delivered { tag, number, bytes: MSS, sent_at, rtt });
                }
            }
        }
        let sample = newest.filter(|p| !p.retransmission).map(|p| self.now.since(p.sent_at));
        if let Some(sample) = sample {
            self.rtt_sample(sample);
        }
        let rate = newest.map(|p| RateSample {
            delivered_bytes: self.delivered_bytes - p.prior_delivered_bytes,
            interval: self.now.since(p.sent_at).max(Span::from_nanos(1)),
            prior_delivered_bytes: p.prior_delivered_bytes,
            tx_in_flight_bytes: prior_in_flight_bytes,
            app_limited: self.rng.chance(0.1),
            lost_bytes: 0,
        });
        let options = (self.signalled && self.rng.chance(0.7)).then(|| self.ack_options());
        let acked_bytes = count * u64::from(MSS);
        let snd_una = self.delivered_bytes;
        let ack = Ack {
            acked_bytes,
            delivered_bytes: acked_bytes,
            total_delivered_bytes: self.delivered_bytes,
            duplicate: count == 0,
            rtt_sample: sample,
            newest: newest.map(|p| (p.tags[0], p.number)),
            rtt: self.rtt,
            prior_in_flight_bytes,
            in_flight_bytes: self.in_flight_bytes(),
            snd_una,
            snd_nxt: snd_una + self.in_flight_bytes(),
            cwnd_limited: self.rng.chance(0.8),
            in_recovery: self.in_recovery,
            ecn_echo,
            rate,
            options: options.as_ref(),
        };
        let now = self.now;
        // Who says that it does not look at the rate must not miss it.
        let blind = Ack { rate: ack.rate.filter(|_| self.twins[1].traits().wants_rate), ..ack };
        let [variant, boxed] = &mut self.twins;
        variant.on_ack(now, &ack);
        boxed.on_ack(now, &blind);
        self.timeouts = 0;
    }

    /// What routers write on ACKs, sense or nonsense: a machine that does not know an option leaves
    /// it alone.
    fn ack_options(&mut self) -> OptionList {
        let asks = [
            BackPressureSignal::Nothing,
            BackPressureSignal::Nothing,
            BackPressureSignal::SlowDown,
            BackPressureSignal::Cancel,
            BackPressureSignal::Pause,
        ];
        let signal = BackPressure {
            ask: asks[self.rng.below(5) as usize],
            allowance: self.rng.below(128).saturating_sub(64) as u16,
            routers: (self.rng.below(16) / 2) as u8,
            detours: self.rng.below(2) == 0,
            foreign: self.rng.below(2) == 0,
            nonce: Nonce::new(self.rng.below(3) as u32),
        };
        let mut options = OptionList::EMPTY;
        signal.push(&mut options).expect("10 bytes fit into 40");
        if self.rng.chance(0.8) {
            self.report().push(&mut options).expect("22 bytes fit into 40");
        }
        if self.rng.chance(0.5) {
            self.forecast().push(&mut options).expect("35 bytes fit into 40");
        }
        options
    }
    /// What a receiver of Sprout reports: of any tick, nothing or more than a path can carry.
    fn forecast(&mut self) -> Forecast {
        let most = [1, 12, 256][self.rng.below(3) as usize];
        let mut packets = [0; TICKS];
        packets.iter_mut().for_each(|packets| *packets = self.rng.below(most) as u8);
        Forecast { number: self.rng.below(256) as u8, packets }
    }
    /// What a receiver of Kick-Ass reports: codes of all rates, changing or not, or none.
    fn report(&mut self) -> Report {
        let base = 3 + self.rng.below(4) * 60;
        let draw = |rng: &mut Rng| Code::from_byte((base + rng.below(3)) as u8);
        let [least, last] = [(); 2].map(|()| draw(&mut self.rng));
        let signalled = self.rng.below(3) as u8;
        let rate = last.map(Code::rate).filter(|_| self.rng.chance(0.9));
        Report { least, last, signalled, silent: self.rng.below(9) as u8, rate }
    }

    fn congestion(&mut self, cause: CongestionCause) {
        let event = Congestion {
            cause,
            flight_size_bytes: self.in_flight_bytes(),
            cwnd_limited: self.rng.chance(0.8),
        };
        let now = self.now;
        self.each(|c| c.on_congestion(now, &event));
    }

    fn lose(&mut self) {
        let Some(packet) = self.out.pop_front() else { return };
        let (now, in_flight_bytes) = (self.now, self.in_flight_bytes());
        let Out { number, sent_at, tags, .. } = packet;
        let [variant, boxed] = &mut self.twins;
        for (twin, tag) in [(variant, tags[0]), (boxed, tags[1])] {
            twin.on_loss(now, &Loss { tag, number, bytes: MSS, sent_at, in_flight_bytes });
        }
        let again = self.in_recovery;
        if !again || self.rng.chance(0.2) {
            let lost = CongestionCause::LostRetransmission;
            self.congestion(if again { lost } else { CongestionCause::Loss });
        }
        self.in_recovery = true;
    }

    fn recover(&mut self) {
        self.in_recovery = false;
        let cap = self.rng.chance(0.5).then(|| self.in_flight_bytes() + u64::from(MSS));
        let (now, end) = (self.now, Recovered { cwnd_cap_bytes: cap });
        self.each(|c| c.on_recovered(now, &end));
    }

    fn expire(&mut self) {
        let flight_size_bytes = self.in_flight_bytes();
        let timeout = Timeout { flight_size_bytes, first: self.timeouts == 0 };
        self.timeouts += 1;
        self.in_recovery = false;
        let now = self.now;
        self.each(|c| c.on_rto(now, &timeout));
    }

    fn couple(&mut self) {
        let sibling = |rng: &mut Rng| Sibling {
            cwnd_bytes: (1 + rng.below(100)) * u64::from(MSS),
            srtt: rng.chance(0.9).then(|| Span::from_millis(1 + rng.below(300))),
            since_loss_bytes: (rng.below(1 << 20), rng.below(1 << 20)),
            usable: rng.chance(0.9),
        };
        let siblings = [sibling(&mut self.rng), sibling(&mut self.rng), sibling(&mut self.rng)];
        let me = self.rng.below(3) as usize;
        self.each(|c| c.couple(&siblings, me));
    }

    /// The controller's own timer: early calls change nothing, late ones move it forward.
    fn timer(&mut self) {
        let Some(due) = self.each(|c| c.next_timeout()) else { return };
        if due > self.now {
            let (now, before) = (self.now, self.shown());
            self.each(|c| c.on_timer(now));
            assert_eq!(self.shown(), before, "{}: an early timer changed something", self.name);
        }
        let late = Span::from_millis(self.rng.below(5));
        self.now = self.now.max(due) + late;
        let now = self.now;
        self.each(|c| c.on_timer(now));
        if let Some(next) = self.each(|c| c.next_timeout()) {
            assert!(next > now, "{}: the timer stands still at {next}", self.name);
        }
    }

    fn shown(&mut self) -> (Limits, Option<Time>, &'static str) {
        self.each(|c| (c.limits(), c.next_timeout(), c.phase()))
    }

    fn note(&mut self, value: u64) {
        self.digest = (self.digest ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn check(&mut self) {
        let (limits, timeout, shown) = self.shown();
        assert!(limits.cwnd_bytes >= u64::from(MSS), "{}: {limits:?}", self.name);
        let bounded = limits.cwnd_bytes <= Limits::MAX_CWND_BYTES;
        assert!(bounded || limits.pacing_rate.is_some(), "{}: {limits:?}", self.name);
        self.look();
        assert!(!shown.is_empty());
        self.each(|c| (c.loss_policy(), c.ack_policy(), c.recovery_owner()));
        let traits = self.each(|c| c.traits());
        assert_eq!(traits, self.traits, "{}: they are constant", self.name);
        self.note(limits.cwnd_bytes);
        self.note(limits.pacing_rate.map_or(0, |rate| rate.bps()));
        self.note(limits.credits.unwrap_or(u64::MAX));
        self.note(timeout.map_or(0, Time::as_nanos));
    }

    /// Series: each at most once, and no NaN.
    fn look(&mut self) {
        let name = self.name;
        self.each(|c| {
            let mut seen = Vec::new();
            c.observe(&mut |SeriesSample { name: series, value, .. }| {
                assert!(!value.is_nan(), "{name}: {series}");
                assert!(seen.iter().all(|&(other, _)| other != series), "{name}: {series} twice");
                seen.push((series, value.to_bits()));
            });
            seen
        });
    }

    fn step(&mut self) {
        self.now += Span::from_nanos(self.rng.below(3_000_000));
        match self.rng.below(200) {
            0..70 => (0..1 + self.rng.below(8)).for_each(|_| self.send()),
            70..150 => self.acknowledge(3, false),
            150..155 => self.acknowledge(100, false),
            155..158 => {
                self.congestion(CongestionCause::Ecn);
                self.acknowledge(2, true);
            }
            158..163 => self.lose(),
            163..173 if self.in_recovery => self.recover(),
            173..174 => self.expire(),
            174..175 => {
                let now = self.now;
                self.each(|c| c.on_spurious(now));
            }
            175..180 => self.couple(),
            180..181 => self.now += Span::from_secs(self.rng.below(30)),
            _ => self.timer(),
        }
        self.check();
    }
}

/// The algorithms of the table, and the variants.
fn specs() -> Vec<Spec> {
    let variants = VARIANTS.iter().map(|text| serde_json::from_str(text).expect("a variant"));
    TABLE.iter().map(|entry| (entry.spec)()).chain(variants).collect()
}

/// What `operations` random operations leave.
fn digest(spec: &Spec, seed: u64, operations: usize) -> u64 {
    let outcome = std::panic::catch_unwind(|| {
        let mut sender = Sender::new(spec, seed);
        (0..operations).for_each(|_| sender.step());
        sender.digest
    });
    outcome.unwrap_or_else(|_| panic!("{spec:?} fails with seed {seed}"))
}

#[test]
fn every_algorithm_keeps_the_laws_and_equals_itself_behind_the_door() {
    for spec in specs() {
        for seed in 0..60 {
            let [first, second] = [(); 2].map(|()| digest(&spec, seed, OPERATIONS));
            assert_eq!(first, second, "{spec:?}: seed {seed} has two outcomes");
        }
    }
}

#[test]
fn every_algorithm_keeps_the_laws_over_ten_thousand_short_sequences() {
    for spec in specs() {
        for seed in 0..SEQUENCES {
            digest(&spec, 1_000 + seed, SHORT);
        }
    }
}

#[test]
fn the_window_falls_on_loss_where_the_transport_owns_recovery() {
    for entry in TABLE {
        let mut sender = Sender::new(&(entry.spec)(), 1);
        sender.signalled = false; // what routers say may change who owns recovery
        if sender.twins[0].recovery_owner() != RecoveryOwner::Transport {
            continue;
        }
        for _ in 0..200 {
            (0..8).for_each(|_| sender.send());
            sender.now += Span::from_millis(20);
            (0..8).for_each(|_| sender.acknowledge(1, false));
        }
        let before = sender.shown().0.cwnd_bytes;
        (0..20).for_each(|_| sender.send());
        sender.lose();
        let after = sender.shown().0.cwnd_bytes;
        assert!(after < before, "{}: {before} before a loss, {after} after it", entry.name);
        sender.expire();
        assert!(
            sender.shown().0.cwnd_bytes <= after,
            "{}: a timeout raised the window",
            entry.name
        );
    }
}

/// Names of the methods of the trait that `source` declares as `pub trait name`.
fn methods(source: &str, name: &str) -> Vec<String> {
    let start = source.find(&format!("pub trait {name}")).expect("declared");
    let body = &source[start..];
    let body = &body[..body.find("\n}").expect("ends")];
    let names = body.lines().filter_map(|line| line.trim().strip_prefix("fn "));
    names.map(|rest| rest.split('(').next().expect("a name").to_string()).collect()
}

type Calls = Arc<Mutex<Vec<&'static str>>>;

/// Notes every call, and answers what no default answers.
struct Probe(Calls);

impl Probe {
    fn note(&self, name: &'static str) {
        self.0.lock().expect("one thread").push(name);
    }
}

/// No field has its default.
const TRAITS: Traits = Traits {
    wants_packets: true,
    wants_rate: false,
    edits_headers: false,
    limits_change_on_send: false,
    option_bytes: 7,
    ecn_policy: Some(EcnPolicy::Rfc8257),
    multipath: true,
};
const LATER: Time = Time::from_millis(77);

impl Controller for Probe {
    fn limits(&self) -> Limits {
        self.note("limits");
        Limits { credits: Some(7), ..Limits::window(7) }
    }
    fn traits(&self) -> Traits {
        self.note("traits");
        TRAITS
    }
    fn on_established(&mut self, _now: Time, _rtt: &RttView, _options: Option<&OptionList>) {
        self.note("on_established");
    }
    fn on_sent(&mut self, _now: Time, _sent: &Sent) -> Tag {
        self.note("on_sent");
        Tag(7)
    }
    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>) {
        self.note("on_ack");
    }
    fn on_delivered(&mut self, _now: Time, _packet: &Delivered) {
        self.note("on_delivered");
    }
    fn on_loss(&mut self, _now: Time, _loss: &Loss) {
        self.note("on_loss");
    }
    fn on_congestion(&mut self, _now: Time, _event: &Congestion) {
        self.note("on_congestion");
    }
    fn on_recovered(&mut self, _now: Time, _end: &Recovered) {
        self.note("on_recovered");
    }
    fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {
        self.note("on_rto");
    }
    fn on_spurious(&mut self, _now: Time) {
        self.note("on_spurious");
    }
    fn loss_policy(&self) -> Option<LossPolicy> {
        self.note("loss_policy");
        Some(LossPolicy::TimeoutOnly)
    }
    fn rto_floor(&self) -> Span {
        self.note("rto_floor");
        Span::from_secs(7)
    }
    fn path_keeps_order(&self) -> bool {
        self.note("path_keeps_order");
        true
    }
    fn longest_hold(&self) -> Span {
        self.note("longest_hold");
        Span::from_secs(9)
    }
    fn ack_policy(&self) -> Option<AckPolicy> {
        self.note("ack_policy");
        Some(AckPolicy::EveryPacket)
    }
    fn recovery_owner(&self) -> RecoveryOwner {
        self.note("recovery_owner");
        RecoveryOwner::Controller
    }
    fn edit_header(&mut self, _now: Time, _next: &NextPacket) -> HeaderEdits {
        self.note("edit_header");
        HeaderEdits { max_wire_len: Some(7), ..HeaderEdits::default() }
    }
    fn next_timeout(&self) -> Option<Time> {
        self.note("next_timeout");
        Some(LATER)
    }
    fn on_timer(&mut self, _now: Time) {
        self.note("on_timer");
    }
    fn couple(&mut self, _siblings: &[Sibling], me: usize) {
        assert_eq!(me, 7);
        self.note("couple");
    }
    fn ssthresh_bytes(&self) -> Option<u64> {
        self.note("ssthresh_bytes");
        Some(7)
    }
    fn phase(&self) -> &'static str {
        self.note("phase");
        "probe"
    }
    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        self.note("observe");
        visit(SeriesSample { name: "probed", unit: "B", value: 7.0 });
    }
}

impl Feedback for Probe {
    fn wants_pieces(&self) -> bool {
        self.note("wants_pieces");
        false
    }
    fn on_piece(&mut self, _now: Time, _piece: &PieceView) {
        self.note("on_piece");
    }
    fn on_datagram(&mut self, _now: Time, _datagram: &DatagramView<'_>) -> AckDemand {
        self.note("on_datagram");
        AckDemand::Now
    }
    fn clocks_acks(&self) -> bool {
        self.note("clocks_acks");
        true
    }
    fn demands_acks(&self) -> bool {
        self.note("demands_acks");
        true
    }
    fn ack_parts(&self) -> u8 {
        self.note("ack_parts");
        2
    }
    fn widens_window(&self) -> bool {
        self.note("widens_window");
        true
    }
    fn wants_paws(&self) -> bool {
        self.note("wants_paws");
        false
    }
    fn fill(&mut self, _now: Time, _options: &mut OptionList) {
        self.note("fill");
    }
    fn next_timeout(&self) -> Option<Time> {
        self.note("next_timeout");
        Some(LATER)
    }
    fn on_timer(&mut self, _now: Time) -> AckDemand {
        self.note("on_timer");
        AckDemand::Now
    }
}

#[test]
fn no_method_of_controller_is_lost_at_the_door() {
    let calls = Calls::default();
    let mut any = AnyController::Custom(Box::new(Probe(Arc::clone(&calls))));
    let (now, rtt) =
        (Time::ZERO, RttView { srtt: None, rttvar: Span::ZERO, min: Span::MAX, latest: None });
    let (number, bytes, sent_at, tag) = (0, MSS, now, Tag(0));
    assert_eq!(any.limits().credits, Some(7));
    assert_eq!(any.traits(), TRAITS);
    any.on_established(now, &rtt, None);
    let sent = Sent {
        number,
        bytes,
        in_flight_bytes: 0,
        retransmission: false,
        after_idle: true,
        app_limited: false,
    };
    assert_eq!(any.on_sent(now, &sent), Tag(7));
    any.on_ack(now, &bare_ack(rtt));
    any.on_delivered(now, &Delivered { tag, number, bytes, sent_at, rtt: None });
    any.on_loss(now, &Loss { tag, number, bytes, sent_at, in_flight_bytes: 0 });
    let cause = CongestionCause::Loss;
    any.on_congestion(now, &Congestion { cause, flight_size_bytes: 0, cwnd_limited: true });
    any.on_recovered(now, &Recovered { cwnd_cap_bytes: None });
    any.on_rto(now, &Timeout { flight_size_bytes: 0, first: true });
    any.on_spurious(now);
    assert_eq!(any.loss_policy(), Some(LossPolicy::TimeoutOnly));
    assert_eq!(any.rto_floor(), Span::from_secs(7));
    assert!(any.path_keeps_order());
    assert_eq!(any.longest_hold(), Span::from_secs(9));
    assert_eq!(any.ack_policy(), Some(AckPolicy::EveryPacket));
    assert_eq!(any.recovery_owner(), RecoveryOwner::Controller);
    let next = next_packet(number);
    assert_eq!(any.edit_header(now, &next).max_wire_len, Some(7));
    assert_eq!(any.next_timeout(), Some(LATER));
    any.on_timer(now);
    any.couple(&[], 7);
    assert_eq!((any.ssthresh_bytes(), any.phase()), (Some(7), "probe"));
    let mut seen = Vec::new();
    any.observe(&mut |observed| seen.push(observed));
    assert_eq!(seen, [SeriesSample { name: "probed", unit: "B", value: 7.0 }]);
    let declared = methods(include_str!("../src/controller.rs"), "Controller");
    assert_eq!(*calls.lock().expect("one thread"), declared, "calls, in the order of the trait");
}

fn bare_ack(rtt: RttView) -> Ack<'static> {
    Ack {
        acked_bytes: 0,
        delivered_bytes: 0,
        total_delivered_bytes: 0,
        duplicate: true,
        rtt_sample: None,
        newest: None,
        rtt,
        prior_in_flight_bytes: 0,
        in_flight_bytes: 0,
        snd_una: 0,
        snd_nxt: 0,
        cwnd_limited: false,
        in_recovery: false,
        ecn_echo: false,
        rate: None,
        options: None,
    }
}

#[test]
fn no_method_of_feedback_is_lost_at_the_door() {
    let calls = Calls::default();
    let mut any = AnyFeedback::Custom(Box::new(Probe(Arc::clone(&calls))));
    let (now, ecn) = (Time::ZERO, forebay_base::Ecn::NotEct);
    assert!(!any.wants_pieces());
    let piece = PieceView {
        wire_len: 0,
        payload_bytes: 0,
        offset: 0,
        more: false,
        dont_fragment: true,
        ip_id: 0,
        ecn,
        head: None,
    };
    any.on_piece(now, &piece);
    assert!(any.demands_acks());
    let datagram = DatagramView {
        payload_bytes: 0,
        wire_len: 0,
        pieces: 1,
        dont_fragment: true,
        ip_id: 0,
        ecn,
        options: None,
        in_order: true,
    };
    assert_eq!(any.on_datagram(now, &datagram), AckDemand::Now);
    assert!(any.widens_window());
    assert!(any.clocks_acks());
    assert_eq!(any.ack_parts(), 2);
    assert!(!any.wants_paws());
    any.fill(now, &mut OptionList::EMPTY.clone());
    assert_eq!(any.next_timeout(), Some(LATER));
    assert_eq!(any.on_timer(now), AckDemand::Now);
    let declared = methods(include_str!("../src/feedback.rs"), "Feedback");
    assert_eq!(*calls.lock().expect("one thread"), declared, "calls, in the order of the trait");
}

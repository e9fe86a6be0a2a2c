//! Each controller of the table: a flow of a hundred packets in flight, acknowledged one by one,
//! with a loss now and then.
//!
//! What travels is what the algorithm's two halves say to each other, through a path on which
//! routers of its kind write: RCP has its grant, INRPP its count of routers.

use crate::harness::{Bench, counted_section};
use crate::packets::MSS;
use forebay_base::{Addr, Ecn, IpVersion, OptionList, Rate, Rng, Span, Stream, Time};
use forebay_cc::{
    Ack, AnyController, AnyFeedback, Congestion, CongestionCause, Controller, DatagramView,
    Delivered, Feedback, Init, NextPacket, RateSample, Recovered, RttView, Sent, Spec, TABLE, Tag,
};
use forebay_signal::inrpp::BackPressure;
use forebay_signal::rcp::Request;
use forebay_signal::sprout::{TICK, Wait};
use std::collections::VecDeque;
use std::hint::black_box;

const IN_FLIGHT: u64 = 100;
const RTT: Span = Span::from_millis(20);
const BYTES: u64 = MSS as u64;
/// Packets from one loss to the next.
const LOSS_INTERVAL: u64 = 4_000;
/// The first losses are not counted: the flow must have left slow start.
const BEFORE: u64 = 2 * LOSS_INTERVAL;
const OPERATIONS: u64 = 2 * LOSS_INTERVAL;

/// What is counted.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// What an ACK causes: `on_delivered` where it is asked for, `on_ack`, `limits`.
    OnAck,
    /// What a packet causes: `edit_header`, `on_sent`, `limits`.
    OnSend,
}

struct Flow {
    controller: AnyController,
    feedback: AnyFeedback,
    now: Time,
    rtt: RttView,
    /// Number, tag, time and options of what is out.
    out: VecDeque<(u64, Tag, Time, Option<OptionList>)>,
    sent: u64,
    acked: u64,
}

/// What routers write on data.
fn on_the_way(mut options: OptionList) -> OptionList {
    Request::lower(&mut options, Rate::mbps(58));
    options
}

/// What routers write on ACKs.
fn on_the_way_back(mut options: OptionList) -> OptionList {
    if let Some(signal) = BackPressure::find(&options) {
        BackPressure { routers: 2, ..signal }.overwrite(&mut options);
    }
    options
}

/// Do `work`, counted or not.
fn counted_if(yes: bool, work: &mut dyn FnMut()) {
    if yes { counted_section(work) } else { work() }
}

impl Flow {
    fn new(spec: &Spec) -> Flow {
        let init = Init {
            mss_bytes: u32::from(MSS),
            initial_window_bytes: IN_FLIGHT * BYTES,
            initial_ssthresh_bytes: u64::MAX,
            paced: false,
            rng: Rng::new(1, Stream::Controller, 0),
        };
        let rtt = RttView { srtt: Some(RTT), rttvar: RTT / 8, min: RTT, latest: Some(RTT) };
        let (controller, feedback) = (spec.build(init), spec.build_feedback());
        let (now, out) = (Time::from_secs(1), VecDeque::new());
        let mut flow = Flow { controller, feedback, now, rtt, out, sent: 0, acked: 0 };
        flow.controller.on_established(now, &rtt, None);
        (0..IN_FLIGHT).for_each(|_| flow.send(false));
        flow
    }
    fn send(&mut self, count: bool) {
        let (now, number) = (self.now, self.sent);
        let (bytes, in_flight_bytes) = (u32::from(MSS), (self.out.len() as u64 + 1) * BYTES);
        let next = NextPacket {
            number,
            syn: false,
            reply: false,
            retransmission: false,
            payload_bytes: bytes,
            version: IpVersion::V4,
            src: Addr(0),
            dst: Addr(1),
        };
        let sent = Sent {
            number,
            bytes,
            in_flight_bytes,
            retransmission: false,
            after_idle: false,
            app_limited: false,
        };
        let (controller, mut tag, mut options) = (&mut self.controller, Tag(0), None);
        counted_if(count, &mut || {
            if controller.traits().edits_headers {
                options = controller.edit_header(now, &next).options;
            }
            tag = controller.on_sent(now, &sent);
            black_box(controller.limits());
        });
        self.out.push_back((number, tag, now, options.map(on_the_way)));
        self.sent += 1;
    }
    /// The oldest packet came, and its receiver answers.
    fn answer(&mut self, data: Option<&OptionList>) -> Option<OptionList> {
        let view = full_sized(data);
        let mut options = OptionList::EMPTY;
        self.feedback.on_datagram(self.now, &view);
        self.feedback.fill(self.now, &mut options);
        (!options.is_empty()).then(|| on_the_way_back(options))
    }
    fn ack(&mut self, count: bool) {
        let (number, tag, sent_at, data) = self.out.pop_front().expect("packets are out");
        let options = self.answer(data.as_ref());
        self.acked += 1;
        let delivered_bytes = self.acked * BYTES;
        let sample = RateSample {
            delivered_bytes: IN_FLIGHT * BYTES,
            interval: RTT,
            prior_delivered_bytes: delivered_bytes.saturating_sub(IN_FLIGHT * BYTES),
            tx_in_flight_bytes: IN_FLIGHT * BYTES,
            app_limited: false,
            lost_bytes: 0,
        };
        let ack = Ack {
            acked_bytes: BYTES,
            delivered_bytes: BYTES,
            total_delivered_bytes: delivered_bytes,
            duplicate: false,
            rtt_sample: Some(RTT),
            newest: Some((tag, number)),
            rtt: self.rtt,
            prior_in_flight_bytes: IN_FLIGHT * BYTES,
            in_flight_bytes: (IN_FLIGHT - 1) * BYTES,
            snd_una: delivered_bytes,
            snd_nxt: self.sent * BYTES,
            cwnd_limited: true,
            in_recovery: false,
            ecn_echo: false,
            rate: self.controller.traits().wants_rate.then_some(sample),
            options: options.as_ref(),
        };
        let delivered = Delivered { tag, number, bytes: u32::from(MSS), sent_at, rtt: Some(RTT) };
        let (controller, now) = (&mut self.controller, self.now);
        counted_if(count, &mut || {
            if controller.traits().wants_packets {
                controller.on_delivered(now, &delivered);
            }
            controller.on_ack(now, &ack);
            black_box(controller.limits());
        });
    }
    fn lose(&mut self) {
        let event = Congestion {
            cause: CongestionCause::Loss,
            flight_size_bytes: IN_FLIGHT * BYTES,
            cwnd_limited: true,
        };
        self.controller.on_congestion(self.now, &event);
        self.controller.on_recovered(self.now, &Recovered { cwnd_cap_bytes: None });
    }
    fn step(&mut self, count: Option<Part>) {
        self.now += RTT / IN_FLIGHT;
        if let Some(due) = self.controller.next_timeout().filter(|&due| due <= self.now) {
            self.controller.on_timer(due);
        }
        self.ack(count == Some(Part::OnAck));
        if self.acked.is_multiple_of(LOSS_INTERVAL) {
            self.lose();
        }
        self.send(count == Some(Part::OnSend));
    }
}

fn run(spec: &Spec, part: Part) -> u64 {
    let mut flow = Flow::new(spec);
    (0..BEFORE).for_each(|_| flow.step(None));
    (0..OPERATIONS).for_each(|_| flow.step(Some(part)));
    OPERATIONS
}

/// A full-sized datagram as a receiver half sees it.
fn full_sized(options: Option<&OptionList>) -> DatagramView<'_> {
    DatagramView {
        payload_bytes: u32::from(MSS),
        wire_len: 1_500,
        pieces: 1,
        dont_fragment: true,
        ip_id: 0,
        ecn: Ecn::NotEct,
        options,
        in_order: true,
    }
}

/// A tick of Sprout's receiver in which `packets` have come: inference, and a forecast.
fn sprout_tick(packets: u64) -> u64 {
    let spec = Spec::by_name("sprout").expect("it is in the table");
    let mut feedback = spec.build_feedback();
    let mut data = OptionList::EMPTY;
    Wait::default().push(&mut data).expect("6 bytes fit into 40");
    let view = full_sized(Some(&data));
    let (mut now, ticks) = (Time::from_secs(1), 1_000);
    for tick in 0..2 * ticks {
        (0..packets).for_each(|_| {
            feedback.on_datagram(now, &view);
        });
        now += TICK;
        counted_if(tick >= ticks, &mut || {
            let mut options = OptionList::EMPTY;
            feedback.on_timer(now);
            feedback.fill(now, &mut options);
            black_box(options);
        });
    }
    ticks
}

pub fn benches() -> Vec<Bench> {
    let parts = [("on_ack", Part::OnAck), ("on_send", Part::OnSend)];
    let of = |(entry, (called, part)): (&'static forebay_cc::Entry, (&str, Part))| {
        let name = format!("controller/{}/{called}", entry.name);
        Bench::new(name, move || run(&(entry.spec)(), part))
    };
    let mut benches: Vec<Bench> =
        TABLE.iter().flat_map(|entry| parts.map(|part| (entry, part))).map(of).collect();
    benches.push(Bench::new("controller/sprout/tick", || sprout_tick(10)));
    benches
}

//! A bottleneck for the unit tests of controllers that look at delay or rate: flows over one FIFO
//! queue, an ACK for each segment, losses known when an ACK would have come. No transport, no
//! headers.

use crate::controller::{
    Ack, CongestionCause, Controller, Delivered, Loss, RttView, Sent, Tag, Timeout,
};
use crate::testbed::{MSS, ack, congestion};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use forebay_base::{Span, Time};

/// A segment on its way.
struct Out {
    number: u64,
    tag: Tag,
    sent_at: Time,
    /// When its ACK comes, or would have come.
    back_at: Time,
    lost: bool,
}

/// A sender with data without end.
pub(crate) struct Flow<C> {
    pub(crate) controller: C,
    /// Segments that arrived, and that did not.
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// Round-trip time without queue and transmission.
    base: Span,
    out: VecDeque<Out>,
    sent: u64,
    next_send: Time,
    rtt: RttView,
    /// Losses of segments below this number are answered.
    answered: u64,
}

/// Flows over one FIFO queue.
pub(crate) struct Bottleneck<C> {
    pub(crate) flows: Vec<Flow<C>>,
    pub(crate) now: Time,
    /// Transmission time of a segment.
    segment: Span,
    /// Segments that may wait.
    buffer: u64,
    free_at: Time,
    waits: Vec<f64>,
}

/// What happened in a time.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Queue that arriving segments found, in segments: mean, smallest, largest.
    pub(crate) mean_queue: f64,
    pub(crate) least_queue: f64,
    pub(crate) most_queue: f64,
    /// Segments delivered per second, flow by flow.
    pub(crate) delivered: Vec<f64>,
    /// Share of the segments that was lost.
    pub(crate) loss: f64,
}

enum Event {
    Back(usize),
    Timer(usize),
    Send(usize),
}

impl<C: Controller> Bottleneck<C> {
    pub(crate) fn new(segment: Span, buffer: u64) -> Bottleneck<C> {
        let now = Time::from_secs(1);
        Bottleneck { flows: Vec::new(), now, segment, buffer, free_at: now, waits: Vec::new() }
    }

    /// A flow begins now; the handshake has found the path without a queue.
    pub(crate) fn join(&mut self, mut controller: C, base: Span) {
        let rtt = base + self.segment;
        let rtt = RttView { srtt: Some(rtt), rttvar: rtt / 2, min: rtt, latest: Some(rtt) };
        controller.on_established(self.now, &rtt, None);
        self.flows.push(Flow {
            controller,
            delivered: 0,
            lost: 0,
            base,
            out: VecDeque::new(),
            sent: 0,
            next_send: self.now,
            rtt,
            answered: 0,
        });
    }

    fn next(&self) -> Option<(Time, Event)> {
        let mut events = Vec::new();
        for (index, flow) in self.flows.iter().enumerate() {
            if let Some(out) = flow.out.front() {
                events.push((out.back_at, Event::Back(index)));
            }
            if let Some(at) = flow.controller.next_timeout() {
                events.push((at.max(self.now), Event::Timer(index)));
            }
            let in_flight = flow.in_flight();
            if in_flight == 0 || in_flight + MSS <= flow.controller.limits().cwnd_bytes {
                events.push((flow.next_send.max(self.now), Event::Send(index)));
            }
        }
        events.into_iter().min_by_key(|&(at, _)| at)
    }

    /// Let `span` pass.
    pub(crate) fn run(&mut self, span: Span) {
        let end = self.now + span;
        while let Some((at, event)) = self.next().filter(|&(at, _)| at <= end) {
            self.now = at;
            match event {
                Event::Back(index) => self.flows[index].back(at),
                Event::Timer(index) => self.flows[index].controller.on_timer(at),
                Event::Send(index) => self.send(index),
            }
        }
        self.now = end;
    }

    /// Let `span` pass and look.
    pub(crate) fn measure(&mut self, span: Span) -> Seen {
        let counts = |flows: &[Flow<C>]| -> Vec<(u64, u64)> {
            flows.iter().map(|flow| (flow.delivered, flow.lost)).collect()
        };
        let before = counts(&self.flows);
        self.waits.clear();
        self.run(span);
        let after = counts(&self.flows);
        let pairs = || after.iter().zip(&before);
        let lost: u64 = pairs().map(|(a, b)| a.1 - b.1).sum();
        let delivered: u64 = pairs().map(|(a, b)| a.0 - b.0).sum();
        let packets = |wait: f64| wait / self.segment.as_secs_f64();
        let waits = || self.waits.iter().copied();
        Seen {
            mean_queue: packets(waits().sum::<f64>() / self.waits.len() as f64),
            least_queue: packets(waits().fold(f64::INFINITY, f64::min)),
            most_queue: packets(waits().fold(0.0, f64::max)),
            delivered: pairs().map(|(a, b)| (a.0 - b.0) as f64 / span.as_secs_f64()).collect(),
            loss: lost as f64 / (lost + delivered) as f64,
        }
    }

    fn send(&mut self, index: usize) {
        let (now, flow) = (self.now, &mut self.flows[index]);
        let limits = flow.controller.limits();
        let sent = Sent {
            number: flow.sent,
            bytes: MSS as u32,
            in_flight_bytes: flow.in_flight() + MSS,
            retransmission: false,
            after_idle: flow.out.is_empty(),
            app_limited: false,
        };
        let tag = flow.controller.on_sent(now, &sent);
        let wait = self.free_at.max(now).since(now);
        let lost = wait.as_nanos() > self.segment.as_nanos() * self.buffer;
        if !lost {
            self.waits.push(wait.as_secs_f64());
            self.free_at = now + wait + self.segment;
        }
        // A lost one shows with the ACK of the segment before it.
        let back_at = self.free_at + flow.base;
        flow.out.push_back(Out { number: flow.sent, tag, sent_at: now, back_at, lost });
        flow.sent += 1;
        if let Some(rate) = limits.pacing_rate {
            flow.next_send = flow.next_send.max(now) + rate.span_of(MSS);
        }
    }
}

impl<C: Controller> Flow<C> {
    fn in_flight(&self) -> u64 {
        self.out.len() as u64 * MSS
    }

    /// The front segment's ACK has come, or is missed.
    fn back(&mut self, now: Time) {
        let before = self.in_flight();
        let out = self.out.pop_front().expect("an ACK is due");
        let (number, tag, sent_at, bytes) = (out.number, out.tag, out.sent_at, MSS as u32);
        if out.lost {
            self.lost += 1;
            let in_flight_bytes = self.in_flight();
            let c = &mut self.controller;
            c.on_loss(now, &Loss { tag, number, bytes, sent_at, in_flight_bytes });
            if number >= self.answered {
                self.answered = self.sent;
                let segments = before as f64 / MSS as f64;
                c.on_congestion(now, &congestion(CongestionCause::Loss, segments));
            }
            if self.out.is_empty() {
                c.on_rto(now, &Timeout { flight_size_bytes: before, first: true });
            }
            return;
        }
        self.delivered += 1;
        let sample = now.since(sent_at);
        let srtt = self.rtt.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8);
        let min = self.rtt.min.min(sample);
        self.rtt = RttView { srtt: Some(srtt), min, latest: Some(sample), ..self.rtt };
        if self.controller.traits().wants_packets {
            let rtt = Some(sample);
            let delivered = Delivered { tag, number, bytes, sent_at, rtt };
            self.controller.on_delivered(now, &delivered);
        }
        let news = Ack {
            total_delivered_bytes: self.delivered * MSS,
            rtt_sample: Some(sample),
            newest: Some((tag, number)),
            rtt: self.rtt,
            prior_in_flight_bytes: before,
            in_flight_bytes: self.in_flight(),
            snd_una: (number + 1) * MSS,
            snd_nxt: self.sent * MSS,
            ..ack(MSS)
        };
        self.controller.on_ack(now, &news);
    }
}

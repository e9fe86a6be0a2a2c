//! A window controller that does what a scenario says, and records what was reported to it.

use super::MSS;
use forebay_base::{OptionList, Rate, Span, Time};
use forebay_cc::{
    Ack, AckPolicy, AnyController, Congestion, Controller, Delivered, HeaderEdits, Limits, Loss,
    LossPolicy, NextPacket, RateSample, Recovered, RttView, Sent, Sibling, Tag, Timeout, Traits,
};
use std::sync::{Arc, Mutex};

/// What was reported to a controller, the options of ACKs left out.
#[derive(Clone, Debug)]
pub enum Told {
    Established(RttView),
    Sent(Sent),
    Ack(AckNote),
    Loss(Loss),
    Congestion(Congestion),
    Recovered(Recovered),
    Rto(Timeout),
    Spurious,
    Delivered(Delivered),
    /// Siblings and the own place among them.
    Couple(Vec<Sibling>, usize),
}

/// The owned part of an [`Ack`].
#[derive(Clone, Debug)]
pub struct AckNote {
    pub acked_bytes: u64,
    pub delivered_bytes: u64,
    pub duplicate: bool,
    pub rtt_sample: Option<Span>,
    pub rtt: RttView,
    pub in_flight_bytes: u64,
    pub prior_in_flight_bytes: u64,
    pub in_recovery: bool,
    pub ecn_echo: bool,
    pub cwnd_limited: bool,
    pub rate: Option<RateSample>,
}

/// Shared with the controller inside the connection.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<(Time, Told)>>>);

impl Log {
    fn push(&self, at: Time, told: Told) {
        self.0.lock().unwrap().push((at, told));
    }
    /// All that was reported so far.
    pub fn all(&self) -> Vec<(Time, Told)> {
        self.0.lock().unwrap().clone()
    }
    fn pick<T>(&self, f: impl Fn(&Told) -> Option<T>) -> Vec<T> {
        self.0.lock().unwrap().iter().filter_map(|(_, told)| f(told)).collect()
    }
    /// Congestion events so far.
    pub fn congestions(&self) -> Vec<Congestion> {
        self.pick(|t| if let Told::Congestion(c) = t { Some(*c) } else { None })
    }
    /// Retransmission timeouts so far.
    pub fn timeouts(&self) -> Vec<Timeout> {
        self.pick(|t| if let Told::Rto(c) = t { Some(*c) } else { None })
    }
    /// Ends of recovery so far.
    pub fn recoveries(&self) -> Vec<Recovered> {
        self.pick(|t| if let Told::Recovered(c) = t { Some(*c) } else { None })
    }
    /// ACKs so far.
    pub fn acks(&self) -> Vec<AckNote> {
        self.pick(|t| if let Told::Ack(c) = t { Some(c.clone()) } else { None })
    }
    /// Losses so far.
    pub fn losses(&self) -> Vec<Loss> {
        self.pick(|t| if let Told::Loss(c) = t { Some(*c) } else { None })
    }
    /// Number of calls of `on_spurious`.
    pub fn spurious(&self) -> usize {
        self.pick(|t| matches!(t, Told::Spurious).then_some(())).len()
    }
}

/// What a window does about congestion.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing, not even on a timeout.
    Hold,
    /// RFC 5681: ssthresh = num / den of FlightSize, at least two segments; one segment after a
    /// timeout.
    Multiply(u64, u64),
}

/// RFC 5681's window arithmetic, each part of which may be switched off.
#[derive(Clone)]
pub struct Window {
    pub cwnd: u64,
    pub ssthresh: u64,
    /// Slow start by min(N, SMSS) per ACK and byte-counting congestion avoidance; else it never
    /// grows.
    pub grow: bool,
    pub reaction: Reaction,
    pub rate: Option<Rate>,
    pub quantum: u32,
    pub credits: Option<u64>,
    pub loss_policy: Option<LossPolicy>,
    pub ack_policy: Option<AckPolicy>,
    pub max_wire_len: Option<u16>,
    /// What it stamps on every packet.
    pub stamped: OptionList,
    /// Ask for each delivery.
    pub wants_packets: bool,
    pub log: Log,
    /// Bytes acknowledged towards the next segment of congestion avoidance.
    pub avoided: u64,
    /// Window and threshold before the last reduction.
    pub before: Option<(u64, u64)>,
}

impl Window {
    /// A window of `segments` that never grows and halves on congestion.
    pub fn fixed(segments: u64) -> Window {
        Window {
            cwnd: segments * MSS,
            ssthresh: u64::MAX,
            grow: false,
            reaction: Reaction::Multiply(1, 2),
            rate: None,
            quantum: 0,
            credits: None,
            loss_policy: None,
            ack_policy: None,
            max_wire_len: None,
            stamped: OptionList::EMPTY,
            wants_packets: false,
            log: Log::default(),
            avoided: 0,
            before: None,
        }
    }
    /// RFC 5681 from an initial window of `segments`.
    pub fn reno(segments: u64) -> Window {
        Window { grow: true, ..Window::fixed(segments) }
    }
    /// Behind the door of the enum.
    pub fn any(self) -> AnyController {
        AnyController::Custom(Box::new(self))
    }
    fn avoid(&mut self, acked: u64) {
        self.avoided += acked;
        if self.avoided >= self.cwnd {
            self.avoided -= self.cwnd;
            self.cwnd += MSS;
        }
    }
}

impl Controller for Window {
    fn limits(&self) -> Limits {
        Limits {
            cwnd_bytes: self.cwnd,
            pacing_rate: self.rate,
            send_quantum_bytes: self.quantum,
            credits: self.credits,
        }
    }
    fn on_established(&mut self, now: Time, rtt: &RttView, _options: Option<&OptionList>) {
        self.log.push(now, Told::Established(*rtt));
    }
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        if let Some(credits) = &mut self.credits {
            *credits = credits.saturating_sub(1); // what a timeout sends needs none
        }
        self.log.push(now, Told::Sent(*sent));
        Tag(sent.number)
    }
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let note = AckNote {
            acked_bytes: ack.acked_bytes,
            delivered_bytes: ack.delivered_bytes,
            duplicate: ack.duplicate,
            rtt_sample: ack.rtt_sample,
            rtt: ack.rtt,
            in_flight_bytes: ack.in_flight_bytes,
            prior_in_flight_bytes: ack.prior_in_flight_bytes,
            in_recovery: ack.in_recovery,
            ecn_echo: ack.ecn_echo,
            cwnd_limited: ack.cwnd_limited,
            rate: ack.rate,
        };
        self.log.push(now, Told::Ack(note));
        if self.grow && !ack.in_recovery && !ack.ecn_echo && ack.acked_bytes > 0 {
            if self.cwnd < self.ssthresh {
                self.cwnd += ack.acked_bytes.min(MSS);
            } else {
                self.avoid(ack.acked_bytes);
            }
        }
    }
    fn traits(&self) -> Traits {
        let option_bytes = self.stamped.len() as u16;
        Traits { wants_packets: self.wants_packets, option_bytes, ..Traits::default() }
    }
    fn on_delivered(&mut self, now: Time, packet: &Delivered) {
        assert_eq!(packet.tag, Tag(packet.number), "the tag that was given comes back");
        self.log.push(now, Told::Delivered(*packet));
    }
    fn couple(&mut self, siblings: &[Sibling], me: usize) {
        self.log.push(Time::ZERO, Told::Couple(siblings.to_vec(), me));
    }
    fn on_loss(&mut self, now: Time, loss: &Loss) {
        assert_eq!(loss.tag, Tag(loss.number), "the tag that was given comes back");
        self.log.push(now, Told::Loss(*loss));
    }
    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        self.log.push(now, Told::Congestion(*event));
        if let Reaction::Multiply(num, den) = self.reaction {
            self.before = Some((self.cwnd, self.ssthresh));
            self.ssthresh = (event.flight_size_bytes * num / den).max(2 * MSS);
            self.cwnd = self.ssthresh;
            self.avoided = 0;
        }
    }
    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        self.log.push(now, Told::Recovered(*end));
        if self.reaction != Reaction::Hold {
            self.cwnd = self.ssthresh.min(end.cwnd_cap_bytes.unwrap_or(u64::MAX));
        }
    }
    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        self.log.push(now, Told::Rto(*timeout));
        if let Reaction::Multiply(num, den) = self.reaction {
            if timeout.first {
                self.before = Some((self.cwnd, self.ssthresh));
                self.ssthresh = (timeout.flight_size_bytes * num / den).max(2 * MSS);
            }
            self.cwnd = MSS;
        }
    }
    fn on_spurious(&mut self, now: Time) {
        self.log.push(now, Told::Spurious);
        if let Some((cwnd, ssthresh)) = self.before.take() {
            (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), ssthresh);
        }
    }
    fn loss_policy(&self) -> Option<LossPolicy> {
        self.loss_policy
    }
    fn ack_policy(&self) -> Option<AckPolicy> {
        self.ack_policy
    }
    fn edit_header(&mut self, _now: Time, _next: &NextPacket) -> HeaderEdits {
        let options = (!self.stamped.is_empty()).then_some(self.stamped);
        HeaderEdits { options, max_wire_len: self.max_wire_len, ..HeaderEdits::default() }
    }
    fn ssthresh_bytes(&self) -> Option<u64> {
        (self.ssthresh != u64::MAX).then_some(self.ssthresh)
    }
}

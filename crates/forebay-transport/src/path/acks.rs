//! An acknowledgment came: what it says has arrived, and what follows from that.

use super::input::Incoming;
use super::loss::{Detector, Evidence, MIN_RTO};
use super::rate::Flight;
use super::recovery::Rule;
use super::rtt::Edges;
use super::scoreboard::{REPEATED, SACKED, Segment};
use super::{Cx, Path, SpuriousCheck};
use forebay_base::{OptionList, Span, TcpFlags, Time, widen};
use forebay_cc::{Ack, Controller, Delivered};

/// What one ACK says.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckSummary {
    pub una: u64,
    pub prior_una: u64,
    prior_in_flight: u64,
    /// Payload bytes newly acknowledged in order, SACKed earlier or not.
    pub acked: u64,
    /// Payload bytes newly known to have arrived.
    pub delivered: u64,
    /// Those of them that are SACKed.
    pub sacked: u64,
    /// The transmission with the highest number among them.
    newest: Option<Segment>,
    /// What the rate sampler noted on it.
    newest_flight: Option<Flight>,
    /// A segment that was sent more than once is among what is acknowledged in order.
    repeats_acked: bool,
    /// Lowest end of what has arrived and was sent once only.
    pub lowest_original: Option<u64>,
    /// When the first of it was sent.
    first_original_sent: Option<Time>,
    pub dsack: Option<(u64, u64)>,
    pub duplicate: bool,
    /// Timestamp echo in ms of this end's clock.
    pub echo_ms: Option<u32>,
    pub ece: bool,
}

impl AckSummary {
    pub(super) fn advanced(&self) -> bool {
        self.una > self.prior_una
    }
    /// The echo is not older than the latest transmission of `s`.
    fn echoes(&self, s: &Segment) -> bool {
        self.echo_ms.is_some_and(|echo| echo.wrapping_sub(s.sent_at.as_millis() as u32) as i32 >= 0)
    }
}

impl Path {
    /// Process the acknowledgment of a segment that starts at `seq`.
    #[inline]
    pub(super) fn on_acknowledgment(
        &mut self,
        cx: &mut Cx<'_>,
        segment: &Incoming,
        seq: u64,
        options: Option<&OptionList>,
    ) {
        let prior_una = self.board.una();
        let Some(ack) = widen(segment.ack, self.ids.isn, prior_una) else { return };
        if ack > self.board.nxt() {
            if ack > self.window_probe_end {
                self.acks.demand(); // of something that was never sent
                return;
            }
            self.board.skip_to(ack);
        }
        if ack < prior_una {
            return; // overtaken by a later one
        }
        let ece = self.negotiated.ecn && segment.flags.has(TcpFlags::ECE);
        if ack == prior_una && segment.payload > 0 && self.board.is_empty() && !ece {
            // Data for a side that has nothing outstanding: its ACK field is no news.
            self.update_window(cx, segment, seq, ack);
            return;
        }
        let mut summary = AckSummary { ece, ..self.empty_summary(ack, segment.timestamps) };
        if ack > prior_una {
            self.take_cumulative(cx, &mut summary);
        }
        if let Some(options) = options.filter(|_| self.negotiated.sack) {
            self.take_sacks(cx, options, &mut summary);
        }
        let same_window = segment.window == self.last_window;
        self.update_window(cx, segment, seq, ack);
        self.classify(segment, same_window, &mut summary);
        self.process(cx, &summary, options);
    }

    /// What an ACK up to `ack` with these timestamps says before anybody has looked.
    #[inline]
    pub(super) fn empty_summary(&self, ack: u64, timestamps: Option<(u32, u32)>) -> AckSummary {
        AckSummary {
            una: ack,
            prior_una: self.board.una(),
            prior_in_flight: self.board.in_flight(),
            acked: 0,
            delivered: 0,
            sacked: 0,
            newest: None,
            newest_flight: None,
            repeats_acked: false,
            lowest_original: None,
            first_original_sent: None,
            dsack: None,
            duplicate: false,
            echo_ms: timestamps.filter(|_| self.negotiated.timestamps).map(|(_, echo)| echo),
            ece: false,
        }
    }
    fn take_cumulative(&mut self, cx: &mut Cx<'_>, summary: &mut AckSummary) {
        while let Some((s, flight)) = self.board.pop_acked(summary.una) {
            summary.acked += s.len as u64;
            summary.repeats_acked |= s.is(REPEATED);
            if !s.is(SACKED) {
                self.arrived(cx, &s, flight, summary);
            }
        }
        let head = self.board.advance(summary.una);
        if head > 0 {
            // Part of a segment: its transmission is open until the rest is acknowledged.
            summary.acked += head;
            summary.delivered += head;
            self.rate.add_delivered(cx.now, head);
        }
        self.limited_bytes = 0;
        if let Some(mappings) = &mut self.mappings {
            mappings.trim_below(summary.una);
        }
    }

    /// Transmission `s` is known to have arrived, for the first time.
    #[inline]
    fn arrived(
        &mut self,
        cx: &mut Cx<'_>,
        s: &Segment,
        flight: Option<Flight>,
        summary: &mut AckSummary,
    ) {
        let repeated = s.is(REPEATED);
        summary.delivered += s.len as u64;
        if !repeated {
            let end = s.end();
            summary.lowest_original = Some(summary.lowest_original.map_or(end, |e| e.min(end)));
            let first = summary.first_original_sent.map_or(s.sent_at, |at| at.min(s.sent_at));
            summary.first_original_sent = Some(first);
        }
        if summary.newest.is_none_or(|n| s.number > n.number) {
            (summary.newest, summary.newest_flight) = (Some(*s), flight);
        }
        self.rate.add_delivered(cx.now, s.len as u64);
        if self.detector.wants_arrivals() {
            let sent_below = if repeated { self.board.sent_below(s.number) } else { None };
            let older = summary.echo_ms.is_some() && !summary.echoes(s);
            self.detector.on_arrival(cx.now, s, sent_below, older, self.rtt.min());
        }
        if self.traits.wants_packets {
            let unambiguous = !repeated || summary.echoes(s);
            let packet = Delivered {
                tag: s.tag,
                number: s.number,
                bytes: s.len as u32,
                sent_at: s.sent_at,
                rtt: unambiguous.then(|| cx.now.since(s.sent_at)),
            };
            self.controller.on_delivered(cx.now, &packet);
        }
    }

    #[inline(never)]
    fn take_sacks(&mut self, cx: &mut Cx<'_>, options: &OptionList, summary: &mut AckSummary) {
        let una = summary.una;
        let offset = |seq: u32| widen(seq, self.ids.isn, una);
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for block in options.sack_blocks().take(4) {
            let (Some(start), Some(end)) = (offset(block.start), offset(block.end)) else {
                continue;
            };
            if start < end && end <= self.board.nxt() {
                blocks[count] = (start, end);
                count += 1;
            }
        }
        // RFC 2883 section 4: a first block below this packet's ACK, or inside the second one, reports a duplicate.
        let mut reported = &blocks[..count];
        if let [first, rest @ ..] = reported {
            let inside = rest.first().is_some_and(|r| r.0 <= first.0 && first.1 <= r.1);
            if first.1 <= una || inside {
                summary.dsack = Some(*first);
                reported = rest;
            }
        }
        for &(start, end) in reported {
            if end > una {
                self.take_sack(cx, (start.max(una), end), summary);
            }
        }
    }

    fn take_sack(&mut self, cx: &mut Cx<'_>, (start, end): (u64, u64), summary: &mut AckSummary) {
        if self.take_highest(cx, (start, end), summary) {
            return;
        }
        if self.board.sacked().covers(start, end) {
            return;
        }
        let mut fresh = core::mem::take(&mut self.scratch);
        self.board.sack(start, end, |at| fresh.push(at));
        for at in fresh.drain(..) {
            let (s, flight) = (*self.board.get(at), self.board.flight(at));
            summary.sacked += s.len as u64;
            self.arrived(cx, &s, flight, summary);
        }
        self.scratch = fresh;
    }

    /// The peer holds `start..end`: if this goes beyond the highest range that it has reported, and touches it. False, and nothing
    /// has changed, if not.
    #[inline]
    pub(super) fn take_highest(
        &mut self,
        cx: &mut Cx<'_>,
        (start, end): (u64, u64),
        summary: &mut AckSummary,
    ) -> bool {
        let Some((mut at, end)) = self.board.extend_highest(start, end) else { return false };
        while let Some(s) = self.board.sack_next(at, end) {
            summary.sacked += s.len as u64;
            self.arrived(cx, &s, self.board.flight(at), summary);
            at += 1;
        }
        true
    }

    fn update_window(&mut self, cx: &Cx<'_>, segment: &Incoming, seq: u64, ack: u64) {
        let before = self.peer_edge;
        self.note_window(segment.window, seq, ack);
        if self.peer_edge > before && self.timers.persist != Time::MAX {
            self.timers.persist = Time::MAX;
            self.rtt.collapse();
            self.rearm_rto(cx.now);
        }
    }
    /// RFC 9293 section 3.10.7.4: the window of the newest segment counts.
    #[inline]
    pub(super) fn note_window(&mut self, window: u16, seq: u64, ack: u64) {
        if seq >= self.window_seq {
            self.window_seq = seq;
            self.last_window = window;
            self.peer_edge = ack + ((window as u64) << self.negotiated.peer_shift);
        }
    }

    /// Is it a duplicate? With SACK: new SACK information (RFC 6675 section 2). Without: RFC 5681 section 2.
    #[inline]
    fn classify(&mut self, segment: &Incoming, same_window: bool, summary: &mut AckSummary) {
        if summary.advanced() {
            self.dupacks = 0;
        }
        summary.duplicate = if self.negotiated.sack {
            summary.sacked > 0
        } else {
            !summary.advanced()
                && !self.board.is_empty()
                && segment.payload == 0
                && !segment.flags.has(TcpFlags(TcpFlags::SYN.0 | TcpFlags::FIN.0))
                && same_window
        };
        if summary.duplicate {
            self.dupacks += 1;
        }
    }

    /// What follows from the news, in the order that [`Controller`] prescribes.
    fn process(&mut self, cx: &mut Cx<'_>, summary: &AckSummary, options: Option<&OptionList>) {
        let sample = self.rtt_of(cx, summary);
        if let Some(r) = sample {
            self.take_sample(r);
            self.raise_patient_rto();
        }
        if summary.advanced() {
            self.retries = 0;
            if self.syn_loss_window != u64::MAX {
                self.syn_loss_window =
                    self.syn_loss_window.saturating_add(summary.acked.min(self.mss()));
            }
        }
        if self.spurious != SpuriousCheck::None {
            self.check_spurious(cx, summary);
        }
        let ends =
            self.episode.as_ref().is_some_and(|e| summary.advanced() && summary.una >= e.point);
        let found = self.find_losses(cx, summary, ends);
        self.check_probe(cx, summary, ends);
        if summary.ece {
            self.on_ecn_echo(cx);
        }
        self.notify_controller(cx, summary, sample, options);
        if self.traits.stamps && options.is_some() {
            self.adopt_policy(cx.config);
        }
        if ends {
            self.leave_recovery(cx);
        } else {
            self.advance_recovery(summary, found);
        }
        let passed = summary.prior_una < self.recovery_point && self.recovery_point <= summary.una;
        if passed && let Some(rack) = self.detector.rack() {
            rack.on_recovered();
        }
        self.rearm_after_ack(cx, summary);
        debug_assert!(self.board.len() > 64 || self.board.is_consistent());
    }

    /// The sample of this ACK, if no retransmission makes it ambiguous (Karn's rule, RFC 6298 section 3).
    pub(super) fn rtt_of(&self, cx: &Cx<'_>, summary: &AckSummary) -> Option<Span> {
        let newest = summary.newest.as_ref()?;
        let clear = if newest.is(REPEATED) {
            summary.echoes(newest)
        } else {
            !summary.repeats_acked || self.negotiated.sack
        };
        clear.then(|| cx.now.since(newest.sent_at))
    }
    #[inline]
    pub(super) fn take_sample(&mut self, r: Span) {
        self.rtt.sample(r, Edges { una: self.board.una(), nxt: self.board.nxt() });
        self.histogram.record(r);
        self.sampled_since_probe = true;
    }

    /// Where the policy is patient, the timeout is as well.
    pub(super) fn raise_patient_rto(&mut self) {
        if let Detector::Patient(_) = self.detector {
            self.rtt.raise_patient_rto(MIN_RTO);
        }
    }

    pub(super) fn evidence(&self, cx: &Cx<'_>) -> Evidence {
        let una = self.board.una();
        Evidence {
            now: cx.now,
            mss: self.mss(),
            sack: self.negotiated.sack,
            dupacks: self.dupacks,
            in_recovery: self.episode.is_some() || una < self.recovery_point,
            may_enter: self.episode.is_none() && self.beyond_recovery_point(),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            rto: self.rtt.base(),
        }
    }
    /// RFC 6582 section 3.2 step 2 without SACK ("more than recover"); RFC 6675 section 5 with it.
    pub(super) fn beyond_recovery_point(&self) -> bool {
        let una = self.board.una();
        una > self.recovery_point || (self.negotiated.sack && una == self.recovery_point)
    }

    pub(super) fn notify_controller(
        &mut self,
        cx: &mut Cx<'_>,
        summary: &AckSummary,
        rtt_sample: Option<Span>,
        options: Option<&OptionList>,
    ) {
        let rate = match (&summary.newest, &summary.newest_flight) {
            (Some(newest), Some(flight)) => {
                self.rate.sample(newest.sent_at, flight, self.rtt.min())
            }
            _ => None,
        };
        let ack = Ack {
            acked_bytes: summary.acked,
            delivered_bytes: summary.delivered,
            total_delivered_bytes: self.rate.delivered(),
            duplicate: summary.duplicate,
            rtt_sample,
            newest: summary.newest.map(|s| (s.tag, s.number)),
            rtt: self.rtt.view(),
            prior_in_flight_bytes: summary.prior_in_flight,
            in_flight_bytes: self.board.in_flight(),
            snd_una: summary.una.saturating_sub(1),
            snd_nxt: self.board.nxt().saturating_sub(1),
            cwnd_limited: summary.prior_una < self.window_full_at,
            in_recovery: self.episode.is_some(),
            ecn_echo: summary.ece,
            rate,
            options,
        };
        self.controller.on_ack(cx.now, &ack);
    }

    /// True if data was SACKed that was sent before the last transmission of the first segment: Linux, `tcp_clean_rtx_queue`, restarts
    /// the timer then. RFC 6675 section 6 allows more, a restart with each retransmission in recovery. What was sent after the
    /// head's last transmission says nothing new about it: the timer would never end.
    fn predates_head(&self, summary: &AckSummary) -> bool {
        let head_sent = self.board.get(0).sent_at; // the board holds what was SACKed
        summary.first_original_sent.is_some_and(|sent| sent < head_sent)
    }

    pub(super) fn rearm_after_ack(&mut self, cx: &Cx<'_>, summary: &AckSummary) {
        if !summary.advanced() {
            if summary.sacked > 0 {
                self.timers.probe = Time::MAX;
                let patient = matches!(self.detector, Detector::Patient(_));
                if patient || self.predates_head(summary) {
                    self.rearm_rto(cx.now); // the path is alive, the hole has its own patience
                }
            }
            return;
        }
        // RFC 6582 section 3.2 step 3: of the partial ACKs only the first one restarts the timer.
        let held = self.episode.as_mut().is_some_and(|e| {
            let newreno = matches!(e.rule, Rule::NewReno(_));
            core::mem::replace(&mut e.partial_seen, true) && newreno
        });
        if let Detector::Patient(_) = self.detector {
            // Where all that is left was sent twice there may be no sample for long (Karn), and one segment each back-off.
            self.rtt.collapse();
        }
        if !held || self.board.is_empty() {
            self.rearm_rto(cx.now);
        }
        self.rearm_probe(cx);
    }
}

//! Losses, congestion, recovery and timeouts: what the controller is told, and what is sent again.

use super::acks::AckSummary;
use super::loss::{Detector, Losses};
use super::recovery::{Episode, NewReno, Pipe, Prr, Rule};
use super::scoreboard::{REPEATED, SACKED};
use super::{Cx, Path, Probe, SpuriousCheck, State};
use crate::config::{Recovery, TcpConfig};
use alloc::boxed::Box;
use forebay_base::Time;
use forebay_cc::{Congestion, CongestionCause, Controller, Recovered, RecoveryOwner, Timeout};

impl Path {
    /// Ask the controller how losses are found and who limits their repair. It may change its mind with the path.
    pub(super) fn adopt_policy(&mut self, config: &TcpConfig) {
        let policy = self.controller.loss_policy().unwrap_or(config.loss_policy);
        self.detector.adopt(policy, self.negotiated.sack);
        self.raise_patient_rto();
        self.traits.owner = self.controller.recovery_owner();
        if self.traits.owner == RecoveryOwner::Controller
            && let Some(episode) = &mut self.episode
        {
            episode.rule = Rule::Controller;
        }
    }

    /// Look for losses and answer them. Returns true if there were any.
    pub(super) fn find_losses(
        &mut self,
        cx: &mut Cx<'_>,
        summary: &AckSummary,
        ends: bool,
    ) -> bool {
        if let Some(rack) = self.detector.rack() {
            rack.on_dsack(summary.dsack.is_some(), summary.una, self.board.nxt());
        }
        let partial = !ends && summary.advanced() && self.repairs_one_by_one();
        if !partial && !self.detector.is_due(&self.board, self.dupacks) {
            self.timers.loss = Time::MAX;
            if self.unanswered_loss.is_some() && !ends {
                self.answer_losses(cx, Some(summary), None);
            }
            return false;
        }
        let (segments, repeat) = self.detect(cx, partial);
        if !ends {
            self.answer_losses(cx, Some(summary), repeat);
        }
        segments > 0
    }

    /// Recovery by RFC 6582: the ACK shows the next hole.
    fn repairs_one_by_one(&self) -> bool {
        self.episode.as_ref().is_some_and(|e| matches!(e.rule, Rule::NewReno(_)))
    }

    /// Run the detector. Returns how many segments it found lost, and the highest repeated transmission among them.
    fn detect(&mut self, cx: &mut Cx<'_>, partial: bool) -> (u32, Option<u64>) {
        let evidence = self.evidence(cx);
        let point = self.episode.as_ref().map_or(self.recovery_point, |e| e.point);
        let mut losses = Losses::none(cx.now, &mut self.controller, &mut self.rate, cx.counters);
        let next = self.detector.detect(&evidence, &mut self.board, &mut losses);
        if partial && !self.board.is_empty() {
            let first = *self.board.get(0);
            if first.outstanding() && !first.is(REPEATED) {
                losses.declare(&mut self.board, 0);
            }
            self.force_retransmit = true;
        }
        let found = (losses.segments, losses.repeat);
        let beyond = losses.highest.filter(|&start| start >= point);
        self.timers.loss = next.unwrap_or(Time::MAX);
        self.unanswered_loss = self.unanswered_loss.max(beyond);
        found
    }

    /// Congestion, at most once per window: enter recovery, or respond to the loss of a retransmission.
    fn answer_losses(
        &mut self,
        cx: &mut Cx<'_>,
        summary: Option<&AckSummary>,
        repeat: Option<u64>,
    ) {
        if self.episode.is_none() {
            let una = self.board.una();
            self.unanswered_loss = self.unanswered_loss.filter(|&start| start >= una);
            if self.unanswered_loss.is_some() && self.beyond_recovery_point() {
                self.enter_recovery(cx, summary);
            }
        } else if repeat.is_some_and(|number| number >= self.reduced_at_number) {
            self.reduce(cx, CongestionCause::LostRetransmission);
            let target = self.controller.limits().cwnd_bytes;
            let recover_fs = self.recover_fs(summary);
            if let Some(Rule::Prr(prr)) = self.episode.as_mut().map(|e| &mut e.rule) {
                *prr = Prr::new(target, recover_fs);
            }
        }
    }

    /// Tell the controller, once for what has been sent so far.
    fn reduce(&mut self, cx: &mut Cx<'_>, cause: CongestionCause) {
        let event = Congestion {
            cause,
            flight_size_bytes: self.flight_size(),
            cwnd_limited: self.board.una() < self.window_full_at,
        };
        self.controller.on_congestion(cx.now, &event);
        self.reduced_at_number = self.next_number;
        self.send_cwr = self.negotiated.ecn;
        self.delivered_between = self.rate.delivered() - self.delivered_at_loss;
        self.delivered_at_loss = self.rate.delivered();
    }

    /// RecoverFS (RFC 9937): what was outstanding and not SACKed before this ACK.
    fn recover_fs(&self, summary: Option<&AckSummary>) -> u64 {
        let (sacked, acked) = summary.map_or((0, 0), |n| (n.sacked, n.acked));
        self.outstanding().saturating_sub(self.board.sacked_bytes()) + sacked + acked
    }

    fn enter_recovery(&mut self, cx: &mut Cx<'_>, summary: Option<&AckSummary>) {
        self.unanswered_loss = None;
        let point = self.board.nxt();
        // The mark and the loss may be of one window: then it was answered (RFC 3168 section 6.1.2).
        if self.board.una() >= self.ecn_point {
            self.reduce(cx, CongestionCause::Loss);
        }
        let target = self.controller.limits().cwnd_bytes;
        let rule = match (self.traits.owner, cx.config.recovery) {
            (RecoveryOwner::Controller, _) => Rule::Controller,
            (_, Recovery::NewReno) if !self.detector.wants_arrivals() => {
                Rule::NewReno(NewReno::new(target, self.mss()))
            }
            _ if !self.negotiated.sack && matches!(self.detector, Detector::DupThresh) => {
                Rule::NewReno(NewReno::new(target, self.mss()))
            }
            (_, Recovery::Pipe) => Rule::Pipe(Pipe::new(self.first_end())),
            _ => Rule::Prr(Prr::new(target, self.recover_fs(summary))),
        };
        self.force_retransmit = !matches!(rule, Rule::Controller) && self.board.lost_segments() > 0;
        let episode = Episode { point, rule, partial_seen: false, entered: false };
        self.episode = Some(Box::new(episode));
        self.recovery_point = point;
        self.question_recovery(cx);
        self.timers.probe = Time::MAX;
        cx.counters.recoveries += 1;
    }
    fn first_end(&self) -> u64 {
        if self.board.is_empty() { self.board.nxt() } else { self.board.get(0).end() }
    }

    /// Let the rule of the recovery see an ACK, the last one excepted.
    pub(super) fn advance_recovery(&mut self, summary: &AckSummary, found: bool) {
        let (mss, in_flight) = (self.mss(), self.board.in_flight());
        let Some(episode) = &mut self.episode else { return };
        match &mut episode.rule {
            Rule::Prr(prr) => {
                let safe = summary.advanced() && !found;
                prr.on_ack(summary.delivered, in_flight, safe, mss);
            }
            // The ACK that begins recovery has been counted: three segments have left.
            Rule::NewReno(newreno) if summary.advanced() => {
                newreno.on_partial_ack(summary.acked, mss)
            }
            Rule::NewReno(newreno) if summary.duplicate && episode.entered => {
                newreno.on_duplicate(mss);
            }
            Rule::NewReno(_) | Rule::Pipe(_) | Rule::Controller => {}
        }
        episode.entered = true;
    }

    /// The recovery point is acknowledged.
    pub(super) fn leave_recovery(&mut self, cx: &mut Cx<'_>) {
        let Some(episode) = self.episode.take() else { return };
        let cap = matches!(episode.rule, Rule::NewReno(_))
            .then(|| self.outstanding().max(self.mss()) + self.mss());
        self.dupacks = 0;
        self.controller.on_recovered(cx.now, &Recovered { cwnd_cap_bytes: cap });
    }

    /// ECE came: one response per window, losses counted (RFC 3168 section 6.1.2).
    pub(super) fn on_ecn_echo(&mut self, cx: &mut Cx<'_>) {
        let una = self.board.una();
        // What is acknowledged was sent before the last response.
        if una <= self.ecn_point || una <= self.recovery_point || self.episode.is_some() {
            return;
        }
        self.ecn_point = self.board.nxt();
        cx.counters.ecn_responses += 1;
        let at_floor = self.controller.limits().cwnd_bytes <= self.mss();
        self.reduce(cx, CongestionCause::Ecn);
        if at_floor {
            // One segment is already the least: send the next one when the timer would expire.
            let rto = self.rtt.rto();
            self.pacer.hold(cx.now + rto);
        }
    }

    /// The outcome of a tail loss probe (RFC 8985 section 7.4.2).
    pub(super) fn check_probe(&mut self, cx: &mut Cx<'_>, summary: &AckSummary, ends: bool) {
        let Some(Probe { end, repeats_data }) = self.probe else { return };
        if summary.una < end {
            return;
        }
        let repaired = summary.una > end && summary.dsack.is_none();
        let bare_duplicate = !summary.advanced() && summary.sacked == 0;
        if !repeats_data || summary.dsack.is_some() || repaired || bare_duplicate {
            self.probe = None;
        }
        if repeats_data && repaired && self.episode.is_none() && !ends {
            self.enter_recovery(cx, Some(summary));
        }
    }

    /// A deadline of the detector came.
    pub(super) fn on_loss_timer(&mut self, cx: &mut Cx<'_>) {
        let (_, repeat) = self.detect(cx, false);
        self.answer_losses(cx, None, repeat);
        let (mss, in_flight) = (self.mss(), self.board.in_flight());
        if let Some(Episode { rule: Rule::Prr(prr), entered, .. }) = self.episode.as_deref_mut() {
            *entered = true;
            prr.on_loss_timer(in_flight, mss);
        }
    }

    /// The retransmission timer expired (RFC 6298 5.4 to 5.6; RFC 5681 section 3.1; RFC 8985 section 6.3).
    pub(super) fn on_rto(&mut self, cx: &mut Cx<'_>) {
        if self.board.is_empty() {
            self.timers.rto = Time::MAX;
            return;
        }
        cx.counters.timeouts += 1;
        self.retries += 1;
        self.rtt.back_off();
        self.rearm_rto(cx.now);
        if self.retries > cx.config.max_retries {
            self.state = State::Dead;
            return;
        }
        let first = self.retries == 1;
        // What has arrived out of order is not in flight: after a loss it may be most of the window.
        let flight = self.flight_size().saturating_sub(self.board.sacked_bytes());
        let answered = self.is_answered();
        let questioned = first && self.episode.is_none() && !self.in_timeout_recovery();
        if self.board.get(0).is(SACKED) {
            self.board.forget_sacks();
        }
        self.mark_all_lost(cx);
        self.episode = None;
        self.unanswered_loss = None;
        self.probe = None;
        self.probe_due = false;
        self.timers.probe = Time::MAX;
        self.timers.loss = Time::MAX;
        self.dupacks = 0;
        self.limited_bytes = 0;
        self.force_retransmit = true;
        if self.state != State::Established {
            return; // a SYN
        }
        self.spurious = SpuriousCheck::None;
        if questioned {
            self.question_timeout(cx);
        }
        self.recovery_point = self.board.nxt();
        self.reduced_at_number = self.next_number;
        self.send_cwr = self.negotiated.ecn;
        self.delivered_between = self.rate.delivered() - self.delivered_at_loss;
        self.delivered_at_loss = self.rate.delivered();
        let timeout = Timeout { flight_size_bytes: flight, first: first && !answered };
        self.controller.on_rto(cx.now, &timeout);
    }

    /// The window in flight was reduced already, for a loss or a mark: Linux, tcp_enter_loss, reduces ssthresh only if it "has not
    /// yet been made inside this window". Without SACK there is no telling what of the flight has arrived: RFC 5681 eq. 4
    /// by the letter.
    fn is_answered(&self) -> bool {
        let transport = self.traits.owner == RecoveryOwner::Transport;
        let marked = self.board.una() < self.ecn_point;
        transport && self.negotiated.sack && (self.episode.is_some() || marked)
    }

    /// With RACK the first segment and what is old enough; the first one where the path may still hold the others, and when that did
    /// not end it what is old enough, too; otherwise everything that is outstanding.
    fn mark_all_lost(&mut self, cx: &mut Cx<'_>) {
        let evidence = self.evidence(cx);
        let again = self.in_timeout_recovery();
        let loss_delay = match &self.detector {
            Detector::Rack(rack) => Some(rack.loss_delay(&evidence, &self.board)),
            Detector::Patient(patient) => Some(patient.loss_delay(&evidence)),
            _ => None,
        };
        let mut losses = Losses::none(cx.now, &mut self.controller, &mut self.rate, cx.counters);
        let count = match &self.detector {
            Detector::Patient(_) if !again => 1, // the board is not empty
            _ => self.board.len(),
        };
        for index in 0..count {
            let s = self.board.get(index);
            let old = loss_delay.is_none_or(|p| s.sent_at + p <= cx.now);
            if s.outstanding() && (index == 0 || old) {
                losses.declare(&mut self.board, index);
            }
        }
    }
}

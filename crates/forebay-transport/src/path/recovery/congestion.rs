//! Losses, congestion, recovery episodes and timeouts: what the controller learns of them, what is
//! retransmitted, and whether that was needed.

use super::{AckSummary, Detector, Episode, LossRecovery, NewReno, Pipe, Probe, Prr, Rule, Sender};
use crate::config::Recovery;
use crate::path::Cx;
use crate::path::scoreboard::{REPEATED, SACKED};
use alloc::boxed::Box;
use forebay_base::Time;
use forebay_cc::{Congestion, CongestionCause, Recovered, RecoveryOwner, Timeout};

impl LossRecovery {
    /// Look for losses and answer them. Returns true if there were any.
    pub(in crate::path) fn find_losses(
        &mut self,
        sender: &mut Sender,
        cx: &mut Cx<'_>,
        summary: &AckSummary,
        ends: bool,
    ) -> bool {
        if let Some(rack) = self.detector.rack() {
            rack.end_ack(summary.dsack.is_some(), summary.una, sender.nxt());
        }
        let partial = !ends && summary.advanced() && self.repairs_one_by_one();
        if !partial && !self.detector.is_due(sender.board(), self.dupacks) {
            self.loss_at = Time::MAX;
            if self.unanswered_loss.is_some() && !ends {
                self.answer_losses(sender, cx, Some(summary), None);
            }
            return false;
        }
        let (segments, repeat) = self.detect(sender, cx, partial);
        if !ends {
            self.answer_losses(sender, cx, Some(summary), repeat);
        }
        segments > 0
    }

    /// Recovery by RFC 6582: the ACK shows the next hole.
    fn repairs_one_by_one(&self) -> bool {
        self.episode.as_ref().is_some_and(|e| matches!(e.rule, Rule::NewReno(_)))
    }

    /// Run the detector. Returns how many segments it found lost, and the highest retransmitted
    /// transmission among them.
    fn detect(
        &mut self,
        sender: &mut Sender,
        cx: &mut Cx<'_>,
        partial: bool,
    ) -> (u32, Option<u64>) {
        let evidence = self.evidence(cx.now, sender);
        let point = self.episode.as_ref().map_or(self.recovery_point, |e| e.point);
        let (board, mut losses) = sender.losses(cx.now, cx.counters);
        let next = self.detector.detect(&evidence, board, &mut losses);
        if partial && !board.is_empty() {
            let first = *board.get(0);
            if first.outstanding() && !first.is(REPEATED) {
                losses.declare(board, 0);
            }
            self.force_retransmit = true;
        }
        let found = (losses.segments, losses.repeat);
        let beyond = losses.highest.filter(|&start| start >= point);
        self.loss_at = next.unwrap_or(Time::MAX);
        self.unanswered_loss = self.unanswered_loss.max(beyond);
        found
    }

    /// Congestion, at most once per window: enter recovery, or respond to the loss of a
    /// retransmission.
    fn answer_losses(
        &mut self,
        sender: &mut Sender,
        cx: &mut Cx<'_>,
        summary: Option<&AckSummary>,
        repeat: Option<u64>,
    ) {
        if self.episode.is_none() {
            let una = sender.una();
            self.unanswered_loss = self.unanswered_loss.filter(|&start| start >= una);
            if self.unanswered_loss.is_some() && self.is_beyond_recovery_point(sender) {
                self.enter_recovery(sender, cx, summary);
            }
        } else if repeat.is_some_and(|number| number >= self.reduced_at_number) {
            self.reduce(sender, cx.now, CongestionCause::LostRetransmission);
            let target = sender.limits().cwnd_bytes;
            let recover_fs = recover_fs(sender, summary);
            if let Some(Rule::Prr(prr)) = self.episode.as_mut().map(|e| &mut e.rule) {
                *prr = Prr::new(target, recover_fs);
            }
        }
    }

    /// Notify the controller, once for what has been sent so far.
    fn reduce(&mut self, sender: &mut Sender, now: Time, cause: CongestionCause) {
        let event = Congestion {
            cause,
            flight_size_bytes: self.flight_size(sender),
            cwnd_limited: sender.was_window_full(sender.una()),
        };
        sender.on_congestion(now, &event);
        self.note_reduction(sender);
    }
    /// The window is reduced, once for what has been sent so far.
    fn note_reduction(&mut self, sender: &Sender) {
        self.reduced_at_number = sender.next_number();
        self.send_cwr = self.agreed.ecn.is_some();
        let delivered = sender.rate().delivered();
        self.delivered_between = delivered - self.delivered_at_loss;
        self.delivered_at_loss = delivered;
    }
    /// FlightSize (RFC 5681), limited transmit left out.
    fn flight_size(&self, sender: &Sender) -> u64 {
        sender.outstanding().saturating_sub(self.limited_bytes)
    }

    fn enter_recovery(
        &mut self,
        sender: &mut Sender,
        cx: &mut Cx<'_>,
        summary: Option<&AckSummary>,
    ) {
        self.unanswered_loss = None;
        let point = sender.nxt();
        // The mark and the loss may be of one window: then it was answered (RFC 3168 section
        // 6.1.2).
        if sender.una() >= self.ecn_point {
            self.reduce(sender, cx.now, CongestionCause::Loss);
        }
        let target = sender.limits().cwnd_bytes;
        let rule = match (self.owner, cx.config.recovery) {
            (RecoveryOwner::Controller, _) => Rule::Controller,
            (_, Recovery::NewReno) if !self.detector.wants_arrivals() => {
                Rule::NewReno(NewReno::new(target, sender.mss()))
            }
            _ if !self.agreed.sack && matches!(self.detector, Detector::DupThresh) => {
                Rule::NewReno(NewReno::new(target, sender.mss()))
            }
            (_, Recovery::Pipe) => Rule::Pipe(Pipe::new(first_end(sender))),
            _ => Rule::Prr(Prr::new(target, recover_fs(sender, summary))),
        };
        self.force_retransmit =
            !matches!(rule, Rule::Controller) && sender.board().lost_segments() > 0;
        let episode = Episode { point, rule, partial_seen: false, entered: false };
        self.episode = Some(Box::new(episode));
        self.recovery_point = point;
        self.question_recovery(cx.now);
        self.probe_at = Time::MAX;
        cx.counters.recoveries += 1;
    }

    /// Let the rule of the recovery see an ACK, the last one excepted.
    pub(in crate::path) fn advance_recovery(
        &mut self,
        sender: &Sender,
        summary: &AckSummary,
        found: bool,
    ) {
        let (mss, in_flight) = (sender.mss(), sender.in_flight());
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

    /// This ACK reaches the recovery point of the episode.
    pub(in crate::path) fn is_ended_by(&self, summary: &AckSummary) -> bool {
        let point = self.episode.as_ref().map(|e| e.point);
        point.is_some_and(|point| summary.advanced() && summary.una >= point)
    }
    /// The repair of a loss or a timeout is over, if this ACK reaches the last recovery point. Not
    /// to be called if this ACK has shown that there was nothing to repair.
    pub(in crate::path) fn pass_recovery_point(&mut self, summary: &AckSummary) {
        let passed = summary.prior_una < self.recovery_point && self.recovery_point <= summary.una;
        if passed && let Some(rack) = self.detector.rack() {
            rack.on_recovered();
        }
    }
    /// The recovery point is acknowledged.
    pub(in crate::path) fn leave_recovery(&mut self, now: Time, sender: &mut Sender) {
        let Some(episode) = self.episode.take() else { return };
        let cap = matches!(episode.rule, Rule::NewReno(_))
            .then(|| sender.outstanding().max(sender.mss()) + sender.mss());
        self.dupacks = 0;
        sender.on_recovered(now, &Recovered { cwnd_cap_bytes: cap });
    }

    /// ECE came: one response per window, losses counted (RFC 3168 section 6.1.2).
    pub(in crate::path) fn on_ecn_echo(&mut self, sender: &mut Sender, cx: &mut Cx<'_>) {
        let una = sender.una();
        // The acknowledged data was sent before the last response.
        if una <= self.ecn_point || una <= self.recovery_point || self.episode.is_some() {
            return;
        }
        self.ecn_point = sender.nxt();
        cx.counters.ecn_responses += 1;
        let at_floor = sender.limits().cwnd_bytes <= sender.mss();
        self.reduce(sender, cx.now, CongestionCause::Ecn);
        if at_floor {
            // One segment is already the least: send the next one when the timer would expire.
            let rto = self.rtt.rto();
            sender.hold_until(cx.now + rto);
        }
    }

    /// The outcome of a tail loss probe (RFC 8985 section 7.4.2).
    pub(in crate::path) fn check_probe(
        &mut self,
        sender: &mut Sender,
        cx: &mut Cx<'_>,
        summary: &AckSummary,
        ends: bool,
    ) {
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
            self.enter_recovery(sender, cx, Some(summary));
        }
    }

    /// It is `cx.now`: look for losses, if the detector asked for it.
    pub(in crate::path) fn on_loss_timer(&mut self, sender: &mut Sender, cx: &mut Cx<'_>) {
        if self.loss_at > cx.now {
            return;
        }
        self.loss_at = Time::MAX;
        let (_, repeat) = self.detect(sender, cx, false);
        self.answer_losses(sender, cx, None, repeat);
        let (mss, in_flight) = (sender.mss(), sender.in_flight());
        if let Some(Episode { rule: Rule::Prr(prr), entered, .. }) = self.episode.as_deref_mut() {
            *entered = true;
            prr.on_loss_timer(in_flight, mss);
        }
    }

    /// The retransmission timer expired (RFC 6298 5.4 to 5.6; RFC 5681 section 3.1; RFC 8985
    /// section 6.3). False if that was one time too many in a row.
    pub(in crate::path) fn on_rto(
        &mut self,
        sender: &mut Sender,
        cx: &mut Cx<'_>,
        established: bool,
    ) -> bool {
        if sender.board().is_empty() {
            self.rto_at = Time::MAX;
            return true;
        }
        // The controller may have changed its mind at the last timeout.
        self.adopt_policy(sender, cx.config);
        cx.counters.timeouts += 1;
        self.retries += 1;
        self.rtt.back_off();
        self.rearm_rto(cx.now, sender);
        if self.retries > cx.config.max_retries {
            return false;
        }
        let first = self.retries == 1;
        // Data that has arrived out of order is not in flight: after a loss it may be most of the
        // window.
        let flight = self.flight_size(sender).saturating_sub(sender.board().sacked_bytes());
        let answered = self.is_answered(sender);
        let again = self.is_after_timeout(sender);
        let questioned = first && self.episode.is_none() && !self.is_after_timeout(sender);
        if sender.board().get(0).is(SACKED) {
            sender.forget_sacks();
        }
        self.mark_all_lost(sender, cx);
        self.episode = None;
        self.unanswered_loss = None;
        self.probe = None;
        self.probe_due = false;
        self.probe_at = Time::MAX;
        self.loss_at = Time::MAX;
        self.dupacks = 0;
        self.limited_bytes = 0;
        self.force_retransmit = true;
        if !established {
            return true; // a SYN
        }
        self.spurious = SpuriousCheck::None;
        if questioned {
            self.question_timeout(cx.now, sender);
        }
        let probe = first && !again && self.detector.path_stores();
        self.recovery_point = sender.nxt();
        if probe {
            cx.counters.tail_probes += 1;
            return true; // the path may hold what was sent: nobody is told
        }
        self.note_reduction(sender);
        let timeout = Timeout { flight_size_bytes: flight, first: first && !answered };
        sender.on_rto(cx.now, &timeout);
        true
    }

    /// The window in flight was reduced already, for a loss or a mark: Linux, tcp_enter_loss,
    /// reduces ssthresh only if it "has not yet been made inside this window". Without SACK nothing
    /// shows how much of the flight has arrived: RFC 5681 eq. 4 by the letter.
    fn is_answered(&self, sender: &Sender) -> bool {
        let transport = self.owner == RecoveryOwner::Transport;
        let marked = sender.una() < self.ecn_point;
        transport && self.agreed.sack && (self.episode.is_some() || marked)
    }

    /// The timer expired: what the detector takes for lost then.
    fn mark_all_lost(&mut self, sender: &mut Sender, cx: &mut Cx<'_>) {
        let evidence = self.evidence(cx.now, sender);
        let again = self.is_after_timeout(sender);
        let overdue = self.detector.on_timeout(&evidence, sender.board(), again);
        let (board, mut losses) = sender.losses(cx.now, cx.counters);
        for index in 0..board.len() {
            let s = board.get(index);
            if s.outstanding() && overdue.has(cx.now, index, s) {
                losses.declare(board, index);
            }
        }
    }
}

/// RecoverFS (RFC 9937): what was outstanding and not SACKed before this ACK.
fn recover_fs(sender: &Sender, summary: Option<&AckSummary>) -> u64 {
    let (sacked, acked) = summary.map_or((0, 0), |n| (n.sacked, n.acked));
    sender.outstanding().saturating_sub(sender.board().sacked_bytes()) + sacked + acked
}

/// End of the first segment on the scoreboard.
fn first_end(sender: &Sender) -> u64 {
    let board = sender.board();
    if board.is_empty() { board.nxt() } else { board.get(0).end() }
}

/// Was the retransmission needed? What waits for evidence.
///
/// Eifel detection (RFC 3522): timestamps show which transmission an ACK acknowledges, after a
/// timeout and in recovery. Without timestamps but with SACK new data decides after a timeout
/// (F-RTO, RFC 5682 section 3). [`Controller::on_spurious`] gives back the window (RFC 4015).
///
/// [`Controller::on_spurious`]: forebay_cc::Controller::on_spurious
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SpuriousCheck {
    #[default]
    None,
    /// Eifel: an ACK that advances and echoes less than this, in ms, answers an earlier
    /// transmission.
    Echo(u32),
    /// F-RTO: the first segment was retransmitted and its ACK is awaited. SND.NXT then.
    FirstAck { nxt: u64 },
    /// F-RTO: up to this many new segments leave instead of retransmissions, and the next ACK
    /// decides.
    SecondAck { nxt: u64, new_segments: u8 },
}

impl SpuriousCheck {
    /// New data goes before what is declared lost.
    pub(super) fn wants_new_data(&self) -> bool {
        matches!(self, SpuriousCheck::SecondAck { new_segments: 1.., .. })
    }
    /// A new segment was sent.
    pub(super) fn on_new_segment(&mut self) {
        if let SpuriousCheck::SecondAck { new_segments, .. } = self {
            *new_segments = new_segments.saturating_sub(1);
        }
    }
}

impl LossRecovery {
    /// The timer expired for the first time for this data, outside recovery.
    pub(super) fn question_timeout(&mut self, now: Time, sender: &Sender) {
        self.spurious = match (self.agreed.timestamps, self.agreed.sack) {
            (true, _) => SpuriousCheck::Echo(now.as_millis() as u32),
            (false, true) => SpuriousCheck::FirstAck { nxt: sender.nxt() },
            (false, false) => SpuriousCheck::None,
        };
    }
    /// Recovery begins: only timestamps can decide.
    pub(super) fn question_recovery(&mut self, now: Time) {
        let now_ms = now.as_millis() as u32;
        let timestamps = self.agreed.timestamps;
        self.spurious = if timestamps { SpuriousCheck::Echo(now_ms) } else { SpuriousCheck::None };
    }

    /// See what an ACK says of the retransmission that is in question, if one is. True if it was
    /// not needed, so that the window was given back.
    pub(in crate::path) fn check_spurious(
        &mut self,
        now: Time,
        sender: &mut Sender,
        summary: &AckSummary,
    ) -> bool {
        let needless = match self.spurious {
            SpuriousCheck::Echo(repeat_ms) if summary.advanced() => {
                self.spurious = SpuriousCheck::None;
                let older = |echo: u32| (echo.wrapping_sub(repeat_ms) as i32) < 0;
                summary.echo_ms.is_some_and(older)
            }
            SpuriousCheck::FirstAck { nxt } if summary.advanced() || summary.duplicate => {
                let goes_on = summary.advanced() && summary.una < nxt && sender.has_new_data();
                self.spurious = SpuriousCheck::None;
                if goes_on {
                    self.spurious = SpuriousCheck::SecondAck { nxt, new_segments: 2 };
                }
                false
            }
            SpuriousCheck::SecondAck { nxt, .. } if summary.advanced() || summary.duplicate => {
                // What was sent once only, before the timeout, has arrived: the others are on their
                // way too.
                self.spurious = SpuriousCheck::None;
                summary.lowest_original.is_some_and(|end| end <= nxt)
            }
            _ => false,
        };
        if needless {
            self.undo(now, sender);
        }
        needless
    }

    /// The response of RFC 4015: nothing was lost.
    fn undo(&mut self, now: Time, sender: &mut Sender) {
        self.episode = None;
        self.force_retransmit = false;
        self.unanswered_loss = None;
        self.recovery_point = sender.una();
        self.detector.on_undone();
        sender.on_spurious(now);
    }
}

//! The timers that end in a retransmission or a probe.

use super::{AckSummary, Detector, LossRecovery, Receiver, Rule, Sender};
use forebay_base::{Span, Time};

/// Wait for a tail loss probe without an RTT estimate (RFC 8985 section 7.2).
const PROBE_WITHOUT_RTT: Span = Span::from_secs(1);
/// TLP.max_ack_delay where this end's own policy says nothing: the shortest delay that common
/// stacks use.
const MAX_ACK_DELAY: Span = Span::from_millis(40);
/// What Linux adds to 2 SRTT where several segments are in flight (`TCP_TIMEOUT_MIN_US`).
const LINUX_LEAST_WAIT: Span = Span::from_millis(2);

impl LossRecovery {
    /// When the retransmission timer expires, [`Time::MAX`] if it is not armed.
    #[inline]
    pub(in crate::path) fn rto_deadline(&self) -> Time {
        self.rto_at
    }
    /// When the retransmission timer or the tail loss probe is due.
    #[inline]
    pub(in crate::path) fn rto_or_probe_deadline(&self) -> Time {
        self.rto_at.min(self.probe_at)
    }
    /// When to look for losses though no ACK comes.
    #[inline]
    pub(in crate::path) fn loss_deadline(&self) -> Time {
        self.loss_at
    }

    /// Restart the retransmission timer if anything is outstanding, else stop it (RFC 6298 5.2,
    /// 5.3).
    #[inline]
    pub(in crate::path) fn rearm_rto(&mut self, now: Time, sender: &Sender) {
        self.rto_at =
            if sender.board().is_empty() { Time::MAX } else { now + self.timeout(now, sender) };
    }
    /// The retransmission timeout in force. The board is not empty.
    #[inline]
    fn timeout(&self, now: Time, sender: &Sender) -> Span {
        match &self.detector {
            Detector::Patient(patient) if self.retries == 0 => {
                let board = sender.board();
                let repairs = board.has_repeats() && !board.has_originals();
                let Some(mut wait) = patient.probe_wait(repairs) else { return self.rtt.rto() };
                if !repairs && let Some(due) = patient.due(board) {
                    wait += due.since(now);
                }
                wait.min(self.rtt.rto())
            }
            _ => self.rtt.rto(),
        }
    }
    /// The peer opened its window: the path is alive.
    pub(in crate::path) fn on_window_open(&mut self, now: Time, sender: &Sender) {
        self.rtt.collapse();
        self.rearm_rto(now, sender);
    }
    /// The persist timer expired. Returns after how long the next probe is due.
    pub(in crate::path) fn on_persist_timer(&mut self) -> Span {
        self.rtt.back_off();
        self.rtt.rto()
    }

    /// Arm the tail loss probe after new data or an ACK that advances, if the path is established
    /// (RFC 8985 section 7.2).
    #[inline]
    pub(in crate::path) fn rearm_probe(
        &mut self,
        now: Time,
        sender: &Sender,
        receiver: &Receiver,
        established: bool,
    ) {
        self.probe_at = Time::MAX;
        let allowed = established
            && sender.board().sacked().is_empty()
            && self.episode.is_none()
            && sender.una() >= self.recovery_point
            && self.probe.is_none();
        if allowed {
            self.rearm_probe_fast(now, sender, receiver);
        }
    }
    /// The same on the fast path.
    #[inline]
    fn rearm_probe_fast(&mut self, now: Time, sender: &Sender, receiver: &Receiver) {
        self.probe_at = Time::MAX;
        let allowed = matches!(self.detector, Detector::Rack(_))
            && !sender.board().is_empty()
            && self.sampled_since_probe;
        if !allowed {
            return;
        }
        let wait = self.rtt.srtt().map_or(PROBE_WITHOUT_RTT, |srtt| {
            srtt * 2 + self.probe_allowance(sender.board().len() == 1, receiver)
        });
        self.probe_at = (now + wait).min(self.rto_at);
    }
    /// What a probe waits beside 2 SRTT. `alone`: one segment is in flight, whose ACK the peer may
    /// delay. Linux (`tcp_schedule_loss_probe`) then waits for its smallest RTO.
    #[inline]
    fn probe_allowance(&self, alone: bool, receiver: &Receiver) -> Span {
        match (self.rtt.linux_floor(), alone) {
            (Some(floor), true) => floor,
            (Some(_), false) => LINUX_LEAST_WAIT,
            // The peer most likely runs the policy of this end.
            (None, true) => receiver.longest_delay().unwrap_or(MAX_ACK_DELAY),
            (None, false) => Span::ZERO,
        }
    }
    /// New data left, on the fast path.
    #[inline(always)]
    pub(in crate::path) fn on_new_data(&mut self, now: Time, sender: &Sender, receiver: &Receiver) {
        if self.rto_at == Time::MAX {
            self.rearm_rto(now, sender);
        }
        self.rearm_probe_fast(now, sender, receiver);
    }
    /// [`LossRecovery::on_run`] has taken an RTT sample, which has ended back-off.
    #[inline(always)]
    pub(in crate::path) fn rearm_after_run(
        &mut self,
        now: Time,
        sender: &Sender,
        receiver: &Receiver,
    ) {
        self.rearm_rto(now, sender);
        self.rearm_probe_fast(now, sender, receiver);
    }

    /// True if data was SACKed that was sent before the last transmission of the first segment:
    /// Linux, `tcp_clean_rtx_queue`, restarts the timer then. RFC 6675 section 6 allows more, a
    /// restart with each retransmission in recovery. What was sent after the head's last
    /// transmission says nothing new about it: the timer would never end.
    fn predates_head(sender: &Sender, summary: &AckSummary) -> bool {
        let head_sent = sender.board().get(0).sent_at; // the board holds what was SACKed
        summary.first_original_sent.is_some_and(|sent| sent < head_sent)
    }
    /// An ACK has been processed on an established path.
    pub(in crate::path) fn rearm_after_ack(
        &mut self,
        now: Time,
        sender: &Sender,
        receiver: &Receiver,
        summary: &AckSummary,
    ) {
        if !summary.advanced() {
            if summary.sacked > 0 {
                self.probe_at = Time::MAX;
                let patient = matches!(self.detector, Detector::Patient(_));
                if patient || LossRecovery::predates_head(sender, summary) {
                    self.rearm_rto(now, sender); // the path is alive, the hole has its own timer
                }
            }
            return;
        }
        // RFC 6582 section 3.2 step 3: of the partial ACKs only the first one restarts the timer.
        let keeps = self.episode.as_mut().is_some_and(|e| {
            let newreno = matches!(e.rule, Rule::NewReno(_));
            core::mem::replace(&mut e.partial_seen, true) && newreno
        });
        if let Detector::Patient(_) = self.detector {
            // Where all that is left was sent twice there may be no sample for long (Karn), and
            // one segment each back-off.
            self.rtt.collapse();
        }
        if !keeps || sender.board().is_empty() {
            self.rearm_rto(now, sender);
        }
        self.rearm_probe(now, sender, receiver, true);
    }

    /// It is `now`: send a tail loss probe, if it is due.
    pub(in crate::path) fn on_probe_timer(&mut self, now: Time, sender: &Sender) {
        if self.probe_at > now {
            return;
        }
        self.probe_at = Time::MAX;
        if sender.board().is_empty() {
            return;
        }
        self.probe_due = true;
        self.sampled_since_probe = false;
        self.rearm_rto(now, sender);
    }
}

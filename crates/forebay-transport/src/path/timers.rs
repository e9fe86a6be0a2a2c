//! The deadlines of a path, and what happens when they come.

use super::loss::Detector;
use super::{Cx, Path, State};
use forebay_base::{Span, Time};
use forebay_cc::{AckDemand, Controller, Feedback};

/// Wait for a tail loss probe without an RTT estimate (RFC 8985 section 7.2).
const PROBE_WITHOUT_RTT: Span = Span::from_secs(1);
/// TLP.max_ack_delay where this end's own policy says nothing: the shortest delay that common stacks use.
const MAX_ACK_DELAY: Span = Span::from_millis(40);

/// [`Time::MAX`] where not armed.
#[derive(Debug)]
pub(super) struct Timers {
    /// Retransmission (RFC 6298 section 5).
    pub rto: Time,
    /// Tail loss probe (RFC 8985 section 7).
    pub probe: Time,
    /// Loss that no ACK will show: reordering window, per-packet timer.
    pub loss: Time,
    /// Zero-window probe (RFC 9293 section 3.8.6.1).
    pub persist: Time,
    /// Next release of the pacer, while a packet waits for it.
    pub pace: Time,
    /// Not later than any of them, nor than those of the ACK schedule, controller and feedback.
    pub next: Time,
}

impl Default for Timers {
    fn default() -> Timers {
        let never = Time::MAX;
        Timers { rto: never, probe: never, loss: never, persist: never, pace: never, next: never }
    }
}

impl Path {
    /// When [`Path::on_timeout`] is due.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Time {
        self.timers.next
    }

    /// When the retransmission timer expires, [`Time::MAX`] if it is not armed.
    pub(crate) fn times_out(&self) -> Time {
        self.timers.rto
    }

    /// The same without the clocks of controller and feedback, which may tick for ever.
    #[inline]
    pub(crate) fn own_timeout(&self) -> Time {
        let t = &self.timers;
        let own = t.rto.min(t.probe).min(t.loss).min(t.persist).min(t.pace);
        own.min(self.acks.deadline())
    }

    /// Bring what is cached up to date: at the end of everything that takes `&mut self`.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        let (regular, no_sacks) = (self.sender_is_regular(), self.recv.has_no_sack_blocks());
        self.fast.fast_path = regular && no_sacks;
        self.fast.rx_out_of_order = regular && !no_sacks && self.only_receives();
        self.fast.sack_recovery = !regular && self.in_sack_recovery();
        self.fast.ack_cannot_lose = self.ack_cannot_lose();
        let mut next = self.own_timeout();
        if let Some(at) = self.controller.next_timeout() {
            next = next.min(at);
        }
        if !self.no_feedback
            && let Some(at) = self.feedback.next_timeout()
        {
            next = next.min(at);
        }
        self.timers.next = if self.state == State::Dead { Time::MAX } else { next };
        self.update_send_limit();
    }

    /// The same where the path was calm, and is. A deadline that moves on leaves the earliest where it is: it may come early, and
    /// then [`Path::refresh`] finds the next one. What it may never be is late.
    #[inline]
    pub(super) fn lower_deadline(&mut self) {
        let t = &mut self.timers;
        t.next = t.next.min(t.rto).min(t.probe); // neither a loss nor a window is waited for
        if let Some(at) = self.controller.next_timeout() {
            t.next = t.next.min(at);
        }
        if !self.fast.header_only {
            t.next = t.next.min(t.pace);
            if let Some(at) = self.feedback.next_timeout() {
                t.next = t.next.min(at);
            }
        }
    }

    /// A deadline came, or not yet: each timer looks for itself.
    pub(crate) fn on_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.timers.next > cx.now {
            return;
        }
        let now = cx.now;
        if self.timers.pace <= now {
            self.timers.pace = Time::MAX; // the packet waits in poll
        }
        self.acks.on_timeout(now);
        if self.controller.next_timeout().is_some_and(|at| at <= now) {
            self.controller.on_timer(now);
        }
        if !self.no_feedback
            && self.feedback.next_timeout().is_some_and(|at| at <= now)
            && self.feedback.on_timer(now) == AckDemand::Now
        {
            self.acks.demand();
        }
        if self.timers.loss <= now {
            self.timers.loss = Time::MAX;
            self.on_loss_timer(cx);
        }
        if self.timers.probe <= now {
            self.on_probe_timer(cx);
        }
        if self.timers.persist <= now {
            self.window_probe_due = true;
            self.rtt.back_off();
            self.timers.persist = now + self.rtt.rto();
        }
        if self.timers.rto <= now {
            self.on_rto(cx);
        }
        self.refresh();
    }

    /// Restart the retransmission timer if anything is outstanding, else stop it (RFC 6298 5.2, 5.3).
    #[inline]
    pub(super) fn rearm_rto(&mut self, now: Time) {
        self.timers.rto = if self.board.is_empty() { Time::MAX } else { now + self.rtt.rto() };
    }

    /// Arm the tail loss probe after new data or an ACK that advances (RFC 8985 section 7.2).
    #[inline]
    pub(super) fn rearm_probe(&mut self, cx: &Cx<'_>) {
        self.timers.probe = Time::MAX;
        let allowed = matches!(self.detector, Detector::Rack(_))
            && self.state == State::Established
            && !self.board.is_empty()
            && self.board.sacked().is_empty()
            && self.episode.is_none()
            && self.board.una() >= self.recovery_point
            && self.probe.is_none()
            && self.sampled_since_probe;
        if allowed {
            self.arm_probe(cx.now);
        }
    }
    /// The same for a path with an open fast path.
    #[inline]
    pub(super) fn rearm_probe_fast(&mut self, now: Time) {
        self.timers.probe = Time::MAX;
        let allowed = matches!(self.detector, Detector::Rack(_))
            && !self.board.is_empty()
            && self.sampled_since_probe;
        if allowed {
            self.arm_probe(now);
        }
    }
    #[inline]
    fn arm_probe(&mut self, now: Time) {
        let mut wait = self.rtt.srtt().map_or(PROBE_WITHOUT_RTT, |srtt| srtt * 2);
        if self.board.len() == 1 {
            // The peer most likely runs the policy of this end.
            wait += self.acks.longest_delay().unwrap_or(MAX_ACK_DELAY);
        }
        self.timers.probe = (now + wait).min(self.timers.rto);
    }

    fn on_probe_timer(&mut self, cx: &Cx<'_>) {
        self.timers.probe = Time::MAX;
        if self.board.is_empty() {
            return;
        }
        self.probe_due = true;
        self.sampled_since_probe = false;
        self.rearm_rto(cx.now);
    }

    /// Arm the persist timer while data waits for a window and nothing is outstanding that would bring an ACK.
    pub(super) fn rearm_persist(&mut self, cx: &Cx<'_>) {
        if self.timers.persist == Time::MAX {
            self.timers.persist = cx.now + self.rtt.rto();
        }
    }
}

//! The deadlines of a path, and what happens when they come. Each part keeps its own; the path
//! keeps the earliest.

use super::{Cx, Path, State};
use forebay_base::Time;

impl Path {
    /// When [`Path::on_timeout`] is due.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Time {
        self.deadline
    }
    /// When the retransmission timer expires, [`Time::MAX`] if it is not armed.
    pub(crate) fn times_out(&self) -> Time {
        self.recovery.rto_deadline()
    }
    /// When [`Path::on_timeout`] is due, without the clocks of controller and feedback, which may
    /// tick for ever.
    #[inline]
    pub(crate) fn own_timeout(&self) -> Time {
        let Path { sender, recovery, receiver, .. } = self;
        let repair = recovery.rto_or_probe_deadline().min(recovery.loss_deadline());
        repair
            .min(sender.persist_deadline())
            .min(sender.pace_deadline())
            .min(receiver.ack_deadline())
    }

    /// When the first timer expires: [`Path::next_timeout`] may be earlier.
    #[inline]
    pub(crate) fn first_timer(&self) -> Time {
        if self.handshake.state() == State::Dead {
            return Time::MAX;
        }
        let own = self.own_timeout().min(self.receiver.feedback_deadline());
        self.sender.controller_deadline().map_or(own, |at| own.min(at))
    }

    /// Bring what is cached up to date: at the end of everything that takes `&mut self`.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        self.refresh_fast_path();
        self.deadline = self.first_timer();
    }
    /// What [`Path::refresh`] does for the deadline, where the fast path was open and is. A
    /// deadline that moves on leaves the earliest where it is: it may come early, and then
    /// [`Path::refresh`] finds the next one. It may never be late.
    #[inline]
    pub(super) fn lower_deadline(&mut self) {
        let Path { sender, recovery, receiver, fast, .. } = self;
        // Nothing waits for a loss or for the peer's window.
        let mut next = self.deadline.min(recovery.rto_or_probe_deadline());
        if let Some(at) = sender.controller_deadline() {
            next = next.min(at);
        }
        if !fast.is_header_only() {
            next = next.min(sender.pace_deadline()).min(receiver.feedback_deadline());
        }
        self.deadline = next;
    }
    /// The same for an ACK that waits.
    #[inline]
    pub(super) fn lower_ack_deadline(&mut self) {
        self.deadline = self.deadline.min(self.receiver.ack_deadline());
    }
    /// [`Path::poll`] has found a packet, or none. Where none leaves during SACK recovery, only the
    /// clock of the pacer may have changed.
    #[inline]
    pub(super) fn after_poll(&mut self, found: bool) {
        let paced = self.sender.pace_deadline() != Time::MAX;
        if found || paced || !self.fast.is_sack_recovery() {
            self.refresh();
        }
    }

    /// A deadline came, or not yet: each timer looks for itself.
    pub(crate) fn on_timeout(&mut self, cx: &mut Cx<'_>) {
        if self.deadline > cx.now {
            return;
        }
        let Path { handshake, sender, recovery, receiver, .. } = self;
        let now = cx.now;
        if sender.pace_deadline() <= now {
            sender.clear_pace(); // poll finds the packet
        }
        receiver.on_ack_timer(now);
        sender.on_controller_timer(now);
        receiver.on_feedback_timer(now);
        recovery.on_loss_timer(sender, cx);
        recovery.on_probe_timer(now, sender);
        if sender.persist_deadline() <= now {
            let rto = recovery.on_persist_timer();
            sender.on_persist_timer(now, rto);
        }
        if recovery.rto_deadline() <= now
            && !recovery.on_rto(sender, cx, handshake.is_established())
        {
            handshake.kill();
        }
        self.refresh();
    }
}

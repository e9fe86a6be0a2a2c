//! The stream of a sender: how far it was sent, what the application has written, where it ends.

use super::Sender;
use forebay_base::Time;

impl Sender {
    /// Payload bytes that were sent at least once.
    pub(in crate::path) fn sent_bytes(&self) -> u64 {
        self.board.nxt().saturating_sub(1).min(self.send_end - 1)
    }
    /// Payload bytes acknowledged in order.
    pub(in crate::path) fn acked_bytes(&self) -> u64 {
        self.board.una().saturating_sub(1).min(self.send_end - 1)
    }
    /// End of what may be sent.
    #[inline]
    pub(in crate::path) fn send_end(&self) -> u64 {
        self.send_end
    }
    #[inline]
    pub(in crate::path) fn is_fin_allowed(&self) -> bool {
        self.fin_allowed
    }
    /// The stream of this end may end now, if it has not yet.
    pub(in crate::path) fn allow_fin(&mut self) {
        self.fin_allowed = true;
    }
    #[inline]
    pub(in crate::path) fn is_fin_sent(&self) -> bool {
        self.board.nxt() > self.send_end
    }
    /// The peer acknowledged the FIN of this end.
    pub(in crate::path) fn is_fin_acked(&self) -> bool {
        self.fin_allowed && self.board.una() > self.send_end
    }
    /// The stream has been sent, and FIN if it may follow.
    #[inline]
    pub(in crate::path) fn has_sent_all(&self) -> bool {
        let nxt = self.board.nxt();
        nxt > self.send_end || (nxt == self.send_end && !self.fin_allowed)
    }
    /// Data or FIN has not been sent at all.
    #[inline]
    pub(in crate::path) fn has_unsent(&self) -> bool {
        self.board.nxt() < self.send_end || (self.fin_allowed && !self.is_fin_sent())
    }

    /// The application has `bytes` more to send.
    pub(in crate::path) fn write(&mut self, bytes: u64) {
        self.send_end = self.send_end.saturating_add(bytes);
    }
    /// Data was missing while the window of `cwnd` bytes was open: `tcp_rate_check_app_limited` of
    /// Linux (net/ipv4/tcp_rate.c), which asks this when the application writes.
    pub(in crate::path) fn note_app_limited(&mut self, cwnd: u64) {
        let starved = self.send_end.saturating_sub(self.board.nxt()) < self.mss()
            && self.board.in_flight() < cwnd
            && self.board.lost_segments() == 0;
        if starved {
            self.set_app_limited();
        }
    }
    /// What was not sent is not written, and the stream goes on; unless FIN was sent. True if
    /// anything may have changed.
    pub(in crate::path) fn hold(&mut self) -> bool {
        if self.is_fin_sent() {
            return false;
        }
        // The peer may have taken the byte of a window probe, which is not on the scoreboard.
        let sent = self.board.nxt().max(1).max(self.window_probe_end);
        self.send_end = self.send_end.min(sent);
        self.fin_allowed = false;
        if self.board.nxt() >= self.send_end {
            (self.persist_at, self.window_probe_due) = (Time::MAX, false);
        }
        true
    }
}

//! What the application has written, and that it writes no more.

use super::{Path, State};
use forebay_base::Time;
use forebay_cc::Controller;

impl Path {
    /// `bytes` more may be sent, behind what was written before. False, and nothing has changed, if
    /// the stream was closed.
    pub(crate) fn write(&mut self, bytes: u64) -> bool {
        if self.fin_allowed {
            return false;
        }
        self.note_app_limited();
        self.send_end = self.send_end.saturating_add(bytes);
        self.refresh();
        true
    }

    /// What was not sent is not written, and the stream goes on; unless FIN was sent. Bytes
    /// written.
    pub(crate) fn hold(&mut self) -> u64 {
        if !self.fin_sent() {
            // The peer may have taken the byte of a window probe, which is not on the scoreboard.
            let sent = self.board.nxt().max(1).max(self.window_probe_end);
            self.send_end = self.send_end.min(sent);
            self.fin_allowed = false;
            if self.board.nxt() >= self.send_end {
                (self.timers.persist, self.window_probe_due) = (Time::MAX, false);
            }
            self.refresh();
        }
        self.send_end - 1
    }

    /// FIN follows what was written. A stream without end ends with what was sent.
    pub(crate) fn close(&mut self) {
        if self.send_end == u64::MAX {
            self.hold();
        }
        self.fin_allowed = true;
        self.refresh();
    }

    /// Data was missing while the window was open: `tcp_rate_check_app_limited` of Linux
    /// (net/ipv4/tcp_rate.c), which asks this when the application writes.
    fn note_app_limited(&mut self) {
        let in_flight = self.board.in_flight();
        let starved = self.state == State::Established
            && self.send_end.saturating_sub(self.board.nxt()) < self.mss()
            && in_flight < self.cwnd(&self.controller.limits())
            && self.board.lost_segments() == 0;
        if starved {
            self.rate.set_app_limited(in_flight);
        }
    }
}

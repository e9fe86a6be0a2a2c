//! Was the retransmission needed? Eifel detection (RFC 3522): timestamps tell which transmission an ACK answers, after
//! a timeout and in recovery. What was taken is given back by [`Controller::on_spurious`] (RFC 4015).

use super::acks::News;
use super::{Cx, Path};
use forebay_cc::Controller;

impl Path {
    /// The first retransmission after a timeout or in a recovery leaves now: the next ACK that advances must echo it, or a later one.
    pub(super) fn suspect(&mut self, cx: &Cx<'_>) {
        self.suspect_ms = self.agreed.timestamps.then(|| cx.now.as_millis() as u32);
    }

    /// An ACK advances: does it answer a transmission from before the retransmission?
    pub(super) fn check_suspicion(&mut self, cx: &mut Cx<'_>, news: &News) {
        let Some(repeat_ms) = self.suspect_ms.filter(|_| news.advanced()) else { return };
        self.suspect_ms = None;
        let older = |echo: u32| (echo.wrapping_sub(repeat_ms) as i32) < 0;
        if news.echo_ms.is_some_and(older) {
            self.undo(cx);
        }
    }

    /// The response of RFC 4015: nothing was lost.
    fn undo(&mut self, cx: &mut Cx<'_>) {
        self.board.unmark_lost();
        self.episode = None;
        self.force_repeat = false;
        self.unanswered_loss = None;
        self.recovery_point = self.board.una();
        self.controller.on_spurious(cx.now);
    }
}

//! Was the retransmission needed? Eifel detection (RFC 3522) with timestamps, for timeouts and for recoveries; F-RTO
//! (RFC 5682) without them, for timeouts. What was taken is given back by [`Controller::on_spurious`] (RFC 4015).

use super::acks::News;
use super::{Cx, Path};
use forebay_cc::Controller;

/// What waits for evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Suspicion {
    #[default]
    None,
    /// Eifel: an ACK that advances and echoes less than this, in ms, answers an earlier transmission.
    Echo(u32),
    /// F-RTO: the first segment was sent again, its ACK is awaited. SND.NXT then.
    FirstAck { nxt: u64 },
    /// F-RTO: up to two new segments may leave instead of retransmissions; the second ACK decides.
    SecondAck { nxt: u64, new_segments: u8 },
}

impl Suspicion {
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        *self != Suspicion::None
    }
}

impl Path {
    /// The timer expired for the first time for this data, outside recovery: begin to doubt (RFC 5682 section 2.1 step 1).
    pub(super) fn suspect_timeout(&mut self, cx: &Cx<'_>) {
        self.suspicion = if self.agreed.timestamps {
            Suspicion::Echo(cx.now.as_millis() as u32)
        } else {
            Suspicion::FirstAck { nxt: self.board.nxt() }
        };
    }
    /// Recovery begins: only timestamps can tell.
    pub(super) fn suspect_recovery(&mut self, cx: &Cx<'_>) {
        self.suspicion = if self.agreed.timestamps {
            Suspicion::Echo(cx.now.as_millis() as u32)
        } else {
            Suspicion::None
        };
    }

    pub(super) fn check_suspicion(&mut self, cx: &mut Cx<'_>, news: &News) {
        match self.suspicion {
            Suspicion::None => {}
            Suspicion::Echo(repeat_ms) => {
                if news.advanced() {
                    self.suspicion = Suspicion::None;
                    let older = |echo: u32| (echo.wrapping_sub(repeat_ms) as i32) < 0;
                    if news.echo_ms.is_some_and(older) {
                        self.undo(cx);
                    }
                }
            }
            Suspicion::FirstAck { nxt } => {
                self.suspicion = Suspicion::None;
                if news.advanced() && news.una < nxt && self.may_send_new() {
                    self.suspicion = Suspicion::SecondAck { nxt, new_segments: 2 };
                }
            }
            Suspicion::SecondAck { nxt, .. } => {
                // What was sent once only, before the timeout, has arrived: the timeout was spurious (step 3).
                let original = news.lowest_original.is_some_and(|end| end <= nxt);
                if original && (news.advanced() || self.agreed.sack) {
                    self.suspicion = Suspicion::None;
                    self.undo(cx);
                } else if news.duplicate || news.advanced() {
                    self.suspicion = Suspicion::None;
                }
            }
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

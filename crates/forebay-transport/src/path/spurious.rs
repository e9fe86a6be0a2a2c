//! Was the retransmission needed? Eifel detection (RFC 3522): timestamps tell which transmission an ACK answers, after
//! a timeout and in recovery. Without timestamps but with SACK a timeout is questioned by new data (F-RTO, RFC 5682
//! section 3). What was taken is given back by [`Controller::on_spurious`] (RFC 4015).

use super::acks::AckSummary;
use super::{Cx, Path};
use forebay_cc::Controller;

/// What waits for evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SpuriousCheck {
    #[default]
    None,
    /// Eifel: an ACK that advances and echoes less than this, in ms, answers an earlier transmission.
    Echo(u32),
    /// F-RTO: the first segment was sent again and its ACK is awaited. SND.NXT then.
    FirstAck { nxt: u64 },
    /// F-RTO: up to this many new segments leave instead of retransmissions, and the next ACK decides.
    SecondAck { nxt: u64, new_segments: u8 },
}

impl SpuriousCheck {
    /// New data goes before what is taken for lost.
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

impl Path {
    /// The timer expired for the first time for this data, outside recovery.
    pub(super) fn question_timeout(&mut self, cx: &Cx<'_>) {
        self.spurious = match (self.negotiated.timestamps, self.negotiated.sack) {
            (true, _) => SpuriousCheck::Echo(cx.now.as_millis() as u32),
            (false, true) => SpuriousCheck::FirstAck { nxt: self.board.nxt() },
            (false, false) => SpuriousCheck::None,
        };
    }
    /// Recovery begins: only timestamps can tell.
    pub(super) fn question_recovery(&mut self, cx: &Cx<'_>) {
        let now_ms = cx.now.as_millis() as u32;
        self.spurious = if self.negotiated.timestamps {
            SpuriousCheck::Echo(now_ms)
        } else {
            SpuriousCheck::None
        };
    }

    pub(super) fn check_spurious(&mut self, cx: &mut Cx<'_>, summary: &AckSummary) {
        match self.spurious {
            SpuriousCheck::None => {}
            SpuriousCheck::Echo(repeat_ms) if summary.advanced() => {
                self.spurious = SpuriousCheck::None;
                let older = |echo: u32| (echo.wrapping_sub(repeat_ms) as i32) < 0;
                if summary.echo_ms.is_some_and(older) {
                    self.undo(cx);
                }
            }
            SpuriousCheck::FirstAck { nxt } if summary.advanced() || summary.duplicate => {
                let goes_on = summary.advanced() && summary.una < nxt && self.has_new_data();
                self.spurious = SpuriousCheck::None;
                if goes_on {
                    self.spurious = SpuriousCheck::SecondAck { nxt, new_segments: 2 };
                }
            }
            SpuriousCheck::SecondAck { nxt, .. } if summary.advanced() || summary.duplicate => {
                // What was sent once only, before the timeout, has arrived: the others are on their way too.
                let original = summary.lowest_original.is_some_and(|end| end <= nxt);
                self.spurious = SpuriousCheck::None;
                if original {
                    self.undo(cx);
                }
            }
            SpuriousCheck::Echo(_)
            | SpuriousCheck::FirstAck { .. }
            | SpuriousCheck::SecondAck { .. } => {}
        }
    }
    /// A full segment of new data could leave, as far as the peer's window goes.
    fn has_new_data(&self) -> bool {
        let nxt = self.board.nxt();
        nxt < self.send_end && nxt + self.mss().min(self.send_end - nxt) <= self.peer_edge
    }

    /// The response of RFC 4015: nothing was lost.
    fn undo(&mut self, cx: &mut Cx<'_>) {
        self.board.unmark_lost();
        self.episode = None;
        self.force_retransmit = false;
        self.unanswered_loss = None;
        self.recovery_point = self.board.una();
        self.controller.on_spurious(cx.now);
    }
}

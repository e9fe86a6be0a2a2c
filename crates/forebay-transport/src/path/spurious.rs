//! Was the retransmission needed? Eifel detection (RFC 3522): timestamps tell which transmission an ACK answers, after
//! a timeout and in recovery. Without timestamps but with SACK a timeout is questioned by new data (F-RTO, RFC 5682
//! section 3). What was taken is given back by [`Controller::on_spurious`] (RFC 4015).

use super::acks::News;
use super::{Cx, Path};
use forebay_cc::Controller;

/// What waits for evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doubt {
    #[default]
    None,
    /// Eifel: an ACK that advances and echoes less than this, in ms, answers an earlier transmission.
    Echo(u32),
    /// F-RTO: the first segment was sent again and its ACK is awaited. SND.NXT then.
    FirstAck { nxt: u64 },
    /// F-RTO: up to this many new segments leave instead of retransmissions, and the next ACK decides.
    SecondAck { nxt: u64, new_segments: u8 },
}

impl Doubt {
    /// New data goes before what is taken for lost.
    pub(super) fn asks(&self) -> bool {
        matches!(self, Doubt::SecondAck { new_segments: 1.., .. })
    }
    /// A new segment was sent.
    pub(super) fn on_new_segment(&mut self) {
        if let Doubt::SecondAck { new_segments, .. } = self {
            *new_segments = new_segments.saturating_sub(1);
        }
    }
}

impl Path {
    /// The timer expired for the first time for this data, outside recovery.
    pub(super) fn doubt_timeout(&mut self, cx: &Cx<'_>) {
        self.doubt = match (self.agreed.timestamps, self.agreed.sack) {
            (true, _) => Doubt::Echo(cx.now.as_millis() as u32),
            (false, true) => Doubt::FirstAck { nxt: self.board.nxt() },
            (false, false) => Doubt::None,
        };
    }
    /// Recovery begins: only timestamps can tell.
    pub(super) fn doubt_recovery(&mut self, cx: &Cx<'_>) {
        let now_ms = cx.now.as_millis() as u32;
        self.doubt = if self.agreed.timestamps { Doubt::Echo(now_ms) } else { Doubt::None };
    }

    pub(super) fn check_doubt(&mut self, cx: &mut Cx<'_>, news: &News) {
        match self.doubt {
            Doubt::None => {}
            Doubt::Echo(repeat_ms) if news.advanced() => {
                self.doubt = Doubt::None;
                let older = |echo: u32| (echo.wrapping_sub(repeat_ms) as i32) < 0;
                if news.echo_ms.is_some_and(older) {
                    self.undo(cx);
                }
            }
            Doubt::FirstAck { nxt } if news.advanced() || news.duplicate => {
                let goes_on = news.advanced() && news.una < nxt && self.has_new_data();
                self.doubt = Doubt::None;
                if goes_on {
                    self.doubt = Doubt::SecondAck { nxt, new_segments: 2 };
                }
            }
            Doubt::SecondAck { nxt, .. } if news.advanced() || news.duplicate => {
                // What was sent once only, before the timeout, has arrived: the others are on their way too.
                let original = news.lowest_original.is_some_and(|end| end <= nxt);
                self.doubt = Doubt::None;
                if original {
                    self.undo(cx);
                }
            }
            Doubt::Echo(_) | Doubt::FirstAck { .. } | Doubt::SecondAck { .. } => {}
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
        self.force_repeat = false;
        self.unanswered_loss = None;
        self.recovery_point = self.board.una();
        self.controller.on_spurious(cx.now);
    }
}

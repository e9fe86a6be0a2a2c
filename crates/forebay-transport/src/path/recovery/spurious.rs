//! Was the retransmission needed? Eifel detection (RFC 3522): timestamps tell which transmission an
//! ACK answers, after a timeout and in recovery. Without timestamps but with SACK new data decides
//! after a timeout (F-RTO, RFC 5682 section 3). [`Controller::on_spurious`] gives back the window
//! (RFC 4015).
//!
//! [`Controller::on_spurious`]: forebay_cc::Controller::on_spurious

use super::{AckSummary, LossRecovery, Sender};
use forebay_base::Time;

/// What waits for evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SpuriousCheck {
    #[default]
    None,
    /// Eifel: an ACK that advances and echoes less than this, in ms, answers an earlier
    /// transmission.
    Echo(u32),
    /// F-RTO: the first segment was sent again and its ACK is awaited. SND.NXT then.
    FirstAck { nxt: u64 },
    /// F-RTO: up to this many new segments leave instead of retransmissions, and the next ACK
    /// decides.
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

impl LossRecovery {
    /// The timer expired for the first time for this data, outside recovery.
    pub(super) fn question_timeout(&mut self, now: Time, sender: &Sender) {
        self.spurious = match (self.agreed.timestamps, self.agreed.sack) {
            (true, _) => SpuriousCheck::Echo(now.as_millis() as u32),
            (false, true) => SpuriousCheck::FirstAck { nxt: sender.nxt() },
            (false, false) => SpuriousCheck::None,
        };
    }
    /// Recovery begins: only timestamps can tell.
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
        sender.on_spurious(now);
    }
}

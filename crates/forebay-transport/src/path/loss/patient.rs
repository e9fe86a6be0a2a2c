//! RACK with a long reordering window, for networks that store packets for seconds and reorder
//! them:
//! [`LossPolicy::Patient`].
//!
//! [`LossPolicy::Patient`]: forebay_cc::LossPolicy::Patient

use super::{Evidence, Losses, Rack};
use crate::path::scoreboard::{REPEATED, Scoreboard, Segment};
use forebay_base::{Span, Time};

/// Lower bound on the RTO (RFC 6298 eq. 2.4), even if the configuration has a smaller one.
pub(crate) const MIN_RTO: Span = Span::from_secs(1);
/// How many reordering windows a packet may be late.
const WINDOWS: u64 = 3;

/// RACK, and how late packets were.
#[derive(Debug, Default)]
pub(crate) struct Patient {
    pub(super) rack: Rack,
    /// The largest delay with which a packet arrived after one that was sent later.
    late: Span,
}

impl Patient {
    /// Keeps what `rack` knows of arrivals.
    pub(super) fn from_rack(rack: Rack) -> Patient {
        Patient { rack, late: Span::ZERO }
    }

    /// `s` has arrived; the arguments are those of [`Rack::on_arrival`].
    pub(super) fn on_arrival(
        &mut self,
        now: Time,
        s: &Segment,
        sent_below: Option<u64>,
        echo_is_older: bool,
        min_rtt: Span,
    ) {
        if !s.is(REPEATED) && self.rack.is_older(s) {
            self.late = self.late.max(now.since(s.sent_at).saturating_sub(self.rack.rtt()));
        }
        self.rack.on_arrival(now, s, sent_below, echo_is_older, min_rtt);
    }

    /// max(RTO, RTT of the newest arrival + 3 W).
    pub(crate) fn loss_delay(&self, evidence: &Evidence) -> Span {
        let srtt = evidence.srtt.unwrap_or(Span::ZERO);
        let wnd = self.rack.widened(srtt / 4).max(self.late).min(srtt);
        evidence.rto.max(self.rack.rtt() + wnd * WINDOWS)
    }

    /// Declare what is overdue. Returns when to look again though no ACK comes.
    pub(super) fn detect(
        &self,
        evidence: &Evidence,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
    ) -> Option<Time> {
        self.rack.detect_after(self.loss_delay(evidence), evidence.now, board, losses)
    }
}

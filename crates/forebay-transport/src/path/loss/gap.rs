//! [`LossPolicy::GapTimer`]: a transmission is missing once a later one has arrived, and lost if it
//! is missing for srtt x num / den (Verus section 5.2). An ACK that is late, without a gap, is a
//! delay: it declares nothing.
//!
//! "Sent later" is a comparison of transmission numbers, so retransmissions follow the same rule.
//! What has arrived is known as RACK knows it. Where nothing arrives any more, the retransmission
//! timer sends the first segment again, and its ACK shows the gap.
//!
//! A wait of less than an RTT grows with each DSACK, to an RTT, as RACK's reordering window does.
//!
//! Without SACK nothing tells which of the later ones have arrived. Then only the first segment is
//! declared lost, a duplicate ACK shows that it is missing, and the retransmission timer takes
//! everything for lost (RFC 5681).
//!
//! [`LossPolicy::GapTimer`]: forebay_cc::LossPolicy::GapTimer

use super::{Evidence, Losses, Overdue, Rack};
use crate::path::scoreboard::{REPEATED, Scoreboard};
use alloc::collections::VecDeque;
use forebay_base::{Span, Time};

/// What is outstanding below a number was noticed missing, unless an earlier notice covers it.
#[derive(Clone, Copy, Debug)]
struct Notice {
    below: u64,
    at: Time,
}

/// For how long a missing transmission is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GapWait {
    /// A multiple of the smoothed RTT.
    Rtts {
        num: u32,
        den: u32,
    },
    Fixed(Span),
}

#[derive(Debug)]
pub(crate) struct GapTimer {
    wait: GapWait,
    sack: bool,
    pub(super) rack: Rack,
    /// In the order of both fields. At least one transmission was missing for each, so that there
    /// are no more than were in flight.
    notices: VecDeque<Notice>,
}

impl GapTimer {
    pub(super) fn new(wait: GapWait, sack: bool) -> GapTimer {
        assert!(!matches!(wait, GapWait::Rtts { den: 0, .. }), "a gap timer needs a denominator");
        GapTimer { wait, sack, rack: Rack::default(), notices: VecDeque::new() }
    }
    pub(super) fn is(&self, wait: GapWait, sack: bool) -> bool {
        (self.wait, self.sack) == (wait, sack)
    }
    /// None before the first RTT sample.
    fn wait(&self, evidence: &Evidence) -> Option<Span> {
        match self.wait {
            GapWait::Rtts { num, den } => {
                let srtt = evidence.srtt?;
                let wait = srtt.mul_div(num.into(), den.into());
                Some(wait.max(self.rack.widened(wait).min(srtt)))
            }
            GapWait::Fixed(wait) => Some(wait),
        }
    }
    /// ACKs show every gap, also that of a lost retransmission, so that the retransmission timer
    /// may start anew with each that brings news.
    pub(super) fn sees_gaps(&self) -> bool {
        self.sack
    }
    /// Nothing is sent after a tail, which only a probe shows (RFC 8985 section 7).
    pub(super) fn probes_tails(&self) -> bool {
        self.sack
    }
    /// The retransmission timer expired.
    pub(super) fn on_timeout(&self) -> Overdue {
        if self.sack { Overdue::First } else { Overdue::All }
    }
    /// What was declared lost was on its way: if it is missing still, it is noticed anew.
    pub(super) fn forget(&mut self) {
        self.notices.clear();
    }

    /// True if something may be missing.
    #[inline]
    pub(super) fn is_due(&self, board: &Scoreboard, dupacks: u32) -> bool {
        self.rack.is_due(board) || (!self.sack && dupacks > 0 && !board.is_empty())
    }
    /// Number of the last transmission that is missing, and one below which all that are
    /// outstanding are.
    fn missing(&self, evidence: &Evidence, board: &Scoreboard) -> Option<(u64, u64)> {
        if self.sack {
            let last = self.rack.last_older(board).map(|at| board.get(at).number)?;
            return Some((last, self.rack.newest()?));
        }
        let first = (!board.is_empty()).then(|| board.get(0)).filter(|s| s.outstanding())?;
        let duplicate = evidence.dupacks > 0 && evidence.may_enter && !first.is(REPEATED);
        (duplicate || self.rack.is_older(first)).then_some((first.number, first.number + 1))
    }
    /// Declare what is overdue. Returns when the next one will be. Before the first RTT sample
    /// there may be only the retransmission timer.
    pub(super) fn detect(
        &mut self,
        evidence: &Evidence,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
    ) -> Option<Time> {
        let wait = self.wait(evidence)?;
        let (last, below) = self.missing(evidence, board)?;
        if self.notices.back().is_none_or(|n| n.below <= last) {
            self.notices.push_back(Notice { below, at: evidence.now });
        }
        let overdue = self.pop_overdue(evidence.now, wait);
        let lost = |board: &Scoreboard, at: usize| {
            board.get(at).number < overdue && (self.sack || at == 0)
        };
        while let Some(at) = board.first_original().filter(|&at| lost(board, at)) {
            losses.declare(board, at);
        }
        while let Some(at) = board.first_repeat().filter(|&at| lost(board, at)) {
            losses.declare(board, at);
        }
        self.notices.front().map(|n| n.at + wait)
    }
    /// The number below which everything has been missing for `wait`.
    fn pop_overdue(&mut self, now: Time, wait: Span) -> u64 {
        let mut overdue = 0;
        while let Some(notice) = self.notices.front().filter(|n| n.at + wait <= now) {
            overdue = notice.below;
            self.notices.pop_front();
        }
        overdue
    }
}

//! RACK (RFC 8985 section 6): a packet is lost if one sent a reordering window later has arrived.
//!
//! Differs from RFC 8985 in: section 6.2 step 2 ignores the arrival of a retransmission where TSecr
//! is older than the retransmission. TSecr is the timestamp of the last segment in order (RFC 7323
//! section 4.3), so that it is older for every retransmission beyond a hole: a tail loss probe, or
//! what follows a lost retransmission, would say nothing, and only the retransmission timer could
//! go on. As in Linux this test is for what is acknowledged in order (`tcp_skb_spurious_retrans`);
//! for what is SACKed there is that of the RTT alone (`tcp_rack_advance`).
//!
//! "Sent after" is a comparison of transmission numbers. Segments that were sent once are walked in
//! stream order, which is the order of their transmission; those retransmitted in the order of
//! theirs.

use super::{Evidence, Losses};
use crate::path::scoreboard::{REPEATED, Scoreboard, Segment};
use forebay_base::{Span, Time};

/// SACKed segments from which on, without reordering seen, no time is given to late packets
/// (section 6.2 step 4).
const DUP_THRESH: u32 = super::DUP_THRESH;
/// Recoveries for which a window widened by DSACK stays (section 6.2 step 4).
const PERSIST: u8 = 16;

#[derive(Debug)]
pub(crate) struct Rack {
    /// Number of the newest transmission known to have arrived, and when it was sent.
    newest: Option<(u64, Time)>,
    /// Everything below this offset was sent before it.
    horizon: u64,
    /// RTT of what has arrived last: of several that one ACK shows, of the one that was sent last.
    rtt: Span,
    /// The number after that one's, until the ACK is taken in; then 0.
    shown: u64,
    /// Highest offset known to have arrived.
    fack: u64,
    reordering_seen: bool,
    reo_wnd_mult: u8,
    reo_wnd_persist: u8,
    /// SND.NXT at the DSACK that widened the window: one step a round trip.
    dsack_round: Option<u64>,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            newest: None,
            horizon: 0,
            rtt: Span::ZERO,
            shown: 0,
            fack: 0,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: PERSIST,
            dsack_round: None,
        }
    }
}

impl Rack {
    /// True if something sent before the newest arrival may be outstanding.
    #[inline]
    pub(super) fn is_due(&self, board: &Scoreboard) -> bool {
        self.newest.is_some_and(|(number, _)| !board.none_before(number, self.horizon))
    }

    /// True if nothing beyond `una` is known to have arrived or was sent before the newest arrival,
    /// and no DSACK round is open.
    #[inline]
    pub(super) fn ack_cannot_lose(&self, una: u64) -> bool {
        self.horizon <= una && self.fack <= una && self.dsack_round.is_none()
    }
    /// Steps 1 to 3 where [`Rack::ack_cannot_lose`]: everything up to `end` has arrived, the
    /// transmission `newest` last.
    #[inline]
    pub(super) fn on_run(&mut self, rtt: Span, newest: &Segment, end: u64) {
        (self.fack, self.horizon) = (end, end);
        self.newest = Some((newest.number, newest.sent_at));
        self.rtt = rtt;
    }

    /// Steps 1 to 3: `s` has arrived. `sent_below` is where SND.NXT stood when it was sent, if it
    /// was retransmitted. `echo_is_older`: the timestamp echo is that of an earlier copy.
    #[inline]
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        s: &Segment,
        sent_below: Option<u64>,
        echo_is_older: bool,
        min_rtt: Span,
    ) {
        let (repeated, end, rtt) = (s.is(REPEATED), s.end(), now.since(s.sent_at));
        if end > self.fack {
            self.fack = end;
        } else if end < self.fack && !repeated {
            self.reordering_seen = true;
        }
        if repeated && (echo_is_older || rtt < min_rtt) {
            return; // most likely the earlier copy
        }
        if s.number >= self.shown {
            (self.shown, self.rtt) = (s.number + 1, rtt);
        }
        if self.newest.is_none_or(|(number, _)| s.number > number) {
            self.newest = Some((s.number, s.sent_at));
            self.horizon = sent_below.unwrap_or(end);
        }
    }

    /// All that an ACK shows has been taken in. Step 4: it brought a DSACK, or a round has passed
    /// since the last one.
    pub(crate) fn end_ack(&mut self, dsack: bool, una: u64, nxt: u64) {
        self.shown = 0;
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(nxt);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = PERSIST;
        }
    }
    /// Recovery from loss or timeout is over, and was not undone (step 4; Linux,
    /// `tcp_try_undo_recovery`).
    pub(crate) fn on_recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }
    fn reo_wnd(&self, evidence: &Evidence, board: &Scoreboard) -> Span {
        let strict = evidence.in_recovery || board.sacked_segments() >= DUP_THRESH;
        if (!self.reordering_seen && strict) || evidence.min_rtt == Span::MAX {
            return Span::ZERO;
        }
        let wnd = evidence.min_rtt.mul_div(self.reo_wnd_mult.into(), 4);
        evidence.srtt.map_or(wnd, |srtt| wnd.min(srtt))
    }
    /// RTT of what has arrived last.
    pub(super) fn rtt(&self) -> Span {
        self.rtt
    }
    /// Number of the newest transmission known to have arrived.
    pub(super) fn newest(&self) -> Option<u64> {
        self.newest.map(|(number, _)| number)
    }
    /// Index of what was sent last of all that is outstanding and was sent before the newest
    /// arrival.
    pub(super) fn last_older(&self, board: &Scoreboard) -> Option<usize> {
        let original = board.last_original_below(self.horizon);
        let repeat = board.last_repeat_below(self.newest()?);
        [original, repeat].into_iter().flatten().max_by_key(|&at| board.get(at).number)
    }
    /// `s` was sent before the newest arrival.
    pub(super) fn is_older(&self, s: &Segment) -> bool {
        self.newest.is_some_and(|(number, _)| s.number < number)
    }
    /// Highest offset known to have arrived.
    pub(super) fn fack(&self) -> u64 {
        self.fack
    }
    /// A window as DSACKs have widened it.
    pub(super) fn widened(&self, window: Span) -> Span {
        window * u64::from(self.reo_wnd_mult)
    }
    /// A segment older than this is lost when the timer expires (section 6.3).
    pub(crate) fn loss_delay(&self, evidence: &Evidence, board: &Scoreboard) -> Span {
        self.rtt + self.reo_wnd(evidence, board)
    }

    /// Step 5. Returns when the last of the segments that are still waited for is due.
    pub(super) fn detect(
        &self,
        evidence: &Evidence,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
    ) -> Option<Time> {
        self.detect_after(self.loss_delay(evidence, board), evidence.now, board, losses)
    }
    /// Step 5 with another reordering window: what was sent `loss_delay` ago is lost.
    #[inline]
    pub(super) fn detect_after(
        &self,
        loss_delay: Span,
        now: Time,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
    ) -> Option<Time> {
        let (newest, _) = self.newest?;
        let waits = |s: &Segment| s.sent_at + loss_delay > now;
        while let Some(at) = board.first_original() {
            let s = board.get(at);
            if s.number >= newest || s.end() > self.horizon || waits(s) {
                break;
            }
            losses.declare(board, at);
        }
        while let Some(at) = board.first_repeat() {
            let s = board.get(at);
            if s.number >= newest || waits(s) {
                break;
            }
            losses.declare(board, at);
        }
        let original = board.last_original_below(self.horizon);
        let latest = [original, board.last_repeat_below(newest)].into_iter().flatten();
        latest.map(|i| board.get(i).sent_at + loss_delay).filter(|&due| due > now).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use forebay_cc::Tag;

    /// Segments of 100 bytes, one a millisecond.
    fn segment(number: u64) -> Segment {
        Segment {
            start: 1 + 100 * number,
            number,
            sent_at: Time::from_millis(number),
            tag: Tag::default(),
            len: 100,
            flags: 0,
        }
    }

    #[test]
    fn a_run_leaves_the_same_state_as_its_segments_one_by_one() {
        let (mut single, mut run) = (Rack::default(), Rack::default());
        for (number, batch) in [(0u64, 1), (1, 3), (4, 2)] {
            let now = Time::from_millis(100 + number);
            assert!(run.ack_cannot_lose(1 + 100 * number));
            for n in number..number + batch {
                single.on_arrival(now, &segment(n), None, false, Span::from_millis(100));
            }
            single.end_ack(false, 1, 1000);
            let last = segment(number + batch - 1);
            run.on_run(now.since(last.sent_at), &last, last.end());
            assert_eq!(format!("{single:?}"), format!("{run:?}"));
        }
        assert!(!run.ack_cannot_lose(600), "the last segment ends at 601");
    }
}

//! [`LossPolicy::HoldTolerant`], for networks that store packets for seconds and reorder them: RACK
//! with a long reordering window for what was sent once; a short wait for short holes on a path
//! that has lost a packet; a separate wait for retransmissions; and what silences imply.
//!
//! [`LossPolicy::HoldTolerant`]: forebay_cc::LossPolicy::HoldTolerant

use super::{DUP_THRESH, Evidence, Losses, Overdue, Rack};
use crate::path::scoreboard::{REPEATED, SACKED, Scoreboard, Segment};
use forebay_base::{Span, Time};

/// Lower bound on the RTO (RFC 6298 eq. 2.4), even if the configuration has a smaller one.
const MIN_RTO: Span = Span::from_secs(1);
/// How many reordering windows a packet may be late.
const WINDOWS: u64 = 3;
/// For this long a short hole may be a packet on a detour: until it is known by how much those are
/// late, and for at least as long for a repair.
const HOLE_WAIT: Span = Span::from_millis(200);
/// The same at least, where the path keeps the order.
const ORDERLY_HOLE_WAIT: Span = Span::from_millis(1);
/// Where packets are held for a short time a silence is that many times as long as a router holds
/// them, and as many round trips: twice the probe timeout of RFC 8985 section 7.2, as they grow
/// while caches fill.
const SILENT_HOLDS: u64 = 4;
/// It is waited for less than others only if this multiple has arrived out of order as is
/// missing.
const FEW: u64 = 8;
/// A repair is waited for that many times as long as others took: where a cache fills at four times
/// the rate of its link, round trips are four times as long one round trip later; and half as
/// much more.
const REPAIR_RTTS: u64 = 6;
/// A hole of more segments than that may be what waits on another way: after a change of routes
/// that is most of a cache, unless no router has asked and they are known to hold little.
const SHORT_HOLE: usize = 3;

/// Original transmissions are distinguished from retransmissions: caches serve the latter first, so
/// that it says nothing of the former.
#[derive(Debug, Default)]
pub(crate) struct HoldTolerant {
    /// Of all transmissions.
    pub(super) rack: Rack,
    /// The largest delay with which a packet arrived after one that was sent later.
    late: Span,
    /// The newest transmission known to have arrived of those sent once, and its RTT.
    newest: u64,
    rtt: Span,
    /// Highest offset below which something sent once has arrived.
    reached: u64,
    /// Where `reached` stood when, while there were holes below.
    round: Option<(u64, Time)>,
    /// A packet was lost on this path: short holes are waited for less.
    lossy: bool,
    /// Upper bound of the delay of retransmissions, less 1/64 for each later one.
    repair_rtt: Option<Span>,
    /// When one of them has arrived, and what had been sent when it was.
    repaired_at: Time,
    repaired_below: u64,
    /// When something has arrived, and the longest time without while something was on its way,
    /// less an eighth for each later one.
    heard: Time,
    gap: Option<Span>,
    /// Both before that: what arrives at once is one piece of news, however it is processed.
    before: (Time, Option<Span>),
    /// The last silence that ended though the timer had expired in it: from when to when.
    outage: (Time, Time),
    /// When something that was sent once has arrived.
    heard_once: Time,
    /// When the first segment was retransmitted because of a silence.
    probed: Option<Time>,
    floor: Span,
    /// No packet comes late on another way, as far as the controller knows.
    orderly: bool,
    /// No router of the way holds a packet for longer, as far as it knows.
    longest_hold: Span,
    /// It has said once that a router holds packets back.
    asked: bool,
}

impl HoldTolerant {
    /// Keeps what `rack` knows of arrivals.
    pub(super) fn from_rack(rack: Rack) -> HoldTolerant {
        HoldTolerant { reached: rack.fack(), rtt: rack.rtt(), rack, ..HoldTolerant::default() }
    }

    /// `s` has arrived; the arguments are those of [`Rack::on_arrival`]. `echo_is_older` counts
    /// beyond holes too: a path that stores packets may bring an earlier copy long after a
    /// retransmission has left.
    pub(super) fn on_arrival(
        &mut self,
        now: Time,
        s: &Segment,
        sent_below: Option<u64>,
        echo_is_older: bool,
        min_rtt: Span,
    ) {
        self.hear(now, s.sent_at);
        let rtt = now.since(s.sent_at);
        if s.is(REPEATED) {
            if !echo_is_older && rtt >= min_rtt {
                let before = self.repair_rtt.map_or(Span::ZERO, |before| before.mul_div(63, 64));
                self.repair_rtt = Some(before.max(rtt));
                self.repaired_at = now;
                self.repaired_below = sent_below.unwrap_or(0);
            }
        } else {
            self.heard_once = now;
            self.reached = self.reached.max(s.end());
            let on_way = rtt.saturating_sub(self.silent_since(s.sent_at));
            if s.number >= self.newest {
                (self.newest, self.rtt) = (s.number, on_way);
            } else {
                self.late = self.late.max(on_way.saturating_sub(self.rtt));
            }
        }
        self.rack.on_arrival(now, s, sent_below, echo_is_older, min_rtt);
    }
    /// See [`Rack::on_run`].
    #[inline]
    pub(super) fn on_run(&mut self, rtt: Span, newest: &Segment, end: u64) {
        self.hear(newest.sent_at + rtt, newest.sent_at);
        let on_way = rtt.saturating_sub(self.silent_since(newest.sent_at));
        (self.newest, self.rtt, self.reached) = (newest.number, on_way, end);
        self.heard_once = self.heard;
        self.rack.on_run(rtt, newest, end);
    }
    #[inline]
    fn hear(&mut self, now: Time, sent_at: Time) {
        if now != self.heard {
            if self.probed.is_some_and(|probed| probed >= self.heard) {
                self.outage = (self.heard, now);
            }
            self.before = (self.heard, self.gap);
            self.heard = now;
        }
        let (heard, gap) = self.before;
        let new = now.since(heard.max(sent_at));
        self.gap = Some(gap.map_or(new, |gap| gap.mul_div(7, 8).max(new)));
    }

    /// How much of the last outage a packet that left at `sent_at` has been under way for. Nothing
    /// arrived then: it says neither how late packets are nor how long they take.
    #[inline]
    fn silent_since(&self, sent_at: Time) -> Span {
        let (from, to) = self.outage;
        to.since(from.max(sent_at))
    }

    /// True if something sent once may be outstanding below what has arrived, or something sent
    /// again.
    #[inline]
    pub(super) fn is_due(&self, board: &Scoreboard) -> bool {
        board.has_repeats()
            || !board.none_before(0, self.reached)
            || self.answered().is_some()
            || self.is_partial(board)
    }

    /// max(RTO, RTT + 3 W).
    fn loss_delay(&self, evidence: &Evidence) -> Span {
        let srtt = evidence.srtt.unwrap_or(Span::ZERO);
        let wnd = self.rack.widened(srtt / 4).max(self.late).min(srtt);
        evidence.rto.max(self.rtt + wnd * WINDOWS)
    }
    /// The controller says that the RTO is no less than `floor`. True if
    /// [`HoldTolerant::rto_floor`] has fallen.
    pub(super) fn lower_floor(&mut self, floor: Span) -> bool {
        let before = self.rto_floor();
        self.floor = floor;
        self.asked |= floor > Span::ZERO;
        self.rto_floor() < before
    }
    pub(super) fn set_path(&mut self, orderly: bool, longest_hold: Span) {
        (self.orderly, self.longest_hold) = (orderly, longest_hold);
    }
    /// Packets are held for a short time, as far as the controller knows; something has arrived.
    fn holds_little(&self) -> bool {
        self.longest_hold * SILENT_HOLDS < MIN_RTO && self.rtt > Span::ZERO
    }
    /// They are not sent round either: what is missing is lost.
    fn is_brief(&self) -> bool {
        self.orderly && self.floor == Span::ZERO && self.holds_little()
    }
    /// They may be sent round, and no router has ever held the flow back.
    fn is_unasked(&self) -> bool {
        !self.asked && self.holds_little()
    }
    /// What the last silence caused to be retransmitted has arrived, and nothing since that was
    /// sent once: when the former was sent, and when it arrived.
    fn answered(&self) -> Option<(Time, Time)> {
        let sent_at = self.probed?;
        let open = self.heard_once < sent_at && sent_at <= self.repaired_at;
        (open && (self.is_unasked() || self.is_brief())).then_some((sent_at, self.repaired_at))
    }
    /// A repair has arrived that was sent after the first segment, and not that.
    fn is_partial(&self, board: &Scoreboard) -> bool {
        board.una() < self.repaired_below && (self.is_unasked() || self.is_brief())
    }
    /// The longest time without news that is no failure of the path.
    fn normal_gap(&self) -> Option<Span> {
        // What is sent round comes later than that.
        let longest_hold = if self.orderly { self.longest_hold } else { Span::MAX };
        Some(self.gap?.min(longest_hold.max(MIN_RTO / 4)))
    }
    /// The RTO is no less than that.
    pub(super) fn rto_floor(&self) -> Span {
        MIN_RTO.max(self.normal_gap().unwrap_or(Span::ZERO) * 2).max(self.floor)
    }
    /// After how long without news the first segment is retransmitted, while nothing is known to be
    /// lost; None: after the RTO. The board is not empty.
    pub(super) fn silence_wait(&self, now: Time, board: &Scoreboard) -> Option<Span> {
        let repairs_alone = board.has_repeats() && !board.has_originals();
        if repairs_alone {
            return self.repair_rtt.map(|rtt| HOLE_WAIT.max(rtt * REPAIR_RTTS));
        }
        let least = if self.is_brief() {
            self.longest_hold.max(self.rtt) * SILENT_HOLDS
        } else if self.is_unasked() {
            HOLE_WAIT.max(self.rtt * SILENT_HOLDS).min(MIN_RTO)
        } else {
            MIN_RTO
        };
        let wait = least.max(self.normal_gap()? * 4).max(self.floor);
        Some(self.due(board).map_or(wait, |due| wait + due.since(now)))
    }
    /// When the next of what was sent once is due, by the RTT of the newest that has arrived:
    /// before that nothing is silent.
    fn due(&self, board: &Scoreboard) -> Option<Time> {
        let first = board.get(0); // the board is not empty
        let next = if first.start < self.reached { board.find(self.reached) } else { 0 };
        (next < board.len()).then(|| board.get(next).sent_at + self.rtt)
    }
    /// There was a silence, and the first segment is retransmitted. The path may still hold the
    /// others. Where what the last silence caused to be retransmitted has arrived, but nothing
    /// since that was sent once, the path holds nothing more of before. At the next timeout what is
    /// old enough is lost, too, if anything has arrived meanwhile: of a path that does not answer
    /// nothing is known.
    pub(super) fn on_silence(&mut self, evidence: &Evidence, again: bool) -> Overdue {
        let before = self.probed.replace(evidence.now).filter(|&at| at < self.heard);
        let gone = before.filter(|&at| self.heard_once < at);
        self.lossy |= gone.is_some();
        if gone.is_none() && !(again && before.is_some()) {
            return Overdue::First;
        }
        Overdue::Aged { gone: gone.unwrap_or(Time::ZERO), delay: self.loss_delay(evidence) }
    }
    /// How long a short hole is waited for; None: as any other. Where many are missing and none was
    /// lost before, nothing says that the path keeps their order, unless the controller does: it is
    /// RACK's window then (RFC 8985 section 6.2). Once packets have come late on a detour, a round
    /// trip and twice as much is enough: with half a round trip one of 2 000 random networks
    /// without losses sent packets twice.
    fn hole_wait(&self, evidence: &Evidence, board: &Scoreboard) -> Option<Span> {
        let min_rtt = if evidence.min_rtt == Span::MAX { Span::ZERO } else { evidence.min_rtt };
        if self.orderly {
            let wait = ORDERLY_HOLE_WAIT.max(min_rtt / 4).max(self.late * 2);
            return Some(self.rack.widened(wait));
        }
        if !self.lossy && self.misses_many(board) {
            return None;
        }
        let least = if self.late > Span::ZERO {
            HOLE_WAIT.min(self.late * 2 + self.rtt)
        } else {
            HOLE_WAIT
        };
        Some(self.rack.widened(least.max(min_rtt / 4).max(self.late * 2)))
    }
    /// True if what is missing is more than a short hole, and much of what has been sent.
    fn misses_many(&self, board: &Scoreboard) -> bool {
        if board.is_empty() {
            return false;
        }
        let (first, sacked) = (board.get(0), board.sacked_bytes());
        let missing = self.reached.saturating_sub(first.start).saturating_sub(sacked);
        missing * FEW > sacked && missing > (first.end() - first.start) * SHORT_HOLE as u64
    }
    /// How long a packet that was retransmitted is waited for.
    fn repair_wait(&self, evidence: &Evidence) -> Span {
        match self.repair_rtt {
            Some(rtt) => HOLE_WAIT.max(rtt * REPAIR_RTTS),
            None => self.loss_delay(evidence),
        }
    }

    /// Declare what is overdue. Returns when to look again though no ACK comes.
    pub(super) fn detect(
        &mut self,
        evidence: &Evidence,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
    ) -> Option<Time> {
        let now = evidence.now;
        let hole = self.detect_holes(evidence, board, losses);
        let tail = self.detect_tail(evidence, board, losses);
        let wait = self.repair_wait(evidence);
        // Where nothing arrives at all, the timer looks after it. How long repairs take must be
        // known, unless something has arrived that was sent later.
        let known = self.repair_rtt.is_some();
        let lost = |s: &Segment| {
            // Of many the later ones wait for those before them.
            let silent = known && self.repaired_at + wait <= now;
            let news = (silent && self.heard >= s.sent_at + wait / 2) || self.rack.is_older(s);
            s.sent_at + wait <= now && news
        };
        while let Some(at) = board.first_repeat().filter(|&at| lost(board.get(at))) {
            losses.declare(board, at);
        }
        let repair = board.first_repeat().map(|at| board.get(at).sent_at + wait);
        [hole, tail, repair].into_iter().flatten().filter(|&due| due > now).min()
    }
    /// The same after a silence of a path that holds nothing for long: once its repair has arrived,
    /// a late first packet would bring the others with it.
    fn detect_tail(
        &mut self,
        evidence: &Evidence,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
    ) -> Option<Time> {
        let (gone, answered_at) = self.answered()?;
        let wait = self.hole_wait(evidence, board).unwrap_or(HOLE_WAIT);
        let left_before = |s: &Segment| s.sent_at < gone;
        if answered_at + wait > evidence.now {
            let first = board.first_original()?;
            return left_before(board.get(first)).then_some(answered_at + wait);
        }
        self.declare_first(board, losses, left_before);
        None
    }
    /// What was sent once is lost, from the first on, as long as `is_lost` says so.
    fn declare_first(
        &mut self,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
        is_lost: impl Fn(&Segment) -> bool,
    ) {
        while let Some(at) = board.first_original().filter(|&at| is_lost(board.get(at))) {
            self.lossy = true;
            losses.declare(board, at);
        }
    }
    /// The same of what was sent once.
    fn detect_holes(
        &mut self,
        evidence: &Evidence,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
    ) -> Option<Time> {
        if !evidence.sack {
            return self.detect_first_hole(evidence, board, losses);
        }
        let (now, reached) = (evidence.now, self.reached);
        let long = self.loss_delay(evidence);
        self.declare_first(board, losses, |s| s.end() <= reached && s.sent_at + long <= now);
        if let Some((below, since)) = self.round
            && self.hole_wait(evidence, board).is_some_and(|wait| since + wait <= now)
        {
            self.round = None;
            let brief = self.is_brief() && !self.asked;
            let longest = if brief { usize::MAX } else { SHORT_HOLE };
            self.lossy |= declare_holes(board, below, longest, losses);
        }
        let at = board.first_original().filter(|&at| board.get(at).end() <= reached)?;
        let due = board.get(at).sent_at + long;
        let Some(short) = self.hole_wait(evidence, board) else { return Some(due) };
        let (_, since) = *self.round.get_or_insert((reached, now));
        Some(due.min(since + short))
    }
    /// The same without SACK: three duplicate ACKs in a row say that the first segment is missing;
    /// or that it is the first when what was sent again after it has arrived (RFC 6582 section 3.2,
    /// partial acknowledgments), where routers hold little.
    fn detect_first_hole(
        &mut self,
        evidence: &Evidence,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
    ) -> Option<Time> {
        if board.is_empty() {
            return None;
        }
        let s = *board.get(0);
        if !s.outstanding() || s.is(REPEATED) {
            return None;
        }
        let shown = evidence.dupacks >= DUP_THRESH;
        if !shown && !self.is_partial(board) {
            return None;
        }
        // Behind what was sent again a cache may still hold it.
        let held = if shown { Span::ZERO } else { self.longest_hold };
        let wait = self.hole_wait(evidence, board)?.max(held);
        let same = self.round.filter(|&(below, _)| below == s.end());
        let (_, since) = *self.round.insert(same.unwrap_or((s.end(), evidence.now)));
        if since + wait > evidence.now {
            return Some(since + wait);
        }
        (self.round, self.lossy) = (None, true);
        losses.declare(board, 0);
        None
    }
}

/// Holes below `below` of up to `longest` segments are lost. True if there are any.
fn declare_holes(
    board: &mut Scoreboard,
    below: u64,
    longest: usize,
    losses: &mut Losses<'_>,
) -> bool {
    let Some(mut at) = board.first_original() else { return false };
    let (end, mut any) = (board.find(below), false);
    while at < end {
        let s = board.get(at);
        if s.is(SACKED) {
            let range = board.sacked().containing(s.start);
            at = range.map_or(at + 1, |range| board.find(range.end).max(at + 1));
            continue;
        }
        let open = (at..end).take_while(|&i| !board.get(i).is(SACKED)).count();
        if open <= longest {
            for index in at..at + open {
                let s = board.get(index);
                if s.outstanding() && !s.is(REPEATED) {
                    losses.declare(board, index);
                    any = true;
                }
            }
        }
        at += open;
    }
    any
}

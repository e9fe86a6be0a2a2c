//! How losses are found: one file per policy.

mod dupthresh;
mod gap;
mod patient;
mod rack;

pub(crate) use gap::{GapTimer, GapWait};
pub(crate) use patient::HoldTolerant;
pub(crate) use rack::Rack;

use super::input::AckSummary;
use super::samples::RateSampler;
use super::scoreboard::{REPEATED, Scoreboard, Segment};
use crate::api::Counters;
use alloc::boxed::Box;
use forebay_base::{Span, Time};
use forebay_cc::{AnyController, Controller, Loss, LossPolicy};

/// Duplicate ACKs that mean a loss (RFC 5681 section 3.2).
pub(crate) const DUP_THRESH: u32 = 3;

/// The policy in force, with its state.
#[derive(Debug)]
pub(crate) enum Detector {
    DupThresh,
    Rack(Rack),
    /// On the heap: most paths have no use for it.
    Gap(Box<GapTimer>),
    TimeoutOnly,
    /// On the heap: most paths have no use for it.
    HoldTolerant(Box<HoldTolerant>),
}

impl Detector {
    /// RACK needs SACK (RFC 8985 section 4); without it there is the duplicate threshold.
    /// [`HoldTolerant`] works without SACK: then only what a cumulative ACK covers is known to have
    /// arrived.
    pub(crate) fn new(policy: LossPolicy, sack: bool) -> Detector {
        match policy {
            LossPolicy::RackTlp if sack => Detector::Rack(Rack::default()),
            LossPolicy::RackTlp | LossPolicy::DupThresh => Detector::DupThresh,
            LossPolicy::GapTimer { num, den } => {
                Detector::Gap(Box::new(GapTimer::new(GapWait::Rtts { num, den }, sack)))
            }
            LossPolicy::FixedGapTimer(wait) => {
                Detector::Gap(Box::new(GapTimer::new(GapWait::Fixed(wait), sack)))
            }
            LossPolicy::TimeoutOnly => Detector::TimeoutOnly,
            LossPolicy::HoldTolerant => Detector::HoldTolerant(Box::default()),
        }
    }
    /// This policy is in force from now on. The state of RACK is kept where a new policy uses it,
    /// too. True if [`Detector::rto_floor`] has fallen.
    pub(crate) fn adopt(
        &mut self,
        policy: LossPolicy,
        sack: bool,
        controller: &AnyController,
    ) -> bool {
        self.replace(policy, sack);
        match self {
            Detector::HoldTolerant(patient) => {
                patient.set_path(controller.path_keeps_order(), controller.longest_hold());
                patient.lower_floor(controller.rto_floor())
            }
            _ => false,
        }
    }
    fn replace(&mut self, policy: LossPolicy, sack: bool) {
        let unchanged = match (&*self, policy) {
            (Detector::HoldTolerant(_), LossPolicy::HoldTolerant) => true,
            (Detector::Rack(_), LossPolicy::RackTlp) => sack,
            (Detector::Gap(gap), LossPolicy::GapTimer { num, den }) => {
                gap.is(GapWait::Rtts { num, den }, sack)
            }
            (Detector::Gap(gap), LossPolicy::FixedGapTimer(wait)) => {
                gap.is(GapWait::Fixed(wait), sack)
            }
            _ => false,
        };
        if unchanged {
            return; // asked after every ACK of some schemes
        }
        let new = Detector::new(policy, sack);
        *self = match (core::mem::replace(self, Detector::TimeoutOnly), new) {
            (Detector::Rack(rack), Detector::HoldTolerant(_)) => {
                Detector::HoldTolerant(Box::new(HoldTolerant::from_rack(rack)))
            }
            (Detector::HoldTolerant(patient), Detector::Rack(_)) => Detector::Rack(patient.rack),
            (_, new) => new,
        };
    }
    /// The path may store packets for long: silence is no loss, and what is missing may still come.
    /// The first timeout is then a probe, which is not reported to the controller; whatever arrives
    /// shows that the path is alive; a lost SYN says nothing of the window.
    #[inline]
    pub(crate) fn path_stores(&self) -> bool {
        matches!(self, Detector::HoldTolerant(_))
    }
    /// Every ACK that brings news restarts the retransmission timer, one out of order as well.
    #[inline]
    pub(crate) fn restarts_timer_on_news(&self) -> bool {
        match self {
            Detector::Gap(gap) => gap.sees_gaps(),
            _ => self.path_stores(),
        }
    }
    /// A tail loss probe is sent where ACKs end (RFC 8985 section 7).
    #[inline]
    pub(crate) fn probes_tails(&self) -> bool {
        match self {
            Detector::Rack(_) => true,
            Detector::Gap(gap) => gap.probes_tails(),
            _ => false,
        }
    }
    /// The least that the RTO may be, and then at least 5/4 SRTT; None: no such bound.
    pub(crate) fn rto_floor(&self) -> Option<Span> {
        match self {
            Detector::HoldTolerant(patient) => Some(patient.rto_floor()),
            _ => None,
        }
    }
    /// After how long without news the first segment is retransmitted; None: after the RTO. The
    /// board is not empty.
    #[inline]
    pub(crate) fn silence_wait(&self, now: Time, board: &Scoreboard) -> Option<Span> {
        match self {
            Detector::HoldTolerant(patient) => patient.silence_wait(now, board),
            _ => None,
        }
    }
    /// The retransmission timer expired; `again`: what the last one repaired is not all
    /// acknowledged. Returns what is lost.
    pub(crate) fn on_timeout(
        &mut self,
        evidence: &Evidence,
        board: &Scoreboard,
        again: bool,
    ) -> Overdue {
        match self {
            Detector::Rack(rack) => {
                Overdue::Aged { gone: Time::ZERO, delay: rack.loss_delay(evidence, board) }
            }
            Detector::HoldTolerant(patient) => patient.on_silence(evidence, again),
            Detector::Gap(gap) => gap.on_timeout(),
            Detector::DupThresh | Detector::TimeoutOnly => Overdue::All,
        }
    }
    pub(crate) fn rack(&mut self) -> Option<&mut Rack> {
        match self {
            Detector::Rack(rack) => Some(rack),
            Detector::HoldTolerant(patient) => Some(&mut patient.rack),
            Detector::Gap(gap) => Some(&mut gap.rack),
            _ => None,
        }
    }
    /// Nothing was lost: what was declared lost is outstanding again.
    pub(crate) fn on_undone(&mut self) {
        if let Detector::Gap(gap) = self {
            gap.forget();
        }
    }
    /// True if every transmission that is known to have arrived is to be shown to
    /// [`Detector::on_arrival`].
    #[inline]
    pub(crate) fn wants_arrivals(&self) -> bool {
        matches!(self, Detector::Rack(_) | Detector::HoldTolerant(_) | Detector::Gap(_))
    }
    /// `s` has arrived: see [`Rack::on_arrival`]. `in_order`: a cumulative ACK says so.
    #[inline]
    pub(crate) fn on_arrival(
        &mut self,
        now: Time,
        s: &Segment,
        sent_below: Option<u64>,
        echo_is_older: bool,
        in_order: bool,
        min_rtt: Span,
    ) {
        match self {
            Detector::Rack(rack) => {
                rack.on_arrival(now, s, sent_below, echo_is_older && in_order, min_rtt);
            }
            Detector::HoldTolerant(patient) => {
                patient.on_arrival(now, s, sent_below, echo_is_older, min_rtt);
            }
            Detector::Gap(gap) => {
                gap.rack.on_arrival(now, s, sent_below, echo_is_older && in_order, min_rtt);
            }
            Detector::DupThresh | Detector::TimeoutOnly => {}
        }
    }
}

/// Which of the outstanding segments are lost when the retransmission timer expires.
pub(crate) enum Overdue {
    All,
    /// The first, what left before `gone`, and what left `delay` ago.
    Aged {
        gone: Time,
        delay: Span,
    },
    First,
}

impl Overdue {
    /// Segment `index` of the scoreboard, `s`, is among them.
    pub(crate) fn has(&self, now: Time, index: usize, s: &Segment) -> bool {
        match *self {
            Overdue::All => true,
            Overdue::Aged { gone, delay } => {
                index == 0 || s.sent_at < gone || s.sent_at + delay <= now
            }
            Overdue::First => index == 0,
        }
    }
}

/// Shows the detector what an ACK says has arrived.
pub(crate) struct Arrivals<'a> {
    pub detector: &'a mut Detector,
    /// Before this ACK.
    pub min_rtt: Span,
}

impl Arrivals<'_> {
    /// Every transmission that is known to have arrived is to be shown.
    #[inline]
    pub(crate) fn are_wanted(&self) -> bool {
        self.detector.wants_arrivals()
    }
    /// `s` has arrived. `sent_below`: where SND.NXT stood when it was sent, if it was
    /// retransmitted.
    #[inline]
    pub(super) fn show(
        &mut self,
        now: Time,
        s: &Segment,
        sent_below: Option<u64>,
        summary: &AckSummary,
    ) {
        let older = summary.echo_ms.is_some() && !summary.echoes(s);
        let in_order = s.end() <= summary.una;
        self.detector.on_arrival(now, s, sent_below, older, in_order, self.min_rtt);
    }
}

/// Inputs of detection besides the scoreboard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub now: Time,
    pub mss: u64,
    pub sack: bool,
    pub dupacks: u32,
    pub in_recovery: bool,
    /// A new recovery may begin: SND.UNA is beyond the last recovery point.
    pub may_enter: bool,
    pub srtt: Option<Span>,
    pub min_rtt: Span,
    /// Retransmission timeout, not backed off.
    pub rto: Span,
}

/// Where losses are declared: the scoreboard, the counts and the controller learn of them together.
pub(crate) struct Losses<'a> {
    pub now: Time,
    pub controller: &'a mut AnyController,
    pub rate: &'a mut RateSampler,
    pub counters: &'a mut Counters,
    /// Segments declared lost.
    pub segments: u32,
    /// Highest number of a retransmission declared lost.
    pub repeat: Option<u64>,
    /// Highest start of a segment declared lost.
    pub highest: Option<u64>,
}

impl<'a> Losses<'a> {
    /// Nothing is lost yet.
    pub(crate) fn none(
        now: Time,
        controller: &'a mut AnyController,
        rate: &'a mut RateSampler,
        counters: &'a mut Counters,
    ) -> Losses<'a> {
        Losses { now, controller, rate, counters, segments: 0, repeat: None, highest: None }
    }
    /// Segment `index` is lost. It must be outstanding.
    pub(crate) fn declare(&mut self, board: &mut Scoreboard, index: usize) {
        let first = board.mark_lost(index);
        let s = *board.get(index);
        self.segments += 1;
        self.highest = self.highest.max(Some(s.start));
        if s.is(REPEATED) {
            self.repeat = self.repeat.max(Some(s.number));
        }
        if !first {
            return;
        }
        self.counters.lost_packets += 1;
        self.rate.add_lost(s.len as u64);
        let loss = Loss {
            tag: s.tag,
            number: s.number,
            bytes: s.len as u32,
            sent_at: s.sent_at,
            in_flight_bytes: board.in_flight(),
        };
        self.controller.on_loss(self.now, &loss);
    }
}

impl Detector {
    /// True if an ACK can find losses even where nothing is reported out of order.
    #[inline]
    pub(crate) fn is_due(&self, board: &Scoreboard, dupacks: u32) -> bool {
        match self {
            Detector::DupThresh => !board.sacked().is_empty() || dupacks > 0,
            Detector::Rack(rack) => rack.is_due(board),
            Detector::HoldTolerant(patient) => patient.is_due(board) || dupacks >= DUP_THRESH,
            Detector::Gap(gap) => gap.is_due(board, dupacks),
            Detector::TimeoutOnly => false,
        }
    }
    /// True if an ACK in order, up to which everything was sent once, can find no loss.
    #[inline]
    pub(crate) fn ack_cannot_lose(&self, una: u64) -> bool {
        match self {
            Detector::DupThresh | Detector::TimeoutOnly => true,
            Detector::Rack(rack) => rack.ack_cannot_lose(una),
            Detector::HoldTolerant(patient) => patient.rack.ack_cannot_lose(una),
            Detector::Gap(gap) => gap.rack.ack_cannot_lose(una),
        }
    }
    /// Such an ACK came, up to `end`; `newest` is the last transmission that it covers. True
    /// if [`Detector::rto_floor`] may have moved.
    #[inline]
    pub(crate) fn on_run(&mut self, rtt: Span, newest: &Segment, end: u64) -> bool {
        match self {
            Detector::Rack(rack) => rack.on_run(rtt, newest, end),
            Detector::HoldTolerant(patient) => patient.on_run(rtt, newest, end),
            Detector::Gap(gap) => gap.rack.on_run(rtt, newest, end),
            Detector::DupThresh | Detector::TimeoutOnly => {}
        }
        self.path_stores()
    }
    /// Declare what is lost. Returns when to look again though no ACK comes.
    pub(crate) fn detect(
        &mut self,
        evidence: &Evidence,
        board: &mut Scoreboard,
        losses: &mut Losses<'_>,
    ) -> Option<Time> {
        match self {
            Detector::DupThresh => {
                dupthresh::detect(evidence, board, losses);
                None
            }
            Detector::Rack(rack) => rack.detect(evidence, board, losses),
            Detector::Gap(gap) => gap.detect(evidence, board, losses),
            Detector::TimeoutOnly => None,
            Detector::HoldTolerant(patient) => patient.detect(evidence, board, losses),
        }
    }
}

//! Loss recovery of a path: how losses are found, what is retransmitted and when, how much
//! meanwhile.
//!
//! [`LossRecovery`] owns the loss detector, the RTT estimate, the timers that end in a
//! retransmission or a probe, the recovery episode and its rule, and the check whether a
//! retransmission was needed. It reads and marks the scoreboard through [`Sender`].
//!
//! Invariants: congestion is reported to the controller at most once per window. While anything is
//! outstanding the retransmission timer is armed. A recovery ends when its recovery point is
//! acknowledged, by a timeout, or when it proves spurious.

mod congestion;
mod episode;

pub(crate) use episode::{Episode, NewReno, Pipe, Prr, Rule};

use super::handshake::Negotiated;
use super::input::AckSummary;
use super::loss::{Arrivals, Detector, Evidence};
use super::receiver::Receiver;
use super::samples::{RtoBounds, RttEstimator};
use super::scoreboard::{REPEATED, SACKED, Segment};
use super::sender::Choice;
use super::sender::Sender;
use crate::api::Counters;
use crate::config::{Pacing, TcpConfig};
use alloc::boxed::Box;
use congestion::SpuriousCheck;
use forebay_base::{Histogram, Rate, Span, Time, seq_lt};
use forebay_cc::{AnyController, Controller, Limits, LossPolicy, RecoveryOwner};

/// Wait for a tail loss probe without an RTT estimate (RFC 8985 section 7.2).
const PROBE_WITHOUT_RTT: Span = Span::from_secs(1);
/// TLP.max_ack_delay where this end's own policy says nothing: the shortest delay that common
/// stacks use.
const MAX_ACK_DELAY: Span = Span::from_millis(40);
/// What Linux adds to 2 SRTT where several segments are in flight (`TCP_TIMEOUT_MIN_US`).
const LINUX_LEAST_WAIT: Span = Span::from_millis(2);
/// Segments that limited transmit sends beyond the window (RFC 3042).
const LIMITED_SEGMENTS: u64 = 2;

/// A tail loss probe whose outcome is open (RFC 8985 section 7.4).
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// SND.NXT when it was sent.
    end: u64,
    repeats_data: bool,
}

pub(super) struct LossRecovery {
    detector: Detector,
    /// The owner of the sending limit in recovery. The controller may change it.
    owner: RecoveryOwner,
    agreed: Negotiated,
    rtt: RttEstimator,
    /// Of all RTT samples.
    histogram: Histogram,
    /// Retransmission timer (RFC 6298 section 5); [`Time::MAX`]: not armed, as with the next two.
    rto_at: Time,
    /// Tail loss probe (RFC 8985 section 7).
    probe_at: Time,
    /// Loss that no ACK will show: reordering window, timer of a gap.
    loss_at: Time,
    /// Timeouts in a row.
    retries: u32,
    dupacks: u32,
    episode: Option<Box<Episode>>,
    /// SND.NXT at the last recovery or timeout; 0 before the first.
    recovery_point: u64,
    /// Highest lost offset that no congestion event has answered.
    unanswered_loss: Option<u64>,
    /// Transmissions from this number on were sent after the last congestion event.
    reduced_at_number: u64,
    /// SND.NXT at the last response to ECE.
    ecn_point: u64,
    send_cwr: bool,
    /// The next lost segment leaves whatever the window says.
    force_retransmit: bool,
    spurious: SpuriousCheck,
    probe: Option<Probe>,
    probe_due: bool,
    /// An RTT sample was taken since the last probe.
    sampled_since_probe: bool,
    /// Bytes sent by limited transmit: not part of FlightSize.
    limited_bytes: u64,
    /// Bound on the window after a lost SYN (RFC 5681 section 3.1: one segment, then slow start).
    syn_loss_window: u64,
    /// Bytes delivered at the last congestion event, and between the last two.
    delivered_at_loss: u64,
    delivered_between: u64,
}

impl LossRecovery {
    pub(super) fn new(controller: &AnyController, config: &TcpConfig) -> LossRecovery {
        LossRecovery {
            detector: Detector::new(LossPolicy::TimeoutOnly, false),
            owner: controller.recovery_owner(),
            agreed: Negotiated::default(),
            rtt: RttEstimator::new(config.initial_rto, RtoBounds::of(config)),
            histogram: Histogram::default(),
            rto_at: Time::MAX,
            probe_at: Time::MAX,
            loss_at: Time::MAX,
            retries: 0,
            dupacks: 0,
            episode: None,
            recovery_point: 0,
            unanswered_loss: None,
            reduced_at_number: 0,
            ecn_point: 0,
            send_cwr: false,
            force_retransmit: false,
            spurious: SpuriousCheck::default(),
            probe: None,
            probe_due: false,
            sampled_since_probe: false,
            limited_bytes: 0,
            syn_loss_window: u64::MAX,
            delivered_at_loss: 0,
            delivered_between: 0,
        }
    }
    pub(super) fn negotiate(&mut self, agreed: Negotiated) {
        self.agreed = agreed;
    }
    /// Ask the controller how losses are found and who limits their repair. It may change its mind
    /// with the path.
    pub(super) fn adopt_policy(&mut self, sender: &Sender, config: &TcpConfig) {
        let controller = sender.controller();
        let policy = controller.loss_policy().unwrap_or(config.loss_policy);
        let floor_fell = self.detector.adopt(policy, self.agreed.sack, controller);
        if self.detector.path_stores() {
            self.syn_loss_window = u64::MAX;
        }
        if floor_fell {
            self.rtt.drop_rto_floor();
        }
        self.keep_rto_floor();
        self.owner = controller.recovery_owner();
        if self.owner == RecoveryOwner::Controller
            && let Some(episode) = &mut self.episode
        {
            episode.rule = Rule::Controller;
        }
    }
    /// The handshake is over. `syn`: the SYN of this end, if its ACK is news; `echo_ms`: the
    /// timestamp that the peer echoes.
    pub(super) fn on_established(
        &mut self,
        now: Time,
        sender: &Sender,
        syn: Option<Segment>,
        echo_ms: Option<u32>,
    ) {
        let mut syn_lost = self.retries > 0;
        if let Some(syn) = syn {
            let sent_ms = syn.sent_at.as_millis() as u32;
            match echo_ms {
                _ if !syn.is(REPEATED) => self.take_sample(now.since(syn.sent_at), sender),
                // Circular: the clock of timestamps wraps after 49.7 days (RFC 7323 section 5.4).
                Some(echo) if !seq_lt(echo, sent_ms) => {
                    self.take_sample(now.since(syn.sent_at), sender);
                }
                // The ACK answers an earlier SYN: it was late, not lost (RFC 7323 section 4.1,
                // RFC 3522).
                Some(echo) => {
                    let elapsed_ms = (now.as_millis() as u32).wrapping_sub(echo);
                    self.take_sample(Span::from_millis(elapsed_ms.into()), sender);
                    syn_lost = false;
                }
                None => {}
            }
        }
        if syn_lost {
            self.rtt.after_syn_loss();
            self.syn_loss_window = sender.mss();
        }
        self.rtt.collapse();
        self.retries = 0;
        self.rearm_rto(now, sender);
    }

    #[inline]
    pub(super) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }
    pub(super) fn histogram(&self) -> &Histogram {
        &self.histogram
    }
    #[inline]
    pub(super) fn is_in_recovery(&self) -> bool {
        self.episode.is_some()
    }
    /// The last transmission was acknowledged: no timeout is being repaired.
    pub(super) fn is_responsive(&self) -> bool {
        self.retries == 0
    }
    /// Repair after a timeout, up to what was sent by then.
    fn is_after_timeout(&self, sender: &Sender) -> bool {
        self.episode.is_none() && sender.una() < self.recovery_point
    }
    /// Nothing is being repaired, probed or checked, and the ACKs are in order.
    #[inline]
    pub(super) fn is_regular(&self, una: u64) -> bool {
        self.dupacks == 0
            && self.limited_bytes == 0
            && self.syn_loss_window == u64::MAX
            && self.episode.is_none()
            && una >= self.recovery_point
            && self.unanswered_loss.is_none()
            && self.spurious == SpuriousCheck::None
            && self.retries == 0
            && self.probe.is_none()
            && !self.probe_due
            && self.loss_at == Time::MAX
    }
    /// An ACK that only reports more out of order concerns the detector, the controller and the
    /// rule of recovery, and nothing else.
    pub(super) fn takes_sacks_alone(&self) -> bool {
        self.probe.is_none()
            && matches!(self.spurious, SpuriousCheck::None | SpuriousCheck::Echo(_))
    }
    /// An ACK in order, up to which everything was sent once, cannot reveal a loss.
    pub(super) fn ack_cannot_lose(&self, una: u64) -> bool {
        self.detector.ack_cannot_lose(una)
    }

    // What may be sent.

    /// The window of the controller, bounded after a lost SYN.
    #[inline]
    pub(super) fn cwnd(&self, limits: &Limits) -> u64 {
        limits.cwnd_bytes.min(self.syn_loss_window)
    }
    /// The window in force: in recovery, what recovery allows.
    pub(super) fn window_in_force(&self, sender: &Sender) -> u64 {
        let cwnd = self.cwnd(&sender.limits());
        match self.episode.as_ref().map(|e| &e.rule) {
            Some(Rule::Prr(prr)) => prr.window(sender.in_flight()),
            Some(Rule::NewReno(newreno)) => newreno.window,
            Some(Rule::Pipe(_) | Rule::Controller) | None => cwnd,
        }
    }
    /// Bytes that recovery, window and limited transmit allow now.
    #[inline]
    pub(super) fn window_room(&self, sender: &Sender, limits: &Limits, config: &TcpConfig) -> u64 {
        let cwnd = self.cwnd(limits);
        let in_flight = sender.in_flight();
        let orderly = self.dupacks == 0 && sender.board().sacked_bytes() == 0;
        match self.episode.as_ref().map(|e| &e.rule) {
            Some(Rule::Prr(prr)) => return prr.room(in_flight),
            Some(Rule::NewReno(newreno)) => {
                return newreno.window.saturating_sub(sender.outstanding());
            }
            None if !orderly && !self.is_after_timeout(sender) => {
                return cwnd.saturating_sub(self.disordered_flight(sender, config));
            }
            Some(Rule::Pipe(_) | Rule::Controller) | None => {}
        }
        if in_flight == 0 && cwnd > 0 {
            return cwnd.max(sender.mss()); // a window below one segment holds one segment
        }
        cwnd.saturating_sub(in_flight)
    }
    /// Bytes that count against the window while ACKs arrive out of order. With SACK the pipe
    /// shrinks by what has arrived, and that is limited transmit. Without SACK the first two
    /// duplicates free a segment each (RFC 3042).
    fn disordered_flight(&self, sender: &Sender, config: &TcpConfig) -> u64 {
        let in_flight = sender.in_flight();
        let limited_transmit = config.limited_transmit;
        if self.owner == RecoveryOwner::Controller || (self.agreed.sack && limited_transmit) {
            return in_flight;
        }
        if self.agreed.sack {
            return in_flight + sender.board().sacked_bytes();
        }
        let freed = if limited_transmit { (self.dupacks as u64).min(LIMITED_SEGMENTS) } else { 0 };
        in_flight.saturating_sub(freed * sender.mss())
    }
    /// The rate at which packets leave, if they are paced.
    #[inline]
    pub(super) fn pacing_rate(
        &self,
        sender: &Sender,
        limits: &Limits,
        config: &TcpConfig,
    ) -> Option<Rate> {
        match config.pacing {
            Pacing::Windowed { slow_start_percent, avoidance_percent }
                if limits.pacing_rate.is_none() =>
            {
                let ssthresh = sender.controller().ssthresh_bytes().unwrap_or(u64::MAX);
                let slow_start = self.cwnd(limits) < ssthresh / 2;
                let percent = if slow_start { slow_start_percent } else { avoidance_percent };
                self.windowed_rate(limits, percent)
            }
            _ => limits.pacing_rate,
        }
    }
    /// `percent` of the window in each smoothed RTT.
    fn windowed_rate(&self, limits: &Limits, percent: u32) -> Option<Rate> {
        let srtt = self.rtt.srtt().filter(|s| !s.is_zero())?;
        let cwnd = self.cwnd(limits);
        if cwnd >= Limits::MAX_CWND_BYTES {
            return None; // no window
        }
        let bits_per_s = cwnd as u128 * 8 * percent as u128 * 10_000_000 / srtt.as_nanos() as u128;
        Some(Rate::clamped(u64::try_from(bits_per_s).unwrap_or(u64::MAX)))
    }
    /// A retransmission leaves whatever the window says.
    pub(super) fn forces_retransmit(&self) -> bool {
        self.force_retransmit
    }
    /// After a timeout one segment leaves whatever limits there are.
    pub(super) fn overrides_limits(&self, sender: &Sender) -> bool {
        self.force_retransmit && self.is_after_timeout(sender) && sender.board().lost_segments() > 0
    }
    /// New data goes before what is declared lost: F-RTO asks for it.
    pub(super) fn wants_new_data(&self) -> bool {
        self.spurious.wants_new_data()
    }
    /// Recovery may send although nothing is lost or new: rule 4 of RFC 6675.
    #[inline]
    pub(super) fn may_rescue(&self) -> bool {
        matches!(&self.episode, Some(e) if matches!(e.rule, Rule::Pipe(_)))
    }
    /// A tail loss probe is to be sent.
    #[inline]
    pub(super) fn is_probe_due(&self) -> bool {
        self.probe_due
    }
    /// The tail loss probe that is due is sent now.
    pub(super) fn take_probe_due(&mut self) -> bool {
        core::mem::take(&mut self.probe_due)
    }
    /// The next transmission has CWR.
    pub(super) fn take_cwr(&mut self) -> bool {
        core::mem::take(&mut self.send_cwr)
    }

    /// RFC 6675 section 4, NextSeg rules 3 and 4: what is not known to be lost, below and at the
    /// end of what was sent.
    pub(super) fn choose_pipe(
        &mut self,
        sender: &Sender,
        limits: &Limits,
        config: &TcpConfig,
    ) -> Option<Choice> {
        let Some(Rule::Pipe(Pipe { rescue, high_rxt, .. })) =
            self.episode.as_ref().map(|e| &e.rule)
        else {
            return None;
        };
        let (rescue, high_rxt) = (*rescue, *high_rxt);
        let (board, una) = (sender.board(), sender.una());
        let top = board.sacked().last().map_or(una, |r| r.end);
        if self.window_room(sender, limits, config) < sender.mss() {
            return None;
        }
        let from = board.find(high_rxt.max(una));
        let hole = (from..board.len()).find(|&i| !board.get(i).is(SACKED))?;
        if board.get(hole).start < top {
            return Some(Choice::Retransmission(hole)); // rule 3
        }
        if rescue == u64::MAX || una <= rescue {
            return None;
        }
        let last = (0..board.len()).rev().find(|&i| !board.get(i).is(SACKED))?;
        if let Some(Rule::Pipe(pipe)) = self.episode.as_mut().map(|e| &mut e.rule) {
            pipe.rescue = u64::MAX;
            pipe.rescuing = true;
        }
        Some(Choice::Retransmission(last)) // rule 4
    }
    /// A tail loss probe: new data if the peer's window has room, whatever cwnd says; else the last
    /// segment again.
    pub(super) fn choose_probe(
        &mut self,
        now: Time,
        sender: &mut Sender,
        counters: &mut Counters,
    ) -> Option<Choice> {
        let (choice, end) = match sender.next_new(now, self.rtt.rto()) {
            Some((len, fin)) => (Choice::New { len, fin }, sender.nxt() + len + u64::from(fin)),
            None => {
                let board = sender.board();
                let last = (0..board.len()).rev().find(|&i| board.get(i).outstanding())?;
                (Choice::Retransmission(last), sender.nxt())
            }
        };
        counters.tail_probes += 1;
        self.probe = Some(Probe { end, repeats_data: matches!(choice, Choice::Retransmission(_)) });
        Some(choice)
    }

    // What was sent.

    /// Segment `index`, `s`, left; `again`: not for the first time.
    pub(super) fn on_sent(
        &mut self,
        now: Time,
        sender: &Sender,
        s: &Segment,
        index: usize,
        again: bool,
    ) {
        if again {
            self.force_retransmit = false;
        } else {
            self.spurious.on_new_segment();
        }
        self.account(s, sender, again);
        let repair = again && self.repair_restarts_timer(index);
        if self.rto_at == Time::MAX || repair {
            self.restart_rto(now, sender);
        }
    }
    /// The repair of the first hole gets a full timer: the wait before it may have used the timer
    /// up (RFC 6675 section 6; Linux, tcp_xmit_retransmit_queue). RFC 6582 section 3.2 step 3 has
    /// its own rule. On a path that stores packets there was a wait before the repair of every
    /// hole.
    fn repair_restarts_timer(&self, index: usize) -> bool {
        let newreno =
            matches!(self.episode.as_deref(), Some(Episode { rule: Rule::NewReno(_), .. }));
        (index == 0 && !newreno) || self.detector.path_stores()
    }
    /// Let recovery and limited transmit count what was sent.
    fn account(&mut self, s: &Segment, sender: &Sender, again: bool) {
        let len = s.len as u64;
        let disorder = (self.dupacks > 0 || sender.board().sacked_bytes() > 0)
            && !self.is_after_timeout(sender);
        match self.episode.as_mut().map(|e| &mut e.rule) {
            Some(Rule::Prr(prr)) => prr.on_sent(len),
            Some(Rule::Pipe(pipe)) if again => pipe.on_repeat(s.end()),
            None if !again && disorder => {
                self.limited_bytes += len;
            }
            _ => {}
        }
    }

    // What has arrived.

    /// Where the transmissions are shown that an ACK says have arrived.
    #[inline]
    pub(super) fn arrivals(&mut self) -> Arrivals<'_> {
        Arrivals { detector: &mut self.detector, min_rtt: self.rtt.min() }
    }
    /// An ACK covers everything up to `una` in order, which was sent once; `newest` was sent last.
    /// Returns its RTT sample.
    #[inline(always)]
    pub(super) fn on_run(&mut self, now: Time, sender: &Sender, newest: &Segment) -> Span {
        let sample = now.since(newest.sent_at);
        self.take_sample(sample, sender);
        if self.detector.on_run(sample, newest, sender.una()) {
            self.keep_rto_floor();
        }
        sample
    }
    /// The sample of this ACK, if no retransmission makes it ambiguous (Karn's rule, RFC 6298
    /// section 3).
    fn sample_of(&self, now: Time, summary: &AckSummary) -> Option<Span> {
        let newest = summary.newest.as_ref()?;
        if let Some(sample) = self.sample_of_original(now, summary, newest) {
            return Some(sample);
        }
        let clear = if newest.is(REPEATED) {
            summary.echoes(newest)
        } else {
            !summary.repeats_acked || self.agreed.sack
        };
        clear.then(|| now.since(newest.sent_at))
    }
    /// Where the path stores packets the first transmission may come long after a repair has left,
    /// and for as long as that goes on no other sample would come: the timer would expire for ever.
    /// By the time that is echoed (RFC 7323 section 4.1).
    fn sample_of_original(
        &self,
        now: Time,
        summary: &AckSummary,
        newest: &Segment,
    ) -> Option<Span> {
        let late = newest.is(REPEATED)
            && self.detector.path_stores()
            && summary.advanced()
            && !summary.echoes(newest);
        let elapsed_ms = (now.as_millis() as u32).wrapping_sub(summary.echo_ms.filter(|_| late)?);
        Some(Span::from_millis(elapsed_ms.into()))
    }
    /// Take the RTT sample of this ACK, if it has one.
    pub(super) fn sample(
        &mut self,
        now: Time,
        sender: &Sender,
        summary: &AckSummary,
    ) -> Option<Span> {
        let sample = self.sample_of(now, summary)?;
        self.take_sample(sample, sender);
        self.keep_rto_floor();
        Some(sample)
    }
    #[inline]
    fn take_sample(&mut self, r: Span, sender: &Sender) {
        self.rtt.sample(r, sender.edges());
        self.histogram.record(r);
        self.sampled_since_probe = true;
    }
    /// The detector may ask for a longer timeout.
    fn keep_rto_floor(&mut self) {
        if let Some(floor) = self.detector.rto_floor() {
            self.rtt.keep_rto_floor(floor);
        }
    }
    /// An ACK acknowledged new data in order.
    pub(super) fn on_cumulative(&mut self) {
        self.limited_bytes = 0;
        self.dupacks = 0;
    }
    /// The same, when its RTT sample has been taken.
    pub(super) fn on_advance(&mut self, sender: &Sender, summary: &AckSummary) {
        self.retries = 0;
        if self.syn_loss_window != u64::MAX {
            let acked = summary.acked.min(sender.mss());
            self.syn_loss_window = self.syn_loss_window.saturating_add(acked);
        }
    }
    pub(super) fn on_duplicate(&mut self) {
        self.dupacks += 1;
    }
    /// Inputs of detection besides the scoreboard.
    fn evidence(&self, now: Time, sender: &Sender) -> Evidence {
        Evidence {
            now,
            mss: sender.mss(),
            sack: self.agreed.sack,
            dupacks: self.dupacks,
            in_recovery: self.episode.is_some() || sender.una() < self.recovery_point,
            may_enter: self.episode.is_none() && self.is_beyond_recovery_point(sender),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            rto: self.rtt.base(),
        }
    }
    /// RFC 6582 section 3.2 step 2 without SACK ("more than recover"); RFC 6675 section 5 with it.
    fn is_beyond_recovery_point(&self, sender: &Sender) -> bool {
        let una = sender.una();
        una > self.recovery_point || (self.agreed.sack && una == self.recovery_point)
    }
    /// Bytes delivered since the last congestion event, and between the last two.
    pub(super) fn since_loss(&self, sender: &Sender) -> (u64, u64) {
        (sender.rate().delivered() - self.delivered_at_loss, self.delivered_between)
    }
}

/// The timers that end in a retransmission or a probe.
impl LossRecovery {
    /// When the retransmission timer expires, [`Time::MAX`] if it is not armed.
    #[inline]
    pub(super) fn rto_deadline(&self) -> Time {
        self.rto_at
    }
    /// When the retransmission timer or the tail loss probe is due.
    #[inline]
    pub(super) fn rto_or_probe_deadline(&self) -> Time {
        self.rto_at.min(self.probe_at)
    }
    /// When to look for losses though no ACK comes.
    #[inline]
    pub(super) fn loss_deadline(&self) -> Time {
        self.loss_at
    }

    /// Restart the retransmission timer if anything is outstanding, else stop it (RFC 6298 5.2,
    /// 5.3).
    #[inline]
    pub(super) fn rearm_rto(&mut self, now: Time, sender: &Sender) {
        self.rto_at =
            if sender.board().is_empty() { Time::MAX } else { now + self.timeout(now, sender) };
    }
    /// The same after an ACK or a repair, where a gap may have a timer of its own.
    fn restart_rto(&mut self, now: Time, sender: &Sender) {
        self.rearm_rto(now, sender);
        if self.loss_at != Time::MAX && self.detector.restarts_timer_on_news() {
            self.rto_at = self.rto_at.max(self.loss_at);
        }
    }
    /// The retransmission timeout in force. The board is not empty.
    #[inline]
    fn timeout(&self, now: Time, sender: &Sender) -> Span {
        let rto = self.rtt.rto();
        match self.detector.silence_wait(now, sender.board()) {
            Some(wait) if self.retries == 0 => wait.min(rto),
            _ => rto,
        }
    }
    /// The peer opened its window: the path is alive.
    pub(super) fn on_window_open(&mut self, now: Time, sender: &Sender) {
        self.rtt.collapse();
        self.rearm_rto(now, sender);
    }
    /// The persist timer expired. Returns after how long the next probe is due.
    pub(super) fn on_persist_timer(&mut self) -> Span {
        self.rtt.back_off();
        self.rtt.rto()
    }

    /// Arm the tail loss probe after new data or an ACK that advances, if the path is established
    /// (RFC 8985 section 7.2).
    #[inline]
    pub(super) fn rearm_probe(
        &mut self,
        now: Time,
        sender: &Sender,
        receiver: &Receiver,
        established: bool,
    ) {
        self.probe_at = Time::MAX;
        let allowed = established
            && sender.board().sacked().is_empty()
            && self.episode.is_none()
            && sender.una() >= self.recovery_point
            && self.probe.is_none();
        if allowed {
            self.rearm_probe_fast(now, sender, receiver);
        }
    }
    /// The same on the fast path.
    #[inline]
    fn rearm_probe_fast(&mut self, now: Time, sender: &Sender, receiver: &Receiver) {
        self.probe_at = Time::MAX;
        let allowed =
            self.detector.probes_tails() && !sender.board().is_empty() && self.sampled_since_probe;
        if !allowed {
            return;
        }
        let wait = self.rtt.srtt().map_or(PROBE_WITHOUT_RTT, |srtt| {
            srtt * 2 + self.probe_allowance(sender.board().len() == 1, receiver)
        });
        self.probe_at = (now + wait).min(self.rto_at);
    }
    /// Time that a probe waits in addition to 2 SRTT. `alone`: one segment is in flight, whose ACK
    /// the peer may delay. Linux (`tcp_schedule_loss_probe`) then waits for its smallest RTO.
    #[inline]
    fn probe_allowance(&self, alone: bool, receiver: &Receiver) -> Span {
        match (self.rtt.linux_floor(), alone) {
            (Some(floor), true) => floor,
            (Some(_), false) => LINUX_LEAST_WAIT,
            // The peer most likely runs the policy of this end.
            (None, true) => receiver.longest_delay().unwrap_or(MAX_ACK_DELAY),
            (None, false) => Span::ZERO,
        }
    }
    /// New data left, on the fast path.
    #[inline(always)]
    pub(super) fn on_new_data(&mut self, now: Time, sender: &Sender, receiver: &Receiver) {
        if self.rto_at == Time::MAX {
            self.rearm_rto(now, sender);
        }
        self.rearm_probe_fast(now, sender, receiver);
    }
    /// [`LossRecovery::on_run`] has taken an RTT sample, which has ended back-off.
    #[inline(always)]
    pub(super) fn rearm_after_run(&mut self, now: Time, sender: &Sender, receiver: &Receiver) {
        self.rearm_rto(now, sender);
        self.rearm_probe_fast(now, sender, receiver);
    }

    /// True if data was SACKed that was sent before the last transmission of the first segment:
    /// Linux, `tcp_clean_rtx_queue`, restarts the timer then. RFC 6675 section 6 allows more, a
    /// restart with each retransmission in recovery. What was sent after the head's last
    /// transmission says nothing new about it: the timer would never end.
    fn predates_head(sender: &Sender, summary: &AckSummary) -> bool {
        let head_sent = sender.board().get(0).sent_at; // the board holds what was SACKed
        summary.first_original_sent.is_some_and(|sent| sent < head_sent)
    }
    /// An ACK has been processed on an established path.
    pub(super) fn rearm_after_ack(
        &mut self,
        now: Time,
        sender: &Sender,
        receiver: &Receiver,
        summary: &AckSummary,
    ) {
        if !summary.advanced() {
            if summary.sacked > 0 {
                self.probe_at = Time::MAX;
                let alive = self.detector.restarts_timer_on_news();
                if alive || LossRecovery::predates_head(sender, summary) {
                    self.restart_rto(now, sender); // the path is alive, the hole has its own timer
                }
            }
            return;
        }
        // RFC 6582 section 3.2 step 3: of the partial ACKs only the first one restarts the timer.
        let keeps = self.episode.as_mut().is_some_and(|e| {
            let newreno = matches!(e.rule, Rule::NewReno(_));
            core::mem::replace(&mut e.partial_seen, true) && newreno
        });
        if self.detector.path_stores() {
            // Where all that is left was sent twice there may be no sample for long (Karn), and
            // one segment each back-off.
            self.rtt.collapse();
        }
        if !keeps || sender.board().is_empty() {
            self.restart_rto(now, sender);
        }
        self.rearm_probe(now, sender, receiver, true);
    }

    /// It is `now`: send a tail loss probe, if it is due.
    pub(super) fn on_probe_timer(&mut self, now: Time, sender: &Sender) {
        if self.probe_at > now {
            return;
        }
        self.probe_at = Time::MAX;
        if sender.board().is_empty() {
            return;
        }
        self.probe_due = true;
        self.sampled_since_probe = false;
        self.rearm_rto(now, sender);
    }
}

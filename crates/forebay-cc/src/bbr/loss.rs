//! What losses and marks say of the path, and what is taken back if there were none.

use super::filters::scaled;
use super::{AckSample, Machine, State, UNBOUNDED};
use crate::controller::{Ack, Loss, Sent, Tag};
use forebay_base::Time;

/// The latest round, and the short-term model.
#[derive(Clone, Debug)]
pub(super) struct Signals {
    /// Bounds until the next Refill; [`UNBOUNDED`] without losses. In bit/s and in bytes.
    pub(super) bw_shortterm: u64,
    pub(super) inflight_shortterm: u64,
    /// The largest delivery rate and volume of this round.
    bw_latest: u64,
    pub(super) inflight_latest: u64,
    /// A loss was seen in this round.
    is_loss_in_round: bool,
    /// The round ends with a packet that was sent when this much was delivered.
    loss_round_delivered: u64,
    /// The ACK at hand ends such a round.
    pub(super) loss_round_start: bool,
    /// When the first loss of the round was seen, as long as it is open whether an ACK showed it.
    noted_at: Option<Time>,
    /// Ranges of transmissions lost in this round and in the last one; where the last one ends.
    lost_ranges: u32,
    pub(super) lost_ranges_last: u32,
    lost_number: Option<u64>,
    /// A mark that the next ACK answers.
    pub(super) marked: bool,
}

impl Signals {
    pub(super) fn new() -> Signals {
        Signals {
            bw_shortterm: UNBOUNDED,
            inflight_shortterm: UNBOUNDED,
            bw_latest: 0,
            inflight_latest: 0,
            is_loss_in_round: false,
            loss_round_delivered: 0,
            loss_round_start: false,
            noted_at: None,
            lost_ranges: 0,
            lost_ranges_last: 0,
            lost_number: None,
            marked: false,
        }
    }
}

/// Loss repair as the transport reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Recovery {
    #[default]
    None,
    Fast,
    /// After a timeout, up to the first number that had not been sent; None: not known before the
    /// next ACK.
    Timeout {
        until: Option<u64>,
    },
}

impl Recovery {
    pub(super) fn is_fast(self) -> bool {
        self == Recovery::Fast
    }
}

/// "Saving State Upon Loss Recovery".
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// It is saved for the recovery at hand, or for the one that the losses of now begin.
    saved: bool,
    /// The state that losses ended.
    pub(super) state: Option<State>,
    prior_cwnd: u64,
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

impl Undo {
    pub(super) fn new() -> Undo {
        Undo {
            saved: false,
            state: None,
            prior_cwnd: 0,
            bw_shortterm: 0,
            inflight_shortterm: 0,
            inflight_longterm: 0,
        }
    }
}

const APP_LIMITED: u64 = 1 << 63;
const VOLUME: u64 = (1 << 31) - 1;

/// State carried by a packet: bytes in flight (31 bits: a flow has 2^30 at most), total bytes
/// lost modulo 2^32, whether the application limits the sender.
pub(super) fn tag(sent: &Sent, lost: u64) -> Tag {
    let limited = if sent.app_limited { APP_LIMITED } else { 0 };
    Tag(limited | sent.in_flight_bytes.min(VOLUME) << 32 | u64::from(lost as u32))
}

impl Machine {
    /// Losses are above the threshold.
    pub(super) fn is_too_much(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost as f64 > tx_in_flight as f64 * self.params.loss_thresh
    }

    // The latest round.

    pub(super) fn update_latest_delivery(&mut self, news: &AckSample) {
        let s = &mut self.signals;
        s.loss_round_start = false;
        let Some(sample) = &news.delivery else { return };
        s.bw_latest = s.bw_latest.max(sample.bw);
        s.inflight_latest = s.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= s.loss_round_delivered {
            s.loss_round_delivered = self.delivered;
            s.loss_round_start = true;
            s.lost_ranges_last = core::mem::take(&mut s.lost_ranges);
        }
    }
    pub(super) fn advance_latest_delivery(&mut self, news: &AckSample) {
        if let Some(sample) = news.delivery.as_ref().filter(|_| self.signals.loss_round_start) {
            self.signals.bw_latest = sample.bw;
            self.signals.inflight_latest = sample.delivered;
        }
    }
    pub(super) fn reset_congestion_signals(&mut self) {
        let s = &mut self.signals;
        (s.is_loss_in_round, s.bw_latest, s.inflight_latest) = (false, 0, 0);
    }
    pub(super) fn reset_shortterm(&mut self) {
        let s = &mut self.signals;
        (s.bw_shortterm, s.inflight_shortterm) = (UNBOUNDED, UNBOUNDED);
    }

    /// Equation 9, once a round.
    pub(super) fn update_congestion_signals(&mut self, news: &AckSample) {
        self.update_max_bw(news);
        if !self.signals.loss_round_start {
            return;
        }
        let lossy = core::mem::take(&mut self.signals.is_loss_in_round);
        if lossy && !self.state.is_probing() {
            self.lower_shortterm();
        }
    }
    fn lower_shortterm(&mut self) {
        let (beta, max_bw) = (self.params.beta, self.model.max_bw());
        let s = &mut self.signals;
        if s.bw_shortterm == UNBOUNDED {
            s.bw_shortterm = max_bw;
        }
        if s.inflight_shortterm == UNBOUNDED {
            s.inflight_shortterm = self.cwnd;
        }
        s.bw_shortterm = s.bw_latest.max(scaled(beta, s.bw_shortterm));
        s.inflight_shortterm = s.inflight_latest.max(scaled(beta, s.inflight_shortterm));
    }

    // A loss, a mark.

    /// "Probing for Bandwidth In ProbeBW", HandleLostPacket().
    pub(super) fn on_lost_packet(&mut self, now: Time, loss: &Loss) {
        self.inflight = loss.in_flight_bytes;
        self.save_state();
        self.note_loss(now);
        let s = &mut self.signals;
        s.lost_ranges += u32::from(s.lost_number != Some(loss.number.wrapping_sub(1)));
        s.lost_number = Some(loss.number);
        let bytes = u64::from(loss.bytes);
        self.lost += bytes;
        if !self.cycle.is_probe_sample {
            return;
        }
        let Tag(tag) = loss.tag;
        let tx_in_flight = tag >> 32 & VOLUME;
        let lost = u64::from((self.lost as u32).wrapping_sub(tag as u32));
        if self.is_too_much(lost, tx_in_flight) {
            let at_loss = self.inflight_at_loss(bytes, lost, tx_in_flight);
            self.on_too_much(now, at_loss, tag & APP_LIMITED != 0);
        }
    }
    /// Equation 8: how much was in flight where losses passed the threshold, within the packet.
    pub(super) fn inflight_at_loss(&self, bytes: u64, lost: u64, tx_in_flight: u64) -> u64 {
        let before = tx_in_flight.saturating_sub(bytes) as f64;
        let lost_before = lost.saturating_sub(bytes) as f64;
        let threshold = self.params.loss_thresh;
        let prefix = (threshold * before - lost_before) / (1.0 - threshold);
        (before + prefix) as u64
    }
    /// Equation 8.
    fn on_too_much(&mut self, now: Time, inflight: u64, app_limited: bool) {
        self.cycle.was_too_high = true;
        self.cycle.is_probe_sample = false; // once for each probe
        if !app_limited {
            let floor = scaled(self.params.beta, self.target_inflight());
            self.cycle.inflight_longterm = inflight.max(floor);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    fn note_loss(&mut self, now: Time) {
        if self.signals.is_loss_in_round {
            return;
        }
        self.signals.is_loss_in_round = true;
        self.signals.loss_round_delivered = self.delivered;
        self.signals.noted_at = Some(now);
    }
    /// An ACK up to `delivered` bytes is processed: if it has shown the first loss of a round, the
    /// round begins after what it delivers.
    pub(super) fn settle_loss_round(&mut self, now: Time, delivered: u64) {
        if self.signals.noted_at.take() == Some(now) {
            self.signals.loss_round_delivered = delivered;
        }
    }

    /// An ECN echo, the first of a window: a round with losses. Startup and probes answer when the
    /// rest of the ACK is known.
    pub(super) fn on_mark(&mut self, now: Time) {
        self.note_loss(now);
        self.signals.marked = self.state == State::Startup || self.cycle.is_probe_sample;
    }
    /// The data in flight when the mark was set was too much.
    pub(super) fn answer_mark(&mut self, news: &AckSample) {
        let Some(sample) = &news.delivery else { return };
        if core::mem::take(&mut self.signals.marked) && self.cycle.is_probe_sample {
            self.on_too_much(news.now, sample.tx_in_flight, sample.app_limited);
        }
    }

    // Recovery.

    pub(super) fn save_cwnd(&mut self) {
        let known = self.recovery == Recovery::None && self.state != State::ProbeRtt;
        let floor = if known { 0 } else { self.undo.prior_cwnd };
        self.undo.prior_cwnd = self.cwnd.max(floor);
    }
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.undo.prior_cwnd);
    }
    /// Once for each recovery: a second time would save what its losses have left.
    fn save_state(&mut self) {
        if core::mem::replace(&mut self.undo.saved, true) {
            return;
        }
        self.save_cwnd();
        self.undo.state = None;
        self.undo.bw_shortterm = self.signals.bw_shortterm;
        self.undo.inflight_shortterm = self.signals.inflight_shortterm;
        self.undo.inflight_longterm = self.cycle.inflight_longterm;
    }
    pub(super) fn enter_recovery(&mut self) {
        self.save_state();
        self.recovery = Recovery::Fast;
    }
    pub(super) fn leave_recovery(&mut self) {
        self.end_recovery();
        self.bound_cwnd();
    }
    fn end_recovery(&mut self) {
        self.recovery = Recovery::None;
        self.undo.saved = false;
        self.restore_cwnd();
    }
    /// Equation 11.
    pub(super) fn on_timeout(&mut self) {
        self.save_state();
        self.recovery = Recovery::Timeout { until: None };
        self.cwnd = self.inflight + self.mss;
    }
    /// The repair of a timeout ends with the ACK of what had been sent by then. One segment has
    /// left since, and not a new one.
    pub(super) fn pass_timeout(&mut self, ack: &Ack<'_>) {
        let Recovery::Timeout { until } = &mut self.recovery else { return };
        let until = *until.get_or_insert(ack.snd_nxt);
        if ack.snd_una >= until {
            self.end_recovery(); // the ACK goes on to bound the window
        }
    }

    /// "Handling a Spurious Loss Recovery".
    pub(super) fn undo_losses(&mut self) {
        self.end_recovery();
        self.signals.is_loss_in_round = false;
        self.full_pipe.reset(0);
        let s = &mut self.signals;
        s.bw_shortterm = s.bw_shortterm.max(self.undo.bw_shortterm);
        s.inflight_shortterm = s.inflight_shortterm.max(self.undo.inflight_shortterm);
        let longterm = self.cycle.inflight_longterm;
        self.cycle.inflight_longterm = longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.reached = false;
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
    }
}

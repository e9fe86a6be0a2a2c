//! PCC Allegro: Dong, Li, Zarchy, Godfrey and Schapira, "PCC: re-architecting congestion control
//! for consistent high performance", NSDI 2015 (doi:10.48550/arXiv.1409.7092).
//!
//! The sender tries rates, each for a monitor interval, sees what share of its packets is lost, and
//! moves to where its utility is higher. x is the rate at which packets left in an interval and T
//! that of those that arrived, in Mbit/s, L the share that was lost, r the rate that is kept, eps
//! the size of an experiment:
//!
//! 1. utility: `u = T sig(L - 0.05) - x L`, `sig(y) = 1 / (1 + exp(100 y))` (section 2.2);
//! 2. an interval lasts for 10 packets, or for a random 1.7 to 2.2 RTT if that is longer (section
//!    3.1);
//! 3. start: `r = 2 MSS / RTT`, doubled with each interval, until u falls; then back to the rate
//!    before (section 3.2);
//! 4. decision: four intervals in two pairs, each with `r (1 + eps)` and `r (1 - eps)` in random
//!    order, then r until all is known. Where both pairs agree, r moves that way and the rate is
//!    adjusted; else `eps += 0.01`, up to 0.05, and again (section 3.2);
//! 5. adjusting: `r_n = r_(n-1) (1 + 0.01 n dir)` for n = 1, 2, ... until u falls; then back to
//!    `r_(n-1)` and to a decision with eps = 0.01 (section 3.2).
//!
//! With `rules = "released"`, as the authors' code (github.com/modong/pcc, sender/app/cc.h):
//!
//! 6. r begins at 2 Mbit/s; after eps = 0.05 comes 0.01; pairs of equal utility count against a
//!    rise; the first step is `0.01 (k / 2 + 1)` after k decisions, in whole numbers, and the
//!    following have n = 2, 3, ....
//!
//! `utility = "latency"` is what that code has last: with RTT the mean of the interval in ms and
//! RTT' that of the one before, `u = (T sig(L - 0.05) sig'(RTT' / RTT) - x L) / RTT`, `sig'(y) =
//! 1 - 1 / (1 + exp(10 (y - 1)))`.
//!
//! Retransmissions are packets as others. Losses change nothing but what an interval has lost, and
//! there is no window.
//!
//! Differs from the paper in: the transport is TCP with SACK and not UDT; an interval lasts from
//! its first packet to the first of the next one, so that x is exact; an interval in which the
//! application had nothing to send is repeated; start waits with doubling while the result of the
//! interval before the last is open, and after an interval with less than half of its data; r is
//! never below 2 MSS / RTT, with the smoothed RTT. Start ends at the highest rate of arrivals that
//! an interval of it has shown, by the clock of its ACKs, if that is below 0.8 of the rate before,
//! or below a quarter of the rate of any of its intervals:
//! a deep buffer takes all that start sends. After an interval in which less than 0.8 of what its
//! rate allows has left, and 10 packets or more and more than twice the knee were lost, r falls to
//! T and a decision begins: where the receive buffer holds back what is sent, experiments send the
//! same and utility is uninformative. The code's jump to the rate of arrivals above
//! 200 Mbit/s is left out. After a timeout, for which the paper has no rule, one segment may be in
//! flight until an ACK comes (RFC 5681 section 3.1), and intervals from before it do not count. ECN
//! marks are not answered: an echo does not say which packet, so that no interval can be charged
//! with it.

use crate::ParamError;
use crate::controller::{
    Ack, Congestion, Controller, Delivered, Init, Limits, Loss, RecoveryOwner, RttView, Sent,
    SeriesSample, Tag, Timeout, Traits,
};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use forebay_base::require;
use forebay_base::{OptionList, Rate, Rng, Span, Time};
use serde::{Deserialize, Serialize};

/// Packets of an interval at least (section 3.1).
const MIN_PACKETS: u64 = 10;
/// An interval in RTT: the least, and the width of what is drawn on top (section 3.1).
const MIN_RTTS: f64 = 1.7;
const MORE_RTTS: f64 = 0.5;
/// Slope of the RTT's sigmoid (authors' code).
const RTT_SLOPE: f64 = 10.0;
/// First rate of the authors' code in bit/s.
const RELEASED_START_BPS: f64 = 2e6;
/// RTT before the first sample.
const FIRST_RTT: Span = Span::from_millis(100);
/// Packet times by which the next interval may begin late without the application being the cause.
const LATE_PACKETS: u64 = 4;
/// Packets after the first that show a rate of arrivals.
const MIN_ARRIVALS: u64 = 5;
/// Loss in knees above which the rate falls to that of arrivals.
const FAR_KNEES: f64 = 2.0;
/// An interval in which less than this share of what the rate allows has left was held back.
const SENT_SHARE: f64 = 0.8;
/// Start ends where less than this share of what an interval sends arrives in its time.
const START_SHARE: f64 = 0.25;
/// Intervals that are waited for at most: of an older one, what is known by then counts. A
/// retransmission on suspicion (RFC 8985 section 7.3) leaves the fate of the first packet open.
const MAX_INTERVALS: usize = 16;
/// Intervals of start that may be open: the results of one come with the next (section 3.1).
const OPEN_STARTS: usize = 2;

/// Whose rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Rules {
    /// Those of the paper.
    #[default]
    Paper,
    /// Those of the code that its authors released.
    Released,
}

/// What is best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Utility {
    /// Throughput with little loss (equation 1).
    #[default]
    Throughput,
    /// The same divided by the RTT, and less where the RTT grows.
    Latency,
}

/// Parameters of PCC Allegro.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// `paper` or `released` (the authors' code).
    pub rules: Rules,
    /// `throughput` (section 2.2) or `latency` (the authors' code).
    pub utility: Utility,
    /// Share of losses where utility breaks down, 0 to 0.5. Section 2.2: 0.05.
    pub loss_knee: f64,
    /// Slope of the sigmoid there, 1 to 10 000. Section 2.2: 100, enough for 46 flows.
    pub loss_slope: f64,
    /// Smallest experiment and step, as a share of the rate, 0.001 to 0.1. Section 3.2: 0.01.
    pub eps_min: f64,
    /// Largest experiment, eps_min to 0.5. Section 3.2: 0.05.
    pub eps_max: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            rules: Rules::Paper,
            utility: Utility::Throughput,
            loss_knee: 0.05,
            loss_slope: 100.0,
            eps_min: 0.01,
            eps_max: 0.05,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require((0.0..=0.5).contains(&self.loss_knee), "loss_knee", "0 to 0.5")?;
        require((1.0..=1e4).contains(&self.loss_slope), "loss_slope", "1 to 10000")?;
        require((0.001..=0.1).contains(&self.eps_min), "eps_min", "0.001 to 0.1")?;
        let largest = (self.eps_min..=0.5).contains(&self.eps_max);
        require(largest, "eps_max", "eps_min to 0.5")
    }

    /// Equation 1, or that of latency; x in Mbit/s.
    fn utility(&self, x: f64, loss: f64, rtt: Span, before: Span) -> f64 {
        let arrived = x * (1.0 - loss);
        let good = arrived / (1.0 + libm::exp(self.loss_slope * (loss - self.loss_knee)));
        match self.utility {
            Utility::Throughput => good - x * loss,
            Utility::Latency => {
                let ratio = before.as_secs_f64() / rtt.as_secs_f64();
                let steady = 1.0 - 1.0 / (1.0 + libm::exp(RTT_SLOPE * (ratio - 1.0)));
                (good * steady - x * loss) / (1e3 * rtt.as_secs_f64())
            }
        }
    }
}

/// The purpose of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// One of equation 3.
    Start,
    /// One of the four of equation 4.
    Experiment(usize),
    /// The first at a rate of equation 5.
    Step,
    /// Until something is known.
    Hold,
}

/// A monitor interval.
#[derive(Clone, Debug)]
struct Interval {
    bps: f64,
    role: Role,
    /// Its purpose is still open if this is the sender's.
    epoch: u64,
    /// When its first packet left, and when it is to end.
    began: Option<Time>,
    end: Time,
    sent_bytes: u64,
    lost_bytes: u64,
    /// Packets of which nothing is known.
    open: u64,
    rtts: Span,
    samples: u64,
    /// When the first and the last of its packets were known to have arrived, and what arrived
    /// after the first.
    arrivals: Option<(Time, Time)>,
    arrived_bytes: u64,
}

impl Interval {
    /// Rate of its arrivals in bit/s, by the clock of their ACKs; None for a few packets.
    fn arrival_bps(&self, mss_bytes: u64) -> Option<f64> {
        let span_s = self.arrivals.map(|(first, last)| last.since(first).as_secs_f64())?;
        let many = self.arrived_bytes >= MIN_ARRIVALS * mss_bytes && span_s > 0.0;
        many.then(|| 8.0 * self.arrived_bytes as f64 / span_s)
    }

    /// At least half of what the rate allows has left.
    fn is_fed(&self) -> bool {
        let Some(began) = self.began else { return false };
        let allowed = self.bps * self.end.since(began).as_secs_f64();
        16.0 * self.sent_bytes as f64 >= allowed
    }
}

/// Where the search is.
#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Starting {
        /// Rate and utility of the last interval that is known.
        best: Option<(f64, f64)>,
    },
    Deciding {
        /// Of each experiment: up or down, and its utility.
        up: [bool; 4],
        utilities: [Option<f64>; 4],
        begun: usize,
    },
    Adjusting {
        up: bool,
        /// n of the rate that is on trial.
        step: u32,
        /// Rate before it and its utility; None for the first.
        before: Option<(f64, f64)>,
        /// The interval that counts has not begun.
        pending: bool,
    },
}

/// All but the rate of now; on the heap, for other controllers are smaller.
#[derive(Clone, Debug)]
struct State {
    params: Params,
    rng: Rng,
    phase: Phase,
    epoch: u64,
    /// The rate that is kept, in bit/s.
    kept_bps: f64,
    /// Decisions since the last that was clear, this one included.
    decisions: u32,
    /// Oldest first; the last one is that of now.
    intervals: VecDeque<Interval>,
    /// Number of the first of them.
    first: u64,
    srtt: Span,
    last_rtt: Option<Span>,
    last_utility: f64,
    /// Highest rate of arrivals of an interval of start, in bit/s.
    arrival_bps: f64,
}

/// The sender of one path.
#[derive(Clone, Debug)]
pub struct Pcc {
    rate: Rate,
    mss_bytes: u64,
    /// Nothing has come since a timeout.
    silent: bool,
    state: Box<State>,
}

impl Pcc {
    /// A sender that has not begun.
    pub fn new(params: &Params, init: Init) -> Pcc {
        let mss_bytes = u64::from(init.mss_bytes);
        let state = State {
            params: params.clone(),
            rng: init.rng,
            phase: Phase::Starting { best: None },
            epoch: 0,
            kept_bps: 0.0,
            decisions: 0,
            intervals: VecDeque::new(),
            first: 1,
            srtt: FIRST_RTT,
            last_rtt: None,
            last_utility: 0.0,
            arrival_bps: 0.0,
        };
        let mut pcc = Pcc { rate: Rate::MIN, mss_bytes, silent: false, state: Box::new(state) };
        pcc.rate = Rate::clamped(pcc.least_bps() as u64);
        pcc
    }

    /// Two segments in an RTT.
    fn least_bps(&self) -> f64 {
        let rtt_s = self.state.srtt.max(Span::from_micros(1)).as_secs_f64();
        (16.0 * self.mss_bytes as f64 / rtt_s).max(Rate::MIN.bps() as f64)
    }

    /// eps of now (equation 4).
    fn eps(&self) -> f64 {
        let State { params, decisions, .. } = &*self.state;
        (f64::from(*decisions) * params.eps_min).min(params.eps_max)
    }

    /// Begin an interval; its clock starts with its first packet.
    fn begin(&mut self) {
        let least_bps = self.least_bps();
        let (eps, state) = (self.eps(), &mut *self.state);
        let last = state.intervals.back().map(|interval| (interval.bps, interval.is_fed()));
        let (bps, role) = match &mut state.phase {
            Phase::Starting { .. } => {
                let first = match state.params.rules {
                    Rules::Paper => least_bps,
                    Rules::Released => RELEASED_START_BPS,
                };
                match last {
                    None => (first, Role::Start),
                    Some((bps, true)) if state.intervals.len() < OPEN_STARTS => {
                        (2.0 * bps, Role::Start)
                    }
                    Some((bps, _)) => (bps, Role::Hold),
                }
            }
            Phase::Deciding { up, begun, .. } if *begun < up.len() => {
                let index = *begun;
                *begun += 1;
                let change = if up[index] { eps } else { -eps };
                (state.kept_bps * (1.0 + change), Role::Experiment(index))
            }
            Phase::Adjusting { pending: pending @ true, .. } => {
                *pending = false;
                (state.kept_bps, Role::Step)
            }
            _ => (state.kept_bps, Role::Hold),
        };
        let bps = bps.clamp(least_bps, Rate::MAX.bps() as f64);
        if state.intervals.back().is_some_and(|interval| interval.began.is_none()) {
            state.intervals.pop_back();
        }
        let (rtts, epoch) = (Span::ZERO, state.epoch);
        let (began, end) = (None, Time::MAX);
        let (sent_bytes, lost_bytes, open, samples) = (0, 0, 0, 0);
        state.intervals.push_back(Interval {
            bps,
            role,
            epoch,
            began,
            end,
            sent_bytes,
            lost_bytes,
            open,
            rtts,
            samples,
            arrivals: None,
            arrived_bytes: 0,
        });
        self.rate = Rate::clamped(bps as u64);
    }

    /// Equation 2.
    fn length(&mut self) -> Span {
        let drawn = MIN_RTTS + MORE_RTTS * self.state.rng.unit();
        let rtts = Span::from_secs_f64(drawn * self.state.srtt.as_secs_f64());
        rtts.max(self.rate.span_of(MIN_PACKETS * self.mss_bytes)).max(Span::from_micros(1))
    }

    /// Equation 4, with the eps of the next decision.
    fn decide(&mut self) {
        let state = &mut *self.state;
        state.epoch += 1;
        state.decisions += 1;
        let largest = libm::round(state.params.eps_max / state.params.eps_min) as u32;
        if state.decisions > largest {
            state.decisions = match state.params.rules {
                Rules::Paper => largest,
                Rules::Released => 1,
            };
        }
        let first = [state.rng.chance(0.5), state.rng.chance(0.5)];
        let up = [first[0], !first[0], first[1], !first[1]];
        state.phase = Phase::Deciding { up, utilities: [None; 4], begun: 0 };
        self.begin();
    }

    /// The rate `bps` is on trial, with `n = step` (equation 5).
    fn adjust(&mut self, up: bool, step: u32, before: Option<(f64, f64)>, share: f64) {
        let least_bps = self.least_bps();
        let state = &mut *self.state;
        state.epoch += 1;
        state.kept_bps *= if up { 1.0 + share } else { 1.0 - share };
        state.kept_bps = state.kept_bps.clamp(least_bps, Rate::MAX.bps() as f64);
        state.phase = Phase::Adjusting { up, step, before, pending: true };
        self.begin();
    }

    /// An interval at `bps` has brought `utility`.
    fn on_result(&mut self, role: Role, bps: f64, utility: f64) {
        self.state.last_utility = utility;
        match (&mut self.state.phase, role) {
            (Phase::Starting { best }, Role::Start) => match *best {
                Some((before_bps, before)) if utility <= before => {
                    let arrived_bps = self.state.arrival_bps;
                    let buffered = (1.0..SENT_SHARE * before_bps).contains(&arrived_bps);
                    self.state.kept_bps = if buffered { arrived_bps } else { before_bps };
                    self.decide();
                }
                _ => *best = Some((bps, utility)),
            },
            (Phase::Deciding { utilities, up, .. }, Role::Experiment(index)) => {
                utilities[index] = Some(utility);
                if let [Some(a), Some(b), Some(c), Some(d)] = *utilities {
                    let up = *up;
                    self.on_experiments(up, [a, b, c, d]);
                }
            }
            (&mut Phase::Adjusting { up, step, before, .. }, Role::Step) => match before {
                Some((before_bps, before)) if utility <= before => {
                    self.state.kept_bps = before_bps;
                    self.state.decisions = 0;
                    self.decide();
                }
                _ => {
                    let step = step + 1;
                    let share = (f64::from(step) * self.state.params.eps_min).min(0.5);
                    self.adjust(up, step, Some((bps, utility)), share);
                }
            },
            _ => {}
        }
    }

    /// All four experiments are known.
    fn on_experiments(&mut self, up: [bool; 4], utilities: [f64; 4]) {
        let released = self.state.params.rules == Rules::Released;
        let vote = |pair: usize| {
            let (a, b) = (utilities[pair], utilities[pair + 1]);
            let (above, below) = if up[pair] { (a, b) } else { (b, a) };
            let falls = above < below || (released && above == below);
            i32::from(above > below) - i32::from(falls)
        };
        match vote(0) + vote(2) {
            votes @ (2 | -2) => {
                let (share, step) = if released {
                    let steps = self.state.decisions / 2 + 1;
                    (f64::from(steps) * self.state.params.eps_min, 1)
                } else {
                    (self.eps(), 0)
                };
                self.state.decisions = 0;
                self.adjust(votes > 0, step, None, share);
            }
            _ => self.decide(),
        }
    }

    /// The interval is known, and `next` is when the first packet of the next one left.
    fn judge(&mut self, interval: &Interval, next: Time) {
        let Some(began) = interval.began.filter(|_| interval.epoch == self.state.epoch) else {
            return;
        };
        let rate = Rate::clamped(interval.bps as u64);
        let late = next > interval.end + rate.span_of(LATE_PACKETS * self.mss_bytes);
        let over = if late { interval.end } else { next };
        let span_s = over.since(began).as_secs_f64();
        if span_s <= 0.0 || interval.sent_bytes == 0 {
            return self.repeat(interval.role);
        }
        let x = 8e-6 * interval.sent_bytes as f64 / span_s;
        let loss = (interval.lost_bytes as f64 / interval.sent_bytes as f64).min(1.0);
        if let Some(bps) = interval.arrival_bps(self.mss_bytes) {
            self.state.arrival_bps = self.state.arrival_bps.max(bps);
        }
        let starting = matches!(self.state.phase, Phase::Starting { .. });
        if starting && (1.0..START_SHARE * 1e6 * x).contains(&self.state.arrival_bps) {
            self.state.kept_bps = self.state.arrival_bps.max(self.least_bps());
            return self.decide();
        }
        let held_back = 1e6 * x < SENT_SHARE * interval.bps;
        let over_knee = held_back && loss > FAR_KNEES * self.state.params.loss_knee;
        if over_knee && interval.lost_bytes >= MIN_PACKETS * self.mss_bytes {
            return self.fall_back(1e6 * x * (1.0 - loss));
        }
        if late {
            return self.repeat(interval.role);
        }
        let rtt = match interval.samples {
            0 => self.state.srtt,
            samples => interval.rtts / samples,
        };
        let rtt = rtt.max(Span::from_micros(1));
        let before = self.state.last_rtt.replace(rtt).unwrap_or(rtt);
        let utility = self.state.params.utility(x, loss, rtt, before);
        self.on_result(interval.role, interval.bps, utility);
    }

    /// The rate is above what may leave and what arrives: go to the latter, and decide anew.
    fn fall_back(&mut self, arrived_bps: f64) {
        let least_bps = self.least_bps();
        let state = &mut *self.state;
        let before_bps = match state.phase {
            Phase::Starting { best } => best.map_or(f64::INFINITY, |(bps, _)| bps),
            _ => state.kept_bps,
        };
        state.kept_bps = before_bps.min(arrived_bps).max(least_bps);
        state.decisions = 0;
        self.decide();
    }

    /// The application had nothing to send in an interval that counts.
    fn repeat(&mut self, role: Role) {
        match (&mut self.state.phase, role) {
            (Phase::Deciding { .. }, Role::Experiment(_)) => {
                self.state.decisions -= 1;
                self.decide();
            }
            (Phase::Adjusting { pending, .. }, Role::Step) => *pending = true,
            _ => {}
        }
    }

    /// Intervals in which the path was silent show nothing of their rates.
    fn repeat_all(&mut self) {
        self.state.epoch += 1;
        let role = match self.state.phase {
            Phase::Starting { .. } => Role::Start,
            Phase::Deciding { .. } => Role::Experiment(0),
            Phase::Adjusting { .. } => Role::Step,
        };
        self.repeat(role);
    }

    /// Judge the intervals of which all is known, in their order.
    fn collect(&mut self) {
        while self.state.intervals.len() > 1 {
            let state = &mut *self.state;
            let Some(next) = state.intervals[1].began else { return };
            if state.intervals[0].open > 0 {
                if state.intervals.len() <= MAX_INTERVALS {
                    return;
                }
                let oldest = &mut state.intervals[0];
                let unknown = oldest.open * self.mss_bytes;
                oldest.sent_bytes = oldest.sent_bytes.saturating_sub(unknown);
            }
            let oldest = state.intervals.pop_front().expect("there is more than one");
            state.first += 1;
            self.judge(&oldest, next);
        }
    }

    fn interval(&mut self, tag: Tag) -> Option<&mut Interval> {
        let index = tag.0.checked_sub(self.state.first)?;
        self.state.intervals.get_mut(usize::try_from(index).ok()?)
    }
}

impl Controller for Pcc {
    #[inline]
    fn limits(&self) -> Limits {
        let cwnd_bytes = if self.silent { self.mss_bytes } else { Limits::MAX_CWND_BYTES };
        Limits { pacing_rate: Some(self.rate), ..Limits::window(cwnd_bytes) }
    }
    fn traits(&self) -> Traits {
        Traits { wants_packets: true, wants_rate: false, edits_headers: false, ..Traits::default() }
    }

    fn on_established(&mut self, _now: Time, rtt: &RttView, _options: Option<&OptionList>) {
        self.state.srtt = rtt.srtt.unwrap_or(FIRST_RTT);
        if self.state.intervals.is_empty() {
            self.begin();
        }
    }

    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        let Some(current) = self.state.intervals.back() else { return Tag(0) };
        let starts = current.began.is_none();
        let length = if starts { self.length() } else { Span::ZERO };
        let state = &mut *self.state;
        let number = state.first + state.intervals.len() as u64 - 1;
        let current = state.intervals.back_mut().expect("looked at above");
        if starts {
            (current.began, current.end) = (Some(now), now + length);
        }
        current.sent_bytes += u64::from(sent.bytes);
        current.open += 1;
        Tag(number)
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        if let Some(srtt) = ack.rtt.srtt {
            self.state.srtt = srtt;
        }
        self.silent = false;
        self.collect();
    }

    fn on_delivered(&mut self, now: Time, packet: &Delivered) {
        if let Some(interval) = self.interval(packet.tag) {
            interval.open = interval.open.saturating_sub(1);
            let bytes = u64::from(packet.bytes);
            match &mut interval.arrivals {
                None => interval.arrivals = Some((now, now)),
                Some((_, last)) => {
                    (*last, interval.arrived_bytes) = (now, interval.arrived_bytes + bytes)
                }
            }
            if let Some(rtt) = packet.rtt {
                interval.rtts += rtt;
                interval.samples += 1;
            }
        }
    }

    fn on_loss(&mut self, _now: Time, loss: &Loss) {
        if let Some(interval) = self.interval(loss.tag) {
            interval.open = interval.open.saturating_sub(1);
            interval.lost_bytes += u64::from(loss.bytes);
        }
    }

    fn on_congestion(&mut self, _now: Time, _event: &Congestion) {
        // Losses count in the interval of their packets.
    }

    fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {
        if !core::mem::replace(&mut self.silent, true) {
            self.repeat_all();
        }
        self.collect();
    }

    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Controller
    }

    fn next_timeout(&self) -> Option<Time> {
        self.state.intervals.back().map(|interval| interval.end).filter(|&end| end < Time::MAX)
    }

    fn on_timer(&mut self, now: Time) {
        if self.next_timeout().is_some_and(|end| end <= now) {
            self.begin();
            self.collect();
        }
    }

    fn phase(&self) -> &'static str {
        match self.state.phase {
            Phase::Starting { .. } => "starting",
            Phase::Deciding { .. } => "decision",
            Phase::Adjusting { .. } => "adjusting",
        }
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let (rate, utility) = (self.rate.bps() as f64, self.state.last_utility);
        visit(SeriesSample { name: "rate", unit: "bit/s", value: rate });
        visit(SeriesSample { name: "utility", unit: "Mbit/s", value: utility });
        visit(SeriesSample { name: "eps", unit: "", value: self.eps() });
    }
}

#[cfg(test)]
mod tests;

//! When a port stops to signal, and when it begins again.

use super::flows::{self, CooperatingShare, FlowCount};
use alloc::boxed::Box;
use forebay_base::{Arena, Packet, Span, Time};
use serde::{Deserialize, Serialize};

/// The rule by which a port falls back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// While more than half of the limit waits.
    Paper,
    /// By means, with hysteresis, and with trials: see the head of the scheme.
    Hardened,
}

/// Signals end above this share of the limit, and where a packet of each flow waits: so many do
/// where flows obey, too, as their phases have it. See [`Occupancy::is_high`].
const HIGH: f64 = 0.5;
/// They come back below this one, and the same share of that number.
const LOW: f64 = 0.35;
/// A trial comes after this time where flows that listen are not alone.
const WAIT: Span = Span::from_secs(16);
/// Where they are, the wait is at least two round-trip times, doubles with each failure, and is
/// this at most, or [`WAIT`] where R fell below the smallest code.
const WAIT_ALONE: Span = Span::from_secs(2);
/// Round-trip times of a trial.
const TRIAL_RTTS: u64 = 4;
/// Round-trip times that fallback lasts at least.
const MIN_RTTS: u64 = 2;
/// R is divided at once where flows became so many times as many, and more by the number for which
/// the first R is.
const SURGE: f64 = 2.0;
/// Of a new flow the loop has learned so much in d: its alpha.
const LOOP_GAIN: f64 = 0.4;
/// d is no less than so many packets of a flow at R take: a flow learns of R with its own packets,
/// and one that sends less than one in d would not be counted.
const LEAST_GAPS: f64 = 4.0;
/// No trial comes where there are more flows than this share of those whose even share the smallest
/// code just says. The rest is for what the count errs by, and R by which the loop swings.
const CODABLE: f64 = 0.9;
/// Participating flows fill the queue alone where they send at least this share of arrivals.
const ALONE: f64 = 0.9;

/// Backlog and limit, in bytes or packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupancy {
    pub(super) waits: u64,
    pub(super) limit: u64,
}

impl Occupancy {
    fn share(self) -> f64 {
        self.waits as f64 / self.limit as f64
    }
    /// The share is above [`HIGH`], without a division: asked for each packet.
    #[inline]
    fn is_high(self) -> bool {
        const { assert!(HIGH == 0.5) };
        2 * self.waits > self.limit
    }
}

/// Measurements at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntervalSample {
    pub(super) now: Time,
    pub(super) filling: Occupancy,
    /// The limit in packets.
    pub(super) limit_packets: f64,
    /// d.
    pub(super) rtt: Span,
    /// R is below the smallest code: other traffic leaves nothing to participating flows.
    pub(super) starved: bool,
    /// So many flows have an even share of just the smallest code.
    pub(super) most_flows: f64,
    /// The flows that listen, where nobody else is in their queue; None: see
    /// [`Mode::count_flow`].
    pub(super) alone: Option<f64>,
}

/// Whether a port signals.
#[derive(Clone, Debug)]
pub(super) enum Mode {
    /// True: more than half of the limit waits.
    Paper(bool),
    Hardened(Box<Hardened>),
}

impl Mode {
    /// The first R is for `first_flows` flows.
    pub(super) fn new(rule: Fallback, first_flows: f64) -> Mode {
        match rule {
            Fallback::Paper => Mode::Paper(false),
            Fallback::Hardened => Mode::Hardened(Box::new(Hardened::new(first_flows))),
        }
    }
    /// False: fallback.
    #[inline]
    pub(super) fn signals(&self) -> bool {
        match self {
            Mode::Paper(above) => !above,
            Mode::Hardened(hardened) => !matches!(hardened.state, State::Silent),
        }
    }
    /// True if nothing changes where nothing arrives and nothing waits.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            Mode::Paper(_) => true,
            Mode::Hardened(hardened) => matches!(hardened.state, State::Signals),
        }
    }
    /// What the loop shall not compute: the share of one flow in what the port fills, and what of
    /// it drains the queue; None: the loop does.
    pub(super) fn flow_share(&self) -> Option<(f64, f64)> {
        match self {
            Mode::Paper(_) => None,
            Mode::Hardened(hardened) => hardened.flow_share(),
        }
    }
    /// The smallest d, in seconds, where `gap_s` lie between two packets of a flow at R.
    pub(super) fn least_rtt_s(&self, gap_s: f64) -> f64 {
        match self {
            Mode::Paper(_) => 0.0,
            Mode::Hardened(_) => LEAST_GAPS * gap_s,
        }
    }
    /// A surge of flows since it was last asked for: the factor by which there are more, and how
    /// many there are.
    pub(super) fn take_growth(&mut self) -> Option<(f64, f64)> {
        match self {
            Mode::Paper(_) => None,
            Mode::Hardened(hardened) => hardened.growth.take(),
        }
    }
    /// Flows among whom R is shared evenly at the most: packets were lost where the limit is less
    /// than one for each flow, and those who lost them take it for somebody else's.
    pub(super) fn crowd(&self) -> Option<f64> {
        match self {
            Mode::Paper(_) => None,
            Mode::Hardened(hardened) => hardened.crowds.then(|| hardened.flows_lately()),
        }
    }
    /// True if R keeps its first value: no participating flow has sent anything.
    pub(super) fn waits(&self) -> bool {
        matches!(self, Mode::Hardened(hardened) if !hardened.began)
    }
    /// True if [`Mode::on_leaving`] does anything.
    #[inline]
    pub(super) fn looks_at_leaving(&self) -> bool {
        matches!(self, Mode::Paper(_))
    }
    /// A packet leaves; `filling` is the queue after it.
    #[inline]
    pub(super) fn on_leaving(&mut self, filling: Occupancy) {
        if let Mode::Paper(above) = self {
            *above = filling.is_high();
        }
    }
    /// A packet arrives at a queue of `filling`; `is_full`: there is no room for it.
    #[inline]
    pub(super) fn on_arrival(
        &mut self,
        now: Time,
        filling: Occupancy,
        is_full: impl FnOnce() -> bool,
    ) {
        match self {
            Mode::Paper(above) => *above = filling.is_high(),
            Mode::Hardened(hardened) => hardened.on_arrival(now, filling, is_full),
        }
    }
    /// It is of some flow, and a router may cut it or not: where all wait in one queue.
    pub(super) fn count_flow(&mut self, packet: &Packet, may_be_cut: bool, arena: &Arena) {
        if let Mode::Hardened(hardened) = self
            && let Some(key) = flows::key(packet, arena)
        {
            hardened.flows.see(key);
            hardened.listeners.see(key, packet.wire_len(), may_be_cut);
            hardened.began |= may_be_cut;
        }
    }
    /// An interval is over.
    pub(super) fn on_interval(&mut self, look: IntervalSample) {
        match self {
            Mode::Paper(above) => *above = look.filling.is_high(),
            Mode::Hardened(hardened) => hardened.on_interval(look),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Signals,
    Silent,
    /// Signals on trial.
    Trial,
}

/// See the head of the scheme.
#[derive(Clone, Debug)]
pub(super) struct Hardened {
    state: State,
    /// Since when.
    since: Time,
    /// The queue, and its mean over d, as shares of the limit.
    queue: f64,
    mean: f64,
    looked_at: Time,
    /// Since when the queue is above [`HIGH`], and its mean below [`LOW`].
    high_since: Option<Time>,
    low_since: Option<Time>,
    /// A packet found no room after more than d above [`HIGH`].
    overflowed_at: Option<Time>,
    /// The last one that found none, and whether R is an even share at most because of it.
    lost_at: Option<Time>,
    crowds: bool,
    flows: FlowCount,
    /// The first R is for so many of them, and R now.
    first_flows: f64,
    known_flows: f64,
    /// By which they have grown since R was computed for them, and to what.
    growth: Option<(f64, f64)>,
    listeners: CooperatingShare,
    /// [`IntervalSample::alone`].
    alone: Option<f64>,
    /// A participating flow has sent something.
    began: bool,
    /// Participating flows were alone when the state began.
    were_alone: bool,
    /// Trials that failed one after another, all of which they were alone from the begin, or soon
    /// after which R was below the smallest code.
    failures: u32,
    /// It was when signals ended.
    starves: bool,
}

impl Hardened {
    fn new(first_flows: f64) -> Hardened {
        Hardened {
            first_flows,
            known_flows: first_flows,
            growth: None,
            state: State::Signals,
            since: Time::ZERO,
            queue: 0.0,
            mean: 0.0,
            looked_at: Time::ZERO,
            high_since: None,
            low_since: Some(Time::ZERO),
            overflowed_at: None,
            lost_at: None,
            crowds: false,
            flows: FlowCount::new(),
            listeners: CooperatingShare::new(),
            alone: None,
            began: false,
            were_alone: false,
            failures: 0,
            starves: false,
        }
    }
    fn flow_share(&self) -> Option<(f64, f64)> {
        let drains = 1.0 - self.queue.min(1.0) / 2.0;
        (self.state != State::Signals).then(|| (1.0 / self.flows(), drains))
    }
    fn on_arrival(&mut self, now: Time, filling: Occupancy, is_full: impl FnOnce() -> bool) {
        if filling.is_high() {
            self.high_since.get_or_insert(now);
            if is_full() {
                (self.overflowed_at, self.lost_at) = (Some(now), Some(now));
            }
        } else {
            (self.high_since, self.overflowed_at) = (None, None)
        }
    }
    fn enter(&mut self, state: State, now: Time) {
        let starves_again = self.starves && now.since(self.since) < WAIT;
        self.failures = match (self.state, state) {
            (State::Silent, State::Trial) | (State::Trial, State::Signals) => self.failures,
            (State::Trial, State::Silent) if self.were_alone => self.failures + 1,
            (State::Signals, State::Silent) if starves_again => self.failures + 1,
            _ => 0,
        };
        (self.state, self.since, self.were_alone) = (state, now, self.is_alone());
    }
    fn on_interval(&mut self, look: IntervalSample) {
        let IntervalSample { now, filling, limit_packets, rtt, starved, most_flows, alone } = look;
        self.alone = alone;
        self.began |= alone.is_some_and(|flows| flows > 0.0);
        let queue = filling.share();
        let steps = now.since(self.looked_at).as_secs_f64() / rtt.as_secs_f64();
        self.looked_at = now;
        self.queue = queue;
        self.mean += (1.0 - libm::exp(-steps)) * (queue - self.mean);
        self.count_newcomers();
        if self.flows.roll(now, rtt) {
            self.listeners.roll();
            if self.began {
                // Steps that are no surge add up until the loop has followed them.
                let more = self.flows() - self.known_flows;
                self.known_flows += if more > 0.0 { LOOP_GAIN * more } else { more };
            }
        }
        let (high, low) = self.marks(limit_packets);
        if self.mean < low {
            _ = self.low_since.get_or_insert(now)
        } else {
            self.low_since = None
        }
        let lasted = now.since(self.since);
        let full = self.high_since.zip(self.overflowed_at);
        let lost = self.lost_at.is_some_and(|at| now.since(at) < rtt * TRIAL_RTTS);
        self.crowds = high >= 1.0 && lost;
        let overflows = high < 1.0 && full.is_some_and(|(since, at)| at.since(since) > rtt);
        match self.state {
            State::Signals if self.mean > high || overflows || starved => {
                // Beside others in one queue these may be why, and leave.
                self.starves = starved && alone.is_some();
                self.enter(State::Silent, now)
            }
            State::Signals => {}
            State::Silent if self.flows() > CODABLE * most_flows => {}
            State::Silent => self.on_silent_interval(now, rtt),
            State::Trial if lasted < rtt * TRIAL_RTTS => {}
            State::Trial if self.mean < low => self.enter(State::Signals, now),
            // The others left meanwhile.
            State::Trial if self.is_alone() && !self.were_alone => self.enter(State::Trial, now),
            State::Trial => self.enter(State::Silent, now),
        }
    }
    /// In its queue in the last full time, at least 1.
    fn flows(&self) -> f64 {
        self.alone.map_or_else(|| self.flows.flows(), |flows| flows.max(1.0))
    }
    /// The same, or those of the time that runs if they are more.
    fn flows_lately(&self) -> f64 {
        self.alone.map_or_else(|| self.flows.lately(), |flows| flows.max(1.0))
    }
    /// The shares of the limit above which signals end, and below which they come back.
    fn marks(&self, limit_packets: f64) -> (f64, f64) {
        let phases = self.flows_lately() / limit_packets;
        (HIGH.max(phases), LOW.max(phases * LOW / HIGH))
    }
    fn count_newcomers(&mut self) {
        let flows = self.flows_lately();
        if flows >= SURGE * self.known_flows && flows >= self.known_flows + self.first_flows {
            self.growth = Some((flows / self.known_flows, flows));
            self.known_flows = flows;
        }
    }
    fn is_alone(&self) -> bool {
        self.alone.is_some() || self.listeners.share() >= ALONE
    }
    fn on_silent_interval(&mut self, now: Time, rtt: Span) {
        let lasted = now.since(self.since);
        let least = rtt * MIN_RTTS;
        let wait = if self.is_alone() {
            let most = if self.starves { WAIT } else { WAIT_ALONE };
            (least * (1 << self.failures.min(16))).min(most.max(least))
        } else {
            WAIT
        };
        // With a queue of their own, what listeners fill now is a discipline that may keep it low.
        let is_low =
            self.alone.is_none() && self.low_since.is_some_and(|since| now.since(since) >= rtt);
        if is_low && lasted >= least || lasted >= wait {
            self.enter(State::Trial, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::mix64;

    const D: Span = Span::from_millis(100);
    const STEP: Span = Span::from_millis(10);

    /// What the state is after each of these intervals, which so many flows fill so far.
    fn states(
        port: &mut Hardened,
        intervals: core::ops::Range<u64>,
        (flows, waits, starved): (u64, u64, bool),
    ) -> Vec<State> {
        let state = |k: u64| {
            (0..flows).for_each(|flow| port.flows.see(mix64(flow + 7)));
            let filling = Occupancy { waits, limit: 100 };
            let now = Time::ZERO + STEP * k;
            let (limit_packets, most_flows, alone) = (100.0, 10.0, None);
            port.on_interval(IntervalSample {
                now,
                filling,
                limit_packets,
                rtt: D,
                starved,
                most_flows,
                alone,
            });
            port.state
        };
        intervals.map(state).collect()
    }

    /// `1 - exp(-t / d) > 0.5 / 0.9` from 0.81 d on. Then `0.6 exp(-t / d) < 0.35` from 0.54 d
    /// on, and low for d.
    #[test]
    fn signals_come_back_on_trial_and_the_loop_four_round_trips_later() {
        let mut port = Hardened::new(20.0);
        let filled = states(&mut port, 1..13, (4, 90, false));
        assert_eq!(filled.iter().position(|&state| state == State::Silent), Some(8));
        let drained = states(&mut port, 13..120, (4, 0, false));
        let first = |wanted| drained.iter().position(|&state| state == wanted).unwrap();
        let (trial, signals) = (first(State::Trial), first(State::Signals));
        assert_eq!(trial, 16, "2 d after the end, the later one of both");
        assert_eq!(signals - trial, 40, "4 d");
        assert!(drained[signals..].iter().all(|&state| state == State::Signals));
        assert_eq!(port.flow_share(), None);
    }

    #[test]
    fn no_trial_comes_where_an_even_share_has_no_code() {
        for (flows, comes) in [(8, true), (12, false)] {
            let mut port = Hardened::new(20.0);
            let signals = |state: &State| *state != State::Silent;
            assert!(states(&mut port, 1..2, (flows, 0, true)).iter().all(|s| !signals(s)));
            let later = states(&mut port, 2..5000, (flows, 0, true));
            assert_eq!(later.iter().any(signals), comes, "{flows} flows");
        }
    }
}

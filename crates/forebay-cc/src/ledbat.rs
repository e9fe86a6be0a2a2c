//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus): Balasubramanian, Ertugay, Havey and Bagnulo,
//! "LEDBAT++: congestion control for background traffic", after LEDBAT (RFC 6817).
//!
//! A flow for background traffic: it keeps the queue below a target, and yields to flows that fill
//! it further. W in segments, delays in seconds; `delay` is the smallest of the last 4 RTT samples
//! less `base`, the smallest of 10 minutes (RFC 6817 section 4.2):
//!
//! 1. `GAIN = 1 / min(16, ceil(2 TARGET / base))` (section 4.2), TARGET 60 ms (section 4.5);
//! 2. slow start: `W += GAIN` per segment acknowledged; the first one ends where `delay > 3/4
//!    TARGET` (section 4.1);
//! 3. congestion avoidance, per round trip: `W += GAIN` where `delay < TARGET`, else `W += max(GAIN
//!    - W (delay / TARGET - 1), -W / 2)` (section 4.3);
//! 4. slowdown, so that all flows see the path without their queue: `ssthresh = W`, `W = 2` for 2
//!    RTT, then slow start up to ssthresh. The first one comes 2 RTT after the first slow start,
//!    the next one 9 times as long after a slowdown as that took (section 4.4);
//! 5. loss: `ssthresh = W = max(flight / 2, 2)`; timeout: `ssthresh` as there, `W = 1` (RFC 5681
//!    eq. 4, section 3.1).
//!
//! Differs from the draft in: nothing that it states; it leaves open that the first window is the
//! transport's, that equation 3 is applied in parts with each ACK, and that slow start after a
//! slowdown has GAIN too (as Apple's tcp_ledbat.c; without it a short path would be back sooner).

use crate::ParamError;
use crate::controller::{
    Ack, Congestion, Controller, Init, Limits, Recovered, SeriesSample, Timeout, Traits,
};
use crate::extreme::{End, WindowedMinMax};
use alloc::boxed::Box;
use forebay_base::require;
use forebay_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// How long the smallest RTT is remembered (RFC 6817 section 4.2: BASE_HISTORY).
const BASE_WINDOW: Span = Span::from_secs(600);
/// Samples of which the smallest counts (RFC 6817 section 4.2: CURRENT_FILTER).
const FILTER: usize = 4;
/// Share of the target that ends the first slow start (section 4.1).
const SLOW_START_SHARE: f64 = 0.75;
/// Smallest window in segments (section 4.4).
const MIN_SEGMENTS: f64 = 2.0;
/// Round trips from the first slow start to the first slowdown, and of a slowdown's smallest window
/// (section 4.4).
const SLOWDOWN_ROUND_TRIPS: u64 = 2;
/// Durations of a slowdown to the next one (section 4.4).
const SLOWDOWN_GAP: u64 = 9;

/// Parameters of LEDBAT++.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// TARGET: queueing delay in milliseconds, 1 to 10 000. Section 4.5: 60; RFC 6817: 100 at most.
    pub target_ms: f64,
    /// Largest divisor of GAIN, 1 to 1000. Section 4.2: 16.
    pub gain_divisor: u32,
    /// The constant of equation 3 that multiplies the decrease, above 0 and at most 16. Section
    /// 4.3: 1.
    pub decrease: f64,
    /// Whether there are slowdowns (section 4.4: yes).
    pub slowdowns: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { target_ms: 60.0, gain_divisor: 16, decrease: 1.0, slowdowns: true }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require((1.0..=1e4).contains(&self.target_ms), "target_ms", "1 to 10000")?;
        require((1..=1000).contains(&self.gain_divisor), "gain_divisor", "1 to 1000")?;
        let decrease = self.decrease > 0.0 && self.decrease <= 16.0;
        require(decrease, "decrease", "above 0, at most 16")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first slow start.
    First,
    Avoidance,
    /// The smallest window, until this time.
    Frozen(Time),
    /// Slow start after a slowdown or a timeout.
    Ramp,
}

/// What is measured; on the heap, for other controllers are smaller.
#[derive(Clone, Debug)]
struct Delays {
    base: WindowedMinMax,
    latest: [Span; FILTER],
    next: usize,
}

/// What a congestion event took away.
#[derive(Clone, Copy, Debug)]
struct Undo {
    window: f64,
    ssthresh: f64,
}

/// The window of one path.
#[derive(Clone, Debug)]
pub struct Ledbat {
    /// W and ssthresh in segments.
    window: f64,
    ssthresh: f64,
    mss_bytes: f64,
    params: Box<Params>,
    delays: Box<Delays>,
    phase: Phase,
    /// When the slowdown of now began, and when the next one is due.
    slowed_at: Option<Time>,
    next_at: Option<Time>,
    undo: Option<Undo>,
}

impl Ledbat {
    /// A window at its start.
    pub fn new(params: &Params, init: Init) -> Ledbat {
        let mss_bytes = f64::from(init.mss_bytes);
        let base = WindowedMinMax::new(End::Smallest);
        Ledbat {
            window: (init.initial_window_bytes as f64 / mss_bytes).max(1.0),
            ssthresh: init.initial_ssthresh_bytes as f64 / mss_bytes,
            mss_bytes,
            params: Box::new(params.clone()),
            delays: Box::new(Delays { base, latest: [Span::MAX; FILTER], next: 0 }),
            phase: Phase::First,
            slowed_at: None,
            next_at: None,
            undo: None,
        }
    }

    /// Equation 1.
    fn gain(&self) -> f64 {
        let most = f64::from(self.params.gain_divisor);
        let Some(base) = self.delays.base.get().filter(|base| !base.is_zero()) else {
            return 1.0 / most;
        };
        let divisor = libm::ceil(2e-3 * self.params.target_ms / base.as_secs_f64());
        1.0 / divisor.clamp(1.0, most)
    }

    /// `delay` as a share of TARGET.
    fn load(&self) -> f64 {
        let Some(base) = self.delays.base.get() else { return 0.0 };
        let latest = self.delays.latest.iter().copied().fold(Span::MAX, Span::min);
        if latest == Span::MAX {
            return 0.0;
        }
        latest.saturating_sub(base).as_secs_f64() / (1e-3 * self.params.target_ms)
    }

    fn measure(&mut self, now: Time, sample: Span) {
        let delays = &mut *self.delays;
        delays.base.add(now, sample, BASE_WINDOW);
        delays.latest[delays.next] = sample;
        delays.next = (delays.next + 1) % FILTER;
    }

    /// Equation 3: what a round trip changes.
    fn change(&self) -> f64 {
        let (gain, over) = (self.gain(), self.load() - 1.0);
        if over < 0.0 {
            return gain;
        }
        (gain - self.params.decrease * self.window * over).max(-self.window / 2.0)
    }

    /// Equation 4, where time alone moves it.
    fn on_time(&mut self, now: Time, srtt: Span) {
        match self.phase {
            Phase::Frozen(until) if now >= until => self.phase = Phase::Ramp,
            Phase::Avoidance if self.next_at.is_some_and(|at| now >= at) => {
                (self.next_at, self.slowed_at) = (None, Some(now));
                self.ssthresh = self.window;
                self.window = self.window.min(MIN_SEGMENTS);
                self.phase = Phase::Frozen(now + srtt * SLOWDOWN_ROUND_TRIPS);
            }
            _ => {}
        }
    }

    /// Slow start is over.
    fn avoid(&mut self, now: Time, srtt: Span) {
        self.phase = Phase::Avoidance;
        if !self.params.slowdowns {
            return;
        }
        if let Some(began) = self.slowed_at.take() {
            self.next_at = Some(now + now.since(began) * SLOWDOWN_GAP);
        } else if self.next_at.is_none() {
            self.next_at = Some(now + srtt * SLOWDOWN_ROUND_TRIPS);
        }
    }

    /// Equations 2 and 3 for `acked` segments.
    fn grow(&mut self, now: Time, srtt: Span, acked: f64, limited: bool) {
        match self.phase {
            Phase::First if self.load() > SLOW_START_SHARE => {
                self.ssthresh = self.window;
                self.avoid(now, srtt);
            }
            Phase::First | Phase::Ramp => {
                if limited {
                    self.window = (self.window + self.gain() * acked).min(self.ssthresh);
                }
                if self.window >= self.ssthresh {
                    self.avoid(now, srtt);
                }
            }
            Phase::Avoidance => {
                let change = self.change() * (acked / self.window).min(1.0);
                if change < 0.0 {
                    self.window = (self.window + change).max(MIN_SEGMENTS.min(self.window));
                } else if limited {
                    self.window += change;
                }
            }
            Phase::Frozen(_) => {}
        }
    }

    fn remember(&mut self) {
        let (window, ssthresh) = (self.window, self.ssthresh);
        self.undo = Some(Undo { window, ssthresh });
    }
}

impl Controller for Ledbat {
    #[inline]
    fn limits(&self) -> Limits {
        let bytes = (self.window * self.mss_bytes) as u64;
        Limits::window(bytes.clamp(self.mss_bytes as u64, Limits::MAX_CWND_BYTES))
    }
    fn traits(&self) -> Traits {
        Traits {
            wants_rate: false,
            edits_headers: false,
            limits_change_on_send: false,
            ..Traits::default()
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        if let Some(sample) = ack.rtt_sample.filter(|sample| !sample.is_zero()) {
            self.measure(now, sample);
        }
        if ack.in_recovery || ack.ecn_echo || ack.acked_bytes == 0 {
            return;
        }
        let srtt = ack.rtt.srtt.unwrap_or(Span::ZERO);
        self.on_time(now, srtt);
        let acked = ack.acked_bytes as f64 / self.mss_bytes;
        self.grow(now, srtt, acked, ack.cwnd_limited);
        self.window = self.window.min(Limits::MAX_CWND_BYTES as f64 / self.mss_bytes);
    }

    fn on_congestion(&mut self, _now: Time, event: &Congestion) {
        self.remember();
        let flight = (event.flight_size_bytes as f64 / self.mss_bytes).min(self.window);
        self.ssthresh = (flight / 2.0).max(MIN_SEGMENTS);
        self.window = self.window.min(self.ssthresh);
    }

    fn on_recovered(&mut self, _now: Time, end: &Recovered) {
        if let Some(cap_bytes) = end.cwnd_cap_bytes {
            self.window = self.window.min(cap_bytes as f64 / self.mss_bytes).max(1.0);
        }
    }

    fn on_rto(&mut self, _now: Time, timeout: &Timeout) {
        if timeout.first {
            self.remember();
            let flight = timeout.flight_size_bytes as f64 / self.mss_bytes;
            self.ssthresh = (flight / 2.0).max(MIN_SEGMENTS);
        }
        self.window = 1.0;
        self.phase = Phase::Ramp;
    }

    fn on_spurious(&mut self, _now: Time) {
        if let Some(undo) = self.undo.take() {
            self.window = self.window.max(undo.window);
            self.ssthresh = self.ssthresh.max(undo.ssthresh);
        }
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        let bytes = self.ssthresh * self.mss_bytes;
        (bytes <= 2.0 * Limits::MAX_CWND_BYTES as f64).then_some(bytes as u64)
    }

    fn phase(&self) -> &'static str {
        match self.phase {
            Phase::First => "slow-start",
            Phase::Avoidance => "congestion-avoidance",
            Phase::Frozen(_) => "slowdown",
            Phase::Ramp => "ramp",
        }
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let target_s = 1e-3 * self.params.target_ms;
        visit(SeriesSample { name: "queueing_delay", unit: "s", value: self.load() * target_s });
        visit(SeriesSample { name: "gain", unit: "", value: self.gain() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::Bottleneck;
    use crate::controller::CongestionCause;
    use crate::testbed::{MSS, ack, congestion, init, ms};
    use alloc::vec::Vec;

    const NOW: Time = Time::from_secs(1);

    fn ledbat() -> Ledbat {
        Ledbat::new(&Params::default(), init(10))
    }
    /// In avoidance with this window, smallest RTT and queueing delay in ms.
    fn at(window: f64, base: u64, delay: u64) -> Ledbat {
        let mut ledbat = ledbat();
        (ledbat.window, ledbat.phase) = (window, Phase::Avoidance);
        ledbat.measure(NOW, ms(base));
        (0..FILTER).for_each(|_| ledbat.measure(NOW, ms(base + delay)));
        ledbat
    }

    #[test]
    fn gain_is_that_of_a_short_path_in_sixteenths_at_least() {
        // 2 x 60 / base, rounded up.
        for (base, divisor) in [(1, 16.0), (5, 16.0), (20, 6.0), (50, 3.0), (100, 2.0), (120, 1.0)]
        {
            assert_eq!(at(10.0, base, 0).gain(), 1.0 / divisor, "{base}");
        }
        assert_eq!(ledbat().gain(), 1.0 / 16.0, "before the first sample");
    }

    #[test]
    fn a_round_trip_adds_gain_below_the_target_and_takes_a_share_above() {
        // Of 100 segments: GAIN - 100 (delay / 60 - 1), -50 at most.
        let cases = [(0, 0.5), (59, 0.5), (60, 0.5), (66, -9.5), (84, -39.5), (96, -50.0)];
        for (delay, change) in cases {
            let got = at(100.0, 100, delay).change();
            assert!((got - change).abs() < 1e-9, "{delay}: {got}");
        }
        // In parts, with each ACK.
        let mut ledbat = at(100.0, 100, 0);
        (0..100).for_each(|_| ledbat.grow(NOW, ms(100), 1.0, true));
        assert!((ledbat.window - 100.5).abs() < 0.01, "{}", ledbat.window);
    }

    #[test]
    fn the_smallest_of_four_samples_counts() {
        let mut ledbat = at(10.0, 100, 90);
        ledbat.measure(NOW, ms(106));
        assert!((ledbat.load() - 0.1).abs() < 1e-9);
        (0..3).for_each(|_| ledbat.measure(NOW, ms(160)));
        assert!((ledbat.load() - 0.1).abs() < 1e-9);
        ledbat.measure(NOW, ms(160));
        assert!((ledbat.load() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
        for (delay, phase) in [(44, "slow-start"), (46, "congestion-avoidance")] {
            let mut ledbat = at(100.0, 100, delay);
            ledbat.phase = Phase::First;
            ledbat.grow(NOW, ms(100), 2.0, true);
            assert_eq!(Controller::phase(&ledbat), phase, "{delay}");
            let grown = if delay == 44 { 101.0 } else { 100.0 };
            assert_eq!(ledbat.window, grown);
        }
    }

    /// Phases of a flow alone over 1 000 segments/s and 100 ms, and when each began, in ms.
    fn phases(seconds: u64) -> Vec<(&'static str, u64, f64)> {
        let mut net = Bottleneck::new(ms(1), 1_000);
        net.join(ledbat(), ms(99));
        let (start, mut seen) = (net.now, Vec::<(&'static str, u64, f64)>::new());
        for _ in 0..1_000 * seconds {
            net.run(ms(1));
            let flow = &net.flows[0].controller;
            let phase = Controller::phase(flow);
            if seen.last().is_none_or(|&(last, ..)| last != phase) {
                seen.push((phase, net.now.since(start).as_millis(), flow.window));
            }
        }
        seen
    }

    #[test]
    fn slowdowns_come_nine_times_their_duration_apart() {
        let seen = phases(120);
        let names: Vec<&str> = seen.iter().map(|&(name, ..)| name).take(8).collect();
        let cycle = ["congestion-avoidance", "slowdown", "ramp"];
        assert_eq!(names[0], "slow-start");
        assert!(names[1..].iter().zip(cycle.iter().cycle()).all(|(a, b)| a == b), "{names:?}");
        // Two round trips after slow start, and two of the smallest window: of 100 to 250 ms.
        let gap = |at: usize| seen[at + 1].1 - seen[at].1;
        assert!((200..=360).contains(&gap(1)) && (200..=600).contains(&gap(2)), "{seen:?}");
        assert_eq!(seen[2].2, 2.0);
        for at in (4..seen.len() - 3).step_by(3) {
            let took = gap(at - 2) + gap(at - 1);
            let wait = gap(at) as f64 / took as f64;
            assert!((8.9..9.1).contains(&wait), "{at}: {wait} of {took} ms in {seen:?}");
        }
    }

    #[test]
    fn alone_it_keeps_the_queue_below_the_target_and_the_path_nine_tenths_full() {
        let mut net = Bottleneck::new(ms(1), 1_000);
        net.join(ledbat(), ms(99));
        net.run(ms(60_000));
        let seen = net.measure(ms(120_000));
        assert!((30.0..60.0).contains(&seen.mean_queue) && seen.most_queue < 75.0, "{seen:?}");
        assert!(seen.delivered[0] > 900.0 && seen.loss == 0.0, "{seen:?}");
    }

    #[test]
    fn who_comes_late_gets_no_more_than_twice_as_much() {
        let mut net = Bottleneck::new(ms(1), 1_000);
        for _ in 0..2 {
            net.join(ledbat(), ms(99));
            net.run(ms(20_000));
        }
        let seen = net.measure(ms(200_000));
        let share = seen.delivered[0] / seen.delivered.iter().sum::<f64>();
        assert!((0.33..0.67).contains(&share), "{seen:?}");
    }

    #[test]
    fn loss_halves_and_a_timeout_leaves_one_segment() {
        let mut ledbat = at(40.0, 100, 0);
        ledbat.on_congestion(NOW, &congestion(CongestionCause::Loss, 40.0));
        assert_eq!((ledbat.window, ledbat.ssthresh), (20.0, 20.0));
        ledbat.on_rto(NOW, &Timeout { flight_size_bytes: 20 * MSS, first: true });
        assert_eq!((ledbat.window, ledbat.ssthresh), (1.0, 10.0));
        let mut now = NOW;
        // Half a segment per ACK, from 1 to 10.
        for _ in 0..18 {
            now += ms(1);
            ledbat.on_ack(now, &ack(MSS));
        }
        assert_eq!((ledbat.window, Controller::phase(&ledbat)), (10.0, "congestion-avoidance"));
        ledbat.on_spurious(NOW);
        assert_eq!(ledbat.window, 20.0);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |params: Params| params.check().unwrap_err().param;
        assert_eq!(refused(Params { target_ms: 0.0, ..Params::default() }), "target_ms");
        assert_eq!(refused(Params { target_ms: f64::NAN, ..Params::default() }), "target_ms");
        assert_eq!(refused(Params { gain_divisor: 0, ..Params::default() }), "gain_divisor");
        assert_eq!(refused(Params { decrease: 0.0, ..Params::default() }), "decrease");
    }
}

//! Copa: Arun and Balakrishnan, "Copa: practical delay-based congestion control for the internet",
//! NSDI 2018 (doi:10.5555/3307441.3307470).
//!
//! The sender steers its rate towards `1 / (delta d_q)`, the best choice for `log(throughput) -
//! delta log(delay)` where packets arrive at random. cwnd in segments, times in seconds, delta in
//! 1 / segment, v without unit:
//!
//! 1. `d_q = RTT_standing - RTT_min`. RTT_standing is the smallest sample of the last `srtt / 2`,
//!    RTT_min of the last 10 s (section 2.1);
//! 2. target rate `lambda_t = 1 / (delta d_q)`; current rate `lambda = cwnd / RTT_standing` (eq.
//!    1);
//! 3. per segment that arrived: `cwnd += v / (delta cwnd)` if `lambda <= lambda_t`, else `cwnd -= v
//!    / (delta cwnd)` (section 2.1);
//! 4. velocity, once per round trip: the direction is up if cwnd is above what it was one round
//!    trip ago, else down. `v = 1` where it has changed, `v = 2 v` once it has been the same for 3
//!    round trips (section 2.1);
//! 5. slow start: cwnd doubles per round trip until `lambda > lambda_t` (section 2.1);
//! 6. pacing at `2 cwnd / RTT_standing` (section 2.1);
//! 7. mode: a sample below `RTT_min + 0.1 (RTT_max - RTT_min)` shows a nearly empty queue, RTT_max
//!    being the largest of 4 srtt. Without one for 5 srtt another flow fills the queue, and the
//!    mode is competitive (section 2.2);
//! 8. default mode: delta = 0.5. Competitive mode: `1 / delta += 1` per round trip, and half of it
//!    after a loss, once per round trip, but 2 at least (section 2.2).
//!
//! With `delay_sample = "latest"` `d_q` is that of the latest sample, as in mvfst: the queue as
//! it is now, not the minimum over half a round trip.
//!
//! It requests an ACK for each packet. Alone, a flow keeps `1.25 / delta` segments queued on
//! average; the queue swings between 0 and `2.5 / delta` within 5 round trips (section 3). N flows:
//! `N / delta` at the target.
//!
//! Differs from the paper in: a step against the direction of v begins with v = 1 at once (mvfst),
//! not at the end of the round trip, or a large v would empty the path; v is at most `delta cwnd`,
//! so that cwnd no more than doubles or halves in a round trip (authors' code); cwnd falls by 30 %
//! where more than 30 % of the segments of two round trips, and more than 20, are lost (authors'
//! code), since a queue that is always full looks like a path without one; srtt is the transport's,
//! with a gain of 1/8 (authors' code: 1/16); a timeout, for which the paper has no rule, leaves 2
//! segments (mvfst); an ECN echo changes nothing. In the authors' code a direction is that of most
//! steps of a round trip, and v doubles from the second one on; `double_after = 1` has the latter.

use crate::ParamError;
use crate::controller::{
    Ack, AckPolicy, Congestion, Controller, Init, Limits, Loss, RecoveryOwner, RttView, Sent,
    SeriesSample, Tag, Timeout, Traits,
};
use crate::extreme::{End, WindowedMinMax};
use alloc::boxed::Box;
use forebay_base::require;
use forebay_base::{OptionList, Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// Smallest window in segments (authors' code).
const MIN_SEGMENTS: f64 = 2.0;
/// Windows per RTT at which packets leave (section 2.1).
const PACING_GAIN: f64 = 2.0;
/// Share of `RTT_max - RTT_min` below which a queue is nearly empty (section 2.2).
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips in which the queue must have been nearly empty (section 2.2).
const PATIENCE_ROUND_TRIPS: u64 = 5;
/// Round trips that RTT_max looks back (section 2.2).
const MAX_ROUND_TRIPS: u64 = 4;
/// Share of losses that shows a full queue, among more segments than this, and what is kept of the
/// window then (authors' code).
const FULL_SHARE: f64 = 0.3;
const FULL_SEGMENTS: f64 = 20.0;
const FULL_KEEP: f64 = 0.7;

/// When the sender competes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// When the queue does not drain (equation 7).
    #[default]
    Auto,
    /// Never.
    Default,
    /// Always.
    Competitive,
}

/// Whose round-trip time `d_q` of equation 1 is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DelaySample {
    /// The smallest of the last `srtt / 2` (paper).
    #[default]
    Standing,
    /// The latest (mvfst, unless `copaUseRttStanding` is set).
    Latest,
}

/// Parameters of Copa.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Weight of delay against throughput in 1 / segment, from 0.001 to 1. Section 2.2: 0.5. In
    /// competitive mode the largest.
    pub delta: f64,
    /// `auto`, `default` (never competitive) or `competitive` (always). Section 2.2: auto.
    pub mode: Mode,
    /// The sample that `d_q` is of: `standing` or `latest`. Section 2.1: standing; mvfst: latest.
    pub delay_sample: DelaySample,
    /// Round trips in one direction after which v doubles, 1 to 1000. Section 2.1: 3; the authors'
    /// code 1.
    pub double_after: u32,
    /// How long RTT_min is remembered, in seconds, above 0 and at most 1e6. Section 2.1: 10.
    pub rtt_min_window_s: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            delta: 0.5,
            mode: Mode::Auto,
            delay_sample: DelaySample::Standing,
            double_after: 3,
            rtt_min_window_s: 10.0,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        require((0.001..=1.0).contains(&self.delta), "delta", "0.001 to 1")?;
        require((1..=1000).contains(&self.double_after), "double_after", "1 to 1000")?;
        let window = self.rtt_min_window_s;
        require(window > 0.0 && window <= 1e6, "rtt_min_window_s", "above 0, at most 1e6")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Equation 4.
#[derive(Clone, Debug)]
struct Velocity {
    v: f64,
    direction: Direction,
    /// Round trips in this direction.
    same: u32,
    /// cwnd when the round trip began, in segments.
    from: f64,
}

impl Velocity {
    fn new(cwnd: f64) -> Velocity {
        Velocity { v: 1.0, direction: Direction::Up, same: 0, from: cwnd }
    }

    /// A round trip is over.
    fn on_round(&mut self, cwnd: f64, double_after: u32) {
        let direction = if cwnd > self.from { Direction::Up } else { Direction::Down };
        self.from = cwnd;
        if direction == self.direction {
            self.same = self.same.saturating_add(1);
        } else {
            (self.direction, self.same, self.v) = (direction, 1, 1.0);
        }
        if self.same > double_after {
            self.v *= 2.0;
        }
    }

    /// The next step goes this way.
    fn turn(&mut self, to: Direction, cwnd: f64) {
        if self.direction != to && self.v > 1.0 {
            *self = Velocity { v: 1.0, direction: to, same: 0, from: cwnd };
        }
    }
}

/// The samples of equations 1 and 7.
#[derive(Clone, Debug)]
struct Rtts {
    min: WindowedMinMax,
    standing: WindowedMinMax,
    max: WindowedMinMax,
    latest: Option<Span>,
}

/// The window of one path.
#[derive(Clone, Debug)]
pub struct Copa {
    /// In segments.
    cwnd: f64,
    mss_bytes: u64,
    // On the heap: other controllers are smaller.
    params: Box<Params>,
    rtts: Box<Rtts>,
    slow_start: bool,
    velocity: Velocity,
    /// Stream offset at which the round trip ends.
    round_end: u64,
    /// When the queue was last seen nearly empty; None before the first sample.
    nearly_empty_at: Option<Time>,
    competitive: bool,
    /// 1 / delta in competitive mode.
    inverse_delta: f64,
    lost_in_round: bool,
    /// Segments arrived and lost in this round trip and, if it is the second of two, the one
    /// before.
    arrived: f64,
    lost: f64,
    second: bool,
    pacing_rate: Option<Rate>,
}

impl Copa {
    /// A window at its start.
    pub fn new(params: &Params, init: Init) -> Copa {
        let mss_bytes = u64::from(init.mss_bytes);
        let cwnd = (init.initial_window_bytes as f64 / mss_bytes as f64).max(MIN_SEGMENTS);
        Copa {
            cwnd,
            mss_bytes,
            params: Box::new(params.clone()),
            rtts: Box::new(Rtts {
                min: WindowedMinMax::new(End::Smallest),
                standing: WindowedMinMax::new(End::Smallest),
                max: WindowedMinMax::new(End::Largest),
                latest: None,
            }),
            slow_start: true,
            velocity: Velocity::new(cwnd),
            round_end: 0,
            nearly_empty_at: None,
            competitive: params.mode == Mode::Competitive,
            inverse_delta: 1.0 / params.delta,
            lost_in_round: false,
            arrived: 0.0,
            lost: 0.0,
            second: false,
            pacing_rate: None,
        }
    }

    fn delta(&self) -> f64 {
        if self.competitive { 1.0 / self.inverse_delta } else { self.params.delta }
    }

    /// d_q in seconds (equation 1).
    fn queueing_s(&self) -> f64 {
        let sample = match self.params.delay_sample {
            DelaySample::Standing => self.rtts.standing.get(),
            DelaySample::Latest => self.rtts.latest,
        };
        match (sample, self.rtts.min.get()) {
            (Some(sample), Some(min)) => sample.saturating_sub(min).as_secs_f64(),
            _ => 0.0,
        }
    }

    /// lambda_t in segments per second (equation 2), infinite where nothing waits.
    fn target(&self) -> f64 {
        1.0 / (self.delta() * self.queueing_s())
    }

    /// Equation 1, and the mode of 7.
    fn measure(&mut self, now: Time, sample: Span, srtt: Span) {
        let long = Span::from_secs_f64(self.params.rtt_min_window_s);
        let min = self.rtts.min.add(now, sample, long);
        self.rtts.standing.add(now, sample, srtt / 2);
        self.rtts.latest = Some(sample);
        let max = self.rtts.max.add(now, sample, srtt * MAX_ROUND_TRIPS);
        let room = NEARLY_EMPTY * max.saturating_sub(min).as_secs_f64();
        if sample.saturating_sub(min).as_secs_f64() <= room || self.nearly_empty_at.is_none() {
            self.nearly_empty_at = Some(now);
        }
        let seen = self.nearly_empty_at.map_or(Span::ZERO, |at| now.since(at));
        let competitive = match self.params.mode {
            Mode::Auto => seen > srtt * PATIENCE_ROUND_TRIPS,
            Mode::Default => false,
            Mode::Competitive => true,
        };
        if competitive != self.competitive {
            self.competitive = competitive;
            self.inverse_delta = 1.0 / self.params.delta;
        }
    }

    /// Equations 4 and 8.
    fn on_round(&mut self) {
        if !self.slow_start {
            self.velocity.on_round(self.cwnd, self.params.double_after);
        }
        if self.competitive && !self.lost_in_round {
            let most = Limits::MAX_CWND_BYTES as f64 / self.mss_bytes as f64;
            self.inverse_delta = (self.inverse_delta + 1.0).min(most);
        }
        self.lost_in_round = false;
        if self.second {
            let all = self.arrived + self.lost;
            if all > FULL_SEGMENTS && self.lost > FULL_SHARE * all {
                self.cwnd *= FULL_KEEP;
                self.slow_start = false;
            }
            (self.arrived, self.lost) = (0.0, 0.0);
        }
        self.second = !self.second;
    }

    /// Equations 3 and 5 for what has arrived, in segments.
    fn steer(&mut self, arrived: f64, limited: bool) {
        let Some(standing) = self.rtts.standing.get() else { return };
        let rises = self.cwnd / standing.as_secs_f64() <= self.target();
        if self.slow_start && rises {
            if limited {
                self.cwnd += arrived;
            }
            return;
        }
        if self.slow_start {
            self.slow_start = false;
            self.velocity = Velocity::new(self.cwnd);
        }
        self.velocity.turn(if rises { Direction::Up } else { Direction::Down }, self.cwnd);
        let delta = self.delta();
        let v = self.velocity.v.min((delta * self.cwnd).max(1.0));
        self.velocity.v = v;
        let step = v * arrived / (delta * self.cwnd);
        if !rises {
            self.cwnd -= step.min(self.cwnd);
        } else if limited {
            self.cwnd += step;
        }
    }

    /// Equation 6, and the bounds of the window.
    fn settle(&mut self) {
        let most = Limits::MAX_CWND_BYTES as f64 / self.mss_bytes as f64;
        self.cwnd = self.cwnd.clamp(MIN_SEGMENTS, most);
        if let Some(standing) = self.rtts.standing.get().filter(|rtt| !rtt.is_zero()) {
            let bits = 8.0 * self.cwnd * self.mss_bytes as f64;
            let bps = PACING_GAIN * bits / standing.as_secs_f64();
            self.pacing_rate = Some(Rate::clamped(bps as u64));
        }
    }
}

impl Controller for Copa {
    fn limits(&self) -> Limits {
        let cwnd_bytes = (self.cwnd * self.mss_bytes as f64) as u64;
        let pacing_rate = self.pacing_rate;
        let window = Limits::window(cwnd_bytes.min(Limits::MAX_CWND_BYTES));
        Limits { pacing_rate, ..window }
    }
    fn traits(&self) -> Traits {
        Traits { wants_rate: false, edits_headers: false, ..Traits::default() }
    }

    fn on_established(&mut self, now: Time, rtt: &RttView, _options: Option<&OptionList>) {
        if let (Some(sample), Some(srtt)) = (rtt.latest, rtt.srtt) {
            self.measure(now, sample, srtt);
            self.settle();
        }
    }

    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        // No sample has shown the queue while the path was idle.
        if sent.after_idle && self.nearly_empty_at.is_some() {
            self.nearly_empty_at = Some(now);
        }
        Tag(0)
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let srtt = ack.rtt.srtt.unwrap_or(Span::ZERO);
        if let Some(sample) = ack.rtt_sample.filter(|sample| !sample.is_zero()) {
            self.measure(now, sample, srtt);
        }
        if ack.snd_una >= self.round_end {
            self.round_end = ack.snd_nxt.max(ack.snd_una + 1);
            self.on_round();
        }
        let arrived = ack.delivered_bytes as f64 / self.mss_bytes as f64;
        self.arrived += arrived;
        if arrived > 0.0 {
            self.steer(arrived, ack.cwnd_limited);
        }
        self.settle();
    }

    fn on_loss(&mut self, _now: Time, loss: &Loss) {
        self.lost += f64::from(loss.bytes) / self.mss_bytes as f64;
        if self.competitive && !self.lost_in_round {
            self.inverse_delta = (self.inverse_delta / 2.0).max(1.0 / self.params.delta);
        }
        self.lost_in_round = true;
    }

    fn on_congestion(&mut self, _now: Time, _event: &Congestion) {
        // `on_loss` has seen each lost packet; default mode does not treat loss as congestion.
    }

    fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {
        self.cwnd = MIN_SEGMENTS;
        self.slow_start = false;
        self.velocity = Velocity::new(self.cwnd);
        self.rtts.standing.clear();
        self.rtts.latest = None;
        self.settle();
    }

    /// As the authors' receiver: with an ACK for two packets a queue never looks empty.
    fn ack_policy(&self) -> Option<AckPolicy> {
        Some(AckPolicy::EveryPacket)
    }

    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Controller
    }

    fn phase(&self) -> &'static str {
        match (self.slow_start, self.competitive) {
            (true, _) => "slow-start",
            (false, false) => "default",
            (false, true) => "competitive",
        }
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let bits = 8.0 * self.mss_bytes as f64;
        let mode = f64::from(u8::from(self.competitive));
        visit(SeriesSample { name: "mode", unit: "0 default, 1 competitive", value: mode });
        visit(SeriesSample { name: "target", unit: "bit/s", value: self.target() * bits });
        visit(SeriesSample { name: "velocity", unit: "", value: self.velocity.v });
        visit(SeriesSample { name: "delta", unit: "", value: self.delta() });
        visit(SeriesSample { name: "queueing_delay", unit: "s", value: self.queueing_s() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::Bottleneck;
    use crate::testbed::{MSS, ack, init, ms, sent};

    const NOW: Time = Time::from_secs(1);

    fn copa(params: Params) -> Copa {
        Copa::new(&params, init(10))
    }
    /// A full path of `rtt`, of which `queued` was found waiting: the rest of the connection has
    /// seen less.
    fn told(copa: &mut Copa, now: Time, rtt: Span) {
        let mut news = ack(MSS);
        news.rtt_sample = Some(rtt);
        news.rtt = RttView { srtt: Some(rtt), rttvar: Span::ZERO, min: rtt, latest: Some(rtt) };
        news.snd_una = u64::MAX / 2; // no round trip of its own
        news.snd_nxt = news.snd_una;
        copa.round_end = u64::MAX;
        copa.on_ack(now, &news);
    }

    #[test]
    fn the_target_is_one_over_delta_and_the_queueing_delay() {
        let mut copa = copa(Params::default());
        copa.slow_start = false;
        told(&mut copa, NOW, ms(100));
        assert!(copa.target().is_infinite() && copa.queueing_s() == 0.0);
        // 20 ms of queue: 1 / (0.5 x 0.02) = 100 segments/s, 12 in 120 ms.
        copa.cwnd = 11.0;
        told(&mut copa, NOW + ms(200), ms(120));
        assert!((copa.target() - 100.0).abs() < 1e-9);
        let up = copa.cwnd - 11.0;
        assert!((up - 1.0 / (0.5 * 11.0)).abs() < 1e-12, "{up}");
        copa.cwnd = 13.0;
        told(&mut copa, NOW + ms(201), ms(120));
        assert!((copa.cwnd - 13.0 + 1.0 / (0.5 * 13.0)).abs() < 1e-12);
        // 2 x 13 segments in 120 ms.
        let bps = copa.limits().pacing_rate.unwrap().bps() as f64;
        assert!((bps / (2.0 * copa.cwnd * 1460.0 * 8.0 / 0.12) - 1.0).abs() < 1e-6, "{bps}");
    }

    #[test]
    fn the_latest_sample_shows_a_queue_that_the_standing_one_does_not() {
        for (delay_sample, queue_s) in [(DelaySample::Standing, 0.0), (DelaySample::Latest, 0.02)] {
            let mut copa = copa(Params { delay_sample, ..Params::default() });
            told(&mut copa, NOW, ms(100));
            told(&mut copa, NOW + ms(10), ms(120));
            assert!((copa.queueing_s() - queue_s).abs() < 1e-12, "{delay_sample:?}");
        }
    }

    #[test]
    fn velocity_doubles_from_the_fourth_round_trip_in_one_direction() {
        let seen = |double_after| {
            let mut velocity = Velocity::new(10.0);
            let windows = [11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 15.0, 14.0, 15.0];
            windows.map(|cwnd| {
                velocity.on_round(cwnd, double_after);
                velocity.v
            })
        };
        assert_eq!(seen(3), [1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0, 1.0]);
        assert_eq!(seen(1), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 1.0, 2.0, 1.0]);
    }

    #[test]
    fn a_step_against_the_direction_begins_slowly() {
        let mut velocity = Velocity { v: 16.0, direction: Direction::Up, same: 7, from: 10.0 };
        velocity.turn(Direction::Up, 40.0);
        assert_eq!(velocity.v, 16.0);
        velocity.turn(Direction::Down, 40.0);
        assert_eq!((velocity.v, velocity.direction), (1.0, Direction::Down));
        velocity.on_round(39.0, 3);
        assert_eq!((velocity.v, velocity.same), (1.0, 1));
    }

    /// Flows of these RTTs in ms over a path of `per_ms` segments per ms, after half a minute.
    fn net(rtts: &[u64], per_ms: u64, mode: Mode) -> Bottleneck<Copa> {
        let mut net = Bottleneck::new(ms(1) / per_ms, 10_000);
        for &rtt in rtts {
            net.join(copa(Params { mode, ..Params::default() }), ms(rtt));
            net.run(ms(321));
        }
        net.run(ms(30_000));
        net
    }

    #[test]
    fn the_queue_swings_between_none_and_five_segments_for_each_flow() {
        for (flows, per_ms) in [(1, 1), (1, 8), (2, 1), (4, 2)] {
            let mut net = net(&[100; 4][..flows], per_ms, Mode::Default);
            let seen = net.measure(ms(60_000));
            // 1.25 / delta per flow on average, twice that at the top (section 3).
            let mean = 2.5 * flows as f64;
            assert!((0.85..1.25).contains(&(seen.mean_queue / mean)), "{flows} {per_ms}: {seen:?}");
            assert!(seen.most_queue < 2.2 * mean + 1.0, "{flows} {per_ms}: {seen:?}");
            let total: f64 = seen.delivered.iter().sum();
            assert!(total > 995.0 * per_ms as f64 && seen.loss == 0.0, "{seen:?}");
            // Once in five round trips of 105 ms the queue is empty, or a segment from it.
            let (mut longest, mut since) = (0, 0);
            for _ in 0..600 {
                let empty = net.measure(ms(20)).least_queue < 1.5;
                since = if empty { 0 } else { since + 20 };
                longest = longest.max(since);
            }
            assert!(longest <= 600, "{flows} {per_ms}: {longest} ms");
        }
    }

    /// Equal at the target. Around it the smallest of half an RTT shows a longer path a shorter
    /// queue, so it gets more, but less than two thirds: unlike NewReno, no 1 / RTT formula.
    #[test]
    fn shares_do_not_fall_with_the_rtt() {
        let mut net = net(&[50, 200], 2, Mode::Default);
        let seen = net.measure(ms(60_000));
        let share = seen.delivered[0] / seen.delivered.iter().sum::<f64>();
        assert!((0.33..0.5).contains(&share), "{seen:?}");
    }

    /// Samples of `rtt`, one each 10 ms, for `span`.
    fn hold(copa: &mut Copa, now: &mut Time, rtt: Span, span: Span) {
        let end = *now + span;
        while *now < end {
            *now += ms(10);
            told(copa, *now, rtt);
        }
    }

    #[test]
    fn it_competes_after_five_round_trips_without_an_empty_queue() {
        let (mut copa, mut now) = (copa(Params::default()), NOW);
        copa.slow_start = false;
        hold(&mut copa, &mut now, ms(100), ms(1_000));
        assert_eq!((copa.phase(), copa.delta()), ("default", 0.5));
        // The largest is 200: below 110 the queue is nearly empty.
        hold(&mut copa, &mut now, ms(200), ms(990));
        assert_eq!(copa.phase(), "default");
        hold(&mut copa, &mut now, ms(200), ms(30));
        assert_eq!(copa.phase(), "competitive");
        // 1 / delta: 2, one more per round trip; half on loss, once per round trip, 2 at least.
        (0..6).for_each(|_| copa.on_round());
        assert_eq!(copa.delta(), 1.0 / 8.0);
        let loss = Loss { tag: Tag(0), number: 0, bytes: 1460, sent_at: NOW, in_flight_bytes: 0 };
        (0..3).for_each(|_| copa.on_loss(now, &loss));
        copa.on_round();
        assert_eq!(copa.delta(), 1.0 / 4.0);
        (0..3).for_each(|_| {
            copa.on_loss(now, &loss);
            copa.on_round();
        });
        assert_eq!(copa.delta(), 0.5);
        copa.on_round();
        hold(&mut copa, &mut now, ms(111), ms(10));
        assert_eq!(copa.phase(), "competitive");
        hold(&mut copa, &mut now, ms(109), ms(10));
        assert_eq!((copa.phase(), copa.delta()), ("default", 0.5));
        // Idle time does not count as a full queue.
        now += ms(5_000);
        copa.on_sent(now, &sent(true));
        told(&mut copa, now, ms(200));
        assert_eq!(copa.phase(), "default");
    }

    #[test]
    fn heavy_loss_takes_a_part_of_the_window_and_light_loss_none() {
        let loss = Loss { tag: Tag(0), number: 0, bytes: 1460, sent_at: NOW, in_flight_bytes: 0 };
        for (lost, left) in [(9, 100.0), (10, 100.0), (11, 70.0)] {
            let mut copa = copa(Params::default());
            (copa.cwnd, copa.slow_start) = (100.0, false);
            copa.on_round();
            copa.arrived = 23.5; // 30 % are 10.07
            (0..lost).for_each(|_| copa.on_loss(NOW, &loss));
            copa.on_round();
            assert!((copa.cwnd - left).abs() < 1e-9, "{lost}: {}", copa.cwnd);
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |params: Params| params.check().unwrap_err().param;
        assert_eq!(refused(Params { delta: 0.0, ..Params::default() }), "delta");
        assert_eq!(refused(Params { delta: f64::NAN, ..Params::default() }), "delta");
        assert_eq!(refused(Params { double_after: 0, ..Params::default() }), "double_after");
        let endless = Params { rtt_min_window_s: f64::INFINITY, ..Params::default() };
        assert_eq!(refused(endless), "rtt_min_window_s");
    }
}

//! One rate for all flows of a port, computed once per interval: the loop of RCP (IWQoS 2005,
//! doi:10.1007/11499169_22). Schemes differ in how they signal it to senders, and in how they
//! learn round-trip times.
//!
//! Equations have the numbers that they have at the head of `rcp.rs`.

use forebay_base::{ParamError, Params, Rate, Rng, Span, Time, normal, require};
use serde::{Deserialize, Serialize};

/// A full-sized packet, which the shortest interval holds.
const FULL_PACKET_BYTES: u64 = 1500;
/// Equation 2: what one flow may always send in a round trip, in bits.
const MIN_BITS_PER_RTT: f64 = 0.01 * 1000.0 * 8.0;
/// Standard deviation of the first interval, as a share of it.
const FIRST_INTERVAL_DEVIATION: f64 = 0.2;
/// Standard deviations within which the first interval is drawn: it stays positive.
const MAX_DEVIATIONS: f64 = 4.0;

/// Gains of the loop by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Pair {
    /// Those of the published experiments.
    Published,
    /// Those of the authors' ns-2 code.
    Ns2,
    /// Those that hold a standing queue still.
    Stable,
}

/// Ports of routers under RCP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct RateParams {
    /// Gains by name: "published" (alpha 0.1, beta 1, as in the papers), "ns2" (0.4, 0.4) or
    /// "stable" (0.4, 0.08). Default: "published".
    #[serde(skip_serializing)]
    pub pair: Option<Pair>,
    /// Mean round-trip time before the first sample. Range: 1us or more. Default: "200ms".
    pub initial_rtt: Span,
    /// Gain on the spare rate. Range: more than 0. Default: that of `pair`. Example: 0.4.
    pub alpha: f64,
    /// Gain on the queue. Range: 0 or more. Default: that of `pair`. Example: 0.4.
    pub beta: f64,
    /// Share of the link to fill. Range: more than 0, at most 2. Default: 1.
    pub gamma: f64,
    /// Longest interval between two updates of the rate. Range: 1us or more. Default: "10ms".
    pub max_interval: Span,
    /// First rate as a share of the link's rate. Range: more than 0, at most 1. Default: 0.05.
    pub initial_share: f64,
}

impl RateParams {
    const fn with_gains(alpha: f64, beta: f64) -> RateParams {
        RateParams {
            pair: None,
            initial_rtt: Span::from_millis(200),
            alpha,
            beta,
            gamma: 1.0,
            max_interval: Span::from_millis(10),
            initial_share: 0.05,
        }
    }
    /// The gains of the published experiments on completion times, and of the INRPP paper: alpha
    /// 0.1, beta 1.
    pub const fn published() -> RateParams {
        RateParams::with_gains(0.1, 1.0)
    }
    /// The gains in the defaults file of the authors' ns-2 code: 0.4 and 0.4.
    pub const fn default_ns2() -> RateParams {
        RateParams::with_gains(0.4, 0.4)
    }
    /// Those of XCP: alpha 0.4 and `beta = sqrt(2) alpha^2`, rounded to 0.226.
    pub const fn xcp() -> RateParams {
        RateParams::with_gains(0.4, 0.226)
    }
    /// Gains that hold a standing queue still: alpha 0.4, beta 0.08.
    ///
    /// Equation 1 around an equilibrium with a queue, time in units of d, the feedback one d late,
    /// x the relative error of the rate and z = q / (C d): `x'(t) = -alpha x(t - 1) - beta z(t)`,
    /// `z'(t) = x(t - 1)`, so `s^2 + (alpha s + beta) exp(-s) = 0`. Its loop crosses unit gain at
    /// `w^2 = (alpha^2 + sqrt(alpha^4 + 4 beta^2)) / 2` with the phase margin
    /// `atan(alpha w / beta) - w`: stable if and only if that is positive. Without the queue (beta
    /// = 0) it is `pi / 2 - alpha`. The margins are -0.90 for (0.1, 1), -0.09 for (0.4, 0.4), +0.22
    /// for XCP's `beta = sqrt(2) alpha^2` at alpha = 0.4, and +0.70 for `beta = alpha^2 / 2`, which
    /// without delay is a damping of `1 / sqrt(2)`: flows whose round trip is 2.6 times the mean
    /// are held. A smaller beta gains little margin more, and drains a queue more slowly. An
    /// equilibrium without a queue, where the queue cannot go below 0, forgives more (Balakrishnan
    /// et al., IEEE Communications Letters 2007), and the other pairs work there; that the queue
    /// term is what costs stability, rate mismatch alone being stable: arXiv 1810.01411.
    pub const fn stable() -> RateParams {
        RateParams::with_gains(0.4, 0.08)
    }
    /// These with the gains of `other`.
    pub const fn with_gains_of(self, other: RateParams) -> RateParams {
        RateParams { alpha: other.alpha, beta: other.beta, ..self }
    }
}

impl Params for RateParams {
    fn check(&self) -> Result<(), ParamError> {
        let finite = |x: f64| x.is_finite();
        let least = Span::from_micros(1);
        require(finite(self.alpha) && self.alpha > 0.0, "alpha", "above 0")?;
        require(finite(self.beta) && self.beta >= 0.0, "beta", "0 or more")?;
        require(self.gamma > 0.0 && self.gamma <= 2.0, "gamma", "above 0, at most 2")?;
        require(self.initial_rtt >= least, "initial_rtt", "1 us or more")?;
        require(self.max_interval >= least, "max_interval", "1 us or more")?;
        let share = self.initial_share > 0.0 && self.initial_share <= 1.0;
        require(share, "initial_share", "above 0, at most 1")
    }
    fn implied(&self, _given: &dyn Fn(&str) -> bool, table: &RateParams) -> RateParams {
        table.with_gains_of(match self.pair {
            None => *table,
            Some(Pair::Published) => RateParams::published(),
            Some(Pair::Ns2) => RateParams::default_ns2(),
            Some(Pair::Stable) => RateParams::stable(),
        })
    }
}

impl Default for RateParams {
    /// The gains that papers compare themselves with.
    fn default() -> RateParams {
        RateParams::published()
    }
}

/// Equations 1 to 4 for one port.
#[derive(Clone, Debug)]
pub(crate) struct RateControl {
    params: RateParams,
    /// C, and as bytes per second.
    capacity: Rate,
    bytes_per_s: f64,
    /// What of C its flows may have.
    available_bps: f64,
    pub(crate) overhead_bytes: u16,
    /// R.
    pub(crate) rate_bps: f64,
    /// d.
    pub(crate) rtt_s: f64,
    /// The interval that is being measured.
    pub(crate) began: Time,
    pub(crate) ends: Time,
    /// Bytes of this interval, and of packets that reach into the next.
    pub(crate) arrived_bytes: f64,
    pub(crate) spill_bytes: f64,
    /// Sum of the round-trip times in this interval, each times the bytes that carried it, and
    /// those bytes.
    rtt_byte_s: f64,
    rtt_bytes: u64,
    /// Nothing arrived in the last interval and nothing waits: no timer runs until something does.
    asleep: bool,
}

impl RateControl {
    /// A port at the start of time, of a link of this rate and framing overhead per packet.
    /// Panics if the parameters do not pass [`RateParams::check`].
    pub(crate) fn new(
        rate: Rate,
        overhead_bytes: u16,
        params: RateParams,
        rng: &mut Rng,
    ) -> RateControl {
        assert_eq!(params.check(), Ok(()), "parameters of a rate");
        let mut port = RateControl {
            params,
            capacity: rate,
            bytes_per_s: rate.bps() as f64 / 8.0,
            available_bps: rate.bps() as f64,
            overhead_bytes,
            rate_bps: params.initial_share * rate.bps() as f64,
            rtt_s: params.initial_rtt.as_secs_f64(),
            began: Time::ZERO,
            ends: Time::ZERO,
            arrived_bytes: 0.0,
            spill_bytes: 0.0,
            rtt_byte_s: 0.0,
            rtt_bytes: 0,
            asleep: true,
        };
        port.bound_rate();
        let deviation = FIRST_INTERVAL_DEVIATION * deviations(rng);
        let first_s = port.interval().as_secs_f64() * (1.0 + deviation);
        port.ends = Time::ZERO + Span::from_secs_f64(first_s).max(Span::from_nanos(1));
        port
    }

    /// Equation 4.
    pub(crate) fn interval(&self) -> Span {
        let packet = self.capacity.span_of(FULL_PACKET_BYTES + self.overhead_bytes as u64);
        Span::from_secs_f64(self.rtt_s).min(self.params.max_interval).max(packet)
    }
    /// Bits per second that the port aims to fill.
    pub(crate) fn target_bps(&self) -> f64 {
        self.params.gamma * self.available_bps
    }
    /// Equation 2.
    fn bound_rate(&mut self) {
        self.rate_bps = self.rate_bps.max(MIN_BITS_PER_RTT / self.rtt_s).min(self.target_bps());
    }

    /// The interval is over: equations 1 to 3, and the next begins.
    fn close(&mut self, backlog_bytes: u64) {
        let interval_s = self.ends.since(self.began).as_secs_f64();
        if self.rtt_bytes > 0 {
            self.learn_rtt(self.rtt_byte_s / self.rtt_bytes as f64, interval_s);
        }
        let target_bps = self.target_bps();
        let arrived_bps = 8.0 * self.arrived_bytes / interval_s;
        let drain_bps = 8.0 * backlog_bytes as f64 / self.rtt_s;
        let spare_bps =
            self.params.alpha * (target_bps - arrived_bps) - self.params.beta * drain_bps;
        let share = (interval_s / self.rtt_s).min(1.0);
        self.rate_bps *= 1.0 + share * spare_bps / target_bps;
        self.bound_rate();
        self.arrived_bytes = core::mem::take(&mut self.spill_bytes);
        (self.rtt_byte_s, self.rtt_bytes) = (0.0, 0);
        self.began = self.ends;
        self.ends = self.began + self.interval();
    }
    /// Equation 3.
    fn learn_rtt(&mut self, sample_s: f64, interval_s: f64) {
        let mut gain = (interval_s / self.rtt_s).min(1.0);
        if sample_s < self.rtt_s {
            gain *= self.rate_bps / self.capacity.bps() as f64 * (sample_s / self.rtt_s);
        }
        // More than 1 only where gamma is.
        self.rtt_s += gain.min(1.0) * (sample_s - self.rtt_s);
    }

    /// A packet of `bytes`, link overhead included, arrives at `now` at a queue of
    /// `backlog_bytes`.
    pub(crate) fn arrive(&mut self, now: Time, bytes: u64, backlog_bytes: u64) {
        self.catch_up(now, backlog_bytes);
        self.asleep = false;
        self.count(now, bytes as f64);
    }
    /// That packet carried a round-trip time.
    pub(crate) fn carried(&mut self, rtt: Span, bytes: u64) {
        self.rtt_byte_s += rtt.as_secs_f64() * bytes as f64;
        self.rtt_bytes += bytes;
    }
    /// Close all intervals that are over by `now`. Equal to closing each when it ends.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time, backlog_bytes: u64) {
        if self.ends <= now {
            self.close_all(now, backlog_bytes);
        }
    }
    #[inline(never)] // once for many packets
    fn close_all(&mut self, now: Time, backlog_bytes: u64) {
        while self.ends <= now {
            let silent = self.arrived_bytes == 0.0 && backlog_bytes == 0;
            let before_bps = self.rate_bps;
            self.close(backlog_bytes);
            self.asleep = silent && self.arrived_bytes == 0.0;
            if self.asleep && self.rate_bps == before_bps {
                // At its bound: whatever number of silent intervals follows, they change nothing
                // but the time.
                let interval = self.ends.since(self.began);
                let whole = now.since(self.began).as_nanos() / interval.as_nanos();
                self.began += interval * whole;
                self.ends = self.began + interval;
            }
        }
    }

    /// Count the packet where it belongs: the link could carry it from `now` on.
    fn count(&mut self, now: Time, bytes: f64) {
        let room_bytes = self.ends.since(now).as_secs_f64() * self.bytes_per_s;
        let here_bytes = bytes.min(room_bytes);
        self.arrived_bytes += here_bytes;
        self.spill_bytes += bytes - here_bytes;
    }
    /// R at `now`.
    pub(crate) fn rate_at(&self, now: Time) -> Rate {
        let rate_bps = if self.asleep && self.ends <= now {
            let mut awake = self.clone();
            awake.catch_up(now, 0);
            awake.rate_bps
        } else {
            self.rate_bps
        };
        Rate::clamped(rate_bps as u64)
    }
    /// When the interval is over; None while nothing arrives and nothing waits.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        (!self.asleep).then_some(self.ends)
    }
    /// R is this rate, whatever arrived, within its bounds.
    pub(crate) fn set_rate(&mut self, bps: f64) {
        self.rate_bps = bps;
        self.bound_rate();
    }
    /// The link runs at `rate` from now on.
    pub(crate) fn set_capacity(&mut self, rate: Rate) {
        (self.capacity, self.bytes_per_s) = (rate, rate.bps() as f64 / 8.0);
        self.set_available(rate.bps() as f64);
    }
    /// Its flows may have this of C from now on.
    pub(crate) fn set_available(&mut self, bps: f64) {
        self.available_bps = bps;
        self.bound_rate();
    }
    /// C.
    pub(crate) fn capacity_bps(&self) -> f64 {
        self.capacity.bps() as f64
    }
}

/// A normal draw, cut off at [`MAX_DEVIATIONS`].
fn deviations(rng: &mut Rng) -> f64 {
    normal(rng.above_zero(), rng.unit()).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)
}

//! BBR v3: draft-ietf-ccwg-bbr-06 (Cardwell, Swett and Beshay, 2026). The idea is from Cardwell
//! and others, "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016
//! (doi:10.1145/3012426.3022184).
//!
//! A model of the path says how fast and how much to send. Rates in bit/s of payload, volumes in
//! bytes of payload; names in quotation marks are sections of the draft:
//!
//! 1. `max_bw` = the largest delivery rate of this cycle of ProbeBW and the last one ("BBR.max_bw
//!    Max Filter"); `min_rtt` = the smallest RTT of the last 10 s (MinRTTFilterLen,
//!    "BBR.min_rtt Min Filter");
//! 2. `bw = min(max_bw, bw_shortterm)`, `bdp = bw min_rtt` ("Computing BBR.max_inflight");
//! 3. `pacing_rate = 0.99 pacing_gain bw` ("Pacing Rate"); a quantum of
//!    `clamp(1 ms pacing_rate, 2 SMSS, 64 KB)` leaves at once ("Send Quantum");
//! 4. `max_inflight = max(cwnd_gain bdp + extra_acked, 3 quanta, 4 SMSS)`, 2 SMSS more in Up; cwnd
//!    grows towards it by what is delivered ("cwnd Adjustment Mechanism"), within
//!    `inflight_longterm` and `inflight_shortterm` ("Bounding cwnd Based on Recent Congestion");
//! 5. gains (pacing, window): Startup 2.77, 2; Drain 0.5, 2; Down 0.9, 2; Cruise 1, 2; Refill 1, 2;
//!    Up 1.25, 2.25; ProbeRTT 1, 0.5 ("Summary of Control Behavior in the State Machine");
//! 6. Startup ends when three rounds bring less than 25 % more, or on losses: after a round in
//!    recovery, more than 2 % of what was in flight, in 6 ranges or more ("Startup");
//! 7. Drain ends at `inflight <= bdp`, or after three rounds ("Drain"); Down at
//!    `inflight <= min(bdp, 0.85 inflight_longterm)`; Cruise after 2 to 3 s or
//!    `min(bdp, cwnd, 63 SMSS) / SMSS` rounds; Refill after a round; Up as Startup, or when losses
//!    pass 2 % ("ProbeBW");
//! 8. losses above 2 % of what was in flight in Refill and Up: `inflight_longterm = max(inflight at
//!    the packet where they pass it, 0.7 min(bdp, cwnd))`. Of a packet with `before` bytes in
//!    flight before it and `lost` of them lost that is `before + (0.02 before - lost) / 0.98`
//!    ("Probing for Bandwidth In ProbeBW"). The next probe stops as soon as it reaches that volume,
//!    and if that is clean another one follows at once ("Precautionary Bandwidth Probing");
//! 9. elsewhere, at the end of each round with a loss: `bw_shortterm = max(bw_latest, 0.7
//!    bw_shortterm)`, the same for inflight; forgotten in Refill ("When not Probing for
//!    Bandwidth");
//! 10. ProbeRTT when the smallest RTT since the last one (`probe_rtt_min_delay`) is 5 s old
//!     (ProbeRTTInterval): half a BDP for 200 ms and a round ("ProbeRTT");
//! 11. timeout: `cwnd = inflight + SMSS`, and back when it is repaired; spurious: the model from
//!     before ("Modulating cwnd in Loss Recovery", "Handling a Spurious Loss Recovery").
//!
//! Differs from the draft in: an ECN echo, for which the draft has no rule. It counts as a round
//! with more than 2 % lost, once a window (RFC 3168 section 6.1.2 asks for the response to a loss):
//! it ends Startup and Up, sets inflight_longterm to what was in flight, and elsewhere lowers the
//! short-term model. An ACK whose rate sample is too short to mean anything says nothing about
//! rounds, as in Linux. What losses change is saved before the first of a recovery, and not again
//! with the first of each round: undo would give back what they left. SACK is taken for granted
//! (without it the draft takes every loss for too much). In Drain inflight_longterm does not bound
//! the window, as in the draft's code and against its table. Volumes are whole bytes.
//!
//! `min_rtt_filters = "one"` is what the draft's authors proposed in September 2026 (branch
//! "simpler-probe-rtt" of the draft's repository): min_rtt alone, over 10 s, schedules ProbeRTT.

mod control;
pub(crate) mod filters;
mod loss;
mod model;
mod probe_bw;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;

use crate::ParamError;
use crate::controller::{
    Ack, Congestion, CongestionCause, Controller, Init, Limits, Loss, Recovered, RecoveryOwner,
    RttView, Sent, SeriesSample, Tag, Timeout, Traits,
};
use alloc::boxed::Box;
use forebay_base::require;
use forebay_base::{OptionList, Rate, Rng, Span, Time};
use loss::{Recovery, Signals, Undo};
use model::{Aggregation, Model};
use probe_bw::Cycle;
use probe_rtt::ProbeRtt;
use serde::{Deserialize, Serialize};
use startup::FullPipe;

/// Which filters of the round-trip time there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MinRttFilters {
    /// The smallest RTT of ProbeRTTInterval schedules ProbeRTT, that of MinRTTFilterLen sets the
    /// BDP.
    Two,
    /// That of MinRTTFilterLen does both, and ProbeRTT takes its window from the min_rtt before it
    /// expired. ProbeRTTInterval is without effect.
    One,
}

/// Parameters of BBR v3. Each names its section in the head of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Pacing gain of Startup, above 1 (Startup: 2.77, that is 4 ln 2).
    pub startup_pacing_gain: f64,
    /// Pacing gain of Drain, above 0 and below 1 (Drain: 0.5; Linux 0.35).
    pub drain_pacing_gain: f64,
    /// Pacing gain of Up, above 1 (ProbeBW_UP: 1.25).
    pub up_pacing_gain: f64,
    /// Pacing gain of Down, above 0 and below 1 (ProbeBW_DOWN: 0.9).
    pub down_pacing_gain: f64,
    /// Window in bandwidth-delay products, 1 or more; in Up a quarter more (Startup: 2).
    pub cwnd_gain: f64,
    /// Share of what is in flight that may be lost while probing, within (0, 1) (Probing for
    /// Bandwidth In ProbeBW: 0.02).
    pub loss_thresh: f64,
    /// Minimum share of the model that remains after a round with losses, within (0, 1) (Updating
    /// the Model Upon Packet Loss: 0.7).
    pub beta: f64,
    /// Share of inflight_longterm that is left free in Cruise and ProbeRTT, from 0 to below 1
    /// (ProbeBW_DOWN: 0.15).
    pub headroom: f64,
    /// The probe after one that lost too much stops at the volume that was too much (Precautionary
    /// Bandwidth Probing). False: as the drafts before 2026.
    pub precautionary: bool,
    /// Age of the smallest RTT at which ProbeRTT begins, in seconds, above 0 (ProbeRTTInterval: 5).
    pub probe_rtt_interval_s: f64,
    /// Age at which min_rtt, which sets the BDP, may rise, in seconds, above 0 (MinRTTFilterLen:
    /// 10).
    pub min_rtt_filter_s: f64,
    /// Filters of the round-trip time: "two", or "one" as proposed for the draft in September 2026.
    pub min_rtt_filters: MinRttFilters,
    /// Minimum duration of ProbeRTT, in milliseconds, 0 or more (ProbeRTT: 200).
    pub probe_rtt_ms: f64,
    /// Window of ProbeRTT in bandwidth-delay products, above 0 and at most 1 (ProbeRTT: 0.5).
    pub probe_rtt_cwnd_gain: f64,
    /// What leaves at once, in milliseconds of the pacing rate, 0 to 100; two segments at least,
    /// 64 KB at most (Send Quantum: 1).
    pub send_quantum_ms: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            startup_pacing_gain: 2.77,
            drain_pacing_gain: 0.5,
            up_pacing_gain: 1.25,
            down_pacing_gain: 0.9,
            cwnd_gain: 2.0,
            loss_thresh: 0.02,
            beta: 0.7,
            headroom: 0.15,
            precautionary: true,
            probe_rtt_interval_s: 5.0,
            min_rtt_filter_s: 10.0,
            min_rtt_filters: MinRttFilters::Two,
            probe_rtt_ms: 200.0,
            probe_rtt_cwnd_gain: 0.5,
            send_quantum_ms: 1.0,
        }
    }
}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let acceleration = |gain: f64| gain > 1.0 && gain <= 100.0;
        let share = |x: f64| x > 0.0 && x < 1.0;
        let within = "above 0 and below 1";
        let faster = "above 1, at most 100";
        require(acceleration(self.startup_pacing_gain), "startup_pacing_gain", faster)?;
        require(share(self.drain_pacing_gain), "drain_pacing_gain", within)?;
        require(acceleration(self.up_pacing_gain), "up_pacing_gain", faster)?;
        require(share(self.down_pacing_gain), "down_pacing_gain", within)?;
        require((1.0..=100.0).contains(&self.cwnd_gain), "cwnd_gain", "1 to 100")?;
        require(share(self.loss_thresh), "loss_thresh", within)?;
        require(share(self.beta), "beta", within)?;
        require((0.0..1.0).contains(&self.headroom), "headroom", "0 or more, below 1")?;
        let age = |seconds: f64| seconds > 0.0 && seconds <= 1e6;
        require(age(self.probe_rtt_interval_s), "probe_rtt_interval_s", "above 0, at most 1e6")?;
        require(age(self.min_rtt_filter_s), "min_rtt_filter_s", "above 0, at most 1e6")?;
        require((0.0..=1e6).contains(&self.probe_rtt_ms), "probe_rtt_ms", "0 to 1e6")?;
        let gain = self.probe_rtt_cwnd_gain;
        require(gain > 0.0 && gain <= 1.0, "probe_rtt_cwnd_gain", "above 0, at most 1")?;
        require((0.0..=100.0).contains(&self.send_quantum_ms), "send_quantum_ms", "0 to 100")
    }
}

/// Where the state machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn is_probe_bw(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
    /// It accelerates: losses are what it looks for.
    fn is_probing(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
    fn name(self) -> &'static str {
        match self {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "down",
            State::Cruise => "cruise",
            State::Refill => "refill",
            State::Up => "up",
            State::ProbeRtt => "probe-rtt",
        }
    }
}

/// A volume that nothing bounds.
const UNBOUNDED: u64 = u64::MAX;

/// What the packet sent last among those that an ACK delivers says.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    bw: u64,
    delivered: u64,
    prior_delivered: u64,
    tx_in_flight: u64,
    lost: u64,
    app_limited: bool,
}

/// An ACK: the draft's RS, and its C where an ACK changes it.
#[derive(Clone, Copy, Debug)]
struct AckSample {
    now: Time,
    rtt: Option<Span>,
    /// Bytes newly delivered.
    newly_acked: u64,
    cwnd_limited: bool,
    /// None: nothing was delivered, or in too short a time.
    delivery: Option<Delivery>,
}

/// The sender of one path. What the state machine knows is on the heap: few flows are BBR's.
#[derive(Clone, Debug)]
pub struct Bbr {
    limits: Limits,
    machine: Box<Machine>,
}

/// The state machine and its model.
#[derive(Clone, Debug)]
struct Machine {
    params: Params,
    mss: u64,
    initial_window: u64,
    rng: Rng,
    state: State,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// In bytes.
    cwnd: u64,
    /// In bit/s of payload.
    pacing_rate: u64,
    /// In bytes of payload.
    send_quantum: u64,
    /// In flight as far as is known.
    inflight: u64,
    /// Total bytes delivered at the last ACK.
    delivered: u64,
    /// Total bytes lost.
    lost: u64,
    model: Model,
    aggregation: Aggregation,
    full_pipe: FullPipe,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    signals: Signals,
    recovery: Recovery,
    undo: Undo,
    /// Sending began again after an idle time, and nothing has arrived since.
    idle_restart: bool,
}

impl Bbr {
    /// A sender at its start.
    pub fn new(params: &Params, init: Init) -> Bbr {
        let mss = u64::from(init.mss_bytes);
        let initial_window = init.initial_window_bytes.max(mss);
        let mut machine = Machine {
            params: params.clone(),
            mss,
            initial_window,
            rng: init.rng,
            state: State::Startup,
            pacing_gain: params.startup_pacing_gain,
            cwnd_gain: params.cwnd_gain,
            cwnd: initial_window,
            pacing_rate: 0,
            send_quantum: 0,
            inflight: 0,
            delivered: 0,
            lost: 0,
            model: Model::new(),
            aggregation: Aggregation::new(),
            full_pipe: FullPipe::default(),
            cycle: Cycle::new(),
            probe_rtt: ProbeRtt::new(initial_window),
            signals: Signals::new(),
            recovery: Recovery::default(),
            undo: Undo::new(),
            idle_restart: false,
        };
        machine.init_pacing_rate(None);
        let mut bbr = Bbr { limits: Limits::window(initial_window), machine: Box::new(machine) };
        bbr.publish();
        bbr
    }

    fn publish(&mut self) {
        let m = &self.machine;
        self.limits = Limits {
            pacing_rate: Some(Rate::clamped(m.pacing_rate)),
            send_quantum_bytes: m.send_quantum as u32,
            ..Limits::window(m.cwnd.clamp(m.mss, Limits::MAX_CWND_BYTES))
        };
    }
}

impl Machine {
    /// "Per-ACK Steps", in the order of the draft.
    fn on_ack(&mut self, news: &AckSample) {
        self.update_latest_delivery(news);
        self.update_congestion_signals(news);
        self.update_aggregation(news);
        self.check_full_bw(news);
        self.check_startup_done(news);
        self.check_drain_done(news);
        self.update_cycle(news);
        self.update_min_rtt(news);
        self.check_probe_rtt(news);
        self.advance_latest_delivery(news);
        self.bound_bw();
        self.set_pacing_rate(self.pacing_gain);
        self.set_send_quantum();
        self.set_cwnd(news.newly_acked);
    }
}

impl Controller for Bbr {
    fn limits(&self) -> Limits {
        self.limits
    }
    fn traits(&self) -> Traits {
        Traits { edits_headers: false, ..Traits::default() }
    }

    fn on_established(&mut self, now: Time, rtt: &RttView, _options: Option<&OptionList>) {
        let m = &mut self.machine;
        if let Some(srtt) = rtt.srtt {
            m.model.begin_min_rtt(now, srtt);
        }
        m.init_pacing_rate(rtt.srtt);
        m.aggregation.restart(now);
        self.publish();
    }

    /// The tag records what `on_loss` wants to know of a packet.
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        let m = &mut self.machine;
        m.inflight = sent.in_flight_bytes;
        if sent.after_idle && sent.app_limited {
            m.restart_from_idle(now);
            self.publish();
        }
        loss::tag(sent, self.machine.lost)
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        let m = &mut self.machine;
        m.settle_loss_round(now, ack.total_delivered_bytes);
        m.delivered = ack.total_delivered_bytes;
        m.inflight = ack.in_flight_bytes;
        let news = AckSample {
            now,
            rtt: ack.rtt_sample,
            newly_acked: ack.delivered_bytes,
            cwnd_limited: ack.cwnd_limited,
            delivery: ack.rate.as_ref().map(|sample| m.delivery(sample)),
        };
        m.pass_timeout(ack);
        m.on_ack(&news);
        self.publish();
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        self.machine.on_lost_packet(now, loss);
        self.publish();
    }

    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        match event.cause {
            CongestionCause::Loss => self.machine.enter_recovery(),
            CongestionCause::LostRetransmission => {} // on_loss has seen it
            CongestionCause::Ecn => self.machine.on_mark(now),
        }
        self.publish();
    }

    fn on_recovered(&mut self, _now: Time, _end: &Recovered) {
        self.machine.leave_recovery();
        self.publish();
    }

    fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {
        self.machine.on_timeout();
        self.publish();
    }

    fn on_spurious(&mut self, _now: Time) {
        self.machine.undo_losses();
        self.publish();
    }

    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Controller
    }

    fn phase(&self) -> &'static str {
        self.machine.state.name()
    }

    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let m = &self.machine;
        let states = "0 startup, 1 drain, 2 down, 3 cruise, 4 refill, 5 up, 6 probe-rtt";
        let mut show = |name, unit, value| visit(SeriesSample { name, unit, value });
        show("state", states, f64::from(m.state as u8));
        show("bw", "bit/s", m.model.bw() as f64);
        show("max_bw", "bit/s", m.model.max_bw() as f64);
        show("pacing_gain", "", m.pacing_gain);
        show("extra_acked", "B", m.extra_acked() as f64);
        if let Some(rtt) = m.model.min_rtt() {
            show("min_rtt", "s", rtt.as_secs_f64());
        }
        if m.cycle.inflight_longterm != UNBOUNDED {
            show("inflight_longterm", "B", m.cycle.inflight_longterm as f64);
        }
        if m.signals.inflight_shortterm != UNBOUNDED {
            show("inflight_shortterm", "B", m.signals.inflight_shortterm as f64);
        }
    }
}

//! One environment: a scenario with one flow that learns, and the simulation of its
//! current episode.

use super::controller::{Action, Counts, LearnerController, Shared};
use crate::errors::Failure;
use forebay_base::{Span, Time};
use forebay_lab::scenario::{
    LoadOptions, NoParams, Registration, Registry, Scenario, ScenarioText,
};
use forebay_net::NetSpec;
use forebay_sim::{Options, Simulation, Status};
use std::sync::Arc;

/// The name of the protocol that learns.
pub(crate) const LEARNER: &str = "learner";

/// Numbers of an observation; see `Observation` in `forebay/gym.py`.
pub(crate) const NUMBERS: usize = 10;
/// An observation.
pub(crate) type Observation = [f32; NUMBERS];

/// How episodes go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Length of a step.
    pub interval: Span,
    /// Simulated time after which an episode is cut off.
    pub duration: Span,
}

/// What a step gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stepped {
    pub observation: Observation,
    /// The flow has ended.
    pub terminated: bool,
    /// The time of the episode is over.
    pub truncated: bool,
    /// Simulated time, in seconds.
    pub now_s: f64,
}

/// One environment.
pub(crate) struct Environment {
    scenario: Scenario,
    shared: Shared,
    pace: Pace,
    running: Option<Running>,
}

struct Running {
    simulation: Simulation,
    now: Time,
    over: bool,
}

impl Environment {
    /// Read the scenario. Errors if not exactly one of its flows learns.
    pub fn new(text: &ScenarioText, set: &[String], pace: Pace) -> Result<Environment, Failure> {
        let shared = Shared::default();
        let (mut registry, of_flow) = (Registry::default(), shared.clone());
        let learner = Registration::new(LEARNER, move |_: &NoParams, init| {
            LearnerController::new(&init, pace.interval, of_flow.clone())
        });
        let registered = registry.register(learner.title("Learner"));
        registered.map_err(|error| Failure::Argument(error.to_string()))?;
        let options = LoadOptions {
            set: set.to_vec(),
            protocols: vec![LEARNER.to_string()],
            registry: Arc::new(registry),
            ..LoadOptions::default()
        };
        let scenario = text.scenario(&options)?;
        let learns = |name: Option<&str>| name.is_none_or(|name| name == LEARNER);
        let flows = scenario.flows.iter();
        let count = flows.filter(|flow| learns(flow.protocol.as_deref())).count();
        if count != 1 {
            return Err(Failure::Argument(format!(
                "scenario: one flow learns (those without `protocol`, or with `{LEARNER}`), and \
                 {count} would"
            )));
        }
        Ok(Environment { scenario, shared, pace, running: None })
    }

    /// Begin an episode: run to the end of the first interval after the handshake.
    pub fn reset(&mut self, seed: u64) -> Result<Stepped, Failure> {
        let spec: NetSpec = self.scenario.build(LEARNER, seed)?;
        *self.shared.lock() = Default::default();
        let options = Options { without_hash: true, ..Options::default() };
        let simulation = Simulation::new(&spec, seed, options);
        let simulation = simulation.map_err(|error| {
            Failure::Argument(format!("the network cannot be built: {error:?}"))
        })?;
        let mut running = Running { simulation, now: Time::ZERO, over: false };
        let end = Time::ZERO + self.pace.duration;
        while !self.shared.lock().established {
            if running.now >= end {
                return Err(Failure::Argument(format!(
                    "scenario: the flow that learns has no connection within {} s",
                    self.pace.duration.as_secs_f64()
                )));
            }
            running.advance(self.pace.interval)?;
        }
        self.running = Some(running);
        self.step(None)
    }

    /// One interval, in which `action` holds from the start.
    pub fn step(&mut self, action: Option<Action>) -> Result<Stepped, Failure> {
        let running = match &mut self.running {
            Some(running) if !running.over => running,
            _ => return Err(Failure::EpisodeOver),
        };
        self.shared.lock().action = action;
        let ended = running.advance(self.pace.interval)?;
        let truncated = running.now >= Time::ZERO + self.pace.duration;
        running.over = ended || truncated;
        let observation = self.observe();
        let now_s = self.running.as_ref().map_or(0.0, |running| running.now.as_secs_f64());
        Ok(Stepped { observation, terminated: ended, truncated, now_s })
    }

    fn observe(&self) -> Observation {
        let mut state = self.shared.lock();
        let counts: Counts = std::mem::take(&mut state.counts);
        let interval_s = self.pace.interval.as_secs_f64();
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / interval_s;
        let ms = |span: Option<Span>| span.map_or(0.0, |span| span.as_secs_f64() * 1e3);
        let rtt = match counts.rtt_samples {
            0 => state.srtt,
            samples => Some(Span::from_nanos(counts.rtt_sum.as_nanos() / samples)),
        };
        let segments = |bytes: u64| bytes as f64 / state.mss_bytes.max(1) as f64;
        let share = counts.lost_packets as f64 / counts.sent_packets.max(1) as f64;
        let numbers = [
            mbps(counts.delivered_bytes),
            mbps(counts.sent_bytes),
            share.min(1.0),
            ms(rtt),
            ms(state.min_rtt.or(state.srtt)),
            segments(state.cwnd_bytes),
            segments(state.in_flight_bytes),
            state.pacing_rate.map_or(0.0, |rate| rate.bps() as f64 * 1e-6),
            counts.acks as f64,
            counts.timeouts as f64,
        ];
        numbers.map(|number| number as f32)
    }
}

impl Running {
    /// Let an interval pass. True if the run is over.
    fn advance(&mut self, interval: Span) -> Result<bool, Failure> {
        self.now += interval;
        let status = self.simulation.run_until(self.now);
        let status = status.map_err(|error| Failure::Bug(error.to_string()))?;
        Ok(status != Status::Running)
    }
}

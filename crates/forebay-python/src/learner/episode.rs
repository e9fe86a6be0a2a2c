//! One environment: a scenario with flows that learn, and the simulation of its current episode.

use super::controller::{Action, Counts, LearnerController, Shared, State};
use crate::errors::Failure;
use forebay_base::{FlowId, Span, Time};
use forebay_cc::{AnyController, Init};
use forebay_lab::scenario::{
    LoadOptions, NoParams, Registration, Registry, Scenario, ScenarioText,
};
use forebay_net::{NetSpec, TransportSpec};
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

/// What a step gave a flow that learns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stepped {
    pub observation: Observation,
    /// The flow has a connection.
    pub established: bool,
    /// The flow has ended: all of it arrived, or the run is over.
    pub terminated: bool,
    /// The time of the episode is over.
    pub truncated: bool,
    /// Simulated time, in seconds.
    pub now_s: f64,
}

/// One environment.
pub(crate) struct Environment {
    scenario: Scenario,
    learners: Vec<Learner>,
    pace: Pace,
    running: Option<Running>,
}

/// A flow that learns.
struct Learner {
    flow: FlowId,
    shared: Shared,
}

impl Learner {
    /// Begin anew, as the controller of its flow.
    fn takes_its_flow(&self, spec: &mut NetSpec, interval: Span) {
        *self.shared.lock() = State::default();
        let shared = self.shared.clone();
        let controller = move |init: Init| LearnerController::new(&init, interval, shared.clone());
        let flow = &mut spec.flows[self.flow.index()];
        let transport = TransportSpec {
            controller: Arc::new(move |init| AnyController::Custom(Box::new(controller(init)))),
            ..spec.transports[flow.transport].clone()
        };
        flow.transport = spec.transports.len();
        spec.transports.push(transport);
    }
}

struct Running {
    simulation: Simulation,
    now: Time,
    over: bool,
}

impl Environment {
    /// Read the scenario. Errors if none of its flows learns.
    pub fn new(text: &ScenarioText, set: &[String], pace: Pace) -> Result<Environment, Failure> {
        let mut registry = Registry::default();
        // Each flow that learns has a controller of its own, which takes the place of this one.
        let learner = Registration::new(LEARNER, move |_: &NoParams, init| {
            LearnerController::new(&init, pace.interval, Shared::default())
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
        let flows = (0..).map(FlowId).zip(&scenario.flows);
        let learners: Vec<Learner> = flows
            .filter(|(_, flow)| learns(flow.protocol.as_deref()))
            .map(|(flow, _)| Learner { flow, shared: Shared::default() })
            .collect();
        if learners.is_empty() {
            return Err(Failure::Argument(format!(
                "scenario: no flow learns, which are those without `protocol`, or with `{LEARNER}`"
            )));
        }
        Ok(Environment { scenario, learners, pace, running: None })
    }

    /// The same. Errors if not exactly one flow learns.
    pub fn with_one(
        text: &ScenarioText,
        set: &[String],
        pace: Pace,
    ) -> Result<Environment, Failure> {
        let environment = Environment::new(text, set, pace)?;
        match environment.learners.len() {
            1 => Ok(environment),
            count => Err(Failure::Argument(format!(
                "scenario: one flow learns (those without `protocol`, or with `{LEARNER}`), and \
                 {count} would: see forebay.parallel"
            ))),
        }
    }

    /// The flows that learn, by their number in results.
    pub fn flows(&self) -> Vec<usize> {
        self.learners.iter().map(|learner| learner.flow.index() + 1).collect()
    }

    /// Begin an episode: run to the end of the first interval after a handshake. An answer for each
    /// flow that learns.
    pub fn reset(&mut self, seed: u64) -> Result<Vec<Stepped>, Failure> {
        let mut spec: NetSpec = self.scenario.build(LEARNER, seed)?;
        for learner in &self.learners {
            learner.takes_its_flow(&mut spec, self.pace.interval);
        }
        let options = Options { without_hash: true, ..Options::default() };
        let simulation = Simulation::new(&spec, seed, options);
        let simulation = simulation.map_err(|error| {
            Failure::Argument(format!("the network cannot be built: {error:?}"))
        })?;
        let mut running = Running { simulation, now: Time::ZERO, over: false };
        let end = Time::ZERO + self.pace.duration;
        while !self.learners.iter().any(|learner| learner.shared.lock().established) {
            if running.now >= end {
                return Err(Failure::Argument(format!(
                    "scenario: no flow that learns has a connection within {} s",
                    self.pace.duration.as_secs_f64()
                )));
            }
            running.advance(self.pace.interval)?;
        }
        self.running = Some(running);
        self.step(&vec![None; self.learners.len()])
    }

    /// One interval, in which `actions` hold from the start: one for each flow that learns, none
    /// where all stays as it is.
    pub fn step(&mut self, actions: &[Option<Action>]) -> Result<Vec<Stepped>, Failure> {
        let running = match &mut self.running {
            Some(running) if !running.over => running,
            _ => return Err(Failure::EpisodeOver),
        };
        for (learner, action) in self.learners.iter().zip(actions) {
            learner.shared.lock().action = *action;
        }
        let ended = running.advance(self.pace.interval)?;
        let truncated = running.now >= Time::ZERO + self.pace.duration;
        let now_s = running.now.as_secs_f64();
        let stepped = |learner: &Learner| {
            let mut state = learner.shared.lock();
            Stepped {
                observation: observe(&mut state, self.pace.interval),
                established: state.established,
                terminated: ended || running.simulation.completed_at(learner.flow).is_some(),
                truncated,
                now_s,
            }
        };
        let all: Vec<Stepped> = self.learners.iter().map(stepped).collect();
        running.over = truncated || all.iter().all(|step| step.terminated);
        Ok(all)
    }
}

/// What is seen of the interval that ended.
fn observe(state: &mut State, interval: Span) -> Observation {
    let counts: Counts = std::mem::take(&mut state.counts);
    let interval_s = interval.as_secs_f64();
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

impl Running {
    /// Let an interval pass. True if the run is over.
    fn advance(&mut self, interval: Span) -> Result<bool, Failure> {
        self.now += interval;
        let status = self.simulation.run_until(self.now);
        let status = status.map_err(|error| Failure::Bug(error.to_string()))?;
        Ok(status != Status::Running)
    }
}

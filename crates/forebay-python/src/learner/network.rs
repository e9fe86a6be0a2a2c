//! Several flows that learn in one network.

use super::controller::Action;
use super::episode::{Environment, Stepped};
use super::{Terms, action_of, bytes_of, refuse};
use crate::errors::Failure;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Mutex;

/// A network and the flows that learn in it.
#[pyclass(frozen, module = "forebay")]
pub(crate) struct LearnerNetwork {
    environment: Mutex<Environment>,
    flows: Vec<usize>,
    kind: fn(f64) -> Action,
}

/// Of all flows that learn, in their order: observations as the bytes of float32, which have a
/// connection, which have ended. Then whether the time of the episode is over, and the simulated
/// time in seconds.
type Step<'py> = (Bound<'py, PyBytes>, Vec<bool>, Vec<bool>, bool, f64);

#[pymethods]
impl LearnerNetwork {
    #[new]
    #[pyo3(signature = (
        scenario, *, set=None, action="multiplier", interval_s=0.04, duration_s=30.0
    ))]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, PyAny>,
        set: Option<&Bound<'_, PyDict>>,
        action: &str,
        interval_s: f64,
        duration_s: f64,
    ) -> PyResult<LearnerNetwork> {
        let Terms { text, set, kind, pace } =
            Terms::read(scenario, set, action, interval_s, duration_s)?;
        let environment = py.detach(|| Environment::new(&text, &set, pace))?;
        let flows = environment.flows();
        Ok(LearnerNetwork { environment: Mutex::new(environment), flows, kind })
    }

    /// The flows that learn, by their number in results.
    #[getter]
    fn flows(&self) -> Vec<usize> {
        self.flows.clone()
    }

    /// Begin an episode.
    fn reset<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Step<'py>> {
        self.with(py, |environment| environment.reset(seed))
    }

    /// One interval. An action for each flow; None leaves it as it is.
    fn step<'py>(&self, py: Python<'py>, actions: Vec<Option<f64>>) -> PyResult<Step<'py>> {
        let (expected, found) = (self.flows.len(), actions.len());
        if expected != found {
            return refuse(format!("actions: expected {expected}, found {found}"));
        }
        let action = |(copy, value): (usize, Option<f64>)| {
            value.map(|value| action_of(self.kind, copy, value)).transpose()
        };
        let actions: Result<Vec<_>, Failure> =
            actions.into_iter().enumerate().map(action).collect();
        let actions = actions?;
        self.with(py, move |environment| environment.step(&actions))
    }
}

impl LearnerNetwork {
    fn with<'py>(
        &self,
        py: Python<'py>,
        act: impl FnOnce(&mut Environment) -> Result<Vec<Stepped>, Failure> + Send,
    ) -> PyResult<Step<'py>> {
        let steps = py.detach(|| {
            act(&mut self.environment.lock().expect("nothing panics while it holds this lock"))
        })?;
        let [first, ..] = &steps[..] else { unreachable!("at least one flow learns") };
        Ok((
            PyBytes::new(py, &bytes_of(&steps)),
            steps.iter().map(|step| step.established).collect(),
            steps.iter().map(|step| step.terminated).collect(),
            first.truncated,
            first.now_s,
        ))
    }
}

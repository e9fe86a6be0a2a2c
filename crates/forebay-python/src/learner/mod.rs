//! Learning environments: simulations of flows whose window or rate the caller decides, interval by
//! interval; one flow in each of many copies, or several flows in one network.

mod controller;
mod episode;
mod network;
mod pool;

use crate::errors::Failure;
use crate::run::text_of;
use crate::values::assignments;
use controller::Action;
use episode::{NUMBERS, Pace, Stepped};
use forebay_base::Span;
use forebay_lab::scenario::ScenarioText;
pub(crate) use network::LearnerNetwork;
use pool::{Order, Pool};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Mutex;
use std::thread::available_parallelism;

/// Bounds of an interval and of an episode, in seconds.
const SHORTEST_S: f64 = 1e-6;
const LONGEST_S: f64 = 1e6;

/// Copies of an environment.
#[pyclass(frozen, module = "forebay")]
pub(crate) struct Learners {
    pool: Mutex<Pool>,
    copies: usize,
    kind: fn(f64) -> Action,
}

/// Observations as the bytes of float32, which of them are terminated, which are truncated, and
/// their times.
type Steps<'py> = (Bound<'py, PyBytes>, Vec<bool>, Vec<bool>, Vec<f64>);

#[pymethods]
impl Learners {
    #[new]
    #[pyo3(signature = (
        scenario, *, set=None, action="multiplier", interval_s=0.03, duration_s=30.0, copies=1,
        threads=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are the keywords of the constructor")]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, PyAny>,
        set: Option<&Bound<'_, PyDict>>,
        action: &str,
        interval_s: f64,
        duration_s: f64,
        copies: usize,
        threads: Option<usize>,
    ) -> PyResult<Learners> {
        let Terms { text, set, kind, pace } =
            Terms::read(scenario, set, action, interval_s, duration_s)?;
        if copies == 0 || threads == Some(0) {
            return refuse("copies and threads: expected 1 or more, found 0".to_string());
        }
        let cores = available_parallelism().map_or(1, usize::from);
        let threads = threads.unwrap_or(cores).min(copies);
        let pool = py.detach(|| Pool::new(&text, &set, pace, copies, threads))?;
        Ok(Learners { pool: Mutex::new(pool), copies, kind })
    }

    /// Numbers of an observation.
    #[classattr]
    const NUMBERS: usize = NUMBERS;

    /// Begin an episode in each copy that has a seed. The others stay as they are, and their
    /// observation is zero.
    fn reset<'py>(&self, py: Python<'py>, seeds: Vec<Option<u64>>) -> PyResult<Steps<'py>> {
        self.check_count("seeds", seeds.len())?;
        let order = |seed: Option<u64>| seed.map_or(Order::Rest, Order::Reset);
        self.all(py, seeds.into_iter().map(order).collect())
    }

    /// One interval in each copy; in a copy that has a seed an episode begins in its place.
    fn step<'py>(
        &self,
        py: Python<'py>,
        actions: Vec<f64>,
        seeds: Vec<Option<u64>>,
    ) -> PyResult<Steps<'py>> {
        self.check_count("actions", actions.len())?;
        self.check_count("seeds", seeds.len())?;
        let order = |(copy, (value, seed)): (usize, (f64, Option<u64>))| match seed {
            Some(seed) => Ok(Order::Reset(seed)),
            None => action_of(self.kind, copy, value).map(Order::Step),
        };
        let orders = actions.into_iter().zip(seeds).enumerate().map(order);
        let orders: Result<Vec<Order>, Failure> = orders.collect();
        self.all(py, orders?)
    }
}

/// What a caller asks of environments.
struct Terms {
    text: ScenarioText,
    set: Vec<String>,
    kind: fn(f64) -> Action,
    pace: Pace,
}

impl Terms {
    fn read(
        scenario: &Bound<'_, PyAny>,
        set: Option<&Bound<'_, PyDict>>,
        action: &str,
        interval_s: f64,
        duration_s: f64,
    ) -> PyResult<Terms> {
        Ok(Terms {
            text: text_of(scenario)?,
            set: set.map_or(Ok(Vec::new()), assignments)?,
            kind: kind_of(action)?,
            pace: pace_of(interval_s, duration_s)?,
        })
    }
}

/// The action of a number of the caller; `copy` says which.
fn action_of(kind: fn(f64) -> Action, copy: usize, value: f64) -> Result<Action, Failure> {
    if value.is_finite() && value >= 0.0 {
        return Ok(kind(value));
    }
    Err(Failure::Action { copy, value })
}

/// What the numbers of a caller mean.
fn kind_of(action: &str) -> PyResult<fn(f64) -> Action> {
    match action {
        "multiplier" => Ok(Action::Multiplier),
        "window" => Ok(Action::Window),
        "rate" => Ok(Action::Rate),
        other => {
            let expected = "expected \"window\", \"rate\" or \"multiplier\"";
            refuse(format!("action: {expected}, found \"{other}\""))
        }
    }
}

fn pace_of(interval_s: f64, duration_s: f64) -> PyResult<Pace> {
    for (name, value) in [("interval_s", interval_s), ("duration_s", duration_s)] {
        if !(SHORTEST_S..=LONGEST_S).contains(&value) {
            return refuse(format!("{name}: expected 1e-6 to 1e6 seconds, found {value}"));
        }
    }
    if interval_s > duration_s {
        let text =
            format!("interval_s: expected at most duration_s ({duration_s}), found {interval_s}");
        return refuse(text);
    }
    let interval = Span::from_secs_f64(interval_s);
    Ok(Pace { interval, duration: Span::from_secs_f64(duration_s) })
}

/// Observations as bytes, in their order.
fn bytes_of(steps: &[Stepped]) -> Vec<u8> {
    let numbers = steps.iter().flat_map(|step| step.observation);
    numbers.flat_map(f32::to_ne_bytes).collect()
}

fn refuse<T>(text: String) -> PyResult<T> {
    Err(Failure::Argument(text).into())
}

impl Learners {
    fn check_count(&self, what: &str, found: usize) -> PyResult<()> {
        let copies = self.copies;
        if found == copies {
            return Ok(());
        }
        refuse(format!("{what}: expected one for each of {copies} copies, found {found}"))
    }

    fn all<'py>(&self, py: Python<'py>, orders: Vec<Order>) -> PyResult<Steps<'py>> {
        let done = py.detach(|| {
            let mut pool = self.pool.lock().expect("nothing panics while it holds this lock");
            pool.all(orders)
        })?;
        Ok((
            PyBytes::new(py, &bytes_of(&done)),
            done.iter().map(|step| step.terminated).collect(),
            done.iter().map(|step| step.truncated).collect(),
            done.iter().map(|step| step.now_s).collect(),
        ))
    }
}

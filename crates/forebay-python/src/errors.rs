//! What fails, as the exceptions of the Python module `forebay.errors`.

use forebay_lab::scenario::memory_estimate::NotEnoughMemory;
use forebay_lab::scenario::{Mistake, ScenarioError};
use forebay_lab::{RunError, RunKey, StoreError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The scenario cannot be used.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// An argument is out of its range.
    #[error("{0}")]
    Argument(String),
    /// It does not fit into memory.
    #[error(transparent)]
    Memory(#[from] NotEnoughMemory),
    /// A run failed.
    #[error("{} with seed {}: {}", .0.protocol, .0.seed, .1)]
    Run(RunKey, Box<RunError>),
    /// Results cannot be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The same, in words.
    #[error("{0}")]
    Results(String),
    /// It was stopped.
    #[error("the run was stopped")]
    Cancelled,
    /// A number that is no action.
    #[error("the action of copy {copy}: expected a finite number, 0 or more, found {value}")]
    Action {
        /// The copy, from 0.
        copy: usize,
        /// The number.
        value: f64,
    },
    /// A step without an episode.
    #[error("no episode goes on: it is over, or has not begun. Call reset() first")]
    EpisodeOver,
    /// It contradicts itself.
    #[error("{0}. This is a bug of Forebay")]
    Bug(String),
    /// Code of the user raised.
    #[error(transparent)]
    Python(#[from] PyErr),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        Python::attach(|py| {
            let text = failure.to_string();
            let made = match failure {
                Failure::Scenario(error) => scenario_error(py, &error),
                Failure::Argument(_) => return PyValueError::new_err(text),
                Failure::Memory(_) => exception(py, "MemoryNeeded", (text,)),
                Failure::Run(key, _) => exception(py, "RunError", (text, key.protocol, key.seed)),
                Failure::Store(_) | Failure::Results(_) => exception(py, "ResultsError", (text,)),
                Failure::Action { .. } => exception(py, "ActionError", (text,)),
                Failure::EpisodeOver => exception(py, "EpisodeOver", (text,)),
                Failure::Cancelled | Failure::Bug(_) => exception(py, "ForebayError", (text,)),
                Failure::Python(error) => return error,
            };
            made.unwrap_or_else(|error| error)
        })
    }
}

/// The exception of that name in `forebay.errors`, made of these arguments.
pub(crate) fn exception<'py, A>(py: Python<'py>, name: &str, arguments: A) -> PyResult<PyErr>
where
    A: pyo3::call::PyCallArgs<'py>,
{
    let class = py.import("forebay.errors")?.getattr(name)?;
    Ok(PyErr::from_value(class.call1(arguments)?))
}

fn scenario_error(py: Python<'_>, error: &ScenarioError) -> PyResult<PyErr> {
    let mistakes: PyResult<Vec<Py<PyAny>>> =
        error.mistakes.iter().map(|mistake| mistake_of(py, mistake)).collect();
    let mistakes = PyTuple::new(py, mistakes?)?;
    exception(py, "ScenarioError", (error.to_string(), mistakes, error.more))
}

fn mistake_of(py: Python<'_>, mistake: &Mistake) -> PyResult<Py<PyAny>> {
    let place = mistake.place.as_deref();
    let class = py.import("forebay.errors")?.getattr("Mistake")?;
    let key = place.map(|place| place.key.as_str()).filter(|key| !key.is_empty());
    let made = class.call1((
        mistake.to_string(),
        mistake.problem.to_string(),
        place.map(|place| place.file.as_str()),
        place.map(|place| place.line),
        place.map(|place| place.column),
        key,
        mistake.hint.as_deref(),
    ))?;
    Ok(made.unbind())
}

/// The error of a dict that no scenario can be; `key` is that of the value or table, empty at the
/// top.
pub(crate) fn not_a_scenario(py: Python<'_>, file: &str, key: &str, problem: &str) -> PyErr {
    let place = if key.is_empty() { file.to_string() } else { format!("{file}: {key}") };
    let message = format!("{place}: {problem}");
    let made = || -> PyResult<PyErr> {
        let class = py.import("forebay.errors")?.getattr("Mistake")?;
        let none = py.None();
        let mistake = class.call1((&message, problem, file, &none, &none, key, &none))?;
        exception(py, "ScenarioError", (&message, PyTuple::new(py, [mistake])?, 0))
    };
    made().unwrap_or_else(|error| error)
}

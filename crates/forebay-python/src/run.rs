//! `forebay.run`: what it is given, and the runs themselves, which hold no Python object.

use crate::controller::{self, Stop};
use crate::errors::Failure;
use crate::result::{Folder, Outcome};
use crate::values::{DICT, assignments, scenario_text};
use crate::wait::{wait, wait_for_calls};
use forebay_lab::reference::ReferenceCache;
use forebay_lab::scenario::memory_estimate::check_outline;
use forebay_lab::scenario::{LoadOptions, Registry, Scenario, ScenarioText};
use forebay_lab::{
    Batch, BatchOptions, BatchPlan, Outputs, RunError, RunKey, RunOptions, Store, Summary,
    available_bytes, batch, run_one,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;

/// Most seeds of one call.
const MAX_SEEDS: u64 = 10_000;

/// What one call is to do.
pub(crate) struct Job {
    text: ScenarioText,
    options: LoadOptions,
    seeds: Vec<u64>,
    baseline: Option<String>,
    jobs: usize,
    threads: usize,
    out: Option<PathBuf>,
    series: bool,
    /// Some controllers are objects of Python.
    calls_python: bool,
    stop: Arc<Stop>,
}

/// Run a scenario. See `forebay/_native.pyi`.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, protocols=None, seeds=None, set=None, controllers=None, baseline=None,
    jobs=None, threads=1, out=None, series=true
))]
#[expect(clippy::too_many_arguments, reason = "they are the keywords of the function")]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    protocols: Option<&Bound<'_, PyAny>>,
    seeds: Option<&Bound<'_, PyAny>>,
    set: Option<&Bound<'_, PyDict>>,
    controllers: Option<&Bound<'_, PyDict>>,
    baseline: Option<String>,
    jobs: Option<usize>,
    threads: usize,
    out: Option<PathBuf>,
    series: bool,
) -> PyResult<Outcome> {
    let stop = Arc::new(Stop::default());
    let registry = registry_of(controllers, &stop)?;
    let cores = available_parallelism().map_or(1, usize::from);
    let jobs = jobs.unwrap_or((cores / threads.max(1)).max(1));
    if jobs == 0 || threads == 0 {
        return Err(PyValueError::new_err("jobs and threads: expected 1 or more, found 0"));
    }
    let job = Job {
        text: text_of(scenario)?,
        options: LoadOptions {
            set: set.map_or(Ok(Vec::new()), assignments)?,
            protocols: protocols.map_or(Ok(Vec::new()), names)?,
            registry: Arc::new(registry),
            ..LoadOptions::default()
        },
        seeds: seeds.map_or(Ok(vec![1]), seeds_of)?,
        baseline,
        jobs,
        threads: threads.min(cores),
        out,
        series,
        calls_python: controllers.is_some(),
        stop: Arc::clone(&stop),
    };
    let work = move || simulate(&job);
    let done = if controllers.is_some() {
        wait_for_calls(py, &stop, work)?
    } else {
        wait(py, &stop, work)?
    };
    // What a controller raised says more than that the run was stopped.
    match stop.raised() {
        Some(raised) => Err(raised),
        None => Ok(done?),
    }
}

/// What names stand for. `stop` learns of what controllers raise.
pub(crate) fn registry_of(
    controllers: Option<&Bound<'_, PyDict>>,
    stop: &Arc<Stop>,
) -> PyResult<Registry> {
    let mut registry = Registry::default();
    if let Some(controllers) = controllers {
        controller::register(&mut registry, controllers, stop)?;
    }
    Ok(registry)
}

/// The folder that the paths of a scenario are relative to, for a process in another folder.
pub(crate) fn base_of(scenario: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let here = std::env::current_dir()?;
    let of_file = scenario.extract::<PathBuf>().ok().filter(|path| path.is_file());
    let folder = of_file.as_deref().and_then(Path::parent);
    Ok(folder.map_or_else(|| here.clone(), |folder| here.join(folder)))
}

/// The text of a scenario that is a name, a path, or a dict.
pub(crate) fn text_of(scenario: &Bound<'_, PyAny>) -> PyResult<ScenarioText> {
    if let Ok(dict) = scenario.cast::<PyDict>() {
        return Ok(ScenarioText::of(scenario_text(dict)?, DICT.to_string(), PathBuf::new()));
    }
    let Ok(path) = scenario.extract::<PathBuf>() else {
        let found = scenario.get_type().name()?;
        let text = format!("scenario: expected a name, a path or a dict, found {found}");
        return Err(PyTypeError::new_err(text));
    };
    Ok(ScenarioText::read(&path.to_string_lossy()).map_err(Failure::from)?)
}

/// Names of protocols: one, or several.
pub(crate) fn names(protocols: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match protocols.cast::<PyString>() {
        Ok(one) => Ok(one.to_str()?.split(',').map(|name| name.trim().to_string()).collect()),
        Err(_) => protocols.extract(),
    }
}

/// Seeds: a number of them, from 1, or the seeds themselves.
pub(crate) fn seeds_of(seeds: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let wrong = |text: String| PyErr::from(Failure::Argument(format!("seeds: {text}")));
    let expected = || format!("expected a number from 1 to {MAX_SEEDS}, or a list of seeds");
    let found = || Ok::<_, PyErr>(wrong(format!("{}, found {}", expected(), seeds.repr()?)));
    if seeds.is_instance_of::<PyBool>() || seeds.is_instance_of::<PyString>() {
        return Err(found()?);
    }
    // An array of numpy may have `__index__`, too.
    if let Ok(count) = seeds.extract::<i64>() {
        return match u64::try_from(count) {
            Ok(count @ 1..=MAX_SEEDS) => Ok((1..=count).collect()),
            _ => Err(found()?),
        };
    }
    let mut list: Vec<u64> = Vec::new();
    let Ok(seeds) = seeds.try_iter() else { return Err(found()?) };
    for seed in seeds {
        let seed = seed?;
        let number = seed.extract::<u64>().map_err(|_| {
            wrong(format!("expected whole numbers from 0 to {}, found {seed}", u64::MAX))
        })?;
        if list.contains(&number) {
            return Err(wrong(format!("{number} is given twice")));
        }
        if list.len() as u64 == MAX_SEEDS {
            return Err(wrong(format!("at most {MAX_SEEDS} in one call")));
        }
        list.push(number);
    }
    if list.is_empty() { Err(wrong("there is none".to_string())) } else { Ok(list) }
}

/// The runs of a job, and their results.
fn simulate(job: &Job) -> Result<Outcome, Failure> {
    let available = available_bytes();
    let keys = job.text.keys(&job.options)?;
    check_outline(&keys.outline(), available)?;
    let scenario = keys.scenario()?;
    check_baseline(job, &scenario)?;
    let protocols: Vec<String> = scenario.protocols.iter().map(ToString::to_string).collect();
    let plan = BatchPlan { scenario: &scenario, protocols: &protocols, seeds: &job.seeds };
    let admission = plan.admit(job.jobs, job.threads, job.series, available)?;
    let folder = match (&job.out, job.series) {
        (Some(path), _) => Some(Folder::at(path.clone())),
        (None, true) => Some(Folder::temporary()?),
        (None, false) => None,
    };
    let store = folder.as_ref().map(|folder| Store::create(folder.path())).transpose()?;
    let outputs = store.as_ref().filter(|_| job.series).map(Outputs::to);
    let options = BatchOptions {
        jobs: admission.jobs,
        run: RunOptions {
            name: job.text.name(),
            cancel: Some(&job.stop.flag),
            record: outputs.as_ref().map(|outputs| outputs as _),
            threads: job.threads,
            ..RunOptions::default()
        },
        progress: None,
    };
    let mut done =
        if job.calls_python { in_turn(&plan, &options.run) } else { batch(&plan, &options) };
    match done.error.take() {
        Some((_, RunError::Scenario(error))) => return Err(error.into()),
        Some((key, error)) => return Err(Failure::Run(key, Box::new(error))),
        None if done.cancelled => return Err(Failure::Cancelled),
        None => {}
    }
    done.memory = done.memory.chosen_by(admission);
    let name = job.text.name();
    let summary = Summary::against(name, &scenario, done, job.baseline.as_deref());
    if let Some(store) = store {
        store.finish(&scenario, &summary)?;
    }
    Ok(Outcome::new(scenario, summary, folder, job.series))
}

/// What [`batch`] gives, one run after the other in this thread.
fn in_turn(plan: &BatchPlan<'_>, run: &RunOptions<'_>) -> Batch {
    let (known, mut done) = (ReferenceCache::default(), Batch::default());
    let run = RunOptions { known: Some(&known), ..*run };
    for protocol in plan.protocols {
        for &seed in plan.seeds {
            match run_one(plan.scenario, protocol, seed, &run) {
                Ok(result) => done.runs.push(result),
                Err(RunError::Cancelled) => return Batch { cancelled: true, ..done },
                Err(error) => {
                    let key = RunKey { protocol: protocol.clone(), seed };
                    return Batch { error: Some((key, error)), ..done };
                }
            }
        }
    }
    done
}

/// Errors if the baseline is not compared.
fn check_baseline(job: &Job, scenario: &Scenario) -> Result<(), Failure> {
    let compared = &scenario.protocols;
    match &job.baseline {
        Some(name) if compared.iter().all(|of| *of != *name.as_str()) => {
            let list = compared.join(", ");
            let text = format!("baseline: `{name}` is not among the protocols: {list}");
            Err(Failure::Argument(text))
        }
        _ => Ok(()),
    }
}

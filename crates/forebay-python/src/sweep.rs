//! `forebay.sweep`: one scenario at many points. Points run here, or as plain JSON in any process.

use crate::controller::{self, Stop};
use crate::errors::Failure;
use crate::run::{base_of, names, registry_of, seeds_of, text_of};
use crate::table::{Columns, Table};
use crate::values::{assignments, toml_value};
use crate::wait::{wait, wait_for_calls};
use forebay_lab::report::Cell;
use forebay_lab::scenario::{
    LoadOptions, Point, Registry, ScenarioText, Swept, SweptKey, SweptScenario, SweptValue,
};
use forebay_lab::{
    Row, RunOptions, SweepOptions, SweepPlan, available_bytes, run_point, sweep, sweep_columns,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;

/// A point for another process: all that it needs but files and controllers.
#[derive(Serialize, Deserialize)]
struct Task {
    text: String,
    name: String,
    base: PathBuf,
    set: Vec<String>,
    protocols: Vec<String>,
    seeds: Vec<u64>,
    point: Point,
}

/// A sweep that has been checked.
#[pyclass(frozen, module = "forebay")]
pub(crate) struct Sweep {
    task: Task,
    swept: Arc<SweptScenario>,
    /// Runs at a time in this process.
    jobs: usize,
}

#[pymethods]
impl Sweep {
    /// `grid` and `together`: keys with lists of values, or ranges; `points`: names with changes.
    #[new]
    #[pyo3(signature = (
        scenario, grid, together, points, *, protocols=None, seeds=None, set=None,
        controllers=None, jobs=None, yes=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are the keywords of the function")]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, PyAny>,
        grid: &Bound<'_, PyDict>,
        together: &Bound<'_, PyDict>,
        points: Vec<(Option<String>, Bound<'_, PyDict>)>,
        protocols: Option<&Bound<'_, PyAny>>,
        seeds: Option<&Bound<'_, PyAny>>,
        set: Option<&Bound<'_, PyDict>>,
        controllers: Option<&Bound<'_, PyDict>>,
        jobs: Option<usize>,
        yes: bool,
    ) -> PyResult<Sweep> {
        let jobs = jobs.unwrap_or(available_parallelism().map_or(1, usize::from));
        if jobs == 0 {
            let why = "jobs: expected 1 or more, found 0";
            return Err(Failure::Argument(why.to_string()).into());
        }
        let text = text_of(scenario)?;
        let asked = asked(grid, together, points)?;
        let options = LoadOptions {
            set: set.map_or(Ok(Vec::new()), assignments)?,
            protocols: protocols.map_or(Ok(Vec::new()), names)?,
            registry: Arc::new(registry_of(controllers, &Arc::new(Stop::default()))?),
            ..LoadOptions::default()
        };
        let seeds = seeds.map_or(Ok(vec![1]), seeds_of)?;
        let set = options.set.clone();
        let swept = py.detach(|| text.swept(&asked, &options, available_bytes()));
        let Some(swept) = swept.map_err(Failure::from)? else {
            let why = "grid, together, points: nothing is swept";
            return Err(Failure::Argument(why.to_string()).into());
        };
        let task = Task {
            text: text.text().to_string(),
            name: text.name().to_string(),
            base: base_of(scenario)?,
            set,
            protocols: swept.protocols().to_vec(),
            seeds,
            point: Point { number: 0, name: None, set: Vec::new() },
        };
        let sweep = Sweep { task, swept: Arc::new(swept), jobs };
        sweep.check_size(yes)?;
        Ok(sweep)
    }

    /// The number of points.
    fn __len__(&self) -> usize {
        self.swept.grid().points().map_or(0, |points| points as usize)
    }

    /// A point, as JSON.
    fn point(&self, number: u64) -> String {
        let Task { text, name, base, set, protocols, seeds, .. } = &self.task;
        let task = Task {
            text: text.clone(),
            name: name.clone(),
            base: base.clone(),
            set: set.clone(),
            protocols: protocols.clone(),
            seeds: seeds.clone(),
            point: self.swept.grid().point(number),
        };
        json(&task)
    }

    /// The rows of a point that could not be run, as JSON.
    fn lost(&self, number: u64, why: &str) -> String {
        let Task { protocols, seeds, .. } = &self.task;
        let runs = seeds.iter().flat_map(|seed| protocols.iter().map(move |name| (*seed, name)));
        let rows = runs.map(|(seed, protocol)| failed(number, protocol, seed, why.to_string()));
        json(&rows.collect::<Vec<Row>>())
    }

    /// All points in this process.
    fn here(&self, py: Python<'_>) -> PyResult<Table> {
        let jobs = self.jobs;
        let (protocols, seeds) = (self.task.protocols.clone(), self.task.seeds.clone());
        let (swept, stop) = (Arc::clone(&self.swept), Arc::new(Stop::default()));
        let flag = Arc::clone(&stop);
        let name = self.task.name.clone();
        let done = wait(py, &stop, move || {
            let plan = SweepPlan { swept: &swept, protocols: &protocols, seeds: &seeds };
            let numbers: Vec<u64> = (0..plan.runs().unwrap_or(0)).collect();
            let run = RunOptions { name: &name, cancel: Some(&flag.flag), ..RunOptions::default() };
            let available_bytes = available_bytes();
            let options = SweepOptions { jobs, run, available_bytes, progress: None };
            let mut rows: Vec<(u64, Row)> = Vec::new();
            let end = sweep(&plan, &numbers, &options, &mut rows);
            rows.sort_by_key(|(number, _)| *number);
            if let Some(error) = end.error {
                return Err(error.into());
            }
            if end.cancelled { Err(Failure::Cancelled) } else { Ok(rows) }
        })?;
        let rows: Vec<Row> = done?.into_iter().map(|(_, row)| row).collect();
        Ok(py.detach(|| self.table_of(&rows)))
    }

    /// The table of rows that came as JSON, a list for each point in their order.
    fn table(&self, py: Python<'_>, points: Vec<String>) -> PyResult<Table> {
        let read = |text: &String| serde_json::from_str::<Vec<Row>>(text);
        let rows: Result<Vec<Vec<Row>>, _> = points.iter().map(read).collect();
        let rows = rows.map_err(|error| Failure::Argument(format!("rows: {error}")))?;
        Ok(py.detach(|| self.table_of(&rows.concat())))
    }
}

/// The rows of a point that came as JSON, as JSON: each protocol with each seed.
#[pyfunction]
#[pyo3(signature = (point, controllers=None))]
pub(crate) fn run_swept_point(
    py: Python<'_>,
    point: &str,
    controllers: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let task: Task = serde_json::from_str(point)
        .map_err(|error| Failure::Argument(format!("point: {error}")))?;
    let task = Arc::new(task);
    let mut rows = Vec::new();
    for &seed in &task.seeds {
        for protocol in &task.protocols {
            let stop = Arc::new(Stop::default());
            let registry = registry_of(controllers, &stop)?;
            let row = run_alone(py, &task, registry, &stop, protocol.clone(), seed)?;
            rows.push(row);
        }
    }
    Ok(json(&rows))
}

/// The row of one run. What a controller raises is its error.
fn run_alone(
    py: Python<'_>,
    task: &Arc<Task>,
    registry: Registry,
    stop: &Arc<Stop>,
    protocol: String,
    seed: u64,
) -> PyResult<Row> {
    let (of, flag, name) = (Arc::clone(task), Arc::clone(stop), protocol.clone());
    let row = wait_for_calls(py, stop, move || {
        let text = ScenarioText::of(of.text.clone(), of.name.clone(), of.base.clone());
        let options = LoadOptions {
            set: of.set.clone(),
            protocols: of.protocols.clone(),
            registry: Arc::new(registry),
            ..LoadOptions::default()
        };
        let run = RunOptions { name: &of.name, cancel: Some(&flag.flag), ..RunOptions::default() };
        run_point(&text, &options, &of.point, &name, seed, &run)
    })?;
    let number = task.point.number;
    match (stop.raised(), row) {
        (Some(raised), _) => {
            let text = controller::with_traceback(py, &raised)?;
            Ok(failed(number, &protocol, seed, text))
        }
        (None, Some(row)) => Ok(row),
        (None, None) => Err(Failure::Cancelled.into()),
    }
}

fn failed(point: u64, protocol: &str, seed: u64, why: String) -> Row {
    Row { point, protocol: protocol.to_string(), seed, error: Some(why), result: None }
}

fn json(of: &impl Serialize) -> String {
    serde_json::to_string(of).expect("numbers and texts are JSON")
}

/// What is swept besides what the scenario says.
fn asked(
    grid: &Bound<'_, PyDict>,
    together: &Bound<'_, PyDict>,
    points: Vec<(Option<String>, Bound<'_, PyDict>)>,
) -> PyResult<Vec<Swept>> {
    let mut all = Vec::new();
    for (key, values) in grid.iter() {
        let key: String = key.extract()?;
        // A text is a range, or a list as in an argument of the command.
        all.push(match values.cast::<PyString>() {
            Ok(text) => Swept::Argument(format!("{key}={}", text.to_str()?)),
            Err(_) => Swept::Together(vec![(key.clone(), texts(&key, &values)?)]),
        });
    }
    let axis = |(key, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        let values = texts(&key, &values)?;
        Ok((key, values))
    };
    let zipped: PyResult<Vec<(String, Vec<String>)>> = together.iter().map(axis).collect();
    let zipped = zipped?;
    if !zipped.is_empty() {
        all.push(Swept::Together(zipped));
    }
    let point = |(name, set): (Option<String>, Bound<'_, PyDict>)| Ok((name, assignments(&set)?));
    let named: PyResult<Vec<(Option<String>, Vec<String>)>> =
        points.into_iter().map(point).collect();
    let named = named?;
    if !named.is_empty() {
        all.push(Swept::Points(named));
    }
    Ok(all)
}

/// Values of a key as TOML.
fn texts(key: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let text = |value: PyResult<Bound<'_, PyAny>>| {
        toml_value(&value?, "grid", key).map(|value| value.to_string())
    };
    values.try_iter()?.map(text).collect()
}

impl Sweep {
    /// Errors if the runs are many, and no one has said that so many are meant.
    fn check_size(&self, yes: bool) -> PyResult<()> {
        let Task { protocols, seeds, .. } = &self.task;
        let plan = SweepPlan { swept: &self.swept, protocols, seeds };
        let checked = plan.checked_runs(self.jobs, yes);
        checked.map(|_| ()).map_err(|error| {
            let hint = if error.may_begin() { "\nhint: yes=True begins all the same" } else { "" };
            Failure::Argument(format!("{error}{hint}")).into()
        })
    }

    fn table_of(&self, rows: &[Row]) -> Table {
        let grid = self.swept.grid();
        let keys: &[SweptKey] = grid.keys();
        let cells = |row: &Row| {
            let values: Vec<Option<SweptValue>> = grid.values(row.point);
            row.cells(grid.point(row.point).name.as_deref(), &values)
        };
        let rows: Vec<Vec<Cell>> = rows.iter().map(cells).collect();
        let columns = sweep_columns(keys).into_iter().enumerate();
        let all = columns.fold(Columns::default(), |all, (place, (name, kind))| {
            let cells = rows.iter().map(move |row| &row[place]);
            match kind {
                "int64" | "int64 or null" => all.some_integers(&name, cells.map(integer)),
                "double or null" => all.reals(&name, cells.map(Cell::number)),
                "boolean or null" => all.some_flags(&name, cells.map(flag)),
                _ => all.some_texts(&name, cells.map(Cell::text)),
            }
        });
        all.table()
    }
}

fn integer(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Integer(value) => Some(*value),
        _ => None,
    }
}

fn flag(cell: &Cell) -> Option<bool> {
    match cell {
        Cell::Boolean(value) => Some(*value),
        _ => None,
    }
}

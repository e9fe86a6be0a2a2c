//! `forebay.Result`: what a call of `run` gave.

use crate::errors::Failure;
use crate::results;
use crate::table::Table;
use forebay_lab::report::REPORT_NAME;
use forebay_lab::scenario::Scenario;
use forebay_lab::{Store, Summary};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Height of a report in a notebook, in CSS pixels.
const FRAME_PX: u32 = 720;

/// A folder of results.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The folder around it, which goes with this value; None if the user named the folder.
    temporary: Option<TempDir>,
}

impl Folder {
    /// One that stays.
    pub fn at(path: PathBuf) -> Folder {
        Folder { path, temporary: None }
    }
    /// One that goes with this value.
    pub fn temporary() -> Result<Folder, Failure> {
        let around = tempfile::Builder::new().prefix("forebay-").tempdir();
        let around = around.map_err(|e| Failure::Results(format!("no temporary folder: {e}")))?;
        Ok(Folder { path: around.path().join("results"), temporary: Some(around) })
    }
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What a call of `run` gave.
#[pyclass(frozen, name = "Result", module = "forebay")]
pub(crate) struct Outcome {
    scenario: Scenario,
    summary: Summary,
    folder: Option<Folder>,
    with_series: bool,
}

impl Outcome {
    pub fn new(
        scenario: Scenario,
        summary: Summary,
        folder: Option<Folder>,
        with_series: bool,
    ) -> Outcome {
        Outcome { scenario, summary, folder, with_series }
    }

    fn page(&self) -> Result<String, Failure> {
        let made;
        let folder = match &self.folder {
            Some(folder) => folder,
            None => {
                made = Folder::temporary()?;
                Store::create(made.path())?.finish(&self.scenario, &self.summary)?;
                &made
            }
        };
        let path = folder.path().join(REPORT_NAME);
        let read = std::fs::read_to_string(&path);
        read.map_err(|e| Failure::Results(format!("cannot read `{}`: {e}", path.display())))
    }
}

#[pymethods]
impl Outcome {
    #[getter]
    fn scenario(&self) -> &str {
        &self.summary.scenario
    }

    #[getter]
    fn protocols(&self) -> Vec<String> {
        self.scenario.protocols.iter().map(ToString::to_string).collect()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.summary.notes.clone()
    }

    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.folder.as_ref().filter(|of| of.temporary.is_none()).map(|of| of.path.clone())
    }

    #[getter]
    fn runs(&self) -> Table {
        results::runs(&self.summary.runs)
    }

    #[getter]
    fn means(&self) -> Table {
        results::means(&self.summary.aggregate)
    }

    #[getter]
    fn flows(&self) -> Table {
        results::flows(&self.summary.runs)
    }

    #[getter]
    fn delays(&self) -> Table {
        results::delays(&self.summary.runs)
    }

    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Table> {
        match self.folder.as_ref().filter(|_| self.with_series) {
            Some(folder) => Ok(py.detach(|| results::series(folder.path()))?),
            None => {
                let text = "this result has no series: run it with series=True";
                Err(Failure::Results(text.to_string()).into())
            }
        }
    }

    fn to_json(&self) -> String {
        serde_json::to_string(&self.summary).expect("numbers and texts are JSON")
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    fn report(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| self.page())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.runs().__arrow_c_stream__(py, requested_schema)
    }

    fn __len__(&self) -> usize {
        self.summary.runs.len()
    }

    fn __repr__(&self) -> String {
        let (name, runs) = (&self.summary.scenario, self.summary.runs.len());
        format!("<forebay.Result of {name}: {runs} runs under {}>", self.protocols().join(", "))
    }

    /// The report, as a page in the page.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let page = self.report(py)?.replace('&', "&amp;").replace('"', "&quot;");
        Ok(format!(
            "<iframe srcdoc=\"{page}\" style=\"width:100%;height:{FRAME_PX}px;border:0\" \
             sandbox=\"allow-scripts allow-downloads\"></iframe>"
        ))
    }
}

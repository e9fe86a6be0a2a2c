//! Papers: what they published, beside what comes out here.
//!
//! An experiment is a file in `papers/`: set-ups to run and rows to compare. The way through the folder: `builtin` (which there
//! are), `paper` (their format), `jobs` (runs side by side), `recording` and `evaluate` (a run to the values of its `measure`s),
//! `verdict` (values to verdicts).

mod builtin;
mod evaluate;
mod jobs;
mod measure;
mod paper;
mod recording;
mod verdict;

#[cfg(test)]
mod tests;

pub use builtin::{PAPER_EXPERIMENTS, PaperExperiment};
pub use jobs::{ReproduceError, ReproduceProgress};
pub use paper::{PaperError, Unit};
pub use verdict::Verdict;

use crate::statistics::mean_and_interval;
use jobs::Jobs;
use paper::{Experiment, Row};
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// How to reproduce, as opposed to what.
#[derive(Clone, Copy)]
pub struct ReproduceOptions<'a> {
    /// Fewer seeds.
    pub quick: bool,
    /// Runs at the same time, at least 1.
    pub jobs: usize,
    /// Set by whoever wants it to stop.
    pub cancel: Option<&'a AtomicBool>,
    /// Told of progress several times a second, from any thread.
    pub progress: Option<&'a (dyn Fn(&ReproduceProgress) + Sync)>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduction {
    /// Version of Forebay.
    pub forebay: &'static str,
    /// The experiments, in the order in which they were asked for.
    pub experiments: Vec<ExperimentHead>,
    /// Rows by experiment, in the order of its file.
    pub rows: Vec<ComparedRow>,
}

/// What an experiment is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentHead {
    /// `paper/experiment`.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: String,
    /// The paper.
    pub source: String,
    /// What is run, by name, with a line about each.
    pub setups: Vec<SetupHead>,
}

/// What a set-up is, and how to run it by hand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetupHead {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub what: String,
    /// The scenario.
    pub scenario: String,
    /// What is changed in it, as by `--set`.
    pub set: Vec<String>,
}

/// A published value beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRow {
    /// The paper.
    pub paper: &'static str,
    /// The experiment.
    pub experiment: &'static str,
    /// What is compared.
    pub quantity: String,
    /// The set-up.
    pub setup: String,
    /// The protocol.
    pub protocol: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Table, figure or section of the published value.
    pub source: String,
    /// What the paper says.
    pub published: Option<f64>,
    /// Mean over the runs that have it; None if none has.
    pub measured: Option<f64>,
    /// 95 % interval of that mean; None for less than two runs.
    pub ci95: Option<[f64; 2]>,
    /// Runs that have it.
    pub seeds: usize,
    /// Runs.
    pub runs: usize,
    /// What comes of it.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
}

/// Run the experiments and compare. A row that differs is a result; a run that fails is an error.
pub fn reproduce(
    wanted: &[&'static PaperExperiment],
    options: &ReproduceOptions<'_>,
) -> Result<Reproduction, ReproduceError> {
    let parsed = wanted.iter().map(|e| Experiment::parse(e.text, &format!("{}.toml", e.name)));
    let experiments = parsed.collect::<Result<Vec<_>, _>>()?;
    let jobs = Jobs::new(&experiments, options.quick);
    let values = jobs.run(options)?;
    let mut rows = Vec::new();
    for ((place, experiment), mine) in wanted.iter().zip(&experiments).zip(values) {
        let compared = experiment.file.rows.iter().zip(mine);
        rows.extend(compared.map(|(row, values)| compare(place, row, &values)));
    }
    let heads = wanted.iter().zip(&experiments).map(|(place, experiment)| head(place, experiment));
    Ok(Reproduction { forebay: env!("CARGO_PKG_VERSION"), experiments: heads.collect(), rows })
}

fn head(place: &PaperExperiment, experiment: &Experiment) -> ExperimentHead {
    let setups = experiment.file.setups.iter().map(|setup| SetupHead {
        name: setup.name.get_ref().clone(),
        what: setup.what.clone(),
        scenario: setup.scenario.get_ref().clone(),
        set: setup.set.iter().map(|set| set.get_ref().clone()).collect(),
    });
    ExperimentHead {
        name: place.name,
        title: experiment.file.title.clone(),
        source: experiment.file.source.clone(),
        setups: setups.collect(),
    }
}

/// One row; `values` has one entry per run.
fn compare(place: &PaperExperiment, row: &Row, values: &[Option<f64>]) -> ComparedRow {
    let there: Vec<f64> = values.iter().flatten().copied().collect();
    let interval = mean_and_interval(&there);
    let (verdict, words) = match (row.target(), &interval) {
        (None, _) => (Verdict::NotStated, String::new()),
        (Some(_), None) => (Verdict::Differs, "it did not happen".to_string()),
        (Some(target), Some(interval)) => verdict::judge(&target, interval),
    };
    let missing = values.len() - there.len();
    let partly = (missing > 0 && !there.is_empty())
        .then(|| format!("it did not happen in {missing} of {} runs", values.len()));
    let known = row.why.clone().filter(|_| verdict != Verdict::Reproduced);
    let parts = [Some(words).filter(|words| !words.is_empty()), partly, known];
    ComparedRow {
        paper: place.paper,
        experiment: place.experiment,
        quantity: row.quantity.get_ref().clone(),
        setup: row.setup.get_ref().clone(),
        protocol: row.protocol.get_ref().clone(),
        unit: row.unit,
        source: row.source.clone(),
        published: row.published,
        measured: interval.map(|interval| interval.mean),
        ci95: interval.and_then(|interval| interval.ci95),
        seeds: there.len(),
        runs: values.len(),
        verdict,
        why: parts.into_iter().flatten().collect::<Vec<_>>().join(". "),
    }
}

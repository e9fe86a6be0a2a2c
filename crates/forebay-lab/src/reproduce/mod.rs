//! What papers published and what was measured of other systems, compared with results of Forebay.
//!
//! An experiment is a file in `experiments/`: set-ups to run and rows to compare. `builtin` has
//! those of the binary, `file` their format; `jobs` runs them in parallel, `recording` and
//! `evaluate` turn a run into the values of its `measure`s, `paired` compares flows of two runs,
//! `profile` delay profiles with rates, `verdict` values with those published.

mod builtin;
mod evaluate;
mod file;
mod folder;
mod jobs;
mod measure;
mod paired;
mod profile;
mod recording;
mod verdict;

#[cfg(test)]
mod tests;

pub use builtin::{BuiltinExperiment, EXPERIMENTS, ExperimentText};
pub use file::{ExperimentError, Tables, Unit};
pub use folder::ReproductionFolder;
pub use jobs::{ReproduceError, ReproduceProgress};
pub use profile::rank_correlation;
pub use verdict::{Claim, Verdict};

use crate::bench::{Skipped, folder_from_environment};
use file::{Experiment, Quantity, Row};
use forebay_scenario::Registry;
use forebay_scenario::statistics::mean_and_interval;
use jobs::{Done, Jobs};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use toml::Spanned;

/// The environment variable that names the folder of the files that are not part of Forebay and
/// that some experiments need: Rocketfuel's maps.
pub const DATA_VARIABLE: &str = "FOREBAY_ROCKETFUEL";

/// How to reproduce, as opposed to what.
#[derive(Clone, Copy)]
pub struct ReproduceOptions<'a> {
    /// What names of protocols, queues and routers stand for.
    pub registry: &'a Arc<Registry>,
    /// Fewer seeds.
    pub quick: bool,
    /// Folder of the files that are not part of Forebay and that some experiments need; None: that
    /// of the environment variable [`DATA_VARIABLE`], if set.
    pub data: Option<&'a Path>,
    /// Runs at the same time, at least 1.
    pub jobs: usize,
    /// Set by a caller to stop it.
    pub cancel: Option<&'a AtomicBool>,
    /// Receives progress several times a second, from any thread.
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
    /// Experiments that were not run for want of data.
    pub skipped: Vec<Skipped>,
}

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentHead {
    /// `source/experiment`; of a file `folder/file`.
    pub name: String,
    /// Its description, in a line.
    pub title: String,
    /// The paper, or who measured what.
    pub source: String,
    /// What published values are called in a table: "paper", "kernel".
    pub label: String,
    /// How its tables are laid out.
    #[serde(skip)]
    pub tables: Tables,
    /// What is compared in all set-ups alike; empty if rows differ from set-up to set-up.
    pub quantities: Vec<QuantityHead>,
    /// What is run, by name, with a line about each.
    pub setups: Vec<SetupHead>,
    /// Digest of the trace hashes of the runs of seed 1: two versions with the same digest have the
    /// same results. Empty before the runs.
    pub digest: String,
}

/// A quantity that is compared in all set-ups alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantityHead {
    /// Its name.
    pub quantity: String,
    /// Unit of its values.
    pub unit: Unit,
    /// What counts as the same, in words: "2 %", "a factor of 1.5", "0".
    pub tolerance: String,
}

/// What a set-up is, and how to run it by hand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetupHead {
    /// Its name.
    pub name: String,
    /// Its description, in a line; empty if the name says it.
    pub what: String,
    /// The scenario.
    pub scenario: String,
    /// What is changed in it, as by `--set`.
    pub set: Vec<String>,
    /// Its folders below that of the experiment.
    #[serde(skip)]
    pub folders: BTreeSet<String>,
    /// What is changed under single protocols, after `set`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set_of: BTreeMap<String, Vec<String>>,
}

/// A published value and ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedRow {
    /// What the value is of: the part of an experiment's name before the slash.
    #[serde(rename = "paper")]
    pub origin: String,
    /// The experiment.
    pub experiment: String,
    /// What is compared.
    pub quantity: String,
    /// The set-up.
    pub setup: String,
    /// The protocol.
    pub protocol: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Table, figure or section of the published value; empty if it is that of the experiment.
    pub source: String,
    /// The published value.
    pub published: Option<f64>,
    /// What the source claims of ours and that value, where it has the order alone.
    pub claim: Option<Claim>,
    /// Least and most of the repetitions of which it is the median.
    pub published_range: Option<[f64; 2]>,
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
    wanted: &[ExperimentText],
    options: &ReproduceOptions<'_>,
) -> Result<Reproduction, ReproduceError> {
    reproduce_into(wanted, options, None)
}

/// The same, with the results of the runs of each set-up in `folder`.
pub fn reproduce_into(
    wanted: &[ExperimentText],
    options: &ReproduceOptions<'_>,
    folder: Option<&ReproductionFolder>,
) -> Result<Reproduction, ReproduceError> {
    let from_environment = || folder_from_environment(DATA_VARIABLE);
    let data = options.data.map(Path::to_path_buf).or_else(from_environment);
    let (mut texts, mut experiments, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for of in wanted {
        let ExperimentText { text, file, .. } = of;
        let read = Experiment::parse_with(text, file, options.registry, data.as_deref())?;
        match read.file.why_skipped(data.as_deref()) {
            Some(why) => skipped.push(Skipped { name: of.name(), why }),
            None => {
                texts.push(of);
                experiments.push(read);
            }
        }
    }
    let names: Vec<String> = texts.iter().map(|of| of.name()).collect();
    let jobs = Jobs::new(&experiments, options.quick);
    let results = jobs.results(&names);
    let done = jobs.run(options, folder.map(|folder| (folder, results.as_slice())))?;
    let (mut heads, mut rows) = (Vec::new(), Vec::new());
    for ((place, experiment), Done { values, digest }) in
        texts.into_iter().zip(&experiments).zip(done)
    {
        let compared = experiment.file.rows.iter().zip(values);
        rows.extend(compared.map(|(row, values)| compare(place, row, &values)));
        heads.push(ExperimentHead { digest, ..head(place, experiment) });
    }
    Ok(Reproduction { forebay: env!("CARGO_PKG_VERSION"), experiments: heads, rows, skipped })
}

fn head(place: &ExperimentText, experiment: &Experiment) -> ExperimentHead {
    let texts = |set: &[Spanned<String>]| set.iter().map(|set| set.get_ref().clone()).collect();
    let setups = experiment.file.setups.iter().map(|setup| SetupHead {
        name: setup.name.get_ref().clone(),
        what: setup.what.clone(),
        scenario: setup.scenario.get_ref().clone(),
        set: texts(&setup.set),
        folders: experiment.file.folders(setup),
        set_of: experiment
            .file
            .set_of
            .iter()
            .filter(|(name, _)| setup.protocols.contains(name))
            .map(|(name, set)| (name.get_ref().clone(), texts(set)))
            .collect(),
    });
    let quantities = experiment.file.quantities.iter().map(|of: &Quantity| QuantityHead {
        quantity: of.quantity.get_ref().clone(),
        unit: of.unit,
        tolerance: of.tolerance.to_string(),
    });
    ExperimentHead {
        name: place.name(),
        title: experiment.file.title.clone(),
        source: experiment.file.source.clone(),
        label: experiment.file.label.clone(),
        tables: experiment.file.tables,
        quantities: quantities.collect(),
        setups: setups.collect(),
        digest: String::new(),
    }
}

/// One row; `values` has one entry per run.
fn compare(place: &ExperimentText, row: &Row, values: &[Option<f64>]) -> ComparedRow {
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
    let published = row.published.as_ref().map(|published| published.get_ref());
    ComparedRow {
        origin: place.source.clone(),
        experiment: place.experiment.clone(),
        quantity: row.quantity.get_ref().clone(),
        setup: row.setup.get_ref().clone(),
        protocol: row.protocol.get_ref().clone(),
        unit: row.unit,
        source: row.source.clone(),
        published: published.map(|published| published.value),
        claim: row.claim,
        published_range: published.and_then(|published| published.range),
        measured: interval.map(|interval| interval.mean),
        ci95: interval.and_then(|interval| interval.ci95),
        seeds: there.len(),
        runs: values.len(),
        verdict,
        why: parts.into_iter().flatten().collect::<Vec<_>>().join(". "),
    }
}

//! Contents of a folder of results in `summary.json` and `scenario.toml`.

use super::error::ReportError;
use super::network::Network;
use super::open::read_json;
use super::scenario_text::ScenarioFile;
use forebay_metrics::{Means, Metrics, RunValues};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// `summary.json`, as far as a report shows it. See `Summary` of `forebay-lab` for the meaning of
/// the keys.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Results {
    pub forebay: String,
    pub scenario: String,
    pub runs: Vec<Run>,
    pub aggregate: Vec<Aggregate>,
    /// What was compared with what, seed by seed.
    #[serde(default)]
    pub paired: Vec<PairedWith>,
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub expectations: Vec<Expected>,
    /// Of `scenario.toml`.
    #[serde(skip)]
    pub description: String,
    /// Of `scenario.toml`, if it is not too large to be drawn.
    #[serde(skip)]
    pub network: Option<Network>,
}

/// Of an entry of `paired`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PairedWith {
    pub baseline: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Run {
    /// In a page of several folders, the label of the folder before it.
    pub protocol: String,
    /// The protocol in the files.
    #[serde(skip)]
    pub name: String,
    pub seed: u64,
    pub ended_s: f64,
    pub per_flow: Vec<Flow>,
    #[serde(default)]
    pub reference: Reference,
    #[serde(default)]
    pub metrics: Metrics,
    #[serde(default)]
    pub drops: BTreeMap<String, u64>,
    #[serde(default)]
    pub interfaces: Vec<Interface>,
}

/// An INRPP interface that did not stay in the state P: see `InterfaceResult` of `forebay-run`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Interface {
    pub port: String,
    pub highest_cache_bytes: u64,
    pub cache_limits_bytes: [u64; 3],
    pub offered_bytes: u64,
    pub detoured_bytes: u64,
}

/// What flows got and how long it took, of one or of all together; absent in results of older
/// versions.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Delays {
    pub goodput_bps: Option<f64>,
    pub one_way_delay_mean_ms: Option<f64>,
    pub one_way_delay_p95_ms: Option<f64>,
}

/// An expectation about the runs under one protocol: see `ExpectationResult` of `forebay-lab`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Expected {
    pub name: Option<String>,
    /// In a page of several folders, the label of the folder before it.
    pub protocol: String,
    pub metric: String,
    pub class: Option<String>,
    pub link: Option<String>,
    pub op: String,
    pub expected: Vec<f64>,
    pub over: OverSeeds,
    pub seeds: Vec<u64>,
    pub value: Option<f64>,
    pub seed: Option<u64>,
    #[serde(default)]
    pub failing_seeds: Vec<u64>,
    pub status: String,
    pub why: Option<String>,
}

/// Which value over seeds: "mean", "min", "max", or in which share of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum OverSeeds {
    Named(String),
    Share { share: f64 },
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Flow {
    pub id: u32,
    pub src: String,
    pub dst: String,
    pub bytes: Option<u64>,
    pub fct_s: Option<f64>,
    /// Absent in results of older versions.
    #[serde(default)]
    pub class: String,
    #[serde(flatten)]
    pub delays: Delays,
}

impl Flow {
    /// True if both have the same number, ends and size.
    pub fn is_like(&self, other: &Flow) -> bool {
        let key = |flow: &Flow| (flow.id, flow.src.clone(), flow.dst.clone(), flow.bytes);
        key(self) == key(other)
    }
}

/// Results of the fluid reference for the flows of a run.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Reference {
    #[serde(default)]
    pub kind: String,
    #[serde(default)]
    pub mode: Option<String>,
    #[serde(default)]
    pub why: Option<String>,
    /// In the order of `per_flow` of the run.
    #[serde(default)]
    pub per_flow_fct_s: Option<Vec<Option<f64>>>,
    #[serde(default)]
    pub afct_s: Option<f64>,
    #[serde(default)]
    pub afct_ratio: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Aggregate {
    /// In a page of several folders, the label of the folder before it.
    pub protocol: String,
    /// The protocol in the files.
    #[serde(skip)]
    pub name: String,
    /// What text calls it; empty in results of older versions.
    #[serde(default, rename = "label", alias = "title")]
    pub title: String,
    pub seeds: Vec<u64>,
    pub flows: usize,
    pub completed: usize,
    #[serde(default)]
    pub skipped: usize,
    #[serde(flatten)]
    pub means: Means<String>,
}

impl Results {
    /// Read the folder.
    pub fn read(folder: &Path) -> Result<Results, ReportError> {
        let mut results: Results = read_json(&folder.join("summary.json"))?;
        let path = folder.join("scenario.toml");
        let text = fs::read_to_string(&path).map_err(ReportError::io("read", &path))?;
        let file: ScenarioFile = toml::from_str(&text).map_err(ReportError::not_results(&path))?;
        results.description.clone_from(&file.description);
        results.network = Network::of_file(file);
        results.runs.iter_mut().for_each(|run| run.name.clone_from(&run.protocol));
        results.aggregate.iter_mut().for_each(|of| of.name.clone_from(&of.protocol));
        Ok(results)
    }
    /// What the results call the protocol `name`; empty if they do not.
    pub fn title_of(&self, name: &str) -> &str {
        self.aggregate.iter().find(|of| of.name == name).map_or("", |of| of.title.as_str())
    }
    /// The runs of a protocol.
    pub fn runs_of<'a>(&'a self, protocol: &'a str) -> impl Iterator<Item = &'a Run> + Clone {
        self.runs.iter().filter(move |run| run.protocol == protocol)
    }
}

impl Run {
    /// Simulated time, in whole nanoseconds, at least one.
    pub fn span_ns(&self) -> i64 {
        ((self.ended_s * 1e9).round() as i64).max(1)
    }
    /// What all flows together got, and how long it took.
    pub fn delays(&self) -> Delays {
        let of = &self.metrics.of_flows;
        Delays {
            goodput_bps: of.goodput_bps,
            one_way_delay_mean_ms: of.one_way_delay_mean_ms,
            one_way_delay_p95_ms: of.one_way_delay_p95_ms,
        }
    }
    /// Its numbers, by name.
    pub fn values(&self) -> RunValues<String> {
        let Reference { afct_s, afct_ratio, .. } = self.reference;
        let named = [("afct_s", afct_s), ("afct_ratio", afct_ratio)];
        let reference = named.map(|(name, value)| (name.to_string(), value));
        RunValues::of_run(&self.metrics, self.drops.clone(), reference)
    }
    /// Flow and its time in the reference, of flows that have both times.
    pub fn against_reference(&self) -> impl Iterator<Item = (&Flow, f64, f64)> {
        let reference = self.reference.per_flow_fct_s.iter().flatten();
        let pairs = self.per_flow.iter().zip(reference);
        pairs.filter_map(|(flow, reference_s)| Some((flow, flow.fct_s?, (*reference_s)?)))
    }
}

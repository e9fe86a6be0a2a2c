//! The files of `papers/`: one experiment of a paper each.
//!
//! ```toml
//! title = "..."                       # what it is, in a line
//! source = "..."                      # the paper
//! seeds = 10                          # runs per set-up and protocol
//! quick_seeds = 3                     # the same with --quick
//!
//! [[setups]]                          # a scenario, changed as by --set, under some protocols
//! name = "paper"
//! what = "as the paper has it"
//! scenario = "inrpp/dumbbell"
//! set = ["start_jitter=1ms"]
//! protocols = ["inrpp"]
//!
//! [[rows]]                            # a published value, and how ours is measured
//! quantity = "afct"
//! setup = "paper"
//! protocol = "inrpp"
//! unit = "s"                          # "s", "bit/s", "B" or "" for a number without unit
//! source = "Table V"
//! published = 10.5                    # without it the verdict is "not-stated"
//! tolerance = "2%"                    # or a number in the unit; goes with `published`
//! better = "lower"                    # or "higher"; without it no side is better
//! measure = { metric = "afct_s" }     # see `Measure`
//! why = "..."                         # what is known of a difference; shown unless the row is reproduced
//! ```

use super::measure::Measure;
use super::verdict::{Side, Target, Tolerance};
use crate::scenario::{LoadOptions, Scenario};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;

/// A file that cannot be used; its text says where, and what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PaperError(String);

/// An experiment as its file has it, with the scenarios of its set-ups.
#[derive(Debug)]
pub(super) struct Experiment {
    pub file: File,
    /// One per set-up.
    pub scenarios: Vec<Scenario>,
}

/// The keys of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub title: String,
    pub source: String,
    pub seeds: Spanned<u64>,
    pub quick_seeds: Spanned<u64>,
    pub setups: Vec<Setup>,
    pub rows: Vec<Row>,
}

/// What is run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setup {
    pub name: Spanned<String>,
    pub what: String,
    pub scenario: Spanned<String>,
    #[serde(default)]
    pub set: Vec<Spanned<String>>,
    pub protocols: Vec<Spanned<String>>,
}

/// What is compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub quantity: Spanned<String>,
    pub setup: Spanned<String>,
    pub protocol: Spanned<String>,
    pub unit: Unit,
    pub source: String,
    pub published: Option<f64>,
    pub tolerance: Option<Tolerance>,
    pub better: Option<Side>,
    pub measure: Spanned<Measure>,
    pub why: Option<String>,
}

/// The unit of a row.
#[derive(Clone, Copy, Debug, Deserialize, serde::Serialize, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Bits per second.
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// None.
    #[serde(rename = "")]
    None,
}

/// Most seeds of an experiment.
const MAX_SEEDS: u64 = 1_000;

impl Row {
    /// What was published, if anything was.
    pub fn target(&self) -> Option<Target> {
        let (published, tolerance) = (self.published?, self.tolerance?);
        Some(Target { published, tolerance, better: self.better })
    }
}

/// Where in a file a problem is, and what it is.
type Fault = (Range<usize>, String);

impl Experiment {
    /// The experiment of a text, which messages call `file`.
    pub fn parse(text: &str, file: &str) -> Result<Experiment, PaperError> {
        read(text).map_err(|(span, problem)| {
            let start = span.start.min(text.len());
            let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
            let line = text[..line_start].matches('\n').count() + 1;
            let column = text[line_start..start].chars().count() + 1;
            let shown = text[line_start..].lines().next().unwrap_or_default();
            PaperError(format!("{file}:{line}:{column}: {problem}\n  {line} | {shown}"))
        })
    }
}

fn read(text: &str) -> Result<Experiment, Fault> {
    let file: File = toml::from_str(text)
        .map_err(|error| (error.span().unwrap_or_default(), error.message().to_string()))?;
    for seeds in [&file.seeds, &file.quick_seeds] {
        if !(1..=MAX_SEEDS).contains(seeds.get_ref()) {
            return Err((seeds.span(), format!("expected 1 to {MAX_SEEDS} seeds")));
        }
    }
    let mut names = BTreeSet::new();
    for Setup { name, .. } in &file.setups {
        if !names.insert(name.get_ref().as_str()) {
            return Err((
                name.span(),
                format!("the set-up `{}` is declared twice", name.get_ref()),
            ));
        }
    }
    let scenarios = file.setups.iter().map(scenario).collect::<Result<Vec<_>, _>>()?;
    let setups = || file.setups.iter().zip(&scenarios);
    let mut seen = BTreeSet::new();
    for row in &file.rows {
        check(row, setups())?;
        let key = [&row.quantity, &row.setup, &row.protocol].map(|text| text.get_ref().as_str());
        if !seen.insert(key) {
            let problem = format!("`{}` is there twice for set-up and protocol", key[0]);
            return Err((row.quantity.span(), problem));
        }
    }
    Ok(Experiment { file, scenarios })
}

fn scenario(setup: &Setup) -> Result<Scenario, Fault> {
    let set = setup.set.iter().map(|set| set.get_ref().clone()).collect();
    let loaded = Scenario::load(setup.scenario.get_ref(), &LoadOptions { set, base: None });
    let scenario = loaded.map_err(|error| {
        let culprit = setup.set.iter().find(|set| {
            let place = error.first().place.as_ref();
            place.is_some_and(|p| p.file == "--set" && p.text == *set.get_ref())
        });
        (culprit.map_or(setup.scenario.span(), Spanned::span), error.to_string())
    })?;
    for protocol in &setup.protocols {
        let mut known = forebay_cc::TABLE.iter().map(|entry| entry.name);
        if !known.any(|name| name == protocol.get_ref()) {
            return Err((
                protocol.span(),
                format!("there is no protocol `{}`", protocol.get_ref()),
            ));
        }
    }
    Ok(scenario)
}

fn check<'a>(
    row: &Row,
    mut setups: impl Iterator<Item = (&'a Setup, &'a Scenario)>,
) -> Result<(), Fault> {
    let found = setups.find(|(setup, _)| setup.name.get_ref() == row.setup.get_ref());
    let Some((setup, scenario)) = found else {
        return Err((row.setup.span(), format!("there is no set-up `{}`", row.setup.get_ref())));
    };
    if !setup.protocols.iter().any(|name| name.get_ref() == row.protocol.get_ref()) {
        let (setup, protocol) = (row.setup.get_ref(), row.protocol.get_ref());
        return Err((row.protocol.span(), format!("`{setup}` does not run `{protocol}`")));
    }
    if row.published.is_some() != row.tolerance.is_some() {
        let problem = "`published` and `tolerance` go together".to_string();
        return Err((row.quantity.span(), problem));
    }
    if matches!((row.published, row.tolerance), (Some(0.0), Some(Tolerance::Percent(_)))) {
        let problem = "a share of 0 is 0: give the tolerance as a number".to_string();
        return Err((row.quantity.span(), problem));
    }
    let measurable = row.measure.get_ref().check(scenario);
    measurable.map_err(|problem| (row.measure.span(), problem))
}

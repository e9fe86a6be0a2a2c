//! The files of `experiments/`: one experiment each, of a paper or of a system that was measured.
//!
//! ```toml
//! title = "..."                       # what it is, in a line
//! source = "..."                      # the paper, or who measured what
//! label = "paper"                     # heading of the published values
//! proposes = ["inrpp"]                # protocols whose advantage it claims; may be left out
//! tables = "by_quantity"              # in Markdown; see `Tables`; may be left out
//! data = ["map.cch"]                  # files that are not part of Forebay, which scenarios read
//!                                     # in the folder of `--data`; without it the experiment is
//!                                     # skipped; may be left out
//! seeds = 10                          # runs per set-up and protocol
//! quick_seeds = 3                     # the same with --quick
//!
//! [set_of]                            # what is changed under a protocol alone, in all set-ups
//! paper = ["kickass.preset=paper"]    # that run it, after their own changes; may be left out
//!
//! [[setups]]                          # a scenario, changed as by --set, under some protocols
//! name = "paper"
//! what = "as the paper has it"        # may be left out
//! scenario = "inrpp/dumbbell"
//! set = ["start_jitter=1ms"]
//! protocols = ["inrpp"]
//!
//! [[rows]]                            # a published value, and how ours is measured
//! quantity = "afct"
//! setup = "paper"
//! protocol = "inrpp"
//! unit = "s"                          # "s", "ms", "bit/s", "B" or "" for a number without unit
//! source = "Table V"
//! published = 10.5                    # or [least, median, most] of repetitions; without it the
//!                                     # verdict is "not-stated"
//! tolerance = "2%"                    # or "factor 1.5", or a number in the unit; goes with
//!                                     # `published`
//! better = "lower"                    # or "higher"; without it no side is better. Of protocols
//!                                     # that `proposes` has: a rival that does better than was
//!                                     # published contradicts the source
//! claim = "above"                     # or "below": in place of `tolerance` and `better`, where
//!                                     # the source has the order alone
//! measure = { metric = "afct_s" }     # see `Measure`
//! why = "..."                         # what is known of a difference; shown unless reproduced
//! ```
//!
//! A row may have `setups` in place of `setup` and `protocols` in place of `protocol`, lists of
//! names: it stands for a row of each protocol in each set-up, set-up by set-up.
//!
//! Where the same quantities are compared in many set-ups, each has its measure once, and each
//! case its values. They stand for the rows of all cases, case by case:
//!
//! ```toml
//! [[quantities]]
//! quantity = "goodput"
//! unit = "bit/s"
//! tolerance = "2%"
//! measure = { metric = "goodput_bps" }
//!
//! [[cases]]
//! setup = "10 Mbit/s"
//! protocol = "cubic"
//! published = { goodput = [9.52e6, 9.53e6, 9.54e6] }
//! tolerance = { goodput = "3%" }      # instead of that of the quantity; may be left out
//! why = { goodput = "..." }           # may be left out
//! ```

use super::DATA_VARIABLE;
use super::measure::Measure;
use super::verdict::{Claim, Published, Side, Target, Tolerance, Value};
use forebay_scenario::{Files, LoadOptions, Registry, Scenario};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;

/// A file that cannot be used; its text says where, and what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ExperimentError(String);

/// An experiment as its file has it, with the scenarios of its set-ups.
#[derive(Debug)]
pub(super) struct Experiment {
    pub file: File,
    /// Those of each set-up; none of an experiment that needs files and has no folder of them.
    pub scenarios: Vec<SetupScenarios>,
}

/// The scenarios of a set-up.
#[derive(Debug)]
pub(super) struct SetupScenarios {
    /// That of the protocols that change nothing in it, then those of the others; each for some.
    pub all: Vec<Scenario>,
    /// Per protocol of the set-up its place in `all`.
    pub places: Vec<usize>,
}

/// The keys of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub title: String,
    pub source: String,
    pub label: String,
    #[serde(default)]
    proposes: Vec<Spanned<String>>,
    #[serde(default)]
    pub tables: Tables,
    #[serde(default)]
    pub data: Vec<String>,
    pub seeds: Spanned<u64>,
    pub quick_seeds: Spanned<u64>,
    #[serde(default)]
    pub set_of: BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
    pub setups: Vec<Setup>,
    #[serde(default, rename = "rows")]
    lines: Vec<Line>,
    /// Those that the lines stand for, then those of the cases, once the file is read.
    #[serde(skip)]
    pub rows: Vec<Row>,
    #[serde(default)]
    pub quantities: Vec<Quantity>,
    #[serde(default)]
    cases: Vec<Case>,
}

/// How tables in Markdown are laid out.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Tables {
    /// A line for each row; where nothing is published, one for each set-up and protocol.
    #[default]
    Lines,
    /// A table for each set-up: a line per protocol, a column per quantity.
    BySetup,
    /// A table for each quantity: a line per set-up, a column per protocol.
    ByQuantity,
}

/// What is run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setup {
    pub name: Spanned<String>,
    #[serde(default)]
    pub what: String,
    pub scenario: Spanned<String>,
    #[serde(default)]
    pub set: Vec<Spanned<String>>,
    pub protocols: Vec<Spanned<String>>,
}

/// What is compared, in one set-up and under one protocol or in many.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    quantity: Spanned<String>,
    setup: Option<Spanned<String>>,
    setups: Option<Vec<Spanned<String>>>,
    protocol: Option<Spanned<String>>,
    protocols: Option<Vec<Spanned<String>>>,
    unit: Unit,
    source: String,
    published: Option<Spanned<Published>>,
    tolerance: Option<Tolerance>,
    better: Option<Side>,
    claim: Option<Claim>,
    measure: Spanned<Measure>,
    why: Option<String>,
}

/// What is compared.
#[derive(Debug)]
pub(super) struct Row {
    pub quantity: Spanned<String>,
    pub setup: Spanned<String>,
    pub protocol: Spanned<String>,
    pub unit: Unit,
    pub source: String,
    pub published: Option<Spanned<Published>>,
    pub tolerance: Option<Tolerance>,
    pub better: Option<Side>,
    pub claim: Option<Claim>,
    pub measure: Spanned<Measure>,
    pub why: Option<String>,
}

/// What is compared in every case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quantity {
    pub quantity: Spanned<String>,
    pub unit: Unit,
    pub tolerance: Tolerance,
    pub better: Option<Side>,
    pub measure: Spanned<Measure>,
}

/// The published values of a set-up under a protocol, by quantity.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    setup: Spanned<String>,
    protocol: Spanned<String>,
    published: BTreeMap<Spanned<String>, Spanned<Published>>,
    #[serde(default)]
    tolerance: BTreeMap<Spanned<String>, Tolerance>,
    #[serde(default)]
    why: BTreeMap<Spanned<String>, String>,
}

/// The unit of a row.
#[derive(Clone, Copy, Debug, Deserialize, serde::Serialize, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
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

impl File {
    /// Why it is skipped, if it needs files and has no folder of them.
    pub fn why_skipped(&self, data: Option<&Path>) -> Option<String> {
        let files = self.data.join(", ");
        let missing = !self.data.is_empty() && data.is_none();
        missing.then(|| {
            format!(
                "it needs {files}, not part of Forebay: name the folder with --data, or set \
                 {DATA_VARIABLE}"
            )
        })
    }
    /// The rows of a protocol in a set-up, by their places.
    pub fn rows_of(&self, setup: &Setup, protocol: &str) -> Vec<usize> {
        let mine =
            |row: &Row| row.setup == setup.name && row.protocol.get_ref().as_str() == protocol;
        (0..self.rows.len()).filter(|&row| mine(&self.rows[row])).collect()
    }
    /// True if a protocol is compared with another of a set-up, or the other with it.
    pub fn is_paired(&self, setup: &Setup, protocol: &str) -> bool {
        let mine = self.rows.iter().filter(|row| row.setup == setup.name);
        mine.filter_map(|row| Some((row.protocol.get_ref(), row.measure.get_ref().other()?)))
            .any(|(of, with)| of == protocol || with == protocol)
    }
    /// The name of the folder of its results: that of the set-up, and of a protocol that changes
    /// something in it.
    pub fn folder(&self, setup: &Setup, protocol: &str) -> String {
        let name = setup.name.get_ref();
        match entry(&self.set_of, protocol) {
            None => name.clone(),
            Some(_) => format!("{name}+{protocol}"),
        }
    }
    /// The folders of the protocols that are run in a set-up.
    pub fn folders(&self, setup: &Setup) -> BTreeSet<String> {
        let protocols = setup.protocols.iter().map(|name| name.get_ref().as_str());
        let run =
            |name: &&str| self.is_paired(setup, name) || !self.rows_of(setup, name).is_empty();
        protocols.filter(run).map(|name| self.folder(setup, name)).collect()
    }
}

impl Row {
    /// What was published, if anything was.
    pub fn target(&self) -> Option<Target> {
        let published = *self.published.as_ref()?.get_ref();
        if let Some(claim) = self.claim {
            return Some(Target::Order(claim, published.value));
        }
        Some(Target::Value(Value { published, tolerance: self.tolerance?, better: self.better }))
    }
}

/// Where in a file a problem is, and what it is.
type Fault = (Range<usize>, String);

impl Experiment {
    /// The experiment of a text, which messages call `file`. Its names stand for what `registry`
    /// says.
    pub fn parse(
        text: &str,
        file: &str,
        registry: &Arc<Registry>,
    ) -> Result<Experiment, ExperimentError> {
        Experiment::parse_with(text, file, registry, None)
    }

    /// The same; what it needs from outside is in the folder `data`.
    pub fn parse_with(
        text: &str,
        file: &str,
        registry: &Arc<Registry>,
        data: Option<&Path>,
    ) -> Result<Experiment, ExperimentError> {
        read(text, registry, data).map_err(|(span, problem)| {
            let start = span.start.min(text.len());
            let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
            let line = text[..line_start].matches('\n').count() + 1;
            let column = text[line_start..start].chars().count() + 1;
            let shown = text[line_start..].lines().next().unwrap_or_default();
            ExperimentError(format!("{file}:{line}:{column}: {problem}\n  {line} | {shown}"))
        })
    }
}

fn read(text: &str, registry: &Arc<Registry>, data: Option<&Path>) -> Result<Experiment, Fault> {
    let mut file: File = toml::from_str(text)
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
    for name in file.set_of.keys() {
        if !file.setups.iter().any(|setup| setup.protocols.iter().any(|run| run == name)) {
            return Err((name.span(), format!("no set-up runs `{}`", name.get_ref())));
        }
    }
    let there = file.data.is_empty() || data.is_some();
    let files = match data {
        Some(folder) if !file.data.is_empty() => Files::In(folder.to_path_buf()),
        _ => Files::Beside,
    };
    let options = LoadOptions { files, registry: registry.clone(), ..LoadOptions::default() };
    let read = file.setups.iter().filter(|_| there);
    let read = read.map(|setup| scenarios(setup, &file.set_of, &options));
    let scenarios = read.collect::<Result<Vec<_>, _>>()?;
    for line in &file.lines {
        file.rows.extend(rows_of_line(line)?);
    }
    for case in &file.cases {
        file.rows.extend(rows_of(case, &file.quantities)?);
    }
    let setups = || file.setups.iter().zip(&scenarios);
    let mut seen = BTreeSet::new();
    for row in &file.rows {
        if there {
            check(row, setups())?;
        }
        check_target(row, &file.proposes)?;
        let key = [&row.quantity, &row.setup, &row.protocol].map(|text| text.get_ref().as_str());
        if !seen.insert(key) {
            let [quantity, setup, protocol] = key;
            let problem = format!("`{quantity}` of `{setup}` and `{protocol}` is there twice");
            let second = if row.source.is_empty() { &row.setup } else { &row.quantity };
            return Err((second.span(), problem));
        }
    }
    Ok(Experiment { file, scenarios })
}

/// The rows that a line stands for.
fn rows_of_line(line: &Line) -> Result<Vec<Row>, Fault> {
    let names = |one: &Option<Spanned<String>>, many: &Option<Vec<Spanned<String>>>, key: &str| {
        let names = match (one, many) {
            (Some(one), None) => vec![one.clone()],
            (None, Some(many)) => many.clone(),
            _ => Vec::new(),
        };
        let problem = || format!("expected one of `{key}` and `{key}s`, with a name or more");
        if names.is_empty() { Err((line.quantity.span(), problem())) } else { Ok(names) }
    };
    let setups = names(&line.setup, &line.setups, "setup")?;
    let protocols = names(&line.protocol, &line.protocols, "protocol")?;
    let row = |setup: &Spanned<String>, protocol: &Spanned<String>| Row {
        quantity: line.quantity.clone(),
        setup: setup.clone(),
        protocol: protocol.clone(),
        unit: line.unit,
        source: line.source.clone(),
        published: line.published.clone(),
        tolerance: line.tolerance,
        better: line.better,
        claim: line.claim,
        measure: line.measure.clone(),
        why: line.why.clone(),
    };
    let of_setup = |setup| protocols.iter().map(move |protocol| row(setup, protocol));
    Ok(setups.iter().flat_map(of_setup).collect())
}

/// The rows that a case stands for, in the order of the quantities.
fn rows_of(case: &Case, quantities: &[Quantity]) -> Result<Vec<Row>, Fault> {
    let known = || quantities.iter().map(|q| q.quantity.get_ref().as_str());
    let named = case.published.keys().chain(case.tolerance.keys()).chain(case.why.keys());
    for name in named {
        if !known().any(|known| known == name.get_ref()) {
            let known = known().collect::<Vec<_>>().join(", ");
            let problem = format!("there is no quantity `{}`; one of: {known}", name.get_ref());
            return Err((name.span(), problem));
        }
    }
    let row = |of: &Quantity| {
        let name = of.quantity.get_ref().as_str();
        let published = entry(&case.published, name).cloned().ok_or_else(|| {
            (case.setup.span(), format!("this case has no value for the quantity `{name}`"))
        })?;
        Ok(Row {
            quantity: of.quantity.clone(),
            setup: case.setup.clone(),
            protocol: case.protocol.clone(),
            unit: of.unit,
            source: String::new(),
            published: Some(published),
            tolerance: Some(entry(&case.tolerance, name).copied().unwrap_or(of.tolerance)),
            better: of.better,
            claim: None,
            measure: of.measure.clone(),
            why: entry(&case.why, name).cloned(),
        })
    };
    quantities.iter().map(row).collect()
}

/// What a table of a case has for a quantity.
fn entry<'a, T>(table: &'a BTreeMap<Spanned<String>, T>, name: &str) -> Option<&'a T> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}

/// The scenarios of a set-up, given what is changed under single protocols.
fn scenarios(
    setup: &Setup,
    set_of: &BTreeMap<Spanned<String>, Vec<Spanned<String>>>,
    options: &LoadOptions,
) -> Result<SetupScenarios, Fault> {
    let own = |protocol: &Spanned<String>| entry(set_of, protocol.get_ref());
    let mut all = Vec::new();
    if setup.protocols.iter().any(|protocol| own(protocol).is_none()) {
        all.push(scenario(setup, &[], options)?);
    }
    let mut places = Vec::new();
    for protocol in &setup.protocols {
        let place = match own(protocol) {
            None => 0,
            Some(set) => {
                all.push(scenario(setup, set, options)?);
                all.len() - 1
            }
        };
        let names = all[place].protocol_names();
        if !names.iter().any(|known| *known == *protocol.get_ref().as_str()) {
            let problem = format!("there is no protocol `{}`", protocol.get_ref());
            return Err((protocol.span(), problem));
        }
        places.push(place);
    }
    Ok(SetupScenarios { all, places })
}

/// The scenario of a set-up with these changes as well.
fn scenario(
    setup: &Setup,
    more: &[Spanned<String>],
    options: &LoadOptions,
) -> Result<Scenario, Fault> {
    let changes = || setup.set.iter().chain(more);
    let set = changes().map(|set| set.get_ref().clone()).collect();
    let loaded = Scenario::load(setup.scenario.get_ref(), &LoadOptions { set, ..options.clone() });
    loaded.map_err(|error| {
        let culprit = changes().find(|set| {
            let place = error.first().place.as_ref();
            place.is_some_and(|p| p.file == "--set" && p.text == *set.get_ref())
        });
        (culprit.map_or(setup.scenario.span(), Spanned::span), error.to_string())
    })
}

fn check<'a>(
    row: &Row,
    mut setups: impl Iterator<Item = (&'a Setup, &'a SetupScenarios)>,
) -> Result<(), Fault> {
    let found = setups.find(|(setup, _)| setup.name.get_ref() == row.setup.get_ref());
    let Some((setup, scenarios)) = found else {
        return Err((row.setup.span(), format!("there is no set-up `{}`", row.setup.get_ref())));
    };
    let place = setup.protocols.iter().position(|name| name.get_ref() == row.protocol.get_ref());
    let Some(place) = place else {
        let (setup, protocol) = (row.setup.get_ref(), row.protocol.get_ref());
        return Err((row.protocol.span(), format!("`{setup}` does not run `{protocol}`")));
    };
    if let Some(other) = row.measure.get_ref().other()
        && !setup.protocols.iter().any(|name| name.get_ref() == other)
    {
        let setup = row.setup.get_ref();
        return Err((row.measure.span(), format!("`{setup}` does not run `{other}`")));
    }
    let measurable = row.measure.get_ref().check(&scenarios.all[scenarios.places[place]]);
    measurable.map_err(|problem| (row.measure.span(), problem))
}

/// What is published of a row fits together.
fn check_target(row: &Row, proposes: &[Spanned<String>]) -> Result<(), Fault> {
    let fault = |problem: &str| Err((row.quantity.span(), problem.to_string()));
    if row.claim.is_some() && (row.tolerance.is_some() || row.better.is_some()) {
        return fault("`claim` stands in place of `tolerance` and `better`");
    }
    if row.claim.is_some() && row.published.is_none() {
        return fault("`claim` needs the value of the order: `published`");
    }
    if row.claim.is_none() && row.published.is_some() != row.tolerance.is_some() {
        return fault("`published` and `tolerance` go together");
    }
    let proposed = || proposes.iter().any(|name| name.get_ref() == row.protocol.get_ref());
    if row.better.is_some() && !proposed() {
        let name = row.protocol.get_ref();
        let problem = format!("`better` is for protocols in `proposes`, which `{name}` is not");
        return Err((row.quantity.span(), problem));
    }
    let Some(published) = &row.published else { return Ok(()) };
    if row.claim.is_some() && published.get_ref().range.is_some() {
        return Err((published.span(), "expected one value of an order".to_string()));
    }
    let fits = row.tolerance.map_or(Ok(()), |tolerance| tolerance.check(published.get_ref()));
    fits.map_err(|problem| (published.span(), problem))
}

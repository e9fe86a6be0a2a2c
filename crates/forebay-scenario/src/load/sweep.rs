//! A scenario of which keys are swept: its text is read once, its points are made one by one.

use super::scenario_text::ScenarioText;
use super::sweep_steps::{self, Draft};
use super::{LoadOptions, Readable, document, read_keys, resolve};
use crate::Scenario;
use crate::format::axis;
use crate::format::error::{Mistake, ScenarioError};
use crate::format::fault::{Fault, Problem};
use crate::format::faults::Faults;
use crate::format::fields::Field;
use crate::format::item::{Item, Value};
use crate::format::set::{self, Path};
use crate::format::source::{Loc, Sources};
use crate::format::traces::write_trace;
use crate::keys::file::ALONE;
use crate::keys::sweep::{Assignments, Axes, PointEntry, SweepEntry, Target};
use crate::model::sweep::{Axis, Grid, Point, Step, StepValue, Swept, SweptKey, SweptKind};
use crate::model::sweep::{SweptValue, SweptValue as Cell};
use crate::plan::memory_estimate::check_outline;
use crate::plan::outline;
use std::hash::Hasher;
use std::io;

/// The key at the top of a scenario that says what is swept.
const KEY: &str = "sweep";

/// Most mistakes that an error reports.
const MAX_MISTAKES: usize = 20;

/// See the module. What holds for all points has been checked: that the keys are there, and the
/// types of their values.
#[derive(Clone, Debug)]
pub struct SweptScenario {
    /// Without what is swept.
    document: Item,
    sources: Sources,
    options: LoadOptions,
    /// Memory that a point may take; None: unknown.
    available_bytes: Option<u64>,
    grid: Grid,
    protocols: Vec<String>,
    digest: u64,
}

impl ScenarioText {
    /// The scenario with what its `[[sweep]]` and `asked` sweep; None if that is nothing.
    ///
    /// A point whose hosts and flows alone need more than `available_bytes` is not made.
    ///
    /// Errors if a key is not there, is swept twice or is set as well, if a value has the wrong
    /// type, or if no point can be made at all. A point that cannot be made, where others can, is
    /// an error of [`SweptScenario::scenario`].
    pub fn swept(
        &self,
        asked: &[Swept],
        options: &LoadOptions,
        available_bytes: Option<u64>,
    ) -> Result<Option<SweptScenario>, ScenarioError> {
        let (text, file) = self.text_and_file();
        let options = LoadOptions { files: self.files(options), ..options.clone() };
        let mut sources = Sources::with(options.files.clone());
        let read = read(text, file, asked, &options, &mut sources);
        let (document, drafts) = read.map_err(|faults| faults.resolve(&sources))?;
        if drafts.is_empty() {
            return Ok(None);
        }
        sources.share();
        let grid = grid(&drafts);
        let (protocols, digest) = (Vec::new(), 0);
        let mut swept =
            SweptScenario { document, sources, options, available_bytes, grid, protocols, digest };
        (swept.digest, swept.protocols) = swept.check(text, &drafts)?;
        Ok(Some(swept))
    }
}

impl SweptScenario {
    /// Its points.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The protocols that are compared at each point.
    pub fn protocols(&self) -> &[String] {
        &self.protocols
    }

    /// The scenario at a point, which may be of another grid over the same text.
    pub fn scenario(&self, point: &Point) -> Result<Scenario, ScenarioError> {
        let (mut document, mut sources) = (self.document.clone(), self.sources.clone());
        let mut faults = Faults::default();
        for assignment in &point.set {
            faults.keep(set::apply(&mut document, &mut sources, "--sweep", assignment, &ALONE));
        }
        let read = read_keys(document, faults, &self.options);
        let made = read.and_then(|read| self.resolve(read, &mut sources));
        made.map_err(|faults| faults.resolve(&sources))
    }

    /// From keys to the scenario, unless it is too large.
    fn resolve(&self, read: Readable, sources: &mut Sources) -> Result<Scenario, Faults> {
        let outline = outline::outline(&read.file, &self.options.files);
        match check_outline(&outline, self.available_bytes) {
            Ok(()) => resolve(read, &self.options, sources),
            Err(refused) => {
                let mut faults = read.faults;
                faults.add(Fault::nowhere(Problem::Conflict(refused.to_string())));
                Err(faults)
            }
        }
    }

    /// A number that is the same for the same text, changes and points, with the same files.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Make the scenario at each value of each key, the others at their first values. Gives the
    /// digest and the protocols.
    fn check(&self, text: &str, drafts: &[Draft]) -> Result<(u64, Vec<String>), ScenarioError> {
        let mut digest = Digest::default();
        digest.write(text.as_bytes());
        self.options.set.iter().for_each(|text| digest.write(text.as_bytes()));
        digest.write(format!("{:?}", self.grid).as_bytes());
        let (mut mistakes, mut first) = (Vec::new(), None);
        let mut protocols: Option<Vec<String>> = None;
        for (place, number) in self.checked(drafts) {
            match self.try_values(drafts, place, number) {
                Ok(scenario) => {
                    if protocols.is_none()
                        || self.grid.axes[place].keys.iter().any(|key| self.is_text(*key))
                    {
                        digest.write(scenario.to_toml().as_bytes());
                        add_traces(&scenario, &mut digest);
                    }
                    protocols.get_or_insert_with(|| {
                        scenario.protocols.iter().map(ToString::to_string).collect()
                    });
                }
                Err(Refused::Always(error)) => mistakes.extend(error.mistakes),
                Err(Refused::Here(error)) => first = first.or(Some(error)),
            }
        }
        let known = |at: usize, all: &[Mistake]| {
            all[..at].iter().any(|other| other.to_string() == all[at].to_string())
        };
        let each_once: Vec<bool> = (0..mistakes.len()).map(|at| !known(at, &mistakes)).collect();
        let mut each_once = each_once.into_iter();
        mistakes.retain(|_| each_once.next() == Some(true));
        if !mistakes.is_empty() {
            let more = mistakes.len().saturating_sub(MAX_MISTAKES);
            mistakes.truncate(MAX_MISTAKES);
            return Err(ScenarioError { mistakes, more });
        }
        match (protocols, first) {
            (None, Some(error)) => Err(error),
            (protocols, _) => Ok((digest.finish(), protocols.unwrap_or_default())),
        }
    }

    fn is_text(&self, key: usize) -> bool {
        self.grid.keys[key].kind == SweptKind::Text
    }

    /// Which steps of which axes are tried: all of lists; of ranges, whose values are alike, both
    /// ends.
    fn checked(&self, drafts: &[Draft]) -> Vec<(usize, usize)> {
        let mut all = vec![(0, 0)];
        for (place, draft) in drafts.iter().enumerate() {
            let last = draft.steps.len() - 1;
            let steps = (0..=last).filter(|&step| !draft.is_range || step == 0 || step == last);
            all.extend(steps.filter(|step| *step > 0).map(|step| (place, step)));
        }
        all
    }

    fn try_values(&self, drafts: &[Draft], place: usize, step: usize) -> Result<Scenario, Refused> {
        let (mut document, mut sources) = (self.document.clone(), self.sources.clone());
        let mut faults = Faults::default();
        for (number, draft) in drafts.iter().enumerate() {
            let step = if number == place { step } else { 0 };
            for (target, value) in draft.targets.iter().zip(&draft.steps[step].1) {
                let Some(value) = value else { continue };
                faults.keep(set::assign(&mut document, &target.path, value.clone(), &ALONE));
            }
        }
        let read = read_keys(document, faults, &self.options);
        let read = read.map_err(|faults| Refused::Always(faults.resolve(&sources)))?;
        let is_unreadable = !read.faults.is_empty();
        self.resolve(read, &mut sources).map_err(|faults| {
            let error = faults.resolve(&sources);
            let of_values = error.mistakes.iter().any(|of| is_of_one_value(&of.problem));
            let always = is_unreadable || of_values;
            if always { Refused::Always(error) } else { Refused::Here(error) }
        })
    }
}

/// Why a point cannot be made: whatever the other keys are, or perhaps because of them.
enum Refused {
    Always(ScenarioError),
    Here(ScenarioError),
}

/// True of what is wrong with a value alone.
fn is_of_one_value(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::UnknownKey(_)
            | Problem::WrongType { .. }
            | Problem::Unit { .. }
            | Problem::UnknownName { .. }
            | Problem::File { .. }
    )
}

/// FNV-1a: the same on every machine, in every version of the standard library.
#[derive(Clone)]
struct Digest(u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        // The length as well: two texts are not one.
        for &byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl io::Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn add_traces(scenario: &Scenario, digest: &mut Digest) {
    for file in scenario.trace_files() {
        write_trace(&file.trace, &mut *digest).expect("a digest takes everything");
    }
}

/// Errors unless a point has this name.
fn check_name(name: &str, drafts: &[Draft], sources: &mut Sources) -> Result<(), Fault> {
    let all = drafts.iter().flat_map(|draft| &draft.steps).filter_map(|(name, _)| name.as_deref());
    if all.clone().any(|known| known == name) {
        return Ok(());
    }
    let source = sources.add("--point", name);
    let loc = Loc { source, start: 0, end: name.len() as u32 };
    let problem = Problem::UnknownName { kind: "point", name: name.to_string() };
    let fault = Fault::at(loc, "", problem);
    // The beginning of several stands for no one of them.
    let begin: Vec<&str> = all.clone().filter(|known| known.starts_with(name)).collect();
    Err(if begin.len() > 1 { fault.suggest("", begin) } else { fault.suggest(name, all) })
}

/// The document without its sweeps, and what is swept.
fn read(
    text: &str,
    file: &str,
    asked: &[Swept],
    options: &LoadOptions,
    sources: &mut Sources,
) -> Result<(Item, Vec<Draft>), Faults> {
    let (mut document, mut faults, set) = document(text, file, options, sources)?;
    let mut drafts = Vec::new();
    let own = take(&mut document, KEY);
    if own.is_none() && asked.is_empty() {
        // Nothing is swept: who reads the scenario finds its mistakes, all at once.
        return Ok((document, drafts));
    }
    if let Some(own) = own {
        let entries = Vec::<SweepEntry>::read(&own, KEY);
        for (i, entry) in faults.or(entries, Vec::new()).into_iter().enumerate() {
            let place = Fault::at(own.loc, format!("{KEY}[{i}]"), Problem::NoFlows);
            drafts.extend(faults.keep(of_entry(entry, place)).unwrap_or_default());
        }
    }
    for swept in asked {
        drafts.extend(faults.keep(of_asked(swept, sources)).unwrap_or_default());
    }
    for draft in &drafts {
        faults.keep(sweep_steps::check(draft));
    }
    for swept in asked {
        let Swept::Only(names) = swept else { continue };
        for name in names {
            faults.keep(check_name(name, &drafts, sources));
        }
        drafts.iter_mut().for_each(|draft| draft.keep_only(names));
    }
    let mut known: Vec<(String, String)> = Vec::new();
    for draft in &drafts {
        for (place, target) in draft.targets.iter().enumerate() {
            let Some(value) = draft.steps.iter().find_map(|(_, values)| values[place].clone())
            else {
                continue;
            };
            let mut scratch = document.clone();
            let assigned = set::assign(&mut scratch, &target.path, value, &ALONE);
            let Some(key) = faults.keep(assigned) else { continue };
            faults.keep(check_key(target, &key, &known, &set));
            known.push((key, target.text.clone()));
        }
    }
    if faults.is_empty() { Ok((document, drafts)) } else { Err(faults) }
}

/// Errors if the key is swept already, if it is set, and if it is none of those of a point.
fn check_key(
    target: &Target,
    key: &str,
    known: &[(String, String)],
    set: &[String],
) -> Result<(), Fault> {
    let conflict = |text: String| Err(Fault::at(target.loc, "", Problem::Conflict(text)));
    let name = &target.text;
    if let Some((_, other)) = known.iter().find(|(other, _)| overlap(other, key)) {
        let as_well = if other == name { String::new() } else { format!(", as `{other}`") };
        return conflict(format!("the key `{name}` is swept twice{as_well}"));
    }
    if let Some(other) = set.iter().find(|other| overlap(other, key)) {
        return conflict(format!("the key `{name}` is swept, and `{other}` is set"));
    }
    match key.split(['.', '[']).next() {
        Some("protocols") => conflict(
            "every point has the same protocols: compare them with `protocols` or --protocol"
                .to_string(),
        ),
        Some(KEY) => conflict("what is swept cannot be swept".to_string()),
        _ => Ok(()),
    }
}

/// True if one key is the other, or in it.
fn overlap(a: &str, b: &str) -> bool {
    let within = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    within(a, b) || within(b, a)
}

/// Take a key out of a table.
fn take(document: &mut Item, key: &str) -> Option<Item> {
    let Value::Table(entries) = &mut document.value else { return None };
    let at = entries.iter().position(|entry| entry.key == key)?;
    Some(entries.remove(at).item)
}

/// The axes of a table of the scenario.
fn of_entry(entry: SweepEntry, place: Fault) -> Result<Vec<Draft>, Fault> {
    let SweepEntry { grid, zip, points, name } = entry;
    let named = |draft: Draft| Draft { name: name.as_ref().map(|at| at.value.clone()), ..draft };
    match (grid, zip, points) {
        (Some(grid), None, None) => {
            if let Some(name) = &name {
                let text = "a grid has the names of its keys".to_string();
                return Err(name.fault(Problem::Conflict(text)));
            }
            Ok(grid.value.0.into_iter().map(|(target, values)| alone(target, values)).collect())
        }
        (None, Some(zip), None) => together(zip.value).map(|draft| vec![named(draft)]),
        (None, None, Some(points)) => {
            if points.value.is_empty() {
                let expected = "at least one point".to_string();
                let problem = Problem::OutOfRange { found: "[]".into(), expected };
                return Err(points.fault(problem));
            }
            let entries = points.value.into_iter().map(|at| at.value);
            Ok(vec![named(one_by_one(entries))])
        }
        _ => {
            let text = "a sweep has one of `grid`, `zip` and `points`".to_string();
            Err(Fault { problem: Box::new(Problem::Conflict(text)), ..place })
        }
    }
}

/// A key that changes by itself.
fn alone(target: Target, values: Vec<Item>) -> Draft {
    let is_range = values.len() > 1 && values.iter().all(|item| item.loc == values[0].loc);
    let steps = values.into_iter().map(|value| (None, vec![Some(value)])).collect();
    Draft { name: None, targets: vec![target], steps, is_range }
}

/// Keys that change together.
fn together(Axes(axes): Axes) -> Result<Draft, Fault> {
    let count = axes.first().map_or(0, |(_, values)| values.len());
    if let Some((target, values)) = axes.iter().find(|(_, values)| values.len() != count) {
        let first = &axes[0].0.text;
        let text = format!(
            "`{}` has {} values, and `{first}` has {count}: keys that change together have as many",
            target.text,
            values.len()
        );
        return Err(Fault::at(target.loc, "", Problem::Conflict(text)));
    }
    let (targets, values): (Vec<Target>, Vec<Vec<Item>>) = axes.into_iter().unzip();
    let step = |at: usize| (None, values.iter().map(|of| Some(of[at].clone())).collect());
    let steps = (0..count).map(step).collect();
    Ok(Draft { name: None, targets, steps, is_range: false })
}

/// Points one by one: each may set other keys.
fn one_by_one(points: impl Iterator<Item = PointEntry>) -> Draft {
    let points: Vec<PointEntry> = points.collect();
    let mut targets: Vec<Target> = Vec::new();
    for (target, _) in points.iter().flat_map(|point| &point.set.value.0) {
        if targets.iter().all(|known| known.text != target.text) {
            targets.push(target.clone());
        }
    }
    let value = |point: &PointEntry, target: &Target| {
        let own = point.set.value.0.iter().find(|(own, _)| own.text == target.text);
        own.map(|(_, value)| value.clone())
    };
    let step = |point: &PointEntry| {
        let values = targets.iter().map(|target| value(point, target)).collect();
        (point.name.as_ref().map(|at| at.value.clone()), values)
    };
    let steps = points.iter().map(step).collect();
    Draft { name: None, targets, steps, is_range: false }
}

/// The axes of what is asked for outside of the scenario.
fn of_asked(swept: &Swept, sources: &mut Sources) -> Result<Vec<Draft>, Fault> {
    match swept {
        Swept::Argument(text) => {
            let whole = source(sources, text);
            let split = set::split(text, whole).ok_or_else(|| set::not_assignment(text, whole));
            let (path, behind, loc) = split?;
            let key = text[..text.len() - behind.len() - 1].trim().to_string();
            let values = axis::of_argument(behind, loc)?;
            let target = Target { text: key, loc: place(&path, whole), path };
            Ok(vec![alone(target, values)])
        }
        Swept::Together(axes) => {
            let axes = axes.iter().map(|(key, values)| {
                let target = target(key, sources)?;
                let values = values.iter().map(|text| set::value(text, source(sources, text)));
                let values: Vec<Item> = values.collect();
                if values.is_empty() {
                    let expected = "at least one value".to_string();
                    let problem = Problem::OutOfRange { found: "[]".into(), expected };
                    return Err(Fault::at(target.loc, "", problem));
                }
                Ok((target, values))
            });
            let axes: Result<Vec<_>, Fault> = axes.collect();
            Ok(vec![together(Axes(axes?))?])
        }
        Swept::Points(points) => {
            let entries = points.iter().map(|(name, set)| {
                let own = set.iter().map(|text| {
                    let whole = source(sources, text);
                    let split = set::split(text, whole);
                    let split = split.ok_or_else(|| set::not_assignment(text, whole));
                    let (path, behind, loc) = split?;
                    let key = text[..text.len() - behind.len() - 1].trim().to_string();
                    let target = Target { text: key, loc: place(&path, whole), path };
                    Ok((target, set::value(behind, loc)))
                });
                let own: Result<Vec<_>, Fault> = own.collect();
                let mut entry = PointEntry::default();
                entry.set.value = Assignments(own?);
                entry.name = name.clone().map(crate::format::fields::Spanned::new);
                Ok(entry)
            });
            let entries: Result<Vec<PointEntry>, Fault> = entries.collect();
            Ok(vec![one_by_one(entries?.into_iter())])
        }
        // Adds none: `read` looks at it once all are there.
        Swept::Only(_) => Ok(Vec::new()),
    }
}

/// What messages call a text that is given as an argument, and its place.
fn source(sources: &mut Sources, text: &str) -> Loc {
    let source = sources.add("--sweep", text);
    Loc { source, start: 0, end: text.len() as u32 }
}

fn target(key: &str, sources: &mut Sources) -> Result<Target, Fault> {
    let loc = source(sources, key);
    let path = set::path_at(key, loc).ok_or_else(|| set::not_assignment(key, loc))?;
    Ok(Target { text: key.to_string(), path, loc })
}

/// From the first part of a path to its last.
fn place(path: &Path, whole: Loc) -> Loc {
    let ends = path.first().zip(path.last());
    ends.map_or(whole, |((first, _), (last, _))| Loc { end: last.end, ..*first })
}

/// The points of axes that are right.
fn grid(drafts: &[Draft]) -> Grid {
    let mut grid = Grid::default();
    for draft in drafts {
        let kinds: Vec<(SweptKind, String)> = (0..draft.targets.len())
            .map(|at| kind(draft.steps.iter().filter_map(|(_, values)| values[at].as_ref())))
            .collect();
        let first = grid.keys.len();
        for (target, (kind, unit)) in draft.targets.iter().zip(&kinds) {
            let (key, unit) = (target.text.clone(), unit.clone());
            grid.keys.push(SweptKey { key, kind: *kind, unit });
        }
        let step = |(name, values): &(Option<String>, Vec<Option<Item>>)| {
            let values = values.iter().zip(&kinds);
            let values = values.map(|(item, kind)| item.as_ref().map(|of| step_value(of, kind.0)));
            Step { name: name.clone(), values: values.collect() }
        };
        let keys = (first..grid.keys.len()).collect();
        let (name, steps) = (draft.name.clone(), draft.steps.iter().map(step).collect());
        grid.axes.push(Axis { name, keys, steps });
    }
    grid
}

/// The type that all values of a key have, and their unit.
fn kind<'a>(values: impl Iterator<Item = &'a Item>) -> (SweptKind, String) {
    let mut all: Option<(SweptKind, &'static str)> = None;
    for item in values {
        let own = match &item.value {
            Value::Boolean(_) => (SweptKind::Boolean, ""),
            Value::Integer(i) if i64::try_from(*i).is_ok() => (SweptKind::Integer, ""),
            Value::Integer(_) | Value::Float(_) => (SweptKind::Real, ""),
            Value::String(text) => match axis::in_basic_unit(text) {
                Some((_, unit)) => (SweptKind::Real, unit),
                None => (SweptKind::Text, ""),
            },
            _ => (SweptKind::Text, ""),
        };
        all = Some(match (all, own) {
            (None, own) => own,
            (Some(all), own) if all == own => own,
            (Some((SweptKind::Integer, "")), (SweptKind::Real, ""))
            | (Some((SweptKind::Real, "")), (SweptKind::Integer, "")) => (SweptKind::Real, ""),
            _ => (SweptKind::Text, ""),
        });
    }
    let (kind, unit) = all.unwrap_or((SweptKind::Text, ""));
    (kind, unit.to_string())
}

fn step_value(item: &Item, kind: SweptKind) -> StepValue {
    let toml = item.to_toml();
    let value = match (&item.value, kind) {
        (Value::Boolean(b), SweptKind::Boolean) => Cell::Boolean(*b),
        (Value::Integer(i), SweptKind::Integer) => Cell::Integer(*i as i64),
        (Value::Integer(i), SweptKind::Real) => Cell::Real(*i as f64),
        (Value::Float(x), SweptKind::Real) => Cell::Real(*x),
        (Value::String(text), SweptKind::Real) => {
            let (value, _) = axis::in_basic_unit(text).expect("its kind says so");
            Cell::Real(value)
        }
        (Value::String(text), _) => SweptValue::Text(text.clone()),
        _ => SweptValue::Text(toml.to_string()),
    };
    StepValue { toml: toml.to_string(), value }
}

//! `forebay run --sweep`: a scenario at many points.

mod text;

use super::{at, check_baseline, cores};
use crate::args::RunArgs;
use crate::expect::ranges;
use crate::failure::Failure;
use crate::interrupt;
use crate::terminal::{Paint, Progress, count, wrap};
use forebay_lab::report::schema::SWEEP_TABLE;
use forebay_lab::report::{Cell, REPORT_NAME, ReportError, SweepRows, sweep_rows};
use forebay_lab::scenario::{LoadOptions, Registry, ScenarioText, Swept, SweptScenario};
use forebay_lab::{
    MAX_UNASKED, Manifest, Opened, Row, RunOptions, StoreError, SweepEnd, SweepFolder,
    SweepOptions, SweepPlan, SweepProgress, ignored_keys, sweep, sweep_columns,
};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The scenario with what is swept; None if that is nothing.
pub fn swept(
    args: &RunArgs,
    registry: &Arc<Registry>,
    text: &ScenarioText,
    available_bytes: Option<u64>,
) -> Result<Option<SweptScenario>, Failure> {
    let (set, protocols) = (args.set.clone(), args.protocol.clone());
    let options =
        LoadOptions { set, protocols, registry: registry.clone(), ..LoadOptions::default() };
    let asked = args.sweep.sweep.iter().cloned().map(Swept::Argument);
    let only = Some(args.sweep.point.clone()).filter(|names| !names.is_empty());
    let asked: Vec<Swept> = asked.chain(only.map(Swept::Only)).collect();
    let swept = text.swept(&asked, &options, available_bytes).map_err(Failure::input)?;
    let alone = [("--resume", args.sweep.resume), ("--shard", args.sweep.shard.is_some())];
    if let (None, Some((option, _))) = (&swept, alone.iter().find(|(_, given)| *given)) {
        let hint = "hint: --sweep KEY=V1,V2, or [[sweep]] in the scenario";
        return Err(at(option, format!("nothing is swept\n{hint}")));
    }
    Ok(swept)
}

/// Run all points, store, show.
pub fn run(
    args: &RunArgs,
    text: &ScenarioText,
    swept: &SweptScenario,
    available_bytes: Option<u64>,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    refuse_what_has_one_scenario(args)?;
    let protocols = swept.protocols().to_vec();
    let compared: Vec<&str> = protocols.iter().map(String::as_str).collect();
    args.baseline.as_ref().map_or(Ok(()), |name| check_baseline(name, &compared))?;
    let plan = SweepPlan { swept, protocols: &protocols, seeds: &args.seeds.0 };
    let runs = check_size(args, &plan)?;
    let manifest = Manifest {
        shard: args.sweep.shard,
        baseline: args.baseline.clone(),
        without_reference: args.results.no_reference,
        ..Manifest::new(&plan, text.name(), &args.set)
    };
    let numbers: Vec<u64> = match args.sweep.shard {
        Some(shard) => shard.runs(&plan, runs),
        None => (0..runs).collect(),
    };
    let job = Job { args, plan: &plan, manifest: &manifest, numbers: &numbers, available_bytes };
    match &args.results.out {
        Some(folder) => job.to_folder(folder, text.text(), out, paint),
        None => job.in_memory(out, paint),
    }
}

/// Options that are about the flows and packets of a run: the table of a sweep has none.
fn refuse_what_has_one_scenario(args: &RunArgs) -> Result<(), Failure> {
    let options = [
        ("--events", args.packets.events.is_some()),
        ("--pcap", args.packets.pcap.is_some()),
        ("--flow-monitor", args.packets.flow_monitor),
        ("--mm-link", args.packets.mm_link.is_some()),
        ("--junit", args.junit.is_some()),
        ("--late", !args.late.is_empty()),
    ];
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            let hint = "hint: run one point with --set, which has all of them";
            Err(at(option, format!("is not for a sweep\n{hint}")))
        }
        None => Ok(()),
    }
}

/// The number of runs. Errors if they are many, and no one has said that so many are meant.
fn check_size(args: &RunArgs, plan: &SweepPlan<'_>) -> Result<u64, Failure> {
    let jobs = args.jobs.unwrap_or_else(cores);
    plan.checked_runs(jobs, args.sweep.yes).map_err(|error| {
        let word = if args.sweep.sweep.is_empty() { "[[sweep]]" } else { "--sweep" };
        let hint = "hint: --yes begins all the same; --shard I/N makes a part of them";
        let hint = if error.may_begin() { format!("\n{hint}") } else { String::new() };
        at(word, format!("{error}{hint}"))
    })
}

/// What one command runs.
struct Job<'a> {
    args: &'a RunArgs,
    plan: &'a SweepPlan<'a>,
    manifest: &'a Manifest,
    /// The runs that are wanted.
    numbers: &'a [u64],
    available_bytes: Option<u64>,
}

impl Job<'_> {
    /// Keep rows in a folder.
    fn to_folder(
        &self,
        target: &Path,
        text: &str,
        out: &mut impl Write,
        paint: Paint,
    ) -> Result<(), Failure> {
        // Before there is a folder.
        let cancel = interrupt::flag();
        let (resume, force) = (self.args.sweep.resume, self.args.results.force);
        let opened = SweepFolder::open(target, self.manifest.clone(), resume, force);
        let opened = opened.map_err(not_opened)?;
        if let Opened::Begun(mut folder) = opened {
            self.tell_of_earlier(&folder);
            let left: Vec<u64> =
                self.numbers.iter().copied().filter(|run| !folder.has(*run)).collect();
            let end = self.simulate(&left, &mut *folder, &cancel);
            let stays = folder.folder().display().to_string();
            let finished = folder.finished_runs();
            let going_on = || {
                let all = self.numbers.len();
                format!("{finished} of {all} runs are in `{stays}`: go on with --resume")
            };
            if let Some(error) = end.error {
                return Err(Failure::run(format!("{error}\n{}", going_on())));
            }
            if end.cancelled {
                return Err(Failure::Interrupted(going_on()));
            }
            let grid = self.plan.swept.grid();
            let finished = folder.finish(text, &|point| (grid.point(point), grid.values(point)));
            finished.map_err(|error| Failure::run(format!("{error}\n{}", going_on())))?;
        }
        let rows = || sweep_rows(&target.join(SWEEP_TABLE)).map(|(_, rows)| rows);
        let record = std::fs::read(target.join("sweep.json")).ok();
        let record = record.and_then(|text| serde_json::from_slice(&text).ok());
        let notes = record.map_or_else(Vec::new, |record: forebay_lab::SweepRecord| record.notes);
        let notes = self.with_what_is_unchecked(notes);
        let failed = self.show(rows().map_err(Failure::run)?, &notes, out, paint)?;
        if !self.args.results.json {
            writeln!(out, "\nResults: {}", target.join(REPORT_NAME).display())?;
        }
        out.flush()?;
        failed.map_or(Ok(()), |text| Err(Failure::Run(text)))
    }

    /// Keep rows in memory, to show them.
    fn in_memory(&self, out: &mut impl Write, paint: Paint) -> Result<(), Failure> {
        if self.numbers.len() as u64 > MAX_UNASKED {
            let what = format!("a sweep of more than {} runs needs a folder", count(MAX_UNASKED));
            return Err(at("--out", what));
        }
        let cancel = interrupt::flag();
        let mut rows: Vec<(u64, Row)> = Vec::new();
        let end = self.simulate(self.numbers, &mut rows, &cancel);
        rows.sort_by_key(|(number, _)| *number);
        let finished = rows.len();
        let grid = self.plan.swept.grid();
        let cells = rows.into_iter().map(|(number, row)| {
            let (point, values) = (grid.point(row.point), grid.values(row.point));
            (number, row.cells(point.name.as_deref(), &values))
        });
        let cells: Vec<(u64, Vec<Cell>)> = cells.collect();
        let numbered = cells.iter().map(|(number, cells)| (*number, cells.as_slice()));
        let notes = self.with_what_is_unchecked(ignored_keys(self.manifest, numbered));
        let cells = cells.into_iter().map(|(_, cells)| Ok(cells));
        let failed = self.show(Box::new(cells), &notes, out, paint)?;
        out.flush()?;
        if end.cancelled {
            let all = self.numbers.len();
            return Err(Failure::Interrupted(format!("{finished} of {all} runs finished")));
        }
        failed.map_or(Ok(()), |text| Err(Failure::Run(text)))
    }

    fn tell_of_earlier(&self, folder: &SweepFolder) {
        if !self.args.sweep.resume
            || folder.finished_runs() + folder.in_progress().len() as u64 == 0
        {
            return;
        }
        let mut text = format!(
            "going on: {} of {} runs had finished",
            folder.finished_runs(),
            self.numbers.len()
        );
        if !folder.in_progress().is_empty() {
            let runs = folder.in_progress().iter().map(|number| {
                let run = self.plan.run(*number);
                format!("point {} under {} with seed {}", run.point, run.protocol, run.seed)
            });
            let runs = runs.collect::<Vec<_>>().join(", ");
            text.push_str(&format!("; under way were, and are run again: {runs}"));
        }
        // A line that cannot be written is missed by no one.
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    fn simulate(
        &self,
        numbers: &[u64],
        rows: &mut dyn forebay_lab::Rows,
        cancel: &AtomicBool,
    ) -> SweepEnd {
        let args = self.args;
        let bar = Progress::start().lines(!args.results.json).with_time_left();
        let tell = |progress: &SweepProgress| {
            let SweepProgress { finished, failed, runs, fraction } = *progress;
            bar.set(fraction, || {
                let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
                format!("{finished} of {runs} runs done{failed}")
            });
        };
        let threads = args.threads.min(cores());
        let options = SweepOptions {
            jobs: args.jobs.unwrap_or_else(|| (cores() / threads).max(1)),
            run: RunOptions {
                name: &args.scenario,
                bytes: args.bytes,
                general: args.general,
                cancel: Some(cancel),
                without_reference: args.results.no_reference,
                threads,
                ..RunOptions::default()
            },
            available_bytes: self.available_bytes,
            progress: Some(&tell),
        };
        let end = sweep(self.plan, numbers, &options, rows);
        bar.finish();
        end
    }

    /// These notes, and one if the scenario expects something: a sweep is a table, and checks none.
    fn with_what_is_unchecked(&self, mut notes: Vec<String>) -> Vec<String> {
        let first = self.plan.swept.scenario(&self.plan.swept.grid().point(0));
        if first.is_ok_and(|scenario| !scenario.expect.is_empty()) {
            notes.push("[[expect]] is not checked in a sweep, but in runs of its points".into());
        }
        notes
    }

    /// Print the rows. Gives what is to be said of those that failed, if there are some.
    fn show(
        &self,
        rows: SweepRows,
        notes: &[String],
        out: &mut impl Write,
        paint: Paint,
    ) -> Result<Option<String>, Failure> {
        let columns = sweep_columns(&self.manifest.keys);
        if self.args.results.json {
            return text::json(self.manifest, &columns, notes, rows, out);
        }
        let shown = text::Shown::of(self.manifest, rows).map_err(Failure::run)?;
        out.write_all(shown.text(self.manifest, paint).as_bytes())?;
        for note in notes {
            out.write_all(wrap(&format!("note: {note}"), 2).as_bytes())?;
        }
        Ok(shown.failed())
    }
}

/// What stands in the way of a folder.
fn not_opened(error: StoreError) -> Failure {
    let hint = match error {
        StoreError::Results { .. } => "hint: choose another folder, or replace them with --force",
        StoreError::Unfinished { .. } => {
            "hint: go on with them with --resume, or throw them away with --force"
        }
        StoreError::OtherSweep { .. } => "hint: choose another folder",
        StoreError::Report(error @ ReportError::Later { .. }) => return at("--out", error),
        _ => return at("--out", error),
    };
    at("--out", format!("{error}\n{hint}"))
}

/// The seeds as people write them.
fn seeds(manifest: &Manifest) -> String {
    ranges(&manifest.seeds)
}

/// The places of columns by name.
fn places<const N: usize>(manifest: &Manifest, names: [&str; N]) -> [usize; N] {
    let columns = sweep_columns(&manifest.keys);
    names.map(|name| {
        let place = columns.iter().position(|(known, _)| known == name);
        place.expect("a column of every sweep")
    })
}

/// A cell as people write it.
fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Null => "-".to_string(),
        Cell::Boolean(value) => value.to_string(),
        Cell::Integer(value) => value.to_string(),
        Cell::Real(value) => value.to_string(),
        Cell::Text(text) => text.clone(),
    }
}

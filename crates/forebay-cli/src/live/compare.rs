//! `forebay compare`: a scenario simulated and over real wires, and how far the two agree.

use super::session::Session;
use super::{feasible, isolated, lateness};
use crate::args::{CompareArgs, LiveRun, ResultArgs};
use crate::failure::Failure;
use crate::interrupt;
use crate::run::{self, Job, Watched};
use crate::terminal::{Estimate, Paint, Table, row_of_group, wrap};
use forebay_lab::report::write_comparison_against;
use forebay_lab::scenario::{Registry, Scenario, ScenarioText};
use forebay_lab::{Agreement, Batch, Figure, Store, Summary, Verdict};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Live runs of a protocol are tried so often in all, or twice as often as they are wanted if that
/// is more.
const TRIES: usize = 20;
/// What the note of a run that is left out begins with.
const UNFIT: &str = "left out, unfit";
/// Beside the two folders of results.
const PAGE: &str = "compare.html";

/// A live run for which the machine was too busy.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct UnfitRun {
    protocol: String,
    seed: u64,
    reasons: Vec<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Comparison<'a> {
    agreement: &'a [Agreement],
    unfit: &'a [UnfitRun],
    simulated: &'a Summary,
    live: &'a Summary,
}

/// Simulate, run live, compare, show.
pub fn compare(
    args: CompareArgs,
    registry: &Arc<Registry>,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    let text = ScenarioText::read(&args.scenario).map_err(Failure::input)?;
    let (wanted, within) = (usize::from(args.live), args.within / 100.0);
    let markdown = args.markdown;
    let folders = Folders::of(&args.results);
    let runs = args.into_run(text.name());
    let scenario = run::load(&runs.run, registry, &text, forebay_lab::available_bytes())?;
    let both = Both { runs, scenario: &scenario, folders, wanted, within, markdown };
    isolated(out, || both.compare(paint))
}

/// Where results go.
struct Folders {
    /// Of everything, if there is one.
    whole: Option<PathBuf>,
    simulated: ResultArgs,
    live: ResultArgs,
}

impl Folders {
    fn of(args: &ResultArgs) -> Folders {
        let part = |name| {
            let out = args.out.as_ref().map(|folder| folder.join(name));
            ResultArgs { out, ..args.clone() }
        };
        let (simulated, live) = (part("simulated"), part("live"));
        Folders { whole: args.out.clone(), simulated, live }
    }
    /// The page of both, once both are there. Gives where it is.
    fn page(&self) -> Result<Option<PathBuf>, Failure> {
        let parts = [&self.simulated.out, &self.live.out].map(Option::as_ref);
        let (Some(whole), [Some(simulated), Some(live)]) = (&self.whole, parts) else {
            return Ok(None);
        };
        let page = whole.join(PAGE);
        let written = write_comparison_against(&[simulated.clone(), live.clone()], &page, None);
        written.map(|()| Some(page)).map_err(Failure::run)
    }
}

/// Runs of both kinds.
struct Both<'a> {
    runs: LiveRun,
    scenario: &'a Scenario,
    folders: Folders,
    /// Live runs of each protocol.
    wanted: usize,
    within: f64,
    markdown: bool,
}

/// The live runs that there were.
#[derive(Default)]
struct Lives {
    done: Batch,
    unfit: Vec<UnfitRun>,
    /// Why there are too few.
    too_few: Vec<String>,
    /// About the machine, a line for each protocol.
    notes: Vec<String>,
    replays: Replays,
}

/// Live runs that were replayed from their records, unfit ones too.
#[derive(Clone, Copy, Debug, Default)]
struct Replays {
    all: usize,
    /// Those whose every place did the same again.
    same: usize,
}

impl Both<'_> {
    /// In the isolated process.
    fn compare(&self, paint: Paint) -> Result<(), Failure> {
        let (cancel, Both { runs, scenario, folders, .. }) = (interrupt::flag(), self);
        feasible::check(runs, scenario)?;
        let watched = Watched::of(&runs.run, scenario)?;
        let simulated_store = run::store(&folders.simulated)?;
        let live_store = run::store(&folders.live)?;
        let job = Job { args: &runs.run, scenario, watched: &watched, recorded: None };
        let simulated = job.simulate(run::cores(), simulated_store.as_ref(), &cancel);
        if let Some((key, error)) = simulated.error {
            return Err(Failure::run(format!("{} with seed {}: {error}", key.protocol, key.seed)));
        }
        let mut lives = self.live(&watched, live_store.as_ref(), &cancel)?;
        let interrupted = cancel.load(Ordering::Relaxed);
        let summary = |of: Batch| Summary::new(&runs.run.scenario, scenario, of);
        let (simulated, mut live) = (summary(simulated), summary(std::mem::take(&mut lives.done)));
        let shown = run::shown(scenario, &simulated.aggregate);
        let all_ours = runs.kernel.is_empty();
        let agreement = Agreement::of_summaries(&simulated, &live, shown, self.within, all_ours);
        live.notes.append(&mut lives.notes);
        live.notes.extend(lives.unfit.iter().map(UnfitRun::told));
        live.notes.extend(agreement.iter().map(verdict));
        for (store, summary) in [(simulated_store, &simulated), (live_store, &live)] {
            let kept = store.filter(|_| !interrupted && !live.runs.is_empty());
            kept.map_or(Ok(()), |store| store.finish(scenario, summary)).map_err(Failure::run)?;
        }
        let page = if interrupted || live.runs.is_empty() { None } else { folders.page()? };
        let mut out = BufWriter::new(io::stdout().lock());
        if runs.run.results.json {
            let unfit = &lives.unfit;
            let whole =
                Comparison { agreement: &agreement, unfit, simulated: &simulated, live: &live };
            serde_json::to_writer(&mut out, &whole).map_err(io::Error::from)?;
            writeln!(out)?;
        } else if self.markdown {
            out.write_all(self.markdown(&agreement, &live).as_bytes())?;
        } else {
            out.write_all(self.text(&agreement, &live, page, paint).as_bytes())?;
        }
        out.flush()?;
        outcome(&agreement, &lives.too_few, interrupted)
    }

    /// All protocols over wires, each as often as is wanted.
    fn live(
        &self,
        watched: &Watched,
        store: Option<&Store>,
        cancel: &AtomicBool,
    ) -> Result<Lives, Failure> {
        let mut lives = Lives::default();
        for protocol in &self.scenario.protocols {
            let before = lives.done.runs.len();
            let mut tries = TRIES.max(2 * self.wanted);
            for &seed in self.runs.run.seeds.0.iter().cycle().take(self.wanted) {
                let session = self.session(protocol, seed);
                if !session.repeat(&mut tries, &mut lives, watched, store, cancel)? {
                    break;
                }
            }
            let runs = &lives.done.runs[before..];
            if runs.len() < self.wanted && !cancel.load(Ordering::Relaxed) {
                let (got, wanted) = (runs.len(), self.wanted);
                lives.too_few.push(format!("{protocol}: {got} of {wanted} live runs are evidence"));
            }
            lives.notes.extend(lateness(runs));
            let Replays { all, same } = std::mem::take(&mut lives.replays);
            if let Some(run) = lives.done.runs.get(before) {
                let label = &run.label;
                lives.notes.push(format!("{label}: {same} of {all} live runs replay bit for bit"));
            }
        }
        Ok(lives)
    }
    fn session<'a>(&'a self, protocol: &'a str, seed: u64) -> Session<'a> {
        // More may follow.
        Session { args: &self.runs, scenario: self.scenario, protocol, seed, last: false }
    }

    /// A table for each protocol.
    fn text(
        &self,
        agreement: &[Agreement],
        live: &Summary,
        page: Option<PathBuf>,
        paint: Paint,
    ) -> String {
        let mut text = String::new();
        for of in agreement {
            let (runs, seeds) = (self.wanted, self.runs.run.seeds.0.len());
            let head = format!("{}: {seeds} simulated and {runs} live runs", of.label);
            let _ = writeln!(text, "{}\n", paint.bold(&head));
            let _ = writeln!(text, "{}", table(of).render(paint));
        }
        for note in &live.notes {
            text.push_str(&paint.note(note));
        }
        if let Some(page) = page {
            let _ = writeln!(text, "\nResults: {}", page.display());
        }
        text
    }
}

impl Both<'_> {
    /// A line for each figure that is judged, and the notes.
    fn markdown(&self, agreement: &[Agreement], live: &Summary) -> String {
        let mut text = String::from(
            "| | figure | simulated | live | difference | |\n|---|---|---|---|---|---|\n",
        );
        for of in agreement {
            let judged = of.figures.iter().filter(|figure| figure.verdict != Verdict::Unjudged);
            for figure in judged {
                let (label, cells) = cells(figure);
                let _ = writeln!(text, "| {} | {label} | {} |", of.label, cells.join(" | "));
            }
        }
        text.push('\n');
        let about = |note: &&String| {
            agreement.iter().any(|of| note.starts_with(&of.label)) || note.starts_with(UNFIT)
        };
        for note in live.notes.iter().filter(about) {
            let _ = writeln!(text, "- {}", wrap(note, 2).trim());
        }
        text
    }
}

impl Session<'_> {
    /// Run it until the machine was not too busy, and keep that run. False if there is none.
    fn repeat(
        &self,
        tries: &mut usize,
        lives: &mut Lives,
        watched: &Watched,
        store: Option<&Store>,
        cancel: &AtomicBool,
    ) -> Result<bool, Failure> {
        while *tries > 0 && !cancel.load(Ordering::Relaxed) {
            *tries -= 1;
            let lived = self.run(cancel)?;
            if cancel.load(Ordering::Relaxed) {
                return Ok(false);
            }
            lives.replays.all += 1;
            lives.replays.same += usize::from(lived.report.replayed);
            let reasons = lived.report.unfit.clone();
            if reasons.is_empty() {
                lives.done.absorb(lived.results(&self.args.run, watched, store, cancel));
                return Ok(true);
            }
            let (protocol, seed) = (self.protocol.to_string(), self.seed);
            lives.unfit.push(UnfitRun { protocol, seed, reasons });
        }
        Ok(false)
    }
}

impl UnfitRun {
    fn told(&self) -> String {
        let UnfitRun { protocol, seed, reasons } = self;
        format!("{UNFIT}: {protocol} with seed {seed}: {}", reasons.join("; "))
    }
}

/// Whether a protocol does the same both ways, in a line.
fn verdict(of: &Agreement) -> String {
    let (judged, differing) = of.judged();
    let agreeing = judged - differing.len();
    let mut text = format!("{}: {agreeing} of {judged} figures agree", of.label);
    for (number, figure) in differing.iter().enumerate() {
        let before = if number == 0 { "; not: " } else { ", " };
        let _ = write!(text, "{before}{}", figure.label);
    }
    text
}

/// A row for each figure.
fn table(of: &Agreement) -> Table {
    let mut table = Table::new(["simulated", "live", "difference"].map(String::from).to_vec());
    for figure in &of.figures {
        let (label, [simulated, live, share, word]) = cells(figure);
        let difference = format!("{word} {share}").trim_start().to_string();
        table.push(label, vec![simulated, live, difference]);
    }
    table
}

/// What a figure is called with its unit; simulated, live, by how much they differ, the verdict.
fn cells(figure: &Figure) -> (String, [String; 4]) {
    let Figure { simulated, simulated_ci95, live, live_ci95, unit, typical, .. } = *figure;
    let estimate = |mean: Option<f64>, ci95| mean.map(|mean| Estimate { mean, ci95 });
    let values = [estimate(simulated, simulated_ci95), estimate(live, live_ci95)];
    let (unit, cells) = row_of_group(unit, typical, &values);
    let [simulated_text, live_text] = <[String; 2]>::try_from(cells).expect("a cell for each");
    let share = match (simulated, live) {
        (Some(a), Some(b)) if a != 0.0 => format!("{:+.2} %", (b / a - 1.0) * 100.0),
        _ => "-".to_string(),
    };
    let word = match figure.verdict {
        Verdict::Agree => "agree",
        Verdict::Differ => "DIFFER",
        Verdict::Unjudged => "",
    };
    let comma = if unit.is_empty() { "" } else { ", " };
    let label = format!("{}{comma}{unit}", figure.label);
    (label, [simulated_text, live_text, share, word.to_string()])
}

fn outcome(agreement: &[Agreement], too_few: &[String], interrupted: bool) -> Result<(), Failure> {
    let differing = |of: &&Agreement| !of.judged().1.is_empty();
    let others: Vec<String> = agreement.iter().filter(differing).map(verdict).collect();
    match (interrupted, too_few, others.as_slice()) {
        (true, ..) => Err(Failure::Interrupted("not all live runs were made".to_string())),
        (_, [], []) => Ok(()),
        (_, [], others) => Err(Failure::Unmet(others.join("\n"))),
        (_, too_few, _) => Err(Failure::Unfit(too_few.join("\n"))),
    }
}

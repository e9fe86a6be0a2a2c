//! `forebay reproduce`: published values beside ours.

mod agreement;
mod markdown;
mod text;

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::screen::{Estimate, Paint, Progress, Unit, row};
use forebay_lab::reproduce::{
    BuiltinExperiment, ComparedRow, EXPERIMENTS, ExperimentHead, ReproduceError, ReproduceOptions,
    ReproduceProgress, Reproduction, SetupHead, Unit as RowUnit, reproduce as compare,
};
use std::io::{self, Write};
use std::thread::available_parallelism;

/// Run, compare, show.
pub fn reproduce(args: &ReproduceArgs, out: &mut impl Write, paint: Paint) -> Result<(), Failure> {
    let wanted = wanted(args.name.as_deref())?;
    let cancel = interrupt::flag();
    let bar = Progress::start();
    let tell = |progress: &ReproduceProgress| {
        let ReproduceProgress { finished, runs, fraction } = *progress;
        bar.set(fraction, || format!("{finished} of {runs} runs done"));
    };
    let options = ReproduceOptions {
        quick: args.quick,
        jobs: args.jobs.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)),
        cancel: Some(&cancel),
        progress: Some(&tell),
    };
    let compared = compare(&wanted, &options);
    bar.finish();
    let compared = compared.map_err(|error| match error {
        ReproduceError::Cancelled(..) => Failure::Interrupted(error.to_string()),
        error => Failure::run(error),
    })?;
    if args.json {
        serde_json::to_writer(&mut *out, &compared).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    for experiment in &compared.experiments {
        let rows = rows_of(&compared, experiment);
        let text = match args.markdown {
            true => markdown::of_experiment(experiment, &rows),
            false => text::of_experiment(experiment, &rows, paint),
        };
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// The experiments that are asked for.
fn wanted(name: Option<&str>) -> Result<Vec<&'static BuiltinExperiment>, Failure> {
    let Some(name) = name else { return Ok(EXPERIMENTS.iter().collect()) };
    let found = BuiltinExperiment::find(name);
    if found.is_empty() {
        let sources = EXPERIMENTS.iter().map(|e| e.source);
        let mut known: Vec<&str> = sources.chain(EXPERIMENTS.iter().map(|e| e.name)).collect();
        known.sort_unstable();
        known.dedup();
        let hint = format!("one of: {}", known.join(", "));
        return Err(Failure::input(format!("there is no experiment `{name}`\nhint: {hint}")));
    }
    Ok(found)
}

fn rows_of<'a>(compared: &'a Reproduction, experiment: &ExperimentHead) -> Vec<&'a ComparedRow> {
    let mine = |row: &&ComparedRow| format!("{}/{}", row.origin, row.experiment) == experiment.name;
    compared.rows.iter().filter(mine).collect()
}

/// The rows of a set-up, in their order.
fn of_setup<'a>(
    rows: &'a [&ComparedRow],
    setup: &'a SetupHead,
) -> impl Iterator<Item = &'a ComparedRow> {
    rows.iter().copied().filter(|row| row.setup == setup.name)
}

/// How the set-up is run by hand.
fn command(setup: &SetupHead) -> String {
    let set: String = setup.set.iter().map(|set| format!(" --set '{set}'")).collect();
    format!("forebay run {}{set}", setup.scenario)
}

/// How many seeds the rows are of, in words.
fn over_seeds(rows: &[&ComparedRow]) -> String {
    match rows.iter().map(|row| row.runs).max().unwrap_or(0) {
        0 | 1 => "one run each".to_string(),
        seeds => format!("mean ± 95 % confidence interval over {seeds} seeds"),
    }
}

/// The cells of a row: its published value, the least and the most of that, and ours.
struct Cells {
    unit: &'static str,
    published: String,
    range: String,
    ours: String,
}

/// The cells of rows in one unit and with the same digits.
fn cells(rows: &[&ComparedRow]) -> Vec<Cells> {
    let Some(first) = rows.first() else { return Vec::new() };
    let whole = |row: &&ComparedRow| row.published.is_some_and(|value| value.fract() == 0.0);
    let (unit, scale) = match first.unit {
        RowUnit::Seconds => (Unit::Seconds, 1.0),
        RowUnit::Milliseconds => (Unit::Seconds, 1e-3),
        RowUnit::BitsPerSecond => (Unit::BitsPerSecond, 1.0),
        RowUnit::Bytes => (Unit::Bytes, 1.0),
        RowUnit::None if rows.iter().all(whole) => (Unit::Count, 1.0),
        RowUnit::None => (Unit::Plain, 1.0),
    };
    let exact = |mean: f64| Some(Estimate { mean: mean * scale, half: None });
    let values = rows.iter().flat_map(|row| {
        let half = row.ci95.map(|[low, high]| (high - low) / 2.0 * scale);
        let [least, most] = row.published_range.map_or([None; 2], |ends| ends.map(exact));
        let measured = row.measured.map(|mean| Estimate { mean: mean * scale, half });
        [row.published.and_then(exact), least, most, measured]
    });
    let (unit, texts) = row(unit, &values.collect::<Vec<_>>());
    let of = |texts: &[String]| Cells {
        unit,
        published: texts[0].clone(),
        range: match texts[1].as_str() {
            "-" => String::new(),
            least => format!("{least} to {}", texts[2]),
        },
        ours: texts[3].clone(),
    };
    texts.chunks_exact(4).map(of).collect()
}

/// A name with its unit.
fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_string() } else { format!("{name}, {unit}") }
}

//! `forebay reproduce`: published values beside ours.

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::screen::{Estimate, Paint, Progress, Unit, row, wrap};
use forebay_lab::reproduce::{
    ComparedRow, ExperimentHead, PAPER_EXPERIMENTS, PaperExperiment, ReproduceError,
    ReproduceOptions, ReproduceProgress, Reproduction, Unit as RowUnit, Verdict,
    reproduce as compare,
};
use std::io::{self, Write};
use std::thread::available_parallelism;

/// Columns of the names of quantities, of protocols, of published values and of ours.
const QUANTITY: usize = 33;
const PROTOCOL: usize = 8;
const PAPER: usize = 8;
const VALUE: usize = 17;

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
    } else {
        out.write_all(text(&compared, paint).as_bytes())?;
    }
    Ok(())
}

/// The experiments that are asked for.
fn wanted(name: Option<&str>) -> Result<Vec<&'static PaperExperiment>, Failure> {
    let Some(name) = name else { return Ok(PAPER_EXPERIMENTS.iter().collect()) };
    let found = PaperExperiment::find(name);
    if found.is_empty() {
        let known = PAPER_EXPERIMENTS.iter().map(|paper| paper.name).collect::<Vec<_>>();
        let hint = format!("one of: {}", known.join(", "));
        return Err(Failure::input(format!("there is no paper `{name}`\nhint: {hint}")));
    }
    Ok(found)
}

fn text(compared: &Reproduction, paint: Paint) -> String {
    let mut text = String::new();
    for experiment in &compared.experiments {
        let mine =
            |row: &&ComparedRow| format!("{}/{}", row.paper, row.experiment) == experiment.name;
        let rows: Vec<&ComparedRow> = compared.rows.iter().filter(mine).collect();
        text.push_str(&of_experiment(experiment, &rows, paint));
    }
    text
}

fn of_experiment(experiment: &ExperimentHead, rows: &[&ComparedRow], paint: Paint) -> String {
    let mut text =
        paint.bold(wrap(&format!("{}: {}", experiment.name, experiment.title), 0).trim_end());
    text.push('\n');
    text.push_str(&wrap(&experiment.source, 0));
    let seeds = rows.iter().map(|row| row.runs).max().unwrap_or(0);
    let over = format!("mean ± 95 % confidence interval over {seeds} seeds");
    text.push_str(if seeds > 1 { &over } else { "one run each" });
    text.push('\n');
    for setup in &experiment.setups {
        let head = format!("{}: {}", setup.name, setup.what);
        text.push_str(&format!("\n{}\n", paint.bold(wrap(&head, 0).trim_end())));
        let set: String = setup.set.iter().map(|set| format!(" --set '{set}'")).collect();
        let command = wrap(&format!("forebay run {}{set}", setup.scenario), 2);
        text.push_str(&format!("{}\n", paint.dim(command.trim_end())));
        let columns =
            format!("{:QUANTITY$} {:PROTOCOL$}{:>PAPER$}{:>VALUE$}", "", "", "paper", "ours");
        text.push_str(&format!("{}\n", paint.bold(columns)));
        for row in rows.iter().filter(|row| row.setup == setup.name) {
            text.push_str(&of_row(row, paint));
        }
    }
    text.push_str(&format!("\n{}\n", tally(rows)));
    text
}

/// The row, and under it where the value is from and why the verdict is what it is.
fn of_row(compared: &ComparedRow, paint: Paint) -> String {
    let unit = match compared.unit {
        RowUnit::Seconds => Unit::Seconds,
        RowUnit::BitsPerSecond => Unit::BitsPerSecond,
        RowUnit::Bytes => Unit::Bytes,
        RowUnit::None => Unit::Plain,
    };
    let published = compared.published.map(|mean| Estimate { mean, half: None });
    let half = compared.ci95.map(|[low, high]| (high - low) / 2.0);
    let measured = compared.measured.map(|mean| Estimate { mean, half });
    let (unit, cells) = row(unit, &[published, measured]);
    let quantity = match unit {
        "" => compared.quantity.clone(),
        unit => format!("{}, {unit}", compared.quantity),
    };
    let verdict = match compared.verdict {
        Verdict::Reproduced => paint.green("reproduced"),
        Verdict::Better => paint.green("better"),
        Verdict::Differs => paint.yellow("differs"),
        Verdict::NotStated => paint.dim("not stated"),
    };
    let pad = |cell: &str, width: usize| {
        format!("{:1$}{cell}", "", width.saturating_sub(cell.chars().count()))
    };
    // A name that is too long stands in a line of its own.
    let label = match quantity.chars().count() {
        0..=QUANTITY => format!("{quantity:QUANTITY$}"),
        _ => format!("{quantity}\n{:QUANTITY$}", ""),
    };
    let mut line = format!("{label} {:PROTOCOL$}", compared.protocol);
    line.push_str(&pad(&cells[0], PAPER));
    line.push_str(&pad(&cells[1], VALUE));
    let why = match compared.why.as_str() {
        "" => format!("{}.", compared.source),
        why => format!("{}: {why}.", compared.source),
    };
    let why = wrap(&why, 4);
    format!("{line}  {verdict}\n{}\n", paint.dim(why.trim_end()))
}

/// How many rows have which verdict.
fn tally(rows: &[&ComparedRow]) -> String {
    let all = [Verdict::Reproduced, Verdict::Better, Verdict::Differs, Verdict::NotStated];
    let counted =
        all.map(|verdict| (rows.iter().filter(|r| r.verdict == verdict).count(), verdict));
    let word = |n: usize, verdict: Verdict| match (n, verdict) {
        (2.., Verdict::Differs) => "differ",
        _ => verdict.name(),
    };
    let words = counted.iter().filter(|(n, _)| *n > 0).map(|&(n, v)| format!("{n} {}", word(n, v)));
    format!("{} rows: {}", rows.len(), words.collect::<Vec<_>>().join(", "))
}

//! `forebay reproduce`: comparison with published values.

mod agreement;
mod brief;
mod folder;
mod markdown;
mod matrix;
mod text;

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::terminal::{Estimate, Paint, Progress, Unit, row};
use forebay_lab::reproduce::{
    BuiltinExperiment, ComparedRow, EXPERIMENTS, ExperimentHead, ExperimentText, ReproduceError,
    ReproduceOptions, ReproduceProgress, Reproduction, SetupHead, Unit as RowUnit,
    reproduce_into as compare,
};
use forebay_lab::scenario::Registry;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;

/// Run, compare, show.
pub fn reproduce(
    args: &ReproduceArgs,
    registry: &Arc<Registry>,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    if args.name.as_deref() == Some(matrix::NAME) {
        return matrix::reproduce(args, registry, out, paint);
    }
    matrix::refuse_elsewhere(args)?;
    let wanted = wanted(args.name.as_deref())?;
    // Before there is a folder that an interrupt must remove.
    let cancel = interrupt::flag();
    let folder = args.out.as_ref().map(|path| folder::create(path)).transpose()?;
    let bar = Progress::start();
    let tell = |progress: &ReproduceProgress| {
        let ReproduceProgress { finished, runs, fraction } = *progress;
        bar.set(fraction, || format!("{finished} of {runs} runs done"));
    };
    let options = ReproduceOptions {
        registry,
        quick: args.quick,
        data: args.data.as_deref(),
        jobs: args.jobs.unwrap_or_else(|| available_parallelism().map_or(1, usize::from)),
        cancel: Some(&cancel),
        progress: Some(&tell),
    };
    let compared = compare(&wanted, &options, folder.as_ref());
    bar.finish();
    let compared = compared.map_err(|error| match error {
        ReproduceError::Cancelled(..) => Failure::Interrupted(error.to_string()),
        ReproduceError::Experiment(error) => Failure::input(error),
        error => Failure::run(error),
    })?;
    let target = folder.as_ref().map(|folder| folder.target().to_path_buf());
    folder.map_or(Ok(()), |folder| folder::write(folder, &compared))?;
    if args.json {
        serde_json::to_writer(&mut *out, &compared).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    for experiment in &compared.experiments {
        let rows = rows_of(&compared, experiment);
        let text = match args.markdown {
            true => {
                titled(experiment, compared.experiments.len())
                    + &markdown::of_experiment(experiment, &rows)
            }
            false if args.verbose => text::of_experiment(experiment, &rows, paint),
            false => brief::of_experiment(experiment, &rows, paint),
        };
        out.write_all(text.as_bytes())?;
    }
    for skipped in &compared.skipped {
        writeln!(out, "{} was skipped: {}", skipped.name, skipped.why)?;
    }
    if args.markdown {
        return Ok(());
    }
    match &target {
        Some(folder) => writeln!(out, "\nResults: {}", folder.join(folder::TABLES).display())?,
        None if !args.verbose => writeln!(
            out,
            "\n--verbose prints each row and its reason; --out DIR keeps all runs with their pages"
        )?,
        None => {}
    }
    Ok(())
}

/// The experiments that are asked for: by name, or the one of a file.
fn wanted(name: Option<&str>) -> Result<Vec<ExperimentText>, Failure> {
    let Some(name) = name else { return Ok(EXPERIMENTS.iter().map(Into::into).collect()) };
    let found = BuiltinExperiment::find(name);
    if !found.is_empty() {
        return Ok(found.into_iter().map(Into::into).collect());
    }
    if name.ends_with(".toml") {
        let read = ExperimentText::read(Path::new(name));
        return read
            .map(|text| vec![text])
            .map_err(|error| Failure::input(format!("cannot read `{name}`: {error}")));
    }
    let sources = EXPERIMENTS.iter().map(|e| e.source);
    let mut known: Vec<&str> = sources.chain(EXPERIMENTS.iter().map(|e| e.name)).collect();
    known.push(matrix::NAME);
    known.sort_unstable();
    known.dedup();
    let hint = format!("one of: {}; or a TOML file", known.join(", "));
    Err(Failure::input(format!("there is no experiment `{name}`\nhint: {hint}")))
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
    let options = |set: &[String]| set.iter().map(|set| format!(" --set '{set}'")).collect();
    let all: String = options(&setup.set);
    let more = setup.set_of.iter();
    let more = more.map(|(name, set)| format!("; {name}:{}", options(set)));
    format!("forebay run {}{all}{}", setup.scenario, more.collect::<String>())
}

/// How many seeds the rows are of, in words.
fn over_seeds(rows: &[&ComparedRow]) -> String {
    match rows.iter().map(|row| row.runs).max().unwrap_or(0) {
        0 | 1 => "one run each".to_string(),
        seeds => format!("mean ± 95 % confidence interval over {seeds} seeds"),
    }
}

/// Contents of a row.
struct Cells {
    unit: &'static str,
    published: String,
    /// The least and the most of the repetitions; empty if there are none, or if they are alike.
    range: String,
    ours: String,
}

/// The unit in which the values of a row are shown, and what they are multiplied by.
fn unit_of(of: &ComparedRow) -> (Unit, f64) {
    // 1 is what a ratio is compared with.
    let whole = |value: f64| value.fract() == 0.0 && value != 1.0;
    let counts = of.published.is_some_and(whole) && of.claim.is_none();
    match of.unit {
        RowUnit::Seconds => (Unit::Seconds, 1.0),
        RowUnit::Milliseconds => (Unit::Seconds, 1e-3),
        RowUnit::BitsPerSecond => (Unit::BitsPerSecond, 1.0),
        RowUnit::Bytes => (Unit::Bytes, 1.0),
        RowUnit::None if counts => (Unit::Count, 1.0),
        RowUnit::None => (Unit::Plain, 1.0),
    }
}

/// The heading of an experiment in Markdown; none where it is the only one.
fn titled(experiment: &ExperimentHead, experiments: usize) -> String {
    match experiments {
        0 | 1 => String::new(),
        _ => format!("\n## {}\n\n{}\n\n", experiment.name, experiment.title),
    }
}

/// The cells of a row, in one unit and with the same digits.
fn cells(of: &ComparedRow) -> Cells {
    let (unit, scale) = unit_of(of);
    let exact = |mean: f64| Some(Estimate { mean: mean * scale, ci95: None });
    let ci95 = of.ci95.map(|ends| ends.map(|end| end * scale));
    let measured = of.measured.map(|mean| Estimate { mean: mean * scale, ci95 });
    let [least, most] = of.published_range.map_or([None; 2], |ends| ends.map(exact));
    let (name, texts) = row(unit, &[of.published.and_then(exact), measured, least, most]);
    let [published, ours, least, most] = &texts[..] else { unreachable!("a text per value") };
    let published = match (unit, of.published) {
        (Unit::Count, Some(value)) => format!("{value:.0}"),
        _ => published.clone(),
    };
    let published = match of.claim {
        Some(claim) => format!("{} {published}", claim.sign()),
        None => published,
    };
    let range = match least == most {
        true => String::new(),
        false if unit == Unit::Count => {
            let [least, most] = of.published_range.unwrap_or_default();
            format!("{least:.0} to {most:.0}")
        }
        false => format!("{least} to {most}"),
    };
    Cells { unit: name, published, range, ours: without_zero(ours).to_string() }
}

/// The estimate without an interval that is too narrow for its digits.
fn without_zero(estimate: &str) -> &str {
    match estimate.split_once(" ± ") {
        Some((mean, half)) if half.chars().all(|c| matches!(c, '0' | '.')) => mean,
        _ => estimate,
    }
}

/// A name with its unit.
fn with_unit(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_string() } else { format!("{name}, {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_rounds_to_nothing_is_left_out() {
        assert_eq!(without_zero("9.531 ± 0.000"), "9.531");
        assert_eq!(without_zero("9.531 ± 0.010"), "9.531 ± 0.010");
        assert_eq!(without_zero("28"), "28");
    }
}

//! The comparison with every row and its reason, for a terminal.

use super::agreement::Agreement;
use super::{Cells, cells, command, of_setup, over_seeds, with_unit};
use crate::terminal::{Paint, Table, wrap};
use forebay_lab::reproduce::{ComparedRow, ExperimentHead, SetupHead, Verdict};

/// Columns of the names of quantities, of protocols, of published values and of ours.
const QUANTITY: usize = 33;
const PROTOCOL: usize = 8;
const PUBLISHED: usize = 8;
const VALUE: usize = 17;
/// The same where the same quantities are compared everywhere, with the ranges.
const SHORT_QUANTITY: usize = 15;
const RANGE: usize = 17;

/// The experiment, set-up by set-up.
pub fn of_experiment(experiment: &ExperimentHead, rows: &[&ComparedRow], paint: Paint) -> String {
    let mut text = head(experiment, rows, paint);
    for setup in &experiment.setups {
        text.push_str(&of_one_setup(experiment, setup, rows, paint));
    }
    if !experiment.quantities.is_empty() {
        text.push_str(&format!("\n{}", agreement(experiment, rows, paint)));
    }
    text.push_str(&format!("\n{}\n", tally(rows)));
    text
}

/// Description of the experiment.
pub fn head(experiment: &ExperimentHead, rows: &[&ComparedRow], paint: Paint) -> String {
    let title = format!("{}: {}", experiment.name, experiment.title);
    let mut text = paint.bold(wrap(&title, 0).trim_end());
    text.push('\n');
    text.push_str(&wrap(&experiment.source, 0));
    text.push_str(&over_seeds(rows));
    text.push('\n');
    text
}

fn of_one_setup(
    experiment: &ExperimentHead,
    setup: &SetupHead,
    rows: &[&ComparedRow],
    paint: Paint,
) -> String {
    let head = match setup.what.as_str() {
        "" => setup.name.clone(),
        what => format!("{}: {what}", setup.name),
    };
    let mut text = format!("\n{}\n", paint.bold(wrap(&head, 0).trim_end()));
    text.push_str(&format!("{}\n", paint.dim(wrap(&command(setup), 2).trim_end())));
    let label = &experiment.label;
    let cases = !experiment.quantities.is_empty();
    let columns = if cases {
        format!(
            "{:PROTOCOL$}{:SHORT_QUANTITY$}{label:>PUBLISHED$}{:>RANGE$}{:>VALUE$}",
            "", "", "least to most", "ours"
        )
    } else {
        format!("{:QUANTITY$} {:PROTOCOL$}{label:>PUBLISHED$}{:>VALUE$}", "", "", "ours")
    };
    text.push_str(&format!("{}\n", paint.bold(columns)));
    for row in of_setup(rows, setup) {
        text.push_str(&if cases {
            of_case(row, &cells(row), paint)
        } else {
            of_row(row, &cells(row), paint)
        });
    }
    text
}

pub fn verdict(row: &ComparedRow, paint: Paint) -> String {
    match row.verdict {
        Verdict::Reproduced => paint.green("reproduced"),
        Verdict::Better => paint.green("better"),
        Verdict::Differs => paint.yellow("differs"),
        Verdict::NotStated => paint.dim("not stated"),
    }
}

pub fn right(cell: &str, width: usize) -> String {
    format!("{:1$}{cell}", "", width.saturating_sub(cell.chars().count()))
}

/// The row in a line; if it is not reproduced, why.
fn of_case(row: &ComparedRow, cells: &Cells, paint: Paint) -> String {
    let quantity = with_unit(&row.quantity, cells.unit);
    let mut text = format!("{:PROTOCOL$}{quantity:SHORT_QUANTITY$}", row.protocol);
    text.push_str(&right(&cells.published, PUBLISHED));
    text.push_str(&right(&cells.range, RANGE));
    text.push_str(&right(&cells.ours, VALUE));
    text.push_str(&format!("  {}\n", verdict(row, paint)));
    if row.verdict != Verdict::Reproduced {
        let why = wrap(&format!("{}.", row.why), PROTOCOL);
        text.push_str(&format!("{}\n", paint.dim(why.trim_end())));
    }
    text
}

/// The row, and under it where the value is from and why the verdict is what it is.
fn of_row(row: &ComparedRow, cells: &Cells, paint: Paint) -> String {
    let quantity = with_unit(&row.quantity, cells.unit);
    // A name that is too long stands in a line of its own.
    let label = match quantity.chars().count() {
        0..=QUANTITY => format!("{quantity:QUANTITY$}"),
        _ => format!("{quantity}\n{:QUANTITY$}", ""),
    };
    let mut line = format!("{label} {:PROTOCOL$}", row.protocol);
    line.push_str(&right(&cells.published, PUBLISHED));
    line.push_str(&right(&cells.ours, VALUE));
    let why = match row.why.as_str() {
        "" => format!("{}.", row.source),
        why => format!("{}: {why}.", row.source),
    };
    let why = wrap(&why, 4);
    format!("{line}  {}\n{}\n", verdict(row, paint), paint.dim(why.trim_end()))
}

/// A line per quantity, over all cases.
pub fn agreement(experiment: &ExperimentHead, rows: &[&ComparedRow], paint: Paint) -> String {
    let ratio = format!("ours / {}, geometric mean", experiment.label);
    let mut table = Table::new(vec!["tolerance".into(), "within".into(), ratio]);
    for quantity in &experiment.quantities {
        let agreement = Agreement::of(quantity, rows);
        let within = format!("{} of {}", agreement.within, agreement.cases);
        let cells = vec![quantity.tolerance.clone(), within, agreement.ratios_in_words()];
        table.push(quantity.quantity.as_str(), cells);
    }
    table.render(paint)
}

/// How many rows have which verdict.
pub fn tally(rows: &[&ComparedRow]) -> String {
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

//! The comparison in brief: how many rows of each set-up have which verdict, the rows that differ,
//! and a table for each quantity of which nothing is published.

use super::text::{agreement, head, right, tally, verdict};
use super::{cells, of_setup, unit_of, with_unit};
use crate::terminal::{Estimate, Paint, Table, row as shown};
use forebay_lab::reproduce::{ComparedRow, ExperimentHead, Verdict};

/// Most rows of one verdict that are listed.
const MAX_ROWS: usize = 20;
/// Columns of the name of a row, of the published value and of ours.
const NAME: usize = 48;
const PUBLISHED: usize = 10;
const OURS: usize = 18;
/// All verdicts, in the order of the columns.
const VERDICTS: [Verdict; 4] =
    [Verdict::Reproduced, Verdict::Better, Verdict::Differs, Verdict::NotStated];

/// The experiment with its verdicts by set-up.
pub fn of_experiment(experiment: &ExperimentHead, rows: &[&ComparedRow], paint: Paint) -> String {
    let mut text = head(experiment, rows, paint);
    let found: Vec<Verdict> =
        VERDICTS.into_iter().filter(|v| rows.iter().any(|row| row.verdict == *v)).collect();
    if found.len() > 1 {
        text.push_str(&format!("\n{}", verdicts(experiment, rows, &found, paint)));
    }
    if !experiment.quantities.is_empty() {
        text.push_str(&format!("\n{}", agreement(experiment, rows, paint)));
    }
    for of in [Verdict::Better, Verdict::Differs] {
        text.push_str(&listed(of, experiment, rows, paint));
    }
    text.push_str(&values(experiment, rows, paint));
    text.push_str(&format!("\n{}\n", tally(rows)));
    text
}

/// How many rows of each set-up have which verdict.
fn verdicts(
    experiment: &ExperimentHead,
    rows: &[&ComparedRow],
    found: &[Verdict],
    paint: Paint,
) -> String {
    let heads = found.iter().map(|verdict| verdict.name().replace('-', " "));
    let mut table = Table::new(heads.collect());
    for setup in &experiment.setups {
        let mine: Vec<&ComparedRow> = of_setup(rows, setup).collect();
        let count = |of: &Verdict| mine.iter().filter(|row| row.verdict == *of).count();
        let cell = |n: usize| if n == 0 { "-".to_string() } else { n.to_string() };
        table.push(setup.name.as_str(), found.iter().map(count).map(cell).collect());
    }
    table.render(paint)
}

/// Quantities of which nothing is published: for each a table of means, a row per set-up and a
/// column per protocol.
fn values(experiment: &ExperimentHead, rows: &[&ComparedRow], paint: Paint) -> String {
    let mine: Vec<&ComparedRow> =
        rows.iter().copied().filter(|row| row.verdict == Verdict::NotStated).collect();
    let mut quantities: Vec<&str> = Vec::new();
    for row in &mine {
        if !quantities.contains(&row.quantity.as_str()) {
            quantities.push(&row.quantity);
        }
    }
    let mut text = String::new();
    for quantity in quantities {
        let of: Vec<&ComparedRow> =
            mine.iter().copied().filter(|row| row.quantity == quantity).collect();
        text.push_str(&format!("\n{}", of_quantity(experiment, &of, paint)));
    }
    text
}

/// The table of a quantity; all its rows have one unit.
fn of_quantity(experiment: &ExperimentHead, rows: &[&ComparedRow], paint: Paint) -> String {
    let (unit, scale) = unit_of(rows[0]);
    let mean = |row: &&ComparedRow| Some(Estimate { mean: row.measured? * scale, half: None });
    let means: Vec<Option<Estimate>> = rows.iter().map(mean).collect();
    let (unit, texts) = shown(unit, &means);
    let mut protocols: Vec<&str> = Vec::new();
    for row in rows {
        if !protocols.contains(&row.protocol.as_str()) {
            protocols.push(&row.protocol);
        }
    }
    let mut table = Table::new(protocols.iter().map(|name| name.to_string()).collect());
    for setup in experiment.setups.iter().filter(|of| rows.iter().any(|r| r.setup == of.name)) {
        let cell = |protocol: &&str| {
            let is = |row: &&ComparedRow| row.setup == setup.name && row.protocol == *protocol;
            rows.iter().position(is).map_or("-".to_string(), |place| texts[place].clone())
        };
        table.push(setup.name.as_str(), protocols.iter().map(cell).collect());
    }
    let head = with_unit(&rows[0].quantity, unit);
    format!("{} (nothing published)\n{}", paint.bold(head), table.render(paint))
}

/// The rows with this verdict: what is compared, the published value and ours.
fn listed(of: Verdict, experiment: &ExperimentHead, rows: &[&ComparedRow], paint: Paint) -> String {
    let mine: Vec<&&ComparedRow> = rows.iter().filter(|row| row.verdict == of).collect();
    let Some(first) = mine.first() else { return String::new() };
    let heads = format!("{}{}", right(&experiment.label, PUBLISHED), right("ours", OURS));
    let name = verdict(first, paint);
    let pad = NAME.saturating_sub(of.name().chars().count());
    let mut text = format!("\n{name}{:pad$}{}\n", "", paint.bold(heads));
    for row in mine.iter().take(MAX_ROWS) {
        let cells = cells(row);
        let quantity = with_unit(&row.quantity, cells.unit);
        let label = format!("  {}, {}: {quantity}", row.setup, row.protocol);
        // A name that is too long stands in a line of its own.
        let label = match label.chars().count() {
            0..NAME => format!("{label:NAME$}"),
            _ => format!("{label}\n{:NAME$}", ""),
        };
        let values = format!("{}{}", right(&cells.published, PUBLISHED), right(&cells.ours, OURS));
        text.push_str(&format!("{label}{values}\n"));
    }
    if let Some(more) = mine.len().checked_sub(MAX_ROWS).filter(|more| *more > 0) {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}

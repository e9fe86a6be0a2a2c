//! The comparison in brief: how many rows of each set-up have which verdict, and the rows that
//! differ.

use super::text::{agreement, head, right, tally, verdict};
use super::{cells, of_setup, with_unit};
use crate::terminal::{Paint, Table};
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
    let shown: Vec<Verdict> =
        VERDICTS.into_iter().filter(|v| rows.iter().any(|row| row.verdict == *v)).collect();
    let mut table = Table::new(shown.iter().map(|verdict| verdict.name().to_string()).collect());
    for setup in &experiment.setups {
        let mine: Vec<&ComparedRow> = of_setup(rows, setup).collect();
        let count = |of: &Verdict| mine.iter().filter(|row| row.verdict == *of).count();
        let counted = shown.iter().map(count);
        let cell = |n: usize| if n == 0 { "-".to_string() } else { n.to_string() };
        table.push(setup.name.as_str(), counted.map(cell).collect());
    }
    text.push_str(&format!("\n{}", table.render(paint)));
    if !experiment.quantities.is_empty() {
        text.push_str(&format!("\n{}", agreement(experiment, rows, paint)));
    }
    for of in [Verdict::Better, Verdict::Differs] {
        text.push_str(&listed(of, experiment, rows, paint));
    }
    text.push_str(&format!("\n{}\n", tally(rows)));
    text
}

/// The rows with this verdict: what is compared, the published value and ours.
fn listed(
    of: Verdict,
    experiment: &ExperimentHead,
    rows: &[&ComparedRow],
    paint: Paint,
) -> String {
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

//! The comparison as Markdown, for pages.

mod grid;

use super::agreement::Agreement;
use super::{Cells, cells, of_setup, over_seeds, with_unit};
use forebay_lab::reproduce::{ComparedRow, ExperimentHead, Tables, Verdict};

/// The tables of an experiment.
pub fn of_experiment(experiment: &ExperimentHead, rows: &[&ComparedRow]) -> String {
    if experiment.tables != Tables::Lines {
        return grid::of_experiment(experiment, rows);
    }
    if rows.iter().all(|row| row.published.is_none()) {
        return measured(rows);
    }
    if experiment.quantities.is_empty() {
        return by_setup(experiment, rows);
    }
    let label = &experiment.label;
    let mut text = format!(
        "In each cell above: {label} (least to most of its repetitions, if they differ).\n\
         Below: ours, {}; **bold** is outside the tolerance.\n\n",
        over_seeds(rows)
    );
    text.push_str(&of_cases(experiment, rows));
    text.push('\n');
    text.push_str(&of_quantities(experiment, rows));
    text
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn heading(cells: &[String]) -> String {
    line(cells) + &format!("|{}\n", "---|".repeat(cells.len()))
}

/// What has not been published: a line per set-up and protocol, a column per quantity.
fn measured(rows: &[&ComparedRow]) -> String {
    let mut quantities: Vec<&ComparedRow> = Vec::new();
    let mut cases: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        if !quantities.iter().any(|known| known.quantity == row.quantity) {
            quantities.push(row);
        }
        let case = (row.setup.as_str(), row.protocol.as_str());
        if !cases.contains(&case) {
            cases.push(case);
        }
    }
    let names = quantities.iter().map(|row| with_unit(&row.quantity, cells(row).unit));
    let titles = ["set-up", "protocol"].map(String::from).into_iter();
    let mut text = format!("{}.\n\n", over_seeds(rows));
    text[..1].make_ascii_uppercase();
    text.push_str(&heading(&titles.chain(names).collect::<Vec<_>>()));
    for (setup, protocol) in cases {
        let value = |of: &&ComparedRow| {
            let mut mine = rows.iter().filter(|row| row.setup == setup && row.protocol == protocol);
            let found = mine.find(|row| row.quantity == of.quantity);
            found.map_or_else(|| "-".to_string(), |row| in_unit(row, cells(of).unit))
        };
        let names = [setup, protocol].map(String::from).into_iter();
        text.push_str(&line(&names.chain(quantities.iter().map(value)).collect::<Vec<_>>()));
    }
    text
}

/// Ours; with its unit if that is not `unit`.
fn in_unit(row: &ComparedRow, unit: &str) -> String {
    let cells = cells(row);
    if cells.unit == unit { cells.ours } else { format!("{} {}", cells.ours, cells.unit) }
}

/// A line per case, a column per quantity; what differs is bold.
fn of_cases(experiment: &ExperimentHead, rows: &[&ComparedRow]) -> String {
    // Rows are in order of cases, each with all quantities in their order.
    let cases = || rows.chunks_exact(experiment.quantities.len());
    let Some(first) = cases().next() else { return String::new() };
    let units: Vec<&str> = first.iter().map(|row| cells(row).unit).collect();
    let names = first.iter().zip(&units).map(|(row, unit)| with_unit(&row.quantity, unit));
    let titles = ["set-up", "protocol"].map(String::from).into_iter();
    let mut text = heading(&titles.chain(names).collect::<Vec<_>>());
    for case in cases() {
        let names = [case[0].setup.clone(), case[0].protocol.clone()].into_iter();
        let values = case.iter().zip(&units).map(|(row, unit)| beside(row, unit));
        text.push_str(&line(&names.chain(values).collect::<Vec<_>>()));
    }
    text
}

/// The published value, its least and most, and ours; with a unit that is not that of the column.
fn beside(row: &ComparedRow, unit: &str) -> String {
    let cells = cells(row);
    let published = match cells.range.as_str() {
        "" => cells.published,
        range => format!("{} ({range})", cells.published),
    };
    let unit = if cells.unit == unit { String::new() } else { format!(" {}", cells.unit) };
    format!("{published}<br>{}{unit}", marked(row, &cells.ours))
}

fn marked(row: &ComparedRow, ours: &str) -> String {
    match row.verdict {
        Verdict::Differs | Verdict::Better => format!("**{ours}**"),
        Verdict::Reproduced | Verdict::NotStated => ours.to_string(),
    }
}

/// A line per quantity, over all cases.
fn of_quantities(experiment: &ExperimentHead, rows: &[&ComparedRow]) -> String {
    let ratio = format!("ours / {}: least to most, geometric mean", experiment.label);
    let titles = ["quantity", "tolerance", "within", &ratio].map(String::from);
    let mut text = heading(&titles);
    for quantity in &experiment.quantities {
        let agreement = Agreement::of(quantity, rows);
        text.push_str(&line(&[
            quantity.quantity.clone(),
            quantity.tolerance.clone(),
            format!("{} of {}", agreement.within, agreement.cases),
            agreement.ratios_in_words(),
        ]));
    }
    text
}

/// A table per set-up, for experiments whose rows differ from set-up to set-up.
fn by_setup(experiment: &ExperimentHead, rows: &[&ComparedRow]) -> String {
    let mut text = format!("Ours: {}.\n", over_seeds(rows));
    let titles = ["quantity", "protocol", &experiment.label, "ours", "verdict"].map(String::from);
    for setup in &experiment.setups {
        let what = if setup.what.is_empty() { String::new() } else { format!(" {}", setup.what) };
        text.push_str(&format!("\n{}:{what}\n\n{}", setup.name, heading(&titles)));
        for row in of_setup(rows, setup) {
            let Cells { unit, published, ours, .. } = cells(row);
            text.push_str(&line(&[
                with_unit(&row.quantity, unit),
                row.protocol.clone(),
                published,
                marked(row, &ours),
                row.verdict.name().to_string(),
            ]));
        }
    }
    text
}

//! The comparison as Markdown, for pages.

use super::agreement::Agreement;
use super::{Cells, cells, of_setup, over_seeds, with_unit};
use forebay_lab::reproduce::{ComparedRow, ExperimentHead, Verdict};

/// The tables of an experiment.
pub fn of_experiment(experiment: &ExperimentHead, rows: &[&ComparedRow]) -> String {
    if experiment.quantities.is_empty() {
        return by_setup(experiment, rows);
    }
    let mut text = format!("Ours: {}.\n\n", over_seeds(rows));
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

/// A line per case, a column per quantity; what differs is bold.
fn of_cases(experiment: &ExperimentHead, rows: &[&ComparedRow]) -> String {
    let columns: Vec<Vec<(&ComparedRow, Cells)>> = experiment
        .quantities
        .iter()
        .map(|quantity| {
            let mine = rows.iter().copied().filter(|row| row.quantity == quantity.quantity);
            let mine: Vec<&ComparedRow> = mine.collect();
            let cells = cells(&mine);
            mine.into_iter().zip(cells).collect()
        })
        .collect();
    let name = |column: &Vec<(&ComparedRow, Cells)>| {
        let (row, cells) = column.first().expect("every quantity has a value in every case");
        with_unit(&row.quantity, cells.unit)
    };
    let titles = ["set-up", "protocol"].map(String::from).into_iter();
    let mut text = heading(&titles.chain(columns.iter().map(name)).collect::<Vec<_>>());
    for case in 0..columns.first().map_or(0, Vec::len) {
        let (row, _) = &columns[0][case];
        let names = [row.setup.clone(), row.protocol.clone()].into_iter();
        let values = columns.iter().map(|column| {
            let (row, cells) = &column[case];
            beside(row, cells)
        });
        text.push_str(&line(&names.chain(values).collect::<Vec<_>>()));
    }
    text
}

/// The published value, its least and most, and ours.
fn beside(row: &ComparedRow, cells: &Cells) -> String {
    let published = match cells.range.as_str() {
        "" => cells.published.clone(),
        range => format!("{} ({range})", cells.published),
    };
    format!("{published}; {}", marked(row, &cells.ours))
}

fn marked(row: &ComparedRow, ours: &str) -> String {
    match row.verdict {
        Verdict::Differs | Verdict::Better => format!("**{ours}**"),
        Verdict::Reproduced | Verdict::NotStated => ours.to_string(),
    }
}

/// A line per quantity, over all cases.
fn of_quantities(experiment: &ExperimentHead, rows: &[&ComparedRow]) -> String {
    let ratio = format!("ours by {}: least to most, geometric mean", experiment.label);
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
        text.push_str(&format!("\n{}: {}\n\n{}", setup.name, setup.what, heading(&titles)));
        for row in of_setup(rows, setup) {
            for Cells { unit, published, ours, .. } in cells(&[row]) {
                text.push_str(&line(&[
                    with_unit(&row.quantity, unit),
                    row.protocol.clone(),
                    published,
                    marked(row, &ours),
                    row.verdict.name().to_string(),
                ]));
            }
        }
    }
    text
}

//! Tables of protocols and quantities: one for each set-up, or one for each quantity.

use super::super::{of_setup, over_seeds, unit_of, with_unit, without_zero};
use super::{heading, line};
use crate::terminal::{Estimate, row_of_group, trimmed};
use forebay_lab::reproduce::{ComparedRow, ExperimentHead, Tables, Unit as RowUnit, Verdict};

/// The tables, after a line about the runs.
pub fn of_experiment(experiment: &ExperimentHead, rows: &[&ComparedRow]) -> String {
    let mut about = over_seeds(rows);
    about[..1].make_ascii_uppercase();
    let judged = rows.iter().any(|row| row.published.is_some());
    let legend = format!("**Bold** contradicts the {0}, _italic_ exceeds it.\n", experiment.label);
    let marks = if judged { legend } else { String::new() };
    let version = env!("CARGO_PKG_VERSION");
    let digest = &experiment.digest;
    let mut text = format!("{about}.\n{marks}Forebay {version}, digest of seed 1 `{digest}`.\n");
    match experiment.tables {
        Tables::ByQuantity => by_quantity(experiment, rows, &mut text),
        Tables::BySetup | Tables::Lines => by_setup(experiment, rows, &mut text),
    }
    text
}

/// A line per protocol, a column per quantity.
fn by_setup(experiment: &ExperimentHead, rows: &[&ComparedRow], text: &mut String) {
    for setup in &experiment.setups {
        let mine: Vec<&ComparedRow> = of_setup(rows, setup).collect();
        if mine.is_empty() {
            continue;
        }
        let quantities = names(&mine, |row| &row.quantity);
        let protocols = names(&mine, |row| &row.protocol);
        let column = |quantity: &&str| -> Vec<Option<&ComparedRow>> {
            let of = |protocol: &&str| {
                let is =
                    |row: &&&ComparedRow| row.quantity == *quantity && row.protocol == *protocol;
                mine.iter().find(is).copied()
            };
            protocols.iter().map(of).collect()
        };
        let columns: Vec<Group> =
            quantities.iter().map(|quantity| Group::of(&column(quantity), true)).collect();
        let heads = quantities.iter().zip(&columns).map(|(name, of)| with_unit(name, of.unit));
        let what = if setup.what.is_empty() { String::new() } else { format!(": {}", setup.what) };
        text.push_str(&format!("\n{}{what}\n\n", setup.name));
        text.push_str(&heading(&[String::new()].into_iter().chain(heads).collect::<Vec<_>>()));
        if columns.iter().any(|of| of.published.is_some()) {
            let label = format!("_{}_", experiment.label);
            let cells = columns.iter().map(|of| of.published.clone().unwrap_or_default());
            text.push_str(&line(&[label].into_iter().chain(cells).collect::<Vec<_>>()));
        }
        for (at, protocol) in protocols.iter().enumerate() {
            let cells = columns.iter().map(|of| of.cells[at].clone());
            let cells = [protocol.to_string()].into_iter().chain(cells);
            text.push_str(&line(&cells.collect::<Vec<_>>()));
        }
    }
}

/// A line per set-up, a column per protocol.
fn by_quantity(experiment: &ExperimentHead, rows: &[&ComparedRow], text: &mut String) {
    for quantity in names(rows, |row| &row.quantity) {
        let mine: Vec<&ComparedRow> =
            rows.iter().copied().filter(|row| row.quantity == quantity).collect();
        let protocols = names(&mine, |row| &row.protocol);
        let setups = experiment.setups.iter().map(|setup| setup.name.as_str());
        let setups: Vec<&str> =
            setups.filter(|setup| mine.iter().any(|row| row.setup == *setup)).collect();
        let cell = |setup: &str, protocol: &str| {
            let is = |row: &&&ComparedRow| row.setup == setup && row.protocol == protocol;
            mine.iter().find(is).copied()
        };
        let all: Vec<Option<&ComparedRow>> = setups
            .iter()
            .flat_map(|setup| protocols.iter().map(|protocol| cell(setup, protocol)))
            .collect();
        let group = Group::of(&all, true);
        let published = group.published.as_ref();
        let published = published.map(|text| format!(" ({}: {text})", experiment.label));
        let title = with_unit(quantity, group.unit) + &published.unwrap_or_default();
        text.push_str(&format!("\n{title}\n\n"));
        let heads = [String::new()].into_iter().chain(protocols.iter().map(|p| p.to_string()));
        text.push_str(&heading(&heads.collect::<Vec<_>>()));
        for (setup, cells) in setups.iter().zip(group.cells.chunks(protocols.len())) {
            let cells = [setup.to_string()].into_iter().chain(cells.iter().cloned());
            text.push_str(&line(&cells.collect::<Vec<_>>()));
        }
    }
}

/// The names that rows have, each once, in their order.
fn names<'a>(rows: &[&'a ComparedRow], of: impl Fn(&'a ComparedRow) -> &'a String) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for row in rows {
        let name = of(row).as_str();
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// A row as text: ours with its mark, and what is published with the sign of its order.
struct Cell {
    ours: String,
    published: Option<String>,
}

impl Cell {
    fn of(row: &ComparedRow, typical: f64) -> Cell {
        let (unit, scale) = unit_of(row);
        let text = |mean: f64, ci95: Option<[f64; 2]>| {
            let ci95 = ci95.map(|ends| ends.map(|end| end * scale));
            let estimate = Estimate { mean: mean * scale, ci95 };
            let (_, texts) = row_of_group(unit, typical, &[Some(estimate)]);
            without_zero(&texts[0]).to_string()
        };
        let ours = row.measured.map_or_else(|| "-".to_string(), |mean| text(mean, row.ci95));
        let sign = row.claim.map_or(String::new(), |claim| format!("{} ", claim.sign()));
        let published = row.published.map(|value| sign + trimmed(&text(value, None)));
        Cell { ours: marked(row, &ours), published }
    }
}

/// Rows that are shown in one unit.
struct Group {
    unit: &'static str,
    /// What is published, where it is the same for all of them.
    published: Option<String>,
    /// Ours; with what is published in parentheses where that is not the same for all.
    cells: Vec<String>,
}

impl Group {
    /// With `partly` rows of which nothing is published do not count for what is the same.
    fn of(rows: &[Option<&ComparedRow>], partly: bool) -> Group {
        let there = || rows.iter().copied().flatten();
        let first = there().next().expect("a group has a row");
        let (unit, scale) = unit_of(first);
        let sizes = there().filter_map(|row| row.measured).map(|mean| (mean * scale).abs());
        let mut sizes: Vec<f64> = sizes.collect();
        sizes.sort_by(f64::total_cmp);
        // A row in "s" has some values of seconds, one in "ms" most in milliseconds.
        let place = if first.unit == RowUnit::Seconds { sizes.len() } else { sizes.len() / 2 + 1 };
        let typical = sizes.get(place.saturating_sub(1)).copied().unwrap_or_default();
        let cells: Vec<Option<Cell>> =
            rows.iter().map(|row| row.map(|row| Cell::of(row, typical))).collect();
        let published = || cells.iter().flatten().map(|cell| cell.published.as_ref());
        let known = published().flatten().next();
        let same = published().all(|text| text == known || (partly && text.is_none()));
        let text = |cell: &Option<Cell>| {
            let Some(Cell { ours, published }) = cell else { return String::new() };
            match published {
                Some(published) if !same => format!("{ours} ({published})"),
                _ => ours.clone(),
            }
        };
        Group {
            unit: row_of_group(unit, typical, &[]).0,
            published: known.filter(|_| same).cloned(),
            cells: cells.iter().map(text).collect(),
        }
    }
}

fn marked(row: &ComparedRow, ours: &str) -> String {
    match row.verdict {
        Verdict::Differs => format!("**{ours}**"),
        Verdict::Better => format!("_{ours}_"),
        Verdict::Reproduced | Verdict::NotStated => ours.to_string(),
    }
}

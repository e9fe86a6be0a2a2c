//! The table: a column per protocol, a row per metric; of many protocols the other way round.

use super::charts::marker;
use super::data::Protocol;
use super::escape::html;
use super::figures::{intervals, prefix, second_prefix};
use super::results::Results;
use forebay_metrics::statistics::Interval;
use forebay_metrics::{Shown, Unit, labels};

/// Protocols that have a column each; more have a row each.
const MAX_COLUMNS: usize = 12;

/// A column per protocol, a row per metric that any protocol has.
pub(super) fn metrics(results: &Results, protocols: &[Protocol]) -> String {
    let mut rows = Vec::new();
    let means: Vec<_> = results.aggregate.iter().map(|of| &of.means).collect();
    for of in forebay_metrics::rows(&means, shown(results)) {
        row(&mut rows, &html(&of.label), of.unit, &of.values);
    }
    // Flows that did not start are said apart.
    let completed = results
        .aggregate
        .iter()
        .map(|a| format!("{} of {}", a.completed, a.flows.saturating_sub(a.skipped)));
    push_row(&mut rows, labels::COMPLETED, "", completed);
    let heads = protocols.iter().map(|p| format!("{}{}", marker(p), html(&p.title)));
    let heads: Vec<String> = heads.collect();
    match heads.len() {
        0..=MAX_COLUMNS => table(&heads, &rows),
        _ => turned(&heads, &rows),
    }
}

/// A row of the table: its head, and a cell for each protocol, as HTML.
type Row = (String, Vec<String>);

fn table(heads: &[String], rows: &[Row]) -> String {
    let columns = heads.len();
    let heads: String = heads.iter().map(|head| format!("<th scope=col>{head}</th>")).collect();
    let row = |(head, cells): &Row| {
        let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        format!("<tr><th scope=row>{head}</th>{cells}</tr>")
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=wide><table style=--n:{columns}><thead><tr><th></th>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    )
}

/// The table with a row per protocol and a column per metric, for many protocols.
fn turned(heads: &[String], rows: &[Row]) -> String {
    let metrics: Vec<String> = rows.iter().map(|(head, _)| head.clone()).collect();
    let of = |(place, head): (usize, &String)| {
        (head.clone(), rows.iter().map(|(_, cells)| cells[place].clone()).collect())
    };
    let rows: Vec<Row> = heads.iter().enumerate().map(of).collect();
    table(&metrics, &rows)
}

/// What decides which rows are shown.
pub(super) fn shown(results: &Results) -> Shown {
    Shown {
        flows: results.runs.iter().map(|run| run.per_flow.len()).max().unwrap_or(0),
        delivered_is_known: results.aggregate.iter().all(|a| a.completed == a.flows),
        one_link: false,
    }
}

fn row(rows: &mut Vec<Row>, words: &str, unit: Unit, values: &[Option<Interval>]) {
    let Some((name, scale)) = unit_of(unit, values) else { return };
    push_row(rows, words, &name, intervals(values, scale, false).into_iter());
}

/// The unit in which the values of a row are shown, and what they are divided by; None without a
/// value.
pub(super) fn unit_of(unit: Unit, values: &[Option<Interval>]) -> Option<(String, f64)> {
    let highest = values.iter().flatten().map(|e| e.mean.abs()).max_by(f64::total_cmp)?;
    let ((letter, scale), name) = match unit {
        Unit::Seconds => (second_prefix(highest), "s"),
        Unit::BitsPerSecond => (prefix(highest), "bit/s"),
        Unit::Bytes => (prefix(highest), "B"),
        Unit::Share => (("", 0.01), "%"),
        Unit::Plain | Unit::Count => (("", 1.0), ""),
    };
    Some((format!("{letter}{name}"), scale))
}

fn push_row(rows: &mut Vec<Row>, words: &str, unit: &str, cells: impl Iterator<Item = String>) {
    let comma = if unit.is_empty() { "" } else { ", " };
    rows.push((format!("{words}{comma}{unit}"), cells.collect()));
}

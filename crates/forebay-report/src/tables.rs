//! The table: a column per protocol, a row per metric; of many protocols the other way round.

use super::escape::html;
use super::figures::{intervals, prefix, second_prefix};
use super::look::Protocol;
use super::results::Results;
use forebay_metrics::{Row, Shown, Unit, labels, typical_sizes};

/// Most columns side by side: of more protocols there are two tables, one below the other.
const COLUMNS: usize = 8;
/// Protocols of two such tables; more have a row each.
const MAX_COLUMNS: usize = 2 * COLUMNS;

/// A row: its head, and a cell for each column, as HTML.
type Line = (String, Vec<String>);

/// A column per protocol, a row per metric that any protocol has.
pub(super) fn metrics(results: &Results, protocols: &[Protocol]) -> String {
    let means: Vec<_> = results.aggregate.iter().map(|of| &of.means).collect();
    let rows = forebay_metrics::rows(&means, shown(results));
    let sizes = typical_sizes(&rows);
    let mut lines: Vec<Line> =
        rows.iter().zip(sizes).map(|(of, typical)| line(of, typical)).collect();
    // Flows that did not start are reported separately.
    let completed = results
        .aggregate
        .iter()
        .map(|a| format!("{} of {}", a.completed, a.flows.saturating_sub(a.skipped)));
    lines.push((labels::COMPLETED.to_string(), completed.collect()));
    let heads: Vec<String> =
        protocols.iter().map(|p| format!("{}{}", p.picture(), html(&p.title))).collect();
    if heads.len() > MAX_COLUMNS {
        return turned(&heads, &lines);
    }
    let tables = heads.len().div_ceil(COLUMNS).max(1);
    let columns = heads.len().div_ceil(tables).max(1);
    let starts = (0..heads.len().max(1)).step_by(columns);
    starts.map(|first| table(&heads, &lines, first, columns)).collect()
}

/// Inputs that decide which rows are shown.
pub(super) fn shown(results: &Results) -> Shown {
    Shown {
        flows: results.runs.iter().map(|run| run.per_flow.len()).max().unwrap_or(0),
        delivered_is_known: results.aggregate.iter().all(|a| a.completed == a.flows),
        one_link: false,
    }
}

/// At most `columns` columns, from `first` on.
fn table(heads: &[String], lines: &[Line], first: usize, columns: usize) -> String {
    let own = heads.iter().skip(first).take(columns);
    let shown = own.len();
    let heads: String = own.map(|head| format!("<th scope=col>{head}</th>")).collect();
    let row = |(head, cells): &Line| {
        let cells = cells.iter().skip(first).take(columns);
        let cells: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
        format!("<tr><th scope=row>{head}</th>{cells}</tr>")
    };
    let rows: String = lines.iter().map(row).collect();
    format!(
        "<div class=wide><table style=--n:{shown}><thead><tr><th></th>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    )
}

/// The table with a row per protocol and a column per metric.
fn turned(heads: &[String], lines: &[Line]) -> String {
    let metrics: Vec<String> = lines.iter().map(|(head, _)| head.clone()).collect();
    let of = |(place, head): (usize, &String)| {
        (head.clone(), lines.iter().map(|(_, cells)| cells[place].clone()).collect())
    };
    let rows: Vec<Line> = heads.iter().enumerate().map(of).collect();
    table(&metrics, &rows, 0, metrics.len())
}

/// A row in the unit of its group.
fn line(of: &Row, typical: f64) -> Line {
    let (name, scale) = unit_of(of.unit, typical);
    let comma = if name.is_empty() { "" } else { ", " };
    (format!("{}{comma}{name}", html(&of.label)), intervals(&of.values, scale, false))
}

/// The unit in which a value of this size is at least 1, and what values are divided by in it.
pub(super) fn unit_of(unit: Unit, size: f64) -> (String, f64) {
    let ((letter, scale), name) = match unit {
        Unit::Seconds => (second_prefix(size), "s"),
        Unit::BitsPerSecond => (prefix(size), "bit/s"),
        Unit::Bytes => (prefix(size), "B"),
        Unit::Share => (("", 0.01), "%"),
        Unit::Plain | Unit::Count => (("", 1.0), ""),
    };
    (format!("{letter}{name}"), scale)
}

//! The table: a column per protocol, a row per metric.

use super::data::Protocol;
use super::escape::html;
use super::figures::{figure, prefix, second_prefix};
use super::marker::picture_of;
use super::results::Results;
use forebay_metrics::{Row, Shown, Unit, labels, typical_sizes};
use std::fmt::Write;

/// Most columns side by side: of more protocols there are several tables, one below the other.
const COLUMNS: usize = 8;

/// A row: what it is, and a cell for each protocol.
type Line = (String, Vec<String>);

/// A column per protocol, a row per metric that any protocol has.
pub(super) fn metrics(results: &Results, protocols: &[Protocol]) -> String {
    let shown = Shown {
        flows: results.runs.iter().map(|run| run.per_flow.len()).max().unwrap_or(0),
        delivered_is_known: results.aggregate.iter().all(|a| a.completed == a.flows),
        one_link: false,
    };
    let means: Vec<_> = results.aggregate.iter().map(|of| &of.means).collect();
    let rows = forebay_metrics::rows(&means, shown);
    let sizes = typical_sizes(&rows);
    let mut lines: Vec<Line> =
        rows.iter().zip(sizes).map(|(of, typical)| line(of, typical)).collect();
    // Flows that did not start are said apart.
    let completed = results
        .aggregate
        .iter()
        .map(|a| format!("{} of {}", a.completed, a.flows.saturating_sub(a.skipped)));
    lines.push((labels::COMPLETED.to_string(), completed.collect()));
    let tables = protocols.len().div_ceil(COLUMNS).max(1);
    let columns = protocols.len().div_ceil(tables).max(1);
    let starts = (0..protocols.len().max(1)).step_by(columns);
    starts.map(|first| table(protocols, &lines, first, columns)).collect()
}

/// The columns from `first` on, so many at most.
fn table(protocols: &[Protocol], lines: &[Line], first: usize, columns: usize) -> String {
    let own = || protocols.iter().skip(first).take(columns);
    let heads = own().map(|p| format!("<th scope=col>{}{}</th>", picture_of(p), html(&p.title)));
    let heads: String = heads.collect();
    let mut rows = String::new();
    for (words, cells) in lines {
        let cells = cells.iter().skip(first).take(columns);
        let cells: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
        // Writing to a string cannot fail.
        let _ = write!(rows, "<tr><th scope=row>{words}</th>{cells}</tr>");
    }
    format!(
        "<div class=wide><table style=--n:{}><thead><tr><th></th>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>",
        own().count()
    )
}

/// A row in the unit of its group.
fn line(of: &Row, typical: f64) -> Line {
    let ((letter, scale), name) = match of.unit {
        Unit::Seconds => (second_prefix(typical), "s"),
        Unit::BitsPerSecond => (prefix(typical), "bit/s"),
        Unit::Bytes => (prefix(typical), "B"),
        Unit::Share => (("", 0.01), "%"),
        Unit::Plain | Unit::Count => (("", 1.0), ""),
    };
    let cells = of.values.iter().map(|value| match value {
        Some(e) => figure(e.mean / scale, e.half().map(|half| half / scale)),
        None => "–".to_string(),
    });
    let comma = if name.is_empty() { "" } else { ", " };
    (format!("{}{comma}{letter}{name}", html(&of.label)), cells.collect())
}

//! The table: a column per protocol, a row per metric.

use super::charts::marker;
use super::data::Protocol;
use super::escape::html;
use super::figures::{figure, prefix, second_prefix};
use super::results::Results;
use forebay_metrics::statistics::Interval;
use forebay_metrics::{Shown, Unit, labels};
use std::fmt::Write;

/// A column per protocol, a row per metric that any protocol has.
pub(super) fn metrics(results: &Results, protocols: &[Protocol]) -> String {
    let mut rows = String::new();
    let shown = Shown {
        flows: results.runs.iter().map(|run| run.per_flow.len()).max().unwrap_or(0),
        delivered_is_known: results.aggregate.iter().all(|a| a.completed == a.flows),
        one_link: false,
    };
    let means: Vec<_> = results.aggregate.iter().map(|of| &of.means).collect();
    for of in forebay_metrics::rows(&means, shown) {
        row(&mut rows, &html(&of.label), of.unit, &of.values);
    }
    // Flows that did not start are said apart.
    let completed = results
        .aggregate
        .iter()
        .map(|a| format!("{} of {}", a.completed, a.flows.saturating_sub(a.skipped)));
    push_row(&mut rows, labels::COMPLETED, "", completed);
    let heads =
        protocols.iter().map(|p| format!("<th scope=col>{}{}</th>", marker(p), html(&p.title)));
    let (heads, columns): (String, usize) = (heads.collect(), protocols.len());
    format!(
        "<div class=wide><table style=--n:{columns}><thead><tr><th></th>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    )
}

fn row(rows: &mut String, words: &str, unit: Unit, values: &[Option<Interval>]) {
    let Some(highest) = values.iter().flatten().map(|e| e.mean).max_by(f64::total_cmp) else {
        return;
    };
    let ((letter, scale), name) = match unit {
        Unit::Seconds => (second_prefix(highest), "s"),
        Unit::BitsPerSecond => (prefix(highest), "bit/s"),
        Unit::Bytes => (prefix(highest), "B"),
        Unit::Share => (("", 0.01), "%"),
        Unit::Plain | Unit::Count => (("", 1.0), ""),
    };
    let cells = values.iter().map(|value| match value {
        Some(e) => figure(e.mean / scale, e.half().map(|half| half / scale)),
        None => "–".to_string(),
    });
    push_row(rows, words, &format!("{letter}{name}"), cells);
}

fn push_row(rows: &mut String, words: &str, unit: &str, cells: impl Iterator<Item = String>) {
    let comma = if unit.is_empty() { "" } else { ", " };
    let cells: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
    // Writing to a string cannot fail.
    let _ = write!(rows, "<tr><th scope=row>{words}{comma}{unit}</th>{cells}</tr>");
}

//! The table: a column per protocol, a row per metric.

use super::charts::marker;
use super::data::Protocol;
use super::escape::html;
use super::figures::{intervals, prefix, second_prefix};
use super::results::Results;
use forebay_metrics::statistics::Interval;
use forebay_metrics::{Shown, Unit, labels};
use std::fmt::Write;

/// A column per protocol, a row per metric that any protocol has.
pub(super) fn metrics(results: &Results, protocols: &[Protocol]) -> String {
    let mut rows = String::new();
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
    let heads =
        protocols.iter().map(|p| format!("<th scope=col>{}{}</th>", marker(p), html(&p.title)));
    let (heads, columns): (String, usize) = (heads.collect(), protocols.len());
    format!(
        "<div class=wide><table style=--n:{columns}><thead><tr><th></th>{heads}</tr></thead>\
         <tbody>{rows}</tbody></table></div>"
    )
}

/// What decides which rows are shown.
pub(super) fn shown(results: &Results) -> Shown {
    Shown {
        flows: results.runs.iter().map(|run| run.per_flow.len()).max().unwrap_or(0),
        delivered_is_known: results.aggregate.iter().all(|a| a.completed == a.flows),
        one_link: false,
    }
}

fn row(rows: &mut String, words: &str, unit: Unit, values: &[Option<Interval>]) {
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

fn push_row(rows: &mut String, words: &str, unit: &str, cells: impl Iterator<Item = String>) {
    let comma = if unit.is_empty() { "" } else { ", " };
    let cells: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
    // Writing to a string cannot fail.
    let _ = write!(rows, "<tr><th scope=row>{words}{comma}{unit}</th>{cells}</tr>");
}

//! The table: a column per protocol, a row per metric.

use super::charts::marker;
use super::data::Protocol;
use super::escape::html;
use super::figures::{figure, prefix, second_prefix};
use super::results::{Aggregate, Estimate, Results};
use crate::metrics::{CLASS_ROWS, METRICS, Unit, labels, says_nothing};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A column per protocol, a row per metric that any protocol has.
pub(super) fn metrics(results: &Results, protocols: &[Protocol]) -> String {
    let mut rows = String::new();
    let flows = results.runs.iter().map(|run| run.per_flow.len()).max().unwrap_or(0);
    let all_completed = results.aggregate.iter().all(|a| a.completed == a.flows);
    for metric in METRICS.iter().filter(|metric| metric.in_table) {
        let means = results.aggregate.iter().filter_map(|a| a.metrics.get(metric.name));
        let highest = means.fold(0.0, |most: f64, e| most.max(e.mean));
        if says_nothing(metric.name, flows, all_completed, highest) {
            continue;
        }
        let cell = |a: &Aggregate| a.metrics.get(metric.name).map(|e| times(*e, metric.scale));
        let cells = results.aggregate.iter().map(cell).collect();
        row(&mut rows, metric.label, metric.shown, cells);
        if metric.name == "afct_s" {
            let reference = |name: &str| -> Vec<Option<Estimate>> {
                results.aggregate.iter().map(|a| a.reference.get(name).copied()).collect()
            };
            row(&mut rows, labels::REFERENCE_AFCT, Unit::Seconds, reference("afct_s"));
            row(&mut rows, labels::AFCT_RATIO, Unit::Plain, reference("afct_ratio"));
        }
    }
    class_rows(&mut rows, results);
    let busiest = results.aggregate.iter().map(|a| {
        let most = a.utilisation.values().max_by(|a, b| a.mean.total_cmp(&b.mean));
        most.copied()
    });
    row(&mut rows, &labels::busiest_link(None), Unit::Share, busiest.collect());
    let some = |(_, drops): &(&String, &Estimate)| drops.mean > 0.0;
    let reasons: BTreeSet<&String> = results
        .aggregate
        .iter()
        .flat_map(|a| &a.drops)
        .filter(some)
        .map(|(name, _)| name)
        .collect();
    for reason in reasons {
        let drops = results.aggregate.iter().map(|a| a.drops.get(reason).copied()).collect();
        row(&mut rows, &html(&labels::drops(reason)), Unit::Count, drops);
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

/// The delays of each class of flows, where a run has several.
fn class_rows(rows: &mut String, results: &Results) {
    if results.aggregate.iter().all(|a| a.by_class.len() < 2) {
        return;
    }
    let classes: BTreeSet<&String> =
        results.aggregate.iter().flat_map(|a| a.by_class.keys()).collect();
    for class in classes {
        for metric in METRICS.iter().filter(|metric| CLASS_ROWS.contains(&metric.name)) {
            let cell = |a: &Aggregate| {
                a.by_class.get(class)?.get(metric.name).map(|e| times(*e, metric.scale))
            };
            let label = labels::of_class(metric.label, &html(class));
            let cells = results.aggregate.iter().map(cell).collect();
            row(rows, &label, metric.shown, cells);
        }
    }
}

fn times(of: Estimate, scale: f64) -> Estimate {
    Estimate { mean: of.mean * scale, ci95: of.ci95.map(|ends| ends.map(|end| end * scale)) }
}

fn row(rows: &mut String, words: &str, unit: Unit, values: Vec<Option<Estimate>>) {
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

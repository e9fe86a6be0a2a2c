//! What tables and JSON show under another name than that of a metric.

use super::metric;
use crate::terminal::{Paint, wrap};
use forebay_lab::FLOW_COLUMNS;
use forebay_lab::report::{METRICS, RESULTS};

/// A key, a row or a column that [`text`] explains. Parts of rows that differ from run to run, in
/// parentheses, are left out.
pub fn has(name: &str) -> bool {
    of_metric(name).is_some() || find(name).is_some()
}

/// The explanation of `name`. Panics unless [`has`] knows it.
pub fn text(name: &str, paint: Paint) -> String {
    if let Some(key) = of_metric(name) {
        return metric::text(key, paint);
    }
    let (meaning, place) = find(name).expect("the caller has asked whether it is known");
    let head = format!("{} - in results\n\n", paint.bold(name));
    head + &wrap(meaning, 0) + "\n" + &wrap(&format!("In JSON: {place}."), 0)
}

/// The metric whose row has this name.
fn of_metric(name: &str) -> Option<&'static str> {
    if RESULTS.iter().any(|doc| doc.label == name) {
        return None;
    }
    let plain = plain(name);
    if plain == "utilisation, busiest link" {
        return Some("utilisation");
    }
    let mut rows = METRICS.iter().filter(|metric| metric.in_table);
    rows.find(|row| row.label == name || row.label == plain).map(|row| row.name)
}

/// Its meaning, and its place in JSON.
fn find(name: &str) -> Option<(&'static str, String)> {
    let plain = plain(name);
    let of_runs = || {
        let named = |of: &str| [name, plain].contains(&of);
        RESULTS.iter().find(|doc| named(doc.name) || named(doc.label))
    };
    let of_flows = || FLOW_COLUMNS.iter().find(|column| column.name == plain);
    of_runs().map(|doc| (doc.meaning, doc.place.to_string())).or_else(|| {
        let place = |name| format!(".runs[].per_flow[].{name}; in flows.parquet {name}");
        of_flows().map(|column| (column.meaning, place(column.name)))
    })
}

/// A row without its parentheses.
fn plain(name: &str) -> &str {
    name.split(" (").next().unwrap_or(name)
}

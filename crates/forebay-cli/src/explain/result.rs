//! What tables and JSON show under another name than that of a metric.

use super::metric;
use crate::terminal::{Paint, wrap};
use forebay_lab::report::{METRICS, RESULTS, ResultDoc};

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
    let found = find(name).expect("whoever asks has looked");
    let head = format!("{} - in results\n\n", paint.bold(name));
    head + &wrap(found.meaning, 0) + "\n" + &wrap(&format!("In JSON: {}.", found.place), 0)
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

fn find(name: &str) -> Option<&'static ResultDoc> {
    let plain = plain(name);
    RESULTS
        .iter()
        .find(|doc| [name, plain].contains(&doc.name) || [name, plain].contains(&doc.label))
}

/// A row without its parentheses.
fn plain(name: &str) -> &str {
    name.split(" (").next().unwrap_or(name)
}

//! The table of differences from a baseline, seed by seed.

use super::report::shown;
use crate::terminal::{Estimate, Paint, Table, differences, wrap};
use forebay_lab::Summary;
use forebay_lab::report::difference_rows;
use forebay_lab::scenario::Scenario;

/// A column per protocol, a row per metric that differs; empty if no runs were paired.
pub fn text(scenario: &Scenario, summary: &Summary, paint: Paint) -> String {
    let Some(first) = summary.paired.first() else { return String::new() };
    let title = |name: &str| {
        let own = summary.aggregate.iter().find(|of| of.protocol == name);
        own.map_or(name, |of| of.label.as_str()).to_string()
    };
    let heading = format!(
        "difference from {}, seed by seed: mean and 95 % confidence interval over the pairs",
        title(&first.baseline)
    );
    let columns = summary.paired.iter().map(|of| title(&of.protocol)).collect();
    let mut table = Table::new(columns);
    let means: Vec<_> = summary.aggregate.iter().map(|of| &of.means).collect();
    for of in difference_rows(&means, &summary.paired, shown(scenario, &summary.aggregate)) {
        let values = of.row.values.iter().map(|value| value.map(Estimate::from));
        let (unit, mut cells) = differences(of.row.unit, &values.collect::<Vec<_>>());
        for ((cell, value), paired) in cells.iter_mut().zip(&of.row.values).zip(&summary.paired) {
            // Not every run has a value.
            if let Some(value) = value.filter(|value| value.n < paired.seeds.len()) {
                cell.push_str(&format!(" (n = {})", value.n));
            }
        }
        let comma = if unit.is_empty() { "" } else { ", " };
        table.push(format!("{}{comma}{unit}", of.row.label), cells);
    }
    table.push("pairs", summary.paired.iter().map(|of| of.seeds.len().to_string()).collect());
    format!("\n{}\n\n{}", paint.bold(wrap(&heading, 0).trim_end()), table.render(paint))
}

//! What of the results goes into the rows of the table.

use crate::terminal::Estimate;
use forebay_lab::Aggregate;
use forebay_lab::report::{CLASS_ROWS, METRICS, MetricDoc};
use forebay_lab::scenario::statistics::Interval;
use std::collections::BTreeSet;

/// A mean with its interval, times `scale`.
pub fn estimate(interval: &Interval, scale: f64) -> Estimate {
    let half = interval.ci95.map(|[low, high]| (high - low) / 2.0 * scale);
    Estimate { mean: interval.mean * scale, half }
}

/// The busiest link: of those that the runs report, the one with the highest mean utilisation under any protocol.
pub fn bottleneck(aggregates: &[Aggregate]) -> Option<&str> {
    let mut busiest: Option<(&str, f64)> = None;
    for (name, utilisation) in aggregates.iter().flat_map(|a| &a.utilisation) {
        // Of equals the first in the order of protocols and names stays.
        if busiest.is_none_or(|(_, most)| utilisation.mean > most) {
            busiest = Some((name, utilisation.mean));
        }
    }
    busiest.map(|(name, _)| name)
}

/// The rows of classes of flows, one class after the other; none where no run has more than one class.
pub fn class_rows(aggregates: &[Aggregate]) -> Vec<(&str, &'static MetricDoc)> {
    if aggregates.iter().all(|a| a.by_class.len() < 2) {
        return Vec::new();
    }
    let classes: BTreeSet<&str> =
        aggregates.iter().flat_map(|a| a.by_class.keys()).map(String::as_str).collect();
    let shown = || METRICS.iter().filter(|metric| CLASS_ROWS.contains(&metric.name));
    classes.into_iter().flat_map(|class| shown().map(move |metric| (class, metric))).collect()
}

/// The reasons for which any run dropped packets.
pub fn drop_reasons(aggregates: &[Aggregate]) -> BTreeSet<&'static str> {
    let all = aggregates.iter().flat_map(|a| &a.drops);
    all.filter(|(_, drops)| drops.mean > 0.0).map(|(reason, _)| *reason).collect()
}

//! The rows of the table: which metrics, under which words, in which unit.

use crate::screen::{Estimate, Unit};
use forebay_lab::{Aggregate, Interval};
use std::collections::BTreeSet;

/// A row that shows one metric.
pub struct MetricRow {
    /// Name of the metric in results.
    pub metric: &'static str,
    /// What a person reads.
    pub label: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// What the number in results is multiplied by to be in the basic unit (`_ms` to seconds: 1e-3).
    pub scale: f64,
}

const fn metric(metric: &'static str, label: &'static str, unit: Unit, scale: f64) -> MetricRow {
    MetricRow { metric, label, unit, scale }
}

/// The metrics of the table, in order; a metric that no run has, has no row.
pub const METRIC_ROWS: &[MetricRow] = &[
    metric("afct_s", "mean FCT", Unit::Seconds, 1.0),
    metric("fct_p50_s", "FCT p50", Unit::Seconds, 1.0),
    metric("fct_p99_s", "FCT p99", Unit::Seconds, 1.0),
    metric("all_done_s", "all done after", Unit::Seconds, 1.0),
    metric("goodput_bps", "goodput", Unit::BitsPerSecond, 1.0),
    metric("delivered_bytes", "delivered", Unit::Bytes, 1.0),
    metric("jain_goodput", "Jain's index", Unit::Plain, 1.0),
    metric("queue_delay_mean_ms", "queue delay mean", Unit::Seconds, 1e-3),
    metric("queue_delay_p95_ms", "queue delay p95", Unit::Seconds, 1e-3),
    metric("retransmits", "retransmits", Unit::Count, 1.0),
    metric("timeouts", "timeouts", Unit::Count, 1.0),
    metric("ce_marks", "CE marks", Unit::Count, 1.0),
];

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

/// The reasons for which any run dropped packets.
pub fn drop_reasons(aggregates: &[Aggregate]) -> BTreeSet<&'static str> {
    let all = aggregates.iter().flat_map(|a| &a.drops);
    all.filter(|(_, drops)| drops.mean > 0.0).map(|(reason, _)| *reason).collect()
}

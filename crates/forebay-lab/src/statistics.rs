//! Means, intervals, quantiles, fairness.

use serde::Serialize;

/// A mean over runs with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Mean over those runs that have the metric.
    pub mean: f64,
    /// Lower and upper end of the 95 % interval (Student's t); None for a single run.
    pub ci95: Option<[f64; 2]>,
    /// Number of runs that have the metric.
    pub n: usize,
}

/// Mean and 95 % confidence interval of independent values; None if there are none.
pub fn mean_and_interval(_values: &[f64]) -> Option<Interval> {
    None
}

/// The quantile `q` in `0.0..=1.0` of sorted values.
pub fn quantile(_sorted: &[f64], _q: f64) -> Option<f64> {
    None
}

/// Jain's index of fairness.
pub fn jain(_values: &[f64]) -> Option<f64> {
    None
}

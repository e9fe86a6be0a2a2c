//! Metrics by name: what each is, in which unit, and which rows of a table have it; and the
//! statistics over flows and seeds.
//!
//! It knows no scenario and no simulation: `forebay-scenario` looks up the metrics that
//! expectations name, `forebay-run` computes them, `forebay-report` and the command show them.

#![forbid(unsafe_code)]

mod metrics;
pub mod statistics;

pub use metrics::{
    ClassMetrics, Counted, DifferenceRow, FLOW_COLUMNS, FlowColumn, FlowMetrics, FlowResult,
    FlowValue, Hidden, MAX_FLOWS_BY_PORT, METRICS, Means, MetricDoc, Metrics, OfLinks, Paired,
    RESULTS, ResultDoc, Row, RunValues, Runs, Shown, Unit, comparable, difference_rows, labels,
    rows, typical_sizes,
};

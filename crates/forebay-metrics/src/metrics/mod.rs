//! What is reported of a run, with the names that results use.
//!
//! **The window.** Goodput, utilisation and delays count from the first flow's start, or from
//! `measure_from_s` if that is later, to the end of the run. Completion times, drops and
//! retransmissions count over the whole run.

mod doc;
mod flow;
mod number;
mod others;
mod rows;
mod table;
mod values;

pub use doc::{Counted, Hidden, MetricDoc, OfLinks, Unit};
pub use flow::{FLOW_COLUMNS, FlowColumn, FlowResult, FlowValue};
pub use others::{RESULTS, ResultDoc, comparable, labels};
pub use rows::{DifferenceRow, Row, Shown, difference_rows, rows, typical_sizes};
pub use table::{ClassMetrics, FlowMetrics, MAX_FLOWS_BY_PORT, METRICS, Metrics};
pub use values::{Means, Paired, RunValues, Runs};

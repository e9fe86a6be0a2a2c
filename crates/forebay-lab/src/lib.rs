//! The laboratory: scenario files, runs, metrics, the result store, the benchmark.
//!
//! The way of a result: [`scenario::Scenario`] - [`run_one`], or [`sweep`] for many seeds and protocols - [`RunResult`] with its
//! [`Metrics`] - [`Summary`] with means and confidence intervals - [`Store`], the files on disk, with
//! [`write_comparison, write_report`] the page that shows them.
#![forbid(unsafe_code)]

mod algorithms;
mod bench;
mod held;
mod memory;
mod metrics;
mod need;
mod observe;
mod protocol;
pub mod reference;
mod report;
pub mod reproduce;
mod run;
pub mod scenario;
mod statistics;
mod store;
mod summary;
mod sweep;

pub use algorithms::{Algorithm, AlgorithmSpec, RegisterError, RegisteredSpec, Registration};
pub use bench::{
    BENCH_DATA_VARIABLE, BENCHES, Bench, BenchError, BenchOptions, BenchReport, BenchRow, PEERS,
    Peer, SCALE_HOSTS, SCALE_ROUTERS, Skipped, WithoutHash, Work, bench,
};
pub use memory::available_bytes;
pub use metrics::{
    CLASS_ROWS, ClassMetrics, Delays, FlowResult, InterfaceResult, METRICS, MetricDoc, Metrics,
    RESULTS, ResultDoc, Unit, labels, says_nothing,
};
pub use need::{Fit, Need, NoRoom, RunMemory, check_outline};
pub use observe::{
    CaptureFilter, CaptureLimit, EventFilter, EventFilterError, EventWriter, UnknownLink,
    directed_links,
};
pub use protocol::{Bundle, PortKind, ReferenceMode, RouterKind};
pub use reference::Reference;
pub use report::{MOST_FOLDERS, ReportError, write_comparison, write_report};
pub use run::{Looks, Parallel, Progress, RunError, RunOptions, RunResult, Shares, run_one};
pub use statistics::{Interval, jain, mean_and_interval, quantile};
pub use store::{Store, StoreError};
pub use summary::{Aggregate, Missing, Summary};
pub use sweep::{RunKey, Sweep, SweepMemory, SweepOptions, SweepPlan, SweepProgress, sweep};

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

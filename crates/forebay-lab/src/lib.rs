//! The laboratory: runs, batches, metrics, the result store, reproduced experiments, the benchmark.
//!
//! The way of a result: [`scenario::Scenario`] - [`run_one`], or [`batch`] for many seeds and
//! protocols - [`RunResult`] with its [`report::Metrics`] - [`Summary`] with means and confidence
//! intervals - [`Store`], the files on disk, with [`report::write_report`] the page that shows
//! them.
#![forbid(unsafe_code)]

mod agreement;
mod batch;
mod bench;
mod buffer_limits;
mod clock;
mod error;
mod export;
mod memory;
mod observe;
mod outputs;
pub mod record;
pub mod reproduce;
mod result;
mod store;
mod summary;
mod sweep;

pub use agreement::{Agreement, Figure, Verdict};
pub use batch::{BatchOptions, BatchPlan, BatchProgress, LEFT_OUT, batch};
pub use bench::{
    BENCH_DATA_VARIABLE, BENCHES, Bench, BenchError, BenchOptions, BenchReport, BenchRow, PEERS,
    Peer, SCALE_HOSTS, SCALE_ROUTERS, Skipped, WithoutHash, Work, bench,
};
pub use error::{LinkLogError, StoreError};
pub use export::{ExportError, ExportFormat, export};
pub use forebay_metrics::{FLOW_COLUMNS, FlowColumn};
pub use forebay_reference as reference;
pub use forebay_report as report;
pub use forebay_run::{
    EventFilter, EventFilterError, ExpectationResult, FlowResult, InterfaceResult, Looks, Missing,
    Parallel, Progress, RunError, RunOptions, RunResult, Shares, Status, WireReport,
};
pub use forebay_scenario as scenario;
pub use memory::available_bytes;
pub use observe::{CaptureFilter, CaptureLimit, EventWriter, UnknownLink, directed_links};
pub use outputs::Outputs;
pub use result::{Batch, BatchMemory, RunKey};
pub use store::Store;
pub use summary::{Aggregate, Summary};
pub use sweep::{
    Cell, MAX_UNASKED, Manifest, MergeError, Opened, Row, RowResult, Rows, Shard, SweepEnd,
    SweepFolder, SweepOptions, SweepOutcome, SweepPlan, SweepProgress, SweepRecord, SweepRun,
    SweepTable, TooManyRuns, ignored_keys, merge, run_point, sweep, sweep_columns,
};

/// Run `scenario` with `protocol` and `seed`, as [`forebay_run::run_one`], and measure its costs.
pub fn run_one(
    scenario: &scenario::Scenario,
    protocol: &str,
    seed: u64,
    options: &RunOptions<'_>,
) -> Result<RunResult, RunError> {
    let options = RunOptions { clocks: Some(clock::CLOCKS), ..*options };
    forebay_run::run_one(scenario, protocol, seed, &options)
}

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

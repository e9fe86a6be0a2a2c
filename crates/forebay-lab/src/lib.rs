//! The laboratory: runs, sweeps, metrics, the result store, reproduced experiments, the benchmark.
//!
//! The way of a result: [`scenario::Scenario`] - [`run_one`], or [`sweep`] for many seeds and
//! protocols - [`RunResult`] with its [`report::Metrics`] - [`Summary`] with means and confidence
//! intervals - [`Store`], the files on disk, with [`report::write_report`] the page that shows
//! them.
#![forbid(unsafe_code)]

mod bench;
mod buffer_limits;
mod error;
mod expectations;
mod memory;
mod metrics;
mod observe;
pub mod reproduce;
mod result;
mod run;
mod store;
mod summary;
mod sweep;

pub use bench::{
    BENCH_DATA_VARIABLE, BENCHES, Bench, BenchError, BenchOptions, BenchReport, BenchRow, PEERS,
    Peer, SCALE_HOSTS, SCALE_ROUTERS, Skipped, WithoutHash, Work, bench,
};
pub use error::{RunError, StoreError};
pub use expectations::{ExpectationResult, Status};
pub use forebay_reference as reference;
pub use forebay_report as report;
pub use forebay_scenario as scenario;
pub use memory::available_bytes;
pub use metrics::{FlowResult, InterfaceResult};
pub use observe::{
    CaptureFilter, CaptureLimit, EventFilter, EventFilterError, EventWriter, UnknownLink,
    directed_links,
};
pub use result::{Missing, Parallel, RunKey, RunResult, Shares, Sweep, SweepMemory};
pub use run::{Looks, Progress, RunOptions, run_one};
pub use store::Store;
pub use summary::{Aggregate, Summary};
pub use sweep::{LEFT_OUT, SweepOptions, SweepPlan, SweepProgress, sweep};

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

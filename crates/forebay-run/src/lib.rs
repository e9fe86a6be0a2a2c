//! One run: a scenario under one protocol and one seed, from its network to its result.
//!
//! [`run_one`] builds the network, drives the simulation to its end and measures it. The
//! [`RunResult`] is plain data. Nothing here opens a file, reads a clock or needs a thread: a
//! caller that wants costs gives [`Clocks`], one that keeps samples or packets a [`Record`].
#![forbid(unsafe_code)]

mod cost;
mod drive;
mod error;
mod events;
mod expectations;
mod measure;
mod options;
mod record;
mod result;
mod run;

pub use cost::{Clocks, Cost};
pub use error::RunError;
pub use events::{EventFilter, EventFilterError, EventLines, link_arrows};
pub use expectations::{ExpectationResult, Status, check_expectations};
pub use forebay_metrics as metrics;
pub use forebay_metrics::FlowResult;
pub use forebay_scenario as scenario;
pub use measure::{
    AppSchedule, Bins, Capacity, DelaySamples, InterfaceResult, clock_seconds, has_left_push,
    interface,
};
pub use options::{Inspect, Looks, Progress, RunOptions};
pub use record::{Record, Recorder, RunStart};
pub use result::{Missing, Parallel, RunResult, Shares, WireReport};
pub use run::run_one;

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

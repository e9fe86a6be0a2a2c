//! Scenario files: a network, its flows, its events, and the protocols to compare on it.
//!
//! Text becomes a [`Scenario`] in one go, or an error that names file, line and key; a [`Scenario`]
//! has nothing left to check.
//!
//! With them come what their names stand for: [`Algorithm`] (the table of `forebay-cc`, and those
//! that a program registers), [`NetworkRequirements`] (what a protocol needs in the network),
//! [`LinkNames`], and how much memory a run will take ([`memory_estimate`]).
//!
//! The folders are layers, of which each names only those before it: `format` (texts, values with
//! places, mistakes), `keys` (the tables that people write), `registry` (what names stand for),
//! `model` (the types of a scenario), `resolve` (names looked up, groups expanded), `explain` (what
//! is known of each key), `plan` (the network of a run, and whether it can work), `load` (all of
//! them in their order).

#![forbid(unsafe_code)]

mod explain;
mod format;
mod keys;
mod load;
mod model;
mod plan;
pub mod registry;
mod resolve;

#[cfg(test)]
mod tests;

pub use explain::schema::schema;
pub use explain::{ANY_NAME, Key, KeyPlace, KeyTable, Keys, keys};
pub use forebay_metrics::statistics;
pub use forebay_net::{
    After, AppSchedule, Fragments, Knowledge, Look, LossModel, MiddleboxSpec, StripOptions,
    TimeDistribution, Writing,
};
pub use format::csv::{CSV_COLUMNS, CsvColumn};
pub use format::error::{Mistake, Place, Problem, ScenarioError};
pub use format::files::Files;
pub use format::names::Name;
pub use format::{input, traces};
pub use keys::channels::Offset;
pub use keys::file::FctClock;
pub use load::LoadOptions;
pub use load::builtin::{BUILTINS, Builtin};
pub use load::map_file::load_map;
pub use load::scenario_text::{ScenarioKeys, ScenarioText};
pub use load::sweep::SweptScenario;
pub use model::arrivals::Arrival;
pub use model::attacks::{Attack, AttackKind};
pub use model::channels::{Channel, GeneratedTrace, TraceFile};
pub use model::expectation::{Bound, Expectation, Over};
pub use model::inrpp::InrppNetwork;
pub use model::link_names::LinkNames;
pub use model::protocols::ProtocolSpec;
pub use model::sizes::{SizeClasses, SizeDistribution, SizeForm};
pub use model::sweep::{Grid, Point, Swept, SweptKey, SweptKind, SweptValue};
pub use model::{Flow, Link, LinkDirection, Node, OnMap, Scenario};
pub use plan::build::count_per_flow;
pub use plan::work_estimate::packet_hops;
pub use plan::{memory_estimate, trace_statistics};
pub use registry::algorithms::{Algorithm, AlgorithmSpec, RegisteredSpec};
pub use registry::protocol::{NetworkRequirements, ReferenceMode};
pub use registry::{NoParams, RegisterError, Registration, Registry};
pub use resolve::routes::Ways;

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

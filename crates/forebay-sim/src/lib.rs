//! The discrete-event driver: it owns the clock and the pending events, and runs the machines of
//! `forebay-net` through its [`forebay_net::Fabric`].
//!
//! [`Simulation::new`] builds a run from a spec and a seed; [`Simulation::run_until`] advances it,
//! and fails where packets do not add up; between calls everything can be looked at. The same spec
//! and seed give the same [`Simulation::trace_hash`] on every machine, whatever the options, in one
//! thread as in many.
#![forbid(unsafe_code)]

mod assignment;
mod barrier;
mod division;
mod driver;
mod event_queue;
mod foreign;
mod injection;
mod input;
mod observe;
mod outcome;
mod pace;
mod partition;
mod partitioning;
mod serial_fallback;
mod simulation;
mod site;
mod spec_parts;
mod trace;
mod trial;
mod windows;

pub use event_queue::{Calendar, Entity, EventQueue, INDEX_BITS};
pub use forebay_net::{Conservation, PacketEvent};
pub use forebay_transport::{EndCause, Role};
pub use foreign::{ForeignEnd, ForeignSample};
pub use injection::Injection;
pub use input::{Input, InputEvent};
pub use observe::Observer;
pub use outcome::{FlowOutcome, LinkOutcome};
pub use partitioning::FewerThreads;
pub use simulation::{ConservationError, Options, RecordedSite, Recording, Simulation, Status};
pub use site::{Exit, RealWires, Site, SiteOptions};
pub use trace::{HASH_EPOCH, TraceSum};
pub use windows::{CpuClock, Effort, WallClock};

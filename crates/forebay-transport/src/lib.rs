//! Connections: handshake, reliability, loss detection, recovery and pacing, over a list of paths.
//!
//! Pure: `no_std`, no clock, no I/O. See [`Connection`] for the four verbs.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod api;
mod config;
mod connection;
mod mptcp;
mod options;
mod path;
mod presets;
mod ranges;
mod secret;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use api::{Counters, EndCause, PathSetup, PathView, Progress, Role, RttSummary, Setup};
pub use config::{Pacing, Preset, Recovery, RtoRule, TcpConfig};
pub use connection::{ClosedConnection, Connection, ConnectionView, LINGER};
pub use mptcp::{MOST_SIGNAL_BYTES, SIGNAL_BYTES};
pub use options::{TIMESTAMP_BYTES, data_option_bytes};
pub use presets::PRESETS;
pub use secret::keyed_seed;

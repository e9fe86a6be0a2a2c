//! From a simulation to what is reported of it: its metrics, its flows, its INRPP interfaces.

mod bins;
mod capacity;
mod delays;
mod interfaces;
mod metrics;
mod seconds;

pub use bins::{AppSchedule, Bins};
pub use capacity::Capacity;
pub use delays::DelaySamples;
pub(crate) use delays::split_transports;
pub(crate) use interfaces::interfaces_of;
pub use interfaces::{InterfaceResult, has_left_push, interface};
pub(crate) use metrics::{Bounds, Measured, WindowBaseline};
pub use seconds::clock_seconds;

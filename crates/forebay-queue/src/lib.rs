//! A port is a fixed pipeline: [`Meter`] sees arrivals, [`Discipline`] orders, marks and drops, [`Egress`] stamps
//! and splits. One file each.
//!
//! Pure: `no_std`, no clock, no I/O.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod discipline;
mod droptail;
mod egress;
mod meter;
mod pipeline;
mod rcp;

pub use discipline::{AnyDiscipline, Discipline, Overflow};
pub use droptail::{DropTailBytes, DropTailPackets};
pub use egress::{AnyEgress, Egress, Leaving};
pub use meter::{AnyMeter, Meter};
pub use pipeline::{Pipeline, PortContext};
pub use rcp::{RcpMeter, RcpPortParams, rcp_pipeline};

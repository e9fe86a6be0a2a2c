//! A port is a fixed pipeline: a [`PortScheme`] sees arrivals, a [`Discipline`] orders, marks and
//! drops, and the scheme writes rates into departing packets and splits them.
//!
//! Pure: `no_std`, no clock, no I/O.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

#[macro_use] // before whoever uses its macro
mod table;

mod any;
pub mod cell;
pub mod codel;
mod discipline;
pub mod droptail;
mod fifo;
pub mod fq_codel;
pub mod kickass;
mod lanes;
mod limit;
pub mod pie;
mod pipeline;
mod port;
mod rate_control;
pub mod rcp;
pub mod red;
mod scheme;
mod schemes;
#[cfg(test)]
mod testbed;

pub use discipline::{Discipline, Overflow};
pub use droptail::DropTail;
pub use fifo::Fifo;
pub use forebay_base::{ParamError, require};
pub use kickass::{KickAssPort, KickAssPortParams};
pub use lanes::{Carried, Division, LISTENERS_BYTES_METRIC, Lane};
pub use limit::Limit;
pub use pipeline::Pipeline;
pub use port::{Backlog, PortContext, PortInit};
pub use rate_control::RateParams;
pub use rcp::{RcpPort, RcpPortParams};
pub use scheme::{Carries, PortScheme, SchemeParams, TrailingPackets};
pub use schemes::{AnyScheme, MakeScheme, SCHEMES, SchemeEntry, SchemeSpec};
pub use table::{AnyDiscipline, DISCIPLINES, DisciplineEntry, DisciplineSpec};

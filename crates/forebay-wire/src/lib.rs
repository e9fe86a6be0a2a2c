//! The bijection between [`forebay_base::Packet`] and bytes, and captures in pcapng.
//!
//! Laws, each held by tests:
//! * `parse(emit(p)) == p` for every packet that can be built: what a machine reads, a wire carries;
//! * `emit(parse(b)) == b` for every accepted `b`: foreign options, odd padding, reserved bits and foreign
//!   protocols pass verbatim;
//! * `emit(p).len() == p.wire_len()`;
//! * [`parse`] never panics and never reads beyond the packet.
//!
//! Pure: `no_std`, no I/O. Emitting and parsing an ordinary segment allocates nothing but the output.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

pub mod checksum;
mod emit;
mod error;
mod ipv4;
mod ipv6;
mod join;
mod parse;
mod patch;
mod pattern;
pub mod pcapng;
mod plan;
mod tcp;

pub use emit::emit;
pub use error::ParseError;
pub use join::join;
pub use parse::parse;
pub use patch::patch;
pub use pattern::Pattern;
pub use plan::{AddressPlan, PlanError};

//! The bijection between [`forebay_base::Packet`] and bytes, and captures in pcapng.
//!
//! Properties, each checked by a test:
//! * `parse(emit(p)) == p` for every packet that can be built: what a machine reads, a wire
//!   carries;
//! * `emit(parse(b)) == b` for every accepted `b`: foreign options, odd padding, reserved bits and
//!   foreign protocols pass verbatim;
//! * `emit(p).len() == p.wire_len()`;
//! * [`parse`] never panics and never reads beyond the packet.
//!
//! ```
//! use forebay_base::{Addr, Arena, Endpoint, IpVersion, Packet, TcpFields};
//! use forebay_wire::{AddressPlan, emit, parse};
//!
//! let (plan, mut arena) = (AddressPlan::default(), Arena::default());
//! let end = |id, port| Endpoint { addr: Addr(id), port };
//! let packet = Packet::tcp(IpVersion::V4, end(1, 5001), end(2, 80), TcpFields::default(), 1460);
//! let mut bytes = Vec::new();
//! emit(&packet, &arena, &plan, &mut bytes)?;
//! assert_eq!((bytes.len(), &bytes[12..16]), (1500, &[10, 0, 0, 1][..]));
//! assert_eq!(parse(&bytes, &plan, &mut arena)?.digest(&arena), packet.digest(&arena));
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! Pure: `no_std`, no I/O. Emitting and parsing an ordinary segment allocates nothing but the
//! output.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod answer;
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
mod prefix;
mod tcp;

pub use answer::{Trouble, echo_reply, icmp_error, protocol_of, reset};
pub use emit::{emit, emit_payload};
pub use error::ParseError;
pub use join::join;
pub use parse::parse;
pub use patch::patch;
pub use pattern::Pattern;
pub use plan::{AddressPlan, PlanError};
pub use prefix::{Prefix, PrefixError};

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

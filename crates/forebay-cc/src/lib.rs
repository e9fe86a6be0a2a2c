//! Congestion control: what a path may send, and what a receiver feeds back. One file per
//! algorithm.
//!
//! Pure: `no_std`, no clock, no I/O. Knows nothing of connections: an algorithm is testable with no
//! transport.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

// First: its macros forward the calls in `any`.
#[macro_use]
mod table;

#[cfg(test)]
mod bottleneck;
mod controller;
mod coupled;
mod extreme;
mod feedback;
mod idle_restart;
#[cfg(test)]
mod testbed;
mod ticks;

pub mod bbr;
pub mod bbr1;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod hystart;
pub mod inrpp;
pub mod kickass;
pub mod ledbat;
pub mod lia;
pub mod newreno;
pub mod olia;
pub mod pcc;
pub mod rcp;
pub mod sprout;
pub mod vegas;
pub mod verus;

pub use controller::{
    Ack, AckPolicy, Congestion, CongestionCause, Controller, Delivered, EcnPolicy, HeaderEdits,
    Init, Limits, Loss, LossPolicy, NextPacket, RateSample, Recovered, RecoveryOwner, RttView,
    Sent, SeriesSample, Sibling, StampedIp, Tag, Timeout, Traits,
};
pub use feedback::{AckDemand, DatagramView, Feedback, PieceView, TcpHead};
pub use forebay_base::{ParamError, require};
pub use table::{AnyController, AnyFeedback, Entry, Spec, TABLE};

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

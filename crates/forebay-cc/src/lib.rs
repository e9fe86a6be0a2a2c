//! Congestion control: what a path may send, and what a receiver tells back. One file per algorithm.
//!
//! Pure: `no_std`, no clock, no I/O. Knows nothing of connections: an algorithm is testable with no transport.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod any;
mod controller;
mod feedback;

pub use any::{AnyController, AnyFeedback};
pub use controller::{
    Ack, AckPolicy, Congestion, CongestionCause, Controller, Delivered, Init, Limits, Loss,
    LossPolicy, NextPacket, Observation, RateSample, Recovered, RecoveryOwner, RttView, Sent,
    Sibling, Stamp, Tag, Timeout,
};
pub use feedback::{AckDemand, DatagramView, Feedback, PieceView};

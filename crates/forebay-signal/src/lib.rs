//! What end points and routers of one scheme write for each other into packets, one file per
//! scheme: `forebay-cc` and `forebay-queue` or `forebay-router` do not know each other, and both
//! speak it.
//!
//! A format knows no machine. Senders and receivers make the room, routers overwrite what stands
//! there.
//!
//! Pure: `no_std`, no clock, no I/O, no globals, no operating-system randomness.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod inrpp;
pub mod kickass;
pub mod rcp;
pub mod sprout;

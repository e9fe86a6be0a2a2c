//! The scripts of loss recovery once more, with timestamps: each of them holds with and without.
#![allow(clippy::duplicate_mod)] // each script has helpers of its own

#[path = "newreno.rs"]
mod newreno;
#[path = "prr.rs"]
mod prr;
#[path = "rack.rs"]
mod rack;
#[path = "rto.rs"]
mod rto;
#[path = "sack.rs"]
mod sack;

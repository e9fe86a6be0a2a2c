//! The scripts of loss recovery once more, with timestamps: each of them holds with and without.

#[path = "../segments/common/mod.rs"]
mod common;
#[path = "../segments/newreno.rs"]
mod newreno;
#[path = "../segments/prr.rs"]
mod prr;
#[path = "../segments/rack.rs"]
mod rack;
#[path = "../segments/rto.rs"]
mod rto;
#[path = "../segments/sack.rs"]
mod sack;

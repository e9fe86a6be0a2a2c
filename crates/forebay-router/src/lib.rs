//! Forwarding at a node: plain IP forwarding, and the door for machines that hold caches.
//!
//! Pure: `no_std`, no clock, no I/O.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod forwarding;
pub mod inrpp;
mod plain;
mod routes;
mod shortest_paths;
mod table;

pub use forwarding::{
    Forwarding, NodeContext, Ports, RouterInit, RouterPort, RouterSettings, Sends, Verdict, Work,
};
pub use plain::PlainIp;
pub use routes::{RouteKey, Routes};
pub use shortest_paths::{Edge, EqualCosts, MAX_TREES, RouteRule, ShortestPaths};
pub use table::{AnyForwarding, ForwardingSpec, MakeRouter, ROUTERS, RouterEntry};

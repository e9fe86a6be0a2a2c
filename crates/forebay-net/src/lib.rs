//! The parts of a network: links, ports, hosts, routers, routes; and [`NetSpec`], which says what to build.
//!
//! Pure: `no_std`, no clock, no I/O. Both drivers, the simulator and the live data path, run these machines.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod channel;
mod spec;

pub use channel::{AnyChannel, Channel, ConstantRate, DeliveryTrace, TraceChannel, TraceError};
pub use spec::{
    ChannelSpec, EventSpec, FlowSpec, ForwardingSpec, LinkSpec, NetEvent, NetSpec, NodeKind,
    NodeSpec, QueueSpec, SpecError, TransportSpec,
};

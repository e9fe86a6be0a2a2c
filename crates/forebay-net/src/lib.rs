//! The parts of a network: links, hosts, routers, routes; [`NetSpec`], which says what to build;
//! and [`Fabric`], which moves packets between them.
//!
//! Pure: `no_std`, no clock, no I/O. Both drivers, the simulator and the live data path, run these
//! machines.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod app;
mod build;
mod channel;
mod early_transit;
mod fabric;
mod followers;
mod host;
mod life;
mod link;
mod node;
mod ports;
mod reassembly;
mod spec;
mod workload;

pub use build::{HostBuilder, Network, Place, unfit_prefix};
pub use channel::{
    AnyChannel, BucketSpec, CHANNEL_PROFILES, Channel, ChannelModel, ChannelProfile, ConstantRate,
    DeliveryTrace, DeliveryTraceBuilder, Phy, RadioLink, TokenBucket, TraceChannel, TraceError,
    Wifi,
};
pub use early_transit::{EarlyTransitPlan, Guard, Guards, Ineligible, LinkEarlyTransit};
pub use fabric::{
    AnswerCounts, Conservation, Deadline, Driver, DriverError, Fabric, Horizon, MAX_ANSWERS_PER_S,
    Mail, PacketEvent, given_back_after,
};
pub use followers::in_a_circle;
pub use host::{EndId, Host, HostContext, Received, Socket};
pub use life::{After, AppSchedule, TimeDistribution, Writing};
pub use link::{
    AnyLink, Buckets, FifoLink, Fragments, Impairment, Lateness, LinkStats, LossModel,
    MiddleboxCounts, MiddleboxSpec, Outage, QueuedLink, StripOptions, WireSpec,
};
pub use node::Node;
pub use ports::PortTable;
pub use reassembly::{DATAGRAM_MEMORY, Reassembly, ReassemblyLimits, piece_memory};
pub use spec::{
    ChannelSpec, EqualCosts, EventSpec, FlowSpec, ForwardingSpec, Knowledge, Limit, LinkSpec, Look,
    MAX_TREES, MakeDiscipline, NetEvent, NetSpec, NodeKind, NodeSpec, Prefix, QueueSpec, Replay,
    RouteRule, SchemeSpec, SpecError, SpoofedPacket, TransportSpec,
};
pub use workload::{FIRST_PORT, PORTS_PER_ADDRESS, PathPlan, Workload};

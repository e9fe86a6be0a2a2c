//! What every other crate uses: time, rates, identifiers, random streams, and the packet.
//!
//! Pure: `no_std`, no clock, no I/O, no globals, no operating-system randomness.
#![no_std]
#![forbid(unsafe_code)]
extern crate alloc;

mod digest;
mod drops;
mod fragment;
mod histogram;
mod ids;
mod options;
mod packet;
mod rate;
mod rng;
mod seq;
mod table;
mod time;
pub mod units;

pub use digest::{Digest, mix64};
pub use drops::{DropLog, DropReason};
pub use fragment::{
    CutError, PIECE_UNIT_BYTES, Uncut, cut_ipv4, cut_ipv6, payload_within, place_of,
};
pub use histogram::Histogram;
pub use ids::{Addr, Ecn, Endpoint, FlowId, IpVersion, LinkId, NodeId, PortId, SocketId};
pub use options::{
    MAX_OPTION_BYTES, OptionError, OptionList, SackBlock, SackBlocks, TcpOption, TcpOptions, kind,
};
pub use packet::{
    Arena, BodyCounts, Cold, FRAGMENT_HEADER_BYTES, FragmentRange, Handle, IPV4_HEADER_BYTES,
    IPV6_HEADER_BYTES, Kind, MAX_TTL, Packet, PacketRing, PacketTransfer, Signature, TcpFields,
    TcpFlags,
};
pub use rate::{Rate, Serializer};
pub use rng::{Rng, Stream, normal};
pub use seq::{narrow, seq_lt, widen};
pub use table::{ParamError, Params, head_comment, require};
pub use time::{Span, Time};

/// The examples of README.md, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

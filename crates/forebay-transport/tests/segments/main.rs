//! Connections segment by segment: scripts after the RFCs, and properties that hold on any wire.

mod acks;
mod chaos;
mod common;
mod contract;
mod dctcp;
mod ecn;
mod gap;
mod handshake;
mod inrpp;
mod mptcp;
mod mptcp_fallback;
mod mptcp_tshark;
mod newreno;
mod pacing;
mod paths;
mod presets;
mod prr;
mod rack;
mod rto;
mod sack;
mod write;

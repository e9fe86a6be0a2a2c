//! What end points and routers of one scheme write for each other into packets: the formats that both sides speak.
//!
//! A format knows no machine. Senders and receivers make the room, routers overwrite what stands there.

pub mod inrpp;
pub mod rcp;

//! The port of Kick-Ass with senders made of nothing but arithmetic.

#![allow(clippy::print_stdout, reason = "figures, for people")]

mod histories;
mod paced;

use forebay_base::{Addr, Arena, Endpoint, IpVersion, Packet, Rate, Rng, Stream, TcpFields};
use forebay_queue::{Limit, PortInit};

/// A segment of `bytes` of flow `flow`, without DF.
fn segment(flow: u32, number: u16, bytes: u16, arena: &mut Arena) -> Packet {
    let end = |addr, port| Endpoint { addr: Addr(addr), port };
    let ends = (end(flow, 5000), end(900, 80));
    let mut packet = Packet::tcp(IpVersion::V4, ends.0, ends.1, TcpFields::default(), bytes - 40);
    packet.set_dont_fragment(false);
    packet.cold_mut(arena).ip_id = number.into();
    packet
}

fn init(rate: Rate, limit: Limit, seed: u64) -> PortInit {
    let rng = Rng::new(seed, Stream::PortScheme, 0);
    PortInit { limit, rate, mtu_bytes: 1500, overhead_bytes: 0, rng }
}

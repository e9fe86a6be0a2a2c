//! What a fluid model with max-min fair sharing would have done with the same flows.
//!
//! The yardstick is a fluid that is shared max-min fair at every moment (processor sharing): no
//! slow start, no queues, no losses. It carries what packets carry: payload, headers, what links
//! add to each packet, and ACKs on the return path; a flow starts to send when its handshake is
//! over, and its last byte arrives after the propagation and storing of its last packet. What it
//! ignores: losses on wires and their repair, jitter of links, SACK blocks, the ACK that ends the
//! handshake, probes.
//!
//! Under [`Mode::SinglePath`] a flow keeps to the route of the simulation. Under [`Mode::Pooled`]
//! what is on a link u-v between routers may also go u-x-v, for every router x next to both that
//! has detours in the run, as u has, in any split; a packet on a detour is longer by its tag, and
//! takes no second one. A flow still has one rate from end to end. A network with caches is freer
//! than that: it may carry bytes of a flow over its first links before there is room on the last.
//! That moves bytes, not completion: what a flow's last link delivers is bounded all the same.
//!
//! A flow over several paths splits its data over them as suits all flows best: what is max-min
//! fair is the sum over its paths. It sends on all of them when the handshake of the first is over.
//!
//! Max-min is about payload: two flows on one full link get the same goodput, though their headers
//! differ. Where the ACKs of a flow meet the data of others, they take the room that they need, and
//! data shares what is left; if they need more of a full link than a data flow has, the reference
//! is "approx".
//!
//! Read in this order: `packet_cost`, `routes` (from a spec to a fluid), `sharing` (events),
//! `two_way`, `max_min`, `cluster` and `split` (rates), `known` (what has been worked out before).

#![forbid(unsafe_code)]

mod cluster;
mod known;
mod load;
mod max_min;
mod outcome;
mod packet_cost;
mod routes;
mod sharing;
mod split;
mod two_way;

use forebay_scenario::Registry;

pub use known::ReferenceCache;
pub use load::{Demand, Detour, Use};
pub use max_min::MaxMin;
pub use packet_cost::PacketCost;
pub use sharing::{Change, Fluid, FluidFlow, Horizon, Look, Served};
pub use split::{Split, SplitDemand, split};

pub use outcome::{Reference, Wanted, fluid_reference};

pub use forebay_scenario::ReferenceMode as Mode;

/// Reference for flows of that algorithm: as its bundle says.
pub fn mode_of(registry: &Registry, algorithm: &str) -> Mode {
    let entry = registry.algorithm(algorithm);
    entry.map_or(Mode::SinglePath, |entry| entry.bundle().reference)
}

/// Why there is no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoReference(pub &'static str);

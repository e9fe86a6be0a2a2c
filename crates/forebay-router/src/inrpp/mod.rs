//! INRPP: in-network resource pooling (Rene, Ascigil, Psaras, Pavlou, IEEE/ACM Transactions on
//! Networking 2021, doi:10.1109/TNET.2021.3128384).
//!
//! A router keeps what a link cannot take at once in a cache, sends it in turns over the link and
//! over detours of one hop, and when the cache fills asks those upstream for one packet per ACK.
//! [`Inrpp`] is the router: it reads packets, and owns per port an [`Interface`], the machine with
//! the states, and one machine for the detours of the node.

mod attained;
mod cache;
mod credits;
pub mod detour;
mod express;
mod flow_table;
mod guard;
mod interface;
mod key;
mod lists;
mod log;
mod remembered;
mod router;
mod settings;
mod signals;
mod spec;
mod state;

#[cfg(test)]
mod express_tests;
#[cfg(test)]
mod interface_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod states_tests;

pub use cache::Cached;
pub use credits::Arrived;
pub use interface::{Interface, Kept};
pub use key::{Class, FlowKey};
pub use log::{FlowTotals, InterfaceView};
pub use router::{Inrpp, PortInfo};
pub use settings::{CacheLimits, CacheSize, Crowd, LinkSecrets, PortCache, Settings, TurnOrder};
pub use state::State;

/// The earlier of two deadlines, where there are any.
#[inline]
fn earliest<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

//! Maps of networks: routers, links and demands, without queues or protocols.
//!
//! [`read`] takes the text of a map file, [`Generator`] makes a map; [`Map::largest_component`] and
//! [`Map::reduced`] cut one, [`Properties`] and [`Detours`] measure it, [`positions`] lays it out.

#![forbid(unsafe_code)]

mod detours;
mod generate;
mod graph;
mod layout;
mod map;
mod names;
mod properties;
mod read;
mod reduce;

pub use detours::{Convention, Detours};
pub use generate::{Generator, GeneratorError, MAX_DEGREE};
pub use layout::positions;
pub use map::{MAX_LINKS, MAX_NODES, Map, MapDemand, MapLink, MapNode, Role};
pub use properties::Properties;
pub use read::{MapError, ReadOptions, read};
pub use reduce::Reduction;

//! Routes of flows, for what follows from them before a network is built.

use crate::{Link, Node};
use forebay_router::ShortestPaths;

/// The paths that the network will have.
pub(crate) fn shortest_paths(nodes: &[Node], links: &[Link]) -> ShortestPaths {
    ShortestPaths::new(
        nodes.iter().map(|node| !node.is_host),
        links.iter().map(|link| [link.a, link.b]),
    )
}

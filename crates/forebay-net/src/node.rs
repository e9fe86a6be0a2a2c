//! A node of a network, built.

use crate::host::Host;
use forebay_router::AnyForwarding;

/// A node, built.
pub enum Node {
    /// Has sockets.
    Host(Host),
    /// Forwards.
    Router(AnyForwarding),
    /// In another partition.
    Elsewhere,
}

impl Node {
    /// The host at an end of a flow.
    pub(crate) fn host_mut(&mut self) -> &mut Host {
        match self {
            Node::Host(host) => host,
            Node::Router(_) | Node::Elsewhere => unreachable!("checked to be a host"),
        }
    }
}

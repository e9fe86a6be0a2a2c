//! Errors of input that a fabric refuses from its driver.

use core::fmt;
use forebay_base::{LinkId, NodeId, PortId, Time};

/// Why a fabric does not take a packet or an event from its driver. Nothing has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DriverError {
    /// Packets enter over links that begin elsewhere and end here; this one does not.
    NotAnEntry(LinkId),
    /// The node is not here, or has no such port.
    NoPort(NodeId, PortId),
    /// The node is not here.
    NoNode(NodeId),
    /// Early transit may have acted until this time, which is after the packet or event.
    LookedAhead(Time),
    /// No event of the spec names this link, so it was built not to change; or it is not here.
    CannotChange(LinkId),
    /// The link does not leave from here, or the fabric was not built for real wires: there is no
    /// carrier to lose.
    NoRealWire(LinkId),
    /// No event of the spec changes this route of the node, and early transit relies on it.
    FixedRoute(NodeId),
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            DriverError::NotAnEntry(link) => {
                write!(f, "link {} does not lead into this part of the network", link.0)
            }
            DriverError::NoPort(node, port) => {
                write!(f, "node {} is not here, or has no port {}", node.0, port.0)
            }
            DriverError::NoNode(node) => write!(f, "node {} is not here", node.0),
            DriverError::LookedAhead(horizon) => {
                write!(f, "too late: early transit may have acted until {horizon}")
            }
            DriverError::CannotChange(link) => {
                write!(f, "link {} was built not to change: no event of the spec names it", link.0)
            }
            DriverError::NoRealWire(link) => {
                write!(f, "link {} leaves over no real wire that could be lost", link.0)
            }
            DriverError::FixedRoute(node) => {
                write!(f, "no event of the spec changes this route of node {}", node.0)
            }
        }
    }
}

impl core::error::Error for DriverError {}

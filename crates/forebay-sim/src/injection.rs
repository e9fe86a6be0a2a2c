//! Packets from outside the network, and what becomes of the wires there.

use forebay_base::{LinkId, NodeId, PortId, Time};

/// A packet that enters the network from outside. It comes to `node` as if on its port `port`.
pub struct Injection {
    /// When.
    pub at: Time,
    /// Where.
    pub node: NodeId,
    /// The input port.
    pub port: PortId,
    /// Its bytes from the IP header on. Bytes that cannot be parsed under the address plan of the
    /// run are dropped.
    pub bytes: Vec<u8>,
}

/// What comes from outside, and where.
pub(crate) enum Door {
    /// A packet comes to a node, as if on this port.
    Port(NodeId, PortId),
    /// A host elsewhere puts a packet on this link.
    Queue(LinkId),
    /// The carrier of the wire that this link leaves over is lost, or back (true).
    Carrier(LinkId, bool),
}

/// What will come from outside.
pub(crate) struct Entrant {
    pub at: Time,
    pub door: Door,
    /// The packet, if it is one.
    pub bytes: Vec<u8>,
}

impl From<&Injection> for Entrant {
    fn from(injection: &Injection) -> Entrant {
        let &Injection { at, node, port, ref bytes } = injection;
        Entrant { at, door: Door::Port(node, port), bytes: bytes.clone() }
    }
}

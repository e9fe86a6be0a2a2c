//! Packets from outside the network.

use forebay_base::{NodeId, PortId, Time};

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

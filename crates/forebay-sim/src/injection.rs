//! Packets from outside the network.

use forebay_base::{NodeId, PortId, Time};

/// A packet that enters the network from outside: it comes to `node` as if from its port `port`.
pub struct Injection {
    /// When.
    pub at: Time,
    /// Where.
    pub node: NodeId,
    /// The port of that node that it seems to come from.
    pub port: PortId,
    /// Its bytes from the IP header on; they must parse under the address plan of the run.
    pub bytes: Vec<u8>,
}

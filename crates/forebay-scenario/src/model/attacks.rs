//! Packets that somebody forges.

use forebay_base::{FlowId, NodeId, Span, Time};
use forebay_net::Knowledge;

/// Packets that somebody forges at regular times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attack {
    /// The host that sends them, or the router to which they come.
    pub from: NodeId,
    /// The flow that they claim to be of.
    pub flow: FlowId,
    /// When the first is sent.
    pub start: Time,
    /// Time between two.
    pub every: Span,
    /// How many.
    pub count: u32,
    /// Bytes of each after the IP header.
    pub lead_bytes: u16,
    /// Knowledge of the attacker.
    pub knows: Knowledge,
}

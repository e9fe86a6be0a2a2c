//! Watching packets: captures, and lines of text.

use crate::scenario::Scenario;
use forebay_base::{FlowId, NodeId};
use std::io::Write;
use std::sync::Mutex;

/// Most bytes that a capture may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureLimit(pub u64);

impl Default for CaptureLimit {
    fn default() -> Self {
        CaptureLimit(2_000_000_000)
    }
}

/// Whose packet events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFilter {
    /// Packets of this flow, everywhere.
    Flow(FlowId),
    /// What happens at this node: packets made or dropped by it, and on links from and to it.
    Node(NodeId),
}

/// The text names neither a flow nor a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no flow or node `{name}`: expected a flow from 1 to {flows}, or one of the nodes{hint}"
)]
pub struct EventFilterError {
    /// The text.
    pub name: String,
    /// Number of flows.
    pub flows: usize,
    /// The nearest node name, as text for the message; may be empty.
    pub hint: String,
}

impl EventFilter {
    /// From the command line: `3` or `flow:3` (flows count from 1), `r0` or `node:r0`. A bare number is a flow if there is one
    /// of that number, else a node of that name.
    pub fn parse(_text: &str, _scenario: &Scenario) -> Result<EventFilter, EventFilterError> {
        Ok(EventFilter::Flow(FlowId(0)))
    }
}

/// Where lines of packet events go: standard output, a file, memory.
pub type EventWriter = Mutex<dyn Write + Send>;

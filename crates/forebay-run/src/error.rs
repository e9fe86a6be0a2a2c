//! Why a run has no result.

use forebay_net::{NetSpec, SpecError};
use forebay_scenario::ScenarioError;
use forebay_scenario::memory_estimate::NotEnoughMemory;
use forebay_sim::ConservationError;
use std::error::Error;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario cannot be run under this protocol.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The network cannot be built: why in the names of the scenario, and the error.
    #[error("the network cannot be built: {0}")]
    Network(String, SpecError),
    /// It needs more memory than there is.
    #[error(transparent)]
    Memory(NotEnoughMemory),
    /// It was stopped.
    #[error("the run was stopped")]
    Cancelled,
    /// A [`Recorder`](crate::Recorder) failed.
    #[error(transparent)]
    Record(Box<dyn Error + Send + Sync>),
    /// Packet events cannot be written.
    #[error("cannot write packet events: {0}")]
    Events(#[source] std::io::Error),
    /// Sent + split = delivered + dropped + held does not hold, so its numbers mean nothing; and
    /// how to see it again.
    #[error("{0}. This is a bug of Forebay {v}. See it again with: {1}", v = VERSION)]
    ConservationError(ConservationError, String),
    /// It panicked. Other runs of a batch go on.
    #[error(
        "the run panicked: {message}. This is a bug of Forebay {v}, or of a scheme that was \
         registered. See it again with: {again}",
        v = VERSION
    )]
    Panicked {
        /// The protocol.
        protocol: String,
        /// The seed.
        seed: u64,
        /// The message of the panic.
        message: String,
        /// A command that shows it again.
        again: String,
    },
}

impl RunError {
    /// A network that cannot be built.
    pub(crate) fn network(error: SpecError, spec: &NetSpec) -> RunError {
        RunError::Network(describe(&error, spec), error)
    }
}

/// A spec error in the names of the scenario.
fn describe(error: &SpecError, spec: &NetSpec) -> String {
    let node = |id: &forebay_base::NodeId| spec.nodes[id.index()].name.as_str();
    match error {
        SpecError::Unsound { part, index, why } => format!("{part} {}: {why}", index + 1),
        SpecError::NoRoute { flow, from, to } => {
            format!("flow {}: no route from `{}` to `{}`", flow.0 + 1, node(from), node(to))
        }
        SpecError::TooManyAddresses(n) => {
            format!("{n} addresses are more than IPv4 has room for; set ip_version = 6")
        }
        SpecError::HostWithoutLink(host) => format!("the host `{}` has no link", node(host)),
        SpecError::NotAHost { flow, node: end } => {
            format!("flow {}: `{}` is no host, or both its ends are", flow.0 + 1, node(end))
        }
        SpecError::AppSchedule { flow, why } => format!("flow {}: {why}", flow.0 + 1),
        SpecError::SpoofedPacket(flow) => {
            let text = "forged fragments are IPv4, of a multiple of 8 bytes from 24 to 1480";
            format!("flow {}: {text}", flow.0 + 1)
        }
        SpecError::RateOfTrace(link) => {
            let link = &spec.links[link.index()];
            let (from, to) = (node(&link.from), node(&link.to));
            format!(
                "an event sets the rate of the link from `{from}` to `{to}`, which follows a trace"
            )
        }
    }
}

//! Attacks on flows.

use forebay_base::{FlowId, NodeId, Span, Time};
use forebay_cc::inrpp::Misbehaviour;
use forebay_net::{Knowledge, Look};

/// An attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attack {
    /// The host or router where it comes from.
    pub from: NodeId,
    /// The flow that it is about.
    pub flow: FlowId,
    /// What is done.
    pub what: AttackKind,
}

/// What an attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttackKind {
    /// Forged packets at regular times.
    Forge {
        /// When the first is sent.
        start: Time,
        /// Time between two.
        every: Span,
        /// How many.
        count: u32,
        /// What each looks like.
        look: Look,
        /// Knowledge of the attacker.
        knows: Knowledge,
    },
    /// An end of the flow breaks the rules.
    Misbehave(Misbehaviour),
}

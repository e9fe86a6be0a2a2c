//! Attacks on flows.

use forebay_base::{FlowId, LinkId, NodeId, Span, Time};
use forebay_cc::inrpp::Misbehaviour;
use forebay_net::{Knowledge, Look};
use forebay_signal::inrpp::BackPressureSignal;
use forebay_signal::inrpp::guard::Carrier;

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
    /// Packets with a signal are recorded on a link, and sent again there at regular times.
    Replay {
        /// When the first is sent again.
        start: Time,
        /// Time between two.
        every: Span,
        /// How many.
        count: u32,
        /// The direction of the link.
        link: LinkId,
        /// The signal.
        ask: BackPressureSignal,
        /// Time since it passed, at least.
        age: Span,
    },
    /// An end of the flow breaks the rules.
    Misbehave(Misbehaviour),
}

impl Attack {
    /// When the first packet is forged.
    pub(crate) fn start(&self) -> Option<Time> {
        match self.what {
            AttackKind::Forge { start, .. } | AttackKind::Replay { start, .. } => Some(start),
            AttackKind::Misbehave(_) => None,
        }
    }
}

impl AttackKind {
    /// Noun for one of what it is: a forged packet, a replay, an end of the flow.
    pub fn noun(&self) -> &'static str {
        match self {
            AttackKind::Forge { look: Look::Fragment { .. }, .. } => "first fragment",
            AttackKind::Forge { look: Look::Notice { carrier: Carrier::Ack, .. }, .. } => "ACK",
            AttackKind::Forge { look: Look::Notice { .. }, .. } => "notice",
            AttackKind::Replay { .. } => "replay",
            AttackKind::Misbehave(Misbehaviour::None) => "honest end",
            AttackKind::Misbehave(Misbehaviour::GreedySender) => "greedy sender",
            AttackKind::Misbehave(Misbehaviour::SplitAcks(_)) => "receiver that splits ACKs",
            AttackKind::Misbehave(Misbehaviour::ForgingReceiver(_)) => {
                "receiver that forges signals"
            }
        }
    }
}

//! Packets that somebody forges: the list `attacks`.

use crate::format::fault::Fault;
use crate::format::fields::{
    Field, Fields, Section, Spanned, names, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use forebay_base::Span;
use forebay_net::Knowledge;

names! {
    Knowledge {
        Receiver = "receiver",
        Addresses = "addresses",
        Ports = "ports",
        Sequence = "sequence",
    }
}

sections! {
    /// An attack: first fragments of IPv4 datagrams that claim to belong to a flow, and whose other
    /// fragments never arrive.
    pub struct AttackEntry {
        required {
            /// The host that sends them over its first link, or the router at which they enter from
            /// outside. Example: "r0".
            from: String,
            /// The flow that they claim to belong to, by its number in results. Example: 1.
            flow: u32,
        }
        optional {
            /// Time of the first fragment. Default: "0s".
            start: Span,
            /// Time between two fragments. Default: "10ms".
            every: Span,
            /// Number of fragments. Default: 1. Example: 1000.
            count: u32,
            /// Bytes of each fragment after the IP header. Range: a multiple of 8 from 24 to 1480.
            /// Default: 24.
            lead_bytes: u16,
            /// What the attacker knows of the flow: its "receiver" (the address of the sender is
            /// random), both "addresses", the "ports" as well, or the "sequence" number that the
            /// receiver expects next as well. Default: "receiver".
            knows: Knowledge,
        }
    }
}

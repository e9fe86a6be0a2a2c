//! Attacks: the list `attacks`.

use crate::format::fault::Fault;
use crate::format::fields::{
    Field, Fields, Section, Spanned, choices, names, property, read_section, section_schema,
    sections,
};
use crate::format::item::{Item, Value};
use forebay_base::Span;
use forebay_net::Knowledge;
use forebay_signal::inrpp::BackPressureSignal;

names! {
    Knowledge {
        Receiver = "receiver",
        Addresses = "addresses",
        Ports = "ports",
        Sequence = "sequence",
    }
    BackPressureSignal {
        Nothing = "nothing",
        SlowDown = "slow-down",
        Cancel = "cancel",
        Pause = "pause",
    }
}

choices! {
    /// What an attacker does.
    pub(crate) enum AttackName {
        /// First fragments whose other fragments never arrive.
        Fragments = "fragments",
        /// ACKs with signals of an INRPP router.
        Acks = "acks",
        /// Packets of the sender with signals of an INRPP router, as notices on data.
        Notices = "notices",
        /// Packets with signals of an INRPP router, recorded on a link and sent again there.
        Replay = "replay",
        /// A sender of INRPP that does not listen.
        GreedySender = "greedy-sender",
        /// A receiver that acknowledges each packet in several parts.
        SplitAcks = "split-acks",
        /// A receiver of INRPP that puts signals on its ACKs.
        ForgingReceiver = "forging-receiver",
    }
}

sections! {
    /// An attack on a flow: packets that claim to belong to it, or one of its ends that breaks the
    /// rules.
    pub struct AttackEntry {
        required {
            /// The host that sends forged packets over its first link, or the router at which they
            /// enter from outside; or the end that breaks the rules; or the end of `link` that has
            /// sent what is replayed. Example: "r0".
            from: String,
            /// The flow, by its number in results. Example: 1.
            flow: u32,
        }
        optional {
            /// Forged packets: IPv4 "fragments" of which the first alone is sent, "acks" or
            /// "notices" (on data) with signals of an INRPP router. "replay": such packets,
            /// recorded on a link, are sent there again. Ends of INRPP flows: a
            /// "greedy-sender" ignores all signals, a receiver uses "split-acks", a
            /// "forging-receiver" writes signals into its ACKs. Default: "fragments".
            kind: AttackName,
            /// Time of the first forged or replayed packet. Default: "0s".
            start: Span,
            /// Time between two of them. Default: "10ms".
            every: Span,
            /// Number of them. Default: 1. Example: 1000.
            count: u32,
            /// Bytes of each fragment after the IP header. Range: a multiple of 8 from 24 to 1480.
            /// Default: 24.
            lead_bytes: u16,
            /// What the maker of forged packets knows of the flow: the "receiver" of the packet
            /// (the address of the sender is random), both "addresses", the "ports" as well, or the
            /// "sequence" numbers that both ends expect next as well. Default: "receiver".
            knows: Knowledge,
            /// Signal that is forged or replayed: "slow-down", "pause", "cancel" or "nothing"; the
            /// last two with an allowance of 63 packets if a receiver forges them, which also
            /// claims to be behind 255 routers. Default: "slow-down"; of a receiver, "cancel".
            ask: BackPressureSignal,
            /// ACKs for each packet. Range: 2 to 64. Default: 8.
            parts: u8,
            /// The link on which packets are recorded and replayed, by name; a replay needs it.
            /// Example: "r1-r2".
            link: String,
            /// Time, at least, from a packet to its replay: the last packet that is as old is
            /// replayed. Default: "0s".
            age: Span,
        }
    }
}

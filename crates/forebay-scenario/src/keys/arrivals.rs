//! When the flows of a group arrive, and between which hosts: the keys `arrivals` and `pairs` of
//! flows.

use crate::format::fault::Fault;
use crate::format::fields::{
    Field, Fields, Section, Spanned, choices, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use crate::format::units::Number;
use forebay_base::{Rate, Span};

choices! {
    /// A process of arrivals.
    pub enum Process {
        /// Poisson, with nothing in progress at its start.
        Poisson = "poisson",
        /// Poisson Pareto burst process: the same, in its steady state from its start on.
        Ppbp = "ppbp",
    }
    /// Who talks to whom in a group of flows.
    pub enum Pairs {
        /// The hosts with the number of the flow.
        Numbered = "numbered",
        /// The sender with the number of the flow, and receivers in random order, each once.
        Permuted = "permuted",
        /// For each flow a random sender and a random receiver of all that match.
        Random = "random",
    }
}

sections! {
    /// The flows of a group arrive one after the other as a random process, at a rate given by one
    /// of `load` and `per_s`.
    pub struct ArrivalsTable {
        required {}
        optional {
            /// "poisson": independent exponential times between arrivals, the first of them after
            /// `start`. "ppbp", a Poisson Pareto burst process: the same in its steady state from
            /// `start` on; needs `write.rate`, the rate of a burst, and a size, its length times
            /// that rate. Bursts in progress at `start` have random remainders of their sizes.
            /// Default: "poisson".
            process: Process,
            /// Load offered by the flows of the group, as a share of the rate of `link` or of `of`.
            /// Counted are the mean size, as limited by `max`, and headers of TCP and IP without
            /// options; retransmissions, ACKs and handshakes are not. Whether flows take that link
            /// is not looked at. Range: more than 0, at most 1000. Example: 0.8.
            load: Number,
            /// Link whose rate from `a` to `b` is the capacity that `load` is a share of. Example:
            /// "left-right".
            link: String,
            /// Capacity that `load` is a share of, in place of that of a link. Example:
            /// "10Mbit/s".
            of: Rate,
            /// Mean number of arrivals in a second, in place of `load`. Range: more than 0,
            /// at most 1e9. Example: 25.
            per_s: Number,
            /// Flows due at this time or later do not arrive. Needs `until_s`. Example: "100s".
            until: Span,
            /// If true, each router with senders of the group has a process of its own, each of
            /// this load. Default: false.
            per_router: bool,
            /// Number of the random stream; processes of the same number have the same random
            /// numbers. With `per_router` that of the first router; each further one has the next.
            /// Default: one that no other group has.
            stream: u32,
            /// Place in the process of the group's first flow. Default: 0.
            number: u32,
        }
    }
}

//! What tables and JSON show besides the metrics: completed flows, drops, the reference.

use super::doc::{Counted, MetricDoc, Unit, aside};
use super::table::METRICS;

/// A name in results or in the table that is not a metric.
#[derive(Clone, Copy, Debug)]
pub struct ResultDoc {
    /// The key in JSON.
    pub name: &'static str,
    /// The row or the column of the table.
    pub label: &'static str,
    /// Where it is in JSON.
    pub place: &'static str,
    /// What it is.
    pub meaning: &'static str,
}

/// What tables and JSON show besides [`METRICS`](super::METRICS).
pub const RESULTS: &[ResultDoc] = &[
    ResultDoc {
        name: "completed",
        label: labels::COMPLETED,
        place: ".runs[].completed, .aggregate[].completed",
        meaning: "Flows whose last byte was in order at the receiver before the run ended. The \
                  table gives them of those that have a size, over all seeds.",
    },
    ResultDoc {
        name: "drops",
        label: "drops",
        place: ".runs[].drops and .aggregate[].drops, by reason",
        meaning: "Packets that the network dropped in the whole run, acknowledgments as well, by \
                  reason. The table has a row for each reason that any run had, such as \"drops \
                  (queue full)\"; \"drops (AQM)\" are those of a discipline (`early`).",
    },
    ResultDoc {
        name: "trace_hash",
        label: "trace hash (first seed)",
        place: ".runs[].trace_hash",
        meaning: "64 bits, in hexadecimal, over all packets on all links in their order, with \
                  their times. Two runs with the same hash did the same. The table has that of the \
                  first seed.",
    },
    ResultDoc {
        name: "afct_ratio",
        label: labels::AFCT_RATIO,
        place: ".runs[].reference.afct_ratio, .aggregate[].reference.afct_ratio",
        meaning: "Mean flow completion time by that of the reference, both over the flows that \
                  complete in both. The reference is a fluid model with max-min fair sharing: to \
                  compare with, and no bound.",
    },
    ResultDoc {
        name: "reference",
        label: labels::REFERENCE_AFCT,
        place: ".runs[].reference.afct_s, .aggregate[].reference.afct_s",
        meaning: "Mean flow completion time of the same flows in a fluid model with max-min fair \
                  sharing, without slow start, queues and losses.",
    },
];

/// Subjects of expectations besides [`METRICS`](super::METRICS): one number of each run.
const COUNTS: &[MetricDoc] = &[
    count("completed", Counted::Completed, "flows that completed"),
    count("drops", Counted::Drops, "packets that the network dropped, for any reason"),
];

const fn count(name: &'static str, counted: Counted, meaning: &'static str) -> MetricDoc {
    aside(name, Unit::Count, meaning).counted(name, counted)
}

/// Subjects of an expectation.
pub fn comparable() -> impl Iterator<Item = &'static MetricDoc> {
    METRICS.iter().filter(|metric| metric.is_comparable()).chain(COUNTS)
}

/// Rows of the table and of the report that are no metric of the run alone.
pub mod labels {
    /// The AFCT by that of the reference, in the aggregate `reference.afct_ratio`.
    pub const AFCT_RATIO: &str = "AFCT / reference";
    /// The AFCT of the reference, in the aggregate `reference.afct_s`.
    pub const REFERENCE_AFCT: &str = "AFCT (fluid reference)";
    /// Flows that completed, of how many.
    pub const COMPLETED: &str = "completed";

    /// Utilisation of one directed link; without a name it is another one in each column.
    pub fn busiest_link(name: Option<&str>) -> String {
        let row = "utilisation, busiest link";
        name.map_or_else(|| row.to_string(), |name| format!("{row} ({name})"))
    }

    /// Utilisation of a directed link that follows a trace.
    pub fn fullest_trace(name: &str) -> String {
        format!("trace utilisation ({name})")
    }

    /// A metric of the flows of one class.
    pub fn of_class(label: &str, class: &str) -> String {
        format!("{} ({class})", label.trim_end_matches(" (all flows)"))
    }

    /// Packets that the queue of a link marked.
    pub fn marks(link: &str) -> String {
        format!("CE marks ({link})")
    }
    /// Packets dropped for a reason.
    pub fn drops(reason: &str) -> String {
        let reason = match reason {
            "full" => "queue full",
            "early" => "AQM",
            other => other,
        };
        format!("drops ({reason})")
    }
}

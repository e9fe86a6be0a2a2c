//! The metrics of a run by name: what people read of each, in the table, in the report and in `explain`.

use super::{ClassMetrics, Metrics};

/// What a number counts. Whoever shows it chooses prefix and digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// A share of one, shown in percent.
    Share,
    /// A number without unit.
    Plain,
    /// A number of things: whole, unless it is a mean.
    Count,
}

/// A metric, for people.
#[derive(Clone, Copy, Debug)]
pub struct MetricDoc {
    /// Key in results.
    pub name: &'static str,
    /// Its name in the table and in the report.
    pub label: &'static str,
    /// Unit in results, or empty.
    pub unit: &'static str,
    /// What a person is shown: the number in results times `scale`, in this unit.
    pub shown: Unit,
    /// 1e-3 for the `_ms` of results, which are shown in seconds; else 1.
    pub scale: f64,
    /// True if the table and the report have a row of it.
    pub in_table: bool,
    /// True if results have it for each class of flows, too.
    pub by_class: bool,
    /// What it is, in a line.
    pub meaning: &'static str,
    /// Formula, what it counts and when, where a line does not say it; else empty.
    pub more: &'static str,
    /// The number; None for what is not one number.
    number: Option<fn(&Metrics) -> Option<f64>>,
}

/// A row of the table, in the unit of results.
const fn row(
    (name, label): (&'static str, &'static str),
    shown: Unit,
    meaning: &'static str,
    number: fn(&Metrics) -> Option<f64>,
) -> MetricDoc {
    let unit = match shown {
        Unit::Seconds => "s",
        Unit::BitsPerSecond => "bit/s",
        Unit::Bytes => "B",
        Unit::Share | Unit::Plain | Unit::Count => "",
    };
    let (scale, number) = (1.0, Some(number));
    let (in_table, by_class, more) = (true, false, "");
    MetricDoc { name, label, unit, shown, scale, in_table, by_class, meaning, more, number }
}

/// What has no row of its own in the table.
const fn aside(name: &'static str, unit: &'static str, meaning: &'static str) -> MetricDoc {
    let (shown, scale, number) = (Unit::Plain, 1.0, None);
    let (label, in_table, by_class, more) = (name, false, false, "");
    MetricDoc { name, label, unit, shown, scale, in_table, by_class, meaning, more, number }
}

impl MetricDoc {
    const fn more(self, more: &'static str) -> MetricDoc {
        MetricDoc { more, ..self }
    }

    /// Results have it in milliseconds.
    const fn in_ms(self) -> MetricDoc {
        MetricDoc { unit: "ms", scale: 1e-3, ..self }
    }

    /// Of each class of flows, too.
    const fn of_flows(self) -> MetricDoc {
        MetricDoc { by_class: true, ..self }
    }

    /// A delay of packets, in milliseconds, of the run and of each class.
    const fn delay(self) -> MetricDoc {
        MetricDoc { by_class: true, ..self.in_ms() }
    }

    /// In `metrics`; None if it is not one number, or has no value there.
    pub fn of(&self, metrics: &Metrics) -> Option<f64> {
        self.number.and_then(|number| number(metrics))
    }
}

/// The metrics of a run, in the order in which the table has them.
pub const METRICS: &[MetricDoc] = &[
    row(
        ("afct_s", "AFCT"),
        Unit::Seconds,
        "mean flow completion time of completed flows",
        |m| m.afct_s,
    )
    .of_flows()
    .more(
        "A flow has completed when its last byte is in order at the receiver; its clock starts when the key fct says. \
         \"AFCT / reference\" (.reference.afct_ratio) is this mean by that of the reference, both over the flows that \
         complete in both. The reference is a fluid model with max-min fair sharing: to compare with, and no bound. A run that shares less \
         fairly can have a lower mean.",
    ),
    row(
        ("fct_p50_s", "FCT p50"),
        Unit::Seconds,
        "median of those times (linear interpolation between ranks)",
        |m| m.fct_p50_s,
    )
    .of_flows(),
    row(
        ("fct_p99_s", "FCT p99"),
        Unit::Seconds,
        "99th percentile of those times",
        |m| m.fct_p99_s,
    )
    .of_flows(),
    row(
        ("all_done_s", "all done after"),
        Unit::Seconds,
        "from the first flow's start until all flows had completed",
        |m| m.all_done_s,
    )
    .of_flows(),
    row(
        ("goodput_bps", "goodput (all flows)"),
        Unit::BitsPerSecond,
        "bytes in order at all receivers in the window, per time",
        |m| m.goodput_bps,
    )
    .of_flows()
    .more(
        "The sum over all flows, in whichever direction they send: with flows in both directions it can exceed the rate of a link.",
    ),
    row(
        ("delivered_bytes", "delivered (all flows)"),
        Unit::Bytes,
        "bytes in order at all receivers in the window",
        |m| Some(m.delivered_bytes as f64),
    )
    .of_flows(),
    row(
        ("jain_goodput", "Jain's index"),
        Unit::Plain,
        "Jain's index over the goodputs of the flows active in the window",
        |m| m.jain_goodput,
    )
    .of_flows()
    .more(
        "(Σx)² / (n Σx²) over the goodputs x of n flows: 1 if all are equal, 1/n if one has all. It counts every flow that sent \
         its SYN before the end of the run and had not completed before the window (window_s); n is jain_flows. The goodput of a \
         flow (per_flow[].goodput_bps) is what its receiver got in order in the flow's part of the window, per time: that part \
         begins when the clock of its completion time starts (key fct), and ends when it completes. A flow that got nothing \
         counts with 0. Without a value if no flow got anything.",
    ),
    aside("jain_flows", "", "number of flows in jain_goodput"),
    row(
        ("queue_delay_mean_ms", "queue delay mean"),
        Unit::Seconds,
        "mean time that packets waited at queue_delay_link",
        |m| m.queue_delay_mean_ms,
    )
    .in_ms()
    .more(
        "The sum of the waits over their number, over the packets of all flows. A packet waits from its arrival at the node until its \
         transmission on that link starts, in the queue of the link or in a cache of the router (INRPP). The wait counts when the transmission starts: the packets are those whose transmission \
         starts in the window (window_s). One that finds the link idle counts with 0; one that is dropped, or still waits at the \
         end, does not count. Transmission and propagation are no part of it.",
    ),
    row(
        ("queue_delay_p95_ms", "queue delay p95"),
        Unit::Seconds,
        "95th percentile of those times, within 3 %",
        |m| m.queue_delay_p95_ms,
    )
    .in_ms(),
    aside("queue_delay_link", "", "the busiest in the window of the links that leave a router"),
    aside("utilisation", "", "busy share of the window, each direction of links between routers")
        .more(
            "The row \"busiest link (NAME)\" of the table is one of them, in one direction: the one that is highest under any \
             protocol. The report shows the busiest of each protocol.",
        ),
    row(
        ("one_way_delay_mean_ms", "one-way delay mean"),
        Unit::Seconds,
        "mean time that data packets took from sender to receiver",
        |m| m.delays.one_way_delay_mean_ms,
    )
    .delay()
    .more(
        "From when the sender's transport made a packet until the receiver's transport took it: waiting at the sender's interface, in \
         queues and caches of routers, transmission and propagation. Each transmission of a packet with payload that arrives in the \
         window (window_s) counts once, with its own time: retransmissions as well, lost packets not, a packet that was cut when its \
         last piece has come. It is measured with the one clock of the simulation; no packet carries anything for it.",
    ),
    row(
        ("one_way_delay_p50_ms", "one-way delay p50"),
        Unit::Seconds,
        "median of those times, within 3 %",
        |m| m.delays.one_way_delay_p50_ms,
    )
    .delay(),
    row(
        ("one_way_delay_p95_ms", "one-way delay p95"),
        Unit::Seconds,
        "95th percentile of those times, within 3 %",
        |m| m.delays.one_way_delay_p95_ms,
    )
    .delay(),
    row(
        ("one_way_delay_p99_ms", "one-way delay p99"),
        Unit::Seconds,
        "99th percentile of those times, within 3 %",
        |m| m.delays.one_way_delay_p99_ms,
    )
    .delay(),
    row(
        ("rtt_mean_ms", "RTT mean"),
        Unit::Seconds,
        "mean round-trip time that the senders measured",
        |m| m.delays.rtt_mean_ms,
    )
    .delay()
    .more(
        "The samples that senders take in the window (window_s), each with the same weight, on all their paths; those of handshakes \
         are among them. A delayed ACK makes a sample longer. An ambiguous ACK gives none (Karn's rule, RFC 6298 section 3).",
    ),
    row(
        ("rtt_p50_ms", "RTT p50"),
        Unit::Seconds,
        "median of those samples, within 3 %",
        |m| m.delays.rtt_p50_ms,
    )
    .delay(),
    row(
        ("rtt_p95_ms", "RTT p95"),
        Unit::Seconds,
        "95th percentile of those samples, within 3 %",
        |m| m.delays.rtt_p95_ms,
    )
    .delay(),
    row(
        ("rtt_p99_ms", "RTT p99"),
        Unit::Seconds,
        "99th percentile of those samples, within 3 %",
        |m| m.delays.rtt_p99_ms,
    )
    .delay(),
    aside("by_class", "", "the metrics of each class of flows, by name").more(
        "The class of a flow is what its key class says, else its protocol. The keys are those of the run, from \
         afct_s to timeouts, and flows, the number of flows; all of them but those of links. Goodput counts over the \
         window of the run, so that classes add up; all_done_s counts from the start of the first flow of the class. \
         The table shows some of them where a run has several classes.",
    ),
    row(
        ("retransmits", "retransmits"),
        Unit::Count,
        "retransmitted packets with payload, whole run",
        |m| Some(m.retransmits as f64),
    )
    .of_flows(),
    row(
        ("timeouts", "timeouts"),
        Unit::Count,
        "retransmission timeouts, whole run",
        |m| Some(m.timeouts as f64),
    )
    .of_flows(),
    row(
        ("ce_marks", "CE marks"),
        Unit::Count,
        "packets in which queues set CE, whole run; its row is shown where there are any",
        |m| Some(m.ce_marks as f64),
    ),
    aside("window_s", "s", "the window: first start or measure_from_s, to the end of the run"),
];

/// Metrics that the table and the report show for each class of flows, where a run has several.
pub const CLASS_ROWS: [&str; 9] = [
    "afct_s",
    "fct_p99_s",
    "goodput_bps",
    "jain_goodput",
    "one_way_delay_mean_ms",
    "one_way_delay_p95_ms",
    "rtt_mean_ms",
    "rtt_p95_ms",
    "retransmits",
];

/// True if a row of the table and of the report says nothing: one flow is its own mean and in no
/// contest, what flows that all completed delivered is known before, and queues may mark nothing.
/// `highest` is the highest mean under any protocol.
pub fn says_nothing(name: &str, flows: usize, all_completed: bool, highest: f64) -> bool {
    match name {
        "fct_p50_s" | "fct_p99_s" | "all_done_s" | "jain_goodput" => flows == 1,
        "ce_marks" => highest == 0.0,
        "delivered_bytes" => all_completed,
        _ => false,
    }
}

/// A name in results or in the table that is no metric.
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

/// What tables and JSON show beside [`METRICS`].
pub const RESULTS: &[ResultDoc] = &[
    ResultDoc {
        name: "completed",
        label: labels::COMPLETED,
        place: ".runs[].completed, .aggregate[].completed",
        meaning: "Flows whose last byte was in order at the receiver before the run ended. The table \
                  gives them of those that have a size, over all seeds.",
    },
    ResultDoc {
        name: "drops",
        label: "drops",
        place: ".runs[].drops and .aggregate[].drops, by reason",
        meaning: "Packets that the network dropped in the whole run, acknowledgments as well, by reason. \
                  The table has a row for each reason that any run had, such as \"drops (full)\": the \
                  queue was full.",
    },
    ResultDoc {
        name: "lost_packets",
        label: "lost_packets",
        place: ".runs[].per_flow[].lost_packets",
        meaning: "Packets that the sender of a flow declared lost, rightly or not: drops say what \
                  the network lost.",
    },
    ResultDoc {
        name: "trace_hash",
        label: "first trace hash",
        place: ".runs[].trace_hash",
        meaning: "64 bits, in hexadecimal, over all packets on all links in their order, with their \
                  times. Two runs with the same hash did the same. The table has that of the first \
                  seed.",
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

/// Rows of the table and of the report that are no metric of the run alone.
pub mod labels {
    /// The AFCT by that of the reference, in the aggregate `reference.afct_ratio`.
    pub const AFCT_RATIO: &str = "AFCT / reference";
    /// The AFCT of the reference, in the aggregate `reference.afct_s`.
    pub const REFERENCE_AFCT: &str = "AFCT of the reference";
    /// Flows that completed, of how many.
    pub const COMPLETED: &str = "completed";

    /// Utilisation of one directed link; without a name it is another one in each column.
    pub fn busiest_link(name: Option<&str>) -> String {
        name.map_or_else(|| "busiest link".to_string(), |name| format!("busiest link ({name})"))
    }

    /// A metric of the flows of one class.
    pub fn of_class(label: &str, class: &str) -> String {
        format!("{} ({class})", label.trim_end_matches(" (all flows)"))
    }

    /// Packets dropped for `reason`.
    pub fn drops(reason: &str) -> String {
        format!("drops ({reason})")
    }
}

impl Metrics {
    /// The metrics that are one number, by name, in the order of [`METRICS`].
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        let numbers = METRICS.iter().filter(|metric| metric.number.is_some());
        numbers.map(|metric| (metric.name, metric.of(self)))
    }
}

impl From<&ClassMetrics> for Metrics {
    /// The metrics of a run with these flows; none of links.
    fn from(of: &ClassMetrics) -> Metrics {
        Metrics {
            afct_s: of.afct_s,
            fct_p50_s: of.fct_p50_s,
            fct_p99_s: of.fct_p99_s,
            all_done_s: of.all_done_s,
            jain_goodput: of.jain_goodput,
            jain_flows: of.jain_flows,
            goodput_bps: of.goodput_bps,
            delivered_bytes: of.delivered_bytes,
            delays: of.delays,
            retransmits: of.retransmits,
            timeouts: of.timeouts,
            ..Metrics::default()
        }
    }
}

impl ClassMetrics {
    /// Its metrics that are one number, by name.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + use<> {
        let metrics = Metrics::from(self);
        let of_flows = METRICS.iter().filter(|metric| metric.by_class);
        of_flows.map(move |metric| (metric.name, metric.of(&metrics)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_of_the_metrics_is_documented_and_no_other() {
        let json = serde_json::to_value(Metrics::default()).unwrap();
        let mut keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        let mut documented: Vec<&str> = METRICS.iter().map(|m| m.name).collect();
        keys.sort_unstable();
        documented.sort_unstable();
        assert_eq!(keys, documented);
    }

    #[test]
    fn each_number_is_that_of_its_key() {
        // Another number in each key that can hold one.
        let mut json = serde_json::to_value(Metrics::default()).unwrap();
        let metrics = json.as_object_mut().unwrap();
        let names: Vec<&str> = Metrics::default().numbers().map(|(name, _)| name).collect();
        for (i, name) in names.iter().enumerate() {
            metrics[*name] = (i + 1).into();
        }
        let metrics: Metrics = serde_json::from_value(json).unwrap();
        let numbers: Vec<_> = metrics.numbers().collect();
        for (i, (name, number)) in numbers.iter().enumerate() {
            assert_eq!(*number, Some((i + 1) as f64), "{name}");
        }
        assert!(numbers.len() >= 11);
    }

    #[test]
    fn no_two_metrics_share_a_label() {
        let labels: BTreeSet<&str> = METRICS.iter().map(|metric| metric.label).collect();
        assert_eq!(labels.len(), METRICS.len());
    }
}

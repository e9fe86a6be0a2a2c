//! The metrics of a run: one entry each, from which come the structs, their JSON, the rows of the
//! table and of the report, and what `explain` says.
//!
//! An entry is `GROUP NAME: TYPE, row(LABEL, UNIT, MEANING)`, then what else is to be said of it
//! (see [`MetricDoc`]). The group `flows` is of all flows and of each class; `run` of the run
//! alone. What has no row of its own is an `aside`. `forebay-run` computes the values: `measure/`.

use super::doc::{Hidden, MetricDoc, OfLinks, Unit, aside, row};
use super::number::Number;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most flows of a run of which interfaces of INRPP routers have series for each, and whose delays
/// are counted one by one.
pub const MAX_FLOWS_BY_PORT: usize = 50;

/// Makes the structs and [`METRICS`].
macro_rules! metrics {
    ($($group:ident $name:ident: $type:ty,
        $kind:ident($label:literal, $unit:ident, $meaning:literal)
        $(.$method:ident($($argument:expr),* $(,)?))*;)*) => {
        metrics!(@structs [] [] $($group $name: $type, $meaning;)*);

        /// The metrics of a run, in the order in which the table has them.
        pub const METRICS: &[MetricDoc] = &[$(
            $kind($label, Unit::$unit, $meaning)
                $(.$method($($argument),*))*
                .named(stringify!($name), metrics!(@by_class $group))
        ),*];

        impl Metrics {
            /// The metric of this name, if it is one number and has a value.
            fn number(&self, name: &str) -> Option<f64> {
                match name {
                    $(stringify!($name) => metrics!(@field $group self $name).number(),)*
                    _ => None,
                }
            }

            /// The metric of this name of a directed link, if links have it and it has a value.
            fn of_link(&self, name: &str, link: &str) -> Option<f64> {
                match name {
                    $(stringify!($name) => metrics!(@field $group self $name).of_link(link),)*
                    _ => None,
                }
            }
        }
    };
    (@by_class flows) => { true };
    (@by_class run) => { false };
    (@field flows $metrics:ident $name:ident) => { $metrics.of_flows.$name };
    (@field run $metrics:ident $name:ident) => { $metrics.$name };
    (@structs [$($flows:tt)*] [$($run:tt)*]
        flows $name:ident: $type:ty, $meaning:literal; $($rest:tt)*) => {
        metrics!(@structs [$($flows)* #[doc = $meaning] pub $name: $type,] [$($run)*] $($rest)*);
    };
    (@structs [$($flows:tt)*] [$($run:tt)*]
        run $name:ident: $type:ty, $meaning:literal; $($rest:tt)*) => {
        metrics!(@structs [$($flows)*] [$($run)* #[doc = $meaning] pub $name: $type,] $($rest)*);
    };
    (@structs [$($flows:tt)*] [$($run:tt)*]) => {
        /// The metrics of all flows of a run, or of those of one class, together.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct FlowMetrics { $($flows)* }

        /// The metrics of one run. What cannot be said is None (JSON null), never a number that
        /// looks like one.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Metrics {
            /// Of all flows.
            #[serde(flatten)]
            pub of_flows: FlowMetrics,
            $($run)*
        }
    };
}

metrics! {
    flows afct_s: Option<f64>,
        row("AFCT", Seconds, "mean flow completion time of completed flows").class_row()
            .more(
                "A flow has completed when its last byte is in order at the receiver; its clock \
                 starts when the key fct says. \"AFCT / reference\" (.reference.afct_ratio) is \
                 this mean by that of the reference, both over the flows that complete in both. \
                 The reference is a fluid model with max-min fair sharing: to compare with, and \
                 no bound. A run that shares less fairly can have a lower mean.",
            );
    flows afct_established_s: Option<f64>,
        row("AFCT without handshake", Seconds,
            "mean time from the end of the handshake at the sender to completion, of completed \
             flows, whatever the key fct says")
            .hidden(Hidden::Always);
    flows fct_p50_s: Option<f64>,
        row("FCT p50", Seconds, "median of those times (linear interpolation between ranks)")
            .hidden(Hidden::OneFlow);
    flows fct_p99_s: Option<f64>,
        row("FCT p99", Seconds, "99th percentile of those times")
            .class_row().hidden(Hidden::OneFlow);
    flows all_done_s: Option<f64>,
        row("makespan", Seconds,
            "from the first flow's start until all flows had completed")
            .hidden(Hidden::OneFlow);
    flows goodput_bps: Option<f64>,
        row("goodput (all flows)", BitsPerSecond,
            "bytes in order at all receivers in the window, per time").class_row()
            .more(
                "The sum over all flows, in whichever direction they send: with flows in both \
                 directions it can exceed the rate of a link. The window ends with the run \
                 (ended_s), which is some milliseconds after the last byte: of flows that last \
                 less than a second the goodput of each (per_flow) says more.",
            );
    flows delivered_bytes: u64,
        row("delivered (all flows)", Bytes, "bytes in order at all receivers in the window")
            .hidden(Hidden::AllCompleted);
    flows jain_goodput: Option<f64>,
        row("Jain's index", Plain,
            "Jain's index over the goodputs of the flows active in the window")
            .class_row().hidden(Hidden::OneFlow)
            .more(
                "(Σx)² / (n Σx²) over the goodputs x of n flows: 1 if all are equal, 1/n if one \
                 has all. It counts every flow that sent its SYN before the end of the run and \
                 had not completed before the window (window_s); n is jain_flows. The goodput of \
                 a flow (per_flow[].goodput_bps) is what its receiver got in order in the flow's \
                 part of the window, per time: that part begins when the clock of its completion \
                 time starts (key fct), and ends when it completes. A flow that got nothing \
                 counts with 0. Without a value if no flow got anything.",
            );
    flows jain_flows: usize,
        aside("", Plain, "number of flows in jain_goodput");
    flows jain_1s: Option<f64>,
        row("Jain's index in 1 s bins", Plain,
            "mean over bins of 1 s of Jain's index over the throughputs of the flows")
            .class_row().hidden(Hidden::NoTrace)
            .more(
                "Zaki et al. 2015 (doi:10.1145/2785956.2787498), eq. 7: the bins begin at the \
                 start of the window (window_s). In each, the index is over the flows that are \
                 alive in the whole of it: their SYN was sent before it, and they neither \
                 completed nor gave up before its end. Bins in which fewer than two flows are \
                 alive do not count, nor those in which no flow got anything. The throughput of a \
                 flow is payload that arrived at its receiver for the first time, in order or \
                 beyond a hole. Without a value above 20 000 bins, or above 2^20 bins times \
                 flows. The table has it where a link follows a trace.",
            );
    flows throughput_mean_bps: Option<f64>,
        row("throughput in 1 s bins mean", BitsPerSecond,
            "mean over bins of 1 s of what arrived at all receivers")
            .hidden(Hidden::Always)
            .more(
                "The bins, the flows that count in them, and what counts of a flow are those of \
                 jain_1s; bins in which one flow is alive count as well.",
            );
    flows throughput_p5_bps: Option<f64>,
        row("throughput in 1 s bins p5", BitsPerSecond,
            "5th percentile over bins of 1 s of what arrived at all receivers")
            .class_row().hidden(Hidden::NoTrace);
    flows throughput_p50_bps: Option<f64>,
        row("throughput in 1 s bins p50", BitsPerSecond,
            "median over bins of 1 s of what arrived at all receivers")
            .hidden(Hidden::Always);
    flows throughput_p95_bps: Option<f64>,
        row("throughput in 1 s bins p95", BitsPerSecond,
            "95th percentile over bins of 1 s of what arrived at all receivers")
            .class_row().hidden(Hidden::NoTrace);
    run queue_delay_mean_ms: Option<f64>,
        row("queue delay mean", Seconds, "mean time that packets waited at queue_delay_link")
            .in_ms()
            .more(
                "The sum of the waits over their number, over the packets of all flows. A packet \
                 waits from its arrival at the node until its transmission on that link starts, \
                 in the queue of the link or in a cache of the router (INRPP). The wait counts \
                 when the transmission starts: the packets are those whose transmission starts in \
                 the window (window_s). One that finds the link idle counts with 0; one that is \
                 dropped, or still waits at the end, does not count. Transmission and propagation \
                 are no part of it.",
            );
    run queue_delay_p50_ms: Option<f64>,
        row("queue delay p50", Seconds, "median of those times, within 3 %").in_ms();
    run queue_delay_p95_ms: Option<f64>,
        row("queue delay p95", Seconds, "95th percentile of those times, within 3 %").in_ms();
    run queue_delay_p99_ms: Option<f64>,
        row("queue delay p99", Seconds, "99th percentile of those times, within 3 %").in_ms();
    run queue_delay_link: Option<String>,
        aside("", Plain, "the busiest in the window of the links that leave a router");
    run utilisation: BTreeMap<String, f64>,
        aside("", Share, "busy share of the window, each direction of links between routers")
            .by_link(OfLinks::Measured)
            .more(
                "The row \"utilisation, busiest link (NAME)\" of the table is one of them, in one \
                 direction: the one that is highest under any protocol. The report shows the \
                 busiest of each protocol.",
            );
    run trace_utilisation: BTreeMap<String, f64>,
        aside("", Share,
            "of each directed link that follows a trace, bytes sent in the window divided by \
             bytes that its opportunities offered in it")
            .by_link(OfLinks::Traces)
            .more(
                "Overhead of packets counts, as opportunities carry it. utilisation is another \
                 thing there: the share of time in which something waited or was transmitted, \
                 though a bad channel keeps a link busy that delivers little. The row \"trace \
                 utilisation (NAME)\" of the table is that of the link that is highest under any \
                 protocol.",
            );
    flows one_way_delay_mean_ms: Option<f64>,
        row("one-way delay mean", Seconds,
            "mean time that data packets took from sender to receiver")
            .in_ms().class_row()
            .more(
                "From when the sender's transport made a packet until the receiver's transport \
                 took it: waiting at the sender's interface, in queues and caches of routers, \
                 transmission and propagation. Each transmission of a packet with payload that \
                 arrives in the window (window_s) counts once, with its own time: retransmissions \
                 as well, lost packets not, a packet that was cut when its last piece has come. \
                 It is measured with the one clock of the simulation; no packet carries anything \
                 for it.",
            );
    flows one_way_delay_p50_ms: Option<f64>,
        row("one-way delay p50", Seconds, "median of those times, within 3 %").in_ms();
    flows one_way_delay_p95_ms: Option<f64>,
        row("one-way delay p95", Seconds, "95th percentile of those times, within 3 %")
            .in_ms().class_row();
    flows one_way_delay_p99_ms: Option<f64>,
        row("one-way delay p99", Seconds, "99th percentile of those times, within 3 %").in_ms();
    flows rtt_mean_ms: Option<f64>,
        row("RTT mean", Seconds, "mean round-trip time that the senders measured")
            .in_ms().class_row()
            .more(
                "The samples that senders take in the window (window_s), each with the same \
                 weight, on all their paths; those of handshakes are among them. A delayed ACK \
                 makes a sample longer. An ambiguous ACK gives none (Karn's rule, RFC 6298 \
                 section 3).",
            );
    flows rtt_p50_ms: Option<f64>,
        row("RTT p50", Seconds, "median of those samples, within 3 %").in_ms();
    flows rtt_p95_ms: Option<f64>,
        row("RTT p95", Seconds, "95th percentile of those samples, within 3 %")
            .in_ms().class_row();
    flows rtt_p99_ms: Option<f64>,
        row("RTT p99", Seconds, "99th percentile of those samples, within 3 %").in_ms();
    run by_class: BTreeMap<String, ClassMetrics>,
        aside("", Plain, "the metrics of each class of flows, by name")
            .more(
                "The class of a flow is what its key class says, else its protocol. The keys are \
                 those of the run, from afct_s to timeouts, and flows, the number of flows; all \
                 of them but those of links. Goodput counts over the window of the run, so that \
                 classes add up; all_done_s counts from the start of the first flow of the class. \
                 The table shows some of them where a run has several classes.",
            );
    flows retransmits: u64,
        row("retransmits", Count, "retransmitted packets with payload, whole run").class_row();
    flows needless_retransmits: u64,
        row("needless retransmits", Count,
            "packets that brought receivers payload that they had already, whole run; shown where \
             there are any")
            .hidden(Hidden::Zero)
            .more(
                "Whole packets: one of which a byte is new does not count. Each was sent again \
                 without need, for no link duplicates packets. One that is lost on its way, or has \
                 not arrived by the end, does not count.",
            );
    flows needless_share: Option<f64>,
        row("needless share of packets sent", Share,
            "share of the packets with payload sent that are needless_retransmits, whole run; \
             shown where there are any")
            .hidden(Hidden::Zero);
    flows timeouts: u64,
        row("timeouts", Count, "retransmission timeouts, whole run");
    flows ce_received: u64,
        row("CE received", Count,
            "packets that came to receivers with CE, whole run; shown where there are any")
            .hidden(Hidden::Zero)
            .more(
                "Of flows that use ECN: it is in use where both ends have tcp.ecn (RFC 3168 \
                 section 6.1.1). A packet that is marked and lost later counts in ce_marks alone; \
                 a mark on an ACK is not looked at.",
            );
    flows ecn_responses: u64,
        row("ECN responses", Count,
            "window reductions in response to ECE, whole run; shown where there are any")
            .hidden(Hidden::Zero)
            .more("At most one in a round trip, however many packets were marked.");
    run ce_marks: u64,
        row("CE marks", Count,
            "packets in which queues set CE, whole run; its row is shown where there are any")
            .hidden(Hidden::Zero);
    run ce_marks_by_link: BTreeMap<String, u64>,
        aside("", Count, "of these, those of the queue of each link; links with none left out")
            .by_link(OfLinks::All)
            .more("The table has a row \"CE marks (NAME)\" for each of them, the report as well.");
    run options_stripped: u64,
        row("options stripped", Count,
            "TCP options that middleboxes overwrote, whole run; shown where there are any")
            .hidden(Hidden::Zero);
    run df_set: u64,
        row("DF set", Count,
            "packets in which middleboxes set DF, whole run; shown where there are any")
            .hidden(Hidden::Zero);
    run fragments_merged: u64,
        row("fragments merged by middleboxes", Count,
            "fragments that middleboxes merged into reassembled datagrams, whole run; shown \
             where there are any")
            .hidden(Hidden::Zero)
            .more("For each datagram, one less than its number of fragments.");
    run window_s: [f64; 2],
        aside("", Seconds, "the window: first start or measure_from_s, to the end of the run");
}

/// The metrics of the flows of one class: what the scenario says is their class, else their
/// protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassMetrics {
    /// Number of flows.
    pub flows: usize,
    /// Of these flows.
    #[serde(flatten)]
    pub of_flows: FlowMetrics,
}

/// Each class is a set of numbers.
impl Number for BTreeMap<String, ClassMetrics> {}

impl MetricDoc {
    /// In `metrics`; None if it is not one number, or has no value there.
    pub fn of(&self, metrics: &Metrics) -> Option<f64> {
        if self.in_table { metrics.number(self.name) } else { None }
    }

    /// Of the flows of a class of `metrics`; None if classes do not have it, if there is no such
    /// class, or if it has no value there.
    pub fn of_class(&self, metrics: &Metrics, class: &str) -> Option<f64> {
        let ClassMetrics { of_flows, .. } = *metrics.by_class.get(class)?;
        if self.by_class { self.of(&Metrics { of_flows, ..Metrics::default() }) } else { None }
    }

    /// Of a directed link; None if links do not have it, or if it has no value there.
    pub fn of_link(&self, metrics: &Metrics, link: &str) -> Option<f64> {
        metrics.of_link(self.name, link)
    }
}

impl Metrics {
    /// The metrics that are one number, by name, in the order of [`METRICS`].
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        let numbers = METRICS.iter().filter(|metric| metric.in_table);
        numbers.map(|metric| (metric.name, metric.of(self)))
    }
}

impl ClassMetrics {
    /// Its metrics that are one number, by name.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + use<> {
        let metrics = Metrics { of_flows: self.of_flows, ..Metrics::default() };
        let of_flows = METRICS.iter().filter(|metric| metric.in_table && metric.by_class);
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
    fn a_class_has_what_all_flows_have() {
        let keys = |json: serde_json::Value| -> BTreeSet<String> {
            json.as_object().unwrap().keys().cloned().collect()
        };
        let class = keys(serde_json::to_value(ClassMetrics::default()).unwrap());
        let mut flows = keys(serde_json::to_value(FlowMetrics::default()).unwrap());
        flows.insert("flows".into());
        assert_eq!(class, flows);
        // Those of links and of middleboxes are of the run alone.
        let run = keys(serde_json::to_value(Metrics::default()).unwrap());
        let alone: Vec<&String> = run.difference(&class).collect();
        let expected = [
            "by_class",
            "ce_marks",
            "ce_marks_by_link",
            "df_set",
            "fragments_merged",
            "options_stripped",
            "queue_delay_link",
            "queue_delay_mean_ms",
            "queue_delay_p50_ms",
            "queue_delay_p95_ms",
            "queue_delay_p99_ms",
            "trace_utilisation",
            "utilisation",
            "window_s",
        ];
        assert_eq!(alone, expected);
    }

    #[test]
    fn a_metric_of_links_or_of_classes_is_found_there() {
        let mut metrics = Metrics::default();
        metrics.utilisation.insert("a-b".into(), 0.5);
        let of_flows = FlowMetrics { afct_s: Some(2.0), ..FlowMetrics::default() };
        metrics.by_class.insert("web".into(), ClassMetrics { flows: 1, of_flows });
        let named = |name: &str| METRICS.iter().find(|metric| metric.name == name).unwrap();
        let utilisation = named("utilisation");
        assert_eq!(utilisation.of_link(&metrics, "a-b"), Some(0.5));
        assert_eq!(utilisation.of_link(&metrics, "b-a"), None);
        assert_eq!(utilisation.of(&metrics), None);
        metrics.ce_marks_by_link.insert("a-b".into(), 3);
        metrics.trace_utilisation.insert("a-b".into(), 0.25);
        assert_eq!(named("trace_utilisation").of_link(&metrics, "a-b"), Some(0.25));
        let marks = named("ce_marks_by_link");
        assert_eq!(marks.of_link(&metrics, "a-b"), Some(3.0));
        // A link without marks is not listed.
        assert_eq!(marks.of_link(&metrics, "b-a"), Some(0.0));
        assert_eq!(named("afct_s").of_class(&metrics, "web"), Some(2.0));
        assert_eq!(named("afct_s").of_class(&metrics, "bulk"), None);
        assert_eq!(named("afct_s").of(&metrics), None);
        assert_eq!(named("queue_delay_mean_ms").of_class(&metrics, "web"), None);
        // What is said of each metric is what its type says.
        for metric in METRICS {
            let of_link = metric.of_link(&metrics, "a-b").is_some();
            assert_eq!(metric.by_link != OfLinks::No, of_link, "{}", metric.name);
            assert!(!(of_link && metric.in_table), "{}", metric.name);
        }
    }

    #[test]
    fn what_has_no_unit_is_an_index_of_fairness() {
        let plain = METRICS.iter().filter(|m| m.in_table && m.shown == Unit::Plain);
        assert!(plain.clone().count() == 2 && plain.clone().all(|m| m.name.starts_with("jain")));
    }

    #[test]
    fn no_two_metrics_share_a_label() {
        let labels: BTreeSet<&str> = METRICS.iter().map(|metric| metric.label).collect();
        assert_eq!(labels.len(), METRICS.len());
    }
}
